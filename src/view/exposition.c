// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/exposition.h"

#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "model/cgroup_names.h"
#include "version.h"

/* The others' group, which is none. */
#define OTHER "other"

/*
 * Bounds of the histogram's buckets: each fourth power of two, from 2^10 ns (1.02 us) to 2^34 ns
 * (17 s). The kernel side's have all powers, which would be twice as many series.
 */
#define FIRST_BOUND 10
#define LAST_BOUND  34
#define BOUND_STEP  2
/* Of stalls: from 2^20 ns, 1.05 ms. */
#define STALL_FIRST 20

struct writer {
	struct output *out;
	enum exposition_format format;
	const struct counters *counters;
	const struct session_info *session;
	const char *metric; /* of the samples that follow */
	bool labelled;	    /* a label has been written */
};

const char *exposition_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* A counter's samples end in _total; its family does, too, in the older format alone. */
static void family(struct writer *writer, const char *name, const char *type, const char *unit,
		   const char *help)
{
	struct output *out = writer->out;
	bool open = writer->format == EXPOSITION_OPENMETRICS;
	const char *suffix = !strcmp(type, "counter") && !open ? "_total" : "";

	writer->metric = name;
	/* the older format has no information */
	output_format(out, "# HELP %s%s%s %s\n", name,
		      !strcmp(type, "info") && !open ? "_info" : "", suffix, help);
	output_format(out, "# TYPE %s%s%s %s\n", name,
		      !strcmp(type, "info") && !open ? "_info" : "", suffix,
		      !strcmp(type, "info") && !open ? "gauge" : type);
	if (open && unit)
		output_format(out, "# UNIT %s %s\n", name, unit);
}

static void begin_sample(struct writer *writer, const char *suffix)
{
	output_string(writer->out, writer->metric);
	output_string(writer->out, suffix);
	writer->labelled = false;
}

static void label(struct writer *writer, const char *name, const char *value)
{
	struct output *out = writer->out;
	size_t left = strlen(value);

	output_char(out, writer->labelled ? ',' : '{');
	writer->labelled = true;
	output_string(out, name);
	output_string(out, "=\"");
	while (left) {
		uint32_t character;
		char bytes[4];
		size_t length = text_decode(value, left, &character);

		if (character == '\n')
			output_string(out, "\\n");
		else if (character == '"' || character == '\\')
			output_char(out, '\\'), output_char(out, (char)character);
		else
			output_bytes(out, bytes, text_encode(bytes, character));
		value += length;
		left -= length;
	}
	output_char(out, '"');
}

static void end_labels(struct writer *writer)
{
	if (writer->labelled)
		output_char(writer->out, '}');
	output_char(writer->out, ' ');
}

static void seconds(struct writer *writer, uint64_t ns)
{
	char text[32];

	end_labels(writer);
	snprintf(text, sizeof(text), "%llu.%09llu\n", (unsigned long long)(ns / NS_PER_S),
		 (unsigned long long)(ns % NS_PER_S));
	output_string(writer->out, text);
}

static void number(struct writer *writer, uint64_t value)
{
	end_labels(writer);
	output_u64(writer->out, value);
	output_char(writer->out, '\n');
}

static void write_number(struct writer *writer, const char *name, const char *type,
			 const char *unit, const char *help, uint64_t value)
{
	family(writer, name, type, unit, help);
	begin_sample(writer, !strcmp(type, "counter") ? "_total" : "");
	number(writer, value);
}

static bool measures(const struct writer *writer, enum state state)
{
	return session_measures(writer->session, wire_of_state(state));
}

static void write_states(struct writer *writer)
{
	family(writer, "dwell_thread_seconds", "counter", "seconds",
	       "Time of all threads by state; what was not measured is left out.");
	for (int i = 0; i < STATES; i++) {
		if (!measures(writer, (enum state)i))
			continue;
		begin_sample(writer, "_total");
		label(writer, "state", state_info[i].key);
		seconds(writer, writer->counters->all.rest.counts[i]);
	}
	family(writer, "dwell_threads", "gauge", NULL, "Threads that there are.");
	begin_sample(writer, "");
	number(writer, writer->counters->all.rest.gauge);
}

static const char *name_of(const struct leader *leader)
{
	return leader->name ? leader->name : OTHER;
}

/* Calls for each group that has counters of its own, and for the others. */
static void each_leader(struct writer *writer, const struct leaders *leaders,
			void (*call)(struct writer *, const struct leader *))
{
	for (size_t i = 0; i < leaders->count; i++)
		if (leaders->items[i]->leads)
			call(writer, leaders->items[i]);
	call(writer, &leaders->rest);
}

static void write_group_states(struct writer *writer, const struct leader *group)
{
	for (int i = 0; i < STATES; i++) {
		if (!measures(writer, (enum state)i))
			continue;
		begin_sample(writer, "_total");
		label(writer, "group", name_of(group));
		label(writer, "state", state_info[i].key);
		seconds(writer, group->counts[i]);
	}
}

static void write_group_threads(struct writer *writer, const struct leader *group)
{
	begin_sample(writer, "");
	label(writer, "group", name_of(group));
	number(writer, group->gauge);
}

static void write_bucket(struct writer *writer, const struct leader *group, int bound,
			 uint64_t count)
{
	char text[32] = "+Inf";

	if (bound)
		snprintf(text, sizeof(text), "%.9g", (double)(1ULL << bound) / 1e9);
	begin_sample(writer, "_bucket");
	label(writer, "group", name_of(group));
	label(writer, "le", text);
	number(writer, count);
}

static void write_waits(struct writer *writer, const struct leader *group)
{
	const uint64_t *latency = group->counts + COUNTERS_LATENCY;
	uint64_t count = 0;
	int bucket = 0;

	/* bucket i is below 2^(i + 1) */
	for (int bound = FIRST_BOUND; bound <= LAST_BOUND; bound += BOUND_STEP) {
		for (; bucket < bound && bucket < WIRE_LATENCY_BUCKETS; bucket++)
			count += latency[bucket];
		write_bucket(writer, group, bound, count);
	}
	for (; bucket < WIRE_LATENCY_BUCKETS; bucket++)
		count += latency[bucket];
	write_bucket(writer, group, 0, count);
	begin_sample(writer, "_sum");
	label(writer, "group", name_of(group));
	seconds(writer, group->counts[STATE_RUNNABLE]);
	begin_sample(writer, "_count");
	label(writer, "group", name_of(group));
	number(writer, count);
}

static void write_info(struct writer *writer, const struct leader *group)
{
	struct cgroup_names names;

	if (!group->name)
		return;
	cgroup_names_find(&names, group->name);
	begin_sample(writer, "_info");
	label(writer, "group", group->name);
	label(writer, "unit", names.unit);
	label(writer, "container", names.container);
	label(writer, "pod", names.pod);
	number(writer, 1);
}

static void write_groups(struct writer *writer)
{
	const struct leaders *groups = &writer->counters->groups;

	family(writer, "dwell_group_thread_seconds", "counter", "seconds",
	       "Time of the threads of a group by state.");
	each_leader(writer, groups, write_group_states);
	family(writer, "dwell_group_threads", "gauge", NULL, "Threads that a group has.");
	each_leader(writer, groups, write_group_threads);
	if (session_has(writer->session, WIRE_METRIC_LATENCY)) {
		family(writer, "dwell_runqueue_wait_seconds", "histogram", "seconds",
		       "Waits for a CPU that ended, each from wakeup or preemption until the "
		       "thread "
		       "ran; the sum has those that go on, too.");
		each_leader(writer, groups, write_waits);
	}
	if (writer->counters->by == BY_CGROUP) {
		family(writer, "dwell_group", "info", NULL,
		       "What a cgroup's path says of who made it.");
		each_leader(writer, groups, write_info);
	}
}

static void write_blame(struct writer *writer, const struct leader *pair)
{
	struct blame_key key = {OTHER, "", OTHER, STATE_RUNNABLE};

	if (pair->name)
		key = counters_blame_key(pair);
	begin_sample(writer, "_total");
	label(writer, "victim", key.victim);
	label(writer, "culprit", key.culprit);
	label(writer, "kind", pair->name ? key.kind : OTHER);
	label(writer, "state", pair->name ? state_info[key.state].key : OTHER);
	seconds(writer, pair->counts[0]);
}

static void write_losses(struct writer *writer)
{
	const struct counters *counters = writer->counters;
	const struct {
		const char *kind;
		uint64_t count;
	} losses[] = {
		{"threads", counters->losses.threads},
		{"exits", counters->losses.exits},
		{"transitions", counters->losses.transitions},
	};

	family(writer, "dwell_lost", "counter", NULL,
	       "Records that did not arrive: figures are too low by what they had.");
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		begin_sample(writer, "_total");
		label(writer, "kind", losses[i].kind);
		number(writer, losses[i].count);
	}
	family(writer, "dwell_torn", "counter", NULL,
	       "Thread records whose states did not add up.");
	begin_sample(writer, "_total");
	number(writer, counters->losses.torn);
	family(writer, "dwell_groups_folded", "counter", NULL,
	       "Times that a group's name found no room and was counted with the others.");
	begin_sample(writer, "_total");
	number(writer, counters->groups.unnamed);
}

static void write_self(struct writer *writer)
{
	family(writer, "dwell_intervals", "counter", NULL, "Intervals that were measured.");
	begin_sample(writer, "_total");
	number(writer, writer->counters->intervals);
	family(writer, "dwell_snapshot_seconds", "gauge", "seconds",
	       "How long the last snapshot of all threads took.");
	begin_sample(writer, "");
	seconds(writer, writer->counters->snapshot_ns);
	family(writer, "dwell_self_cpu_seconds", "counter", "seconds",
	       "CPU time that dwell itself used.");
	begin_sample(writer, "_total");
	seconds(writer, writer->counters->self_cpu_ns);
	family(writer, "dwell_source", "info", NULL, "Where the figures come from.");
	begin_sample(writer, "_info");
	label(writer, "source", session_source(writer->session));
	label(writer, "states", session_states_kind(writer->session));
	label(writer, "version", DWELL_VERSION);
	number(writer, 1);
}

static void write_flight(struct writer *writer, const struct exposition_service *service)
{
	family(writer, "dwell_triggers", "counter", NULL,
	       "Intervals in which a trigger's condition was met.");
	for (size_t i = 0; i < service->trigger_count; i++) {
		uint64_t fired;

		begin_sample(writer, "_total");
		label(writer, "trigger", service->trigger(service->trigger_data, i, &fired));
		number(writer, fired);
	}
	write_number(writer, "dwell_flight_recordings", "counter", NULL,
		     "Times that the seconds before a trigger were recorded.",
		     service->flight_written);
	write_number(writer, "dwell_flight_suppressed", "counter", NULL,
		     "Times that they were not, as the last recording was too recent.",
		     service->flight_suppressed);
}

static void stall_sample(struct writer *writer, const struct exposition_stalls *stalls,
			 const char *suffix)
{
	begin_sample(writer, suffix);
	label(writer, "process", stalls->process);
}

/* An exemplar has at most 128 characters, and only OpenMetrics has any. */
#define EXEMPLAR_BYTES 100

static void exemplar(struct writer *writer, const struct exposition_stalls *stalls, int bound)
{
	bool is_its = stalls->last_ns && stalls->last_ns < 1ULL << bound &&
		      (bound == STALL_FIRST || stalls->last_ns >= 1ULL << (bound - BOUND_STEP));
	char function[EXEMPLAR_BYTES];

	if (writer->format != EXPOSITION_OPENMETRICS || !*stalls->function || !is_its) {
		output_char(writer->out, '\n');
		return;
	}
	snprintf(function, sizeof(function), "%s", stalls->function);
	output_string(writer->out, " # ");
	writer->labelled = false;
	label(writer, "function", function);
	seconds(writer, stalls->last_ns);
}

static void write_stall_lengths(struct writer *writer, const struct exposition_stalls *stalls)
{
	uint64_t count = 0;
	char text[32];
	int bucket = 0;

	for (int bound = STALL_FIRST; bound <= LAST_BOUND; bound += BOUND_STEP) {
		for (; bucket < bound; bucket++)
			count += stalls->by_length[bucket];
		snprintf(text, sizeof(text), "%.9g", (double)(1ULL << bound) / 1e9);
		stall_sample(writer, stalls, "_bucket");
		label(writer, "le", text);
		end_labels(writer);
		output_u64(writer->out, count);
		exemplar(writer, stalls, bound);
	}
	for (; bucket < STALL_BUCKETS; bucket++)
		count += stalls->by_length[bucket];
	stall_sample(writer, stalls, "_bucket");
	label(writer, "le", "+Inf");
	number(writer, count);
	stall_sample(writer, stalls, "_sum");
	seconds(writer, stalls->total_ns);
	stall_sample(writer, stalls, "_count");
	number(writer, count);
}

static void write_stalls(struct writer *writer, const struct exposition_service *service)
{
	family(writer, "dwell_stalls", "counter", NULL,
	       "Polls and turns of a program's workers that were too long, by cause.");
	for (size_t i = 0; i < service->stall_count; i++)
		for (int cause = 0; cause < STALL_CAUSES_COUNT; cause++) {
			stall_sample(writer, &service->stalls[i], "_total");
			label(writer, "cause", stall_cause_info[cause].key);
			number(writer, service->stalls[i].by_cause[cause]);
		}
	family(writer, "dwell_stall_seconds", "histogram", "seconds", "How long they were.");
	for (size_t i = 0; i < service->stall_count; i++)
		write_stall_lengths(writer, &service->stalls[i]);
	family(writer, "dwell_stalls_watched", "gauge", NULL,
	       "Whether there is such a program, and its workers are watched.");
	for (size_t i = 0; i < service->stall_count; i++) {
		stall_sample(writer, &service->stalls[i], "");
		number(writer, service->stalls[i].is_up);
	}
}

static void write_service(struct writer *writer, const struct exposition_service *service)
{
	if (service->stall_count)
		write_stalls(writer, service);
	if (service->has_flight)
		write_flight(writer, service);
	if (!service->has_store)
		return;
	write_number(writer, "dwell_store_bytes", "gauge", "bytes",
		     "Size of the recordings that are kept.", service->store_bytes);
	write_number(writer, "dwell_store_files", "gauge", NULL, "Recordings that are kept.",
		     service->store_files);
	write_number(writer, "dwell_store_failures", "counter", NULL,
		     "Records that could not be written to a recording.", service->store_failures);
}

void exposition_write(struct output *out, const struct counters *counters,
		      const struct session_info *session, const struct exposition_service *service,
		      enum exposition_format format)
{
	struct writer writer = {
		.out = out, .format = format, .counters = counters, .session = session};

	write_states(&writer);
	write_groups(&writer);
	if (session_has_blame(session)) {
		family(&writer, "dwell_blame_seconds", "counter", "seconds",
		       "Time that a group's threads lost, by whom or what it was owed to; a wait "
		       "counts when it has ended.");
		each_leader(&writer, &counters->blames, write_blame);
	}
	write_losses(&writer);
	write_self(&writer);
	write_service(&writer, service);
	if (format == EXPOSITION_OPENMETRICS)
		output_string(out, "# EOF\n");
}
