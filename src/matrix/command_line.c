// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of a cell: what is run, and what a person runs to have that one alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "matrix/matrix.h"

#define MIB (1024 * 1024ULL)

static int add_option(struct matrix_words *words, const char *name, const char *value)
{
	int result = matrix_words_add(words, name);

	return result < 0 ? result : matrix_words_add(words, value);
}

static int add_all(struct matrix_words *words, const struct matrix_words *others)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < others->count; i++)
		result = matrix_words_add(words, others->items[i]);
	return result;
}

/* With the cell's number in place of each MATRIX_CELL: files of several guests have several names.
 */
static int add_numbered(struct matrix_words *words, const char *text, size_t number)
{
	struct output out;
	const char *mark;
	int result = output_init(&out, -1);

	if (result < 0)
		return result;
	for (; (mark = strstr(text, MATRIX_CELL)); text = mark + strlen(MATRIX_CELL)) {
		output_bytes(&out, text, (size_t)(mark - text));
		output_u64(&out, number);
	}
	output_string(&out, text);
	output_char(&out, '\0');
	result = out.error ? -ENOMEM : matrix_words_add(words, out.buffer);
	output_release(&out);
	return result;
}

/* In the largest unit that it is a whole number of. */
static int add_memory(struct matrix_words *words, uint64_t bytes)
{
	char text[32];

	if (bytes % MIB)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	else
		snprintf(text, sizeof(text), "%lluM", (unsigned long long)(bytes / MIB));
	return add_option(words, "--memory", text);
}

int matrix_cell_words(const struct matrix *matrix, const struct matrix_cell *cell,
		      struct matrix_words *ret_words)
{
	const char *scheduler = matrix->schedulers.items[cell->scheduler];
	int result = matrix_words_add(ret_words, "guest");

	if (result >= 0)
		result = add_option(ret_words, "--kernel", matrix->kernels.items[cell->kernel]);
	if (result >= 0)
		result = add_option(ret_words, "--topology",
				    matrix->topologies[cell->topology].name);
	if (result >= 0)
		result = add_memory(ret_words, matrix_cell_memory(matrix, cell));
	if (result >= 0 && *scheduler)
		result = add_option(ret_words, "--scheduler", scheduler);
	if (result >= 0)
		result = add_all(ret_words, &matrix->options);
	if (result >= 0)
		result = matrix_words_add(ret_words, "--");
	for (size_t i = 0; result >= 0 && i < matrix->command.count; i++)
		result = add_numbered(ret_words, matrix->command.items[i],
				      (size_t)(cell - matrix->cells) + 1);
	return result;
}

/* A word that a shell takes as it is, or in single quotes. */
static void write_quoted(struct output *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_./:,=+@%";

	if (*word && !word[strspn(word, plain)]) {
		output_string(out, word);
		return;
	}
	output_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			output_string(out, "'\\''");
		else
			output_char(out, *word);
	}
	output_char(out, '\'');
}

int matrix_cell_command(struct output *out, const struct matrix *matrix,
			const struct matrix_cell *cell)
{
	struct matrix_words words = {.items = NULL};
	int result = matrix_cell_words(matrix, cell, &words);

	output_string(out, "dwell");
	for (size_t i = 0; result >= 0 && i < words.count; i++) {
		output_char(out, ' ');
		write_quoted(out, words.items[i]);
	}
	matrix_words_release(&words);
	return result;
}
