// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/reasons.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/array.h"
#include "bpf/config.h"
#include "bpf/wire.h"

#define REASONS_EACH 4 /* of a thread; most have one or two */
#define REASONS_MAX  (1U << 18)
/* In one system call; the kernel wants room for the largest of its hash chains. */
#define REASONS_AT_ONCE 4096
/* At each snapshot so many are asked for, in turns: one costs a system call. */
#define REASONS_ASKED 512

static struct reason_key keys[REASONS_AT_ONCE];
static struct reason_total totals[REASONS_AT_ONCE];

uint32_t reasons_room(bool is_machine)
{
	uint32_t room = is_machine ? MAX_REASONS * REASONS_EACH : MAX_REASONS;
	struct sysinfo machine;

	if (sysinfo(&machine) < 0)
		return room;
	while (room < REASONS_MAX && room < REASONS_EACH * (uint32_t)machine.procs)
		room *= 2;
	return room;
}

void reasons_note_end(struct reasons *reasons, uint32_t tid, uint64_t origin_ns)
{
	/* without memory it keeps its room */
	if (array_reserve(&reasons->ended, &reasons->ended_room, reasons->ended_count + 1,
			  sizeof(*reasons->ended)) >= 0)
		reasons->ended[reasons->ended_count++] =
			(struct reasons_ended){.origin_ns = origin_ns, .tid = tid};
}

static int by_identity(const void *left, const void *right)
{
	const struct reasons_ended *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->origin_ns > b->origin_ns) - (a->origin_ns < b->origin_ns);
}

/* Also if another process has its id now. */
static bool is_gone(const struct reason_key *key, const struct reason_total *total)
{
	return syscall(SYS_tgkill, total->pid, key->tid, 0) < 0 && errno == ESRCH;
}

/* One pass over the map. */
struct pass {
	uint64_t instant_ns;
	struct record_sink sink;
	size_t met, removed; /* of those that were asked for */
};

static bool is_turn_of(const struct reasons *reasons, size_t entry)
{
	return entry >= reasons->next && entry - reasons->next < REASONS_ASKED;
}

static int send_one(struct reasons *reasons, struct pass *pass, const struct reason_key *key,
		    const struct reason_total *total)
{
	bool asked = is_turn_of(reasons, pass->met++);
	struct reasons_ended key_of_ended = {.origin_ns = total->origin_ns, .tid = key->tid};
	struct reasons_ended *ended = NULL;
	struct wire_reason record = {
		.header = {.size = sizeof(record),
			   .kind = WIRE_REASON,
			   .time_ns = pass->instant_ns},
		.origin_ns = total->origin_ns,
		.total_ns = total->ns,
		.tid = key->tid,
		.pid = total->pid,
		.site = key->site,
		.count = total->count,
	};

	if (reasons->ended_count)
		ended = bsearch(&key_of_ended, reasons->ended, reasons->ended_count, sizeof(*ended),
				by_identity);
	if (total->sent_ns == pass->instant_ns) {
		if (ended)
			ended->later = true;
		return 0;
	}
	if (ended || (asked && is_gone(key, total))) {
		bpf_map_delete_elem(reasons->map, key);
		pass->removed += asked;
	}
	return sink_send(pass->sink, &record.header);
}

/* What has been sent at this snapshot is sent, and makes room, at the next. */
static void keep_later(struct reasons *reasons)
{
	size_t kept = 0;

	for (size_t i = 0; i < reasons->ended_count; i++)
		if (reasons->ended[i].later)
			reasons->ended[kept++] = (struct reasons_ended){
				.origin_ns = reasons->ended[i].origin_ns,
				.tid = reasons->ended[i].tid,
			};
	reasons->ended_count = kept;
}

static void turn(struct reasons *reasons, const struct pass *pass)
{
	reasons->next += REASONS_ASKED - pass->removed;
	if (reasons->next >= pass->met)
		reasons->next = 0;
}

static int report_refused(struct reasons *reasons, uint64_t refused, struct record_sink sink)
{
	if (reasons->refusal_reported || !refused)
		return 0;
	reasons->refusal_reported = true;
	return sink_missing(sink, "reasons",
			    "their table is full: those that came later are not kept");
}

int reasons_send(struct reasons *reasons, uint64_t kept, uint64_t refused, uint64_t instant_ns,
		 struct record_sink sink)
{
	struct pass pass = {.instant_ns = instant_ns, .sink = sink};
	bool more = kept, first = true;
	uint32_t position = 0;
	int result = 0;

	if (reasons->ended_count)
		qsort(reasons->ended, reasons->ended_count, sizeof(*reasons->ended), by_identity);
	while (more && result >= 0) {
		uint32_t count = REASONS_AT_ONCE;

		/* the last ones come with -ENOENT */
		more = !bpf_map_lookup_batch(reasons->map, first ? NULL : &position, &position,
					     keys, totals, &count, NULL);
		if (!more && errno != ENOENT)
			return -errno;
		first = false;
		for (uint32_t i = 0; result >= 0 && i < count; i++)
			result = send_one(reasons, &pass, &keys[i], &totals[i]);
	}
	turn(reasons, &pass);
	keep_later(reasons);
	return result < 0 ? result : report_refused(reasons, refused, sink);
}

void reasons_clear(struct reasons *reasons)
{
	bool more = true, first = true;
	uint32_t position = 0;

	/* one by one each would be looked for from the table's beginning */
	while (more) {
		uint32_t count = REASONS_AT_ONCE;

		more = !bpf_map_lookup_and_delete_batch(reasons->map, first ? NULL : &position,
							&position, keys, totals, &count, NULL);
		first = false;
	}
}

void reasons_release(struct reasons *reasons)
{
	free(reasons->ended);
	*reasons = (struct reasons){0};
}
