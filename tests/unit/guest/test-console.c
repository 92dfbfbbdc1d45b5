// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept of a guest's console: its end, and what was bad in it. */
#define _GNU_SOURCE /* memfd_create */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/console.h"

static void say(struct console *console, const char *text)
{
	console_take(console, text, strlen(text));
}

CASE(panics_are_found_and_the_first_is_the_cause)
{
	struct console console = {.log_fd = -1};

	say(&console, "[    1.2] Kernel panic - not syncing: VFS: no root\r\n");
	say(&console, "[    1.3] Kernel panic - not syncing: another\n");
	assert_string_equal(console.panic, "VFS: no root");
	assert_string_equal(console.oom, "");
	assert_false(console.unpacking_failed);
}

CASE(a_breakpoint_that_nothing_has_set)
{
	struct console console = {.log_fd = -1};

	say(&console, "[   15.1] int3: 0000 was mentioned\n");
	assert_false(console.stray_trap);
	say(&console, "[   15.2] Oops: int3: 0000 [#1] PREEMPT SMP\n");
	say(&console, "[   15.3] Kernel panic - not syncing: Fatal exception in interrupt\n");
	assert_true(console.stray_trap);
	assert_string_equal(console.panic, "Fatal exception in interrupt");
}

CASE(lines_are_found_in_any_pieces)
{
	static const char text[] =
		"noise\n[ 3.1] Out of memory: Killed process 42 (sh) total-vm:1kB\n"
		"[ 3.2] Initramfs unpacking failed: write error\n"
		"[ 3.3] Kernel panic - not syncing: System is deadlocked on memory\n";
	struct console console = {.log_fd = -1};

	for (size_t i = 0; text[i]; i++)
		console_take(&console, text + i, 1);
	assert_string_equal(console.oom, "42 (sh) total-vm:1kB");
	assert_string_equal(console.panic, "System is deadlocked on memory");
	assert_true(console.unpacking_failed);
	assert_int_equal(console.bytes, sizeof(text) - 1);
	assert_string_equal(console.tail, text);
}

CASE(limits_of_cgroups_are_no_lack_of_memory)
{
	struct console console = {.log_fd = -1};

	say(&console, "Memory cgroup out of memory: Killed process 42 (sh)\n");
	assert_string_equal(console.oom, "");
}

CASE(a_line_counts_when_it_has_ended)
{
	struct console console = {.log_fd = -1};

	say(&console, "Kernel panic - not syncing: half");
	assert_string_equal(console.panic, "");
	say(&console, " and half\n");
	assert_string_equal(console.panic, "half and half");
}

CASE(long_lines_are_cut_and_the_next_one_is_read)
{
	struct console console = {.log_fd = -1};
	char line[CONSOLE_LINE_BYTES * 3];

	memset(line, 'x', sizeof(line));
	console_take(&console, line, sizeof(line));
	/* beyond what is kept of a line */
	say(&console, "Kernel panic - not syncing: unseen\n");
	assert_string_equal(console.panic, "");
	memcpy(line, "Kernel panic - not syncing: ", 28);
	console_take(&console, line, sizeof(line));
	say(&console, "\nOut of memory: Killed process 7 (a)\n");
	assert_int_equal(strlen(console.panic), CONSOLE_LINE_BYTES - 1 - 28);
	assert_string_equal(console.oom, "7 (a)");
}

CASE(the_tail_is_the_end_however_it_came)
{
	static char all[5 * CONSOLE_TAIL_BYTES];
	static const size_t steps[] = {
		1,	    7, CONSOLE_TAIL_BYTES - 1, CONSOLE_TAIL_BYTES, CONSOLE_TAIL_BYTES + 1,
		sizeof(all)};

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)('a' + i * 7 % 26);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct console console = {.log_fd = -1};

		for (size_t at = 0; at < sizeof(all); at += steps[i])
			console_take(&console, all + at,
				     at + steps[i] < sizeof(all) ? steps[i] : sizeof(all) - at);
		assert_int_equal(console.tail_used, CONSOLE_TAIL_BYTES);
		assert_memory_equal(console.tail, all + sizeof(all) - CONSOLE_TAIL_BYTES,
				    CONSOLE_TAIL_BYTES);
	}
}

CASE(errors_end_with_the_console_on_one_line)
{
	struct console console = {.log_fd = -1};
	struct error error;
	char line[64];

	assert_int_equal(console_error(&console, &error, EIO, "it broke"), -EIO);
	assert_string_equal(error.text, "it broke");
	say(&console, "\r\n  one \r\n\n two");
	assert_int_equal(console_error(&console, &error, EIO, "it broke"), -EIO);
	assert_string_equal(error.text, "it broke; the console ends with: one two");
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		say(&console, line);
	}
	assert_int_equal(console_error(&console, &error, EIO, "it broke"), -EIO);
	assert_non_null(strstr(error.text, "line 98 line 99"));
	assert_null(strstr(error.text, "line 10 "));
	assert_null(strchr(error.text, '\n'));
}

CASE(the_log_has_all_of_it)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	struct console console = {.log_fd = fd};
	char bytes[64] = "";

	assert_true(fd >= 0);
	say(&console, "one\r\n");
	say(&console, "two");
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 8);
	assert_string_equal(bytes, "one\r\ntwo");
	assert_int_equal(console.log_error, 0);
	close(fd);
}

CASE(a_log_that_cannot_be_written_is_reported_and_given_up)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct console console = {.log_fd = fd};

	assert_true(fd >= 0);
	say(&console, "Kernel panic - not syncing: x\n");
	assert_int_equal(console.log_error, ENOSPC);
	assert_int_equal(console.log_fd, -1);
	say(&console, "more");
	assert_string_equal(console.panic, "x");
	assert_string_equal(console.tail, "Kernel panic - not syncing: x\nmore");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(panics_are_found_and_the_first_is_the_cause),
		cmocka_unit_test(a_breakpoint_that_nothing_has_set),
		cmocka_unit_test(lines_are_found_in_any_pieces),
		cmocka_unit_test(limits_of_cgroups_are_no_lack_of_memory),
		cmocka_unit_test(a_line_counts_when_it_has_ended),
		cmocka_unit_test(long_lines_are_cut_and_the_next_one_is_read),
		cmocka_unit_test(the_tail_is_the_end_however_it_came),
		cmocka_unit_test(errors_end_with_the_console_on_one_line),
		cmocka_unit_test(the_log_has_all_of_it),
		cmocka_unit_test(a_log_that_cannot_be_written_is_reported_and_given_up),
	};

	return RUN(tests);
}
