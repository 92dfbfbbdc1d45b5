// SPDX-License-Identifier: GPL-2.0-or-later
/* A function of the user's, from a shared object: include/dwell/work.h is the contract. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/privilege.h"
#include "dwell/work.h"
#include "load/work_type.h"

struct custom {
	char *library;
	char *function;
	char *argument;
};

static const struct param params[] = {
	PARAM(struct custom, library, TEXT, NULL, 0, 0, "shared object, as ./mine.so"),
	PARAM(struct custom, function, TEXT, "dwell_work", 0, 0, "name of the function in it"),
	PARAM(struct custom, argument, TEXT, NULL, 0, 0, "for the function"),
	{.name = NULL},
};

/* Stays loaded: the workers are forked from the process that looked. */
static dwell_work_function *find(const struct custom *custom, struct error *error)
{
	dwell_work_function *function;
	void *library;

	library = dlopen(custom->library, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		error_set(error, EINVAL, "cannot load it: %s", dlerror());
		return NULL;
	}
	/* POSIX has it so, ISO C knows no conversion between the two kinds of pointers */
	*(void **)&function = dlsym(library, custom->function);
	if (!function)
		error_set(error, EINVAL, "%s has no function '%s'", custom->library,
			  custom->function);
	return function;
}

/* Where it is found by its name alone, loading it shows whether it is there. */
static int check(const void *params_, struct error *error)
{
	const struct custom *custom = params_;

	if (!custom->library)
		return error_set(error, EINVAL, "which library? custom:library=./mine.so");
	if (privilege_is_lent())
		return error_set(error, EINVAL,
				 "this copy of dwell has capabilities that its user lacks, and "
				 "runs no code of theirs: use a copy without (see getcap(8))");
	if (strchr(custom->library, '/') && access(custom->library, R_OK) < 0)
		return error_set(error, EINVAL, "cannot load it: %s: %s", custom->library,
				 strerror(errno));
	return 0;
}

static int load(const void *params_, struct error *error)
{
	return find(params_, error) ? 0 : -EINVAL;
}

static int on_stopping(struct dwell_work *work)
{
	(void)work;
	return worker_stopping();
}

static void on_progress(struct dwell_work *work)
{
	struct worker *worker = work->dwell;

	worker->work_units = work->work_units;
	worker->iterations = work->iterations;
	__atomic_store_n(&worker->slot->iterations, worker->iterations, __ATOMIC_RELAXED);
	worker_look(worker, clock_monotonic_ns());
}

static int on_sleep_ns(struct dwell_work *work, uint64_t ns)
{
	return worker_sleep(work->dwell, ns) ? 0 : -1;
}

static void on_wait_sample(struct dwell_work *work, uint64_t ns)
{
	worker_sample(work->dwell, SAMPLES_RESUME, ns);
}

static void on_wake_sample(struct dwell_work *work, uint64_t ns)
{
	worker_sample(work->dwell, SAMPLES_WAKE_TO_RUN, ns);
}

static void on_cost_sample(struct dwell_work *work, uint64_t ns)
{
	worker_sample(work->dwell, SAMPLES_COST, ns);
}

static void on_fail(struct dwell_work *work, const char *message)
{
	worker_fail(work->dwell, "%s", message);
}

static void iterate(struct worker *worker)
{
	const struct custom *custom = worker->params;
	struct dwell_work work = {
		.version = DWELL_WORK_VERSION,
		.index = worker->index,
		.seed = random_seed(worker->seed, worker->index),
		.argument = custom->argument ? custom->argument : "",
		.stopping = on_stopping,
		.progress = on_progress,
		.sleep_ns = on_sleep_ns,
		.wait_sample = on_wait_sample,
		.wake_sample = on_wake_sample,
		.cost_sample = on_cost_sample,
		.fail = on_fail,
		.dwell = worker,
	};
	struct error error = {""};
	dwell_work_function *function = find(custom, &error);
	int code;

	if (!function) {
		worker_fail(worker, "%s", error.text);
		return;
	}
	code = function(&work);
	worker->work_units = work.work_units;
	worker->iterations = work.iterations;
	if (code)
		worker_fail(worker, "%s returned %d", custom->function, code);
}

const struct work_type work_custom = {
	.name = "custom",
	.summary = "a function of yours, from a shared object",
	.params = params,
	.params_bytes = sizeof(struct custom),
	.flags = WORK_BYPASS,
	.check = check,
	.load = load,
	.iterate = iterate,
};
