// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom threads waited. docs/formats/json.md is the contract. */
#include "view/blame.h"

#include "model/blame_thieves.h"
#include "model/reason.h"
#include "view/fields.h"
#include "view/view.h"

const char *meanwhile_key(__u8 wire_state)
{
	return wire_state == WIRE_ON_CPU ? "cpu" : state_info[state_of_wait(wire_state)].key;
}

FIELD_GETTER(get_party_pid)
{
	const struct blame_party *party = item->row;

	value_known(value, party->pid, party->pid != 0);
}

FIELD_GETTER(get_party_tid)
{
	const struct blame_party *party = item->row;

	value_known(value, party->tid, party->tid != 0);
}

FIELD_GETTER(get_party_cgroup)
{
	const struct blame_party *party = item->row;

	value_text(value, session_cgroup(item->context, party->cgroup_id));
}

#define PARTY_FIELDS                                                                               \
	INTEGER_FIELD("pid", get_party_pid, "process id"),                                         \
		INTEGER_FIELD("tid", get_party_tid, "thread id"),                                  \
		ARRAY_MEMBER(struct blame_party, comm, "comm", "its name"),                        \
		STRING_FIELD("cgroup", get_party_cgroup, "cgroup, by path")

static const struct field party_fields[] = {PARTY_FIELDS};

const struct schema party_schema = {.name = "party",
				    .help = "a thread; without tid a process, without pid a cgroup",
				    SCHEMA_FIELDS(party_fields)};

#define CULPRIT(item) ((const struct blame *)(item)->row)

VALUE_GETTER(get_kind, value_string, culprit_key(CULPRIT(item)->kind))

static void get_culprit_party(const struct field *field, const struct item *item,
			      struct value *value)
{
	static const struct field parts[] = {PARTY_FIELDS};
	struct item party = {&CULPRIT(item)->culprit, item->context};

	parts[field->argument].get(&parts[field->argument], &party, value);
}

static const struct field culprit_fields[] = {
	STRING_FIELD("kind", get_kind,
		     "thread, throttle, irq, steal, idle, timer, device, unknown or others"),
	INTEGER_FIELD("pid", get_culprit_party, "process id", .argument = 0),
	INTEGER_FIELD("tid", get_culprit_party, "thread id", .argument = 1),
	STRING_FIELD("comm", get_culprit_party, "its name", .argument = 2),
	STRING_FIELD("cgroup", get_culprit_party, "cgroup, by path", .argument = 3),
};

static const struct schema culprit_schema = {.name = "culprit",
					     .definition = "blame_culprit",
					     .help = "because of whom",
					     SCHEMA_FIELDS(culprit_fields)};

FIELD_GETTER(get_victim)
{
	value_object(value, &CULPRIT(item)->victim, item->context);
}

void get_blame_state(const struct field *field, const struct item *item, struct value *value)
{
	(void)field;
	value_string(value, state_info[CULPRIT(item)->state].key);
}

void get_blame_culprit_state(const struct field *field, const struct item *item,
			     struct value *value)
{
	const struct blame *blame = item->row;

	(void)field;
	value_text(value, blame->has_meanwhile ? meanwhile_key(blame->meanwhile.state) : NULL);
}

FIELD_GETTER(get_culprit_reason)
{
	const struct blame *blame = item->row;

	if (!blame->has_meanwhile) {
		value_null(value);
		return;
	}
	reason_format(value->text, sizeof(value->text), blame->meanwhile,
		      session_is_native(item->context));
	value_text(value, value->text);
}

VALUE_GETTER(get_thief_pid, value_known, CULPRIT(item)->thief.party.pid,
	     CULPRIT(item)->thief.party.pid != 0)
VALUE_GETTER(get_thief_tid, value_known, CULPRIT(item)->thief.party.tid,
	     CULPRIT(item)->thief.party.tid != 0)
VALUE_GETTER(get_thief_cgroup, value_text,
	     session_cgroup(item->context, CULPRIT(item)->thief.party.cgroup_id))

static const struct field thief_fields[] = {
	INTEGER_FIELD("pid", get_thief_pid, "process id"),
	INTEGER_FIELD("tid", get_thief_tid, "thread id"),
	ARRAY_MEMBER(struct blame, thief.party.comm, "comm", "its name"),
	STRING_FIELD("cgroup", get_thief_cgroup, "cgroup, by path"),
	NUMBER_MEMBER(struct blame, thief.least_ns, "least_ns", "of total_ns, at least"),
};

static const struct schema thief_schema = {
	.name = "thief", .help = "who had a culprit's CPU", SCHEMA_FIELDS(thief_fields)};

FIELD_GETTER(get_thief)
{
	get_same_row(field, item, value);
	if (!blame_thief_of(item->row))
		value_null(value);
}

FIELD_GETTER(get_holder)
{
	const struct blame *blame = item->row;

	if (blame->holder.tid)
		value_object(value, &blame->holder, item->context);
	else
		value_null(value);
}

static const struct field blame_fields[] = {
	OBJECT_FIELD("victim", get_victim, &party_schema, "who waited"),
	STRING_FIELD("state", get_blame_state, "in which it waited"),
	OBJECT_FIELD("culprit", get_same_row, &culprit_schema, "because of whom"),
	STRING_FIELD("culprit_state", get_blame_culprit_state,
		     "what the culprit did meanwhile: a state, or cpu; null: not known"),
	STRING_FIELD("culprit_reason", get_culprit_reason, "and in what, as `reason`"),
	OBJECT_FIELD("ran_instead", get_thief, &thief_schema,
		     "of a culprit that was runnable, for most of that time; null: not known"),
	BOOL_MEMBER(struct blame, goes_on, "goes_on", "the wait has not ended"),
	OBJECT_FIELD("held_by", get_holder, &party_schema,
		     "of one for a lock that goes on: who has the lock now; null: not known"),
	NUMBER_MEMBER(struct blame, count, "count", "waits that have ended"),
	NUMBER_MEMBER(struct blame, total_ns, "total_ns", "their time in the interval"),
	NUMBER_MEMBER(struct blame, earlier_ns, "earlier_ns",
		      "and before it, when it was not known who would end them"),
};

const struct schema blame_schema = {
	.name = "blame",
	.help = "what a victim lost in one state because of one culprit",
	SCHEMA_FIELDS(blame_fields)};
