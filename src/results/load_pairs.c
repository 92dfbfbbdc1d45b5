// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/load_pairs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "results/ab_runs.h"
#include "scheduler/scheduler.h"

uint64_t load_pairs_seed(const struct load_pairs *pairs)
{
	return pairs->seed + pairs->course.pairs;
}

void load_pairs_directory(char into[PATH_MAX], const struct load_pairs *pairs, int side)
{
	snprintf(into, PATH_MAX, "%s/%c", pairs->save, side ? 'b' : 'a');
}

/* As load_children_run(). */
static int run_side(struct load_pairs *pairs, int side, struct error *error)
{
	char title[PATH_MAX + 8];
	int result;

	snprintf(title, sizeof(title), "%c (%s)", side ? 'B' : 'A', pairs->paths[side]);
	pairs->side = side;
	result = load_children_run(&pairs->children, title, &pairs->reports[side], error);
	if (pairs->children.interrupted)
		pairs->course.end = COMPARE_INTERRUPTED;
	return result;
}

/*
 * A scheduler that the kernel has thrown out leaves its runs to another one: what comes then says
 * nothing of it, nor do runs in which it ended.
 */
static int check_scheduler(const struct load_pairs *pairs, struct error *error)
{
	char now[sizeof(pairs->scheduler)];

	scheduler_in_use(now, sizeof(now));
	if (!strcmp(now, pairs->scheduler))
		return 0;
	return error_set(error, EIO,
			 "the scheduler has changed: it was %s, and is %s now; the pair in which "
			 "it did does not count",
			 *pairs->scheduler ? pairs->scheduler : "the kernel's own",
			 *now ? now : "the kernel's own");
}

/* 1: taken; 0: void; -errno. */
static int run_pair(struct load_pairs *pairs, struct error *error)
{
	bool b_first =
		ab_plan_begins_with_b(pairs->seed, pairs->course.pairs + pairs->course.voided);
	int result = 1;

	pairs->reports[0] = pairs->reports[1] = -1;
	for (int i = 0; result > 0 && i < 2; i++) {
		result = run_side(pairs, i ^ b_first, error);
		if (pairs->course.end == COMPARE_INTERRUPTED)
			result = 0;
	}
	if (pairs->course.end != COMPARE_INTERRUPTED && check_scheduler(pairs, error) < 0)
		result = -EIO;
	for (int side = 0; side < 2; side++) {
		if (result > 0 &&
		    load_children_take(pairs->reports[side], &pairs->sides[side], error) < 0)
			result = -EIO;
		if (pairs->reports[side] >= 0)
			close(pairs->reports[side]);
	}
	return result;
}

static int look(struct load_pairs *pairs, double alpha, struct error *error)
{
	struct load_question question = pairs->question;

	question.alpha = alpha;
	question.by_turns = true;
	load_comparison_release(&pairs->comparison);
	return load_compare(&pairs->comparison, &pairs->sides[0], &pairs->sides[1], &question) < 0
		       ? error_set(error, ENOMEM, "out of memory")
		       : 0;
}

/* How many pairs fit, as long as the first one has taken. */
static void plan_by_budget(struct load_pairs *pairs)
{
	uint64_t each_ns = clock_monotonic_ns() - pairs->started_ns;
	uint64_t fit = pairs->course.budget_ns / (each_ns ? each_ns : 1);

	ab_plan_make(&pairs->plan, fit < 1		? 1
				   : fit > AB_PAIRS_MAX ? AB_PAIRS_MAX
							: (unsigned int)fit);
}

static bool is_decided(const struct load_pairs *pairs)
{
	return pairs->comparison.answer == LOAD_DIFFERENT || pairs->comparison.answer == LOAD_EQUAL;
}

/* Whether there is to be no other pair. */
static bool is_over(struct load_pairs *pairs)
{
	if (pairs->course.end == COMPARE_INTERRUPTED)
		return true;
	if (ab_plan_looks(&pairs->plan, pairs->course.pairs) && is_decided(pairs)) {
		pairs->course.end = COMPARE_DECIDED;
		return true;
	}
	pairs->course.end = pairs->course.budget_ns ? COMPARE_BUDGET : COMPARE_PAIRS;
	return pairs->course.pairs >= pairs->plan.pairs;
}

/* Without it they are still measured: it is a run that cannot be kept that ends it. */
static void keep_pairs(struct load_pairs *pairs)
{
	struct error error = {""};
	char directory[PATH_MAX];

	for (int side = 0; pairs->save && side < 2; side++) {
		load_pairs_directory(directory, pairs, side);
		if (ab_runs_keep(directory, pairs->sides, pairs->plan.look_count, &error) < 0)
			pairs->children.warn(pairs->children.data, error.text);
	}
}

static int run_pairs(struct load_pairs *pairs, struct error *error)
{
	unsigned int in_a_row = 0;
	int result = 0;

	while (result >= 0 && !is_over(pairs)) {
		result = run_pair(pairs, error);
		if (pairs->course.end == COMPARE_INTERRUPTED)
			break;
		if (result > 0) {
			in_a_row = 0;
		} else {
			pairs->course.voided++;
			if (!pairs->course.pairs)
				return result < 0 ? result : -EIO;
			/* a spec that is gone stays so; what has been measured is not lost by it */
			if (result < 0 || ++in_a_row == LOAD_CHILDREN_VOID_MAX) {
				pairs->course.end = COMPARE_FAILED;
				pairs->children.warn(pairs->children.data, error->text);
				break;
			}
			continue;
		}
		if (!pairs->course.pairs++ && pairs->course.budget_ns)
			plan_by_budget(pairs);
		keep_pairs(pairs);
		/* the line on the terminal says what is known meanwhile, and ends nothing */
		if (ab_plan_looks(&pairs->plan, pairs->course.pairs) || pairs->is_shown)
			result = look(pairs, pairs->plan.alpha, error);
	}
	if (!pairs->course.pairs)
		return result;
	return look(pairs, pairs->plan.alpha, error);
}

int load_pairs_run(struct load_pairs *pairs, struct error *error)
{
	int result = load_children_directory(pairs->save, error);

	if (result < 0)
		return result;
	ab_plan_make(&pairs->plan, pairs->wanted ? pairs->wanted : AB_PAIRS_DEFAULT);
	load_children_begin(&pairs->children);
	scheduler_in_use(pairs->scheduler, sizeof(pairs->scheduler));
	result = run_pairs(pairs, error);
	load_children_end(&pairs->children);
	pairs->course.elapsed_ns = clock_monotonic_ns() - pairs->started_ns;
	if (result >= 0 && !pairs->course.pairs)
		return error_set(error, EINTR, "interrupted before the first pair had ended");
	return result;
}

void load_pairs_release(struct load_pairs *pairs)
{
	load_comparison_release(&pairs->comparison);
	for (int side = 0; side < 2; side++)
		load_side_release(&pairs->sides[side]);
}
