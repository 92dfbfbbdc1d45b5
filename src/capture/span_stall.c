// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_stall.h"

#include <string.h>

#include "base/differences.h"

_Static_assert(SPAN_WAITS == WIRE_STALL_WAITS + 1, "all are sent");

bool span_is_seeded(uint64_t cookie)
{
	return cookie == SPAN_COOKIE_SEEDED || cookie == SPAN_COOKIE_SEEDED_TURN;
}

bool span_end_is_unprobed(const struct span_end *end)
{
	return end->cookie == SPAN_COOKIE_RUN || end->cookie == SPAN_COOKIE_WAIT;
}

static struct wire_peer peer_of(const struct span_thread *thread)
{
	struct wire_peer peer = {.tid = thread->tid, .pid = thread->pid};

	memcpy(peer.comm, thread->comm, sizeof(peer.comm));
	return peer;
}

static struct wire_stall_wait wait_of(const struct span_wait_kept *kept,
				      const struct span_evidence *evidence)
{
	bool known = kept->site.state < WIRE_STATES;

	return (struct wire_stall_wait){
		.ns = kept->ns,
		.site = kept->site,
		.stack = known ? evidence->blocks[kept->site.state] : 0,
		.waker_stack = known ? evidence->wakers[kept->site.state] : 0,
		.waker = peer_of(&kept->waker),
	};
}

/* The one that weighs most, and the others. */
static void fill_waits(struct wire_stall *stall, const struct span_end *end,
		       const struct span_evidence *evidence)
{
	struct wire_stall_wait wait;

	for (size_t i = 0, j = 0; i < SPAN_BLOCKS; i++) {
		if (!end->waits[i].ns)
			continue;
		wait = wait_of(&end->waits[i], evidence);
		if (i != end->heaviest && j < WIRE_STALL_WAITS)
			stall->waits[j++] = wait;
		if (i != end->heaviest)
			continue;
		stall->longest_ns = wait.ns;
		stall->longest = wait.site;
		stall->stack = wait.stack;
		stall->waker_stack = wait.waker_stack;
		stall->waker = wait.waker;
	}
}

static void name_wait(struct wire_stall *stall, struct wire_wait_site *site, uint64_t ns,
		      __u8 verdict)
{
	uint64_t most = stall->states_ns[WIRE_UNKNOWN];

	if (!ns || !span_site_is_unknown_futex(*site))
		return;
	site->state = verdict == SITE_LOCK ? WIRE_LOCK : WIRE_IDLE;
	site->detail = verdict == SITE_LOCK ? WIRE_DETAIL_FUTEX_LOCK : WIRE_DETAIL_FUTEX_COND;
	ns = ns < most ? ns : most;
	stall->states_ns[WIRE_UNKNOWN] -= ns;
	stall->states_ns[site->state] += ns;
}

/*
 * The first wait at a place may have ended before it was known what is waited for there
 * (capture/wait_sites.h): then the names on its stack say it.
 */
static void name_waits(struct wire_stall *stall, __u8 verdict)
{
	if (!verdict)
		return;
	name_wait(stall, &stall->longest, stall->longest_ns, verdict);
	for (size_t i = 0; i < WIRE_STALL_WAITS; i++)
		name_wait(stall, &stall->waits[i].site, stall->waits[i].ns, verdict);
}

/* What only a task does; a worker's loop waits for events, and for other threads. */
static bool is_blocking(struct wire_wait_site site)
{
	return site.state == WIRE_SLEEP || site.state == WIRE_NET || site.state == WIRE_DISK ||
	       site.state == WIRE_LOCK;
}

/* Of what was found while the probes were off: whether it was in a poll. */
static bool is_credible(const struct span_end *end, const struct span_evidence *evidence)
{
	if (evidence->in_poll != SPAN_IN_POLL_UNKNOWN)
		return evidence->in_poll == SPAN_IN_POLL_ANY;
	return end->cookie == SPAN_COOKIE_RUN || end->in_poll || is_blocking(end->waits[0].site);
}

/* All of the state: it may have been woken in vain in between. */
static void take_off(struct wire_stall *stall, __u8 state)
{
	uint64_t ns = stall->states_ns[state];

	stall->states_ns[state] = 0;
	stall->duration_ns -= ns < stall->duration_ns ? ns : stall->duration_ns;
}

/* Waits that are no part of the span. False: without them it is no stall. */
static bool take_off_parks(struct wire_stall *stall, uint32_t parks, uint64_t threshold_ns)
{
	if (stall->longest_ns && parks & 1U << stall->longest.state) {
		take_off(stall, stall->longest.state);
		stall->longest_ns = 0;
		stall->longest = (struct wire_wait_site){.state = WIRE_ON_CPU};
		stall->stack = stall->waker_stack = 0;
		stall->waker = (struct wire_peer){.tid = 0};
	}
	for (size_t i = 0; i < WIRE_STALL_WAITS; i++) {
		if (!stall->waits[i].ns || !(parks & 1U << stall->waits[i].site.state))
			continue;
		take_off(stall, stall->waits[i].site.state);
		stall->waits[i] = (struct wire_stall_wait){.ns = 0};
	}
	return stall->duration_ns >= threshold_ns && stall->duration_ns >= stall->inner_ns;
}

bool span_stall_keep_waits(struct wire_stall *stall, uint64_t threshold_ns)
{
	uint32_t kept = 0, parks = 0;

	if (stall->longest_ns >= threshold_ns)
		kept |= 1U << stall->longest.state;
	for (size_t i = 0; i < WIRE_STALL_WAITS; i++)
		if (stall->waits[i].ns >= threshold_ns)
			kept |= 1U << stall->waits[i].site.state;
	if (!kept)
		return false;
	for (__u8 state = 0; state < WIRE_STATES; state++) {
		if (kept >> state & 1 || stall->states_ns[state] < threshold_ns)
			continue;
		parks |= 1U << state;
		take_off(stall, state);
	}
	return take_off_parks(stall, parks, threshold_ns);
}

static void fill_states(struct wire_stall *stall, const struct span_end *end)
{
	uint64_t states_ns[WIRE_STATES];

	for (size_t i = 0; i < WIRE_STATES; i++)
		states_ns[i] = end->states_ns[i];
	/* a turn on the CPU that began before the span may have turned out to be shorter */
	differences_settle(states_ns, WIRE_STATES);
	for (size_t i = 0; i < WIRE_STATES; i++)
		stall->states_ns[i] = states_ns[i];
}

bool span_stall_fill(struct wire_stall *stall, const struct span_end *end,
		     const struct span_evidence *evidence, uint64_t threshold_ns)
{
	uint32_t parks = evidence->parks;

	*stall = (struct wire_stall){
		.header = {.size = sizeof(*stall),
			   .kind = WIRE_STALL,
			   .time_ns = end->header.time_ns},
		.start_ns = end->start_ns,
		.duration_ns = end->header.time_ns - end->start_ns,
		.inner_ns = end->inner_ns,
		.task = end->task,
		.culprit_ns = end->culprit_ns,
		.tid = end->tid,
		.pid = end->pid,
		.kind = (__u32)SPAN_COOKIE_KIND(end->cookie),
		.flags = (end->wait ? WIRE_STALL_OF_LOOP : 0) |
			 (span_is_seeded(end->cookie) ? WIRE_STALL_SEEDED : 0) |
			 (end->culprit_is_limit ? WIRE_STALL_LIMIT : 0) |
			 (evidence->launched ? WIRE_STALL_IN_PLACE : 0) |
			 (span_end_is_unprobed(end) ? WIRE_STALL_UNPROBED | WIRE_STALL_TASK : 0),
		.culprit = peer_of(&end->culprit),
	};
	if (span_end_is_unprobed(end) && !is_credible(end, evidence))
		return false;
	fill_states(stall, end);
	fill_waits(stall, end, evidence);
	/* a root future's span goes on when the thread has left its block_on() */
	if (stall->kind == WIRE_SPAN_ROOT)
		parks |= evidence->outside & ~evidence->inside;
	if (parks && !take_off_parks(stall, parks, threshold_ns))
		return false;
	name_waits(stall, evidence->futex);
	return true;
}
