// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of processes as a tree, of any parents at all. */
#include "test.h"

#include "tui/top_state.h"

#define ROOM 512

struct made {
	struct top_screen screen;
	struct row rows[ROOM];
	struct ordered_row order[ROOM];
};

static void begin(struct made *made)
{
	memset(made, 0, sizeof(*made));
	made->screen.order = made->order;
}

static void add(struct made *made, uint32_t pid, uint32_t parent)
{
	size_t at = made->screen.order_count++;

	assert_true(at < ROOM);
	made->rows[at] = (struct row){.pid = pid, .parent_pid = parent, .threads = 1};
	made->order[at] = (struct ordered_row){.row = &made->rows[at]};
}

/* "1 .2 ..3": pids in order, a dot for each level. */
static void expect(struct made *made, const char *expected)
{
	char text[ROOM * 16] = "";
	size_t used = 0;

	assert_int_equal(top_order_tree(&made->screen), 0);
	for (size_t i = 0; i < made->screen.order_count; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", i ? " " : "");
		for (int depth = 0; depth < made->screen.depths[i]; depth++)
			text[used++] = '.';
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%u",
					 made->screen.order[i].row->pid);
	}
	assert_string_equal(text, expected);
	free(made->screen.depths);
}

CASE(children_come_below_their_parents)
{
	static struct made made;

	begin(&made);
	expect(&made, "");
	begin(&made);
	add(&made, 7, 1);
	expect(&made, "7");
	/* among themselves as they are sorted: 10 takes the place of its child 30, the first of all
	 */
	begin(&made);
	add(&made, 30, 10);
	add(&made, 20, 1);
	add(&made, 31, 30);
	add(&made, 10, 1);
	add(&made, 29, 10);
	add(&made, 1, 0);
	expect(&made, "1 .10 ..30 ...31 ..29 .20");
}

CASE(who_has_no_parent_shown_is_a_root)
{
	static struct made made;

	begin(&made);
	add(&made, 50, 40); /* filtered out, or not watched */
	add(&made, 51, 50);
	add(&made, 60, 41);
	add(&made, 61, 60);
	add(&made, 2, 0);
	expect(&made, "50 .51 60 .61 2");
}

CASE(what_is_summed_up_is_no_parent)
{
	static struct made made;

	/* rows beyond the most that are kept are one, which has no pid; nor has who started init */
	begin(&made);
	add(&made, 0, 0);
	add(&made, 1, 0);
	add(&made, 2, 0);
	add(&made, 9, 1);
	expect(&made, "0 1 .9 2");
}

CASE(circles_are_shown_once)
{
	static struct made made;

	begin(&made);
	add(&made, 5, 5);
	expect(&made, "5");
	begin(&made);
	add(&made, 5, 6);
	add(&made, 6, 5);
	expect(&made, "5 6");
	/* with what hangs on them, beside a tree */
	begin(&made);
	add(&made, 8, 7);
	add(&made, 5, 6);
	add(&made, 1, 0);
	add(&made, 6, 7);
	add(&made, 7, 5);
	add(&made, 3, 1);
	expect(&made, "1 .3 8 5 6 7");
}

CASE(a_pid_may_come_twice)
{
	static struct made made;

	/* one has ended, another has its number; each is shown once, children below one of them */
	begin(&made);
	add(&made, 5, 1);
	add(&made, 5, 1);
	add(&made, 1, 0);
	expect(&made, "1 .5 .5");
	begin(&made);
	add(&made, 5, 1);
	add(&made, 5, 1);
	add(&made, 6, 5);
	assert_int_equal(top_order_tree(&made.screen), 0);
	assert_int_equal(made.screen.depths[0] + made.screen.depths[1] + made.screen.depths[2], 1);
	free(made.screen.depths);
}

CASE(very_deep_trees)
{
	static struct made made;

	begin(&made);
	for (uint32_t i = 300; i; i--)
		add(&made, i, i - 1);
	add(&made, 400, 1);
	assert_int_equal(top_order_tree(&made.screen), 0);
	for (size_t i = 0; i < 300; i++) {
		assert_int_equal(made.screen.order[i].row->pid, i + 1);
		assert_int_equal(made.screen.depths[i], i < UINT8_MAX ? i : UINT8_MAX);
	}
	/* and back again to the first level */
	assert_int_equal(made.screen.order[300].row->pid, 400);
	assert_int_equal(made.screen.depths[300], 1);
	free(made.screen.depths);
}

CASE(any_parents_lose_no_row)
{
	static struct made made;
	unsigned int random = 1;

	for (int round = 0; round < 2000; round++) {
		bool seen[ROOM] = {false};
		size_t count = (size_t)round % 40;

		begin(&made);
		for (size_t i = 0; i < count; i++) {
			random = random * 1103515245 + 12345;
			add(&made, (random >> 16) % 30, (random >> 22) % 30);
		}
		assert_int_equal(top_order_tree(&made.screen), 0);
		assert_int_equal(made.screen.order_count, count);
		for (size_t i = 0; i < count; i++) {
			size_t at = (size_t)(made.screen.order[i].row - made.rows);

			assert_false(seen[at]);
			seen[at] = true;
			/* a level deeper than the row above at most */
			assert_true(made.screen.depths[i] <=
				    (i ? made.screen.depths[i - 1] + 1 : 0));
		}
		free(made.screen.depths);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(children_come_below_their_parents),
		cmocka_unit_test(who_has_no_parent_shown_is_a_root),
		cmocka_unit_test(what_is_summed_up_is_no_parent),
		cmocka_unit_test(circles_are_shown_once),
		cmocka_unit_test(a_pid_may_come_twice),
		cmocka_unit_test(very_deep_trees),
		cmocka_unit_test(any_parents_lose_no_row),
	};

	return RUN(cases);
}
