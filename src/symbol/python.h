/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What CPython (3.8 to 3.13, x86_64) runs, by its structures in the memory of the process. Nothing
 * there is believed: what does not look like a code object is none.
 */
#ifndef DWELL_SYMBOL_PYTHON_H
#define DWELL_SYMBOL_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interned.h"
#include "bpf/python.h"
#include "symbol/symbolizer.h"

struct python;

/* Frames of all programs, each once; they live as long as this. All zeros is empty. */
struct python_frames {
	struct interned texts;
	struct symbol_frame **items;
	size_t room;
};

void python_frames_release(struct python_frames *frames);

/*
 * Looks for an interpreter in the process that is selected. NULL: there is none, or none of a
 * version that is known, or no memory. *ret_unread: the file of one that is not known, which lives
 * as long as the symbolizer; or NULL.
 */
#define PYTHON_VERSIONS "3.8 to 3.13"
struct python *python_find(struct symbolizer *symbolizer, uint32_t pid,
			   struct python_frames *frames, const char **ret_unread);
void python_free(struct python *python);

/* Where its threads are; false: it has not begun yet. */
bool python_layout(struct python *python, struct python_layout *ret_layout);

/* The mapped file that the interpreter is in. */
const char *python_module(const struct python *python);

/* The function of the interpreter that evaluates frames: PEP 523. */
bool python_evaluates(const char *function);

/*
 * Frames of a thread that sleeps, innermost first; how many. PYTHON_MOVED: it was switched since it
 * had been `switches` times.
 */
#define PYTHON_MOVED SIZE_MAX
size_t python_read(struct python *python, uint32_t tid, uint64_t thread_pointer, uint64_t switches,
		   struct python_place places[PYTHON_FRAMES]);

enum python_kind {
	PYTHON_INSIDE,	  /* called by the next without another call of what evaluates */
	PYTHON_OUTERMOST, /* what evaluates was called for it */
	PYTHON_SHIM,	  /* no frame of a program: the one before is outermost */
};

enum python_kind python_kind(const struct python *python, const struct python_place *place);

/*
 * As a frame, of those given to python_find(); by the memory of one of its threads. NULL: it is
 * none, or there is no memory.
 */
const struct symbol_frame *python_frame(struct python *python, uint32_t tid,
					const struct python_place *place);

/* How a table says which line an instruction is of: Objects/locations.md, and before it lnotab. */
enum python_lines {
	PYTHON_LNOTAB,	  /* 3.8, 3.9 */
	PYTHON_LINETABLE, /* 3.10 */
	PYTHON_LOCATIONS, /* 3.11 on */
};

/* Of the instruction at that byte; 0: it has none. */
int python_line(enum python_lines lines, const uint8_t *table, size_t bytes, int first_line,
		uint64_t at);

#endif
