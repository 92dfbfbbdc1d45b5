// SPDX-License-Identifier: GPL-2.0-or-later
/* docs/formats/json.md is the contract. */
#include <errno.h>
#include <string.h>

#include "version.h"
#include "view/guest.h"

static void add_known(struct json *json, const char *key, uint64_t value)
{
	if (value != UINT64_MAX)
		json_add_u64(json, key, value);
	else
		json_add_null(json, key);
}

/* Empty ones are null. */
static void add_words(struct json *json, const char *key, const struct matrix_words *words)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < words->count; i++)
		json_add_text(json, NULL, words->items[i]);
	json_array_end(json);
}

/* But how long to wait: a matrix whose guests booted too slowly is to be gone on with. */
static void add_options(struct json *json, const struct matrix_words *options)
{
	json_array_begin(json, "options");
	for (size_t i = 0; i < options->count; i++) {
		if (!strcmp(options->items[i], "--boot-timeout"))
			i++;
		else
			json_add_string(json, NULL, options->items[i]);
	}
	json_array_end(json);
}

void guest_matrix_identity(struct json *json, const char *key, const struct matrix *matrix)
{
	char shape[24];

	json_object_begin(json, key);
	json_add_string(json, "name", matrix->name);
	add_words(json, "kernels", &matrix->kernels);
	json_array_begin(json, "topologies");
	for (size_t i = 0; i < matrix->topology_count; i++) {
		shape_format(shape, sizeof(shape), &matrix->topologies[i].shape);
		json_object_begin(json, NULL);
		json_add_string(json, "name", matrix->topologies[i].name);
		json_add_string(json, "topology", shape);
		json_add_u64(json, "cpus", shape_cpus(&matrix->topologies[i].shape));
		json_object_end(json);
	}
	json_array_end(json);
	add_words(json, "schedulers", &matrix->schedulers);
	add_known(json, "memory_bytes", matrix->memory_bytes ? matrix->memory_bytes : UINT64_MAX);
	add_words(json, "command", &matrix->command);
	add_options(json, &matrix->options);
	json_add_u64(json, "repeat", matrix->repeat);
	json_object_end(json);
}

static void add_files(struct json *json, const struct matrix *matrix)
{
	const struct matrix_files *files = &matrix->files;

	json_object_begin(json, "files");
	json_array_begin(json, "kernels");
	for (size_t i = 0; i < matrix->kernels.count; i++)
		json_add_u64(json, NULL, files->kernels[i]);
	json_array_end(json);
	json_array_begin(json, "schedulers");
	for (size_t i = 0; i < matrix->schedulers.count; i++)
		json_add_u64(json, NULL, files->schedulers[i]);
	json_array_end(json);
	json_add_u64(json, "others", files->others);
	json_object_end(json);
}

static void add_guest(struct json *json, const struct matrix_guest *guest)
{
	if (!guest->told) {
		json_add_null(json, "guest");
		return;
	}
	json_object_begin(json, "guest");
	json_add_text(json, "release", guest->release);
	json_add_text(json, "accel", guest->accel);
	add_known(json, "boot_ns", guest->boot_ns);
	add_known(json, "wall_ns", guest->wall_ns);
	add_known(json, "exit", guest->exit);
	if (guest->scheduler_state) {
		json_object_begin(json, "scheduler");
		json_add_text(json, "state", guest->scheduler_state);
		add_known(json, "after_ns", guest->scheduler_after_ns);
		json_add_text(json, "reason", guest->scheduler_reason);
		json_add_text(json, "dump", guest->dump);
		json_object_end(json);
	} else {
		json_add_null(json, "scheduler");
	}
	json_object_end(json);
}

static int add_cell(struct json *json, const struct matrix *matrix, const struct matrix_cell *cell,
		    struct output *command)
{
	int result;

	command->used = 0;
	result = matrix_cell_command(command, matrix, cell);
	output_char(command, '\0');
	if (result < 0 || command->error)
		return -ENOMEM;
	json_object_begin(json, NULL);
	json_add_string(json, "kernel", matrix->kernels.items[cell->kernel]);
	json_add_string(json, "topology", matrix->topologies[cell->topology].name);
	json_add_u64(json, "cpus", matrix_cell_cpus(matrix, cell));
	json_add_u64(json, "memory_bytes", matrix_cell_memory(matrix, cell));
	json_add_text(json, "scheduler", matrix->schedulers.items[cell->scheduler]);
	json_add_u64(json, "run", cell->run);
	json_add_text(json, "verdict",
		      cell->verdict == MATRIX_PENDING ? NULL : matrix_verdicts[cell->verdict]);
	json_add_text(json, "reason", cell->reason);
	json_array_begin(json, "checks");
	for (size_t i = 0; i + 1 < cell->checks.count; i += 2) {
		json_object_begin(json, NULL);
		json_add_string(json, "check", cell->checks.items[i]);
		json_add_string(json, "text", cell->checks.items[i + 1]);
		json_object_end(json);
	}
	json_array_end(json);
	add_known(json, "elapsed_ns", cell->elapsed_ns ? cell->elapsed_ns : UINT64_MAX);
	add_guest(json, &cell->guest);
	json_add_string(json, "command_line", command->buffer);
	json_object_end(json);
	return 0;
}

static void add_counts(struct json *json, const struct matrix *matrix)
{
	size_t counts[MATRIX_VERDICTS];

	matrix_count(matrix, counts);
	json_object_begin(json, "verdicts");
	for (int i = MATRIX_SKIPPED; i < MATRIX_VERDICTS; i++)
		json_add_u64(json, matrix_verdicts[i], counts[i]);
	json_add_u64(json, "not_run", counts[MATRIX_PENDING]);
	json_object_end(json);
}

int guest_matrix_json(struct output *out, const struct matrix *matrix)
{
	struct json json = {.out = out};
	struct output command;
	int result = output_init(&command, -1);

	if (result < 0)
		return result;
	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "guest-matrix");
	json_add_u64(&json, "version", 1);
	json_add_string(&json, "dwell", DWELL_VERSION);
	guest_matrix_identity(&json, "matrix", matrix);
	add_files(&json, matrix);
	json_array_begin(&json, "cells");
	for (size_t i = 0; result >= 0 && i < matrix->cell_count; i++)
		result = add_cell(&json, matrix, &matrix->cells[i], &command);
	json_array_end(&json);
	add_counts(&json, matrix);
	json_object_end(&json);
	output_char(out, '\n');
	output_release(&command);
	return result;
}
