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

void load_inside_table(struct output *out, const struct outcome *outcome)
{
	const struct scheduler_inside *inside = &outcome->run->inside;

	if (inside->programs.unknown && *outcome->machine.scheduler)
		output_format(out, "\nsched_ext: %s\n", inside->programs.unknown);
	else if (inside->programs.count)
		write_programs(out, outcome);
}
