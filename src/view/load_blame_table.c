// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/load_blame.h"

#include <stdio.h>

#include "base/duration.h"
#include "base/text.h"
#include "view/blame.h"
#include "view/load_rows.h"

#define NAME_COLUMNS 30
#define STATES_SHOWN 3 /* of a group */
#define SHARES_SHOWN 4 /* of a state; the rest is one line */
/* One part of so many is worth a line: a culprit's of the state, a state's of the group's time. */
#define LEAST_SHARE 100
#define LEAST_STATE 1000

struct lost {
	enum state state;
	uint64_t total_ns;
};

static uint64_t observed_of(const struct outcome *outcome, size_t number)
{
	const struct run_group *group = outcome->run->worker_groups[number];
	uint64_t sum_ns = 0;

	for (unsigned int k = 0; k < group->worker_group.forked; k++)
		sum_ns += outcome->observed[group->first_index + k].observed_ns;
	return sum_ns;
}

/* The states in which the group lost most, largest first: how many. */
static size_t find_lost(const struct outcome *outcome, size_t group, struct lost lost[STATES_SHOWN])
{
	size_t count, shown = 0;
	const struct blame *blames = load_group_blame(outcome, group, &count);
	uint64_t totals[STATES] = {0}, least_ns = observed_of(outcome, group) / LEAST_STATE;

	for (size_t i = 0; i < count; i++)
		totals[blames[i].state] += blames[i].total_ns;
	/* the table of the states has all there is to say of these */
	totals[STATE_STOLEN] = totals[STATE_IRQ] = 0;
	while (shown < STATES_SHOWN) {
		struct lost most = {STATE_RUNNABLE, 0};

		for (int s = 0; s < STATES; s++)
			if (totals[s] > most.total_ns)
				most = (struct lost){(enum state)s, totals[s]};
		if (!most.total_ns || most.total_ns < least_ns)
			break;
		totals[most.state] = 0;
		lost[shown++] = most;
	}
	return shown;
}

static void write_share(struct output *out, const struct outcome *outcome,
			const struct blame *blame, uint64_t whole_ns)
{
	char name[256], shown[256], because[512], time[16];

	load_blame_culprit(name, sizeof(name), outcome, blame);
	text_printable(shown, sizeof(shown), blame_is_own(blame) ? "its own workers" : name, 60);
	blame_describe_named(because, sizeof(because), blame, shown, true);
	duration_format(time, sizeof(time), blame->total_ns);
	output_format(out, " %8s %5.1f  %s\n", time,
		      100.0 * (double)blame->total_ns / (double)whole_ns, because);
}

static void write_lost(struct output *out, const struct outcome *outcome, size_t group,
		       const struct lost *lost)
{
	struct blame rest = {.kind = WIRE_CULPRIT_OTHERS, .state = lost->state};
	size_t count, lines = 0;
	const struct blame *blames = load_group_blame(outcome, group, &count);

	for (size_t i = 0; i < count; i++) {
		if (blames[i].state != lost->state)
			continue;
		if (blames[i].kind == WIRE_CULPRIT_OTHERS || lines >= SHARES_SHOWN ||
		    (lines && blames[i].total_ns < lost->total_ns / LEAST_SHARE)) {
			rest.total_ns += blames[i].total_ns;
			continue;
		}
		if (lines++)
			text_padded(out, "", NAME_COLUMNS + 10);
		write_share(out, outcome, &blames[i], lost->total_ns);
	}
	if (!rest.total_ns)
		return;
	if (lines)
		text_padded(out, "", NAME_COLUMNS + 10);
	write_share(out, outcome, &rest, lost->total_ns);
}

void load_blame_table(struct output *out, const struct outcome *outcome)
{
	struct lost lost[STATES_SHOWN];
	bool begun = false;
	char name[256];

	for (size_t i = 0; i < outcome->run->worker_group_count; i++) {
		size_t count = find_lost(outcome, i, lost);

		for (size_t k = 0; k < count; k++) {
			if (!begun)
				output_format(out, "\n%-*s %-9s %8s %5s  BECAUSE OF\n",
					      NAME_COLUMNS, "LOST, % OF THE STATE", "STATE", "TIME",
					      "%");
			begun = true;
			load_group_name(name, sizeof(name), outcome->run,
					outcome->run->worker_groups[i]);
			text_padded(out, k ? "" : name, NAME_COLUMNS);
			output_format(out, " %-9s", state_info[lost[k].state].key);
			write_lost(out, outcome, i, &lost[k]);
		}
	}
}
