// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom threads waited: beside a row, all of a row, and of all in place of the table. */
#define _GNU_SOURCE /* qsort_r */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/text.h"
#include "tui/top_state.h"
#include "view/blame.h"

#define PARTY_WIDTH    23
#define PATH_WIDTH     30
#define CULPRIT_BYTES  256
#define NAMED_BYTES    160 /* of a short description */
#define CULPRITS_SHOWN 16

bool top_loss_matches(const struct top_screen *screen, const struct blame_loss *loss,
		      const char *text)
{
	const struct blame_party *party = blame_loss_party(loss, screen->blame);
	const char *path = session_cgroup(screen->interval.session, party->cgroup_id);
	char number[16];

	snprintf(number, sizeof(number), "%u", party->tid ? party->tid : party->pid);
	return top_contains(party->comm, text) || top_contains(party->process, text) ||
	       !strcmp(number, text) || (path && top_contains(path, text));
}

static void apply_filter(struct top_screen *screen)
{
	struct blame_losses *losses = &screen->losses;
	size_t kept = 0;

	for (size_t i = 0; *screen->filter && i < losses->count; i++)
		if (top_loss_matches(screen, &losses->items[i], screen->filter))
			losses->items[kept++] = losses->items[i];
	if (*screen->filter)
		losses->count = kept;
}

int top_find_losses(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	blame_losses_release(&screen->losses);
	if (screen->blame == BLAME_NONE || !session_has_blame(screen->interval.session))
		return 0;
	grouped.blames = screen->grouped_blames;
	grouped.blame_count = screen->grouped_count;
	if (blame_losses_find(&screen->losses, &grouped, screen->blame, false) < 0)
		return -ENOMEM;
	apply_filter(screen);
	return 0;
}

static bool is_party(const struct top_screen *screen, const struct blame_party *party,
		     const struct row *what)
{
	switch (screen->by) {
	case BY_THREAD:
		return party->tid == what->tid && party->pid == what->pid;
	case BY_PROCESS:
		return party->pid == what->pid;
	default:
		return party->cgroup_id == what->cgroup_id;
	}
}

const struct row *top_loss_row(const struct top_screen *screen)
{
	const struct blame_party *party;

	if (screen->index >= screen->losses.count)
		return NULL;
	party = blame_loss_party(&screen->losses.items[screen->index], screen->blame);
	for (size_t i = 0; i < screen->order_count; i++)
		if (is_party(screen, party, screen->order[i].row))
			return screen->order[i].row;
	return NULL;
}

/* Threads, processes or cgroups apart. */
static int compare_victims(enum grouping by, const struct blame_party *a,
			   const struct blame_party *b)
{
	if (by == BY_CGROUP)
		return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
	if (a->pid != b->pid || by == BY_PROCESS)
		return (a->pid > b->pid) - (a->pid < b->pid);
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_victim(const void *left, const void *right, void *by)
{
	const struct blame *a = *(const struct blame *const *)left;
	const struct blame *b = *(const struct blame *const *)right;
	int order = compare_victims(*(const enum grouping *)by, &a->victim, &b->victim);

	/* as they came: the largest first */
	return order ? order : (a > b) - (a < b);
}

int top_index_blame(struct top_screen *screen)
{
	size_t count = 0;

	if (array_reserve(&screen->by_victim, &screen->by_victim_room, screen->grouped_count,
			  sizeof(*screen->by_victim)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < screen->grouped_count; i++) {
		const struct blame *blame = &screen->grouped_blames[i];

		if (blame->total_ns && state_is_lost(blame->state))
			screen->by_victim[count++] = blame;
	}
	screen->by_victim_count = count;
	if (count)
		qsort_r(screen->by_victim, count, sizeof(*screen->by_victim), by_victim,
			&screen->by);
	return 0;
}

/* Where the row's shares in lost states begin. */
static size_t first_of(const struct top_screen *screen, const struct row *what)
{
	const struct blame_party wanted = {
		.tid = what->tid, .pid = what->pid, .cgroup_id = what->cgroup_id};
	size_t from = 0, to = screen->by_victim_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare_victims(screen->by, &screen->by_victim[middle]->victim, &wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The next of them, the largest first; `at` begins at first_of(). NULL: no other. */
static const struct blame *next_of(const struct top_screen *screen, const struct row *what,
				   size_t *at)
{
	const struct blame *blame = *at < screen->by_victim_count ? screen->by_victim[*at] : NULL;

	if (!blame || !is_party(screen, &blame->victim, what))
		return NULL;
	(*at)++;
	return blame;
}

/*
 * Several threads of the victim's process: its name would be read as that of its first one, unless
 * other threads have it, too.
 */
static bool is_of_own(const struct blame *blame)
{
	const struct blame_party *victim = &blame->victim;
	bool is_shared = victim->tid != victim->pid && !strcmp(victim->comm, blame->culprit.comm);

	return blame_is_of_several(blame) && blame->culprit.pid == victim->pid && !is_shared;
}

/* Without numbers; of a cgroup its path, of a long one both ends. */
static void name_short(char *into, size_t room, const struct blame *blame,
		       const struct blame_party *party, const struct session_info *session)
{
	if (blame_is_own(blame) || (party == &blame->culprit && is_of_own(blame)))
		snprintf(into, room, "its own");
	else if (*party->comm)
		snprintf(into, room, "%s", party->comm);
	else
		text_middle(into, room, blame_cgroup(party, session), PATH_WIDTH);
}

/* `rustc`, `http-4, disk`: short, for a column. */
static void describe_short(char *into, size_t room, const struct blame *blame,
			   const struct session_info *session)
{
	static const char *const words[WIRE_CULPRIT_KINDS_COUNT] = {
		[WIRE_CULPRIT_UNKNOWN] = "not known",	  [WIRE_CULPRIT_THROTTLE] = "CPU budget",
		[WIRE_CULPRIT_IRQ] = "interrupts",	  [WIRE_CULPRIT_STEAL] = "hypervisor",
		[WIRE_CULPRIT_IDLE] = "idle CPU woke up", [WIRE_CULPRIT_TIMER] = "timer",
		[WIRE_CULPRIT_DEVICE] = "device",	  [WIRE_CULPRIT_OTHERS] = "others",
	};
	char name[NAMED_BYTES];

	if (blame->kind == WIRE_CULPRIT_THREAD) {
		name_short(name, sizeof(name), blame, &blame->culprit, session);
		snprintf(into, room, "%s%s%s", name, blame->has_meanwhile ? ", " : "",
			 blame->has_meanwhile ? meanwhile_key(blame->meanwhile.state) : "");
		return;
	}
	if (blame->holder.tid)
		snprintf(into, room, "%s has it", blame->holder.comm);
	else if (blame->kind == WIRE_CULPRIT_THROTTLE && *blame->culprit.comm)
		snprintf(into, room, "limit of %s", blame->culprit.comm);
	else if (blame->kind == WIRE_CULPRIT_DEVICE && *blame->culprit.comm)
		snprintf(into, room, "%s", blame->culprit.comm);
	else
		snprintf(into, room, "%s", blame->goes_on ? "goes on" : words[blame->kind]);
}

/* Parties of one name, that did the same meanwhile, are one where there is one line for all. */
struct named {
	char text[NAMED_BYTES];
	enum state state;
	bool known;
	uint64_t total_ns;
};

struct named_parts {
	struct named items[CULPRITS_SHOWN]; /* the largest first */
	size_t count;
};

static void add_named(struct named_parts *parts, const struct blame *blame, const char *text)
{
	struct named *items = parts->items;
	size_t at = 0;

	while (at < parts->count &&
	       (items[at].state != blame->state || strcmp(items[at].text, text) != 0))
		at++;
	if (at == CULPRITS_SHOWN)
		return; /* more than a line has room for */
	if (at == parts->count) {
		items[at] = (struct named){.state = blame->state};
		items[at].known =
			blame->kind != WIRE_CULPRIT_UNKNOWN && blame->kind != WIRE_CULPRIT_OTHERS;
		snprintf(items[at].text, sizeof(items[at].text), "%s", text);
		parts->count++;
	}
	items[at].total_ns += blame->total_ns;
	for (; at && items[at].total_ns > items[at - 1].total_ns; at--) {
		struct named swap = items[at];

		items[at] = items[at - 1];
		items[at - 1] = swap;
	}
}

/* The largest part whose culprit is known; else the largest. NULL: none is worth a look. */
static const struct named *most_telling(const struct named_parts *parts, uint64_t enough_ns)
{
	const struct named *first = parts->items, *end = first + parts->count;

	for (const struct named *part = first; part < end; part++)
		if (part->known && part->total_ns >= enough_ns)
			return part;
	return parts->count && first->total_ns >= enough_ns ? first : NULL;
}

/* Of a path the end says more, of a name the beginning. */
static int draw_party(const struct top_screen *screen, struct canvas *canvas, int row, int column,
		      int width, const char *text)
{
	if (screen->by == BY_CGROUP)
		return canvas_path(canvas, row, column, width, ROLE_NORMAL, text);
	return canvas_text(canvas, row, column, width, ROLE_NORMAL, text);
}

void top_draw_blame(const struct top_screen *screen, struct canvas *canvas, int row, int column,
		    int width, const struct row *what)
{
	struct named_parts parts = {.count = 0};
	const struct named *part;
	const struct blame *blame;
	char text[CULPRIT_BYTES], share[16];
	size_t at = first_of(screen, what);
	int used, left;

	while ((blame = next_of(screen, what, &at))) {
		describe_short(text, sizeof(text), blame, screen->interval.session);
		add_named(&parts, blame, text);
	}
	/* less than a hundredth is not worth a look */
	part = most_telling(&parts, what->observed_ns / 100);
	if (!part || !what->observed_ns) {
		canvas_text(canvas, row, column, width, ROLE_DIM, "-");
		return;
	}
	snprintf(share, sizeof(share), " %.0f%%",
		 100.0 * (double)part->total_ns / (double)what->observed_ns);
	used = canvas_format(canvas, row, column, width, (enum role)(ROLE_STATE + (int)part->state),
			     "%s ", state_info[part->state].header);
	left = width - used - (int)strlen(share);
	used += draw_party(screen, canvas, row, column + used, left, part->text);
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
	size_t at = first_of(screen, what);
	int begun = row;

	/* a heading alone says nothing */
	if (!session_has_blame(screen->interval.session) || row + 1 >= last)
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

/* Who it was because of; or, the other way round, to whom. */
static void sum_up(const struct top_screen *screen, const struct blame_loss *loss,
		   struct named_parts *parts)
{
	const struct session_info *session = screen->interval.session;
	char text[CULPRIT_BYTES];

	for (size_t i = 0; i < loss->count; i++) {
		const struct blame *blame = loss->shares[i];

		if (screen->blame == BLAME_CAUSED)
			name_short(text, sizeof(text), blame, &blame->victim, session);
		else
			describe_short(text, sizeof(text), blame, session);
		add_named(parts, blame, text);
	}
}

/* Columns of the table of losses. */
struct loss_layout {
	int party;
	int state, causes; /* 0: there is no room for it */
};

/* With fewer columns the state is left out, which the inspector has too; then because of whom. */
#define FROM_WITH_STATE	 44
#define FROM_WITH_CAUSES 32

static struct loss_layout lay_out(int columns)
{
	struct loss_layout layout = {.party = PARTY_WIDTH};

	if (columns < FROM_WITH_CAUSES)
		layout.party = columns - 9;
	else if (columns < PARTY_WIDTH + 50)
		layout.party = columns / 3 - (columns < FROM_WITH_STATE ? 1 : 4);
	if (layout.party < 1)
		layout.party = 1;
	if (columns >= FROM_WITH_STATE)
		layout.state = layout.party + 10;
	if (columns >= FROM_WITH_CAUSES)
		layout.causes = layout.state ? layout.state + 11 : layout.party + 11;
	return layout;
}

static void draw_loss(const struct top_screen *screen, struct canvas *canvas, int row,
		      const struct blame_loss *loss)
{
	const struct session_info *session = screen->interval.session;
	struct named_parts parts = {.count = 0};
	char text[CULPRIT_BYTES], time[16];
	struct loss_layout layout = lay_out(canvas->columns);
	int at = layout.causes;

	sum_up(screen, loss, &parts);
	blame_loss_name(text, sizeof(text), loss, screen->blame, session);
	draw_party(screen, canvas, row, 0, layout.party, text);
	duration_format(time, sizeof(time), loss->total_ns);
	canvas_format(canvas, row, layout.party + 1, 8, ROLE_NORMAL, "%8s", time);
	if (!layout.causes)
		return;
	if (layout.state)
		draw_state(canvas, row, layout.state, loss->shares[0]->state);
	for (size_t i = 0; i < parts.count && (!i || at + 16 < canvas->columns); i++) {
		double share = loss->total_ns ? 100.0 * (double)parts.items[i].total_ns /
							(double)loss->total_ns
					      : 0;

		if (i && share < 1)
			break;
		at += canvas_text(canvas, row, at, canvas->columns - at - 7, ROLE_NORMAL,
				  parts.items[i].text);
		at += 2 + canvas_format(canvas, row, at, 7, ROLE_DIM, " %.0f %%", share);
	}
}

void top_draw_blame_table(struct top_screen *screen, struct canvas *canvas, int first, int count)
{
	size_t lines = count > 1 ? (size_t)count - 1 : 0;
	bool is_caused = screen->blame == BLAME_CAUSED;
	struct loss_layout layout = lay_out(canvas->columns);

	screen->heading_count = 0;
	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, first, i, ROLE_HEADER, ' ', ' ');
	canvas_format(canvas, first, 0, canvas->columns, ROLE_HEADER, "%-*.*s %8s", layout.party,
		      layout.party, is_caused ? "WHO COST" : "WHO LOST", "TIME");
	if (layout.state)
		canvas_text(canvas, first, layout.state, canvas->columns, ROLE_HEADER, "  IN");
	if (layout.causes)
		canvas_text(canvas, first, layout.causes, canvas->columns, ROLE_HEADER,
			    is_caused ? "TO" : "BECAUSE OF");
	for (size_t i = 0; i < lines && screen->offset + i < screen->losses.count; i++) {
		int row = first + 1 + (int)i;

		draw_loss(screen, canvas, row, &screen->losses.items[screen->offset + i]);
		if (screen->offset + i == screen->index)
			canvas_select(canvas, row);
	}
	if (!session_has_blame(screen->interval.session))
		canvas_text(canvas, first + 2, 2, canvas->columns, ROLE_DIM,
			    blame_absent(screen->interval.session));
	else if (!screen->losses.count)
		canvas_text(canvas, first + 2, 2, canvas->columns, ROLE_DIM,
			    *screen->filter ? "nothing matches the filter (Esc clears it)"
					    : "nothing was lost");
}
