// SPDX-License-Identifier: GPL-2.0-or-later
/* Which functions are of event loops, by their names. */
#include "test.h"

#include "base/cleanup.h"
#include "capture/loop_names.h"

static void functions_of_loops(void **state)
{
	static const struct {
		const char *function, *file;
		bool is_in;
	} cases[] = {
		{"uv_run", NULL, true},
		{"event_base_loop", "event.c", true},
		{"boost::asio::detail::scheduler::run(boost::system::error_code&)", NULL, true},
		{"aeProcessEvents", NULL, true},
		{"run_uv_run", NULL, false},
		{"uv_run.part.0", NULL, true},
		/* from any thread */
		{"event_base_loopbreak", NULL, false},
		{"camlLwt_main__run_495", "lwt_main.ml", true},
		{"handle_request", NULL, false},
		{"BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py", true},
		{"run_forever", "/usr/lib/python3.8/asyncio/base_events.py", true},
		/* the program's own, that are called so */
		{"run_forever", "/srv/app/main.py", false},
		{"rerun", "/usr/lib/python3.11/asyncio/runners.py", false},
		{"Runner.run", "/usr/lib/python3.11/asyncio/runners.py", true},
		{"Runner.close", "/usr/lib/python3.11/asyncio/runners.py", false},
	};
	struct symbol_frame frame = {.named = true, .module = "/srv/app/server"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		frame.function = cases[i].function;
		frame.file = cases[i].file;
		assert_int_equal(loop_is_in(&frame), cases[i].is_in);
	}
	frame = (struct symbol_frame){.function = "uv_run+0x10", .module = ""};
	assert_false(loop_is_in(&frame));
}

static void waits_of_loops_for_threads(void **state)
{
	static const struct {
		const char *function, *module;
		bool waits;
	} cases[] = {
		{"void asio::detail::posix_event::wait<int>(int&)", "/srv/app/server", true},
		{"g_cond_wait", "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0", true},
		{"libuv.so.1+0x10", "/usr/lib/x86_64-linux-gnu/libuv.so.1.0.0", true},
		{"std::condition_variable::wait", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		 false},
		{"read_ledger", "/srv/app/server", false},
		{"made_at_run_time", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct symbol_frame frame = {.function = cases[i].function,
					     .module = cases[i].module};

		assert_int_equal(loop_waits_by(&frame), cases[i].waits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_loops),
		cmocka_unit_test(waits_of_loops_for_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
