// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/scores.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "statistics/order.h"

/* What a table has room for, and what a scheduler is known by. */
static const enum load_metric scored[] = {
	METRIC_ITERATIONS, METRIC_SLOWEST_WORKER, METRIC_WAKE_MEDIAN, METRIC_WAKE_P99,
	METRIC_RUN_DELAY,  METRIC_MAX_GAP,	  METRIC_MIGRATIONS,  METRIC_CROSS_LLC,
	METRIC_CROSS_NODE, METRIC_FAIRNESS,	  METRIC_CPUS,
};

/* One kernel and topology: the cells of all schedulers, run by run of each. */
struct bench {
	const struct matrix *matrix;
	const struct matrix_cell *cells;
	struct load_side *sides; /* by scheduler */
	struct load_comparison *comparisons;
};

static const struct matrix_cell *cell_at(const struct bench *bench, size_t scheduler,
					 unsigned int run)
{
	return &bench->cells[scheduler * bench->matrix->repeat + run];
}

/* A run of the side; `run` and `order` put it beside the one that it is a pair with. */
static int add_run(struct load_side *side, const struct matrix_cell *cell, unsigned int run,
		   unsigned int order)
{
	char started[LOAD_STARTED_BYTES];
	int result;

	snprintf(started, sizeof(started), "%06u %06u", run, order);
	result = load_side_begin_run(side, started, NAN);
	for (size_t i = 0; result >= 0 && i < cell->figures.group_count; i++) {
		const struct load_group *group = &cell->figures.groups[i];
		double values[LOAD_METRICS];

		for (int k = 0; k < LOAD_METRICS; k++)
			values[k] = group->values[k][0];
		if (!load_side_add_values(side, &group->key, values,
					  group->seconds_known ? group->seconds : NAN,
					  group->wakes))
			result = -ENOMEM;
	}
	return result;
}

/*
 * What the machine was like on another day is no difference between schedulers, and nor is that one
 * guest did not boot under KVM in time and was emulated.
 */
static bool is_pair(const struct matrix_cell *a, const struct matrix_cell *b)
{
	const char *accels[2] = {a->guest.accel, b->guest.accel};

	return a->figures.runs && b->figures.runs && a->session_ns == b->session_ns &&
	       !strcmp(accels[0] ? accels[0] : "", accels[1] ? accels[1] : "");
}

/* Of the scheduler all runs that have figures; with a baseline only those that are a pair. */
static int fill_side(const struct bench *bench, struct load_side *side, size_t scheduler,
		     size_t beside)
{
	int result = 0;

	for (unsigned int run = 0; result >= 0 && run < bench->matrix->repeat; run++) {
		const struct matrix_cell *cell = cell_at(bench, scheduler, run);

		if (is_pair(cell, cell_at(bench, beside, run)))
			result = add_run(side, cell, run, (unsigned int)scheduler);
	}
	return result;
}

static size_t runs_with_figures(const struct matrix *matrix)
{
	size_t count = 0;

	for (size_t i = 0; i < matrix->cell_count; i++)
		count += matrix->cells[i].figures.runs;
	return count;
}

static double median_of(const struct load_group *group, enum load_metric metric,
			unsigned int *ret_runs)
{
	double *buffer = calloc(group->runs + 1, sizeof(*buffer)), median = NAN;
	size_t known = 0;

	if (buffer)
		median = order_median_known(group->values[metric], group->runs, buffer, &known);
	*ret_runs = (unsigned int)known;
	free(buffer);
	return median;
}

static const struct load_change *change_of(const struct load_comparison *comparison,
					   const struct load_group_key *key,
					   enum load_metric metric)
{
	const struct load_group *group = load_side_find(comparison->b, key);

	for (size_t i = 0; group && i < comparison->count; i++)
		if (comparison->groups[i].a && comparison->groups[i].b == group)
			return &comparison->groups[i].changes[metric];
	return NULL;
}

/* Who has the better median is before; those that have none are not in it. */
static void rank(struct matrix_score *scores, size_t count, enum load_metric metric)
{
	bool higher = load_metrics[metric].higher_is_better;

	for (size_t i = 0; i < count && !load_metric_is_neutral(metric); i++) {
		if (!scores[i].runs)
			continue;
		scores[i].rank = 1;
		for (size_t k = 0; k < count; k++)
			if (scores[k].runs && (higher ? scores[k].median > scores[i].median
						      : scores[k].median < scores[i].median))
				scores[i].rank++;
	}
}

/* A row for each scheduler, unless none has measured it, or all of them nothing of it. */
static int add_rows(struct matrix_scores *scores, const struct bench *bench,
		    const struct load_group_key *key, enum load_metric metric)
{
	size_t first = scores->count, schedulers = bench->matrix->schedulers.count;
	bool any = false;

	if (array_reserve(&scores->items, &scores->room, scores->count + schedulers,
			  sizeof(*scores->items)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < schedulers; i++) {
		const struct load_group *group = load_side_find(&bench->sides[i], key);
		const struct load_change *change =
			i == scores->baseline ? NULL
					      : change_of(&bench->comparisons[i], key, metric);
		struct matrix_score score = {
			.kernel = bench->cells->kernel,
			.topology = bench->cells->topology,
			.scheduler = i,
			.group = key,
			.metric = metric,
			.median = NAN,
			.is_baseline = i == scores->baseline,
			.change = {.relative = NAN, .low = NAN, .high = NAN, .p = NAN},
		};

		if (group)
			score.median = median_of(group, metric, &score.runs);
		if (change)
			score.change = *change;
		any |= score.runs && score.median != 0;
		scores->items[scores->count++] = score;
	}
	if (!any)
		scores->count = first;
	else
		rank(&scores->items[first], schedulers, metric);
	return 0;
}

/* Groups of all schedulers: one may have been added by an op that another did not come to. */
static int score_bench(struct matrix_scores *scores, const struct bench *bench)
{
	size_t schedulers = bench->matrix->schedulers.count;
	int result = 0;

	for (size_t i = 0; i < schedulers; i++)
		for (size_t k = 0; k < bench->sides[i].group_count; k++) {
			const struct load_group_key *key = &bench->sides[i].groups[k].key;
			bool done = false;

			for (size_t before = 0; before < i; before++)
				done |= load_side_find(&bench->sides[before], key) != NULL;
			for (size_t m = 0; result >= 0 && !done && m < ARRAY_SIZE(scored); m++)
				result = add_rows(scores, bench, key, scored[m]);
		}
	return result;
}

static size_t count_apart(const struct bench *bench, size_t a, size_t b)
{
	size_t count = 0;

	for (unsigned int run = 0; run < bench->matrix->repeat; run++)
		count += cell_at(bench, a, run)->figures.runs &&
			 cell_at(bench, b, run)->figures.runs &&
			 !is_pair(cell_at(bench, a, run), cell_at(bench, b, run));
	return count;
}

static int make_bench(struct matrix_scores *scores, struct bench *bench)
{
	size_t schedulers = bench->matrix->schedulers.count;
	struct load_question question;
	int result = 0;

	load_question_init(&question);
	for (size_t i = 0; result >= 0 && i < schedulers; i++)
		result = fill_side(bench, &bench->sides[i], i, i);
	for (size_t i = 0; result >= 0 && i < schedulers; i++) {
		struct load_side *pair = bench->sides + schedulers + 2 * i;

		if (i == scores->baseline)
			continue;
		result = fill_side(bench, &pair[0], scores->baseline, i);
		if (result >= 0)
			result = fill_side(bench, &pair[1], i, scores->baseline);
		if (result >= 0)
			result =
				load_compare(&bench->comparisons[i], &pair[0], &pair[1], &question);
		scores->apart += count_apart(bench, scores->baseline, i);
		if (pair[0].runs >= load_runs_least(question.alpha, true)) {
			scores->has_intervals = true;
			scores->comparisons++;
		}
	}
	return result < 0 ? result : score_bench(scores, bench);
}

static int average_ranks(struct matrix_scores *scores, size_t schedulers)
{
	struct load_question question;

	load_question_init(&question);
	scores->mean_ranks = calloc(schedulers + 1, sizeof(*scores->mean_ranks));
	if (!scores->mean_ranks)
		return -ENOMEM;
	for (size_t i = 0; i < schedulers; i++) {
		double sum = 0, count = 0;

		for (size_t k = 0; k < scores->count; k++) {
			const struct matrix_score *score = &scores->items[k];

			if (score->scheduler != i || !score->rank ||
			    !(question.decisive & 1U << score->metric))
				continue;
			sum += score->rank;
			count++;
		}
		scores->mean_ranks[i] = count ? sum / count : NAN;
	}
	return 0;
}

/* The kernel's own, or the first. */
static size_t baseline_of(const struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->schedulers.count; i++)
		if (!*matrix->schedulers.items[i])
			return i;
	return 0;
}

int matrix_scores_make(struct matrix_scores *scores, const struct matrix *matrix)
{
	size_t schedulers = matrix->schedulers.count;
	size_t each = schedulers * matrix->repeat, used = 0;
	size_t benches = each ? matrix->cell_count / each : 0;
	int result = 0;

	*scores = (struct matrix_scores){.baseline = baseline_of(matrix)};
	if (runs_with_figures(matrix) < 2 || schedulers * matrix->repeat < 2)
		return 0;
	/* a side for each scheduler, and two for each pair with the baseline */
	scores->side_count = benches * 3 * schedulers;
	scores->sides = calloc(scores->side_count + 1, sizeof(*scores->sides));
	if (!scores->sides)
		return -ENOMEM;
	for (size_t i = 0; result >= 0 && i < benches; i++) {
		struct bench bench = {.matrix = matrix,
				      .cells = &matrix->cells[i * each],
				      .sides = scores->sides + used};

		used += 3 * schedulers;
		bench.comparisons = calloc(schedulers + 1, sizeof(*bench.comparisons));
		result = bench.comparisons ? make_bench(scores, &bench) : -ENOMEM;
		for (size_t k = 0; bench.comparisons && k < schedulers; k++)
			load_comparison_release(&bench.comparisons[k]);
		free(bench.comparisons);
	}
	return result < 0 ? result : average_ranks(scores, schedulers);
}

void matrix_scores_release(struct matrix_scores *scores)
{
	for (size_t i = 0; i < scores->side_count; i++)
		load_side_release(&scores->sides[i]);
	free(scores->sides);
	free(scores->items);
	free(scores->mean_ranks);
	*scores = (struct matrix_scores){.items = NULL};
}
