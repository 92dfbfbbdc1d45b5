// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "load/worker_group.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "load/worker_life.h"
#include "load/machine.h"

/* pthread_create() needs little for what the workers do on their stacks */
#define THREAD_STACK_BYTES (256 * 1024)

/* What a thread of `mode: thread` is given. */
static void *thread_main(void *data)
{
	return worker_live(data) < 0 ? data : NULL;
}

/* One process whose threads are the workers; it waits for them all. */
static int run_threads(struct worker_life *worker_lives, unsigned int count)
{
	cleanup_free pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t attr;
	unsigned int started = 0;

	if (!threads || pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES) != 0)
		return -ENOMEM;
	while (started < count &&
	       !pthread_create(&threads[started], &attr, thread_main, &worker_lives[started]))
		started++;
	for (unsigned int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return started < count ? -EAGAIN : 0;
}

_Noreturn static void child(struct worker_life *worker_lives, unsigned int count, pid_t parent)
{
	int result = worker_enter(worker_lives, count, parent);

	if (result >= 0)
		result = worker_lives->group->work->threads ? run_threads(worker_lives, count)
							    : worker_live(worker_lives);
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

static void prepare_life(struct worker_life *worker_life, const struct worker_group *worker_group,
			 unsigned int number, const struct worker_group_options *options,
			 const struct ring *ring)
{
	const struct plan_group *group = worker_group->group;
	unsigned int position = number % group->team_size;
	struct worker *worker = &worker_life->worker;

	*worker_life = (struct worker_life){
		.group = group,
		.number = number,
		.pin = group->cpus ? &group->cpus[number] : NULL,
	};
	*worker = (struct worker){
		.type = group->work->type,
		.params = group->work->params,
		.shared = shared_team(&worker_group->shared, number / group->team_size),
		.index = options->first_index + number,
		.position = position,
		.team_size = group->team_size,
		.pin = worker_life->pin,
		.read_fd = -1,
		.write_fd = -1,
		.event_fd = ring->event_fd,
		.scratch = options->scratch,
		.seed = options->seed,
		.slot = shared_slot(&worker_group->shared, number),
	};
	worker->slot->scheduler_pid =
		group->work->type->flags & WORK_BYPASS ? 0 : options->scheduler_pid;
	worker->cpus = shared_cpus(&worker_group->shared, number);
	worker->cpu_count = worker_group->shared.cpus;
	worker->parts = shared_part(&worker_group->shared, number, 0);
	worker->part_count = worker_group->shared.parts;
	worker->part = worker->slot->part = worker->looked_part = worker->part_count - 1;
	for (size_t i = 0; i < SAMPLES_STREAMS; i++)
		worker->samples[i] = (struct reservoir){
			.samples = shared_samples(&worker_group->shared, number,
						  (enum report_samples)i, worker->part),
			.room = shared_room(&worker_group->shared),
		};
	if (ring->count) {
		worker->write_fd = ring->ends[position][1];
		worker->read_fd = ring->ends[(position + ring->count - 1) % ring->count][0];
	}
}

/* The process of workers `first` up to `first` + `count`, whose lives are prepared. */
static int fork_process(struct worker_group *worker_group, struct worker_life *worker_lives,
			unsigned int first, unsigned int count, int start_fd)
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
		worker_group->workers[first + made].report_fd = ends[0];
		worker_lives[made].report_fd = ends[1];
		worker_lives[made].start_fd = start_fd;
	}
	/* a worker may be stopped before its first instruction: it sees that later */
	sigemptyset(&stop);
	sigaddset(&stop, SIGUSR1);
	sigprocmask(SIG_BLOCK, &stop, &before);
	pid = result < 0 ? -1 : fork();
	if (!pid)
		child(worker_lives, count, parent);
	if (pid < 0 && result >= 0)
		result = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (unsigned int i = 0; i < made; i++)
		close(worker_lives[i].report_fd);
	if (pid < 0)
		return result;
	/* in both, so that neither depends on the other being first */
	setpgid(pid, pid);
	for (unsigned int i = 0; i < count; i++)
		worker_group->workers[first + i].pid = pid;
	worker_group->forked = first + count;
	return 0;
}

static int fork_team(struct worker_group *worker_group, unsigned int first,
		     const struct worker_group_options *options, struct worker_life *worker_lives,
		     int start_fd)
{
	const struct plan_group *group = worker_group->group;
	struct ring ring;
	int result = ring_init(&ring, group);

	for (unsigned int i = 0; result >= 0 && i < group->team_size; i++)
		prepare_life(&worker_lives[i], worker_group, first + i, options, &ring);
	for (unsigned int i = 0; result >= 0 && i < group->team_size; i++)
		result = fork_process(worker_group, &worker_lives[i], first + i, 1, start_fd);
	ring_release(&ring);
	return result;
}

/* All workers in one process: all their descriptors at once. */
static int fork_threads(struct worker_group *worker_group,
			const struct worker_group_options *options, int start_fd)
{
	const struct plan_group *group = worker_group->group;
	unsigned int teams = group->count / group->team_size;
	cleanup_free struct worker_life *worker_lives = calloc(group->count, sizeof(*worker_lives));
	cleanup_free struct ring *rings = calloc(teams, sizeof(*rings));
	unsigned int made = 0;
	int result = worker_lives && rings ? 0 : -ENOMEM;

	for (; result >= 0 && made < teams; made++)
		result = ring_init(&rings[made], group);
	for (unsigned int i = 0; result >= 0 && i < group->count; i++)
		prepare_life(&worker_lives[i], worker_group, i, options,
			     &rings[i / group->team_size]);
	if (result >= 0)
		result = fork_process(worker_group, worker_lives, 0, group->count, start_fd);
	for (unsigned int i = 0; i < made; i++)
		ring_release(&rings[i]);
	return result;
}

static int fork_all(struct worker_group *worker_group, const struct worker_group_options *options,
		    int start_fd)
{
	const struct plan_group *group = worker_group->group;
	cleanup_free struct worker_life *worker_lives =
		calloc(group->team_size, sizeof(*worker_lives));
	int result = worker_lives ? 0 : -ENOMEM;

	if (group->work->threads)
		return fork_threads(worker_group, options, start_fd);
	for (unsigned int first = 0; result >= 0 && first < group->count; first += group->team_size)
		result = fork_team(worker_group, first, options, worker_lives, start_fd);
	return result;
}

int worker_group_fork(struct worker_group *worker_group, const struct plan_group *group,
		      const struct worker_group_options *options, struct error *error)
{
	const struct work_type *type = group->work->type;
	int start[2], result;

	*worker_group = (struct worker_group){.group = group, .start_fd = -1};
	worker_group->workers = calloc(group->count, sizeof(*worker_group->workers));
	if (!worker_group->workers)
		return error_set(error, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < group->count; i++)
		worker_group->workers[i].report_fd = -1;
	result = shared_init(&worker_group->shared, group->count, group->count / group->team_size,
			     options->parts ? options->parts : 1,
			     work_shared_bytes(type, group->work->params), error);
	if (result < 0)
		return result;
	if (pipe2(start, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	worker_group->start_fd = start[1];
	result = fork_all(worker_group, options, start[0]);
	close(start[0]);
	if (result >= 0)
		return 0;
	error_set(error, -result, "cannot make worker %u of %u (%s): %s%s",
		  worker_group->forked + 1, group->count, type->name, strerror(-result),
		  result == -EMFILE   ? "; each needs a descriptor: raise `ulimit -n`"
		  : result == -EAGAIN ? "; is the limit of processes (`ulimit -u`) reached?"
				      : "");
	worker_group_release(worker_group);
	return result;
}

int worker_group_start(struct worker_group *worker_group, struct error *error)
{
	cleanup_free char *bytes = calloc(1, worker_group->group->count);
	size_t left = worker_group->group->count;

	if (!bytes)
		return error_set(error, ENOMEM, "out of memory");
	worker_group->numa_migrated_measured = machine_numa_migrated(&worker_group->numa_migrated);
	worker_group->started_ns = clock_monotonic_ns();
	for (unsigned int i = 0; i < worker_group->forked; i++) {
		struct worker_slot *slot = shared_slot(&worker_group->shared, i);
		uint64_t now_ns = worker_group->started_ns;

		slot->started_ns = now_ns;
		slot->paused_at_start_ns =
			worker_group->frozen ? UINT64_MAX : pauses_until(&slot->pauses, &now_ns);
	}
	while (left) {
		ssize_t written = write(worker_group->start_fd, bytes, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return error_set(error, errno, "cannot start the workers (%s): %s",
					 worker_group->group->work->type->name, strerror(errno));
		left -= (size_t)written;
	}
	close(worker_group->start_fd);
	worker_group->start_fd = -1;
	for (unsigned int i = 0; i < worker_group->group->count; i++)
		worker_group->workers[i].seen_ns = worker_group->started_ns;
	return 0;
}
