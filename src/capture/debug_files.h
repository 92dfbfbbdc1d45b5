/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug files that a process's code lacks, fetched before it is measured. */
#ifndef DWELL_CAPTURE_DEBUG_FILES_H
#define DWELL_CAPTURE_DEBUG_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "capture/stack_options.h"

struct debug_files_found {
	size_t wanted, fetched;
};

/*
 * From debuginfod, if the user has set it (symbol/debuginfod.h): those of all that the process has
 * mapped, into the cache, where what names stacks finds them. `progress` as of debuginfod_fetch().
 * 0, or a negative errno with what went wrong: some have no names then.
 */
int debug_files_fetch(uint32_t pid, const struct stack_options *options,
		      void (*progress)(void *data, size_t done, size_t count), void *data,
		      struct debug_files_found *ret_found, struct error *error) must_check;

#endif
