// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers that do not report as they should: what is judged of them, and that they can end. */
#define _GNU_SOURCE /* sched_setaffinity, SCHED_IDLE */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "load/worker_group.h"

#define WORKERS 2

/* Of this program, and of all that is linked to it: instead of those of the C library. */
static struct {
	uint64_t late_ns, later_ns; /* so much later it is with each look at the clock */
	pid_t killed[WORKERS];
	unsigned int killed_count;
	unsigned int killed_at_wait; /* when one was waited for first */
	bool waited;
	void (*before_kill)(pid_t pid);
} world;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	if (result || clock != CLOCK_MONOTONIC)
		return result;
	world.late_ns += world.later_ns;
	time->tv_sec += (time_t)(world.late_ns / NS_PER_S);
	return 0;
}

int kill(pid_t pid, int signal)
{
	if (signal == SIGKILL && pid > 0 && world.killed_count < WORKERS) {
		if (world.before_kill)
			world.before_kill(pid);
		world.killed[world.killed_count++] = pid;
	}
	return (int)syscall(SYS_kill, pid, signal);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	if (!(options & WNOHANG) && !world.waited) {
		world.killed_at_wait = world.killed_count;
		world.waited = true;
	}
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

/* A group whose workers do what the test says. */
struct made {
	struct spec_work work;
	struct plan_group group;
	struct worker_group worker_group;
	int report_fds[WORKERS];
};

static void make(struct made *made, bool threads)
{
	memset(&world, 0, sizeof(world));
	/* workers do not hear the stop, from their first instruction on */
	signal(SIGUSR1, SIG_IGN);
	*made = (struct made){
		.work.threads = threads,
		.group = {.work = &made->work, .count = WORKERS, .team_size = 1},
		.worker_group = {.group = &made->group, .start_fd = -1},
	};
	made->worker_group.workers = calloc(WORKERS, sizeof(*made->worker_group.workers));
	assert_non_null(made->worker_group.workers);
	assert_int_equal(shared_init(&made->worker_group.shared, WORKERS, 1, 1, 0, NULL), 0);
	for (unsigned int i = 0; i < WORKERS; i++) {
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		made->worker_group.workers[i].report_fd = ends[0];
		made->report_fds[i] = ends[1];
	}
}

static void stop(struct made *made)
{
	struct worker_group *worker_groups[] = {&made->worker_group};

	/* none is waited for longer than a look at the clock takes */
	world.later_ns = 2 * WORKER_GROUP_COLLECT_NS;
	worker_groups_stop(worker_groups, 1);
}

static void unmake(struct made *made)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		close(made->report_fds[i]);
	worker_group_release(&made->worker_group);
}

/* A process that does that, and ends with status 0 if it ends. */
static void fork_worker(struct made *made, void (*live)(const struct made *made, unsigned int i))
{
	unsigned int i = made->worker_group.forked;
	pid_t pid = fork();

	if (!pid) {
		live(made, i);
		_exit(0);
	}
	assert_true(pid > 0);
	made->worker_group.workers[i].pid = pid;
	made->worker_group.forked++;
}

static void await_end(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void sleep_on(const struct made *made, unsigned int i)
{
	(void)made;
	(void)i;
	for (;;)
		pause();
}

static int go[2]; /* a byte in it lets the worker report */
static pid_t late;

static void report_late(const struct made *made, unsigned int i)
{
	struct worker_report report = {.magic = REPORT_MAGIC, .bytes = sizeof(report)};
	char byte;

	if (read(go[0], &byte, 1) != 1 ||
	    write(made->report_fds[i], &report, sizeof(report)) != sizeof(report))
		_exit(2);
}

static void let_report(pid_t pid)
{
	if (pid == late)
		return;
	assert_int_equal(write(go[1], "", 1), 1);
	await_end(late);
}

CASE(a_report_that_comes_while_others_are_killed_counts)
{
	struct made made;

	make(&made, false);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	fork_worker(&made, sleep_on);
	fork_worker(&made, report_late);
	late = made.worker_group.workers[1].pid;
	world.before_kill = let_report;
	stop(&made);
	assert_int_equal(made.worker_group.workers[0].exit, EXIT_TIMED_OUT);
	assert_int_equal(made.worker_group.workers[1].exit, EXIT_REPORTED);
	assert_non_null(worker_group_report(&made.worker_group.workers[1]));
	close(go[0]);
	close(go[1]);
	unmake(&made);
}

/* One that waits for nothing but a CPU may report while another is waited for. */
CASE(all_are_killed_before_one_is_waited_for)
{
	struct made made;

	make(&made, false);
	fork_worker(&made, sleep_on);
	fork_worker(&made, sleep_on);
	stop(&made);
	assert_true(world.waited);
	assert_int_equal(world.killed_at_wait, WORKERS);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(made.worker_group.workers[i].exit, EXIT_TIMED_OUT);
	unmake(&made);
}

CASE(what_has_ended_keeps_its_status)
{
	struct made made;

	make(&made, false);
	fork_worker(&made, sleep_on);
	assert_int_equal(kill(made.worker_group.workers[0].pid, SIGTERM), 0);
	await_end(made.worker_group.workers[0].pid);
	stop(&made);
	assert_int_equal(made.worker_group.workers[0].exit, EXIT_SIGNALED);
	assert_int_equal(made.worker_group.workers[0].exit_code, SIGTERM);
	assert_int_equal(world.killed_count, 0);
	unmake(&made);
}

static unsigned int cpus_of(pid_t pid)
{
	cpu_set_t cpus;

	return sched_getaffinity(pid, sizeof(cpus), &cpus) ? 0 : (unsigned int)CPU_COUNT(&cpus);
}

static unsigned int may_use;
static int policy;

static void note_how_it_runs(pid_t pid)
{
	may_use = cpus_of(pid);
	policy = sched_getscheduler(pid);
}

static void use_one_cpu(pid_t tid)
{
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(tid, sizeof(cpus), &cpus), 0);
	for (int cpu = 0; CPU_COUNT(&cpus) > 1; cpu++)
		CPU_CLR(cpu, &cpus);
	assert_int_equal(sched_setaffinity(tid, sizeof(cpus), &cpus), 0);
}

/* On one CPU, and behind all others. */
static void make_idle(pid_t tid)
{
	static const struct sched_param none = {.sched_priority = 0};

	use_one_cpu(tid);
	assert_int_equal(sched_setscheduler(tid, SCHED_IDLE, &none), 0);
}

CASE(what_is_killed_can_die_on_any_cpu)
{
	struct made made;

	if (geteuid())
		skip(); /* to leave SCHED_IDLE is a privilege */
	make(&made, false);
	fork_worker(&made, sleep_on);
	make_idle(made.worker_group.workers[0].pid);
	world.before_kill = note_how_it_runs;
	stop(&made);
	assert_int_equal(may_use, cpus_of(0));
	assert_int_equal(policy, SCHED_OTHER);
	unmake(&made);
}

static void *run_on(void *slot)
{
	((struct worker_slot *)slot)->tid = (uint32_t)syscall(SYS_gettid);
	if (write(go[1], "", 1) != 1)
		_exit(2);
	for (;;)
		;
	return NULL;
}

/* As in mode: thread, its process sleeps until the thread ends. */
static void run_thread(const struct made *made, unsigned int i)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run_on, shared_slot(&made->worker_group.shared, i)))
		pthread_join(thread, NULL);
}

CASE(of_threads_each_lacks_a_cpu_of_its_own)
{
	struct made made;
	cpu_set_t before;
	char byte;

	make(&made, true);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	fork_worker(&made, run_thread);
	assert_int_equal(read(go[0], &byte, 1), 1);
	/* behind us on the same CPU it wants to run, and hardly does */
	make_idle((pid_t)shared_slot(&made.worker_group.shared, 0)->tid);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	use_one_cpu(0);
	stop(&made);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(made.worker_group.workers[0].exit, EXIT_TIMED_OUT);
	assert_true(made.worker_group.workers[0].lacks_cpu);
	close(go[0]);
	close(go[1]);
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_that_comes_while_others_are_killed_counts),
		cmocka_unit_test(all_are_killed_before_one_is_waited_for),
		cmocka_unit_test(what_has_ended_keeps_its_status),
		cmocka_unit_test(what_is_killed_can_die_on_any_cpu),
		cmocka_unit_test(of_threads_each_lacks_a_cpu_of_its_own),
	};

	return RUN(tests);
}
