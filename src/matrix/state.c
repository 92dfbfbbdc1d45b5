// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/state.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "matrix/judge.h"
#include "emit/read.h"
#include "matrix/fields.h"
#include "matrix/sessions.h"
#include "view/compare.h"

/* "matrix" as this one has it; NULL: out of memory. */
static json_t *identity_of(const struct matrix *matrix)
{
	struct output out;
	struct json json = {.out = &out};
	struct item item = {matrix, NULL};
	json_t *identity = NULL;

	if (output_init(&out, -1) < 0)
		return NULL;
	emit_json_object(&json, NULL, &matrix_identity_schema, &item);
	if (!out.error)
		identity = json_loadb(out.buffer, out.used, 0, NULL);
	output_release(&out);
	return identity;
}

/* "`--accel tcg --no-kvm`", of what the file says, or "none". */
static void join_options(char *into, size_t room, const json_t *options)
{
	size_t used = 0;

	snprintf(into, room, "none");
	for (size_t i = 0; i < json_array_size(options) && used < room; i++) {
		const char *word = json_string_value(json_array_get(options, i));

		used += (size_t)snprintf(into + used, room - used, "%s%s", i ? " " : "`",
					 word ? word : "?");
	}
	if (used && used < room)
		snprintf(into + used, room - used, "`");
}

/* Names the first thing that differs. */
static int compare(const struct matrix *matrix, const json_t *other, const char *path,
		   struct error *error)
{
	json_t *identity = identity_of(matrix), *value;
	const char *key, *differs = NULL;

	if (!identity)
		return error_set(error, ENOMEM, "out of memory");
	json_object_foreach(identity, key,
			    value) if (!differs && !json_equal(value, json_object_get(other, key)))
		differs = key;
	if (differs && !strcmp(differs, "options")) {
		char theirs[128], ours[128];

		join_options(theirs, sizeof(theirs), json_object_get(other, differs));
		join_options(ours, sizeof(ours), json_object_get(identity, differs));
		error_set(error, EINVAL,
			  "%s was made with other options for its guests, %s (here: %s): give the "
			  "same ones",
			  path, theirs, ours);
	} else if (differs) {
		error_set(error, EINVAL, "%s is of another matrix: `%s` is not the same", path,
			  differs);
	}
	json_decref(identity);
	return differs ? -EINVAL : 0;
}

static enum matrix_verdict verdict_named(const char *text)
{
	for (int i = 0; text && i < MATRIX_VERDICTS; i++)
		if (!strcmp(matrix_verdicts[i], text))
			return (enum matrix_verdict)i;
	return MATRIX_PENDING;
}

static enum matrix_verdict verdict_of(const json_t *cell)
{
	return verdict_named(result_read_string(&matrix_cell_schema, cell, "verdict"));
}

static int take_checks(struct matrix_words *into, const json_t *checks)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < json_array_size(checks); i++) {
		const json_t *check = json_array_get(checks, i);
		const char *name = result_read_string(&matrix_check_schema, check, "check");
		const char *text = result_read_string(&matrix_check_schema, check, "text");

		if (!name || !text)
			continue;
		result = matrix_words_add(into, name);
		if (result >= 0)
			result = matrix_words_add(into, text);
	}
	return result;
}

static int take_group(struct load_side *side, const json_t *from)
{
	const struct schema *schema = &matrix_figures_schema;
	const char *cgroup = result_read_string(schema, from, "cgroup");
	const char *wakes = result_read_string(schema, from, "wakes");
	const json_t *metrics = result_read(schema, from, "metrics");
	const json_t *seconds = result_read(schema, from, "seconds");
	struct load_group_key key = {
		.cgroup = cgroup ? cgroup : "",
		.group_idx =
			(unsigned int)json_integer_value(result_read(schema, from, "group_idx")),
		.work = result_read_string(schema, from, "work"),
		.occurrence =
			(unsigned int)json_integer_value(result_read(schema, from, "occurrence")),
	};
	enum load_wakes of = LOAD_WAKES_NONE;
	double values[LOAD_METRICS];

	if (!key.work)
		return 0;
	for (int i = LOAD_WAKES_RESUME; wakes && i <= LOAD_WAKES_TO_RUN; i++)
		if (!strcmp(wakes, compare_wakes[i]))
			of = (enum load_wakes)i;
	for (int i = 0; i < LOAD_METRICS; i++) {
		const json_t *value = json_object_get(metrics, load_metrics[i].key);

		values[i] = json_is_number(value) ? json_number_value(value) : NAN;
	}
	return load_side_add_values(side, &key, values,
				    json_is_number(seconds) ? json_number_value(seconds) : NAN, of)
		       ? 0
		       : -ENOMEM;
}

static int take_figures(struct load_side *side, const json_t *figures)
{
	int result = json_array_size(figures) ? load_side_begin_run(side, NULL, NAN) : 0;

	for (size_t i = 0; result >= 0 && i < json_array_size(figures); i++)
		result = take_group(side, json_array_get(figures, i));
	return result;
}

/* A text of an object, or nothing. */
static int take_text(char **into, const struct schema *schema, const json_t *from, const char *key)
{
	const char *text = result_read_string(schema, from, key);

	*into = text ? strdup(text) : NULL;
	return text && !*into ? -ENOMEM : 0;
}

static int take_again(struct matrix_again *again, const json_t *from)
{
	const struct schema *schema = &matrix_again_schema;
	int result;

	if (!json_is_object(from))
		return 0;
	again->verdict = verdict_named(result_read_string(schema, from, "verdict"));
	again->elapsed_ns = (uint64_t)json_integer_value(result_read(schema, from, "elapsed_ns"));
	result = take_text(&again->reason, schema, from, "reason");
	if (result >= 0)
		result = take_text(&again->trace, schema, from, "trace");
	return result < 0 ? result : take_text(&again->recording, schema, from, "recording");
}

static int take_cell(struct matrix_cell *cell, const json_t *from)
{
	const json_t *guest = result_read(&matrix_cell_schema, from, "guest");
	int result;

	matrix_cell_reset(cell);
	cell->verdict = verdict_of(from);
	cell->elapsed_ns =
		(uint64_t)json_integer_value(result_read(&matrix_cell_schema, from, "elapsed_ns"));
	cell->session_ns =
		(uint64_t)json_integer_value(result_read(&matrix_cell_schema, from, "session_ns"));
	result = matrix_take_guest(&cell->guest, &matrix_guest_schema, guest);
	if (result >= 0)
		result = take_checks(&cell->checks,
				     result_read(&matrix_cell_schema, from, "checks"));
	if (result >= 0)
		result = take_figures(&cell->figures,
				      result_read(&matrix_cell_schema, from, "figures"));
	if (result >= 0)
		result = take_again(&cell->again, result_read(&matrix_cell_schema, from, "again"));
	if (result >= 0)
		result = take_text(&cell->reason, &matrix_cell_schema, from, "reason");
	return result < 0 ? result
			  : take_text(&cell->guest.dump, &matrix_cell_schema, from,
				      "guest.scheduler.dump");
}

static void copy_text(char *into, size_t room, const json_t *from, const char *key)
{
	const char *text = result_read_string(&matrix_session_schema, from, key);

	snprintf(into, room, "%s", text ? text : "");
}

/* Who ran a cell, as far as its file says that. */
static int take_session(struct matrix *matrix, uint64_t began_ns, const json_t *sessions)
{
	const struct schema *schema = &matrix_session_schema;
	struct matrix_session session = {.began_ns = began_ns};

	for (size_t i = 0; began_ns && i < json_array_size(sessions); i++) {
		const json_t *from = json_array_get(sessions, i);
		const json_t *began = result_read(schema, from, "session_ns");
		json_int_t cpus = json_integer_value(result_read(schema, from, "cpus"));

		if ((uint64_t)json_integer_value(began) != began_ns)
			continue;
		session.cpus = cpus > 0 && cpus <= UINT32_MAX ? (uint32_t)cpus : 0;
		copy_text(session.dwell, sizeof(session.dwell), from, "dwell");
		copy_text(session.dwell_sha256, sizeof(session.dwell_sha256), from, "dwell_sha256");
		copy_text(session.cpu_model, sizeof(session.cpu_model), from, "cpu_model");
		copy_text(session.kernel, sizeof(session.kernel), from, "kernel");
		copy_text(session.architecture, sizeof(session.architecture), from, "architecture");
		return matrix_session_add(matrix, &session);
	}
	return 0;
}

/* With who ran it: `root` is the file that the cell is in. */
static int take_ran(struct matrix *matrix, struct matrix_cell *cell, const json_t *from,
		    const json_t *root)
{
	int result = take_cell(cell, from);

	return result < 0 ? result
			  : take_session(matrix, cell->session_ns,
					 result_read(&matrix_schema, root, "sessions"));
}

static bool is_same(const json_t *sums, size_t number, uint32_t sum)
{
	const json_t *other = json_array_get(sums, number);

	return json_is_integer(other) && json_integer_value(other) == sum;
}

/* The scheduler or the kernel may have been rebuilt; then its verdicts are of another one. */
static bool has_same_files(const struct matrix *matrix, const struct matrix_cell *cell,
			   const json_t *root)
{
	const struct matrix_files *files = &matrix->files;
	const json_t *others = result_read(&matrix_schema, root, "files.others");

	return is_same(result_read(&matrix_schema, root, "files.kernels"), cell->kernel,
		       files->kernels[cell->kernel]) &&
	       is_same(result_read(&matrix_schema, root, "files.schedulers"), cell->scheduler,
		       files->schedulers[cell->scheduler]) &&
	       json_is_integer(others) && json_integer_value(others) == files->others;
}

/* Cells are in the order of the lists, which are the same. */
static int take_cells(struct matrix *matrix, const json_t *cells, const json_t *root,
		      size_t *ret_changed)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < matrix->cell_count; i++) {
		enum matrix_verdict verdict = verdict_of(json_array_get(cells, i));

		if (verdict == MATRIX_PENDING || verdict == MATRIX_SKIPPED ||
		    verdict == MATRIX_ERROR)
			continue;
		if (has_same_files(matrix, &matrix->cells[i], root))
			result =
				take_ran(matrix, &matrix->cells[i], json_array_get(cells, i), root);
		else
			*ret_changed += 1;
	}
	return result;
}

/* Whether it is of this matrix; *ret_cells are its cells. */
static int check_file(const struct matrix *matrix, const json_t *root, const char *path,
		      const json_t **ret_cells, struct error *error)
{
	int result;

	*ret_cells = result_read(&matrix_schema, root, "cells");
	if (!result_is(&matrix_schema, root))
		return error_set(error, EINVAL, "%s was not written by `dwell guest --matrix`",
				 path);
	result = compare(matrix, result_read(&matrix_schema, root, "matrix"), path, error);
	if (result < 0)
		return result;
	if (json_array_size(*ret_cells) != matrix->cell_count)
		return error_set(error, EINVAL, "%s is damaged: it has %zu cells, not %zu", path,
				 json_array_size(*ret_cells), matrix->cell_count);
	return 0;
}

/* NULL, and an error unless there is no such file. */
static json_t *load_file(const char *path, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	json_error_t why;
	json_t *root = file ? json_loadf(file, 0, &why) : NULL;

	if (!file && errno != ENOENT)
		error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	else if (file && !root)
		error_set(error, EINVAL, "%s is damaged: line %d: %s", path, why.line, why.text);
	return root;
}

int matrix_state_read(struct matrix *matrix, const char *path, size_t *ret_changed,
		      struct error *error)
{
	const json_t *cells;
	json_t *root;
	int result;

	*ret_changed = 0;
	*error->text = '\0';
	root = load_file(path, error);
	if (!root)
		return *error->text ? -EINVAL : 0;
	result = check_file(matrix, root, path, &cells, error);
	if (result >= 0 && take_cells(matrix, cells, root, ret_changed) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	json_decref(root);
	return result;
}

static int merge_cell(struct matrix *matrix, size_t number, const json_t *from, const json_t *root,
		      const char *path, struct error *error)
{
	struct matrix_cell *cell = &matrix->cells[number];
	enum matrix_verdict verdict = verdict_of(from);
	char title[160];

	if (verdict == MATRIX_PENDING || verdict == MATRIX_SKIPPED)
		return 0;
	matrix_cell_title(title, sizeof(title), matrix, cell);
	if (cell->verdict != MATRIX_PENDING && cell->verdict != MATRIX_SKIPPED)
		return error_set(error, EINVAL,
				 "%s has run what another file has run, too: %s. Was it merged "
				 "twice, or the same --shard run twice?",
				 path, title);
	if (!has_same_files(matrix, cell, root))
		return error_set(
			error, EINVAL,
			"%s is of a kernel, a scheduler or a spec that is not the same: %s", path,
			title);
	return take_ran(matrix, cell, from, root) < 0 ? error_set(error, ENOMEM, "out of memory")
						      : 0;
}

int matrix_state_merge(struct matrix *matrix, const char *path, struct error *error)
{
	const json_t *cells;
	json_t *root;
	int result;

	*error->text = '\0';
	root = load_file(path, error);
	if (!root)
		return *error->text ? -EINVAL
				    : error_set(error, ENOENT, "cannot read %s: %s", path,
						strerror(ENOENT));
	result = check_file(matrix, root, path, &cells, error);
	for (size_t i = 0; result >= 0 && i < matrix->cell_count; i++)
		result = merge_cell(matrix, i, json_array_get(cells, i), root, path, error);
	json_decref(root);
	return result;
}

int matrix_state_write(const struct matrix *matrix, const char *path, struct error *error)
{
	struct output out;
	int result;

	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = matrix_json(&out, matrix);
	if (result < 0 || out.error)
		result = error_set(error, ENOMEM, "out of memory");
	else
		result = file_replace(path, out.buffer, out.used, error);
	output_release(&out);
	return result;
}
