// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/load_rounds.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

uint64_t load_rounds_seed(const struct load_rounds *rounds)
{
	return rounds->seed + rounds->runs / rounds->sweep.count;
}

/* 1: taken; 0: it did not come to its end; -errno. */
static int run_step(struct load_rounds *rounds, struct error *error)
{
	struct sweep_step *step = &rounds->sweep.steps[rounds->step];
	char title[SPEC_NAME_BYTES * 2 + SWEEP_TEXT_BYTES + 4];
	int report, result;

	snprintf(title, sizeof(title), "%s=%s", rounds->sweep.name, step->text);
	result = load_children_run(&rounds->children, title, &report, error);
	if (rounds->children.interrupted)
		result = 0;
	if (result > 0 && load_children_take(report, &step->side, error) < 0)
		result = -EIO;
	if (report >= 0)
		close(report);
	return result;
}

/* A run that failed; -errno where there is no use in others. */
static int note_failure(struct load_rounds *rounds, int result, unsigned int in_a_row,
			struct error *error)
{
	rounds->sweep.steps[rounds->step].voided++;
	if (result >= 0 && in_a_row < LOAD_CHILDREN_VOID_MAX)
		return 0;
	rounds->course.end = SWEEP_FAILED;
	if (!rounds->course.runs)
		return result < 0 ? result : -EIO;
	rounds->children.warn(rounds->children.data, error->text);
	return 0;
}

static int run_steps(struct load_rounds *rounds, struct error *error)
{
	size_t order[SWEEP_STEPS_MAX];
	size_t all = rounds->sweep.count * rounds->course.rounds_wanted;
	unsigned int in_a_row = 0;
	int result = 0;

	rounds->course.end = SWEEP_COMPLETE;
	for (; result >= 0 && rounds->course.end == SWEEP_COMPLETE && rounds->runs < all;
	     rounds->runs++) {
		size_t place = rounds->runs % rounds->sweep.count;

		if (!place)
			sweep_order(&rounds->sweep, rounds->seed,
				    rounds->runs / (unsigned int)rounds->sweep.count, order);
		rounds->step = order[place];
		rounds->children.tick(rounds->children.data);
		result = run_step(rounds, error);
		if (rounds->children.interrupted) {
			rounds->course.end = SWEEP_INTERRUPTED;
			result = 0;
			break;
		}
		in_a_row = result > 0 ? 0 : in_a_row + 1;
		if (result > 0)
			rounds->course.runs++;
		else
			result = note_failure(rounds, result, in_a_row, error);
	}
	if (result >= 0 && !rounds->course.runs)
		result = error_set(error, EINTR, "interrupted before the first run had ended");
	return result;
}

int load_rounds_run(struct load_rounds *rounds, struct error *error)
{
	int result = load_children_directory(rounds->save, error);

	if (result < 0)
		return result;
	load_children_begin(&rounds->children);
	result = run_steps(rounds, error);
	load_children_end(&rounds->children);
	rounds->course.elapsed_ns = clock_monotonic_ns() - rounds->started_ns;
	return result;
}
