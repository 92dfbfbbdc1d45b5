// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct identity row_identity(const struct row *row, enum grouping by)
{
	switch (by) {
	case BY_PROCESS:
		return (struct identity){row->start_ns, row->pid};
	case BY_CGROUP:
		return (struct identity){row->cgroup_id, 0};
	default:
		return (struct identity){row->start_ns, row->tid};
	}
}

static void set_shares(uint8_t shares[STATES], const struct row *row)
{
	for (int i = 0; i < STATES; i++) {
		double share =
			row->observed_ns ? (double)row->states_ns[i] / (double)row->observed_ns : 0;

		shares[i] = share >= 1 ? 255 : (uint8_t)(share * 255 + 0.5);
	}
}

void history_begin(struct history_item *item, const struct row *row)
{
	*item = (struct history_item){.sum = *row, .intervals = 1};
	set_shares(item->shares[0], row);
}

static int add_row(struct history *history, const struct row *row, enum grouping by)
{
	struct identity who = row_identity(row, by);
	size_t before = history->identities.count, index;
	struct history_item *item;

	/* what began and ended in this interval has no history: the row is all */
	if (row->exited &&
	    identities_find(&history->identities, who.tid, who.start_ns) == IDENTITY_NONE)
		return 0;
	index = identities_add(&history->identities, who.tid, who.start_ns);
	if (index == IDENTITY_NONE ||
	    array_reserve(&history->items, &history->room, index + 1, sizeof(*item)) < 0)
		return -ENOMEM;
	item = &history->items[index];
	if (index == before) {
		history_begin(item, row);
	} else {
		row_add(&item->sum, row);
		item->sum.exited = row->exited;
		set_shares(item->shares[item->intervals++ % HISTORY_INTERVALS], row);
	}
	item->last = history->number;
	history->ended += row->exited;
	return 0;
}

/* A row that is not in the last interval, and will not be in another, is not asked for again. */
static bool is_over(const struct history *history, const struct history_item *item)
{
	if (item->sum.exited)
		return item->last < history->number;
	return item->last + HISTORY_INTERVALS < history->number;
}

static int forget(struct history *history)
{
	struct history kept = {.number = history->number};

	for (size_t i = 0; i < history->identities.count; i++) {
		const struct identity *who = &history->identities.items[i];
		size_t index;

		if (is_over(history, &history->items[i]))
			continue;
		index = identities_add(&kept.identities, who->tid, who->start_ns);
		if (index == IDENTITY_NONE ||
		    array_reserve(&kept.items, &kept.room, index + 1, sizeof(*kept.items)) < 0) {
			history_release(&kept);
			return -ENOMEM;
		}
		kept.items[index] = history->items[i];
	}
	history_release(history);
	*history = kept;
	return 0;
}

int history_add(struct history *history, const struct interval *interval, enum grouping by)
{
	history->number++;
	for (size_t i = 0; i < interval->row_count; i++) {
		int result = add_row(history, &interval->rows[i], by);

		if (result < 0)
			return result;
	}
	if (history->identities.count <= 2 * interval->row_count)
		return 0;
	if (history->number % HISTORY_INTERVALS == 0 || history->ended > interval->row_count)
		return forget(history);
	return 0;
}

const struct history_item *history_find(const struct history *history, const struct row *row,
					enum grouping by)
{
	struct identity who = row_identity(row, by);
	size_t index = identities_find(&history->identities, who.tid, who.start_ns);

	return index == IDENTITY_NONE ? NULL : &history->items[index];
}

void history_clear(struct history *history)
{
	identities_clear(&history->identities);
}

void history_release(struct history *history)
{
	identities_release(&history->identities);
	free(history->items);
	*history = (struct history){0};
}
