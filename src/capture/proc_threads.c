// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/proc_threads.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/kernel_text.h"
#include "capture/cgroup.h"

static int append(struct proc_threads *threads, struct proc_id id)
{
	if (array_reserve(&threads->items, &threads->room, threads->count + 1, sizeof(id)) < 0)
		return -ENOMEM;
	threads->items[threads->count++] = id;
	return 0;
}

/* Calls for every entry of a directory that is a number. */
static int each_number(const char *path, int (*call)(void *data, uint32_t number), void *data)
{
	cleanup_dir DIR *directory = opendir(path);
	struct dirent *entry;
	int result = 0;

	while (result >= 0 && directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			result = call(data, (uint32_t)strtoul(entry->d_name, NULL, 10));
	return result;
}

struct listing {
	struct proc_threads *threads;
	const struct targets *targets;
	bool own_only;
	uint32_t pid;
};

static int add_thread(void *data, uint32_t tid)
{
	struct listing *listing = data;

	return append(listing->threads, (struct proc_id){listing->pid, tid});
}

static int add_process(struct listing *listing, uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	listing->pid = pid;
	return each_number(path, add_thread, listing);
}

int proc_threads_of(struct proc_threads *threads, uint32_t pid)
{
	struct listing listing = {.threads = threads};

	return add_process(&listing, pid);
}

static bool is_target(const struct targets *targets, uint32_t id, enum target_kind kind)
{
	for (unsigned int i = 0; i < targets->count; i++)
		if (targets->items[i].id == id && targets->items[i].kind == kind)
			return !target_has_ended(&targets->items[i]);
	return false;
}

static bool has_target_ancestor(const struct targets *targets, uint32_t pid)
{
	struct proc_stat stat;

	for (int i = 0; i < MAX_ANCESTORS && pid; i++) {
		if (!proc_stat_read(pid, pid, &stat))
			return false;
		pid = stat.parent_pid;
		if (is_target(targets, pid, TARGET_PROCESS))
			return true;
	}
	return false;
}

/* The first `level` directories of a path, without those below them. */
static void cut_path(char *path, uint32_t level)
{
	for (uint32_t seen = 0; *path; path++) {
		if (*path == '/' && seen++ == level && level) {
			*path = '\0';
			return;
		}
	}
}

/* The target, or below it. */
static bool in_target_cgroup(const struct targets *targets, uint32_t pid)
{
	struct cgroup_location location;
	char path[4096];

	if (!targets->cgroup_level) /* everything is below the root */
		return true;
	if (!cgroup_of_thread(pid, path, sizeof(path)))
		return false;
	cut_path(path, targets->cgroup_level);
	return cgroup_locate(path, &location, NULL) >= 0 && location.id == targets->cgroup_id;
}

static bool is_wanted(const struct listing *listing, uint32_t pid)
{
	const struct targets *targets = listing->targets;
	char path[64];
	struct stat status;

	if (listing->own_only) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
		if (stat(path, &status) < 0 || status.st_uid != geteuid())
			return false;
	}
	if (targets_everything(targets) || is_target(targets, pid, TARGET_PROCESS))
		return true;
	if (targets->cgroup_id && in_target_cgroup(targets, pid))
		return true;
	return targets->children && has_target_ancestor(targets, pid);
}

static int consider(void *data, uint32_t pid)
{
	struct listing *listing = data;

	return is_wanted(listing, pid) ? add_process(listing, pid) : 0;
}

/* The process of a thread: 0 = it is gone. */
uint32_t proc_process_of(uint32_t tid)
{
	char pid[32];

	return kernel_status(tid, "Tgid", pid, sizeof(pid)) ? (uint32_t)strtoul(pid, NULL, 10) : 0;
}

static int by_id(const void *left, const void *right)
{
	const struct proc_id *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

int proc_threads_list(struct proc_threads *threads, const struct targets *targets, bool own_only)
{
	struct listing listing = {threads, targets, own_only, 0};
	int result = 0;

	threads->count = 0;
	if (targets_everything(targets) || targets->cgroup_id || targets->children) {
		result = each_number("/proc", consider, &listing);
	} else {
		for (unsigned int i = 0; result >= 0 && i < targets->count; i++)
			if (targets->items[i].kind == TARGET_PROCESS &&
			    !target_has_ended(&targets->items[i]))
				result = add_process(&listing, targets->items[i].id);
	}
	for (unsigned int i = 0; result >= 0 && i < targets->count; i++) {
		if (targets->items[i].kind == TARGET_THREAD &&
		    !target_has_ended(&targets->items[i])) {
			uint32_t pid = proc_process_of(targets->items[i].id);

			if (pid)
				result = append(threads,
						(struct proc_id){pid, targets->items[i].id});
		}
	}
	if (threads->count)
		qsort(threads->items, threads->count, sizeof(*threads->items), by_id);
	return result;
}

void proc_threads_release(struct proc_threads *threads)
{
	free(threads->items);
	*threads = (struct proc_threads){0};
}

bool proc_read(struct proc_id id, const char *name, char *into, size_t room)
{
	char path[96];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", id.pid, id.tid, name);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	length = fd < 0 ? -1 : read(fd, into, room - 1);
	if (length <= 0)
		return false;
	into[length] = '\0';
	return true;
}

bool proc_call_read(struct proc_id id, struct proc_call *ret_call)
{
	char text[256];

	if (!proc_read(id, "syscall", text, sizeof(text)))
		return false;
	*ret_call = (struct proc_call){.number = -1};
	if (!strncmp(text, "running", 7))
		ret_call->number = PROC_RUNNING;
	else if (sscanf(text, "%ld 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx", &ret_call->number,
			&ret_call->arguments[0], &ret_call->arguments[1], &ret_call->arguments[2],
			&ret_call->arguments[3], &ret_call->arguments[4]) < 1)
		ret_call->number = -1;
	return true;
}

uint64_t proc_cgroup_id(uint32_t pid)
{
	struct cgroup_location location;
	char path[4096];

	if (!cgroup_of_thread(pid, path, sizeof(path)) || cgroup_locate(path, &location, NULL) < 0)
		return 0;
	return location.id;
}

void proc_record_fill(struct wire_thread *record, struct proc_id id, const struct proc_stat *stat,
		      uint64_t end_ns)
{
	uint64_t asleep_ns = clock_suspended_ns();

	*record = (struct wire_thread){
		.header = {.size = sizeof(*record), .kind = WIRE_THREAD, .time_ns = end_ns},
		.start_ns = stat->start_ns,
		.origin_ns = stat->start_ns > asleep_ns ? stat->start_ns - asleep_ns : 0,
		.end_ns = end_ns,
		.since_ns = end_ns,
		.tid = id.tid,
		.pid = id.pid,
		.parent_pid = stat->parent_pid,
		.site = {.state = WIRE_STATES, .syscall = WIRE_SYSCALL_NONE},
		.cpu = stat->cpu,
		.policy = (__u16)stat->policy,
		.nice = (__s16)stat->nice,
		.utime_ns = stat->utime_ns,
		.stime_ns = stat->stime_ns,
		.flags = stat->flags & PF_KTHREAD ? WIRE_FLAG_KERNEL_THREAD : 0,
	};
	if (record->origin_ns > end_ns)
		record->origin_ns = end_ns;
	memcpy(record->comm, stat->comm, sizeof(record->comm));
}

void proc_process_fill(struct wire_thread *record, struct proc_process *process)
{
	struct proc_stat leader;

	if (process->pid != record->pid || process->time_ns != record->header.time_ns) {
		*process = (struct proc_process){.pid = record->pid,
						 .time_ns = record->header.time_ns,
						 .cgroup_id = proc_cgroup_id(record->pid)};
		if (proc_stat_read(record->pid, record->pid, &leader))
			memcpy(process->name, leader.comm, sizeof(process->name));
	}
	memcpy(record->process, process->name, sizeof(record->process));
	record->cgroup_id = process->cgroup_id;
}
