/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of a process, as who looks at it has it: what its calls call, through linkage tables and
 * jumps, and which function an address belongs to.
 */
#ifndef DWELL_SYMBOL_CODE_H
#define DWELL_SYMBOL_CODE_H

#include "base/identities.h"
#include "symbol/call_site.h"
#include "symbol/mappings.h"
#include "symbol/object.h"

/* What the call before a return address calls: an entry of a linkage table, say, and the function
 * that this leads to. 0: not known. */
struct code_call {
	uint64_t target, function;
	bool unbound; /* `function` is such an entry, and what it leads to cannot be read */
};

/* Those of a process that are known, and jumps (`target` alone). All zeros is empty. */
struct code_calls {
	struct identities identities; /* (kind, address): their places in `items` */
	struct code_call *items;
	size_t room;
};

void code_calls_clear(struct code_calls *calls);
void code_calls_release(struct code_calls *calls);

struct code_view {
	void *data; /* of the three functions */
	/* What is mapped at an address; NULL: nothing that is code. */
	const struct mapping *(*mapping)(void *data, uint64_t address);
	/* The file of a mapping, and an address in it as the file counts; NULL: none is open. */
	struct object *(*object)(void *data, const struct mapping *mapping, uint64_t address,
				 uint64_t *ret_address);
	call_site_read read;
	struct code_calls *calls; /* kept from one look to the next; NULL: not */
};

/* The frame a call at an address runs in: object_frame(), by address of the process. */
bool code_frame(const struct code_view *code, uint64_t address,
		struct frame_rule *ret_rule) must_check;

struct code_call code_call(const struct code_view *code, uint64_t return_address);

/* Whether the call before the address takes from a register or from memory what it calls. */
bool code_calls_by_pointer(const struct code_view *code, uint64_t return_address);

/*
 * From what is called to the function, at most: through the linkage table, and from the name to the
 * code. Where the code at `address` only jumps to; 0: it does something else.
 */
#define CODE_JUMPS_MAX 3
uint64_t code_jump(const struct code_view *code, uint64_t address);

/*
 * Whether what is called covers an address, or jumps on to what does. What a function covers says
 * the symbol table; or else it is near enough. What an unbound entry leads to says its name, which
 * is looked for in the file at the address.
 */
bool code_leads_to(const struct code_view *code, struct code_call call, uint64_t address);

/* Whether it may lead to an address that code_leads_to() does not know it to. */
bool code_may_lead_to(const struct code_view *code, struct code_call call, uint64_t address);

#endif
