// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/size.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/moment.h"
#include "base/output.h"
#include "base/text.h"
#include "base/window.h"

CASE(error_is_set_and_wrapped)
{
	struct error error = {""};

	assert_int_equal(error_set(&error, ENOENT, "no %s", "file"), -ENOENT);
	assert_string_equal(error.text, "no file");
	assert_int_equal(error_wrap(&error, -ENOENT, "reading %d", 7), -ENOENT);
	assert_string_equal(error.text, "reading 7: no file");
	assert_int_equal(error_set(NULL, EIO, "no reader"), -EIO);
}

CASE(error_that_is_too_long_is_cut)
{
	struct error error = {""};
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	error_set(&error, EIO, "%s", text);
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	error_wrap(&error, -EIO, "again");
	assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
	assert_memory_equal(error.text, "again: xxx", 10);
}

static uint64_t parsed(const char *text)
{
	uint64_t ns = 0;

	return duration_parse(text, &ns, NULL) == 0 ? ns : 0;
}

CASE(durations_are_read)
{
	assert_int_equal(parsed("5ms"), 5 * NS_PER_MS);
	assert_int_equal(parsed("1.5s"), 1500 * NS_PER_MS);
	assert_int_equal(parsed("200us"), 200 * NS_PER_US);
	assert_int_equal(parsed("7"), 7 * NS_PER_S);
	assert_int_equal(parsed("0.000000001s"), 1);
	assert_int_equal(parsed("2m"), 120 * NS_PER_S);
	assert_int_equal(parsed("10000h"), 36000000 * NS_PER_S);
	assert_int_equal(parsed(".5s"), 500 * NS_PER_MS);
	assert_int_equal(parsed("1ns"), 1);
}

CASE(bad_durations_are_refused)
{
	static const char *const bad[] = {"",
					  "s",
					  "-1s",
					  "0",
					  "0ms",
					  "1x",
					  "1 s",
					  "1..2s",
					  "1e3s",
					  "ms",
					  "5mss",
					  ".s",
					  "10001h",
					  "nan",
					  "99999999999999999999s",
					  "0.0000000001s"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = {""};
		uint64_t ns = 42;

		assert_int_equal(duration_parse(bad[i], &ns, &error), -EINVAL);
		assert_int_equal(ns, 42);
		assert_true(*error.text);
	}
}

CASE(moments_are_read)
{
	/* 2026-11-27 14:05:30 UTC, an hour later where we are */
	static const uint64_t end_ns = 1795788330 * NS_PER_S;
	static const struct {
		const char *text;
		int64_t seconds; /* from the end on */
	} good[] = {
		{"2026-11-27 13:05:30", -7200},
		{"2026-11-27T13:05", -7230},
		{"2026-11-27T13:05:30Z", -3600},
		{"2026-11-27", -54330},
		{"15:05", -30},
		{"15:05:30", 0},
		{"15:05:31", 1 - 86400},
		{"10m", -600},
		{"1.5h", -5400},
		{"2027-01-01", 34 * 86400 + 32070},
		/* of other programs */
		{"2026-11-27T13:05:30.250Z", -3600},
		{"2026-11-27T16:05:30+02:00", 0},
		{"2026-11-27 09:05:30-0500", 0},
		{"14:05Z", -30},
		{"14:05:31Z", 1 - 86400},
		{"01:00+02:00", -54330},
	};
	static const char *const bad[] = {
		"",	     "25:00",	"14:05z",  "2026-11-27 14:05 x", "2026-13-01",
		"yesterday", "-10m",	"0",	   "1969-01-01",	 "14:05.5",
		"14:05:1.",  "14:05 Z", "14:05+2x"};
	struct moment moment;
	struct error error;

	setenv("TZ", "XYZ-1", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(moment_parse(good[i].text, &moment, &error), 0);
		assert_int_equal(moment_ns(&moment, end_ns),
				 end_ns + (uint64_t)(good[i].seconds * (int64_t)NS_PER_S));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(moment_parse(bad[i], &moment, &error), -EINVAL);
	assert_int_equal(moment_ns(&(struct moment){MOMENT_NONE, 0}, end_ns), 0);
	/* 2026-10-25 23:30 in central Europe, a day of 25 hours: 23:45 is of the day before */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(moment_parse("23:45", &moment, &error), 0);
	assert_int_equal(moment_ns(&moment, 1792967400 * NS_PER_S), 1792878300 * NS_PER_S);
	unsetenv("TZ");
	tzset();
}

CASE(sizes_are_powers_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"1", 1},	    {"4096", 4096},
		{"12B", 12},	    {"64K", 65536},
		{"64KiB", 65536},   {"16MB", 16777216},
		{"3G", 3ULL << 30}, {"8388607T", 8388607ULL << 40},
	};
	static const char *const bad[] = {"",
					  "0",
					  "K",
					  "-1",
					  "1.5M",
					  "64k",
					  "1 K",
					  "1P",
					  "0K",
					  "1KiBs",
					  "1Ki",
					  "8388608T",
					  "18446744073709551616"};
	struct error error;
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(size_parse(good[i].text, &bytes, &error), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		*error.text = '\0';
		assert_int_equal(size_parse(bad[i], &bytes, &error), -EINVAL);
		assert_true(*error.text);
	}
}

static const char *formatted(uint64_t ns)
{
	static char text[32];

	duration_format(text, sizeof(text), ns);
	return text;
}

CASE(durations_are_written_in_six_columns)
{
	assert_string_equal(formatted(0), "0");
	assert_string_equal(formatted(740), "740ns");
	assert_string_equal(formatted(41999), "41us");
	assert_string_equal(formatted(8100000), "8.1ms");
	assert_string_equal(formatted(999999999), "999ms");
	assert_string_equal(formatted(2300000000), "2.30s");
	assert_string_equal(formatted(250 * NS_PER_S), "4m10s");
	assert_string_equal(formatted(11100 * NS_PER_S), "3h05m");
	assert_string_equal(formatted(9 * 86400 * NS_PER_S + 4 * 3600 * NS_PER_S), "9d04h");
	for (uint64_t ns = 1; ns < 100ULL * 86400 * NS_PER_S; ns = ns * 3 + 1)
		assert_in_range(strlen(formatted(ns)), 1, 6);
}

CASE(percentiles_of_a_histogram)
{
	uint32_t buckets[32] = {0};

	assert_int_equal(histogram_percentile(buckets, 32, 0.5, 0), 0);
	buckets[10] = 98; /* 1024..2047 */
	buckets[20] = 2;
	assert_int_equal(histogram_count(buckets, 32), 100);
	assert_in_range(histogram_percentile(buckets, 32, 0.50, 1 << 21), 1024, 2047);
	assert_in_range(histogram_percentile(buckets, 32, 0.98, 1 << 21), 1024, 2047);
	assert_in_range(histogram_percentile(buckets, 32, 0.99, 1 << 21), 1 << 20, (1 << 21) - 1);
	/* never more than the largest that was counted */
	assert_int_equal(histogram_percentile(buckets, 32, 1.0, 1100000), 1100000);
	assert_int_equal(histogram_percentile(buckets, 32, 0.5, 1030), 1030);
	/* of less than 100 the 99th percentile is the largest */
	buckets[10] = 97;
	assert_int_equal(histogram_percentile(buckets, 32, 0.99, 2000000), 2000000);
}

CASE(lines_of_text_are_tame)
{
	char longer[3000];
	struct output out;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(output_init(&out, -1), 0);
	text_line(&out, 4, "%s on %s", "\033[7m", "a\nb");
	assert_int_equal(out.used, strlen("?[7m on a?b\n"));
	assert_memory_equal(out.buffer, "?[7m on a?b\n", out.used);
	text_line(&out, 0, "%s", longer);
	assert_int_equal(out.used, strlen("?[7m on a?b\n") + sizeof(longer));
	output_release(&out);
}

CASE(percentiles_of_one_value)
{
	uint32_t buckets[32] = {[0] = 1}, higher[32] = {[3] = 1}, highest[4] = {[3] = 1};

	assert_int_equal(histogram_percentile(buckets, 32, 0.99, 0), 0);
	assert_int_equal(histogram_percentile(higher, 32, 0.01, 9), 9);
	assert_int_equal(histogram_percentile(highest, 4, 0.01, 90), 90);
	/* a longest that goes on is none of those that were counted */
	assert_in_range(histogram_percentile(buckets, 32, 0.99, 5000000000), 0, 1);
	/* and where the largest is not known */
	assert_in_range(histogram_percentile(buckets, 32, 0.01, UINT64_MAX), 0, 1);
}

static const char *written(const struct output *out)
{
	static char text[4096];

	assert_true(out->used < sizeof(text));
	memcpy(text, out->buffer, out->used);
	text[out->used] = '\0';
	return text;
}

CASE(json_has_its_commas)
{
	struct output out;
	struct json json = {.out = &out};

	assert_int_equal(output_init(&out, -1), 0);
	json_object_begin(&json, NULL);
	json_add_u64(&json, "a", UINT64_MAX);
	json_array_begin(&json, "b");
	json_add_i64(&json, NULL, INT64_MIN);
	json_add_null(&json, NULL);
	json_object_begin(&json, NULL);
	json_object_end(&json);
	json_array_end(&json);
	json_add_bool(&json, "c", true);
	json_add_string(&json, "d", "x");
	json_object_end(&json);
	assert_string_equal(written(&out),
			    "{\"a\":18446744073709551615,\"b\":[-9223372036854775808,"
			    "null,{}],\"c\":true,\"d\":\"x\"}");
	output_release(&out);
}

static const char *in_json(const char *text)
{
	struct output out;
	const char *result;

	assert_int_equal(output_init(&out, -1), 0);
	text_json(&out, text);
	result = written(&out);
	output_release(&out);
	return result;
}

CASE(hostile_names_cannot_break_json)
{
	assert_string_equal(in_json("a\"b\\c"), "\"a\\\"b\\\\c\"");
	assert_string_equal(in_json("\x1b[2J\n"), "\"\\u001b[2J\\u000a\"");
	assert_string_equal(in_json("\xff\xfe"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(in_json("h\xc3\xa9"), "\"h\xc3\xa9\"");
	assert_string_equal(in_json("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\""); /* overlong */
	assert_string_equal(in_json("\xed\xa0\x80"),
			    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* surrogate */
	assert_string_equal(in_json("cut\xe2\x82"), "\"cut\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(in_json("\xc2\x9b"), "\"\\u009b\""); /* C1: CSI */
	/* right to left, and a tag without width */
	assert_string_equal(in_json("\xe2\x80\xae\xf3\xa0\x80\x81"), "\"\\u202e\\udb40\\udc01\"");
}

static const char *in_terminal(const char *text, size_t columns)
{
	static char shown[256];

	text_printable(shown, sizeof(shown), text, columns);
	return shown;
}

CASE(hostile_names_cannot_break_a_terminal)
{
	setlocale(LC_ALL, "C.UTF-8");
	assert_string_equal(in_terminal("\x1b[2Jx\x07", 20), "?[2Jx?");
	assert_string_equal(in_terminal("\xff\xfe", 20), "??");
	assert_string_equal(in_terminal("h\xc3\xa9", 20), "h\xc3\xa9");
	assert_string_equal(in_terminal("\xc2\x9b", 20), "?"); /* CSI in one byte pair */
	assert_string_equal(in_terminal("a\xe2\x80\xae"
					"b",
					20),
			    "a?b"); /* right to left */
	assert_string_equal(in_terminal("abcdef", 3), "abc");
	assert_string_equal(in_terminal("\xe4\xb8\xad\xe4\xb8\xad", 3), "\xe4\xb8\xad"); /* wide */
	assert_string_equal(in_terminal("", 3), "");
	/* Arabic letter mark, Mongolian vowel separator, a letter without width */
	assert_string_equal(in_terminal("\xd8\x9c|\xe1\xa0\x8e|\xe3\x85\xa4", 20), "?|?|?");
}

static const char *line_of(const char *format, const char *name)
{
	static char text[256];
	int length = 0;

	/* the format is of the test, which tames what printf() made of it */
	for (const char *at = format; *at; at++) {
		bool name_here = at[0] == '%' && at[1] == 's';
		int used = snprintf(text + length, sizeof(text) - (size_t)length, "%.*s",
				    name_here ? (int)strlen(name) : 1, name_here ? name : at);

		length += used;
		at += name_here;
	}
	text[text_tame(text, (size_t)length, format)] = '\0';
	return text;
}

CASE(hostile_arguments_cannot_break_a_line)
{
	assert_string_equal(line_of("a\n%s\n", "b"), "a\nb\n");
	assert_string_equal(line_of("\r%s\033[K", "\033[2J"), "\r?[2J\033[K");
	assert_string_equal(line_of("%s\n", "x\ny\n"), "x?y?\n");
	assert_string_equal(line_of("%s\n%s\n", "x"), "x\nx\n");
	/* which of them are the format's cannot be known */
	assert_string_equal(line_of("%s\n%s\n", "x\n"), "x??x?\n");
	assert_string_equal(line_of("only this\033[K\n", ""), "only this\033[K\n");
	assert_string_equal(line_of("%s", "\xff\xe2\x80\xae"
					  "d\xc3\xa9j\xc3\xa0"),
			    "??d\xc3\xa9j\xc3\xa0");
}

CASE(output_is_harmless_however_long)
{
	struct output out;
	char name[2000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[1000] = '\033';
	assert_int_equal(output_init(&out, -1), 0);
	output_format(&out, "%s|%u\n", name, 5);
	assert_int_equal(out.used, 2002);
	assert_int_equal(out.buffer[1000], '?');
	assert_memory_equal(out.buffer + 1999, "|5\n", 3);
	output_release(&out);
}

CASE(printable_text_respects_its_room)
{
	char small[4];

	assert_int_equal(text_printable(small, sizeof(small), "abcdef", 10), 3);
	assert_string_equal(small, "abc");
	/* no half characters */
	text_printable(small, sizeof(small), "ab\xc3\xa9", 10);
	assert_string_equal(small, "ab");
	text_printable(small, 1, "x", 10);
	assert_string_equal(small, "");
}

CASE(of_a_long_name_there_is_the_end)
{
	char shown[64], small[6];

	setlocale(LC_ALL, "C.UTF-8");
	text_end(shown, sizeof(shown), "abcdef", 6);
	assert_string_equal(shown, "abcdef");
	text_end(shown, sizeof(shown), "abcdefg", 6);
	assert_string_equal(shown, "…cdefg");
	text_end(shown, sizeof(shown), "abcd\x1b\xc3\xa9g", 4);
	assert_string_equal(shown, "…?\xc3\xa9g");
	text_end(small, sizeof(small), "abcdefg", 6);
	assert_string_equal(small, "…cd");
}

static void assert_wrapped(const char *text, size_t indent, size_t columns, const char *expected)
{
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	text_wrapped(&out, text, indent, columns);
	output_char(&out, '\0');
	assert_string_equal(out.buffer, expected);
	output_release(&out);
}

CASE(text_is_broken_at_words)
{
	setlocale(LC_ALL, "C.UTF-8");
	assert_wrapped("ab cd  ef", 0, 9, "ab cd  ef");
	assert_wrapped("ab cd  ef", 0, 8, "ab cd\nef");
	assert_wrapped("ab cd  ef", 2, 7, "ab cd\n  ef");
	/* not within a word, and a character is no byte */
	assert_wrapped("abcdefgh ij", 2, 5, "abcdefgh\n  ij");
	assert_wrapped("\xc3\xa9\xc3\xa9 ij", 0, 5, "\xc3\xa9\xc3\xa9 ij");
	assert_wrapped("no terminal", 0, 0, "no terminal");
	assert_wrapped("", 4, 10, "");
}

CASE(a_window_has_columns_where_it_is_a_terminal)
{
	struct winsize size = {.ws_row = 24, .ws_col = 132};
	int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY), pipes[2];

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(window_columns(pipes[1]), 0);
	assert_int_equal(window_columns(terminal), 80);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	assert_int_equal(window_columns(terminal), 132);
	close(terminal);
	close(pipes[0]);
	close(pipes[1]);
}

CASE(of_a_long_path_there_are_both_ends)
{
	char shown[64], small[12];

	setlocale(LC_ALL, "C.UTF-8");
	assert_int_equal(text_middle(shown, sizeof(shown), "/a/path", 8), 7);
	assert_string_equal(shown, "/a/path");
	assert_int_equal(text_middle(shown, sizeof(shown), "/system.slice/pg.service", 12), 12);
	assert_string_equal(shown, "/sys…service");
	/* cut again it has no second ellipsis */
	text_middle(shown, sizeof(shown), "/system.slice/pg.service", 20);
	text_middle(shown, sizeof(shown), shown, 9);
	assert_string_equal(shown, "/sy…rvice");
	/* a wide character is not halved, nor one of several bytes in a small room */
	assert_int_equal(text_middle(shown, sizeof(shown), "/日本日本日本日本\x1b", 8), 7);
	assert_string_equal(shown, "/…日本?");
	text_middle(small, sizeof(small), "/日本日本日本日本", 12);
	assert_true(strlen(small) < sizeof(small));
}

CASE(csv_quotes_what_it_must)
{
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	text_csv(&out, "plain");
	output_char(&out, '|');
	text_csv(&out, "a,b");
	output_char(&out, '|');
	text_csv(&out, "say \"x\"\n");
	assert_string_equal(written(&out), "plain|\"a,b\"|\"say \"\"x\"\"?\"");
	output_char(&out, '|');
	text_csv(&out, "=1+1");
	output_char(&out, '|');
	text_csv(&out, "@SUM(A1,A2)");
	output_char(&out, '|');
	text_csv(&out, "-bash");
	output_char(&out, '|');
	text_csv(&out, "a=1");
	assert_non_null(strstr(written(&out), "|'=1+1|\"'@SUM(A1,A2)\"|'-bash|a=1"));
	output_char(&out, '|');
	text_csv_lines(&out, "a\nb\033\n");
	assert_non_null(strstr(written(&out), "a=1|\"a\nb?\n\""));
	output_release(&out);
}

CASE(html_has_no_markup_of_a_text)
{
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	text_html(&out, "a<b>&\"é\n\xff");
	text_html(&out, "\xe2\x80\xae");
	assert_string_equal(written(&out),
			    "a&lt;b&gt;&amp;&quot;é\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	output_release(&out);
}

CASE(output_grows_in_memory)
{
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	for (int i = 0; i < 100000; i++)
		output_u64(&out, 1234567890);
	assert_int_equal(out.used, 1000000);
	assert_int_equal(output_flush(&out), 0);
	output_i64(&out, -5);
	assert_memory_equal(out.buffer + out.used - 2, "-5", 2);
	output_release(&out);
}

CASE(numbers_around_every_power_of_ten)
{
	for (uint64_t power = 1;; power *= 10) {
		for (uint64_t value = power - 1; value <= power + 1; value++) {
			char expected[24];
			struct output out;

			snprintf(expected, sizeof(expected), "%" PRIu64, value);
			assert_int_equal(output_init(&out, -1), 0);
			output_u64(&out, value);
			output_char(&out, '\0');
			assert_string_equal(out.buffer, expected);
			output_release(&out);
		}
		if (power > UINT64_MAX / 10)
			break;
	}
}

CASE(the_largest_number)
{
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	output_u64(&out, UINT64_MAX);
	output_char(&out, '\0');
	assert_string_equal(out.buffer, "18446744073709551615");
	output_release(&out);
}

CASE(output_keeps_its_first_error)
{
	struct output out;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		skip();
	assert_int_equal(output_init(&out, fd), 0);
	output_string(&out, "x");
	assert_int_equal(output_flush(&out), -ENOSPC);
	for (int i = 0; i < 1000; i++)
		output_bytes(&out, "0123456789", 10);
	assert_int_equal(output_flush(&out), -ENOSPC);
	output_release(&out);
	close(fd);
}

struct loop_test {
	struct loop loop;
	int calls;
};

static int count_and_stop(void *data, struct error *error)
{
	struct loop_test *test = data;

	(void)error;
	if (++test->calls == 3)
		test->loop.stop = true;
	return 0;
}

static int give_up(void *data, struct error *error)
{
	(void)data;
	return error_set(error, EIO, "failed");
}

CASE(loop_calls_a_timer_until_stopped)
{
	struct loop_test test = {0};
	struct error error = {""};

	assert_int_equal(loop_init(&test.loop, &error), 0);
	assert_int_equal(loop_add_timer(&test.loop, 0, NS_PER_MS, count_and_stop, &test, &error),
			 0);
	assert_int_equal(loop_run(&test.loop, &error), 0);
	assert_int_equal(test.calls, 3);
	loop_release(&test.loop);
}

static int take_signal(void *data, struct error *error)
{
	struct loop_test *test = data;

	(void)error;
	assert_int_equal(test->loop.signal, SIGUSR1);
	assert_false(test->loop.signal_from_terminal);
	test->loop.stop = true;
	return 0;
}

CASE(loop_hears_signals)
{
	static const int signals[] = {SIGUSR1};
	struct loop_test test = {0};
	struct error error = {""};

	assert_int_equal(loop_init(&test.loop, &error), 0);
	assert_int_equal(loop_add_signals(&test.loop, signals, 1, take_signal, &test, &error), 0);
	kill(getpid(), SIGUSR1);
	assert_int_equal(loop_run(&test.loop, &error), 0);
	loop_release(&test.loop);
}

CASE(loop_ends_with_the_error_of_a_callback)
{
	struct loop_test test = {0};
	struct error error = {""};
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(loop_init(&test.loop, &error), 0);
	assert_int_equal(loop_add(&test.loop, fds[0], give_up, NULL, &error), 0);
	assert_int_equal(loop_run(&test.loop, &error), -EIO);
	assert_string_equal(error.text, "failed");
	loop_release(&test.loop);
	assert_int_equal(loop_add(&test.loop, -1, give_up, NULL, &error), -errno);
	close(fds[0]);
	close(fds[1]);
}

CASE(arrays_grow_and_keep_their_items)
{
	uint32_t *items = NULL;
	size_t room = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(array_reserve(&items, &room, i + 1, sizeof(*items)), 0);
		assert_true(room > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	/* more than there can be: nothing changes */
	assert_int_equal(array_reserve(&items, &room, SIZE_MAX / 2, sizeof(*items)), -ENOMEM);
	assert_int_equal(items[999], 999);
	free(items);
}

CASE(sizes_are_short)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} known[] = {{0, "0 B"},
		     {1023, "1023 B"},
		     {1024, "1.0 KiB"},
		     {1536, "1.5 KiB"},
		     {1048575, "1.0 MiB"},
		     {123ULL << 30, "123 GiB"},
		     {UINT64_MAX, "16.0 EiB"}};
	char text[16];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_format(text, sizeof(text), known[i].bytes);
		assert_string_equal(text, known[i].text);
	}
}

CASE(characters_are_encoded_as_they_are_decoded)
{
	static const uint32_t known[] = {'a', 0xe9, 0x2588, 0x1f600, 0x10ffff};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char bytes[4];
		uint32_t character;
		size_t length = text_encode(bytes, known[i]);

		assert_int_equal(text_decode(bytes, length, &character), length);
		assert_int_equal(character, known[i]);
	}
}

/* Of the reasons that are limits, the limit; of others nothing. */
CASE(a_limit_that_failed_something_is_named)
{
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){50, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_string_equal(limits_strerror(EMFILE),
			    "Too many open files: the limit is 50 (ulimit -n)");
	assert_string_equal(limits_fix(EMFILE), "raise the limit of open files (ulimit -n)");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){2048, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_string_equal(limits_strerror(EFBIG),
			    "File too large: the limit is 2 KiB (ulimit -f)");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_string_equal(limits_strerror(ENOENT), strerror(ENOENT));
	assert_string_equal(limits_fix(ENOENT), "");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(error_is_set_and_wrapped),
		cmocka_unit_test(error_that_is_too_long_is_cut),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(bad_durations_are_refused),
		cmocka_unit_test(moments_are_read),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(durations_are_written_in_six_columns),
		cmocka_unit_test(percentiles_of_a_histogram),
		cmocka_unit_test(lines_of_text_are_tame),
		cmocka_unit_test(percentiles_of_one_value),
		cmocka_unit_test(json_has_its_commas),
		cmocka_unit_test(hostile_names_cannot_break_json),
		cmocka_unit_test(hostile_names_cannot_break_a_terminal),
		cmocka_unit_test(hostile_arguments_cannot_break_a_line),
		cmocka_unit_test(output_is_harmless_however_long),
		cmocka_unit_test(printable_text_respects_its_room),
		cmocka_unit_test(of_a_long_name_there_is_the_end),
		cmocka_unit_test(text_is_broken_at_words),
		cmocka_unit_test(a_window_has_columns_where_it_is_a_terminal),
		cmocka_unit_test(of_a_long_path_there_are_both_ends),
		cmocka_unit_test(csv_quotes_what_it_must),
		cmocka_unit_test(html_has_no_markup_of_a_text),
		cmocka_unit_test(output_grows_in_memory),
		cmocka_unit_test(numbers_around_every_power_of_ten),
		cmocka_unit_test(the_largest_number),
		cmocka_unit_test(output_keeps_its_first_error),
		cmocka_unit_test(loop_calls_a_timer_until_stopped),
		cmocka_unit_test(loop_hears_signals),
		cmocka_unit_test(loop_ends_with_the_error_of_a_callback),
		cmocka_unit_test(arrays_grow_and_keep_their_items),
		cmocka_unit_test(sizes_are_short),
		cmocka_unit_test(characters_are_encoded_as_they_are_decoded),
		cmocka_unit_test(a_limit_that_failed_something_is_named),
	};

	return RUN(cases);
}
