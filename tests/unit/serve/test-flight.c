// SPDX-License-Identifier: GPL-2.0-or-later
/* The seconds before a trigger, in memory. */
#include "test.h"

#include <malloc.h>

#include "base/duration.h"
#include "serve/flight.h"

/* Bytes that are allocated; 0 where the sanitizers' allocator does not say. */
static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* The ring of intervals comes round many times. */
CASE(what_is_too_old_takes_no_memory)
{
	const struct flight_options options = {.directory = "/tmp", .before_ns = 5 * NS_PER_S};
	struct flight *flight;
	struct error error;
	size_t before, most = 0;

	assert_int_equal(flight_open(&flight, &options, &error), 0);
	before = allocated();
	for (uint64_t second = 1; second <= 3000; second++) {
		struct wire_interval end = {.header = {.size = sizeof(end),
						       .kind = WIRE_INTERVAL,
						       .time_ns = second * NS_PER_S},
					    .start_ns = (second - 1) * NS_PER_S,
					    .end_ns = second * NS_PER_S};

		for (uint32_t tid = 1; tid <= 100; tid++) {
			struct wire_thread thread = {.header = {.size = sizeof(thread),
								.kind = WIRE_THREAD,
								.time_ns = second * NS_PER_S},
						     .end_ns = second * NS_PER_S,
						     .tid = tid};

			assert_int_equal(flight_record(flight, &thread.header), 0);
		}
		assert_int_equal(flight_record(flight, &end.header), 0);
		if (allocated() > before + most)
			most = allocated() - before;
	}
	/* some 45 KB for each of seven intervals; 45 MB if all parts of the ring were kept */
	assert_true(most < 4 << 20);
	flight_close(flight);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(what_is_too_old_takes_no_memory),
	};

	return RUN(cases);
}
