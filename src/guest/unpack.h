/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacks by the program of a format: none of the formats is worth a library of ours. */
#ifndef DWELL_GUEST_UNPACK_H
#define DWELL_GUEST_UNPACK_H

#include <stddef.h>

#include "base/cleanup.h"

/*
 * `program` -dc from one descriptor to another, each at its offset, with the rights that QEMU has
 * (jail.h). -EIO: the program failed, is not installed, or more than `limit_bytes` came.
 */
int unpack(const char *program, int from, int to, size_t limit_bytes) must_check;

#endif
