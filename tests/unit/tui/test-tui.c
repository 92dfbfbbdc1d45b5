// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <locale.h>

#include "tui/canvas.h"
#include "tui/top_screen.h"

static const char *dump(const struct canvas *canvas)
{
	static char text[65536];
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	canvas_dump(canvas, &out);
	assert_true(out.used < sizeof(text));
	memcpy(text, out.buffer, out.used);
	text[out.used] = '\0';
	output_release(&out);
	return text;
}

CASE(text_is_cut_and_made_safe)
{
	struct canvas canvas = {0};

	assert_int_equal(canvas_reset(&canvas, 3, 10), 0);
	assert_int_equal(canvas_text(&canvas, 0, 6, 20, ROLE_NORMAL, "too long"), 4);
	assert_int_equal(canvas_text(&canvas, 1, 0, 3, ROLE_NORMAL, "\x1b[31m"), 3);
	assert_int_equal(canvas_text(&canvas, 2, 0, 10, ROLE_NORMAL, "日本"), 4);
	canvas_text(&canvas, 7, 0, 10, ROLE_NORMAL, "below the screen");
	canvas_text(&canvas, 0, -5, 3, ROLE_NORMAL, "x");
	assert_string_equal(dump(&canvas), "      too…\n?[…\n日本\n");
	canvas.ascii = true;
	canvas_text(&canvas, 2, 0, 10, ROLE_NORMAL, "日本");
	assert_non_null(strstr(dump(&canvas), "\n????\n"));
	canvas_release(&canvas);
}

CASE(of_a_path_the_middle_is_cut)
{
	struct canvas canvas = {0};

	assert_int_equal(canvas_reset(&canvas, 4, 20), 0);
	assert_int_equal(canvas_path(&canvas, 0, 0, 12, ROLE_NORMAL, "/system.slice/pg.service"),
			 12);
	assert_int_equal(canvas_path(&canvas, 1, 0, 12, ROLE_NORMAL, "/user.slice"), 11);
	assert_int_equal(canvas_path(&canvas, 2, 0, 12, ROLE_NORMAL, "/日本日本日本日本日本"), 12);
	assert_int_equal(canvas_path(&canvas, 3, 0, 5, ROLE_NORMAL, "/system.slice"), 5);
	assert_string_equal(dump(&canvas), "/sys…service\n/user.slice\n/日…日本日本\n/sys…\n");
	canvas_release(&canvas);
}

CASE(bars_are_as_long_as_their_shares)
{
	struct canvas canvas = {.ascii = true};
	uint64_t parts[STATES] = {[STATE_USER] = 50, [STATE_LOCK] = 25, [STATE_IDLE] = 25};
	uint64_t thirds[STATES] = {[STATE_USER] = 1, [STATE_KERNEL] = 1, [STATE_DISK] = 1};
	uint64_t small[STATES] = {[STATE_USER] = 1, [STATE_IDLE] = 999};
	uint64_t too_much[STATES] = {[STATE_USER] = 1000};

	assert_int_equal(canvas_reset(&canvas, 5, 12), 0);
	canvas_bar(&canvas, 0, 0, 8, parts, 100);
	canvas_bar(&canvas, 1, 0, 10, thirds, 3);
	canvas_bar(&canvas, 2, 0, 8, small, 1000);
	canvas_bar(&canvas, 3, 0, 8, too_much, 10);
	canvas_bar(&canvas, 4, 0, 8, parts, 0);
	assert_string_equal(dump(&canvas), "UUUULL..\nUUUKKKKDDD\n........\nUUUUUUUU\n\n");
	canvas_release(&canvas);
}

/* An interval of three threads, the second of them waiting for a lock. */
struct feed {
	struct intervals *intervals;
	uint64_t now_ns;
	uint64_t disk_ns; /* of the first, from its start on */
	bool without_first;
};

static int send(struct feed *feed, const void *record, struct interval **ret_interval)
{
	return intervals_feed(feed->intervals, record, ret_interval);
}

static struct interval *next_interval(struct feed *feed, uint64_t order)
{
	static const char *const names[] = {"worker-a", "worker-b", "worker-c"};
	struct wire_interval end = {.header = {.size = sizeof(end), .kind = WIRE_INTERVAL}};
	struct interval *interval = NULL;

	feed->now_ns += 1000000;
	for (uint32_t i = feed->without_first; i < 3; i++) {
		struct wire_thread thread = {
			.header = {.size = sizeof(thread), .kind = WIRE_THREAD},
			.start_ns = 5,
			.origin_ns = 10,
			.end_ns = feed->now_ns,
			.since_ns = 10,
			.tid = 100 + i,
			.pid = 100,
			.site = {WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK, -1},
		};

		/* `order` says which of them was busiest */
		thread.totals.ns[WIRE_ON_CPU] = (feed->now_ns - 10) / (1 + (i + order) % 3);
		thread.totals.ns[WIRE_IDLE] = feed->now_ns - 10 - thread.totals.ns[WIRE_ON_CPU];
		if (!i) {
			thread.totals.ns[WIRE_DISK] = feed->disk_ns;
			thread.totals.ns[WIRE_ON_CPU] -= feed->disk_ns;
		}
		memcpy(thread.comm, names[i], strlen(names[i]));
		memcpy(thread.process, "server", 6);
		assert_int_equal(send(feed, &thread, &interval), 0);
	}
	end.start_ns = feed->now_ns - 1000000;
	end.end_ns = feed->now_ns;
	assert_true(send(feed, &end, &interval) >= 0);
	return interval;
}

static struct top_screen *open_screen(struct feed *feed)
{
	struct top_screen_options options = {.sort = field_find("active"), .interval_ns = 1000000};
	struct top_screen *screen = top_screen_new(&options);
	struct wire_session session = {
		.header = {.size = sizeof(session), .kind = WIRE_SESSION},
		.source = WIRE_SOURCE_BPF,
		.states = ~0U,
		.metrics = ~0U,
		.cpus = 4,
		.host = "test",
	};
	struct interval *ignored;

	*feed = (struct feed){.intervals = intervals_new(), .now_ns = 1000000};
	assert_int_equal(send(feed, &session, &ignored), 0);
	next_interval(feed, 0);
	assert_int_equal(top_screen_update(screen, feed->intervals, next_interval(feed, 0)), 0);
	return screen;
}

static const char *draw(struct top_screen *screen, int rows, int columns)
{
	struct canvas canvas = {.ascii = true};
	const char *text;

	assert_int_equal(canvas_reset(&canvas, rows, columns), 0);
	top_screen_draw(screen, &canvas);
	text = dump(&canvas);
	canvas_release(&canvas);
	return text;
}

static enum screen_request press(struct top_screen *screen, const char *keys)
{
	enum screen_request request = SCREEN_NOTHING;

	for (; *keys; keys++) {
		struct key key = {.kind = KEY_KIND_CHARACTER, .character = (unsigned char)*keys};

		if (*keys == '\n')
			key.kind = KEY_KIND_ENTER;
		request = top_screen_key(screen, key);
	}
	return request;
}

CASE(rows_come_in_order_and_can_be_reversed)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);
	const char *text = draw(screen, 24, 100);

	assert_true(strstr(text, "worker-a") < strstr(text, "worker-b"));
	assert_true(strstr(text, "worker-b") < strstr(text, "worker-c"));
	assert_int_equal(press(screen, "r"), SCREEN_REDRAW);
	text = draw(screen, 24, 100);
	assert_true(strstr(text, "worker-c") < strstr(text, "worker-a"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(columns_come_with_time_to_speak_of_and_stay_for_a_while)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	/* of 1 ms */
	feed.disk_ns += 499;
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)), 0);
	assert_null(strstr(draw(screen, 24, 120), "DISK"));
	feed.disk_ns += 501;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)),
				 0);
		assert_non_null(strstr(draw(screen, 24, 120), "DISK"));
	}
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)), 0);
	assert_null(strstr(draw(screen, 24, 120), "DISK"));
	press(screen, "z");
	assert_non_null(strstr(draw(screen, 24, 160), "DISK"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(the_inspector_says_over_what_and_cuts_no_name)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	assert_non_null(strstr(draw(screen, 24, 120), " in 1 interval -"));
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)), 0);
	assert_non_null(strstr(draw(screen, 24, 120), " in 2 intervals -"));
	for (int columns = 48; columns < 140; columns++) {
		const char *text = draw(screen, 24, columns);
		const char *at = strstr(text, "switches ");

		assert_true(!at || !memchr(at, '~', strcspn(at, "\n")));
	}
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(the_selection_is_a_line_until_it_follows_a_thread)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	/* no key was pressed: the first row is selected */
	assert_non_null(strstr(draw(screen, 24, 100), "-- 100 worker-a -"));
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 1)), 0);
	assert_non_null(strstr(draw(screen, 24, 100), "-- 102 worker-c -"));
	assert_int_equal(press(screen, "f"), SCREEN_REDRAW);
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)), 0);
	assert_non_null(strstr(draw(screen, 24, 100), "-- 102 worker-c -"));
	/* and so does who reads all about a thread */
	assert_int_equal(press(screen, "fgg\n"), SCREEN_REDRAW);
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 2)), 0);
	assert_non_null(strstr(draw(screen, 24, 100), "-- 102 worker-c -"));
	assert_int_equal(top_screen_selected_pid(screen), 100);
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(a_frozen_screen_does_not_change)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);
	char *before;

	press(screen, " ");
	before = strdup(draw(screen, 24, 100));
	assert_non_null(strstr(before, "FROZEN"));
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 2)), 0);
	assert_string_equal(draw(screen, 24, 100), before);
	free(before);
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

static enum screen_request press_kind(struct top_screen *screen, enum key_kind kind)
{
	return top_screen_key(screen, (struct key){.kind = kind});
}

CASE(escape_takes_back_what_was_typed)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	press(screen, "\\zzz");
	assert_non_null(strstr(draw(screen, 24, 100), "nothing matches the filter"));
	press_kind(screen, KEY_KIND_ESCAPE);
	assert_non_null(strstr(draw(screen, 24, 100), "worker-b"));
	press(screen, "/worker-c");
	assert_non_null(strstr(draw(screen, 24, 100), "-- 102 worker-c -"));
	press_kind(screen, KEY_KIND_ESCAPE);
	assert_non_null(strstr(draw(screen, 24, 100), "-- 100 worker-a -"));
	press(screen, "n");
	assert_null(strstr(draw(screen, 24, 100), "nothing matches"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(all_about_a_thread_ends_with_it)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	press(screen, "\n");
	assert_null(strstr(draw(screen, 24, 100), "worker-b"));
	feed.without_first = true;
	next_interval(&feed, 0); /* in which it ended, which was not seen */
	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)), 0);
	assert_non_null(strstr(draw(screen, 24, 100), "thread 100 has ended"));
	assert_non_null(strstr(draw(screen, 24, 100), "worker-b"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

/* Each line is on one of the pages, and the line that says there are more hides none. */
CASE(pages_pass_over_nothing)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);
	char *whole = strdup(draw(screen, 24, 100));

	press(screen, "\n");
	free(whole);
	whole = strdup(draw(screen, 100, 100));
	for (char *line = strtok(whole, "\n"); line; line = strtok(NULL, "\n")) {
		bool found = false;

		press_kind(screen, KEY_KIND_HOME);
		press(screen, "\n\n");
		for (int page = 0; page < 30 && !found; page++) {
			found = strstr(draw(screen, 12, 100), line) != NULL;
			press_kind(screen, KEY_KIND_PAGE_DOWN);
		}
		assert_true(found || strstr(line, "quit"));
	}
	/* and so does the wheel, which leaves the thread */
	press(screen, "\n\n");
	draw(screen, 12, 100);
	press_kind(screen, KEY_KIND_WHEEL_DOWN);
	assert_non_null(strstr(draw(screen, 12, 100), "-- 100 worker-a -"));
	free(whole);
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(only_the_first_rows_are_shown_where_that_was_asked_for)
{
	struct top_screen_options options = {
		.sort = field_find("active"), .interval_ns = 1000000, .top = 2};
	struct feed feed;
	struct top_screen *all = open_screen(&feed), *screen = top_screen_new(&options);
	const char *text;

	assert_int_equal(top_screen_update(screen, feed.intervals, next_interval(&feed, 0)), 0);
	text = draw(screen, 24, 100);
	assert_non_null(strstr(text, "worker-b"));
	assert_null(strstr(text, "worker-c"));
	/* who is first is chosen among all */
	press(screen, "r");
	assert_non_null(strstr(draw(screen, 24, 100), "worker-c"));
	top_screen_free(screen);
	top_screen_free(all);
	intervals_free(feed.intervals);
}

CASE(what_rows_are_sorted_by_is_there_at_any_width)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	for (int columns = 20; columns < 140; columns++)
		assert_non_null(strstr(draw(screen, 24, columns), "vACTIVE"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(prompts_take_text)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	press(screen, "\\-b");
	assert_null(strstr(draw(screen, 24, 100), "worker-a"));
	press(screen, "\n");
	assert_non_null(strstr(draw(screen, 24, 100), "filter: -b"));
	assert_int_equal(press(screen, "i250ms\n"), SCREEN_INTERVAL);
	assert_int_equal(top_screen_interval_ns(screen), 250000000);
	assert_int_equal(press(screen, "i1us\n"), SCREEN_REDRAW);
	assert_non_null(strstr(draw(screen, 24, 100), "at least 1ms"));
	assert_int_equal(press(screen, "q"), SCREEN_QUIT);
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(any_size_can_be_drawn)
{
	struct feed feed;
	struct top_screen *screen = open_screen(&feed);

	for (int rows = 1; rows < 60; rows += 3) {
		for (int columns = 1; columns < 260; columns += 7) {
			draw(screen, rows, columns);
			press(screen, "\n");
			draw(screen, rows, columns);
			press(screen, "\n?");
			draw(screen, rows, columns);
			press(screen, "?t");
		}
	}
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

/*
 * 101 and 102 waited for a CPU: three hundred of a thousand for each of two threads of a name, and
 * the rest for a third one, or `by_own` for several of their own process.
 */
static struct top_screen *open_blamed(struct feed *feed, bool by_own)
{
	struct top_screen_options options = {.sort = field_find("runnable"),
					     .interval_ns = 1000000};
	struct top_screen *screen = top_screen_new(&options);
	struct wire_session session = {
		.header = {.size = sizeof(session), .kind = WIRE_SESSION},
		.source = WIRE_SOURCE_BPF,
		.flags = WIRE_SESSION_BLAME,
		.states = ~0U,
		.metrics = ~0U,
	};
	static const char *const names[] = {"worker-100", "worker-101", "worker-102"};
	struct interval *interval = NULL;

	*feed = (struct feed){.intervals = intervals_new(), .now_ns = 1000000};
	assert_int_equal(send(feed, &session, &interval), 0);
	for (int round = 0; round < 2; round++, feed->now_ns += 1000000) {
		struct wire_interval end = {.header = {sizeof(end), WIRE_INTERVAL, 0, feed->now_ns},
					    .start_ns = feed->now_ns - 1000000 * (uint64_t)round,
					    .end_ns = feed->now_ns};

		for (uint32_t tid = 100; tid < 103; tid++) {
			struct wire_thread thread = {
				.header = {sizeof(thread), WIRE_THREAD, 0, feed->now_ns},
				.start_ns = (uint64_t)tid << 20,
				.origin_ns = 5,
				.end_ns = feed->now_ns,
				.since_ns = feed->now_ns,
				.tid = tid,
				.pid = 100,
			};
			struct {
				struct wire_blame blame;
				struct wire_culprit culprits[3];
			} record = {
				.blame = {.header = {sizeof(record), WIRE_BLAME, 0, feed->now_ns},
					  .origin_ns = 5,
					  .tid = tid,
					  .pid = 100,
					  .count = 3},
			};

			thread.totals.ns[tid > 100 ? WIRE_RUNNABLE : WIRE_IDLE] =
				feed->now_ns - thread.origin_ns;
			memcpy(thread.comm, names[tid - 100], strlen(names[0]));
			memcpy(thread.process, "server", 6);
			assert_int_equal(send(feed, &thread, &interval), 0);
			for (uint32_t i = 0; i < 3; i++) {
				record.culprits[i] = (struct wire_culprit){
					.total_ns = i ? 300000 : 400000,
					.count = 1,
					.tid = 200 + i,
					.pid = 200 + i,
					.start = i,
					.state = WIRE_RUNNABLE,
					.kind = WIRE_CULPRIT_THREAD,
				};
				memcpy(record.culprits[i].comm, i ? "rustc" : "backup", i ? 5 : 6);
			}
			if (by_own) {
				record.culprits[0].tid = 0;
				record.culprits[0].pid = 100;
				memcpy(record.culprits[0].comm, "server", 6);
			}
			if (round && tid > 100)
				assert_int_equal(send(feed, &record, &interval), 0);
		}
		assert_true(send(feed, &end, &interval) >= 0);
	}
	assert_int_equal(top_screen_update(screen, feed->intervals, interval), 0);
	return screen;
}

static struct top_screen *open_blamed_screen(struct feed *feed)
{
	return open_blamed(feed, false);
}

/* The process's name and number would be those of its first thread, which was idle. */
CASE(several_threads_are_not_the_first_one)
{
	struct feed feed;
	struct top_screen *screen = open_blamed(&feed, true);
	const char *text;

	press(screen, "/102\n");
	text = draw(screen, 24, 140);
	assert_non_null(strstr(text, "ran instead: threads of server 100"));
	assert_null(strstr(text, "ran instead: server 100"));
	press(screen, "b");
	text = draw(screen, 24, 140);
	assert_non_null(strstr(text, "rustc 60 %  its own 40 %"));
	assert_null(strstr(text, "server 40 %"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(culprits_of_one_name_count_as_one)
{
	struct feed feed;
	struct top_screen *screen = open_blamed_screen(&feed);

	assert_non_null(strstr(draw(screen, 24, 140), "RUNQ rustc 60%"));
	assert_int_equal(press(screen, "b"), SCREEN_REDRAW);
	assert_non_null(strstr(draw(screen, 24, 140), "rustc 60 %  backup 40 %"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

CASE(losses_are_shown_from_both_sides)
{
	struct feed feed;
	struct top_screen *screen = open_blamed_screen(&feed);
	const char *text;

	press(screen, "b");
	text = draw(screen, 24, 140);
	assert_non_null(strstr(text, "WHO LOST"));
	assert_null(strstr(text, "worker-100"));
	/* a search goes to a loss, Enter to its thread and back to it */
	press(screen, "/102\n\n");
	assert_non_null(strstr(draw(screen, 24, 140), "-- 102 worker-102 -"));
	press(screen, "\n");
	assert_non_null(strstr(draw(screen, 24, 140), "WHO LOST"));
	press(screen, "b");
	text = draw(screen, 24, 140);
	assert_non_null(strstr(text, "WHO COST"));
	assert_non_null(strstr(text, "backup 200"));
	assert_non_null(strstr(text, "worker-101 50 %"));
	press(screen, "\\rustc\n");
	text = draw(screen, 24, 140);
	assert_non_null(strstr(text, "rustc 201"));
	assert_null(strstr(text, "backup 200"));
	/* of a culprit that is not watched there is no row */
	press(screen, "\n");
	assert_non_null(strstr(draw(screen, 24, 140), "it has ended, is not watched"));
	press(screen, "b");
	assert_non_null(strstr(draw(screen, 24, 140), "nothing matches the filter"));
	top_screen_free(screen);
	intervals_free(feed.intervals);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(text_is_cut_and_made_safe),
		cmocka_unit_test(bars_are_as_long_as_their_shares),
		cmocka_unit_test(rows_come_in_order_and_can_be_reversed),
		cmocka_unit_test(of_a_path_the_middle_is_cut),
		cmocka_unit_test(columns_come_with_time_to_speak_of_and_stay_for_a_while),
		cmocka_unit_test(the_inspector_says_over_what_and_cuts_no_name),
		cmocka_unit_test(the_selection_is_a_line_until_it_follows_a_thread),
		cmocka_unit_test(a_frozen_screen_does_not_change),
		cmocka_unit_test(escape_takes_back_what_was_typed),
		cmocka_unit_test(all_about_a_thread_ends_with_it),
		cmocka_unit_test(pages_pass_over_nothing),
		cmocka_unit_test(only_the_first_rows_are_shown_where_that_was_asked_for),
		cmocka_unit_test(what_rows_are_sorted_by_is_there_at_any_width),
		cmocka_unit_test(prompts_take_text),
		cmocka_unit_test(any_size_can_be_drawn),
		cmocka_unit_test(several_threads_are_not_the_first_one),
		cmocka_unit_test(culprits_of_one_name_count_as_one),
		cmocka_unit_test(losses_are_shown_from_both_sides),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return RUN(cases);
}
