// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* qsort_r */
#include "model/blame_losses.h"
#include "model/blame_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct blame_party *side_of(enum blame_side side, const struct blame *blame)
{
	return side == BLAME_CAUSED ? &blame->culprit : &blame->victim;
}

const struct blame_party *blame_loss_party(const struct blame_loss *loss, enum blame_side side)
{
	return side_of(side, loss->shares[0]);
}

/* The same party and state beside each other. */
static int compare_sides(enum blame_side side, const struct blame *a, const struct blame *b)
{
	int order = blame_compare_parties(side_of(side, a), side_of(side, b));

	return order ? order : (a->state > b->state) - (a->state < b->state);
}

static int by_side(const void *left, const void *right, void *data)
{
	const struct blame *a = *(const struct blame *const *)left;
	const struct blame *b = *(const struct blame *const *)right;
	int order = compare_sides(*(const enum blame_side *)data, a, b);

	if (!order && a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return order ? order : (a > b) - (a < b);
}

static bool rests(const struct blame_loss *loss)
{
	return loss->ended_ns < loss->total_ns / 2;
}

static int by_total(const void *left, const void *right)
{
	const struct blame_loss *a = left, *b = right;
	bool is_lost = state_is_lost(a->shares[0]->state);

	if (is_lost != state_is_lost(b->shares[0]->state))
		return is_lost ? -1 : 1;
	/* what goes on, most of it, is how a program rests, as a rule */
	if (rests(a) != rests(b))
		return rests(a) ? 1 : -1;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->shares > b->shares) - (a->shares < b->shares);
}

/* Before they are sorted by what was lost, those of a party are beside each other. */
static void mark_first(const struct blame_losses *losses, enum blame_side side)
{
	size_t first = 0;

	for (size_t i = 0; i < losses->count; i++) {
		struct blame_loss *loss = &losses->items[i];
		bool is_same = i && !blame_compare_parties(blame_loss_party(loss - 1, side),
							   blame_loss_party(loss, side));

		if (is_same && by_total(&losses->items[first], loss) < 0)
			continue;
		if (is_same)
			losses->items[first].is_first = false;
		loss->is_first = true;
		first = i;
	}
}

size_t blame_losses_parties(const struct blame_losses *losses, size_t count)
{
	size_t parties = 0;

	for (size_t i = 0; i < count; i++)
		parties += losses->items[i].is_first;
	return parties;
}

static bool is_shown(const struct blame *blame, enum blame_side side, bool all_states)
{
	if (!blame->total_ns || (!all_states && !state_is_lost(blame->state)))
		return false;
	return side != BLAME_CAUSED || blame->kind == WIRE_CULPRIT_THREAD;
}

int blame_losses_find(struct blame_losses *ret_losses, const struct interval *interval,
		      enum blame_side side, bool all_states)
{
	struct blame_losses losses = {
		.items = reallocarray(NULL, interval->blame_count + 1, sizeof(*losses.items)),
		.shares = reallocarray(NULL, interval->blame_count + 1, sizeof(*losses.shares)),
	};
	size_t count = 0;

	*ret_losses = losses;
	if (!losses.items || !losses.shares) {
		blame_losses_release(ret_losses);
		return -ENOMEM;
	}
	for (size_t i = 0; i < interval->blame_count; i++)
		if (is_shown(&interval->blames[i], side, all_states))
			losses.shares[count++] = &interval->blames[i];
	if (count)
		qsort_r(losses.shares, count, sizeof(*losses.shares), by_side, &side);
	for (size_t i = 0; i < count; i++) {
		const struct blame *blame = losses.shares[i];

		if (!i || compare_sides(side, losses.shares[i - 1], blame))
			losses.items[losses.count++] =
				(struct blame_loss){.shares = &losses.shares[i]};
		struct blame_loss *loss = &losses.items[losses.count - 1];

		loss->count++;
		loss->total_ns += blame->total_ns;
		loss->ended_ns += blame->goes_on ? 0 : blame->total_ns;
	}
	mark_first(&losses, side);
	if (losses.count)
		qsort(losses.items, losses.count, sizeof(*losses.items), by_total);
	*ret_losses = losses;
	return 0;
}

void blame_losses_release(struct blame_losses *losses)
{
	free(losses->items);
	free(losses->shares);
	*losses = (struct blame_losses){0};
}

/* Names of one loss that are kept; a share beyond them is small. */
#define NAMES_MAX 64
/* One part of so many of a loss is worth a line, where others are. */
#define LEAST_LINE 100

/* Of the side that lines speak of: who cost the victim, or whom the culprit cost. */
static const struct blame_party *partner_of(enum blame_side side, const struct blame *blame)
{
	return side == BLAME_CAUSED ? &blame->victim : &blame->culprit;
}

static bool is_one_line(enum blame_side side, const struct blame *a, const struct blame *b)
{
	const struct blame_party *left = partner_of(side, a), *right = partner_of(side, b);

	return a->kind == b->kind && a->goes_on == b->goes_on && a->holder.tid == b->holder.tid &&
	       blame_is_own(a) == blame_is_own(b) && a->has_meanwhile == b->has_meanwhile &&
	       !memcmp(&a->meanwhile, &b->meanwhile, sizeof(a->meanwhile)) &&
	       !strcmp(left->comm, right->comm) && !strcmp(left->process, right->process) &&
	       ((*left->comm && a->kind != WIRE_CULPRIT_THROTTLE) ||
		left->cgroup_id == right->cgroup_id);
}

static int by_line(const void *left, const void *right)
{
	const struct blame_line *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->share > b->share) - (a->share < b->share);
}

bool blame_is_of_several(const struct blame *blame)
{
	bool by_thread = blame->victim.tid;

	if (!blame->victim.pid && !blame->victim.group)
		return false;
	return blame->kind == WIRE_CULPRIT_THREAD && !blame->culprit.tid && *blame->culprit.comm &&
	       (by_thread || !blame->culprit.pid);
}

size_t blame_loss_lines(const struct blame_loss *loss, enum blame_side side,
			struct blame_line *lines, size_t room, uint64_t *ret_rest_ns)
{
	struct blame_line named[NAMES_MAX];
	bool is_short = loss->count <= room;
	size_t count = 0, shown;

	*ret_rest_ns = 0;
	for (size_t i = 0; i < loss->count; i++) {
		const struct blame *share = loss->shares[i];
		size_t at = is_short ? count : 0;

		if (share->kind == WIRE_CULPRIT_OTHERS) {
			*ret_rest_ns += share->total_ns;
			continue;
		}
		while (at < count && !is_one_line(side, named[at].share, share))
			at++;
		if (at == NAMES_MAX) {
			*ret_rest_ns += share->total_ns;
			continue;
		}
		if (at == count)
			named[count++] = (struct blame_line){.share = share};
		named[at].parties++;
		named[at].is_least |= side != BLAME_CAUSED && blame_is_of_several(share);
		named[at].total_ns += share->total_ns;
	}
	if (count)
		qsort(named, count, sizeof(*named), by_line);
	for (shown = 0; shown < count && shown < room; shown++)
		if (shown && named[shown].total_ns < loss->total_ns / LEAST_LINE)
			break;
	memcpy(lines, named, shown * sizeof(*lines));
	for (size_t i = shown; i < count; i++)
		*ret_rest_ns += named[i].total_ns;
	return shown;
}
