// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/matrix.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "guest/presets.h"

#define MIB		   (1024 * 1024ULL)
#define MEMORY_LEAST	   (512 * MIB)
#define DEFAULT_TIMEOUT_NS (600 * NS_PER_S)

const char *const matrix_verdicts[MATRIX_VERDICTS] = {
	[MATRIX_PENDING] = "not run",
	[MATRIX_SKIPPED] = "skipped",
	[MATRIX_PASS] = "pass",
	[MATRIX_ERROR] = "error",
	[MATRIX_INCONCLUSIVE] = "inconclusive",
	[MATRIX_FAIL] = "fail",
	[MATRIX_DIED] = "died",
};

void matrix_init(struct matrix *matrix)
{
	*matrix = (struct matrix){.repeat = 1, .timeout_ns = DEFAULT_TIMEOUT_NS};
	snprintf(matrix->name, sizeof(matrix->name), "matrix");
}

void matrix_words_release(struct matrix_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct matrix_words){.items = NULL};
}

void matrix_cell_reset(struct matrix_cell *cell)
{
	struct matrix_guest *guest = &cell->guest;

	free(cell->reason);
	matrix_words_release(&cell->checks);
	free(guest->release);
	free(guest->accel);
	free(guest->scheduler_state);
	free(guest->scheduler_reason);
	free(guest->dump);
	*guest = (struct matrix_guest){.boot_ns = UINT64_MAX,
				       .wall_ns = UINT64_MAX,
				       .exit = UINT64_MAX,
				       .scheduler_after_ns = UINT64_MAX,
				       .host_taken = NAN,
				       .host_lacked = NAN};
	load_side_release(&cell->figures);
	free(cell->again.reason);
	free(cell->again.trace);
	free(cell->again.recording);
	cell->again = (struct matrix_again){.verdict = MATRIX_PENDING};
	cell->reason = NULL;
	cell->verdict = MATRIX_PENDING;
	cell->elapsed_ns = 0;
}

void matrix_release(struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		matrix_cell_reset(&matrix->cells[i]);
	free(matrix->cells);
	for (size_t i = 0; i < matrix->topology_count; i++)
		free(matrix->topologies[i].name);
	free(matrix->topologies);
	matrix_words_release(&matrix->kernels);
	matrix_words_release(&matrix->schedulers);
	matrix_words_release(&matrix->command);
	matrix_words_release(&matrix->options);
	for (size_t i = 0; i < matrix->input_count; i++)
		free(matrix->inputs[i].file);
	free(matrix->inputs);
	free(matrix->files.kernels);
	free(matrix->files.schedulers);
	free(matrix->sessions);
	matrix_init(matrix);
}

int matrix_words_add(struct matrix_words *words, const char *text)
{
	char *copy = strdup(text);

	if (!copy || array_reserve(&words->items, &words->room, words->count + 2,
				   sizeof(*words->items)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	words->items[words->count++] = copy;
	words->items[words->count] = NULL;
	return 0;
}

static int add_topology(struct matrix *matrix, const char *name, const struct shape *shape,
			struct error *error)
{
	struct matrix_topology topology = {.shape = *shape};

	for (size_t i = 0; i < matrix->topology_count; i++)
		if (!memcmp(&matrix->topologies[i].shape, shape, sizeof(*shape)))
			return error_set(error, EINVAL, "'%s' is there already, as '%s'", name,
					 matrix->topologies[i].name);
	topology.name = strdup(name);
	if (!topology.name || array_reserve(&matrix->topologies, &matrix->topology_room,
					    matrix->topology_count + 1, sizeof(topology)) < 0) {
		free(topology.name);
		return error_set(error, ENOMEM, "out of memory");
	}
	matrix->topologies[matrix->topology_count++] = topology;
	return 0;
}

int matrix_add_topology(struct matrix *matrix, const char *text, struct error *error)
{
	const struct shape_preset *preset = shape_preset_find(text);
	struct shape shape;
	int result;

	if (strcmp(text, "all") != 0 && strcmp(text, "*") != 0) {
		result = shape_parse(text, &shape, error);
		return result < 0
			       ? result
			       : add_topology(matrix, preset ? preset->name : text, &shape, error);
	}
	result = 0;
	for (preset = shape_presets; result >= 0 && preset->name; preset++)
		result = add_topology(matrix, preset->name, &preset->shape, error);
	return result;
}

static int skip(struct matrix_cell *cell, unsigned int cpus, unsigned int max_cpus)
{
	char text[64];

	snprintf(text, sizeof(text), "%u CPUs, --max-cpus %u", cpus, max_cpus);
	cell->verdict = MATRIX_SKIPPED;
	cell->reason = strdup(text);
	return cell->reason ? 0 : -ENOMEM;
}

int matrix_expand(struct matrix *matrix, unsigned int max_cpus, struct error *error)
{
	/* the lists are far too short to overflow this */
	size_t count = matrix->kernels.count * matrix->topology_count * matrix->schedulers.count *
		       matrix->repeat;
	int result = 0;

	if (count > MATRIX_CELLS_MAX)
		return error_set(error, EINVAL, "%zu cells, more than the %d there can be", count,
				 MATRIX_CELLS_MAX);
	matrix->cells = calloc(count, sizeof(*matrix->cells));
	if (!matrix->cells)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; result >= 0 && i < count; i++) {
		struct matrix_cell *cell = &matrix->cells[i];
		size_t rest = i / matrix->repeat;

		matrix_cell_reset(cell);
		cell->run = (unsigned int)(i % matrix->repeat) + 1;
		cell->scheduler = rest % matrix->schedulers.count;
		rest /= matrix->schedulers.count;
		cell->topology = rest % matrix->topology_count;
		cell->kernel = rest / matrix->topology_count;
		matrix->cell_count++;
		if (matrix_cell_cpus(matrix, cell) > max_cpus)
			result = skip(cell, matrix_cell_cpus(matrix, cell), max_cpus);
	}
	if (result >= 0)
		result = matrix_read_files(matrix);
	return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}

uint64_t matrix_cell_memory(const struct matrix *matrix, const struct matrix_cell *cell)
{
	uint64_t by_cpus = shape_memory(&matrix->topologies[cell->topology].shape);

	if (matrix->memory_bytes)
		return matrix->memory_bytes;
	return by_cpus > MEMORY_LEAST ? by_cpus : MEMORY_LEAST;
}

/* Without the directories of its first word. */
static const char *short_name(const char *text)
{
	size_t first = strcspn(text, " \t");

	while (first && text[first - 1] != '/')
		first--;
	return text + first;
}

/* The short name where no other one has it. */
static const char *name_among(const struct matrix_words *words, size_t number)
{
	const char *name = short_name(words->items[number]);

	for (size_t i = 0; i < words->count; i++)
		if (i != number && !strcmp(short_name(words->items[i]), name))
			return words->items[number];
	return name;
}

const char *matrix_scheduler_name(const struct matrix *matrix, size_t number)
{
	return *matrix->schedulers.items[number] ? name_among(&matrix->schedulers, number) : "none";
}

const char *matrix_kernel_name(const struct matrix *matrix, size_t number)
{
	return name_among(&matrix->kernels, number);
}

void matrix_cell_title(char *into, size_t room, const struct matrix *matrix,
		       const struct matrix_cell *cell)
{
	char run[32] = "";

	if (matrix->repeat > 1)
		snprintf(run, sizeof(run), ", run %u", cell->run);
	snprintf(into, room, "%s%s%s, %s%s",
		 matrix->kernels.count > 1 ? matrix_kernel_name(matrix, cell->kernel) : "",
		 matrix->kernels.count > 1 ? ", " : "", matrix->topologies[cell->topology].name,
		 *matrix->schedulers.items[cell->scheduler]
			 ? matrix_scheduler_name(matrix, cell->scheduler)
			 : "no scheduler",
		 run);
}

void matrix_again_format(char *into, size_t room, const struct matrix_again *again)
{
	size_t used = 0;

	*into = '\0';
	if (again->verdict == MATRIX_PENDING)
		return;
	if (again->verdict == MATRIX_PASS)
		used = (size_t)snprintf(into, room, "passed when repeated");
	else if (again->verdict == MATRIX_ERROR)
		used = (size_t)snprintf(into, room, "could not be repeated");
	else
		used = (size_t)snprintf(into, room, "when repeated: %s",
					matrix_verdicts[again->verdict]);
	if (again->reason && used < room)
		used += (size_t)snprintf(into + used, room - used, ": %s", again->reason);
	if (again->trace && used < room)
		used += (size_t)snprintf(into + used, room - used, "; trace for Perfetto: %s",
					 again->trace);
	if (again->recording && used < room)
		snprintf(into + used, room - used, "; recording: %s", again->recording);
}

struct matrix_cell *matrix_cell_to_run(const struct matrix *matrix, size_t position)
{
	size_t schedulers = matrix->schedulers.count;
	size_t each = matrix->cell_count / matrix->repeat; /* cells of a run */
	size_t run = position / each, bench = position % each / schedulers;
	size_t scheduler = position % schedulers;

	if (run % 2)
		scheduler = schedulers - 1 - scheduler;
	return &matrix->cells[(bench * schedulers + scheduler) * matrix->repeat + run];
}

size_t matrix_cell_shard(const struct matrix *matrix, const struct matrix_cell *cell, size_t shards)
{
	size_t bench = cell->kernel * matrix->topology_count + cell->topology;

	return (bench * matrix->repeat + cell->run - 1) % shards;
}

void matrix_count(const struct matrix *matrix, size_t into[MATRIX_VERDICTS])
{
	memset(into, 0, MATRIX_VERDICTS * sizeof(*into));
	for (size_t i = 0; i < matrix->cell_count; i++)
		into[matrix->cells[i].verdict]++;
}
