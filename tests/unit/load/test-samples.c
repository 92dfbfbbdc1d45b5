// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampling and what is made of samples: everything from fixed seeds, so it passes always or never.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>

#include "base/duration.h"
#include "load/reservoir.h"
#include "load/samples.h"

CASE(streams_of_random_numbers_differ)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		for (uint64_t stream = 0; stream < 50; stream++) {
			uint64_t one = random_seed(seed, stream), other;

			assert_true(one != 0);
			assert_true(one == random_seed(seed, stream));
			other = random_seed(seed, stream + 1);
			assert_true(one != other);
			assert_true(one != random_seed(seed + 1, stream));
			/* half of the bits, give or take, and not by a shift of the other */
			assert_in_range(__builtin_popcountll(one ^ other), 10, 54);
			assert_true(random_next(&one) != random_next(&other));
		}
	}
}

CASE(a_bit_of_the_seed_changes_half_of_the_state)
{
	for (unsigned int bit = 0; bit < 64; bit++) {
		unsigned int changed = 0;

		for (uint64_t seed = 0; seed < 100; seed++)
			changed += (unsigned int)__builtin_popcountll(
				random_seed(seed, 3) ^ random_seed(seed ^ 1ULL << bit, 3));
		/* 3,200 of 6,400: 5 standard deviations of 40 */
		assert_in_range(changed, 3000, 3400);
	}
}

CASE(a_random_state_is_never_zero)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ULL;

	/* the seeds of which the finaliser makes 0 */
	for (uint64_t stream = 0; stream < 100; stream++)
		assert_int_equal(random_seed(0 - (stream + 1) * golden, stream), 1);
	assert_int_equal(random_seed(0, ~0ULL), 1);
}

CASE(neighbouring_streams_are_not_correlated)
{
	uint64_t heads[64] = {0};

	/* the first draw of each of many workers: every bit is set in half of them */
	for (uint64_t stream = 0; stream < 4096; stream++) {
		uint64_t one = random_seed(42, stream), value = random_next(&one);

		for (unsigned int bit = 0; bit < 64; bit++)
			heads[bit] += value >> bit & 1;
	}
	/* 5 standard deviations of sqrt(4096)/2 = 32 */
	for (unsigned int bit = 0; bit < 64; bit++)
		assert_in_range(heads[bit], 2048 - 160, 2048 + 160);
}

static uint64_t values[RESERVOIR_SIZE + 1];

CASE(below_its_size_a_reservoir_keeps_all)
{
	struct reservoir reservoir = {.samples = values, .room = RESERVOIR_SIZE};
	uint64_t random = 1;

	values[RESERVOIR_SIZE] = 42;
	for (uint64_t i = 0; i < RESERVOIR_SIZE; i++) {
		reservoir_add(&reservoir, i * 3, &random);
		assert_true(reservoir.total == i + 1);
		assert_true(reservoir_kept(reservoir.total, RESERVOIR_SIZE) == i + 1);
	}
	assert_int_equal(random, 1); /* nothing had to be drawn */
	for (uint64_t i = 0; i < RESERVOIR_SIZE; i++)
		assert_true(values[i] == i * 3);
	for (uint64_t i = 0; i < 1000; i++)
		reservoir_add(&reservoir, 7, &random);
	assert_int_equal(reservoir.total, RESERVOIR_SIZE + 1000);
	assert_int_equal(reservoir_kept(reservoir.total, RESERVOIR_SIZE), RESERVOIR_SIZE);
	assert_int_equal(values[RESERVOIR_SIZE], 42);
}

/*
 * Each of the values has the same chance to be there at the end: of 4 times the size, a quarter.
 * The stream is cut into parts; how many of each are kept is binomial.
 */
CASE(a_reservoir_is_fair_to_all_values)
{
	enum { PARTS = 40, RUNS = 20, TIMES = 4 };
	const double part = (double)TIMES * RESERVOIR_SIZE / PARTS;
	double squares = 0, kept[PARTS] = {0};

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct reservoir reservoir = {.samples = values, .room = RESERVOIR_SIZE};
		uint64_t random = random_seed(seed, 0);

		for (uint64_t i = 0; i < TIMES * RESERVOIR_SIZE; i++)
			reservoir_add(&reservoir, i, &random);
		for (uint64_t i = 0; i < RESERVOIR_SIZE; i++)
			kept[values[i] / (uint64_t)part]++;
	}
	for (int i = 0; i < PARTS; i++) {
		double expected = RUNS * part / TIMES;
		double variance = expected * (1 - 1.0 / TIMES);

		squares += (kept[i] - expected) * (kept[i] - expected) / variance;
	}
	/* chi square of 39 degrees of freedom, of which 9 are a standard deviation */
	assert_in_range((unsigned int)squares, 10, 39 + 5 * 9);
}

CASE(a_reservoir_replaces_each_place_alike)
{
	enum { PARTS = 50 };
	double squares = 0, replaced[PARTS] = {0};
	struct reservoir reservoir = {.samples = values, .room = RESERVOIR_SIZE};
	uint64_t random = random_seed(7, 7), all = 0;

	for (uint64_t i = 0; i < 2 * RESERVOIR_SIZE; i++)
		reservoir_add(&reservoir, i, &random);
	for (uint64_t i = 0; i < RESERVOIR_SIZE; i++) {
		bool is_new = values[i] >= RESERVOIR_SIZE;

		replaced[i * PARTS / RESERVOIR_SIZE] += is_new;
		all += is_new;
		/* what was not replaced is where it was */
		assert_true(is_new || values[i] == i);
	}
	/* half of them: 5 standard deviations of less than sqrt(100000)/2 */
	assert_in_range(all, 50000 - 800, 50000 + 800);
	for (int i = 0; i < PARTS; i++) {
		double expected = (double)all / PARTS;

		squares += (replaced[i] - expected) * (replaced[i] - expected) / (expected / 2);
	}
	assert_in_range((unsigned int)squares, 10, 49 + 5 * 10);
}

CASE(the_same_seed_keeps_the_same)
{
	uint64_t sums[3];

	for (int run = 0; run < 3; run++) {
		struct reservoir reservoir = {.samples = values, .room = RESERVOIR_SIZE};
		uint64_t random = random_seed(run < 2 ? 5 : 6, 3);

		for (uint64_t i = 0; i < 3 * RESERVOIR_SIZE; i++)
			reservoir_add(&reservoir, i, &random);
		sums[run] = 0;
		for (uint64_t i = 0; i < RESERVOIR_SIZE; i++)
			sums[run] = sums[run] * 31 + values[i];
	}
	assert_true(sums[0] == sums[1]);
	assert_true(sums[0] != sums[2]);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each value `weight` times, sorted: what a summary of weighted sets stands for. */
struct expanded {
	uint64_t *items;
	uint64_t count;
};

static struct expanded expand(const struct sample_set *sets, size_t count)
{
	struct expanded all = {.items = NULL};

	for (size_t i = 0; i < count; i++)
		all.count += sets[i].total;
	all.items = malloc((all.count + 1) * sizeof(*all.items));
	all.count = 0;
	for (size_t i = 0; i < count; i++)
		for (uint64_t k = 0; k < sets[i].total; k++)
			all.items[all.count++] = sets[i].values[k % sets[i].count];
	qsort(all.items, all.count, sizeof(*all.items), by_value);
	return all;
}

static uint64_t nearest_rank(const struct expanded *all, uint64_t thousandths)
{
	/* ceil(q * n) - 1, in whole numbers */
	return all->items[(thousandths * all->count + 999) / 1000 - 1];
}

static void assert_near(double value, double expected)
{
	double room = 1e-9 * (fabs(expected) > 1 ? fabs(expected) : 1);

	if (!(fabs(value - expected) <= room))
		fail_msg("%.17g, not %.17g", value, expected);
}

/* Totals must be multiples of the counts. */
static void assert_summarized(const struct sample_set *sets, size_t count)
{
	struct expanded all = expand(sets, count);
	struct sample_summary summary;
	uint64_t buckets[SAMPLE_BUCKETS] = {0}, kept = 0;
	long double sum = 0, squares = 0, mean;

	assert_int_equal(samples_summarize(sets, count, &summary), 0);
	assert_true(summary.total == all.count);
	assert_true(summary.p50 == nearest_rank(&all, 500));
	assert_true(summary.p90 == nearest_rank(&all, 900));
	assert_true(summary.p99 == nearest_rank(&all, 990));
	assert_true(summary.p999 == nearest_rank(&all, 999));
	assert_true(summary.min == all.items[0]);
	assert_true(summary.max == all.items[all.count - 1]);
	for (uint64_t i = 0; i < all.count; i++)
		sum += all.items[i];
	mean = sum / all.count;
	for (uint64_t i = 0; i < all.count; i++)
		squares += (all.items[i] - mean) * (all.items[i] - mean);
	assert_near(summary.mean, (double)mean);
	assert_near(summary.cv, mean > 0 ? (double)(sqrtl(squares / all.count) / mean) : 0);
	for (size_t i = 0; i < count; i++) {
		kept += sets[i].count;
		for (uint64_t k = 0; k < sets[i].count; k++) {
			unsigned int bucket = 0;

			while (bucket < 63 && sets[i].values[k] >> (bucket + 1))
				bucket++;
			buckets[bucket]++;
		}
	}
	assert_true(summary.count == kept);
	assert_memory_equal(summary.buckets, buckets, sizeof(buckets));
	free(all.items);
}

/* Kinds of values: narrow, wide, few different, ties, zeros among them. */
static uint64_t some_value(int kind, uint64_t *random)
{
	uint64_t value = random_next(random);

	switch (kind) {
	case 0:
		return value % 300;
	case 1:
		return value >> (value % 64);
	case 2:
		return value % 3;
	case 3:
		return 1000000 + value % 1000;
	case 4:
		return value | 1ULL << 63;
	default:
		return value % 2 ? 0 : value >> 40;
	}
}

CASE(percentiles_are_nearest_ranks)
{
	static const uint64_t sizes[] = {1,    2,    3,	   9,	 10,	11,    49,   50,
					 51,   98,   99,   100,	 101,	199,   200,  201,
					 498,  499,  500,  501,	 999,	1000,  1001, 1002,
					 1999, 2000, 2001, 9999, 10000, 100000};
	uint64_t random = random_seed(1, 1);

	for (int kind = 0; kind < 6; kind++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct sample_set set = {values, sizes[i], sizes[i]};

			for (uint64_t k = 0; k < sizes[i]; k++)
				values[k] = some_value(kind, &random);
			assert_summarized(&set, 1);
		}
	}
}

CASE(every_small_size_is_right)
{
	uint64_t random = random_seed(2, 2);

	for (uint64_t size = 1; size <= 1100; size++) {
		struct sample_set set = {values, size, size};

		values[size - 1] = some_value((int)(size % 6), &random);
		assert_summarized(&set, 1);
	}
}

CASE(sets_are_pooled)
{
	uint64_t random = random_seed(3, 3);
	struct sample_set sets[50];

	for (size_t count = 1; count <= ARRAY_SIZE(sets); count += 7) {
		uint64_t used = 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t size = random_next(&random) % 500;

			sets[i] = (struct sample_set){values + used, size, size};
			for (uint64_t k = 0; k < size; k++)
				values[used++] = some_value((int)(i % 6), &random);
		}
		if (used)
			assert_summarized(sets, count);
	}
}

CASE(thinly_sampled_sets_weigh_more)
{
	static const uint64_t fast[] = {1, 2, 3, 4}, slow[] = {100, 200};
	/* the slow ones stand for 98 of 102 waits */
	const struct sample_set sets[] = {{fast, 4, 4}, {slow, 2, 98}};
	struct sample_summary summary;
	uint64_t random = random_seed(4, 4);

	assert_int_equal(samples_summarize(sets, 2, &summary), 0);
	assert_int_equal(summary.p50, 100);
	assert_int_equal(summary.p90, 200);
	assert_int_equal(summary.count, 6);
	assert_int_equal(summary.total, 102);
	assert_near(summary.mean, (1 + 2 + 3 + 4 + 49 * 300) / 102.0);
	assert_summarized(sets, 2);
	for (int round = 0; round < 200; round++) {
		struct sample_set some[8];
		uint64_t used = 0;

		for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
			uint64_t size = 1 + random_next(&random) % 60;

			some[i] = (struct sample_set){values + used, size,
						      size * (1 + random_next(&random) % 20)};
			for (uint64_t k = 0; k < size; k++)
				values[used++] = some_value(round % 6, &random);
		}
		assert_summarized(some, ARRAY_SIZE(some));
	}
}

CASE(weights_need_not_be_whole)
{
	static const uint64_t low[] = {10, 20}, high[] = {30, 40, 50};
	/* of 6, 20 is reached at 3; were all alike, 30 would be in the middle of 5 */
	const struct sample_set mixed[] = {{low, 2, 3}, {high, 3, 3}};
	struct sample_summary summary;
	struct sample_set set = {values, 3, 4};

	assert_int_equal(samples_summarize(mixed, 2, &summary), 0);
	assert_int_equal(summary.p50, 20);

	/* each stands for 4/3: half of 4 is reached by the second, all else by the third */
	values[0] = 30;
	values[1] = 10;
	values[2] = 20;
	assert_int_equal(samples_summarize(&set, 1, &summary), 0);
	assert_int_equal(summary.p50, 20);
	assert_int_equal(summary.p90, 30);
	assert_int_equal(summary.p999, 30);
	for (uint64_t total = 1000; total < 1200; total++) {
		set = (struct sample_set){values, 1000, total};
		for (uint64_t i = 0; i < set.count; i++)
			values[i] = set.count - i;
		assert_int_equal(samples_summarize(&set, 1, &summary), 0);
		assert_int_equal(summary.max, 1000);
		assert_in_range(summary.p50, 500, 501);
		assert_in_range(summary.p90, 900, 901);
		assert_in_range(summary.p99, 990, 991);
		assert_in_range(summary.p999, 999, 1000);
	}
}

CASE(extremes_are_summarized)
{
	struct sample_summary summary;
	struct sample_set set = {values, 1000, 1000};

	memset(values, 0, sizeof(values));
	assert_summarized(&set, 1);
	for (uint64_t i = 0; i < set.count; i++)
		values[i] = UINT64_MAX;
	assert_int_equal(samples_summarize(&set, 1, &summary), 0);
	assert_true(summary.p50 == UINT64_MAX && summary.p999 == UINT64_MAX);
	assert_true(summary.min == UINT64_MAX && summary.max == UINT64_MAX);
	assert_near(summary.cv, 0);
	assert_int_equal(summary.buckets[63], 1000);
	/* a total that a broken report may have */
	set.total = UINT64_MAX;
	values[0] = 0;
	assert_int_equal(samples_summarize(&set, 1, &summary), 0);
	assert_true(summary.p999 == UINT64_MAX && summary.min == 0);
	for (uint64_t i = 0; i < set.count; i++)
		values[i] = 12345;
	set.total = set.count;
	assert_int_equal(samples_summarize(&set, 1, &summary), 0);
	assert_int_equal(summary.p50, 12345);
	assert_near(summary.mean, 12345);
	assert_near(summary.cv, 0);
}

/* Large and close together: the difference of large sums would show nothing of it. */
CASE(a_small_variance_is_not_lost)
{
	struct sample_summary summary;
	struct sample_set set = {values, 1000, 1000};

	for (uint64_t i = 0; i < set.count; i++)
		values[i] = 1000000000000 + i % 2 * 2;
	assert_int_equal(samples_summarize(&set, 1, &summary), 0);
	assert_true(fabs(summary.cv * 1e12 - 1) < 1e-3);
}

CASE(of_nothing_nothing_is_known)
{
	static const struct sample_summary nothing;
	struct sample_summary summary = {.count = 7, .p50 = 7};
	const struct sample_set sets[] = {{NULL, 0, 0}, {values, 0, 0}};

	assert_int_equal(samples_summarize(NULL, 0, &summary), 0);
	assert_memory_equal(&summary, &nothing, sizeof(summary));
	assert_int_equal(samples_summarize(sets, 2, &summary), 0);
	assert_memory_equal(&summary, &nothing, sizeof(summary));
}

CASE(variation_is_that_of_the_population)
{
	/* mean 5, variance 4, divided by 8 and not by 7 */
	static const double known[] = {2, 4, 4, 4, 5, 5, 7, 9};
	static const double equal[] = {3, 3, 3}, zeros[] = {0, 0};

	assert_near(samples_cv(known, ARRAY_SIZE(known)), 0.4);
	assert_near(samples_cv(equal, ARRAY_SIZE(equal)), 0);
	assert_true(samples_cv(equal, 1) == 0);
	assert_true(samples_cv(zeros, ARRAY_SIZE(zeros)) == 0);
	assert_true(samples_cv(NULL, 0) == 0);
}

static const char *fine(uint64_t ns)
{
	static char text[32];

	duration_format_fine(text, sizeof(text), ns);
	return text;
}

CASE(fine_durations_have_three_digits)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} known[] = {
		{0, "0"},
		{1, "1ns"},
		{740, "740ns"},
		{999, "999ns"},
		{1000, "1.00us"},
		{2310, "2.31us"},
		{9994, "9.99us"},
		{9996, "10.0us"},
		{41200, "41.2us"},
		{99949, "99.9us"},
		{99951, "100us"},
		{142000, "142us"},
		{999499, "999us"},
		{999500, "1.00ms"},
		{8100000, "8.10ms"},
		{999999999, "1.00s"},
		{2300000000, "2.30s"},
		{99940000000, "99.9s"},
		{99999999999, "100s"},
		{100000000000, "1m40s"},
		{250000000000, "4m10s"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_string_equal(fine(known[i].ns), known[i].text);
	for (uint64_t ns = 1, step = 0; ns < 86400 * 90 * NS_PER_S; ns += 1 + ns / 173, step++)
		assert_in_range(strlen(fine(ns)), 2, 6);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(streams_of_random_numbers_differ),
		cmocka_unit_test(a_bit_of_the_seed_changes_half_of_the_state),
		cmocka_unit_test(a_random_state_is_never_zero),
		cmocka_unit_test(neighbouring_streams_are_not_correlated),
		cmocka_unit_test(below_its_size_a_reservoir_keeps_all),
		cmocka_unit_test(a_reservoir_is_fair_to_all_values),
		cmocka_unit_test(a_reservoir_replaces_each_place_alike),
		cmocka_unit_test(the_same_seed_keeps_the_same),
		cmocka_unit_test(percentiles_are_nearest_ranks),
		cmocka_unit_test(every_small_size_is_right),
		cmocka_unit_test(sets_are_pooled),
		cmocka_unit_test(thinly_sampled_sets_weigh_more),
		cmocka_unit_test(weights_need_not_be_whole),
		cmocka_unit_test(extremes_are_summarized),
		cmocka_unit_test(a_small_variance_is_not_lost),
		cmocka_unit_test(of_nothing_nothing_is_known),
		cmocka_unit_test(variation_is_that_of_the_population),
		cmocka_unit_test(fine_durations_have_three_digits),
	};

	return RUN(cases);
}
