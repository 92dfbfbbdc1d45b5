// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "load/run.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/array.h"
#include "base/loop.h"
#include "base/await.h"
#include "base/clock.h"
#include "base/own_limits.h"
#include "base/priority.h"
#include "load/phases.h"
#include "load/run_ops.h"
#include "load/run_trace.h"
#include "load/watchdog.h"

#define EVENTS_MAX 10000

static void note(struct run *run, uint64_t at_ns, const char *text)
{
	struct run_event *event;

	/* what cannot be noted is still done; ops in a loop may be too many to read
	 */
	if (run->event_count >= EVENTS_MAX ||
	    array_reserve(&run->events, &run->event_room, run->event_count + 1,
			  sizeof(*run->events)) < 0)
		return;
	event = &run->events[run->event_count++];
	event->at_ns = at_ns;
	snprintf(event->text, sizeof(event->text), "%s",
		 run->event_count < EVENTS_MAX ? text : "and more");
}

static uint64_t since_start(const struct run *run)
{
	return run->started_ns ? clock_monotonic_ns() - run->started_ns : 0;
}

void run_note(struct run *run, const char *format, ...)
{
	char text[sizeof(run->events->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note(run, since_start(run), text);
}

void run_warn(struct run *run, const char *format, ...)
{
	const struct run_hooks *hooks = &run->options->hooks;
	char text[sizeof(run->events->text)];
	uint64_t at_ns = since_start(run);
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note(run, at_ns, text);
	if (hooks->warn)
		hooks->warn(hooks->data, at_ns, text);
}

static int hear_signals(struct run *run, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	sigset_t heard;

	signals_heard(&heard, signals, ARRAY_SIZE(signals));
	sigprocmask(SIG_BLOCK, &heard, NULL);
	run->signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0
		       ? error_set(error, errno, "cannot hear signals: %s", strerror(errno))
		       : 0;
}

/* By themselves: those that an op has stopped are no reason to end. */
static bool all_ended(const struct run *run)
{
	bool any = false;

	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct worker_group *worker_group = &run->worker_groups[i]->worker_group;

		for (unsigned int k = 0; !worker_group->over && k < worker_group->forked; k++) {
			if (!group_worker_ended(&worker_group->workers[k]))
				return false;
			any = true;
		}
	}
	return any;
}

static bool brings_work(const struct spec_phase *phase)
{
	for (size_t i = 0; i < phase->op_count; i++)
		if (phase->ops[i].kind == OP_SPAWN || phase->ops[i].kind == OP_ADD_CGROUP)
			return true;
	return false;
}

/* Whether there will be more workers after the hold of that phase has begun. */
static bool more_to_come(const struct spec_phases *phases, size_t at)
{
	bool more = phases->items[at].loop_ns && brings_work(&phases->items[at]);

	for (size_t i = at + 1; i < phases->count; i++)
		more |= brings_work(&phases->items[i]);
	return more;
}

static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		run->end = RUN_INTERRUPTED;
		run->stop = true;
	}
	/* programs that came to their end leave nothing to wait for */
	if (!run->stop && !run->more_to_come && all_ended(run)) {
		run_note(run, "all workers have ended");
		run->stop = true;
	}
}

/* The second before it. */
static void freeze_at_death(struct run *run)
{
	run_trace_freeze(run, clock_monotonic_ns() - RUN_TRACE_NS, "the scheduler died: %s",
			 run->scheduler.reason);
}

static int tick(struct run *run, struct error *error)
{
	const struct run_hooks *hooks = &run->options->hooks;

	run->alarms += watchdog_look(run, clock_monotonic_ns());
	scheduler_inside_look(&run->inside);
	if (!scheduler_look(&run->scheduler) && !run->stop) {
		run_warn(run, "the scheduler died: %s", run->scheduler.reason);
		freeze_at_death(run);
		run_set_scheduler(run, 0);
		run->end = RUN_SCHEDULER_DIED;
		run->stop = true;
	}
	return hooks->tick ? hooks->tick(hooks->data, run, error) : 0;
}

/* Of a scheduler that may still end. */
static int scheduler_fd(const struct run *run)
{
	return run->scheduler.state == SCHEDULER_ALIVE ? run->scheduler.pidfd : -1;
}

int run_hold(struct run *run, uint64_t until_ns, struct error *error)
{
	const struct run_hooks *hooks = &run->options->hooks;
	int result = 0;

	while (result >= 0 && !run->stop) {
		struct pollfd fds[4] = {{.fd = run->signal_fd, .events = POLLIN},
					{.fd = scheduler_fd(run), .events = POLLIN}};
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= until_ns)
			break;
		if (now_ns >= run->next_tick_ns) {
			result = tick(run, error);
			run->next_tick_ns = now_ns + RUN_TICK_NS;
			continue;
		}
		for (unsigned int i = 0; i < hooks->fd_count; i++)
			fds[2 + i] = (struct pollfd){.fd = hooks->fds[i], .events = POLLIN};
		if (await_ready(fds, 2 + hooks->fd_count,
				until_ns < run->next_tick_ns ? until_ns : run->next_tick_ns) <= 0)
			continue;
		if (fds[0].revents)
			take_signals(run);
		if (fds[1].revents)
			run->next_tick_ns = 0;
		for (unsigned int i = 0; result >= 0 && i < hooks->fd_count; i++)
			if (fds[2 + i].revents)
				result = hooks->ready(hooks->data, error);
	}
	return result;
}

static int run_phase(struct run *run, unsigned int number, struct error *error)
{
	const struct spec_phase *phase = &run->spec->phases.items[number];
	uint64_t end_ns = 0;
	int result = 0;

	/* once, or over and over while it lasts */
	do {
		uint64_t until_ns;

		for (size_t i = 0; result >= 0 && !run->stop && i < phase->op_count; i++)
			result = run_op(run, &phase->ops[i], error);
		if (!end_ns && result >= 0 && !run->stop && phases_begin(run, number) < 0)
			result = error_set(error, ENOMEM, "out of memory");
		if (!end_ns)
			end_ns = clock_monotonic_ns() + spec_hold_ns(run->spec, phase);
		until_ns = clock_monotonic_ns() + phase->loop_ns;
		if (!phase->loop_ns || until_ns > end_ns)
			until_ns = end_ns;
		if (result >= 0)
			result = run_hold(run, until_ns, error);
	} while (result >= 0 && !run->stop && phase->loop_ns && clock_monotonic_ns() < end_ns);
	phases_end(run);
	return result;
}

static int run_phases(struct run *run, struct error *error)
{
	const struct spec_phases *phases = &run->spec->phases;
	char name[64];
	int result = 0;

	if (!phases->count)
		return run_hold(run, run->started_ns + run->spec->duration_ns, error);
	for (size_t i = 0; result >= 0 && !run->stop && i < phases->count; i++) {
		snprintf(name, sizeof(name), "phase %zu of %zu", i + 1, phases->count);
		run->phase = name;
		run->more_to_come = more_to_come(phases, i);
		run_note(run, "%s", name);
		result = run_phase(run, (unsigned int)i, error);
		run->phase = NULL;
	}
	return result;
}

static bool starts_scheduler(const struct spec_phases *phases)
{
	for (size_t i = 0; i < phases->count; i++)
		for (size_t k = 0; k < phases->items[i].op_count; k++)
			if (phases->items[i].ops[k].kind == OP_START_SCHEDULER ||
			    phases->items[i].ops[k].kind == OP_REPLACE_SCHEDULER)
				return true;
	return false;
}

static void mark_pressure(struct run *run, struct pressure_mark *mark)
{
	const struct cpus *usable = &run->topology->usable;
	unsigned int count = 0;

	for (unsigned int cpu = cpus_next(usable, 0); cpu < CPUS_MAX;
	     cpu = cpus_next(usable, cpu + 1))
		count = cpu + 1;
	pressure_mark(mark, count, scheduler_cpu_ns(&run->scheduler),
		      run->cgroups.root ? cgroups_throttled_ns(&run->cgroups) : own_throttled_ns());
}

/* All exist before the first one begins. */
static int start_all(struct run *run, struct error *error)
{
	const struct run_hooks *hooks = &run->options->hooks;
	uint64_t began_ns = clock_monotonic_ns();
	int result = 0;

	for (size_t i = 0; result >= 0 && i < run->spec->cgroups.count; i++)
		result = run_add_cgroup(run, &run->spec->cgroups.items[i], error);
	if (result >= 0 && hooks->starting) {
		uint64_t paused_ns = clock_monotonic_ns();

		result = hooks->starting(hooks->data, error);
		began_ns += clock_monotonic_ns() - paused_ns;
	}
	/* loading types takes long where it is emulated: not the workers' time */
	scheduler_inside_begin(&run->inside, run->options->time_ops,
			       run->options->scheduler_pid || starts_scheduler(&run->spec->phases));
	run->started_realtime_ns = clock_realtime_ns();
	run->started_ns = clock_monotonic_ns();
	mark_pressure(run, &run->before);
	if (result >= 0)
		result = run_start_groups(run, error);
	run->start_ns = clock_monotonic_ns() - began_ns;
	return result;
}

static int prepare(struct run *run, struct error *error)
{
	/* the guardian has to know of the directory when there is one: we may be killed in between
	 */
	struct scratch *scratch = run->guarded ? &run->guarded->scratch : &run->scratch;
	int result = hear_signals(run, error);

	if (result >= 0)
		result = scratch_make(scratch, run->options->scratch, error);
	run->scratch = *scratch;
	/* those of a run with cgroups may wait for one without */
	if (result >= 0)
		cgroups_sweep(run->options->cgroup_root);
	if (result >= 0 && spec_needs_cgroups(run->spec))
		result = cgroups_init(&run->cgroups, run->options->cgroup_root, error);
	if (result >= 0 && run->guarded && run->cgroups.root)
		snprintf(run->guarded->cgroup, sizeof(run->guarded->cgroup), "%s",
			 run->cgroups.root);
	if (result >= 0 && run->options->scheduler_pid)
		result = scheduler_watch(&run->scheduler, run->options->scheduler_pid, error);
	if (result >= 0)
		run_trace_open(run);
	return result;
}

/* No worker, no cgroup, no file stays, no matter what happened. */
static void finish(struct run *run)
{
	uint64_t began_ns = clock_monotonic_ns();

	scheduler_inside_end(&run->inside);
	watchdog_end(run);
	run_stop_groups(run, NULL);
	run->stopped_ns = clock_monotonic_ns();
	mark_pressure(run, &run->after);
	run->stop_ns = run->stopped_ns - began_ns;
	/* one that died still writes its dump */
	if (run->scheduler.ours)
		scheduler_stop(&run->scheduler);
	cgroups_release(&run->cgroups);
	if (*run->scratch.path) {
		scratch_remove(&run->scratch);
		close(run->scratch.directory);
	}
	if (run->signal_fd >= 0)
		close(run->signal_fd);
	run->signal_fd = -1;
}

int run_execute(struct run *run, const struct spec *spec, const struct topology *topology,
		const struct run_options *options, struct guarded *guarded, struct error *error)
{
	struct error later = {""};
	int result, stopped = 0;
	bool raised;

	*run = (struct run){
		.spec = spec,
		.topology = topology,
		.options = options,
		.guarded = guarded,
		.signal_fd = -1,
		.scheduler = SCHEDULER_INIT,
		.inside = {.over = true, .programs = SCHEDULER_PROGRAMS_INIT},
	};
	planner_init(&run->planner, spec, topology);
	run->hold_ns = spec_length_ns(run->spec);
	raised = priority_raise();
	result = prepare(run, error);
	if (result >= 0)
		result = start_all(run, error);
	if (result >= 0)
		result = run_phases(run, error);
	/* before the workers stop: what happens then is not the scheduler's doing */
	if (result >= 0 && run->end == RUN_COMPLETE && !scheduler_look(&run->scheduler))
		run->end = RUN_SCHEDULER_DIED;
	if (run->end == RUN_SCHEDULER_DIED)
		freeze_at_death(run);
	/* a check may have failed: only the reports say so */
	run_trace_freeze(run, clock_monotonic_ns() - RUN_TRACE_NS, "%s", "");
	finish(run);
	/* sorting samples is nothing that may keep others from running */
	if (raised)
		priority_restore();
	if (options->hooks.stopped)
		stopped = options->hooks.stopped(options->hooks.data, result < 0 ? &later : error);
	return result < 0 ? result : stopped;
}

void run_release(struct run *run)
{
	scheduler_release(&run->scheduler);
	switch_ring_close(run->trace.ring);
	scheduler_inside_release(&run->inside);
	for (size_t i = 0; i < run->worker_group_count; i++) {
		worker_group_release(&run->worker_groups[i]->worker_group);
		plan_group_release(&run->worker_groups[i]->group);
		free(run->worker_groups[i]->marks);
		free(run->worker_groups[i]->phase_workers);
		free(run->worker_groups[i]);
	}
	free(run->held);
	free(run->worker_groups);
	free(run->run_cgroups);
	free(run->events);
	pressure_mark_release(&run->before);
	pressure_mark_release(&run->after);
	if (run->evidence_count)
		output_release(&run->evidence);
	run->evidence_count = 0;
	run->worker_groups = NULL;
	run->worker_group_count = 0;
	run->events = NULL;
}

uint64_t run_iterations(const struct run *run)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct worker_group *worker_group = &run->worker_groups[i]->worker_group;

		for (unsigned int k = 0; k < worker_group->forked; k++)
			sum += __atomic_load_n(&shared_slot(&worker_group->shared, k)->iterations,
					       __ATOMIC_RELAXED);
	}
	return sum;
}
