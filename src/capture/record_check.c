// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/record_check.h"

#include <string.h>

#include "capture/frame_record.h"

/* A string in a field of fixed size. */
static bool is_string(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static bool are_sound(const struct wire_stall_wait waits[WIRE_STALL_WAITS])
{
	for (size_t i = 0; i < WIRE_STALL_WAITS; i++)
		if (waits[i].site.state >= WIRE_STATES)
			return false;
	return true;
}

bool record_is_sound(const struct wire_header *record)
{
	const struct wire_thread *thread = (const void *)record;
	const struct wire_session *session = (const void *)record;
	const struct wire_missing *missing = (const void *)record;
	const struct wire_cgroup *cgroup = (const void *)record;
	const struct wire_interval *interval = (const void *)record;
	const struct wire_child *child = (const void *)record;
	const struct wire_reason *reason = (const void *)record;
	const struct wire_frame *frame = (const void *)record;
	size_t used;
	const struct wire_stack *stack = (const void *)record;
	const struct wire_stall *stall = (const void *)record;
	const struct wire_worker *worker = (const void *)record;
	const struct wire_runtime *runtime = (const void *)record;
	const struct wire_spent *spent = (const void *)record;
	const struct wire_blame *blame = (const void *)record;

	switch (record->kind) {
	case WIRE_SESSION:
		return record->size == sizeof(*session) &&
		       is_string(session->host, sizeof(session->host)) &&
		       is_string(session->kernel, sizeof(session->kernel)) &&
		       is_string(session->machine, sizeof(session->machine));
	case WIRE_INTERVAL:
		return record->size == sizeof(*interval) && interval->end_ns >= interval->start_ns;
	case WIRE_THREAD:
	case WIRE_EXIT:
		return record->size == sizeof(*thread) && thread->site.state <= WIRE_STATES &&
		       thread->end_ns >= thread->origin_ns && thread->end_ns >= thread->since_ns;
	case WIRE_DELAYS:
		return record->size == sizeof(struct wire_delays);
	case WIRE_CGROUP:
		return record->size > sizeof(*cgroup) &&
		       is_string(cgroup->path, record->size - sizeof(*cgroup));
	case WIRE_CHILD:
		return record->size == sizeof(*child) &&
		       is_string(child->name, sizeof(child->name));
	case WIRE_MISSING:
		return record->size == sizeof(*missing) &&
		       is_string(missing->source, sizeof(missing->source)) &&
		       is_string(missing->why, sizeof(missing->why));
	case WIRE_REASON:
		return record->size == sizeof(*reason) && reason->site.state >= WIRE_RUNNABLE &&
		       reason->site.state < WIRE_STATES;
	case WIRE_BLAME:
		return record->size >= sizeof(*blame) &&
		       blame->count <=
			       (record->size - sizeof(*blame)) / sizeof(struct wire_culprit);
	case WIRE_HOLDER:
		return record->size == sizeof(struct wire_holder);
	case WIRE_FRAME:
		return frame_record_is_sound(frame, record->size, &used) && frame->id;
	case WIRE_STACK:
		/* one without frames says no more than none; dwell has written them */
		return record->size >= sizeof(*stack) && stack->id &&
		       stack->count <= (record->size - sizeof(*stack)) / sizeof(__u32) &&
		       stack->end >= WIRE_STACK_COMPLETE && stack->end <= WIRE_STACK_FAILED;
	case WIRE_WORKER:
		return record->size == sizeof(*worker) && worker->site.state <= WIRE_STATES;
	case WIRE_STALL:
		return record->size == sizeof(*stall) && stall->inner_ns <= stall->duration_ns &&
		       stall->longest.state <= WIRE_STATES && are_sound(stall->waits);
	case WIRE_SAMPLE:
		return record->size == sizeof(struct wire_sample);
	case WIRE_SPENT:
		return record->size == sizeof(*spent) && spent->site.state < WIRE_STATES &&
		       spent->inverse >= WIRE_SPENT_CERTAIN && spent->left_ns <= spent->ready_ns &&
		       spent->ready_ns <= record->time_ns;
	case WIRE_PROFILE:
		return record->size == sizeof(struct wire_profile);
	case WIRE_POLLS:
		return record->size == sizeof(struct wire_polls);
	case WIRE_RUNTIME:
		return record->size == sizeof(*runtime) &&
		       is_string(runtime->name, sizeof(runtime->name)) &&
		       is_string(runtime->process, sizeof(runtime->process));
	}
	return true;
}
