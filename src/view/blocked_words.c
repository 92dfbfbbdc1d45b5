// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/blocked_words.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/reason.h"
#include "model/starvation.h"
#include "view/blame.h"
#include "view/blamed.h"

/* What rustc makes of the body of an async function, block or closure. */
static const char *const bodies[] = {"::{{closure}}",	"::{closure#",	    "::{async_fn#",
				     "::{async_block#", "::{async_fn_env#", "::{async_block_env#",
				     "::{closure_env#"};

static bool cut_body(char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		char *at = NULL, *next = name, *end;

		while ((next = strstr(next, bodies[i])))
			at = next++;
		if (!at || at == name)
			continue;
		end = at + strlen(bodies[i]);
		if (bodies[i][strlen(bodies[i]) - 1] == '#')
			end = strchr(end, '}') ? strchr(end, '}') + 1 : end;
		if (*end)
			continue;
		*at = '\0';
		return true;
	}
	return false;
}

void blocked_name(char into[BLOCKED_NAME_BYTES], const struct frame *frame)
{
	snprintf(into, BLOCKED_NAME_BYTES, "%s",
		 frame_is_made_at_run_time(frame) ? MADE_AT_RUN_TIME : frame->function);
	while (cut_body(into))
		;
}

void blocked_place(char into[BLOCKED_PLACE_BYTES], const struct frame *frame)
{
	const char *slash = frame ? strrchr(frame->file, '/') : NULL;

	*into = '\0';
	if (frame && *frame->file)
		snprintf(into, BLOCKED_PLACE_BYTES, frame->line ? "%.100s:%u" : "%.100s",
			 slash ? slash + 1 : frame->file, frame->line);
}

void blocked_cause(char into[BLOCKED_CAUSE_BYTES], enum stall_cause cause,
		   struct wire_wait_site site)
{
	char reason[REASON_BYTES] = "";

	if (site.detail == WIRE_DETAIL_THROTTLED ||
	    (cause != CAUSE_CPU && cause != CAUSE_RUNNABLE && site.state > WIRE_RUNNABLE))
		reason_format(reason, sizeof(reason), site, true);
	snprintf(into, BLOCKED_CAUSE_BYTES, "%s%s%s", stall_cause_info[cause].key,
		 *reason ? " " : "", reason);
}

const char *blocked_without_function(enum stall_cause cause)
{
	switch (cause) {
	case CAUSE_STOLEN:
		return "(hypervisor)";
	case CAUSE_IRQ:
		return "(interrupts)";
	default:
		return "(no stack)";
	}
}

const char *blocked_found_by(unsigned int number)
{
	switch (number) {
#define X(name, value, key, help)                                                                  \
	case value:                                                                                \
		return key;
		WIRE_FOUND_BY(X)
#undef X
	}
	return "unknown";
}

bool blocked_is_about_stalls(const struct wire_missing *missing)
{
	return strcmp(missing->source, "taskstats") != 0 &&
	       strcmp(missing->source, "delayacct") != 0;
}

bool blocked_lost_its_cpu(const struct hotspot *hotspot)
{
	return hotspot->cause == CAUSE_RUNNABLE && !hotspot->in_place && !*hotspot->limit.comm;
}

#define PARTIES_SHOWN 4
#define LEAST_SHARE   0.01

static void name_party(char *into, size_t room, const struct starved_by *name, uint32_t process,
		       const struct stalls *stalls)
{
	static const char *const words[WIRE_CULPRIT_KINDS_COUNT] = {
		[WIRE_CULPRIT_UNKNOWN] = "unknown",
		[WIRE_CULPRIT_IRQ] = "interrupts",
		[WIRE_CULPRIT_STEAL] = "the hypervisor",
		[WIRE_CULPRIT_IDLE] = "an idle CPU that had to wake up",
		[WIRE_CULPRIT_TIMER] = "timers",
		[WIRE_CULPRIT_DEVICE] = "devices",
		[WIRE_CULPRIT_OTHERS] = "others",
	};
	const struct blame *first = name->first;
	char comm[64];

	text_printable(comm, sizeof(comm), first->culprit.comm, 16);
	if (first->kind == WIRE_CULPRIT_THROTTLE)
		blame_limit_of(into, room, stalls_cgroup(stalls, first->culprit.cgroup_id),
			       first->culprit.comm);
	else if (first->kind != WIRE_CULPRIT_THREAD)
		snprintf(into, room, "%s", words[first->kind]);
	else if (first->culprit.pid == process)
		snprintf(into, room, "its own threads");
	else if (name->processes > 1)
		snprintf(into, room, "%s (%zu processes)", comm, name->processes);
	else if (first->culprit.pid)
		snprintf(into, room, "%s (%u)", comm, first->culprit.pid);
	else
		snprintf(into, room, "%s", comm);
}

void blocked_limit(char into[BLOCKED_LIMIT_BYTES], const struct wire_peer *limit,
		   const struct stalls *stalls)
{
	char name[sizeof(limit->comm) + 1] = {0};

	memcpy(name, limit->comm, sizeof(limit->comm));
	*into = '\0';
	if (*name)
		blame_limit_of(into, BLOCKED_LIMIT_BYTES,
			       stalls_cgroup(stalls, wire_peer_cgroup(limit)), name);
}

/* "pool 4712 in flush": who ended a wait, and what it did. */
static void name_waker(char *into, size_t room, const struct stall_blame *blame,
		       const struct stalls *stalls)
{
	const struct frame *function = stalls_frame(stalls, blame->waker_function);
	char comm[32], name[BLOCKED_NAME_BYTES], shown[BLOCKED_NAME_BYTES] = "";

	text_printable(comm, sizeof(comm), blame->waker->comm, sizeof(blame->waker->comm));
	if (function) {
		blocked_name(name, function);
		text_printable(shown, sizeof(shown), name, 80);
	}
	snprintf(into, room, "ended by %s %u%s%s", comm, blame->waker->tid, function ? " in " : "",
		 shown);
}

void blocked_through(char into[BLOCKED_THROUGH_BYTES], const struct stall_blame *blame,
		     const struct stalls *stalls)
{
	char comm[32], limit[BLOCKED_LIMIT_BYTES] = "", who[BLOCKED_NAME_BYTES + 64] = "";
	bool is_limit, is_announced = blame->in_place;

	if (blame->limit)
		blocked_limit(limit, blame->limit, stalls);
	is_limit = *limit != '\0';
	if (blame->cause == CAUSE_RUNNABLE && blame->culprit && blame->culprit->tid) {
		text_printable(comm, sizeof(comm), blame->culprit->comm,
			       sizeof(blame->culprit->comm));
		snprintf(who, sizeof(who), "CPU taken by %s (%u)", comm, blame->culprit->pid);
	} else if ((blame->cause == CAUSE_LOCK || blame->cause == CAUSE_IPC) && blame->waker &&
		   blame->waker->tid) {
		name_waker(who, sizeof(who), blame, stalls);
	}
	snprintf(into, BLOCKED_THROUGH_BYTES, "%s%s%s%s%s%s", limit, is_limit ? " was used up" : "",
		 is_limit && is_announced ? "  " : "",
		 is_announced ? "block_in_place: the runtime knew" : "",
		 (is_limit || is_announced) && *who ? "  " : "", who);
}

void blocked_starved_text(char into[STARVED_BYTES], const struct starvation *starvation,
			  uint32_t process, const struct stalls *stalls)
{
	struct starved_by names[STARVED_BY_MAX];
	uint64_t total_ns = starvation_total(starvation), rest_ns;
	size_t count = starvation_names(starvation, process, names, &rest_ns), shown = 0;
	char party[128];

	*into = '\0';
	for (size_t i = 0; i < count; i++) {
		double share = (double)names[i].total_ns / (double)(total_ns ? total_ns : 1);
		size_t used = strlen(into);

		/* the small ones are one */
		if (names[i].first->kind == WIRE_CULPRIT_OTHERS || shown >= PARTIES_SHOWN ||
		    (shown && share < LEAST_SHARE)) {
			rest_ns += names[i].total_ns;
			continue;
		}
		name_party(party, sizeof(party), &names[i], process, stalls);
		snprintf(into + used, STARVED_BYTES - used, "%s%s %.0f %%", shown++ ? ", " : "",
			 party, 100 * share);
	}
	if (rest_ns)
		snprintf(into + strlen(into), STARVED_BYTES - strlen(into), "%sothers %.0f %%",
			 shown ? ", " : "", 100 * (double)rest_ns / (double)total_ns);
}

double blocked_probes_cost(const struct wire_runtime *runtime)
{
	if (!runtime->probe_cost_ns || runtime->cpu_ns <= runtime->probe_cost_ns)
		return -1;
	return (double)runtime->probe_cost_ns / (double)(runtime->cpu_ns - runtime->probe_cost_ns);
}

void blocked_probes_text(char text[BLOCKED_PROBES_BYTES], const struct wire_runtime *runtime)
{
	double cost = 100 * blocked_probes_cost(runtime);
	char price[32] = "";

	*text = '\0';
	if (!runtime->observed_ns)
		return;
	if (cost >= 0)
		snprintf(price, sizeof(price), ", cost %.1f %%", cost);
	if (blocked_is_sampled(runtime))
		snprintf(text, BLOCKED_PROBES_BYTES, "polls SAMPLED %.0f %%%s",
			 100 * (double)runtime->probed_ns / (double)runtime->observed_ns, price);
	else
		snprintf(text, BLOCKED_PROBES_BYTES, "polls exact%s", price);
}

void blocked_cut_parameters(char *name)
{
	char *end = strrchr(name, ')'), *at = end;
	int depth = 0;

	if (!end || (end[1] && strcmp(end + 1, " const") != 0))
		return;
	do {
		depth += (*at == ')') - (*at == '(');
	} while (depth && at-- > name);
	if (!depth && at > name && strncmp(at, "(anonymous", 10) != 0)
		*at = '\0';
}

void blocked_write_name(struct output *out, const char *name, size_t columns)
{
	char cut[BLOCKED_NAME_BYTES + 4];

	text_end(cut, sizeof(cut), name, columns);
	text_padded(out, cut, columns);
}

bool blocked_unjudged(char into[BLOCKED_UNJUDGED_BYTES], const struct stalls *stalls)
{
	struct stalls_unjudged unjudged;
	char comm[32];

	if (!stalls_unjudged(stalls, &unjudged))
		return false;
	text_printable(comm, sizeof(comm), unjudged.comm, 16);
	snprintf(into, BLOCKED_UNJUDGED_BYTES,
		 "%s %u, which used %.0f %% of the process's CPU time: no poll of a task and no "
		 "turn of a loop was seen in it.",
		 comm, unjudged.tid, 100.0 * (double)unjudged.cpu_ns / (double)unjudged.process_ns);
	return true;
}
