// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/reader_processes.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"

/* The map of the process is read again for an address it does not have, or as other code is there,
 * for 1/20 of the time. */
#define ATTACH_AGAIN_SHARE 20
/* But so many times in any case: a program that begins maps its libraries one after the other. */
#define ATTACH_FREELY 16
/* And for a while one after the other. */
#define ATTACH_BURST_NS (50 * NS_PER_MS)

static void look_for_python(struct reader_processes *processes, struct reader_process *process,
			    uint32_t pid)
{
	size_t *place = &processes->pythons[processes->python_count % PYTHONS_MAX];

	const char *unread;

	process->python =
		python_find(processes->symbolizer, pid, &processes->python_frames, &unread);
	if (unread && !processes->unread_python)
		processes->unread_python = unread;
	process->is_python_dropped = process->is_layout_sent = false;
	if (!process->python)
		return;
	if (processes->python_count++ >= PYTHONS_MAX) {
		struct reader_process *oldest = &processes->items[*place];

		oldest->is_python_dropped |= oldest->python && oldest != process;
		if (oldest != process) {
			python_free(oldest->python);
			oldest->python = NULL;
		}
	}
	*place = (size_t)(process - processes->items);
}

/* From when to when the map was, or is, what it was at that time. */
static void look_at_map(const struct reader_processes *processes, struct reader_process *process,
			uint32_t pid, uint64_t time_ns)
{
	struct opener_unchanged unchanged = {0};

	if (processes->maps_known_ns != UINT64_MAX)
		unchanged = opener_unchanged(pid, time_ns);
	process->map_ns = time_ns;
	process->looked = processes->round;
	process->since_ns = unchanged.since_ns;
	process->until_ns = unchanged.until_ns ? unchanged.until_ns : UINT64_MAX;
	process->known_ns = unchanged.known_ns;
	process->changes_fast = unchanged.changes_fast;
	process->lost_ns = unchanged.lost_ns;
}

/* The same of the map that there is: of what has been forgotten since then, that is all. */
static void look_again(const struct reader_processes *processes, struct reader_process *process,
		       uint32_t pid)
{
	uint64_t since_ns = process->since_ns, known_ns = process->known_ns;
	uint64_t lost_ns = process->lost_ns;

	look_at_map(processes, process, pid, process->map_ns);
	if (process->lost_ns > lost_ns && process->least_ns < since_ns)
		process->least_ns = since_ns;
	if (process->lost_ns > lost_ns && process->most_ns > known_ns)
		process->most_ns = known_ns;
	if (process->since_ns < process->least_ns)
		process->since_ns = process->least_ns;
	if (process->until_ns > process->most_ns)
		process->until_ns = process->most_ns;
	/* it may have been read after it had changed */
	if (process->until_ns <= process->read_ns)
		process->until_ns = 0;
}

static bool has_map_of(const struct reader_process *process, uint64_t time_ns)
{
	return process->since_ns <= time_ns && time_ns < process->until_ns;
}

/* Reads the map; what there was is kept if there is none. As symbolizer_attach(). */
static int read_map(struct reader_processes *processes, struct reader_process *process,
		    uint32_t pid, uint64_t time_ns)
{
	const struct reader_process before = *process;
	uint64_t lost_ns;
	int result = -ENOENT;

	look_at_map(processes, process, pid, time_ns);
	lost_ns = process->lost_ns;
	if (before.is_exact && process->changes_fast)
		result = symbolizer_move(processes->symbolizer, pid, before.map_ns, time_ns);
	if (result == -ENOENT)
		result = symbolizer_attach(processes->symbolizer, pid, time_ns);
	if (result == -ENOMEM)
		reader_give_up();
	if (result < 0) {
		*process = before;
		/* the process may be there all the same, and only what was then is forgotten */
		return lost_ns ? -EAGAIN : result;
	}
	process->least_ns = 0;
	process->most_ns = UINT64_MAX;
	process->is_exact = process->changes_fast;
	/* what is now was read where it was not known that this is another map */
	process->read_ns =
		process->until_ns == UINT64_MAX && !process->is_exact ? clock_monotonic_ns() : 0;
	return 0;
}

/* As it was at a time: since then it may have ended, or have begun another program. */
static void attach(struct reader_processes *processes, struct reader_process *process, uint32_t pid,
		   uint64_t time_ns)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), before_ns = process->attached_ns;
	int result = read_map(processes, process, pid, time_ns);

	process->ended = result == -ESRCH;
	process->is_known |= result >= 0;
	if (result >= 0 && !process->python)
		look_for_python(processes, process, pid);
	process->attached++;
	process->attached_ns = clock_monotonic_ns();
	/* not how long: that would be for ever where others want the CPU */
	process->owed_ns -= process->owed_ns < process->attached_ns - before_ns
				    ? process->owed_ns
				    : process->attached_ns - before_ns;
	process->owed_ns += ATTACH_AGAIN_SHARE * (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns);
}

bool reader_process_attach_again(struct reader_processes *processes, struct reader_process *process,
				 uint32_t pid, uint64_t time_ns)
{
	if (process->ended ||
	    (process->attached >= ATTACH_FREELY &&
	     process->owed_ns > ATTACH_AGAIN_SHARE * ATTACH_BURST_NS + clock_monotonic_ns() -
					process->attached_ns))
		return false;
	attach(processes, process, pid, time_ns);
	return !process->ended;
}

/* Asked for a stack of that time at most so often, and of all processes at once. */
#define CHANGES_EACH_NS (5 * NS_PER_MS)

static void look_for_changes(struct reader_processes *processes, uint64_t time_ns)
{
	uint8_t bits[OPENER_GROUPS / 8];
	uint64_t now_ns, until_ns;

	if (time_ns <= processes->maps_known_ns)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns - processes->maps_asked_ns < CHANGES_EACH_NS)
		return;
	processes->maps_asked_ns = now_ns;
	until_ns = opener_changed_groups(processes->maps_known_ns, bits);
	if (!until_ns) {
		processes->maps_known_ns = UINT64_MAX; /* no one follows processes */
		return;
	}
	processes->maps_known_ns = until_ns;
	processes->round++;
	for (size_t i = 0; i < OPENER_GROUPS; i++)
		if (bits[i / 8] & 1U << i % 8)
			processes->changed[i] = processes->round;
}

/*
 * A library that was unmapped may have left its addresses to another one: the map of the process is
 * the one of the stack's time. Stacks do not come in the order of their times.
 */
static void follow_changes(struct reader_processes *processes, struct reader_process *process,
			   uint32_t pid, uint64_t time_ns)
{
	if (!process->is_known && process->ended)
		return;
	look_for_changes(processes, time_ns);
	if (process->is_known && (processes->changed[pid % OPENER_GROUPS] > process->looked ||
				  (process->changes_fast && time_ns > process->known_ns)))
		look_again(processes, process, pid);
	if (!process->is_known || !has_map_of(process, time_ns))
		(void)reader_process_attach_again(processes, process, pid, time_ns);
	process->has_map = process->is_known && has_map_of(process, time_ns);
	if ((!process->has_map || time_ns < process->lost_ns) && !process->ended)
		processes->is_unfollowed = true;
}

struct reader_process *reader_process_select(struct reader_processes *processes,
					     const struct span_stack *raw)
{
	size_t known = processes->pids.count, index = identities_add(&processes->pids, raw->pid, 0);
	struct reader_process *process;
	bool is_other;

	if (index == IDENTITY_NONE ||
	    array_reserve(&processes->items, &processes->room, index + 1, sizeof(*process)) < 0)
		reader_give_up();
	process = &processes->items[index];
	if (index == known)
		*process = (struct reader_process){.start_ns = raw->process_start_ns,
						   .exec_id = raw->exec_id};
	is_other = process->start_ns &&
		   (process->start_ns != raw->process_start_ns || process->exec_id != raw->exec_id);
	if (is_other && symbolizer_forget(processes->symbolizer, raw->pid) < 0)
		reader_give_up();
	if (is_other) {
		process->is_known = process->is_layout_sent = process->is_exact = false;
		process->attached = 0;
		process->owed_ns = 0;
		python_free(process->python);
		process->python = NULL;
	}
	/* also where it was preloaded: it may have another program since then */
	if (index == known || is_other || (!process->start_ns && raw->process_start_ns) ||
	    !symbolizer_select(processes->symbolizer, raw->pid))
		attach(processes, process, raw->pid, raw->header.time_ns);
	else if (process->is_python_dropped)
		look_for_python(processes, process, raw->pid);
	processes->is_unfollowed = false;
	follow_changes(processes, process, raw->pid, raw->header.time_ns);
	process->start_ns = raw->process_start_ns;
	process->exec_id = raw->exec_id;
	return process;
}
