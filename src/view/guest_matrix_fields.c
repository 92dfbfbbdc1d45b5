// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell guest --matrix` says of its guests. docs/formats/json.md is the contract. */
#include <errno.h>
#include <string.h>

#include "version.h"
#include "view/guest.h"

#define STRING .type = FIELD_STRING
#define LIST   .type = FIELD_LIST

/* Rows of the matrix have this as their context. */
struct matrix_context {
	const struct matrix *matrix;
	struct output *command; /* for one at a time */
	int *result;		/* -ENOMEM: something could not be put together */
};

/* Numbers of which UINT64_MAX, or nothing at all, says that they are not known. */
static void value_unless_unknown(struct value *value, uint64_t number, uint64_t unknown)
{
	value_known(value, number, number != unknown);
}

/* Texts: `argument` is the offset of a struct matrix_words in the row. Empty ones are null. */

static const struct matrix_words *words_of(const struct field *field, const struct item *item)
{
	return (const struct matrix_words *)(const void *)((const char *)item->row +
							   field->argument);
}

FIELD_GETTER(get_words)
{
	value_elements(value, words_of(field, item)->count);
}

FIELD_ELEMENT(word_element)
{
	value_text(value, words_of(field, item)->items[index]);
}

#define WORDS_FIELD(row_type, member, key_, help_)                                                 \
	{                                                                                          \
		.key = (key_), .help = (help_), .get = get_words, .element = word_element,         \
		.argument = MEMBER(row_type, member), LIST                                         \
	}

/* Options: but how long to wait, as a matrix whose guests booted too slowly is to be gone on with.
 */
FIELD_ELEMENT(option_element)
{
	const struct matrix_words *options = words_of(field, item);

	value_string(value, options->items[index]);
	if (!strcmp(options->items[index], "--boot-timeout") ||
	    (index && !strcmp(options->items[index - 1], "--boot-timeout")))
		value_absent(value);
}

FIELD_GETTER(get_shape)
{
	const struct matrix_topology *topology = item->row;

	shape_format(value->text, sizeof(value->text), &topology->shape);
	value_string(value, value->text);
}

FIELD_GETTER(get_shape_cpus)
{
	value_number(value, shape_cpus(&((const struct matrix_topology *)item->row)->shape));
}

static const struct field topology_fields[] = {
	POINTER_FIELD(struct matrix_topology, name, "name", "a preset's name or the shape"),
	{.key = "topology",
	 .help = "NUMA nodes, caches, cores and threads",
	 .get = get_shape,
	 STRING},
	{.key = "cpus", .help = "how many CPUs", .get = get_shape_cpus},
};

static const struct schema topology_schema = {
	.name = "topology", .help = "CPUs of a guest", SCHEMA_FIELDS(topology_fields)};

FIELD_GETTER(get_topologies)
{
	const struct matrix *matrix = item->row;

	value_rows(value, matrix->topologies, matrix->topology_count, sizeof(*matrix->topologies),
		   NULL);
}

FIELD_GETTER(get_memory)
{
	value_unless_unknown(value, ((const struct matrix *)item->row)->memory_bytes, 0);
}

FIELD_GETTER(get_name)
{
	value_string(value, ((const struct matrix *)item->row)->name);
}

static const struct field identity_fields[] = {
	{.key = "name", .help = "of the file", .get = get_name, STRING},
	WORDS_FIELD(struct matrix, kernels, "kernels", "to boot"),
	{.key = "topologies",
	 .help = "of their CPUs",
	 .get = get_topologies,
	 LIST,
	 .schema = &topology_schema},
	WORDS_FIELD(struct matrix, schedulers, "schedulers", "null: the kernel's own"),
	{.key = "memory_bytes", .help = "null: by the number of CPUs", .get = get_memory},
	WORDS_FIELD(struct matrix, command, "command", "what runs in each guest"),
	{.key = "options",
	 .help = "of the command line, for all guests",
	 .get = get_words,
	 .element = option_element,
	 .argument = MEMBER(struct matrix, options),
	 LIST},
	NUMBER_FIELD(struct matrix, repeat, "repeat", "runs of each cell"),
};

const struct schema guest_matrix_identity_schema = {
	.name = "matrix", .help = "what the file says", SCHEMA_FIELDS(identity_fields)};

/* Checksums. */

FIELD_GETTER(get_kernel_sums)
{
	value_elements(value, ((const struct matrix *)item->row)->kernels.count);
}

FIELD_ELEMENT(kernel_sum)
{
	value_number(value, ((const struct matrix *)item->row)->files.kernels[index]);
}

FIELD_GETTER(get_scheduler_sums)
{
	value_elements(value, ((const struct matrix *)item->row)->schedulers.count);
}

FIELD_ELEMENT(scheduler_sum)
{
	value_number(value, ((const struct matrix *)item->row)->files.schedulers[index]);
}

static const struct field files_fields[] = {
	{.key = "kernels",
	 .help = "of the kernels",
	 .get = get_kernel_sums,
	 .element = kernel_sum,
	 LIST},
	{.key = "schedulers",
	 .help = "of the schedulers' programs",
	 .get = get_scheduler_sums,
	 .element = scheduler_sum,
	 LIST},
	NUMBER_FIELD(struct matrix, files.others, "others",
		     "of what the command and the options name"),
};

static const struct schema files_schema = {
	.name = "files", .help = "CRC-32 of what is in files", SCHEMA_FIELDS(files_fields)};

/* A guest. */

static const struct matrix_guest *guest_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_unless_unknown)
{
	get_u64_member(field, item, value);
	value_unless_unknown(value, value->number, UINT64_MAX);
}

#define MAYBE_UNKNOWN(member, key_, help_)                                                         \
	{                                                                                          \
		.key = (key_), .help = (help_), .get = get_unless_unknown,                         \
		.argument = MEMBER(struct matrix_guest, member)                                    \
	}

static const struct field scheduler_fields[] = {
	POINTER_FIELD(struct matrix_guest, scheduler_state, "state",
		      "alive, died, stopped or not-started"),
	MAYBE_UNKNOWN(scheduler_after_ns, "after_ns", "when it was found dead"),
	POINTER_FIELD(struct matrix_guest, scheduler_reason, "reason", "of its end"),
	POINTER_FIELD(struct matrix_guest, dump, "dump", "what the kernel wrote about it"),
};

static const struct schema scheduler_schema = {
	.name = "guest_scheduler", .help = "null without one", SCHEMA_FIELDS(scheduler_fields)};

FIELD_GETTER(get_scheduler)
{
	get_same_row(field, item, value);
	if (!guest_of(item)->scheduler_state)
		value_null(value);
}

static const struct field guest_fields[] = {
	POINTER_FIELD(struct matrix_guest, release, "release", "of its kernel"),
	POINTER_FIELD(struct matrix_guest, accel, "accel", "kvm or tcg"),
	MAYBE_UNKNOWN(boot_ns, "boot_ns", "until the command began"),
	MAYBE_UNKNOWN(wall_ns, "wall_ns", "until nothing of it was left"),
	MAYBE_UNKNOWN(exit, "exit", "status of the command"),
	{.key = "scheduler",
	 .help = "null without one",
	 .get = get_scheduler,
	 .type = FIELD_OBJECT,
	 .schema = &scheduler_schema},
};

const struct schema matrix_guest_schema = {
	.name = "cell_guest", .help = "what a guest reported", SCHEMA_FIELDS(guest_fields)};

/* A cell. */

static const struct matrix_cell *cell_of(const struct item *item)
{
	return item->row;
}

static const struct matrix *matrix_of(const struct item *item)
{
	return ((const struct matrix_context *)item->context)->matrix;
}

FIELD_GETTER(get_cell_kernel)
{
	value_string(value, matrix_of(item)->kernels.items[cell_of(item)->kernel]);
}

FIELD_GETTER(get_cell_topology)
{
	value_string(value, matrix_of(item)->topologies[cell_of(item)->topology].name);
}

FIELD_GETTER(get_cell_cpus)
{
	value_number(value, matrix_cell_cpus(matrix_of(item), cell_of(item)));
}

FIELD_GETTER(get_cell_memory)
{
	value_number(value, matrix_cell_memory(matrix_of(item), cell_of(item)));
}

FIELD_GETTER(get_cell_scheduler)
{
	value_text(value, matrix_of(item)->schedulers.items[cell_of(item)->scheduler]);
}

FIELD_GETTER(get_cell_verdict)
{
	enum matrix_verdict verdict = cell_of(item)->verdict;

	value_text(value, verdict == MATRIX_PENDING ? NULL : matrix_verdicts[verdict]);
}

/* Name and text of a check follow each other in the cell's list: the row is the first of the two.
 */
FIELD_GETTER(get_check_word)
{
	value_string(value, ((char *const *)item->row)[field->argument]);
}

static const struct field check_fields[] = {
	{.key = "check", .help = "its name", .get = get_check_word, .argument = 0, STRING},
	{.key = "text", .help = "what it found", .get = get_check_word, .argument = 1, STRING},
};

const struct schema matrix_check_schema = {
	.name = "failed_check", .help = "of `dwell load`", SCHEMA_FIELDS(check_fields)};

FIELD_GETTER(get_cell_checks)
{
	value_rows(value, cell_of(item)->checks.items, cell_of(item)->checks.count / 2,
		   2 * sizeof(char *), NULL);
}

FIELD_GETTER(get_cell_elapsed)
{
	value_unless_unknown(value, cell_of(item)->elapsed_ns, 0);
}

FIELD_GETTER(get_cell_guest)
{
	value_object(value, &cell_of(item)->guest, NULL);
	if (!cell_of(item)->guest.told)
		value_null(value);
}

FIELD_GETTER(get_command_line)
{
	const struct matrix_context *context = item->context;

	context->command->used = 0;
	if (matrix_cell_command(context->command, context->matrix, cell_of(item)) < 0)
		*context->result = -ENOMEM;
	output_char(context->command, '\0');
	if (context->command->error)
		*context->result = -ENOMEM;
	value_string(value, *context->result < 0 ? "" : context->command->buffer);
}

static const struct field cell_fields[] = {
	{.key = "kernel", .header = "KERNEL", .help = "to boot", .get = get_cell_kernel, STRING},
	{.key = "topology",
	 .header = "TOPOLOGY",
	 .help = "of its CPUs",
	 .get = get_cell_topology,
	 STRING},
	{.key = "cpus", .header = "CPUS", .help = "how many CPUs", .get = get_cell_cpus},
	{.key = "memory_bytes", .help = "of the guest", .get = get_cell_memory},
	{.key = "scheduler",
	 .header = "SCHEDULER",
	 .help = "null: the kernel's own",
	 .get = get_cell_scheduler,
	 STRING},
	NUMBER_FIELD(struct matrix_cell, run, "run", "from 1 to `repeat`"),
	{.key = "verdict",
	 .header = "VERDICT",
	 .help = "pass, fail, died, inconclusive, error or skipped",
	 .get = get_cell_verdict,
	 STRING},
	POINTER_FIELD(struct matrix_cell, reason, "reason", "why it is not `pass`"),
	{.key = "checks",
	 .help = "those that failed",
	 .get = get_cell_checks,
	 LIST,
	 .schema = &matrix_check_schema},
	{.key = "elapsed_ns",
	 .help = "from the start of its process to its end",
	 .get = get_cell_elapsed},
	{.key = "guest",
	 .help = "what the guest reported",
	 .get = get_cell_guest,
	 .type = FIELD_OBJECT,
	 .schema = &matrix_guest_schema},
	{.key = "command_line", .help = "runs this cell alone", .get = get_command_line, STRING},
};

const struct schema matrix_cell_schema = {
	.name = "cell", .help = "one command in one guest", SCHEMA_FIELDS(cell_fields)};

FIELD_GETTER(get_cells)
{
	const struct matrix *matrix = item->row;

	value_rows(value, matrix->cells, matrix->cell_count, sizeof(*matrix->cells), item->context);
}

FIELD_GETTER(get_count)
{
	size_t counts[MATRIX_VERDICTS];

	matrix_count(item->row, counts);
	value_number(value, counts[field->argument]);
}

#define COUNT_FIELD(verdict, key_, help_)                                                          \
	{                                                                                          \
		.group = "verdicts", .key = (key_), .help = (help_), .get = get_count,             \
		.argument = (verdict)                                                              \
	}

FIELD_GETTER(get_version)
{
	value_string(value, DWELL_VERSION);
}

static const struct field matrix_fields[] = {
	{.key = "dwell", .help = "version", .get = get_version, STRING},
	{.key = "matrix",
	 .help = "what the file says",
	 .get = get_same_row,
	 .type = FIELD_OBJECT,
	 .schema = &guest_matrix_identity_schema},
	{.key = "files",
	 .help = "CRC-32 of what is in files",
	 .get = get_same_row,
	 .type = FIELD_OBJECT,
	 .schema = &files_schema},
	{.key = "cells",
	 .help = "by kernel, topology, scheduler and run",
	 .get = get_cells,
	 LIST,
	 .schema = &matrix_cell_schema},
	COUNT_FIELD(MATRIX_SKIPPED, "skipped", "more CPUs than wanted"),
	COUNT_FIELD(MATRIX_PASS, "pass", "all checks passed"),
	COUNT_FIELD(MATRIX_ERROR, "error", "could not be run"),
	COUNT_FIELD(MATRIX_INCONCLUSIVE, "inconclusive", "a check could not be judged"),
	COUNT_FIELD(MATRIX_FAIL, "fail", "a check failed"),
	COUNT_FIELD(MATRIX_DIED, "died", "the scheduler died"),
	COUNT_FIELD(MATRIX_PENDING, "not_run", "not run yet"),
};

const struct schema guest_matrix_schema = {.name = "guest-matrix",
					   .help = "what many guests came to",
					   .version = 1,
					   SCHEMA_FIELDS(matrix_fields),
					   .table = "cell"};

int guest_matrix_emit(const struct emit *emit, const struct matrix *matrix)
{
	struct output command;
	int result = output_init(&command, -1);
	struct matrix_context context = {matrix, &command, &result};
	struct item item = {matrix, &context};

	if (result < 0)
		return result;
	emit_result(emit, &item);
	output_release(&command);
	return result;
}

int guest_matrix_json(struct output *out, const struct matrix *matrix)
{
	struct emit emit = {
		.format = &format_json, .schema = &guest_matrix_schema, .levels = ~0U, .out = out};

	return guest_matrix_emit(&emit, matrix);
}
