// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom, in which code and for which reason two recordings differ. */
#include "test.h"

#include "model/made-recordings.h"

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
		add_code_time(&pair.sides[0], "db", STATE_LOCK, "other", MS);
		add(&pair, 1, 100 * MS, &row, 1, NULL, 0);
		add_code_time(&pair.sides[1], "db", STATE_LOCK, "main", 99 * MS);
	}
	compare(&pair);
	assert_int_equal(find(&pair, SHARE_CODE, "db", STATE_LOCK)->verdict, SHARE_IS_UNDECIDED);
	end(&pair);
	/* with stacks of all of it, it is another function */
	begin(&pair);
	for (int i = 0; i < 20; i++) {
		for (int side = 0; side < 2; side++) {
			add(&pair, side, 100 * MS, &row, 1, NULL, 0);
			add_code_time(&pair.sides[side], "db", STATE_LOCK, side ? "main" : "other",
				      100 * MS);
		}
	}
	compare(&pair);
	assert_true(find(&pair, SHARE_CODE, "db", STATE_LOCK)->verdict != SHARE_IS_UNDECIDED);
	end(&pair);
}

static void feed_baseline(struct code_shares *code, uint64_t end_ns)
{
	const struct wire_interval baseline = {
		.header = {.size = sizeof(baseline), .kind = WIRE_INTERVAL}, .end_ns = end_ns};

	assert_int_equal(code_shares_feed(code, &baseline.header), 0);
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
	feed_baseline(&code, 1);
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
	assert_int_equal(code_shares_end(&code, &pair.sides[0]), 0);
	add_code_time(&pair.sides[1], "db", STATE_USER, "", MS);
	compare(&pair);
	of[0] = find(&pair, SHARE_CODE, "db", STATE_USER);
	of[1] = find(&pair, SHARE_CODE, "web", STATE_USER);
	assert_int_equal(of[0]->sides[0].total_ns, 60 * MS);
	assert_int_equal(of[1]->sides[0].total_ns, 20 * MS);
	code_shares_release(&code);
	end(&pair);
}

/* Of a wait of 10 s whose parts were chosen with a probability of 0.7, and of samples in few
 * intervals.
 */
CASE(code_has_what_its_profile_says)
{
	struct code_shares code = {.count = 0};
	struct row row = waiting(1, "db", STATE_SLEEP, 90 * MS, 90 * MS);
	struct interval interval = {.rows = &row, .row_count = 1};
	struct pair pair;

	begin(&pair);
	feed_baseline(&code, 1000 * MS);
	interval.session = &pair.sessions[0];
	row.states_ns[STATE_USER] = 10 * MS;
	row.observed_ns = 100 * MS;
	for (uint64_t i = 0; i < 100; i++) {
		struct wire_spent spent = {
			.header = {.size = sizeof(spent), .kind = WIRE_SPENT},
			.tid = 1,
			.pid = 1,
			.inverse = WIRE_SPENT_CERTAIN * 10 / 7,
			.site = {.state = WIRE_SLEEP},
			.flags = i ? WIRE_SPENT_MORE : 0,
		};

		interval.start_ns = (1000 + 100 * i) * MS;
		interval.end_ns = interval.start_ns + 100 * MS;
		spent.left_ns = interval.start_ns;
		spent.ready_ns = spent.header.time_ns = interval.end_ns - 10 * MS;
		assert_int_equal(code_shares_feed(&code, &spent.header), 0);
		spent.site.state = WIRE_ON_CPU;
		spent.flags = WIRE_SPENT_IN_USER_MODE;
		spent.left_ns = spent.ready_ns = spent.header.time_ns;
		if (i % 10 == 0)
			assert_int_equal(code_shares_feed(&code, &spent.header), 0);
		assert_int_equal(shares_add(&pair.sides[0], &interval), 0);
		assert_int_equal(code_shares_add(&code, &pair.sides[0], &interval), 0);
		add(&pair, 1, 100 * MS, &row, 1, NULL, 0);
	}
	assert_int_equal(code_shares_end(&code, &pair.sides[0]), 0);
	add_code_time(&pair.sides[1], "db", STATE_SLEEP, "", MS);
	compare(&pair);
	assert_int_equal(find(&pair, SHARE_CODE, "db", STATE_SLEEP)->sides[0].total_ns / MS, 9000);
	assert_int_equal(find(&pair, SHARE_CODE, "db", STATE_USER)->sides[0].total_ns / MS, 1000);
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

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(who_made_it_worse_is_found),
		cmocka_unit_test(a_wait_that_went_on_is_owed_to_who_ended_it),
		cmocka_unit_test(who_is_not_known_yet_may_be_the_same),
		cmocka_unit_test(two_rows_of_one_identity_are_one_thread),
		cmocka_unit_test(a_part_of_the_machine_is_compared_by_what_was_asked_for),
		cmocka_unit_test(code_without_a_stack_may_be_the_same),
		cmocka_unit_test(code_has_what_its_profile_says),
		cmocka_unit_test(without_blame_on_both_sides_there_are_no_culprits),
		cmocka_unit_test(what_one_side_does_not_measure_is_not_zero),
		cmocka_unit_test(reasons_are_compared_where_they_cover_the_state),
		cmocka_unit_test(reasons_of_before_the_baseline_are_not_counted),
	};

	return RUN(cases);
}
