// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings in words. docs/formats/json.md is the contract of the JSON. */
#include "view/findings.h"

#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "model/reason.h"
#include "view/blame.h"

#define NAME_BYTES 80

/* What a victim did in each state, before and after the time. */
static const struct {
	const char *verb, *object;
} phrases[STATES] = {
	[STATE_RUNNABLE] = {"waited", " for a CPU"},
	[STATE_LOCK] = {"waited", " for locks"},
	[STATE_DISK] = {"waited", " for disks and file systems"},
	[STATE_SWAP] = {"waited", " for memory"},
	[STATE_NET] = {"waited", " on connections"},
	[STATE_IPC] = {"waited", " on pipes and sockets"},
	[STATE_STOLEN] = {"lost", " to the hypervisor"},
	[STATE_IRQ] = {"lost", " to interrupts"},
};

static unsigned int percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

static void describe_meanwhile(char *into, size_t room, const struct finding_cause *cause,
			       const struct session_info *session)
{
	bool is_one = !cause->is_own && cause->party.pid;
	struct wire_wait_site site = cause->meanwhile;
	/* all of it, or nearly, goes without saying */
	bool is_part = cause->meanwhile_ns < cause->total_ns / 20 * 19;
	char reason[REASON_BYTES], thief[NAME_BYTES], who[24];

	if (is_part)
		snprintf(who, sizeof(who), ", %u %% of it",
			 percent(cause->meanwhile_ns, cause->total_ns));
	else
		snprintf(who, sizeof(who), ", which");
	reason_format(reason, sizeof(reason), site, session_is_native(session));
	text_printable(thief, sizeof(thief), cause->thief.party.comm, 15);
	if (site.state == WIRE_ON_CPU)
		snprintf(into, room, "%s %s", who, is_part ? "computing" : "computed");
	else if (site.state == WIRE_RUNNABLE && cause->thief.least_ns && *thief)
		snprintf(into, room, "%s %s for a CPU (%s ran)", who,
			 is_part ? "waiting" : "waited", thief);
	else if (site.state == WIRE_RUNNABLE)
		snprintf(into, room, "%s %s for a CPU", who, is_part ? "waiting" : "waited");
	else
		snprintf(into, room, "%s %sin %s%s%s", who,
			 is_part  ? ""
			 : is_one ? "was "
				  : "were ",
			 meanwhile_key(site.state), *reason ? " " : "", reason);
}

static void describe_cause(char *into, size_t room, const struct finding *finding,
			   const struct finding_cause *cause, const struct session_info *session)
{
	static const char *const words[WIRE_CULPRIT_KINDS_COUNT] = {
		[WIRE_CULPRIT_IRQ] = "interrupts",
		[WIRE_CULPRIT_STEAL] = "the hypervisor had the CPU",
		[WIRE_CULPRIT_IDLE] = "an idle CPU had to wake up",
	};
	const char *verb = finding->state == STATE_RUNNABLE ? " ran" : "";
	/* who waits for a lock meanwhile holds another one, or has got it from a queue */
	bool waits = finding->is_released ||
		     (cause->has_meanwhile && cause->meanwhile.state == WIRE_LOCK);
	const char *held = finding->state != STATE_LOCK ? "" : waits ? "released by " : "held by ";
	char name[NAME_BYTES], number[24] = "";

	if (cause->kind == WIRE_CULPRIT_THROTTLE) {
		blame_limit_name(name, sizeof(name), &cause->party, session);
		snprintf(into, room, "%s was used up", name);
	} else if (cause->kind != WIRE_CULPRIT_THREAD)
		snprintf(into, room, "%s", words[cause->kind]);
	else if (cause->is_own)
		snprintf(into, room, "%sits own threads%s", held, verb);
	else {
		text_printable(name, sizeof(name), cause->party.comm, 15);
		/* one of several that are called so, the victim among them */
		if (cause->party.pid && !strcmp(cause->party.comm, finding->victim.process))
			snprintf(number, sizeof(number), "%s %u", cause->party.tid ? " thread" : "",
				 cause->party.tid ? cause->party.tid : cause->party.pid);
		snprintf(into, room, "%s%s%s%s",
			 *held				     ? held
			 : state_has_partner(finding->state) ? "for "
							     : "",
			 name, number, verb);
	}
	room -= strlen(into);
	into += strlen(into);
	snprintf(into, room, " %u %%", percent(cause->total_ns, finding->total_ns));
	if (cause->has_meanwhile && finding->state != STATE_RUNNABLE)
		describe_meanwhile(into + strlen(into), room - strlen(into), cause, session);
}

/* A disk that ends a wait for disks, and a timer, are no news. */
static bool says_something(const struct finding_cause *cause)
{
	return cause->kind != WIRE_CULPRIT_DEVICE && cause->kind != WIRE_CULPRIT_TIMER;
}

static void describe_loss(char into[FINDING_BYTES], const struct finding *finding)
{
	char name[NAME_BYTES], time[16];

	text_printable(name, sizeof(name), finding->victim.comm, 15);
	duration_format(time, sizeof(time), finding->total_ns);
	if (finding->processes > 1)
		snprintf(into, FINDING_BYTES, "%u processes of %s ", finding->processes, name);
	else if (finding->threads > 1)
		snprintf(into, FINDING_BYTES, "%u threads of %s ", finding->threads, name);
	else
		snprintf(into, FINDING_BYTES, "%s %u ", name,
			 finding->victim.tid ? finding->victim.tid : finding->victim.pid);
	snprintf(into + strlen(into), FINDING_BYTES - strlen(into), "%s %s%s",
		 phrases[finding->state].verb, time, phrases[finding->state].object);
}

static void add_causes(char into[FINDING_BYTES], const struct finding *finding, size_t most,
		       const struct session_info *session)
{
	char cause[160];
	size_t count = 0;

	for (size_t i = 0; i < finding->cause_count && count < most; i++) {
		if (!says_something(&finding->causes[i]))
			continue;
		describe_cause(cause, sizeof(cause), finding, &finding->causes[i], session);
		/* names are in UTF-8, which a cut would break */
		if (strlen(into) + strlen(cause) + 3 > FINDING_BYTES)
			break;
		strcat(into, count++ ? "; " : ": ");
		strcat(into, cause);
	}
}

/* "dl 8286 is deadlocked: one 8288 and two 8289 wait for each other's locks, for 3.20s" */
static void describe_deadlock(char into[FINDING_BYTES], const struct finding *finding)
{
	const struct deadlock *deadlock = &finding->deadlock;
	size_t named = deadlock->count < DEADLOCK_NAMED ? deadlock->count : DEADLOCK_NAMED;
	char names[NAME_BYTES * DEADLOCK_NAMED] = "", name[NAME_BYTES], time[16];

	for (size_t i = 0; i < named; i++) {
		bool is_last = i + 1 == deadlock->count;

		text_printable(name, sizeof(name), deadlock->threads[i].comm, 15);
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s %u",
			 !i	   ? ""
			 : is_last ? " and "
				   : ", ",
			 name, deadlock->threads[i].tid);
	}
	if (deadlock->count > named)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " and %zu more",
			 deadlock->count - named);
	text_printable(name, sizeof(name), deadlock->threads[0].process, 15);
	duration_format(time, sizeof(time), deadlock->for_ns);
	snprintf(into, FINDING_BYTES, "%s %u is deadlocked: %s wait%s, for %s", name,
		 deadlock->threads[0].pid, names,
		 deadlock->count == 1	? "s for a lock that it holds itself"
		 : deadlock->count == 2 ? " for each other's locks"
					: " for each other's locks in a circle",
		 time);
}

void finding_format(char into[FINDING_BYTES], const struct finding *finding,
		    const struct session_info *session)
{
	if (finding->deadlock.count) {
		describe_deadlock(into, finding);
		return;
	}
	describe_loss(into, finding);
	snprintf(into + strlen(into), FINDING_BYTES - strlen(into), " (%u %% of %s %s)",
		 percent(finding->total_ns, finding->active_ns),
		 finding->processes > 1 ? "their" : "its",
		 state_has_partner(finding->state) ? "time" : "active time");
	add_causes(into, finding, FINDING_CAUSES, session);
}

void finding_format_brief(char into[FINDING_BYTES], const struct finding *finding,
			  const struct session_info *session)
{
	if (finding->deadlock.count) {
		describe_deadlock(into, finding);
		return;
	}
	describe_loss(into, finding);
	add_causes(into, finding, 1, session);
}

FIELD_GETTER(get_text)
{
	finding_format(value->text, item->row, item->context);
	value_string(value, value->text);
}

FIELD_GETTER(get_victim)
{
	value_object(value, &((const struct finding *)item->row)->victim, item->context);
}

VALUE_GETTER(get_state, value_string, state_info[((const struct finding *)item->row)->state].key)

VALUE_GETTER(get_deadlock, value_bool, ((const struct finding *)item->row)->deadlock.count > 0)

FIELD_GETTER(get_causes)
{
	const struct finding *finding = item->row;

	value_rows(value, finding->causes, finding->cause_count, sizeof(finding->causes[0]),
		   item->context);
}

VALUE_GETTER(get_kind, value_string, culprit_key(((const struct finding_cause *)item->row)->kind))

FIELD_GETTER(get_party)
{
	const struct finding_cause *cause = item->row;

	if (cause->kind == WIRE_CULPRIT_THREAD || *cause->party.comm)
		value_object(value, &cause->party, item->context);
	else
		value_absent(value);
}

FIELD_GETTER(get_cause_state)
{
	const struct finding_cause *cause = item->row;

	value_text(value, cause->has_meanwhile ? meanwhile_key(cause->meanwhile.state) : NULL);
}

FIELD_GETTER(get_cause_state_ns)
{
	const struct finding_cause *cause = item->row;

	value_known(value, cause->meanwhile_ns, cause->has_meanwhile);
}

static const struct field cause_fields[] = {
	STRING_FIELD("kind", get_kind, "thread, throttle, irq, steal, idle, timer or device"),
	OBJECT_FIELD(
		"culprit", get_party, &party_schema,
		"of a thread: its process, or itself where it is the victim's; of a limit: the "
		"cgroup; of a disk: its name",
		.flags = FIELD_MAYBE),
	STRING_FIELD("culprit_state", get_cause_state,
		     "what it did for most of that time; null: no one thing, or not known"),
	INTEGER_FIELD("culprit_state_ns", get_cause_state_ns, "of total_ns; null as that",
		      .flags = FIELD_MAYBE),
	NUMBER_MEMBER(struct finding_cause, total_ns, "total_ns", "of the victim's time"),
};

static const struct schema cause_schema = {
	.name = "cause", .help = "because of whom", SCHEMA_FIELDS(cause_fields)};

static const struct field finding_fields[] = {
	STRING_FIELD("text", get_text, "it in a sentence"),
	OBJECT_FIELD("victim", get_victim, &party_schema, "who lost time"),
	NUMBER_MEMBER(struct finding, processes, "processes",
		      "how many did: of more than one, all of that name, the victim's pid is null"),
	NUMBER_MEMBER(struct finding, threads, "threads", "how many of their threads did"),
	STRING_FIELD("state", get_state, "in which state"),
	BOOL_FIELD("deadlock", get_deadlock,
		   "the threads wait for each other's locks in a circle: none will go on"),
	NUMBER_MEMBER(struct finding, total_ns, "total_ns", "how much"),
	NUMBER_MEMBER(struct finding, active_ns, "active_ns",
		      "of so much active time of the victim"),
	LIST_FIELD("causes", get_causes, NULL, &cause_schema,
		   "with blame: because of whom, the largest first"),
};

const struct schema finding_schema = {
	.name = "finding",
	.help = "a loss of time that is worth a sentence: at most three, the largest first",
	SCHEMA_FIELDS(finding_fields)};

void findings_write(struct output *out, const struct findings *findings,
		    const struct session_info *session, size_t columns)
{
	char text[FINDING_BYTES];

	for (size_t i = 0; i < findings->count; i++) {
		finding_format(text, &findings->items[i], session);
		output_string(out, "  ");
		text_wrapped(out, text, 2, columns);
		output_char(out, '\n');
	}
}
