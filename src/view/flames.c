// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/flames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* A way is one step longer; the mixing is splitmix64's. */
static uint64_t mix(uint64_t way, enum flame_kind kind, uint64_t step)
{
	uint64_t key = way * 31 + step + ((uint64_t)kind << 60) + 0x9e3779b97f4a7c15ULL;

	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
	key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
	return key ^ key >> 31;
}

size_t flames_find(const struct flames *flames, uint64_t key)
{
	return identities_find(&flames->keys, 0, key);
}

/* Time on the way on from `parent`; `like` says what it is. FLAME_NONE: no memory. */
static size_t add(struct flames *flames, size_t parent, struct flame like, uint64_t step,
		  const struct profile_path *path)
{
	size_t known = flames->count, index;
	struct flame *flame;

	like.key = mix(parent == FLAME_NONE ? 0 : flames->items[parent].key, like.kind, step);
	index = identities_add(&flames->keys, 0, like.key);
	if (index == IDENTITY_NONE ||
	    array_reserve(&flames->items, &flames->room, index + 1, sizeof(*flames->items)) < 0)
		return FLAME_NONE;
	flame = &flames->items[index];
	if (index == known) {
		*flame = like;
		flame->parent = parent;
		flame->child = flame->sibling = FLAME_NONE;
		if (parent != FLAME_NONE) {
			flame->depth = flames->items[parent].depth + 1;
			flame->sibling = flames->items[parent].child;
			flames->items[parent].child = index;
		}
		if (flame->depth > flames->depth)
			flames->depth = flame->depth;
		flames->count++;
	}
	flame->ns += path->time.ns;
	flame->states_ns[path->state] += path->time.ns;
	flame->count += path->count;
	flame->shared += path->shared;
	return index;
}

static size_t add_root(struct flames *flames, const struct profile_path *path,
		       enum profile_root root)
{
	size_t at = add(flames, FLAME_NONE, (struct flame){.kind = FLAME_ALL}, 0, path);

	if (at != FLAME_NONE && root == PROFILE_ROOT_STATE)
		at = add(flames, at, (struct flame){.kind = FLAME_STATE, .state = path->state},
			 path->state, path);
	else if (at != FLAME_NONE && root == PROFILE_ROOT_THREAD)
		at = add(flames, at, (struct flame){.kind = FLAME_THREAD, .thread = path->thread},
			 path->thread, path);
	return at;
}

/* The calls of `focus` alone, in place; how many are left. */
static size_t cut(const struct stacks *stacks, uint32_t *ids, size_t count,
		  const struct flame_choice *choice)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = choice->inverted ? i : count - 1 - i;

		if (profile_name_key(stacks_frame(stacks, ids[at]), choice->focus_by) !=
		    choice->focus)
			continue;
		if (!choice->inverted)
			return at + 1;
		for (size_t j = at; j < count; j++)
			ids[j - at] = ids[j];
		return count - at;
	}
	return 0;
}

static int add_path(struct flames *flames, const struct profile_result *result,
		    const struct flame_choice *choice, const struct profile_path *path)
{
	const struct stacks *stacks = profile_stacks(result->profile);
	uint32_t ids[PROFILE_FRAMES_MAX];
	size_t count = profile_frames(result, path, ids), at;

	if (choice->has_focus) {
		count = cut(stacks, ids, count, choice);
		if (!count)
			return 0;
	}
	at = add_root(flames, path, choice->root);
	if (at != FLAME_NONE && !count)
		at = add(flames, at, (struct flame){.kind = FLAME_NO_STACK}, 0, path);
	for (size_t i = 0; at != FLAME_NONE && i < count; i++) {
		uint32_t id = ids[choice->inverted ? i : count - 1 - i];
		uint64_t name = profile_name_key(stacks_frame(stacks, id), PROFILE_BY_FUNCTION);

		at = add(flames, at, (struct flame){.kind = FLAME_FUNCTION, .frame = id}, name,
			 path);
	}
	if (at == FLAME_NONE)
		return -ENOMEM;
	flames->items[at].self_ns += path->time.ns;
	return 0;
}

/* Two lists that are sorted, the largest first. */
static size_t merge(struct flame *items, size_t a, size_t b)
{
	size_t first = FLAME_NONE, *end = &first;

	while (a != FLAME_NONE && b != FLAME_NONE) {
		size_t *from = items[a].ns >= items[b].ns ? &a : &b;

		*end = *from;
		end = &items[*from].sibling;
		*from = *end;
	}
	*end = a != FLAME_NONE ? a : b;
	return first;
}

/* A list of siblings, from the bottom up: lists of 1, 2, 4, … that are sorted. */
static size_t sort(struct flame *items, size_t list)
{
	size_t sorted[64], all = FLAME_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		sorted[i] = FLAME_NONE;
	while (list != FLAME_NONE) {
		size_t one = list, i = 0;

		list = items[one].sibling;
		items[one].sibling = FLAME_NONE;
		for (; sorted[i] != FLAME_NONE; i++) {
			one = merge(items, sorted[i], one);
			sorted[i] = FLAME_NONE;
		}
		sorted[i] = one;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		all = merge(items, sorted[i], all);
	return all;
}

/* A stack of a wait and of the wait for a CPU behind it is one, where both are in it. */
static void count_once(struct flame *flame)
{
	double ns = flame->ns - flame->states_ns[STATE_RUNNABLE];

	if (ns > 0)
		flame->count -= flame->shared;
	flame->shared = 0;
}

static void finish(struct flame *items, struct flame *flame)
{
	count_once(flame);
	flame->child = sort(items, flame->child);
	for (int state = 0; state < STATES; state++)
		if (flame->states_ns[state] > flame->states_ns[flame->state])
			flame->state = (enum state)state;
}

int flames_make(struct flames *flames, const struct profile_result *result,
		const struct flame_choice *choice)
{
	identities_clear(&flames->keys);
	flames->count = 0;
	flames->depth = 0;
	for (size_t i = 0; i < result->path_count; i++) {
		const struct profile_path *path = &result->paths[i];

		if (!(choice->time.states & 1U << path->state) ||
		    (choice->time.thread && path->thread + 1 != choice->time.thread))
			continue;
		if (add_path(flames, result, choice, path) < 0) {
			flames->count = 0;
			identities_clear(&flames->keys);
			return -ENOMEM;
		}
	}
	for (size_t i = 0; i < flames->count; i++)
		finish(flames->items, &flames->items[i]);
	return 0;
}

void flames_release(struct flames *flames)
{
	identities_release(&flames->keys);
	free(flames->items);
	*flames = (struct flames){0};
}
