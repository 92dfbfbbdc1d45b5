// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/call_scan.h"

#include <string.h>

#include "symbol/code_address.h"

/* Frames of C libraries are small; that of printf(3) is the largest that is met often. */
#define SCANNED_WORDS 256

static bool read_word(const struct call_scan *scan, uint64_t address, uint64_t *ret_word)
{
	uint64_t offset = address - scan->memory_start;

	if (address < scan->memory_start || offset > scan->memory_bytes ||
	    scan->memory_bytes - offset < sizeof(*ret_word))
		return false;
	memcpy(ret_word, scan->memory + offset, sizeof(*ret_word));
	return true;
}

/* What a word of the stack may be. */
enum word {
	WORD_NO_RETURN,
	WORD_OTHER,   /* where another call returns to */
	WORD_UNSURE,  /* where one returns to of which it cannot be found out what it calls */
	WORD_POINTER, /* where a call returns to that does not say what it calls */
	WORD_RETURN,  /* where a call of the function returns to */
	WORD_END,     /* where a thread or the program begins: no call leads there */
};

static enum word classify(const struct code_view *code, const struct call_scan *scan, uint64_t word)
{
	struct frame_rule rule;
	struct code_call called;

	word &= code_address_mask();
	if (!code->mapping(code->data, word - 1) || !*scan->left)
		return WORD_NO_RETURN;
	--*scan->left;
	called = code_call(code, word);
	if (code_leads_to(code, called, scan->address))
		return WORD_RETURN;
	if (code_frame(code, word - 1, &rule) && rule.outermost)
		return WORD_END;
	if (called.function)
		return code_may_lead_to(code, called, scan->address) ? WORD_UNSURE : WORD_OTHER;
	return code_calls_by_pointer(code, word) ? WORD_POINTER : WORD_NO_RETURN;
}

/* Between the two there may be callers that are missing. */
static bool is_next(enum word word, bool is_skipped)
{
	return word == WORD_RETURN || (word == WORD_END && !is_skipped);
}

/* Whether the call of the function may have left it: then what lies above is a guess. */
static bool is_candidate(enum word word)
{
	return word == WORD_POINTER || word == WORD_UNSURE;
}

/* Upwards from the stack pointer. False: no word is sure. */
static bool scan_up(const struct code_view *code, const struct call_scan *scan, bool pointers,
		    struct frame_rule *ret_rule);

/*
 * Whether a call by a pointer is one of the function's callers: where its own frame is known to
 * end, or another call is sure to have led to it, directly above.
 */
static bool is_confirmed(const struct code_view *code, const struct call_scan *scan,
			 uint64_t address, uint64_t stack)
{
	struct call_scan caller = *scan;
	struct frame_rule rule = {0};
	uint64_t word, frame = scan->frame;

	caller.address = address - 1;
	caller.stack = stack;
	caller.link = 0;
	if (!code_frame(code, address - 1, &rule))
		return scan_up(code, &caller, false, &rule);
	if (rule.outermost)
		return true;
	if (rule.indirect || !rule.return_offset)
		return false;
	stack = (rule.base == FRAME_FROM_FRAME ? frame : stack) +
		(uint64_t)(int64_t)(rule.cfa_offset + rule.return_offset);
	return read_word(scan, stack, &word) && classify(code, &caller, word) > WORD_NO_RETURN;
}

/* Where a call returns to; `word` may lie in code that was made at run time. */
static bool is_return(const struct code_view *code, const struct call_scan *scan, uint64_t word)
{
	const struct mapping *mapping = code->mapping(code->data, (word & code_address_mask()) - 1);

	return mapping && (!mapping->inode || classify(code, scan, word) != WORD_NO_RETURN);
}

/* Of a frame with a frame pointer. */
#define FRAME_BYTES_MAX (1 << 20)

/*
 * Words up to which a caller is looked for: those below the frame pointer, if that leads to another
 * one above it, and to a return address. Then it is one, as in code that is made at run time and in
 * what a JavaScript engine has built in; or it is a caller's, and what has none lies below that.
 */
static size_t words_of_frame(const struct code_view *code, const struct call_scan *scan)
{
	uint64_t words = (scan->frame - scan->stack) / sizeof(words), word, outer;

	if (scan->frame < scan->stack || words >= SCANNED_WORDS ||
	    !read_word(scan, scan->frame, &outer) ||
	    !read_word(scan, scan->frame + sizeof(word), &word) ||
	    (outer && outer - scan->frame >= FRAME_BYTES_MAX) || !is_return(code, scan, word))
		return SCANNED_WORDS;
	return (size_t)words;
}

static bool may_be_frame(const struct code_view *code, const struct call_scan *scan, uint64_t frame,
			 uint64_t above)
{
	uint64_t word;

	return frame >= above && frame - above < FRAME_BYTES_MAX &&
	       read_word(scan, frame + sizeof(word), &word) && is_return(code, scan, word);
}

/*
 * Where the function has saved the frame pointer of its caller, as an offset from the CFA, if it
 * uses the register for something else: the word next to the return address that may be one. 0: it
 * still has it, or none is found.
 */
static int find_saved_frame(const struct code_view *code, const struct call_scan *scan,
			    size_t words)
{
	uint64_t cfa = scan->stack + (words + 1) * sizeof(cfa), word;

	if (may_be_frame(code, scan, scan->frame, cfa))
		return 0;
	for (size_t i = words; i-- > 0;)
		if (read_word(scan, scan->stack + i * sizeof(word), &word) &&
		    may_be_frame(code, scan, word, cfa))
			return -(int)((words + 1 - i) * sizeof(word));
	return 0;
}

static bool scan_up(const struct code_view *code, const struct call_scan *scan, bool pointers,
		    struct frame_rule *ret_rule)
{
	size_t words = words_of_frame(code, scan);
	bool is_skipped = false;

	for (size_t i = 0; i < words; i++) {
		uint64_t at = scan->stack + (uint64_t)i * sizeof(at), word;
		enum word what;

		if (!read_word(scan, at, &word))
			return false;
		what = classify(code, scan, word);
		if (is_next(what, is_skipped) ||
		    (pointers && what == WORD_POINTER &&
		     is_confirmed(code, scan, word & code_address_mask(), at + sizeof(word)))) {
			*ret_rule = (struct frame_rule){.base = FRAME_FROM_STACK,
							.cfa_offset = (int)((i + 1) * sizeof(word)),
							.return_offset = -(int)sizeof(word)};
			ret_rule->frame_offset = find_saved_frame(code, scan, i);
			return true;
		}
		if (what == WORD_END)
			return false;
		is_skipped |= what != WORD_NO_RETURN;
		pointers &= !is_candidate(what);
	}
	return false;
}

bool call_scan(const struct code_view *code, const struct call_scan *scan,
	       struct frame_rule *ret_rule)
{
#if defined(__aarch64__)
	/* of an innermost one that has not saved it */
	*ret_rule = (struct frame_rule){.base = FRAME_FROM_STACK};
	if (scan->link && classify(code, scan, scan->link) == WORD_RETURN)
		return true;
#endif
	return scan_up(code, scan, true, ret_rule);
}
