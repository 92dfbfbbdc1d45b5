// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <math.h>

#include "model/code_shares.h"
#include "model/share_comparison.h"

#define MS 1000000ULL

/* Two recordings, made of intervals of 100 ms unless a case says so. */
struct pair {
	struct share_keys keys;
	struct shares sides[2];
	struct session_info sessions[2];
	struct share_comparison comparison;
	uint64_t now_ns;
};

static void begin(struct pair *pair)
{
	*pair = (struct pair){.now_ns = 1000 * MS};
	for (int i = 0; i < 2; i++) {
		shares_begin(&pair->sides[i], &pair->keys);
		pair->sessions[i].wire = (struct wire_session){.source = WIRE_SOURCE_BPF,
							       .states = ~0U,
							       .metrics = ~0U,
							       .flags = WIRE_SESSION_BLAME};
	}
}

static void end(struct pair *pair)
{
	share_comparison_release(&pair->comparison);
	shares_release(&pair->sides[0]);
	shares_release(&pair->sides[1]);
	share_keys_release(&pair->keys);
}

static struct row row_of(uint32_t tid, const char *process)
{
	struct row row = {.tid = tid, .pid = tid, .threads = 1};

	snprintf(row.process, sizeof(row.process), "%s", process);
	return row;
}

/* What of an interval is not spent in `state` is idle. */
static struct row waiting(uint32_t tid, const char *process, enum state state, uint64_t ns,
			  uint64_t length_ns)
{
	struct row row = row_of(tid, process);

	row.observed_ns = length_ns;
	row.states_ns[state] = ns;
	row.states_ns[STATE_IDLE] = ns < length_ns ? length_ns - ns : 0;
	return row;
}

static void add(struct pair *pair, int side, uint64_t length_ns, struct row *rows, size_t row_count,
		struct blame *blames, size_t blame_count)
{
	struct interval interval = {.start_ns = pair->now_ns,
				    .end_ns = pair->now_ns + length_ns,
				    .rows = rows,
				    .row_count = row_count,
				    .blames = blames,
				    .blame_count = blame_count,
				    .session = &pair->sessions[side]};

	pair->now_ns += length_ns;
	assert_int_equal(shares_add(&pair->sides[side], &interval), 0);
}

/* `program` waits `ns` of each of `count` intervals, give or take a little. */
static void add_many(struct pair *pair, int side, int count, const char *program, enum state state,
		     uint64_t ns)
{
	for (int i = 0; i < count; i++) {
		uint64_t off_ns = (uint64_t)(i * 7 % 5) * MS / 4;
		struct row row = waiting(1, program, state, ns ? ns + off_ns : 0, 100 * MS);

		add(pair, side, 100 * MS, &row, 1, NULL, 0);
	}
}

static void compare(struct pair *pair)
{
	assert_int_equal(share_comparison_make(&pair->comparison, &pair->sides[0], &pair->sides[1]),
			 0);
}

/* The first row of that; NULL: there is none. */
static const struct share_row *find(const struct pair *pair, enum share_level level,
				    const char *program, enum state state)
{
	for (size_t i = 0; i < pair->comparison.count; i++) {
		const struct share_row *row = &pair->comparison.rows[i];

		if (row->key->level == level &&
		    !strncmp(share_name(&pair->keys, row->key->program), program,
			     SHARE_NAME_BYTES) &&
		    (level == SHARE_PROGRAM || row->key->state == state))
			return row;
	}
	return NULL;
}

static enum share_verdict verdict_of(uint64_t a_ns, uint64_t b_ns, enum state state, int count)
{
	struct pair pair;
	const struct share_row *row;
	enum share_verdict verdict;

	begin(&pair);
	add_many(&pair, 0, count, "db", state, a_ns);
	add_many(&pair, 1, count, "db", state, b_ns);
	compare(&pair);
	row = find(&pair, SHARE_STATE, "db", state);
	verdict = row ? row->verdict : SHARE_IS_UNKNOWN;
	end(&pair);
	return verdict;
}

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

static struct blame blame_of(const char *victim, enum state state, const char *culprit, uint64_t ns)
{
	struct blame blame = {.state = state,
			      .kind = WIRE_CULPRIT_THREAD,
			      .total_ns = ns,
			      .count = 1,
			      .has_meanwhile = true,
			      .meanwhile = {.state = WIRE_DISK}};

	snprintf(blame.victim.process, sizeof(blame.victim.process), "%s", victim);
	snprintf(blame.culprit.process, sizeof(blame.culprit.process), "%s", culprit);
	return blame;
}

CASE(who_made_it_worse_is_found)
{
	struct pair pair;
	const struct share_row *worse, *most;

	begin(&pair);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 20; i++) {
			uint64_t more = side ? 20 * MS : 0, off = (uint64_t)(i % 3) * MS;
			struct row row =
				waiting(1, "db", STATE_RUNNABLE, 15 * MS + more + off, 100 * MS);
			struct blame blames[] = {
				blame_of("db", STATE_RUNNABLE, "web", 10 * MS + off),
				blame_of("db", STATE_RUNNABLE, "backup", 5 * MS + more),
			};

			add(&pair, side, 100 * MS, &row, 1, blames, 2);
		}
	compare(&pair);
	worse = find(&pair, SHARE_STATE, "db", STATE_RUNNABLE);
	assert_int_equal(worse->verdict, SHARE_IS_WORSE);
	most = share_comparison_most(&pair.comparison, worse, SHARE_CULPRIT);
	assert_non_null(most);
	assert_string_equal(share_name(&pair.keys, most->key->culprit), "backup");
	assert_true(fabs(most->change - .2) < 1e-9);
	assert_int_equal(pair.comparison.verdicts[SHARE_IS_WORSE], 1);
	end(&pair);
}

/* The third interval says who ended the wait that went on in the two before. */
CASE(a_wait_that_went_on_is_owed_to_who_ended_it)
{
	struct pair pair;
	struct blame open = blame_of("db", STATE_LOCK, "", 100 * MS);
	struct blame ended = blame_of("db", STATE_LOCK, "holder", 50 * MS);
	uint64_t known_ns = 0, open_ns = 0;

	open.kind = WIRE_CULPRIT_UNKNOWN;
	open.goes_on = true;
	open.has_meanwhile = false;
	ended.earlier_ns = 250 * MS; /* some of it before the first interval */
	begin(&pair);
	for (int i = 0; i < 3; i++) {
		struct row row = waiting(1, "db", STATE_LOCK, i < 2 ? 100 * MS : 50 * MS, 100 * MS);

		add(&pair, 0, 100 * MS, &row, 1, i < 2 ? &open : &ended, 1);
	}
	for (size_t i = 0; i < pair.keys.keys.count; i++) {
		const struct share_key *key = share_key_at(&pair.keys, i);
		const struct series *series = shares_find(&pair.sides[0], i);

		if (key->level != SHARE_CULPRIT || !series)
			continue;
		if (key->flags & SHARE_GOES_ON)
			open_ns += series_total_ns(series);
		else
			known_ns += series_total_ns(series);
		for (int k = 0; k < 2; k++)
			assert_int_equal(series->ns[k], 100 * MS);
	}
	assert_int_equal(known_ns, 250 * MS);
	assert_int_equal(open_ns, 0);
	end(&pair);
}

/* In A no wait has ended, so nothing is known of who it will be. */
CASE(who_is_not_known_yet_may_be_the_same)
{
	struct pair pair;
	struct row row = waiting(1, "db", STATE_LOCK, 100 * MS, 100 * MS);
	struct blame open = blame_of("db", STATE_LOCK, "", 100 * MS);
	struct blame ended = blame_of("db", STATE_LOCK, "holder", 100 * MS);
	int culprits = 0;

	open.kind = WIRE_CULPRIT_UNKNOWN;
	open.goes_on = true;
	open.has_meanwhile = false;
	begin(&pair);
	for (int i = 0; i < 20; i++) {
		add(&pair, 0, 100 * MS, &row, 1, &open, 1);
		add(&pair, 1, 100 * MS, &row, 1, &ended, 1);
	}
	compare(&pair);
	for (size_t i = 0; i < pair.comparison.count; i++) {
		const struct share_row *one = &pair.comparison.rows[i];

		if (one->key->level != SHARE_CULPRIT || one->key->kind != WIRE_CULPRIT_THREAD)
			continue;
		assert_int_equal(one->verdict, SHARE_IS_UNDECIDED);
		culprits++;
	}
	assert_int_equal(culprits, 1);
	end(&pair);
}

/* On one side it is known where it waits; on the other no stack was taken. */
CASE(code_without_a_stack_may_be_the_same)
{
	struct pair pair;
	struct row row = waiting(1, "db", STATE_LOCK, 100 * MS, 100 * MS);

	begin(&pair);
	for (int i = 0; i < 20; i++) {
		add(&pair, 0, 100 * MS, &row, 1, NULL, 0);
		assert_int_equal(shares_add_code(&pair.sides[0], "db", STATE_LOCK, "other", MS), 0);
		add(&pair, 1, 100 * MS, &row, 1, NULL, 0);
		assert_int_equal(shares_add_code(&pair.sides[1], "db", STATE_LOCK, "main", 99 * MS),
				 0);
	}
	compare(&pair);
	assert_int_equal(find(&pair, SHARE_CODE, "db", STATE_LOCK)->verdict, SHARE_IS_UNDECIDED);
	end(&pair);
	/* with stacks of all of it, it is another function */
	begin(&pair);
	for (int i = 0; i < 20; i++) {
		for (int side = 0; side < 2; side++) {
			add(&pair, side, 100 * MS, &row, 1, NULL, 0);
			assert_int_equal(shares_add_code(&pair.sides[side], "db", STATE_LOCK,
							 side ? "main" : "other", 100 * MS),
					 0);
		}
	}
	compare(&pair);
	assert_true(find(&pair, SHARE_CODE, "db", STATE_LOCK)->verdict != SHARE_IS_UNDECIDED);
	end(&pair);
}

/* exec in a thread that is not the leader: the leader's end, and the one that is called as it was.
 */
CASE(two_rows_of_one_identity_are_one_thread)
{
	struct code_shares code = {.count = 0};
	struct pair pair;
	struct row rows[3] = {row_of(1, "db"), row_of(1, "db"), row_of(2, "web")};
	struct interval interval = {
		.start_ns = 0, .end_ns = 100 * MS, .rows = rows, .row_count = 3};
	const struct share_row *of[2];

	begin(&pair);
	interval.session = &pair.sessions[0];
	rows[1].states_ns[STATE_USER] = 60 * MS;
	rows[2].states_ns[STATE_USER] = 20 * MS;
	for (uint32_t tid = 1; tid <= 2; tid++) {
		struct wire_spent spent = {
			.header = {.size = sizeof(spent), .kind = WIRE_SPENT, .time_ns = 50 * MS},
			.left_ns = 50 * MS,
			.ready_ns = 50 * MS,
			.tid = tid,
			.start_ns = rows[tid].start_ns,
			.inverse = WIRE_SPENT_CERTAIN,
			.site = {.state = WIRE_ON_CPU},
			.flags = WIRE_SPENT_IN_USER_MODE};

		assert_int_equal(code_shares_feed(&code, &spent.header), 0);
	}
	assert_int_equal(shares_add(&pair.sides[0], &interval), 0);
	assert_int_equal(code_shares_add(&code, &pair.sides[0], &interval), 0);
	assert_int_equal(shares_add_code(&pair.sides[1], "db", STATE_USER, "", MS), 0);
	compare(&pair);
	of[0] = find(&pair, SHARE_CODE, "db", STATE_USER);
	of[1] = find(&pair, SHARE_CODE, "web", STATE_USER);
	assert_int_equal(of[0]->sides[0].total_ns, 60 * MS);
	assert_int_equal(of[1]->sides[0].total_ns, 20 * MS);
	code_shares_release(&code);
	end(&pair);
}

/* What was not asked for is not gone, nor new. */
CASE(a_part_of_the_machine_is_compared_by_what_was_asked_for)
{
	for (int targets = 0; targets < 4; targets++) {
		struct pair pair;
		const struct share_row *rows[2];

		begin(&pair);
		for (int side = 0; side < 2; side++) {
			pair.sessions[side].wire.flags |=
				targets >> side & 1 ? WIRE_SESSION_TARGETED : 0;
			add_many(&pair, side, 10, "db", STATE_LOCK, 30 * MS);
		}
		add_many(&pair, 0, 10, "first", STATE_LOCK, 30 * MS);
		add_many(&pair, 1, 10, "second", STATE_LOCK, 30 * MS);
		compare(&pair);
		rows[0] = find(&pair, SHARE_STATE, "first", STATE_LOCK);
		rows[1] = find(&pair, SHARE_STATE, "second", STATE_LOCK);
		/* missing in B, and only A is of the whole machine */
		assert_int_equal(rows[0]->verdict == SHARE_IS_UNKNOWN, targets == 2);
		assert_int_equal(rows[1]->verdict == SHARE_IS_UNKNOWN, targets == 1);
		assert_int_equal(!find(&pair, SHARE_PROGRAM, "first", STATE_LOCK), targets == 2);
		assert_true(find(&pair, SHARE_STATE, "db", STATE_LOCK)->verdict !=
			    SHARE_IS_UNKNOWN);
		end(&pair);
	}
}

CASE(without_blame_on_both_sides_there_are_no_culprits)
{
	struct pair pair;
	struct row row = waiting(1, "db", STATE_LOCK, 50 * MS, 100 * MS);
	struct blame blame = blame_of("db", STATE_LOCK, "holder", 50 * MS);

	begin(&pair);
	pair.sessions[1].wire.flags = 0;
	for (int i = 0; i < 5; i++) {
		add(&pair, 0, 100 * MS, &row, 1, &blame, 1);
		add(&pair, 1, 100 * MS, &row, 1, NULL, 0);
	}
	compare(&pair);
	assert_null(find(&pair, SHARE_CULPRIT, "db", STATE_LOCK));
	assert_non_null(find(&pair, SHARE_STATE, "db", STATE_LOCK));
	end(&pair);
}

CASE(what_one_side_does_not_measure_is_not_zero)
{
	struct pair pair;
	const struct share_row *row;

	begin(&pair);
	pair.sessions[1].wire.states = ~(1U << WIRE_STOLEN);
	add_many(&pair, 0, 10, "db", STATE_STOLEN, 30 * MS);
	add_many(&pair, 1, 10, "db", STATE_STOLEN, 0);
	compare(&pair);
	row = find(&pair, SHARE_STATE, "db", STATE_STOLEN);
	assert_true(row->sides[0].known && !row->sides[1].known && isnan(row->change));
	assert_int_equal(row->verdict, SHARE_IS_UNKNOWN);
	/* and nothing of it is in the sum of what was lost */
	assert_null(find(&pair, SHARE_PROGRAM, "db", STATE_STOLEN));
	end(&pair);
}

static struct wire_reason reason_of(uint32_t tid, uint64_t ns)
{
	return (struct wire_reason){.tid = tid,
				    .origin_ns = 7,
				    .total_ns = ns,
				    .site = {.state = WIRE_LOCK, .detail = WIRE_DETAIL_FUTEX_LOCK}};
}

/* `each_ns` of the lock's time in each interval have a reason. */
static bool reasons_are_compared(uint64_t each_ns)
{
	struct pair pair;
	const struct share_row *found;
	bool result;

	begin(&pair);
	for (int side = 0; side < 2; side++)
		for (unsigned int i = 1; i <= 10; i++) {
			struct row row = waiting(1, "db", STATE_LOCK, 50 * MS, 100 * MS);
			struct wire_reason reason = reason_of(1, i * each_ns);
			struct interval interval = {.start_ns = i * 100 * MS,
						    .end_ns = (i + 1) * 100 * MS,
						    .rows = &row,
						    .row_count = 1,
						    .reasons = &reason,
						    .reason_count = 1,
						    .session = &pair.sessions[side]};

			assert_int_equal(shares_add(&pair.sides[side], &interval), 0);
		}
	compare(&pair);
	found = find(&pair, SHARE_REASON, "db", STATE_LOCK);
	if (found) /* cumulative ones are counted once */
		assert_int_equal(found->sides[0].total_ns, 10 * each_ns);
	result = found;
	end(&pair);
	return result;
}

CASE(reasons_are_compared_where_they_cover_the_state)
{
	assert_true(reasons_are_compared(50 * MS));
	assert_true(reasons_are_compared(46 * MS));
	assert_false(reasons_are_compared(40 * MS));
}

/* A rotated file begins in the middle of a session. */
CASE(reasons_of_before_the_baseline_are_not_counted)
{
	struct pair pair;
	struct row row = waiting(1, "db", STATE_LOCK, 50 * MS, 100 * MS);
	struct wire_reason base = reason_of(1, 10000 * MS), reason = reason_of(1, 10010 * MS);
	struct interval interval = {.start_ns = 0,
				    .end_ns = 100 * MS,
				    .rows = &row,
				    .row_count = 1,
				    .reasons = &reason,
				    .reason_count = 1,
				    .is_first = true,
				    .base_reasons = &base,
				    .base_reason_count = 1};
	struct share_key key = {.level = SHARE_REASON, .state = STATE_LOCK, .reason = reason.site};

	begin(&pair);
	interval.session = &pair.sessions[0];
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shares_add(&pair.sides[0], &interval), 0);
		reason.total_ns += 30 * MS;
		interval.is_first = false;
	}
	assert_int_equal(series_total_ns(shares_find(
				 &pair.sides[0], interned_add(&pair.keys.keys, &key, sizeof(key)))),
			 40 * MS);
	end(&pair);
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
				assert_int_equal(shares_add_code(&pair.sides[side], "db",
								 STATE_LOCK, name, MS / 10),
						 0);
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
		cmocka_unit_test(who_made_it_worse_is_found),
		cmocka_unit_test(a_wait_that_went_on_is_owed_to_who_ended_it),
		cmocka_unit_test(who_is_not_known_yet_may_be_the_same),
		cmocka_unit_test(two_rows_of_one_identity_are_one_thread),
		cmocka_unit_test(a_part_of_the_machine_is_compared_by_what_was_asked_for),
		cmocka_unit_test(code_without_a_stack_may_be_the_same),
		cmocka_unit_test(without_blame_on_both_sides_there_are_no_culprits),
		cmocka_unit_test(what_one_side_does_not_measure_is_not_zero),
		cmocka_unit_test(reasons_are_compared_where_they_cover_the_state),
		cmocka_unit_test(reasons_of_before_the_baseline_are_not_counted),
		cmocka_unit_test(many_rows_make_chance_less_surprising),
		cmocka_unit_test(what_else_is_recorded_takes_nothing_from_the_states),
		cmocka_unit_test(more_programs_than_can_be_kept_are_not_called_gone),
		cmocka_unit_test(workers_of_the_kernel_are_one_program),
		cmocka_unit_test(a_program_is_worse_by_what_it_lost_in_all),
		cmocka_unit_test(nothing_can_be_compared_with_nothing),
	};

	return RUN(cases);
}
