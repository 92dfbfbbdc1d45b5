/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file: which function an address belongs to, and where its caller is found on the stack.
 *
 * Addresses are those of the file (as in its symbol table), which object_address() makes from file
 * offsets; so one object serves all processes that map the file. The file may be hostile or change:
 * it is read, not mapped.
 */
#ifndef DWELL_SYMBOL_OBJECT_H
#define DWELL_SYMBOL_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/build_id.h"
#include "symbol/go_table.h"
#include "symbol/linked_data.h"

struct object;

/* Takes the descriptor over, also on failure. 0, -ENOEXEC (no ELF file), -ENOMEM. */
int object_open(struct object **ret_object, int fd) must_check;

/*
 * Its file was written again in place, as by cp(1) over a program that has ended: what was read of
 * it, and what would be, is of two builds.
 */
bool object_has_changed(const struct object *object);
void object_free(struct object *object);

/* A program without an interpreter: its C library is a part of it. */
bool object_is_static(const struct object *object);

/* As build_id_read(). */
void object_build_id(const struct object *object, char ret_id[BUILD_ID_BYTES]);

/* The file's address for a byte of the file; false if no segment holds it. */
bool object_address(const struct object *object, uint64_t offset, uint64_t *ret_address);

/*
 * Name of the function that covers the address, as the linker knows it (mangled), from .symtab or
 * else .dynsym. NULL: none does. Valid as long as the object.
 */
const char *object_function(struct object *object, uint64_t address);

/*
 * The same for who reads it: also of a label in hand-written code that has neither a type nor a
 * size, where object_function() has the function before it or none.
 */
const char *object_name(struct object *object, uint64_t address);

/*
 * Name of the function that the entry of the linkage table at the address jumps to. NULL: none is
 * there.
 */
const char *object_stub(struct object *object, uint64_t address);

/* By the table of a Go program; false: it is none, or has nothing there. */
bool object_go_place(struct object *object, uint64_t address, struct go_place *ret_place);

enum frame_base {
	FRAME_FROM_STACK = 0, /* the stack pointer */
	FRAME_FROM_FRAME = 1, /* the frame pointer */
};

/*
 * The frame that a call at an address runs in. CFA (canonical frame address, DWARF 5 section 6.4) =
 * base register + cfa_offset, or with `indirect` what is stored there + indirect_offset; the
 * caller's stack pointer is the CFA, the return address is stored at CFA + return_offset.
 */
struct frame_rule {
	bool outermost; /* it has no caller; the rest says nothing */
	enum frame_base base;
	int32_t cfa_offset;
	int32_t return_offset; /* 0: it is in a register: struct unwind_start */
	int32_t frame_offset;  /* the caller's frame pointer is at CFA + this; 0: unchanged */
	bool indirect;	       /* as hand-written assembly has it that aligns its stack */
	int32_t indirect_offset;
	/* the handler of a signal returns here: its caller was interrupted; SIGNAL_FRAME_* */
	bool signal;
};

/*
 * From .eh_frame, else .debug_frame, else the table of a Go program; false if none covers the
 * address or the rule is of a kind this structure cannot say. False with `signal`.
 */
bool object_frame(struct object *object, uint64_t address, struct frame_rule *ret_rule);

/*
 * What the kernel has put on the stack for a signal, where its handler has returned: offsets from
 * the stack pointer. From struct rt_sigframe (arch/x86/include/asm/sigframe.h, without the return
 * address; arch/arm64/kernel/signal.c) and the kernel's struct ucontext.
 */
#if defined(__aarch64__)
#define SIGNAL_FRAME_FRAME   544
#define SIGNAL_FRAME_LINK    552
#define SIGNAL_FRAME_STACK   560
#define SIGNAL_FRAME_ADDRESS 568
#else
#define SIGNAL_FRAME_FRAME   120
#define SIGNAL_FRAME_LINK    104 /* rdi: struct unwind_start */
#define SIGNAL_FRAME_STACK   160
#define SIGNAL_FRAME_ADDRESS 168
#endif

/*
 * Where the function that covers the address begins, by the tables for unwinding, which no strip
 * takes away. False: none is known.
 */
bool object_function_start(struct object *object, uint64_t address, uint64_t *ret_start);

/* Bytes of the file that are at an address: how many. */
size_t object_bytes(const struct object *object, uint64_t address, void *into, size_t bytes);

/* The name of one so many functions further, by address, or with less than 0 before; NULL: none. */
const char *object_function_beside(struct object *object, uint64_t address, int steps);

/* Where the function of a name begins; false: there is none. */
bool object_function_named(struct object *object, const char *name, uint64_t *ret_start);

/* Where the function that covers the address ends; 0: none does. */
uint64_t object_function_end(struct object *object, uint64_t address);

/* Calls for each function of the symbol table, by address, aliases too. */
void object_each_function(struct object *object,
			  void (*call)(void *data, uint64_t address, const char *name), void *data);

/* go_version_read(). */
bool object_go_version(const struct object *object, char into[GO_VERSION_BYTES]);

/* Where it has code, and all of it: linked_data_each(). */
struct linked_code object_code(const struct object *object);
int object_each_data(const struct object *object,
		     void (*call)(void *data, const struct linked_data *part),
		     void *data) must_check;

/* Address of a variable by its name in the symbol table; false: there is none. */
bool object_variable(struct object *object, const char *name, uint64_t *ret_address);

/* The byte of the file at one of its addresses; false if no segment holds it. */
bool object_offset(const struct object *object, uint64_t address, uint64_t *ret_offset);

#endif
