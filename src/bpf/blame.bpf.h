/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose fault a wait was. A thread that was ready owes its wait to what ran on its CPU instead:
 * each CPU keeps its last runs (blame_runs.bpf.h). One that was blocked owes it to the thread that
 * ended the wait, and to what that one did meanwhile: each account keeps what its thread did of
 * late. Threads that are no targets have accounts for that alone (filter.bpf.h).
 *
 * Shares are those of an interval. The first hook that charges a thread after a snapshot's instant
 * sends what there is, if the reader has not come yet, and starts from zero.
 */
#ifndef DWELL_BPF_BLAME_BPF_H
#define DWELL_BPF_BLAME_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/blame_runs.bpf.h"
#include "bpf/blame_shares.bpf.h"
#include "bpf/wire.h"

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
