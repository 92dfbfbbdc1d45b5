// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads by the kernel's own counters alone. They move when a thread is next switched or ticked: a
 * thread that has waited for a CPU for a second shows that only when it gets it.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/proc_stat.h"
#include "capture/proc_threads.h"
#include "capture/source_ops.h"
#include "capture/taskstats.h"

struct counters {
	struct taskstats_link *taskstats;
	struct targets *targets;
	struct proc_threads threads;
	uint32_t *tids;
	size_t tid_room;
	/* records of this snapshot and the one before, by tid */
	struct wire_thread *records, *before;
	size_t count, before_count, room, before_room;
	struct proc_process process;
	struct record_sink sink; /* during a snapshot */
	uint64_t instant_ns;
};

static void counters_close(void *data)
{
	struct counters *counters = data;

	if (!counters)
		return;
	taskstats_close(counters->taskstats);
	proc_threads_release(&counters->threads);
	free(counters->tids);
	free(counters->records);
	free(counters->before);
	free(counters);
}

static int counters_open(void **ret_data, const struct source_options *options,
			 struct targets *targets, struct wire_session *session,
			 struct record_sink sink, struct error *error)
{
	struct counters *counters = calloc(1, sizeof(*counters));
	struct error why = {""};
	int result;

	(void)options;
	if (!counters)
		return error_set(error, ENOMEM, "out of memory");
	counters->targets = targets;
	result = taskstats_open(&counters->taskstats, error);
	if (result >= 0 && taskstats_listen(counters->taskstats, &why) < 0)
		result = sink_missing(sink, "exits", why.text);
	/* who they belonged to cannot be asked any more */
	if (result >= 0 && !targets_everything(targets) &&
	    (targets->children || targets->cgroup_id))
		result = sink_missing(sink, "short-lived",
				      "processes that live between two snapshots only are not "
				      "seen: measure the whole machine, or with bpf");
	session->source = WIRE_SOURCE_TASKSTATS;
	session->flags |= WIRE_SESSION_DELAYS;
	session->states = 1U << WIRE_ON_CPU | 1U << WIRE_RUNNABLE;
	session->metrics = WIRE_METRIC_SWITCHES | WIRE_METRIC_CPU;
	if (taskstats_delays_counted())
		session->states |= 1U << WIRE_DISK | 1U << WIRE_SWAP;
	if (result < 0) {
		counters_close(counters);
		return result;
	}
	*ret_data = counters;
	return 0;
}

static int by_tid(const void *left, const void *right)
{
	const struct wire_thread *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static struct wire_thread *find(struct wire_thread *records, size_t count, uint32_t tid)
{
	struct wire_thread key = {.tid = tid};

	return count ? bsearch(&key, records, count, sizeof(key), by_tid) : NULL;
}

static void fill_totals(struct wire_thread *record, const struct taskstats_reading *reading)
{
	const struct wire_delay *delays = reading->delays.delays;
	uint32_t measured = reading->delays.measured;

	record->totals.ns[WIRE_ON_CPU] = reading->delays.run_virtual_ns;
	record->totals.ns[WIRE_RUNNABLE] = delays[WIRE_DELAY_CPU].total_ns;
	record->totals.ns[WIRE_DISK] = delays[WIRE_DELAY_BLOCK_IO].total_ns;
	record->totals.ns[WIRE_SWAP] = delays[WIRE_DELAY_SWAP_IN].total_ns +
				       delays[WIRE_DELAY_RECLAIM].total_ns +
				       delays[WIRE_DELAY_COMPACTION].total_ns;
	/* else a counter has jumped: taskstats.c */
	if (taskstats_delays_counted() && ~measured & 1U << WIRE_DELAY_BLOCK_IO)
		record->flags |= WIRE_FLAG_NO_DISK;
	if (taskstats_delays_counted() && ~measured & 1U << WIRE_DELAY_SWAP_IN)
		record->flags |= WIRE_FLAG_NO_SWAP;
	record->utime_ns = reading->utime_ns;
	record->stime_ns = reading->stime_ns;
	record->voluntary = reading->voluntary;
	record->involuntary = reading->involuntary;
}

static int send_delays(struct counters *counters, const struct wire_thread *record,
		       const struct taskstats_reading *reading)
{
	struct wire_delays delays = reading->delays;

	delays.header = (struct wire_header){
		.size = sizeof(delays), .kind = WIRE_DELAYS, .time_ns = counters->instant_ns};
	delays.start_ns = record->start_ns;
	if (!taskstats_delays_counted())
		delays.measured &= 1U << WIRE_DELAY_CPU;
	return sink_send(counters->sink, &delays.header);
}

static int take_reading(void *data, const struct taskstats_reading *reading)
{
	struct counters *counters = data;
	struct wire_thread *record = find(counters->records, counters->count, reading->tid);
	const struct wire_thread *known =
		find(counters->before, counters->before_count, reading->tid);
	int result;

	if (!record)
		return 0;
	fill_totals(record, reading);
	/* the same accounting as before, even if the clocks disagree on its beginning */
	if (known && known->start_ns == record->start_ns)
		record->origin_ns = known->origin_ns;
	result = sink_send(counters->sink, &record->header);
	return result < 0 ? result : send_delays(counters, record, reading);
}

/* Whether a thread that lived between two snapshots is one of a process that was there. */
static bool is_of_known_process(const struct counters *counters, uint32_t pid)
{
	/* the leader is a thread too, unless it has ended before the others */
	return pid && find(counters->before, counters->before_count, pid);
}

/* One that was born and died since the last snapshot. */
static struct wire_thread make_record(const struct counters *counters,
				      const struct taskstats_reading *reading)
{
	struct wire_thread record = {
		.tid = reading->tid, .pid = reading->pid, .parent_pid = reading->parent_pid};
	const struct wire_thread *leader =
		find(counters->before, counters->before_count, reading->pid);

	record.origin_ns = counters->instant_ns - reading->elapsed_ns;
	record.start_ns = record.origin_ns + clock_suspended_ns();
	memcpy(record.comm, reading->comm, sizeof(record.comm));
	memcpy(record.process, leader ? leader->process : record.comm, sizeof(record.process));
	if (leader)
		record.cgroup_id = leader->cgroup_id;
	return record;
}

/* One that was there at the last snapshot, or was born and died since. */
static int take_exit(void *data, const struct taskstats_reading *reading)
{
	struct counters *counters = data;
	const struct wire_thread *known =
		find(counters->before, counters->before_count, reading->tid);
	struct wire_thread record;
	int result;

	if (known)
		record = *known;
	else if (targets_everything(counters->targets) ||
		 is_of_known_process(counters, reading->pid))
		record = make_record(counters, reading);
	else
		return 0;
	record.header = (struct wire_header){
		.size = sizeof(record), .kind = WIRE_EXIT, .time_ns = counters->instant_ns};
	record.end_ns = record.origin_ns + reading->elapsed_ns;
	/* the start is known to a clock tick only */
	if (record.end_ns > counters->instant_ns)
		record.end_ns = counters->instant_ns;
	record.since_ns = record.end_ns;
	record.exit_code = reading->exit_code;
	fill_totals(&record, reading);
	result = sink_send(counters->sink, &record.header);
	return result < 0 ? result : send_delays(counters, &record, reading);
}

/* All threads by tid, with what the counters do not include. */
static int find_threads(struct counters *counters)
{
	int result;

	targets_follow_cgroup(counters->targets);
	result = proc_threads_list(&counters->threads, counters->targets, false);
	if (result < 0 ||
	    array_reserve(&counters->records, &counters->room, counters->threads.count,
			  sizeof(*counters->records)) < 0 ||
	    array_reserve(&counters->tids, &counters->tid_room, counters->threads.count,
			  sizeof(*counters->tids)) < 0)
		return -ENOMEM;
	counters->count = 0;
	for (size_t i = 0; i < counters->threads.count; i++) {
		struct proc_id id = counters->threads.items[i];
		struct wire_thread *record = &counters->records[counters->count];
		struct proc_stat stat;

		if (!proc_stat_read(id.pid, id.tid, &stat) || stat.state == 'Z' ||
		    stat.state == 'X')
			continue;
		proc_record_fill(record, id, &stat, counters->instant_ns);
		proc_process_fill(record, &counters->process);
		counters->tids[counters->count++] = id.tid;
	}
	return 0;
}

static int counters_snapshot(void *data, bool final __attribute__((unused)),
			     uint64_t *ret_instant_ns, struct record_sink sink, struct error *error)
{
	struct counters *counters = data;
	struct wire_thread *swap = counters->before;
	size_t swap_room = counters->before_room;
	int result;

	counters->before = counters->records;
	counters->before_count = counters->count;
	counters->before_room = counters->room;
	counters->records = swap;
	counters->room = swap_room;
	counters->sink = sink;
	counters->instant_ns = *ret_instant_ns = clock_monotonic_ns();
	if (find_threads(counters) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = taskstats_read(counters->taskstats, counters->tids, counters->count, take_reading,
				counters, error);
	if (result < 0)
		return result;
	result = taskstats_exits(counters->taskstats, take_exit, counters);
	return result < 0
		       ? error_set(error, -result, "cannot take taskstats: %s", strerror(-result))
		       : 0;
}

static struct wire_losses counters_losses(const void *data)
{
	const struct counters *counters = data;

	return (struct wire_losses){.exits = taskstats_lost(counters->taskstats)};
}

static int counters_descriptor(const void *data)
{
	const struct counters *counters = data;

	return taskstats_exit_fd(counters->taskstats);
}

static int counters_work(void *data, struct record_sink sink, struct error *error)
{
	struct counters *counters = data;

	(void)sink;
	return taskstats_collect(counters->taskstats) < 0
		       ? error_set(error, ENOMEM, "cannot take taskstats")
		       : 0;
}

const struct source_ops source_taskstats = {
	.choice = SOURCE_TASKSTATS,
	.open = counters_open,
	.close = counters_close,
	.snapshot = counters_snapshot,
	.losses = counters_losses,
	.descriptor = counters_descriptor,
	.work = counters_work,
};
