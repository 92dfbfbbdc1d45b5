// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/source.h"

#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/kernel_text.h"
#include "capture/cgroup.h"
#include "capture/features.h"
#include "capture/own_proc.h"
#include "base/machine_time.h"
#include "base/schedstat.h"
#include "capture/source_ops.h"
#include "capture/taskstats.h"

/* Of which the paths are known; more at once than machines have. */
#define CGROUPS_MAX 65536

struct source {
	const struct source_ops *ops;
	void *data;
	struct record_sink sink; /* the user's */
	struct cgroup_paths *cgroups;
	uint64_t instant_ns, last_ns; /* of this snapshot and the one before; 0 = none */
	uint64_t cpu_ns;	      /* own, at the last snapshot */
	uint64_t snapshot_ns, self_cpu_ns;
	int schedstat_fd;		  /* own; below 0: cannot be read */
	uint64_t delay_ns, self_delay_ns; /* own, at the last snapshot; since the one before */
	bool final;			  /* the present snapshot is the last */
	uint64_t interval_ns;		  /* asked for since it began; 0: as it began */
	struct wire_session session;
	struct machine_time machine; /* at the last snapshot */
	/* delay accounting beside BPF; NULL: not to be had, or the source itself has it */
	struct taskstats_link *taskstats;
	bool delays_of_all;
	uint32_t delays_pid; /* else of this process; 0 = none */
	/* threads of this snapshot, those that live before those that have ended */
	struct delays_of {
		uint64_t start_ns;
		uint32_t tid;
		bool has_ended;
	} * asked;
	size_t asked_count, asked_room;
	uint32_t *asked_tids; /* of those that live: the questions */
	size_t asked_tid_room;
	bool delays_counted;
};

/* Sends a cgroup's path before the first thread in it. */
static int announce_cgroup(struct source *source, uint64_t id, uint32_t tid)
{
	union {
		struct wire_cgroup record;
		char room[sizeof(struct wire_cgroup) + PATH_MAX + 8];
	} cgroup;
	const char *path;
	size_t length;

	if (!cgroup_paths_learn(source->cgroups, id, tid, &path))
		return 0;
	length = strlen(path);
	if (length > PATH_MAX)
		return 0;
	cgroup.record = (struct wire_cgroup){
		.header = {.size = (__u32)((sizeof(cgroup.record) + length + 1 + 7) / 8 * 8),
			   .kind = WIRE_CGROUP},
		.id = id};
	memset(cgroup.record.path, 0, cgroup.record.header.size - sizeof(cgroup.record));
	memcpy(cgroup.record.path, path, length);
	return sink_send(source->sink, &cgroup.record.header);
}

/*
 * Before a snapshot: in months cgroups come and go by the million. The threads that are there send
 * theirs again.
 */
static int forget_cgroups(struct source *source)
{
	union {
		struct wire_cgroup record;
		char room[sizeof(struct wire_cgroup) + 8];
	} all = {.room = {0}};

	all.record.header = (struct wire_header){.size = sizeof(all), .kind = WIRE_CGROUP};

	if (cgroup_paths_count(source->cgroups) < CGROUPS_MAX)
		return 0;
	cgroup_paths_forget(source->cgroups);
	return sink_send(source->sink, &all.record.header);
}

static int note_thread(struct source *source, const struct wire_thread *thread)
{
	/* uncounted there is only the wait for a CPU, which BPF has measured */
	if (!source->taskstats || !source->delays_counted ||
	    (!source->delays_of_all && thread->pid != source->delays_pid))
		return 0;
	if (array_reserve(&source->asked, &source->asked_room, source->asked_count + 1,
			  sizeof(*source->asked)) < 0)
		return -ENOMEM;
	source->asked[source->asked_count++] =
		(struct delays_of){.start_ns = thread->start_ns,
				   .tid = thread->tid,
				   .has_ended = thread->header.kind == WIRE_EXIT};
	return 0;
}

static int in_order(const void *left, const void *right)
{
	const struct delays_of *a = left, *b = right;

	if (a->has_ended != b->has_ended)
		return a->has_ended ? 1 : -1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static const struct delays_of *find_asked(const struct source *source, uint32_t tid, bool has_ended)
{
	const struct delays_of key = {.tid = tid, .has_ended = has_ended};

	if (!source->asked_count)
		return NULL;
	return bsearch(&key, source->asked, source->asked_count, sizeof(key), in_order);
}

static int send_delays(struct source *source, const struct delays_of *who,
		       const struct taskstats_reading *reading)
{
	struct wire_delays delays = reading->delays;

	if (!who)
		return 0;
	delays.header = (struct wire_header){
		.size = sizeof(delays), .kind = WIRE_DELAYS, .time_ns = source->instant_ns};
	delays.start_ns = who->start_ns;
	return sink_send(source->sink, &delays.header);
}

static int take_answer(void *data, const struct taskstats_reading *reading)
{
	struct source *source = data;

	return send_delays(source, find_asked(source, reading->tid, false), reading);
}

/* Of any thread of the machine, most of them not ours; or of one that has ended since we asked. */
static int take_exit(void *data, const struct taskstats_reading *reading)
{
	struct source *source = data;
	const struct delays_of *who = find_asked(source, reading->tid, true);

	return send_delays(source, who ? who : find_asked(source, reading->tid, false), reading);
}

static int read_delays(struct source *source, struct error *error)
{
	size_t living = 0;
	int result;

	if (!source->taskstats)
		return 0;
	if (source->asked_count)
		qsort(source->asked, source->asked_count, sizeof(*source->asked), in_order);
	if (array_reserve(&source->asked_tids, &source->asked_tid_room, source->asked_count,
			  sizeof(*source->asked_tids)) < 0)
		return -ENOMEM;
	for (; living < source->asked_count && !source->asked[living].has_ended; living++)
		source->asked_tids[living] = source->asked[living].tid;
	result = taskstats_read(source->taskstats, source->asked_tids, living, take_answer, source,
				error);
	if (result >= 0)
		result = taskstats_exits(source->taskstats, take_exit, source);
	source->asked_count = 0;
	source->delays_counted = taskstats_delays_counted(); /* it may be turned on at any time */
	return result;
}

/* The cgroups whose limits are culprits, which may have no threads of their own. */
static int announce_limits(struct source *source, const struct wire_blame *blame)
{
	const struct wire_culprit *culprits = (const struct wire_culprit *)(blame + 1);

	for (__u32 i = 0; i < blame->count; i++) {
		uint64_t id = wire_limit_cgroup(&culprits[i]);
		int result = id ? announce_cgroup(source, id, blame->tid) : 0;

		if (result < 0)
			return result;
	}
	return 0;
}

static int pass_record(void *data, const struct wire_header *record)
{
	struct source *source = data;

	if (record->kind == WIRE_THREAD || record->kind == WIRE_EXIT) {
		const struct wire_thread *thread = (const struct wire_thread *)record;
		int result = announce_cgroup(source, thread->cgroup_id, thread->tid);

		if (result >= 0)
			result = note_thread(source, thread);
		if (result < 0)
			return result;
	} else if (record->kind == WIRE_STALL) {
		const struct wire_stall *stall = (const struct wire_stall *)record;
		uint64_t id =
			stall->flags & WIRE_STALL_LIMIT ? wire_peer_cgroup(&stall->culprit) : 0;
		int result = id ? announce_cgroup(source, id, stall->tid) : 0;

		if (result < 0)
			return result;
	} else if (record->kind == WIRE_CGROUP) {
		const struct wire_cgroup *made = (const struct wire_cgroup *)record;

		cgroup_paths_note(source->cgroups, made->id, made->path);
	} else if (record->kind == WIRE_MEMBER) {
		const struct wire_member *member = (const struct wire_member *)record;
		int result = announce_cgroup(source, member->cgroup_id, member->pid);

		if (result < 0)
			return result;
	} else if (record->kind == WIRE_BLAME) {
		int result = announce_limits(source, (const struct wire_blame *)record);

		if (result < 0)
			return result;
	}
	return sink_send(source->sink, record);
}

static struct record_sink own_sink(struct source *source)
{
	return (struct record_sink){pass_record, source};
}

/* All zeros: it cannot be read. */
static void read_boot(__u8 boot[16])
{
	char line[64];
	unsigned int byte;
	int used;
	size_t count = 0;

	kernel_line("/proc/sys/kernel/random/boot_id", line, sizeof(line));
	for (const char *at = line; count < 16; at += used, count++) {
		at += *at == '-';
		if (sscanf(at, "%2x%n", &byte, &used) != 1 || used != 2)
			break;
		boot[count] = (__u8)byte;
	}
	if (count < 16)
		memset(boot, 0, 16);
}

static void describe_machine(struct wire_session *session, uint64_t interval_ns)
{
	struct utsname names;
	struct sysinfo memory;

	*session = (struct wire_session){
		.header = {.size = sizeof(*session),
			   .kind = WIRE_SESSION,
			   .time_ns = clock_monotonic_ns()},
		.interval_ns = interval_ns,
		.cpus = (__u32)get_nprocs(),
		.word_bits = sizeof(long) * 8,
	};
	if (!sysinfo(&memory))
		session->memory_bytes = (uint64_t)memory.totalram * memory.mem_unit;
	read_boot(session->boot);
	if (uname(&names) < 0)
		return;
	snprintf(session->host, sizeof(session->host), "%.63s", names.nodename);
	snprintf(session->kernel, sizeof(session->kernel), "%.63s", names.release);
	snprintf(session->machine, sizeof(session->machine), "%.15s", names.machine);
}

/* Records that a source gives while it opens wait here: WIRE_SESSION goes before them. */
struct held {
	struct wire_missing items[8];
	size_t count;
};

static int hold(void *data, const struct wire_header *record)
{
	struct held *held = data;

	if (record->kind == WIRE_MISSING && held->count < ARRAY_SIZE(held->items))
		held->items[held->count++] = *(const struct wire_missing *)record;
	return 0;
}

static int open_with(struct source *source, const struct source_ops *ops,
		     const struct source_options *options, struct targets *targets,
		     struct wire_session *session, struct held *held, struct error *error)
{
	struct record_sink sink = {hold, held};
	int result = ops->open(&source->data, options, targets, session, sink, error);

	if (result >= 0)
		source->ops = ops;
	return result;
}

/* The best that is permitted; reports why better ones are unavailable, and what to do. */
static int open_best(struct source *source, const struct source_options *options,
		     struct targets *targets, struct wire_session *session, struct held *held,
		     struct error *error)
{
	static const struct {
		const struct source_ops *ops;
		const char *name;
	} best[] = {
		{&source_bpf, "bpf"},
		{&source_procfs, "procfs"},
	};
	struct error why = {""};
	int result = -ENOTSUP;

	for (size_t i = 0; result < 0 && i < ARRAY_SIZE(best); i++) {
		result = open_with(source, best[i].ops, options, targets, session, held, &why);
		/* of several reasons the first: what would have been best */
		if (result < 0 && !*error->text)
			*error = why;
		if (result < 0 &&
		    sink_missing((struct record_sink){hold, held}, best[i].name, why.text) < 0)
			return result;
	}
	return result;
}

static const struct source_ops *ops_of(enum source_choice choice)
{
	static const struct source_ops *const all[] = {&source_bpf, &source_taskstats,
						       &source_procfs};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->choice == choice)
			return all[i];
	return NULL;
}

/* Delay accounting beside BPF: of the targets, or of the process a user looks at. */
static int open_delays(struct source *source, const struct targets *targets,
		       struct wire_session *session, struct held *held)
{
	struct record_sink sink = {hold, held};
	struct error why = {""};
	int result = 0;

	source->delays_counted = taskstats_delays_counted();
	/* else they have the waits for a CPU alone, which BPF sees, and each end of a thread wakes
	 * us */
	if (source->ops == &source_bpf && source->delays_counted) {
		if (taskstats_open(&source->taskstats, &why) < 0)
			return sink_missing(sink, "taskstats", why.text);
		source->delays_of_all = !targets_everything(targets);
		if (source->delays_of_all) {
			session->flags |= WIRE_SESSION_DELAYS;
			if (taskstats_listen(source->taskstats, &why) < 0)
				result = sink_missing(sink, "exits", why.text);
		} else {
			result = sink_missing(sink, "taskstats",
					      "read for targets, and for whom one looks at, not "
					      "for the whole machine");
		}
	}
	if (result >= 0 && !source->delays_counted &&
	    (source->ops == &source_bpf || session->flags & WIRE_SESSION_DELAYS))
		result = sink_missing(sink, "delayacct",
				      "kernel.task_delayacct is 0; for what is started after it: "
				      "sysctl kernel.task_delayacct=1");
	return result;
}

/* With those who work for it. */
static uint64_t own_cpu_ns(const struct source *source)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
	       (source->ops->helpers_cpu_ns ? source->ops->helpers_cpu_ns(source->data) : 0);
}

int source_open(struct source **ret_source, const struct source_options *options,
		struct targets *targets, struct record_sink sink, struct error *error)
{
	struct source *source;
	struct wire_session session;
	struct schedstat own;
	struct held held = {.count = 0};
	int result = own_proc_check(OWN_PROC, error);

	if (result < 0)
		return result;
	source = calloc(1, sizeof(*source));
	if (!source || !(source->cgroups = cgroup_paths_new())) {
		free(source);
		return error_set(error, ENOMEM, "out of memory");
	}
	source->sink = sink;
	source->schedstat_fd = schedstat_open();
	describe_machine(&session, options->interval_ns);
	if (schedstat_read(source->schedstat_fd, &own)) {
		session.flags |= WIRE_SESSION_PACE;
		source->delay_ns = own.delay_ns;
	}
	if (machine_time_read(&source->machine, MACHINE_TIME) >= 0 && source->machine.stolen_ns)
		session.flags |= WIRE_SESSION_MACHINE;
	if (!targets_everything(targets))
		session.flags |= WIRE_SESSION_TARGETED;
	if (features_pid_namespace())
		session.flags |= WIRE_SESSION_NAMESPACE;
	if (options->choice == SOURCE_AUTO)
		result = open_best(source, options, targets, &session, &held, error);
	else
		result = open_with(source, ops_of(options->choice), options, targets, &session,
				   &held, error);
	if (result >= 0 && options->blame && !(session.flags & WIRE_SESSION_BLAME))
		result = sink_missing((struct record_sink){hold, &held}, "blame",
				      "only BPF sees because of whom threads wait");
	if (result >= 0)
		result = open_delays(source, targets, &session, &held);
	if (result >= 0)
		result = sink_send(sink, &session.header);
	source->session = session;
	for (size_t i = 0; result >= 0 && i < held.count; i++)
		result = sink_send(sink, &held.items[i].header);
	if (result < 0) {
		source_close(source);
		return result;
	}
	*error = (struct error){""};
	source->cpu_ns = own_cpu_ns(source);
	*ret_source = source;
	return 0;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	if (source->ops)
		source->ops->close(source->data);
	taskstats_close(source->taskstats);
	cgroup_paths_free(source->cgroups);
	if (source->schedstat_fd >= 0)
		close(source->schedstat_fd);
	free(source->asked);
	free(source->asked_tids);
	free(source);
}

int source_begin(struct source *source, bool final, struct error *error)
{
	uint64_t start_ns = clock_monotonic_ns(), cpu_ns;
	struct schedstat own;
	int result = forget_cgroups(source);

	if (result >= 0)
		result = source->ops->snapshot(source->data, final, &source->instant_ns,
					       own_sink(source), error);

	source->final = final;
	cpu_ns = own_cpu_ns(source);
	source->snapshot_ns = clock_monotonic_ns() - start_ns;
	source->self_cpu_ns = cpu_ns - source->cpu_ns;
	source->cpu_ns = cpu_ns;
	if (schedstat_read(source->schedstat_fd, &own)) {
		source->self_delay_ns = own.delay_ns - source->delay_ns;
		source->delay_ns = own.delay_ns;
	}
	return result;
}

uint64_t source_instant_ns(const struct source *source)
{
	return source->instant_ns;
}

int source_await(struct source *source, int timeout_ms, struct error *error)
{
	if (!source->ops->await)
		return 0;
	return source->ops->await(source->data, timeout_ms, own_sink(source), error);
}

uint64_t source_leaving(const struct source *source)
{
	return source->ops->leaving ? source->ops->leaving(source->data) : 0;
}

/* A clock that stood still so far may have moved. */
static int renew_session(struct source *source)
{
	struct wire_session session = source->session;

	if (source->ops->states)
		session.states = source->ops->states(source->data);
	if (source->machine.stolen_ns)
		session.flags |= WIRE_SESSION_MACHINE;
	if (source->interval_ns)
		session.interval_ns = source->interval_ns;
	if (session.states == source->session.states && session.flags == source->session.flags &&
	    session.interval_ns == source->session.interval_ns)
		return 0;
	session.header.time_ns = source->instant_ns;
	source->session = session;
	return sink_send(source->sink, &session.header);
}

static void add_machine(struct source *source, struct wire_interval *interval)
{
	struct machine_time before = source->machine, passed;

	if (machine_time_read(&source->machine, MACHINE_TIME) < 0 || !source->last_ns ||
	    !machine_time_since(&passed, &before, &source->machine))
		return;
	interval->machine_busy_ns = passed.busy_ns;
	interval->machine_stolen_ns = passed.stolen_ns;
}

static uint64_t overrun_ns(const struct source *source, const struct wire_interval *interval)
{
	uint64_t length_ns = interval->end_ns - interval->start_ns;

	return !interval->final && length_ns > source->session.interval_ns
		       ? length_ns - source->session.interval_ns
		       : 0;
}

void source_set_interval(struct source *source, uint64_t interval_ns)
{
	source->interval_ns = interval_ns;
}

int source_end(struct source *source, uint64_t missing, struct error *error)
{
	uint64_t instant_ns = source->instant_ns;
	struct wire_interval interval = {
		.header = {.size = sizeof(interval), .kind = WIRE_INTERVAL, .time_ns = instant_ns},
		.start_ns = source->last_ns ? source->last_ns : instant_ns,
		.end_ns = instant_ns,
		.losses = source->ops->losses(source->data),
		.final = source->final,
		.self_cpu_ns = source->self_cpu_ns,
		.snapshot_ns = source->snapshot_ns,
		.self_runnable_ns = source->self_delay_ns,
	};
	int result = read_delays(source, error);

	if (result < 0)
		return result;
	add_machine(source, &interval);
	result = renew_session(source);
	if (result < 0)
		return error_set(error, -result, "cannot take a session record: %s",
				 strerror(-result));
	if (source->taskstats)
		interval.losses.exits += taskstats_lost(source->taskstats);
	/* a source that cannot wait for ends does not report them either */
	if (source->final && source->ops->await)
		interval.losses.exits += source_leaving(source) + missing;
	interval.start_realtime_ns = clock_realtime_ns() - clock_monotonic_ns() + interval.start_ns;
	interval.overrun_ns = overrun_ns(source, &interval);
	source->last_ns = instant_ns;
	result = sink_send(source->sink, &interval.header);
	if (result < 0)
		return error_set(error, -result, "cannot take an interval record: %s",
				 strerror(-result));
	return 0;
}

int source_descriptors(const struct source *source, int descriptors[SOURCE_DESCRIPTORS])
{
	int count = 0, exits = source->taskstats ? taskstats_exit_fd(source->taskstats) : -1;
	int own = source->ops->descriptor ? source->ops->descriptor(source->data) : -1;

	if (own >= 0)
		descriptors[count++] = own;
	if (exits >= 0)
		descriptors[count++] = exits;
	return count;
}

int source_work(struct source *source, struct error *error)
{
	int result =
		source->ops->work ? source->ops->work(source->data, own_sink(source), error) : 0;

	if (result >= 0 && source->taskstats && taskstats_collect(source->taskstats) < 0)
		return error_set(error, ENOMEM, "cannot take taskstats");
	return result;
}

void source_look_at(struct source *source, uint32_t pid)
{
	if (source->ops->look_at)
		source->ops->look_at(source->data, pid);
	source->delays_pid = pid;
}

void source_hooks(const struct source *source, struct hook_stats *stats)
{
	if (source->ops->hooks)
		source->ops->hooks(source->data, stats);
}
