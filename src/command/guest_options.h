/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell guest`. */
#ifndef DWELL_COMMAND_GUEST_OPTIONS_H
#define DWELL_COMMAND_GUEST_OPTIONS_H

#include "command/guest_matrix_options.h"
#include "command/watch_options.h"
#include "guest/boot.h"

#define GUEST_FILES_MAX	  256
#define GUEST_MODULES_MAX 32
#define GUEST_RETURNS_MAX 32

struct guest_options {
	struct boot_options boot;
	char kernel[PATH_MAX];
	const char *program, *sysroot; /* as in struct image_options */
	const char *files[GUEST_FILES_MAX + 1];
	size_t file_count;
	const char *pulled[GUEST_RETURNS_MAX]; /* directories */
	size_t return_count;
	const char *modules[GUEST_MODULES_MAX + 1];
	size_t module_count;
	char **command;	       /* in argv */
	const char *scheduler; /* a command line; NULL: none */
	bool repro;	       /* it is not to be alarmed */
	const char *trace;     /* as --trace of `load`; "": none; NULL: chosen */
	const char *recording; /* of `dwell record` beside the command; NULL: none */
	const char *result;    /* what came of it goes to this file too; NULL: nowhere */
	struct guest_matrix_options matrix;
};

extern const struct command_line guest_line;

/* As command_line.end. */
int guest_options_end(void *data, struct error *error) must_check;

/* Returns an enum exit_code: EXIT_DONE = go on. */
int guest_options_parse(struct guest_options *options, int argc, char **argv);

#endif
