// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "view/blocked_words.h"
#include "view/profile.h"

/* What a system call is called in the kernel: arch/x86 and arm64, include/asm/syscall_wrapper.h. */
static bool is_system_call(const struct frame *frame)
{
	static const char *const beginnings[] = {"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_",
						 "__arm64_sys_", "__arm64_compat_sys_"};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(frame->function, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

const char *profile_frame_name(const struct frame *frame)
{
	return frame_is_made_at_run_time(frame) ? MADE_AT_RUN_TIME : frame->function;
}

void profile_thread_name(const struct profile_thread *thread, char into[PROFILE_THREAD_BYTES])
{
	const char *process = *thread->process ? thread->process : "?";

	if (thread->pooled)
		snprintf(into, PROFILE_THREAD_BYTES, "%u threads of %s", thread->pooled, process);
	else
		snprintf(into, PROFILE_THREAD_BYTES, "%s %u", *thread->comm ? thread->comm : "?",
			 thread->tid);
}

const struct profile_thread *profile_only_process(const struct profile_thread *threads,
						  size_t count)
{
	const struct profile_thread *first = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!threads[i].threads)
			continue;
		if (!first)
			first = &threads[i];
		if (threads[i].pid != first->pid)
			return NULL;
	}
	return first && first->pid ? first : NULL;
}

size_t profile_frames(const struct profile_result *result, const struct profile_path *path,
		      uint32_t ids[PROFILE_FRAMES_MAX])
{
	const struct stacks *stacks = profile_stacks(result->profile);
	const struct stack *stack = stacks_stack(stacks, path->stack);
	bool is_wait = path->state != STATE_USER && path->state != STATE_KERNEL;
	size_t count = 0;

	for (uint32_t i = 0; stack && i < stack->count && count < PROFILE_FRAMES_MAX; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (!frame || (is_wait && !result->kernel && frame->kind == WIRE_FRAME_KERNEL &&
			       !is_system_call(frame)))
			continue;
		ids[count++] = stack->frames[i];
	}
	return count;
}
