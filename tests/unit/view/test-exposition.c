// SPDX-License-Identifier: GPL-2.0-or-later
/* Exemplars of OpenMetrics: which bucket has one, and how long it can become. */
#include "test.h"

#include <stdio.h>

#include "base/duration.h"
#include "view/exposition.h"

/* Of names and values together: OpenMetrics 1.0, "Exemplars". */
#define EXEMPLAR_MOST 128

static const struct session_info session = {.wire = {.states = ~0U, .metrics = ~0U}};

static void write_stalls(struct output *out, const struct stall_last *last,
			 enum exposition_format format)
{
	static const uint64_t by_cause[STALL_CAUSES_COUNT];
	const uint64_t by_length[STALL_BUCKETS] = {[21] = 1}; /* 2^21 ns is 2.1 ms */
	const struct metrics_service service = {.stalls = {{.process = "some",
							    .by_cause = by_cause,
							    .by_length = by_length,
							    .last = *last}},
						.stall_count = 1};
	struct counters counters;

	assert_int_equal(counters_init(&counters, BY_PROCESS, 1, 0), 0);
	assert_int_equal(output_init(out, -1), 0);
	exposition_write(out, &(struct metrics_input){&counters, &session, &service}, format, NULL);
	output_char(out, '\0');
	assert_int_equal(out->error, 0);
	counters_release(&counters);
}

/* What it says of the only exemplar there is, from its brace. */
static const char *only_exemplar(const char *text)
{
	const char *found = strstr(text, " # {");

	assert_non_null(found);
	assert_null(strstr(found + 1, " # {"));
	return found + 4;
}

static void it_names_the_stall(void **state)
{
	const struct stall_last last = {3 * NS_PER_MS, 1234, 5678901234567, "slow_callback"};
	struct output out;

	(void)state;
	write_stalls(&out, &last, EXPOSITION_OPENMETRICS);
	assert_non_null(strstr(out.buffer,
			       "dwell_stall_seconds_bucket{process=\"some\",le=\"0.004194304\"} 1 "
			       "# {tid=\"1234\",start_ns=\"5678901234567\","
			       "function=\"slow_callback\"} 0.003000000\n"));
	only_exemplar(out.buffer);
	output_release(&out);
}

static void one_without_a_function_has_its_place_all_the_same(void **state)
{
	const struct stall_last last = {3 * NS_PER_MS, 1, 2, ""};
	struct output out;

	(void)state;
	write_stalls(&out, &last, EXPOSITION_OPENMETRICS);
	assert_memory_equal(only_exemplar(out.buffer), "tid=\"1\",start_ns=\"2\"} 0.003",
			    sizeof("tid=\"1\",start_ns=\"2\"} 0.003") - 1);
	output_release(&out);
}

static void there_is_none_before_a_stall_and_none_in_text(void **state)
{
	const struct stall_last none = {.function = ""}, last = {3 * NS_PER_MS, 1, 2, "f"};
	struct output out;

	(void)state;
	write_stalls(&out, &none, EXPOSITION_OPENMETRICS);
	assert_null(strstr(out.buffer, " # {"));
	output_release(&out);
	write_stalls(&out, &last, EXPOSITION_TEXT);
	assert_null(strstr(out.buffer, " # {"));
	output_release(&out);
}

static void it_is_not_longer_than_openmetrics_takes(void **state)
{
	char function[200] = "";
	const struct stall_last last = {3 * NS_PER_MS, UINT32_MAX, UINT64_MAX, function};
	size_t characters = 0;
	struct output out;

	(void)state;
	memset(function, 'x', sizeof(function) - 1);
	write_stalls(&out, &last, EXPOSITION_OPENMETRICS);
	for (const char *at = only_exemplar(out.buffer); *at != '}'; at++)
		characters += !strchr("=\",", *at);
	assert_int_equal(characters, EXEMPLAR_MOST);
	output_release(&out);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(it_names_the_stall),
		cmocka_unit_test(one_without_a_function_has_its_place_all_the_same),
		cmocka_unit_test(there_is_none_before_a_stall_and_none_in_text),
		cmocka_unit_test(it_is_not_longer_than_openmetrics_takes),
	};

	return RUN(cases);
}
