// SPDX-License-Identifier: GPL-2.0-or-later
/* The JSON of `dwell serve`. docs/formats/json.md is the contract. */
#include "view/serve.h"

#include "version.h"
#include "view/findings.h"
#include "view/view.h"

static const struct serve_period *period_of(const struct item *item)
{
	return item->row;
}

/* Of a group or pair: itself, and the period. */
static uint64_t since(const struct leaders *leaders, const struct leader *leader,
		      const struct serve_period *period, size_t kind)
{
	return leader_since(leaders, leader, period->mark, kind);
}

/* All names, and the others behind them. */
static const struct leader *leader_at(const struct leaders *leaders, size_t index)
{
	return index < leaders->count ? leaders->items[index] : &leaders->rest;
}

static bool counted(const struct leaders *leaders, const struct leader *leader,
		    const struct serve_period *period)
{
	for (size_t kind = 0; kind < leaders->kinds; kind++)
		if (since(leaders, leader, period, kind))
			return true;
	return false;
}

/* A group, or all threads. */
static uint64_t group_since(const struct item *item, size_t kind)
{
	const struct serve_period *period = item->context;
	const struct leader *leader = item->row;

	return since(&period->counters->groups, leader, period, kind);
}

VALUE_GETTER(get_group, value_text, ((const struct leader *)item->row)->name)
VALUE_GETTER(get_group_threads, value_number, ((const struct leader *)item->row)->gauge)
VALUE_GETTER(get_states, value_elements, STATES)

/* States without time are most, and left out. */
FIELD_ELEMENT(state_element)
{
	uint64_t ns = group_since(item, index);

	value_number(value, ns);
	value->name = state_info[index].key;
	if (!ns)
		value_absent(value);
}

/* Up to the last bucket that has one. */
FIELD_GETTER(get_waits)
{
	size_t count = WIRE_LATENCY_BUCKETS;

	while (count && !group_since(item, COUNTERS_LATENCY + count - 1))
		count--;
	value_elements(value, count);
}

FIELD_ELEMENT(wait_element)
{
	value_number(value, group_since(item, COUNTERS_LATENCY + index));
}

static const struct field group_fields[] = {
	STRING_FIELD("group", get_group, "cgroup's path, or name of processes; null: all others"),
	INTEGER_FIELD("threads", get_group_threads, "at the end", .flags = FIELD_NEVER_NULL),
	MAP_FIELD("states_ns", get_states, state_element, NULL, "time in each state that has any"),
	LIST_FIELD("run_queue_waits", get_waits, wait_element, NULL,
		   "waits for a CPU that ended, by length: element i from 2^i to 2^(i+1) ns"),
};

static const struct schema group_schema = {.name = "serve_group",
					   .help = "threads of one cgroup or name in a period",
					   SCHEMA_FIELDS(group_fields)};

static struct blame_key key_of(const struct item *item)
{
	const struct leader *leader = item->row;

	return leader->name ? counters_blame_key(leader) : (struct blame_key){0};
}

FIELD_GETTER(get_loss_state)
{
	const struct leader *leader = item->row;

	value_text(value, leader->name ? state_info[key_of(item).state].key : NULL);
}

FIELD_GETTER(get_loss)
{
	const struct serve_period *period = item->context;

	value_number(value, since(&period->counters->blames, item->row, period, 0));
}

VALUE_GETTER(get_victim, value_text, key_of(item).victim)
VALUE_GETTER(get_culprit_kind, value_text, key_of(item).kind)
VALUE_GETTER(get_culprit, value_text, key_of(item).culprit)

static const struct field loss_fields[] = {
	STRING_FIELD("victim", get_victim, "whose threads lost it; null: all others"),
	STRING_FIELD("state", get_loss_state, "in which state"),
	STRING_FIELD("kind", get_culprit_kind, "what it is owed to, as a blame's culprit has it"),
	STRING_FIELD("culprit", get_culprit, "the group of that thread; null: no thread"),
	INTEGER_FIELD("total_ns", get_loss, "in waits that ended", .flags = FIELD_NEVER_NULL),
};

static const struct schema loss_schema = {.name = "serve_loss",
					  .help = "time that one group lost by another",
					  SCHEMA_FIELDS(loss_fields)};

FIELD_GETTER(get_start)
{
	view_format_time(value->text, period_of(item)->start_realtime_ns);
	value_string(value, value->text);
}

FIELD_GETTER(get_all)
{
	value_object(value, &period_of(item)->counters->all.rest, item->row);
}

VALUE_GETTER(get_groups, value_elements, period_of(item)->counters->groups.count + 1)
VALUE_GETTER(get_blame, value_elements, period_of(item)->counters->blames.count + 1)

static void put_leader(struct value *value, const struct leaders *leaders, const struct item *item,
		       size_t index)
{
	const struct leader *leader = leader_at(leaders, index);

	value_object(value, leader, item->row);
	if (!counted(leaders, leader, period_of(item)))
		value_absent(value);
}

FIELD_ELEMENT(group_element)
{
	put_leader(value, &period_of(item)->counters->groups, item, index);
}

FIELD_ELEMENT(loss_element)
{
	put_leader(value, &period_of(item)->counters->blames, item, index);
}

static const struct field period_fields[] = {
	STRING_FIELD("start", get_start, "beginning, UTC", .flags = FIELD_NEVER_NULL),
	NUMBER_MEMBER(struct serve_period, duration_ns, "duration_ns", "its length",
		      .flags = FIELD_NEVER_NULL),
	OBJECT_FIELD("all", get_all, &group_schema, "all threads"),
	LIST_FIELD("groups", get_groups, group_element, &group_schema,
		   "those with the largest shares, and the others"),
	LIST_FIELD("blame", get_blame, loss_element, &loss_schema, "who made whom wait"),
};

const struct schema serve_period_schema = {.name = "serve_period",
					   .help = "what happened in a period",
					   .version = 1,
					   SCHEMA_FIELDS(period_fields)};

static const struct serve_status *status_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_since)
{
	view_format_time(value->text, status_of(item)->counters->start_realtime_ns);
	value_string(value, value->text);
	if (!status_of(item)->counters->intervals)
		value_null(value);
}

FIELD_GETTER(get_until)
{
	view_format_time(value->text, status_of(item)->counters->end_realtime_ns);
	value_string(value, value->text);
	if (!status_of(item)->counters->intervals)
		value_null(value);
}

FIELD_GETTER(get_measured)
{
	const struct counters *counters = status_of(item)->counters;

	value_number(value, counters->end_ns - counters->start_ns);
}

VALUE_GETTER(get_unmeasured, value_elements, STATES)

/* Those that are measured are most, and left out. */
FIELD_ELEMENT(unmeasured_element)
{
	const struct serve_status *status = status_of(item);
	enum state state = (enum state)index;

	value_string(value, state_info[state].key);
	if (session_measures(status->session, wire_of_state(state)) &&
	    !(status->counters->unmeasured & 1U << state))
		value_absent(value);
}

FIELD_GETTER(get_lengths)
{
	size_t count = 0;

	while (count < ARRAY_SIZE(status_of(item)->lengths_ns) &&
	       status_of(item)->lengths_ns[count])
		count++;
	value_elements(value, count);
}

FIELD_ELEMENT(length_element)
{
	value_number(value, status_of(item)->lengths_ns[index]);
}

VALUE_GETTER(get_version, value_string, DWELL_VERSION)
VALUE_GETTER(get_host, value_text, status_of(item)->session->wire.host)
VALUE_GETTER(get_kernel, value_text, status_of(item)->session->wire.kernel)
VALUE_GETTER(get_cpus, value_number, status_of(item)->session->wire.cpus)
VALUE_GETTER(get_source, value_string, session_source(status_of(item)->session))
VALUE_GETTER(get_states_kind, value_string, session_states_kind(status_of(item)->session))
VALUE_GETTER(get_by, value_string, grouping_keys[status_of(item)->counters->by])
VALUE_GETTER(get_intervals, value_number, status_of(item)->counters->intervals)
VALUE_GETTER(get_threads, value_number, status_of(item)->counters->all.rest.gauge)
VALUE_GETTER(get_has_blame, value_bool, session_has_blame(status_of(item)->session))
VALUE_GETTER(get_lost, value_number, losses_lost(&status_of(item)->counters->losses))
VALUE_GETTER(get_torn, value_number, status_of(item)->counters->losses.torn)
VALUE_GETTER(get_self_cpu, value_number, status_of(item)->counters->self_cpu_ns)

FIELD_GETTER(get_findings)
{
	const struct serve_status *status = status_of(item);

	if (status->findings)
		value_rows(value, status->findings->items, status->findings->count,
			   sizeof(status->findings->items[0]), status->session);
	else
		value_absent(value);
}

static const struct field status_fields[] = {
	STRING_FIELD("dwell", get_version, "version"),
	STRING_FIELD("host", get_host, "its name"),
	STRING_FIELD("kernel", get_kernel, "its version"),
	INTEGER_FIELD("cpus", get_cpus, "of the machine"),
	STRING_FIELD("source", get_source, "bpf, taskstats or procfs"),
	STRING_FIELD("states", get_states_kind, "how states are known: exact, counters, sampled"),
	LIST_FIELD("unmeasured", get_unmeasured, unmeasured_element, NULL,
		   "states that were not measured, at least of some threads"),
	STRING_FIELD("by", get_by, "what threads are summed up by: cgroup or process"),
	BOOL_FIELD("blame", get_has_blame, "who made whom wait is known"),
	STRING_FIELD("since", get_since, "beginning of the first interval, UTC"),
	STRING_FIELD("until", get_until, "end of the last interval, UTC"),
	INTEGER_FIELD("measured_ns", get_measured, "from the one to the other"),
	NUMBER_MEMBER(struct serve_status, interval_ns, "interval_ns", "between two snapshots"),
	INTEGER_FIELD("intervals", get_intervals, "so far"),
	INTEGER_FIELD("threads", get_threads, "at the end of the last interval"),
	INTEGER_FIELD("lost", get_lost, "records and transitions that did not arrive"),
	INTEGER_FIELD("torn", get_torn, "records whose states did not add up"),
	INTEGER_FIELD("self_cpu_ns", get_self_cpu, "CPU time of dwell itself"),
	LIST_FIELD("period_lengths_ns", get_lengths, length_element, NULL,
		   "of the periods that are kept; of the first, as the intervals come"),
	NUMBER_MEMBER(struct serve_status, kept_ns, "kept_ns", "how far back the longest ones go"),
	LIST_FIELD("findings", get_findings, NULL, &finding_schema,
		   "what is worth a sentence in the last interval", .flags = FIELD_MAYBE),
	NUMBER_MEMBER(struct serve_status, stall_programs, "stall_programs",
		      "whose workers are watched for stalls"),
};

const struct schema serve_status_schema = {.name = "serve_status",
					   .help = "how `dwell serve` is",
					   .version = 1,
					   SCHEMA_FIELDS(status_fields)};
