// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/unwind.h"

#include <string.h>

#include "symbol/call_scan.h"
#include "symbol/code_address.h"

struct cursor {
	uint64_t address, stack, frame, link;
	bool call;	       /* `address` is behind a call */
	bool in_syscall;       /* a system call of the kernel, at that */
	bool floor;	       /* `stack` is only known to lie not lower */
	unsigned int returned; /* trampolines met so far */
	uint64_t needed;       /* address behind the last word that was read */
	unsigned int *scans;   /* call_scan.left */
};

/* A word of the copied stack. */
static bool read_word(const struct unwind_start *start, struct cursor *cursor, uint64_t address,
		      uint64_t *ret_word)
{
	uint64_t offset = address - start->memory_start;

	if (address < start->memory_start || offset > start->memory_bytes ||
	    start->memory_bytes - offset < sizeof(*ret_word))
		return false;
	memcpy(ret_word, start->memory + offset, sizeof(*ret_word));
	if (address + sizeof(*ret_word) > cursor->needed)
		cursor->needed = address + sizeof(*ret_word);
	return true;
}

/* Where code keeps none of both: what it would be with a frame pointer. */
static const struct frame_rule by_frame_pointer = {
	.base = FRAME_FROM_FRAME, .cfa_offset = 16, .return_offset = -8, .frame_offset = -16};

/* The frame pointer points to its caller's and the return address, but where in the frame? */
#if defined(__aarch64__)
#define FRAME_TELLS_STACK false /* anywhere: AAPCS64, 6.4.6 */
#else
#define FRAME_TELLS_STACK true
#endif

/*
 * The tables of glibc's clone3() end before its system call, for they would be wrong in the child:
 * what they say until then holds in the parent. Bytes of that instruction.
 */
#if defined(__aarch64__)
#define SYSCALL_BYTES 4
#else
#define SYSCALL_BYTES 2
#endif

static bool find_table_rule(struct symbolizer *symbolizer, const struct cursor *cursor,
			    struct frame_rule *ret_rule)
{
	uint64_t address = cursor->address - cursor->call;
	struct code_view code = symbolizer_code(symbolizer);

	return code_frame(&code, address, ret_rule) ||
	       (cursor->in_syscall && !ret_rule->signal &&
		code_frame(&code, address - SYSCALL_BYTES, ret_rule));
}

static bool scan_for_call(struct symbolizer *symbolizer, const struct unwind_start *start,
			  const struct cursor *cursor, struct frame_rule *ret_rule)
{
	const struct mapping *mapping = symbolizer_mapping(symbolizer, cursor->address - 1);
	const struct call_scan scan = {.address = cursor->address - cursor->call,
				       .stack = cursor->stack,
				       .frame = cursor->frame,
				       .link = cursor->link,
				       .memory = start->memory,
				       .memory_start = start->memory_start,
				       .memory_bytes = start->memory_bytes,
				       .left = cursor->scans};
	struct code_view code = symbolizer_code(symbolizer);

	/* of code that was made at run time, and is in no file, nothing is known */
	return mapping && mapping->inode && !cursor->floor && call_scan(&code, &scan, ret_rule);
}

/* False: by the frame pointer, as there is no rule, or none that we know. */
static bool find_rule(struct symbolizer *symbolizer, const struct unwind_start *start,
		      const struct cursor *cursor, struct frame_rule *ret_rule)
{
	if (start->frame_pointers) {
		*ret_rule = by_frame_pointer;
		return false;
	}
	if (find_table_rule(symbolizer, cursor, ret_rule) &&
	    (ret_rule->outermost || ret_rule->base == FRAME_FROM_FRAME || !cursor->floor))
		return true;
	if (ret_rule->signal)
		return false;
	if (scan_for_call(symbolizer, start, cursor, ret_rule))
		return true;
	*ret_rule = by_frame_pointer;
	return false;
}

/* To the code that a signal has interrupted. As step(). */
static int step_over_signal(struct symbolizer *symbolizer, const struct unwind_start *start,
			    struct cursor *cursor)
{
	struct cursor next = {.returned = cursor->returned, .scans = cursor->scans};

	if (!read_word(start, cursor, cursor->stack + SIGNAL_FRAME_ADDRESS, &next.address) ||
	    !read_word(start, cursor, cursor->stack + SIGNAL_FRAME_STACK, &next.stack) ||
	    !read_word(start, cursor, cursor->stack + SIGNAL_FRAME_FRAME, &next.frame) ||
	    !read_word(start, cursor, cursor->stack + SIGNAL_FRAME_LINK, &next.link))
		return -1;
	if (!symbolizer_mapping(symbolizer, next.address))
		return -2;
	next.needed = cursor->needed;
	*cursor = next;
	return 1;
}

/* A return probe has put the address of its trampoline on the stack. */
static bool is_trampoline(struct symbolizer *symbolizer, uint64_t address)
{
	const struct mapping *mapping = symbolizer_mapping(symbolizer, address);

	return mapping && !strcmp(mapping->path, "[uprobes]");
}

/* 1: to the caller; 0: there is none; -1: unknown; -2: where no code is mapped. */
static int step(struct symbolizer *symbolizer, const struct unwind_start *start,
		struct cursor *cursor)
{
	struct frame_rule rule = {0};
	bool has_rule = find_rule(symbolizer, start, cursor, &rule);
	uint64_t cfa, address, frame = cursor->frame;

	if (rule.outermost)
		return 0;
	if (rule.signal)
		return step_over_signal(symbolizer, start, cursor);
	cfa = (rule.base == FRAME_FROM_FRAME ? cursor->frame : cursor->stack) +
	      (uint64_t)(int64_t)rule.cfa_offset;
	if (rule.indirect) {
		if (!read_word(start, cursor, cfa, &cfa))
			return -1;
		cfa += (uint64_t)(int64_t)rule.indirect_offset;
	}
	/* stacks grow down: a caller's frame lies above, but of a function that has none itself */
	if (cursor->call && (cfa < cursor->stack || (cfa == cursor->stack && rule.return_offset)))
		return -1;
	if (!rule.return_offset && !cursor->link)
		return -1; /* only the innermost has not saved it yet */
	if (!rule.return_offset)
		address = cursor->link;
	else if (!read_word(start, cursor, cfa + (uint64_t)(int64_t)rule.return_offset, &address))
		return -1;
	if (rule.frame_offset &&
	    !read_word(start, cursor, cfa + (uint64_t)(int64_t)rule.frame_offset, &frame))
		return -1;
	address &= code_address_mask();
	if (is_trampoline(symbolizer, address)) {
		if (cursor->returned >= start->return_count)
			return -1;
		address = ((const uint64_t *)start->returns)[cursor->returned++];
	}
	if (!address)
		return 0;
	if (!symbolizer_mapping(symbolizer, address - 1))
		return -2;
	*cursor = (struct cursor){.address = address,
				  .stack = cfa,
				  .frame = frame,
				  .call = true,
				  .floor = !has_rule && !FRAME_TELLS_STACK,
				  .returned = cursor->returned,
				  .needed = cursor->needed,
				  .scans = cursor->scans};
	return 1;
}

unsigned int unwind(struct symbolizer *symbolizer, const struct unwind_start *start,
		    uint64_t addresses[UNWIND_MAX], enum unwind_end *ret_end, uint64_t *ret_needed)
{
	unsigned int scans = CALL_SCAN_WORDS;
	struct cursor cursor = {.address = start->address,
				.stack = start->stack,
				.frame = start->frame,
				.link = start->link,
				.call = !start->exact,
				.in_syscall = !start->exact,
				.scans = &scans};
	unsigned int count = 0;
	int result = 1;

	while (result > 0 && count < UNWIND_MAX) {
		/* what a signal has interrupted is no return address, but is read as one */
		addresses[count] = cursor.address + (count && !cursor.call);
		count++;
		result = step(symbolizer, start, &cursor);
	}
	/* what the frame pointer leads to from there means nothing */
	if (result == -2 || (count == 1 && !symbolizer_mapping(symbolizer, addresses[0])))
		*ret_end = UNWIND_UNMAPPED;
	else if (result == 0)
		*ret_end = UNWIND_COMPLETE;
	else
		*ret_end = count > 1 ? UNWIND_TRUNCATED : UNWIND_FAILED;
	if (ret_needed)
		*ret_needed = cursor.needed;
	return count;
}
