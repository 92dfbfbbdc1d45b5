// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_evidence.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "capture/syscalls.h"

/* A worker in place of one that is about to block begins before that, or a little later. */
#define LAUNCH_BEFORE_NS (5 * NS_PER_MS)

bool span_site_is_unknown_futex(struct wire_wait_site site)
{
	return site.state == WIRE_UNKNOWN && syscalls_is_futex(site.syscall);
}

bool span_signs_are_rootless(const struct span_signs *signs)
{
	return signs->complete && !signs->root && !signs->single;
}

static enum span_in_poll in_poll(const struct span_signs *signs)
{
	unsigned int polls = signs->polls > signs->harnesses ? signs->polls : signs->harnesses;

	if (!signs->complete)
		return SPAN_IN_POLL_UNKNOWN;
	/* a worker's life is a poll, too */
	if (signs->worker)
		return polls > 1 ? SPAN_IN_POLL_ANY : SPAN_IN_POLL_NONE;
	if (signs->single || signs->root)
		return polls ? SPAN_IN_POLL_ANY : SPAN_IN_POLL_NONE;
	if (signs->pool)
		return SPAN_IN_POLL_NONE;
	return polls ? SPAN_IN_POLL_ANY : SPAN_IN_POLL_UNKNOWN;
}

static struct span_evidence *find(struct span_evidences *evidences, uint32_t tid)
{
	for (size_t i = 0; i < evidences->kept_count; i++)
		if (evidences->kept[i].tid == tid)
			return &evidences->kept[i];
	return NULL;
}

/* NULL: there is none. */
static struct span_evidence *unused(struct span_evidences *evidences)
{
	struct span_evidence *evidence = find(evidences, 0);

	if (!evidence && evidences->kept_count < ARRAY_SIZE(evidences->kept))
		evidence = &evidences->kept[evidences->kept_count++];
	return evidence;
}

static struct span_evidence *oldest(struct span_evidences *evidences)
{
	struct span_evidence *found = &evidences->kept[0];

	for (size_t i = 1; i < ARRAY_SIZE(evidences->kept); i++)
		if (evidences->kept[i].span_ns < found->span_ns)
			found = &evidences->kept[i];
	return found;
}

struct span_evidence *span_evidences_of(struct span_evidences *evidences, uint32_t tid,
					uint64_t span_ns)
{
	struct span_evidence *evidence = find(evidences, tid);

	if (!evidence)
		evidence = unused(evidences);
	/* of threads that have ended, most likely, whose last span was no stall */
	if (!evidence)
		evidence = oldest(evidences);
	/* another span's: its end was lost */
	if (evidence && (evidence->tid != tid || evidence->span_ns != span_ns))
		*evidence = (struct span_evidence){
			.tid = tid, .span_ns = span_ns, .in_poll = SPAN_IN_POLL_UNKNOWN};
	return evidence;
}

struct span_evidence span_evidences_remove(struct span_evidences *evidences,
					   const struct span_end *end)
{
	const struct span_evidence nothing = {.in_poll = SPAN_IN_POLL_UNKNOWN};
	struct span_evidence *kept = find(evidences, end->tid), evidence;

	if (!kept)
		return nothing;
	evidence = kept->span_ns == end->start_ns ? *kept : nothing;
	kept->tid = 0;
	while (evidences->kept_count && !evidences->kept[evidences->kept_count - 1].tid)
		evidences->kept_count--;
	return evidence;
}

void span_evidence_note_wait(struct span_evidence *evidence, const struct span_stack *raw,
			     const struct span_signs *signs, uint32_t id)
{
	if (raw->of != SPAN_STACK_BLOCK) {
		evidence->wakers[raw->site.state] = id;
		return;
	}
	if (span_site_is_unknown_futex(raw->site))
		evidence->futex = (__u8)signs->futex;
	evidence->blocks[raw->site.state] = id;
	if (span_signs_are_rootless(signs))
		evidence->outside |= 1U << raw->site.state;
	else if (signs->complete)
		evidence->inside |= 1U << raw->site.state;
}

void span_evidence_note_id(struct span_evidence *evidence, uint32_t id)
{
	evidence->stacks[evidence->stack_count++ % SPAN_STACKS_KEPT] = id;
}

void span_evidence_note_stack(struct span_evidence *evidence, const struct span_signs *signs)
{
	enum span_in_poll found = in_poll(signs);

	if (evidence->in_poll != SPAN_IN_POLL_ANY && found != SPAN_IN_POLL_UNKNOWN)
		evidence->in_poll = found;
	evidence->looped |= signs->loop;
	evidence->loopless |= signs->complete && !signs->loop;
	evidence->rootless |= span_signs_are_rootless(signs);
	evidence->rooted |= signs->complete && !span_signs_are_rootless(signs);
}

void span_evidences_note_launch(struct span_evidences *evidences, const struct span_launch *launch)
{
	struct span_evidence *evidence = NULL;

	evidences->started[evidences->started_count++ % SPAN_LAUNCHES] =
		(struct span_started){launch->tid, launch->header.time_ns};
	if (launch->span_ns)
		evidence = span_evidences_of(evidences, launch->tid, launch->span_ns);
	if (evidence)
		evidence->launched = true;
}

bool span_evidences_launched(const struct span_evidences *evidences, const struct span_end *end)
{
	for (size_t i = 0; i < SPAN_LAUNCHES; i++)
		if (evidences->started[i].tid == end->tid &&
		    evidences->started[i].time_ns + LAUNCH_BEFORE_NS >= end->start_ns &&
		    evidences->started[i].time_ns <= end->header.time_ns)
			return true;
	return false;
}
