/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread's account: how long it was in each state. Lives in task-local storage, so a dead thread
 * frees its own, and a thread is watched exactly when it has one.
 *
 * Who writes: the scheduler's hooks, which the run-queue lock of the thread's CPU already
 * serializes; and of a wait that goes on, the task iterator what it is for (sites.bpf.h). Who
 * reads: the iterator, at any time, without stopping anyone. A snapshot is of
 * one instant, `snapshot_ns`, for all threads: user space sets it a little ahead of the clock and
 * starts reading when it has passed. The first hook that touches an account after that instant
 * first puts aside what it held (`frozen`), then goes on in `live`; the reader takes whichever of
 * the two is from before the instant. So a read never has to be repeated because a thread is busy.
 */
#ifndef DWELL_BPF_ACCOUNT_BPF_H
#define DWELL_BPF_ACCOUNT_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/arch.bpf.h"
#include "bpf/blame_bank.h"
#include "bpf/filter.bpf.h"
#include "bpf/follow.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/turn.h"
#include "bpf/wire.h"

struct account_state {
	__u64 since_ns;
	struct wire_wait_site site;
	__u32 pad;
	struct wire_totals totals; /* up to since_ns */
};

/*
 * A wait that is something else than snapshots have reported, from until_ns on: before that it
 * stays what it was for them, or an interval would get less than nothing.
 */
struct account_was {
	__u64 since_ns; /* of the wait */
	__u64 until_ns;
	struct wire_wait_site site;
	__u32 answered; /* the wait, as asked_since, whose answer the iterator has put in */
};

/* Waits that have ended, for one reason: reasons.bpf.h. */
struct account_reason {
	__u64 ns;
	__u32 count; /* 0: none yet */
	struct wire_wait_site site;
};

#define ACCOUNT_REASON_BITS 2
#define ACCOUNT_REASONS	    (1U << ACCOUNT_REASON_BITS)

/* What every switch and wakeup touches comes first, in as few cache lines as may be. */
struct account {
	__u64 frozen_ns; /* the snapshot instant `frozen` is good for */
	__u64 origin_ns; /* 0: being set up */
	__u64 ran_ns;	 /* the kernel's count of its CPU time when its turn began; RAN_UNKNOWN */
	struct turn turn;
	__u32 asked_since; /* lower half of since_ns of the wait for which it last asked for a site
			    */
	__u32 asked;	   /* how often for a site since the last snapshot: site_may_ask() */
	struct wire_wait_site
		last_call;  /* the system call it last blocked in; for restart_syscall */
	__u8 is_supervised; /* by a supervisor that `filter`, its last one, asks */
	__u8 was_frozen;    /* in the middle of a wait: freezer.bpf.h; the iterator's own */
	__u8 is_beside;	    /* no target: `watch_beside` */
	__u8 own_locks;	    /* of its program: own_locks_mark(); 0: not looked yet */
	__u64 filter;
	struct account_state live;
	struct account_reason reasons[ACCOUNT_REASONS];
	struct turn_parts parts;
	__u64 read_ns; /* the snapshot instant the iterator last read it for; the iterator's own */
	struct account_was was;
	/* the kernel's own counts at origin_ns */
	__u64 origin_voluntary;
	__u64 origin_involuntary;
	__u64 origin_migrations;
	/* in our pid namespace, where that is not the first (filter.bpf.h); with blame always */
	__u32 tid;
	__u32 pid;
	__u32 is_leaving; /* counted in `leaving` */
	__u32 sent_hash;  /* of what was sent at read_ns beside the account; the iterator's own */
	struct account_state frozen;
};

/* It ran already when its account was made: the count is up to the last tick only. */
#define RAN_UNKNOWN (~0ULL)

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct account);
} accounts __weak SEC(".maps");

/* In place of `accounts` where blame is asked for. */
struct blamed_account {
	struct account account;
	struct blame blame;
};

/*
 * The kernel's memory for each has a power of two of bytes, with what it needs itself. A state more
 * takes 16 bytes: tests/e2e/test_contributing.py adds one.
 */
#define STORAGE_HEAD 72 /* sizeof(struct bpf_local_storage_elem), 6.1 to 6.18 */
_Static_assert(sizeof(struct account) + STORAGE_HEAD <= 1024, "for each thread");
_Static_assert(sizeof(struct blamed_account) + STORAGE_HEAD <= 2048, "for each thread");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct blamed_account);
} blamed_accounts __weak SEC(".maps");

/* Who caused a thread's waits is asked for: blame.bpf.h. */
const volatile bool blame_on __weak = false;

/*
 * Threads that are no targets (`is_beside`) have accounts only for what they did while a target
 * waited for them: nothing is sent of them.
 */
const volatile bool skip_beside __weak = false;

/* The instant of the present snapshot; written by user space only. */
volatile __u64 snapshot_ns __weak = 0;
/* It is the last one. */
volatile bool is_last __weak = false;
volatile struct wire_losses losses __weak = {};

/* Some CPU's clock has left out time for this: the kernel accounts for it. Set by the iterator. */
volatile bool steal_seen __weak = false;
volatile bool irq_seen __weak = false;

/*
 * Threads that have begun to end and that no snapshot has read: soon the iterator does not meet
 * them any more, and only their last switch reports them.
 */
volatile __u64 leaving __weak = 0;

static __always_inline void count(volatile __u64 *counter)
{
	__sync_fetch_and_add((__u64 *)counter, 1);
}

static __always_inline struct account *account_storage(struct task_struct *task, __u64 flags)
{
	return blame_on ? bpf_task_storage_get(&blamed_accounts, task, NULL, flags)
			: bpf_task_storage_get(&accounts, task, NULL, flags);
}

/* NULL: not watched, or still being set up. */
static __always_inline struct account *account_of(struct task_struct *task)
{
	struct account *account = account_storage(task, 0);

	return account && account->origin_ns ? account : NULL;
}

/* Nothing of it is sent. */
static __always_inline bool is_skipped(const struct account *account)
{
	return skip_beside && account->is_beside;
}

/*
 * A zeroed account for a thread, to be begun with account_begin(). NULL, and counted, without
 * memory.
 */
static __always_inline struct account *account_new(struct task_struct *task)
{
	struct account *account = account_storage(task, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!account && (!skip_beside || is_of_target(task)))
		count(&losses.threads);
	return account;
}

static __always_inline void account_delete(struct task_struct *task)
{
	if (blame_on)
		bpf_task_storage_delete(&blamed_accounts, task);
	else
		bpf_task_storage_delete(&accounts, task);
}

/* The hooks take notice of an account from here on. */
static __always_inline void account_begin(struct account *account, struct task_struct *task,
					  struct wire_wait_site site, __u64 now_ns)
{
	if (pid_namespace || blame_on) {
		account->tid = tid_of(task);
		account->pid = pid_of(task);
	}
	account->ran_ns = site.state == WIRE_ON_CPU ? RAN_UNKNOWN : task->se.sum_exec_runtime;
	account->origin_voluntary = task->nvcsw;
	account->origin_involuntary = task->nivcsw;
	account->origin_migrations = task->se.nr_migrations;
	if (site.syscall >= 0)
		account->last_call = site;
	account->live.since_ns = now_ns;
	account->live.site = site;
	/* full barrier: complete before it is announced */
	__sync_lock_test_and_set(&account->origin_ns, now_ns);
}

/*
 * The run queue the task is on. Its fields of time lie behind the group's queue:
 * CONFIG_FAIR_GROUP_SCHED, in all classes; NULL without.
 */
static __always_inline const struct rq *run_queue_of(const struct task_struct *task)
{
	return bpf_core_field_exists(((struct cfs_rq *)0)->rq) ? FOLLOW(task, se.cfs_rq, rq) : NULL;
}

/* include/linux/preempt.h */
#define SOFTIRQ_SERVED 0x00000100
#define HARDIRQ_OR_NMI 0x00ff0000

/* What runs in the current thread, which it has hit by chance; 0: nothing, or it is not known. */
static __always_inline __u32 interrupt_context(const struct task_struct *current_thread)
{
	return arch_preempt_count(current_thread, run_queue_of(current_thread)) &
	       (HARDIRQ_OR_NMI | SOFTIRQ_SERVED);
}

/* As of the last update of its clock: the present switch, or the last tick. */
static __always_inline struct turn_clock turn_clock_of(const struct rq *rq)
{
	struct turn_clock clock = {0, 0};

	if (!bpf_core_field_exists(((struct cfs_rq *)0)->rq))
		return clock;
	clock.omitted_ns = FOLLOW(rq, clock);
	barrier(); /* turn_clock_unlocked() */
	clock.omitted_ns -= FOLLOW(rq, clock_task);
	if (bpf_core_field_exists(rq->prev_irq_time))
		clock.irq_ns = FOLLOW(rq, prev_irq_time);
	return clock;
}

/* Everything about this thread has been reported. */
static __always_inline void account_reported(struct account *account)
{
	if (__sync_lock_test_and_set(&account->is_leaving, 0))
		__sync_fetch_and_add((__u64 *)&leaving, -1);
}

/* A thread that has not run yet. */
static __always_inline void account_new_thread(struct task_struct *task)
{
	struct wire_wait_site born = {
		.state = WIRE_RUNNABLE, .detail = WIRE_DETAIL_NEW, .syscall = WIRE_SYSCALL_NONE};
	struct account *account = account_new(task);

	if (account && !account->origin_ns)
		account_begin(account, task, born, bpf_ktime_get_ns());
}

/* floor(log2(value)) up to the last bucket. */
static __always_inline __u32 latency_bucket(__u64 value_ns)
{
	__u32 low = (__u32)value_ns;
	__u32 bucket = 0;

	if (value_ns >> 32)
		return WIRE_LATENCY_BUCKETS - 1;
	if (low >> 16) {
		low >>= 16;
		bucket += 16;
	}
	if (low >> 8) {
		low >>= 8;
		bucket += 8;
	}
	if (low >> 4) {
		low >>= 4;
		bucket += 4;
	}
	if (low >> 2) {
		low >>= 2;
		bucket += 2;
	}
	return bucket + (low >> 1);
}

/* Of the time on the CPU, what was not the thread's own. */
static __always_inline void totals_give_up(struct wire_totals *totals, __u64 stolen_ns,
					   __u64 irq_ns, __u64 hidden_ns)
{
	totals->ns[WIRE_ON_CPU] -= stolen_ns + irq_ns + hidden_ns;
	totals->ns[WIRE_STOLEN] += stolen_ns;
	totals->ns[WIRE_IRQ] += irq_ns;
	totals->ns[WIRE_RUNNABLE] += hidden_ns;
}

/*
 * The wait from `since_ns` on, all of it in the totals of `state`, gives back what was reported as
 * something else. Returns how much.
 */
static __always_inline __u64 totals_give_back(struct wire_totals *totals,
					      const struct account_was *was, __u32 state,
					      __u64 since_ns)
{
	__u32 reported = was->site.state;
	__u64 ns = was->until_ns - since_ns;

	if (was->since_ns != since_ns)
		return 0;
	barrier_var(state);
	barrier_var(reported);
	if (state >= WIRE_STATES || reported >= WIRE_STATES)
		return 0;
	totals->ns[state] -= ns;
	totals->ns[reported] += ns;
	return ns;
}

/* The snapshot's instant lies in a turn that has ended in the meantime. */
static __always_inline void account_split_turn(struct account *account, __u64 instant_ns,
					       __u64 end_ns)
{
	const struct turn_parts *parts = &account->parts;
	__u64 since_ns = account->live.since_ns;

	if (instant_ns <= since_ns || end_ns <= instant_ns)
		return;
	totals_give_up(&account->frozen.totals,
		       turn_before(parts->stolen_ns, instant_ns - since_ns, end_ns - since_ns),
		       turn_before(parts->irq_ns, instant_ns - since_ns, end_ns - since_ns),
		       turn_before(parts->hidden_ns, instant_ns - since_ns, end_ns - since_ns));
}

/*
 * `end_ns`: of the state that the thread is in. Once a snapshot, so not in the way of all other
 * changes; global for the verifier's sake: see wait_function_of().
 */
__weak __attribute__((noinline)) int account_freeze(struct account *account, __u64 instant_ns,
						    __u64 end_ns, bool turn_ends)
{
	if (!account)
		return 0;
	/* an instant was announced again, and no snapshot has the longest wait up to the first */
	if (account->frozen_ns > account->read_ns &&
	    account->frozen.totals.latency_max_ns > account->live.totals.latency_max_ns)
		account->live.totals.latency_max_ns = account->frozen.totals.latency_max_ns;
	account->frozen = account->live;
	if (turn_ends && account->turn.is_divided)
		account_split_turn(account, instant_ns, end_ns);
	account->live.totals.latency_max_ns = 0;
	/* full barrier: `frozen` is complete before it is announced, `live` changes only after */
	__sync_lock_test_and_set(&account->frozen_ns, instant_ns);
	return 0;
}

/* Only where blame is asked for. */
static __always_inline struct blame *blame_of(struct account *account)
{
	return &((struct blamed_account *)account)->blame;
}

static __always_inline __u32 site_number(const struct wire_wait_site *site)
{
	if (site->state <= WIRE_RUNNABLE)
		return site->state == WIRE_ON_CPU ? BLAME_ON_CPU : BLAME_RUNNABLE;
	return *(const __u32 *)site;
}

/* False: it has two other sites already. */
static __always_inline bool span_add(struct blame_span *span, __u32 site, __u32 ns)
{
	__u32 *into;

	if (site == BLAME_ON_CPU) {
		into = &span->ns[0];
	} else if (site == BLAME_RUNNABLE) {
		into = &span->ns[1];
	} else if (site == span->site[0] || !span->site[0]) {
		span->site[0] = site;
		into = &span->ns[2];
	} else if (site == span->site[1] || !span->site[1]) {
		span->site[1] = site;
		into = &span->ns[3];
	} else {
		return false;
	}
	if (*into != BLAME_THE_REST)
		*into = ns == BLAME_THE_REST ? ns : *into + ns;
	return true;
}

static __always_inline bool span_fits(const struct blame_span *into, __u32 site)
{
	return !site || !into->site[1] || site == into->site[0] || site == into->site[1];
}

/* What of a span of `length_ns` was its part `i`. */
static __always_inline __u64 span_part(const struct blame_span *span, __u32 i, __u64 length_ns)
{
	__u64 others_ns = 0;

	if (span->ns[i] != BLAME_THE_REST)
		return span->ns[i];
	for (__u32 j = 0; j < 2 + BLAME_SITES; j++)
		others_ns += j == i ? 0 : span->ns[j];
	return length_ns - others_ns;
}

/* The oldest of the recent spans, the one after the last, makes room for one from begin_ns on. */
__weak __attribute__((noinline)) int blame_new_span(struct blame *blame, __u64 begin_ns, __u32 site)
{
	struct blame_span *span, *into;
	__u64 end_ns;
	__u32 at;

	if (!blame)
		return 0;
	at = ++blame->recent_at;
	span = &blame->recent[at & (BLAME_SPANS - 1)];
	end_ns = blame->recent[(at + 1) & (BLAME_SPANS - 1)].begin_ns;
	into = &blame->older[blame->older_at & (BLAME_SPANS - 1)];
	/* both of its sites may be new to the other one: then there is room only for one */
	if (end_ns - into->begin_ns <= BLAME_OLDER_NS && span_fits(into, span->site[0]) &&
	    span_fits(into, span->site[1]) && (!into->site[0] || into->site[1] || !span->site[1])) {
		__u64 length_ns = end_ns - span->begin_ns;

		span_add(into, BLAME_ON_CPU, span_part(span, 0, length_ns));
		span_add(into, BLAME_RUNNABLE, span_part(span, 1, length_ns));
		if (span->site[0])
			span_add(into, span->site[0], span_part(span, 2, length_ns));
		if (span->site[1])
			span_add(into, span->site[1], span_part(span, 3, length_ns));
	} else {
		blame->older_at++;
		blame->older[blame->older_at & (BLAME_SPANS - 1)] = *span;
	}
	span->begin_ns = begin_ns;
	span->site[0] = span->site[1] = 0;
	span->ns[0] = span->ns[1] = span->ns[2] = span->ns[3] = 0;
	span_add(span, site, BLAME_THE_REST);
	return 0;
}

/* The state that ends has lasted `spent_ns`, up to live.since_ns. */
static __always_inline void blame_note(struct account *account, __u64 spent_ns)
{
	struct blame *blame = blame_of(account);
	struct blame_span *span = &blame->recent[blame->recent_at & (BLAME_SPANS - 1)];
	__u32 site = site_number(&account->live.site);
	__u64 now_ns = account->live.since_ns;

	if (now_ns - span->begin_ns > BLAME_RECENT_NS || !span_add(span, site, spent_ns))
		blame_new_span(blame, now_ns - spent_ns, site);
}

/* As in totals: so much of the wait for a CPU was on one. */
static __always_inline void blame_note_paid(struct blame *blame, __u32 paid_ns)
{
	struct blame_span *span = &blame->recent[blame->recent_at & (BLAME_SPANS - 1)];

	if (span->ns[1] != BLAME_THE_REST && span->ns[1] < paid_ns)
		return;
	if (span->ns[0] != BLAME_THE_REST)
		span->ns[0] += paid_ns;
	if (span->ns[1] != BLAME_THE_REST)
		span->ns[1] -= paid_ns;
}

static __always_inline __u64 account_change(struct account *account, struct wire_wait_site next,
					    __u64 now_ns, bool turn_ends)
{
	__u64 instant_ns = snapshot_ns;
	__u64 spent_ns = 0;

	if (account->frozen_ns != instant_ns && now_ns >= instant_ns)
		account_freeze(account, instant_ns, now_ns, turn_ends);
	if (now_ns > account->live.since_ns) {
		spent_ns = now_ns - account->live.since_ns;
		account->live.since_ns = now_ns;
	}
	if (account->live.site.state < WIRE_STATES)
		account->live.totals.ns[account->live.site.state] += spent_ns;
	if (turn_ends && account->turn.is_divided) {
		totals_give_up(&account->live.totals, account->parts.stolen_ns,
			       account->parts.irq_ns, account->parts.hidden_ns);
		account->turn.is_divided = 0;
	}
	if (blame_on)
		blame_note(account, spent_ns);
	account->live.site = next;
	return spent_ns;
}

/* The thread stops doing what it did and enters `next`. Returns how long the old state lasted, ns.
 */
static __always_inline __u64 account_enter(struct account *account, struct wire_wait_site next,
					   __u64 now_ns)
{
	return account_change(account, next, now_ns, false);
}

/* As account_enter(), from a CPU and after account_end_turn(). */
static __always_inline void account_leave_cpu(struct account *account, struct wire_wait_site next,
					      __u64 now_ns)
{
	account_change(account, next, now_ns, true);
}

/*
 * The state that has just been left, off the CPU, pays what was charged beyond the turns: of the
 * `spent_ns` up to now, what no snapshot has read. Returns how much.
 */
static __attribute__((noinline, unused)) __u64 account_pay(struct account *account, __u32 state,
							   __u64 spent_ns)
{
	__u64 instant_ns = snapshot_ns, now_ns, paid_ns;

	if (!account)
		return 0;
	barrier_var(state);
	if (state >= WIRE_STATES)
		return 0;
	now_ns = account->live.since_ns; /* account_enter() */
	if (now_ns >= instant_ns && now_ns - instant_ns < spent_ns)
		spent_ns = now_ns - instant_ns;
	paid_ns = turn_pay(&account->turn, spent_ns, state == WIRE_RUNNABLE);
	account->live.totals.ns[state] -= paid_ns;
	account->live.totals.ns[WIRE_ON_CPU] += paid_ns;
	if (blame_on && state == WIRE_RUNNABLE)
		blame_note_paid(blame_of(account), paid_ns);
	return paid_ns;
}

/*
 * The turn that began at `since_ns` ends: finds out what was not the thread's own, for the
 * account_leave_cpu() that follows. Returns when the turn ended by the kernel's clock, at most a
 * switch's length before now.
 */
static __always_inline __u64 account_end_turn(struct account *account, __u64 ran_ns,
					      const struct turn_clock *clock, __u64 now_ns)
{
	__u64 length_ns = now_ns - account->live.since_ns, charged_ns = ran_ns - account->ran_ns;
	__u64 early_ns, end_ns, instant_ns;
	__u32 clamped = 0;

	if ((__s64)length_ns <= 0)
		return now_ns;
	if (account->ran_ns == RAN_UNKNOWN) {
		if (clock->omitted_ns != account->turn.omitted_ns)
			turn_divide(&account->turn, &account->parts, length_ns, 0, clock, &clamped);
		early_ns = 0;
	} else {
		early_ns = turn_end(&account->turn, &account->parts, length_ns, charged_ns, clock,
				    &clamped);
	}
	if (clamped && !is_skipped(account))
		count(&losses.clamped);
	if (!early_ns)
		return now_ns;
	end_ns = now_ns - early_ns;
	/* a snapshot may have read the turn up to its instant: that stays so, and the next pays */
	instant_ns = snapshot_ns;
	if (now_ns >= instant_ns && end_ns < instant_ns) {
		end_ns = account->live.since_ns < instant_ns ? instant_ns : now_ns;
		account->turn.balance_ns += (__s64)(early_ns - (now_ns - end_ns));
	}
	return end_ns;
}

static __always_inline void account_begin_turn(struct account *account, __u64 ran_ns,
					       const struct turn_clock *clock)
{
	account->ran_ns = ran_ns;
	account->turn.omitted_ns = clock->omitted_ns;
	if (bpf_core_field_exists(((struct rq *)0)->prev_irq_time))
		account->parts.begin_irq_ns = clock->irq_ns;
}

/*
 * The same without the run queue's lock. The kernel advances `clock` first, so a look in between
 * makes the difference too large: of two looks the smaller one counts. `clock` is read first for
 * the same reason.
 */
static __always_inline struct turn_clock turn_clock_unlocked(const struct task_struct *task)
{
	const struct rq *rq = run_queue_of(task);
	struct turn_clock first = turn_clock_of(rq), second;

	barrier();
	second = turn_clock_of(rq);
	return second.omitted_ns < first.omitted_ns ? second : first;
}

/* The turn of a thread that is on its CPU, up to end_ns: as of the CPU's last tick. */
static __always_inline struct turn_loss
account_open_turn(const struct account *account, const struct task_struct *task, __u64 end_ns)
{
	struct turn_clock clock = {.omitted_ns = account->turn.omitted_ns,
				   .irq_ns = account->parts.begin_irq_ns};
	__u64 length_ns = end_ns - account->live.since_ns;
	int seen = steal_seen + irq_seen; /* one branch for the two: fewer ways to verify */

	if (seen)
		clock = turn_clock_unlocked(task);
	return turn_loss(&account->turn, &account->parts, &clock,
			 (__s64)length_ns < 0 ? 0 : length_ns);
}

static __always_inline void account_latency(struct account *account, __u64 waited_ns)
{
	__u32 bucket = latency_bucket(waited_ns);

	if (bucket < WIRE_LATENCY_BUCKETS)
		account->live.totals.latency[bucket]++;
	if (waited_ns > account->live.totals.latency_max_ns)
		account->live.totals.latency_max_ns = waited_ns;
}

#endif
