// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/histogram.h"
#include "base/machine_time.h"
#include "base/text.h"
#include "view/blamed.h"
#include "view/blocked.h"
#include "view/blocked_words.h"

#define FUNCTION_COLUMNS 44
#define PLACE_COLUMNS	 22
#define CAUSE_COLUMNS	 24

static void write_place(struct output *out, const struct frame *frame)
{
	char text[BLOCKED_PLACE_BYTES];

	blocked_place(text, frame);
	text_padded(out, text, PLACE_COLUMNS);
}

static void write_head(struct output *out, const struct blocked_summary *summary)
{
	const struct wire_runtime *runtime = stalls_runtime(summary->stalls);
	struct stall_counts counts = stalls_counts(summary->stalls);
	uint64_t stacks =
		runtime->stacks_complete + runtime->stacks_truncated + runtime->stacks_failed;
	uint64_t lost = runtime->lost + stall_counts_lost(&counts);
	char process[32], threshold[16], length[16], longest[16], total[16];
	char probes[BLOCKED_PROBES_BYTES];
	size_t count, pool = 0;
	const struct stall_worker *workers = stalls_workers(summary->stalls, &count);

	for (size_t i = 0; i < count; i++)
		pool += workers[i].last.kind == WIRE_SPAN_POOL;
	text_printable(process, sizeof(process), runtime->process, 16);
	duration_format(threshold, sizeof(threshold), runtime->threshold_ns);
	duration_format(length, sizeof(length), counts.measured_ns);
	output_format(out,
		      "dwell blocked  %s %u  %s, %zu worker%s, %zu pool thread%s  > %s  in %s\n",
		      process, runtime->pid, runtime->name, count - pool, text_plural(count - pool),
		      pool, text_plural(pool), threshold, length);
	duration_format(longest, sizeof(longest), counts.max_ns);
	duration_format(total, sizeof(total), counts.total_ns);
	output_format(out, "%llu stall%s, %s in all, longest %s  %llu of %llu stacks complete  ",
		      (unsigned long long)counts.stalls, text_plural(counts.stalls), total, longest,
		      (unsigned long long)runtime->stacks_complete, (unsigned long long)stacks);
	if (counts.unexplained)
		output_format(out, "%llu stall%s WITHOUT A STACK  ",
			      (unsigned long long)counts.unexplained,
			      text_plural(counts.unexplained));
	if (runtime->frames)
		output_format(out, "%.0f %% of addresses named  ",
			      100.0 * (double)runtime->frames_named / (double)runtime->frames);
	if (summary->session && session_has_machine(summary->session) && counts.machine_busy_ns)
		output_format(out, "stolen %.1f%% of busy CPU time  ",
			      100 * machine_stolen_share(counts.machine_stolen_ns,
							 counts.machine_busy_ns));
	blocked_probes_text(probes, runtime);
	if (*probes)
		output_format(out, "%s  ", probes);
	output_format(out, lost ? "LOST %llu\n" : "lost %llu\n", (unsigned long long)lost);
}

static void write_cause(struct output *out, const struct hotspot *hotspot)
{
	char text[BLOCKED_CAUSE_BYTES];

	blocked_cause(text, hotspot->cause, hotspot->site);
	text_padded(out, text, CAUSE_COLUMNS);
}

static void write_parties(struct output *out, const struct stalls *stalls,
			  const struct hotspot *hotspot)
{
	const struct stall_blame blame = {.cause = hotspot->cause,
					  .in_place = hotspot->in_place,
					  .waker = &hotspot->waker,
					  .culprit = &hotspot->culprit,
					  .waker_function = hotspot->waker_function,
					  .limit = &hotspot->limit};
	char text[BLOCKED_THROUGH_BYTES];

	blocked_through(text, &blame, stalls);
	if (*text)
		output_format(out, "  %s", text);
}

/* The function of a stall for want of a CPU only happened to be there: with blame they are one. */
static bool is_starved(const struct blocked_summary *summary, const struct hotspot *hotspot)
{
	return blocked_has_starved(summary) && blocked_lost_its_cpu(hotspot);
}

static struct hotspot sum_starved(const struct blocked_summary *summary,
				  const struct hotspot *hotspots, size_t count)
{
	struct hotspot sum = {.cause = CAUSE_RUNNABLE};

	for (size_t i = 0; i < count; i++) {
		if (!is_starved(summary, &hotspots[i]))
			continue;
		sum.count += hotspots[i].count;
		sum.total_ns += hotspots[i].total_ns;
		if (hotspots[i].max_ns > sum.max_ns)
			sum.max_ns = hotspots[i].max_ns;
		for (int j = 0; j < STALL_BUCKETS; j++)
			sum.buckets[j] += hotspots[i].buckets[j];
	}
	return sum;
}

static void write_hotspot(struct output *out, const struct blocked_summary *summary,
			  const struct hotspot *hotspot, const char *without_function)
{
	const struct frame *function = stalls_frame(summary->stalls, hotspot->function);
	char total[16], p99[16], longest[16], name[BLOCKED_NAME_BYTES];

	snprintf(name, sizeof(name), "%s", without_function);
	if (function)
		blocked_name(name, function);
	blocked_cut_parameters(name);
	blocked_write_name(out, name, FUNCTION_COLUMNS);
	output_char(out, ' ');
	write_place(out, function);
	output_char(out, ' ');
	write_cause(out, hotspot);
	duration_format(total, sizeof(total), hotspot->total_ns);
	duration_format(
		p99, sizeof(p99),
		histogram_percentile(hotspot->buckets, STALL_BUCKETS, 0.99, hotspot->max_ns));
	duration_format(longest, sizeof(longest), hotspot->max_ns);
	output_format(out, " %6llu %8s %8s %8s", (unsigned long long)hotspot->count, total, p99,
		      longest);
	write_parties(out, summary->stalls, hotspot);
	output_char(out, '\n');
}

/* In their order: what was starved has its place by its sum. */
static void write_rows(struct output *out, const struct blocked_summary *summary,
		       const struct hotspot *hotspots, size_t count)
{
	struct hotspot starved = sum_starved(summary, hotspots, count);
	size_t lines = 0, top = summary->top ? summary->top : count;

	for (size_t i = 0; i <= count && lines < top; i++) {
		bool is_last = i == count || hotspots[i].in_place ||
			       hotspots[i].total_ns < starved.total_ns;

		if (starved.count && is_last) {
			write_hotspot(out, summary, &starved, "(other threads had the CPU)");
			starved.count = 0;
			lines++;
		}
		if (i == count || lines >= top || is_starved(summary, &hotspots[i]))
			continue;
		write_hotspot(out, summary, &hotspots[i],
			      blocked_without_function(hotspots[i].cause));
		lines++;
	}
}

#define HINT_SHARE 0.05 /* of the time in stalls */

static void write_hint(struct output *out, const struct blocked_summary *summary,
		       const struct hotspot *hotspots, size_t count)
{
	uint64_t total_ns = 0, nameless_ns = 0;

	for (size_t i = 0; i < count; i++) {
		total_ns += hotspots[i].total_ns;
		if (stalls_lack_names(summary->stalls, hotspots[i].stack))
			nameless_ns += hotspots[i].total_ns;
	}
	if ((double)nameless_ns > HINT_SHARE * (double)total_ns)
		text_line(out, 0, "%s", MADE_AT_RUN_TIME_HINT);
}

static bool any_is_open(struct stalls *stalls)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);
	struct stall_open open;

	for (size_t i = 0; i < count; i++)
		if (stalls_open(stalls, &workers[i], &open))
			return true;
	return false;
}

static void write_no_hotspot(struct output *out, const struct blocked_summary *summary)
{
	size_t workers;

	stalls_workers(summary->stalls, &workers);
	if (any_is_open(summary->stalls))
		output_string(out, "\nNo stall has ended: what goes on is beside the workers.\n");
	else if (stalls_seen(summary->stalls))
		output_string(out, "\nNo stall was longer than the threshold.\n");
	else if (workers)
		output_string(out,
			      "\nNo poll of a task and no turn of a loop was seen: what is listed "
			      "waited or computed all the time, or is no worker that dwell knows "
			      "(a loop that has nothing but timers is none).\n");
	else if (summary->session && session_misses(summary->session, "polls"))
		output_string(out, "\nNo poll was on its thread's own stack.\n");
	else
		output_string(out,
			      "\nNo thread polled a task or waited for events as a loop does.\n");
}

static void write_hotspots(struct output *out, const struct blocked_summary *summary)
{
	size_t count;
	const struct hotspot *hotspots;

	if (stalls_hotspots(summary->stalls, HOTSPOTS_BY_FUNCTION, &hotspots, &count) < 0)
		output_fail(out, ENOMEM);
	if (!count) {
		write_no_hotspot(out, summary);
		return;
	}
	output_char(out, '\n');
	text_padded(out, "HOTSPOTS", FUNCTION_COLUMNS + PLACE_COLUMNS + 2);
	output_string(out, "CAUSE                    STALLS    TOTAL      P99      MAX\n");
	write_rows(out, summary, hotspots, count);
	write_hint(out, summary, hotspots, count);
}

static void write_unjudged(struct output *out, const struct stalls *stalls)
{
	char text[BLOCKED_UNJUDGED_BYTES];

	if (blocked_unjudged(text, stalls))
		output_format(out, "Not judged: %s dwell profile shows what it did.\n", text);
}

/* "STUCK 1.4s  sleep in orders::audit::append" */
static void write_open(struct output *out, const struct stalls *stalls,
		       const struct stall_worker *worker)
{
	struct stall_open open;
	const struct frame *function;
	char name[BLOCKED_NAME_BYTES], shown[BLOCKED_NAME_BYTES], length[16];
	char place[BLOCKED_PLACE_BYTES];

	if (!stalls_open(stalls, worker, &open))
		return;
	duration_format(length, sizeof(length), open.duration_ns);
	output_format(out, "  %s for %s%s: %s",
		      open.duration_ns < BLOCKED_STUCK_NS ? "held" : "STUCK",
		      worker->last.open_flags & WIRE_STALL_SEEDED ? "at least " : "", length,
		      stall_cause_info[open.cause].key);
	function = stalls_frame(stalls, open.function);
	if (!function)
		return;
	blocked_name(name, function);
	text_printable(shown, sizeof(shown), name, 80);
	output_format(out, " in %s", shown);
	blocked_place(place, function);
	if (*place)
		output_format(out, "  %s", place);
}

static void write_workers(struct output *out, const struct blocked_summary *summary)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(summary->stalls, &count);
	char comm[32], longest[16];

	if (!count)
		return;
	output_string(out, "\n     TID WORKER             SPANS  STALLS  LONGEST\n");
	for (size_t i = 0; i < count; i++) {
		const struct stall_worker *worker = &workers[i];

		if (worker->last.kind == WIRE_SPAN_POOL)
			continue;
		text_printable(comm, sizeof(comm), worker->last.comm, 16);
		duration_format(longest, sizeof(longest), worker->longest_ns);
		output_format(out, "%8u %-16s %7llu %7llu %8s", worker->last.tid, comm,
			      (unsigned long long)worker->spans, (unsigned long long)worker->stalls,
			      longest);
		write_open(out, summary->stalls, worker);
		output_char(out, '\n');
	}
}

void blocked_table(struct output *out, const struct blocked_summary *summary)
{
	const struct session_info *session = summary->session;

	write_head(out, summary);
	for (size_t i = 0; session && i < session->missing_count; i++)
		if (blocked_is_about_stalls(&session->missing[i]))
			output_format(out, "not measured: %s: %s\n", session->missing[i].source,
				      session->missing[i].why);
	write_hotspots(out, summary);
	write_unjudged(out, summary->stalls);
	blocked_write_starved(out, summary);
	write_workers(out, summary);
	blocked_write_tasks(out, summary);
}
