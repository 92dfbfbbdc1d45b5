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
		.cross_llc = 8,
		.cross_node = 4,
		.cpu_ns = 3e9,
		.fairness = .9,
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

static const struct load_group_key key = {.cgroup = "front", .work = "pipe-io"};

static void begin(struct load_side *side, const char *started)
{
	assert_int_equal(load_side_begin_run(side, started, NAN), 0);
}

static void add(struct load_side *side, const struct load_group_key *to,
		const struct load_totals *totals)
{
	assert_non_null(load_side_add(side, to, totals));
}

static void release(struct load_comparison *comparison, struct load_side *a, struct load_side *b)
{
	load_comparison_release(comparison);
	load_side_release(a);
	load_side_release(b);
}

static const struct load_gate gate = {.absolute = 50, .relative = .25};

struct values {
	const double *of;
	size_t count;
};

/* Runs whose iterations a second are these; `turns`: of a and b by turns, else all of a at first.
 */
static void fill(struct load_side *side, struct values values, bool turns, bool is_b)
{
	struct load_totals totals = make_totals();
	char started[64];

	for (size_t i = 0; i < values.count; i++) {
		snprintf(started, sizeof(started), "2026-01-01T00:%02zu:%02d.000000000Z",
			 turns ? i : i + (is_b ? 30 : 0), turns && is_b != (i % 2) ? 30 : 0);
		begin(side, started);
		totals.iteration_rate = values.of[i];
		add(side, &key, &totals);
	}
}

/* The change of that metric, as the only one that is judged. */
static struct load_change judge_runs(struct values a, struct values b, bool turns,
				     const struct load_gate *by)
{
	struct load_side sides[2] = {{.runs = 0}, {.runs = 0}};
	struct load_comparison comparison;
	struct load_question question;
	struct load_change change;
	struct error error;

	load_question_init(&question);
	assert_int_equal(load_question_choose(&question, "iterations", &error), 0);
	question.gates[METRIC_ITERATIONS] = *by;
	fill(&sides[0], a, turns, false);
	fill(&sides[1], b, turns, true);
	assert_int_equal(load_compare(&comparison, &sides[0], &sides[1], &question), 0);
	assert_int_equal(comparison.paired, turns && a.count == b.count);
	change = comparison.groups[0].changes[METRIC_ITERATIONS];
	assert_int_equal(comparison.answer, change.verdict == LOAD_UNKNOWN     ? LOAD_NOTHING
					    : change.verdict == LOAD_SAME      ? LOAD_EQUAL
					    : change.verdict == LOAD_UNDECIDED ? LOAD_OPEN
									       : LOAD_DIFFERENT);
	release(&comparison, &sides[0], &sides[1]);
	return change;
}

#define JUDGE(a, b, turns)                                                                         \
	judge_runs((struct values){a, ARRAY_SIZE(a)}, (struct values){b, ARRAY_SIZE(b)}, turns,    \
		   &gate)

/* Eight runs a side, all alike: only the gates decide. */
static enum load_verdict judge_steady(double a, double b)
{
	double of_a[8], of_b[8];

	for (int i = 0; i < 8; i++) {
		of_a[i] = a;
		of_b[i] = b;
	}
	return JUDGE(of_a, of_b, false).verdict;
}

CASE(both_gates_must_be_reached)
{
	/* the absolute one decides: a quarter of 100 is less; more iterations are better */
	assert_int_equal(judge_steady(100, 149.9), LOAD_SAME);
	assert_int_equal(judge_steady(100, 150), LOAD_BETTER);
	assert_int_equal(judge_steady(100, 50.1), LOAD_SAME);
	assert_int_equal(judge_steady(100, 50), LOAD_WORSE);
	/* the relative one: a quarter of 400 is more */
	assert_int_equal(judge_steady(400, 499.9), LOAD_SAME);
	assert_int_equal(judge_steady(400, 500), LOAD_BETTER);
	assert_int_equal(judge_steady(400, 300.1), LOAD_SAME);
	assert_int_equal(judge_steady(400, 300), LOAD_WORSE);
	assert_int_equal(judge_steady(400, 400), LOAD_SAME);
	/* what was not there and now is has changed */
	assert_int_equal(judge_steady(0, 60), LOAD_BETTER);
	assert_int_equal(judge_steady(0, 40), LOAD_SAME);
	assert_int_equal(judge_steady(60, 0), LOAD_WORSE);
	assert_int_equal(judge_steady(0, 0), LOAD_SAME);
}

/* 0.15 - 0.10 is a bit less than 0.05 */
CASE(rounding_misses_no_gate)
{
	const struct load_gate share = {.absolute = .05, .relative = .5};
	const double a[] = {.1, .1, .1, .1}, b[] = {.15, .15, .15, .15};
	const struct values of_a = {a, 4}, of_b = {b, 4};

	assert_true(b[0] - a[0] < share.absolute);
	assert_int_equal(judge_runs(of_a, of_b, false, &share).verdict, LOAD_BETTER);
}

CASE(few_runs_decide_nothing)
{
	static const double one[] = {100}, other[] = {900};
	static const double a[] = {100, 101, 102}, b[] = {900, 901, 902};
	static const double more_a[] = {100, 101, 102, 103}, more_b[] = {900, 901, 902, 903};
	struct load_change change = JUDGE(one, other, false);

	assert_int_equal(change.verdict, LOAD_UNDECIDED);
	assert_true(fabs(change.relative - 8) < 1e-9 && isinf(change.low) && isnan(change.p));
	change = JUDGE(a, b, false);
	assert_int_equal(change.verdict, LOAD_UNDECIDED);
	assert_true(fabs(change.p - .1) < 1e-9 && !change.wanted);
	change = JUDGE(more_a, more_b, false);
	assert_int_equal(change.verdict, LOAD_BETTER);
	assert_true(fabs(change.p - 2. / 70) < 1e-9 && change.low > 7.7 && change.high < 8.1);
	/* in pairs there are 2^3 ways to be exchanged */
	assert_int_equal(JUDGE(more_a, more_b, true).verdict, LOAD_UNDECIDED);
	assert_int_equal(load_runs_least(.05, false), 4);
	assert_int_equal(load_runs_least(.05, true), 6);
	assert_int_equal(load_runs_least(.0125, true), 8);
}

/* What the machine did to both, one after the other, is no difference between them. */
CASE(runs_that_take_turns_are_compared_in_pairs)
{
	static const double a[] = {100, 400, 150, 900, 300, 700, 120, 500};
	double b[8];

	for (int i = 0; i < 8; i++)
		b[i] = a[i] * (1.49 + .01 * (i % 3));
	assert_int_equal(JUDGE(a, b, true).verdict, LOAD_BETTER);
	assert_int_equal(JUDGE(a, b, false).verdict, LOAD_UNDECIDED);
	assert_true(JUDGE(a, b, false).wanted > 8);
	assert_true(JUDGE(a, b, true).low > .48 && JUDGE(a, b, true).high < .52);
}

CASE(one_run_that_was_disturbed_is_no_change)
{
	static const double a[] = {400, 401, 402, 403, 404, 405, 406, 407};
	static const double b[] = {400, 40, 403, 402, 404, 405, 406, 407};

	assert_int_equal(JUDGE(a, b, false).verdict, LOAD_SAME);
}

/* With a value of 0 there are no ratios, and one run of A may lose more than the median has. */
CASE(not_more_than_all_can_be_lost)
{
	static const double a[] = {1000, 200, 900, 150, 1100, 250, 950, 120};
	static const double b[] = {90, 100, 80, 0, 120, 95, 110, 70};
	struct load_change change = JUDGE(a, b, true);

	assert_int_equal(change.verdict, LOAD_WORSE);
	assert_true(change.low == -1 && change.relative > -1 && change.high < 0);
}

CASE(what_was_not_measured_is_not_judged)
{
	static const double none[] = {NAN, NAN}, some[] = {NAN, 100};
	struct load_change change = JUDGE(none, some, false);

	assert_int_equal(change.verdict, LOAD_UNKNOWN);
	assert_true(isnan(change.relative) && isnan(change.low) && isnan(change.p));
	assert_int_equal(change.b.count, 1);
}

/* Three equal differences are as far from chance as can be, and three of eight say nothing. */
CASE(a_metric_of_a_few_runs_hides_no_other)
{
	for (int turns = 0; turns <= 1; turns++) {
		struct load_side sides[2] = {{.runs = 0}, {.runs = 0}};
		struct load_comparison comparison;
		struct load_question question;
		struct error error;
		struct load_change *changes;

		load_question_init(&question);
		assert_int_equal(load_question_choose(&question, "iterations,wake-p99", &error), 0);
		for (int i = 0; i < 8; i++)
			for (int side = 0; side < 2; side++) {
				struct load_totals totals = make_totals();
				char started[64];

				snprintf(started, sizeof(started),
					 "2026-01-01T00:%02d:00.0000000%02dZ",
					 turns ? i : i + 8 * side, side);
				begin(&sides[side], started);
				totals.iteration_rate = (side ? 300 : 100) + 5 * i * (side - .5);
				if (i >= (turns ? 3 : 2))
					totals.wake_to_run.p99_ns = NAN;
				else if (side)
					totals.wake_to_run.p99_ns *= 100;
				add(&sides[side], &key, &totals);
			}
		assert_int_equal(load_compare(&comparison, &sides[0], &sides[1], &question), 0);
		assert_int_equal(comparison.paired, turns);
		changes = comparison.groups[0].changes;
		assert_int_equal(changes[METRIC_ITERATIONS].verdict, LOAD_BETTER);
		assert_int_equal(changes[METRIC_WAKE_P99].verdict, LOAD_UNDECIDED);
		assert_true(isnan(changes[METRIC_WAKE_P99].p));
		release(&comparison, &sides[0], &sides[1]);
	}
}

/* What got better beside it says nothing of what has to be decided, and is not. */
CASE(a_metric_that_got_better_does_not_hide_an_open_one)
{
	for (int open = 0; open <= 1; open++) {
		struct load_side sides[2] = {{.runs = 0}, {.runs = 0}};
		struct load_comparison comparison;
		struct load_question question;

		load_question_init(&question);
		question.metrics = 1U << METRIC_ITERATIONS | 1U << METRIC_WAKE_P99;
		question.decisive = 1U << METRIC_ITERATIONS;
		for (int i = 0; i < 12; i++)
			for (int side = 0; side < 2; side++) {
				struct load_totals totals = make_totals();
				char started[64];

				snprintf(started, sizeof(started),
					 "2026-01-01T00:%02d:%02d.000000000Z", i, side);
				begin(&sides[side], started);
				totals.iteration_rate +=
					open ? (i * 7919 % 12 - 6) * (side ? 60 : -40) : 0;
				totals.wake_to_run.p99_ns *= side ? .01 : 1 + .001 * i;
				add(&sides[side], &key, &totals);
			}
		assert_int_equal(load_compare(&comparison, &sides[0], &sides[1], &question), 0);
		assert_int_equal(comparison.groups[0].changes[METRIC_WAKE_P99].verdict,
				 LOAD_BETTER);
		assert_int_equal(comparison.groups[0].changes[METRIC_ITERATIONS].verdict,
				 open ? LOAD_UNDECIDED : LOAD_SAME);
		assert_int_equal(comparison.answer, open ? LOAD_OPEN : LOAD_DIFFERENT);
		release(&comparison, &sides[0], &sides[1]);
	}
}

CASE(metrics_are_chosen_by_name)
{
	struct load_question question;
	struct error error;

	load_question_init(&question);
	assert_int_equal(question.metrics, ((1U << LOAD_METRICS) - 1) & ~(1U << METRIC_CPUS));
	assert_int_equal(load_question_choose(&question, "WakeP99,iterations", &error), 0);
	assert_int_equal(question.metrics, 1U << METRIC_WAKE_P99 | 1U << METRIC_ITERATIONS);
	assert_int_equal(question.decisive, question.metrics);
	assert_int_equal(load_question_choose(&question, "all", &error), 0);
	assert_int_equal(question.decisive, question.metrics | 1U << METRIC_ITERATIONS);
	assert_int_equal(load_question_choose(&question, "wake-p9", &error), -EINVAL);
	assert_non_null(strstr(error.text, "'wake-p99'"));
	assert_int_equal(load_question_choose(&question, "", &error), -EINVAL);
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
	assert_near(values[METRIC_CROSS_LLC], 4, 1e-12);
	assert_near(values[METRIC_CROSS_NODE], 2, 1e-12);
	assert_near(values[METRIC_CPUS], 1.5, 1e-12);
	assert_near(values[METRIC_FAIRNESS], .9, 1e-12);
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

static void add_run(struct load_side *side, const struct load_group_key *to,
		    const struct load_totals *totals)
{
	begin(side, NULL);
	add(side, to, totals);
}

static void compare(struct load_comparison *comparison, const struct load_side *a,
		    const struct load_side *b)
{
	struct load_question question;

	load_question_init(&question);
	assert_int_equal(load_compare(comparison, a, b, &question), 0);
}

CASE(groups_are_matched_by_cgroup_number_and_type)
{
	static const struct load_group_key others[] = {
		{.cgroup = "back", .work = "pipe-io"},
		{.cgroup = "front", .group_idx = 1, .work = "pipe-io"},
		{.cgroup = "front", .work = "spin-wait"},
		{.cgroup = "front", .work = "pipe-io", .occurrence = 1},
	};
	struct load_side a = {.runs = 0}, b = {.runs = 0};
	struct load_totals totals = make_totals(), fewer = make_totals();
	struct load_comparison comparison;
	char title[64];

	fewer.iteration_rate = 300;
	for (int run = 0; run < 4; run++) {
		begin(&a, NULL);
		add(&a, &others[0], &totals);
		add(&a, &key, &totals);
		begin(&b, NULL);
		for (size_t i = 1; i < ARRAY_SIZE(others); i++)
			add(&b, &others[i], &fewer);
		add(&b, &key, &fewer);
	}
	compare(&comparison, &a, &b);
	assert_int_equal(comparison.count, 5);
	/* those of a in their order, then those of b alone */
	assert_true(comparison.groups[0].a && !comparison.groups[0].b);
	assert_true(comparison.groups[1].a && comparison.groups[1].b);
	for (size_t i = 2; i < 5; i++)
		assert_true(!comparison.groups[i].a && comparison.groups[i].b);
	assert_int_equal(comparison.groups[1].changes[METRIC_ITERATIONS].verdict, LOAD_WORSE);
	assert_int_equal(comparison.verdicts[LOAD_WORSE], 1);
	assert_int_equal(comparison.verdicts[LOAD_SAME], LOAD_METRICS - 4);
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
	struct load_side a = {.runs = 0}, b = {.runs = 0};
	struct load_totals totals = make_totals();
	struct load_comparison comparison;

	add_run(&a, &key, &totals);
	add_run(&b, &other, &totals);
	compare(&comparison, &a, &b);
	assert_int_equal(comparison.count, 2);
	for (int i = 0; i < LOAD_VERDICTS; i++)
		assert_int_equal(comparison.verdicts[i], 0);
	release(&comparison, &a, &b);
}

CASE(wakeups_of_two_kinds_are_not_compared)
{
	struct load_side a = {.runs = 0}, b = {.runs = 0};
	struct load_totals totals = make_totals(), waits = make_totals();
	struct load_comparison comparison;

	waits.wake_to_run.total = NAN;
	for (int i = 0; i < 2; i++) {
		add_run(&a, &key, &totals);
		add_run(&b, &key, &waits);
	}
	compare(&comparison, &a, &b);
	assert_true(comparison.groups[0].wakes_differ);
	for (int i = METRIC_WAKE_P99; i <= METRIC_WAKE_TAIL; i++)
		assert_int_equal(comparison.groups[0].changes[i].a.count, 0);
	assert_int_equal(comparison.groups[0].changes[METRIC_RUN_DELAY].a.count, 2);
	release(&comparison, &a, &b);

	/* nor if a single run has others; runs without any do not matter */
	waits.resume.total = 0;
	add_run(&a, &key, &totals);
	add_run(&a, &key, &waits);
	add_run(&b, &key, &totals);
	compare(&comparison, &a, &b);
	assert_false(comparison.groups[0].wakes_differ);
	assert_int_equal(comparison.groups[0].changes[METRIC_WAKE_P99].a.count, 1);
	load_comparison_release(&comparison);
	waits.resume.total = 5000;
	add_run(&b, &key, &waits);
	add_run(&b, &key, &totals);
	compare(&comparison, &a, &b);
	assert_true(comparison.groups[0].wakes_differ);
	release(&comparison, &a, &b);
}

/* 10 migrations are the gate, in whatever time: these are of two seconds, 20 and 30 or 29. */
CASE(gates_of_totals_go_with_the_length)
{
	for (int over = 0; over < 2; over++) {
		struct load_side a = {.runs = 0}, b = {.runs = 0};
		struct load_totals totals = make_totals(), longer = make_totals();
		struct load_comparison comparison;
		const struct load_change *change;

		/* twice as long, and twice as many: the shorter side counts */
		longer.wall_ns = 8e9;
		longer.migrations = over ? 60 : 58;
		for (int run = 0; run < 6; run++) {
			add_run(&a, &key, &totals);
			add_run(&b, &key, &longer);
		}
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
	/* of a there are two seeds: they were drawn */
	assert_null(load_facts_differing(&a.facts, &b.facts, &position));
	/* the other way round too */
	position = 0;
	assert_string_equal(load_facts_differing(&b.facts, &a.facts, &position), "kernel");
	assert_null(load_facts_differing(&b.facts, &a.facts, &position));
	load_side_release(&a);
	load_side_release(&b);
}

/* More runs than there is room at first. */
CASE(many_runs_are_kept)
{
	struct load_side a = {.runs = 0}, b = {.runs = 0};
	struct load_totals totals = make_totals();
	struct load_comparison comparison;

	for (int i = 0; i < 200; i++) {
		totals.iteration_rate = 500 + i;
		add_run(&a, &key, &totals);
		totals.iteration_rate = 400 + i;
		add_run(&b, &key, &totals);
	}
	compare(&comparison, &a, &b);
	assert_near(comparison.groups[0].changes[METRIC_ITERATIONS].a.mean, 599.5, 1e-12);
	assert_near(comparison.groups[0].changes[METRIC_ITERATIONS].b.max, 599, 1e-12);
	assert_int_equal(comparison.groups[0].changes[METRIC_ITERATIONS].verdict, LOAD_WORSE);
	release(&comparison, &a, &b);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(both_gates_must_be_reached),
		cmocka_unit_test(rounding_misses_no_gate),
		cmocka_unit_test(few_runs_decide_nothing),
		cmocka_unit_test(runs_that_take_turns_are_compared_in_pairs),
		cmocka_unit_test(one_run_that_was_disturbed_is_no_change),
		cmocka_unit_test(a_metric_of_a_few_runs_hides_no_other),
		cmocka_unit_test(not_more_than_all_can_be_lost),
		cmocka_unit_test(what_was_not_measured_is_not_judged),
		cmocka_unit_test(a_metric_that_got_better_does_not_hide_an_open_one),
		cmocka_unit_test(metrics_are_chosen_by_name),
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
