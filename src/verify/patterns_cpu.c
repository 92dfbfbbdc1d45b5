// SPDX-License-Identifier: GPL-2.0-or-later
/* Having, and waiting for, a CPU; being born, stopped and ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify/pattern.h"

void pattern_pin(void)
{
	cpu_set_t cpus;
	int last = CPU_SETSIZE - 1;

	/* the number of CPUs says nothing of theirs: some are offline, or of other containers */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		die("sched_getaffinity");
	while (last && !CPU_ISSET(last, &cpus))
		last--;
	CPU_ZERO(&cpus);
	CPU_SET(last, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		die("sched_setaffinity");
}

/* One of several that spin, each in its own way. */
struct spinner {
	const char *pattern, *name;
	enum state state;
	int nice;
	int policy; /* SCHED_OTHER, or what else it is to be */
	bool in_kernel;
	/* who takes its CPU, among them the one that starts them; NULL: no thread, or not only one
	 */
	const char *thieves;
};

/* Opened before anything is measured: who opens it may sleep for some milliseconds. */
static int zero = -1;

static void spin_in_kernel(uint64_t ns)
{
	static char bytes[65536];

	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		if (read(zero, bytes, sizeof(bytes)) < 0)
			die("/dev/zero");
}

static void *spin(void *data)
{
	const struct spinner *spinner = data;
	struct sched_param parameters = {.sched_priority = spinner->policy == SCHED_FIFO ? 1 : 0};
	struct meter meter;

	meter_start(&meter, spinner->pattern, spinner->name);
	meter_expect(&meter, spinner->state, NULL);
	if (spinner->thieves)
		meter_blame(&meter, STATE_RUNNABLE, WIRE_CULPRIT_THREAD, spinner->thieves);
	if (spinner->nice)
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), spinner->nice);
	if (spinner->policy)
		sched_setscheduler(0, spinner->policy, &parameters);
	if (spinner->in_kernel)
		spin_in_kernel(pattern_run_ns);
	else
		spin_wall_ns(pattern_run_ns);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

/* All on one CPU. */
static void spin_together(const struct spinner *spinners, size_t count)
{
	pthread_t threads[8];
	struct meter meter;

	meter_start(&meter, spinners->pattern, "spin-main");
	pattern_pin();
	for (size_t i = 0; i < count; i++)
		threads[i] = start(spin, (void *)(uintptr_t)&spinners[i]);
	for (size_t i = 0; i < count; i++)
		join(threads[i]);
	meter_report(&meter, STATE_IDLE); /* pthread_join */
}

static void one_spinner(const char *path)
{
	static const struct spinner alone = {"spin",	  "spin", STATE_USER, 0,
					     SCHED_OTHER, false,  NULL};

	(void)path;
	spin_together(&alone, 1);
}

static void kernel_spinner(const char *path)
{
	static const struct spinner alone = {"spin-kernel", "spin", STATE_KERNEL, 0,
					     SCHED_OTHER,   true,   NULL};

	(void)path;
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	spin_together(&alone, 1);
}

static void two_spinners(const char *path)
{
	static const struct spinner pair[] = {
		{"two-spinners", "spin-1", STATE_RUNNABLE, 0, SCHED_OTHER, false, "spin-@(2|main)"},
		{"two-spinners", "spin-2", STATE_RUNNABLE, 0, SCHED_OTHER, false, "spin-@(1|main)"},
	};

	(void)path;
	spin_together(pair, 2);
}

static void nice_spinners(const char *path)
{
	static const struct spinner pair[] = {
		{"nice", "spin-nice-0", STATE_USER, 0, SCHED_OTHER, false,
		 "spin-@(nice-10|idle|main)"},
		{"nice", "spin-nice-10", STATE_RUNNABLE, 10, SCHED_OTHER, false,
		 "spin-@(nice-0|idle|main)"},
		{"nice", "spin-idle", STATE_RUNNABLE, 0, SCHED_IDLE, false, "spin-@(nice-*|main)"},
	};

	(void)path;
	spin_together(pair, 3);
}

static void burst_and_sleep(const char *path)
{
	struct meter meter;

	(void)path;
	meter_start(&meter, "burst", "burst");
	meter_expect(&meter, STATE_SLEEP, "clock_nanosleep");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		spin_wall_ns(50 * NS_PER_MS);
		meter_sleep(&meter, 100 * NS_PER_MS);
	}
	meter_report(&meter, STATE_STOLEN);
}

static void nap_often(const char *path)
{
	struct meter meter;

	(void)path;
	meter_start(&meter, "naps", "naps");
	meter_expect(&meter, STATE_SLEEP, "clock_nanosleep");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		spin_wall_ns(200 * NS_PER_US);
		meter_sleep(&meter, NS_PER_MS);
	}
	meter_report(&meter, STATE_STOLEN);
}

static void *live_briefly(void *data)
{
	struct meter meter;

	(void)data;
	meter_start(&meter, "short-lived", "short");
	meter_expect(&meter, STATE_SLEEP, "clock_nanosleep");
	spin_cpu_ns(5 * NS_PER_MS);
	meter_sleep(&meter, 5 * NS_PER_MS);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

static void short_lived(const char *path)
{
	uint64_t end_ns = pattern_end_ns();
	struct meter meter;

	(void)path;
	meter_start(&meter, "short-lived", "short-main");
	meter_expect(&meter, STATE_IDLE, "futex:cond");
	while (now_ns() < end_ns) {
		meter_begin(&meter);
		join(start(live_briefly, NULL));
		meter_end(&meter, STATE_IDLE);
	}
	meter_report(&meter, STATE_STOLEN);
}

#define NEWBORN 12

static void *be_born(void *data)
{
	struct meter meter;

	(void)data;
	meter_start(&meter, "born", "born");
	meter_expect(&meter, STATE_RUNNABLE, NULL);
	meter_blame(&meter, STATE_RUNNABLE, WIRE_CULPRIT_THREAD, "born");
	spin_cpu_ns(pattern_run_ns / NEWBORN);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

/* All at once: some wait for a CPU for the first time for long. */
static void many_born(const char *path)
{
	pthread_t threads[NEWBORN];

	(void)path;
	pattern_pin();
	for (int i = 0; i < NEWBORN; i++)
		threads[i] = start(be_born, NULL);
	for (int i = 0; i < NEWBORN; i++)
		join(threads[i]);
}

static void *yield(void *data)
{
	struct meter meter;

	meter_start(&meter, "yield", data);
	meter_expect(&meter, STATE_RUNNABLE, NULL);
	meter_blame(&meter, STATE_RUNNABLE, WIRE_CULPRIT_THREAD, "yield-?");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;)
		sched_yield();
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

static void yielders(const char *path)
{
	(void)path;
	pattern_pin();
	pthread_t one = start(yield, (void *)"yield-1"), two = start(yield, (void *)"yield-2");

	join(one);
	join(two);
}

static void migrating(const char *path)
{
	struct meter meter;
	cpu_set_t allowed;
	int cpu = 0;

	(void)path;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		die("sched_getaffinity");
	meter_start(&meter, "migrate", "migrate");
	meter_expect(&meter, STATE_USER, NULL);
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		cpu_set_t set;

		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &allowed));
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		meter_begin(&meter);
		sched_setaffinity(0, sizeof(set), &set);
		meter_end(&meter, STATE_SLEEP);
		spin_wall_ns(5 * NS_PER_MS);
	}
	meter_report(&meter, STATE_STOLEN);
}

#define MOVE_PERIOD_NS (20 * NS_PER_MS)

/* One waits for the CPU of `thief`, and then is moved to that of `other`, who had it meanwhile. */
struct moving {
	cpu_set_t from, to;
	uint64_t end_ns;
	atomic_bool has_ended;
	pthread_t victim;
	sem_t turns;	      /* of the other */
	atomic_bool is_taken; /* by the other */
	atomic_bool is_here;  /* with the thief */
};

static void take_first(int priority)
{
	struct sched_param parameters = {.sched_priority = priority};

	if (sched_setscheduler(0, SCHED_FIFO, &parameters) < 0)
		die("SCHED_FIFO");
}

static void *be_moved(void *data)
{
	const struct moving *moving = data;
	struct meter meter;

	meter_start(&meter, "moved", "moved");
	meter_expect(&meter, STATE_RUNNABLE, NULL);
	meter_blame(&meter, STATE_RUNNABLE, WIRE_CULPRIT_THREAD, "moved-thief");
	/* before other programs, which would take its CPU, too */
	take_first(1);
	/* where it has come to it hardly runs: the kernel throttles who takes a CPU like this */
	while (now_ns() < moving->end_ns + MOVE_PERIOD_NS)
		if (!atomic_load(&moving->is_here))
			meter_sleep(&meter, MOVE_PERIOD_NS / 4);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

static void take_for_moved(const char *name, const cpu_set_t *cpu)
{
	prctl(PR_SET_NAME, name);
	if (sched_setaffinity(0, sizeof(*cpu), cpu) < 0)
		die("sched_setaffinity");
	take_first(2);
}

static void *take_and_move(void *data)
{
	struct moving *moving = data;

	take_for_moved("moved-thief", &moving->from);
	while (now_ns() < moving->end_ns) {
		uint64_t until = now_ns() + MOVE_PERIOD_NS / 2;

		pthread_setaffinity_np(moving->victim, sizeof(moving->from), &moving->from);
		atomic_store(&moving->is_here, true);
		atomic_store(&moving->is_taken, true);
		sem_post(&moving->turns);
		/* the other one is not to be waited for */
		while (now_ns() < until || atomic_load(&moving->is_taken))
			;
		atomic_store(&moving->is_here, false);
		pthread_setaffinity_np(moving->victim, sizeof(moving->to), &moving->to);
		sleep_ns(MOVE_PERIOD_NS / 2);
	}
	atomic_store(&moving->has_ended, true);
	sem_post(&moving->turns);
	return NULL;
}

static void *take_other(void *data)
{
	struct moving *moving = data;

	take_for_moved("moved-other", &moving->to);
	while (sem_wait(&moving->turns) >= 0 && !atomic_load(&moving->has_ended)) {
		spin_wall_ns(8 * NS_PER_MS);
		atomic_store(&moving->is_taken, false);
	}
	return NULL;
}

static void moved_while_waiting(const char *path)
{
	struct moving moving = {.end_ns = pattern_end_ns()};
	pthread_t thief, other;
	cpu_set_t allowed;
	int cpu = 0;

	(void)path;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		die("sched_getaffinity");
	sem_init(&moving.turns, 0, 0);
	errno = ENODEV;
	if (CPU_COUNT(&allowed) < 2)
		die("a second CPU");
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_SET(cpu++, &moving.from);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_SET(cpu, &moving.to);
	moving.victim = start(be_moved, &moving);
	thief = start(take_and_move, &moving);
	other = start(take_other, &moving);
	join(thief);
	join(other);
	join(moving.victim);
}

static void stopped(const char *path)
{
	struct meter meter;
	pid_t child = pattern_fork();
	uint64_t stop_ns = pattern_run_ns / 6;

	(void)path;
	if (child < 0)
		die("fork");
	if (!child) {
		meter_start(&meter, "stopped", "stop-child");
		meter_expect(&meter, STATE_STOPPED, NULL);
		for (int i = 0; i < 4; i++) {
			spin_wall_ns(stop_ns / 3);
			meter_begin(&meter);
			raise(SIGSTOP);
			meter_end(&meter, STATE_STOPPED);
		}
		meter_report(&meter, STATE_STOLEN);
		_exit(0);
	}
	for (int i = 0; i < 4; i++) {
		siginfo_t info;

		if (waitid(P_PID, (id_t)child, &info, WSTOPPED) < 0)
			die("waitid");
		sleep_ns(stop_ns);
		kill(child, SIGCONT);
	}
	waitpid(child, NULL, 0);
}

/* What only who stops another one knows. */
struct stops {
	uint64_t ns, uncertain_ns;
};

/* The kernel goes on with poll() as restart_syscall(), whose number says nothing. */
static void wait_while_stopped(const struct stops *stops, int fd)
{
	struct pollfd waited = {.fd = fd, .events = POLLIN};
	struct meter meter;

	meter_start(&meter, "restarted", "restarted");
	meter_expect(&meter, STATE_IDLE, "poll");
	meter_begin(&meter);
	while (poll(&waited, 1, 60 * 1000) < 0)
		;
	meter_end(&meter, STATE_IDLE);
	meter_move(&meter, STATE_IDLE, STATE_STOPPED, stops->ns, stops->uncertain_ns);
	meter_report(&meter, STATE_STOLEN);
	_exit(0);
}

static void restarted(const char *path)
{
	struct stops *stops = mmap(NULL, sizeof(*stops), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];
	pid_t child;

	(void)path;
	if (stops == MAP_FAILED || pipe(ends) < 0)
		die("pipe");
	child = pattern_fork();
	if (child < 0)
		die("fork");
	if (!child)
		wait_while_stopped(stops, ends[0]);
	for (int i = 0; i < 3; i++) {
		uint64_t sent_ns, stopped_ns;
		siginfo_t info;

		sleep_ns(pattern_run_ns / 5);
		sent_ns = now_ns();
		kill(child, SIGSTOP);
		if (waitid(P_PID, (id_t)child, &info, WSTOPPED) < 0)
			die("waitid");
		stopped_ns = now_ns();
		sleep_ns(pattern_run_ns / 20);
		stops->ns += now_ns() - stopped_ns;
		stops->uncertain_ns += stopped_ns - sent_ns;
		kill(child, SIGCONT);
	}
	sleep_ns(pattern_run_ns / 5);
	if (write(ends[1], "", 1) < 0)
		die("write");
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	munmap(stops, sizeof(*stops));
}

static void vfork_children(const char *path)
{
	uint64_t end_ns = pattern_end_ns();
	struct meter meter;

	(void)path;
	meter_start(&meter, "vfork", "vfork-parent");
	meter_expect(&meter, STATE_IDLE, "*:vfork");
	while (now_ns() < end_ns) {
		struct timespec pause_time = {.tv_nsec = 50 * NS_PER_MS};
		pid_t child;

		meter_begin(&meter);
		child = vfork();
		if (child == 0) {
			syscall(SYS_nanosleep, &pause_time, NULL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		meter_end(&meter, STATE_IDLE);
		if (child < 0)
			die("vfork");
		spin_cpu_ns(10 * NS_PER_MS);
	}
	meter_report(&meter, STATE_STOLEN);
}

/* Another one of a real-time policy takes the CPU, 20 ms of every 50. */
static void *take_cpu(void *data)
{
	struct meter meter;

	(void)data;
	meter_start(&meter, "real-time", "fifo");
	meter_expect(&meter, STATE_SLEEP, "clock_nanosleep");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		spin_wall_ns(20 * NS_PER_MS);
		meter_sleep(&meter, 30 * NS_PER_MS);
	}
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

static void real_time(const char *path)
{
	static const struct spinner victim = {"real-time", "spin", STATE_USER, 0,
					      SCHED_OTHER, false,  "fifo"};
	struct sched_param parameters = {.sched_priority = 1};
	pthread_t taker;

	(void)path;
	pattern_pin();
	taker = start(take_cpu, NULL);
	errno = pthread_setschedparam(taker, SCHED_FIFO, &parameters);
	if (errno)
		pattern_skip("SCHED_FIFO");
	else
		join(start(spin, (void *)(uintptr_t)&victim));
	join(taker);
}

/* Wakes on a CPU that is taken half of the time: waits of all lengths up to 5 ms. */
static void *wake_late(void *data)
{
	struct meter meter;

	(void)data;
	meter_start(&meter, "late", "late");
	meter_expect(&meter, STATE_RUNNABLE, NULL);
	meter_blame(&meter, STATE_RUNNABLE, WIRE_CULPRIT_THREAD, "late-taker");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;)
		meter_sleep(&meter, NS_PER_MS);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

static void *take_half(void *data)
{
	struct sched_param parameters = {.sched_priority = 1};

	(void)data;
	prctl(PR_SET_NAME, "late-taker");
	if (sched_setscheduler(0, SCHED_FIFO, &parameters) < 0)
		pattern_skip("SCHED_FIFO");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		spin_wall_ns(5 * NS_PER_MS);
		sleep_ns(5 * NS_PER_MS);
	}
	return NULL;
}

static void late(const char *path)
{
	pthread_t taker;

	(void)path;
	pattern_pin();
	taker = start(take_half, NULL);
	join(start(wake_late, NULL));
	join(taker);
}

/* struct sched_attr of <linux/sched/types.h>, which cannot be included beside <sched.h>. */
struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* A thread of SCHED_DEADLINE that uses up its budget, 5 ms of every 20. */
static void *use_up_budget(void *data)
{
	struct sched_attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_DEADLINE,
		.runtime_ns = 5 * NS_PER_MS,
		.deadline_ns = 20 * NS_PER_MS,
		.period_ns = 20 * NS_PER_MS,
	};
	struct meter meter;

	(void)data;
	if (syscall(SYS_sched_setattr, 0, &attributes, 0) < 0) {
		pattern_skip("SCHED_DEADLINE");
		return NULL;
	}
	meter_start(&meter, "deadline", "deadline");
	meter_expect(&meter, STATE_RUNNABLE, NULL);
	meter_blame(&meter, STATE_RUNNABLE, WIRE_CULPRIT_THROTTLE, NULL);
	meter_spin(&meter, pattern_run_ns);
	meter_report(&meter, STATE_STOLEN);
	return NULL;
}

static void deadline(const char *path)
{
	(void)path;
	join(start(use_up_budget, NULL));
}

const struct pattern cpu_patterns[] = {
	{"spin", "a thread uses a CPU", PATTERN_ALONE, .run = one_spinner},
	{"spin-kernel", "a thread uses a CPU in the kernel", PATTERN_ALONE, .run = kernel_spinner},
	{"two-spinners", "two threads share one CPU", PATTERN_ALONE, .run = two_spinners},
	{"nice", "threads of different nice values and policies share one CPU", PATTERN_ALONE,
	 .run = nice_spinners},
	{"real-time", "a real-time thread takes the CPU", PATTERN_ALONE, .run = real_time},
	{"late", "a thread wakes often on a CPU that is taken", PATTERN_ALONE, .run = late},
	{"deadline", "a thread uses up the budget of SCHED_DEADLINE", PATTERN_ALONE,
	 .run = deadline},
	{"yield", "two threads yield one CPU to each other", PATTERN_ALONE, .run = yielders},
	{"migrate", "a thread moves from CPU to CPU", PATTERN_ALONE, .run = migrating},
	{"moved", "a thread waits for one CPU and is moved to another", PATTERN_ALONE,
	 .run = moved_while_waiting},
	{"born", "twelve threads begin at once on one CPU", PATTERN_ALONE, .run = many_born},
	{"burst", "50 ms of work, 100 ms of sleep", .run = burst_and_sleep},
	{"naps", "200 us of work, 1 ms of sleep", .run = nap_often},
	{"short-lived", "threads of 10 ms, one after the other", .run = short_lived},
	{"stopped", "a child that stops itself four times", .run = stopped},
	{"restarted", "a child that is stopped three times while it waits", .run = restarted},
	{"vfork", "vfork children that sleep for 50 ms", .run = vfork_children},
	{NULL, NULL, PATTERN_BESIDE, false, NULL},
};
