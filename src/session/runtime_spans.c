// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/runtime_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/proc_stat.h"
#include "capture/proc_threads.h"
#include "capture/thread_names.h"

_Static_assert(RUNTIME_LIBRARIES == STACK_LIBRARIES_MAX, "one is given as the other");

/* The runtime's probes as the source takes them. The strings stay the plan's. */
static int set_probes(struct span_options *spans, const struct runtime_plan *plan)
{
	static const enum span_kind kinds[] = {[POLLS_TASKS] = SPAN_POLL,
					       [POLLS_POOL_CLOSURES] = SPAN_POOL,
					       [POLLS_WORKERS] = SPAN_LIFE,
					       [POLLS_CLOSURES] = SPAN_CLOSURE};

	spans->runtime = plan->runtime->name;
	spans->turns = plan->turns;
	spans->turns_rotate = plan->turns_rotate;
	spans->stacks.marks = plan->runtime->marks;
	spans->stacks.packages = runtime_packages;
	spans->stacks.library_count = (unsigned int)plan->library_count;
	for (size_t i = 0; i < plan->library_count; i++)
		spans->stacks.libraries[i] = plan->libraries[i];
	spans->probes = calloc(plan->count ? plan->count : 1, sizeof(*spans->probes));
	if (!spans->probes)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++)
		spans->probes[i] = (struct span_probe){
			.path = plan->probes[i].path,
			.offset = plan->probes[i].offset,
			.kind = kinds[plan->probes[i].polls],
			.type = plan->probes[i].type,
			.place = plan->probes[i].place,
			.is_task = plan->probes[i].is_task,
		};
	spans->probe_count = plan->count;
	return 0;
}

static int check_prefix(struct span_options *spans, struct error *error)
{
	char names[160];

	if (!thread_names(spans->pid, spans->prefix, &spans->named, names, sizeof(names)) ||
	    spans->named)
		return 0;
	return error_set(error, ENOENT,
			 "--workers: no thread of process %u is named %s…: there are %s",
			 spans->pid, spans->prefix, names);
}

int runtime_spans_make(struct span_options *spans, struct runtime_plan *plan,
		       const struct runtime_ops *runtime, bool is_new, struct error *error)
{
	int result = *spans->prefix && !is_new ? check_prefix(spans, error) : 0;

	if (result >= 0)
		result = runtime_plan_make(plan, runtime, spans->pid, spans->stacks.symbols, error);
	if (result >= 0 && set_probes(spans, plan) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	return result;
}

void runtime_spans_release(struct span_options *spans, struct runtime_plan *plan)
{
	free(spans->probes);
	spans->probes = NULL;
	runtime_plan_release(plan);
}

/* Whether a debugger, or a signal, has stopped each of its threads. */
static bool is_stopped(uint32_t pid)
{
	cleanup_proc_threads struct proc_threads threads = {0};
	struct proc_stat stat;

	if (proc_threads_of(&threads, pid) < 0)
		return false;
	for (size_t i = 0; i < threads.count; i++)
		if (!proc_stat_read(pid, threads.items[i].tid, &stat) ||
		    (stat.state != 'T' && stat.state != 't'))
			return false;
	return threads.count > 0;
}

int runtime_spans_check(const struct span_options *spans, struct stalls *stalls,
			bool polls_elsewhere, struct error *error)
{
	char names[160];
	size_t count, matching;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	for (size_t i = 0; i < count; i++)
		if (workers[i].last.kind != WIRE_SPAN_POOL)
			return 0;
	if (polls_elsewhere)
		return error_set(error, ENOENT,
				 "no worker found: %s polls all its tasks on stacks that are not "
				 "their threads' own, as of coroutines, which is not measured; use "
				 "dwell top",
				 spans->process);
	if (!thread_names(spans->pid, "", &matching, names, sizeof(names)))
		return error_set(error, ENOENT,
				 "no worker found: no thread of %s polled a task or waited for "
				 "events as a loop does; for plain threads use dwell top",
				 spans->process);
	if (is_stopped(spans->pid))
		return error_set(error, ENOENT,
				 "no worker found: all threads of %s are stopped, by a debugger or "
				 "a signal: let them go on, and start dwell blocked again",
				 spans->process);
	return error_set(error, ENOENT,
			 "no worker found: no thread polled a task or waited for events as a loop "
			 "does: there are %s (--workers PREFIX names workers, also where their "
			 "loop hangs). For plain threads use dwell top -p %u",
			 names, spans->pid);
}
