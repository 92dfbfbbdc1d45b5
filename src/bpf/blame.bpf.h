/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose fault a wait was. A thread that was ready owes its wait to what ran on its CPU instead:
 * each CPU keeps its last runs. One that was blocked owes it to the thread that ended the wait, and
 * to what that one did meanwhile: each account keeps what its thread did of late.
 *
 * Shares are those of an interval. The first hook that charges a thread after a snapshot's instant
 * sends what there is, if the reader has not come yet, and starts from zero.
 */
#ifndef DWELL_BPF_BLAME_BPF_H
#define DWELL_BPF_BLAME_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/record.bpf.h"
#include "bpf/wire.h"

#define BLAME_RUNS 128 /* of a CPU; a power of two */

/* What ran on a CPU, from the end of the one before on. */
struct blame_run {
	__u64 until_ns; /* 0: it still runs */
	__u64 who;	/* as in struct blame_key */
	__u32 pid;
	__u16 kind;	  /* thread or idle; unknown: before the first switch that was seen */
	__u16 flags;	  /* WIRE_CULPRIT_* */
	__u64 omitted_ns; /* of it stolen or interrupted */
	__u64 comm[2];
};

struct blame_cpu {
	__u64 omitted_ns; /* turn_clock's at the last switch */
	__u32 at;	  /* the run that goes on, modulo BLAME_RUNS */
	__u32 pad;
	struct blame_run runs[BLAME_RUNS];
};

/* By CPU. Written by its own switches, read under its run queue's lock. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blame_cpu);
} blame_cpus __weak SEC(".maps");

/*
 * A culprit as it is looked for, in whole words: what is written in parts and read as one costs as
 * much as the rest. The fields are those of struct wire_culprit, in the order that x86-64 and arm64
 * have their bytes in.
 */
struct blame_key {
	__u64 who; /* tid, start */
	__u64 how; /* meanwhile, state, kind, flags */
	__u64 comm[2];
	__u32 pid;
	__u32 count;
};

#define BLAME_WHO(tid, start)  ((__u32)(tid) | (__u64)(start) << 32)
#define BLAME_HOW(state, kind) ((__u64)(state) << 32 | (__u64)(kind) << 40)
#define BLAME_FLAG(flag)       ((__u64)(flag) << 48)

static __always_inline __u64 blame_who(const struct wire_culprit *culprit)
{
	return *(const __u64 *)&culprit->tid;
}

static __always_inline __u64 blame_how(const struct wire_culprit *culprit)
{
	return *(const __u64 *)&culprit->meanwhile;
}

static __always_inline void blame_put(struct wire_culprit *culprit, const struct blame_key *key,
				      __u64 ns)
{
	culprit->total_ns = ns;
	culprit->count = key->count;
	culprit->pid = key->pid;
	*(__u64 *)&culprit->tid = key->who;
	*(__u64 *)&culprit->meanwhile = key->how;
	((__u64 *)culprit->comm)[0] = key->comm[0];
	((__u64 *)culprit->comm)[1] = key->comm[1];
}

/* As it is sent: with room for all there may be. */
struct blame_record {
	struct wire_blame blame;
	struct wire_culprit culprits[BLAME_CULPRITS];
};

static __always_inline void blame_fill(struct blame_record *record, const struct account *account,
				       const struct blame *blame, __u64 end_ns)
{
	record->blame.header.kind = WIRE_BLAME;
	record->blame.header.cpu = 0;
	record->blame.header.time_ns = end_ns;
	record->blame.origin_ns = account->origin_ns;
	record->blame.tid = account->tid;
	record->blame.pid = account->pid;
	record->blame.folded = blame->folded;
	record->blame.count = blame->count;
	__builtin_memcpy(record->culprits, blame->culprits, sizeof(record->culprits));
}

/*
 * What has been charged since the snapshot before, up to `end_ns`, unless it has been read. Global
 * for the verifier's sake: see wait_function_of().
 */
__weak __attribute__((noinline)) int blame_send(struct blamed_account *blamed, __u64 end_ns)
{
	struct blame_record *record;

	if (!blamed || !blamed->blame.count || blamed->blame.frozen_ns < blamed->account.read_ns)
		return 0;
	record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	if (!record)
		return 0; /* not known, then */
	blame_fill(record, &blamed->account, &blamed->blame, end_ns);
	record->blame.header.size = sizeof(*record);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

__weak __attribute__((noinline)) int blame_freeze(struct blamed_account *blamed, __u64 instant_ns)
{
	if (!blamed)
		return 0;
	if (blamed->account.read_ns != instant_ns)
		blame_send(blamed, instant_ns);
	/* full barrier: the reader takes nothing that changes from here on */
	__sync_lock_test_and_set(&blamed->blame.frozen_ns, instant_ns);
	blamed->blame.folded = 0;
	blamed->blame.count = 0;
	blamed->blame.refused_ns = 0;
	blamed->blame.last = 0;
	return 0;
}

/* What is charged from now on belongs to the interval that `now_ns` is in. */
static __always_inline void blame_begin(struct account *account, __u64 now_ns)
{
	__u64 instant_ns = snapshot_ns;

	if (blame_of(account)->frozen_ns != instant_ns && now_ns >= instant_ns)
		blame_freeze((struct blamed_account *)account, instant_ns);
}

static __always_inline void blame_put_more(struct wire_culprit *culprit,
					   const struct blame_key *key, __u64 ns)
{
	culprit->total_ns += ns;
	culprit->count += key->count;
	/* it may have become another program */
	((__u64 *)culprit->comm)[0] = key->comm[0];
	((__u64 *)culprit->comm)[1] = key->comm[1];
}

/* The same state and site meanwhile, and of the same process, or of the same name. */
static __always_inline bool blame_is_alike(const struct wire_culprit *culprit, __u64 how, __u32 pid,
					   const __u64 comm[2], bool by_name)
{
	const __u64 *name = (const __u64 *)culprit->comm;

	if (blame_how(culprit) != how)
		return false;
	return by_name ? name[0] == comm[0] && name[1] == comm[1] : pid && culprit->pid == pid;
}

/* A share of several: of threads of a process, or of processes of a name. */
static __always_inline void blame_make_group(struct wire_culprit *culprit, bool by_name)
{
	*(__u64 *)&culprit->tid = 0;
	if (by_name)
		culprit->pid = 0;
}

/*
 * The first that is as `key` and has no more than most_ns: its place + 1; 0: none. This and the
 * next ones are global functions for the verifier's sake: see wait_function_of().
 */
__weak __attribute__((noinline)) int
blame_alike(const struct blame *blame, const struct blame_key *key, __u64 most_ns, __u32 by_name)
{
	if (!blame || !key)
		return 0;
	for (__u32 i = 0; i < BLAME_CULPRITS; i++)
		if (blame->culprits[i].total_ns <= most_ns &&
		    blame_is_alike(&blame->culprits[i], key->how, key->pid, key->comm, by_name))
			return (int)i + 1;
	return 0;
}

#define BLAME_GONE 1 /* culprit.pad: it has become part of another one */

/* The share at `at` becomes part of that at `into`, if it is alike and has no more than most_ns. */
__weak __attribute__((noinline)) int blame_merge_one(struct blame *blame, __u32 into, __u32 at,
						     __u64 most_ns, __u32 by_name)
{
	struct wire_culprit *culprit, *group;

	if (!blame || at >= BLAME_CULPRITS || into >= BLAME_CULPRITS || at == into)
		return 0;
	culprit = &blame->culprits[at];
	group = &blame->culprits[into];
	if (culprit->total_ns > most_ns || !blame_is_alike(culprit, blame_how(group), group->pid,
							   (const __u64 *)group->comm, by_name))
		return 0;
	group->total_ns += culprit->total_ns;
	group->count += culprit->count;
	blame_make_group(group, by_name);
	culprit->pad = BLAME_GONE;
	return 1;
}

/* That at `at` follows the `kept` that are left of those before. How many are left then. */
__weak __attribute__((noinline)) __u32 blame_move_up(struct blame *blame, __u32 at, __u32 kept)
{
	if (!blame || at >= BLAME_CULPRITS || kept >= BLAME_CULPRITS)
		return kept;
	if (blame->culprits[at].pad == BLAME_GONE)
		return kept;
	if (kept < at)
		blame->culprits[kept] = blame->culprits[at];
	return kept + 1;
}

/*
 * Those that are as that at `place`, with no more than most_ns each, become one with it. Returns
 * its new place + 1. The programs' stacks are full (MAX_BPF_STACK), so this is in small steps.
 */
__weak __attribute__((noinline)) int blame_merge(struct blame *blame, __u32 place, __u64 most_ns,
						 __u32 by_name)
{
	__u32 kept = 0, moved = place;

	if (!blame)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_CULPRITS; i++)
		blame_merge_one(blame, place, i, most_ns, by_name);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_CULPRITS; i++) {
		if (i == place)
			moved = kept;
		kept = blame_move_up(blame, i, kept);
	}
	if (kept >= BLAME_CULPRITS)
		return (int)place + 1;
	blame->count = kept;
	blame->last = 0;
	blame->again[0] = blame->again[1] = BLAME_CULPRITS;
	return (int)moved + 1;
}

__weak __attribute__((noinline)) __u64 blame_sum(const struct blame *blame)
{
	__u64 sum_ns = 0;

	if (!blame)
		return 0;
	for (__u32 i = 0; i < BLAME_CULPRITS; i++)
		sum_ns += blame->culprits[i].total_ns;
	return sum_ns;
}

/* The place of the smallest share, where all are taken. */
__weak __attribute__((noinline)) __u32 blame_smallest(const struct blame *blame)
{
	__u64 least_ns = ~0ULL;
	__u32 place = 0;

	if (!blame)
		return 0;
	for (__u32 i = 0; i < BLAME_CULPRITS; i++) {
		if (blame->culprits[i].total_ns < least_ns) {
			least_ns = blame->culprits[i].total_ns;
			place = i;
		}
	}
	return place;
}

/* There is no place left, and `key` joins those that are alike. Its place + 1; 0: none are. */
static __always_inline int blame_join(struct blame *blame, const struct blame_key *key, __u64 ns,
				      __u64 most_ns)
{
	__u32 by_name = 0, place = (__u32)blame_alike(blame, key, most_ns, 0);

	if (!place) {
		by_name = 1;
		place = (__u32)blame_alike(blame, key, most_ns, 1);
	}
	if (!place)
		return 0;
	place = (__u32)blame_merge(blame, place - 1, most_ns, by_name) - 1;
	if (place >= BLAME_CULPRITS)
		return 0;
	blame_put_more(&blame->culprits[place], key, ns);
	blame_make_group(&blame->culprits[place], by_name);
	return (int)place + 1;
}

/*
 * Charges `ns` to a culprit. Returns its place + 1. Where there is no room, it joins a small share
 * of its process, or else of its name, or such shares of others become one. Where none are alike,
 * the smallest is folded: that at hand, or one that has a place, when as much as it has been
 * refused. So shares that come seldom do not drive out those that come often, and many small ones
 * find a place, too.
 */
__weak __attribute__((noinline)) int blame_add(struct blame *blame, const struct blame_key *key,
					       __u64 ns)
{
	struct wire_culprit *culprit;
	__u32 added, place = 0;
	__u64 most_ns = 0;
	int joined;

	if (!blame || !key)
		return 0;
	for (__u32 i = 0; i < BLAME_CULPRITS && i < blame->count; i++) {
		culprit = &blame->culprits[i];
		if (blame_who(culprit) == key->who && blame_how(culprit) == key->how) {
			blame_put_more(culprit, key, ns);
			return (int)i + 1;
		}
	}
	if (blame->count >= BLAME_CULPRITS) {
		/* half of them have twice the mean at most; what is more is worth its place */
		most_ns = blame_sum(blame) / (BLAME_CULPRITS / 2);
		joined = blame_join(blame, key, ns, most_ns);
		if (joined)
			return joined;
		place = blame_smallest(blame);
		blame_merge(blame, place, most_ns, 0);
	}
	if (blame->count >= BLAME_CULPRITS)
		blame_merge(blame, place, most_ns, 1);
	added = blame->count;
	barrier_var(added);
	if (added < BLAME_CULPRITS) {
		blame->count = added + 1;
		blame_put(&blame->culprits[added], key, ns);
		return (int)added + 1;
	}
	if (place >= BLAME_CULPRITS)
		return 0;
	culprit = &blame->culprits[place];
	blame->refused_ns += ns;
	if (blame->refused_ns < culprit->total_ns) {
		blame->folded |= 1U << (key->how >> 32 & 31);
		return 0;
	}
	blame->refused_ns = 0;
	blame->folded |= 1U << (culprit->state & 31);
	blame_put(culprit, key, ns);
	return (int)place + 1;
}

/*
 * Most often it is the culprit of the time before: that one is found without a call, which costs
 * more than the rest. Returns its place + 1; 0: it is another.
 */
static __always_inline int blame_again(struct blame *blame, const struct blame_key *key, __u64 ns)
{
	__u32 place = blame->again[(__u8)(key->how >> 32) == WIRE_RUNNABLE];
	struct wire_culprit *culprit;

	if (place >= BLAME_CULPRITS || place >= blame->count)
		return 0;
	culprit = &blame->culprits[place];
	if (blame_who(culprit) != key->who || blame_how(culprit) != key->how)
		return 0;
	blame_put_more(culprit, key, ns);
	return (int)place + 1;
}

/* As blame_add(), for what comes often. */
static __always_inline int blame_add_often(struct blame *blame, const struct blame_key *key,
					   __u64 ns)
{
	int place = blame_again(blame, key, ns);

	if (place)
		return place;
	place = blame_add(blame, key, ns);
	blame->again[(__u8)(key->how >> 32) == WIRE_RUNNABLE] = (__u8)(place - 1);
	return place;
}

/* Charges [from_ns, to_ns): what of it lies before the interval is kept apart. */
static __always_inline int blame_range(struct blame *blame, struct blame_key *key, __u64 from_ns,
				       __u64 to_ns)
{
	__u64 since_ns = blame->frozen_ns;
	__u32 count = key->count;

	if (from_ns >= to_ns)
		return 0;
	if (from_ns < since_ns) {
		key->how |= BLAME_FLAG(WIRE_CULPRIT_EARLIER);
		key->count = 0;
		blame_add(blame, key, turn_smaller(to_ns, since_ns) - from_ns);
		key->how &= ~BLAME_FLAG(WIRE_CULPRIT_EARLIER);
		key->count = count;
		if (to_ns <= since_ns)
			return 0;
		from_ns = since_ns;
	}
	return blame_add_often(blame, key, to_ns - from_ns);
}

/*
 * A thread waited while `run`, which began at begin_ns, had the CPU in [from_ns, to_ns). What the
 * hypervisor or interrupts took of the run is theirs, in proportion.
 */
static __always_inline int blame_one_run(struct blame *blame, const struct blame_run *run,
					 __u64 begin_ns, __u64 from_ns, __u64 to_ns)
{
	struct blame_key key = {.count = 1};
	__u64 omitted_ns = run->omitted_ns;

	if (from_ns >= to_ns)
		return 0;
	if (omitted_ns && run->until_ns > begin_ns && run->kind == WIRE_CULPRIT_THREAD) {
		key.how = BLAME_HOW(WIRE_RUNNABLE,
				    steal_seen ? WIRE_CULPRIT_STEAL : WIRE_CULPRIT_IRQ);
		omitted_ns = turn_before(omitted_ns, to_ns - from_ns, run->until_ns - begin_ns);
		omitted_ns = turn_smaller(omitted_ns, to_ns - from_ns);
		blame_range(blame, &key, to_ns - omitted_ns, to_ns);
		to_ns -= omitted_ns;
	}
	key.who = run->who;
	key.how = BLAME_HOW(WIRE_RUNNABLE, run->kind) | BLAME_FLAG(run->flags);
	key.comm[0] = run->comm[0];
	key.comm[1] = run->comm[1];
	key.pid = run->pid;
	return blame_range(blame, &key, from_ns, to_ns);
}

/* The same for each of several, which is too much for the verifier within their loop. */
__weak __attribute__((noinline)) int blame_run(struct blame *blame, const struct blame_run *run,
					       __u64 begin_ns, __u64 from_ns, __u64 to_ns)
{
	return blame && run ? blame_one_run(blame, run, begin_ns, from_ns, to_ns) : 0;
}

/* Who ended a wait did that at charged_ns; the thread was ready at `end_ns`. */
static __always_inline void blame_end_wait(struct blame *blame, __u64 end_ns)
{
	__u32 last = blame->last - 1;

	blame->last = 0;
	if (last < BLAME_CULPRITS && end_ns > blame->charged_ns)
		blame->culprits[last].total_ns += end_ns - blame->charged_ns;
}

/* In blame_runs()'s `victim`: it might not run, whatever else did. */
#define BLAME_THROTTLED (1ULL << 32)
/* It has got the CPU, whose present run is its own. */
#define BLAME_SWITCHED (1ULL << 33)

/*
 * A thread, `victim` by tid, waited for this CPU in [from_ns, to_ns), to_ns being now. Under the
 * lock of the CPU's run queue, and after blame_begin().
 */
__weak __attribute__((noinline)) int blame_runs(struct blame *blame, struct blame_cpu *cpu,
						__u64 from_ns, __u64 to_ns, __u64 victim)
{
	const struct blame_run *run;
	__u64 begin_ns;
	__u32 at;

	if (!blame || !cpu)
		return 0;
	blame_end_wait(blame, from_ns);
	if (blame->charged_ns > from_ns)
		from_ns = blame->charged_ns;
	blame->charged_ns = to_ns;
	if (victim & BLAME_THROTTLED) {
		struct blame_key key = {.how = BLAME_HOW(WIRE_RUNNABLE, WIRE_CULPRIT_THROTTLE),
					.count = 1};

		return blame_range(blame, &key, from_ns, to_ns);
	}
	at = cpu->at - !!(victim & BLAME_SWITCHED);
	/* nearly always it was one */
	run = &cpu->runs[at & (BLAME_RUNS - 1)];
	begin_ns = cpu->runs[(at - 1) & (BLAME_RUNS - 1)].until_ns;
	/* its own: it has lost the CPU in a switch that was not seen */
	if ((__u32)run->who == (__u32)victim && run->kind == WIRE_CULPRIT_THREAD)
		return 0;
	if (begin_ns <= from_ns + TURN_TOLERANCE_NS)
		return blame_one_run(blame, run, begin_ns, from_ns, to_ns);
	for (__u32 i = 0; i < BLAME_RUNS - 1; i++, at--) {
		run = &cpu->runs[at & (BLAME_RUNS - 1)];
		begin_ns = cpu->runs[(at - 1) & (BLAME_RUNS - 1)].until_ns;
		/* the end of its own turn, by the kernel's clock: turn.h. What came then is to
		 * blame */
		if ((__u32)run->who == (__u32)victim && run->kind == WIRE_CULPRIT_THREAD)
			return blame_run(blame, &cpu->runs[(at + 1) & (BLAME_RUNS - 1)], to_ns,
					 from_ns, to_ns);
		if (begin_ns <= from_ns)
			return blame_run(blame, run, begin_ns, from_ns, to_ns);
		blame_run(blame, run, begin_ns, begin_ns, to_ns);
		if (begin_ns < to_ns)
			to_ns = begin_ns;
	}
	return 0; /* the rest is longer ago than the runs reach */
}

/* A wait that `key`, a thread, has ended; it is charged from its end on, by what that did. */
struct blame_wait {
	struct blame_key key;
	__u64 from_ns, to_ns;
};

/* `ns` at a site (0: not known), but not beyond from_ns. */
static __always_inline void blame_site(struct blame *blame, struct blame_wait *wait, __u32 site,
				       __u64 ns, __u64 from_ns)
{
	ns = turn_smaller(ns, wait->to_ns - from_ns);
	wait->key.how &= BLAME_HOW(0xff, 0xff) | BLAME_FLAG(WIRE_CULPRIT_TARGET);
	if (site)
		wait->key.how |= site | BLAME_FLAG(WIRE_CULPRIT_MEANWHILE);
	blame_range(blame, &wait->key, wait->to_ns - ns, wait->to_ns);
	wait->to_ns -= ns;
}

/* What the culprit did in a span of `length_ns`, of which the wait has part_ns: in proportion. */
__weak __attribute__((noinline)) int blame_span(struct blame *blame, struct blame_wait *wait,
						const struct blame_span *span, __u64 part_ns,
						__u64 length_ns)
{
	__u64 from_ns, ns[2 + BLAME_SITES];

	if (!blame || !wait || !span)
		return 0;
	from_ns = wait->to_ns - part_ns;
	for (int i = 0; i < 2 + BLAME_SITES; i++) {
		ns[i] = span_part(span, i, length_ns);
		if (part_ns < length_ns && ns[i])
			ns[i] = turn_before(ns[i], part_ns, length_ns);
	}
	if (ns[2])
		blame_site(blame, wait, span->site[0], ns[2], from_ns);
	if (ns[3])
		blame_site(blame, wait, span->site[1], ns[3], from_ns);
	if (ns[1])
		blame_site(blame, wait, BLAME_RUNNABLE, ns[1], from_ns);
	/* with what of the proportions was rounded */
	blame_site(blame, wait, ns[0] ? BLAME_ON_CPU : span->site[0] ?: BLAME_RUNNABLE, ~0ULL,
		   from_ns);
	return 0;
}

/* The spans before wait->to_ns, of one ring; true: there may be more. */
static __always_inline bool blame_spans(struct blame *blame, struct blame_wait *wait,
					const struct blame_span *spans, __u32 at)
{
	for (__u32 i = 0; i < BLAME_SPANS; i++, at--) {
		const struct blame_span *span = &spans[at & (BLAME_SPANS - 1)];
		__u64 begin_ns = span->begin_ns, end_ns = wait->to_ns;

		if (!begin_ns || begin_ns >= end_ns)
			return true;
		if (begin_ns <= wait->from_ns) {
			blame_span(blame, wait, span, end_ns - wait->from_ns, end_ns - begin_ns);
			return false;
		}
		blame_span(blame, wait, span, end_ns - begin_ns, end_ns - begin_ns);
		wait->to_ns = begin_ns;
		/* what it did at other times, too, is one wait */
		wait->key.count = 0;
	}
	return true;
}

/*
 * The rest of a wait that the thread of `waker` has ended, before it got its CPU. What is longer
 * ago than its spans reach is not known.
 */
__weak __attribute__((noinline)) int blame_past(struct blame *blame, struct blame_wait *wait,
						const struct blame *waker)
{
	if (!blame || !wait || !waker)
		return 0;
	if (blame_spans(blame, wait, waker->recent, waker->recent_at) &&
	    blame_spans(blame, wait, waker->older, waker->older_at))
		blame_site(blame, wait, 0, ~0ULL, wait->from_ns);
	return 0;
}

#endif
