// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/differences.h"
#include "base/duration.h"
#include "model/blame.h"
#include "model/records.h"

/*
 * Two sets of records, from the last snapshot and for the present one; closing an interval makes
 * the difference and swaps them. So nothing is ever deleted from a set one by one.
 */
struct intervals {
	struct records before, now;
	struct records ended; /* WIRE_EXIT, a list in order of arrival */
	struct delay_records delays_before, delays_now;
	struct wire_reason *reasons;
	size_t reason_count, reason_room;
	bool reasons_reported; /* with the last interval: the next one begins a new list */
	struct wire_reason *base_reasons; /* of the baseline, until the next interval is closed */
	size_t base_room;
	struct blames blames;
	bool ignores_blame;
	struct session_info session;
	bool have_baseline, have_shown; /* an interval after it */
	struct wire_losses losses;	/* up to the last interval */
	size_t guess;			/* where the next thread may be in the other set */
	struct interval current;
	size_t row_room;
};

static const struct wire_thread nothing;

/* In `flags` of a record of the last snapshot: the thread has another name by now. */
#define GOES_ON (1U << 31)
/* In `flags` of a record of this snapshot: the thread ended at its instant, which is another row.
 */
#define ENDED (1U << 30)
/* What comes no more, and is not waited for. */
#define GONE (GOES_ON | ENDED | WIRE_FLAG_LEFT)

struct intervals *intervals_new(void)
{
	return calloc(1, sizeof(struct intervals));
}

void intervals_free(struct intervals *intervals)
{
	if (!intervals)
		return;
	records_release(&intervals->before);
	records_release(&intervals->now);
	records_release(&intervals->ended);
	delay_records_release(&intervals->delays_before);
	delay_records_release(&intervals->delays_now);
	session_release(&intervals->session);
	blames_release(&intervals->blames);
	free(intervals->reasons);
	free(intervals->base_reasons);
	free(intervals->current.rows);
	free(intervals);
}

/*
 * The thread as the last snapshot saw it; all zeros if it did not exist. A record whose
 * accounting began before that snapshot was in it, under any name, unless it could not be read.
 */
static const struct wire_thread *baseline_of(struct intervals *intervals,
					     const struct wire_thread *thread)
{
	const struct wire_thread *found = records_find_near(&intervals->before, &intervals->guess,
							    thread->tid, thread->start_ns);

	if (found && found->origin_ns == thread->origin_ns)
		return found;
	if (thread->origin_ns >= intervals->current.start_ns)
		return &nothing;
	found = records_find_origin(&intervals->before, thread->pid, thread->origin_ns);
	return found ? found : &nothing;
}

/*
 * CPU time is exact; how it splits is the kernel's tick-sampled utime:stime. An interval without a
 * tick takes the ratio of the thread's whole life, and a thread that never met one is all user, or
 * all kernel for kernel threads: the kernel's own rule (cputime_adjust() in
 * kernel/sched/cputime.c).
 */
static void split_on_cpu(struct row *row, uint64_t on_cpu_ns, const struct wire_thread *now,
			 const struct wire_thread *before)
{
	uint64_t user = now->utime_ns - before->utime_ns;
	uint64_t kernel = now->stime_ns - before->stime_ns;
	double share;

	if (before == &nothing || user + kernel == 0) {
		user = now->utime_ns;
		kernel = now->stime_ns;
	}
	if (user + kernel == 0) {
		user = !(now->flags & WIRE_FLAG_KERNEL_THREAD);
		kernel = !user;
	}
	share = (double)on_cpu_ns * ((double)user / ((double)user + (double)kernel));
	row->states_ns[STATE_USER] = share < (double)on_cpu_ns ? (uint64_t)share : on_cpu_ns;
	row->states_ns[STATE_KERNEL] = on_cpu_ns - row->states_ns[STATE_USER];
}

/* States whose totals one of the two does not know: 1 << enum state. */
static uint32_t unmeasured(const struct wire_thread *now, const struct wire_thread *before)
{
	uint32_t flags = now->flags | before->flags;

	return (flags & WIRE_FLAG_NO_DISK ? 1U << STATE_DISK : 0) |
	       (flags & WIRE_FLAG_NO_SWAP ? 1U << STATE_SWAP : 0) |
	       (flags & WIRE_FLAG_NO_WAITS ? STATES_RECOGNIZED : 0);
}

/* States whose share of a turn on the CPU is final only when the turn has ended. */
#define TURN_STATES (1U << WIRE_ON_CPU | 1U << WIRE_STOLEN | 1U << WIRE_IRQ)

/*
 * A transition recorded late (its CPU was taken away from the virtual machine in between) can move
 * time from one state to another behind a snapshot, and so can a turn's end (bpf/turn.h). The sum
 * stays right; what was moved is taken from the states that gained, and counted.
 */
static void difference_ns(uint64_t into[WIRE_STATES], const struct wire_thread *now,
			  const struct wire_thread *before, uint32_t left_out,
			  struct wire_losses *losses)
{
	uint64_t negative;

	for (int i = 0; i < WIRE_STATES; i++)
		into[i] = i != WIRE_ON_CPU && left_out & 1U << state_of_wait((__u8)i)
				  ? 0
				  : now->totals.ns[i] - before->totals.ns[i];
	negative = differences_settle(into, WIRE_STATES);
	if (negative & ~(uint64_t)TURN_STATES)
		losses->torn++;
	else if (negative)
		losses->clamped++;
}

static void fill_latency(struct row *row, const struct wire_totals *now,
			 const struct wire_totals *before)
{
	/* of most threads, which did not run; max is of a wait before */
	if (!memcmp(now->latency, before->latency, sizeof(now->latency)))
		return;
	for (int i = 0; i < WIRE_LATENCY_BUCKETS; i++) {
		row->latency[i] = now->latency[i] - before->latency[i];
		row->latency_count += row->latency[i];
	}
	row->latency_max_ns = now->latency_max_ns;
}

static void fill_counts(struct row *row, const struct wire_thread *now,
			const struct wire_thread *before)
{
	const struct wire_totals *a = &now->totals, *b = &before->totals;

	row->voluntary = now->voluntary - before->voluntary;
	row->involuntary = now->involuntary - before->involuntary;
	row->migrations = now->migrations - before->migrations;
	/* 32 bits, modulo 2^32 */
	row->woken = (uint32_t)(a->woken - b->woken);
	row->preempted = (uint32_t)(a->preempted - b->preempted);
	row->throttled = (uint32_t)(a->throttled - b->throttled);
	fill_latency(row, a, b);
	if (now->site.state == WIRE_RUNNABLE && now->end_ns - now->since_ns > row->latency_max_ns)
		row->latency_max_ns = now->end_ns - now->since_ns;
}

/* A counter that went down is of another kernel structure or was reset: not measured this time. */
static void fill_delays(struct row *row, const struct intervals *intervals,
			const struct wire_thread *thread)
{
	const struct wire_delays *now =
		delay_records_find(&intervals->delays_now, thread->tid, thread->start_ns);
	const struct wire_delays *before =
		delay_records_find(&intervals->delays_before, thread->tid, thread->start_ns);
	static const struct wire_delays none;

	if (!now)
		return;
	if (!before) {
		/* of a thread that was there before, only what is cumulative is known yet */
		if (thread->start_ns && thread->origin_ns < intervals->current.start_ns)
			return;
		before = &none;
	}
	for (int i = 0; i < WIRE_DELAYS_COUNT; i++) {
		if (!(now->measured & 1U << i) || now->delays[i].count < before->delays[i].count ||
		    now->delays[i].total_ns < before->delays[i].total_ns)
			continue;
		row->delays_measured |= 1U << i;
		row->delays[i].count = now->delays[i].count - before->delays[i].count;
		row->delays[i].total_ns = now->delays[i].total_ns - before->delays[i].total_ns;
	}
}

static int add_row(struct intervals *intervals, const struct wire_thread *now)
{
	struct interval *current = &intervals->current;
	const struct wire_thread *before = baseline_of(intervals, now);
	uint64_t ns[WIRE_STATES];
	struct row *row;

	if (array_reserve(&current->rows, &intervals->row_room, current->row_count + 1,
			  sizeof(*row)) < 0)
		return -ENOMEM;
	row = &current->rows[current->row_count++];
	*row = (struct row){
		.tid = now->tid,
		.pid = now->pid,
		.parent_pid = now->parent_pid,
		.threads = 1,
		.start_ns = now->start_ns,
		.origin_ns = now->origin_ns,
		.cgroup_id = now->cgroup_id,
		.observed_ns = now->end_ns - (before->end_ns ? before->end_ns : now->origin_ns),
		.began = before->site,
		.site = now->site,
		.in_state_ns = now->end_ns - now->since_ns,
		.cpu = now->cpu,
		.policy = now->policy,
		.nice = now->nice,
		.exited = now->header.kind == WIRE_EXIT,
		.is_beside = now->flags & WIRE_FLAG_BESIDE,
		.exit_code = now->exit_code,
	};
	memcpy(row->comm, now->comm, sizeof(now->comm));
	memcpy(row->process, now->process, sizeof(now->process));
	row->unmeasured = unmeasured(now, before);
	difference_ns(ns, now, before, row->unmeasured, &current->losses);
	split_on_cpu(row, ns[WIRE_ON_CPU], now, before);
	for (int i = WIRE_RUNNABLE; i < WIRE_STATES; i++)
		row->states_ns[state_of_wait((__u8)i)] = ns[i];
	intervals->session.has_unknown |= ns[WIRE_UNKNOWN] != 0;
	fill_counts(row, now, before);
	fill_delays(row, intervals, now);
	return 0;
}

/* Nothing of it is left to be carried over. */
static void forget(struct intervals *intervals, const struct wire_thread *ended)
{
	const struct wire_thread *known = baseline_of(intervals, ended);

	if (known != &nothing)
		intervals->before.items[known - intervals->before.items].end_ns = 0;
}

/*
 * One that dies at the snapshot's instant is met by it, and its end is at that instant, too. After
 * exec another may have its identity, but not its accounting.
 */
static void note_end(struct intervals *intervals, const struct wire_thread *ended)
{
	const struct wire_thread *met = records_find(&intervals->now, ended->tid, ended->start_ns);

	if (met && met->origin_ns == ended->origin_ns)
		intervals->now.items[met - intervals->now.items].flags |= ENDED;
}

/*
 * Threads that ended up to `end_ns`; later ones wait for the next interval. After the last there is
 * none: what was on its way to the end, and so was not met by the snapshot, is in this one.
 */
static int add_ended(struct intervals *intervals, uint64_t end_ns, bool final)
{
	struct records *ended = &intervals->ended;
	size_t kept = 0;

	for (size_t i = 0; i < ended->count; i++) {
		const struct wire_thread *thread = &ended->items[i];

		if (thread->end_ns > end_ns &&
		    (!final || records_find(&intervals->now, thread->tid, thread->start_ns))) {
			ended->items[kept++] = *thread;
			continue;
		}
		if (intervals->have_baseline && thread->end_ns > intervals->current.start_ns) {
			int result = add_row(intervals, thread);

			if (result < 0)
				return result;
			note_end(intervals, thread);
		}
		forget(intervals, thread);
	}
	ended->count = kept;
	return 0;
}

/*
 * In the last snapshot, and not in this one. A record carried over from earlier is of a thread that
 * was waited for already: once more before there is no next snapshot.
 */
static bool is_absent(const struct intervals *intervals, size_t *guess,
		      const struct wire_thread *thread, bool final)
{
	return !(thread->flags & GONE) && (final || thread->end_ns >= intervals->current.end_ns) &&
	       !records_find_near(&intervals->now, guess, thread->tid, thread->start_ns);
}

size_t intervals_missing(const struct intervals *intervals, bool final)
{
	size_t absent = 0, ended = 0, guess = 0;

	for (size_t i = 0; i < intervals->before.count; i++)
		absent += is_absent(intervals, &guess, &intervals->before.items[i], final);
	for (size_t i = 0; absent && i < intervals->ended.count; i++) {
		const struct wire_thread *thread = &intervals->ended.items[i];

		thread = records_find(&intervals->before, thread->tid, thread->start_ns);
		ended += thread && is_absent(intervals, &guess, thread, final);
	}
	return absent > ended ? absent - ended : 0;
}

/*
 * A thread that could not be read this time keeps its last totals: dying on a busy machine it may
 * not get a CPU for many intervals. One whose end was lost is forgotten some time.
 */
#define CARRIED_NS (60 * NS_PER_S)

static int carry_over(struct intervals *intervals)
{
	size_t guess = 0;

	for (size_t i = 0; i < intervals->before.count; i++) {
		const struct wire_thread *thread = &intervals->before.items[i];

		if (!thread->end_ns || thread->flags & GONE ||
		    thread->end_ns + CARRIED_NS < intervals->current.end_ns ||
		    records_find_near(&intervals->now, &guess, thread->tid, thread->start_ns))
			continue;
		int result = records_add(&intervals->now, thread);

		if (result < 0)
			return result;
	}
	return 0;
}

static struct wire_losses losses_since(const struct wire_losses *now,
				       const struct wire_losses *before)
{
	return (struct wire_losses){
		.threads = now->threads - before->threads,
		.exits = now->exits - before->exits,
		.transitions = now->transitions - before->transitions,
		.torn = now->torn - before->torn,
		.clamped = now->clamped - before->clamped,
	};
}

/* Longest first. */
static int by_total(const void *left, const void *right)
{
	const struct wire_reason *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* They were there to be victims. */
static void drop_beside(struct interval *interval)
{
	size_t kept = 0;

	for (size_t i = 0; i < interval->row_count; i++)
		if (!interval->rows[i].is_beside)
			interval->rows[kept++] = interval->rows[i];
	interval->row_count = kept;
}

static void turn_reasons(struct intervals *intervals)
{
	struct interval *current = &intervals->current;
	struct wire_reason *reasons = intervals->reasons;
	size_t room = intervals->reason_room;

	if (intervals->reasons_reported)
		intervals->reason_count = 0;
	intervals->reasons_reported = true;
	if (intervals->reason_count)
		qsort(reasons, intervals->reason_count, sizeof(*reasons), by_total);
	current->is_first = !intervals->have_shown;
	intervals->have_shown = intervals->have_baseline;
	if (!current->is_first)
		current->base_reason_count = 0;
	current->base_reasons = intervals->base_reasons;
	current->reasons = reasons;
	current->reason_count = intervals->reason_count;
	if (intervals->have_baseline)
		return;
	/* nothing is shown of a baseline: they are kept for the interval that begins here */
	intervals->reasons = intervals->base_reasons;
	intervals->reason_room = intervals->base_room;
	intervals->base_reasons = reasons;
	intervals->base_room = room;
	current->base_reason_count = intervals->reason_count;
}

static int close_interval(struct intervals *intervals, const struct wire_interval *record)
{
	struct interval *current = &intervals->current;
	int result;

	current->start_ns = record->start_ns;
	current->end_ns = record->end_ns;
	current->start_realtime_ns = record->start_realtime_ns;
	current->losses = losses_since(&record->losses, &intervals->losses);
	current->final = record->final;
	current->self_cpu_ns = record->self_cpu_ns;
	current->snapshot_ns = record->snapshot_ns;
	current->machine_stolen_ns = record->machine_stolen_ns;
	current->machine_busy_ns = record->machine_busy_ns;
	current->self_runnable_ns = record->self_runnable_ns;
	current->overrun_ns = record->overrun_ns;
	current->session = &intervals->session;
	turn_reasons(intervals);
	current->row_count = 0;
	result = add_ended(intervals, record->end_ns, record->final);
	intervals->guess = 0;
	for (size_t i = 0; result >= 0 && intervals->have_baseline && i < intervals->now.count; i++)
		if (!(intervals->now.items[i].flags & ENDED))
			result = add_row(intervals, &intervals->now.items[i]);
	if (result >= 0)
		result = carry_over(intervals);
	/* of a session without, none of the one before it */
	current->blames = NULL;
	current->blame_count = 0;
	if (result >= 0 && session_has_blame(&intervals->session))
		result = blames_close(&intervals->blames, current);
	if (session_has_caused(&intervals->session))
		drop_beside(current);
	if (result < 0)
		return result;

	struct records swap = intervals->before;
	struct delay_records delays = intervals->delays_before;

	intervals->before = intervals->now;
	intervals->now = swap;
	records_clear(&intervals->now);
	intervals->delays_before = intervals->delays_now;
	intervals->delays_now = delays;
	delay_records_clear(&intervals->delays_now);
	intervals->losses = record->losses;
	result = intervals->have_baseline;
	intervals->have_baseline = true;
	return result;
}

static int add_reason(struct intervals *intervals, const struct wire_reason *reason)
{
	if (intervals->reasons_reported)
		intervals->reason_count = 0;
	intervals->reasons_reported = false;
	if (array_reserve(&intervals->reasons, &intervals->reason_room, intervals->reason_count + 1,
			  sizeof(*reason)) < 0)
		return -ENOMEM;
	intervals->reasons[intervals->reason_count++] = *reason;
	return 0;
}

/*
 * exec in a thread that is not the leader: it takes over the leader's name, and nothing more comes
 * under its own.
 */
static void note_exec(struct intervals *intervals, const struct wire_thread *thread)
{
	const struct wire_thread *leader, *own;

	if (thread->tid != thread->pid)
		return;
	leader = records_find(&intervals->before, thread->tid, thread->start_ns);
	if (!leader || leader->origin_ns == thread->origin_ns)
		return;
	own = records_find_origin(&intervals->before, thread->pid, thread->origin_ns);
	if (own)
		intervals->before.items[own - intervals->before.items].flags |= GOES_ON;
}

void intervals_set_live(struct intervals *intervals)
{
	intervals->session.is_live = true;
}

void intervals_ignore_blame(struct intervals *intervals)
{
	intervals->ignores_blame = true;
}

void intervals_keep_lost_blame(struct intervals *intervals)
{
	intervals->blames.only_lost = true;
}

const struct session_info *intervals_session(const struct intervals *intervals)
{
	return &intervals->session;
}

const struct wire_delays *intervals_delays(const struct intervals *intervals, uint32_t tid,
					   uint64_t start_ns)
{
	return delay_records_find(&intervals->delays_before, tid, start_ns);
}

/* Forgets all but what is about the session: the next WIRE_INTERVAL sets a new baseline. */
static void intervals_restart(struct intervals *intervals)
{
	records_clear(&intervals->before);
	records_clear(&intervals->now);
	records_clear(&intervals->ended);
	delay_records_clear(&intervals->delays_before);
	delay_records_clear(&intervals->delays_now);
	intervals->reason_count = 0;
	blames_restart(&intervals->blames);
	intervals->have_baseline = intervals->have_shown = false;
}

int intervals_feed(struct intervals *intervals, const struct wire_header *record,
		   struct interval **ret_interval)
{
	const struct wire_thread *thread = (const struct wire_thread *)record;
	int result = session_feed(&intervals->session, record);

	if (intervals->ignores_blame)
		intervals->session.wire.flags &= ~(unsigned int)WIRE_SESSION_BLAME;
	if (result)
		return result < 0 ? result : 0;
	switch (record->kind) {
	case WIRE_THREAD:
		if (record->size != sizeof(*thread))
			return -EBADMSG;
		/* sent by a dying thread, and too late for the snapshot it belongs to */
		if (intervals->have_baseline && thread->end_ns <= intervals->current.end_ns)
			return 0;
		note_exec(intervals, thread);
		return records_add(&intervals->now, thread);
	case WIRE_EXIT:
		if (record->size != sizeof(*thread))
			return -EBADMSG;
		note_exec(intervals, thread);
		return records_append(&intervals->ended, thread);
	case WIRE_RESTART:
		intervals_restart(intervals);
		return 0;
	case WIRE_DELAYS:
		return delay_records_add(&intervals->delays_now,
					 (const struct wire_delays *)record);
	case WIRE_BLAME:
	case WIRE_HOLDER:
	case WIRE_MEMBER:
		return intervals->ignores_blame ? 0 : blames_feed(&intervals->blames, record);
	case WIRE_REASON:
		return add_reason(intervals, (const struct wire_reason *)record);
	case WIRE_INTERVAL:
		if (record->size != sizeof(struct wire_interval))
			return -EBADMSG;
		result = close_interval(intervals, (const struct wire_interval *)record);
		if (result > 0)
			*ret_interval = &intervals->current;
		return result;
	default:
		return 0; /* a newer source may send more than we know */
	}
}
