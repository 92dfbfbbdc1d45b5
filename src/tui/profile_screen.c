// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strcasestr */
#include "tui/profile_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/text.h"
#include "model/session_info.h"
#include "tui/parts.h"
#include "tui/profile_state.h"
#include "view/blocked_words.h"

/* Fewer lines have no room for what is said of the selected flame. */
#define DETAIL_ROWS 12

/* Of the time without stacks, from which on that is said. */
#define UNSAMPLED_SHARE 0.01

struct profile_screen *profile_screen_new(const struct profile_screen_options *options)
{
	struct profile_screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return NULL;
	screen->options = *options;
	screen->base.replay = options->replay;
	screen->base.keymap = options->keymap;
	screen->result = options->result;
	screen->states = screen->choice.time.states = options->result->states;
	screen->by =
		options->result->by < PROFILE_BY_THREAD ? options->result->by : PROFILE_BY_FUNCTION;
	screen->choice.root = options->root;
	screen->found = -1;
	return screen;
}

void profile_screen_free(struct profile_screen *screen)
{
	if (!screen)
		return;
	flames_release(&screen->flames);
	free(screen->threads);
	free(screen->spots);
	free(screen->order);
	free(screen->boxes);
	free(screen);
}

uint64_t profile_thread_ns(const struct profile_screen *screen, const struct profile_thread *thread)
{
	uint64_t sum_ns = 0;

	for (int state = 0; state < STATES; state++)
		if (screen->choice.time.states & 1U << state)
			sum_ns += thread->states_ns[state];
	return sum_ns;
}

void profile_flame_name(const struct profile_screen *screen, const struct flame *flame,
			char into[FLAME_NAME_BYTES])
{
	const struct profile_thread *thread = &screen->threads[flame->thread];
	const struct frame *frame;

	switch (flame->kind) {
	case FLAME_ALL:
		snprintf(into, FLAME_NAME_BYTES, "all");
		break;
	case FLAME_STATE:
		snprintf(into, FLAME_NAME_BYTES, "%s", state_info[flame->state].key);
		break;
	case FLAME_THREAD:
		profile_thread_name(thread, into);
		break;
	case FLAME_NO_STACK:
		snprintf(into, FLAME_NAME_BYTES, "(no stack)");
		break;
	case FLAME_FUNCTION:
		frame = stacks_frame(profile_stacks(screen->result->profile), flame->frame);
		snprintf(into, FLAME_NAME_BYTES, "%s", profile_frame_name(frame));
		break;
	}
}

const struct flame *profile_selected(const struct profile_screen *screen)
{
	size_t found = flames_find(&screen->flames, screen->selected);

	if (!screen->flames.count)
		return NULL;
	return &screen->flames.items[found == FLAME_NONE ? 0 : found];
}

bool profile_finds(const struct profile_screen *screen, const char *name)
{
	return *screen->base.filter && strcasestr(name, screen->base.filter);
}

static uint64_t chosen_ns(const struct profile_screen *screen)
{
	uint32_t one = screen->choice.time.thread;
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < screen->thread_count; i++)
		if (!one || i + 1 == one)
			sum_ns += profile_thread_ns(screen, &screen->threads[i]);
	return sum_ns;
}

bool profile_finds_flame(const struct profile_screen *screen, const struct flame *flame)
{
	char name[FLAME_NAME_BYTES];

	if (flame->kind != FLAME_FUNCTION || !*screen->base.filter)
		return false;
	profile_flame_name(screen, flame, name);
	return profile_finds(screen, name);
}

int profile_arrange(struct profile_screen *screen)
{
	screen->chosen_ns = chosen_ns(screen);
	if (flames_make(&screen->flames, screen->result, &screen->choice) < 0)
		return -ENOMEM;
	return profile_arrange_list(screen);
}

static int copy_threads(struct profile_screen *screen)
{
	size_t count;
	const struct profile_thread *threads = profile_threads(screen->result->profile, &count);

	if (array_reserve(&screen->threads, &screen->thread_room, count + 1,
			  sizeof(*screen->threads)) < 0)
		return -ENOMEM;
	if (count)
		memcpy(screen->threads, threads, count * sizeof(*threads));
	screen->thread_count = count;
	return 0;
}

static int copy_spots(struct profile_screen *screen)
{
	const struct profile_spot *spots;
	size_t count;

	if (profile_spots(screen->result->profile, screen->by, screen->choice.time, &spots,
			  &count) < 0 ||
	    array_reserve(&screen->spots, &screen->spot_room, count + 1, sizeof(*screen->spots)) <
		    0)
		return -ENOMEM;
	if (count)
		memcpy(screen->spots, spots, count * sizeof(*spots));
	screen->spot_count = count;
	return 0;
}

int profile_screen_update(struct profile_screen *screen)
{
	if (screen->frozen)
		return 0;
	if (profile_end(screen->result->profile) < 0 || profile_result_make(screen->result) < 0 ||
	    copy_threads(screen) < 0 || copy_spots(screen) < 0)
		return -ENOMEM;
	screen->duration_ns = screen->result->duration_ns;
	screen->stack_count = profile_stack_count(screen->result->profile);
	screen->complete_share = profile_complete_share(screen->result->profile);
	screen->lost = profile_quality(screen->result->profile)->lost;
	return profile_arrange(screen);
}

void profile_screen_end(struct profile_screen *screen)
{
	screen->ended = true;
}

static size_t count_threads(const struct profile_screen *screen)
{
	size_t count = 0;

	for (size_t i = 0; i < screen->thread_count; i++)
		count += screen->threads[i].threads;
	return count;
}

static void draw_title(const struct profile_screen *screen, struct canvas *canvas)
{
	const struct profile_result *result = screen->result;
	const struct profile_thread *only =
		profile_only_process(screen->threads, screen->thread_count);
	size_t threads = count_threads(screen);
	uint64_t stacks = screen->stack_count, lost = screen->lost;
	struct parts parts = {canvas, 0, 0, canvas->columns};
	char length[16];

	duration_format(length, sizeof(length), screen->duration_ns);
	parts_add(&parts, ROLE_TITLE, "dwell profile");
	if (only)
		parts_add(&parts, ROLE_TITLE, "%s %u", *only->process ? only->process : only->comm,
			  only->pid);
	if (screen->options.replay)
		parts_add(&parts, ROLE_TITLE, "(recording)");
	if (screen->frozen)
		parts_add(&parts, ROLE_WARNING, "FROZEN");
	else if (screen->ended && !screen->options.replay)
		parts_add(&parts, ROLE_TITLE, "(ended)");
	parts_add(&parts, ROLE_NORMAL, "%s", length);
	parts_add(&parts, ROLE_NORMAL, "%zu thread%s", threads, text_plural(threads));
	parts_add(&parts, ROLE_NORMAL, "%llu stack%s", (unsigned long long)stacks,
		  text_plural(stacks));
	parts_add(&parts, lost ? ROLE_WARNING : ROLE_DIM, "lost %llu", (unsigned long long)lost);
	if (stacks)
		parts_add(&parts, ROLE_DIM, "%.1f %% complete", 100 * screen->complete_share);
	parts_add(&parts, ROLE_DIM, "self %.1f%%",
		  100.0 * (double)result->self_cpu_ns / (double)(result->duration_ns + 1));
}

/* Each state's share of the time that may be shown, the largest first. */
static void draw_states(const struct profile_screen *screen, struct canvas *canvas)
{
	struct parts parts = {canvas, 1, 0, canvas->columns};
	uint64_t total[STATES] = {0}, sum_ns = 0;

	for (size_t i = 0; i < screen->thread_count; i++) {
		if (screen->choice.time.thread && i + 1 != screen->choice.time.thread)
			continue;
		for (int state = 0; state < STATES; state++)
			if (screen->states & 1U << state)
				total[state] += screen->threads[i].states_ns[state];
	}
	for (int state = 0; state < STATES; state++)
		sum_ns += total[state];
	for (int i = 0; i < STATES; i++) {
		int largest = 0;
		char text[32];

		for (int state = 1; state < STATES; state++)
			if (total[state] > total[largest])
				largest = state;
		if (!total[largest])
			break;
		snprintf(text, sizeof(text), "%s %.1f%%", state_info[largest].key,
			 100.0 * (double)total[largest] / (double)sum_ns);
		if (!parts_fit(&parts, 2 + (int)strlen(text)))
			break;
		canvas_state(canvas, 1, parts.at, (enum state)largest);
		parts.at += 2;
		parts_add(&parts,
			  screen->choice.time.states & 1U << largest ? ROLE_NORMAL : ROLE_DIM, "%s",
			  text);
		total[largest] = 0;
	}
}

/* Time of which no stack was taken: it is nowhere in the graph. */
static void add_unsampled(const struct profile_screen *screen, struct parts *parts)
{
	uint64_t all_ns = screen->chosen_ns;
	double seen_ns = screen->flames.count ? screen->flames.items[0].ns : 0;
	double share = all_ns ? 1 - seen_ns / (double)all_ns : 0;

	if (share >= UNSAMPLED_SHARE && !screen->choice.has_focus)
		parts_add(parts, ROLE_DIM, "%.0f%% not sampled", 100 * share);
}

/* The pages, and what has been chosen. */
static void draw_choice(const struct profile_screen *screen, struct canvas *canvas)
{
	const char *const pages[PROFILE_PAGES] = {"FLAMES", "CODE", "THREADS"};
	const struct flame_choice *choice = &screen->choice;
	const struct profile_thread *thread =
		choice->time.thread ? &screen->threads[choice->time.thread - 1] : NULL;
	struct parts parts = {canvas, 2, 0, canvas->columns};
	char name[PROFILE_THREAD_BYTES];

	for (int i = 0; i < PROFILE_PAGES; i++)
		parts_add(&parts, screen->page == (enum profile_page)i ? ROLE_SORTED : ROLE_DIM,
			  "%s", pages[i]);
	if (choice->time.states != screen->states)
		parts_add(&parts, ROLE_WARNING, "only %s",
			  state_info[__builtin_ctz(choice->time.states)].key);
	if (thread) {
		profile_thread_name(thread, name);
		parts_add(&parts, ROLE_WARNING, "only %s", name);
	}
	if (screen->page == PROFILE_FLAMES && choice->has_focus)
		parts_add(&parts, ROLE_WARNING, "only in %.60s", screen->focus);
	if (screen->page == PROFILE_FLAMES && choice->inverted)
		parts_add(&parts, ROLE_WARNING, "inverted");
	if (screen->page == PROFILE_FLAMES && profile_zoomed(screen))
		parts_add(&parts, ROLE_WARNING, "zoomed in");
	if (screen->page == PROFILE_CODE)
		parts_add(&parts, ROLE_DIM, "by %s", profile_grouping_keys[screen->by]);
	add_unsampled(screen, &parts);
}

/* "main.c:31 of server", as much as is known. */
static void format_place(char *into, size_t size, const struct frame *frame)
{
	char place[BLOCKED_PLACE_BYTES];

	blocked_place(place, frame);
	snprintf(into, size, "%s%s%s", place, *place && *frame->module ? " of " : "",
		 frame->module);
}

/* All about the selected flame, on two lines. */
static void draw_detail(const struct profile_screen *screen, struct canvas *canvas, int row)
{
	const struct flame *flame = profile_selected(screen);
	struct parts parts = {canvas, row + 1, 0, canvas->columns};
	char name[FLAME_NAME_BYTES], place[384] = "", total[16], self[16];
	uint64_t all_ns = screen->chosen_ns;
	int used;

	if (!flame)
		return;
	profile_flame_name(screen, flame, name);
	if (flame->kind == FLAME_FUNCTION)
		format_place(place, sizeof(place),
			     stacks_frame(profile_stacks(screen->result->profile), flame->frame));
	used = canvas_path(canvas, row, 0, canvas->columns, ROLE_TITLE, name) + 2;
	canvas_path(canvas, row, used, canvas->columns - used, ROLE_NORMAL, place);
	duration_format(total, sizeof(total), (uint64_t)flame->ns);
	duration_format(self, sizeof(self), (uint64_t)flame->self_ns);
	parts_add(&parts, ROLE_NORMAL, "%s", total);
	parts_add(&parts, ROLE_NORMAL, "%.1f%%", 100 * flame->ns / (double)(all_ns ? all_ns : 1));
	parts_add(&parts, ROLE_NORMAL, "itself %s", self);
	parts_add(&parts, ROLE_DIM, "%llu stack%s", (unsigned long long)flame->count,
		  text_plural(flame->count));
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];

		if (flame->states_ns[state] < flame->ns / 200 || !flame->states_ns[state])
			continue;
		if (!parts_fit(&parts, 20))
			break;
		canvas_state(canvas, row + 1, parts.at, state);
		parts.at += 2;
		parts_add(&parts, ROLE_NORMAL, "%s %.1f%%", state_info[state].key,
			  100 * flame->states_ns[state] / flame->ns);
	}
}

static void describe_found(struct profile_screen *screen)
{
	bool is_list = screen->page != PROFILE_FLAMES;
	size_t count = is_list ? screen->order_count : screen->found_count;
	char *found = screen->base.found;

	*found = '\0';
	if (!*screen->base.filter || screen->base.help)
		return;
	if (!count)
		snprintf(found, FOUND_BYTES, "nothing matches");
	else if (is_list)
		snprintf(found, FOUND_BYTES, "%zu match%s", count, count == 1 ? "" : "es");
	else
		snprintf(found, FOUND_BYTES, "%zu match%s, %.1f %%", count, count == 1 ? "" : "es",
			 100 * screen->found);
}

void profile_screen_draw(struct profile_screen *screen, struct canvas *canvas)
{
	int last = canvas->rows - 1, detail = 0;

	screen->line_count = 0;
	screen->box_count = 0;
	if (screen->options.glyphs)
		memset(canvas->solid, 0, sizeof(canvas->solid));
	if (screen->base.help) {
		screen_base_draw_help(&screen->base, profile_keys.bindings, canvas);
	} else if (!screen->result->session) {
		canvas_text(canvas, canvas->rows / 2, 2, canvas->columns, ROLE_DIM,
			    "taking stacks…");
	} else {
		if (screen->page == PROFILE_FLAMES && canvas->rows >= DETAIL_ROWS)
			detail = 2;
		screen->first_line = 3;
		if (screen->page == PROFILE_FLAMES)
			profile_draw_flames(screen, canvas, 3, last - 3 - detail);
		else
			profile_draw_list(screen, canvas, 3, last - 3);
		draw_title(screen, canvas);
		draw_states(screen, canvas);
		draw_choice(screen, canvas);
		if (detail)
			draw_detail(screen, canvas, last - detail);
	}
	describe_found(screen);
	screen_base_draw_hints(&screen->base, profile_keys.bindings, canvas, last);
}

void profile_screen_message(struct profile_screen *screen, const char *text)
{
	screen_base_message(&screen->base, text);
}

void profile_screen_yank(const struct profile_screen *screen, struct output *out)
{
	const struct flame *flame = profile_selected(screen);
	char name[FLAME_NAME_BYTES], total[16];

	if (!flame || screen->page != PROFILE_FLAMES)
		return;
	duration_format(total, sizeof(total), (uint64_t)flame->ns);
	output_format(out, "%s in\n", total);
	for (;;) {
		profile_flame_name(screen, flame, name);
		output_format(out, "  %s\n", name);
		if (flame->parent == FLAME_NONE)
			break;
		flame = &screen->flames.items[flame->parent];
	}
}
