// SPDX-License-Identifier: GPL-2.0-or-later
/* The flame graph: what calls stands above what is called, as wide as its time. */
#include "base/array.h"
#include "tui/profile_state.h"

size_t profile_zoomed(const struct profile_screen *screen)
{
	size_t found = flames_find(&screen->flames, screen->zoom);

	return found == FLAME_NONE ? 0 : found;
}

/* Without memory, it is not drawn. */
static void add_box(struct profile_screen *screen, size_t flame, int from, int to)
{
	if (to <= from || array_reserve(&screen->boxes, &screen->box_room, screen->box_count + 1,
					sizeof(*screen->boxes)) < 0)
		return;
	screen->boxes[screen->box_count++] = (struct flame_box){flame, from, to};
}

/* Flames of one depth, from the left, and what of the next lies below each. */
static void lay_out(struct profile_screen *screen, size_t zoomed, int columns)
{
	const struct flame *items = screen->flames.items;
	size_t begin = screen->box_count;

	add_box(screen, zoomed, 0, columns);
	/* boxes are in order of depth: what is added here is looked at later */
	for (size_t i = begin; i < screen->box_count; i++) {
		struct flame_box box = screen->boxes[i];
		const struct flame *flame = &items[box.flame];
		double width = (double)(box.to - box.from), sum = 0;
		int at = box.from;

		/* rounded sums: none is moved by the rounding of those before it */
		for (size_t child = flame->child; child != FLAME_NONE;
		     child = items[child].sibling) {
			int end;

			sum += items[child].ns;
			end = box.from + (int)(sum / flame->ns * width + 0.5);
			if (end > box.to)
				end = box.to;
			add_box(screen, child, at, end);
			at = end > at ? end : at;
		}
	}
}

/* What the search finds of what is shown, drawn or too small for that: how many calls, and the
 * share that lies within them. */
static void find(struct profile_screen *screen, size_t zoomed)
{
	const struct flame *items = screen->flames.items;
	size_t at = zoomed, outer = FLAME_NONE;
	double found_ns = 0;

	while (at != FLAME_NONE) {
		size_t next = items[at].child;

		if (profile_finds_flame(screen, &items[at])) {
			screen->found_count++;
			if (outer == FLAME_NONE) {
				found_ns += items[at].ns;
				outer = at; /* what is within it has been counted */
			}
		}
		while (next == FLAME_NONE && at != zoomed) {
			outer = at == outer ? FLAME_NONE : outer;
			next = items[at].sibling;
			at = items[at].parent;
		}
		if (next == FLAME_NONE)
			break;
		at = next;
	}
	screen->found = items[zoomed].ns > 0 ? found_ns / items[zoomed].ns : 0;
}

static void keep_in_sight(struct profile_screen *screen, int count)
{
	const struct flame *selected = profile_selected(screen);
	uint32_t lines = count > 0 ? (uint32_t)count : 1;

	if (selected->depth < screen->depth_offset)
		screen->depth_offset = selected->depth;
	if (selected->depth >= screen->depth_offset + lines)
		screen->depth_offset = selected->depth - lines + 1;
	if (screen->flames.depth + 1 <= lines)
		screen->depth_offset = 0;
	else if (screen->depth_offset > screen->flames.depth + 1 - lines)
		screen->depth_offset = screen->flames.depth + 1 - lines;
}

/* What is too narrow to be drawn cannot stay selected: its nearest caller that is. */
static void select_drawn(struct profile_screen *screen)
{
	const struct flame *items = screen->flames.items;
	size_t at = (size_t)(profile_selected(screen) - items);

	for (; at != FLAME_NONE; at = items[at].parent)
		for (size_t i = 0; i < screen->box_count; i++)
			if (screen->boxes[i].flame == at) {
				screen->selected = items[at].key;
				return;
			}
	screen->selected = items[0].key;
}

static void draw_box(const struct profile_screen *screen, struct canvas *canvas, int row,
		     const struct flame_box *box, size_t zoomed)
{
	const struct flame *flame = &screen->flames.items[box->flame];
	enum role role = (enum role)(ROLE_STATE + (int)flame->state);
	char name[FLAME_NAME_BYTES];
	int width = box->to - box->from;

	profile_flame_name(screen, flame, name);
	if (flame->kind == FLAME_ALL || flame->depth < screen->flames.items[zoomed].depth)
		role = ROLE_DIM;
	if (profile_finds_flame(screen, flame))
		role = ROLE_WARNING;
	if (flame->key == screen->selected) {
		canvas_put(canvas, row, box->from, ROLE_TITLE, 0x25b6, '>');
		canvas_path(canvas, row, box->from + 1, width - 1, ROLE_TITLE, name);
	} else {
		canvas_box(canvas, row, box->from, width, role, name);
	}
}

void profile_draw_flames(struct profile_screen *screen, struct canvas *canvas, int first, int count)
{
	const struct flame *items = screen->flames.items;
	size_t zoomed = profile_zoomed(screen);

	screen->found = -1;
	screen->found_count = 0;
	if (!screen->flames.count) {
		canvas_text(canvas, first + 1, 2, canvas->columns - 2, ROLE_DIM,
			    "no stack yet of what is chosen");
		return;
	}
	for (size_t at = items[zoomed].parent; at != FLAME_NONE; at = items[at].parent)
		add_box(screen, at, 0, canvas->columns);
	lay_out(screen, zoomed, canvas->columns);
	select_drawn(screen);
	keep_in_sight(screen, count);
	if (*screen->base.filter)
		find(screen, zoomed);
	screen->line_count = count > 0 ? count : 0;
	for (size_t i = 0; i < screen->box_count; i++) {
		uint32_t depth = items[screen->boxes[i].flame].depth;

		if (depth >= screen->depth_offset && (int)(depth - screen->depth_offset) < count)
			draw_box(screen, canvas, first + (int)(depth - screen->depth_offset),
				 &screen->boxes[i], zoomed);
	}
	if (count > 0 && screen->depth_offset + (uint32_t)count <= screen->flames.depth)
		canvas_text(canvas, first + count - 1, canvas->columns - 6, 6, ROLE_DIM, " more ");
}
