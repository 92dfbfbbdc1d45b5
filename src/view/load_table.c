// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/machine_time.h"
#include "base/text.h"
#include "model/state.h"
#include "view/load.h"
#include "view/load_blame.h"
#include "view/load_inside.h"
#include "view/load_phases.h"
#include "view/load_places.h"
#include "view/load_rows.h"

#define NAME_COLUMNS 30
#define BAR_COLUMNS  40
#define FAILS_SHOWN  10 /* of one check */

static void count_text(char *into, size_t room, double count)
{
	static const char units[] = " kMGTP";
	size_t unit = 0;

	for (; count >= 9999.5 && unit + 2 < sizeof(units); unit++)
		count /= 1000;
	if (isnan(count))
		snprintf(into, room, "-");
	else if (unit && count < 99.95)
		snprintf(into, room, "%.1f%c", count, units[unit]);
	else
		snprintf(into, room, "%.0f%.*s", count, unit ? 1 : 0, &units[unit]);
}

static void write_count(struct output *out, double count, int columns)
{
	char text[24];

	count_text(text, sizeof(text), count);
	output_format(out, " %*s", columns, text);
}

static void write_share(struct output *out, double part, double whole, bool known)
{
	if (known && whole > 0)
		output_format(out, " %5.1f", 100 * part / whole);
	else
		output_string(out, "     -");
}

static void write_duration(struct output *out, uint64_t ns, bool known)
{
	char text[16] = "-";

	if (known)
		duration_format_fine(text, sizeof(text), ns);
	output_format(out, " %6s", text);
}

/* Of what a worker could have used, who had it instead. */
static void write_pressure(struct output *out, const struct outcome *outcome)
{
	const struct pressure *pressure = &outcome->pressure;
	double all = (double)pressure->cpu_ns;

	if (!pressure->cpu_ns)
		return;
	output_format(out, "other processes had %.1f %% of the CPUs' time",
		      100 * (double)pressure->others_ns / all);
	if (outcome->has_steal_clock)
		output_format(out, ", the hypervisor %.1f %%",
			      100 * (double)pressure->stolen_ns / all);
	output_char(out, '\n');
	if (pressure->has_waiting && pressure->elapsed_ns)
		output_format(out, "in %.1f %% of the time some thread waited for a CPU\n",
			      100 * (double)pressure->waiting_ns / (double)pressure->elapsed_ns);
}

static void write_head(struct output *out, const struct outcome *outcome)
{
	const struct run *run = outcome->run;
	const struct machine *machine = &outcome->machine;
	unsigned int workers = 0;
	char length[16], planned[16], of[24] = "";

	for (size_t i = 0; i < run->worker_group_count; i++)
		workers += run->worker_groups[i]->group.count;
	duration_format(length, sizeof(length), run->stopped_ns - run->started_ns);
	duration_format(planned, sizeof(planned), run->hold_ns);
	output_format(out, "dwell load  %s  %u worker%s in %zu group%s  %s of %s  seed %llu\n",
		      run->spec->name, workers, workers == 1 ? "" : "s", run->worker_group_count,
		      run->worker_group_count == 1 ? "" : "s", length, planned,
		      (unsigned long long)run->spec->seed);
	/* by affinity, a cpuset or isolcpus= */
	if (machine->cpus < machine->cpus_online)
		snprintf(of, sizeof(of), "%u of ", machine->cpus);
	output_format(out, "Linux %s %s, %s%u CPU%s, %u cache%s, %u node%s%s%s\n", machine->kernel,
		      machine->architecture, of, *of ? machine->cpus_online : machine->cpus,
		      *of || machine->cpus > 1 ? "s" : "", machine->llcs,
		      machine->llcs == 1 ? "" : "s", machine->nodes, machine->nodes == 1 ? "" : "s",
		      *machine->scheduler  ? ", sched_ext "
		      : run->inside.exists ? ""
					   : ", no sched_ext",
		      machine->scheduler);
	if (outcome->pressure.measured)
		write_pressure(out, outcome);
	output_char(out, '\n');
}

/* `cpu`: whose CPU time is known. */
static void write_group(struct output *out, const char *name, const struct summary *summary,
			bool cpu)
{
	const struct sample_summary *wakes = &summary->samples[summary_wakes(summary)];
	double wall = (double)summary->wall_ns;
	char workers[24];

	text_padded(out, name, NAME_COLUMNS);
	if (summary->completed < summary->workers)
		snprintf(workers, sizeof(workers), "%u/%u", summary->completed, summary->workers);
	else
		snprintf(workers, sizeof(workers), "%u", summary->workers);
	output_format(out, " %7s", workers);
	write_count(out, summary->timed ? summary->iteration_rate : NAN, 7);
	write_share(out, (double)summary->cpu_ns, wall, cpu);
	write_share(out, (double)summary->run_delay_ns, wall, summary->schedstats > 0);
	write_count(out, summary->looked ? (double)summary->migrations : NAN, 6);
	write_duration(out, summary->max_gap_ns, summary->looked > 0);
	output_format(out, "  %s",
		      !wakes->count				 ? "-   "
		      : summary_wakes(summary) == SAMPLES_RESUME ? "wait"
								 : "wake");
	write_duration(out, wakes->p50, wakes->count > 0);
	write_duration(out, wakes->p99, wakes->count > 0);
	write_duration(out, wakes->max, wakes->count > 0);
	output_char(out, '\n');
}

static void write_heading(struct output *out, const char *of)
{
	text_padded(out, of, NAME_COLUMNS);
	output_string(out, " WORKERS  ITER/S  CPU%  RUNQ%   MIGR MAXGAP  OF       P50    P99    "
			   "MAX\n");
}

static void write_groups(struct output *out, const struct outcome *outcome)
{
	char name[256];

	write_heading(out, "GROUP");
	for (size_t i = 0; i < outcome->run->worker_group_count; i++) {
		load_group_name(name, sizeof(name), outcome->run, outcome->run->worker_groups[i]);
		write_group(out, name, &outcome->summaries[i], true);
	}
}

/* What was done before a phase, and what it was like then. */
static void write_phase_head(struct output *out, const struct run *run, size_t number)
{
	const struct spec_phase *phase = &run->spec->phases.items[number];
	const struct run_phase *held = &run->held[number];
	char length[16], op[300];

	duration_format(length, sizeof(length), held->ended_ns - held->began_ns);
	output_format(out, "%zu  %s", number + 1, length);
	for (size_t i = 0; i < phase->op_count; i++) {
		spec_format_op(op, sizeof(op), &phase->ops[i]);
		output_format(out, "%s%s", i ? ", " : "  after ", op);
	}
	if (*held->sched_ext)
		output_format(out, "  (sched_ext %s)", held->sched_ext);
	output_char(out, '\n');
}

static void write_phases(struct output *out, const struct outcome *outcome)
{
	const struct run *run = outcome->run;
	char name[256] = "  ";

	output_char(out, '\n');
	write_heading(out, "PHASE");
	for (size_t i = 0; i < run->held_count; i++) {
		write_phase_head(out, run, i);
		for (size_t k = 0; k < run->worker_group_count; k++) {
			const struct summary *summary = phase_group(outcome, i, k);

			load_group_name(name + 2, sizeof(name) - 2, run, run->worker_groups[k]);
			if (summary->workers)
				write_group(out, name, summary, summary->schedstats > 0);
		}
	}
}

static void write_worker(struct output *out, const struct outcome *outcome,
			 const struct run_group *worker_group, unsigned int number)
{
	const struct worker_report *report =
		worker_group_report(&worker_group->worker_group.workers[number]);
	char name[256], used[32];
	double wall;

	load_group_name(name, sizeof(name), outcome->run, worker_group);
	text_padded(out, name, NAME_COLUMNS);
	if (!report) {
		output_format(out, " %8u  no report\n",
			      shared_slot(&worker_group->worker_group.shared, number)->tid);
		return;
	}
	wall = (double)report->wall_time_ns;
	cpus_format(used, sizeof(used), &report->cpus_used);
	output_format(out, " %8u", report->tid);
	write_count(out, (double)report->iterations, 7);
	write_count(out, (double)report->work_units, 7);
	write_share(out, (double)report->cpu_time_ns, wall, true);
	write_share(out, (double)report->schedstat[1], wall, report->schedstat_measured);
	write_count(out, report->looks ? (double)report->migration_count : NAN, 6);
	write_duration(out, report->max_gap_ns, report->looks > 0);
	output_format(out, "  %s\n", used);
}

static void write_workers(struct output *out, const struct outcome *outcome)
{
	output_char(out, '\n');
	text_padded(out, "WORKER", NAME_COLUMNS);
	output_string(out, "      TID    ITER   UNITS  CPU%  RUNQ%   MIGR MAXGAP  CPUS\n");
	for (size_t i = 0; i < outcome->run->worker_group_count; i++)
		for (unsigned int k = 0; k < outcome->run->worker_groups[i]->worker_group.forked;
		     k++)
			write_worker(out, outcome, outcome->run->worker_groups[i], k);
}

/* Buckets of a power of two, drawn from the first to the last that has any. */
static void write_histogram(struct output *out, const struct sample_summary *samples)
{
	int first = SAMPLE_BUCKETS, last = 0;
	uint64_t most = 1;
	char from[16], to[16];

	for (int i = 0; i < SAMPLE_BUCKETS; i++) {
		if (!samples->buckets[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = samples->buckets[i] > most ? samples->buckets[i] : most;
	}
	for (int i = first; i <= last; i++) {
		size_t length = (size_t)((double)samples->buckets[i] / (double)most * BAR_COLUMNS);

		duration_format(from, sizeof(from), i ? 1ULL << i : 0);
		duration_format(to, sizeof(to), 2ULL << i);
		output_format(out, "  %6s - %-6s |", from, to);
		/* what is there is seen */
		if (samples->buckets[i] && !length)
			length = 1;
		for (size_t k = 0; k < BAR_COLUMNS; k++)
			output_char(out, k < length ? '#' : ' ');
		output_format(out, "| %llu\n", (unsigned long long)samples->buckets[i]);
	}
}

static const char *const stream_names[SAMPLES_STREAMS] = {
	[SAMPLES_RESUME] = "wait",
	[SAMPLES_WAKE_TO_RUN] = "wake to run",
	[SAMPLES_COST] = "cost of an iteration",
};

static void write_distribution(struct output *out, const struct outcome *outcome, size_t number,
			       enum report_samples stream)
{
	const struct sample_summary *samples = &outcome->summaries[number].samples[stream];
	char name[256], p[5][16];

	if (!samples->count)
		return;
	load_group_name(name, sizeof(name), outcome->run, outcome->run->worker_groups[number]);
	duration_format_fine(p[0], sizeof(p[0]), samples->p50);
	duration_format_fine(p[1], sizeof(p[1]), samples->p90);
	duration_format_fine(p[2], sizeof(p[2]), samples->p99);
	duration_format_fine(p[3], sizeof(p[3]), samples->p999);
	duration_format_fine(p[4], sizeof(p[4]), samples->max);
	output_format(out, "\n%s: %s, %llu samples", name, stream_names[stream],
		      (unsigned long long)samples->total);
	if (samples->count < samples->total)
		output_format(out, " (%llu kept)", (unsigned long long)samples->count);
	output_format(out, "\n  p50 %s  p90 %s  p99 %s  p99.9 %s  max %s\n", p[0], p[1], p[2], p[3],
		      p[4]);
	write_histogram(out, samples);
}

/* Of wakeups, and of costs; where these are known, waits alone say little. */
static void write_distributions(struct output *out, const struct outcome *outcome)
{
	for (size_t i = 0; i < outcome->run->worker_group_count; i++) {
		const struct summary *summary = &outcome->summaries[i];

		if (summary->samples[SAMPLES_WAKE_TO_RUN].count ||
		    !summary->samples[SAMPLES_COST].count)
			write_distribution(out, outcome, i, summary_wakes(summary));
		write_distribution(out, outcome, i, SAMPLES_COST);
	}
}

/* Each text once, with how many workers reported it. */
static void write_refusals(struct output *out, const struct outcome *outcome)
{
	static const size_t texts[] = {
		offsetof(struct worker_report, affinity_error),
		offsetof(struct worker_report, policy_error),
		offsetof(struct worker_report, memory_policy_error),
		offsetof(struct worker_report, nice_error),
		offsetof(struct worker_report, note),
	};
	char name[256], shown[REPORT_TEXT * 2];

	for (size_t i = 0; i < outcome->run->worker_group_count; i++)
		for (size_t t = 0; t < ARRAY_SIZE(texts); t++) {
			const struct run_group *worker_group = outcome->run->worker_groups[i];
			const char *first = NULL;
			unsigned int count = 0;

			for (unsigned int k = 0; k < worker_group->worker_group.forked; k++) {
				const struct worker_report *report =
					worker_group_report(&worker_group->worker_group.workers[k]);
				const char *text = report ? (const char *)report + texts[t] : "";

				if (!*text)
					continue;
				first = first ? first : text;
				count++;
			}
			if (!first)
				continue;
			load_group_name(name, sizeof(name), outcome->run, worker_group);
			text_printable(shown, sizeof(shown), first, sizeof(shown));
			output_format(out, "\nnote: %s, %u of %u worker%s: %s\n", name, count,
				      worker_group->group.count,
				      worker_group->group.count == 1 ? "" : "s", shown);
		}
}

static void write_events(struct output *out, const struct outcome *outcome)
{
	const struct run *run = outcome->run;
	char at[16];

	for (size_t i = 0; i < run->event_count; i++) {
		duration_format(at, sizeof(at), run->events[i].at_ns);
		if (!i)
			output_char(out, '\n');
		output_format(out, "%8s  %s\n", at, run->events[i].text);
	}
	if (run->evidence_count)
		output_string(out, "          stacks, run queues and queues of sched_ext of then: "
				   "`evidence` of --json, stall.log of --save\n");
	if (!outcome->trace)
		return;
	if (!run->event_count)
		output_char(out, '\n');
	output_format(out, "          what threads did then, for Perfetto: %s\n", outcome->trace);
}

static void write_finding(struct output *out, const struct outcome *outcome,
			  const struct check_result *check_result)
{
	static const char *const words[] = {
		[VERDICT_SKIP] = "skip",
		[VERDICT_PASS] = "ok",
		[VERDICT_INCONCLUSIVE] = "?",
		[VERDICT_FAIL] = "FAIL",
	};
	char name[256] = "", shown[256];

	if (check_result->worker_group)
		load_group_name(name, sizeof(name), outcome->run, check_result->worker_group);
	text_printable(shown, sizeof(shown), check_result->text, sizeof(shown));
	output_format(out, "%-4s  %-19s  %s%s", words[check_result->verdict],
		      check_result->check->key, name, *name ? ": " : "");
	if (check_result->tid)
		output_format(out, "worker %u: ", check_result->tid);
	output_format(out, "%s\n", shown);
}

/* How many check_results like this one, which failed, lie between this and the end. */
static size_t failed_alike(const struct check_results *check_results, size_t from)
{
	const struct check_result *first = &check_results->items[from];
	size_t count = 0;

	for (size_t i = from; i < check_results->count; i++)
		count += check_results->items[i].check == first->check &&
			 check_results->items[i].worker_group == first->worker_group &&
			 check_results->items[i].verdict == VERDICT_FAIL;
	return count;
}

static void write_findings(struct output *out, const struct outcome *outcome)
{
	const struct check_results *check_results = &outcome->check_results;
	const struct check_result *before = NULL;
	size_t shown = 0;

	output_char(out, '\n');
	for (size_t i = 0; i < check_results->count; i++) {
		const struct check_result *check_result = &check_results->items[i];

		if (!before || before->check != check_result->check ||
		    before->worker_group != check_result->worker_group)
			shown = 0;
		before = check_result;
		if (check_result->verdict == VERDICT_FAIL && shown++ >= FAILS_SHOWN) {
			if (shown == FAILS_SHOWN + 1)
				output_format(out, "      ... and %zu more workers\n",
					      failed_alike(check_results, i));
			continue;
		}
		write_finding(out, outcome, check_result);
	}
	output_format(out, "\nverdict: %s\n", verdict_names[check_results->verdict]);
}

/* As session_shows(): the observer's source measures all other states. */
static bool shows(const struct outcome *outcome, int state)
{
	return outcome->observed_states & 1U << state;
}

/* Of each group, as shares of the time that was seen. */
static void write_observed(struct output *out, const struct outcome *outcome)
{
	char name[256];

	output_char(out, '\n');
	text_padded(out, "OBSERVED, % OF TIME", NAME_COLUMNS);
	for (int s = 0; s < STATES; s++)
		if (shows(outcome, s))
			output_format(out, " %6s", state_info[s].header);
	output_char(out, '\n');
	for (size_t i = 0; i < outcome->run->worker_group_count; i++) {
		const struct run_group *worker_group = outcome->run->worker_groups[i];
		double sums[STATES] = {0}, whole = 0;

		for (unsigned int k = 0; k < worker_group->worker_group.forked; k++) {
			const struct observed *observed =
				&outcome->observed[worker_group->first_index + k];

			whole += (double)observed->observed_ns;
			for (int s = 0; s < STATES; s++)
				sums[s] += (double)observed->states_ns[s];
		}
		load_group_name(name, sizeof(name), outcome->run, worker_group);
		text_padded(out, name, NAME_COLUMNS);
		for (int s = 0; s < STATES; s++)
			if (!shows(outcome, s))
				continue;
			else if (whole > 0)
				output_format(out, " %6.1f", 100 * sums[s] / whole);
			else
				output_string(out, "      -");
		output_char(out, '\n');
	}
	if (outcome->observed_lost)
		output_format(out,
			      "%llu switches or wakeups were not seen: the states are off by what "
			      "lay between\n",
			      (unsigned long long)outcome->observed_lost);
}

void load_table(struct output *out, const struct outcome *outcome, bool workers)
{
	write_head(out, outcome);
	write_groups(out, outcome);
	if (outcome->run->held_count)
		write_phases(out, outcome);
	if (workers)
		write_workers(out, outcome);
	load_places_table(out, outcome);
	load_inside_table(out, outcome);
	if (outcome->observed)
		write_observed(out, outcome);
	if (outcome->has_blame)
		load_blame_table(out, outcome);
	write_distributions(out, outcome);
	write_refusals(out, outcome);
	write_events(out, outcome);
	write_findings(out, outcome);
}
