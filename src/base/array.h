/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow. */
#ifndef DWELL_BASE_ARRAY_H
#define DWELL_BASE_ARRAY_H

#include <stddef.h>

#include "base/cleanup.h"

/*
 * Makes room for `wanted` items of `item_bytes` in the array that *items points to (a pointer to
 * any type; NULL at first), of *room items so far. At least doubles, so that appending one by one
 * is cheap. 0, or -ENOMEM with everything as it was.
 */
int array_reserve(void *items, size_t *room, size_t wanted, size_t item_bytes) must_check;

#endif
