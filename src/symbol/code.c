// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/code.h"

#include <stdlib.h>

#include "base/array.h"

/* Calls and jumps of a process that are known: more come from a hostile stack. */
#define CALLS_MAX 4096

/* What is known, by what its address is. */
enum { OF_RETURN, OF_JUMP };

void code_calls_clear(struct code_calls *calls)
{
	identities_clear(&calls->identities);
}

void code_calls_release(struct code_calls *calls)
{
	identities_release(&calls->identities);
	free(calls->items);
	*calls = (struct code_calls){.room = 0};
}

static bool is_code(const struct code_view *code, uint64_t address)
{
	return address && code->mapping(code->data, address);
}

/* The file that holds an address, and what the address is there; NULL: none. */
static struct object *object_at(const struct code_view *code, uint64_t address,
				uint64_t *ret_in_file)
{
	const struct mapping *mapping = code->mapping(code->data, address);

	return mapping ? code->object(code->data, mapping, address, ret_in_file) : NULL;
}

bool code_frame(const struct code_view *code, uint64_t address, struct frame_rule *ret_rule)
{
	uint64_t in_file;
	struct object *object = object_at(code, address, &in_file);

	return object && object_frame(object, in_file, ret_rule);
}

bool code_calls_by_pointer(const struct code_view *code, uint64_t return_address)
{
	return call_site_is_indirect(CALL_SITE_HERE, return_address, code->read, code->data);
}

static const struct code_call *known_of(const struct code_calls *calls, uint32_t kind,
					uint64_t address)
{
	size_t index = calls ? identities_find(&calls->identities, kind, address) : IDENTITY_NONE;

	return index == IDENTITY_NONE ? NULL : &calls->items[index];
}

static void keep(struct code_calls *calls, uint32_t kind, uint64_t address, struct code_call call)
{
	size_t known;

	if (!calls)
		return;
	if (calls->identities.count >= CALLS_MAX)
		identities_clear(&calls->identities);
	known = calls->identities.count;
	if (!array_reserve(&calls->items, &calls->room, known + 1, sizeof(*calls->items)) &&
	    identities_add(&calls->identities, kind, address) != IDENTITY_NONE)
		calls->items[known] = call;
}

/*
 * By memory, as a linkage table does it. Before its first call, an entry that is bound lazily leads
 * back to its own file.
 */
static bool leads_elsewhere(const struct code_view *code, uint64_t address, uint64_t target)
{
	const struct mapping *from = code->mapping(code->data, address),
			     *to = code->mapping(code->data, target);

	return from && to && (from->inode != to->inode || from->device != to->device);
}

/*
 * What a linkage table leads to is in memory, which is gone with the process: stacks that come
 * later are those of its last moments.
 */
uint64_t code_jump(const struct code_view *code, uint64_t address)
{
	const struct code_call *known = known_of(code->calls, OF_JUMP, address);
	uint64_t target;

	if (known)
		return known->target;
	target = call_site_jump(CALL_SITE_HERE, address, code->read, code->data);
	if (!is_code(code, target))
		return 0;
	if (leads_elsewhere(code, address, target))
		keep(code->calls, OF_JUMP, address, (struct code_call){.target = target});
	return target;
}

/* Behind jumps that only lead on, as those of a linkage table. */
static uint64_t follow_jumps(const struct code_view *code, uint64_t address)
{
	for (int i = 0; i < CODE_JUMPS_MAX && is_code(code, address); i++) {
		uint64_t next = code_jump(code, address);

		if (!next)
			return address;
		address = next;
	}
	return is_code(code, address) ? address : 0;
}

static struct code_call look_at_call(const struct code_view *code, uint64_t return_address)
{
	struct code_call call = {0};

	call.target = call_site_target(CALL_SITE_HERE, return_address, code->read, code->data);
	call.function = follow_jumps(code, call.target);
	call.unbound = call.function &&
		       call_site_slot(CALL_SITE_HERE, call.function, code->read, code->data);
	return call;
}

struct code_call code_call(const struct code_view *code, uint64_t return_address)
{
	const struct code_call *known = known_of(code->calls, OF_RETURN, return_address);
	struct code_call call;

	if (known)
		return *known;
	call = look_at_call(code, return_address);
	keep(code->calls, OF_RETURN, return_address, call);
	return call;
}

/* Of a function in no symbol table. */
#define FUNCTION_BYTES 4096
/* Of any. */
#define FUNCTION_BYTES_MAX 65536

static bool is_inside(const struct code_view *code, uint64_t start, uint64_t address)
{
	const struct mapping *mapping = code->mapping(code->data, start);
	uint64_t start_in_file, in_file, its_end, end;
	struct object *object;

	if (!mapping || address < start || address >= mapping->end ||
	    address - start >= FUNCTION_BYTES_MAX)
		return false;
	object = code->object(code->data, mapping, start, &start_in_file);
	if (!object || !code->object(code->data, mapping, address, &in_file))
		return false;
	its_end = object_function_end(object, start_in_file);
	end = object_function_end(object, in_file);
	return its_end || end ? its_end == end : address - start < FUNCTION_BYTES;
}

struct way {
	const struct code_view *code;
	uint64_t address;
};

static bool ends_at(void *data, uint64_t target)
{
	const struct way *way = data;

	target = follow_jumps(way->code, target);
	return target && is_inside(way->code, target, way->address);
}

/*
 * The function of the file at an address that an entry of a linkage table is called after; 0: there
 * is none.
 */
static uint64_t function_of_entry(const struct code_view *code, uint64_t entry, uint64_t address)
{
	uint64_t entry_in_file, in_file, start;
	struct object *from = object_at(code, entry, &entry_in_file),
		      *to = object_at(code, address, &in_file);
	const char *name = from && to ? object_stub(from, entry_in_file) : NULL;

	return name && object_function_named(to, name, &start) ? address - in_file + start : 0;
}

bool code_leads_to(const struct code_view *code, struct code_call call, uint64_t address)
{
	struct way way = {code, address};
	uint64_t function =
		call.unbound ? function_of_entry(code, call.function, address) : call.function;

	/* in the linkage table itself, or behind it */
	return call.function && (is_inside(code, call.target, address) ||
				 (function && (is_inside(code, function, address) ||
					       call_site_tails(CALL_SITE_HERE, function, code->read,
							       code->data, ends_at, &way))));
}

bool code_may_lead_to(const struct code_view *code, struct code_call call, uint64_t address)
{
	return call.unbound && !function_of_entry(code, call.function, address);
}
