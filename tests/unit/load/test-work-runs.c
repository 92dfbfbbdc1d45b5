// SPDX-License-Identifier: GPL-2.0-or-later
/* Every work type for real, as root and as nobody: what moves, what is sampled, what is left. */
#define _GNU_SOURCE /* setresuid */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "load/worker_group.h"
#include "load/scratch.h"

#define NOBODY	    65534
#define RUN_NS	    (200 * NS_PER_MS)
#define LONG_RUN_NS (4000 * NS_PER_MS)
#define PATIENCE_NS (20 * NS_PER_S) /* for a busy machine */
#define LOOK_US	    5000
#define MOVES_MIN   2
#define SAMPLED_MIN 10 /* iterations, of which the first ones have no sample */

/* Sets of positions in a team. */
#define FIRST  1U
#define OTHERS (~FIRST)
#define ALL    (~0U)
#define AT(n)  (1U << (n))

struct run {
	const char *work;
	unsigned int teams;
	/* sets of positions */
	unsigned int move;		       /* those of whom it is expected */
	unsigned int samples[SAMPLES_STREAMS]; /* those that have some; the others have none */
	unsigned int may[SAMPLES_STREAMS]; /* those of them that may have none: nothing was in their
					      way */
	bool one_cpu; /* all on the same one: real-time policies leave the other to us */
	enum {
		SAYS_NOTHING,
		SAYS_NOTE,  /* without privileges, and works all the same */
		SAYS_ERROR, /* without privileges, and does not work */
	} unprivileged;
	bool note_anyway; /* depends on the machine */
};

#define RESUME	     .samples[SAMPLES_RESUME]
#define WOKEN	     .samples[SAMPLES_WAKE_TO_RUN]
#define COST	     .samples[SAMPLES_COST]
#define MAY_BE_WOKEN .may[SAMPLES_WAKE_TO_RUN]
#define MAY_RESUME   .may[SAMPLES_RESUME]

static const struct run runs[] = {
	{.work = "spin-wait", .teams = 2, .move = ALL},
	{.work = "yield-heavy", .teams = 2, .move = ALL},
	{.work = "mixed", .teams = 2, .move = ALL},
	{.work = "bursty:burst=20ms,sleep=30ms",
	 .teams = 2,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL},
	{.work = "pipe-io", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "futex-ping-pong", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "cache-pressure", .teams = 2, .move = ALL},
	{.work = "cache-yield", .teams = 2, .move = ALL, RESUME = ALL},
	{.work = "cache-pipe", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "futex-fan-out", .teams = 1, .move = ALL, RESUME = OTHERS, WOKEN = OTHERS},
	{.work = "fan-out-compute", .teams = 1, .move = ALL, RESUME = OTHERS, WOKEN = OTHERS},
	{.work = "affinity-churn", .teams = 2, .move = ALL, RESUME = ALL},
	{.work = "cross-affinity-churn", .teams = 3, .move = ALL, RESUME = ALL},
	{.work = "policy-churn",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 .one_cpu = true,
	 .unprivileged = SAYS_NOTE},
	{.work = "nice-sweep", .teams = 2, .move = ALL, RESUME = ALL, .unprivileged = SAYS_NOTE},
	{.work = "mutex-contention",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 MAY_BE_WOKEN = ALL},
	{.work = "page-fault-churn", .teams = 2, .move = ALL},
	{.work = "io-sync-write", .teams = 1, .move = ALL, RESUME = ALL, .note_anyway = true},
	{.work = "io-rand-read", .teams = 1, .move = ALL, RESUME = ALL, .note_anyway = true},
	{.work = "io-convoy", .teams = 1, .move = ALL, RESUME = ALL, .note_anyway = true},
	{.work = "fork-exit", .teams = 2, .move = ALL, RESUME = ALL},
	{.work = "sequence",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 .note_anyway = true},
	{.work = "sequence:phases=spin:1ms+alu:1ms", .teams = 1, .move = ALL, COST = ALL},
	{.work = "thundering-herd", .teams = 1, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "thundering-herd:waiters=2,batches=3",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 .note_anyway = true},
	{.work = "priority-inversion",
	 .teams = 1,
	 .move = ALL,
	 RESUME = AT(0) | AT(2),
	 MAY_RESUME = AT(2),
	 WOKEN = AT(0) | AT(2),
	 MAY_BE_WOKEN = ALL,
	 .one_cpu = true,
	 .unprivileged = SAYS_NOTE},
	{.work = "priority-inversion:mode=pi",
	 .teams = 1,
	 .move = ALL,
	 WOKEN = AT(0) | AT(2),
	 MAY_BE_WOKEN = ALL,
	 .one_cpu = true,
	 .unprivileged = SAYS_NOTE},
	{.work = "producer-consumer", .teams = 2, .move = ALL, RESUME = AT(2), WOKEN = AT(2)},
	{.work = "producer-consumer:depth=1,rate=100000,consumers=2",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 MAY_RESUME = ALL,
	 MAY_BE_WOKEN = ALL},
	{.work = "rt-starvation", .teams = 1, .move = ALL, .unprivileged = SAYS_NOTE},
	{.work = "asymmetric-waker", .teams = 2, .move = ALL, RESUME = OTHERS, WOKEN = OTHERS},
	{.work = "asymmetric-waker:waker=batch,wakee=fifo",
	 .teams = 1,
	 .move = ALL,
	 RESUME = OTHERS,
	 WOKEN = OTHERS,
	 .unprivileged = SAYS_NOTE},
	{.work = "wake-chain", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "wake-chain:by=futex,depth=3", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "numa-working-set-sweep:period=20ms",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 .note_anyway = true},
	{.work = "numa-migration-churn:period=20ms", .teams = 1, .move = ALL, .note_anyway = true},
	{.work = "cgroup-churn:period=20ms", .teams = 2, .move = ALL, .unprivileged = SAYS_ERROR},
	{.work = "cgroup-attach-storm",
	 .teams = 2,
	 .move = ALL,
	 RESUME = ALL,
	 .unprivileged = SAYS_ERROR},
	{.work = "cgroup-attach-storm:reap=sigign",
	 .teams = 1,
	 .move = ALL,
	 .unprivileged = SAYS_ERROR},
	{.work = "signal-storm", .teams = 2, .move = ALL},
	{.work = "preempt-storm", .teams = 1, .move = ALL, .unprivileged = SAYS_NOTE},
	{.work = "epoll-storm", .teams = 2, .move = ALL, RESUME = OTHERS, WOKEN = OTHERS},
	{.work = "idle-churn", .teams = 2, .move = ALL, WOKEN = ALL},
	{.work = "alu-hot", .teams = 2, .move = ALL, COST = ALL},
	{.work = "ipc-variance:alu_iters=10000", .teams = 2, .move = ALL, COST = ALL},
	{.work = "smt-sibling-spin", .teams = 1, .move = ALL, COST = ALL, .note_anyway = true},
	{.work = "timer-latency", .teams = 2, .move = ALL, WOKEN = ALL},
	{.work = "rt-app", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
	{.work = "rt-app:tasks=task=a phase lock=m wait=c/m unlock=m task=b phase lock=m signal=c "
		 "unlock=m sleep=1ms barrier=b task=d phase barrier=b run=10us yield mem=64 "
		 "iorun=8",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 MAY_BE_WOKEN = ALL},
	{.work = "open-loop:load=5%",
	 .teams = 2,
	 .move = ALL,
	 COST = ALL,
	 WOKEN = ALL,
	 MAY_BE_WOKEN = ALL},
	{.work = "taobench:clients=2,slow=1,memory=1M",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 COST = AT(0) | AT(1),
	 MAY_RESUME = AT(2),
	 MAY_BE_WOKEN = ALL},
	{.work = "taobench:clients=2,slow=1,memory=1M,arrival=5000,hit_rate=50%",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ALL,
	 WOKEN = ALL,
	 COST = AT(0) | AT(1),
	 MAY_RESUME = AT(2),
	 MAY_BE_WOKEN = ALL},
	{.work = "net-traffic", .teams = 2, .move = ALL, .unprivileged = SAYS_ERROR},
	{.work = "irq-wake:frame=1514",
	 .teams = 2,
	 .move = ALL,
	 RESUME = OTHERS,
	 WOKEN = OTHERS,
	 .unprivileged = SAYS_ERROR},
	{.work = "schbench:threads=3,footprint=6K",
	 .teams = 1,
	 .move = ALL,
	 RESUME = OTHERS,
	 WOKEN = OTHERS,
	 COST = OTHERS,
	 MAY_BE_WOKEN = ALL},
	{.work = "schbench:message_threads=2,threads=2,footprint=6K,locking=no",
	 .teams = 1,
	 .move = ALL,
	 RESUME = ~(AT(0) | AT(1)),
	 WOKEN = ~(AT(0) | AT(1)),
	 COST = ~(AT(0) | AT(1)),
	 MAY_BE_WOKEN = ALL},
	{.work = "schbench:threads=2,footprint=6K,rps=200",
	 .teams = 1,
	 .move = OTHERS,
	 RESUME = OTHERS,
	 WOKEN = OTHERS,
	 COST = OTHERS,
	 MAY_RESUME = ALL,
	 MAY_BE_WOKEN = ALL},
	{.work = "schbench:threads=2,footprint=6K,auto_rps=1",
	 .teams = 1,
	 .move = OTHERS,
	 RESUME = OTHERS,
	 WOKEN = OTHERS,
	 COST = OTHERS,
	 MAY_RESUME = ALL,
	 MAY_BE_WOKEN = ALL},
};

static char directory[] = "/tmp/dwell-work-runs-XXXXXX";

static bool in_set(unsigned int set, unsigned int position)
{
	return set >> position & 1;
}

static uint64_t iterations_of(const struct worker_group *worker_group, unsigned int worker)
{
	return __atomic_load_n(&shared_slot(&worker_group->shared, worker)->iterations,
			       __ATOMIC_RELAXED);
}

/* A while, and until all have moved that should. */
static void await_moves(const struct run *run, const struct worker_group *worker_group,
			uint64_t run_ns)
{
	bool fails = geteuid() && run->unprivileged == SAYS_ERROR, all = false;
	uint64_t began_ns = clock_monotonic_ns();

	while (clock_monotonic_ns() - began_ns < (all ? run_ns : PATIENCE_NS)) {
		all = true;
		for (unsigned int i = 0; !fails && i < worker_group->group->count; i++)
			all &= !in_set(run->move, i % worker_group->group->team_size) ||
			       iterations_of(worker_group, i) >= MOVES_MIN;
		usleep(LOOK_US);
	}
}

/* Problems are counted, and printed on the way: they may be found in a child. */
static int wrong(const struct run *run, unsigned int worker, const char *what, const char *text)
{
	print_error("%s%s, worker %u: %s%s%s\n", geteuid() ? "unprivileged: " : "", run->work,
		    worker, what, *text ? ": " : "", text);
	return 1;
}

static int check_said(const struct run *run, unsigned int i, const struct worker_report *report)
{
	bool privileged = !geteuid();
	bool failed = !privileged && run->unprivileged == SAYS_ERROR;
	bool noted = !privileged && run->unprivileged == SAYS_NOTE;
	int problems = 0;

	if (!failed != !*report->work_error)
		problems += wrong(run, i, failed ? "no error" : "an error", report->work_error);
	if (!run->note_anyway && !noted && *report->note)
		problems += wrong(run, i, "a note", report->note);
	return problems;
}

static int check_worker(const struct run *run, const struct worker_group *worker_group,
			unsigned int i)
{
	static const char *const streams[] = {"resume", "wake-to-run", "cost"};
	const struct worker_report *report = worker_group_report(&worker_group->workers[i]);
	unsigned int position = i % worker_group->group->team_size;
	int problems = 0;
	bool works;

	if (!report)
		return wrong(run, i, "no report", "");
	problems += check_said(run, i, report);
	works = !*report->work_error;
	if (works && in_set(run->move, position) && report->iterations < MOVES_MIN)
		problems += wrong(run, i, "did not move", "");
	if (works && in_set(run->move, position) && !report->work_units)
		problems += wrong(run, i, "no units", "");
	for (size_t stream = 0; stream < SAMPLES_STREAMS; stream++) {
		unsigned int set = run->samples[stream];
		uint64_t total = report->sample_totals[stream];

		if (works && in_set(set, position) && !total && !in_set(run->may[stream], position))
			problems += wrong(run, i, "no samples", streams[stream]);
		if (!in_set(set, position) && total)
			problems += wrong(run, i, "samples", streams[stream]);
	}
	return problems;
}

/* Of a type that says something without privileges, one of a team does. */
static int check_notes(const struct run *run, const struct worker_group *worker_group)
{
	if (!geteuid() || run->unprivileged != SAYS_NOTE)
		return 0;
	for (unsigned int i = 0; i < worker_group->group->count; i++)
		if (worker_group_report(&worker_group->workers[i]) &&
		    *worker_group_report(&worker_group->workers[i])->note)
			return 0;
	return wrong(run, 0, "no note", "");
}

/* Children of workers would have become ours. */
static int check_gone(const struct run *run)
{
	pid_t pid = waitpid(-1, NULL, WNOHANG);

	return pid < 0 && errno == ECHILD ? 0 : wrong(run, 0, "a process is left", "");
}

static int try_run(const struct run *run, bool threads, uint64_t run_ns)
{
	struct scratch scratch = {.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct worker_group_options options = {.seed = 42, .scratch = &scratch};
	struct spec_work work = {.threads = threads};
	struct plan_group group = {.work = &work};
	struct worker_group worker_group = {.start_fd = -1}, *worker_groups[] = {&worker_group};
	struct error error = {""};
	int problems = 0;

	if (spec_parse_work(&work, run->work, &error) < 0)
		return wrong(run, 0, "cannot be read", error.text);
	group.team_size = work_team_size(work.type, work.params);
	group.count = run->teams * group.team_size;
	group.cpus = run->one_cpu ? calloc(group.count, sizeof(*group.cpus)) : NULL;
	for (unsigned int i = 0; group.cpus && i < group.count; i++)
		cpus_add(&group.cpus[i], 0);
	if (work.type->check && work.type->check(work.params, &error) < 0)
		problems += wrong(run, 0, "is refused", error.text);
	if (worker_group_fork(&worker_group, &group, &options, &error) < 0 ||
	    worker_group_start(&worker_group, &error) < 0) {
		problems += wrong(run, 0, "does not start", error.text);
	} else {
		await_moves(run, &worker_group, run_ns);
		worker_groups_stop(worker_groups, 1);
		for (unsigned int i = 0; i < group.count; i++)
			problems += check_worker(run, &worker_group, i);
		problems += check_notes(run, &worker_group);
		worker_group_release(&worker_group);
		problems += check_gone(run);
	}
	params_release(work.type->params, work.params);
	free(work.params);
	free(group.cpus);
	close(scratch.directory);
	return problems;
}

/*
 * Where many others want the CPUs, workers of a team hardly ever run at once, so that none waits
 * for another in so short a time: then it gets more of it.
 */
static int do_run(const struct run *run, bool threads)
{
	return try_run(run, threads, RUN_NS) ? try_run(run, threads, LONG_RUN_NS) : 0;
}

static int do_all(void)
{
	const char *only = getenv("WORK");
	int problems = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		if (!only || !strncmp(runs[i].work, only, strlen(only)))
			problems += do_run(&runs[i], false);
	return problems;
}

CASE(every_type_works)
{
	assert_int_equal(do_all(), 0);
}

/* As threads of one process, which share their descriptors and signals. */
CASE(teams_work_as_threads)
{
	static const struct run threads[] = {
		{.work = "mutex-contention",
		 .teams = 2,
		 .move = ALL,
		 RESUME = ALL,
		 MAY_RESUME = ALL,
		 WOKEN = ALL,
		 MAY_BE_WOKEN = ALL},
		{.work = "producer-consumer",
		 .teams = 2,
		 .move = ALL,
		 RESUME = AT(2),
		 WOKEN = AT(2)},
		{.work = "wake-chain:by=futex", .teams = 2, .move = ALL, RESUME = ALL, WOKEN = ALL},
		{.work = "signal-storm", .teams = 2, .move = ALL},
		{.work = "epoll-storm", .teams = 2, .move = ALL, RESUME = OTHERS, WOKEN = OTHERS},
	};
	int problems = 0;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		problems += do_run(&threads[i], true);
	assert_int_equal(problems, 0);
}

/* What an op does to a group that it freezes and thaws, but for the kernel's part. */
static void pretend_freeze(const struct worker_group *worker_group)
{
	for (unsigned int i = 0; i < worker_group->group->count; i++) {
		struct pauses *pauses = &shared_slot(&worker_group->shared, i)->pauses;
		uint64_t now_ns = clock_monotonic_ns();

		pauses_begin(pauses, now_ns - NS_PER_MS);
		pauses_end(pauses, now_ns);
	}
}

/* From now on a part of the run is counted for itself. */
static void begin_part(const struct worker_group *worker_group, uint32_t part)
{
	for (unsigned int i = 0; i < worker_group->group->count; i++)
		__atomic_store_n(&shared_slot(&worker_group->shared, i)->part, part,
				 __ATOMIC_RELEASE);
}

/* Until the first worker has done so many more. */
static void await_iterations(const struct worker_group *worker_group, uint64_t count)
{
	uint64_t aim = iterations_of(worker_group, 0) + count, began_ns = clock_monotonic_ns();

	while (iterations_of(worker_group, 0) < aim &&
	       clock_monotonic_ns() - began_ns < PATIENCE_NS)
		usleep(LOOK_US);
}

/* How many samples the first worker has taken after a freeze. */
static uint64_t samples_after_freeze(const char *name, enum report_samples stream)
{
	struct scratch scratch = {.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct worker_group_options options = {.seed = 42, .parts = 2, .scratch = &scratch};
	struct spec_work work = {0};
	struct plan_group group = {.work = &work};
	struct worker_group worker_group = {.start_fd = -1}, *worker_groups[] = {&worker_group};
	uint64_t total;

	assert_int_equal(spec_parse_work(&work, name, NULL), 0);
	group.count = group.team_size = work_team_size(work.type, work.params);
	assert_int_equal(worker_group_fork(&worker_group, &group, &options, NULL), 0);
	assert_int_equal(worker_group_start(&worker_group, NULL), 0);
	await_iterations(&worker_group, MOVES_MIN);
	pretend_freeze(&worker_group);
	begin_part(&worker_group, 0);
	await_iterations(&worker_group, SAMPLED_MIN);
	worker_groups_stop(worker_groups, 1);
	total = shared_part(&worker_group.shared, 0, 0)->sample_totals[stream];
	worker_group_release(&worker_group);
	params_release(work.type->params, work.params);
	free(work.params);
	close(scratch.directory);
	return total;
}

CASE(samples_go_on_after_a_freeze)
{
	static const char *const works[] = {
		"taobench:clients=1,slow=1,memory=1M",
		"taobench:clients=1,slow=1,memory=1M,arrival=5000",
		"open-loop:load=5%",
		"alu-hot",
	};

	for (size_t i = 0; i < ARRAY_SIZE(works); i++)
		if (!samples_after_freeze(works[i], SAMPLES_COST))
			fail_msg("%s has no samples of cost", works[i]);
}

/* An op takes time until the kernel has frozen the worker, and to find that it has thawed. */
CASE(what_a_worker_does_in_a_pause_is_of_its_rate)
{
	struct scratch scratch = {.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct worker_group_options options = {.seed = 42, .parts = 1, .scratch = &scratch};
	struct spec_work work = {0};
	struct plan_group group = {.work = &work, .count = 1, .team_size = 1};
	struct worker_group worker_group = {.start_fd = -1}, *worker_groups[] = {&worker_group};
	const struct worker_report *report;

	assert_int_equal(spec_parse_work(&work, "spin-wait", NULL), 0);
	assert_int_equal(worker_group_fork(&worker_group, &group, &options, NULL), 0);
	assert_int_equal(worker_group_start(&worker_group, NULL), 0);
	await_iterations(&worker_group, 1);
	pauses_begin(&shared_slot(&worker_group.shared, 0)->pauses, clock_monotonic_ns());
	await_iterations(&worker_group, SAMPLED_MIN);
	worker_groups_stop(worker_groups, 1);
	report = worker_group_report(&worker_group.workers[0]);
	assert_non_null(report);
	/* of a spinner that is all its time */
	if (report->schedstat_measured)
		assert_true(report->paused_ns < report->wall_time_ns / 2);
	worker_group_release(&worker_group);
	params_release(work.type->params, work.params);
	free(work.params);
	close(scratch.directory);
}

CASE(every_type_reports_without_privileges)
{
	int status = 0;
	pid_t pid;

	if (geteuid())
		skip(); /* it has been tried already */
	pid = fork();
	if (!pid) {
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(2);
		_exit(do_all() ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is_of(const struct run *run, const struct work_type *type)
{
	size_t length = strlen(type->name);

	return !strncmp(run->work, type->name, length) &&
	       (!run->work[length] || run->work[length] == ':');
}

/* Everything that was tried is in the list, and nothing is left in the directory. */
CASE(every_type_was_run)
{
	for (size_t t = 0; work_types[t]; t++) {
		size_t i = 0;

		while (i < ARRAY_SIZE(runs) && !is_of(&runs[i], work_types[t]))
			i++;
		if (i == ARRAY_SIZE(runs) && !(work_types[t]->flags & WORK_BYPASS))
			fail_msg("%s is not in the list", work_types[t]->name);
	}
}

/* Those of which it depends on what they are given may have none: nothing is said of them. */
CASE(types_that_wait_say_so)
{
	for (size_t t = 0; work_types[t]; t++) {
		bool some = false, all = true;

		for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
			bool waits = runs[i].samples[SAMPLES_RESUME] ||
				     runs[i].samples[SAMPLES_WAKE_TO_RUN];

			if (!is_of(&runs[i], work_types[t]))
				continue;
			some |= waits;
			all &= waits;
		}
		if (strcmp(work_types[t]->name, "rt-app") != 0 &&
		    (some && all) != !!(work_types[t]->flags & WORK_WAITS))
			fail_msg("%s", work_types[t]->name);
	}
}

CASE(no_file_is_left)
{
	assert_int_equal(rmdir(directory), 0);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) && !chmod(directory, 0777) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(every_type_works),
		cmocka_unit_test(teams_work_as_threads),
		cmocka_unit_test(samples_go_on_after_a_freeze),
		cmocka_unit_test(what_a_worker_does_in_a_pause_is_of_its_rate),
		cmocka_unit_test(every_type_reports_without_privileges),
		cmocka_unit_test(every_type_was_run),
		cmocka_unit_test(types_that_wait_say_so),
		cmocka_unit_test(no_file_is_left),
	};

	return cmocka_run_group_tests(cases, make_directory, NULL);
}
