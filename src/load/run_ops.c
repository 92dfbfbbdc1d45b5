// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_setaffinity */
#include "load/run_ops.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "load/phases.h"

#define SET_UP_NS 1000000000ULL /* for all workers that have just begun */

static struct run_cgroup *find_cgroup(struct run *run, const char *name)
{
	for (size_t i = 0; i < run->run_cgroup_count; i++)
		if (!strcmp(run->run_cgroups[i].name, name))
			return &run->run_cgroups[i];
	return NULL;
}

/* As the ops have left them: its own, those of a cgroup around it, or all. */
static const struct cpus *cpus_of(struct run *run, const char *name)
{
	char around[SPEC_NAME_BYTES];

	snprintf(around, sizeof(around), "%s", name);
	for (;;) {
		const struct run_cgroup *cgroup = find_cgroup(run, around);
		char *slash = strrchr(around, '/');

		if (cgroup && cgroup->limited)
			return &cgroup->cpus;
		if (!slash)
			return &run->topology->usable;
		*slash = '\0';
	}
}

/* `name` is `cgroup`, or nested in it. */
static bool is_within(const char *name, const char *cgroup)
{
	size_t length = strlen(cgroup);

	return !strncmp(name, cgroup, length) && (!name[length] || name[length] == '/');
}

/* By itself, or by a cgroup around it. */
static bool is_frozen(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->run_cgroup_count; i++)
		if (run->run_cgroups[i].frozen && is_within(name, run->run_cgroups[i].name))
			return true;
	return false;
}

/*
 * What it does not do from here on, or did not do until now, is no fault. Noted before the kernel
 * is asked to freeze it, and after it has thawed it: where we lose the CPU in between, nothing of
 * the freeze may lie outside.
 */
static void note_pause(struct run_group *run_group, bool frozen)
{
	struct worker_group *worker_group = &run_group->worker_group;
	uint64_t now_ns = clock_monotonic_ns();

	if (worker_group->frozen == frozen)
		return;
	worker_group->frozen = frozen;
	for (unsigned int k = 0; k < worker_group->forked; k++) {
		struct pauses *pauses = &shared_slot(&worker_group->shared, k)->pauses;

		if (frozen)
			pauses_begin(pauses, now_ns);
		else
			pauses_end(pauses, now_ns);
	}
}

static void note_pauses(struct run *run)
{
	for (size_t i = 0; i < run->worker_group_count; i++)
		if (!run->worker_groups[i]->worker_group.over)
			note_pause(run->worker_groups[i],
				   is_frozen(run, run->worker_groups[i]->cgroup));
}

static int thaw(struct run *run, struct run_cgroup *cgroup, struct error *error)
{
	int result = cgroups_freeze(&run->cgroups, cgroup->name, false, error);

	cgroup->frozen = false;
	note_pauses(run);
	return result;
}

/* NULL: out of memory. */
static struct run_group *new_group(struct run *run)
{
	struct run_group *worker_group;

	if (array_reserve(&run->worker_groups, &run->worker_group_room, run->worker_group_count + 1,
			  sizeof(worker_group)) < 0)
		return NULL;
	worker_group = calloc(1, sizeof(*worker_group));
	if (worker_group)
		run->worker_groups[run->worker_group_count++] = worker_group;
	return worker_group;
}

static int place(struct run *run, const struct run_group *worker_group, struct error *error)
{
	cleanup_free pid_t *pids = calloc(worker_group->worker_group.forked, sizeof(*pids));
	size_t count = 0;

	if (!*worker_group->cgroup && !(worker_group->group.work->type->flags & WORK_CGROUPS))
		return 0;
	if (!pids)
		return error_set(error, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < worker_group->worker_group.forked; i++)
		if (!count || pids[count - 1] != worker_group->worker_group.workers[i].pid)
			pids[count++] = worker_group->worker_group.workers[i].pid;
	return cgroups_move(&run->cgroups, worker_group->cgroup, pids, count, error);
}

/* Which process workers signal that have not run for 2 s; 0: none. */
static pid_t alarmed_pid(const struct run *run, pid_t pid)
{
	return pid > 0 && !run->options->repro && scheduler_hears(&run->scheduler) ? pid : 0;
}

static int fork_group(struct run *run, const struct spec_cgroup *cgroup,
		      const struct spec_work *work, struct error *error)
{
	struct run_group *worker_group = new_group(run);
	struct worker_group_options options = {
		.seed = run->spec->seed,
		.first_index = run->workers,
		.scheduler_pid = alarmed_pid(run, run->scheduler.pid),
		.scratch = &run->scratch,
		.parts = phases_measured(run->spec) + 1,
	};
	int result;

	if (!worker_group)
		return error_set(error, ENOMEM, "out of memory");
	worker_group->worker_group.start_fd = -1;
	worker_group->first_index = run->workers;
	snprintf(worker_group->cgroup, sizeof(worker_group->cgroup), "%s", cgroup->name);
	worker_group->allowed = *cpus_of(run, cgroup->name);
	result = plan_group(&run->planner, cgroup, work, &worker_group->allowed,
			    &worker_group->group, error);
	if (result >= 0)
		result = worker_group_fork(&worker_group->worker_group, &worker_group->group,
					   &options, error);
	if (result < 0)
		return result;
	run->workers += worker_group->worker_group.forked;
	note_pause(worker_group, is_frozen(run, worker_group->cgroup));
	return place(run, worker_group, error);
}

static int fork_works(struct run *run, const struct spec_cgroup *cgroup, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < cgroup->works.count; i++)
		result = fork_group(run, cgroup, &cgroup->works.items[i], error);
	return result;
}

static int add_cgroup(struct run *run, const struct spec_cgroup *cgroup, struct error *error)
{
	struct run_cgroup *added;
	int result = array_reserve(&run->run_cgroups, &run->run_cgroup_room,
				   run->run_cgroup_count + 1, sizeof(*run->run_cgroups));

	if (result < 0)
		return error_set(error, ENOMEM, "out of memory");
	added = &run->run_cgroups[run->run_cgroup_count];
	*added = (struct run_cgroup){.limited = cgroup->cpuset != NULL};
	snprintf(added->name, sizeof(added->name), "%s", cgroup->name);
	if (cgroup->cpuset)
		result = topology_cpus(run->topology, cgroup->cpuset, &added->cpus, error);
	if (result >= 0)
		result = cgroups_add(&run->cgroups, cgroup->name, &cgroup->limits,
				     cgroup->cpuset ? &added->cpus : NULL, error);
	run->run_cgroup_count++;
	return result;
}

int run_add_cgroup(struct run *run, const struct spec_cgroup *cgroup, struct error *error)
{
	int result = *cgroup->name ? add_cgroup(run, cgroup, error) : 0;

	return result < 0 ? error_wrap(error, result, "cgroup %s", cgroup->name)
			  : fork_works(run, cgroup, error);
}

int run_start_groups(struct run *run, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < run->worker_group_count; i++) {
		struct run_group *worker_group = run->worker_groups[i];

		if (worker_group->begun)
			continue;
		result = worker_group_start(&worker_group->worker_group, error);
		worker_group->begun = result >= 0;
		if (result >= 0 && phases_join(run, worker_group) < 0)
			result = error_set(error, ENOMEM, "out of memory");
	}
	return result;
}

static bool is_in(const struct run_group *worker_group, const char *cgroup)
{
	return !cgroup || !strcmp(worker_group->cgroup, cgroup);
}

/* The frozen would not hear that they are to stop, whichever cgroup around them it is. */
static void thaw_to_stop(struct run *run, const char *cgroup)
{
	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct run_group *worker_group = run->worker_groups[i];

		if (worker_group->worker_group.over || !is_in(worker_group, cgroup))
			continue;
		for (size_t k = 0; k < run->run_cgroup_count; k++) {
			struct run_cgroup *frozen = &run->run_cgroups[k];

			if (!frozen->frozen || !is_within(worker_group->cgroup, frozen->name))
				continue;
			if (thaw(run, frozen, NULL) < 0)
				run_note(run, "cannot thaw %s to stop %s", frozen->name,
					 worker_group->cgroup);
			else if (cgroup)
				run_note(run, "thawed %s to stop %s", frozen->name,
					 worker_group->cgroup);
		}
	}
}

/* SIGUSR2s of workers that left no report in which they would be counted. */
static uint64_t unreported_alarms(const struct worker_group *worker_group)
{
	uint64_t alarms = 0;

	for (unsigned int i = 0; i < worker_group->forked; i++)
		if (!worker_group_report(&worker_group->workers[i]))
			alarms += __atomic_load_n(&shared_slot(&worker_group->shared, i)->alarms,
						  __ATOMIC_RELAXED);
	return alarms;
}

void run_stop_groups(struct run *run, const char *cgroup)
{
	struct worker_group **worker_groups =
		calloc(run->worker_group_count + 1, sizeof(struct worker_group *));
	size_t count = 0;

	if (!worker_groups)
		return; /* run_release() kills them */
	thaw_to_stop(run, cgroup);
	for (size_t i = 0; i < run->worker_group_count; i++)
		if (is_in(run->worker_groups[i], cgroup) &&
		    run->worker_groups[i]->worker_group.workers &&
		    !run->worker_groups[i]->worker_group.over)
			worker_groups[count++] = &run->worker_groups[i]->worker_group;
	for (size_t i = 0; i < run->worker_group_count; i++)
		if (is_in(run->worker_groups[i], cgroup))
			phases_leave(run, run->worker_groups[i]);
	worker_groups_stop(worker_groups, count);
	for (size_t i = 0; i < count; i++)
		run->alarms += unreported_alarms(worker_groups[i]);
	free(worker_groups);
}

/* NULL: those of the cgroup around it. What its workers used before stays allowed to them. */
static int set_cpuset(struct run *run, const char *name, const struct cpus *cpus,
		      struct error *error)
{
	struct run_cgroup *cgroup = find_cgroup(run, name);
	int result;

	if (!cgroup)
		return error_set(error, ENOENT, "there is no cgroup '%s'", name);
	result = cgroups_set_cpus(&run->cgroups, name, cpus, error);
	if (result < 0)
		return result;
	cgroup->limited = cpus != NULL;
	if (cpus)
		cgroup->cpus = *cpus;
	/* of nested ones too: where they end is known only from all of them */
	for (size_t i = 0; i < run->worker_group_count; i++)
		if (!run->worker_groups[i]->worker_group.over)
			cpus_unite(&run->worker_groups[i]->allowed,
				   cpus_of(run, run->worker_groups[i]->cgroup));
	return 0;
}

static int swap_cpusets(struct run *run, const char *a, const char *b, struct error *error)
{
	struct cpus of_a = *cpus_of(run, a), of_b = *cpus_of(run, b);
	int result = set_cpuset(run, a, &of_b, error);

	return result < 0 ? result : set_cpuset(run, b, &of_a, error);
}

/*
 * The worker, once it has set itself up, for it would undo what was done before. One that cannot
 * come to that (frozen, ended, or kept from running) is not waited for: its process, or 0.
 */
static pid_t await_set_up(const struct run_group *worker_group, unsigned int number,
			  uint64_t deadline_ns)
{
	const struct worker_slot *slot = shared_slot(&worker_group->worker_group.shared, number);
	const struct group_worker *worker = &worker_group->worker_group.workers[number];
	pid_t tid;

	while (!__atomic_load_n(&slot->looked_ns, __ATOMIC_RELAXED) &&
	       !worker_group->worker_group.frozen && !group_worker_ended(worker) &&
	       clock_monotonic_ns() < deadline_ns)
		clock_sleep_ms(1);
	tid = (pid_t)__atomic_load_n(&slot->tid, __ATOMIC_RELAXED);
	return tid || worker_group->group.work->threads ? tid : worker->pid;
}

static int set_affinity(struct run *run, const struct spec_op *op, struct error *error)
{
	uint64_t deadline_ns = clock_monotonic_ns() + SET_UP_NS;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < run->worker_group_count; i++) {
		struct run_group *worker_group = run->worker_groups[i];
		struct cpus *sets = NULL;

		if (worker_group->worker_group.over || !is_in(worker_group, op->cgroup.name))
			continue;
		result = plan_affinity(&run->planner, &op->affinity,
				       cpus_of(run, worker_group->cgroup),
				       worker_group->group.count, &sets, error);
		for (unsigned int k = 0; result >= 0 && k < worker_group->worker_group.forked;
		     k++) {
			pid_t tid = await_set_up(worker_group, k, deadline_ns);
			const struct cpus *cpus =
				sets ? &sets[k] : cpus_of(run, worker_group->cgroup);

			if (tid &&
			    sched_setaffinity(tid, sizeof(*cpus), (const cpu_set_t *)cpus) < 0 &&
			    errno != ESRCH)
				result = error_set(error, errno,
						   "cannot set the affinity of worker %d: %s", tid,
						   strerror(errno));
		}
		free(sets);
	}
	return result;
}

static int move_tasks(struct run *run, const char *from, const char *to, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < run->worker_group_count; i++) {
		struct run_group *worker_group = run->worker_groups[i];

		if (worker_group->worker_group.over || strcmp(worker_group->cgroup, from) != 0)
			continue;
		snprintf(worker_group->cgroup, sizeof(worker_group->cgroup), "%s", to);
		/* what it used before stays allowed to it */
		cpus_unite(&worker_group->allowed, cpus_of(run, to));
		if (is_frozen(run, to))
			note_pause(worker_group, true);
		result = place(run, worker_group, error);
		note_pause(worker_group, is_frozen(run, to));
	}
	return result;
}

static int remove_cgroup(struct run *run, const char *name, struct error *error)
{
	struct run_cgroup *cgroup = find_cgroup(run, name);
	int result;

	run_stop_groups(run, name);
	result = cgroups_remove(&run->cgroups, name, error);
	if (result >= 0 && cgroup)
		*cgroup = run->run_cgroups[--run->run_cgroup_count];
	return result;
}

static int freeze(struct run *run, const char *name, bool frozen, struct error *error)
{
	struct run_cgroup *cgroup = find_cgroup(run, name);

	if (!cgroup)
		return error_set(error, ENOENT, "there is no cgroup '%s'", name);
	if (!frozen)
		return thaw(run, cgroup, error);
	/* also if only some of its tasks come to be: they are to be thawed at the end */
	cgroup->frozen = true;
	note_pauses(run);
	return cgroups_freeze(&run->cgroups, name, true, error);
}

static int spawn(struct run *run, const struct spec_cgroup *cgroup, struct error *error)
{
	int result = fork_works(run, cgroup, error);

	return result < 0 ? result : run_start_groups(run, error);
}

void run_set_scheduler(struct run *run, pid_t pid)
{
	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct worker_group *worker_group = &run->worker_groups[i]->worker_group;
		bool alarmed = worker_group->forked &&
			       !(worker_group->group->work->type->flags & WORK_BYPASS);

		for (unsigned int k = 0; alarmed && k < worker_group->forked; k++)
			__atomic_store_n(&shared_slot(&worker_group->shared, k)->scheduler_pid,
					 alarmed_pid(run, pid), __ATOMIC_RELAXED);
	}
}

static void stop_scheduler(struct run *run)
{
	/* first: its pid may be another process's then */
	run_set_scheduler(run, 0);
	scheduler_stop(&run->scheduler);
}

static int start_scheduler(struct run *run, const char *command, struct error *error)
{
	int result = scheduler_start(&run->scheduler, command, error);

	if (result >= 0)
		run_set_scheduler(run, run->scheduler.pid);
	return result;
}

static int carry_out(struct run *run, const struct spec_op *op, struct error *error)
{
	const char *name = op->cgroup.name;
	struct cpus cpus;
	int result;

	switch (op->kind) {
	case OP_ADD_CGROUP:
		result = run_add_cgroup(run, &op->cgroup, error);
		return result < 0 ? result : run_start_groups(run, error);
	case OP_REMOVE_CGROUP:
		return remove_cgroup(run, name, error);
	case OP_SET_CPUSET:
		result = topology_cpus(run->topology, op->cgroup.cpuset, &cpus, error);
		return result < 0 ? result : set_cpuset(run, name, &cpus, error);
	case OP_CLEAR_CPUSET:
		return set_cpuset(run, name, NULL, error);
	case OP_SWAP_CPUSETS:
		return swap_cpusets(run, name, op->other, error);
	case OP_SET_LIMITS:
		return cgroups_set_limits(&run->cgroups, name, &op->cgroup.limits, error);
	case OP_SPAWN:
		return spawn(run, &op->cgroup, error);
	case OP_STOP_GROUP:
		run_stop_groups(run, name);
		return 0;
	case OP_SET_AFFINITY:
		return set_affinity(run, op, error);
	case OP_MOVE_TASKS:
		return move_tasks(run, name, op->other, error);
	case OP_FREEZE:
	case OP_THAW:
		return freeze(run, name, op->kind == OP_FREEZE, error);
	case OP_STOP_SCHEDULER:
		stop_scheduler(run);
		return 0;
	case OP_REPLACE_SCHEDULER:
		stop_scheduler(run);
		return start_scheduler(run, op->command, error);
	case OP_START_SCHEDULER:
		return start_scheduler(run, op->command, error);
	case OP_KINDS:
		break;
	}
	return -EINVAL;
}

int run_op(struct run *run, const struct spec_op *op, struct error *error)
{
	int result = carry_out(run, op, error);
	char text[sizeof(run->events->text)];

	spec_format_op(text, sizeof(text), op);
	run_note(run, "%s", text);
	if (result < 0)
		return plan_error_at(run->spec, op->place,
				     error_wrap(error, result, "%s", op_names[op->kind]), error);
	return 0;
}
