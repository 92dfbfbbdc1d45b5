// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "verify/turns.h"

static const char *const cause_names[TURN_CAUSES] = {"", "sleep", "cpu", "ipc", "lock"};

static bool is_of_machine(const struct reported_stall *stall)
{
	return !strcmp(stall->cause, "stolen") || !strcmp(stall->cause, "runnable") ||
	       !strcmp(stall->cause, "irq");
}

static bool overlap(const struct timed_turn *turn, const struct reported_stall *stall)
{
	return turn->start_ns < stall->start_ns + stall->duration_ns &&
	       stall->start_ns < turn->end_ns;
}

static const struct reported_stall *stall_of(const struct timed_turn *turn,
					     const struct reported_stall *stalls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (overlap(turn, &stalls[i]))
			return &stalls[i];
	return NULL;
}

/* A good one, too, if it had to: the machine is slow, or took its CPU away. */
static bool took_long(const struct timed_turn *turn)
{
	return turn->cause != TURN_GOOD || turn->end_ns - turn->start_ns > TURNS_THRESHOLD_NS / 2;
}

static void judge_turn(struct turns_judgement *judgement, const struct timed_turn *turn,
		       const struct reported_stall *stall)
{
	double length_ns = (double)(turn->end_ns - turn->start_ns);
	const char *cause = cause_names[turn->cause];

	judgement->turns++;
	if (!stall) {
		snprintf(judgement->why, sizeof(judgement->why),
			 "a turn of %.1f ms (%s) was not reported", length_ns / NS_PER_MS, cause);
		return;
	}
	judgement->found++;
	if (is_of_machine(stall)) {
		judgement->right++;
		return;
	}
	judgement->error_percent =
		fmax(judgement->error_percent,
		     100 * fabs((double)stall->duration_ns - length_ns) / length_ns);
	if (!strcmp(stall->cause, cause))
		judgement->right++;
	else
		snprintf(judgement->why, sizeof(judgement->why),
			 "the cause of a turn of %.1f ms is %s, not %s", length_ns / NS_PER_MS,
			 stall->cause, cause);
}

void turns_judge(struct turns_judgement *ret_judgement, const struct timed_turn *turns,
		 size_t turn_count, const struct reported_stall *stalls, size_t stall_count,
		 uint64_t from_ns, uint64_t to_ns)
{
	*ret_judgement = (struct turns_judgement){.why = ""};
	for (size_t i = 0; i < turn_count; i++)
		if (turns[i].cause != TURN_GOOD && turns[i].start_ns >= from_ns &&
		    turns[i].end_ns <= to_ns)
			judge_turn(ret_judgement, &turns[i],
				   stall_of(&turns[i], stalls, stall_count));
	for (size_t i = 0; i < stall_count; i++) {
		bool blocked = is_of_machine(&stalls[i]);

		for (size_t j = 0; j < turn_count && !blocked; j++)
			blocked = took_long(&turns[j]) && overlap(&turns[j], &stalls[i]);
		if (blocked || stalls[i].start_ns + stalls[i].duration_ns > to_ns)
			continue;
		ret_judgement->wrong++;
		snprintf(ret_judgement->why, sizeof(ret_judgement->why),
			 "a stall of %.1f ms (%s) in a turn that did not block",
			 (double)stalls[i].duration_ns / NS_PER_MS, stalls[i].cause);
	}
}
