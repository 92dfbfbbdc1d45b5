// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/load_inside.h"

#include "base/text.h"

#define NAME_COLUMNS 30

/* Of all CPUs' time, where that is known. */
static void write_program(struct output *out, const struct outcome *outcome, size_t number)
{
	const struct scheduler_programs *programs = &outcome->run->inside.programs;
	const struct scheduler_program *program = &programs->items[number];
	double length_s = (double)scheduler_programs_length(programs, number) / 1e9;

	text_padded(out, program->name, NAME_COLUMNS);
	if (!program->calls || length_s <= 0) {
		output_format(out, " %9s %9s %6s\n", program->calls ? "-" : "0", "-", "-");
		return;
	}
	output_format(out, " %9.0f %9.0f", (double)program->calls / length_s,
		      (double)program->ns / (double)program->calls);
	if (outcome->machine.cpus)
		output_format(out, " %6.2f",
			      (double)program->ns / 1e7 / length_s / outcome->machine.cpus);
	output_char(out, '\n');
}

static void write_programs(struct output *out, const struct outcome *outcome)
{
	const struct scheduler_programs *programs = &outcome->run->inside.programs;

	output_char(out, '\n');
	text_padded(out, "SCHED_EXT PROGRAM", NAME_COLUMNS);
	output_string(out, "   CALLS/S   NS/CALL   CPU%\n");
	for (size_t i = 0; i < programs->count; i++)
		write_program(out, outcome, i);
	if (programs->cost_ns > 0)
		output_format(out,
			      "timing them costs %.0f ns a call here, of which %.0f ns are in "
			      "NS/CALL\n",
			      programs->cost_ns, programs->floor_ns);
}

static void write_counters(struct output *out, const char *when,
			   const struct scheduler_counters *counters)
{
	output_format(out, "%s %s%s%s", when, *counters->state ? counters->state : "-",
		      *counters->ops ? " " : "", counters->ops);
	if (*counters->ops && counters->switch_all.known && !counters->switch_all.value)
		output_string(out, " (for SCHED_EXT only)");
}

static void write_difference(struct output *out, const struct counter *before,
			     const struct counter *after, const char *what)
{
	if (before->known && after->known && after->value > before->value)
		output_format(out, ", %llu %s", (unsigned long long)(after->value - before->value),
			      what);
}

/* Those that came to pass. */
static void write_events(struct output *out, const struct scheduler_inside *inside)
{
	const char *unknown = load_events_unknown(inside);
	size_t shown = 0;

	output_string(out, "sched_ext events:");
	if (unknown)
		output_format(out, " not known: %s", unknown);
	for (size_t i = 0; !unknown && i < inside->events.count; i++) {
		const struct scheduler_event *event = &inside->events.items[i];

		if (!scheduler_event_sum(event))
			continue;
		output_format(out, "%s %s %llu", shown++ ? "," : "", event->name,
			      (unsigned long long)scheduler_event_sum(event));
	}
	output_string(out, unknown || shown ? "\n" : " none\n");
}

static void write_state(struct output *out, const struct scheduler_inside *inside)
{
	output_string(out, "\nsched_ext:");
	write_counters(out, " before", &inside->before);
	write_counters(out, ", after", &inside->after);
	write_difference(out, &inside->before.enabled, &inside->after.enabled, "enabled meanwhile");
	write_difference(out, &inside->before.rejected, &inside->after.rejected, "threads refused");
	output_char(out, '\n');
	write_events(out, inside);
}

#define QUEUES_SHOWN 16

static void write_queues(struct output *out, const struct scheduler_queues *queues)
{
	char name[48];

	output_char(out, '\n');
	text_padded(out, "SCHED_EXT QUEUE", NAME_COLUMNS);
	output_string(out, "   P50   P99   MAX  threads waiting\n");
	for (size_t i = 0; i < queues->count && i < QUEUES_SHOWN; i++) {
		struct queue_depths depths = scheduler_queue_depths(queues, &queues->items[i]);

		scheduler_queue_name(name, sizeof(name), queues->items[i].id, queues->items[i].cpu);
		text_padded(out, name, NAME_COLUMNS);
		output_format(out, " %5u %5u %5u\n", depths.p50, depths.p99, depths.max);
	}
	if (queues->count > QUEUES_SHOWN)
		output_format(out, "... and %zu more\n", queues->count - QUEUES_SHOWN);
	output_format(out, "looked at %llu times, ten times a second\n",
		      (unsigned long long)queues->looks);
}

void load_inside_table(struct output *out, const struct outcome *outcome)
{
	const struct scheduler_inside *inside = &outcome->run->inside;

	if (!inside->in_use)
		return;
	write_state(out, inside);
	if (inside->queues.unknown)
		output_format(out, "sched_ext queues: not known: %s\n", inside->queues.unknown);
	else
		write_queues(out, &inside->queues);
	if (inside->programs.unknown)
		output_format(out, "sched_ext programs: not known: %s\n", inside->programs.unknown);
	else if (inside->programs.count)
		write_programs(out, outcome);
}
