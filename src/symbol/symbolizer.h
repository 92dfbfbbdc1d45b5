/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of a process as functions: with all that was inlined there, source lines where the file
 * has debug information, names from its symbol table where it has not, and `file+0xaddress` of the
 * function, or the place, where it has nothing. Remembers every address of every file, so that
 * asking again costs next to nothing.
 */
#ifndef DWELL_SYMBOL_SYMBOLIZER_H
#define DWELL_SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/code.h"
#include "symbol/frame_kind.h"

struct symbolizer;

/* Strings live as long as the symbolizer. */
struct symbol_frame {
	const char *function; /* demangled, or module+0xoffset; never NULL */
	const char *file;     /* NULL: not known */
	const char *module;   /* path of the mapped file; "" = code without a file */
	const char *build_id; /* of that file, in hex; NULL: it has none */
	int line;	      /* 0: not known */
	bool inlined;	      /* into the next one */
	bool named;	      /* `function` is a name */
	enum frame_kind kind;
};

/* Of one address, innermost first. */
struct symbol {
	const struct symbol_frame *frames;
	unsigned int count; /* at least 1 */
};

/* `runtimes`: as of frame_kind_of(). NULL: no memory. */
struct symbolizer *symbolizer_new(const char *const *runtimes);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Before anything is asked for: a file with the symbols of the program, which itself has none; it
 * was linked from the same, so that addresses mean the same. `path` must live as long.
 */
void symbolizer_take_symbols(struct symbolizer *symbolizer, const char *path);

/*
 * Reads the memory map of the process the next addresses are of, again each time: as it was at a
 * time (opener_follow_processes()) or, with 0, is now. 0 or a negative errno: it is gone, or not
 * ours to read; then what it had mapped before is kept.
 */
int symbolizer_attach(struct symbolizer *symbolizer, uint32_t pid, uint64_t time_ns) must_check;

/*
 * The same of one whose map was read as of `from_ns`, by what differs. 0, -ENOENT: that is not
 * known, and its map is as it was; or -ENOMEM.
 */
int symbolizer_move(struct symbolizer *symbolizer, uint32_t pid, uint64_t from_ns,
		    uint64_t time_ns) must_check;

/*
 * The next addresses are of this process, as its memory map was when it was read last. False: it
 * was not, or so many others have been read since that it is forgotten.
 */
bool symbolizer_select(struct symbolizer *symbolizer, uint32_t pid) must_check;

/* Of the one that is selected; NULL: not known. Valid until the next attach. */
const char *symbolizer_program(const struct symbolizer *symbolizer);

/* The process has another program now: selects it, with nothing mapped. 0 or -ENOMEM. */
int symbolizer_forget(struct symbolizer *symbolizer, uint32_t pid) must_check;

/*
 * Opens all files the process has mapped now, if one is attached, and the kernel's symbols, instead
 * of each when it is first asked for.
 */
int symbolizer_preload(struct symbolizer *symbolizer) must_check;

/* The first file that has been opened with debug_info_other_build(); NULL: none. */
const char *symbolizer_other_build(const struct symbolizer *symbolizer);

/* The first program of another build than the file with its symbols; NULL: none. */
const char *symbolizer_unsymboled(const struct symbolizer *symbolizer);

/* The first file that was not read as it may never answer (symbol/foreign.h); NULL: none. */
const char *symbolizer_unanswered(const struct symbolizer *symbolizer);

/* The first 32-bit program to which one was attached: its stacks cannot be read. NULL: none. */
const char *symbolizer_32_bit(const struct symbolizer *symbolizer);

/* Calls for each debug file that those which are open lack: debug_info_missing(). */
void symbolizer_each_missing(const struct symbolizer *symbolizer,
			     void (*call)(void *data, const char *build_id), void *data);

/*
 * What is at an address. `call`: it is a return address, so what is meant is the call before it.
 * -ENOMEM is the only error.
 */
int symbolizer_find(struct symbolizer *symbolizer, uint64_t address, bool call,
		    struct symbol *ret_symbol) must_check;

/* The same for an address in the kernel; where those are hidden, bare addresses. */
int symbolizer_find_kernel(struct symbolizer *symbolizer, uint64_t address,
			   struct symbol *ret_symbol) must_check;

/*
 * Where a variable of a mapped file is in the process that is selected: of the first file that has
 * it, and `part` in its name. False: none has. *ret_path lives as long as the symbolizer.
 */
bool symbolizer_variable(struct symbolizer *symbolizer, const char *part, const char *name,
			 uint64_t *ret_address, const char **ret_path);

/* What is mapped there; NULL: nothing that is code. Valid until the next attach. */
const struct mapping *symbolizer_mapping(const struct symbolizer *symbolizer, uint64_t address);

/*
 * The code of the process that is selected, for as long as it is. Read from the mapped files, and
 * where it has been linked to from the process.
 */
struct code_view symbolizer_code(struct symbolizer *symbolizer);

/* How many addresses had names, of how many asked for first. */
struct symbolizer_counts {
	uint64_t addresses, named, with_lines;
};
struct symbolizer_counts symbolizer_counts(const struct symbolizer *symbolizer);

#endif
