// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/phases.h"

#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/least.h"
#include "base/schedstat.h"

unsigned int phases_measured(const struct spec *spec)
{
	size_t count = spec->phases.count;

	return count > 1 && count <= PHASES_MEASURED_MOST ? (unsigned int)count : 0;
}

/* Where it stands now. A program's CPU time is not that of the thread that waits for it. */
static struct phase_mark mark_of(const struct worker_group *worker_group, unsigned int worker)
{
	const struct worker_slot *slot = shared_slot(&worker_group->shared, worker);
	pid_t tid = (pid_t)__atomic_load_n(&slot->tid, __ATOMIC_RELAXED);
	struct phase_mark mark = {
		.iterations = __atomic_load_n(&slot->iterations, __ATOMIC_RELAXED),
		.at_ns = clock_monotonic_ns(),
	};

	mark.paused_ns = pauses_until(&slot->pauses, &mark.at_ns);
	/* one that has not had its first turn yet has used nothing */
	mark.known = !(worker_group->group->work->type->flags & WORK_BYPASS) &&
		     (!tid || schedstat_of(tid, &mark.schedstat));
	return mark;
}

static struct phase_worker *phase_workers(const struct run_group *worker_group, unsigned int number)
{
	return &worker_group->phase_workers[(size_t)number * worker_group->worker_group.forked];
}

/* From here on the worker counts for that part. */
static void enter(const struct worker_group *worker_group, unsigned int worker, unsigned int part,
		  uint64_t now_ns)
{
	struct worker_part *entered = shared_part(&worker_group->shared, worker, part);

	__atomic_store_n(&entered->began_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&shared_slot(&worker_group->shared, worker)->part, part, __ATOMIC_RELEASE);
}

static void leave(const struct worker_group *worker_group, unsigned int worker, unsigned int part,
		  uint64_t now_ns)
{
	struct worker_part *left = shared_part(&worker_group->shared, worker, part);

	__atomic_store_n(&left->ended_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&shared_slot(&worker_group->shared, worker)->part,
			 worker_group->shared.parts - 1, __ATOMIC_RELEASE);
}

int phases_join(struct run *run, struct run_group *worker_group)
{
	struct worker_group *group = &worker_group->worker_group;

	if (!run->holding || group->over || !group->forked)
		return 0;
	if (!worker_group->marks) {
		worker_group->marks = calloc(group->forked, sizeof(*worker_group->marks));
		worker_group->phase_workers =
			calloc((size_t)group->forked * phases_measured(run->spec),
			       sizeof(*worker_group->phase_workers));
	}
	if (!worker_group->marks || !worker_group->phase_workers)
		return -ENOMEM;
	worker_group->in_phase = true;
	for (unsigned int i = 0; i < group->forked; i++) {
		worker_group->marks[i] = mark_of(group, i);
		enter(group, i, run->held_count - 1, worker_group->marks[i].at_ns);
	}
	return 0;
}

static void add_worker(struct phase_worker *into, const struct phase_mark *before,
		       const struct phase_mark *after)
{
	uint64_t wall_ns = after->at_ns - before->at_ns;
	uint64_t paused_ns = after->paused_ns - before->paused_ns;

	*into = (struct phase_worker){
		.wall_ns = wall_ns,
		.free_ns = wall_ns > paused_ns ? wall_ns - paused_ns : 0,
		.iterations = after->iterations - before->iterations,
		.known = before->known && after->known,
		.before = before->schedstat,
		.after = after->schedstat,
	};
}

void phases_leave(struct run *run, struct run_group *worker_group)
{
	struct worker_group *group = &worker_group->worker_group;
	unsigned int number = (unsigned int)run->held_count - 1;

	if (!worker_group->in_phase)
		return;
	worker_group->in_phase = false;
	for (unsigned int i = 0; i < group->forked; i++) {
		struct phase_mark mark = mark_of(group, i);

		leave(group, i, number, mark.at_ns);
		add_worker(&phase_workers(worker_group, number)[i], &worker_group->marks[i], &mark);
	}
}

int phases_begin(struct run *run, unsigned int number)
{
	int result = 0;

	if (number >= phases_measured(run->spec))
		return 0;
	if (!run->held)
		run->held = calloc(phases_measured(run->spec), sizeof(*run->held));
	if (!run->held)
		return -ENOMEM;
	run->held_count = number + 1;
	run->holding = true;
	for (size_t i = 0; result >= 0 && i < run->worker_group_count; i++)
		if (run->worker_groups[i]->begun)
			result = phases_join(run, run->worker_groups[i]);
	run->held[number].began_ns = clock_monotonic_ns();
	return result;
}

void phases_end(struct run *run)
{
	struct run_phase *held;

	if (!run->holding)
		return;
	held = &run->held[run->held_count - 1];
	held->ended_ns = clock_monotonic_ns();
	for (size_t i = 0; i < run->worker_group_count; i++)
		phases_leave(run, run->worker_groups[i]);
	scheduler_in_use(held->sched_ext, sizeof(held->sched_ext));
	run->holding = false;
}

/* `ready_ns`: on a CPU, or waiting for one, also while a freeze was asked for. */
static void add_rate(struct summary *summary, const struct phase_worker *worker, uint64_t ready_ns)
{
	uint64_t free_ns = worker->free_ns > ready_ns ? worker->free_ns : ready_ns;
	double rate;

	if (!free_ns)
		return;
	rate = 1e9 * (double)worker->iterations / (double)free_ns;
	summary->slowest = summary->timed && summary->slowest < rate ? summary->slowest : rate;
	summary->fastest = summary->timed && summary->fastest > rate ? summary->fastest : rate;
	summary->iteration_rate += rate;
	summary->timed++;
}

static uint64_t without(uint64_t whole, uint64_t part)
{
	return whole - least(whole, part);
}

/*
 * Of a wait for a CPU that went on when the mark was made, what lay before it: at its next look the
 * worker had waited longer than there was time for since then.
 */
static uint64_t waited_before(const struct schedstat *mark, uint64_t mark_ns,
			      const struct worker_wait *next)
{
	return next->at_ns ? without(without(next->delay_ns, mark->delay_ns), next->at_ns - mark_ns)
			   : 0;
}

/*
 * Where its work began in the phase, what the thread did to get there is not of the work; what it
 * waited for a CPU until it could is, in each phase as far as that lies in it.
 */
static struct schedstat schedstat_in(const struct phase_worker *worker,
				     const struct worker_part *part,
				     const struct worker_report *report)
{
	uint64_t begun_ns = report->began_ns + report->late_ns;
	struct schedstat before = worker->before;
	uint64_t cpu_ns, before_ns = waited_before(&before, part->began_ns, &part->after_begin);

	if (report->schedstat_measured && begun_ns > part->ended_ns)
		return (struct schedstat){
			.delay_ns =
				least(worker->wall_ns, without(part->ended_ns, report->began_ns))};
	if (report->schedstat_measured && begun_ns > part->began_ns) {
		before = (struct schedstat){
			.cpu_ns = report->schedstat_before[0],
			.delay_ns = report->schedstat_before[1],
			.count = report->schedstat_before[2],
		};
		before_ns = without(part->began_ns, report->began_ns);
	}
	/* the clock and what the kernel counts were not read at one time */
	cpu_ns = least(worker->wall_ns, without(worker->after.cpu_ns, before.cpu_ns));
	return (struct schedstat){
		.cpu_ns = cpu_ns,
		.delay_ns = least(worker->wall_ns - cpu_ns,
				  without(worker->after.delay_ns + waited_before(&worker->after,
										 part->ended_ns,
										 &part->after_end),
					  before.delay_ns + before_ns)),
		.count = without(worker->after.count, before.count),
	};
}

static void add(struct summary *summary, const struct phase_worker *worker,
		const struct worker_part *part, const struct worker_report *report)
{
	uint64_t gap_ns, ready_ns = 0;

	summary->completed++;
	summary->wall_ns += worker->wall_ns;
	summary->iterations += worker->iterations;
	if (worker->known) {
		struct schedstat counted = schedstat_in(worker, part, report);

		summary->schedstats++;
		summary->cpu_ns += counted.cpu_ns;
		summary->cpu_squares += (double)counted.cpu_ns * (double)counted.cpu_ns;
		summary->run_delay_ns += counted.delay_ns;
		summary->run_count += counted.count;
		ready_ns = counted.cpu_ns + counted.delay_ns;
	}
	add_rate(summary, worker, ready_ns);
	if (!report->looks)
		return;
	summary->looked++;
	summary->migrations += part->migration_count;
	/* where in a gap it was frozen the worker does not know */
	gap_ns = part->max_gap_ns < worker->free_ns ? part->max_gap_ns : worker->free_ns;
	if (gap_ns < summary->max_gap_ns)
		return;
	summary->max_gap_ns = gap_ns;
	summary->max_gap_tid = report->tid;
}

int phases_summarize(const struct run_group *worker_group, unsigned int number,
		     struct summary *ret_summary)
{
	const struct worker_group *group = &worker_group->worker_group;
	struct summary summary = {.slowest = NAN, .fastest = NAN, .throughput_cv = NAN};
	int result = 0;

	for (unsigned int i = 0; worker_group->phase_workers && i < group->forked; i++) {
		const struct phase_worker *worker = &phase_workers(worker_group, number)[i];
		const struct worker_report *report = worker_group_report(&group->workers[i]);

		summary.workers += worker->wall_ns > 0;
		if (worker->wall_ns && report)
			add(&summary, worker, shared_part(&group->shared, i, number), report);
	}
	if (summary.workers)
		result = summary_add_samples(&summary, worker_group, number, 1);
	if (result >= 0)
		*ret_summary = summary;
	return result;
}
