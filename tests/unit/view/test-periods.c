// SPDX-License-Identifier: GPL-2.0-or-later
/* What was counted in each of many periods. */
#include "test.h"

#include "base/duration.h"
#include "base/gzip.h"
#include "view/periods.h"

struct fixture {
	struct periods periods;
	struct counters counters;
	struct session_info session;
	uint64_t now_ns;
	uint64_t clock_ns; /* by which the machine's clock differs from that; it may wrap */
};

static void begin(struct fixture *fixture, uint64_t length_ns)
{
	*fixture = (struct fixture){.now_ns = NS_PER_S};
	periods_init(&fixture->periods, &length_ns, 1);
	assert_int_equal(counters_init(&fixture->counters, BY_PROCESS, 2, 1), 0);
}

static void end(struct fixture *fixture)
{
	counters_release(&fixture->counters);
	periods_release(&fixture->periods);
}

/* A second in which one thread ran for so long. */
static void second(struct fixture *fixture, uint64_t user_ns)
{
	struct row row = {.tid = 1, .pid = 1, .threads = 1, .process = "it"};
	struct interval interval = {.session = &fixture->session,
				    .rows = &row,
				    .row_count = 1,
				    .start_ns = fixture->now_ns,
				    .end_ns = fixture->now_ns + NS_PER_S,
				    .start_realtime_ns = fixture->now_ns + fixture->clock_ns};

	row.states_ns[STATE_USER] = user_ns;
	fixture->now_ns += NS_PER_S;
	assert_int_equal(periods_add(&fixture->periods, &fixture->counters, &interval), 0);
}

static const struct kept_period *kept(const struct fixture *fixture, size_t index)
{
	return &fixture->periods.levels[0].kept[index];
}

static void assert_period(const struct fixture *fixture, size_t index, uint64_t seconds,
			  uint64_t user_ns)
{
	const struct kept_period *period = kept(fixture, index);
	char length[64], user[64], *json = calloc(1, period->length + 1);

	assert_non_null(json);
	assert_int_equal(gzip_unpack(period->packed, period->packed_length, json, period->length),
			 0);
	assert_int_equal(period->end_realtime_ns - period->start_realtime_ns, seconds * NS_PER_S);
	snprintf(length, sizeof(length), "\"duration_ns\":%llu,",
		 (unsigned long long)(seconds * NS_PER_S));
	snprintf(user, sizeof(user), "\"user\":%llu}", (unsigned long long)user_ns);
	assert_non_null(strstr(json, length));
	assert_non_null(strstr(json, user));
	free(json);
}

CASE(a_period_has_what_was_counted_in_it)
{
	struct fixture fixture;

	begin(&fixture, 2 * NS_PER_S);
	for (uint64_t i = 1; i <= 5; i++)
		second(&fixture, i);
	assert_int_equal(fixture.periods.levels[0].count, 2);
	assert_period(&fixture, 0, 2, 1 + 2);
	assert_period(&fixture, 1, 2, 3 + 4);
	assert_int_equal(periods_end(&fixture.periods, &fixture.counters), 0);
	assert_int_equal(fixture.periods.levels[0].count, 3);
	assert_period(&fixture, 2, 1, 5);
	assert_int_equal(periods_end(&fixture.periods, &fixture.counters), 0);
	assert_int_equal(fixture.periods.levels[0].count, 3);
	end(&fixture);
}

CASE(time_that_was_not_measured_is_in_none)
{
	struct fixture fixture;

	begin(&fixture, 10 * NS_PER_S);
	second(&fixture, 1);
	second(&fixture, 2);
	fixture.now_ns += 3600 * NS_PER_S;
	second(&fixture, 4);
	assert_int_equal(periods_end(&fixture.periods, &fixture.counters), 0);
	assert_int_equal(fixture.periods.levels[0].count, 2);
	assert_period(&fixture, 0, 2, 1 + 2);
	assert_period(&fixture, 1, 1, 4);
	end(&fixture);
}

/* That there are so many in the answer, in this order. */
static void assert_written(const struct fixture *fixture, uint64_t from_ns, uint64_t to_ns,
			   const uint64_t *users_ns, size_t count)
{
	struct output out;
	const char *at;

	assert_int_equal(output_init(&out, -1), 0);
	periods_write(&fixture->periods, &out, 0, from_ns, to_ns);
	output_char(&out, '\0');
	at = out.buffer;
	for (size_t i = 0; i < count; i++) {
		const char *found, *next;
		char user[64];

		snprintf(user, sizeof(user), "\"user\":%llu}", (unsigned long long)users_ns[i]);
		at = strstr(at, "\"duration_ns\"");
		assert_non_null(at);
		at++;
		found = strstr(at, user);
		next = strstr(at, "\"duration_ns\"");
		assert_true(found && (!next || found < next));
	}
	assert_null(strstr(at, "\"duration_ns\""));
	output_release(&out);
}

CASE(a_clock_that_is_set_changes_no_figure)
{
	static const uint64_t hour_ns = 3600 * NS_PER_S, year_ns = 365 * 24 * hour_ns;
	struct fixture fixture;
	uint64_t begin_ns;

	begin(&fixture, 2 * NS_PER_S);
	fixture.clock_ns = year_ns;
	begin_ns = fixture.now_ns + fixture.clock_ns;
	second(&fixture, 1);
	second(&fixture, 2);
	/* back, between two periods */
	fixture.clock_ns -= hour_ns;
	second(&fixture, 4);
	/* forward, in the middle of one */
	fixture.clock_ns += year_ns;
	second(&fixture, 8);
	second(&fixture, 16);
	/* back, in the middle of one */
	fixture.clock_ns -= 2 * year_ns - hour_ns;
	second(&fixture, 32);
	assert_int_equal(fixture.periods.levels[0].count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_period(&fixture, i, 2, (uint64_t[]){1 + 2, 4 + 8, 16 + 32}[i]);
	/* each by its clock when it began, in the order in which they were measured */
	assert_int_equal(kept(&fixture, 0)->start_realtime_ns, begin_ns);
	assert_int_equal(kept(&fixture, 1)->start_realtime_ns, begin_ns + 2 * NS_PER_S - hour_ns);
	assert_int_equal(kept(&fixture, 2)->start_realtime_ns,
			 begin_ns + 4 * NS_PER_S - hour_ns + year_ns);
	assert_written(&fixture, 0, 0, (uint64_t[]){3, 12, 48}, 3);
	assert_written(&fixture, begin_ns - hour_ns, begin_ns + hour_ns, (uint64_t[]){3, 12}, 2);
	assert_written(&fixture, begin_ns, begin_ns + year_ns / 2, (uint64_t[]){3}, 1);
	assert_written(&fixture, begin_ns + hour_ns, 0, (uint64_t[]){48}, 1);
	end(&fixture);
}

CASE(the_oldest_make_room)
{
	struct fixture fixture;
	struct output out;

	begin(&fixture, 0);
	for (uint64_t i = 1; i <= PERIODS_KEPT + 1; i++)
		second(&fixture, i);
	assert_int_equal(fixture.periods.levels[0].count, PERIODS_KEPT);
	assert_period(&fixture, 0, 1, PERIODS_KEPT + 1);
	assert_period(&fixture, 1, 1, 2);
	/* the last two, the oldest first */
	assert_int_equal(output_init(&out, -1), 0);
	periods_write(&fixture.periods, &out, 0, fixture.now_ns - 2 * NS_PER_S, 0);
	output_char(&out, '\0');
	assert_non_null(strstr(out.buffer, "\"user\":720}"));
	assert_true(strstr(out.buffer, "\"user\":720}") < strstr(out.buffer, "\"user\":721}"));
	assert_null(strstr(out.buffer, "\"user\":719}"));
	output_release(&out);
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_period_has_what_was_counted_in_it),
		cmocka_unit_test(time_that_was_not_measured_is_in_none),
		cmocka_unit_test(a_clock_that_is_set_changes_no_figure),
		cmocka_unit_test(the_oldest_make_room),
	};

	return RUN(cases);
}
