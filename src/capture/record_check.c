// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/record_check.h"

#include <string.h>

#include "capture/frame_record.h"
#include "capture/recording_layout.h"

/* A string in a field of fixed size. */
static bool is_string(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static bool check_session(const struct wire_header *record)
{
	const struct wire_session *session = (const void *)record;

	return is_string(session->host, sizeof(session->host)) &&
	       is_string(session->kernel, sizeof(session->kernel)) &&
	       is_string(session->machine, sizeof(session->machine));
}

static bool check_interval(const struct wire_header *record)
{
	const struct wire_interval *interval = (const void *)record;

	return interval->end_ns >= interval->start_ns;
}

static bool check_thread(const struct wire_header *record)
{
	const struct wire_thread *thread = (const void *)record;

	return thread->site.state <= WIRE_STATES && thread->end_ns >= thread->origin_ns &&
	       thread->end_ns >= thread->since_ns;
}

static bool check_cgroup(const struct wire_header *record)
{
	const struct wire_cgroup *cgroup = (const void *)record;

	return record->size > sizeof(*cgroup) &&
	       is_string(cgroup->path, record->size - sizeof(*cgroup));
}

static bool check_child(const struct wire_header *record)
{
	const struct wire_child *child = (const void *)record;

	return is_string(child->name, sizeof(child->name));
}

static bool check_missing(const struct wire_header *record)
{
	const struct wire_missing *missing = (const void *)record;

	return is_string(missing->source, sizeof(missing->source)) &&
	       is_string(missing->why, sizeof(missing->why));
}

static bool check_reason(const struct wire_header *record)
{
	const struct wire_reason *reason = (const void *)record;

	return reason->site.state >= WIRE_RUNNABLE && reason->site.state < WIRE_STATES;
}

static bool check_blame(const struct wire_header *record)
{
	const struct wire_blame *blame = (const void *)record;

	return record->size >= sizeof(*blame) &&
	       blame->count <= (record->size - sizeof(*blame)) / sizeof(struct wire_culprit);
}

static bool check_frame(const struct wire_header *record)
{
	const struct wire_frame *frame = (const void *)record;
	size_t used;

	return frame_record_is_sound(frame, record->size, &used) && frame->id;
}

/* One without frames says no more than none; dwell has written them. */
static bool check_stack(const struct wire_header *record)
{
	const struct wire_stack *stack = (const void *)record;

	return record->size >= sizeof(*stack) && stack->id &&
	       stack->count <= (record->size - sizeof(*stack)) / sizeof(__u32) &&
	       stack->end >= WIRE_STACK_COMPLETE && stack->end <= WIRE_STACK_FAILED;
}

static bool check_worker(const struct wire_header *record)
{
	const struct wire_worker *worker = (const void *)record;

	return worker->site.state <= WIRE_STATES;
}

static bool check_stall(const struct wire_header *record)
{
	const struct wire_stall *stall = (const void *)record;

	for (size_t i = 0; i < WIRE_STALL_WAITS; i++)
		if (stall->waits[i].site.state >= WIRE_STATES)
			return false;
	return stall->inner_ns <= stall->duration_ns && stall->longest.state <= WIRE_STATES;
}

static bool check_spent(const struct wire_header *record)
{
	const struct wire_spent *spent = (const void *)record;

	return spent->site.state < WIRE_STATES && spent->inverse >= WIRE_SPENT_CERTAIN &&
	       spent->left_ns <= spent->ready_ns && spent->ready_ns <= record->time_ns;
}

static bool check_runtime(const struct wire_header *record)
{
	const struct wire_runtime *runtime = (const void *)record;

	return is_string(runtime->name, sizeof(runtime->name)) &&
	       is_string(runtime->process, sizeof(runtime->process));
}

/*
 * What a record of a kind says, once it has the size of that kind; where the layout has none,
 * because sizes vary, the check is of the size, too. A kind without a line has nothing to check.
 */
static bool (*const checks[RECORDING_KINDS])(const struct wire_header *record) = {
	[WIRE_SESSION] = check_session, [WIRE_INTERVAL] = check_interval,
	[WIRE_THREAD] = check_thread,	[WIRE_EXIT] = check_thread,
	[WIRE_CGROUP] = check_cgroup,	[WIRE_CHILD] = check_child,
	[WIRE_MISSING] = check_missing, [WIRE_REASON] = check_reason,
	[WIRE_BLAME] = check_blame,	[WIRE_FRAME] = check_frame,
	[WIRE_STACK] = check_stack,	[WIRE_WORKER] = check_worker,
	[WIRE_STALL] = check_stall,	[WIRE_SPENT] = check_spent,
	[WIRE_RUNTIME] = check_runtime,
};

bool record_is_sound(const struct wire_header *record)
{
	size_t size;

	if (record->kind >= RECORDING_KINDS)
		return true;
	size = recording_layout_here.sizes[record->kind];
	return (!size || record->size == size) &&
	       (!checks[record->kind] || checks[record->kind](record));
}
