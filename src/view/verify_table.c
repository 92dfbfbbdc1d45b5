// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/duration.h"
#include "version.h"
#include "view/verify.h"

#define PERCENT_BYTES 16

static void percent_text(char into[PERCENT_BYTES], double percent)
{
	if (isnan(percent))
		snprintf(into, PERCENT_BYTES, "-");
	else
		snprintf(into, PERCENT_BYTES, percent < 10 ? "%.3f %%" : "%.1f %%", percent);
}

static void write_head(struct output *out, const struct verification *result)
{
	struct utsname name = {.release = "?", .machine = "?"};
	char each[16], all[16];

	uname(&name);
	duration_format(each, sizeof(each), result->options->run_ns);
	duration_format(all, sizeof(all), result->duration_ns);
	output_format(out,
		      "dwell " DWELL_VERSION " on Linux %s %s, %ld CPUs: %zu pattern%s of %s, ",
		      name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN), result->count,
		      result->count == 1 ? "" : "s", each);
	output_format(out, "%u round%s, in %s\n\n", result->options->rounds,
		      result->options->rounds == 1 ? "" : "s", all);
}

static void write_errors(struct output *out, const char *name, const struct ranks *errors)
{
	char p50[PERCENT_BYTES], p99[PERCENT_BYTES], worst[PERCENT_BYTES];

	percent_text(p50, errors->p50);
	percent_text(p99, errors->p99);
	percent_text(worst, errors->worst);
	output_format(out, "%-10s %7zu  %9s  %9s  %9s  %s\n", name, errors->count, p50, p99, worst,
		      errors->worst_pattern ? errors->worst_pattern : "");
}

static void write_states(struct output *out, const struct verification *result)
{
	output_format(out, "%-10s %7s  %9s  %9s  %9s  %s\n", "STATE", "THREADS", "ERROR p50", "p99",
		      "WORST", "IN");
	for (size_t i = 0; i < result->compared_count; i++)
		if (result->compared[i].errors.count)
			write_errors(out, verify_state_name(result->compared[i].state),
				     &result->compared[i].errors);
	write_errors(out, "all", &result->all);
}

static void write_pattern(struct output *out, const struct pattern_result *pattern)
{
	char error[PERCENT_BYTES];

	percent_text(error, pattern_has_error(pattern) ? pattern->error_percent : NAN);
	output_format(out, "%-12s  %-16s  %9s  %s\n", verdict_names[pattern->verdict],
		      pattern->name, error, *pattern->why ? pattern->why : pattern->seen_reason);
}

static void write_patterns(struct output *out, const struct verification *result, bool all)
{
	bool any = false;

	for (int verdict = VERDICT_FAIL; verdict >= VERDICT_SKIP; verdict--) {
		if (verdict == VERDICT_PASS && !all)
			continue;
		for (size_t i = 0; i < result->count; i++) {
			if (result->patterns[i].verdict != (enum verdict)verdict)
				continue;
			if (!any)
				output_format(out, "\n%-12s  %-16s  %9s\n", "VERDICT", "PATTERN",
					      "ERROR");
			any = true;
			write_pattern(out, &result->patterns[i]);
		}
	}
}

/* Where it measures more than one, which of them is how wrong. */
static void write_peer_times(struct output *out, const struct peer_result *peer)
{
	for (size_t i = 0; peer->time_count > 1 && i < peer->time_count; i++) {
		const struct ranks *errors = &peer->times[i].errors;
		char p50[PERCENT_BYTES], p99[PERCENT_BYTES], worst[PERCENT_BYTES];

		percent_text(p50, errors->p50);
		percent_text(p99, errors->p99);
		percent_text(worst, errors->worst);
		output_format(out, "  %-18s %7zu  %9s  %9s  %9s  %s\n", peer->times[i].name,
			      errors->count, p50, p99, worst,
			      errors->worst_pattern ? errors->worst_pattern : "");
	}
}

static void write_peers(struct output *out, const struct verification *result)
{
	output_format(out, "\n%-20s %7s  %9s  %9s  %9s  %-16s  %s\n", "TOOL", "TIMES", "ERROR p50",
		      "p99", "WORST", "IN", "OF");
	for (size_t i = 0; i < result->peer_count; i++) {
		const struct peer_result *peer = &result->peers[i];
		const struct ranks *errors = &peer->errors;
		char p50[PERCENT_BYTES], p99[PERCENT_BYTES], worst[PERCENT_BYTES];

		if (*peer->why.text) {
			output_format(out, "%-20s %s\n", peer->name, peer->why.text);
			continue;
		}
		percent_text(p50, errors->p50);
		percent_text(p99, errors->p99);
		percent_text(worst, errors->worst);
		output_format(out, "%-20s %7zu  %9s  %9s  %9s  %-16s  %s", peer->name,
			      errors->count, p50, p99, worst,
			      errors->worst_pattern ? errors->worst_pattern : "", peer->measures);
		if (peer->unseen)
			output_format(out, "; nothing of %u of %u threads", peer->unseen,
				      peer->unseen + peer->threads);
		output_string(out, "\n");
		write_peer_times(out, peer);
	}
}

static void write_count(struct output *out, unsigned int count, const char *what)
{
	if (count)
		output_format(out, ", %u %s", count, what);
}

/* `overhead  0.31 us a hook of 25,034 (switches and wakeups), 0.4 % of a CPU` */
static void write_overhead(struct output *out, const struct verification *result)
{
	output_string(out, "overhead  ");
	if (result->hooks.runs)
		output_format(out, "%.2f us a hook, of %llu (switches, wakeups); ",
			      (double)result->hooks.ns / 1000 / (double)result->hooks.runs,
			      (unsigned long long)result->hooks.runs);
	output_format(out, "%.1f %% of a CPU for dwell itself\n",
		      result->observed_ns
			      ? 100.0 * (double)result->self_cpu_ns / (double)result->observed_ns
			      : 0.0);
}

void verify_table(struct output *out, const struct verification *result, bool all)
{
	write_head(out, result);
	write_states(out, result);
	write_patterns(out, result, all);
	if (result->peer_count)
		write_peers(out, result);
	output_format(out, "\nreasons   %u of %u right\n", result->reasons_right, result->reasons);
	if (result->culprits)
		output_format(out, "blame     %u of %u right\n", result->culprits_right,
			      result->culprits);
	else
		output_string(out, "blame     not judged\n");
	if (result->latencies)
		output_format(out, "latency   %u of %u right, the longest wait within %.2f %%\n",
			      result->latencies_right, result->latencies,
			      result->latency_error_percent);
	else
		output_string(out, "latency   not judged\n");
	if (result->turns)
		output_format(out,
			      "blocked   %u of %u turns found, %u with the right cause, %u false\n",
			      result->turns_found, result->turns, result->turns_right,
			      result->turns_false);
	if (result->shares)
		output_format(out, "profile   %u of %u shares right, within %.1f points\n",
			      result->shares_right, result->shares, result->share_error_points);
	if (result->lost_on_purpose)
		output_format(out, "losses    %llu of %llu made on purpose not reported\n",
			      (unsigned long long)result->lost_unreported,
			      (unsigned long long)result->lost_on_purpose);
	output_format(out,
		      "threads   %llu of %llu seen; %llu records and switches lost of %llu%s\n",
		      (unsigned long long)(result->threads - result->unseen),
		      (unsigned long long)result->threads, (unsigned long long)result->lost,
		      (unsigned long long)(result->wakeups + result->lost),
		      verify_misses_much(result) ? ": FAIL" : "");
	write_overhead(out, result);
	output_format(
		out, "machine   %.1f %% of its busy CPU time stolen\n",
		100 * machine_stolen_share(result->machine_stolen_ns, result->machine_busy_ns));
	output_format(out, "verdict: %s  (%u passed", verdict_names[result->verdict],
		      result->passed);
	write_count(out, result->failed, "failed");
	write_count(out, result->inconclusive, "inconclusive");
	write_count(out, result->skipped, "skipped");
	write_count(out, result->wrong_states, "in a wrong state");
	write_count(out, result->unrecognized, "not recognized");
	output_format(out, "; limit %g %% of a thread's time%s)\n", result->options->limit_percent,
		      result->interrupted ? "; interrupted"
		      : result->timed_out ? "; timed out"
					  : "");
}
