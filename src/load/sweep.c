// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/random.h"
#include "base/size.h"
#include "statistics/order.h"

#define DIGITS	      3	  /* of a length of time that is between the bounds */
#define RISES_LEAST   1.5 /* times as much at the top as at the bottom, or there is no knee */
#define FOUND_MOST    (1 - KNEE_ALPHA)
#define FOUND_LEAST   KNEE_ALPHA
#define TAKEN_LEAST   0.05  /* of the CPUs, more than before the knee: it may be of that */
#define CROWD_LEAST   0.2   /* of the CPUs */
#define PERCENT_STEPS 1000. /* shares are rounded to tenths of a percent */

struct bounds {
	double low, high;
	uint64_t steps;
	bool steps_given;
};

static int bad(const char *text, struct error *error)
{
	return error_set(error, EINVAL,
			 "--sweep needs NAME=FROM..TO[:STEPS], as load=10..95%% or workers=1..8:4, "
			 "not '%s'",
			 text);
}

/* The unit that a number ends in: "" or "%", "ms", "K". */
static const char *unit_of(const char *text)
{
	while (isdigit((unsigned char)*text) || *text == '.')
		text++;
	return text;
}

/* Reads one bound; where it has no unit, in that of the other. */
static int parse_bound(const struct param *param, const char *text, const char *other,
		       double *ret_value, struct error *error)
{
	struct param alone = *param;
	union {
		uint64_t number;
		double share;
	} value = {.number = 0};
	char whole[SWEEP_TEXT_BYTES];
	int result;

	alone.offset = 0;
	snprintf(whole, sizeof(whole), "%s%s", text, *unit_of(text) ? "" : unit_of(other));
	result = param_set(&alone, &value, whole, error);
	if (result >= 0)
		*ret_value = param->kind == PARAM_SHARE ? value.share : (double)value.number;
	return result;
}

/* "10..95%:8" */
static int parse_bounds(struct bounds *bounds, const struct param *param, const char *text,
			struct error *error)
{
	const char *points = strstr(text, ".."), *colon = strrchr(text, ':');
	char from[SWEEP_TEXT_BYTES / 2], to[SWEEP_TEXT_BYTES / 2], *end;
	size_t length;
	int result;

	bounds->steps = SWEEP_STEPS_DEFAULT;
	if (!points || points == text || (size_t)(points - text) >= sizeof(from))
		return bad(text, error);
	bounds->steps_given = colon != NULL;
	if (colon) {
		bounds->steps = strtoull(colon + 1, &end, 10);
		if (!isdigit((unsigned char)colon[1]) || *end || bounds->steps < 2 ||
		    bounds->steps > SWEEP_STEPS_MAX)
			return error_set(error, EINVAL, "--sweep: 2 to %d steps, not '%s'",
					 SWEEP_STEPS_MAX, colon + 1);
	}
	length = colon ? (size_t)(colon - points) - 2 : strlen(points + 2);
	if (!length || length >= sizeof(to))
		return bad(text, error);
	snprintf(from, sizeof(from), "%.*s", (int)(points - text), text);
	snprintf(to, sizeof(to), "%.*s", (int)length, points + 2);
	result = parse_bound(param, from, to, &bounds->low, error);
	if (result >= 0)
		result = parse_bound(param, to, from, &bounds->high, error);
	if (result < 0)
		return error_wrap(error, result, "--sweep");
	return bounds->low != bounds->high
		       ? 0
		       : error_set(error, EINVAL, "--sweep %s: from and to are the same", text);
}

/* To what a person would write: whole numbers, whole teams, few digits. */
static double round_value(const struct spec_value *value, double exact)
{
	double digits;

	switch (value->param->kind) {
	case PARAM_SHARE:
		return round(exact * PERCENT_STEPS) / PERCENT_STEPS;
	case PARAM_DURATION:
		digits = exact > 0 ? floor(log10(exact)) - (DIGITS - 1) : 0;
		return digits > 0 ? round(exact / pow(10, digits)) * pow(10, digits) : round(exact);
	case PARAM_COUNT:
		return fmax(1, round(exact / value->team)) * value->team;
	default:
		return round(exact);
	}
}

static void format_value(char *into, size_t room, enum param_kind kind, double value)
{
	if (kind == PARAM_SHARE)
		snprintf(into, room, "%g%%", round(value * PERCENT_STEPS) / (PERCENT_STEPS / 100));
	else if (kind == PARAM_DURATION && value > 0)
		snprintf(into, room, "%.0fns", value);
	else
		snprintf(into, room, "%.0f", value);
}

static int make_steps(struct sweep *sweep, const struct spec_value *value,
		      const struct bounds *bounds, struct error *error)
{
	sweep->steps = calloc(bounds->steps, sizeof(*sweep->steps));
	if (!sweep->steps)
		return error_set(error, ENOMEM, "out of memory");
	sweep->asked = bounds->steps_given ? bounds->steps : 0;
	for (uint64_t i = 0; i < bounds->steps; i++) {
		struct sweep_step *step = &sweep->steps[sweep->count];
		double along = (double)i / (double)(bounds->steps - 1);
		double rounded =
			round_value(value, bounds->low + along * (bounds->high - bounds->low));

		if (sweep->count && rounded == step[-1].value)
			continue;
		step->value = rounded;
		format_value(step->text, sizeof(step->text), sweep->kind, rounded);
		sweep->count++;
	}
	return 0;
}

int sweep_parse(struct sweep *sweep, const char *text, const struct spec *spec, struct error *error)
{
	const char *equals = strchr(text, '=');
	struct spec_value value;
	struct bounds bounds;
	int result;

	*sweep = (struct sweep){.count = 0};
	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(sweep->name))
		return bad(text, error);
	snprintf(sweep->name, sizeof(sweep->name), "%.*s", (int)(equals - text), text);
	result = spec_find_value(spec, sweep->name, &value, error);
	if (result < 0)
		return error_wrap(error, result, "--sweep");
	if (value.param->kind == PARAM_CHOICE || value.param->kind == PARAM_TEXT)
		return error_set(error, EINVAL, "--sweep: '%s' is not a number", sweep->name);
	sweep->kind = value.param->kind;
	sweep->has_background = value.is_background;
	result = parse_bounds(&bounds, value.param, equals + 1, error);
	return result < 0 ? result : make_steps(sweep, &value, &bounds, error);
}

void sweep_release(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->count; i++)
		load_side_release(&sweep->steps[i].side);
	free(sweep->steps);
	free(sweep->curves);
	*sweep = (struct sweep){.count = 0};
}

/* Fisher and Yates. */
void sweep_order(const struct sweep *sweep, uint64_t seed, unsigned int round, size_t *order)
{
	uint64_t random = random_seed(seed, round);

	for (size_t i = 0; i < sweep->count; i++) {
		size_t other = (random_next(&random) >> 16) % (i + 1);

		order[i] = order[other];
		order[other] = i;
	}
}

void sweep_format(char *into, size_t room, const struct sweep *sweep, size_t number)
{
	const struct sweep_step *step = &sweep->steps[number];

	if (sweep->kind == PARAM_DURATION)
		duration_format_fine(into, room, (uint64_t)step->value);
	else if (sweep->kind == PARAM_SIZE)
		size_format(into, room, (uint64_t)step->value);
	else
		snprintf(into, room, "%s", step->text);
}

bool sweep_is_background(const struct sweep *sweep, const struct load_group_key *key)
{
	return sweep->has_background && !strcmp(key->work, "open-loop");
}

static double median_of(const double *values, size_t count)
{
	cleanup_free double *buffer = calloc(count + 1, sizeof(*buffer));

	return buffer ? order_median_known(values, count, buffer, NULL) : NAN;
}

double sweep_median(const struct sweep_step *step, const struct load_group_key *key,
		    enum load_metric metric)
{
	const struct load_group *group = load_side_find(&step->side, key);

	return group ? median_of(group->values[metric], group->runs) : NAN;
}

double sweep_achieved(const struct sweep *sweep, const struct sweep_step *step)
{
	double cpus = 0;

	for (size_t i = 0; i < step->side.group_count; i++) {
		double of_group = sweep_median(step, &step->side.groups[i].key, METRIC_CPUS);

		cpus += isnan(of_group) ? 0 : of_group;
	}
	return step->side.runs && sweep->cpus ? cpus / sweep->cpus : NAN;
}

/* What a curve is drawn through: the steps at which it was measured. */
struct drawn {
	struct knee_point points[SWEEP_STEPS_MAX];
	double *owned[SWEEP_STEPS_MAX];
	size_t numbers[SWEEP_STEPS_MAX]; /* of the steps */
	double medians[SWEEP_STEPS_MAX];
	size_t count, least; /* points, and values of the one that has fewest */
};

static void drawn_release(struct drawn *drawn)
{
	for (size_t i = 0; i < drawn->count; i++)
		free(drawn->owned[i]);
}

static int add_point(struct drawn *drawn, const struct sweep *sweep, size_t number,
		     const struct load_group *group, enum load_metric metric)
{
	double *values = calloc(group->runs + 1, sizeof(*values));
	size_t known = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < group->runs; i++)
		if (!isnan(group->values[metric][i]))
			values[known++] = group->values[metric][i];
	if (!known) {
		free(values);
		return 0;
	}
	drawn->least = !drawn->count || known < drawn->least ? known : drawn->least;
	drawn->owned[drawn->count] = values;
	drawn->numbers[drawn->count] = number;
	drawn->medians[drawn->count] = median_of(values, known);
	drawn->points[drawn->count++] = (struct knee_point){
		fabs(sweep->steps[number].value - sweep->steps[0].value), values, known};
	return 0;
}

/* A curve that falls is one that rises, upside down; its distances are the same. */
static void turn_over(struct drawn *drawn)
{
	double highest = -INFINITY, lowest = INFINITY;

	for (size_t i = 0; i < drawn->count; i++)
		for (size_t k = 0; k < drawn->points[i].count; k++) {
			highest = fmax(highest, drawn->owned[i][k]);
			lowest = fmin(lowest, drawn->owned[i][k]);
		}
	for (size_t i = 0; i < drawn->count; i++)
		for (size_t k = 0; k < drawn->points[i].count; k++)
			drawn->owned[i][k] = highest + lowest - drawn->owned[i][k];
}

/*
 * How much more others had of the CPUs on one side of the knee than on the other: which values are
 * the heavy ones differs between parameters.
 */
static double disturbance(const struct sweep *sweep, const struct knee *knee)
{
	double taken[2][SWEEP_STEPS_MAX];
	size_t counts[2] = {0, 0};

	for (size_t i = 0; i < sweep->count; i++) {
		int behind = sweep->steps[i].value > sweep->steps[knee->at].value;

		taken[behind][counts[behind]++] = load_side_taken(&sweep->steps[i].side);
	}
	return fabs(median_of(taken[1], counts[1]) - median_of(taken[0], counts[0]));
}

/* The most that others had at a step. */
static double crowd(const struct sweep *sweep)
{
	double most = 0;

	for (size_t i = 0; i < sweep->count; i++)
		most = fmax(most, load_side_taken(&sweep->steps[i].side));
	return most;
}

static enum sweep_answer answer_of(struct sweep_curve *curve, const struct sweep *sweep,
				   const struct drawn *drawn)
{
	const struct knee *knee = &curve->knee;

	if (drawn->count < KNEE_POINTS_LEAST)
		return SWEEP_NOTHING;
	if (drawn->least < SWEEP_ROUNDS_LEAST)
		return SWEEP_UNDECIDED;
	if (!knee->found || knee->share < FOUND_MOST) {
		/* what others do may hide a knee, as noise does */
		curve->crowded = crowd(sweep);
		if (curve->crowded < CROWD_LEAST)
			curve->crowded = 0;
		return !knee->found && knee->share <= FOUND_LEAST && !(curve->crowded > 0)
			       ? SWEEP_NO_KNEE
			       : SWEEP_UNDECIDED;
	}
	curve->disturbed = disturbance(sweep, knee);
	if (!(curve->disturbed >= TAKEN_LEAST))
		curve->disturbed = 0;
	return curve->disturbed > 0 ? SWEEP_UNDECIDED : SWEEP_KNEE;
}

static int judge_curve(struct sweep_curve *curve, const struct sweep *sweep, uint64_t seed)
{
	cleanup_free struct drawn *drawn = calloc(1, sizeof(*drawn));
	bool higher_is_better = load_metrics[curve->metric].higher_is_better;
	int result = drawn ? 0 : -ENOMEM;

	for (size_t i = 0; result >= 0 && i < sweep->count; i++) {
		const struct load_group *group = load_side_find(&sweep->steps[i].side, &curve->key);

		if (group)
			result = add_point(drawn, sweep, i, group, curve->metric);
	}
	if (result >= 0 && drawn->count >= KNEE_POINTS_LEAST) {
		curve->falls = drawn->medians[drawn->count - 1] < drawn->medians[0];
		if (curve->falls)
			turn_over(drawn);
		/* what is good rises until there is no more; what is bad is low until it rises */
		result = knee_of_points(drawn->points, drawn->count,
					higher_is_better != curve->falls ? KNEE_CONCAVE
									 : KNEE_CONVEX,
					RISES_LEAST, seed, &curve->knee);
		curve->knee.at = drawn->numbers[curve->knee.at];
		curve->knee.first = drawn->numbers[curve->knee.first];
		curve->knee.last = drawn->numbers[curve->knee.last];
	}
	if (result >= 0)
		curve->answer = answer_of(curve, sweep, drawn);
	if (drawn)
		drawn_release(drawn);
	return result;
}

static bool is_known(const struct sweep *sweep, const struct load_group_key *key)
{
	for (size_t i = 0; i < sweep->curve_count; i++) {
		const struct load_group_key *other = &sweep->curves[i].key;

		if (other->group_idx == key->group_idx && other->occurrence == key->occurrence &&
		    !strcmp(other->cgroup, key->cgroup) && !strcmp(other->work, key->work))
			return true;
	}
	return false;
}

static int add_curves(struct sweep *sweep, size_t *room, const struct load_group_key *key,
		      uint32_t metrics)
{
	for (int metric = 0; metric < LOAD_METRICS; metric++) {
		if (!(metrics >> metric & 1))
			continue;
		if (array_reserve(&sweep->curves, room, sweep->curve_count + 1,
				  sizeof(*sweep->curves)) < 0)
			return -ENOMEM;
		sweep->curves[sweep->curve_count++] =
			(struct sweep_curve){.key = *key, .metric = (enum load_metric)metric};
	}
	return 0;
}

int sweep_judge(struct sweep *sweep, uint32_t metrics, uint64_t seed)
{
	size_t room = 0;
	int result = 0;

	free(sweep->curves);
	sweep->curves = NULL;
	sweep->curve_count = 0;
	for (size_t i = 0; i < sweep->count; i++)
		for (size_t k = 0; result >= 0 && k < sweep->steps[i].side.group_count; k++) {
			const struct load_group_key *key = &sweep->steps[i].side.groups[k].key;

			if (!sweep_is_background(sweep, key) && !is_known(sweep, key))
				result = add_curves(sweep, &room, key, metrics);
		}
	for (size_t i = 0; result >= 0 && i < sweep->curve_count; i++)
		result = judge_curve(&sweep->curves[i], sweep, seed + i);
	return result;
}
