// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <math.h>

#include "load/compare.h"

#define US 1e3

static void assert_near(double value, double expected, double relative)
{
	if (fabs(value - expected) <= relative * fabs(expected))
		return;
	print_error("%.15g is not %.15g\n", value, expected);
	fail();
}

static const struct load_gate gate = {.absolute = 50, .relative = .25};

static enum load_verdict judge(double a, double b, bool higher_is_better)
{
	struct load_change change;

	load_change_make(&change, &a, 1, &b, 1, higher_is_better, &gate);
	return change.verdict;
}

CASE(both_gates_must_be_reached)
{
	/* the absolute one decides: a quarter of 100 is less */
	assert_int_equal(judge(100, 149.9, false), LOAD_SAME);
	assert_int_equal(judge(100, 150, false), LOAD_WORSE);
	assert_int_equal(judge(100, 50.1, false), LOAD_SAME);
	assert_int_equal(judge(100, 50, false), LOAD_BETTER);
	/* the relative one: a quarter of 400 is more */
	assert_int_equal(judge(400, 499.9, false), LOAD_SAME);
	assert_int_equal(judge(400, 500, false), LOAD_WORSE);
	assert_int_equal(judge(400, 300.1, false), LOAD_SAME);
	assert_int_equal(judge(400, 300, false), LOAD_BETTER);
	/* more is better */
	assert_int_equal(judge(400, 500, true), LOAD_BETTER);
	assert_int_equal(judge(400, 300, true), LOAD_WORSE);
	assert_int_equal(judge(400, 400, true), LOAD_SAME);
}

CASE(every_metric_has_the_gates_of_its_line)
{
	struct load_gate gates[LOAD_METRICS];

	load_gates_init(gates);
	for (int i = 0; i < LOAD_METRICS; i++) {
		const struct load_metric_info *info = &load_metrics[i];
		/* so large that only the relative one is left, and so small the other way round */
		double large = 100 * info->absolute / info->relative;
		double small = info->absolute / info->relative / 100;
		double sign = info->higher_is_better ? -1 : 1;
		struct load_change change;
		double b;

		assert_non_null(info->key);
		assert_true(info->absolute > 0 && info->relative > 0);
		for (int over = 0; over < 2; over++) {
			double step = over ? 1 : .999;

			b = large + sign * large * info->relative * step;
			load_change_make(&change, &large, 1, &b, 1, info->higher_is_better,
					 &gates[i]);
			assert_int_equal(change.verdict, over ? LOAD_WORSE : LOAD_SAME);
			b = small + sign * info->absolute * step;
			load_change_make(&change, &small, 1, &b, 1, info->higher_is_better,
					 &gates[i]);
			assert_int_equal(change.verdict, over ? LOAD_WORSE : LOAD_SAME);
		}
	}
}

/* 0.15 - 0.10 is a bit less than 0.05 */
CASE(rounding_misses_no_gate)
{
	const struct load_gate share = {.absolute = .05, .relative = .5};
	const double a = .1, b = .15;
	struct load_change change;

	assert_true(b - a < share.absolute);
	load_change_make(&change, &a, 1, &b, 1, false, &share);
	assert_int_equal(change.verdict, LOAD_WORSE);
}

CASE(from_nothing_is_a_change)
{
	const double zero = 0, some = 60, little = 40;
	const double zeros[] = {0, 0, 0}, somes[] = {60, 61, 70};
	struct load_change change;

	load_change_make(&change, &zero, 1, &some, 1, false, &gate);
	assert_int_equal(change.verdict, LOAD_WORSE);
	assert_true(isinf(change.relative) && change.relative > 0);
	load_change_make(&change, &zero, 1, &some, 1, true, &gate);
	assert_int_equal(change.verdict, LOAD_BETTER);
	/* the absolute gate holds all the same */
	load_change_make(&change, &zero, 1, &little, 1, false, &gate);
	assert_int_equal(change.verdict, LOAD_SAME);
	load_change_make(&change, zeros, 3, somes, 3, false, &gate);
	assert_int_equal(change.verdict, LOAD_WORSE);
	load_change_make(&change, zeros, 3, zeros, 3, false, &gate);
	assert_int_equal(change.verdict, LOAD_SAME);
	assert_true(change.relative == 0 && isnan(change.p));
	/* the way back is all of it */
	load_change_make(&change, &some, 1, &zero, 1, false, &gate);
	assert_int_equal(change.verdict, LOAD_BETTER);
	assert_true(change.relative == -1);
	/* and no gates at all do not make equal values differ */
	load_change_make(&change, &zero, 1, &zero, 1, false, &(struct load_gate){.absolute = 0});
	assert_int_equal(change.verdict, LOAD_SAME);
}

CASE(several_runs_have_to_be_separated)
{
	/* the means of all are 100 and 200 */
	static const double a[] = {50, 150}, b[] = {140, 260};
	static const double apart[] = {151, 249}, touching[] = {150, 250};
	static const double tight_a[] = {80, 90, 95, 95, 140},
			    tight_b[] = {135, 200, 205, 225, 235};
	struct load_change change;

	load_change_make(&change, a, 2, b, 2, false, &gate);
	assert_false(change.disjoint);
	assert_true(change.p > .05);
	assert_int_equal(change.verdict, LOAD_SAME);
	/* not by the t-test, but by their ranges */
	load_change_make(&change, a, 2, apart, 2, false, &gate);
	assert_true(change.disjoint && change.p > .05);
	assert_int_equal(change.verdict, LOAD_WORSE);
	load_change_make(&change, apart, 2, a, 2, false, &gate);
	assert_true(change.disjoint);
	load_change_make(&change, a, 2, touching, 2, false, &gate);
	assert_false(change.disjoint);
	assert_int_equal(change.verdict, LOAD_SAME);
	/* not by their ranges, but by the t-test */
	load_change_make(&change, tight_a, 5, tight_b, 5, false, &gate);
	assert_true(!change.disjoint && change.p < .05);
	assert_int_equal(change.verdict, LOAD_WORSE);
	/* separated, and too little */
	load_change_make(&change, (double[]){100, 101}, 2, (double[]){110, 111}, 2, false, &gate);
	assert_true(change.disjoint);
	assert_int_equal(change.verdict, LOAD_SAME);
}

CASE(a_side_of_one_run_goes_by_the_gates)
{
	static const double a[] = {50, 150}, b[] = {200};
	struct load_change change;

	load_change_make(&change, a, 2, b, 1, false, &gate);
	assert_int_equal(change.verdict, LOAD_WORSE);
	assert_true(isnan(change.p) && !change.disjoint);
}

CASE(what_was_not_measured_is_not_judged)
{
	static const double none[] = {NAN, NAN}, some[] = {NAN, 100};
	static const double large[] = {400, NAN};
	struct load_change change;

	load_change_make(&change, none, 2, large, 2, false, &gate);
	assert_int_equal(change.verdict, LOAD_UNKNOWN);
	assert_true(isnan(change.delta) && isnan(change.relative) && isnan(change.p));
	assert_int_equal(change.b.count, 1);
	load_change_make(&change, some, 2, large, 2, false, &gate);
	assert_int_equal(change.verdict, LOAD_WORSE);
	load_change_make(&change, some, 0, large, 0, false, &gate);
	assert_int_equal(change.verdict, LOAD_UNKNOWN);
}

/* Two workers, of two seconds each. */
static struct load_totals make_totals(void)
{
	const struct load_samples none = {NAN, NAN, NAN, NAN};

	return (struct load_totals){
		.workers = 2,
		.wall_ns = 4e9,
		.off_cpu_spread = .1,
		.max_gap_ms = 3,
		.migrations = 20,
		.iterations = 1000,
		.iteration_rate = 500,
		.slowest_worker = 240,
		.run_delay_ns = 5e6,
		.run_count = 100,
		.worst_run_delay_ns = 7e4,
		.pages = 200,
		.local_pages = 150,
		.migrated_pages = 20,
		.wake_to_run = {100, 2 * US, 10 * US, .5},
		.resume = {5000, 20 * US, 100 * US, 1.5},
		.cost = none,
	};
}

CASE(totals_become_values)
{
	struct load_totals totals = make_totals();
	double values[LOAD_METRICS];

	load_totals_values(&totals, values);
	assert_near(values[METRIC_OFF_CPU_SPREAD], .1, 1e-12);
	assert_near(values[METRIC_MAX_GAP], 3e6, 1e-12);
	/* in two seconds, not in four */
	assert_near(values[METRIC_MIGRATIONS], 10, 1e-12);
	assert_near(values[METRIC_MIGRATION_RATIO], .02, 1e-12);
	assert_near(values[METRIC_WAKE_P99], 10 * US, 1e-12);
	assert_near(values[METRIC_WAKE_MEDIAN], 2 * US, 1e-12);
	assert_near(values[METRIC_WAKE_CV], .5, 1e-12);
	assert_near(values[METRIC_WAKE_TAIL], 5, 1e-12);
	assert_near(values[METRIC_ITERATIONS], 500, 1e-12);
	assert_near(values[METRIC_SLOWEST_WORKER], 240, 1e-12);
	assert_near(values[METRIC_RUN_DELAY], 5e4, 1e-12);
	assert_near(values[METRIC_WORST_RUN_DELAY], 7e4, 1e-12);
	assert_true(isnan(values[METRIC_COST_P50]) && isnan(values[METRIC_COST_P99]));
	assert_near(values[METRIC_PAGE_LOCALITY], .75, 1e-12);
	assert_near(values[METRIC_PAGES_MIGRATED], .1, 1e-12);
}

CASE(too_little_is_not_measured)
{
	struct load_totals totals = make_totals();
	double values[LOAD_METRICS];

	totals.workers = 1;
	totals.run_count = totals.pages = totals.iterations = 0;
	totals.wake_to_run.total = 99;
	totals.cost = (struct load_samples){99, 1, 2, 3};
	load_totals_values(&totals, values);
	assert_true(isnan(values[METRIC_OFF_CPU_SPREAD]) && isnan(values[METRIC_RUN_DELAY]));
	assert_true(isnan(values[METRIC_PAGE_LOCALITY]) && isnan(values[METRIC_PAGES_MIGRATED]));
	assert_true(isnan(values[METRIC_MIGRATION_RATIO]));
	/* of 99 samples there is a median, and no 99th percentile */
	assert_true(values[METRIC_WAKE_MEDIAN] == 2 * US && isnan(values[METRIC_WAKE_P99]));
	assert_true(isnan(values[METRIC_WAKE_TAIL]) && isnan(values[METRIC_WAKE_CV]));
	assert_true(values[METRIC_COST_P50] == 1 && isnan(values[METRIC_COST_P99]));
	/* the wait, where the waker is not known */
	totals.wake_to_run.total = NAN;
	load_totals_values(&totals, values);
	assert_true(values[METRIC_WAKE_P99] == 100 * US);
	totals.resume.total = 0;
	load_totals_values(&totals, values);
	assert_true(isnan(values[METRIC_WAKE_P99]) && isnan(values[METRIC_WAKE_MEDIAN]));
}

static const struct load_group_key key = {.cgroup = "front", .work = "pipe-io"};

static void add(struct load_side *side, const struct load_group_key *to,
		const struct load_totals *totals)
{
	assert_non_null(load_side_add(side, to, totals));
}

static void compare(struct load_comparison *comparison, const struct load_side *a,
		    const struct load_side *b)
{
	struct load_gate gates[LOAD_METRICS];

	load_gates_init(gates);
	assert_int_equal(load_compare(comparison, a, b, gates), 0);
}

static void release(struct load_comparison *comparison, struct load_side *a, struct load_side *b)
{
	load_comparison_release(comparison);
	load_side_release(a);
	load_side_release(b);
}

CASE(groups_are_matched_by_cgroup_number_and_type)
{
	static const struct load_group_key others[] = {
		{.cgroup = "back", .work = "pipe-io"},
		{.cgroup = "front", .group_idx = 1, .work = "pipe-io"},
		{.cgroup = "front", .work = "spin-wait"},
		{.cgroup = "front", .work = "pipe-io", .occurrence = 1},
	};
	struct load_side a = {.runs = 1}, b = {.runs = 1};
	struct load_totals totals = make_totals();
	struct load_comparison comparison;
	char title[64];

	add(&a, &others[0], &totals);
	add(&a, &key, &totals);
	totals.iteration_rate = 300;
	for (size_t i = 1; i < ARRAY_SIZE(others); i++)
		add(&b, &others[i], &totals);
	add(&b, &key, &totals);
	compare(&comparison, &a, &b);
	assert_int_equal(comparison.count, 5);
	/* those of a in their order, then those of b alone */
	assert_true(comparison.groups[0].a && !comparison.groups[0].b);
	assert_true(comparison.groups[1].a && comparison.groups[1].b);
	for (size_t i = 2; i < 5; i++)
		assert_true(!comparison.groups[i].a && comparison.groups[i].b);
	assert_int_equal(comparison.groups[1].changes[METRIC_ITERATIONS].verdict, LOAD_WORSE);
	assert_int_equal(comparison.verdicts[LOAD_WORSE], 1);
	assert_int_equal(comparison.verdicts[LOAD_SAME], LOAD_METRICS - 3);
	assert_int_equal(comparison.verdicts[LOAD_UNKNOWN], 0);
	load_compared_title(title, sizeof(title), &comparison, &comparison.groups[0]);
	assert_string_equal(title, "back pipe-io");
	load_compared_title(title, sizeof(title), &comparison, &comparison.groups[2]);
	assert_string_equal(title, "front pipe-io #1");
	load_compared_title(title, sizeof(title), &comparison, &comparison.groups[4]);
	assert_string_equal(title, "front pipe-io #0, time 2");
	release(&comparison, &a, &b);
}

CASE(without_a_common_group_nothing_is_judged)
{
	const struct load_group_key other = {.cgroup = "", .work = "pipe-io"};
	struct load_side a = {.runs = 1}, b = {.runs = 1};
	struct load_totals totals = make_totals();
	struct load_comparison comparison;

	add(&a, &key, &totals);
	add(&b, &other, &totals);
	compare(&comparison, &a, &b);
	assert_int_equal(comparison.count, 2);
	for (int i = 0; i < LOAD_VERDICTS; i++)
		assert_int_equal(comparison.verdicts[i], 0);
	release(&comparison, &a, &b);
}

CASE(wakeups_of_two_kinds_are_not_compared)
{
	struct load_side a = {.runs = 2}, b = {.runs = 2};
	struct load_totals totals = make_totals(), waits = make_totals();
	struct load_comparison comparison;

	waits.wake_to_run.total = NAN;
	for (int i = 0; i < 2; i++) {
		add(&a, &key, &totals);
		add(&b, &key, &waits);
	}
	compare(&comparison, &a, &b);
	assert_true(comparison.groups[0].wakes_differ);
	for (int i = METRIC_WAKE_P99; i <= METRIC_WAKE_TAIL; i++)
		assert_int_equal(comparison.groups[0].changes[i].a.count, 0);
	assert_int_equal(comparison.groups[0].changes[METRIC_RUN_DELAY].a.count, 2);
	release(&comparison, &a, &b);

	/* nor if a single run has others; runs without any do not matter */
	waits.resume.total = 0;
	add(&a, &key, &totals);
	add(&a, &key, &waits);
	add(&b, &key, &totals);
	compare(&comparison, &a, &b);
	assert_false(comparison.groups[0].wakes_differ);
	assert_int_equal(comparison.groups[0].changes[METRIC_WAKE_P99].a.count, 1);
	load_comparison_release(&comparison);
	waits.resume.total = 5000;
	add(&b, &key, &waits);
	add(&b, &key, &totals);
	compare(&comparison, &a, &b);
	assert_true(comparison.groups[0].wakes_differ);
	release(&comparison, &a, &b);
}

/* 10 migrations are the gate, in whatever time: these are of two seconds, 20 and 30 or 29. */
CASE(gates_of_totals_go_with_the_length)
{
	for (int over = 0; over < 2; over++) {
		struct load_side a = {.runs = 1}, b = {.runs = 1};
		struct load_totals totals = make_totals(), longer = make_totals();
		struct load_comparison comparison;
		const struct load_change *change;

		add(&a, &key, &totals);
		/* twice as long, and twice as many: the shorter side counts */
		longer.wall_ns = 8e9;
		longer.migrations = over ? 60 : 58;
		add(&b, &key, &longer);
		compare(&comparison, &a, &b);
		change = &comparison.groups[0].changes[METRIC_MIGRATIONS];
		assert_near(change->gate.absolute, 5, 1e-12);
		assert_int_equal(change->verdict, over ? LOAD_WORSE : LOAD_SAME);
		release(&comparison, &a, &b);
	}
}

CASE(gates_can_be_set)
{
	static const struct {
		const char *text;
		enum load_metric metric;
		double absolute, relative;
	} good[] = {
		{"wake-p99=20us/10%", METRIC_WAKE_P99, 20e3, .1},
		{"WakeP99=1.5ms/0%", METRIC_WAKE_P99, 1.5e6, 0},
		{"max-gap=0/0.5%", METRIC_MAX_GAP, 0, .005},
		{"off-cpu-spread=5%/25%", METRIC_OFF_CPU_SPREAD, .05, .25},
		{"iterations=7/s/2%", METRIC_ITERATIONS, 7, .02},
		{"iterations=7/2%", METRIC_ITERATIONS, 7, .02},
		{"wake-cv=0.2/1%", METRIC_WAKE_CV, .2, .01},
	};
	static const char *const bad[] = {
		"",
		"wake-p99",
		"wake-p99=50us",
		"wake-p99=50us/25",
		"wake-p99=50/25%",
		"wake-p99=50%/25%",
		"wake-p99=-1us/5%",
		"wake-p99=us/5%",
		"wake-p99=1us/-5%",
		"wake-p99=nan/5%",
		"wake-p99=infus/5%",
		"wake-p99=1us/nan%",
		"wake-cv=1us/5%",
		"nothing=1/5%",
		"=1/5%",
		"wake-cv=/5%",
		"wake-cv=1/5%/extra",
		"wake-cv/2=1",
		"wake-cv=1/5%%",
		"iterations=7us/2%",
		"wake-p99=1us/inf%",
		"max-gap=0.5m s/5%",
	};
	struct load_gate gates[LOAD_METRICS], before[LOAD_METRICS];
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		load_gates_init(gates);
		assert_int_equal(load_gate_parse(gates, good[i].text, &error), 0);
		assert_near(gates[good[i].metric].absolute, good[i].absolute, 1e-12);
		assert_near(gates[good[i].metric].relative, good[i].relative, 1e-12);
		assert_false(gates[good[i].metric].of_total);
	}
	load_gates_init(gates);
	load_gates_init(before);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		*error.text = '\0';
		if (load_gate_parse(gates, bad[i], &error) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		assert_true(*error.text);
		for (int k = 0; k < LOAD_METRICS; k++)
			assert_true(gates[k].absolute == before[k].absolute &&
				    gates[k].relative == before[k].relative);
	}
	assert_int_equal(load_gate_parse(gates, "wake-p9=1us/5%", &error), -EINVAL);
	assert_non_null(strstr(error.text, "'wake-p99'"));
}

CASE(values_are_shown_in_their_unit)
{
	char text[32];

	assert_int_equal(load_metric_format(text, sizeof(text), METRIC_WAKE_P99, 12345), 6);
	assert_string_equal(text, "12.3us");
	load_metric_format(text, sizeof(text), METRIC_OFF_CPU_SPREAD, .1234);
	assert_string_equal(text, "12.3%");
	load_metric_format(text, sizeof(text), METRIC_MAX_GAP, 5e6);
	assert_string_equal(text, "5ms");
	load_metric_format(text, sizeof(text), METRIC_WAKE_CV, .5);
	assert_string_equal(text, "0.50");
	load_metric_format(text, sizeof(text), METRIC_ITERATIONS, NAN);
	assert_string_equal(text, "-");
}

static void add_fact(struct load_facts *facts, const char *what, const char *value)
{
	assert_int_equal(load_facts_add(facts, what, value), 0);
}

CASE(facts_differ_by_the_values_of_all_runs)
{
	struct load_side a = {.runs = 0}, b = {.runs = 0};
	size_t position = 0;

	add_fact(&a.facts, "kernel", "6.12");
	add_fact(&a.facts, "cpus", "2");
	add_fact(&a.facts, "seed", "1");
	add_fact(&a.facts, "seed", "2");
	add_fact(&a.facts, "seed", "2");
	add_fact(&a.facts, "governor", "none");
	assert_int_equal(a.facts.count, 5);
	add_fact(&b.facts, "kernel", "6.13");
	add_fact(&b.facts, "cpus", "2");
	add_fact(&b.facts, "seed", "1");
	add_fact(&b.facts, "new", "1");
	assert_string_equal(load_facts_differing(&a.facts, &b.facts, &position), "kernel");
	assert_string_equal(load_facts_differing(&a.facts, &b.facts, &position), "seed");
	assert_null(load_facts_differing(&a.facts, &b.facts, &position));
	/* the other way round too */
	position = 0;
	assert_string_equal(load_facts_differing(&b.facts, &a.facts, &position), "kernel");
	assert_string_equal(load_facts_differing(&b.facts, &a.facts, &position), "seed");
	assert_null(load_facts_differing(&b.facts, &a.facts, &position));
	load_side_release(&a);
	load_side_release(&b);
}

/* More runs than there is room at first. */
CASE(many_runs_are_kept)
{
	struct load_side a = {.runs = 200}, b = {.runs = 200};
	struct load_totals totals = make_totals();
	struct load_comparison comparison;

	for (int i = 0; i < 200; i++) {
		totals.iteration_rate = 500 + i;
		add(&a, &key, &totals);
		totals.iteration_rate = 400 + i;
		add(&b, &key, &totals);
	}
	compare(&comparison, &a, &b);
	assert_near(comparison.groups[0].changes[METRIC_ITERATIONS].a.mean, 599.5, 1e-12);
	assert_near(comparison.groups[0].changes[METRIC_ITERATIONS].b.max, 599, 1e-12);
	assert_int_equal(comparison.groups[0].changes[METRIC_ITERATIONS].verdict, LOAD_WORSE);
	assert_true(load_comparison_repeated(&comparison));
	release(&comparison, &a, &b);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(both_gates_must_be_reached),
		cmocka_unit_test(every_metric_has_the_gates_of_its_line),
		cmocka_unit_test(rounding_misses_no_gate),
		cmocka_unit_test(from_nothing_is_a_change),
		cmocka_unit_test(several_runs_have_to_be_separated),
		cmocka_unit_test(a_side_of_one_run_goes_by_the_gates),
		cmocka_unit_test(what_was_not_measured_is_not_judged),
		cmocka_unit_test(totals_become_values),
		cmocka_unit_test(too_little_is_not_measured),
		cmocka_unit_test(groups_are_matched_by_cgroup_number_and_type),
		cmocka_unit_test(without_a_common_group_nothing_is_judged),
		cmocka_unit_test(wakeups_of_two_kinds_are_not_compared),
		cmocka_unit_test(gates_of_totals_go_with_the_length),
		cmocka_unit_test(gates_can_be_set),
		cmocka_unit_test(values_are_shown_in_their_unit),
		cmocka_unit_test(facts_differ_by_the_values_of_all_runs),
		cmocka_unit_test(many_runs_are_kept),
	};

	return RUN(cases);
}
