/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is mapped somewhere, with all that was ever found out about its addresses. */
#ifndef DWELL_SYMBOL_MODULE_H
#define DWELL_SYMBOL_MODULE_H

#include "symbol/debug_info.h"
#include "symbol/mappings.h"
#include "symbol/object.h"
#include "symbol/symbolizer.h"

/* Opened when its first address is asked for. */
struct module {
	uint64_t device, inode;
	char *path;
	size_t root_bytes;	       /* so much of it names the root of its process; mostly 0 */
	char build_id[BUILD_ID_BYTES]; /* "": none */
	bool executable;	       /* the program itself */
	bool is_no_program;	       /* the file was open, and is not an ELF file */
	bool may_never_answer;	       /* so it is not read */
	bool has_other_symbols;	       /* those that were given are of another build: not used */
	bool is_past;		       /* its file has changed since: another one has its place */
	uint64_t attachment;	       /* of the process for which that was looked at last */
	uint32_t asked;	       /* the process by which it was opened last; 0: it is closed */
	uint64_t asked_ns;     /* as of when that had it mapped */
	uint64_t used;	       /* when last, by a count of stacks */
	uint64_t bytes;	       /* of its files, while they are open */
	struct object *object; /* NULL: no ELF file */
	struct object *names;  /* another file with its symbols; NULL: its own */
	bool is_asked_for_ocaml, has_ocaml; /* whether it contains OCaml's runtime */
	struct debug_info *info;
	struct known *known; /* open addressing by address + 1; 0 = free */
	size_t known_count, known_room;
};

struct known {
	uint64_t key; /* address of the file, or of the process for code without one; + 1 */
	struct symbol_frame *frames;
	unsigned int count;
	size_t listed; /* without a file: so many functions were when it was asked for */
};

void symbol_frames_free(struct symbol_frame *frames, unsigned int count);
void module_release(struct module *module);

/*
 * Of a process that has it mapped. `symbols`: a file with the symbols of the program itself, if it
 * has none; NULL: there is none. Not used if both have build ids that differ.
 */
void module_open(struct module *module, const struct mapping *mapping, uint32_t pid,
		 const char *symbols);
void module_open_vdso(struct module *module);

/* What is known stays, as it has been given out. Returns the bytes of its files. */
uint64_t module_close(struct module *module);

/* What is known of an address; with key 0 it is to be filled in. NULL: no memory. */
struct known *module_known(struct module *module, uint64_t address);

#endif
