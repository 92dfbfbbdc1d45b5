// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "load/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/life.h"

/* pthread_create() needs little for what the workers do on their stacks */
#define THREAD_STACK_BYTES (256 * 1024)

static bool read_numa_migrated(uint64_t *ret_pages)
{
	cleanup_file FILE *file = fopen("/proc/vmstat", "re");
	char name[64];
	unsigned long long value;

	while (file && fscanf(file, "%63s %llu", name, &value) == 2)
		if (!strcmp(name, "numa_pages_migrated")) {
			*ret_pages = value;
			return true;
		}
	return false;
}

/* What a thread of `mode: thread` is given. */
static void *thread_main(void *data)
{
	return life_run(data) < 0 ? data : NULL;
}

/* One process whose threads are the workers; it waits for them all. */
static int run_threads(struct life *lives, unsigned int count)
{
	cleanup_free pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t attr;
	unsigned int started = 0;

	if (!threads || pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES) != 0)
		return -ENOMEM;
	while (started < count &&
	       !pthread_create(&threads[started], &attr, thread_main, &lives[started]))
		started++;
	for (unsigned int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started < count ? -EAGAIN : 0;
}

_Noreturn static void child(struct life *lives, unsigned int count, pid_t parent)
{
	int result = life_enter(lives, count, parent);

	if (result >= 0)
		result = lives->group->work->threads ? run_threads(lives, count) : life_run(lives);
	_exit(result < 0 ? 1 : 0);
}

/* A team's pipes, a ring: member i writes into pipe i, and reads from the one before it. */
struct ring {
	int (*ends)[2];
	unsigned int count;
	int event_fd;
};

static void ring_release(struct ring *ring)
{
	for (unsigned int i = 0; i < ring->count; i++) {
		close(ring->ends[i][0]);
		close(ring->ends[i][1]);
	}
	free(ring->ends);
	if (ring->event_fd >= 0)
		close(ring->event_fd);
}

/* To be released even if it failed. */
static int ring_init(struct ring *ring, const struct plan_group *group)
{
	unsigned int flags = group->work->type->flags;
	unsigned int count = flags & WORK_PIPES ? group->team_size : 0;

	*ring = (struct ring){.ends = calloc(count ? count : 1, sizeof(*ring->ends)),
			      .event_fd = -1};
	if (!ring->ends)
		return -ENOMEM;
	for (; ring->count < count; ring->count++)
		if (pipe2(ring->ends[ring->count], O_CLOEXEC) < 0)
			return -errno;
	if (flags & WORK_EVENTFD)
		ring->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return flags & WORK_EVENTFD && ring->event_fd < 0 ? -errno : 0;
}

static void prepare_life(struct life *life, const struct crew *crew, unsigned int number,
			 const struct crew_options *options, const struct ring *ring)
{
	const struct plan_group *group = crew->group;
	unsigned int position = number % group->team_size;
	struct worker *worker = &life->worker;

	*life = (struct life){
		.group = group,
		.number = number,
		.pin = group->cpus ? &group->cpus[number] : NULL,
	};
	*worker = (struct worker){
		.type = group->work->type,
		.params = group->work->params,
		.shared = arena_team(&crew->arena, number / group->team_size),
		.index = options->first_index + number,
		.position = position,
		.team_size = group->team_size,
		.read_fd = -1,
		.write_fd = -1,
		.event_fd = ring->event_fd,
		.directory = options->directory,
		.seed = options->seed,
		.slot = arena_slot(&crew->arena, number),
	};
	worker->slot->scheduler_pid =
		group->work->type->flags & WORK_BYPASS ? 0 : options->scheduler_pid;
	for (size_t i = 0; i < SAMPLES_STREAMS; i++)
		worker->samples[i].samples =
			arena_samples(&crew->arena, number, (enum report_samples)i);
	if (ring->count) {
		worker->write_fd = ring->ends[position][1];
		worker->read_fd = ring->ends[(position + ring->count - 1) % ring->count][0];
	}
}

/* The process of workers `first` up to `first` + `count`, whose lives are prepared. */
static int fork_process(struct crew *crew, struct life *lives, unsigned int first,
			unsigned int count, int start_fd)
{
	pid_t parent = getpid(), pid;
	sigset_t stop, before;
	unsigned int made = 0;
	int ends[2], result = 0;

	for (; made < count; made++) {
		if (pipe2(ends, O_CLOEXEC) < 0) {
			result = -errno;
			break;
		}
		crew->workers[first + made].report_fd = ends[0];
		lives[made].report_fd = ends[1];
		lives[made].start_fd = start_fd;
	}
	/* a worker may be told to stop before its first instruction: it hears that later */
	sigemptyset(&stop);
	sigaddset(&stop, SIGUSR1);
	sigprocmask(SIG_BLOCK, &stop, &before);
	pid = result < 0 ? -1 : fork();
	if (!pid)
		child(lives, count, parent);
	if (pid < 0 && result >= 0)
		result = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (unsigned int i = 0; i < made; i++)
		close(lives[i].report_fd);
	if (pid < 0)
		return result;
	/* in both, so that neither depends on the other being first */
	setpgid(pid, pid);
	for (unsigned int i = 0; i < count; i++)
		crew->workers[first + i].pid = pid;
	crew->forked = first + count;
	return 0;
}

static int fork_team(struct crew *crew, unsigned int first, const struct crew_options *options,
		     struct life *lives, int start_fd)
{
	const struct plan_group *group = crew->group;
	struct ring ring;
	int result = ring_init(&ring, group);

	for (unsigned int i = 0; result >= 0 && i < group->team_size; i++)
		prepare_life(&lives[i], crew, first + i, options, &ring);
	for (unsigned int i = 0; result >= 0 && i < group->team_size; i++)
		result = fork_process(crew, &lives[i], first + i, 1, start_fd);
	ring_release(&ring);
	return result;
}

/* All workers in one process: all their descriptors at once. */
static int fork_threads(struct crew *crew, const struct crew_options *options, int start_fd)
{
	const struct plan_group *group = crew->group;
	unsigned int teams = group->count / group->team_size;
	cleanup_free struct life *lives = calloc(group->count, sizeof(*lives));
	cleanup_free struct ring *rings = calloc(teams, sizeof(*rings));
	unsigned int made = 0;
	int result = lives && rings ? 0 : -ENOMEM;

	for (; result >= 0 && made < teams; made++)
		result = ring_init(&rings[made], group);
	for (unsigned int i = 0; result >= 0 && i < group->count; i++)
		prepare_life(&lives[i], crew, i, options, &rings[i / group->team_size]);
	if (result >= 0)
		result = fork_process(crew, lives, 0, group->count, start_fd);
	for (unsigned int i = 0; i < made; i++)
		ring_release(&rings[i]);
	return result;
}

static int fork_all(struct crew *crew, const struct crew_options *options, int start_fd)
{
	const struct plan_group *group = crew->group;
	cleanup_free struct life *lives = calloc(group->team_size, sizeof(*lives));
	int result = lives ? 0 : -ENOMEM;

	if (group->work->threads)
		return fork_threads(crew, options, start_fd);
	for (unsigned int first = 0; result >= 0 && first < group->count; first += group->team_size)
		result = fork_team(crew, first, options, lives, start_fd);
	return result;
}

int crew_fork(struct crew *crew, const struct plan_group *group, const struct crew_options *options,
	      struct error *error)
{
	const struct work_type *type = group->work->type;
	int start[2], result;

	*crew = (struct crew){.group = group, .start_fd = -1};
	crew->workers = calloc(group->count, sizeof(*crew->workers));
	if (!crew->workers)
		return error_set(error, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < group->count; i++)
		crew->workers[i].report_fd = -1;
	result = arena_init(&crew->arena, group->count, group->count / group->team_size,
			    work_shared_bytes(type, group->work->params), error);
	if (result < 0)
		return result;
	if (pipe2(start, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	crew->start_fd = start[1];
	result = fork_all(crew, options, start[0]);
	close(start[0]);
	if (result >= 0)
		return 0;
	error_set(error, -result, "cannot make worker %u of %u (%s): %s%s", crew->forked + 1,
		  group->count, type->name, strerror(-result),
		  result == -EMFILE   ? "; each needs a descriptor: raise `ulimit -n`"
		  : result == -EAGAIN ? "; is the limit of processes (`ulimit -u`) reached?"
				      : "");
	crew_release(crew);
	return result;
}

int crew_start(struct crew *crew, struct error *error)
{
	cleanup_free char *bytes = calloc(1, crew->group->count);
	size_t left = crew->group->count;

	if (!bytes)
		return error_set(error, ENOMEM, "out of memory");
	crew->numa_migrated_measured = read_numa_migrated(&crew->numa_migrated);
	crew->started_ns = clock_monotonic_ns();
	while (left) {
		ssize_t written = write(crew->start_fd, bytes, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return error_set(error, errno, "cannot start the workers (%s): %s",
					 crew->group->work->type->name, strerror(errno));
		left -= (size_t)written;
	}
	close(crew->start_fd);
	crew->start_fd = -1;
	for (unsigned int i = 0; i < crew->group->count; i++)
		crew->workers[i].seen_ns = crew->started_ns;
	return 0;
}

bool crew_worker_ended(const struct crew_worker *worker)
{
	siginfo_t info = {.si_pid = 0};

	return worker->pid > 0 &&
	       !waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == worker->pid;
}

static void kill_group(pid_t pid, int signal)
{
	/* both: it may be killed before its group exists */
	if (pid > 0) {
		kill(-pid, signal);
		kill(pid, signal);
	}
}

/*
 * Each thread by itself: of a process, the kernel would interrupt one of them only, and that is the
 * one that waits for the others.
 */
static void tell_to_stop(struct crew *crew)
{
	for (unsigned int i = 0; i < crew->forked; i++) {
		const struct worker_slot *slot = arena_slot(&crew->arena, i);
		pid_t pid = crew->workers[i].pid, tid = 0;

		if (pid <= 0 || crew->workers[i].report_fd < 0)
			continue;
		if (crew->group->work->threads)
			tid = (pid_t)__atomic_load_n(&slot->tid, __ATOMIC_RELAXED);
		if (tid > 0)
			syscall(SYS_tgkill, pid, tid, SIGUSR1);
		else
			kill(pid, SIGUSR1);
	}
}

/* Reads what is there. False: nothing more will come, be it whole or not. */
static bool receive(struct crew_worker *worker)
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
		return false; /* whatever else holds the pipe open need not be waited for */
	case 0:
		return got > 0;
	default:
		return false;
	}
}

struct waiting {
	struct pollfd *fds;
	struct crew_worker **workers;
	nfds_t count;
};

/* Where reports are still to come from. */
static void list_open(struct crew **crews, size_t count, struct waiting *waiting)
{
	waiting->count = 0;
	for (size_t c = 0; c < count; c++)
		for (unsigned int i = 0; i < crews[c]->forked; i++) {
			struct crew_worker *worker = &crews[c]->workers[i];

			if (worker->report_fd < 0)
				continue;
			waiting->workers[waiting->count] = worker;
			waiting->fds[waiting->count++] =
				(struct pollfd){.fd = worker->report_fd, .events = POLLIN};
		}
}

static void receive_ready(const struct waiting *waiting)
{
	for (nfds_t i = 0; i < waiting->count; i++) {
		struct crew_worker *worker = waiting->workers[i];

		/* of one that has ended, what is not there will not come: others may hold the pipe
		 */
		if (waiting->fds[i].revents ? receive(worker) : !worker->ended)
			continue;
		close(worker->report_fd);
		worker->report_fd = -1;
	}
}

/* Until all have reported or ended, or the time is over. The signal is repeated: see worker.h. */
static void collect(struct crew **crews, size_t count, struct waiting *waiting)
{
	uint64_t deadline_ns = clock_monotonic_ns() + CREW_COLLECT_NS;
	uint64_t again_ns = 0;

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();

		list_open(crews, count, waiting);
		if (!waiting->count || now_ns >= deadline_ns)
			return;
		if (now_ns >= again_ns) {
			for (size_t c = 0; c < count; c++)
				tell_to_stop(crews[c]);
			for (nfds_t i = 0; i < waiting->count; i++)
				waiting->workers[i]->ended = crew_worker_ended(waiting->workers[i]);
			again_ns = now_ns + WORKER_WAIT_NS;
		}
		for (nfds_t i = 0; i < waiting->count; i++)
			waiting->fds[i].revents = 0;
		if (poll(waiting->fds, waiting->count, (int)((again_ns - now_ns) / 1000000) + 1) >=
		    0)
			receive_ready(waiting);
	}
}

/* Its process is gone, or will be now. */
static void reap(struct crew *crew, unsigned int i)
{
	struct crew_worker *worker = &crew->workers[i];
	pid_t pid = worker->pid, got;
	bool alive = false;
	int status = 0, error = 0;

	if (pid <= 0)
		return;
	got = waitpid(pid, &status, WNOHANG);
	if (!got) {
		alive = true;
		/* what reported is about to end; what did not has had its time */
		kill_group(pid, SIGKILL);
		do
			got = waitpid(pid, &status, 0);
		while (got < 0 && errno == EINTR);
	}
	if (got < 0)
		error = errno;
	/* what it left behind in its process group */
	kill(-pid, SIGKILL);
	for (; i < crew->forked && crew->workers[i].pid == pid; i++) {
		worker = &crew->workers[i];
		worker->pid = 0;
		worker->exit = worker->complete	     ? EXIT_REPORTED
			       : error		     ? EXIT_WAIT_FAILED
			       : alive		     ? EXIT_TIMED_OUT
			       : WIFSIGNALED(status) ? EXIT_SIGNALED
						     : EXIT_EXITED;
		worker->exit_code = error		  ? error
				    : WIFSIGNALED(status) ? WTERMSIG(status)
							  : WEXITSTATUS(status);
	}
}

static void end_crew(struct crew *crew)
{
	uint64_t migrated;

	for (unsigned int i = 0; i < crew->forked; i++) {
		reap(crew, i);
		if (crew->workers[i].report_fd >= 0)
			close(crew->workers[i].report_fd);
		crew->workers[i].report_fd = -1;
	}
	crew->numa_migrated_measured &= read_numa_migrated(&migrated);
	if (crew->numa_migrated_measured)
		crew->numa_migrated = migrated - crew->numa_migrated;
	crew->over = true;
}

void crews_stop(struct crew **crews, size_t count)
{
	struct waiting waiting = {.fds = NULL};
	size_t workers = 0;

	for (size_t c = 0; c < count; c++) {
		workers += crews[c]->forked;
		crews[c]->stopped_ns = clock_monotonic_ns();
		/* who still waits for the start is to give up, not to be waited for */
		if (crews[c]->start_fd >= 0)
			close(crews[c]->start_fd);
		crews[c]->start_fd = -1;
	}
	waiting.fds = calloc(workers ? workers : 1, sizeof(*waiting.fds));
	waiting.workers = calloc(workers ? workers : 1, sizeof(*waiting.workers));
	if (waiting.fds && waiting.workers)
		collect(crews, count, &waiting);
	free(waiting.fds);
	free(waiting.workers);
	for (size_t c = 0; c < count; c++)
		end_crew(crews[c]);
}

void crew_release(struct crew *crew)
{
	for (unsigned int i = 0; i < crew->forked; i++) {
		reap(crew, i);
		free(crew->workers[i].received);
	}
	for (unsigned int i = 0; crew->workers && i < crew->group->count; i++)
		if (crew->workers[i].report_fd >= 0)
			close(crew->workers[i].report_fd);
	free(crew->workers);
	arena_release(&crew->arena);
	if (crew->start_fd > 0)
		close(crew->start_fd);
	*crew = (struct crew){.start_fd = -1};
}
