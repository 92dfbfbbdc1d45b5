// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/group.h"

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
		return 0;
	}
	row_add(sum, row);
	/* the last of what is a state, not a count */
	sum->where = row->where;
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

int summary_add(struct summary *summary, const struct interval *interval)
{
	struct interval *whole = &summary->whole;

	if (!summary->intervals || interval->start_ns < whole->start_ns) {
		whole->start_ns = interval->start_ns;
		whole->start_realtime_ns = interval->start_realtime_ns;
	}
	if (interval->end_ns > whole->end_ns)
		whole->end_ns = interval->end_ns;
	whole->losses.threads += interval->losses.threads;
	whole->losses.exits += interval->losses.exits;
	whole->losses.transitions += interval->losses.transitions;
	whole->losses.torn += interval->losses.torn;
	whole->self_cpu_ns += interval->self_cpu_ns;
	whole->snapshot_ns += interval->snapshot_ns;
	whole->about = interval->about;
	summary->intervals++;
	summary->measured_ns += interval->end_ns - interval->start_ns;
	for (size_t i = 0; i < interval->row_count; i++) {
		int result = add_row(summary, &interval->rows[i]);

		if (result < 0)
			return result;
	}
	return 0;
}

void summary_release(struct summary *summary)
{
	identities_release(&summary->identities);
	free(summary->whole.rows);
	*summary = (struct summary){0};
}
