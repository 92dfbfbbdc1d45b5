// SPDX-License-Identifier: GPL-2.0-or-later
/* What the host makes of the frames of a guest, also of one that is broken. */
#define _GNU_SOURCE /* mkdtemp */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/incoming.h"
#include "scheduler/scheduler.h"

/* A guest's directory here, the frames that it sends, and what they come to. */
static char top[64], dump[96];
static struct pulled_files pulled;
static struct boot_options options;
static struct boot_result result;
static struct incoming incoming;
static struct error error;
static int out[2], told[2];

static int begin(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/dwell-incoming-XXXXXX");
	if (!mkdtemp(top) || pulled_files_add(&pulled, "/", top, true) < 0 ||
	    pipe2(out, O_NONBLOCK) < 0 || pipe2(told, O_NONBLOCK) < 0)
		return -1;
	snprintf(dump, sizeof(dump), "%s/dump", top);
	options = (struct boot_options){.pulled = &pulled, .dump = dump};
	result = (struct boot_result){.code = 0};
	error = (struct error){""};
	incoming = (struct incoming){.options = &options,
				     .result = &result,
				     .fds = {out[1], told[1]},
				     .line = -1,
				     .signals = -1,
				     .dump = FILE_DRAFT_NONE,
				     .receiving = RECEIVING_NONE};
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int end(void **state)
{
	(void)state;
	incoming_end(&incoming);
	pulled_files_release(&pulled);
	for (int i = 0; i < 2; i++) {
		close(out[i]);
		close(told[i]);
	}
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Into what a guest sends; its length. */
static size_t make(char *into, size_t room, enum frame_kind kind, const void *payload,
		   size_t length)
{
	cleanup_close int fd = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ssize_t got;

	assert_true(fd >= 0);
	assert_int_equal(frame_write(fd, kind, payload, length), 0);
	got = pread(fd, into, room, 0);
	assert_true(got > 0);
	return (size_t)got;
}

static int send_frame(enum frame_kind kind, const void *payload, size_t length)
{
	static char bytes[FRAME_BYTES_MAX + 64];

	length = make(bytes, sizeof(bytes), kind, payload, length);
	return incoming_take(&incoming, QEMU_PORT, bytes, length, &error);
}

static int send_text(enum frame_kind kind, const char *text)
{
	return send_frame(kind, text, strlen(text));
}

static int send_name(const char *name)
{
	char payload[512] = {0x80, 1}; /* mode 0600 */

	snprintf(payload + 4, sizeof(payload) - 4, "%s/%s", top, name);
	return send_frame(FRAME_FILE, payload, 4 + strlen(payload + 4));
}

static int send_end(uint64_t bytes)
{
	return send_frame(FRAME_FILE_END, &bytes, sizeof(bytes));
}

static int send_exit(int32_t code)
{
	return send_frame(FRAME_EXIT, &code, sizeof(code));
}

static void expect_read(int fd, const char *text)
{
	char bytes[1024];
	ssize_t got = read(fd, bytes, sizeof(bytes) - 1);

	bytes[got > 0 ? got : 0] = '\0';
	assert_string_equal(bytes, text);
}

static void expect_file(const char *name, const char *text)
{
	char path[128];
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	expect_read(fd, text);
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return !access(path, F_OK);
}

CASE(a_run_is_reported_from_its_beginning_to_its_end)
{
	assert_int_equal(send_text(FRAME_READY, "6.12.1-test"), 0);
	assert_string_equal(result.release, "6.12.1-test");
	assert_int_equal(incoming.line, QEMU_PORT);
	assert_int_equal(send_text(FRAME_OUT, "hello\n"), 0);
	assert_int_equal(send_text(FRAME_ERROR, "oh\n"), 0);
	assert_int_equal(send_text(FRAME_OUT, ""), 0);
	assert_int_equal(send_text(FRAME_ALIVE, ""), 0);
	assert_false(result.ended);
	assert_int_equal(send_exit(3), 0);
	assert_true(result.ended);
	assert_int_equal(result.code, 3);
	expect_read(out[0], "hello\n");
	expect_read(told[0], "oh\n");
	assert_string_equal(incoming.file_error.text, "");
	assert_int_equal(result.damaged, 0);
}

CASE(nothing_counts_after_the_end)
{
	char bytes[512];
	int32_t code = 0;
	size_t used = make(bytes, sizeof(bytes), FRAME_EXIT, &code, sizeof(code));

	used += make(bytes + used, sizeof(bytes) - used, FRAME_OUT, "late", 4);
	code = 7;
	used += make(bytes + used, sizeof(bytes) - used, FRAME_EXIT, &code, sizeof(code));
	assert_int_equal(incoming_take(&incoming, QEMU_PORT, bytes, used, &error), 0);
	assert_true(result.ended);
	assert_int_equal(result.code, 0);
	expect_read(out[0], "");
}

CASE(frames_of_a_wrong_length_mean_nothing)
{
	assert_int_equal(send_text(FRAME_EXIT, "123"), 0);
	assert_int_equal(send_text(FRAME_EXIT, "12345"), 0);
	assert_int_equal(send_text(FRAME_SCHEDULER, "died"), 0);
	assert_int_equal(send_text((enum frame_kind)99, "of the future"), 0);
	assert_false(result.ended);
	assert_int_equal(result.scheduler, BOOT_SCHEDULER_NONE);
}

CASE(damaged_frames_are_counted)
{
	char bytes[256];
	size_t used = make(bytes, sizeof(bytes), FRAME_OUT, "hello", 5);

	bytes[used - 1] ^= 1;
	used += make(bytes + used, sizeof(bytes) - used, FRAME_OUT, "again", 5);
	assert_int_equal(incoming_take(&incoming, QEMU_SERIAL, bytes, used, &error), 0);
	expect_read(out[0], "again");
	assert_int_equal(result.damaged, 1);
}

CASE(files_come_back)
{
	assert_int_equal(send_name("a"), 0);
	assert_int_equal(send_text(FRAME_DATA, "one "), 0);
	assert_int_equal(send_text(FRAME_DATA, "two"), 0);
	assert_false(is_there("a"));
	assert_int_equal(send_end(7), 0);
	assert_int_equal(send_name("b/c"), 0);
	assert_int_equal(send_end(0), 0);
	assert_int_equal(send_exit(0), 0);
	expect_file("a", "one two");
	expect_file("b/c", "");
	assert_int_equal(result.files, 2);
	assert_string_equal(incoming.file_error.text, "");
}

CASE(cut_files_are_reported_and_the_next_ones_taken)
{
	assert_int_equal(send_name("a"), 0);
	assert_int_equal(send_text(FRAME_DATA, "one"), 0);
	assert_int_equal(send_name("b"), 0);
	assert_int_equal(send_text(FRAME_DATA, "two"), 0);
	assert_int_equal(send_end(3), 0);
	assert_int_equal(send_exit(0), 0);
	assert_false(is_there("a"));
	expect_file("b", "two");
	assert_int_equal(result.files, 1);
	assert_non_null(strstr(incoming.file_error.text, "/a came back incomplete"));
}

CASE(a_file_cut_by_the_end_is_reported)
{
	assert_int_equal(send_name("a"), 0);
	assert_int_equal(send_text(FRAME_DATA, "one"), 0);
	assert_int_equal(send_exit(0), 0);
	assert_false(is_there("a"));
	assert_non_null(strstr(incoming.file_error.text, "incomplete"));
}

CASE(files_without_a_beginning_are_none)
{
	assert_int_equal(send_text(FRAME_DATA, "one"), 0);
	assert_int_equal(send_end(3), 0);
	assert_int_equal(send_name("../dwell-never"), 0);
	assert_int_equal(send_text(FRAME_DATA, "one"), 0);
	assert_int_equal(send_end(3), 0);
	assert_int_equal(send_exit(0), 0);
	assert_int_equal(result.files, 0);
	assert_non_null(strstr(incoming.file_error.text, "unexpected file"));
	assert_int_not_equal(access("/tmp/dwell-never", F_OK), 0);
}

static void send_scheduler(enum scheduler_state state, const char *reason)
{
	struct frame_scheduler scheduler = {.state = state, .after_ns = 1500000000};

	memset(scheduler.reason, 'x', sizeof(scheduler.reason));
	memcpy(scheduler.reason, reason, strlen(reason) + 1);
	assert_int_equal(send_frame(FRAME_SCHEDULER, &scheduler, sizeof(scheduler)), 0);
}

CASE(the_death_of_a_scheduler_is_reported_once_and_safely)
{
	send_scheduler(SCHEDULER_ALIVE, "");
	assert_int_equal(result.scheduler, BOOT_SCHEDULER_ALIVE);
	expect_read(told[0], "");
	send_scheduler(SCHEDULER_DIED, "bad\33[2J");
	send_scheduler(SCHEDULER_DIED, "bad\33[2J");
	assert_int_equal(result.scheduler, BOOT_SCHEDULER_DIED);
	assert_int_equal(result.scheduler_after_ns, 1500000000);
	assert_string_equal(result.scheduler_reason, "bad?[2J");
	expect_read(told[0], "dwell guest: 1.50s: the scheduler died: bad?[2J\n");
}

CASE(a_command_that_judges_the_scheduler_reports_it_itself)
{
	options.judged = true;
	send_scheduler(SCHEDULER_DIED, "stall");
	assert_int_equal(result.scheduler, BOOT_SCHEDULER_DIED);
	expect_read(told[0], "");
}

CASE(dumps_replace_a_file_that_was_named_and_no_other)
{
	static const char *const words[] = {"long dump of the first run", "DEBUG DUMP"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(send_text(FRAME_DUMP, words[i]), 0);
		assert_int_equal(send_text(FRAME_DUMP, "!"), 0);
		assert_true(result.dumped);
		incoming_end(&incoming);
	}
	expect_file("dump", "DEBUG DUMP!");
	assert_string_equal(incoming.file_error.text, "");

	result.dumped = false;
	options.dump_chosen = true;
	assert_int_equal(send_text(FRAME_DUMP, "other"), 0);
	assert_false(result.dumped);
	assert_non_null(strstr(incoming.file_error.text, dump));
	expect_file("dump", "DEBUG DUMP!");
}

CASE(a_dump_that_does_not_fit_is_reported)
{
	options.dump = "/dev/full";
	assert_int_equal(send_text(FRAME_DUMP, "words"), 0);
	assert_false(result.dumped);
	assert_non_null(strstr(incoming.file_error.text, "/dev/full"));
}

/* What reads the output, when it is full; and the signal that is heard meanwhile. */
static int heard;

static int drain(void *data, struct error *into)
{
	char bytes[4096];
	size_t got = 0;

	(void)data;
	heard++;
	if (heard == 2)
		return error_set(into, EINTR, "interrupted");
	while (read(out[0], bytes, sizeof(bytes)) > 0)
		got++;
	assert_true(got > 0);
	return 0;
}

CASE(signals_are_heard_while_the_output_is_not_read)
{
	static char bytes[32768];
	int signal[2];

	assert_int_equal(pipe(signal), 0);
	assert_int_equal(write(signal[1], "x", 1), 1);
	heard = 0;
	incoming.on_signal = drain;
	for (int i = 0; i < 2; i++)
		assert_int_equal(send_frame(FRAME_OUT, bytes, sizeof(bytes)), 0);
	assert_int_equal(heard, 0);
	incoming.signals = signal[0];
	/* the pipe is full: the first lets it go on, the second ends it */
	assert_int_equal(send_frame(FRAME_OUT, bytes, sizeof(bytes)), -EINTR);
	assert_int_equal(heard, 2);
	close(signal[0]);
	close(signal[1]);
}

CASE(output_that_is_not_taken_any_more_fails)
{
	close(out[0]);
	out[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(send_text(FRAME_OUT, "hello"), -EPIPE);
	assert_non_null(strstr(error.text, "cannot write what the command prints"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_is_reported_from_its_beginning_to_its_end),
		TEST(nothing_counts_after_the_end),
		TEST(frames_of_a_wrong_length_mean_nothing),
		TEST(damaged_frames_are_counted),
		TEST(files_come_back),
		TEST(cut_files_are_reported_and_the_next_ones_taken),
		TEST(a_file_cut_by_the_end_is_reported),
		TEST(files_without_a_beginning_are_none),
		TEST(the_death_of_a_scheduler_is_reported_once_and_safely),
		TEST(a_command_that_judges_the_scheduler_reports_it_itself),
		TEST(dumps_replace_a_file_that_was_named_and_no_other),
		TEST(a_dump_that_does_not_fit_is_reported),
		TEST(signals_are_heard_while_the_output_is_not_read),
		TEST(output_that_is_not_taken_any_more_fails),
	};

	signal(SIGPIPE, SIG_IGN);
	return RUN(tests);
}
