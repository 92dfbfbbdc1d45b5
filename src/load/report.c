// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/report.h"

#include <errno.h>
#include <string.h>

static bool is_ended(const char text[REPORT_TEXT])
{
	return memchr(text, '\0', REPORT_TEXT) != NULL;
}

int report_check(const void *bytes, size_t length)
{
	const struct worker_report *report = bytes;
	const size_t head = offsetof(struct worker_report, tid);

	if (length < head)
		return 0;
	if (report->magic != REPORT_MAGIC || report->bytes < sizeof(*report) ||
	    report->bytes > REPORT_BYTES_MAX || length > report->bytes)
		return -EBADMSG;
	if (length < report->bytes)
		return 0;
	if (report->migrations_kept > REPORT_MIGRATIONS ||
	    report->bytes !=
		    sizeof(*report) + report->migrations_kept * sizeof(struct report_migration) ||
	    report->migrations_kept > report->migration_count)
		return -EBADMSG;
	return is_ended(report->affinity_error) && is_ended(report->policy_error) &&
			       is_ended(report->memory_policy_error) &&
			       is_ended(report->nice_error) && is_ended(report->work_error) &&
			       is_ended(report->note)
		       ? 1
		       : -EBADMSG;
}
