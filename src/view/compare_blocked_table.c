// SPDX-License-Identifier: GPL-2.0-or-later
/* What two measurements of blocked workers differ in, as text. */
#include "base/duration.h"
#include "base/text.h"
#include "view/compare.h"

const char *const compare_changes[] = {
	[CHANGE_NEW] = "new",	    [CHANGE_WORSE] = "worse", [CHANGE_SAME] = "same",
	[CHANGE_BETTER] = "better", [CHANGE_GONE] = "gone",
};

static void write_side(struct output *out, const struct compared_hotspot *hotspot, double share)
{
	if (hotspot->count)
		output_format(out, " %6llu %6.2f%%", (unsigned long long)hotspot->count,
			      100 * share);
	else
		output_string(out, "      -       -");
}

void compare_blocked_table(struct output *out, const struct blocked_comparison *pair)
{
	char length[2][16], name[128];
	const struct comparison *comparison = pair->comparison;

	for (int i = 0; i < 2; i++) {
		duration_format(length[i], sizeof(length[i]), pair->sides[i]->duration_ns);
		text_printable(name, sizeof(name), pair->paths[i], 60);
		output_format(out, "%c  %s  %s, %.2f %% of it in stalls\n", 'A' + i, name,
			      length[i], 100 * (i ? comparison->share_b : comparison->share_a));
	}
	if (pair->sides[0]->threshold_ns != pair->sides[1]->threshold_ns)
		output_string(out, "their thresholds differ: what is shorter than the larger one "
				   "is in one only\n");
	output_format(out, "\n%-7s %-52s %-9s %14s %14s\n", "", "HOTSPOT", "CAUSE",
		      "A STALLS SHARE", "B STALLS SHARE");
	for (size_t i = 0; i < comparison->count && i < pair->top; i++) {
		const struct comparison_item *item = &comparison->items[i];
		size_t columns;

		columns = text_printable(name, sizeof(name),
					 *item->function ? item->function : "(no stack)", 52);
		output_format(out, "%-7s %s%*s %-9s", compare_changes[item->change], name,
			      (int)(52 - columns), "", item->cause);
		write_side(out, &item->a, item->share_a);
		write_side(out, &item->b, item->share_b);
		output_char(out, '\n');
	}
}
