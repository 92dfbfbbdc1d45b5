/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, files, lines and frames of a Go program, from the table that its own runtime reads
 * (.gopclntab; src/runtime/symtab.go): it is there also where everything else has been stripped.
 * Of Go 1.16 on. Everything in it may be a lie, and is checked.
 */
#ifndef DWELL_SYMBOL_GO_TABLE_H
#define DWELL_SYMBOL_GO_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_table {
	const uint8_t *bytes; /* NULL: there is none */
	size_t size;
	uint64_t text;		 /* address that entries are counted from */
	uint64_t function_count; /* of the table at `functions` */
	/* offsets of its parts */
	uint64_t names, units, files, values, functions;
	uint8_t quantum;      /* of addresses */
	uint8_t pointer;      /* bytes of an address */
	uint8_t flags_at;     /* of a function, bytes behind its entry */
	bool has_wide_values; /* entries are addresses, and not from `text` on: before 1.18 */
};

/* Strings live as long as the Elf. */
struct go_place {
	const char *function, *file; /* file NULL: not known */
	int line;		     /* 0: not known */
};

struct go_table go_table_open(Elf *elf);

/*
 * Whether it is a Go program, and the version that built it ("go1.19.8"), empty where it does not
 * say: .go.buildinfo, of Go 1.13 on (src/debug/buildinfo/buildinfo.go).
 */
#define GO_VERSION_BYTES 32
bool go_version_read(Elf *elf, char into[GO_VERSION_BYTES]);

/* What is at an address of the file; false: not known. */
bool go_table_find(const struct go_table *table, uint64_t address, struct go_place *ret_place);

enum go_frame {
	GO_FRAME_USUAL,	      /* the tables of frames say who called it */
	GO_FRAME_OUTERMOST,   /* it begins a goroutine or a thread: the words above say nothing */
	GO_FRAME_OTHER_STACK, /* its caller may be on another stack, whatever the tables say */
};

/* Of the function there; USUAL where that is not known. */
enum go_frame go_table_frame(const struct go_table *table, uint64_t address);

/*
 * How far the stack pointer lies below where it was when the function began: runtime.funcspdelta().
 * Of programs with 64-bit addresses. False: not known.
 */
bool go_table_stack(const struct go_table *table, uint64_t address, int32_t *ret_bytes);

#endif
