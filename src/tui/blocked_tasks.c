// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strcasestr */
/* Which types of tasks are polled, how often, and for how long: in place of the hotspots. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "tui/blocked_state.h"
#include "view/blocked_words.h"

#define POLLS_WIDTH  11
#define TIME_WIDTH   9
#define STALLS_WIDTH 8
#define SHARE_WIDTH  10
#define NAME_MIN     20

int blocked_copy_tasks(struct blocked_screen *screen)
{
	struct stalls *stalls = screen->options.stalls;
	size_t count;
	const struct task *tasks = stalls_tasks(stalls, &count);

	if (array_reserve(&screen->tasks, &screen->task_room, count, sizeof(*tasks)) < 0 ||
	    array_reserve(&screen->task_order, &screen->task_order_room, count,
			  sizeof(*screen->task_order)) < 0)
		return -ENOMEM;
	if (count)
		memcpy(screen->tasks, tasks, count * sizeof(*tasks));
	screen->task_count = count;
	screen->has_tasks = stalls_has_tasks(stalls);
	return 0;
}

void blocked_arrange_tasks(struct blocked_screen *screen)
{
	char name[BLOCKED_NAME_BYTES];

	screen->task_order_count = 0;
	for (size_t i = 0; i < screen->task_count; i++) {
		blocked_task_name(name, screen->options.stalls, &screen->tasks[i]);
		if (!*screen->base.filter || strcasestr(name, screen->base.filter))
			screen->task_order[screen->task_order_count++] = &screen->tasks[i];
	}
	if (screen->task >= screen->task_order_count)
		screen->task = screen->task_order_count ? screen->task_order_count - 1 : 0;
}

/* Which columns there is room for: polls, busy time and longest poll are always there. */
struct task_layout {
	int name;
	bool mean, stalls, share;
};

static struct task_layout plan(int columns)
{
	int left = columns - 2 - NAME_MIN - POLLS_WIDTH - 2 * TIME_WIDTH;
	struct task_layout layout = {.name = NAME_MIN};

	if (left >= STALLS_WIDTH) {
		layout.stalls = true;
		left -= STALLS_WIDTH;
	}
	if (left >= TIME_WIDTH) {
		layout.mean = true;
		left -= TIME_WIDTH;
	}
	if (left >= SHARE_WIDTH + NAME_MIN) {
		layout.share = true;
		left -= SHARE_WIDTH;
	}
	layout.name += left > 0 ? left : 0;
	return layout;
}

static int put(struct canvas *canvas, int row, int column, int width, enum role role,
	       const char *text)
{
	canvas_format(canvas, row, column, width, role, "%*s", width, text);
	return column + width;
}

/* Of the time of all workers. */
static void format_share(const struct blocked_screen *screen, const struct task *task,
			 char text[16])
{
	uint64_t observed_ns = blocked_observed_ns(screen);

	snprintf(text, 16, "-");
	if (observed_ns)
		snprintf(text, 16, "%s%.2f %%",
			 stalls_tasks_are_sampled(screen->options.stalls) ? "~" : "",
			 100 * (double)task->busy_ns / (double)observed_ns);
}

static void draw_task(const struct blocked_screen *screen, struct canvas *canvas, int row,
		      const struct task *task, const struct task_layout *layout)
{
	struct task_words words = blocked_task_words(screen->options.stalls, task);
	char name[BLOCKED_NAME_BYTES], share[16];
	int at = 2;

	blocked_task_name(name, screen->options.stalls, task);
	canvas_path(canvas, row, at, layout->name - 1, task->type ? ROLE_NORMAL : ROLE_DIM, name);
	at += layout->name;
	at = put(canvas, row, at, POLLS_WIDTH, ROLE_NORMAL, words.polls);
	at = put(canvas, row, at, TIME_WIDTH, ROLE_NORMAL, words.busy);
	if (layout->mean)
		at = put(canvas, row, at, TIME_WIDTH, ROLE_NORMAL, words.mean);
	at = put(canvas, row, at, TIME_WIDTH, ROLE_NORMAL, words.longest);
	if (layout->stalls)
		at = put(canvas, row, at, STALLS_WIDTH, task->stalls ? ROLE_NORMAL : ROLE_DIM,
			 words.stalls);
	format_share(screen, task, share);
	if (layout->share)
		put(canvas, row, at, SHARE_WIDTH, ROLE_NORMAL, share);
}

static void draw_heading(const struct blocked_screen *screen, struct canvas *canvas, int row,
			 const struct task_layout *layout)
{
	char heading[64] = "TASKS by type";
	int at = 2 + layout->name;

	if (*screen->base.filter)
		snprintf(heading, sizeof(heading), "TASKS, %zu of %zu types",
			 screen->task_order_count, screen->task_count);
	canvas_text(canvas, row, 0, layout->name + 1, ROLE_HEADER, heading);
	at = put(canvas, row, at, POLLS_WIDTH, ROLE_HEADER, "POLLS");
	at = put(canvas, row, at, TIME_WIDTH, ROLE_HEADER, "BUSY");
	if (layout->mean)
		at = put(canvas, row, at, TIME_WIDTH, ROLE_HEADER, "MEAN");
	at = put(canvas, row, at, TIME_WIDTH, ROLE_HEADER, "MAX");
	if (layout->stalls)
		at = put(canvas, row, at, STALLS_WIDTH, ROLE_HEADER, "STALLS");
	if (layout->share)
		put(canvas, row, at, SHARE_WIDTH, ROLE_HEADER, "SHARE");
}

static const char *why_none(const struct blocked_screen *screen)
{
	if (!screen->has_tasks)
		return "not recorded: the recording is older than this list";
	return screen->task_count ? "nothing matches the search" : "no poll has ended so far";
}

void blocked_draw_tasks(struct blocked_screen *screen, struct canvas *canvas, int first, int count)
{
	struct task_layout layout = plan(canvas->columns);

	if (count < 2)
		return;
	draw_heading(screen, canvas, first, &layout);
	screen->hotspot_line = first + 1;
	screen->hotspot_lines = count - 1;
	blocked_scroll(&screen->task_offset, screen->task, count - 1);
	if (!screen->task_order_count)
		canvas_text(canvas, first + 1, 2, canvas->columns, ROLE_DIM, why_none(screen));
	for (int i = 0; i < count - 1; i++) {
		size_t index = screen->task_offset + (size_t)i;

		if (index >= screen->task_order_count)
			break;
		draw_task(screen, canvas, first + 1 + i, screen->task_order[index], &layout);
		if (screen->focus == FOCUS_HOTSPOTS && index == screen->task)
			canvas_select(canvas, first + 1 + i);
	}
}

const char *blocked_search_task(struct blocked_screen *screen)
{
	const struct task *task =
		screen->task < screen->task_order_count ? screen->task_order[screen->task] : NULL;
	const struct frame *type = task ? stalls_frame(screen->options.stalls, task->type) : NULL;
	char name[BLOCKED_NAME_BYTES];
	size_t length, from = 0;

	if (!type || !type->named)
		return "the stalls of tasks whose type is not known are known by function only";
	blocked_name(name, type);
	/* of one that is too long its end, which says more */
	length = strlen(name);
	if (length >= sizeof(screen->base.filter))
		from = length - sizeof(screen->base.filter) + 1;
	while (((unsigned char)name[from] & 0xc0) == 0x80)
		from++;
	memcpy(screen->base.filter, name + from, length - from + 1);
	return NULL;
}
