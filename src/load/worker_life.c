// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* close_range, sched_getcpu */
#include "load/worker_life.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/priority.h"
#include "base/schedstat.h"
#include "load/setup.h"

static void on_stop(int signal)
{
	(void)signal;
	worker_stop = 1;
}

/* Without SA_RESTART: what blocks is to be interrupted. */
static int hear_stop(void)
{
	struct sigaction stop = {.sa_handler = on_stop};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t none;

	sigemptyset(&none);
	if (sigaction(SIGUSR1, &stop, NULL) < 0 || sigaction(SIGPIPE, &ignore, NULL) < 0 ||
	    sigaction(SIGCHLD, &usual, NULL) < 0 || sigaction(SIGTERM, &usual, NULL) < 0 ||
	    sigaction(SIGINT, &ignore, NULL) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -errno;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Closes what is not of the workers of this process: the ends of other workers' pipes, by which
 * these would never see their partner's end.
 */
static int keep_own(const struct worker_life *worker_lives, unsigned int count)
{
	cleanup_free int *own = malloc((4 * (size_t)count + 2) * sizeof(*own));
	size_t kept = 0;
	int before = STDERR_FILENO;

	if (!own)
		return -ENOMEM;
	own[kept++] = worker_lives[0].start_fd;
	own[kept++] = worker_lives[0].worker.scratch->directory;
	for (unsigned int i = 0; i < count; i++) {
		own[kept++] = worker_lives[i].report_fd;
		own[kept++] = worker_lives[i].worker.read_fd;
		own[kept++] = worker_lives[i].worker.write_fd;
		own[kept++] = worker_lives[i].worker.event_fd;
	}
	qsort(own, kept, sizeof(*own), by_number);
	for (size_t i = 0; i < kept; i++) {
		if (own[i] > before + 1)
			syscall(SYS_close_range, before + 1, own[i] - 1, 0);
		before = own[i] > before ? own[i] : before;
	}
	return syscall(SYS_close_range, before + 1, ~0U, 0) < 0 ? -errno : 0;
}

int worker_enter(struct worker_life *worker_lives, unsigned int count, pid_t parent)
{
	int result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -ESRCH; /* it died before it could be seen to */
	setpgid(0, 0);
	priority_forked();
	result = hear_stop();
	return result < 0 ? result : keep_own(worker_lives, count);
}

static int await_start(int fd)
{
	struct pollfd start = {.fd = fd, .events = POLLIN};
	uint64_t deadline_ns = clock_monotonic_ns() + WORKER_START_S * 1000000000ULL;

	for (;;) {
		/* one that was frozen for long may find the time over, and yet the start given */
		int ready = await_ready(&start, 1, deadline_ns);
		char byte;

		if (ready <= 0)
			return ready < 0 ? ready : -ETIMEDOUT;
		switch (read(fd, &byte, 1)) {
		case 1:
			return 0;
		case 0:
			return -ECANCELED;
		default:
			/* other workers read from the same pipe */
			if (errno != EINTR && errno != EAGAIN)
				return -errno;
		}
	}
}

static void set_up(struct worker_life *worker_life)
{
	const struct spec_work *work = worker_life->group->work;
	struct worker_report *report = &worker_life->worker.report;

	if (worker_life->pin)
		setup_affinity(worker_life->pin, report->affinity_error);
	setup_policy(&work->policy, report->policy_error);
	setup_memory(&work->memory, report->memory_policy_error);
	if (work->nice_given)
		setup_nice(work->nice, report->nice_error);
}

/* Sums up "N0=12 N1=3" over all mappings: Documentation/filesystems/proc.rst, numa_maps. */
static void read_numa_pages(struct worker_report *report)
{
	cleanup_file FILE *file = fopen("/proc/self/numa_maps", "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	if (!file)
		return;
	while (getline(&line, &room, file) >= 0) {
		char *rest = line, *word;

		while ((word = strsep(&rest, " \n"))) {
			unsigned int node;
			unsigned long long pages;

			if (sscanf(word, "N%u=%llu", &node, &pages) == 2 && node < REPORT_NODES)
				report->numa_pages[node] += pages;
		}
	}
	report->numa_measured = 1;
}

static void loop(struct worker *worker)
{
	const struct work_type *type = worker->type;
	uint64_t failed_ns;

	while (!worker_stopping() && !*worker->report.work_error) {
		type->iterate(worker);
		worker->iterations++;
		__atomic_store_n(&worker->slot->iterations, worker->iterations, __ATOMIC_RELAXED);
		/* few iterations are a checkpoint of some types, and these may take long under
		 * load; the coarse clock, of a tick or so, costs next to nothing */
		if (worker->work_units % CHECKPOINT_UNITS == 0 ||
		    clock_ns(CLOCK_MONOTONIC_COARSE) > worker->last_look_ns + WORKER_LOOK_NS)
			worker_look(worker, clock_monotonic_ns());
	}
	failed_ns = clock_monotonic_ns();
	/* what cannot go on stays until it is stopped, so that its partners are not alone */
	while (!worker_stopping())
		clock_sleep_ms(WORKER_WAIT_NS / 1000000);
	if (*worker->report.work_error)
		worker_gave_up(worker, failed_ns);
}

/* From now on it counts: what begin() waited for is not of the work. */
static void begin_telemetry(struct worker *worker)
{
	struct worker_report *report = &worker->report;

	for (size_t i = 0; i < SAMPLES_STREAMS; i++)
		worker->samples[i].total = 0;
	for (uint32_t i = 0; i < worker->part_count; i++) {
		struct worker_part *part = &worker->parts[i];

		memset(part->sample_totals, 0, sizeof(part->sample_totals));
		part->migration_count = part->max_gap_ns = 0;
	}
	report->looks = report->max_gap_ns = report->max_gap_at_ns = report->alarms = 0;
	report->migration_count = report->migrations_kept = 0;
	report->cpus_used = (struct cpus){{0}};
	worker->cpu = (unsigned int)sched_getcpu();
	if (worker->cpu < CPUS_MAX)
		cpus_add(&report->cpus_used, worker->cpu);
	worker_end_turn(worker);
	memset(worker->cpus, 0, worker->cpu_count * sizeof(*worker->cpus));
	worker->asked_ns = 0;
	report->began_ns = clock_monotonic_ns();
	worker->excused_ns = worker_paused_until(worker, &report->began_ns);
	worker->last_look_ns = report->began_ns;
	__atomic_store_n(&worker->slot->looked_ns, report->began_ns, __ATOMIC_RELAXED);
}

/* Of a worker that was let begin, until its work could: waits for a CPU, which are of its work. */
struct lateness {
	uint64_t delay_ns;   /* of its schedstat, the last time; UINT64_MAX: not known */
	uint64_t total_ns;   /* since it was let begin */
	uint64_t longest_ns; /* of that, between two looks */
};

/* `in_one`: what it waited since the last time was one wait. */
static void look_late(struct lateness *late, const struct worker *worker, int schedstat,
		      bool in_one)
{
	uint64_t since_ns = clock_monotonic_ns() - worker->slot->started_ns;
	struct schedstat now;
	uint64_t waited_ns;

	if (late->delay_ns == UINT64_MAX || !schedstat_read(schedstat, &now))
		return;
	waited_ns = now.delay_ns - late->delay_ns;
	late->delay_ns = now.delay_ns;
	/* before that it may have waited, too, among many that are made */
	if (waited_ns > since_ns - late->total_ns)
		waited_ns = since_ns - late->total_ns;
	late->total_ns += waited_ns;
	if (in_one && waited_ns > late->longest_ns)
		late->longest_ns = waited_ns;
}

/*
 * A pause is noted before the kernel is asked to freeze, and until it is known to have thawed, so
 * that none of it is a gap. But what the worker ran in that time, and waited for a CPU, it was not
 * frozen, and a rate has to be of all that time.
 */
static uint64_t frozen_ns(const struct worker_report *report)
{
	uint64_t ready_ns = report->cpu_time_ns + report->schedstat[1];
	uint64_t rest_ns = report->wall_time_ns > ready_ns ? report->wall_time_ns - ready_ns : 0;

	return report->paused_ns < rest_ns ? report->paused_ns : rest_ns;
}

static void work(struct worker_life *worker_life, int schedstat, struct lateness *late)
{
	struct worker *worker = &worker_life->worker;
	struct worker_report *report = &worker->report;
	struct schedstat before, after;
	bool measured;
	uint64_t cpu_ns, ended_ns, before_ns, paused_ns;

	/* what the kernel counts is of no more than the time by the clock, at both ends: a worker
	 * that is preempted here has no share above 100 % */
	begin_telemetry(worker);
	look_late(late, worker, schedstat, !worker->type->begin);
	measured = schedstat_read(schedstat, &before);
	worker->schedstat_fd = schedstat;
	worker->delay_ns = measured ? before.delay_ns : 0;
	worker->delay_read_ns = report->began_ns;
	report->began_ns -= late->total_ns;
	report->late_ns = late->total_ns;
	before.delay_ns -= late->total_ns;
	if (late->longest_ns && !(worker->type->flags & WORK_BYPASS))
		worker_note_gap(worker, report->began_ns + late->total_ns, late->longest_ns);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	before_ns = worker->excused_ns;
	paused_ns = worker->slot->paused_at_start_ns;
	if (paused_ns > before_ns)
		paused_ns = before_ns;
	if (worker->type->flags & WORK_BYPASS)
		worker->type->iterate(worker); /* and it returns when it likes */
	else
		loop(worker);
	/* what came after the last checkpoint may be the longest gap of all */
	if (!(worker->type->flags & WORK_BYPASS))
		worker_look(worker, clock_monotonic_ns());
	worker_end_turn(worker);
	/* that of a program is not known: a thread of ours only waited for it */
	report->schedstat_measured =
		measured && report->program_status < 0 && schedstat_read(schedstat, &after);
	/* both together: their difference is the time off the CPU */
	report->cpu_time_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns + report->program_user_ns +
			      report->program_system_ns;
	/* its time is also that in which it was frozen after its start, and could not begin yet */
	ended_ns = clock_monotonic_ns();
	report->paused_ns = worker_paused_until(worker, &ended_ns) - paused_ns;
	report->wall_time_ns = ended_ns - report->began_ns + before_ns - paused_ns;
	__atomic_store_n(&worker->slot->stopped, 1, __ATOMIC_RELEASE);
	if (!report->schedstat_measured)
		return;
	report->schedstat[0] = after.cpu_ns - before.cpu_ns;
	report->schedstat[1] = after.delay_ns - before.delay_ns;
	report->schedstat[2] = after.count - before.count;
	report->paused_ns = frozen_ns(report);
	report->schedstat_before[0] = before.cpu_ns;
	report->schedstat_before[1] = before.delay_ns;
	report->schedstat_before[2] = before.count;
}

static int tell(struct worker_life *worker_life)
{
	struct worker *worker = &worker_life->worker;
	struct worker_report *report = &worker->report;
	size_t migrations = report->migrations_kept * sizeof(*worker->migrations);
	int result;

	report->magic = REPORT_MAGIC;
	report->bytes = (uint32_t)(sizeof(*report) + migrations);
	report->work_units = worker->work_units;
	report->iterations = worker->iterations;
	worker_enter_part(worker, worker->part);
	for (uint32_t k = 0; k < worker->part_count; k++)
		for (size_t i = 0; i < SAMPLES_STREAMS; i++)
			report->sample_totals[i] += worker->parts[k].sample_totals[i];
	result = file_write(worker_life->report_fd, report, sizeof(*report));
	return result < 0 ? result
			  : file_write(worker_life->report_fd, worker->migrations, migrations);
}

int worker_live(struct worker_life *worker_life)
{
	struct worker *worker = &worker_life->worker;
	cleanup_free struct report_migration *migrations =
		calloc(REPORT_MIGRATIONS, sizeof(*migrations));
	cleanup_close int schedstat = schedstat_open();
	struct schedstat awaiting;
	bool measured = schedstat_read(schedstat, &awaiting);
	struct lateness late = {.delay_ns = measured ? awaiting.delay_ns : UINT64_MAX};
	int result;

	result = migrations ? await_start(worker_life->start_fd) : -ENOMEM;
	if (result < 0)
		return result;
	worker->migrations = migrations;
	worker->tid = (pid_t)syscall(SYS_gettid);
	worker->report.tid = (uint32_t)worker->tid;
	worker->report.program_status = -1;
	worker->schedstat_fd = -1; /* until its work begins */
	worker->random = random_seed(worker->seed, worker->index);
	__atomic_store_n(&worker->slot->tid, worker->report.tid, __ATOMIC_RELAXED);
	look_late(&late, worker, schedstat, true);
	set_up(worker_life);
	look_late(&late, worker, schedstat, true);
	/* begin() may look at the clock, and is not to find that it has been stuck since boot */
	begin_telemetry(worker);
	if (worker->type->begin && worker->type->begin(worker) < 0)
		worker_fail(worker, "it could not begin");
	work(worker_life, schedstat, &late);
	read_numa_pages(&worker->report); /* before its memory is given back */
	if (worker->type->end)
		worker->type->end(worker);
	result = tell(worker_life);
	close(worker_life->report_fd);
	return result;
}
