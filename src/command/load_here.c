// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_here.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/print.h"
#include "base/status_line.h"
#include "command/command.h"
#include "command/load_trace.h"
#include "view/load.h"

/* What is known of a run, and how much of it is asked for. */
struct reported {
	const struct load_options *options;
	const struct outcome *outcome;
};

static int write_page(struct output *out, const void *result)
{
	const struct reported *reported = result;

	load_table(out, reported->outcome, reported->options->workers);
	return 0;
}

static int emit_reported(const struct emit *emit, const void *result)
{
	const struct reported *reported = result;

	return load_emit(emit, reported->outcome, reported->options->samples);
}

static const struct result_kind kind = {
	.schema = &load_schema, .page = write_page, .emit = emit_reported};

static int on_starting(void *data, struct error *error)
{
	struct load *load = data;

	machine_read(&load->machine, &load->topology);
	return load->observer ? load_observer_begin(load->observer, error) : 0;
}

static int on_tick(void *data, const struct run *run, struct error *error)
{
	struct load *load = data;

	load_progress_show(&load->progress, run);
	return load->observer ? load_observer_tick(load->observer, error) : 0;
}

static void on_warn(void *data, uint64_t at_ns, const char *text)
{
	struct load *load = data;
	char at[16];

	status_line_clear(&load->progress.line);
	duration_format(at, sizeof(at), at_ns);
	if (!load->options.quiet)
		print_text(stderr, "dwell load: %s: %s\n", at, text);
}

static int on_ready(void *data, struct error *error)
{
	struct load *load = data;

	return load_observer_work(load->observer, error);
}

static int on_stopped(void *data, struct error *error)
{
	struct load *load = data;

	status_line_clear(&load->progress.line);
	return load->observer ? load_observer_end(load->observer, error) : 0;
}

/* Reports what is known of the run, even if something else fails. */
static int report(struct load *load, const struct run *run, enum verdict *ret_verdict,
		  struct error *error)
{
	struct outcome outcome;
	const struct reported reported = {&load->options, &outcome};
	int result = outcome_make(&outcome, run, &load->machine), stored = 0;

	if (result >= 0 && load->observer)
		result = load_observer_take(load->observer, &outcome);
	if (result < 0) {
		outcome_release(&outcome);
		return error_set(error, ENOMEM, "out of memory");
	}
	*ret_verdict = outcome.check_results.verdict;
	stored = load_trace_write(load, &outcome, error);
	if (stored >= 0)
		stored = load_store_write(&load->store, &outcome, error);
	result = result_print(&load->options.output, &kind, &reported, stored < 0 ? NULL : error);
	outcome_release(&outcome);
	return stored < 0 ? stored : result;
}

/*
 * Runs the workers and reports what became of them, as the options ask for it. `guarded` of the
 * process that runs it: load/guardian.h.
 */
static int load_run_here(struct load *load, struct guarded *guarded, enum verdict *ret_verdict,
			 struct error *error)
{
	struct run_options options = {
		.scheduler_pid = load->options.scheduler_pid,
		.repro = load->options.repro,
		.trace = load_trace_wanted(&load->options),
		.time_ops = !load->options.no_time_ops,
		.cgroup_root = load->options.cgroup_root,
		.scratch = load->options.scratch,
		.hooks = {.data = load,
			  .starting = on_starting,
			  .tick = on_tick,
			  .warn = on_warn,
			  .ready = on_ready,
			  .stopped = on_stopped},
	};
	struct run run = {.spec = NULL};
	int result = 0;

	if (load->options.observe)
		result = load_observer_open(&load->observer, &run, error);
	if (result < 0)
		return result;
	if (load->observer)
		options.hooks.fd_count =
			(unsigned int)load_observer_descriptors(load->observer, options.hooks.fds);
	result = run_execute(&run, &load->options.spec, &load->topology, &options, guarded, error);
	if (result >= 0)
		result = report(load, &run, ret_verdict, error);
	run_release(&run);
	load_observer_close(load->observer);
	return result;
}

/* In the guardian's child: an exit code. */
static int run_guarded(void *data, struct guarded *guarded)
{
	struct load *load = data;
	enum verdict verdict = VERDICT_SKIP;
	struct error error = {""};
	int result;

	/* a reader that went away is an error to report */
	signal(SIGPIPE, SIG_IGN);
	result = load_run_here(load, guarded, &verdict, &error);
	if (result < 0)
		return command_fail("load", result == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	return verdict_exit_code(verdict);
}

int load_prepare(struct load *load, struct error *error)
{
	struct spec *spec = &load->options.spec;
	int result = topology_read(&load->topology, "/sys", NULL, error);

	if (!spec->seed_given)
		spec->seed = clock_realtime_ns() % 1000000000;
	if (result >= 0)
		result = plan_check(spec, &load->topology, !load->options.dry_run, error);
	if (result >= 0 && !load->options.dry_run)
		result = cgroups_check(spec, error);
	return result;
}

int load_run_alone(struct load *load)
{
	struct error error = {""};
	int result = 0;

	if (load->options.save)
		result = load_store_open(&load->store, load->options.save, &load->options.spec,
					 &error);
	if (result >= 0 && load->options.trace)
		result = file_draft_try(load->options.trace, &error);
	if (result < 0)
		return command_fail("load", EXIT_NOT_RUN, &error);
	load_progress_init(&load->progress, load->options.quiet);
	result = guardian_run(run_guarded, load, &error);
	if (result < 0)
		result = command_fail("load", EXIT_NOT_RUN, &error);
	load_store_close(&load->store);
	return result;
}
