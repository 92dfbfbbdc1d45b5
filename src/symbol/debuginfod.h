/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from servers, by build id: debuginfod(8). Only where the user has named some, in
 * $DEBUGINFOD_URLS; by libdebuginfod, if it is installed, into the cache that all clients share
 * (debuginfod_find_debuginfo(3)).
 */
#ifndef DWELL_SYMBOL_DEBUGINFOD_H
#define DWELL_SYMBOL_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether the user has named servers. */
bool debuginfod_is_set(void);

/* The file in the cache. A descriptor or a negative errno. */
int debuginfod_open(const char *build_id) must_check;

/*
 * Asks the servers for each of them, one after the other; calls `progress` before each. What no
 * server has is no error. 0, or a negative errno with what keeps the next ones away. *ret_fetched:
 * how many are in the cache now.
 */
int debuginfod_fetch(const char *const *build_ids, size_t count,
		     void (*progress)(void *data, size_t done, size_t count), void *data,
		     size_t *ret_fetched, struct error *error) must_check;

#endif
