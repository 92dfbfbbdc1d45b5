// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks as rt-app describes them (github.com/scheduler-tools/rt-app, doc/tutorial.txt): each worker
 * is a thread of it. Conditions wake in the order of waiting, and whom they are meant for: who
 * waits takes a number, and a signal serves the next one.
 */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "load/setup.h"
#include "load/work/lock.h"
#include "load/work/rt_app_program.h"
#include "load/work_type.h"

#define CALIBRATIONS	  40
#define CALIBRATION_UNITS 2048
#define RUN_UNITS	  1024
#define DONE_REST_NS	  3600000000000ULL /* longer than most runs */

struct rt_app {
	char *tasks;
	uint64_t buffer;
	uint64_t inherit; /* pi_enabled */
};

static const char *const locks[] = {"plain", "inherit", NULL};

static const struct param params[] = {
	PARAM(struct rt_app, tasks, TEXT, "task=thread phase run=1ms sleep=1ms", 0, 0,
	      "what they do; a file of rt-app says it better"),
	PARAM(struct rt_app, buffer, SIZE, "4M", 1, 1ULL << 30, "that mem and iorun use"),
	{.name = "locks",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct rt_app, inherit),
	 .initial = "plain",
	 .choices = locks,
	 .help = "inherit: who holds one inherits the priority of who waits"},
	{.name = NULL},
};

struct condition {
	_Alignas(64) uint32_t served; /* up to this number, exclusively */
	uint32_t taken;		      /* the next number */
	uint64_t stamp_ns;
};

struct barrier {
	_Alignas(64) uint32_t round;
	uint32_t waiting;
	uint64_t stamp_ns;
};

struct timer {
	bool begun;
	uint64_t next_ns;
};

/* Of a team. */
struct resources {
	struct lock mutexes[RT_APP_RESOURCES_MAX];
	struct condition conditions[RT_APP_RESOURCES_MAX];
	struct barrier barriers[RT_APP_RESOURCES_MAX];
	struct timer timers[RT_APP_RESOURCES_MAX];
};

struct playing {
	struct rt_app_program program;
	const struct rt_app_task *task;
	struct timer timers[RT_APP_RESOURCES_MAX]; /* its own */
	uint64_t began_ns;			   /* its first phase */
	double unit_ns;				   /* a unit of computation at full speed */
	size_t phase;
	int64_t phase_loops, loops; /* ended */
	bool entered;		    /* the phase's settings are in force */
	unsigned char *buffer;
	size_t buffer_at;
	int null;
};

static int parse(struct rt_app_program *program, const void *params_, struct error *error)
{
	return rt_app_parse(program, ((const struct rt_app *)params_)->tasks, error);
}

static int check(const void *params_, struct error *error)
{
	struct rt_app_program program;
	int result = parse(&program, params_, error);

	if (result >= 0 && program.count > 1 && !rt_app_shares(&program))
		result = error_set(error, EINVAL,
				   "tasks that have nothing in common are groups of their own");
	rt_app_release(&program);
	return result;
}

/* Those that share nothing need no team. */
static unsigned int team_size(const void *params_)
{
	struct rt_app_program program;
	unsigned int size = 1;

	if (parse(&program, params_, NULL) >= 0 && rt_app_shares(&program))
		size = program.workers;
	rt_app_release(&program);
	return size;
}

static void apply(struct worker *worker, const struct rt_app_settings *settings)
{
	struct worker_report *report = &worker->report;

	if (settings->cpus)
		setup_affinity(settings->cpus, report->affinity_error);
	if (settings->policy_given)
		setup_policy_exactly(&settings->policy, report->policy_error);
	if (settings->nice_given)
		setup_nice(settings->nice, report->nice_error);
	if (settings->memory.given)
		setup_memory(&settings->memory, report->memory_policy_error);
	if (settings->lock_pages && mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		worker_note(worker, "mlockall: %s", strerror(errno));
}

/* The fastest of several: others that have the core's other thread make it slower, and no faster.
 */
static double calibrate(struct worker *worker)
{
	uint64_t units = worker->work_units, best_ns = UINT64_MAX;

	for (int i = 0; i < CALIBRATIONS && !worker_stopping(); i++) {
		uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;

		worker_spin(worker, CALIBRATION_UNITS);
		took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
		if (took_ns && took_ns < best_ns)
			best_ns = took_ns;
	}
	worker->work_units = units;
	return (double)best_ns / CALIBRATION_UNITS;
}

static int begin(struct worker *worker)
{
	const struct rt_app *rt_app = worker->params;
	struct playing *playing = calloc(1, sizeof(*playing));
	struct error error = {""};
	unsigned int position = worker->position;
	int result = playing ? parse(&playing->program, rt_app, &error) : -ENOMEM;

	worker->state = playing;
	if (result >= 0 && playing->program.needs_buffer) {
		playing->buffer = calloc(1, rt_app->buffer);
		result = playing->buffer ? 0 : -ENOMEM;
	}
	if (result < 0) {
		worker_fail(worker, "%.150s", *error.text ? error.text : "out of memory");
		return result;
	}
	playing->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	playing->task = playing->program.tasks;
	while (position >= playing->task->instances)
		position -= playing->task++->instances;
	playing->unit_ns = calibrate(worker);
	apply(worker, &playing->task->settings);
	return 0;
}

static bool run(struct worker *worker, const struct playing *playing, uint64_t ns)
{
	uint64_t units = (uint64_t)((double)ns / playing->unit_ns);

	while (units && !worker_stopping()) {
		uint64_t piece = units < RUN_UNITS ? units : RUN_UNITS;

		worker_spin(worker, piece);
		worker_look(worker, clock_monotonic_ns());
		units -= piece;
	}
	return !worker_stopping();
}

/* A period after it was due before; relative: of one that was missed, from now. */
static bool await_timer(struct worker *worker, struct playing *playing,
			const struct rt_app_event *event)
{
	struct resources *resources = worker->shared;
	struct timer *timer = event->own ? &playing->timers[event->resource]
					 : &resources->timers[event->resource];
	uint64_t now_ns = clock_monotonic_ns(), due_ns;

	if (!timer->begun)
		*timer = (struct timer){true, playing->began_ns};
	due_ns = timer->next_ns += event->amount;
	if (now_ns < due_ns)
		return worker_sleep_until(worker, due_ns);
	if (!event->absolute)
		timer->next_ns = now_ns;
	return !worker_stopping();
}

static bool take(struct worker *worker, struct lock *lock)
{
	return ((const struct rt_app *)worker->params)->inherit ? lock_take_pi(worker, lock)
								: lock_take(worker, lock);
}

static void release(struct worker *worker, struct lock *lock)
{
	if (((const struct rt_app *)worker->params)->inherit)
		lock_release_pi(worker, lock);
	else
		lock_release(lock);
}

static bool is_served(const struct condition *condition, uint32_t number)
{
	return (int32_t)(__atomic_load_n(&condition->served, __ATOMIC_ACQUIRE) - number) > 0;
}

/* With the mutex held, if there is one; it is held again afterwards. */
static bool await_condition(struct worker *worker, struct condition *condition, struct lock *mutex)
{
	uint32_t number = __atomic_fetch_add(&condition->taken, 1, __ATOMIC_ACQ_REL);
	uint64_t began_ns = clock_monotonic_ns(), now_ns;

	if (mutex)
		release(worker, mutex);
	while (!is_served(condition, number)) {
		uint32_t served = __atomic_load_n(&condition->served, __ATOMIC_ACQUIRE);
		struct timespec until = clock_timespec(clock_monotonic_ns() + WORKER_WAIT_NS);

		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
		if (!is_served(condition, number))
			syscall(SYS_futex, &condition->served, FUTEX_WAIT_BITSET, served, &until,
				NULL, 1U << number % 32);
	}
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_woken(worker, __atomic_load_n(&condition->stamp_ns, __ATOMIC_RELAXED), began_ns,
		     now_ns);
	worker_look(worker, now_ns);
	return !mutex || take(worker, mutex);
}

/* The next one that waits, or all; without any it is lost. */
static void serve(struct condition *condition, bool all)
{
	uint32_t served = __atomic_load_n(&condition->served, __ATOMIC_ACQUIRE), taken, next;

	do {
		taken = __atomic_load_n(&condition->taken, __ATOMIC_ACQUIRE);
		if (served == taken)
			return;
		worker_stamp(&condition->stamp_ns);
		next = all ? taken : served + 1;
	} while (!__atomic_compare_exchange_n(&condition->served, &served, next, false,
					      __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
	syscall(SYS_futex, &condition->served, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
		all ? ~0U : 1U << served % 32);
}

static bool await_barrier(struct worker *worker, struct barrier *barrier, unsigned int users)
{
	uint32_t round = __atomic_load_n(&barrier->round, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) < users)
		return worker_await_change(worker, &barrier->round, round, &barrier->stamp_ns);
	__atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
	worker_stamp(&barrier->stamp_ns);
	__atomic_store_n(&barrier->round, round + 1, __ATOMIC_RELEASE);
	worker_futex_wake(&barrier->round, INT_MAX);
	return true;
}

/* So many bytes of the buffer, round and round. */
static bool write_bytes(struct worker *worker, struct playing *playing, uint64_t bytes, bool out)
{
	size_t room = ((const struct rt_app *)worker->params)->buffer;

	while (bytes && !worker_stopping()) {
		size_t piece =
			room - playing->buffer_at < bytes ? room - playing->buffer_at : bytes;

		if (out && write(playing->null, playing->buffer + playing->buffer_at, piece) < 0)
			worker_note(worker, "/dev/null: %s", strerror(errno));
		else if (!out)
			memset(playing->buffer + playing->buffer_at, (int)bytes & 0xff, piece);
		playing->buffer_at = (playing->buffer_at + piece) % room;
		bytes -= piece;
		worker_look(worker, clock_monotonic_ns());
	}
	return !worker_stopping();
}

static bool wait_event(struct worker *worker, const struct rt_app_event *event)
{
	struct resources *resources = worker->shared;
	struct condition *condition = &resources->conditions[event->resource];
	struct lock *mutex = &resources->mutexes[event->mutex];

	if (event->kind == RT_APP_SUSPEND)
		return await_condition(worker, condition, NULL);
	if (event->kind == RT_APP_WAIT)
		return await_condition(worker, condition, mutex);
	/* sync: lock, signal, wait, unlock */
	if (!take(worker, mutex))
		return false;
	serve(condition, false);
	if (!await_condition(worker, condition, mutex))
		return false;
	release(worker, mutex);
	return true;
}

/* False: stopped. */
static bool play(struct worker *worker, struct playing *playing, const struct rt_app_event *event)
{
	struct resources *resources = worker->shared;

	worker->work_units++;
	switch (event->kind) {
	case RT_APP_RUN:
		return run(worker, playing, event->amount);
	case RT_APP_RUNTIME:
		worker_burst(worker, event->amount, RUN_UNITS);
		break;
	case RT_APP_SLEEP:
		return worker_sleep(worker, event->amount);
	case RT_APP_TIMER:
		return await_timer(worker, playing, event);
	case RT_APP_LOCK:
		return take(worker, &resources->mutexes[event->resource]);
	case RT_APP_UNLOCK:
		release(worker, &resources->mutexes[event->resource]);
		break;
	case RT_APP_WAIT:
	case RT_APP_SYNC:
	case RT_APP_SUSPEND:
		return wait_event(worker, event);
	case RT_APP_SIGNAL:
		serve(&resources->conditions[event->resource], false);
		break;
	case RT_APP_BROAD:
	case RT_APP_RESUME:
		serve(&resources->conditions[event->resource], true);
		break;
	case RT_APP_BARRIER:
		return await_barrier(worker, &resources->barriers[event->resource],
				     playing->program.barrier_users[event->resource]);
	case RT_APP_YIELD:
		worker_yield(worker);
		break;
	case RT_APP_MEM:
	case RT_APP_IORUN:
		return write_bytes(worker, playing, event->amount, event->kind == RT_APP_IORUN);
	case RT_APP_KINDS:
		break;
	}
	return !worker_stopping();
}

/* A phase has been played once: on to what follows. */
static void advance(struct playing *playing)
{
	const struct rt_app_task *task = playing->task;

	playing->phase_loops++;
	if (task->phases[playing->phase].loop < 0 ||
	    playing->phase_loops < task->phases[playing->phase].loop)
		return;
	playing->phase_loops = 0;
	playing->entered = false;
	if (++playing->phase < task->count)
		return;
	playing->phase = 0;
	playing->loops++;
}

/* An iteration is a phase, once. */
static void iterate(struct worker *worker)
{
	struct playing *playing = worker->state;
	const struct rt_app_task *task = playing->task;
	const struct rt_app_phase *phase = &task->phases[playing->phase];

	if (!playing->began_ns) {
		if (task->delay_ns && !worker_rest(worker, task->delay_ns))
			return;
		playing->began_ns = clock_monotonic_ns();
	}
	/* its thread would have ended */
	if (task->loop >= 0 && playing->loops >= task->loop) {
		worker_rest(worker, DONE_REST_NS);
		return;
	}
	if (!playing->entered)
		apply(worker, &phase->settings);
	playing->entered = true;
	for (size_t i = 0; phase->loop && i < phase->count; i++)
		if (!play(worker, playing, &phase->events[i]))
			return;
	advance(playing);
}

static void end(struct worker *worker)
{
	static const struct spec_policy normal = {.kind = POLICY_NORMAL};
	struct playing *playing = worker->state;
	char refused[REPORT_TEXT] = "";

	/* what is left to do needs no real-time policy */
	setup_policy_exactly(&normal, refused);
	if (playing) {
		if (playing->null >= 0)
			close(playing->null);
		rt_app_release(&playing->program);
		free(playing->buffer);
	}
	free(playing);
}

const struct work_type work_rt_app = {
	.name = "rt-app",
	.summary = "threads as rt-app describes them",
	.params = params,
	.params_bytes = sizeof(struct rt_app),
	.flags = WORK_REALTIME,
	.team_size = team_size,
	.shared = sizeof(struct resources),
	.check = check,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
