// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/stack_signs.h"

#include <string.h>

#include "base/text.h"
#include "bpf/config.h"
#include "capture/loop_names.h"
#include "capture/wait_names.h"

/* An instance may begin with the `<` of its type. */
static bool begins(const char *function, const char *beginning)
{
	function += *function == '<';
	return beginning && !strncmp(function, beginning, strlen(beginning));
}

static bool ends_in_poll(const char *function)
{
	static const char end[] = "::poll";
	size_t length = strlen(function);

	return length >= strlen(end) && !strcmp(function + length - strlen(end), end);
}

/* What headers of the system have brought into the program is in no library. */
static bool is_from_header(const struct symbol_frame *frame)
{
	const char *library = strstr(frame->module, ".so");

	return frame->file && strstr(frame->file, "/include/") &&
	       !(library && (library[3] == '.' || !library[3]));
}

bool signs_note_function(const struct symbol *symbol, struct span_signs *signs)
{
	const struct symbol_frame *frame = &symbol->frames[symbol->count - 1];
	size_t at = 0;

	if (!*frame->module && frame->kind != FRAME_KIND_KERNEL)
		return false;
	while (at < SPAN_FUNCTIONS && signs->functions[at])
		at++;
	if (at == SPAN_FUNCTIONS || frame->kind == FRAME_KIND_KERNEL ||
	    (frame->kind == FRAME_KIND_SYSTEM && !is_from_header(frame)))
		return true;
	signs->functions[at] = text_hash(frame->function) | 1; /* 0 is none */
	return true;
}

bool signs_read_futex(const struct symbol *symbol, struct span_signs *signs)
{
	const struct symbol_frame *frame = &symbol->frames[symbol->count - 1];
	int verdict = wait_verdict_of_name(frame->named ? frame->function : NULL);

	if (verdict == SITE_LOCK || (verdict == SITE_CONDITION && !signs->futex))
		signs->futex = (unsigned int)verdict;
	else if (verdict == SITE_SEMAPHORE)
		signs->futex = SITE_CONDITION;
	return verdict == SITE_CALLER || verdict == SITE_SEMAPHORE;
}

static bool is_of_library(const struct symbol_frame *frame)
{
	return frame->kind == FRAME_KIND_STANDARD || frame->kind == FRAME_KIND_KERNEL ||
	       (frame->kind == FRAME_KIND_SYSTEM && !is_from_header(frame));
}

bool signs_read_call(const struct symbol *symbol, struct span_signs *signs)
{
	for (unsigned int i = 0; i < symbol->count; i++) {
		signs->loop_waits = loop_waits_by(&symbol->frames[i]);
		if (signs->loop_waits || !is_of_library(&symbol->frames[i]))
			return false;
	}
	return true;
}

bool signs_read_wait(const struct symbol *innermost, const struct symbol *caller)
{
	const struct symbol_frame *call = &innermost->frames[0];

	return wait_is_of_c_library(call->module) && strstr(call->function, "poll") &&
	       wait_is_of_ruby(caller->frames[0].module);
}

void signs_read(const struct span_marks *marks, const struct symbol *symbol,
		struct span_signs *signs)
{
	for (unsigned int i = 0; i < symbol->count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];

		signs->polls += !frame->inlined && begins(frame->function, marks->poll);
		signs->harnesses += !frame->inlined && begins(frame->function, marks->harness) &&
				    ends_in_poll(frame->function);
		signs->worker |= marks->worker && strstr(frame->function, marks->worker);
		signs->single |= marks->single && strstr(frame->function, marks->single);
		signs->pool |= marks->pool && strstr(frame->function, marks->pool);
		signs->root |= marks->root && strstr(frame->function, marks->root);
		signs->asks |= frame->named && wait_is_for_answer(frame->function);
		signs->loop |= loop_is_in(frame);
		signs->jobs |= loop_is_of_pool(frame);
	}
}
