// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/file.h"
#include "base/print.h"
#include "view/switch_trace.h"

#define WHAT_BYTES    512
#define AROUND_GAP_NS (100 * NS_PER_MS) /* before it and behind it */

static bool starts_scheduler(const struct spec *spec)
{
	for (size_t i = 0; i < spec->phases.count; i++)
		for (size_t k = 0; k < spec->phases.items[i].op_count; k++) {
			enum op_kind kind = spec->phases.items[i].ops[k].kind;

			if (kind == OP_START_SCHEDULER || kind == OP_REPLACE_SCHEDULER)
				return true;
		}
	return false;
}

bool load_trace_wanted(const struct load_options *options)
{
	return options->trace ||
	       (options->save && (options->scheduler_pid > 0 || starts_scheduler(&options->spec)));
}

static const struct worker_report *report_of(const struct run *run, uint32_t tid)
{
	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct worker_group *group = &run->worker_groups[i]->worker_group;

		for (unsigned int k = 0; k < group->forked; k++) {
			const struct worker_report *report =
				worker_group_report(&group->workers[k]);

			if (report && report->tid == tid)
				return report;
		}
	}
	return NULL;
}

/*
 * The worst gap of a worker that failed by it, where the run has no other failure with a time, and
 * the ring still has it.
 */
static void find_gap(struct switch_trace *trace, const struct outcome *outcome, uint64_t since_ns,
		     char what[WHAT_BYTES])
{
	const struct check_results *results = &outcome->check_results;

	for (size_t i = 0; i < results->count; i++) {
		const struct check_result *failed = &results->items[i];
		const struct worker_report *report =
			failed->verdict != VERDICT_PASS && !strcmp(failed->check->key, "max-gap")
				? report_of(outcome->run, failed->tid)
				: NULL;
		uint64_t end_ns = report ? report->began_ns + report->max_gap_at_ns : 0;

		if (!report || end_ns - report->max_gap_ns < since_ns)
			continue;
		trace->from_ns = end_ns - report->max_gap_ns - AROUND_GAP_NS;
		if (end_ns + AROUND_GAP_NS < trace->until_ns)
			trace->until_ns = end_ns + AROUND_GAP_NS;
		snprintf(what, WHAT_BYTES, "max-gap: worker %u: %s", failed->tid, failed->text);
		return;
	}
}

/* The first check that failed. */
static void find_check(const struct outcome *outcome, char what[WHAT_BYTES])
{
	const struct check_results *results = &outcome->check_results;

	for (size_t i = 0; i < results->count; i++)
		if (results->items[i].verdict == results->verdict) {
			snprintf(what, WHAT_BYTES, "the end: %s: %s", results->items[i].check->key,
				 results->items[i].text);
			return;
		}
}

static int place_of(char path[PATH_MAX], const struct load *load, struct error *error)
{
	int length = load->options.trace ? snprintf(path, PATH_MAX, "%s", load->options.trace)
					 : snprintf(path, PATH_MAX, "%s/" LOAD_STORE_TRACE,
						    load->store.directory);

	return length < PATH_MAX
		       ? 0
		       : error_set(error, ENAMETOOLONG, "the name of the trace is too long");
}

static int write_file(const struct switch_trace *trace, const char *path, struct error *error)
{
	struct output out;
	int result;

	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (switch_trace_write(&out, trace) < 0 || out.error)
		result = error_set(error, ENOMEM, "out of memory");
	else
		result = file_replace(path, out.buffer, out.used, error);
	output_release(&out);
	return result;
}

int load_trace_write(const struct load *load, struct outcome *outcome, struct error *error)
{
	const struct run_trace *kept = &outcome->run->trace;
	enum verdict verdict = outcome->check_results.verdict;
	struct switches switches;
	char path[PATH_MAX], what[WHAT_BYTES];
	uint64_t since_ns;
	struct switch_trace trace = {.run = outcome->run,
				     .switches = &switches,
				     .from_ns = kept->from_ns,
				     .until_ns = kept->until_ns,
				     .what = what};
	int result;

	if (!kept->ring || !kept->until_ns || verdict == VERDICT_PASS || verdict == VERDICT_SKIP)
		return 0;
	snprintf(what, sizeof(what), "%s", kept->what);
	since_ns = switch_ring_since(kept->ring);
	if (!*kept->what) {
		find_check(outcome, what);
		find_gap(&trace, outcome, since_ns, what);
	}
	/* a thread that was put down before is not seen to be: no thread is, on any CPU */
	if (trace.from_ns < since_ns)
		trace.from_ns = since_ns;
	result = place_of(path, load, error);
	if (result >= 0 &&
	    switch_ring_read(kept->ring, trace.from_ns, trace.until_ns, &switches) < 0)
		result = error_set(error, EIO, "cannot read the kernel's ring of switches");
	if (result < 0)
		return result;
	result = write_file(&trace, path, error);
	switches_release(&switches);
	if (result < 0)
		return result;
	outcome->trace = strdup(path);
	return outcome->trace ? 0 : error_set(error, ENOMEM, "out of memory");
}
