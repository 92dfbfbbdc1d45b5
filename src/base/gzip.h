/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes as gzip has them: RFC 1952. */
#ifndef DWELL_BASE_GZIP_H
#define DWELL_BASE_GZIP_H

#include <stddef.h>

#include "base/cleanup.h"

/* `level` of zlib: 1 is the fastest, 6 is usual. The caller frees *ret_packed. 0 or -ENOMEM. */
int gzip_pack(const void *bytes, size_t length, int level, char **ret_packed,
	      size_t *ret_length) must_check;

/* Of gzip_pack(), `length` bytes as they were. 0, -ENOMEM, or -EBADMSG: it is something else. */
int gzip_unpack(const char *packed, size_t packed_length, char *into, size_t length) must_check;

#endif
