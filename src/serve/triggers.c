// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/triggers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/histogram.h"

/* Fewer say nothing of the hundredth. */
#define WAITS_LEAST 100

static int take_limit(struct trigger *trigger, const char *text, struct error *error)
{
	char *end;

	if (trigger->kind != TRIGGER_STATE)
		return duration_parse(text, &trigger->limit_ns, error);
	errno = 0;
	trigger->limit_threads = strtod(text, &end);
	if (!errno && end != text && !*end && trigger->limit_threads > 0 &&
	    isfinite(trigger->limit_threads))
		return 0;
	return error_set(error, EINVAL, "--trigger %s: how many threads, above 0", trigger->words);
}

static int take_field(struct trigger *trigger, const char *name, struct error *error)
{
	static const struct {
		const char *name;
		enum trigger_kind kind;
	} times[] = {
		{"runqueue-p99", TRIGGER_RUNQUEUE_P99},
		{"runqueue-max", TRIGGER_RUNQUEUE_MAX},
		{"stall", TRIGGER_STALL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (!strcmp(name, times[i].name)) {
			trigger->kind = times[i].kind;
			return 0;
		}
	for (int state = 0; state < STATES; state++)
		if (!strcmp(name, state_info[state].key)) {
			trigger->kind = TRIGGER_STATE;
			trigger->state = (enum state)state;
			return 0;
		}
	return error_set(
		error, EINVAL,
		"--trigger: there is no '%.40s'; runqueue-p99, runqueue-max, stall and states "
		"are there: runnable, disk, lock, ...",
		name);
}

static bool is_same(const struct trigger *left, const struct trigger *right)
{
	return !strcmp(left->words, right->words) &&
	       !strcmp(left->group ? left->group : "", right->group ? right->group : "");
}

/* One condition, in place. */
static int take(struct triggers *triggers, char *text, struct error *error)
{
	char *at = strchr(text, '@'), *above;
	struct trigger trigger = {.group = at ? at + 1 : NULL};
	int result;

	if (at)
		*at = '\0';
	snprintf(trigger.words, sizeof(trigger.words), "%s", text);
	above = strchr(text, '>');
	if (!above || !above[1] || (at && !at[1]))
		return error_set(error, EINVAL,
				 "--trigger '%.80s': write FIELD>LIMIT or FIELD>LIMIT@GROUP", text);
	*above = '\0';
	result = take_field(&trigger, text, error);
	if (result >= 0)
		result = take_limit(&trigger, above + 1, error);
	for (size_t i = 0; result >= 0 && i < triggers->count; i++)
		if (is_same(&triggers->items[i], &trigger))
			result = error_set(error, EINVAL, "--trigger: '%s' is there twice",
					   trigger.words);
	if (result >= 0 && triggers->count == TRIGGERS_MAX)
		result = error_set(error, EINVAL, "--trigger: at most %d conditions", TRIGGERS_MAX);
	if (result >= 0)
		triggers->items[triggers->count++] = trigger;
	return result;
}

int triggers_parse(struct triggers *triggers, const char *text, struct error *error)
{
	char *rest, *word;
	int result = 0;

	if (triggers->text)
		return error_set(error, EINVAL,
				 "--trigger is given once: write its conditions with commas");
	triggers->text = strdup(text);
	if (!triggers->text)
		return error_set(error, ENOMEM, "out of memory");
	word = strtok_r(triggers->text, ",", &rest);
	if (!word)
		return error_set(error, EINVAL, "--trigger: there is no condition");
	for (; result >= 0 && word; word = strtok_r(NULL, ",", &rest))
		result = take(triggers, word, error);
	return result;
}

void triggers_release(struct triggers *triggers)
{
	free(triggers->text);
}

bool trigger_is_measured(const struct trigger *trigger, const struct session_info *session)
{
	switch (trigger->kind) {
	case TRIGGER_STATE:
		/* from the first time on that any is taken */
		if ((trigger->state == STATE_STOLEN || trigger->state == STATE_IRQ) &&
		    session->wire.source == WIRE_SOURCE_BPF)
			return true;
		return session_measures(session, wire_of_state(trigger->state));
	case TRIGGER_RUNQUEUE_P99:
	case TRIGGER_RUNQUEUE_MAX:
		return session_has(session, WIRE_METRIC_LATENCY);
	case TRIGGER_STALL:
		break;
	}
	return true;
}

static bool concerns(const struct trigger *trigger, const char *group)
{
	return !trigger->group || (group && counters_is_called(group, trigger->group));
}

/* What a group did in the interval. */
struct looked_at {
	uint64_t ns; /* in the trigger's state */
	uint32_t waits[WIRE_LATENCY_BUCKETS];
};

static struct looked_at of_leader(const struct trigger *trigger, const struct triggers_input *input,
				  const struct leader *group)
{
	const struct leaders *groups = &input->counters->groups;
	struct looked_at sum = {0};

	if (trigger->kind == TRIGGER_STATE)
		sum.ns = leader_since(groups, group, input->mark, trigger->state);
	for (size_t i = 0; trigger->kind != TRIGGER_STATE && i < WIRE_LATENCY_BUCKETS; i++)
		sum.waits[i] =
			(uint32_t)leader_since(groups, group, input->mark, COUNTERS_LATENCY + i);
	return sum;
}

/* One that is named need not be among those that lead. */
static struct looked_at of_named(const struct trigger *trigger, const struct triggers_input *input)
{
	const struct interval *interval = input->interval;
	struct looked_at sum = {0};

	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];

		if (!concerns(trigger, counters_group(input->counters, interval->session,
						      row->cgroup_id, row->process)))
			continue;
		sum.ns += trigger->kind == TRIGGER_STATE ? row->states_ns[trigger->state] : 0;
		for (size_t j = 0; row->latency_count && j < WIRE_LATENCY_BUCKETS; j++)
			sum.waits[j] += row->latency[j];
	}
	return sum;
}

static bool fires_at(const struct trigger *trigger, const struct triggers_input *input,
		     const struct looked_at *sum, struct trigger_event *event)
{
	uint64_t length_ns = input->interval->end_ns - input->interval->start_ns, count = 0;

	if (trigger->kind == TRIGGER_STATE) {
		event->threads = (double)sum->ns / (double)length_ns;
		return event->threads > trigger->limit_threads;
	}
	for (size_t i = 0; i < WIRE_LATENCY_BUCKETS; i++)
		count += sum->waits[i];
	if (count < WAITS_LEAST)
		return false;
	event->ns = histogram_percentile(sum->waits, WIRE_LATENCY_BUCKETS, 0.99, UINT64_MAX);
	return event->ns > trigger->limit_ns;
}

static bool look_at_groups(const struct trigger *trigger, const struct triggers_input *input,
			   struct trigger_event *event)
{
	const struct leaders *groups = &input->counters->groups;
	struct looked_at sum;

	if (trigger->group) {
		event->group = trigger->group;
		sum = of_named(trigger, input);
		return fires_at(trigger, input, &sum, event);
	}
	for (size_t i = 0; i < groups->count; i++) {
		if (!groups->items[i]->leads)
			continue;
		event->group = groups->items[i]->name;
		sum = of_leader(trigger, input, groups->items[i]);
		if (fires_at(trigger, input, &sum, event))
			return true;
	}
	return false;
}

static bool look_at_threads(const struct trigger *trigger, const struct triggers_input *input,
			    struct trigger_event *event)
{
	const struct interval *interval = input->interval;

	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];

		if (row->latency_max_ns <= trigger->limit_ns)
			continue;
		event->ns = row->latency_max_ns;
		event->group = counters_group(input->counters, interval->session, row->cgroup_id,
					      row->process);
		if (concerns(trigger, event->group))
			return true;
	}
	return false;
}

static bool look_at_stalls(const struct trigger *trigger, const struct triggers_input *input,
			   struct trigger_event *event)
{
	for (size_t i = 0; input->stalls && i < stall_watch_count(input->stalls); i++) {
		const struct stall_counts_of *counts = stall_watch_counts(input->stalls, i);

		event->group = counts->process;
		event->ns = counts->longest_ns;
		if (event->ns > trigger->limit_ns && concerns(trigger, counts->process))
			return true;
	}
	return false;
}

static bool look(const struct trigger *trigger, const struct triggers_input *input,
		 struct trigger_event *event)
{
	switch (trigger->kind) {
	case TRIGGER_RUNQUEUE_P99:
	case TRIGGER_STATE:
		return look_at_groups(trigger, input, event);
	case TRIGGER_RUNQUEUE_MAX:
		return look_at_threads(trigger, input, event);
	case TRIGGER_STALL:
		return look_at_stalls(trigger, input, event);
	}
	return false;
}

bool triggers_look(struct triggers *triggers, const struct triggers_input *input,
		   struct trigger_event *ret_event)
{
	bool found = false;

	for (size_t i = 0; i < triggers->count; i++) {
		struct trigger *trigger = &triggers->items[i];
		struct trigger_event event = {.trigger = trigger};
		bool fires = look(trigger, input, &event);

		trigger->fired += fires;
		if (fires && !found)
			*ret_event = event;
		found = found || fires;
	}
	return found;
}

void trigger_event_words(const struct trigger_event *event, char *into, size_t room)
{
	const struct trigger *trigger = event->trigger;
	char took[16];

	if (trigger->kind == TRIGGER_STATE) {
		snprintf(into, room, "%s: %.1f threads of %s", trigger->words, event->threads,
			 event->group);
		return;
	}
	duration_format_fine(took, sizeof(took), event->ns);
	snprintf(into, room, "%s: %s in %s", trigger->words, took, event->group);
}
