// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/call_scan.h"

#include <string.h>

#include "symbol/call_site.h"
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
	WORD_POINTER, /* where a call returns to that does not say what it calls */
	WORD_RETURN,  /* where a call of the function returns to */
	WORD_END,     /* where a thread or the program begins: no call leads there */
};

static enum word classify(struct symbolizer *symbolizer, const struct call_scan *scan,
			  uint64_t word)
{
	struct frame_rule rule;
	struct symbol_call called;

	word &= code_address_mask();
	if (!symbolizer_mapping(symbolizer, word - 1) || !*scan->left)
		return WORD_NO_RETURN;
	--*scan->left;
	called = symbolizer_called(symbolizer, word);
	if (symbolizer_leads_to(symbolizer, called, scan->address))
		return WORD_RETURN;
	if (symbolizer_frame(symbolizer, word - 1, &rule) && rule.outermost)
		return WORD_END;
	if (called.function)
		return WORD_OTHER;
	return symbolizer_called_by_pointer(symbolizer, word) ? WORD_POINTER : WORD_NO_RETURN;
}

/* Between the two there may be callers that are missing. */
static bool is_next(enum word word, bool is_skipped)
{
	return word == WORD_RETURN || (word == WORD_END && !is_skipped);
}

/* Upwards from the stack pointer. False: no word is sure. */
static bool scan_up(struct symbolizer *symbolizer, const struct call_scan *scan, bool pointers,
		    struct frame_rule *ret_rule);

/*
 * Whether a call by a pointer is one of the function's callers: where its own frame is known to
 * end, or another call is sure to have led to it, directly above.
 */
static bool is_confirmed(struct symbolizer *symbolizer, const struct call_scan *scan,
			 uint64_t address, uint64_t stack)
{
	struct call_scan caller = *scan;
	struct frame_rule rule = {0};
	uint64_t word, frame = scan->frame;

	caller.address = address - 1;
	caller.stack = stack;
	caller.link = 0;
	if (!symbolizer_frame(symbolizer, address - 1, &rule))
		return scan_up(symbolizer, &caller, false, &rule);
	if (rule.outermost)
		return true;
	if (rule.indirect || !rule.return_offset)
		return false;
	stack = (rule.base == FRAME_FROM_FRAME ? frame : stack) +
		(uint64_t)(int64_t)(rule.cfa_offset + rule.return_offset);
	return read_word(scan, stack, &word) &&
	       classify(symbolizer, &caller, word) > WORD_NO_RETURN;
}

/* Where a call returns to; `word` may lie in code that was made at run time. */
static bool is_return(struct symbolizer *symbolizer, const struct call_scan *scan, uint64_t word)
{
	const struct mapping *mapping =
		symbolizer_mapping(symbolizer, (word & code_address_mask()) - 1);

	return mapping && (!mapping->inode || classify(symbolizer, scan, word) != WORD_NO_RETURN);
}

/* Of a frame with a frame pointer. */
#define FRAME_BYTES_MAX (1 << 20)

/*
 * Words up to which a caller is looked for: those below the frame pointer, if that leads to another
 * one above it, and to a return address. Then it is one, as in code that is made at run time and in
 * what a JavaScript engine has built in; or it is a caller's, and what has none lies below that.
 */
static size_t words_of_frame(struct symbolizer *symbolizer, const struct call_scan *scan)
{
	uint64_t words = (scan->frame - scan->stack) / sizeof(words), word, outer;

	if (scan->frame < scan->stack || words >= SCANNED_WORDS ||
	    !read_word(scan, scan->frame, &outer) ||
	    !read_word(scan, scan->frame + sizeof(word), &word) ||
	    (outer && outer - scan->frame >= FRAME_BYTES_MAX) || !is_return(symbolizer, scan, word))
		return SCANNED_WORDS;
	return (size_t)words;
}

static bool may_be_frame(struct symbolizer *symbolizer, const struct call_scan *scan,
			 uint64_t frame, uint64_t above)
{
	uint64_t word;

	return frame >= above && frame - above < FRAME_BYTES_MAX &&
	       read_word(scan, frame + sizeof(word), &word) && is_return(symbolizer, scan, word);
}

/*
 * Where the function has saved the frame pointer of its caller, as an offset from the CFA, if it
 * uses the register for something else: the word next to the return address that may be one. 0: it
 * still has it, or none is found.
 */
static int find_saved_frame(struct symbolizer *symbolizer, const struct call_scan *scan,
			    size_t words)
{
	uint64_t cfa = scan->stack + (words + 1) * sizeof(cfa), word;

	if (may_be_frame(symbolizer, scan, scan->frame, cfa))
		return 0;
	for (size_t i = words; i-- > 0;)
		if (read_word(scan, scan->stack + i * sizeof(word), &word) &&
		    may_be_frame(symbolizer, scan, word, cfa))
			return -(int)((words + 1 - i) * sizeof(word));
	return 0;
}

static bool scan_up(struct symbolizer *symbolizer, const struct call_scan *scan, bool pointers,
		    struct frame_rule *ret_rule)
{
	size_t words = words_of_frame(symbolizer, scan);
	bool is_skipped = false;

	for (size_t i = 0; i < words; i++) {
		uint64_t at = scan->stack + (uint64_t)i * sizeof(at), word;
		enum word what;

		if (!read_word(scan, at, &word))
			return false;
		what = classify(symbolizer, scan, word);
		if (is_next(what, is_skipped) ||
		    (pointers && what == WORD_POINTER &&
		     is_confirmed(symbolizer, scan, word & code_address_mask(),
				  at + sizeof(word)))) {
			*ret_rule = (struct frame_rule){.base = FRAME_FROM_STACK,
							.cfa_offset = (int)((i + 1) * sizeof(word)),
							.return_offset = -(int)sizeof(word)};
			ret_rule->frame_offset = find_saved_frame(symbolizer, scan, i);
			return true;
		}
		if (what == WORD_END)
			return false;
		is_skipped |= what != WORD_NO_RETURN;
	}
	return false;
}

bool call_scan(struct symbolizer *symbolizer, const struct call_scan *scan,
	       struct frame_rule *ret_rule)
{
#if defined(__aarch64__)
	/* of an innermost one that has not saved it */
	*ret_rule = (struct frame_rule){.base = FRAME_FROM_STACK};
	if (scan->link && classify(symbolizer, scan, scan->link) == WORD_RETURN)
		return true;
#endif
	return scan_up(symbolizer, scan, true, ret_rule);
}
