// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/forked.h"
#include "base/text.h"
#include "guest/image.h"
#include "load/machine.h"
#include "matrix/card.h"
#include "version.h"

#define HASH_DIGITS 16
#define HASH_BYTES  48

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

/*
 * ", SHA-256 0123456789ab…": of the file, as sha256sum(1) says, so that readers can compare it with
 * theirs. Empty where there is no such file, or no such program.
 */
static void hash_of(char into[HASH_BYTES], const char *path)
{
	cleanup_close int out = file_in_memory("dwell-hash");
	char *const words[] = {"sha256sum", "--", (char *)path, NULL};
	pid_t parent = getpid(), child = out >= 0 ? fork() : -1;
	char digits[HASH_DIGITS + 1] = "";
	int status;

	*into = '\0';
	if (!child) {
		forked_prepare(parent, out, STDERR_FILENO);
		execvp(words[0], words);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status ||
	    pread(out, digits, HASH_DIGITS, 0) != HASH_DIGITS)
		return;
	snprintf(into, HASH_BYTES, ", SHA-256 %s...", digits);
}

/* The program that a command line begins with. */
static void hash_program(char into[HASH_BYTES], const char *command)
{
	cleanup_free char *word = strndup(command, strcspn(command, " \t"));
	char program[PATH_MAX];

	*into = '\0';
	if (word && image_find_program(word, program, NULL) >= 0)
		hash_of(into, program);
}

void provenance_find(struct provenance *provenance, const struct matrix *matrix)
{
	struct topology topology = {.llcs = {NULL, 0, 0}};
	struct machine machine;
	struct error error;
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

		hash_of(hash, matrix->kernels.items[i]);
		add_line(provenance, "Kernel: %s, Linux %s%s%s%s", matrix_kernel_name(matrix, i),
			 release ? release : "(it did not boot)", hash, accel ? ", " : "",
			 accel && !strcmp(accel, "tcg") ? "emulated (TCG)"
			 : accel			? accel
							: "");
	}
	for (size_t i = 0; i < matrix->schedulers.count; i++)
		if (*matrix->schedulers.items[i]) {
			hash_program(hash, matrix->schedulers.items[i]);
			add_line(provenance, "Scheduler: %s%s", matrix_scheduler_name(matrix, i),
				 hash);
		}
	add_line(provenance, "dwell %s", DWELL_VERSION);
	if (topology_read(&topology, "/sys", NULL, &error) >= 0) {
		machine_read(&machine, &topology);
		add_line(provenance, "Host: %s%sLinux %s %s, %u CPUs", machine.cpu_model,
			 *machine.cpu_model ? ", " : "", machine.kernel, machine.architecture,
			 machine.cpus);
	}
	topology_release(&topology);
}
