// SPDX-License-Identifier: GPL-2.0-or-later
/* One value of a spec by its name, and steps of it; what curves of these say. */
#include "test.h"

#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "load/spec_yaml.h"
#include "load/sweep.h"

static const char text[] = "cgroups:\n"
			   "  - name: front\n"
			   "    work: {type: bursty, workers: 2}\n"
			   "  - name: back\n"
			   "    work:\n"
			   "      - {type: bursty, burst: 5ms}\n"
			   "      - {type: mutex-contention}\n";

static struct spec read_spec(const char *yaml)
{
	struct error error = {""};
	struct spec spec;

	spec_init(&spec);
	if (spec_read_text(&spec, yaml, "test", &error) < 0)
		fail_msg("%s", error.text);
	return spec;
}

static const struct spec_work *work_of(const struct spec *spec, size_t cgroup, size_t number)
{
	return &spec->cgroups.items[cgroup].works.items[number];
}

static uint64_t burst_of(const struct spec *spec, size_t cgroup)
{
	const struct spec_work *work = work_of(spec, cgroup, 0);
	const struct param *param = params_find(work->type->params, "burst");

	return *(const uint64_t *)(const void *)((const char *)work->params + param->offset);
}

CASE(a_value_is_set_in_all_groups_or_in_one)
{
	struct spec spec = read_spec(text);

	assert_int_equal(spec_set_value(&spec, "burst", "7ms", NULL), 0);
	assert_int_equal(burst_of(&spec, 0), 7000000);
	assert_int_equal(burst_of(&spec, 1), 7000000);
	assert_int_equal(spec_set_value(&spec, "front.burst", "1ms", NULL), 0);
	assert_int_equal(burst_of(&spec, 0), 1000000);
	assert_int_equal(burst_of(&spec, 1), 7000000);
	assert_int_equal(spec_set_value(&spec, "mutex-contention.workers", "8", NULL), 0);
	assert_int_equal(work_of(&spec, 0, 0)->workers, 2);
	assert_int_equal(work_of(&spec, 1, 1)->workers, 8);
	spec_release(&spec);
}

CASE(a_load_that_no_group_has_is_one_of_its_own)
{
	struct spec spec = read_spec(text);
	const struct spec_cgroup *background;

	assert_int_equal(spec_set_value(&spec, "load", "70%", NULL), 0);
	assert_int_equal(spec_set_value(&spec, "load", "80%", NULL), 0);
	assert_int_equal(spec.cgroups.count, 3);
	background = &spec.cgroups.items[2];
	assert_string_equal(background->name, SPEC_BACKGROUND);
	assert_string_equal(background->works.items[0].type->name, "open-loop");
	assert_true(background->works.items[0].workers >= 1);
	spec_release(&spec);
	/* without cgroups it is where the others are */
	spec = read_spec("work: {type: bursty}");
	assert_int_equal(spec_set_value(&spec, "load", "70%", NULL), 0);
	assert_int_equal(spec.cgroups.count, 1);
	assert_int_equal(spec.cgroups.items[0].works.count, 2);
	spec_release(&spec);
}

CASE(what_is_not_there_is_said)
{
	static const char *const wrong[][2] = {
		{"brust", "did you mean 'burst'"},
		{"zzz", "there are: workers, load, burst, sleep"},
		{"side.burst", "no group has"},
		{".burst", "GROUP.NAME"},
		{"side.load", "no group has"},
	};
	struct spec spec = read_spec(text);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error error = {""};

		assert_int_equal(spec_set_value(&spec, wrong[i][0], "1", &error), -EINVAL);
		if (!strstr(error.text, wrong[i][1]))
			fail_msg("%s: %s", wrong[i][0], error.text);
	}
	assert_int_equal(spec_set_value(&spec, "workers", "0", NULL), -EINVAL);
	spec_release(&spec);
}

CASE(steps_go_from_one_bound_to_the_other)
{
	static const struct {
		const char *what;
		const char *steps[5];
	} known[] = {
		{"load=10..90%:5", {"10%", "30%", "50%", "70%", "90%"}},
		{"load=10%..20%:2", {"10%", "20%"}},
		{"burst=1..2ms:3", {"1000000ns", "1500000ns", "2000000ns"}},
		{"burst=2ms..1ms:2", {"2000000ns", "1000000ns"}},
		/* whole teams, each once */
		{"workers=1..16:5", {"4", "8", "12", "16"}},
		{"front.workers=1..3:5", {"1", "2", "3"}},
	};
	struct spec spec = read_spec(text);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct sweep sweep;
		struct error error = {""};
		size_t count = 0;

		if (sweep_parse(&sweep, known[i].what, &spec, &error) < 0)
			fail_msg("%s: %s", known[i].what, error.text);
		for (; count < ARRAY_SIZE(known[i].steps) && known[i].steps[count]; count++)
			assert_string_equal(sweep.steps[count].text, known[i].steps[count]);
		assert_int_equal(sweep.count, count);
		sweep_release(&sweep);
	}
	spec_release(&spec);
}

CASE(sweeps_that_cannot_be_are_refused)
{
	static const char *const wrong[] = {
		"load",		  "load=",	    "load=10%",
		"load=10..",	  "load=..10%",	    "load=10..10%",
		"load=10..95%:1", "load=10..95%:x", "load=10..95%:101",
		"=1..2",	  "load=10..120%",  "workers=0..4",
		"burst=1..2",	  "burst=x..2ms",   "burst=-1ms..2ms",
	};
	struct spec spec = read_spec(text);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct sweep sweep;
		struct error error = {""};
		int result = sweep_parse(&sweep, wrong[i], &spec, &error);

		/* without a unit they are seconds */
		if (!strcmp(wrong[i], "burst=1..2"))
			assert_int_equal(result, 0);
		else if (result != -EINVAL || !*error.text)
			fail_msg("%s: %d, '%s'", wrong[i], result, error.text);
		sweep_release(&sweep);
	}
	spec_release(&spec);
}

CASE(every_round_has_every_step_once)
{
	struct spec spec = read_spec(text);
	struct sweep sweep;
	size_t order[SWEEP_STEPS_MAX], first[SWEEP_STEPS_MAX];
	bool differs = false;

	assert_int_equal(sweep_parse(&sweep, "load=5..95%:19", &spec, NULL), 0);
	sweep_order(&sweep, 42, 0, first);
	for (unsigned int round = 0; round < 20; round++) {
		bool seen[SWEEP_STEPS_MAX] = {false};

		sweep_order(&sweep, 42, round, order);
		for (size_t i = 0; i < sweep.count; i++) {
			assert_true(order[i] < sweep.count && !seen[order[i]]);
			seen[order[i]] = true;
			differs |= order[i] != first[i];
		}
	}
	assert_true(differs);
	sweep_release(&sweep);
	spec_release(&spec);
}

/* A run of a step in which the wake-p99 and what others had are these. */
static void add_run(struct sweep_step *step, double wake_p99, double taken)
{
	const struct load_group_key key = {.cgroup = "front", .work = "bursty"};
	double values[LOAD_METRICS];

	for (size_t i = 0; i < LOAD_METRICS; i++)
		values[i] = NAN;
	values[METRIC_WAKE_P99] = wake_p99;
	assert_int_equal(load_side_begin_run(&step->side, NULL, taken), 0);
	assert_non_null(load_side_add_values(&step->side, &key, values, 1, LOAD_WAKES_TO_RUN));
}

static struct sweep_curve judged(const double *p99, const double *taken, unsigned int rounds)
{
	struct spec spec = read_spec(text);
	struct sweep sweep;
	struct sweep_curve curve;

	assert_int_equal(sweep_parse(&sweep, "load=10..80%:8", &spec, NULL), 0);
	for (size_t i = 0; i < sweep.count; i++)
		for (unsigned int k = 0; k < rounds; k++)
			add_run(&sweep.steps[i], p99[i] * (1 + .01 * k), taken[i]);
	assert_int_equal(sweep_judge(&sweep, 1U << METRIC_WAKE_P99, 7), 0);
	assert_int_equal(sweep.curve_count, 1);
	curve = sweep.curves[0];
	sweep_release(&sweep);
	spec_release(&spec);
	return curve;
}

CASE(a_curve_has_a_knee_or_none_or_it_is_not_known)
{
	static const double bends[8] = {80e3, 81e3, 80e3, 82e3, 83e3, 85e3, 900e3, 2400e3};
	static const double straight[8] = {80e3, 90e3, 101e3, 110e3, 120e3, 131e3, 140e3, 150e3};
	static const double quiet[8] = {0}, busy[8] = {0, 0, 0, 0, 0, 0, .1, .3};
	static const double crowd[8] = {.3, .3, .3, .3, .3, .3, .3, .3};
	static const double unknown[8] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	struct sweep_curve curve = judged(bends, quiet, 3);

	assert_int_equal(curve.answer, SWEEP_KNEE);
	assert_int_equal(curve.knee.at, 5);
	assert_int_equal(judged(straight, quiet, 3).answer, SWEEP_NO_KNEE);
	/* two runs of each do not show what is chance */
	assert_int_equal(judged(bends, quiet, 2).answer, SWEEP_UNDECIDED);
	/* behind the knee others had more of the CPUs */
	curve = judged(bends, busy, 3);
	assert_int_equal(curve.answer, SWEEP_UNDECIDED);
	assert_true(curve.disturbed >= .1);
	/* as much everywhere hides knees, and makes none */
	assert_int_equal(judged(bends, crowd, 3).answer, SWEEP_KNEE);
	curve = judged(straight, crowd, 3);
	assert_int_equal(curve.answer, SWEEP_UNDECIDED);
	assert_true(curve.crowded == .3);
	assert_int_equal(judged(straight, unknown, 3).answer, SWEEP_NO_KNEE);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_value_is_set_in_all_groups_or_in_one),
		cmocka_unit_test(a_load_that_no_group_has_is_one_of_its_own),
		cmocka_unit_test(what_is_not_there_is_said),
		cmocka_unit_test(steps_go_from_one_bound_to_the_other),
		cmocka_unit_test(sweeps_that_cannot_be_are_refused),
		cmocka_unit_test(every_round_has_every_step_once),
		cmocka_unit_test(a_curve_has_a_knee_or_none_or_it_is_not_known),
	};

	return RUN(cases);
}
