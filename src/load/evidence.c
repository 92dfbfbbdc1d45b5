// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/evidence.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc_stat.h"
#include "scheduler/dump.h"

#define RUNNABLE_MOST 200
#define FILE_MOST     4096

/* A file of /proc, each line with `indent` before it; nothing where it cannot be read. */
static bool copy_file(struct output *out, const char *path, const char *indent)
{
	cleanup_file FILE *file = fopen(path, "re");
	char line[256];
	size_t bytes = 0;

	while (file && bytes < FILE_MOST && fgets(line, sizeof(line), file)) {
		bytes += strlen(line);
		line[strcspn(line, "\n")] = '\0';
		output_format(out, "%s%s\n", indent, line);
	}
	return bytes > 0;
}

static void write_thread(struct output *out, const struct proc_stat *stat, uint32_t tid)
{
	output_format(out, "%.16s[%u] state %c, policy %s, nice %d, last on CPU %u\n", stat->comm,
		      tid, stat->state, proc_stat_policy(stat->policy), stat->nice, stat->cpu);
}

/* Returns the CPU that it ran on last; -1: not known. */
static int write_stuck(struct output *out, uint32_t pid, uint32_t tid)
{
	struct proc_stat stat;
	char path[64];

	if (!proc_stat_read(pid, tid, &stat)) {
		output_string(out, "it is gone\n");
		return -1;
	}
	write_thread(out, &stat, tid);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	output_string(out, "ns on a CPU, ns waiting for one, times it got one:\n");
	copy_file(out, path, "  ");
	snprintf(path, sizeof(path), "/proc/%u/task/%u/stack", pid, tid);
	output_string(out, "kernel stack:\n");
	if (!copy_file(out, path, "  "))
		output_string(out, "  none: it is in user mode, or the kernel does not show it\n");
	return (int)stat.cpu;
}

/* Which threads that are runnable now are listed. */
struct listing {
	int cpu;     /* that they ran on last, or */
	bool others; /* any other one */
	unsigned int room, left_out;
};

static void write_runnable_of(struct output *out, const char *process, struct listing *listing)
{
	char path[300];
	DIR *tasks;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%s/task", process);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		struct proc_stat stat;

		if (!tid || !proc_stat_read((uint32_t)strtoul(process, NULL, 10), tid, &stat) ||
		    stat.state != 'R' || ((int)stat.cpu != listing->cpu) != listing->others)
			continue;
		if (!listing->room) {
			listing->left_out++;
			continue;
		}
		listing->room--;
		output_string(out, "  ");
		write_thread(out, &stat, tid);
	}
	if (tasks)
		closedir(tasks);
}

/* What the stuck thread's CPU had to choose from comes first. */
static void write_runnable(struct output *out, int cpu)
{
	struct listing listing = {.cpu = cpu, .room = RUNNABLE_MOST};

	for (int others = cpu < 0; others <= 1; others++) {
		DIR *processes = opendir("/proc");
		struct dirent *entry;

		listing.others = others;
		while (processes && (entry = readdir(processes)))
			if (*entry->d_name >= '1' && *entry->d_name <= '9')
				write_runnable_of(out, entry->d_name, &listing);
		if (processes)
			closedir(processes);
	}
	if (listing.left_out)
		output_format(out, "  and %u more\n", listing.left_out);
}

static void write_scheduler(struct output *out, pid_t pid)
{
	struct proc_stat stat;
	char path[64];

	if (pid <= 0 || !proc_stat_read((uint32_t)pid, (uint32_t)pid, &stat))
		return;
	output_string(out, "--- the scheduler's program\n");
	write_thread(out, &stat, (uint32_t)pid);
	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	copy_file(out, path, "  ");
}

void evidence_take(struct output *out, uint32_t pid, uint32_t tid, pid_t scheduler,
		   struct scheduler_queues *queues, const char *what)
{
	int cpu;

	output_format(out, "%s\n", what);
	cpu = write_stuck(out, pid, tid);
	output_string(out, "--- threads that run or could run, those of its CPU first\n");
	write_runnable(out, cpu);
	write_scheduler(out, scheduler);
	output_string(out, "--- dispatch queues of sched_ext: who waits, where, and how long\n");
	scheduler_queues_write(out, queues);
	output_string(out, "--- sched_ext (SysRq-D)\n");
	scheduler_dump(out);
}
