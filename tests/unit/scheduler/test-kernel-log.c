// SPDX-License-Identifier: GPL-2.0-or-later
/* Why the kernel threw a scheduler out, and the last that was said. */
#define _GNU_SOURCE /* pipe2 */
#include "test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/duration.h"
#include "scheduler/kernel_log.h"

static const char *reason_of(const char *text)
{
	static char reason[320];

	return kernel_log_reason(text, reason, sizeof(reason)) ? reason : NULL;
}

CASE(the_kernel_says_why)
{
	assert_string_equal(reason_of("sched_ext: BPF scheduler \"qmap\" disabled (runtime error)\n"
				      "sched_ext: qmap: scx_bpf_error (qmap_enqueue: oh no)\n"
				      "   scx_bpf_error_bstr+0x9f/0xb0\n"),
			    "runtime error: qmap: scx_bpf_error (qmap_enqueue: oh no)");
	assert_string_equal(
		reason_of("sched_ext: BPF scheduler \"a\" disabled (runnable task stall)\n"),
		"runnable task stall");
	/* the last one counts */
	assert_string_equal(
		reason_of("sched_ext: BPF scheduler \"a\" disabled (runnable task stall)\n"
			  "sched_ext: BPF scheduler \"b\" enabled\n"
			  "sched_ext: BPF scheduler \"b\" disabled (runtime error)"),
		"runtime error");
}

CASE(what_says_nothing_is_no_reason)
{
	assert_null(reason_of(""));
	assert_null(reason_of("sched_ext: BPF scheduler \"a\" enabled\n"));
	assert_null(reason_of(
		"sched_ext: BPF scheduler \"a\" disabled (unregistered from user space)\n"));
	assert_null(reason_of(
		"sched_ext: BPF scheduler \"a\" disabled (runtime error)\n"
		"sched_ext: BPF scheduler \"b\" disabled (unregistered from user space)\n"));
}

CASE(the_last_words_are_kept)
{
	static char many[LOG_TAIL_BYTES_MAX + 100];
	struct log_tail tail = {.text = NULL};
	char line[32];

	log_tail_add(&tail, "first", 5);
	assert_string_equal(tail.text, "first");
	for (int i = 0; i < 40000; i++)
		log_tail_add(&tail, line, (size_t)snprintf(line, sizeof(line), "line %d\n", i));
	assert_true(tail.cut && tail.used <= LOG_TAIL_BYTES_MAX);
	assert_int_equal(strlen(tail.text), tail.used);
	assert_string_equal(tail.text + tail.used - 11, "line 39999\n");
	memset(many, 'x', sizeof(many));
	log_tail_add(&tail, many, sizeof(many));
	assert_true(tail.used <= LOG_TAIL_BYTES_MAX && tail.text[tail.used - 1] == 'x');
	log_tail_release(&tail);
}

CASE(what_is_there_is_read_without_waiting)
{
	struct log_tail tail = {.text = NULL};
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_true(log_tail_read(&tail, ends[0]));
	assert_null(tail.text);
	assert_int_equal(write(ends[1], "dump", 4), 4);
	assert_true(log_tail_read(&tail, ends[0]));
	assert_string_equal(tail.text, "dump");
	close(ends[1]);
	assert_false(log_tail_read(&tail, ends[0]));
	close(ends[0]);
	log_tail_release(&tail);
}

/* Not of a kernel: the log takes what root writes. */
CASE(it_looks_back_as_far_as_it_is_asked_to)
{
	struct log_tail tail = {.text = NULL};
	uint64_t now_ns = clock_monotonic_ns();
	cleanup_close int log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char line[64];
	int length;

	length = snprintf(line, sizeof(line), "sched_ext: test at %" PRIu64 "\n", now_ns);
	if (log < 0 || write(log, line, (size_t)length) != length)
		skip();
	/* its time is to the microsecond */
	kernel_log_look_back(now_ns - NS_PER_S, &tail);
	assert_non_null(tail.text);
	assert_non_null(strstr(tail.text, line));
	log_tail_release(&tail);
	kernel_log_look_back(now_ns + 60 * NS_PER_S, &tail);
	assert_true(!tail.text || !strstr(tail.text, line));
	log_tail_release(&tail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_says_why),
		cmocka_unit_test(what_says_nothing_is_no_reason),
		cmocka_unit_test(the_last_words_are_kept),
		cmocka_unit_test(what_is_there_is_read_without_waiting),
		cmocka_unit_test(it_looks_back_as_far_as_it_is_asked_to),
	};

	return RUN(tests);
}
