// SPDX-License-Identifier: GPL-2.0-or-later
/* Which bytes are the report of a worker. */
#include "test.h"

#include <errno.h>

#include "load/checks.h"

#define KEPT 3

struct whole {
	struct worker_report report;
	struct report_migration migrations[KEPT];
};

static struct whole *whole_report(void)
{
	struct whole *whole = calloc(1, sizeof(*whole));

	assert_non_null(whole);
	whole->report = (struct worker_report){.magic = REPORT_MAGIC,
					       .bytes = sizeof(*whole),
					       .migration_count = KEPT,
					       .migrations_kept = KEPT};
	return whole;
}

CASE(a_report_is_whole_at_its_last_byte)
{
	struct whole *whole = whole_report();

	for (size_t length = 0; length < sizeof(*whole); length++) {
		/* a copy, so that a sanitizer sees a look behind its end */
		char *part = malloc(length + 1);

		memcpy(part, whole, length);
		assert_int_equal(report_check(part, length), 0);
		free(part);
	}
	assert_int_equal(report_check(whole, sizeof(*whole)), 1);
	assert_int_equal(report_check(whole, sizeof(*whole) + 1), -EBADMSG);
	free(whole);
}

CASE(a_report_has_a_magic_number)
{
	struct whole *whole = whole_report();

	for (unsigned int bit = 0; bit < 64; bit++) {
		whole->report.magic = REPORT_MAGIC ^ 1ULL << bit;
		assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
		/* it is known as soon as there is anything to know */
		assert_int_equal(report_check(whole, offsetof(struct worker_report, tid)),
				 -EBADMSG);
	}
	free(whole);
}

CASE(a_report_has_the_size_it_says)
{
	static const uint32_t bad[] = {0,
				       1,
				       sizeof(struct worker_report) - 1,
				       sizeof(struct whole) - 1,
				       sizeof(struct whole) - sizeof(struct report_migration),
				       REPORT_BYTES_MAX + 1,
				       UINT32_MAX};
	struct whole *whole = whole_report();

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		whole->report.bytes = bad[i];
		assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
	}
	/* more than there is yet */
	whole->report.bytes = sizeof(*whole) + 1;
	assert_int_equal(report_check(whole, sizeof(*whole)), 0);
	whole->report.bytes = REPORT_BYTES_MAX;
	assert_int_equal(report_check(whole, sizeof(*whole)), 0);
	free(whole);
}

CASE(a_report_keeps_as_many_migrations_as_it_says)
{
	struct worker_report *report = calloc(1, REPORT_BYTES_MAX + 64);
	struct whole *whole = whole_report();

	*report = whole->report;
	report->bytes = REPORT_BYTES_MAX;
	report->migrations_kept = REPORT_MIGRATIONS;
	report->migration_count = REPORT_MIGRATIONS;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), 1);
	report->migration_count = UINT64_MAX;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), 1);
	/* more kept than there were */
	report->migration_count = REPORT_MIGRATIONS - 1;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	report->migration_count = UINT64_MAX;
	report->migrations_kept = REPORT_MIGRATIONS + 1;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	/* so many that their size is a small one again */
	report->migrations_kept = (1U << 28) + REPORT_MIGRATIONS;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	report->migrations_kept = REPORT_MIGRATIONS - 1;
	assert_int_equal(report_check(report, REPORT_BYTES_MAX), -EBADMSG);
	whole->report.migrations_kept = KEPT - 1;
	assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
	free(whole);
	free(report);
}

CASE(the_texts_of_a_report_end)
{
	struct whole *whole = whole_report();
	char *const texts[] = {whole->report.affinity_error, whole->report.policy_error,
			       whole->report.memory_policy_error, whole->report.nice_error,
			       whole->report.work_error};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		memset(texts[i], 'x', REPORT_TEXT);
		assert_int_equal(report_check(whole, sizeof(*whole)), -EBADMSG);
		texts[i][REPORT_TEXT - 1] = '\0';
		assert_int_equal(report_check(whole, sizeof(*whole)), 1);
	}
	free(whole);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_report_is_whole_at_its_last_byte),
		cmocka_unit_test(a_report_has_a_magic_number),
		cmocka_unit_test(a_report_has_the_size_it_says),
		cmocka_unit_test(a_report_keeps_as_many_migrations_as_it_says),
		cmocka_unit_test(the_texts_of_a_report_end),
	};

	return RUN(cases);
}
