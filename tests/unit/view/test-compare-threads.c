// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of what two recordings of threads differ in. */
#include "test.h"

#include <locale.h>

#include "code_time.h"
#include "view/compare_threads.h"

#define MS 1000000ULL

/* Two recordings, and what the table says of them. */
struct made {
	struct share_keys keys;
	struct shares sides[2];
	struct session_info session;
	struct output out;
};

static void begin(struct made *made)
{
	setlocale(LC_ALL, "C.UTF-8");
	*made = (struct made){.session.wire = {.source = WIRE_SOURCE_BPF,
					       .states = ~0U,
					       .metrics = ~0U,
					       .flags = WIRE_SESSION_BLAME}};
	for (int i = 0; i < 2; i++)
		shares_begin(&made->sides[i], &made->keys);
	assert_int_equal(output_init(&made->out, -1), 0);
}

/* `program` waits for a lock that it has itself, in `function`, 20 intervals of each side long. */
static void add(struct made *made, const char *program, enum wire_state meanwhile,
		const char *function)
{
	struct row row = {.tid = 1, .pid = 1, .threads = 1, .observed_ns = 100 * MS};
	struct blame blame = {.state = STATE_LOCK,
			      .kind = WIRE_CULPRIT_THREAD,
			      .total_ns = 100 * MS,
			      .count = 1,
			      .has_meanwhile = true,
			      .meanwhile = {.state = (__u8)meanwhile}};

	row.states_ns[STATE_LOCK] = 100 * MS;
	snprintf(row.process, sizeof(row.process), "%s", program);
	snprintf(blame.victim.process, sizeof(blame.victim.process), "%s", program);
	snprintf(blame.culprit.process, sizeof(blame.culprit.process), "%s", program);
	for (uint64_t i = 0; i < 40; i++) {
		struct interval interval = {.start_ns = i / 2 * 100 * MS,
					    .end_ns = (i / 2 + 1) * 100 * MS,
					    .rows = &row,
					    .row_count = 1,
					    .blames = &blame,
					    .blame_count = 1,
					    .session = &made->session};
		struct shares *side = &made->sides[i % 2];

		assert_int_equal(shares_add(side, &interval), 0);
		add_code_time(side, program, STATE_LOCK, function, 100 * MS);
	}
}

/* With all rows. */
static const char *table(struct made *made)
{
	static const char *const paths[] = {"a.dwell", "b.dwell"};
	struct thread_comparison pair = {.paths = paths, .damage = {"", ""}, .all = true};
	struct share_comparison comparison = {0};
	struct error error = {0};

	assert_int_equal(share_comparison_make(&comparison, &made->sides[0], &made->sides[1]), 0);
	pair.comparison = &comparison;
	assert_int_equal(compare_threads_sort(&pair, NULL, &error), 0);
	compare_threads_table(&made->out, &pair);
	output_char(&made->out, '\0');
	free((void *)pair.order);
	share_comparison_release(&comparison);
	return made->out.buffer;
}

static void end(struct made *made)
{
	output_release(&made->out);
	shares_release(&made->sides[0]);
	shares_release(&made->sides[1]);
	share_keys_release(&made->keys);
}

CASE(what_a_culprit_did_meanwhile_is_not_cut)
{
	struct made made;

	begin(&made);
	add(&made, "transaction-log", WIRE_RUNNABLE, "main");
	assert_non_null(
		strstr(table(&made), "ended by transaction-log itself, meanwhile runnable  "));
	end(&made);
}

CASE(a_name_that_is_cut_says_so)
{
	struct made made;

	begin(&made);
	add(&made, "db", WIRE_DISK,
	    "storage::engine::BufferPool<storage::Page>::evict_until_free()");
	assert_non_null(
		strstr(table(&made), "  in …e::BufferPool<storage::Page>::evict_until_free() "));
	end(&made);
}

/* It waits for a lock in `rest`, as long as chance has it, and in B for 5 ms of 100 in `added`,
 * too. */
static void add_part(struct made *made, int side, int rest_ms)
{
	uint64_t rest_ns = (uint64_t)rest_ms * MS, added_ns = side ? 5 * MS : 0;
	struct row row = {
		.tid = 1, .pid = 1, .threads = 1, .observed_ns = 100 * MS, .process = "db"};
	struct interval interval = {
		.end_ns = 100 * MS, .rows = &row, .row_count = 1, .session = &made->session};

	row.states_ns[STATE_LOCK] = rest_ns + added_ns;
	row.states_ns[STATE_IDLE] = 100 * MS - rest_ns - added_ns;
	assert_int_equal(shares_add(&made->sides[side], &interval), 0);
	add_code_time(&made->sides[side], "db", STATE_LOCK, "rest", rest_ns);
	if (added_ns)
		add_code_time(&made->sides[side], "db", STATE_LOCK, "added", added_ns);
}

CASE(what_may_be_chance_is_not_denied)
{
	struct made made;
	const char *said;

	begin(&made);
	for (int i = 0; i < 20; i++)
		for (int side = 0; side < 2; side++)
			add_part(&made, side, 20 + i * 7 % 20 * 2 + side * (i % 3));
	said = table(&made);
	assert_non_null(strstr(said,
			       "db waits for locks: 39 % -> 45 % of the time, which alone may "
			       "be chance; in added (+5.0 %)"));
	assert_non_null(strstr(said, "in states that are not among the worse, 1 cause got worse"));
	end(&made);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(what_a_culprit_did_meanwhile_is_not_cut),
		cmocka_unit_test(a_name_that_is_cut_says_so),
		cmocka_unit_test(what_may_be_chance_is_not_denied),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
