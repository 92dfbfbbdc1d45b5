// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom threads waited: beside a row, all of a row, and of all in place of the table. */
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "tui/top_state.h"
#include "view/blame.h"

#define PARTY_WIDTH    23
#define CULPRIT_BYTES  256
#define NAMED_BYTES    64 /* of a short description */
#define CULPRITS_SHOWN 16

int top_find_losses(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	blame_losses_release(&screen->losses);
	if (!session_has_blame(screen->interval.session))
		return 0;
	grouped.blames = screen->grouped_blames;
	grouped.blame_count = screen->grouped_count;
	return blame_losses_find(&screen->losses, &grouped, BLAME_SUFFERED, false);
}

static bool is_of(const struct top_screen *screen, const struct blame *blame,
		  const struct row *what)
{
	switch (screen->by) {
	case BY_THREAD:
		return blame->victim.tid == what->tid && blame->victim.pid == what->pid;
	case BY_PROCESS:
		return blame->victim.pid == what->pid;
	default:
		return blame->victim.cgroup_id == what->cgroup_id;
	}
}

/* The next of the row's shares in lost states, the largest first. NULL: no other. */
static const struct blame *next_of(const struct top_screen *screen, const struct row *what,
				   size_t *at)
{
	while (*at < screen->grouped_count) {
		const struct blame *blame = &screen->grouped_blames[(*at)++];

		if (blame->total_ns && state_is_lost(blame->state) && is_of(screen, blame, what))
			return blame;
	}
	return NULL;
}

/* `rustc`, `http-4, disk`: short, for a column. */
static void describe_short(char *into, size_t room, const struct blame *blame)
{
	static const char *const words[WIRE_CULPRIT_KINDS_COUNT] = {
		[WIRE_CULPRIT_UNKNOWN] = "not known",	  [WIRE_CULPRIT_THROTTLE] = "CPU budget",
		[WIRE_CULPRIT_IRQ] = "interrupts",	  [WIRE_CULPRIT_STEAL] = "hypervisor",
		[WIRE_CULPRIT_IDLE] = "idle CPU woke up", [WIRE_CULPRIT_TIMER] = "timer",
		[WIRE_CULPRIT_DEVICE] = "device",	  [WIRE_CULPRIT_OTHERS] = "others",
	};

	if (blame->kind != WIRE_CULPRIT_THREAD)
		snprintf(into, room, "%s", blame->goes_on ? "goes on" : words[blame->kind]);
	else
		snprintf(into, room, "%s%s%s",
			 blame_is_own(blame) ? "its own" : blame->culprit.comm,
			 blame->has_meanwhile ? ", " : "",
			 blame->has_meanwhile ? meanwhile_key(blame->meanwhile.state) : "");
}

/* The largest share whose culprit is known; else the largest. */
static const struct blame *most_telling(const struct top_screen *screen, const struct row *what)
{
	size_t at = 0;
	const struct blame *largest = next_of(screen, what, &at);
	const struct blame *blame = largest;

	while (blame && (blame->kind == WIRE_CULPRIT_UNKNOWN || blame->kind == WIRE_CULPRIT_OTHERS))
		blame = next_of(screen, what, &at);
	return blame && blame->total_ns >= what->observed_ns / 100 ? blame : largest;
}

void top_draw_blame(const struct top_screen *screen, struct canvas *canvas, int row, int column,
		    int width, const struct row *what)
{
	const struct blame *blame = most_telling(screen, what);
	char text[CULPRIT_BYTES], share[16];
	int used;

	/* less than a hundredth is not worth a look */
	if (!blame || !what->observed_ns || blame->total_ns < what->observed_ns / 100) {
		canvas_text(canvas, row, column, width, ROLE_DIM, "-");
		return;
	}
	describe_short(text, sizeof(text), blame);
	snprintf(share, sizeof(share), " %.0f%%",
		 100.0 * (double)blame->total_ns / (double)what->observed_ns);
	used = canvas_format(canvas, row, column, width,
			     (enum role)(ROLE_STATE + (int)blame->state), "%s ",
			     state_info[blame->state].header);
	used += canvas_text(canvas, row, column + used, width - used - (int)strlen(share),
			    ROLE_NORMAL, text);
	canvas_text(canvas, row, column + used, width - used, ROLE_DIM, share);
}

static void draw_state(struct canvas *canvas, int row, int column, enum state state)
{
	canvas_state(canvas, row, column, state);
	canvas_text(canvas, row, column + 2, 8, (enum role)(ROLE_STATE + (int)state),
		    state_info[state].key);
}

int top_draw_blames(const struct top_screen *screen, struct canvas *canvas, int row, int column,
		    int last, const struct row *what)
{
	const struct blame *blame;
	char text[CULPRIT_BYTES], time[16];
	size_t at = 0;
	int begun = row;

	if (!session_has_blame(screen->interval.session))
		return row;
	while (row < last && (blame = next_of(screen, what, &at))) {
		if (row == begun)
			canvas_text(canvas, row++, column, canvas->columns, ROLE_HEADER,
				    "lost            time  because of, this interval");
		if (row == last)
			break;
		blame_describe(text, sizeof(text), blame, screen->interval.session);
		duration_format(time, sizeof(time), blame->total_ns);
		draw_state(canvas, row, column, blame->state);
		canvas_format(canvas, row, column + 11, 9, ROLE_NORMAL, "%9s", time);
		canvas_text(canvas, row++, column + 22, canvas->columns, ROLE_NORMAL, text);
	}
	return row + (row > begun);
}

/* Culprits of one name, that did the same meanwhile, are one on this line. */
struct named {
	char text[NAMED_BYTES];
	uint64_t total_ns;
};

static size_t sum_up(const struct blame_loss *loss, struct named named[CULPRITS_SHOWN])
{
	char text[NAMED_BYTES];
	size_t count = 0, at;

	for (size_t i = 0; i < loss->count; i++) {
		describe_short(text, sizeof(text), loss->shares[i]);
		for (at = 0; at < count && strcmp(named[at].text, text); at++)
			;
		if (at == CULPRITS_SHOWN)
			continue; /* more than a line has room for */
		if (at == count)
			named[count++].total_ns = 0;
		memcpy(named[at].text, text, sizeof(text));
		named[at].total_ns += loss->shares[i]->total_ns;
		for (; at && named[at].total_ns > named[at - 1].total_ns; at--) {
			struct named swap = named[at];

			named[at] = named[at - 1];
			named[at - 1] = swap;
		}
	}
	return count;
}

static void draw_loss(const struct top_screen *screen, struct canvas *canvas, int row,
		      const struct blame_loss *loss)
{
	const struct session_info *session = screen->interval.session;
	struct named named[CULPRITS_SHOWN];
	size_t count = sum_up(loss, named);
	char text[CULPRIT_BYTES], time[16];
	int at = PARTY_WIDTH + 21;

	blame_party_name(text, sizeof(text), blame_loss_party(loss, BLAME_SUFFERED), session);
	canvas_text(canvas, row, 0, PARTY_WIDTH, ROLE_NORMAL, text);
	duration_format(time, sizeof(time), loss->total_ns);
	canvas_format(canvas, row, PARTY_WIDTH + 1, 8, ROLE_NORMAL, "%8s", time);
	draw_state(canvas, row, PARTY_WIDTH + 10, loss->shares[0]->state);
	for (size_t i = 0; i < count && at + 16 < canvas->columns; i++) {
		double share = loss->total_ns
				       ? 100.0 * (double)named[i].total_ns / (double)loss->total_ns
				       : 0;

		if (i && share < 1)
			break;
		at += canvas_text(canvas, row, at, canvas->columns - at - 7, ROLE_NORMAL,
				  named[i].text);
		at += 2 + canvas_format(canvas, row, at, 7, ROLE_DIM, " %.0f %%", share);
	}
}

void top_draw_blame_table(struct top_screen *screen, struct canvas *canvas, int first, int count)
{
	size_t lines = count > 1 ? (size_t)count - 1 : 0;

	screen->heading_count = 0;
	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, first, i, ROLE_HEADER, ' ', ' ');
	canvas_format(canvas, first, 0, canvas->columns, ROLE_HEADER, "%-*s %8s %-11s %s",
		      PARTY_WIDTH, "WHO LOST", "TIME", "  IN", "BECAUSE OF");
	for (size_t i = 0; i < lines && screen->offset + i < screen->losses.count; i++) {
		int row = first + 1 + (int)i;

		draw_loss(screen, canvas, row, &screen->losses.items[screen->offset + i]);
		if (screen->offset + i == screen->index)
			canvas_select(canvas, row);
	}
	if (!session_has_blame(screen->interval.session))
		canvas_text(canvas, first + 2, 2, canvas->columns, ROLE_DIM,
			    screen->options.replay
				    ? "because of whom threads waited is not recorded"
				    : "because of whom threads waited is not measured");
	else if (!screen->losses.count)
		canvas_text(canvas, first + 2, 2, canvas->columns, ROLE_DIM, "nothing was lost");
}
