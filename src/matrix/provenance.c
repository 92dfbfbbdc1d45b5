// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "matrix/card.h"
#include "matrix/sessions.h"

#define HASH_DIGITS 16
#define HASH_BYTES  48

#define HOST_BYTES  320 /* all that is known of one */
#define TALLIED	    16	/* hosts, and versions, that are named */
#define NO_VERSION  "version not recorded"
#define NO_HOST	    "not recorded"

__attribute__((format(printf, 2, 3))) static void add_line(struct provenance *provenance,
							   const char *format, ...)
{
	char text[CARD_CELL_BYTES];
	va_list args;

	if (provenance->count == ARRAY_SIZE(provenance->lines))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_printable(provenance->lines[provenance->count++], CARD_CELL_BYTES, text,
		       CARD_CELL_BYTES);
}

static const char *release_of(const struct matrix *matrix, size_t kernel, const char **ret_accel)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (matrix->cells[i].kernel == kernel && matrix->cells[i].guest.release) {
			*ret_accel = matrix->cells[i].guest.accel;
			return matrix->cells[i].guest.release;
		}
	return NULL;
}

static bool was_tried(const struct matrix *matrix, size_t kernel)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (matrix->cells[i].kernel == kernel && matrix->cells[i].elapsed_ns)
			return true;
	return false;
}

/*
 * ", SHA-256 0123456789ab...": of the file that a line begins with, as sha256sum(1) says, so that
 * readers can compare it with theirs. Empty where there is no such file.
 */
static void hash_of(char into[HASH_BYTES], const struct matrix *matrix, const char *line)
{
	const struct matrix_input *input = matrix_input_find(matrix, line, strcspn(line, " \t"));

	*into = '\0';
	if (input)
		snprintf(into, HASH_BYTES, ", SHA-256 %.*s...", HASH_DIGITS, input->sha256);
}

/* Who ran, by what is written of them: each once. */
struct tally {
	struct {
		char text[HOST_BYTES];
		size_t runs;
	} items[TALLIED];
	size_t count, others;
};

static void tally_add(struct tally *tally, const char *text, size_t runs)
{
	size_t at = 0;

	while (at < tally->count && strcmp(tally->items[at].text, text) != 0)
		at++;
	if (!runs)
		return;
	if (at == TALLIED) {
		tally->others += runs;
		return;
	}
	if (at == tally->count)
		snprintf(tally->items[tally->count++].text, HOST_BYTES, "%s", text);
	tally->items[at].runs += runs;
}

/* How many runs each has is said where not all have one. */
static void tally_write(struct provenance *provenance, const struct tally *tally, const char *what)
{
	for (size_t i = 0; i < tally->count; i++) {
		size_t runs = tally->items[i].runs;

		if (tally->count == 1)
			add_line(provenance, "%s%s", what, tally->items[i].text);
		else
			add_line(provenance, "%s%s: %zu run%s", what, tally->items[i].text, runs,
				 text_plural(runs));
	}
	if (tally->others)
		add_line(provenance, "%sothers: %zu run%s", what, tally->others,
			 text_plural(tally->others));
}

/* Of those who ran the cells, which need not be this machine and this dwell. */
static void add_sessions(struct provenance *provenance, const struct matrix *matrix)
{
	struct tally versions = {.count = 0}, hosts = {.count = 0};
	size_t unknown = matrix_session_runs(matrix, NULL);
	char text[HOST_BYTES];

	for (size_t i = 0; i < matrix->session_count; i++) {
		const struct matrix_session *session = &matrix->sessions[i];
		size_t runs = matrix_session_runs(matrix, session);

		tally_add(&versions, *session->dwell ? session->dwell : NO_VERSION, runs);
		snprintf(text, sizeof(text), "%s%sLinux %s %s, %u CPUs", session->cpu_model,
			 *session->cpu_model ? ", " : "", session->kernel, session->architecture,
			 session->cpus);
		tally_add(&hosts, *session->kernel ? text : NO_HOST, runs);
	}
	tally_add(&versions, NO_VERSION, unknown);
	tally_add(&hosts, NO_HOST, unknown);
	tally_write(provenance, &versions, "dwell ");
	tally_write(provenance, &hosts, "Host: ");
}

void provenance_find(struct provenance *provenance, const struct matrix *matrix)
{
	struct output command;
	char hash[HASH_BYTES];

	if (output_init(&command, -1) >= 0) {
		for (size_t i = 0; i < matrix->command.count; i++)
			output_format(&command, "%s%s", i ? " " : "", matrix->command.items[i]);
		output_char(&command, '\0');
		add_line(provenance, "Load: dwell %s, %u run%s of each", command.buffer,
			 matrix->repeat, matrix->repeat == 1 ? "" : "s");
		output_release(&command);
	}
	for (size_t i = 0; i < matrix->kernels.count; i++) {
		const char *accel = NULL, *release = release_of(matrix, i, &accel);

		hash_of(hash, matrix, matrix->kernels.items[i]);
		add_line(provenance, "Kernel: %s, %s%s%s%s%s", matrix_kernel_name(matrix, i),
			 release ? "Linux " : "",
			 release		? release
			 : was_tried(matrix, i) ? "it did not boot"
						: "nothing was run under it",
			 hash, accel ? ", " : "",
			 accel && !strcmp(accel, "tcg") ? "emulated (TCG)"
			 : accel			? accel
							: "");
	}
	for (size_t i = 0; i < matrix->schedulers.count; i++)
		if (*matrix->schedulers.items[i]) {
			hash_of(hash, matrix, matrix->schedulers.items[i]);
			add_line(provenance, "Scheduler: %s%s", matrix_scheduler_name(matrix, i),
				 hash);
		}
	add_sessions(provenance, matrix);
}
