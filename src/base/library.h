/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that few runs need, loaded when one does: linked, they and all that they need would be
 * in the memory of every dwell.
 */
#ifndef DWELL_BASE_LIBRARY_H
#define DWELL_BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

struct library_call {
	const char *name; /* of the function */
	void **address;	  /* of a pointer to it, which library_load() sets */
};

/*
 * As dlopen(3) finds `file`. NULL where it is not there (ENOENT) or lacks one of the calls.
 * `packages`: what distributions call what has it, for the message.
 */
void *library_load(const char *file, const char *packages, const struct library_call *calls,
		   size_t count, struct error *error) must_check;

/* `library` may be NULL. None of its functions may be called after that. */
void library_unload(void *library);

#endif
