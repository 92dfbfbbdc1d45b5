// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes as a tree: children below their parent. Of two trees beside each other that one comes
 * first in which the rows' order has its first row: a busy child takes its ancestors along.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tui/top_state.h"

#define NO_NODE SIZE_MAX

/* Of a row, by its number in the sorted order. */
struct node {
	uint32_t pid;
	size_t number, parent;
	size_t first, last, next; /* children: first to last, by next */
	bool linked, seen;
};

static int by_pid(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct node *find(struct node *index, size_t count, uint32_t pid)
{
	struct node key = {.pid = pid};

	return bsearch(&key, index, count, sizeof(*index), by_pid);
}

static size_t parent_of(const struct top_screen *screen, struct node *index, size_t number)
{
	const struct row *row = screen->order[number].row;
	struct node *known = find(index, screen->order_count, row->parent_pid);

	/* 0: none, and not the rows that were summed up */
	return known && row->parent_pid && row->parent_pid != row->pid ? known->number : NO_NODE;
}

/*
 * Each row behind the children before it, and its ancestors too, so that a busy child takes them
 * along. Roots are those whose parent is not shown.
 */
static void link_children(const struct top_screen *screen, struct node *nodes, struct node *index,
			  size_t *first_root)
{
	size_t last_root = NO_NODE;

	*first_root = NO_NODE;
	for (size_t i = 0; i < screen->order_count; i++) {
		for (size_t at = i; at != NO_NODE && !nodes[at].linked; at = nodes[at].parent) {
			size_t parent = parent_of(screen, index, at);
			size_t *first = parent == NO_NODE ? first_root : &nodes[parent].first;
			size_t *last = parent == NO_NODE ? &last_root : &nodes[parent].last;

			nodes[at].linked = true;
			nodes[at].parent = parent;
			if (*first == NO_NODE)
				*first = at;
			else
				nodes[*last].next = at;
			*last = at;
		}
	}
}

static void show(struct top_screen *screen, struct node *node, const struct ordered_row *row,
		 size_t depth, size_t *count)
{
	screen->order[*count] = *row;
	screen->depths[(*count)++] = (uint8_t)(depth < UINT8_MAX ? depth : UINT8_MAX);
	node->seen = true;
}

/* Depth first. */
static void walk(struct top_screen *screen, struct node *nodes, size_t root,
		 const struct ordered_row *sorted)
{
	size_t at = root, depth = 0, count = 0, all = screen->order_count;

	while (at != NO_NODE) {
		show(screen, &nodes[at], &sorted[at], depth, &count);
		if (nodes[at].first != NO_NODE) {
			at = nodes[at].first;
			depth++;
			continue;
		}
		for (; at != NO_NODE && nodes[at].next == NO_NODE; depth--)
			at = nodes[at].parent;
		if (at != NO_NODE)
			at = nodes[at].next;
	}
	/* where pids were used again there may be circles, which no root leads to */
	for (size_t i = 0; i < all; i++)
		if (!nodes[i].seen)
			show(screen, &nodes[i], &sorted[i], 0, &count);
}

int top_order_tree(struct top_screen *screen)
{
	size_t count = screen->order_count, first;
	cleanup_free struct node *nodes = reallocarray(NULL, count + 1, sizeof(*nodes));
	cleanup_free struct node *index = reallocarray(NULL, count + 1, sizeof(*index));
	cleanup_free struct ordered_row *sorted = reallocarray(NULL, count + 1, sizeof(*sorted));

	if (!nodes || !index || !sorted ||
	    array_reserve(&screen->depths, &screen->depth_room, count, sizeof(*screen->depths)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		nodes[i] = (struct node){.pid = screen->order[i].row->pid,
					 .number = i,
					 .first = NO_NODE,
					 .next = NO_NODE};
		index[i] = nodes[i];
		sorted[i] = screen->order[i];
	}
	if (count)
		qsort(index, count, sizeof(*index), by_pid);
	link_children(screen, nodes, index, &first);
	walk(screen, nodes, first, sorted);
	return 0;
}
