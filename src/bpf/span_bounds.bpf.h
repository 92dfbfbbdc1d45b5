/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where spans begin and end, and what is sent of those above the threshold. */
#ifndef DWELL_BPF_SPAN_BOUNDS_BPF_H
#define DWELL_BPF_SPAN_BOUNDS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/classify.bpf.h"
#include "bpf/spans.bpf.h"

static __always_inline void span_send_stack(struct span_stack *stack)
{
	__u64 size = __builtin_offsetof(struct span_stack, user) + stack->user_bytes;

	size = (size + 7) & ~7ULL;
	if (size > sizeof(*stack))
		return;
	stack->header.size = (__u32)size;
	stack->header.kind = SPAN_STACK;
	if (bpf_ringbuf_output(&events, stack, size, 0))
		count(&spans_lost);
}

/*
 * Where the current thread is, which runs: `span_ns` as struct span_stack says. The caller has set
 * its weight_ns.
 */
static __always_inline void span_send_running(void *ctx, struct span_stack *stack,
					      struct task_struct *task, enum span_stack_of of,
					      __u64 span_ns, __u64 now_ns)
{
	stack->header.time_ns = now_ns;
	stack->span_ns = span_ns;
	stack->worker_tid = tid_of(task);
	stack->of = of;
	stack->site = wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	span_fill_stack(ctx, task, stack);
	span_send_stack(stack);
}

/* Of the turn that the current thread is in. Global for the verifier's sake. */
__weak __attribute__((noinline)) int span_open_turn(const struct account *account,
						    struct turn_loss *ret_loss, __u64 now_ns)
{
	if (account && ret_loss)
		*ret_loss = account_open_turn(account, bpf_get_current_task_btf(), now_ns);
	return 0;
}

/*
 * The states' totals up to now. Of the current thread, where it is on its CPU; differences of two
 * may be below zero by what is found out only when the turn ends.
 */
static __always_inline void span_totals(const struct account *account, __u64 now_ns,
					__u64 states_ns[WIRE_STATES])
{
	__u64 since_ns;
	__u8 state;

	/* once more if it lost its CPU in between */
	for (int attempt = 0; attempt < 2; attempt++) {
		since_ns = *(const volatile __u64 *)&account->live.since_ns;
		for (int i = 0; i < WIRE_STATES; i++)
			states_ns[i] = account->live.totals.ns[i];
		if (*(const volatile __u64 *)&account->live.since_ns == since_ns)
			break;
	}
	/* it runs; if its switch-in was not seen the account will say otherwise, and so do we */
	state = account->live.site.state;
	for (int i = 0; i < WIRE_STATES; i++)
		if (i == state && now_ns > since_ns)
			states_ns[i] += now_ns - since_ns;
	if (state == WIRE_ON_CPU && now_ns > since_ns) {
		struct turn_loss loss;

		/* its padding too, or kernels refuse to pass it on */
		__builtin_memset(&loss, 0, sizeof(loss));
		span_open_turn(account, &loss, now_ns);
		states_ns[WIRE_ON_CPU] -= loss.stolen_ns + loss.irq_ns;
		states_ns[WIRE_STOLEN] += loss.stolen_ns;
		states_ns[WIRE_IRQ] += loss.irq_ns;
	}
}

/* Whether a thread of an event loop waits where it does for its turn to wait for events. */
static __always_inline bool span_is_at_park(struct task_struct *task, struct wire_wait_site site)
{
	struct loop_park park = {.pad = 0};

	if (class_of(site.syscall) != SYSCALL_FUTEX || site.detail == WIRE_DETAIL_FUTEX_LOCK)
		return false;
	park.stack = user_frame_of(task).stack;
	park.tid = tid_of(task);
	return bpf_map_lookup_elem(&loop_parks, &park) != NULL;
}

/* Only in probes and iterators, where memory may be allocated. */
static __always_inline struct worker *worker_make(struct task_struct *task)
{
	return bpf_task_storage_get(&workers, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Global, as span_finish(), for the verifier's sake: see wait_function_of(). */
__weak __attribute__((noinline)) int span_begin(struct worker *worker,
						const struct account *account, __u64 task,
						__u64 cookie, __u64 now_ns)
{
	struct span_level *level;
	__u32 depth;

	if (!worker || !account)
		return 0;
	depth = worker->depth;
	/* tasks are polled between the parts of a root future */
	if (SPAN_COOKIE_KIND(cookie) != SPAN_ROOT)
		worker->kind = SPAN_COOKIE_KIND(cookie);
	worker->depth = depth + 1;
	if (depth >= SPAN_LEVELS)
		return 0;
	level = span_level_at(worker, depth);
	level->start_ns = now_ns;
	level->inner_ns = 0;
	level->task = task;
	level->cookie = cookie;
	level->stack = 0;
	span_totals(account, now_ns, level->states_ns);
	worker->kept = 0;
	worker->off = 0;
	worker->captures = worker->preempted = 0;
	worker->sampled_ns = 0;
	span_no_culprit(worker);
	return 0;
}

/* The stacks of a block. Global for the verifier's sake. */
__weak __attribute__((noinline)) int span_send_block(struct worker *worker, __u32 index)
{
	const struct span_block *block;
	struct span_stack *stack;

	if (!worker || index >= SPAN_BLOCKS)
		return 0;
	block = span_block_at(worker, index);
	if (!block->has_stack)
		return 0;
	stack = span_stack_at(worker, index, 0);
	if (stack) {
		stack->weight_ns = block->ns;
		span_send_stack(stack);
	}
	stack = block->has_waker_stack ? span_stack_at(worker, index, 1) : NULL;
	if (stack)
		span_send_stack(stack);
	return 0;
}

/* The kept block that says most; SPAN_BLOCKS: there is none. */
static __always_inline __u32 span_heaviest(const struct worker *worker)
{
	__u32 heaviest = SPAN_BLOCKS;
	__u64 most = 0;

	for (__u32 i = 0; i < SPAN_BLOCKS; i++) {
		if (!(worker->kept & 1U << i) || span_block_weight(&worker->blocks[i]) <= most)
			continue;
		most = span_block_weight(&worker->blocks[i]);
		heaviest = i;
	}
	return heaviest;
}

/*
 * The stacks of the blocks that are parts of a span of `own_ns`; `parts`: 1 << the states that are.
 * Returns span_heaviest(). Global, too.
 */
__weak __attribute__((noinline)) int span_send_blocks(struct worker *worker, __u32 parts,
						      __u64 own_ns)
{
	__u32 heaviest;

	if (!worker)
		return SPAN_BLOCKS;
	heaviest = span_heaviest(worker);
	for (__u32 i = 0; i < SPAN_BLOCKS; i++) {
		const struct span_block *block = &worker->blocks[i];

		/* one may have been found to be in another state since */
		if (worker->kept & 1U << i &&
		    (i == heaviest || parts >> (block->site.state & 31) & 1 ||
		     wire_is_part((__s64)block->ns, own_ns)))
			span_send_block(worker, i);
	}
	return heaviest;
}

/* `own_ns` long, without the spans inside. */
static __always_inline void span_send(struct worker *worker, struct span_level *level,
				      const struct account *account, __u64 own_ns, __u64 now_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct span_end *end;
	__u32 parts = 0, heaviest;

	worker->stalls++;
	span_totals(account, now_ns, worker->totals_ns);
	for (int i = 0; i < WIRE_STATES; i++) {
		level->states_ns[i] = worker->totals_ns[i] - level->states_ns[i];
		parts |= wire_is_part((__s64)level->states_ns[i], own_ns) << i;
	}
	heaviest = span_send_blocks(worker, parts, own_ns);
	end = bpf_ringbuf_reserve(&events, sizeof(*end), 0);
	if (!end) {
		count(&spans_lost);
		return;
	}
	__builtin_memset(end, 0, sizeof(*end));
	end->header.size = sizeof(*end);
	end->header.kind = SPAN_END;
	end->header.time_ns = now_ns;
	end->start_ns = level->start_ns;
	end->inner_ns = level->inner_ns;
	for (int i = 0; i < WIRE_STATES; i++)
		end->states_ns[i] = level->states_ns[i];
	end->task = level->task;
	end->cookie = level->cookie;
	end->tid = worker->looked_at_tid ? worker->looked_at_tid : tid_of(task);
	end->pid = worker->looked_at_tid ? worker->looked_at_pid : pid_of(task);
	end->wait = worker->wait;
	end->is_busy = worker->is_busy;
	end->heaviest = heaviest;
	for (__u32 i = 0; i < SPAN_BLOCKS; i++) {
		const struct span_block *block = &worker->blocks[i];

		end->waits[i].ns = worker->kept & 1U << i ? block->ns : 0;
		end->waits[i].site = block->site;
		end->waits[i].waker = block->waker;
	}
	end->culprit_ns = worker->culprit_ns;
	end->culprit = worker->culprit;
	end->culprit_is_limit = worker->culprit_is_limit;
	bpf_ringbuf_submit(end, BPF_RB_FORCE_WAKEUP);
}

/*
 * A span is over that took `own_ns`, without those inside. What no probe has seen begin has no
 * site. A thread may lose its CPU to another one in here, so what is counted is counted at once.
 */
static __always_inline void span_count(__u64 cookie, __u64 own_ns)
{
	__u32 number = cookie >> 8, epoch = span_epoch, which = epoch & 1;
	struct span_site *site;

	if (!number || cookie >= SPAN_COOKIE_WAIT)
		return;
	if (number >= SPAN_SITES_MAX)
		number = 0;
	site = bpf_map_lookup_elem(&span_sites, &number);
	if (!site)
		return;
	__sync_fetch_and_add(&site->polls, 1);
	__sync_fetch_and_add(&site->busy_ns, own_ns);
	if (own_ns >= span_threshold_ns)
		__sync_fetch_and_add(&site->stalls, 1);
	if (site->epochs[which] != epoch) {
		site->epochs[which] = epoch;
		site->longest_ns[which] = own_ns;
	} else if (own_ns > site->longest_ns[which]) {
		site->longest_ns[which] = own_ns;
	}
}

__weak __attribute__((noinline)) int span_finish(struct worker *worker,
						 const struct account *account, __u64 now_ns)
{
	struct span_level *level;
	__u64 spent_ns;
	__u32 depth;

	if (!worker || !account || !worker->depth)
		return 0; /* the last: it began before we did */
	depth = worker->depth - 1;
	worker->depth = depth;
	if (depth >= SPAN_LEVELS)
		return 0;
	level = span_level_at(worker, depth);
	spent_ns = now_ns - level->start_ns;
	if (SPAN_COOKIE_KIND(level->cookie) == worker->kind)
		worker->spans++;
	if (depth && depth - 1 < SPAN_LEVELS)
		span_level_at(worker, depth - 1)->inner_ns += spent_ns;
	span_count(level->cookie, spent_ns - level->inner_ns);
	if (spent_ns - level->inner_ns >= span_threshold_ns) {
		if (spent_ns - level->inner_ns > worker->longest_ns)
			worker->longest_ns = spent_ns - level->inner_ns;
		/* a switch to it that no tracepoint reported */
		if (worker->off)
			span_end_block(worker, now_ns);
		span_send(worker, level, account, spent_ns - level->inner_ns, now_ns);
	}
	if (!worker->looked_at_tid)
		span_stacks_return(worker);
	return 0;
}

/*
 * A poll that begins: those whose frames lie below its stack pointer are gone, although no
 * probe reported their end (it was missed, or they ended by unwinding).
 */
static __always_inline void span_forget_gone(struct worker *worker, __u64 stack)
{
	for (int i = 0; i < SPAN_LEVELS; i++) {
		__u32 depth = worker->depth - 1;
		const struct span_level *level;

		if (depth >= SPAN_LEVELS)
			return;
		level = span_level_at(worker, depth);
		if (!level->stack || level->stack > stack)
			return;
		worker->depth = depth;
	}
}

/* In a span a wait for news may be one for a child. */
static __always_inline void span_refine_child(struct wire_wait_site *site)
{
	if (site->state == WIRE_IDLE && site->detail == WIRE_DETAIL_NONE &&
	    class_of(site->syscall) == SYSCALL_CHILD)
		site->detail = WIRE_DETAIL_CHILD;
}

static __always_inline __u64 span_seed_cookie(__u32 pending)
{
	return pending == SPAN_PENDING_ROOT   ? SPAN_COOKIE(SPAN_ROOT, 0)
	       : pending == SPAN_PENDING_TURN ? SPAN_COOKIE_SEEDED_TURN
					      : SPAN_COOKIE_SEEDED;
}

/* What a thread was in before it was looked at. By itself, or while it waits. */
static __always_inline void span_seed(struct worker *worker, const struct account *account,
				      __u32 pending, __u64 now_ns)
{
	__u8 state = account->live.site.state;
	struct span_block *block;

	span_begin(worker, account, 0, span_seed_cookie(pending), now_ns);
	if (state <= WIRE_ON_CPU)
		return;
	block = span_block_at(worker, worker->present);
	block->since_ns = now_ns;
	block->site = account->live.site;
	span_refine_child(&block->site);
	block->waker.tid = 0;
	block->has_stack = 0;
	block->has_waker_stack = 0;
	worker->off = 1;
}

/* Whether its only span is one of samples: span_unprobed.bpf.h. */
static __always_inline bool span_is_run(const struct worker *worker)
{
	return worker->depth == 1 && worker->levels[0].cookie == SPAN_COOKIE_RUN;
}

/* Whether its only span is one without an event for its end. */
static __always_inline bool span_is_endless(const struct worker *worker)
{
	__u64 cookie = worker->levels[0].cookie;

	return worker->depth == 1 &&
	       (SPAN_COOKIE_KIND(cookie) == SPAN_ROOT || cookie == SPAN_COOKIE_SEEDED);
}

#endif
