// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the files that a matrix is made of are the same as when it was begun. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "guest/image.h"
#include "matrix/matrix.h"

#define CHUNK_BYTES (256 * 1024)

/*
 * A sum of what is in it, going on from `sum`; anything but a readable file adds nothing. A CRC-32
 * of the CRC-32s of its chunks: an image of x86's kernel ends with what makes the CRC-32 of the
 * whole the same for all of them (Documentation/arch/x86/boot.rst, "The Image Checksum").
 */
static uint32_t add_file(uint32_t sum, const char *path, char *chunk)
{
	cleanup_file FILE *file = NULL;
	struct stat status;
	size_t got;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || !(file = fopen(path, "re")))
		return sum;
	while ((got = fread(chunk, 1, CHUNK_BYTES, file))) {
		uint32_t of_chunk = (uint32_t)crc32_z(sum, (const Bytef *)chunk, got);

		sum = (uint32_t)crc32_z(sum, (const Bytef *)&of_chunk, sizeof(of_chunk));
	}
	return sum;
}

const struct matrix_input *matrix_input_find(const struct matrix *matrix, const char *file,
					     size_t length)
{
	for (size_t i = 0; i < matrix->input_count; i++)
		if (!strncmp(matrix->inputs[i].file, file, length) &&
		    !matrix->inputs[i].file[length])
			return &matrix->inputs[i];
	return NULL;
}

/* That it is used, as `named` there; `path` is where it lies. -ENOMEM. */
static int add_input(struct matrix *matrix, const char *used_as, const char *named,
		     const char *path)
{
	struct matrix_input input = {.used_as = used_as};

	if (matrix_input_find(matrix, named, strlen(named)) || sha256_file(path, input.sha256) < 0)
		return 0;
	input.file = strdup(named);
	if (!input.file || array_reserve(&matrix->inputs, &matrix->input_room,
					 matrix->input_count + 1, sizeof(input)) < 0) {
		free(input.file);
		return -ENOMEM;
	}
	matrix->inputs[matrix->input_count++] = input;
	return 0;
}

/* Adds to *sum what is in the files that the words name. */
static int add_words(struct matrix *matrix, uint32_t *sum, const struct matrix_words *words,
		     const char *used_as, char *chunk)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < words->count; i++) {
		*sum = add_file(*sum, words->items[i], chunk);
		result = add_input(matrix, used_as, words->items[i], words->items[i]);
	}
	return result;
}

/* The program of a command line, which may be one of PATH, and files that it reads. */
static int add_scheduler(struct matrix *matrix, uint32_t *sum, char *line, char *chunk)
{
	char program[PATH_MAX], *rest = line, *word;
	struct error error;
	bool first = true;
	int result = 0;

	while (result >= 0 && (word = strsep(&rest, " \t"))) {
		const char *path = word;

		if (!*word)
			continue;
		if (first && image_find_program(word, program, &error) >= 0)
			path = program;
		*sum = add_file(*sum, path, chunk);
		result = add_input(matrix, "scheduler", word, path);
		first = false;
	}
	return result;
}

int matrix_read_files(struct matrix *matrix)
{
	struct matrix_files *files = &matrix->files;
	cleanup_free char *chunk = malloc(CHUNK_BYTES);
	int result = 0;

	files->kernels = calloc(matrix->kernels.count, sizeof(*files->kernels));
	files->schedulers = calloc(matrix->schedulers.count, sizeof(*files->schedulers));
	if (!chunk || !files->kernels || !files->schedulers)
		return -ENOMEM;
	for (size_t i = 0; result >= 0 && i < matrix->kernels.count; i++) {
		const char *kernel = matrix->kernels.items[i];

		files->kernels[i] = add_file(0, kernel, chunk);
		result = add_input(matrix, "kernel", kernel, kernel);
	}
	for (size_t i = 0; result >= 0 && i < matrix->schedulers.count; i++) {
		cleanup_free char *line = strdup(matrix->schedulers.items[i]);

		result = line ? add_scheduler(matrix, &files->schedulers[i], line, chunk) : -ENOMEM;
	}
	if (result >= 0)
		result = add_words(matrix, &files->others, &matrix->command, "command", chunk);
	return result < 0 ? result
			  : add_words(matrix, &files->others, &matrix->options, "option", chunk);
}
