// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/metrics.h"

#include <stdio.h>
#include <string.h>

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

struct walker {
	const struct metrics_input *input;
	const struct counters *counters;
	const struct metric_sink *sink;
	struct metric_family family; /* of the points that follow */
	struct metric_point point;   /* the next one */
};

double metric_bound_seconds(unsigned int bound)
{
	return (double)(1ULL << bound) / 1e9;
}

const char *metric_suffix(const struct metric_family *family)
{
	if (family->type == METRIC_COUNTER)
		return "_total";
	return family->type == METRIC_INFO ? "_info" : "";
}

double metric_value(const struct metric_sample *sample)
{
	return sample->is_seconds ? (double)sample->value / 1e9 : (double)sample->value;
}

void metric_each_sample(const struct metric_family *family, const struct metric_point *point,
			void (*call)(void *data, const struct metric_family *family,
				     const struct metric_sample *sample),
			void *data)
{
	const struct metric_histogram *histogram = point->histogram;
	struct metric_label labels[METRIC_SAMPLE_LABELS];
	struct metric_sample sample = {.suffix = metric_suffix(family),
				       .labels = labels,
				       .label_count = point->label_count,
				       .value = point->value,
				       .is_seconds = metric_is_seconds(family)};
	uint64_t count = 0;

	memcpy(labels, point->labels, sizeof(point->labels));
	for (size_t i = 0; histogram && i < histogram->count; i++) {
		char bound[32] = "+Inf";

		if (histogram->bounds[i])
			snprintf(bound, sizeof(bound), "%.9g",
				 metric_bound_seconds(histogram->bounds[i]));
		count += histogram->counts[i];
		labels[point->label_count] = (struct metric_label){"le", bound};
		sample = (struct metric_sample){
			"_bucket", labels, point->label_count + 1, count, false, histogram, i};
		call(data, family, &sample);
	}
	if (histogram) {
		sample = (struct metric_sample){
			"_sum", labels, point->label_count, histogram->sum_ns, true, NULL, 0};
		call(data, family, &sample);
		sample = (struct metric_sample){"_count", labels, point->label_count, count, false,
						NULL,	  0};
	}
	call(data, family, &sample);
}

static void family(struct walker *walker, const char *name, enum metric_type type, const char *unit,
		   const char *help)
{
	walker->family = (struct metric_family){name, type, unit, help};
	walker->sink->family(walker->sink->data, &walker->family);
}

static void label(struct walker *walker, const char *name, const char *value)
{
	walker->point.labels[walker->point.label_count++] = (struct metric_label){name, value};
}

/* The point that is next has counts of this one. */
static void counts_of(struct walker *walker, const struct leader *leader)
{
	walker->point.begun_ns = leader->begun_ns;
}

/* The point has its labels. */
static void point(struct walker *walker, uint64_t value)
{
	walker->point.value = value;
	walker->sink->point(walker->sink->data, &walker->family, &walker->point);
	walker->point = (struct metric_point){.label_count = 0};
}

static void point_of(struct walker *walker, const struct metric_histogram *histogram)
{
	walker->point.histogram = histogram;
	point(walker, 0);
}

static void one(struct walker *walker, const char *name, enum metric_type type, const char *unit,
		const char *help, uint64_t value)
{
	family(walker, name, type, unit, help);
	point(walker, value);
}

static bool measures(const struct walker *walker, enum state state)
{
	return session_measures(walker->input->session, wire_of_state(state));
}

static void walk_states(struct walker *walker)
{
	family(walker, "dwell_thread_seconds", METRIC_COUNTER, "seconds",
	       "Time of all threads by state; what was not measured is left out.");
	for (int i = 0; i < STATES; i++) {
		if (!measures(walker, (enum state)i))
			continue;
		label(walker, "state", state_info[i].key);
		point(walker, walker->counters->all.rest.counts[i]);
	}
	one(walker, "dwell_threads", METRIC_GAUGE, NULL, "Threads that there are.",
	    walker->counters->all.rest.gauge);
}

static const char *name_of(const struct leader *leader)
{
	return leader->name ? leader->name : OTHER;
}

/* Calls for each group that has counters of its own, and for the others. */
static void each_leader(struct walker *walker, const struct leaders *leaders,
			void (*call)(struct walker *, const struct leader *))
{
	for (size_t i = 0; i < leaders->count; i++)
		if (leaders->items[i]->leads)
			call(walker, leaders->items[i]);
	call(walker, &leaders->rest);
}

static void walk_group_states(struct walker *walker, const struct leader *group)
{
	for (int i = 0; i < STATES; i++) {
		if (!measures(walker, (enum state)i))
			continue;
		counts_of(walker, group);
		label(walker, "group", name_of(group));
		label(walker, "state", state_info[i].key);
		point(walker, group->counts[i]);
	}
}

static void walk_blocked(struct walker *walker, const struct leader *leader, struct wait_key key,
			 uint64_t ns)
{
	counts_of(walker, leader);
	label(walker, "group", key.group);
	label(walker, "state", state_info[key.state].key);
	label(walker, "reason", key.reason);
	point(walker, ns);
}

/* Most groups have only some of the states. */
static void walk_group_blocked(struct walker *walker, const struct leader *group)
{
	for (int i = 0; i < STATES; i++) {
		enum state state = (enum state)i;
		uint64_t other_ns = group->counts[COUNTERS_OTHER + i];
		uint64_t unknown_ns = group->counts[COUNTERS_UNKNOWN + i];

		if (!state_is_blocked(state) || !measures(walker, state))
			continue;
		if (other_ns)
			walk_blocked(walker, group, (struct wait_key){name_of(group), state, OTHER},
				     other_ns);
		if (unknown_ns)
			walk_blocked(walker, group,
				     (struct wait_key){name_of(group), state, "unknown"},
				     unknown_ns);
	}
}

static void walk_reasons(struct walker *walker)
{
	const struct counters *counters = walker->counters;

	family(walker, "dwell_group_blocked_seconds", METRIC_COUNTER, "seconds",
	       "Time of a group's blocked threads by what they waited for.");
	for (size_t i = 0; i < counters->reasons.count; i++) {
		const struct leader *reason = counters->reasons.items[i];

		if (counters_reason_leads(counters, reason))
			walk_blocked(walker, reason, counters_wait_key(reason), reason->counts[0]);
	}
	each_leader(walker, &counters->groups, walk_group_blocked);
}

static void walk_group_threads(struct walker *walker, const struct leader *group)
{
	label(walker, "group", name_of(group));
	point(walker, group->gauge);
}

/* `counts` by power of two: bucket i is below 2^(i + 1). */
static struct metric_histogram histogram_of(const uint64_t *counts, unsigned int buckets,
					    unsigned int first, uint64_t sum_ns)
{
	struct metric_histogram histogram = {.sum_ns = sum_ns};
	unsigned int bucket = 0;

	for (unsigned int bound = first; bound <= LAST_BOUND; bound += BOUND_STEP) {
		histogram.bounds[histogram.count] = bound;
		for (; bucket < bound && bucket < buckets; bucket++)
			histogram.counts[histogram.count] += counts[bucket];
		histogram.count++;
	}
	for (; bucket < buckets; bucket++)
		histogram.counts[histogram.count] += counts[bucket];
	histogram.count++;
	for (size_t i = 0; i < histogram.count; i++)
		histogram.total += histogram.counts[i];
	return histogram;
}

static void walk_waits(struct walker *walker, const struct leader *group)
{
	struct metric_histogram histogram =
		histogram_of(group->counts + COUNTERS_LATENCY, WIRE_LATENCY_BUCKETS, FIRST_BOUND,
			     group->counts[STATE_RUNNABLE]);

	counts_of(walker, group);
	label(walker, "group", name_of(group));
	point_of(walker, &histogram);
}

static void walk_info(struct walker *walker, const struct leader *group)
{
	const struct metrics_service *service = walker->input->service;
	struct cgroup_names names;

	if (!group->name)
		return;
	cgroup_names_find(&names, group->name);
	label(walker, "group", group->name);
	label(walker, "unit", names.unit);
	label(walker, "container", names.container);
	label(walker, "pod", names.pod);
	if (service->container_name)
		label(walker, "name",
		      service->container_name(service->containers, names.container));
	point(walker, 1);
}

static void walk_groups(struct walker *walker)
{
	const struct leaders *groups = &walker->counters->groups;

	family(walker, "dwell_group_thread_seconds", METRIC_COUNTER, "seconds",
	       "Time of the threads of a group by state.");
	each_leader(walker, groups, walk_group_states);
	if (session_has(walker->input->session, WIRE_METRIC_STATE))
		walk_reasons(walker);
	family(walker, "dwell_group_threads", METRIC_GAUGE, NULL, "Threads that a group has.");
	each_leader(walker, groups, walk_group_threads);
	if (session_has(walker->input->session, WIRE_METRIC_LATENCY)) {
		family(walker, "dwell_runqueue_wait_seconds", METRIC_HISTOGRAM, "seconds",
		       "Waits for a CPU that ended, each from wakeup or preemption until the "
		       "thread "
		       "ran; the sum has those that go on, too.");
		each_leader(walker, groups, walk_waits);
	}
	if (walker->counters->by == BY_CGROUP) {
		family(walker, "dwell_group", METRIC_INFO, NULL,
		       "The maker of a cgroup, by its path.");
		each_leader(walker, groups, walk_info);
	}
}

static void walk_blame(struct walker *walker, const struct leader *pair)
{
	struct blame_key key = {OTHER, "", OTHER, STATE_RUNNABLE};

	if (pair->name)
		key = counters_blame_key(pair);
	counts_of(walker, pair);
	label(walker, "victim", key.victim);
	label(walker, "culprit", key.culprit);
	label(walker, "kind", pair->name ? key.kind : OTHER);
	label(walker, "state", pair->name ? state_info[key.state].key : OTHER);
	point(walker, pair->counts[0]);
}

static void walk_losses(struct walker *walker)
{
	const struct counters *counters = walker->counters;
	const struct {
		const char *kind;
		uint64_t count;
	} losses[] = {
		{"threads", counters->losses.threads},
		{"exits", counters->losses.exits},
		{"transitions", counters->losses.transitions},
	};

	family(walker, "dwell_lost", METRIC_COUNTER, NULL,
	       "Records that did not arrive: figures are too low by what they had.");
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		label(walker, "kind", losses[i].kind);
		point(walker, losses[i].count);
	}
	one(walker, "dwell_torn", METRIC_COUNTER, NULL,
	    "Thread records whose states did not add up.", counters->losses.torn);
	one(walker, "dwell_groups_folded", METRIC_COUNTER, NULL,
	    "Times that the name of a group, a reason, or a victim and culprit found no room and "
	    "was counted with the others.",
	    counters->groups.unnamed + counters->reasons.unnamed + counters->blames.unnamed);
}

static void walk_self(struct walker *walker)
{
	const struct counters *counters = walker->counters;
	const struct session_info *session = walker->input->session;

	one(walker, "dwell_intervals", METRIC_COUNTER, NULL, "Intervals that were measured.",
	    counters->intervals);
	one(walker, "dwell_snapshot_seconds", METRIC_GAUGE, "seconds",
	    "How long the last snapshot of all threads took.", counters->snapshot_ns);
	one(walker, "dwell_self_cpu_seconds", METRIC_COUNTER, "seconds",
	    "CPU time that dwell itself used.", counters->self_cpu_ns);
	family(walker, "dwell_source", METRIC_INFO, NULL, "Where the figures come from.");
	label(walker, "source", session_source(session));
	label(walker, "states", session_states_kind(session));
	label(walker, "version", DWELL_VERSION);
	point(walker, 1);
}

static void walk_flight(struct walker *walker, const struct metrics_service *service)
{
	family(walker, "dwell_triggers", METRIC_COUNTER, NULL,
	       "Intervals in which a trigger's condition was met.");
	for (size_t i = 0; i < service->trigger_count; i++) {
		struct metrics_trigger trigger = service->trigger(service->trigger_data, i);

		label(walker, "trigger", trigger.words);
		if (trigger.group)
			label(walker, "group", trigger.group);
		point(walker, trigger.fired);
	}
	one(walker, "dwell_flight_recordings", METRIC_COUNTER, NULL,
	    "Times that the seconds before a trigger were recorded.", service->flight_written);
	one(walker, "dwell_flight_suppressed", METRIC_COUNTER, NULL,
	    "Times that they were not, as the last recording was too recent.",
	    service->flight_suppressed);
}

static void walk_stalls(struct walker *walker, const struct metrics_service *service)
{
	family(walker, "dwell_stalls", METRIC_COUNTER, NULL,
	       "Polls and turns of a program's workers that were too long, by cause.");
	for (size_t i = 0; i < service->stall_count; i++)
		for (int cause = 0; cause < STALL_CAUSES_COUNT; cause++) {
			label(walker, "process", service->stalls[i].process);
			label(walker, "cause", stall_cause_info[cause].key);
			point(walker, service->stalls[i].by_cause[cause]);
		}
	family(walker, "dwell_stall_seconds", METRIC_HISTOGRAM, "seconds", "How long they were.");
	for (size_t i = 0; i < service->stall_count; i++) {
		const struct metrics_stalls *stalls = &service->stalls[i];
		struct metric_histogram histogram = histogram_of(stalls->by_length, STALL_BUCKETS,
								 STALL_FIRST, stalls->total_ns);

		histogram.last = &stalls->last;
		label(walker, "process", stalls->process);
		point_of(walker, &histogram);
	}
	family(walker, "dwell_stalls_watched", METRIC_GAUGE, NULL,
	       "Whether there is such a program, and its workers are watched.");
	for (size_t i = 0; i < service->stall_count; i++) {
		label(walker, "process", service->stalls[i].process);
		point(walker, service->stalls[i].is_up);
	}
	family(walker, "dwell_workers_stuck", METRIC_GAUGE, NULL,
	       "Workers that have been in one poll or turn for more than a second.");
	for (size_t i = 0; i < service->stall_count; i++) {
		label(walker, "process", service->stalls[i].process);
		point(walker, service->stalls[i].stuck);
	}
}

static void walk_pushes(struct walker *walker, const struct metrics_service *service)
{
	family(walker, "dwell_push_sent", METRIC_COUNTER, NULL,
	       "Batches of figures that an engine has taken.");
	for (size_t i = 0; i < service->push_count; i++) {
		label(walker, "engine", service->pushes[i].engine);
		point(walker, service->pushes[i].sent);
	}
	family(walker, "dwell_push_dropped", METRIC_COUNTER, NULL,
	       "Batches that no engine will get, by reason.");
	for (size_t i = 0; i < service->push_count; i++)
		for (size_t j = 0; j < service->pushes[i].reason_count; j++) {
			label(walker, "engine", service->pushes[i].engine);
			label(walker, "reason", service->pushes[i].reasons[j]);
			point(walker, service->pushes[i].dropped[j]);
		}
	family(walker, "dwell_push_queue_bytes", METRIC_GAUGE, "bytes",
	       "Size of the batches that wait for an engine.");
	for (size_t i = 0; i < service->push_count; i++) {
		label(walker, "engine", service->pushes[i].engine);
		point(walker, service->pushes[i].queue_bytes);
	}
}

static void walk_service(struct walker *walker, const struct metrics_service *service)
{
	if (service->stall_count)
		walk_stalls(walker, service);
	if (service->has_flight)
		walk_flight(walker, service);
	if (service->push_count)
		walk_pushes(walker, service);
	if (service->container_name) {
		one(walker, "dwell_container_names", METRIC_GAUGE, NULL,
		    "Containers whose names are known.", service->container_names);
		one(walker, "dwell_container_names_failures", METRIC_COUNTER, NULL,
		    "Times that who knows the names did not give them.",
		    service->container_failures);
	}
	if (!service->has_store)
		return;
	one(walker, "dwell_store_bytes", METRIC_GAUGE, "bytes",
	    "Size of the recordings of --store.", service->store_bytes);
	one(walker, "dwell_store_files", METRIC_GAUGE, NULL, "Recordings of --store.",
	    service->store_files);
	one(walker, "dwell_store_failures", METRIC_COUNTER, NULL,
	    "Records that could not be written to a recording.", service->store_failures);
}

void metrics_walk(const struct metrics_input *input, const struct metric_sink *sink)
{
	struct walker walker = {.input = input, .counters = input->counters, .sink = sink};

	walk_states(&walker);
	walk_groups(&walker);
	if (session_has_blame(input->session)) {
		family(&walker, "dwell_blame_seconds", METRIC_COUNTER, "seconds",
		       "Time that a group's threads lost, by whom or what it was owed to; a wait "
		       "counts when it has ended.");
		each_leader(&walker, &input->counters->blames, walk_blame);
	}
	walk_losses(&walker);
	walk_self(&walker);
	walk_service(&walker, input->service);
}
