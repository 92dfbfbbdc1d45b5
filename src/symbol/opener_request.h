/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes between who asks for a file and the reader that opens it. */
#ifndef DWELL_SYMBOL_OPENER_REQUEST_H
#define DWELL_SYMBOL_OPENER_REQUEST_H

#include "base/helper.h"
#include "symbol/opener.h"

enum opener_kind {
	OPEN_MAPS = 1,
	OPEN_MAPS_DIFFERENCES,
	OPEN_KERNEL_SYMBOLS,
	OPEN_PROGRAM,
	READ_PROGRAM_PATH,
	READ_ROOT_PATH,
	OPEN_MAPPING,
	OPEN_JIT_MAP,
	OPEN_SYMBOLS,
	OPEN_DEBUG_ID,
	OPEN_DEBUG_LINK,
	OPEN_DEBUGINFOD,
	READ_MEMORY,
	READ_STACK,
	READ_WAIT,
	READ_UNCHANGED,
	READ_CHANGED_GROUPS,
};

/* Cut off behind its text. */
struct opener_request {
	uint32_t kind, pid;	/* or tid */
	uint64_t time_ns;	/* when that was; 0: now */
	uint64_t start, end;	/* or another time */
	uint32_t with_switches; /* of memory */
	uint32_t text_bytes;
	char text[PATH_MAX + 1];
};

struct opener_memory_reply {
	uint64_t switches;
	uint8_t bytes[OPENER_MEMORY_BYTES];
};

_Static_assert(sizeof(struct opener_memory_reply) <= HELPER_REPLY_BYTES &&
		       OPENER_PATH_BYTES <= HELPER_REPLY_BYTES &&
		       sizeof(struct opener_request) <= HELPER_MESSAGE_BYTES,
	       "they fit into a message");

#endif
