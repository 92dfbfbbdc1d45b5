// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether CPUs have been offline since it was asked before. */
#include "test.h"

#include "base/cpu_changes.h"

/* As if the last look was that long ago that another one is due. */
static struct cpu_changes seen_long_ago(void)
{
	struct cpu_changes changes;

	cpu_changes_begin(&changes);
	assert_string_not_equal(changes.online, "");
	changes.looked_ns = 0;
	return changes;
}

CASE(the_same_cpus_are_no_change)
{
	struct cpu_changes changes = seen_long_ago();

	assert_false(cpu_changes_came(&changes));
	assert_true(changes.looked_ns > 0);
}

CASE(other_cpus_are_a_change_once)
{
	struct cpu_changes changes = seen_long_ago();

	strcpy(changes.online, "0-4095");
	assert_true(cpu_changes_came(&changes));
	changes.looked_ns = 0;
	assert_false(cpu_changes_came(&changes));
}

CASE(it_is_not_looked_all_the_time)
{
	struct cpu_changes changes;

	cpu_changes_begin(&changes);
	strcpy(changes.online, "0-4095");
	assert_false(cpu_changes_came(&changes));
	assert_string_equal(changes.online, "0-4095");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(the_same_cpus_are_no_change),
		cmocka_unit_test(other_cpus_are_a_change_once),
		cmocka_unit_test(it_is_not_looked_all_the_time),
	};

	return RUN(cases);
}
