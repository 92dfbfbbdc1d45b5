/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one thread owes to each of its culprits in an interval: blame.bpf.h. */
#ifndef DWELL_BPF_BLAME_SHARES_BPF_H
#define DWELL_BPF_BLAME_SHARES_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/record.bpf.h"
#include "bpf/wire.h"

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
	struct wire_culprit culprits[BLAME_CULPRITS + 1];
};

/* What blame_polls() has not charged yet. */
static __always_inline void blame_fill_open(struct blame_record *record, __u32 polled)
{
	const struct blame_key key = {.how = BLAME_HOW(WIRE_LOCK, WIRE_CULPRIT_UNKNOWN) |
					     BLAME_FLAG(WIRE_CULPRIT_OPEN)};
	__u32 count = record->blame.count;

	barrier_var(count);
	if (!polled || count > BLAME_CULPRITS)
		return;
	blame_put(&record->culprits[count], &key, (__u64)polled << 10);
	record->blame.count = count + 1;
}

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
	__builtin_memcpy(record->culprits, blame->culprits, sizeof(blame->culprits));
	blame_fill_open(record, blame->polled);
}

/*
 * What has been charged since the snapshot before, up to `end_ns`, unless it has been read. Global
 * for the verifier's sake: see wait_function_of().
 */
__weak __attribute__((noinline)) int blame_send(struct blamed_account *blamed, __u64 end_ns)
{
	struct blame_record *record;

	if (!blamed || !(blamed->blame.count || blamed->blame.polled) ||
	    blamed->blame.frozen_ns < blamed->account.read_ns)
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
	blamed->blame.lost_ns = 0;
	blamed->blame.handed.crowded = 0;
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

/* The same culprit, in the same state and site. */
static __always_inline bool blame_is(const struct wire_culprit *culprit,
				     const struct blame_key *key)
{
	if (blame_who(culprit) != key->who || blame_how(culprit) != key->how)
		return false;
	/* several threads of a process, or processes of a name */
	return key->who || blame_is_alike(culprit, key->how, key->pid, key->comm, !key->pid);
}

/* As blame_is(), of the share at `at`. Global for the verifier's sake: see wait_function_of(). */
__weak __attribute__((noinline)) int blame_is_same(const struct blame *blame, __u32 at,
						   const struct blame_key *key)
{
	return blame && key && at < BLAME_CULPRITS && blame_is(&blame->culprits[at], key);
}

/* A share of several: of threads of a process, or of processes of a name. */
static __always_inline void blame_make_group(struct wire_culprit *culprit, bool by_name)
{
	*(__u64 *)&culprit->tid = 0;
	if (by_name)
		culprit->pid = 0;
}

/* It may be joined with others: a small share, or one of several such already. */
static __always_inline bool blame_may_join(const struct wire_culprit *culprit, __u64 most_ns,
					   bool by_name)
{
	return culprit->total_ns <= most_ns ||
	       (culprit->kind == WIRE_CULPRIT_THREAD && !culprit->tid && !culprit->pid == by_name);
}

/*
 * Whether the share at `at` may be joined and is as `key`. This and the next ones are global
 * functions for the verifier's sake: see wait_function_of().
 */
__weak __attribute__((noinline)) int blame_may_take(const struct blame *blame, __u32 at,
						    const struct blame_key *key, __u64 most_ns,
						    __u32 by_name)
{
	if (!blame || !key || at >= BLAME_CULPRITS)
		return 0;
	return blame_may_join(&blame->culprits[at], most_ns, by_name) &&
	       blame_is_alike(&blame->culprits[at], key->how, key->pid, key->comm, by_name);
}

/* The first of them: its place + 1; 0: there is none. */
__weak __attribute__((noinline)) int
blame_alike(const struct blame *blame, const struct blame_key *key, __u64 most_ns, __u32 by_name)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_CULPRITS; i++)
		if (blame_may_take(blame, i, key, most_ns, by_name))
			return (int)i + 1;
	return 0;
}

#define BLAME_GONE 1 /* culprit.pad: it has become part of another one */

/* The share at `at` becomes part of that at `into`, if it may and is alike. */
__weak __attribute__((noinline)) int blame_merge_one(struct blame *blame, __u32 into, __u32 at,
						     __u64 most_ns, __u32 by_name)
{
	struct wire_culprit *culprit, *group;

	if (!blame || at >= BLAME_CULPRITS || into >= BLAME_CULPRITS || at == into)
		return 0;
	culprit = &blame->culprits[at];
	group = &blame->culprits[into];
	if (!blame_may_join(culprit, most_ns, by_name) ||
	    !blame_is_alike(culprit, blame_how(group), group->pid, (const __u64 *)group->comm,
			    by_name))
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
 * Those that are as that at `place`, and may, become one with it. Returns its new place + 1. The
 * programs' stacks are full (MAX_BPF_STACK), so this is in small steps.
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
	blame->count = (__u8)kept;
	blame->last = 0;
	blame->again[0] = blame->again[1] = BLAME_CULPRITS;
	return (int)moved + 1;
}

#define BLAME_KEPT 5 /* of the largest shares: worth a place of their own */

/* The larger of the two is *a then. Without a branch: the verifier looks at every way through. */
static __always_inline void blame_order(__u64 *a, __u64 *b)
{
	__u64 swapped = (*a ^ *b) & -((*a - *b) >> 63);

	*a ^= swapped;
	*b ^= swapped;
}

/* What all the other shares have at most, where all places are taken: of the kept ones the next. */
__weak __attribute__((noinline)) __u64 blame_most(const struct blame *blame)
{
	__u64 largest[BLAME_KEPT + 1] = {};

	if (!blame)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_CULPRITS; i++) {
		__u64 ns = blame->culprits[i].total_ns;

#pragma clang loop unroll(full)
		for (__u32 j = 0; j <= BLAME_KEPT; j++)
			blame_order(&largest[j], &ns);
	}
	return largest[BLAME_KEPT];
}

/* As one bit: the victim's state, and whether it is time before the interval. */
static __always_inline __u32 blame_class(__u64 how)
{
	__u32 is_earlier = !!(how & BLAME_FLAG(WIRE_CULPRIT_EARLIER));

	return 1U << ((how >> 32 & 15) | is_earlier << 4);
}

/* The classes that have a share; *several: those that have more than one. */
static __always_inline __u32 blame_classes(const struct blame *blame, __u32 *several)
{
	__u32 seen = 0;

	*several = 0;
	for (__u32 i = 0; i < BLAME_CULPRITS; i++) {
		__u32 class = blame_class(blame_how(&blame->culprits[i]));

		*several |= seen & class;
		seen |= class;
	}
	return seen;
}

/*
 * The place of the smallest share, where all are taken. The only one of a state is spared, however
 * small: a thousand short waits for a CPU do not hide which disk a thread waited for.
 */
__weak __attribute__((noinline)) __u32 blame_smallest(const struct blame *blame)
{
	__u64 least_ns = ~0ULL;
	__u32 place = 0, several;

	if (!blame)
		return 0;
	blame_classes(blame, &several);
	for (__u32 i = 0; i < BLAME_CULPRITS; i++) {
		const struct wire_culprit *culprit = &blame->culprits[i];
		bool is_only = !(several & blame_class(blame_how(culprit)));
		/* without a second branch: as in blame_order() */
		__u64 ns = culprit->total_ns | (__u64)is_only << 62;

		if (ns < least_ns) {
			least_ns = ns;
			place = i;
		}
	}
	return place;
}

/* Whether it would be the first share of its state, where all places are taken. */
__weak __attribute__((noinline)) int blame_is_first(const struct blame *blame,
						    const struct blame_key *key)
{
	__u32 several;

	return blame && key && !(blame_classes(blame, &several) & blame_class(key->how));
}

#define BLAME_LOST 64 /* one part of so many may be folded */
/*
 * Where no shares are alike, that is found out again after so many that found no place: among ten
 * threads that take turns at a CPU it was done at each switch, and cost more than all else.
 */
#define BLAME_CROWDED 3

/*
 * Whether `ns` is so little beside what has been charged that it may be folded, rather than that
 * larger shares become one. It counts as folded, then.
 */
__weak __attribute__((noinline)) int blame_lose(struct blame *blame, __u64 ns)
{
	__u64 whole_ns = 0;

	if (!blame)
		return 0;
	for (__u32 i = 0; i < BLAME_CULPRITS; i++)
		whole_ns += blame->culprits[i].total_ns;
	ns += blame->lost_ns;
	if (ns > whole_ns / BLAME_LOST || ns > ~0U)
		return 0;
	blame->lost_ns = (__u32)ns;
	return 1;
}

/* Whether the share at `at` is one of several, and `key` one of those. */
__weak __attribute__((noinline)) int blame_is_group(const struct blame *blame, __u32 at,
						    const struct blame_key *key)
{
	const struct wire_culprit *culprit;

	if (!blame || !key || at >= BLAME_CULPRITS)
		return 0;
	culprit = &blame->culprits[at];
	return culprit->kind == WIRE_CULPRIT_THREAD && !culprit->tid &&
	       blame_is_alike(culprit, key->how, key->pid, key->comm, !culprit->pid);
}

/* The first of them: its place + 1; 0: there is none. */
__weak __attribute__((noinline)) int blame_group(const struct blame *blame,
						 const struct blame_key *key)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_CULPRITS; i++)
		if (blame_is_group(blame, i, key))
			return (int)i + 1;
	return 0;
}

/* Small shares that are alike become one: first those that are as `key`, then as the smallest. */
static __always_inline void blame_make_room(struct blame *blame, const struct blame_key *key,
					    __u32 smallest)
{
	__u64 most_ns = blame_most(blame);
	int alike = blame_alike(blame, key, most_ns, 0);

	if (alike)
		blame_merge(blame, (__u32)alike - 1, most_ns, 0);
	else if ((alike = blame_alike(blame, key, most_ns, 1)))
		blame_merge(blame, (__u32)alike - 1, most_ns, 1);
	if (blame->count >= BLAME_CULPRITS)
		blame_merge(blame, smallest, most_ns, 0);
	if (blame->count >= BLAME_CULPRITS)
		blame_merge(blame, smallest, most_ns, 1);
}

/*
 * Charges `ns` to a culprit. Returns its place + 1; 0: it has none. Where there is no room, the
 * smallest share is folded if it is next to nothing. Else small shares of threads of a process
 * become one, or those of processes of a name; where none are alike, the smallest is folded. But as
 * long as those that come have had less than the smallest share, they are what is folded, or joins
 * others: what comes seldom does not drive out what comes often, and many small ones find a place,
 * too. A state's first share has a place, unless it is next to nothing beside those.
 */
__weak __attribute__((noinline)) int blame_add(struct blame *blame, const struct blame_key *key,
					       __u64 ns)
{
	struct wire_culprit *culprit;
	__u32 added, smallest;
	__u64 least_ns;
	int group, is_first = 0;

	if (!blame || !key)
		return 0;
	for (__u32 i = 0; i < BLAME_CULPRITS && i < blame->count; i++) {
		culprit = &blame->culprits[i];
		if (blame_who(culprit) != key->who || blame_how(culprit) != key->how)
			continue;
		if (key->who || blame_is_same(blame, i, key)) {
			blame_put_more(culprit, key, ns);
			return (int)i + 1;
		}
	}
	if (blame->count >= BLAME_CULPRITS) {
		smallest = blame_smallest(blame);
		if (smallest >= BLAME_CULPRITS)
			return 0;
		least_ns = blame->culprits[smallest].total_ns;
		is_first = least_ns / BLAME_LOST <= ns && blame_is_first(blame, key);
		blame->refused_ns = (__u32)turn_smaller(blame->refused_ns + ns, ~0U);
		if (!is_first && blame->refused_ns < least_ns) {
			group = blame_group(blame, key);
			added = (__u32)group - 1;
			barrier_var(added);
			if (added < BLAME_CULPRITS) {
				culprit = &blame->culprits[added];
				blame_put_more(culprit, key, ns);
				return group;
			}
			least_ns = ns;
		}
		if (blame->handed.crowded) {
			blame->handed.crowded--;
		} else if (!blame_lose(blame, least_ns)) {
			blame_make_room(blame, key, smallest);
			if (blame->count >= BLAME_CULPRITS)
				blame->handed.crowded = BLAME_CROWDED;
		}
	}
	added = blame->count;
	barrier_var(added);
	if (added < BLAME_CULPRITS) {
		blame->refused_ns = 0;
		blame->count = (__u8)(added + 1);
		blame_put(&blame->culprits[added], key, ns);
		return (int)added + 1;
	}
	smallest = blame_smallest(blame);
	if (smallest >= BLAME_CULPRITS)
		return 0;
	culprit = &blame->culprits[smallest];
	if (!is_first && blame->refused_ns < culprit->total_ns) {
		blame->folded |= 1U << (key->how >> 32 & 31);
		return 0;
	}
	blame->refused_ns = 0;
	blame->folded |= 1U << (culprit->state & 31);
	blame_put(culprit, key, ns);
	return (int)smallest + 1;
}

/*
 * Most often it is the culprit of the time before: that one is found without a call, which costs
 * more than the rest. Returns its place + 1; 0: it is another.
 */
static __always_inline int blame_again(struct blame *blame, const struct blame_key *key, __u64 ns)
{
	__u32 place = blame->again[(__u8)(key->how >> 32) == WIRE_RUNNABLE];
	struct wire_culprit *culprit;

	if (place >= blame->count)
		return 0;
	/* compared again just before it is used: verifiers up to 6.1 forget that of what is spilled
	 */
	barrier_var(place);
	if (place >= BLAME_CULPRITS)
		return 0;
	culprit = &blame->culprits[place];
	if (!blame_is(culprit, key))
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

#endif
