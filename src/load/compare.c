// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/similar.h"
#include "statistics/order.h"
#include "statistics/shift.h"
#include "statistics/step_down.h"

/* More runs than that are no advice. */
#define WANTED_MAX  10000

#define BIT(metric) (1U << (metric))

_Static_assert(LOAD_METRICS <= 32, "metrics of a question are bits");

/* That can be better or worse. */
static uint32_t all_metrics(void)
{
	uint32_t all = 0;

	for (int i = 0; i < LOAD_METRICS; i++)
		all |= load_metric_is_neutral((enum load_metric)i) ? 0 : BIT(i);
	return all;
}

void load_question_init(struct load_question *question)
{
	load_gates_init(question->gates);
	question->metrics = all_metrics();
	question->decisive = BIT(METRIC_ITERATIONS) | BIT(METRIC_SLOWEST_WORKER) |
			     BIT(METRIC_WAKE_MEDIAN) | BIT(METRIC_WAKE_P99) | BIT(METRIC_RUN_DELAY);
	question->alpha = LOAD_ALPHA;
	question->by_turns = false;
}

int load_question_choose(struct load_question *question, const char *names, struct error *error)
{
	uint32_t chosen = 0;

	if (!strcmp(names, "all")) {
		question->metrics = question->decisive = all_metrics();
		return 0;
	}
	while (*names) {
		size_t length = strcspn(names, ",");
		enum load_metric metric;
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		if (load_metric_find(name, &metric, "--metrics", error) < 0)
			return -EINVAL;
		chosen |= BIT(metric);
		names += length + (names[length] == ',');
	}
	if (!chosen)
		return error_set(error, EINVAL, "--metrics: which?");
	question->metrics = question->decisive = chosen;
	return 0;
}

unsigned int load_runs_least(double alpha, bool paired)
{
	unsigned int count = 2;

	while ((paired ? signed_rank_quantile(count, alpha / 2)
		       : rank_sum_quantile(count, count, alpha / 2)) == -1)
		count++;
	return count;
}

/* A difference of decimal fractions that just reaches its gate may miss it by rounding. */
static bool reaches(double value, double gate)
{
	return value >= gate * (1 - 1e-9);
}

/* A metric of a group on its way to a verdict: a column of what is tested together. */
struct column {
	struct load_change *change;
	const struct load_group *groups[2];
	enum load_metric metric;
	bool is_log; /* ratios of values, not their differences, are alike in all runs */
	struct shift shift;
	double p_least; /* the smallest that so many values can have */
};

/*
 * Decisive metrics are tested together, and the others: each takes a part of the probability of a
 * wrong answer, so that ten metrics that were not asked for do not hide a change of the throughput.
 */
enum family {
	FAMILY_DECISIVE,
	FAMILY_OTHERS,
	FAMILIES,
};

static const double family_parts[FAMILIES] = {[FAMILY_DECISIVE] = .8, [FAMILY_OTHERS] = .2};

struct judge {
	struct load_comparison *comparison;
	size_t *pairs; /* by number of the pair: runs of a, then of b; NULL: not in pairs */
	struct column *columns[FAMILIES];
	size_t counts[FAMILIES];
	double *buffers[2]; /* values of a column */
};

/* A family's values as statistics/step_down.h has them, and what comes of them. */
struct family_test {
	struct column *columns;
	size_t count;
	double *values, *p;
};

/* The sides' runs in the order in which they began, each time one of a and one of b. */
static int find_pairs(struct judge *judge)
{
	const struct load_side *a = judge->comparison->a, *b = judge->comparison->b;
	const struct load_side *sides[2] = {a, b};
	size_t *order, at[2] = {0, 0}, count = a->runs;

	/* one of each may be by chance that the other came first, or second */
	if (count != b->runs || count < (judge->comparison->question.by_turns ? 1 : 2))
		return 0;
	order = calloc(2 * count, sizeof(*order));
	if (!order)
		return -ENOMEM;
	/* insertion: runs come nearly sorted, and are few */
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < count; i++) {
			size_t place = i;

			while (place > 0 &&
			       strcmp(sides[side]->started[order[side * count + place - 1]],
				      sides[side]->started[i]) > 0) {
				order[side * count + place] = order[side * count + place - 1];
				place--;
			}
			order[side * count + place] = i;
		}
	while (at[0] < count && *a->started[order[at[0]]] && *b->started[order[count + at[1]]]) {
		const char *begun[2] = {a->started[order[at[0]]], b->started[order[count + at[1]]]};
		int first = strcmp(begun[0], begun[1]) > 0;
		const char *next =
			at[first] + 1 < count
				? sides[first]->started[order[first * count + at[first] + 1]]
				: NULL;

		/* two of one side in a row */
		if (next && strcmp(next, begun[!first]) <= 0)
			break;
		at[0]++;
		at[1]++;
	}
	if (at[0] < count) {
		free(order);
		return 0;
	}
	judge->pairs = order;
	judge->comparison->paired = true;
	return 0;
}

/* Of a run; NAN: not measured. */
static double value_of(const struct column *column, int side, size_t run)
{
	const struct load_group *group = column->groups[side];

	for (size_t i = 0; i < group->runs; i++)
		if (group->run_of[i] == run)
			return column->is_log ? log(group->values[column->metric][i])
					      : group->values[column->metric][i];
	return NAN;
}

static bool all_above_zero(const struct column *column)
{
	return column->change->a.min > 0 && column->change->b.min > 0;
}

static size_t fill_pairs(const struct judge *judge, struct family_test *test, size_t at)
{
	size_t count = judge->comparison->a->runs, used = 0;

	for (size_t i = 0; i < count; i++) {
		double difference = value_of(&test->columns[at], 1, judge->pairs[count + i]) -
				    value_of(&test->columns[at], 0, judge->pairs[i]);

		test->values[i * test->count + at] = difference;
		if (!isnan(difference))
			judge->buffers[0][used++] = difference;
	}
	return used;
}

static size_t fill_side(const struct judge *judge, struct family_test *test, size_t at, int side)
{
	const struct load_comparison *comparison = judge->comparison;
	size_t count = side ? comparison->b->runs : comparison->a->runs, used = 0;
	size_t before = side ? comparison->a->runs : 0;

	for (size_t i = 0; i < count; i++) {
		double value = value_of(&test->columns[at], side, i);

		test->values[(before + i) * test->count + at] = value;
		if (!isnan(value))
			judge->buffers[side][used++] = value;
	}
	return used;
}

static int estimate(const struct judge *judge, struct family_test *test, size_t at)
{
	struct column *column = &test->columns[at];
	double alpha = judge->comparison->question.alpha;
	size_t used[2];

	column->is_log = all_above_zero(column);
	if (judge->pairs) {
		used[0] = fill_pairs(judge, test, at);
		column->p_least = ldexp(2, -(int)used[0]);
		return shift_of_pairs(judge->buffers[0], used[0], alpha, &column->shift);
	}
	for (int side = 0; side < 2; side++)
		used[side] = fill_side(judge, test, at, side);
	/* of equal numbers, the sides exchanged are as far apart */
	column->p_least = used[0] == used[1] ? 2 : 1;
	for (size_t i = 1; i <= used[1]; i++)
		column->p_least *= (double)i / (double)(used[0] + i);
	return shift_between(judge->buffers[0], used[0], judge->buffers[1], used[1], alpha,
			     &column->shift);
}

/* Of a shift, as a share of A. */
static double share_of(const struct column *column, double shift)
{
	double median = fabs(column->change->medians[0]);

	if (isinf(shift))
		return shift;
	if (column->is_log)
		return exp(shift) - 1;
	/* none of them is ever negative, so none is lower by more than all of it */
	if (median > 0)
		return shift < -median ? -1 : shift / median;
	/* what was not there and now is has changed, however little it is */
	return shift == 0 ? 0 : copysign(INFINITY, shift);
}

static bool is_beyond_gates(const struct column *column, double shift)
{
	double relative = fabs(share_of(column, shift));
	double absolute =
		column->is_log ? relative * fabs(column->change->medians[0]) : fabs(shift);

	return absolute > 0 && reaches(absolute, column->change->gate.absolute) &&
	       reaches(relative, column->change->gate.relative);
}

/* The interval becomes narrower with the root of the number of runs. */
static unsigned int wanted_of(const struct judge *judge, const struct column *column)
{
	const struct load_change *change = column->change;
	double runs = fmin(judge->comparison->a->runs, judge->comparison->b->runs);
	double half = (change->high - change->low) / 2;
	double median = change->medians[0];
	double gate = median > 0 ? fmax(change->gate.relative, change->gate.absolute / median)
				 : change->gate.relative;
	double wanted = ceil(runs * (half / gate) * (half / gate));

	if (!isfinite(half) || !(gate > 0) || !(wanted > runs) || wanted > WANTED_MAX)
		return 0;
	return (unsigned int)wanted;
}

static void conclude(const struct judge *judge, struct column *column, double p)
{
	struct load_change *change = column->change;
	bool has_changed = p <= judge->comparison->question.alpha &&
			   is_beyond_gates(column, column->shift.estimate);

	change->p = p;
	change->relative = share_of(column, column->shift.estimate);
	change->low = share_of(column, column->shift.low);
	change->high = share_of(column, column->shift.high);
	if (isnan(change->relative))
		return;
	if (has_changed)
		change->verdict = (column->shift.estimate > 0) ==
						  load_metrics[column->metric].higher_is_better
					  ? LOAD_BETTER
					  : LOAD_WORSE;
	else if (!is_beyond_gates(column, column->shift.low) &&
		 !is_beyond_gates(column, column->shift.high))
		change->verdict = LOAD_SAME;
	else
		change->verdict = LOAD_UNDECIDED;
	if (change->verdict == LOAD_UNDECIDED)
		change->wanted = wanted_of(judge, column);
}

/* The gate of a total as one of a rate. */
static struct load_gate gate_of(const struct load_gate *gate, const struct load_group *a,
				const struct load_group *b)
{
	double seconds = fmin(a->seconds, b->seconds);
	struct load_gate rate = *gate;

	if (gate->of_total && seconds > 0)
		rate.absolute /= seconds;
	return rate;
}

/* Means of both sides; a column for each metric that both have. */
static void open_group(struct judge *judge, struct load_compared *compared)
{
	const struct load_question *question = &judge->comparison->question;
	const struct load_group *a = compared->a, *b = compared->b;

	compared->wakes_differ = a->wakes != LOAD_WAKES_NONE && b->wakes != LOAD_WAKES_NONE &&
				 (a->wakes_mixed || b->wakes_mixed || a->wakes != b->wakes);
	for (int i = 0; i < LOAD_METRICS; i++) {
		struct load_change *change = &compared->changes[i];
		bool left_out = compared->wakes_differ && load_metric_is_wake((enum load_metric)i);
		enum family family = question->decisive & BIT(i) ? FAMILY_DECISIVE : FAMILY_OTHERS;

		*change = (struct load_change){.relative = NAN, .low = NAN, .high = NAN, .p = NAN};
		change->medians[0] = order_median_known(a->values[i], left_out ? 0 : a->runs,
							judge->buffers[0], NULL);
		change->medians[1] = order_median_known(b->values[i], left_out ? 0 : b->runs,
							judge->buffers[1], NULL);
		change->gate = gate_of(&question->gates[i], a, b);
		welch_set_make(&change->a, a->values[i], left_out ? 0 : a->runs);
		welch_set_make(&change->b, b->values[i], left_out ? 0 : b->runs);
		if (question->metrics & BIT(i) && change->a.count && change->b.count)
			judge->columns[family][judge->counts[family]++] = (struct column){
				.change = change, .groups = {a, b}, .metric = (enum load_metric)i};
	}
}

/*
 * What no value of the column could bring below the question's `alpha` is not tested along with
 * columns of more runs: equal values in a few would keep those from it (R. E. Tarone, A modified
 * Bonferroni method for discrete data, 1990).
 */
static void leave_out_sparse(const struct judge *judge, struct family_test *test, double alpha)
{
	size_t rows = judge->comparison->a->runs + (judge->pairs ? 0 : judge->comparison->b->runs);
	double least = 1;

	for (size_t i = 0; i < test->count; i++)
		least = fmin(least, test->columns[i].p_least);
	for (size_t i = 0; i < test->count; i++)
		if (test->columns[i].p_least > fmax(alpha, least))
			for (size_t row = 0; row < rows; row++)
				test->values[row * test->count + i] = NAN;
}

static int judge_family(const struct judge *judge, enum family family)
{
	const struct load_comparison *comparison = judge->comparison;
	size_t a_runs = comparison->a->runs, b_runs = comparison->b->runs;
	struct family_test test = {.columns = judge->columns[family],
				   .count = judge->counts[family]};
	double part = judge->counts[!family] ? family_parts[family] : 1;
	int result = 0;

	test.values = calloc((a_runs + b_runs) * test.count + 1, sizeof(double));
	test.p = calloc(test.count + 1, sizeof(double));
	if (!test.values || !test.p)
		result = -ENOMEM;
	for (size_t i = 0; result >= 0 && i < test.count; i++)
		result = estimate(judge, &test, i);
	if (result >= 0) {
		leave_out_sparse(judge, &test, comparison->question.alpha * part);
		result = judge->pairs
				 ? step_down_pairs(test.values, a_runs, test.count, test.p)
				 : step_down_sides(test.values, a_runs, b_runs, test.count, test.p);
	}
	for (size_t i = 0; result >= 0 && i < test.count; i++)
		conclude(judge, &test.columns[i],
			 isnan(test.p[i]) ? NAN : fmin(1, test.p[i] / part));
	free(test.values);
	free(test.p);
	return result;
}

static void release_judge(struct judge *judge)
{
	free(judge->pairs);
	for (int i = 0; i < FAMILIES; i++)
		free(judge->columns[i]);
	for (int side = 0; side < 2; side++)
		free(judge->buffers[side]);
}

static int prepare_judge(struct judge *judge, const struct load_side *a, const struct load_side *b)
{
	size_t rows = a->runs + b->runs + 1;

	for (int i = 0; i < FAMILIES; i++) {
		judge->columns[i] =
			calloc((a->group_count + 1) * LOAD_METRICS, sizeof(*judge->columns[i]));
		judge->buffers[i] = calloc(rows, sizeof(double));
		if (!judge->columns[i] || !judge->buffers[i])
			return -ENOMEM;
	}
	return find_pairs(judge);
}

bool load_comparison_needs(const struct load_comparison *comparison, enum load_metric metric)
{
	return comparison->question.decisive & BIT(metric);
}

/* Where none of the decisive metrics is measured, all are decisive. */
static void answer(struct load_comparison *comparison)
{
	size_t open[2] = {0, 0}, known[2] = {0, 0}, better[2] = {0, 0};
	unsigned int wanted[2] = {0, 0};

	for (size_t i = 0; i < comparison->count; i++) {
		const struct load_compared *compared = &comparison->groups[i];

		for (int k = 0; compared->a && compared->b && k < LOAD_METRICS; k++) {
			const struct load_change *change = &compared->changes[k];
			bool decisive = load_comparison_needs(comparison, (enum load_metric)k);

			if (change->verdict == LOAD_UNKNOWN && !change->a.count == !change->b.count)
				continue;
			comparison->verdicts[change->verdict]++;
			if (change->verdict == LOAD_UNKNOWN)
				continue;
			known[decisive]++;
			better[decisive] += change->verdict == LOAD_BETTER;
			if (change->verdict != LOAD_UNDECIDED)
				continue;
			open[decisive]++;
			if (change->wanted > wanted[decisive])
				wanted[decisive] = change->wanted;
		}
	}
	if (comparison->verdicts[LOAD_WORSE] || better[1])
		comparison->answer = LOAD_DIFFERENT;
	else if (!known[0] && !known[1])
		comparison->answer = LOAD_NOTHING;
	else if (known[1] && open[1]) /* no other metric makes up for what has to be decided */
		comparison->answer = LOAD_OPEN;
	else
		comparison->answer = better[0]		? LOAD_DIFFERENT
				     : open[!!known[1]] ? LOAD_OPEN
							: LOAD_EQUAL;
	comparison->wanted = wanted[known[1] > 0];
}

int load_compare(struct load_comparison *comparison, const struct load_side *a,
		 const struct load_side *b, const struct load_question *question)
{
	struct judge judge = {.comparison = comparison};
	int result;

	*comparison = (struct load_comparison){.a = a, .b = b, .question = *question};
	comparison->groups =
		calloc(a->group_count + b->group_count + 1, sizeof(*comparison->groups));
	result = comparison->groups ? prepare_judge(&judge, a, b) : -ENOMEM;
	for (size_t i = 0; result >= 0 && i < a->group_count; i++) {
		struct load_compared *compared = &comparison->groups[comparison->count++];

		compared->a = &a->groups[i];
		compared->b = load_side_find(b, &a->groups[i].key);
		if (compared->b)
			open_group(&judge, compared);
	}
	for (size_t i = 0; result >= 0 && i < b->group_count; i++)
		if (!load_side_find(a, &b->groups[i].key))
			comparison->groups[comparison->count++].b = &b->groups[i];
	for (int family = 0; result >= 0 && family < FAMILIES; family++)
		result = judge_family(&judge, (enum family)family);
	if (result >= 0)
		answer(comparison);
	release_judge(&judge);
	return result;
}

void load_comparison_release(struct load_comparison *comparison)
{
	free(comparison->groups);
	comparison->groups = NULL;
	comparison->count = 0;
}

static const struct load_group_key *key_of(const struct load_compared *compared)
{
	return compared->a ? &compared->a->key : &compared->b->key;
}

void load_compared_title(char *into, size_t room, const struct load_comparison *comparison,
			 const struct load_compared *compared)
{
	const struct load_group_key *key = key_of(compared);
	bool several = false, again = false;
	char number[16] = "", time[24] = "";

	for (size_t i = 0; i < comparison->count; i++) {
		const struct load_group_key *other = key_of(&comparison->groups[i]);

		if (strcmp(other->cgroup, key->cgroup) || strcmp(other->work, key->work))
			continue;
		several |= other->group_idx != key->group_idx;
		again |= other->group_idx == key->group_idx && other->occurrence != key->occurrence;
	}
	if (several)
		snprintf(number, sizeof(number), " #%u", key->group_idx);
	if (again)
		snprintf(time, sizeof(time), ", time %u", key->occurrence + 1);
	snprintf(into, room, "%s%s%s%s%s", key->cgroup, *key->cgroup ? " " : "", key->work, number,
		 time);
}
