// SPDX-License-Identifier: GPL-2.0-or-later
/* The page of what two sets of loads differ in. */
#include "test.h"

#include <math.h>

#include "base/cleanup.h"
#include "view/compare.h"

#define RUNS 8

/* Two sides of runs of one group, of which the iterations a second are judged. */
struct made {
	struct load_side sides[2];
	struct load_comparison comparison;
	struct output out;
};

static const char *const paths[] = {"a", "b"};

static void begin(struct made *made)
{
	*made = (struct made){.sides = {{.runs = 0}}};
	assert_int_equal(output_init(&made->out, -1), 0);
}

/* Of which others had `taken` of the CPUs. Runs of both sides take turns. */
static void add(struct made *made, int side, double rate, double taken)
{
	static const struct load_group_key key = {.cgroup = "front", .work = "pipe-io"};
	double values[LOAD_METRICS];
	char started[LOAD_STARTED_BYTES];

	for (int i = 0; i < LOAD_METRICS; i++)
		values[i] = NAN;
	values[METRIC_ITERATIONS] = rate;
	snprintf(started, sizeof(started), "2026-01-01T00:%02u:%02d.000000000Z",
		 made->sides[side].runs, 30 * side);
	assert_int_equal(load_side_begin_run(&made->sides[side], started, taken), 0);
	assert_non_null(
		load_side_add_values(&made->sides[side], &key, values, 10, LOAD_WAKES_NONE));
}

static void compare(struct made *made)
{
	struct load_question question;
	struct error error;

	load_question_init(&question);
	assert_int_equal(load_question_choose(&question, "iterations", &error), 0);
	question.gates[METRIC_ITERATIONS] = (struct load_gate){.absolute = 0, .relative = .05};
	assert_int_equal(
		load_compare(&made->comparison, &made->sides[0], &made->sides[1], &question), 0);
}

static const char *page(struct made *made)
{
	made->out.used = 0;
	compare_table(&made->out, &made->comparison, paths, NULL, false);
	output_char(&made->out, '\0');
	return made->out.buffer;
}

static const char *json(struct made *made)
{
	struct emit emit = {.format = &format_json,
			    .schema = &compare_load_schema,
			    .levels = ~0U,
			    .out = &made->out};

	made->out.used = 0;
	compare_emit(&emit, &made->comparison, paths, NULL);
	output_char(&made->out, '\0');
	return made->out.buffer;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in\n%s", part, text);
}

static void end(struct made *made)
{
	load_comparison_release(&made->comparison);
	for (int i = 0; i < 2; i++)
		load_side_release(&made->sides[i]);
	output_release(&made->out);
}

CASE(the_head_says_what_others_had_of_each_side)
{
	struct made made;

	begin(&made);
	for (int i = 0; i < RUNS; i++) {
		/* a run that was disturbed is not what all were */
		add(&made, 0, 100, i ? .125 : .9);
		add(&made, 1, 100, i ? NAN : .5);
	}
	compare(&made);
	assert_has(page(&made), "A  a  8 runs; others had 12.5 % of the CPUs' time\n"
				"B  b  8 runs; others had 50.0 % of the CPUs' time\n");
	assert_has(json(&made),
		   "\"a\":{\"path\":\"a\",\"runs\":8,\"failed\":0,\"taken_share\":0.125,");
	assert_has(json(&made),
		   "\"b\":{\"path\":\"b\",\"runs\":8,\"failed\":0,\"taken_share\":0.5,");
	end(&made);
}

CASE(what_others_had_may_not_be_known)
{
	struct made made;

	begin(&made);
	for (int i = 0; i < RUNS; i++) {
		add(&made, 0, 100, NAN);
		add(&made, 1, 100, 0);
	}
	compare(&made);
	assert_has(page(&made), "A  a  8 runs\nB  b  8 runs; others had 0.0 % of the CPUs' time\n");
	assert_has(json(&made), "\"failed\":0,\"taken_share\":null,");
	end(&made);
}

CASE(what_is_the_same_is_so_within_its_bounds)
{
	struct made made;

	begin(&made);
	for (int i = 0; i < RUNS; i++) {
		add(&made, 0, 100 + i, NAN);
		add(&made, 1, 98 * (1 + i / 100.), NAN);
	}
	compare(&made);
	assert_int_equal(made.comparison.answer, LOAD_EQUAL);
	/* each pair has lost as much */
	assert_has(page(&made), "No difference beyond the gates.\n"
				"The same: iterations to within 2.0 %.\n");
	end(&made);
}

/* Every other pair has gained as much as the rest has lost. */
static void waver(struct made *made, double by)
{
	begin(made);
	for (int i = 0; i < RUNS; i++) {
		add(made, 0, 100, NAN);
		add(made, 1, 100 * (1 + (i % 2 ? by : -by)), NAN);
	}
	compare(made);
	assert_true(made->comparison.paired);
	assert_int_equal(made->comparison.answer, LOAD_OPEN);
}

CASE(what_is_undecided_says_how_many_pairs_would_decide_it)
{
	struct made made;
	unsigned int few;
	char wanted[128];

	waver(&made, .06);
	few = made.comparison.wanted;
	assert_true(few > RUNS && few <= 200);
	assert_has(page(&made), "Undecided: iterations (-6.0 to +6.0%).\n");
	snprintf(wanted, sizeof(wanted), "\nAbout %u pairs would decide it.\n", few);
	assert_has(page(&made), wanted);
	snprintf(wanted, sizeof(wanted), "\"wanted\":%u", few);
	assert_has(json(&made), wanted);
	end(&made);
	/* and more of what wavers more */
	waver(&made, .6);
	assert_true(made.comparison.wanted > 200);
	snprintf(wanted, sizeof(wanted),
		 "\nAbout %u pairs would decide it: longer runs, fewer --metrics or a quieter "
		 "machine take less.\n",
		 made.comparison.wanted);
	assert_has(page(&made), wanted);
	end(&made);
}

CASE(too_few_runs_say_how_many_can_distinguish)
{
	struct made made;

	begin(&made);
	add(&made, 0, 100, NAN);
	add(&made, 0, 101, NAN);
	add(&made, 1, 150, NAN);
	compare(&made);
	assert_false(made.comparison.paired);
	assert_has(page(&made), "Undecided: iterations.\n1 run a side cannot distinguish a change "
				"from chance: 4 can, where it is large.\n");
	end(&made);
}

static void add_facts(struct made *made, const char *what, const char *a, const char *b)
{
	assert_int_equal(load_facts_add(&made->sides[0].facts, what, a), 0);
	assert_int_equal(load_facts_add(&made->sides[1].facts, what, b), 0);
}

CASE(machines_that_differ_are_named_as_such)
{
	static const char *const facts[] = {"architecture", "cpu_model", "cpus",
					    "cores",	    "llcs",	 "nodes"};
	static const char sentence[] =
		"the machines are not the same: what differs may be by them\n";
	struct made made;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		char line[128];

		begin(&made);
		add(&made, 0, 100, NAN);
		add(&made, 1, 100, NAN);
		add_facts(&made, "kernel", "6.12", "6.13");
		for (size_t k = 0; k < ARRAY_SIZE(facts); k++)
			add_facts(&made, facts[k], "x", "x");
		compare(&made);
		/* another kernel is on purpose */
		assert_has(page(&made), "\n   kernel: A 6.12, B 6.13\n");
		assert_null(strstr(made.out.buffer, sentence));
		assert_int_equal(load_facts_add(&made.sides[1].facts, facts[i], "y"), 0);
		snprintf(line, sizeof(line), "\n   %s: A x, B x | y\n   %s", facts[i], sentence);
		assert_has(page(&made), line);
		end(&made);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(the_head_says_what_others_had_of_each_side),
		cmocka_unit_test(what_others_had_may_not_be_known),
		cmocka_unit_test(what_is_the_same_is_so_within_its_bounds),
		cmocka_unit_test(what_is_undecided_says_how_many_pairs_would_decide_it),
		cmocka_unit_test(too_few_runs_say_how_many_can_distinguish),
		cmocka_unit_test(machines_that_differ_are_named_as_such),
	};

	return RUN(cases);
}
