// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/judge.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/histogram.h"
#include "verify/blame_judge.h"

/* Of a thread's time: below, a pattern has not taken place. */
#define SHARE_LEAST 0.02

/*
 * The kernel begins and ends a wait for a CPU with its run queue's clock, which it reads once for
 * several things, dwell with the time of the tracepoint: 1.2 us apart in each of 33,288 wakeups
 * by a disk. On slower machines, emulated ones above all, as much longer as a reading of clocks.
 */
#define WAKEUP_NS (2 * NS_PER_US)

static uint64_t wakeup_ns(const struct truth *truth)
{
	return truth->reading_ns > WAKEUP_NS ? truth->reading_ns : WAKEUP_NS;
}

#define TICK_NS (10 * NS_PER_MS) /* of /proc/stat */

const char *verify_state_name(enum state state)
{
	return state == STATE_USER || state == STATE_KERNEL ? "cpu" : state_info[state].key;
}

static uint64_t measured_ns(const struct row *row, enum state state)
{
	if (state == STATE_USER || state == STATE_KERNEL)
		return row->states_ns[STATE_USER] + row->states_ns[STATE_KERNEL];
	if (state == STATE_STOLEN)
		return row->states_ns[STATE_STOLEN] + row->states_ns[STATE_IRQ];
	return row->states_ns[state];
}

static uint64_t true_ns(const struct truth *truth, enum state state)
{
	return state == STATE_USER || state == STATE_KERNEL ? truth->cpu_ns
							    : truth->states_ns[state];
}

struct judge_open judge_open_of(const struct truth *truth, const struct row *row,
				const struct interval *interval)
{
	struct judge_open open = {.edges = above(row->observed_ns, truth->wall_ns),
				  .readings = truth->uncertain_ns,
				  .wakeups = wakeup_ns(truth) * row->woken,
				  .unknown = row->states_ns[STATE_UNKNOWN]};
	uint64_t most = interval->machine_stolen_ns + TICK_NS;

	/* no more than the machine lost: else a wait could hide there */
	open.phases = above(measured_ns(row, STATE_STOLEN), truth->states_ns[STATE_STOLEN]);
	if (session_has_machine(interval->session) && open.phases > most)
		open.phases = most;
	return open;
}

double judge_error(enum state state, uint64_t measured, uint64_t truth,
		   const struct judge_open *open, uint64_t wall_ns)
{
	/* dwell may have more of any state, from before the first reading and after the last */
	uint64_t more = open->readings + open->edges, less = open->readings, beyond;
	double sign = measured > truth ? 1 : -1;

	if (!measured && !truth)
		return NAN;
	if (state != STATE_USER) {
		more += open->wakeups;
		less += open->wakeups;
	}
	if (state == STATE_STOLEN)
		more += open->phases;
	else if (state != STATE_USER && state != STATE_RUNNABLE)
		less += open->phases + open->unknown;
	beyond = measured > truth ? above(measured - truth, more) : above(truth - measured, less);
	return sign * 100.0 * (double)beyond / (double)wall_ns;
}

/* Of two that have each other's time, the one that has too much. */
static bool is_worse(double error, double than)
{
	double margin = error > 0 && than < 0 ? 0.95 : error < 0 && than > 0 ? 1.05 : 1;

	return fabs(error) >= margin * fabs(than);
}

void judge_thread(struct thread_judgement *ret_judgement, const struct truth *truth,
		  const struct row *row, const struct interval *interval)
{
	struct judge_open open = judge_open_of(truth, row, interval);
	double wall = (double)truth->wall_ns, worst = 0;

	*ret_judgement = (struct thread_judgement){
		.worst = STATES,
		.open_percent = 100 *
				(double)(open.edges + open.phases + open.wakeups + open.readings) /
				wall,
		.unknown_percent = 100 * (double)open.unknown / wall,
	};
	for (enum state state = 0; state < STATES; state++) {
		double *error = &ret_judgement->errors[state];

		*error = NAN;
		if (!verify_compares(state) ||
		    !session_measures(interval->session, wire_of_state(state)))
			continue;
		*error = judge_error(state, measured_ns(row, state), true_ns(truth, state), &open,
				     truth->wall_ns);
		if (!isnan(*error) && is_worse(*error, worst)) {
			worst = *error;
			ret_judgement->worst = state;
		}
	}
}

void judge_reason(char into[REASON_BYTES], const struct interval *interval, const struct row *row,
		  enum state state)
{
	const struct wire_reason *most = NULL;

	*into = '\0';
	for (size_t i = 0; i < interval->reason_count; i++) {
		const struct wire_reason *reason = &interval->reasons[i];

		if (reason->tid == row->tid && reason->site.state == wire_of_state(state) &&
		    (!most || reason->total_ns > most->total_ns))
			most = reason;
	}
	if (most)
		reason_format(into, REASON_BYTES, most->site, session_is_native(interval->session));
}

static void set_verdict(struct pattern_result *result, enum verdict verdict, const char *why)
{
	result->verdict = verdict;
	snprintf(result->why, sizeof(result->why), "%s", why);
}

/* Keeps the worst verdict but one that says nothing, with the first reason for it. */
static void conclude(struct pattern_result *result, enum verdict verdict, const char *why)
{
	bool says_more = result->verdict == VERDICT_INCONCLUSIVE
				 ? verdict != VERDICT_SKIP && verdict != VERDICT_INCONCLUSIVE
				 : verdict > result->verdict && (verdict != VERDICT_INCONCLUSIVE ||
								 result->verdict == VERDICT_SKIP);

	if (says_more)
		set_verdict(result, verdict, why);
}

static void describe_error(char *into, size_t room, const struct truth *truth,
			   const struct thread_judgement *judgement, uint64_t lost)
{
	int used =
		snprintf(into, room, "%s: %s is off by %+.2f %% of its time", truth->thread,
			 verify_state_name(judgement->worst), judgement->errors[judgement->worst]);

	if (lost && used > 0 && (size_t)used < room)
		snprintf(into + used, room - (size_t)used, ", with %llu switches lost",
			 (unsigned long long)lost);
}

/* `percent`: of a state's time that is wrong; 0: something else is. */
static void count_round(struct pattern_result *result, const char *why, double percent)
{
	if (!result->wrong_rounds.count || percent > result->wrong_percent) {
		snprintf(result->wrong, sizeof(result->wrong), "%s", why);
		result->wrong_percent = percent;
	}
	rounds_add(&result->wrong_rounds, result->round);
}

void judge_round(struct pattern_result *result, enum verdict verdict, bool wrong, const char *why)
{
	if (wrong)
		count_round(result, why, 0);
	conclude(result, verdict, why);
}

/* False: the machine did not let the thread be what the pattern is about. */
static bool took_place(struct pattern_result *result, const struct truth *truth)
{
	double share = truth->state == STATES || !truth->wall_ns
			       ? 1
			       : (double)true_ns(truth, truth->state) / (double)truth->wall_ns;
	char why[sizeof(result->why)];

	if (share >= SHARE_LEAST)
		return true;
	snprintf(why, sizeof(why), "%s: only %.1f %% of its time were %s here", truth->thread,
		 100 * share, verify_state_name(truth->state));
	if (!*result->why)
		snprintf(result->why, sizeof(result->why), "%s", why);
	return false;
}

static void judge_metrics(struct pattern_result *result, const struct truth *truth,
			  const struct thread_judgement *judgement, double limit_percent)
{
	enum state worst = judgement->worst;
	double error = worst == STATES ? 0 : judgement->errors[worst];
	bool is_largest = fabs(error) >= result->error_percent && worst != STATES;
	char why[sizeof(result->why)] = "";

	if (is_largest) {
		result->error_percent = fabs(error);
		result->worst = worst;
	}
	for (enum state state = 0; state < STATES; state++)
		result->wrong_state |= judgement->errors[state] > limit_percent;
	if (fabs(error) > limit_percent) {
		describe_error(why, sizeof(why), truth, judgement, 0);
		/* the error that the figures have */
		if (is_largest && result->verdict == VERDICT_FAIL)
			set_verdict(result, VERDICT_FAIL, why);
		else
			conclude(result, VERDICT_FAIL, why);
	} else if (truth->state != STATES) {
		/* what its helpers did alone says nothing of the pattern */
		conclude(result, VERDICT_PASS, "");
	}
}

static void judge_why(struct pattern_result *result, const struct truth *truth,
		      const struct row *row, const struct interval *interval)
{
	char seen[REASON_BYTES], why[sizeof(result->why)];

	if (truth->state == STATES || !*truth->reason)
		return;
	snprintf(result->expected_reason, sizeof(result->expected_reason), "%s", truth->reason);
	judge_reason(seen, interval, row, truth->state);
	if (!*seen || result->reason_wrong)
		return;
	result->reason_judged = true;
	snprintf(result->seen_reason, sizeof(result->seen_reason), "%s", seen);
	result->reason_wrong = fnmatch(truth->reason, seen, FNM_EXTMATCH);
	if (!result->reason_wrong)
		return;
	snprintf(why, sizeof(why), "%s: the reason is %s, not %s", truth->thread, seen,
		 truth->reason);
	conclude(result, VERDICT_FAIL, why);
}

_Static_assert(WAIT_BUCKETS == WIRE_LATENCY_BUCKETS, "the same buckets");

/* Of its waits, those of unknown length: more, and nothing is known of percentiles. */
#define SHARE_UNKNOWN 0.01
#define WAITS_LEAST   50

static bool knows_waits(const struct truth_waits *waits)
{
	return waits->known >= WAITS_LEAST &&
	       waits->count - waits->known <= SHARE_UNKNOWN * waits->count;
}

/*
 * The kernel reads its clock once for a wakeup and a switch that follows at once, so such a wait is
 * 0 ns for it. For dwell it is the time between the two: 4 to 16 us here.
 */
static double instant_ns(const struct truth *truth)
{
	return (double)(10 * wakeup_ns(truth));
}

/* Where there are short waits and long ones, one wait more or less may lie between the two. */
#define RANK_TOLERANCE 0.02

static double true_percentile(const uint32_t buckets[WAIT_BUCKETS], double quantile,
			      uint64_t max_ns)
{
	return (double)histogram_percentile(buckets, WAIT_BUCKETS, fmin(quantile, 1), max_ns);
}

/* Whether dwell's is right within a bucket, and what the two clocks differ by. Else says it. */
static bool is_percentile(const struct truth *truth, const struct row *row, double quantile,
			  double tolerance_ns, char *why, size_t room)
{
	const struct truth_waits *waits = &truth->waits;
	double least_ns = true_percentile(waits->buckets, quantile - RANK_TOLERANCE, waits->max_ns);
	double most_ns =
		true_percentile(waits->most_buckets, quantile + RANK_TOLERANCE, waits->most_max_ns);
	double seen_ns = (double)histogram_percentile(row->latency, WIRE_LATENCY_BUCKETS, quantile,
						      row->latency_max_ns);

	if (2 * seen_ns + tolerance_ns >= least_ns && seen_ns <= 2 * most_ns + tolerance_ns)
		return true;
	snprintf(why, room, "%s: p%.0f of its waits for a CPU is %.3f ms, not %.3f to %.3f",
		 truth->thread, 100 * quantile, seen_ns / NS_PER_MS, least_ns / NS_PER_MS,
		 most_ns / NS_PER_MS);
	return false;
}

static void judge_latency(struct pattern_result *result, const struct truth *truth,
			  const struct row *row, uint64_t lost, double limit_percent)
{
	const struct truth_waits *waits = &truth->waits;
	uint64_t seen = row->latency_count;
	/* some more from before the first reading and after the last one */
	uint64_t edge_ns = above(row->observed_ns, truth->wall_ns);
	uint64_t longest_ns =
		waits->most_max_ns > waits->rest_max_ns ? waits->most_max_ns : waits->rest_max_ns;
	double tolerance_ns = instant_ns(truth), off_ns = 0;
	char why[sizeof(result->why)] = "";

	if (!knows_waits(waits))
		return;
	if (row->latency_max_ns > longest_ns + edge_ns)
		off_ns = (double)(row->latency_max_ns - longest_ns - edge_ns);
	else if (row->latency_max_ns < waits->max_ns)
		off_ns = (double)(waits->max_ns - row->latency_max_ns);
	off_ns = fmax(0, off_ns - tolerance_ns);
	if (seen + lost < waits->count || seen > waits->count + 2 + lost)
		snprintf(why, sizeof(why), "%s: %llu waits for a CPU, not %u", truth->thread,
			 (unsigned long long)seen, waits->count);
	else if (off_ns > limit_percent / 100 * (double)longest_ns)
		snprintf(why, sizeof(why), "%s: the longest wait for a CPU was %.3f ms, not %.3f",
			 truth->thread, (double)row->latency_max_ns / NS_PER_MS,
			 (double)longest_ns / NS_PER_MS);
	else if (is_percentile(truth, row, 0.5, tolerance_ns, why, sizeof(why)))
		(void)is_percentile(truth, row, 0.99, tolerance_ns, why, sizeof(why));
	/* by what was lost, perhaps: not where it is wrong each time */
	if (*why && lost) {
		count_round(result, why, 0);
		if (result->verdict == VERDICT_PASS)
			result->verdict = VERDICT_SKIP;
		return conclude(result, VERDICT_INCONCLUSIVE, why);
	}
	result->latency_judged = true;
	result->latency_error_percent =
		fmax(result->latency_error_percent, 100 * off_ns / (double)longest_ns);
	if (!*why)
		return;
	result->latency_wrong = true;
	count_round(result, why, 0);
	conclude(result, VERDICT_FAIL, why);
}

static void judge_blame(struct pattern_result *result, const struct truth *truth,
			const struct interval *interval, uint64_t lost)
{
	char why[TRUTH_TEXT_BYTES];
	enum verdict verdict = blame_judge(truth, interval, lost, why);

	if (verdict == VERDICT_PASS || verdict == VERDICT_FAIL) {
		result->blame_judged = true;
		result->blame_wrong |= verdict == VERDICT_FAIL;
		rounds_add(&result->blame_rounds, result->round);
	}
	if (!*why)
		return;
	count_round(result, why, 0);
	conclude(result, verdict, why);
}

bool judge_add(struct pattern_result *result, const struct truth *truth, const struct row *row,
	       const struct interval *interval, double limit_percent,
	       struct thread_judgement *ret_judgement)
{
	uint64_t lost = losses_all(&interval->losses);
	char why[sizeof(result->why)];
	bool wrong;

	if (!took_place(result, truth))
		return false;
	if (!row) {
		snprintf(why, sizeof(why), "%s: dwell has not seen thread %u, %llu lost",
			 truth->thread, truth->tid, (unsigned long long)lost);
		conclude(result, lost ? VERDICT_INCONCLUSIVE : VERDICT_FAIL, why);
		result->unseen |= !lost;
		return false;
	}
	judge_thread(ret_judgement, truth, row, interval);
	wrong = ret_judgement->worst != STATES &&
		fabs(ret_judgement->errors[ret_judgement->worst]) > limit_percent;
	if (wrong) {
		describe_error(why, sizeof(why), truth, ret_judgement, lost);
		count_round(result, why, fabs(ret_judgement->errors[ret_judgement->worst]));
	}
	if (ret_judgement->open_percent > limit_percent || (wrong && lost)) {
		if (!wrong || !lost)
			snprintf(why, sizeof(why), "%s: the machine leaves %.3g %% open",
				 truth->thread, ret_judgement->open_percent);
		conclude(result, VERDICT_INCONCLUSIVE, why);
		return false;
	}
	result->threads++;
	result->open_percent = fmax(result->open_percent, ret_judgement->open_percent);
	result->unknown_percent = fmax(result->unknown_percent, ret_judgement->unknown_percent);
	if (truth->state != STATES) {
		result->truth_ns += true_ns(truth, truth->state);
		result->measured_ns += measured_ns(row, truth->state);
	}
	judge_metrics(result, truth, ret_judgement, limit_percent);
	judge_why(result, truth, row, interval);
	judge_blame(result, truth, interval, lost);
	judge_latency(result, truth, row, lost, limit_percent);
	return true;
}

static bool may_be_chance(const struct pattern_result *result, unsigned int rounds, bool hides)
{
	return result->wrong_rounds.count == 1 || (hides && result->wrong_rounds.count < rounds);
}

void judge_end(struct pattern_result *result, unsigned int rounds, bool hides)
{
	if (result->verdict == VERDICT_SKIP && !*result->why)
		snprintf(result->why, sizeof(result->why), "it has not reported anything");
	if (rounds < 3)
		return;
	/* not for what the machine left open in one of them */
	if (result->verdict == VERDICT_INCONCLUSIVE && result->wrong_rounds.count == rounds) {
		set_verdict(result, VERDICT_FAIL, result->wrong);
		result->error_percent = fmax(result->error_percent, result->wrong_percent);
	}
	/* chance, unless it was judged in no other: a device may be slow enough in one alone */
	if (result->verdict == VERDICT_FAIL && may_be_chance(result, rounds, hides) &&
	    !result->reason_wrong && !result->unseen &&
	    !(result->blame_wrong && result->blame_rounds.count == 1)) {
		result->verdict = VERDICT_INCONCLUSIVE;
		result->wrong_state = result->latency_wrong = result->blame_wrong = false;
		result->latency_error_percent = 0;
	}
}
