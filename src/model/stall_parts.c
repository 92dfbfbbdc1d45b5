// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/stall_parts.h"

#include <string.h>

#include "model/reason.h"

/* An idle thread waits for work; one that works waits for another thread, or for a peer. */
static enum stall_cause cause_of_idle(struct wire_wait_site site)
{
	const char *name = syscall_name(site.syscall);

	/* in a loop within its loop: for what, it does not say */
	if (site.state != WIRE_IDLE || (name && !strncmp(name, "epoll", strlen("epoll"))))
		return CAUSE_IPC;
	switch (site.detail) {
	case WIRE_DETAIL_NONE:
	case WIRE_DETAIL_INET:
	case WIRE_DETAIL_SOCKET:
	case WIRE_DETAIL_NETLINK:
		return CAUSE_NET;
	}
	return CAUSE_IPC;
}

enum stall_cause stall_cause_of(__u8 state, struct wire_wait_site site)
{
	switch (state) {
	case WIRE_ON_CPU:
		return CAUSE_CPU;
	case WIRE_RUNNABLE:
		return CAUSE_RUNNABLE;
	case WIRE_DISK:
		return CAUSE_DISK;
	case WIRE_NET:
		return CAUSE_NET;
	case WIRE_LOCK:
		return CAUSE_LOCK;
	case WIRE_SWAP:
		return CAUSE_SWAP;
	case WIRE_SLEEP:
		return CAUSE_SLEEP;
	case WIRE_STOPPED:
		return CAUSE_STOPPED;
	case WIRE_STOLEN:
		return CAUSE_STOLEN;
	case WIRE_IRQ:
		return CAUSE_IRQ;
	case WIRE_UNKNOWN:
		return CAUSE_UNKNOWN;
	case WIRE_IDLE:
		return cause_of_idle(site);
	}
	return CAUSE_IPC;
}

/*
 * The state that took the most; but what is a stall only because its CPU worked for others is
 * theirs, however long it computed beside.
 */
static __u8 main_state(const struct wire_stall *record, uint64_t own_ns, uint64_t threshold_ns)
{
	uint64_t stolen_ns = record->states_ns[WIRE_STOLEN], irq_ns = record->states_ns[WIRE_IRQ];
	__u8 most = 0;

	if (own_ns >= threshold_ns && stolen_ns + irq_ns &&
	    (stolen_ns + irq_ns > own_ns || own_ns - stolen_ns - irq_ns < threshold_ns))
		return stolen_ns >= irq_ns ? WIRE_STOLEN : WIRE_IRQ;

	for (__u8 i = 1; i < WIRE_STATES; i++)
		if (record->states_ns[i] > record->states_ns[most])
			most = i;
	return most;
}

/* Its own share of the time in a state: that of the spans inside is not known by state. */
static uint64_t own_share(const struct wire_stall *record, __u8 state, uint64_t own_ns)
{
	if (!record->inner_ns || !record->duration_ns)
		return record->states_ns[state];
	return (uint64_t)((double)record->states_ns[state] * (double)own_ns /
			  (double)record->duration_ns);
}

/* Others had its CPU, or it may not run: nothing the code does would make that shorter. */
static bool is_of_others(__u8 state)
{
	return state == WIRE_RUNNABLE || state == WIRE_STOLEN || state == WIRE_IRQ ||
	       state == WIRE_STOPPED;
}

/*
 * The states that are parts of a stall, the main one first. What is no stall without what others
 * did is one part: a poll that is short by itself is not blamed for the half of it.
 */
static size_t parts_of(const struct wire_stall *record, uint64_t own_ns, uint64_t threshold_ns,
		       __u8 states[STALL_PARTS])
{
	uint64_t others_ns = 0;
	size_t number = 1;

	states[0] = main_state(record, own_ns, threshold_ns);
	for (__u8 i = 0; i < WIRE_STATES; i++)
		if (is_of_others(i))
			others_ns += own_share(record, i, own_ns);
	if (others_ns > own_ns || own_ns - others_ns < threshold_ns)
		return number;
	for (__u8 i = 0; i < WIRE_STATES && number < STALL_PARTS; i++)
		if (i != states[0] && wire_is_part((__s64)own_share(record, i, own_ns), own_ns))
			states[number++] = i;
	return number;
}

/* What such a wait is for may be found out only after it has begun. */
static bool may_be_lock(struct wire_wait_site site)
{
	const char *name = syscall_name(site.syscall);

	return site.detail == WIRE_DETAIL_FUTEX_COND ||
	       (site.state == WIRE_UNKNOWN && name && !strncmp(name, "futex", strlen("futex")));
}

/* The kept wait of a state. False: there is none. */
static bool find_wait(const struct wire_stall *record, __u8 state, struct wire_stall_wait *ret_wait)
{
	struct wire_stall_wait waits[WIRE_STALL_WAITS + 1] = {{.ns = record->longest_ns,
							       .site = record->longest,
							       .stack = record->stack,
							       .waker_stack = record->waker_stack,
							       .waker = record->waker}};
	const struct wire_stall_wait none = {0}, *later = &none;

	memcpy(waits + 1, record->waits, sizeof(record->waits));
	for (size_t i = 0; i < WIRE_STALL_WAITS + 1; i++) {
		if (!waits[i].ns)
			continue;
		if (waits[i].site.state == state) {
			*ret_wait = waits[i];
			return true;
		}
		if (may_be_lock(waits[i].site) && waits[i].ns >= later->ns)
			later = &waits[i];
	}
	if (state == WIRE_LOCK && later->ns) {
		*ret_wait = *later;
		ret_wait->site = (struct wire_wait_site){WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK,
							 later->site.syscall};
		return true;
	}
	*ret_wait = none;
	return false;
}

/* What it ran says nothing about a wait, nor a wait about what it ran. */
static struct stall_part part_of(const struct stacks *stacks, const struct wire_stall *record,
				 __u8 state, uint32_t sampled)
{
	struct wire_stall_wait wait;
	bool found = find_wait(record, state, &wait);
	struct stall_part part = {
		/* for what an idle thread waits, its longest wait says */
		.cause = stall_cause_of(state, found ? wait.site : record->longest),
		.stack = state == WIRE_ON_CPU ? sampled : wait.stack,
		.site = wait.site,
		.waker = wait.waker,
		.waker_function = stacks_function_of(stacks, wait.waker_stack),
	};

	/* damage may have taken it */
	if (!stacks_stack(stacks, part.stack))
		part.stack = 0;
	return part;
}

static void name_part(const struct wire_stall *record, const struct stacks *stacks,
		      const struct stack_marks *marks, struct stall_part *part)
{
	/* where it was then is no reason for it */
	if (stall_cause_is_machine(part->cause))
		part->stack = 0;
	else if (record->flags & WIRE_STALL_LIMIT)
		part->limit = part->cause == CAUSE_RUNNABLE ? record->culprit : part->limit;
	else
		part->culprit = record->culprit;
	part->function = stacks_function_of(stacks, part->stack);
	if (!part->function && !stall_cause_is_machine(part->cause))
		part->function = record->type;
	/* without a budget it might not run, whatever had the CPU */
	if (part->site.detail == WIRE_DETAIL_THROTTLED)
		part->culprit = (struct wire_peer){.tid = 0};
	part->in_place = record->flags & WIRE_STALL_IN_PLACE ||
			 stacks_is_in_place(stacks, part->stack, marks);
}

/* Leaves out parts that are shorter than the threshold and have no stack to explain them. */
static void drop_parts(struct stall *stall, __u8 states[STALL_PARTS], uint64_t threshold_ns)
{
	size_t kept = 1;

	for (size_t i = 1; i < stall->part_count; i++) {
		if (!stall->parts[i].stack && !is_of_others(states[i]) &&
		    own_share(stall->record, states[i], stall->own_ns) < threshold_ns)
			continue;
		stall->parts[kept] = stall->parts[i];
		states[kept++] = states[i];
	}
	stall->part_count = kept;
}

/* What is left is too short for parts of its own: it goes to what the code itself did most. */
static void share_out(struct stall *stall, const __u8 states[STALL_PARTS])
{
	uint64_t rest_ns = stall->own_ns;
	size_t main = 0;

	for (size_t i = 0; i < stall->part_count; i++) {
		uint64_t ns = own_share(stall->record, states[i], stall->own_ns);

		stall->parts[i].ns = ns < rest_ns ? ns : rest_ns;
		rest_ns -= stall->parts[i].ns;
		if (!is_of_others(states[i]) &&
		    (is_of_others(states[main]) || stall->parts[i].ns > stall->parts[main].ns))
			main = i;
	}
	stall->parts[main].ns += rest_ns;
}

void stall_divide(struct stall *stall, const struct stacks *stacks, uint64_t threshold_ns,
		  uint32_t sampled)
{
	const struct wire_stall *record = stall->record;
	struct stall_part *main = &stall->parts[0];
	__u8 states[STALL_PARTS];

	stall->part_count = parts_of(record, stall->own_ns, threshold_ns, states);
	for (size_t i = 0; i < stall->part_count; i++)
		stall->parts[i] = part_of(stacks, record, states[i], sampled);
	if (!main->stack && states[0] == WIRE_ON_CPU)
		main->stack = record->stack;
	else if (!main->stack && is_of_others(states[0]))
		main->stack = sampled;
	if (!stacks_stack(stacks, main->stack))
		main->stack = 0;
	drop_parts(stall, states, threshold_ns);
	share_out(stall, states);
}

void stall_name_parts(struct stall *stall, const struct stacks *stacks,
		      const struct stack_marks *marks)
{
	for (size_t i = 0; i < stall->part_count; i++)
		name_part(stall->record, stacks, marks, &stall->parts[i]);
}
