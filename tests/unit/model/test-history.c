// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "model/history.h"
#include "model/summary.h"

static struct row sample_row(uint32_t tid, uint64_t user_ns)
{
	struct row row = {.tid = tid, .pid = 1, .threads = 1, .start_ns = tid, .observed_ns = 1000};

	row.states_ns[STATE_USER] = user_ns;
	row.states_ns[STATE_IDLE] = 1000 - user_ns;
	row.woken = 2;
	return row;
}

CASE(identities_number_threads)
{
	struct identities identities = {0};

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(identities_add(&identities, i / 2, i % 2), i);
	assert_int_equal(identities_add(&identities, 3, 1), 7);
	assert_int_equal(identities_find(&identities, 499, 1), 999);
	assert_true(identities_find(&identities, 499, 2) == IDENTITY_NONE);
	identities_clear(&identities);
	assert_true(identities_find(&identities, 3, 1) == IDENTITY_NONE);
	identities_release(&identities);
}

CASE(history_sums_and_remembers)
{
	struct history history = {0};

	for (uint64_t i = 0; i < 70; i++) {
		struct row row = sample_row(5, i < 65 ? 0 : 1000);
		struct interval interval = {.rows = &row, .row_count = 1};

		assert_int_equal(history_add(&history, &interval, BY_THREAD), 0);
	}
	struct row row = sample_row(5, 0);
	const struct history_item *item = history_find(&history, &row, BY_THREAD);

	assert_non_null(item);
	assert_int_equal(item->sum.states_ns[STATE_USER], 5000);
	assert_int_equal(item->sum.woken, 140);
	assert_int_equal(item->intervals, 70);
	assert_int_equal(item->shares[69 % HISTORY_INTERVALS][STATE_USER], 255);
	assert_int_equal(item->shares[64 % HISTORY_INTERVALS][STATE_IDLE], 255);
	row.tid = 6;
	assert_null(history_find(&history, &row, BY_THREAD));
	history_release(&history);
}

CASE(history_forgets_the_long_gone)
{
	struct history history = {0};

	for (uint32_t i = 0; i < 600; i++) {
		struct row row = sample_row(i, 10); /* each lives for one interval */
		struct interval interval = {.rows = &row, .row_count = 1};

		assert_int_equal(history_add(&history, &interval, BY_THREAD), 0);
	}
	assert_true(history.identities.count <= 2 * HISTORY_INTERVALS + 2);
	history_release(&history);
}

CASE(a_summary_is_all_intervals_as_one)
{
	struct summary summary = {0};

	for (uint32_t i = 0; i < 3; i++) {
		struct row rows[2] = {sample_row(1, 100), sample_row(10 + i, 500)};
		struct interval interval = {.start_ns = i * 1000,
					    .end_ns = i * 1000 + 1000,
					    .losses = {.exits = 1},
					    .rows = rows,
					    .row_count = 2};

		assert_int_equal(summary_add(&summary, &interval), 0);
	}
	assert_int_equal(summary.whole.row_count, 4);
	assert_int_equal(summary.whole.end_ns - summary.whole.start_ns, 3000);
	assert_int_equal(summary.whole.losses.exits, 3);
	assert_int_equal(summary.whole.rows[0].states_ns[STATE_USER], 300);
	assert_int_equal(summary.whole.rows[0].observed_ns, 3000);
	assert_int_equal(summary.whole.rows[3].states_ns[STATE_USER], 500);
	summary_release(&summary);
}

CASE(about_keeps_the_last_word)
{
	struct about about = {0};
	struct wire_missing missing = {
		{.size = sizeof(missing), .kind = WIRE_MISSING}, "maps", "not permitted"};

	assert_int_equal(about_feed(&about, &missing.header), 1);
	assert_true(about_misses(&about, "maps"));
	*missing.why = '\0'; /* it is there again */
	assert_int_equal(about_feed(&about, &missing.header), 1);
	assert_false(about_misses(&about, "maps"));
	missing.header.kind = WIRE_THREAD;
	assert_int_equal(about_feed(&about, &missing.header), 0);
	assert_null(about_cgroup(&about, 17));
	about_release(&about);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(identities_number_threads),
		cmocka_unit_test(history_sums_and_remembers),
		cmocka_unit_test(history_forgets_the_long_gone),
		cmocka_unit_test(a_summary_is_all_intervals_as_one),
		cmocka_unit_test(about_keeps_the_last_word),
	};

	return RUN(cases);
}
