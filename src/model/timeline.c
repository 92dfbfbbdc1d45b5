// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct mark {
	uint64_t start_ns, end_ns;
	uint32_t tid;
	enum stall_cause cause;
};

/* Of a worker in an interval. */
struct spell {
	uint64_t end_ns;
	uint32_t length_us;
	uint8_t on_cpu; /* share, in 1/255 */
};

struct timeline {
	struct mark *marks; /* a ring */
	size_t mark_room;
	uint64_t mark_count; /* ever */
	struct identities workers;
	struct lane {
		struct spell *spells; /* a ring */
		uint64_t count;	      /* ever */
	} * lanes;		      /* by number in workers */
	size_t lane_room;
	size_t spell_room;
	uint64_t start_ns, end_ns;
};

struct timeline *timeline_new(size_t stalls, size_t intervals)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->mark_room = stalls;
	timeline->spell_room = intervals;
	timeline->marks = calloc(stalls, sizeof(*timeline->marks));
	if (!timeline->marks) {
		free(timeline);
		return NULL;
	}
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->workers.count; i++)
		free(timeline->lanes[i].spells);
	free(timeline->lanes);
	identities_release(&timeline->workers);
	free(timeline->marks);
	free(timeline);
}

void timeline_add_stall(struct timeline *timeline, const struct stall *stall)
{
	const struct wire_stall *record = stall->record;

	timeline->marks[timeline->mark_count++ % timeline->mark_room] = (struct mark){
		.start_ns = record->start_ns,
		.end_ns = record->start_ns + record->duration_ns,
		.tid = record->tid,
		.cause = stall->parts[0].cause,
	};
}

/* NULL without memory. */
static struct lane *lane_of(struct timeline *timeline, const struct wire_worker *worker)
{
	size_t known = timeline->workers.count, index;

	if (array_reserve(&timeline->lanes, &timeline->lane_room, known + 1,
			  sizeof(*timeline->lanes)) < 0)
		return NULL;
	index = identities_add(&timeline->workers, worker->tid, worker->start_ns);
	if (index == IDENTITY_NONE)
		return NULL;
	if (index == known)
		timeline->lanes[index] = (struct lane){
			calloc(timeline->spell_room, sizeof(*timeline->lanes[index].spells)), 0};
	return timeline->lanes[index].spells ? &timeline->lanes[index] : NULL;
}

static const struct row *row_of(const struct interval *interval, const struct wire_worker *worker)
{
	for (size_t i = 0; i < interval->row_count; i++)
		if (interval->rows[i].tid == worker->tid &&
		    interval->rows[i].start_ns == worker->start_ns)
			return &interval->rows[i];
	return NULL;
}

int timeline_add_interval(struct timeline *timeline, const struct interval *interval,
			  const struct stall_worker *workers, size_t count)
{
	uint64_t length_ns = interval->end_ns - interval->start_ns;

	if (!length_ns)
		return 0;
	timeline->end_ns = interval->end_ns;
	if (!timeline->start_ns)
		timeline->start_ns = interval->start_ns;
	for (size_t i = 0; i < count; i++) {
		const struct row *row = row_of(interval, &workers[i].last);
		struct lane *lane;
		uint64_t on_cpu_ns;

		if (!row || workers[i].last.kind == WIRE_SPAN_POOL)
			continue;
		lane = lane_of(timeline, &workers[i].last);
		if (!lane)
			return -ENOMEM;
		on_cpu_ns = row->states_ns[STATE_USER] + row->states_ns[STATE_KERNEL];
		if (on_cpu_ns > length_ns)
			on_cpu_ns = length_ns;
		lane->spells[lane->count++ % timeline->spell_room] = (struct spell){
			.end_ns = interval->end_ns,
			.length_us = (uint32_t)(length_ns / 1000),
			.on_cpu = (uint8_t)(on_cpu_ns * 255 / length_ns),
		};
	}
	return 0;
}

uint64_t timeline_end_ns(const struct timeline *timeline)
{
	return timeline->end_ns;
}

uint64_t timeline_start_ns(const struct timeline *timeline)
{
	uint64_t oldest_ns = timeline->start_ns;

	for (size_t i = 0; i < timeline->workers.count; i++) {
		const struct lane *lane = &timeline->lanes[i];
		const struct spell *spell;

		if (lane->count <= timeline->spell_room)
			continue;
		spell = &lane->spells[lane->count % timeline->spell_room];
		if (spell->end_ns - spell->length_us * 1000ULL > oldest_ns)
			oldest_ns = spell->end_ns - spell->length_us * 1000ULL;
	}
	return oldest_ns;
}

/* How much of [start, end) lies in [from, to). */
static uint64_t overlap(uint64_t start_ns, uint64_t end_ns, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t first = start_ns > from_ns ? start_ns : from_ns;
	uint64_t last = end_ns < to_ns ? end_ns : to_ns;

	return last > first ? last - first : 0;
}

/* The cells that [start, end) touches: [*ret_first, *ret_last). */
static void touched(uint64_t start_ns, uint64_t end_ns, uint64_t from_ns, uint64_t cell_ns,
		    size_t count, size_t *ret_first, size_t *ret_last)
{
	uint64_t first = start_ns > from_ns ? (start_ns - from_ns) / cell_ns : 0;
	uint64_t last = end_ns > from_ns ? (end_ns - from_ns + cell_ns - 1) / cell_ns : 0;

	*ret_first = first < count ? (size_t)first : count;
	*ret_last = last < count ? (size_t)last : count;
}

static void fill_spells(const struct timeline *timeline, const struct lane *lane, uint64_t from_ns,
			uint64_t cell_ns, struct timeline_cell *cells, size_t count)
{
	uint64_t kept =
		lane->count < timeline->spell_room ? lane->count : (uint64_t)timeline->spell_room;

	for (uint64_t i = lane->count - kept; i < lane->count; i++) {
		const struct spell *spell = &lane->spells[i % timeline->spell_room];
		uint64_t start_ns = spell->end_ns - spell->length_us * 1000ULL;
		size_t cell, last;

		touched(start_ns, spell->end_ns, from_ns, cell_ns, count, &cell, &last);
		for (; cell < last; cell++) {
			uint64_t at_ns = from_ns + cell * cell_ns;
			uint64_t part_ns = overlap(start_ns, spell->end_ns, at_ns, at_ns + cell_ns);

			cells[cell].on_cpu +=
				spell->on_cpu / 255.0 * (double)part_ns / (double)cell_ns;
			if (part_ns && cells[cell].kind == TIMELINE_UNKNOWN)
				cells[cell].kind = TIMELINE_IDLE;
			if (part_ns && spell->on_cpu)
				cells[cell].kind = TIMELINE_RUNNING;
		}
	}
}

static void fill_marks(const struct timeline *timeline, uint32_t tid, uint64_t from_ns,
		       uint64_t cell_ns, struct timeline_cell *cells, size_t count)
{
	uint64_t kept = timeline->mark_count < timeline->mark_room ? timeline->mark_count
								   : timeline->mark_room;
	uint64_t(*causes_ns)[STALL_CAUSES_COUNT] = calloc(count ? count : 1, sizeof(*causes_ns));

	for (uint64_t i = timeline->mark_count - kept; causes_ns && i < timeline->mark_count; i++) {
		const struct mark *mark = &timeline->marks[i % timeline->mark_room];
		size_t cell, last;

		if (mark->tid != tid)
			continue;
		touched(mark->start_ns, mark->end_ns, from_ns, cell_ns, count, &cell, &last);
		for (; cell < last; cell++) {
			uint64_t at_ns = from_ns + cell * cell_ns;
			uint64_t *cause_ns = causes_ns[cell];

			cause_ns[mark->cause] +=
				overlap(mark->start_ns, mark->end_ns, at_ns, at_ns + cell_ns);
			if (cells[cell].kind != TIMELINE_STALLED ||
			    cause_ns[mark->cause] > cause_ns[cells[cell].cause])
				cells[cell].cause = mark->cause;
			cells[cell].kind = TIMELINE_STALLED;
		}
	}
	free(causes_ns);
}

void timeline_cells(const struct timeline *timeline, const struct stall_worker *worker,
		    uint64_t from_ns, uint64_t cell_ns, struct timeline_cell *cells, size_t count)
{
	size_t index = identities_find(&timeline->workers, worker->last.tid, worker->last.start_ns);

	memset(cells, 0, count * sizeof(*cells));
	if (index == IDENTITY_NONE || !cell_ns)
		return;
	fill_spells(timeline, &timeline->lanes[index], from_ns, cell_ns, cells, count);
	fill_marks(timeline, worker->last.tid, from_ns, cell_ns, cells, count);
}
