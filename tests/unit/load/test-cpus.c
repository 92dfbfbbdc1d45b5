// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of CPUs. */
#include "test.h"

#include <errno.h>

#include "load/cpu-sets.h"

CASE(lists_are_read_and_written)
{
	static const char *const same[][2] = {
		{"0", "0"},	    {"0-3,8", "0-3,8"},	  {"8,0-3", "0-3,8"},
		{"1,0,2", "0-2"},   {"3-3", "3"},	  {"0-1,1-2,2", "0-2"},
		{"63,64", "63-64"}, {"62-130", "62-130"}, {" 0 , 2-3 \n", "0,2-3"},
		{"007", "7"},	    {"8191", "8191"},	  {"0-8191", "0-8191"},
		{"", ""},	    {" \n", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct cpus cpus = set(same[i][0]);

		assert_cpus(&cpus, same[i][1]);
	}
}

CASE(nonsense_is_no_list)
{
	static const char *const bad[] = {
		"x",	      "0x1", "-",    "-1",     "0-",  "1-0",	 "0-1-2",
		"0--1",	      "0 1", ",",    ",0",     "0,",  "0,,1",	 "0, ,1",
		"0;1",	      "1.5", "8192", "0-9999", "+1",  "0 - 1",	 "0-3x",
		"4294967296", "all", "0\n,", "0-",     "1e1", "0-3,8-7", "99999999999999999999",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cpus cpus = set("5");
		struct error error = {""};

		if (cpus_parse(bad[i], &cpus, &error) != -EINVAL)
			fail_msg("'%s' is a list", bad[i]);
		assert_non_null(strstr(error.text, bad[i]));
		assert_cpus(&cpus, "5");
	}
}

CASE(what_is_too_long_to_write_is_shortened)
{
	struct cpus odd = {{0}}, few = set("0-3,8,10");
	char text[64], exact[sizeof("0-3,8,10") + 4];

	for (unsigned int cpu = 1; cpu < CPUS_MAX; cpu += 2)
		cpus_add(&odd, cpu);
	for (size_t room = sizeof("1,..."); room <= sizeof(text); room++) {
		struct cpus again;

		memset(text, 'x', sizeof(text));
		cpus_format(text, room, &odd);
		assert_true(strlen(text) < room);
		assert_string_equal(text + strlen(text) - 4, ",...");
		/* what is there is true */
		text[strlen(text) - 4] = '\0';
		assert_int_equal(cpus_parse(text, &again, NULL), 0);
		assert_true(cpus_contain(&odd, &again));
		assert_true(room < 8 || cpus_count(&again) > 0);
		for (size_t i = room; i < sizeof(text); i++)
			assert_int_equal(text[i], 'x');
	}
	cpus_format(exact, sizeof(exact), &few);
	assert_string_equal(exact, "0-3,8,10");
	cpus_format(text, 1, &(struct cpus){{0}});
	assert_string_equal(text, "");
}

CASE(sets_are_counted_and_walked)
{
	struct cpus cpus = set("0,63-64,127,8191");

	assert_int_equal(cpus_count(&cpus), 5);
	assert_int_equal(cpus_next(&cpus, 0), 0);
	assert_int_equal(cpus_next(&cpus, 1), 63);
	assert_int_equal(cpus_next(&cpus, 64), 64);
	assert_int_equal(cpus_next(&cpus, 65), 127);
	assert_int_equal(cpus_next(&cpus, 128), 8191);
	assert_int_equal(cpus_next(&cpus, 8191), 8191);
	assert_int_equal(cpus_next(&cpus, CPUS_MAX), CPUS_MAX);
	assert_int_equal(cpus_nth(&cpus, 0), 0);
	assert_int_equal(cpus_nth(&cpus, 2), 64);
	assert_int_equal(cpus_nth(&cpus, 4), 8191);
	assert_int_equal(cpus_nth(&cpus, 5), CPUS_MAX);
	assert_int_equal(cpus_nth(&cpus, ~0U), CPUS_MAX);
	assert_true(cpus_has(&cpus, 8191));
	assert_false(cpus_has(&cpus, 8190));
	assert_false(cpus_has(&cpus, CPUS_MAX));
	assert_false(cpus_has(&cpus, ~0U));
	cpus = set("");
	assert_int_equal(cpus_count(&cpus), 0);
	assert_int_equal(cpus_next(&cpus, 0), CPUS_MAX);
	assert_int_equal(cpus_nth(&cpus, 0), CPUS_MAX);
}

CASE(sets_are_compared_and_joined)
{
	struct cpus a = set("0-3,100"), b = set("2-5,100"), none = set("");

	assert_false(cpus_contain(&a, &b));
	assert_true(cpus_contain(&a, &a));
	assert_true(cpus_contain(&a, &none));
	assert_false(cpus_contain(&none, &a));
	cpus_intersect(&a, &b);
	assert_cpus(&a, "2-3,100");
	assert_true(cpus_contain(&b, &a));
	cpus_unite(&a, &(struct cpus){{1}});
	assert_cpus(&a, "0,2-3,100");
	cpus_intersect(&a, &none);
	assert_cpus(&a, "");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(lists_are_read_and_written),
		cmocka_unit_test(nonsense_is_no_list),
		cmocka_unit_test(what_is_too_long_to_write_is_shortened),
		cmocka_unit_test(sets_are_counted_and_walked),
		cmocka_unit_test(sets_are_compared_and_joined),
	};

	return RUN(cases);
}
