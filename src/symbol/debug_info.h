/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DWARF of one ELF file: which functions an address is in, with those inlined there, and their
 * source lines. Separate debug files are found by build id and debug link (symbol/opener.h), and
 * what several of them share (dwz); compressed sections are read. No split DWARF (.dwo).
 */
#ifndef DWELL_SYMBOL_DEBUG_INFO_H
#define DWELL_SYMBOL_DEBUG_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/build_id.h"
#include "symbol/mappings.h"

struct debug_info;

/* One function on the way to an address. Strings live as long as the debug_info. */
struct source_frame {
	/* as in the DWARF: linkage name if there is one, else the plain one; NULL: not there */
	const char *function;
	const char *file; /* NULL: not known */
	int line;	  /* 0: not known */
	bool inlined;	  /* into the next one */
	bool is_plain;	  /* it has no linkage name, and may have one in the symbol table */
	bool is_stub;	  /* an entry of the linkage table for the function */
	bool is_bare;	  /* the place may be of what was inlined into the function, too */
};

#define SOURCE_FRAMES_MAX 32

/*
 * `fd` stays the caller's; `mapping` of the process is for finding separate debug files beside it;
 * NULL: it is not mapped. NULL: no memory, or no ELF
 * file. A file without DWARF has an object that knows nothing.
 */
struct debug_info *debug_info_open(int fd, const struct mapping *mapping, uint32_t pid);
void debug_info_close(struct debug_info *info);

/* Of all files that it has open. */
uint64_t debug_info_bytes(const struct debug_info *info);

/* The build id of a debug file that would say more, and is nowhere; false: there is none. */
bool debug_info_missing(const struct debug_info *info, char ret_id[BUILD_ID_BYTES]);

/* Whether a debug file was found, by name or by build id, that is not of this build: not used. */
bool debug_info_other_build(const struct debug_info *info);

/*
 * The functions at an address of the file, innermost first: the last one is not inlined. Returns
 * how many, 0 if none is known.
 */
int debug_info_frames(struct debug_info *info, uint64_t address,
		      struct source_frame frames[SOURCE_FRAMES_MAX]);

/*
 * The plain name of the function that begins at the address, with the types it was made for:
 * `poll<app::serve::{async_fn_env#0}, …>`, which its linkage name may lack. NULL: not known.
 */
const char *debug_info_name(struct debug_info *info, uint64_t address);

#endif
