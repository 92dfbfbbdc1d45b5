// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/group.h"

/* As many rows of ended threads; above that the less active half is folded. */
#define EXITED_MAX 65536
/* Names come from the processes under study, and each may have a cgroup of its own. */
#define NAMES_MAX 4096

static int add_row(struct summary *summary, const struct row *row)
{
	size_t index = identities_add(&summary->identities, row->tid, row->start_ns);
	struct row *sum;

	if (index == IDENTITY_NONE)
		return -ENOMEM;
	if (array_reserve(&summary->whole.rows, &summary->row_room, index + 1, sizeof(*row)) < 0)
		return -ENOMEM;
	sum = &summary->whole.rows[index];
	if (index == summary->whole.row_count) {
		*sum = *row;
		summary->whole.row_count++;
		summary->exited += row->exited;
		return 0;
	}
	summary->exited += row->exited && !sum->exited;
	row_add(sum, row);
	/* the last of what is a state, not a count */
	sum->site = row->site;
	sum->in_state_ns = row->in_state_ns;
	sum->cpu = row->cpu;
	sum->policy = row->policy;
	sum->nice = row->nice;
	sum->exited = row->exited;
	sum->exit_code = row->exit_code;
	memcpy(sum->comm, row->comm, sizeof(sum->comm));
	memcpy(sum->process, row->process, sizeof(sum->process));
	return 0;
}

static int by_activity(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Below which half of the ended threads are. 0 or -ENOMEM. */
static int find_median(const struct summary *summary, uint64_t *ret_median)
{
	uint64_t *all = malloc(summary->exited * sizeof(*all));
	size_t count = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < summary->whole.row_count; i++)
		if (summary->whole.rows[i].exited)
			all[count++] = row_active_ns(&summary->whole.rows[i]);
	qsort(all, count, sizeof(*all), by_activity);
	*ret_median = all[count / 2];
	free(all);
	return 0;
}

static int fold_row(struct summary *summary, const struct row *row)
{
	if (array_reserve(&summary->folded, &summary->folded_room, summary->folded_count + 1,
			  sizeof(*row)) < 0)
		return -ENOMEM;
	summary->folded[summary->folded_count++] = *row;
	summary->folded_threads++;
	return 0;
}

static int most_active_first(const void *left, const void *right)
{
	uint64_t a = row_active_ns(left), b = row_active_ns(right);

	return (a < b) - (a > b);
}

/* Where there are too many, all but the most active lose their cgroups, then their names too. */
static void fold_names(struct summary *summary)
{
	struct row *rows = summary->folded;
	size_t count = rows_fold_ended(rows, summary->folded_count);

	for (int step = 0; count > NAMES_MAX && step < 2; step++) {
		qsort(rows, count, sizeof(*rows), most_active_first);
		for (size_t i = NAMES_MAX / 2; i < count; i++) {
			rows[i].cgroup_id = 0;
			if (step)
				memset(rows[i].process, 0, sizeof(rows[i].process));
		}
		count = rows_fold_ended(rows, count);
	}
	summary->folded_count = count;
}

/* Those that remain get new numbers. */
static int fold(struct summary *summary)
{
	struct interval *whole = &summary->whole;
	size_t kept = 0;
	uint64_t median;
	int result = find_median(summary, &median);

	identities_clear(&summary->identities);
	summary->exited = 0;
	for (size_t i = 0; result >= 0 && i < whole->row_count; i++) {
		const struct row *row = &whole->rows[i];

		if (row->exited && row_active_ns(row) <= median) {
			result = fold_row(summary, row);
			continue;
		}
		summary->exited += row->exited;
		if (identities_add(&summary->identities, row->tid, row->start_ns) == IDENTITY_NONE)
			result = -ENOMEM;
		whole->rows[kept++] = *row;
	}
	whole->row_count = kept;
	fold_names(summary);
	return result;
}

int summary_end(struct summary *summary)
{
	struct interval *whole = &summary->whole;

	if (array_reserve(&whole->rows, &summary->row_room,
			  whole->row_count + summary->folded_count, sizeof(*whole->rows)) < 0)
		return -ENOMEM;
	if (summary->folded_count)
		memcpy(whole->rows + whole->row_count, summary->folded,
		       summary->folded_count * sizeof(*whole->rows));
	whole->row_count += summary->folded_count;
	summary->folded_count = 0;
	blame_sum_end(&summary->blame);
	/* where the last session has none, what there is of others is of a part alone */
	if (summary->has_blame) {
		whole->blames = summary->blame.items;
		whole->blame_count = summary->blame.count;
	}
	if (whole->end_ns - whole->start_ns > summary->measured_ns)
		whole->missing_ns = whole->end_ns - whole->start_ns - summary->measured_ns;
	return 0;
}

static void note_worst(struct summary *summary, const struct interval *interval)
{
	struct worst_interval one = {.start_realtime_ns = interval->start_realtime_ns,
				     .duration_ns = interval->end_ns - interval->start_ns};
	bool has_blame = session_has_blame(interval->session);
	size_t place;

	for (size_t i = 0; !has_blame && i < interval->row_count; i++)
		for (int state = 0; state < STATES; state++)
			if (state_is_lost((enum state)state))
				one.lost_ns += interval->rows[i].states_ns[state];
	for (size_t i = 0; i < interval->blame_count; i++) {
		const struct blame *blame = &interval->blames[i];

		if (blame->goes_on || !state_is_lost(blame->state))
			continue;
		one.lost_ns += blame->total_ns;
		if (blame->total_ns > one.most.total_ns)
			one.most = *blame;
	}
	if (!one.lost_ns)
		return;
	for (place = summary->worst_count; place > 0; place--) {
		if (summary->worst[place - 1].lost_ns >= one.lost_ns)
			break;
		if (place < WORST_INTERVALS)
			summary->worst[place] = summary->worst[place - 1];
	}
	if (place < WORST_INTERVALS)
		summary->worst[place] = one;
	if (summary->worst_count < WORST_INTERVALS)
		summary->worst_count++;
}

int summary_add(struct summary *summary, const struct interval *interval)
{
	struct interval *whole = &summary->whole;
	struct deadlock found;

	if (!summary->intervals || interval->start_ns < whole->start_ns) {
		whole->start_ns = interval->start_ns;
		whole->start_realtime_ns = interval->start_realtime_ns;
	}
	if (interval->end_ns > whole->end_ns)
		whole->end_ns = interval->end_ns;
	losses_add(&whole->losses, &interval->losses);
	whole->machine_stolen_ns += interval->machine_stolen_ns;
	whole->machine_busy_ns += interval->machine_busy_ns;
	whole->self_runnable_ns += interval->self_runnable_ns;
	whole->overrun_ns += interval->overrun_ns;
	whole->self_cpu_ns += interval->self_cpu_ns;
	whole->snapshot_ns += interval->snapshot_ns;
	whole->session = interval->session;
	summary->has_blame = session_has_blame(interval->session);
	note_worst(summary, interval);
	course_add(&summary->course, interval);
	if (blame_sum_add(&summary->blame, interval) < 0 || deadlock_find(&found, interval) < 0)
		return -ENOMEM;
	if (found.count)
		summary->deadlock = found;
	summary->intervals++;
	summary->measured_ns += interval->end_ns - interval->start_ns;
	for (size_t i = 0; i < interval->row_count; i++) {
		int result = add_row(summary, &interval->rows[i]);

		if (result < 0)
			return result;
	}
	return summary->exited > EXITED_MAX ? fold(summary) : 0;
}

void summary_release(struct summary *summary)
{
	identities_release(&summary->identities);
	free(summary->whole.rows);
	free(summary->folded);
	blame_sum_release(&summary->blame);
	*summary = (struct summary){0};
}
