// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the files that a matrix is made of are the same as when it was begun. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

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

static uint32_t add_words(uint32_t sum, const struct matrix_words *words, char *chunk)
{
	for (size_t i = 0; i < words->count; i++)
		sum = add_file(sum, words->items[i], chunk);
	return sum;
}

/* The program of a command line, which may be one of PATH, and files that it reads. */
static uint32_t of_scheduler(char *line, char *chunk)
{
	char program[PATH_MAX], *rest = line, *word;
	struct error error;
	bool first = true;
	uint32_t sum = 0;

	while ((word = strsep(&rest, " \t"))) {
		if (!*word)
			continue;
		sum = add_file(sum,
			       first && image_find_program(word, program, &error) >= 0 ? program
										       : word,
			       chunk);
		first = false;
	}
	return sum;
}

int matrix_read_files(struct matrix *matrix)
{
	struct matrix_files *files = &matrix->files;
	cleanup_free char *chunk = malloc(CHUNK_BYTES);

	files->kernels = calloc(matrix->kernels.count, sizeof(*files->kernels));
	files->schedulers = calloc(matrix->schedulers.count, sizeof(*files->schedulers));
	if (!chunk || !files->kernels || !files->schedulers)
		return -ENOMEM;
	for (size_t i = 0; i < matrix->kernels.count; i++)
		files->kernels[i] = add_file(0, matrix->kernels.items[i], chunk);
	for (size_t i = 0; i < matrix->schedulers.count; i++) {
		cleanup_free char *line = strdup(matrix->schedulers.items[i]);

		if (!line)
			return -ENOMEM;
		files->schedulers[i] = of_scheduler(line, chunk);
	}
	files->others = add_words(0, &matrix->command, chunk);
	files->others = add_words(files->others, &matrix->options, chunk);
	return 0;
}
