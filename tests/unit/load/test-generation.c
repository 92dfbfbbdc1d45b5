// SPDX-License-Identifier: GPL-2.0-or-later
/* Stamps of wakeups, for wakees that are late by many of them. */
#include "test.h"

#include "load/work/generation.h"

CASE(a_late_wakee_learns_of_its_own_wakeup)
{
	static struct generation generation;

	for (uint32_t number = 1; number <= GENERATION_STAMPS + 100; number++) {
		uint32_t now = generation.number = number;

		/* a time for each: its number */
		generation.stamps_ns[now % GENERATION_STAMPS] = now;
		assert_int_equal(*generation_stamp(&generation, now - 1), now);
	}
	generation.number = 300;
	for (uint32_t number = 1; number <= 300; number++)
		generation.stamps_ns[number] = number;
	assert_int_equal(*generation_stamp(&generation, 0), 1);
	assert_int_equal(*generation_stamp(&generation, 43), 44);
}

/* Of what has been written over, the latency is at least that of the oldest that is there. */
CASE(of_one_that_is_too_late_the_oldest_stamp_counts)
{
	static struct generation generation;
	uint32_t now = UINT32_MAX - 10 + 2 * GENERATION_STAMPS; /* the number has come to 0 again */

	for (uint32_t i = 0; i < GENERATION_STAMPS; i++)
		generation.stamps_ns[(now - i) % GENERATION_STAMPS] = 1000000 - i;
	generation.number = now;
	assert_int_equal(*generation_stamp(&generation, UINT32_MAX - 10),
			 1000000 - (GENERATION_STAMPS - 2));
	assert_int_equal(*generation_stamp(&generation, now - 1), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_wakee_learns_of_its_own_wakeup),
		cmocka_unit_test(of_one_that_is_too_late_the_oldest_stamp_counts),
	};

	return RUN(tests);
}
