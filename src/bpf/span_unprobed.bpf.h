/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Polls while their probes are off, because they would cost more than is allowed
 * (capture/probe_budget.h). What is certain all the same is a stall:
 *
 * - A wait in a poll. A worker's waits outside of polls are at a few places of its loop, which are
 *   learned while the probes are on: by the stack pointer, which is the same there each time.
 * - A poll in which it computes. Samples show that it seems to be in one poll for some
 *   milliseconds: a run. Then its stack is watched (capture/stack_watch.h), and if no poll begins
 *   on it for the threshold, it was one poll.
 *
 * What polls is found on the stack (x86-64 only; elsewhere only waits are): where the probed
 * function was entered with the stack pointer at some address, that word is the address it returns
 * to for as long as the poll lasts. The words below are its frame; they differ between tasks, so
 * that one that has changed is another poll.
 */
#ifndef DWELL_BPF_SPAN_UNPROBED_BPF_H
#define DWELL_BPF_SPAN_UNPROBED_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/span_bounds.bpf.h"
#include "bpf/spans.bpf.h"

/* Samples that show the same before it is watched. */
#define RUN_SAMPLES_MIN 2

/* After a run that was none: until the same task may be in one, doubled each time. */
#define RUN_DISTRUST_MIN_NS 20000000
#define RUN_DISTRUST_MAX_NS 1280000000

/* Of the words below a poll's return address. */
#define RUN_WORDS 16

/* By tid: since when its stack is watched. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} span_watched __weak SEC(".maps");

/* For who watches it: struct span_alarm. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} span_alarms __weak SEC(".maps");

/* By its own stack pointer, in user mode. */
static __always_inline __u64 user_stack_of(struct task_struct *task)
{
	return user_frame_of(task).stack;
}

/*
 * What was open when the probes were attached or detached has lost its end; but a poll was open
 * until they were detached. Of the current thread.
 */
static __always_inline void span_refresh(struct worker *worker, const struct account *account)
{
	__u64 until_ns = span_unprobed_ns;
	struct span_level *level = &worker->levels[0];

	if (worker->generation == span_generation)
		return;
	/* its turns have nothing to do with probes */
	if (worker->is_loop) {
		/* but for those of a poll in it */
		if (worker->depth > 1)
			worker->depth = 1;
		worker->generation = span_generation;
		return;
	}
	if (worker->depth == 1 && !span_is_run(worker) && !span_is_endless(worker) &&
	    worker->generation + 1 == span_generation && until_ns > level->start_ns &&
	    until_ns - level->start_ns >= span_threshold_ns) {
		level->cookie = SPAN_COOKIE_RUN;
		span_finish(worker, account, until_ns);
	}
	worker->generation = span_generation;
	if (worker->depth && !span_is_run(worker))
		worker->depth = 0;
}

/* A poll begins, by its probe. */
static __always_inline void span_learn_slot(struct worker *worker, __u64 stack)
{
	__u32 index;

	if (!ARCH_CALL_PUSHES)
		return;
	for (int i = 0; i < SPAN_SLOTS; i++)
		if (worker->slots[i].stack == stack)
			return;
	index = worker->slot_next++ & (SPAN_SLOTS - 1);
	barrier_var(index);
	index &= SPAN_SLOTS - 1;
	worker->slots[index].stack = stack;
	if (bpf_probe_read_user(&worker->slots[index].caller, sizeof(__u64), (void *)stack))
		worker->slots[index].stack = 0;
}

/* It waits outside of polls. Global for the verifier's sake, as the next. */
__weak __attribute__((noinline)) int span_learn_park(struct worker *worker, __u64 stack)
{
	__u32 index;

	if (!worker)
		return 0;
	for (int i = 0; i < SPAN_PARKS; i++)
		if (worker->parks[i] == stack)
			return 0;
	index = worker->park_next++ & (SPAN_PARKS - 1);
	barrier_var(index);
	worker->parks[index & (SPAN_PARKS - 1)] = stack;
	return 0;
}

__weak __attribute__((noinline)) int span_is_park(const struct worker *worker, __u64 stack)
{
	if (!worker)
		return 0;
	for (int i = 0; i < SPAN_PARKS; i++)
		if (worker->parks[i] == stack)
			return 1;
	return 0;
}

/* Whether a function that was entered there returns to its caller, or by way of a probe. */
static __always_inline bool span_is_entered(struct task_struct *task, const struct span_slot *slot)
{
	struct return_instance *instance;
	__u64 address;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)slot->stack))
		return false;
	if (address == slot->caller)
		return true;
	if (!bpf_core_field_exists(task->utask))
		return false;
	instance = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < SPAN_RETURNS && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == slot->stack)
			return BPF_CORE_READ(instance, orig_ret_vaddr) == slot->caller;
		instance = BPF_CORE_READ(instance, next);
	}
	return false;
}

/* Of the poll that the current thread is in; 0: in none. Global for the verifier's sake. */
__weak __attribute__((noinline)) __u64 span_signature(const struct worker *worker, __u64 stack)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 words[RUN_WORDS], deepest = 0, sum = 0xcbf29ce484222325ULL;

	if (!worker)
		return 0;
	for (int i = 0; i < SPAN_SLOTS; i++) {
		__u64 at = worker->slots[i].stack;

		if (!at || at < stack || (deepest && at > deepest) ||
		    !span_is_entered(task, &worker->slots[i]))
			continue;
		deepest = at;
	}
	if (!deepest || deepest - stack < sizeof(words) ||
	    bpf_probe_read_user(words, sizeof(words), (void *)(deepest - sizeof(words))))
		return 0;
	for (int i = 0; i < RUN_WORDS; i++)
		sum = (sum ^ words[i]) * 0x100000001b3ULL;
	return sum | 1;
}

static __always_inline void span_alarm(struct worker *worker, __u32 tid, __u32 what)
{
	struct span_alarm *alarm = bpf_ringbuf_reserve(&span_alarms, sizeof(*alarm), 0);

	worker->announced = what == SPAN_ALARM_RUN;
	if (!alarm)
		return;
	alarm->tid = tid;
	alarm->what = what;
	for (int i = 0; i < SPAN_SLOTS; i++)
		alarm->slots[i] = worker->slots[i].stack;
	bpf_ringbuf_submit(alarm, BPF_RB_FORCE_WAKEUP);
}

/*
 * No poll has begun on it since its stack was watched, or the probes were attached, or it would be
 * over. Of the current thread.
 */
static __always_inline bool span_run_is_certain(const struct worker *worker, __u64 now_ns)
{
	__u64 since_ns = span_unprobed ? 0 : span_probed_ns;
	__u32 tid = tid_of(bpf_get_current_task_btf());
	const __u64 *watched_ns;

	if (worker->certain)
		return true;
	watched_ns = worker->announced ? bpf_map_lookup_elem(&span_watched, &tid) : NULL;
	if (watched_ns && *watched_ns > worker->levels[0].start_ns &&
	    (!since_ns || *watched_ns < since_ns))
		since_ns = *watched_ns;
	return since_ns > worker->levels[0].start_ns && now_ns > since_ns &&
	       now_ns - since_ns >= span_threshold_ns;
}

/* A run is over, at `end_ns`. Of the current thread. */
static __always_inline void span_end_run(struct worker *worker, const struct account *account,
					 __u64 end_ns, __u64 now_ns)
{
	bool certain = span_run_is_certain(worker, end_ns);

	if (certain) {
		span_finish(worker, account, end_ns);
		worker->distrusted = 0;
	} else if (worker->announced) {
		if (worker->distrusted != worker->signature)
			worker->distrust_ns = RUN_DISTRUST_MIN_NS / 2;
		worker->distrusted = worker->signature;
		if (worker->distrust_ns < RUN_DISTRUST_MAX_NS)
			worker->distrust_ns *= 2;
		worker->distrusted_ns = now_ns + worker->distrust_ns;
	}
	worker->depth = 0;
	worker->certain = 0;
	if (worker->announced)
		span_alarm(worker, tid_of(bpf_get_current_task_btf()), SPAN_ALARM_OVER);
}

/* A sample of a worker that is in no poll that a probe has seen. */
static __attribute__((noinline, unused)) int span_sample_run(struct worker *worker,
							     const struct account *account,
							     struct task_struct *task, __u64 now_ns)
{
	__u64 signature;

	if (!worker || !account || !task)
		return 0;
	signature = span_signature(worker, user_stack_of(task));
	if (worker->depth && worker->signature != signature)
		span_end_run(worker, account, worker->run_seen_ns, now_ns);
	if (!signature)
		return 0;
	if (!worker->depth) {
		span_begin(worker, account, 0, SPAN_COOKIE_RUN, now_ns);
		worker->signature = signature;
		worker->run_samples = 0;
	}
	worker->run_seen_ns = now_ns;
	worker->run_samples++;
	if (span_run_is_certain(worker, now_ns))
		worker->certain = 1;
	if (worker->run_samples >= RUN_SAMPLES_MIN && !worker->announced &&
	    (signature != worker->distrusted || now_ns >= worker->distrusted_ns))
		span_alarm(worker, tid_of(task), SPAN_ALARM_RUN);
	return 0;
}

/* In a run: a wait for the threshold is certain, whatever was before it. */
static __always_inline bool span_is_long_wait(struct worker *worker, __u64 waited_ns, __u64 now_ns)
{
	__u64 ns = now_ns - span_block_at(worker, worker->present)->since_ns;

	return span_is_run(worker) && ns >= span_threshold_ns &&
	       ns - waited_ns >= span_threshold_ns;
}

/*
 * A wait while the probes were off has ended, of `task`, which is about to run; for `waited_ns` of
 * it it could have run. That it was in a poll, user space sees by the stack.
 */
static __attribute__((noinline, unused)) int
span_send_wait(struct worker *worker, struct task_struct *task, __u64 waited_ns, __u64 now_ns)
{
	struct span_block *block;
	struct span_end *end;
	__u32 present;
	__u8 state;

	if (!worker || !task)
		return 0;
	present = worker->present < SPAN_BLOCKS ? worker->present : 0;
	block = span_block_at(worker, present);
	block->ns = now_ns - block->since_ns;
	if (block->ns < span_threshold_ns || !block->has_stack)
		return 0;
	if (waited_ns > block->ns)
		waited_ns = block->ns;
	worker->stalls++;
	for (__u32 which = 0; which < 2; which++) {
		struct span_stack *stack = span_stack_at(worker, present, which);

		if (stack)
			stack->span_ns = block->since_ns;
	}
	span_send_block(worker, present);
	end = bpf_ringbuf_reserve(&events, sizeof(*end), 0);
	if (!end) {
		count(&spans_lost);
		return 0;
	}
	__builtin_memset(end, 0, sizeof(*end));
	end->header.size = sizeof(*end);
	end->header.kind = SPAN_END;
	end->header.time_ns = now_ns;
	end->start_ns = block->since_ns;
	state = block->site.state;
	for (int i = 0; i < WIRE_STATES; i++)
		if (i == state)
			end->states_ns[i] = block->ns - waited_ns;
	end->states_ns[WIRE_RUNNABLE] += waited_ns;
	end->cookie = SPAN_COOKIE_WAIT;
	end->tid = tid_of(task);
	end->pid = pid_of(task);
	end->wait = worker->wait;
	end->waits[0].ns = block->ns;
	end->waits[0].site = block->site;
	end->waits[0].waker = block->waker;
	end->in_poll = worker->in_poll;
	end->culprit_ns = worker->culprit_ns;
	end->culprit = worker->culprit;
	end->culprit_is_limit = worker->culprit_is_limit;
	bpf_ringbuf_submit(end, BPF_RB_FORCE_WAKEUP);
	return 0;
}

#endif
