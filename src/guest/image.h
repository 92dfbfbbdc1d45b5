/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The initramfs of a guest: this program as its init, the libraries that programs need, files that
 * are to be there under the same names as here, and what init is to do.
 */
#ifndef DWELL_GUEST_IMAGE_H
#define DWELL_GUEST_IMAGE_H

#include <limits.h>
#include <string.h>

#include "guest/cpio.h"
#include "guest/pulled_files.h"

/* Where init finds its orders: texts, each ended by a NUL. */
#define IMAGE_ARGUMENTS	  "etc/dwell/arguments"
#define IMAGE_DIRECTORY	  "etc/dwell/directory"
#define IMAGE_MODULES	  "etc/dwell/modules" /* a directory of them */
#define IMAGE_SCHEDULER	  "etc/dwell/scheduler"
#define IMAGE_REPRO	  "etc/dwell/repro" /* not empty: the scheduler is not alarmed */
#define IMAGE_RETURNS	  "etc/dwell/returns"
#define IMAGE_RECORDING	  "etc/dwell/recording"

#define IMAGE_ORDER_BYTES (64 * 1024) /* of each, at most */
#define IMAGE_ORDER_TEXTS 1024	      /* likewise */

struct image_options {
	const char *program; /* the dwell that is init; NULL: this one */
	const char *sysroot; /* where programs of other architectures find libraries; NULL: "/" */
	/* a command of dwell, or a program with a slash in its name, and arguments; ends with NULL
	 */
	char *const *arguments;
	const char *const *files; /* to add, directories with all that is in them; ends with NULL */
	const char *scheduler;	  /* a command line; NULL: none */
	bool repro;
	const char *recording; /* file of `dwell record` beside the command; NULL: none */
	const struct pulled_files *pulled;
	const char *kernel;	    /* whose modules are meant */
	const char *const *modules; /* names; ends with NULL */
};

/* Whether a command is a program of its own, not one of dwell's. */
static inline bool image_is_program(const char *command)
{
	return strchr(command, '/') != NULL;
}

/* Looks for it as execvp(3) does; a name with a slash is taken as it is. */
int image_find_program(const char *name, char into[PATH_MAX], struct error *error) must_check;

/*
 * Into a file without a name, that of the descriptor. Arguments that name files are added as well.
 * Programs bring the libraries along that they need: as the dynamic loader says, or, with a sysroot
 * or if the program is of another architecture, as found there.
 */
int image_make(const struct image_options *options, int *ret_fd, uint64_t *ret_bytes,
	       struct error *error) must_check;

#endif
