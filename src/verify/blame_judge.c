// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/blame_judge.h"

#include <fnmatch.h>
#include <stdio.h>

#include "model/blame.h"

/* Of the thread's time: below, there is nothing to judge. */
#define SHARE_LEAST 0.02
/* Of what was not the machine's: the moments between one culprit and the next. */
#define SHARE_RIGHT 0.95
/*
 * Waits that a lost switch or wakeup may put a wrong culprit to: of those for a CPU all that go on
 * at the time, of which a pattern has a few; else the one that it began or ended.
 */
#define TURNS_PER_LOSS 16
#define WAITS_PER_LOSS 2

static bool is_explained(const struct truth *truth, uint64_t waits, uint64_t lost)
{
	return lost &&
	       waits <= lost * (truth->blamed == STATE_RUNNABLE ? TURNS_PER_LOSS : WAITS_PER_LOSS);
}

struct shares {
	uint64_t right, wrong, machine;
	uint64_t wrong_waits;
	uint64_t uncounted;	   /* of the wrong ones: time that is owed to no one by any wait */
	const struct blame *worst; /* of the wrong ones; NULL: there is none */
};

/*
 * Where a victim has too many culprits, those of a process become one, under its name: that is as
 * true as its members are, and the threads of a pattern are its own process's.
 */
static bool is_group_of_pattern(const struct blame *blame)
{
	return blame->kind == WIRE_CULPRIT_THREAD && !blame->culprit.tid &&
	       blame->culprit.pid == blame->victim.pid;
}

static bool is_right(const struct truth *truth, const struct blame *blame)
{
	if (truth->culprit_kind == WIRE_CULPRIT_THREAD && is_group_of_pattern(blame))
		return true;
	return blame->kind == truth->culprit_kind &&
	       (!*truth->culprit || !fnmatch(truth->culprit, blame->culprit.comm, FNM_EXTMATCH));
}

/* What may be true, whatever the pattern is: other programs take CPUs, too. */
static bool is_of_machine(const struct blame *blame)
{
	switch (blame->kind) {
	case WIRE_CULPRIT_IRQ:
	case WIRE_CULPRIT_STEAL:
	case WIRE_CULPRIT_IDLE:
	case WIRE_CULPRIT_OTHERS:
		return true;
	case WIRE_CULPRIT_THREAD:
		return blame->state == STATE_RUNNABLE && blame->culprit.pid != blame->victim.pid;
	default:
		return false;
	}
}

static void add(struct shares *shares, const struct truth *truth, const struct blame *blame)
{
	if (is_right(truth, blame)) {
		shares->right += blame->total_ns;
	} else if (is_of_machine(blame)) {
		shares->machine += blame->total_ns;
	} else {
		shares->wrong += blame->total_ns;
		shares->wrong_waits += blame->count;
		shares->uncounted += blame->count ? 0 : blame->total_ns;
		if (!shares->worst || shares->worst->total_ns < blame->total_ns)
			shares->worst = blame;
	}
}

static const char *culprit_name(const struct blame *blame)
{
	return blame->kind == WIRE_CULPRIT_THREAD ? blame->culprit.comm : culprit_key(blame->kind);
}

enum verdict blame_judge(const struct truth *truth, const struct interval *interval, uint64_t lost,
			 char ret_why[TRUTH_TEXT_BYTES])
{
	const char *state = state_info[truth->blamed].key;
	struct shares shares = {0};
	uint64_t judged, all;

	*ret_why = '\0';
	for (size_t i = 0; i < interval->blame_count; i++)
		if (interval->blames[i].victim.tid == truth->tid &&
		    interval->blames[i].state == truth->blamed)
			add(&shares, truth, &interval->blames[i]);
	judged = shares.right + shares.wrong;
	all = judged + shares.machine;
	if (truth->blamed == STATE_USER || (double)all < SHARE_LEAST * (double)truth->wall_ns ||
	    shares.machine > judged)
		return VERDICT_SKIP;
	if ((double)shares.right >= SHARE_RIGHT * (double)judged)
		return VERDICT_PASS;
	/* about as many waits as it has that much of the time */
	shares.wrong_waits +=
		(uint64_t)((double)truth->waits.count * (double)shares.uncounted / (double)all);
	snprintf(ret_why, TRUTH_TEXT_BYTES, "%s: of its time in %s dwell blames %s for %.1f %%",
		 truth->thread, state, culprit_name(shares.worst),
		 100 * (double)shares.worst->total_ns / (double)all);
	return is_explained(truth, shares.wrong_waits, lost) ? VERDICT_INCONCLUSIVE : VERDICT_FAIL;
}
