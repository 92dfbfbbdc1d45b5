// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell verify` writes. docs/formats/json.md is the contract. */
#include <math.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "version.h"
#include "view/verify.h"

static const struct verification *result_of(const struct item *item)
{
	return item->row;
}

static const struct pattern_result *pattern_of(const struct item *item)
{
	return item->row;
}

/* A pattern. */

FIELD_GETTER(get_pattern_state)
{
	const struct pattern_result *pattern = pattern_of(item);

	value_text(value, pattern->state == STATES ? NULL : state_info[pattern->state].key);
}

VALUE_GETTER(get_pattern_verdict, value_string, verdict_names[pattern_of(item)->verdict])
VALUE_GETTER(get_truth, value_known, pattern_of(item)->truth_ns, pattern_of(item)->threads)
VALUE_GETTER(get_measured, value_known, pattern_of(item)->measured_ns, pattern_of(item)->threads)

static void value_judged(struct value *value, const struct item *item, double percent)
{
	value_real(value, pattern_of(item)->threads ? percent : NAN);
}

VALUE_GETTER(get_error, value_real,
	     pattern_has_error(pattern_of(item)) ? pattern_of(item)->error_percent : NAN)
VALUE_GETTER(get_open, value_judged, item, pattern_of(item)->open_percent)
VALUE_GETTER(get_unknown, value_judged, item, pattern_of(item)->unknown_percent)

FIELD_GETTER(get_worst_state)
{
	enum state worst = pattern_of(item)->worst;

	value_text(value, worst == STATES ? NULL : verify_state_name(worst));
}

#define PATTERN_TEXT(member, key_, help_, ...)                                                     \
	ARRAY_MEMBER(struct pattern_result, member, key_, help_, ##__VA_ARGS__)

static const struct field pattern_fields[] = {
	POINTER_MEMBER(struct pattern_result, name, "name", "as --patterns takes it",
		       .header = "PATTERN"),
	POINTER_MEMBER(struct pattern_result, help, "help",
		       "what it does; null: what its name says"),
	STRING_FIELD("state", get_pattern_state, "most of its time is to be in", .header = "STATE",
		     .width = 9),
	STRING_FIELD("verdict", get_pattern_verdict, "pass, fail, inconclusive or skip",
		     .header = "VERDICT", .width = 12),
	NUMBER_MEMBER(struct pattern_result, threads, "threads", "judged, in all rounds",
		      .header = "THREADS"),
	INTEGER_FIELD("truth_ns", get_truth, "time in that state, by its threads themselves"),
	INTEGER_FIELD("measured_ns", get_measured, "time in that state, by dwell"),
	REAL_FIELD("error_percent", get_error, "the largest error of any state, of a thread's time",
		   .header = "ERROR%"),
	STRING_FIELD("worst_state", get_worst_state, "the state with that error", .header = "WORST",
		     .width = 9),
	REAL_FIELD("open_percent", get_open, "how much of a thread's time truth leaves open"),
	REAL_FIELD("unknown_percent", get_unknown, "how much of it dwell did not recognize"),
	BOOL_MEMBER(struct pattern_result, wrong_state, "wrong_state",
		    "more than the limit was in a state that it was not in"),
	PATTERN_TEXT(expected_reason, "expected_reason",
		     "a glob pattern for the reason; null: any will do"),
	PATTERN_TEXT(seen_reason, "reason", "for which dwell says that it waited",
		     .header = "REASON", .width = 24),
	PATTERN_TEXT(why, "why", "it did not pass", .header = "WHY", .width = 56),
};

const struct schema verify_pattern_schema = {.name = "pattern",
					     .help = "threads that know how they spent their time",
					     SCHEMA_FIELDS(pattern_fields)};

/* A state. */

VALUE_GETTER(get_state_name, value_string,
	     verify_state_name(((const struct state_result *)item->row)->state))

#define STATE_REAL(member, key_, help_) REAL_MEMBER(struct state_result, member, key_, help_)

FIELD_GETTER(get_state_count)
{
	value_number(value, ((const struct state_result *)item->row)->errors.count);
}

static const struct field state_fields[] = {
	STRING_FIELD("state", get_state_name, "cpu is user and kernel; stolen has irq in it"),
	INTEGER_FIELD("count", get_state_count, "how many threads had time in it, in all rounds"),
	STATE_REAL(errors.p50, "p50_percent",
		   "median of the errors, in percent of a thread's time"),
	STATE_REAL(errors.p99, "p99_percent", "99 of 100 are smaller"),
	STATE_REAL(errors.worst, "worst_percent", "the largest"),
	POINTER_MEMBER(struct state_result, errors.worst_pattern, "worst_pattern", "which has it"),
};

static const struct schema state_schema = {.name = "state_error",
					   .help = "how exact the figures of a state are",
					   SCHEMA_FIELDS(state_fields)};

/* Another tool. */

static const struct peer_result *peer_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_peer_times, value_known, peer_of(item)->errors.count, !*peer_of(item)->why.text)

#define PEER_REAL(member, key_, help_) REAL_MEMBER(struct peer_result, member, key_, help_)

#define PEER_TIME_REAL(member, key_, help_)                                                        \
	REAL_MEMBER(struct peer_time_result, member, key_, help_)

static const struct field peer_time_fields[] = {
	POINTER_MEMBER(struct peer_time_result, name, "time",
		       "CPU, run queue, blocked, or off-CPU: all that is not CPU"),
	NUMBER_MEMBER(struct peer_time_result, errors.count, "count", "threads compared"),
	PEER_TIME_REAL(errors.p50, "p50_percent",
		       "median of the errors, in percent of a thread's time"),
	PEER_TIME_REAL(errors.p99, "p99_percent", "99 of 100 are smaller"),
	PEER_TIME_REAL(errors.worst, "worst_percent", "the largest"),
	POINTER_MEMBER(struct peer_time_result, errors.worst_pattern, "worst_pattern",
		       "which has it"),
};

static const struct schema peer_time_schema = {.name = "peer_time",
					       .help = "how exact one kind of time of a tool is",
					       SCHEMA_FIELDS(peer_time_fields)};

VALUE_GETTER(get_times, value_rows, peer_of(item)->times, peer_of(item)->time_count,
	     sizeof(struct peer_time_result), NULL)

static const struct field peer_fields[] = {
	POINTER_MEMBER(struct peer_result, name, "name", "what measured the same threads"),
	POINTER_MEMBER(struct peer_result, measures, "measures", "which times it knows"),
	INTEGER_FIELD("count", get_peer_times,
		      "how many of these times were compared; null: it did not run"),
	PEER_REAL(errors.p50, "p50_percent", "median of the errors, in percent of a thread's time"),
	PEER_REAL(errors.p99, "p99_percent", "99 of 100 are smaller"),
	PEER_REAL(errors.worst, "worst_percent", "the largest"),
	POINTER_MEMBER(struct peer_result, errors.worst_pattern, "worst_pattern", "which has it"),
	LIST_FIELD("times", get_times, NULL, &peer_time_schema, "each kind of time alone"),
	NUMBER_MEMBER(struct peer_result, threads, "threads", "that it has figures of"),
	NUMBER_MEMBER(struct peer_result, unseen, "unseen", "threads that it has none of"),
	ARRAY_MEMBER(struct peer_result, why.text, "why", "it did not run"),
};

static const struct schema peer_schema = {
	.name = "peer", .help = "how exact another tool is", SCHEMA_FIELDS(peer_fields)};

/* The result. */

FIELD_GETTER(get_kernel)
{
	struct utsname name;

	if (uname(&name) < 0)
		return value_null(value);
	value_bytes(value, name.release, sizeof(name.release));
}

FIELD_GETTER(get_arch)
{
	struct utsname name;

	if (uname(&name) < 0)
		return value_null(value);
	value_bytes(value, name.machine, sizeof(name.machine));
}

VALUE_GETTER(get_dwell, value_string, DWELL_VERSION)
VALUE_GETTER(get_cpus, value_number, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN))
VALUE_GETTER(get_rounds, value_number, result_of(item)->options->rounds)
VALUE_GETTER(get_limit, value_real, result_of(item)->options->limit_percent)
VALUE_GETTER(get_verdict, value_string, verdict_names[result_of(item)->verdict])
VALUE_GETTER(get_count, value_number, result_of(item)->count)
VALUE_GETTER(get_p50, value_real, result_of(item)->all.p50)
VALUE_GETTER(get_p99, value_real, result_of(item)->all.p99)
VALUE_GETTER(get_worst, value_real, result_of(item)->all.worst)
VALUE_GETTER(get_states, value_rows, result_of(item)->compared, result_of(item)->compared_count,
	     sizeof(struct state_result), NULL)
VALUE_GETTER(get_peers, value_rows, result_of(item)->peers, result_of(item)->peer_count,
	     sizeof(struct peer_result), NULL)
VALUE_GETTER(get_results, value_rows, result_of(item)->patterns, result_of(item)->count,
	     sizeof(struct pattern_result), NULL)

FIELD_GETTER(get_self)
{
	const struct verification *result = result_of(item);

	value_real(value, result->observed_ns ? 100.0 * (double)result->self_cpu_ns /
							(double)result->observed_ns
					      : NAN);
}

FIELD_GETTER(get_stolen)
{
	const struct verification *result = result_of(item);

	value->kind = VALUE_SHARE;
	value->real = machine_stolen_share(result->machine_stolen_ns, result->machine_busy_ns);
}

#define COUNT_MEMBER(member, key_, help_) NUMBER_MEMBER(struct verification, member, key_, help_)

static const struct field verify_fields[] = {
	STRING_FIELD("dwell", get_dwell, "version"),
	STRING_FIELD("kernel", get_kernel, "release"),
	STRING_FIELD("arch", get_arch, "machine"),
	INTEGER_FIELD("cpus", get_cpus, "online"),
	INTEGER_FIELD("rounds", get_rounds, "that were asked for"),
	COUNT_MEMBER(duration_ns, "duration_ns", "of it all"),
	REAL_FIELD("limit_percent", get_limit, "largest error that passes, of a thread's time"),
	LIST_FIELD("results", get_results, NULL, &verify_pattern_schema, "one after the other"),
	LIST_FIELD("states", get_states, NULL, &state_schema, "one after the other"),
	LIST_FIELD("peers", get_peers, NULL, &peer_schema, "dwell and other tools, by --peers"),
	STRING_FIELD("verdict", get_verdict, "pass, fail or inconclusive"),
	INTEGER_FIELD("patterns", get_count, "that were asked for"),
	COUNT_MEMBER(passed, "passed", "patterns within the limit"),
	COUNT_MEMBER(failed, "failed", "patterns beyond it"),
	COUNT_MEMBER(inconclusive, "inconclusive", "patterns that the machine left open"),
	COUNT_MEMBER(skipped, "skipped", "patterns that cannot run here"),
	COUNT_MEMBER(wrong_states, "wrong_states", "patterns with time in a wrong state"),
	COUNT_MEMBER(unrecognized, "unrecognized", "patterns with time in the state unknown"),
	COUNT_MEMBER(reasons, "reasons", "patterns whose reason was judged"),
	COUNT_MEMBER(reasons_right, "reasons_right", "of these"),
	COUNT_MEMBER(culprits, "culprits", "patterns whose culprits were judged: --blame"),
	COUNT_MEMBER(culprits_right, "culprits_right", "of these"),
	COUNT_MEMBER(latencies, "latencies",
		     "patterns whose waits for a CPU were judged: number, percentiles, longest"),
	COUNT_MEMBER(latencies_right, "latencies_right", "of these"),
	REAL_MEMBER(struct verification, latency_error_percent, "latency_error_percent",
		    "the largest error of a longest wait, in percent of it"),
	COUNT_MEMBER(turns, "turns", "of an event loop, that blocked while dwell blocked watched"),
	COUNT_MEMBER(turns_found, "turns_found", "of these, reported as stalls"),
	COUNT_MEMBER(turns_right, "turns_right",
		     "of these, with the right cause, or the machine's"),
	COUNT_MEMBER(turns_false, "turns_false", "stalls reported of turns that did not block"),
	COUNT_MEMBER(shares, "shares", "of functions of known times, by dwell profile"),
	COUNT_MEMBER(shares_right, "shares_right", "of these"),
	REAL_MEMBER(struct verification, share_error_points, "share_error_points",
		    "the largest error of a share, in percent of all time"),
	COUNT_MEMBER(lost_on_purpose, "lost_on_purpose",
		     "ends of threads, while dwell did not read them"),
	COUNT_MEMBER(lost_unreported, "lost_unreported", "of these, without a word of it"),
	REAL_FIELD("p50_error_percent", get_p50, "median over all threads and states"),
	REAL_FIELD("p99_error_percent", get_p99, "99 of 100 are smaller"),
	REAL_FIELD("worst_error_percent", get_worst, "the largest"),
	COUNT_MEMBER(threads, "threads", "that measured themselves"),
	COUNT_MEMBER(unseen, "unseen", "of these dwell has no row of"),
	COUNT_MEMBER(lost, "lost", "records and switches, as dwell says itself"),
	COUNT_MEMBER(wakeups, "wakeups", "that dwell counted in the patterns' processes"),
	REAL_FIELD("self_cpu_percent", get_self, "CPU time of dwell, while it measured"),
	NUMBER_MEMBER(struct verification, hooks.runs, "hook_runs",
		      "switches, wakeups and the like that dwell's hooks saw, of all threads"),
	NUMBER_MEMBER(struct verification, hooks.ns, "hook_ns", "how long these took"),
	SHARE_FIELD("stolen_share", get_stolen, "of the machine's busy CPU time"),
	BOOL_MEMBER(struct verification, interrupted, "interrupted", "by a signal"),
	BOOL_MEMBER(struct verification, timed_out, "timed_out",
		    "some patterns had not ended after two minutes"),
};

const struct schema verify_schema = {.name = "verify",
				     .help = "how exact dwell is on this machine",
				     .version = 1,
				     SCHEMA_FIELDS(verify_fields),
				     .table = "pattern"};
