// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates of profiles over many trials: of few stacks, and of threads shorter than what one
 * stands for. */
#include "test.h"

#include "model/made-profile.h"

/* Minimal standard (Park and Miller 1988). */
static double drawn(uint32_t *seed)
{
	*seed = (uint32_t)((uint64_t)*seed * 48271 % 2147483647);
	return *seed / 2147483647.0;
}

/* 4,000 waits of two kinds, of which some hundred are chosen: 300 times over. */
CASE(shares_are_right_on_average_and_within_their_errors)
{
	const double short_ns = 100, long_ns = 3000, truth = 3600 * short_ns;
	double sum = 0;
	unsigned int inside = 0, rounds = 300;
	uint32_t seed = 42;

	for (unsigned int round = 0; round < rounds; round++) {
		struct profile *profile = make();
		const struct profile_spot *found;

		for (int i = 0; i < 4000; i++) {
			bool is_long = i % 10 == 0;
			double length = is_long ? long_ns : short_ns;
			/* what is expected is wrong half of the time */
			double expected = drawn(&seed) < 0.5 ? length : 500;
			double chance = fmin(1, expected / 5000);
			struct wire_spent one = away(WIRE_IPC, 1000, 1000 + (uint64_t)length,
						     1000 + (uint64_t)length, chance,
						     is_long ? ON_WAIT : ON_COMPUTE);

			if (drawn(&seed) < chance)
				feed(profile, &one.header);
		}
		end(profile,
		    (const uint64_t[STATES]){[STATE_IPC] = (uint64_t)(truth + 400 * long_ns)});
		found = spot(profile, COMPUTES, STATE_IPC);
		assert_non_null(found);
		sum += found->self.ns;
		inside += fabs(found->self.ns - truth) <= 1.96 * estimate_error(&found->self);
		assert_near(found->self.ns + spot(profile, WAITS, STATE_IPC)->self.ns,
			    truth + 400 * long_ns);
		profile_free(profile);
	}
	assert_true(fabs(sum / rounds / truth - 1) < 0.02);
	assert_true(inside > rounds * 90 / 100 && inside < rounds * 99 / 100);
}

/* Waits of `length`, each taken with that probability. */
static void feed_waits(struct profile *profile, unsigned int count, uint64_t length, double chance,
		       uint32_t stack, uint32_t *seed)
{
	const struct wire_spent one =
		away(WIRE_SLEEP, 1000, 1000 + length, 1000 + length, chance, stack);

	for (unsigned int i = 0; i < count; i++)
		if (chance >= 1 || drawn(seed) < chance)
			feed(profile, &one.header);
}

/* Half of the time is in 20 waits that are taken for certain; of 4,000 others some hundred are. */
CASE(what_is_known_is_exact_and_the_rest_within_its_error)
{
	const double known_ns = 20 * 30000, short_ns = 3600 * 100, longer_ns = 400 * 600;
	unsigned int inside = 0, rounds = 400;
	uint32_t seed = 7;

	for (unsigned int round = 0; round < rounds; round++) {
		struct profile *profile = make();
		const struct profile_spot *found;

		feed_waits(profile, 20, 30000, 1, ON_WAIT, &seed);
		feed_waits(profile, 3600, 100, 1.0 / 32, ON_COMPUTE, &seed);
		feed_waits(profile, 400, 600, 1.0 / 4, ON_RECURSION, &seed);
		end(profile, (const uint64_t[STATES]){
				     [STATE_SLEEP] = (uint64_t)(known_ns + short_ns + longer_ns)});
		found = spot(profile, WAITS, STATE_SLEEP);
		assert_near(found->self.ns, known_ns);
		assert_near(estimate_error(&found->self), 0);
		found = spot(profile, COMPUTES, STATE_SLEEP);
		inside += fabs(found->self.ns - short_ns) <= estimate_error(&found->self);
		assert_true(fabs(found->self.ns + spot(profile, RECURSES, STATE_SLEEP)->self.ns +
				 known_ns -
				 (double)profile_states(profile)[STATE_SLEEP].sampled_ns) <= 1);
		profile_free(profile);
	}
	assert_true(inside > rounds * 60 / 100 && inside < rounds * 76 / 100);
}

/* Of the program "it". */
static struct row thread_row(uint32_t tid, bool ended)
{
	return (struct row){.tid = tid,
			    .pid = TID,
			    .threads = 1,
			    .start_ns = 1,
			    .comm = "worker",
			    .process = "it",
			    .exited = ended};
}

static void feed_of(struct profile *profile, struct wire_spent record, uint32_t tid)
{
	record.tid = tid;
	feed(profile, &record.header);
}

static void end_rows(struct profile *profile, struct row *rows, size_t count)
{
	const struct wire_profile quality = {
		.header = {.size = sizeof(quality), .kind = WIRE_PROFILE}, .frequency = 100};
	struct interval interval = {.rows = rows, .row_count = count};

	feed(profile, &quality.header);
	assert_int_equal(profile_add_interval(profile, &interval), 0);
	assert_int_equal(profile_end(profile), 0);
}

#define SHORT_THREADS 2000

/* How often an estimate was within two standard errors of the truth, and what it was on average. */
struct trial {
	double sum;
	unsigned int inside;
};

static void note(struct trial *trial, struct profile *profile, uint32_t frame, enum state state,
		 double truth)
{
	const struct profile_spot *found = spot(profile, frame, state);

	assert_non_null(found);
	trial->sum += found->self.ns / truth;
	trial->inside += fabs(found->self.ns - truth) <= 1.96 * estimate_error(&found->self);
}

static void assert_unbiased(const struct trial *trial, unsigned int rounds)
{
	assert_true(fabs(trial->sum / rounds - 1) < 0.02);
	assert_true(trial->inside > rounds * 90 / 100 && trial->inside < rounds * 99 / 100);
}

/* Of ended threads: the only row, whose times are their sum. */
static void assert_one_row(struct profile *profile, enum state state, uint64_t ns)
{
	const struct profile_thread *threads;
	size_t count, shown = 0;

	threads = profile_threads(profile, &count);
	for (size_t i = 0; i < count; i++) {
		if (!threads[i].threads)
			continue;
		shown++;
		assert_int_equal(threads[i].threads, SHORT_THREADS);
		assert_int_equal(threads[i].tid, 0);
		assert_int_equal(threads[i].pid, TID);
		assert_string_equal(threads[i].process, "it");
		assert_int_equal(threads[i].states_ns[state], ns);
	}
	assert_int_equal(shown, 1);
	assert_int_equal(profile_thread_count(profile), SHORT_THREADS);
	assert_int_equal(profile_states(profile)[state].total_ns, ns);
	assert_int_equal(profile_states(profile)[state].sampled_ns, ns);
}

/* Each has half a millisecond, in one of two functions: a sample meets one of twenty. */
CASE(code_of_short_threads_is_right_on_average_and_within_its_errors)
{
	static struct row rows[SHORT_THREADS];
	const uint64_t each_ns = NS_PER_MS / 2, all_ns = SHORT_THREADS * each_ns;
	unsigned int rounds = 200;
	struct trial trial = {0};
	uint32_t seed = 11;

	for (unsigned int round = 0; round < rounds; round++) {
		struct profile *profile = make();

		for (uint32_t i = 0; i < SHORT_THREADS; i++) {
			rows[i] = thread_row(1000 + i, true);
			rows[i].states_ns[STATE_USER] = each_ns;
			if (drawn(&seed) < 0.05)
				feed_of(profile,
					sample(i % 2 ? ON_COMPUTE : ON_RECURSION,
					       WIRE_SPENT_IN_USER_MODE),
					rows[i].tid);
		}
		end_rows(profile, rows, SHORT_THREADS);
		assert_one_row(profile, STATE_USER, all_ns);
		note(&trial, profile, COMPUTES, STATE_USER, (double)all_ns / 2);
		assert_near(spot(profile, COMPUTES, STATE_USER)->self.ns +
				    spot(profile, RECURSES, STATE_USER)->self.ns,
			    (double)all_ns);
		profile_free(profile);
	}
	assert_unbiased(&trial, rounds);
}

CASE(waits_of_short_threads_are_right_on_average_and_within_their_errors)
{
	static struct row rows[SHORT_THREADS];
	const uint64_t each_ns = 2 * NS_PER_MS, all_ns = SHORT_THREADS * each_ns;
	unsigned int rounds = 200;
	struct trial trial = {0};
	uint32_t seed = 12;

	for (unsigned int round = 0; round < rounds; round++) {
		struct profile *profile = make();

		for (uint32_t i = 0; i < SHORT_THREADS; i++) {
			/* those of one function were expected to be longer */
			double chance = i % 2 ? 0.1 : 0.3;

			rows[i] = thread_row(1000 + i, true);
			rows[i].states_ns[STATE_SLEEP] = each_ns;
			if (drawn(&seed) < chance)
				feed_of(profile,
					away(WIRE_SLEEP, 1000, 1000 + each_ns, 1000 + each_ns,
					     chance, i % 2 ? ON_COMPUTE : ON_WAIT),
					rows[i].tid);
		}
		end_rows(profile, rows, SHORT_THREADS);
		assert_one_row(profile, STATE_SLEEP, all_ns);
		note(&trial, profile, COMPUTES, STATE_SLEEP, (double)all_ns / 2);
		profile_free(profile);
	}
	assert_unbiased(&trial, rounds);
}

/* In a long life: their totals are theirs. */
CASE(threads_with_little_cpu_time_have_their_code_in_common)
{
	enum { COUNT = 100 };
	struct row rows[COUNT];
	struct profile *profile = make();
	const struct profile_thread *threads;
	const struct profile_path *paths;
	const struct profile_spot *found;
	size_t count;

	for (uint32_t i = 0; i < COUNT; i++) {
		rows[i] = thread_row(1000 + i, false);
		rows[i].states_ns[STATE_USER] = 4 * NS_PER_MS;
		rows[i].states_ns[STATE_SLEEP] = 1000;
		feed_of(profile, away(WIRE_SLEEP, 200, 1200, 1200, 1, ON_WAIT), rows[i].tid);
		if (i < 40)
			feed_of(profile,
				sample(i % 4 ? ON_COMPUTE : ON_RECURSION, WIRE_SPENT_IN_USER_MODE),
				rows[i].tid);
	}
	end_rows(profile, rows, COUNT);
	found = spot(profile, COMPUTES, STATE_USER);
	assert_near(found->self.ns / NS_PER_MS, 300);
	assert_int_equal(found->threads, 30);
	assert_int_equal(profile_states(profile)[STATE_USER].sampled_ns / NS_PER_MS, 400);
	threads = profile_threads(profile, &count);
	assert_int_equal(profile_thread_count(profile), COUNT);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(threads[i].states_ns[STATE_USER],
				 threads[i].threads ? 4 * NS_PER_MS : 0);
	paths = profile_paths(profile, &count);
	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *of = &threads[paths[i].thread];

		/* a wait is its thread's */
		assert_int_equal(of->pooled, paths[i].state == STATE_USER ? COUNT : 0);
	}
	/* two stacks, and a wait each */
	assert_int_equal(count, 2 + COUNT);
	profile_free(profile);
}

/* Of a thread that no tick meets, the kernel counts all CPU time as user time. */
CASE(user_time_of_short_threads_may_be_the_kernels)
{
	enum { COUNT = 100 };
	struct row rows[COUNT];
	struct profile *profile = make();
	const struct profile_spot *found;

	for (uint32_t i = 0; i < COUNT; i++) {
		rows[i] = thread_row(1000 + i, true);
		rows[i].states_ns[STATE_USER] = 4 * NS_PER_MS;
		if (i < 40)
			feed_of(profile, sample(ON_COMPUTE, i < 10 ? WIRE_SPENT_IN_USER_MODE : 0),
				rows[i].tid);
	}
	end_rows(profile, rows, COUNT);
	found = spot(profile, COMPUTES, STATE_USER);
	assert_near(found->self.ns / NS_PER_MS, 400);
	/* by the samples it is a quarter of that */
	assert_true(estimate_error(&found->self) / NS_PER_MS > 200);
	profile_free(profile);
}

CASE(threads_of_which_enough_is_known_are_by_themselves)
{
	struct row rows[] = {
		thread_row(1000, true), thread_row(1001, true),	 thread_row(1002, true),
		thread_row(1003, true), thread_row(1004, false),
	};
	struct profile *profile = make();
	const struct profile_thread *threads;
	size_t count;

	rows[0].states_ns[STATE_USER] = 50 * NS_PER_MS;
	rows[1].states_ns[STATE_SLEEP] = NS_PER_S;
	/* the only short one */
	rows[2].states_ns[STATE_USER] = NS_PER_MS;
	rows[3].states_ns[STATE_USER] = 70 * NS_PER_MS;
	rows[4].states_ns[STATE_USER] = 70 * NS_PER_MS;
	end_rows(profile, rows, ARRAY_SIZE(rows));
	threads = profile_threads(profile, &count);
	assert_int_equal(profile_thread_count(profile), ARRAY_SIZE(rows));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(threads[i].threads, i < ARRAY_SIZE(rows));
	profile_free(profile);
}

/* A screen asks again and again; what it has chosen is known by its place. */
CASE(short_threads_may_become_long_ones)
{
	struct row rows[] = {thread_row(1000, false), thread_row(1001, false),
			     thread_row(1002, true), thread_row(1003, true)};
	struct profile *profile = make();
	const struct profile_thread *threads;
	const struct profile_path *paths;
	size_t before, count;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i].states_ns[STATE_USER] = 20 * NS_PER_MS;
		feed_of(profile, sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE), rows[i].tid);
	}
	end_rows(profile, rows, ARRAY_SIZE(rows));
	threads = profile_threads(profile, &before);
	assert_int_equal(threads[0].threads, 1);
	assert_int_equal(threads[2].threads, 0);
	paths = profile_paths(profile, &count);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(threads[paths[i].thread].pooled, 2);
	end_rows(profile, rows, 2);
	threads = profile_threads(profile, &count);
	assert_int_equal(count, before);
	assert_int_equal(threads[0].tid, 1000);
	assert_int_equal(threads[0].states_ns[STATE_USER], 40 * NS_PER_MS);
	assert_int_equal(profile_thread_count(profile), 4);
	paths = profile_paths(profile, &count);
	assert_int_equal(count, 3);
	assert_int_equal(profile_states(profile)[STATE_USER].total_ns, 120 * NS_PER_MS);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(what_is_known_is_exact_and_the_rest_within_its_error),
		cmocka_unit_test(shares_are_right_on_average_and_within_their_errors),
		cmocka_unit_test(code_of_short_threads_is_right_on_average_and_within_its_errors),
		cmocka_unit_test(
			waits_of_short_threads_are_right_on_average_and_within_their_errors),
		cmocka_unit_test(threads_with_little_cpu_time_have_their_code_in_common),
		cmocka_unit_test(user_time_of_short_threads_may_be_the_kernels),
		cmocka_unit_test(threads_of_which_enough_is_known_are_by_themselves),
		cmocka_unit_test(short_threads_may_become_long_ones),
	};

	return RUN(cases);
}
