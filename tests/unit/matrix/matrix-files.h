/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matrices for tests, made of files that are on every machine. */
#ifndef DWELL_UNIT_GUEST_MATRIX_FILES_H
#define DWELL_UNIT_GUEST_MATRIX_FILES_H

#include "matrix/yaml.h"

/* Files that are here in place of a kernel, and of schedulers. */
#define SOME	   "/proc/self/exe"
#define SCHEDULERS "schedulers: [\"\", /bin/true -e 2000, /bin/false]\n"
#define COMMAND	   "command: load steady -d 2s\n"

static inline void read_matrix(struct matrix *matrix, const char *text)
{
	struct error error = {""};

	matrix_init(matrix);
	if (matrix_read_text(matrix, text, "m.yaml", &error) < 0)
		fail_msg("%s", error.text);
}

static inline void make_matrix(struct matrix *matrix, const char *text)
{
	struct error error = {""};

	read_matrix(matrix, text);
	if (matrix_expand(matrix, 8, &error) < 0)
		fail_msg("%s", error.text);
}

#endif
