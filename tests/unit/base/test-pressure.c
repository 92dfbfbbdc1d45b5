// SPDX-License-Identifier: GPL-2.0-or-later
/* What others had of the CPUs between two marks. */
#include "test.h"

#include <math.h>
#include <unistd.h>

#include "base/pressure.h"

#define MS 1000000ULL

/* Marks 100 ms apart: of all CPUs' time these shares were busy, stolen, and our own. */
static struct pressure between(double busy, double stolen, double own)
{
	double all_ns = 100e6 * (double)sysconf(_SC_NPROCESSORS_ONLN);
	const struct pressure_mark before = {.at_ns = 7 * MS,
					     .measured = true,
					     .machine = {.busy_ns = 5 * MS, .stolen_ns = MS},
					     .own_ns = 3 * MS};
	struct pressure_mark after = before;
	struct pressure pressure;

	after.at_ns += 100 * MS;
	after.machine.busy_ns += (uint64_t)(busy * all_ns);
	after.machine.stolen_ns += (uint64_t)(stolen * all_ns);
	after.own_ns += (uint64_t)(own * all_ns);
	pressure_between(&pressure, &before, &after);
	return pressure;
}

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-6)
		fail_msg("%g is not %g", value, expected);
}

CASE(what_is_busy_is_ours_of_others_or_stolen)
{
	struct pressure pressure = between(.75, .25, .125);

	assert_true(pressure.measured);
	assert_int_equal(pressure.elapsed_ns, 100 * MS);
	assert_near((double)pressure.own_ns, .125 * (double)pressure.cpu_ns);
	assert_near((double)pressure.stolen_ns, .25 * (double)pressure.cpu_ns);
	assert_near((double)pressure.others_ns, .375 * (double)pressure.cpu_ns);
	assert_near(pressure_taken(&pressure), .625);
}

/* Ticks count less finely than our own time. */
CASE(others_have_not_less_than_nothing)
{
	struct pressure pressure = between(.25, 0, .5);

	assert_int_equal(pressure.others_ns, 0);
	assert_near(pressure_taken(&pressure), 0);
}

CASE(clocks_that_go_back_say_nothing)
{
	struct pressure_mark before = {.measured = true, .machine = {.busy_ns = 2}}, after = before;
	struct pressure pressure;

	after.machine.busy_ns = 1;
	after.at_ns = 100 * MS;
	pressure_between(&pressure, &before, &after);
	assert_false(pressure.measured);
	assert_near(pressure_taken(&pressure), 0);
	assert_near(pressure_lacked(&pressure, 4), 0);
}

CASE(what_is_lacked_is_what_others_left_too_little_for)
{
	struct pressure pressure = {
		.measured = true, .elapsed_ns = 100, .cpu_ns = 800, .others_ns = 600};

	/* two of eight CPUs were left */
	assert_near(pressure_lacked(&pressure, 1), 0);
	assert_near(pressure_lacked(&pressure, 2), 0);
	assert_near(pressure_lacked(&pressure, 4), .5);
	assert_near(pressure_lacked(&pressure, 8), .75);
	/* more than there are would not have them on an idle machine either */
	assert_near(pressure_lacked(&pressure, 64), .75);
	pressure.others_ns = 0;
	assert_near(pressure_lacked(&pressure, 64), 0);
	pressure.stolen_ns = 700;
	assert_near(pressure_lacked(&pressure, 2), .5);
}

/* The real machine: this process is not among the others. */
CASE(our_own_time_is_not_that_of_others)
{
	struct pressure_mark before = {.measured = false}, after = {.measured = false};
	struct pressure pressure;

	pressure_mark(&before, 0, 0, 0);
	assert_true(before.measured && !before.cpus);
	for (volatile unsigned int i = 0; i < 50000000; i++)
		;
	pressure_mark(&after, 0, 0, 0);
	pressure_between(&pressure, &before, &after);
	assert_true(pressure.measured && pressure.own_ns > 0);
	assert_true(pressure.own_ns + pressure.others_ns + pressure.stolen_ns >= pressure.busy_ns);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(what_is_busy_is_ours_of_others_or_stolen),
		cmocka_unit_test(others_have_not_less_than_nothing),
		cmocka_unit_test(clocks_that_go_back_say_nothing),
		cmocka_unit_test(what_is_lacked_is_what_others_left_too_little_for),
		cmocka_unit_test(our_own_time_is_not_that_of_others),
	};

	return RUN(cases);
}
