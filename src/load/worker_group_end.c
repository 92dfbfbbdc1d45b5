// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of groups of workers: stopped, reports gathered, processes reaped. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "load/worker_group.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/await.h"
#include "base/duration.h"
#include "base/patience.h"
#include "base/proc_stat.h"
#include "base/schedstat.h"
#include "load/machine.h"

bool group_worker_ended(const struct group_worker *worker)
{
	siginfo_t info = {.si_pid = 0};

	return worker->pid > 0 &&
	       !waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == worker->pid;
}

/* Its process, and it has not ended. */
static bool is_there(const struct group_worker *worker)
{
	siginfo_t info = {.si_pid = 0};

	return worker->pid > 0 &&
	       !waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

static void kill_group(pid_t pid, int signal)
{
	/* both: it may be killed before its group exists */
	if (pid > 0) {
		kill(-pid, signal);
		kill(pid, signal);
	}
}

/* Its own, once it has begun; before that, and in a process of its own, that of the process. */
static pid_t thread_of(const struct worker_group *worker_group, unsigned int i)
{
	const struct worker_slot *slot = shared_slot(&worker_group->shared, i);
	pid_t tid = (pid_t)__atomic_load_n(&slot->tid, __ATOMIC_RELAXED);

	return tid > 0 ? tid : worker_group->workers[i].pid;
}

/*
 * Each thread by itself: of a process, the kernel would interrupt one of them only, and that is the
 * one that waits for the others.
 */
static void tell_to_stop(struct worker_group *worker_group)
{
	for (unsigned int i = 0; i < worker_group->forked; i++) {
		pid_t pid = worker_group->workers[i].pid, tid = thread_of(worker_group, i);

		if (pid <= 0 || worker_group->workers[i].report_fd < 0)
			continue;
		if (tid != pid)
			syscall(SYS_tgkill, pid, tid, SIGUSR1);
		else
			kill(pid, SIGUSR1);
	}
}

/* Reads what is there. False: nothing more will come, be it whole or not. */
static bool receive(struct group_worker *worker)
{
	ssize_t got;

	if (!worker->received)
		worker->received = malloc(REPORT_BYTES_MAX + 1);
	if (!worker->received)
		return false;
	/* one byte more than there can be: too much is noticed */
	got = read(worker->report_fd, worker->received + worker->length,
		   REPORT_BYTES_MAX + 1 - worker->length);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	worker->length += (size_t)got;
	switch (report_check(worker->received, worker->length)) {
	case 1:
		worker->complete = true;
		return false; /* other holders of the pipe need not be waited for */
	case 0:
		return got > 0;
	default:
		return false;
	}
}

struct waiting {
	struct pollfd *fds;
	struct group_worker **workers;
	nfds_t count;
};

/* Where reports are still to come from. */
static void list_open(struct worker_group **worker_groups, size_t count, struct waiting *waiting)
{
	waiting->count = 0;
	for (size_t c = 0; c < count; c++)
		for (unsigned int i = 0; i < worker_groups[c]->forked; i++) {
			struct group_worker *worker = &worker_groups[c]->workers[i];

			if (worker->report_fd < 0)
				continue;
			worker->tid = thread_of(worker_groups[c], i);
			waiting->workers[waiting->count] = worker;
			waiting->fds[waiting->count++] =
				(struct pollfd){.fd = worker->report_fd, .events = POLLIN};
		}
}

static void receive_ready(const struct waiting *waiting)
{
	for (nfds_t i = 0; i < waiting->count; i++) {
		struct group_worker *worker = waiting->workers[i];

		/* of one that has ended, what is not there will not come: others may hold the pipe
		 */
		if (waiting->fds[i].revents ? receive(worker) : !worker->ended)
			continue;
		close(worker->report_fd);
		worker->report_fd = -1;
	}
}

/* CPU time that a report takes, with room to spare. */
#define REPORT_CPU_NS (100 * NS_PER_MS)

static uint64_t run_time_of(const struct group_worker *worker)
{
	struct schedstat counted;

	return worker->tid > 0 && schedstat_of(worker->tid, &counted) ? counted.cpu_ns : 0;
}

static void note_run_times(const struct waiting *waiting)
{
	for (nfds_t i = 0; i < waiting->count; i++)
		waiting->workers[i]->stopped_run_ns = run_time_of(waiting->workers[i]);
}

/* Whether a report is missing because its worker has had no CPU, and is not one that never stops.
 */
static bool any_lacks_cpu(const struct waiting *waiting)
{
	bool any = false;

	for (nfds_t i = 0; i < waiting->count; i++) {
		struct group_worker *worker = waiting->workers[i];
		struct proc_stat stat;

		/* before the thread had begun it was its process, which may have run longer */
		worker->lacks_cpu =
			worker->pid > 0 &&
			proc_stat_read((uint32_t)worker->pid, (uint32_t)worker->tid, &stat) &&
			stat.state == 'R' &&
			run_time_of(worker) < worker->stopped_run_ns + REPORT_CPU_NS;
		any |= worker->lacks_cpu;
	}
	return any;
}

/* Until all have reported or ended, or the time is over. The signal is repeated: see worker.h. */
static void collect(struct worker_group **worker_groups, size_t count, struct waiting *waiting)
{
	uint64_t last_ns = clock_monotonic_ns(), again_ns = 0;
	nfds_t left = 0;
	double factor = 1;

	list_open(worker_groups, count, waiting);
	note_run_times(waiting);
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();

		list_open(worker_groups, count, waiting);
		if (waiting->count != left)
			last_ns = now_ns;
		left = waiting->count;
		if (!left)
			return;
		if (now_ns - last_ns > WORKER_GROUP_COLLECT_NS &&
		    (!any_lacks_cpu(waiting) ||
		     patience_is_over(last_ns, WORKER_GROUP_COLLECT_NS, &factor)))
			return;
		if (now_ns >= again_ns) {
			for (size_t c = 0; c < count; c++)
				tell_to_stop(worker_groups[c]);
			for (nfds_t i = 0; i < waiting->count; i++)
				waiting->workers[i]->ended =
					group_worker_ended(waiting->workers[i]);
			again_ns = now_ns + WORKER_WAIT_NS;
		}
		if (await_ready(waiting->fds, waiting->count, again_ns) >= 0)
			receive_ready(waiting);
	}
}

/*
 * What hardly runs takes long to die, too: minutes, of SCHED_IDLE beside others on the only CPU
 * that it may use. What is not permitted stays as it is.
 */
static void let_die(pid_t pid, pid_t tid)
{
	static const struct sched_param none = {.sched_priority = 0};
	struct proc_stat stat;
	struct cpus all;

	/* a thread that has ended may have left its number to one of another process */
	if (!proc_stat_read((uint32_t)pid, (uint32_t)tid, &stat))
		return;
	/* these come before all others already */
	if (stat.policy != SCHED_FIFO && stat.policy != SCHED_RR)
		sched_setscheduler(tid, SCHED_OTHER, &none);
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(tid, sizeof(all), (const cpu_set_t *)&all);
}

/*
 * What reported is about to end; what did not has had its time. All at once: as long as one is
 * waited for, the others would go on.
 */
static void kill_left(struct worker_group *worker_group)
{
	for (unsigned int i = 0; i < worker_group->forked; i++) {
		struct group_worker *worker = &worker_group->workers[i];

		worker->killed = is_there(worker);
		if (worker->killed)
			let_die(worker->pid, thread_of(worker_group, i));
	}
	for (unsigned int i = 0; i < worker_group->forked; i++)
		if (worker_group->workers[i].killed)
			kill_group(worker_group->workers[i].pid, SIGKILL);
}

/* Of a process that is gone: what it wrote since collect() gave up. */
static void receive_rest(struct group_worker *worker)
{
	struct pollfd rest = {.fd = worker->report_fd, .events = POLLIN};

	if (worker->complete || worker->report_fd < 0)
		return;
	/* others may hold the pipe: without a look it might wait for these */
	while (await_ready(&rest, 1, 0) > 0 && receive(worker))
		;
}

static void note_exit(struct group_worker *worker, int status, int error)
{
	worker->pid = 0;
	worker->exit = worker->complete	     ? EXIT_REPORTED
		       : error		     ? EXIT_WAIT_FAILED
		       : worker->killed	     ? EXIT_TIMED_OUT
		       : WIFSIGNALED(status) ? EXIT_SIGNALED
					     : EXIT_EXITED;
	worker->exit_code = error		  ? error
			    : WIFSIGNALED(status) ? WTERMSIG(status)
						  : WEXITSTATUS(status);
}

/* Of worker `i` and all others of its process, which is gone, or was killed. */
static void reap(struct worker_group *worker_group, unsigned int i)
{
	pid_t pid = worker_group->workers[i].pid, got;
	int status = 0, error;

	if (pid <= 0)
		return;
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	error = got < 0 ? errno : 0;
	/* what it left behind in its process group */
	kill(-pid, SIGKILL);
	for (; i < worker_group->forked && worker_group->workers[i].pid == pid; i++) {
		receive_rest(&worker_group->workers[i]);
		note_exit(&worker_group->workers[i], status, error);
	}
}

static void end_group(struct worker_group *worker_group)
{
	uint64_t migrated;

	for (unsigned int i = 0; i < worker_group->forked; i++) {
		reap(worker_group, i);
		if (worker_group->workers[i].report_fd >= 0)
			close(worker_group->workers[i].report_fd);
		worker_group->workers[i].report_fd = -1;
	}
	worker_group->numa_migrated_measured &= machine_numa_migrated(&migrated);
	if (worker_group->numa_migrated_measured)
		worker_group->numa_migrated = migrated - worker_group->numa_migrated;
	worker_group->over = true;
}

void worker_groups_stop(struct worker_group **worker_groups, size_t count)
{
	struct waiting waiting = {.fds = NULL};
	size_t workers = 0;

	for (size_t c = 0; c < count; c++) {
		workers += worker_groups[c]->forked;
		worker_groups[c]->stopped_ns = clock_monotonic_ns();
		/* who still waits for the start is to give up, not to be waited for */
		if (worker_groups[c]->start_fd >= 0)
			close(worker_groups[c]->start_fd);
		worker_groups[c]->start_fd = -1;
	}
	waiting.fds = calloc(workers ? workers : 1, sizeof(*waiting.fds));
	waiting.workers = calloc(workers ? workers : 1, sizeof(*waiting.workers));
	if (waiting.fds && waiting.workers)
		collect(worker_groups, count, &waiting);
	free(waiting.fds);
	free(waiting.workers);
	for (size_t c = 0; c < count; c++)
		kill_left(worker_groups[c]);
	for (size_t c = 0; c < count; c++)
		end_group(worker_groups[c]);
}

void worker_group_release(struct worker_group *worker_group)
{
	kill_left(worker_group);
	for (unsigned int i = 0; i < worker_group->forked; i++) {
		reap(worker_group, i);
		free(worker_group->workers[i].received);
	}
	for (unsigned int i = 0; worker_group->workers && i < worker_group->group->count; i++)
		if (worker_group->workers[i].report_fd >= 0)
			close(worker_group->workers[i].report_fd);
	free(worker_group->workers);
	shared_release(&worker_group->shared);
	if (worker_group->start_fd > 0)
		close(worker_group->start_fd);
	*worker_group = (struct worker_group){.start_fd = -1};
}
