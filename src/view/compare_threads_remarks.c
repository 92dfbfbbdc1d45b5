// SPDX-License-Identifier: GPL-2.0-or-later
/* What to know about two recordings before one believes what they differ in. */
#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "view/compare_threads.h"

__attribute__((format(printf, 2, 3))) static void remark(struct thread_comparison *pair,
							 const char *format, ...)
{
	char *into = pair->remarks[pair->remark_count];
	va_list arguments;

	if (pair->remark_count == THREAD_REMARKS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(into, THREAD_REMARK_BYTES, format, arguments);
	va_end(arguments);
	pair->remark_count++;
}

static const struct shares *side_of(const struct thread_comparison *pair, int side)
{
	return pair->comparison->sides[side];
}

static const struct wire_session *session_of(const struct thread_comparison *pair, int side)
{
	return &side_of(pair, side)->session;
}

/* A file may say anything, without a NUL at its end too. */
static void remark_texts(struct thread_comparison *pair, const char *what, const char *a,
			 const char *b, size_t size)
{
	char copy[65], shown[2][128];

	if (!strncmp(a, b, size))
		return;
	for (int side = 0; side < 2; side++) {
		snprintf(copy, sizeof(copy), "%.*s", (int)size, side ? b : a);
		text_printable(shown[side], sizeof(shown[side]), copy, 64);
	}
	remark(pair, "%s: A %s, B %s", what, shown[0], shown[1]);
}

static void remark_sessions(struct thread_comparison *pair)
{
	const struct wire_session *a = session_of(pair, 0), *b = session_of(pair, 1);
	struct session_info info[2] = {{.wire = *a}, {.wire = *b}};
	char length[2][16];

	remark_texts(pair, "host", a->host, b->host, sizeof(a->host));
	remark_texts(pair, "kernel", a->kernel, b->kernel, sizeof(a->kernel));
	remark_texts(pair, "architecture", a->machine, b->machine, sizeof(a->machine));
	if (a->cpus != b->cpus)
		remark(pair, "CPUs: A %u, B %u", a->cpus, b->cpus);
	if (a->source != b->source)
		remark(pair, "source: A %s, B %s; their errors differ, too",
		       session_source(&info[0]), session_source(&info[1]));
	if (a->interval_ns == b->interval_ns)
		return;
	duration_format(length[0], sizeof(length[0]), a->interval_ns);
	duration_format(length[1], sizeof(length[1]), b->interval_ns);
	remark(pair, "interval: A %s, B %s", length[0], length[1]);
}

static const char *which(bool a, bool b)
{
	return a && b ? "A and B" : a ? "A" : "B";
}

static void remark_missing(struct thread_comparison *pair)
{
	const struct shares *a = side_of(pair, 0), *b = side_of(pair, 1);

	if (!a->has_blame || !b->has_blame)
		remark(pair,
		       "because of whom: not recorded in %s (it was made with --no-blame, or by "
		       "an older dwell); states and reasons alone are compared",
		       which(!a->has_blame, !b->has_blame));
	if (!a->has_reasons || !b->has_reasons)
		remark(pair,
		       "reasons: none recorded in %s (`dwell record -p`, -n and -t keep those "
		       "of waits that have ended)",
		       which(!a->has_reasons, !b->has_reasons));
}

static bool has_come_or_gone(const struct share_comparison *comparison)
{
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->rows[i].verdict == SHARE_IS_NEW ||
		    comparison->rows[i].verdict == SHARE_IS_GONE)
			return true;
	return false;
}

/* The targets are not in the recording, only that there were some. */
static void remark_targets(struct thread_comparison *pair)
{
	bool a = session_of(pair, 0)->flags & WIRE_SESSION_TARGETED;
	bool b = session_of(pair, 1)->flags & WIRE_SESSION_TARGETED;

	if (a != b)
		remark(pair,
		       "recorded: %s parts of the machine, %s all of it; programs that are in %s "
		       "alone are not compared",
		       a ? "A" : "B", a ? "B" : "A", a ? "B" : "A");
	else if (a && has_come_or_gone(pair->comparison))
		remark(pair, "recorded: parts of the machine; a program that is new or gone may "
			     "not have been asked for");
}

/* Damage, loss, and what was too much. */
static void remark_gaps(struct thread_comparison *pair)
{
	for (int side = 0; side < 2; side++) {
		const struct shares *shares = side_of(pair, side);
		char folded[16];

		if (*pair->damage[side])
			remark(pair, "%c: %s", 'A' + side, pair->damage[side]);
		if (shares->lost)
			remark(pair,
			       "%c: %" PRIu64 " records or transitions were lost: its figures are "
			       "less than exact",
			       'A' + side, shares->lost);
		if (!shares_folded(shares))
			continue;
		duration_format(folded, sizeof(folded), shares->folded_ns);
		remark(pair, "%c: %s of shares of too many programs or culprits are not compared",
		       'A' + side, folded);
	}
}

void compare_threads_remark(struct thread_comparison *pair)
{
	pair->remark_count = 0;
	if (share_comparison_is_short(pair->comparison))
		remark(pair,
		       "too few intervals: %u and %u of full length, where a verdict takes %d of "
		       "each",
		       pair->comparison->batches[0], pair->comparison->batches[1],
		       SHARE_BATCHES_LEAST);
	remark_gaps(pair);
	remark_sessions(pair);
	remark_targets(pair);
	remark_missing(pair);
}
