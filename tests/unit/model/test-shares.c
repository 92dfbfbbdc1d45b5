// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs and states differ in between two recordings, and how surely. */
#include "test.h"

#include "model/made-recordings.h"

CASE(lost_time_that_grew_is_worse)
{
	assert_int_equal(verdict_of(18 * MS, 38 * MS, STATE_RUNNABLE, 20), SHARE_IS_WORSE);
	assert_int_equal(verdict_of(38 * MS, 18 * MS, STATE_RUNNABLE, 20), SHARE_IS_BETTER);
	assert_int_equal(verdict_of(0, 18 * MS, STATE_RUNNABLE, 20), SHARE_IS_NEW);
	assert_int_equal(verdict_of(18 * MS, 0, STATE_RUNNABLE, 20), SHARE_IS_GONE);
	assert_int_equal(verdict_of(18 * MS, 18 * MS, STATE_RUNNABLE, 20), SHARE_IS_SAME);
}

CASE(time_that_is_not_lost_is_never_worse)
{
	assert_int_equal(verdict_of(18 * MS, 38 * MS, STATE_SLEEP, 20), SHARE_IS_MORE);
	assert_int_equal(verdict_of(38 * MS, 18 * MS, STATE_USER, 20), SHARE_IS_LESS);
	assert_int_equal(verdict_of(0, 18 * MS, STATE_STOPPED, 20), SHARE_IS_MORE);
}

CASE(trivial_differences_do_not_count)
{
	/* by less than a tenth, and by less than 0.1 % of the time */
	assert_int_equal(verdict_of(50 * MS, 54 * MS, STATE_LOCK, 200), SHARE_IS_SAME);
	assert_int_equal(verdict_of(50 * MS, 58 * MS, STATE_LOCK, 200), SHARE_IS_WORSE);
	assert_int_equal(verdict_of(20000, 90000, STATE_LOCK, 0), SHARE_IS_UNKNOWN);
	for (int count = 20; count <= 200; count *= 10) {
		struct pair pair;

		begin(&pair);
		for (int side = 0; side < 2; side++)
			for (int i = 0; i < count; i++) {
				struct row row = waiting(1, "db", STATE_LOCK, side ? 90000 : 20000,
							 100 * MS);

				add(&pair, side, 100 * MS, &row, 1, NULL, 0);
			}
		compare(&pair);
		assert_int_equal(find(&pair, SHARE_STATE, "db", STATE_LOCK)->verdict,
				 SHARE_IS_SAME);
		end(&pair);
	}
}

CASE(what_varies_as_much_within_a_side_may_be_chance)
{
	struct pair pair;

	begin(&pair);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 20; i++) {
			uint64_t ns = (uint64_t)(i * 7 % 20 * 4 + side * 5) * MS;
			struct row row = waiting(1, "db", STATE_LOCK, ns, 100 * MS);

			add(&pair, side, 100 * MS, &row, 1, NULL, 0);
		}
	compare(&pair);
	assert_int_equal(find(&pair, SHARE_STATE, "db", STATE_LOCK)->verdict, SHARE_IS_CHANCE);
	end(&pair);
}

CASE(too_few_intervals_decide_nothing)
{
	assert_int_equal(verdict_of(18 * MS, 38 * MS, STATE_RUNNABLE, 3), SHARE_IS_UNDECIDED);
	assert_int_equal(verdict_of(0, 98 * MS, STATE_RUNNABLE, 1), SHARE_IS_UNDECIDED);
	/* what is trivial is so in any case */
	assert_int_equal(verdict_of(50 * MS, 51 * MS, STATE_RUNNABLE, 3), SHARE_IS_SAME);
}

/* What went on for half of the recording, once, may not come again. */
CASE(a_single_episode_decides_nothing)
{
	struct pair pair;

	begin(&pair);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 20; i++) {
			struct row row = waiting(1, "db", STATE_LOCK,
						 (side && i > 9 ? 80 : 10 + i % 2) * MS, 100 * MS);

			add(&pair, side, 100 * MS, &row, 1, NULL, 0);
		}
	compare(&pair);
	assert_int_equal(find(&pair, SHARE_STATE, "db", STATE_LOCK)->verdict, SHARE_IS_UNDECIDED);
	end(&pair);
}

CASE(a_short_last_interval_is_no_batch_of_its_own)
{
	struct pair pair;
	struct row row = waiting(1, "db", STATE_LOCK, 1 * MS, 1 * MS);

	begin(&pair);
	for (int side = 0; side < 2; side++) {
		add_many(&pair, side, 3, "db", STATE_LOCK, (unsigned int)(side + 1) * 20 * MS);
		add(&pair, side, 1 * MS, &row, 1, NULL, 0);
	}
	compare(&pair);
	assert_int_equal(pair.comparison.batches[0], 3);
	assert_true(share_comparison_is_short(&pair.comparison));
	assert_int_equal(find(&pair, SHARE_STATE, "db", STATE_LOCK)->verdict, SHARE_IS_UNDECIDED);
	end(&pair);
}

CASE(what_does_not_vary_is_different_if_it_differs)
{
	struct welch_set a = {.count = 5, .mean = .2, .variance = 0}, b = a;

	assert_true(series_p(&a, &b) == 1);
	b.mean = .3;
	assert_true(series_p(&a, &b) == 0);
	b.variance = NAN;
	assert_true(isnan(series_p(&a, &b)));
}

/* Intervals of any number end in at most 32 batches, and nothing is lost on the way. */
CASE(batches_are_merged_as_they_come)
{
	for (unsigned int count = 1; count < 1000; count += 37) {
		struct batches batches = {.count = 0};
		struct series series = {{0}};
		uint64_t sum = 0;

		for (unsigned int i = 0; i < count; i++) {
			if (batches_next(&batches, 100 + i % 3))
				series_halve(&series);
			series_add(&series, &batches, i);
			sum += i;
		}
		assert_true(batches.count <= BATCHES_MAX && batches.count * 2 >= 1);
		assert_true(count < BATCHES_MAX ? batches.count == count
						: batches.count >= BATCHES_MAX / 2);
		assert_int_equal(series_total_ns(&series), sum);
		assert_true(batches_duration_ns(&batches) >= 100 * count);
	}
}

/* A wait of 300 ms that ended in the last interval was in all three. */
CASE(a_long_wait_is_of_the_batches_it_was_in)
{
	struct batches batches = {.count = 0};
	struct series series = {{0}};

	for (int i = 0; i < 3; i++)
		batches_next(&batches, 100);
	series_add_back(&series, &batches, 250);
	assert_int_equal(series.ns[2], 100);
	assert_int_equal(series.ns[1], 100);
	assert_int_equal(series.ns[0], 50);
	/* what is older was not measured */
	series_add_back(&series, &batches, 1000);
	assert_int_equal(series_total_ns(&series), 550);
}

static double noise(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return (double)(*state >> 8) / (1 << 24) - .5;
}

/* A steady load whose intervals are alike their neighbours': no program may be accused. */
CASE(the_same_load_twice_has_no_difference)
{
	static const double memories[] = {0, .5, .9};
	uint32_t random = 4711;
	int found = 0;

	for (int round = 0; round < 150; round++) {
		double memory = memories[round % 3];
		struct pair pair;

		begin(&pair);
		for (int side = 0; side < 2; side++) {
			double off[10] = {0};

			for (int i = 0; i < 20 + round % 7 * 10; i++) {
				struct row rows[10];

				for (int k = 0; k < 10; k++) {
					char name[8];
					double ms;

					off[k] = memory * off[k] + noise(&random) * 20;
					ms = 30 + off[k] < 0 ? 0 : 30 + off[k];
					snprintf(name, sizeof(name), "p%d", k);
					rows[k] = waiting((uint32_t)k + 1, name, STATE_RUNNABLE,
							  (uint64_t)(ms * (double)MS), 200 * MS);
				}
				add(&pair, side, 100 * MS, rows, 10, NULL, 0);
			}
		}
		compare(&pair);
		found += pair.comparison.verdicts[SHARE_IS_WORSE] +
				 pair.comparison.verdicts[SHARE_IS_BETTER] >
			 0;
		end(&pair);
	}
	/* one in a hundred, and some allowance */
	assert_true(found <= 3);
}

/* Holm: of many rows that are only noise, a p that is small by chance is not enough. */
CASE(many_rows_make_chance_less_surprising)
{
	struct pair pair;
	const struct share_row *row;

	begin(&pair);
	add_many(&pair, 0, 6, "db", STATE_LOCK, 20 * MS);
	add_many(&pair, 1, 6, "db", STATE_LOCK, 23 * MS);
	compare(&pair);
	for (size_t i = 0; i < pair.comparison.count; i++) {
		row = &pair.comparison.rows[i];
		assert_true(isnan(row->p) || (row->adjusted >= row->p && row->adjusted <= 1));
	}
	assert_int_equal(pair.comparison.tested, 3); /* lock, idle, and all that is lost */
	end(&pair);
}

/* A state that rose, in noise, with as many functions recorded. */
static struct share_row state_beside(int functions)
{
	uint32_t random = 4711;
	struct pair pair;
	struct share_row row;

	begin(&pair);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 12; i++) {
			double ms = (side ? 42 : 20) + noise(&random) * 38;
			struct row waits =
				waiting(1, "db", STATE_LOCK, (uint64_t)(ms * (double)MS), 100 * MS);

			add(&pair, side, 100 * MS, &waits, 1, NULL, 0);
			for (int k = 0; k < functions; k++) {
				char name[8];

				snprintf(name, sizeof(name), "f%d", k);
				add_code_time(&pair.sides[side], "db", STATE_LOCK, name, MS / 10);
			}
		}
	compare(&pair);
	row = *find(&pair, SHARE_STATE, "db", STATE_LOCK);
	end(&pair);
	return row;
}

CASE(what_else_is_recorded_takes_nothing_from_the_states)
{
	struct share_row alone = state_beside(0), beside = state_beside(150);

	assert_int_equal(alone.verdict, SHARE_IS_WORSE);
	assert_int_equal(beside.verdict, SHARE_IS_WORSE);
	assert_true(alone.p == beside.p && alone.adjusted == beside.adjusted);
	/* of three rows, and one of two families */
	assert_true(alone.adjusted <= 6 * alone.p && alone.adjusted > 3 * alone.p);
	assert_true(150 * alone.p > SHARE_SIGNIFICANT);
}

CASE(more_programs_than_can_be_kept_are_not_called_gone)
{
	struct pair pair;
	struct row row = waiting(1, "late", STATE_LOCK, 50 * MS, 100 * MS);
	const struct share_row *found;

	begin(&pair);
	shares_release(&pair.sides[1]);
	share_keys_release(&pair.keys);
	pair.keys = (struct share_keys){.names = {0}};
	shares_begin(&pair.sides[0], &pair.keys);
	for (uint32_t i = 0; i <= SHARE_PROGRAMS_MAX / 2; i++) {
		char name[16];
		struct row many;

		snprintf(name, sizeof(name), "p%u", i);
		many = waiting(1, name, STATE_LOCK, 50 * MS, 100 * MS);
		add(&pair, 0, 100 * MS, &many, 1, NULL, 0);
	}
	for (int i = 0; i < 10; i++)
		add(&pair, 0, 100 * MS, &row, 1, NULL, 0);
	shares_begin(&pair.sides[1], &pair.keys);
	for (int i = 0; i < 10; i++)
		add(&pair, 1, 100 * MS, &row, 1, NULL, 0);
	assert_true(shares_folded(&pair.sides[0]) && !shares_folded(&pair.sides[1]));
	compare(&pair);
	found = find(&pair, SHARE_STATE, "late", STATE_LOCK);
	assert_int_equal(found->verdict, SHARE_IS_UNKNOWN);
	end(&pair);
}

CASE(workers_of_the_kernel_are_one_program)
{
	struct pair pair;
	struct row rows[] = {waiting(1, "kworker/0:1", STATE_DISK, 50 * MS, 100 * MS),
			     waiting(2, "kworker/u8:3+f", STATE_DISK, 50 * MS, 100 * MS)};

	begin(&pair);
	for (int i = 0; i < 10; i++) {
		add(&pair, 0, 100 * MS, &rows[0], 1, NULL, 0);
		add(&pair, 1, 100 * MS, &rows[1], 1, NULL, 0);
	}
	compare(&pair);
	assert_int_equal(pair.comparison.verdicts[SHARE_IS_SAME], 2);
	assert_int_equal(find(&pair, SHARE_STATE, "kworker", STATE_DISK)->verdict, SHARE_IS_SAME);
	end(&pair);
}

CASE(a_program_is_worse_by_what_it_lost_in_all)
{
	struct pair pair;
	const struct share_row *row;
	size_t position = 0;

	begin(&pair);
	add_many(&pair, 0, 20, "db", STATE_LOCK, 20 * MS);
	add_many(&pair, 1, 20, "db", STATE_LOCK, 40 * MS);
	compare(&pair);
	row = share_comparison_worse(&pair.comparison, .5, &position);
	assert_non_null(row);
	assert_string_equal(share_name(&pair.keys, row->key->program), "db");
	assert_null(share_comparison_worse(&pair.comparison, .5, &position));
	position = 0;
	assert_null(share_comparison_worse(&pair.comparison, 2, &position));
	end(&pair);
}

CASE(nothing_can_be_compared_with_nothing)
{
	struct pair pair;

	begin(&pair);
	compare(&pair);
	assert_int_equal(pair.comparison.count, 0);
	assert_true(share_comparison_is_short(&pair.comparison));
	end(&pair);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(lost_time_that_grew_is_worse),
		cmocka_unit_test(time_that_is_not_lost_is_never_worse),
		cmocka_unit_test(trivial_differences_do_not_count),
		cmocka_unit_test(what_varies_as_much_within_a_side_may_be_chance),
		cmocka_unit_test(too_few_intervals_decide_nothing),
		cmocka_unit_test(a_single_episode_decides_nothing),
		cmocka_unit_test(a_short_last_interval_is_no_batch_of_its_own),
		cmocka_unit_test(what_does_not_vary_is_different_if_it_differs),
		cmocka_unit_test(batches_are_merged_as_they_come),
		cmocka_unit_test(a_long_wait_is_of_the_batches_it_was_in),
		cmocka_unit_test(the_same_load_twice_has_no_difference),
		cmocka_unit_test(many_rows_make_chance_less_surprising),
		cmocka_unit_test(what_else_is_recorded_takes_nothing_from_the_states),
		cmocka_unit_test(more_programs_than_can_be_kept_are_not_called_gone),
		cmocka_unit_test(workers_of_the_kernel_are_one_program),
		cmocka_unit_test(a_program_is_worse_by_what_it_lost_in_all),
		cmocka_unit_test(nothing_can_be_compared_with_nothing),
	};

	return RUN(cases);
}
