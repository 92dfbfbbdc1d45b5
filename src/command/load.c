// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell load`: workers, what happened to them, and a verdict. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "command/command.h"
#include "command/load_ab.h"
#include "command/load_here.h"
#include "command/load_list.h"

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

/* All that can be known before anything is forked. */
static int prepare(struct load *load, struct error *error)
{
	struct spec *spec = &load->options.spec;
	int result = topology_read(&load->topology, "/sys", NULL, error);

	if (!spec->seed_given)
		spec->seed = clock_realtime_ns() % 1000000000;
	if (result >= 0)
		result = plan_check(spec, &load->topology, load->options.action == LOAD_RUN, error);
	if (result >= 0)
		result = cgroups_check(spec, error);
	return result;
}

static int run(struct load *load, struct error *error)
{
	int result = 0;

	if (load->options.save)
		result = load_store_open(&load->store, load->options.save, &load->options.spec,
					 error);
	if (result < 0)
		return command_fail("load", EXIT_NOT_RUN, error);
	load_progress_init(&load->progress, load->options.quiet);
	result = guardian_run(run_guarded, load, error);
	if (result < 0)
		result = command_fail("load", EXIT_NOT_RUN, error);
	load_store_close(&load->store);
	return result;
}

static int act(struct load *load)
{
	struct error error = {""};
	int result;

	if (load->options.action == LOAD_LIST || load->options.action == LOAD_PRINT) {
		result = load->options.action == LOAD_LIST
				 ? load_list(load->options.subject, &error)
				 : load_print(load->options.subject, &error);
		return result < 0 ? command_fail("load", EXIT_USAGE, &error) : EXIT_DONE;
	}
	/* the options of a run may stay: it is to be looked at before it is made */
	if (load->options.action == LOAD_DRY_RUN && load->options.output.given)
		fputs("dwell load: the plan is text: formats are for results\n", stderr);
	if (load->options.action == LOAD_AB)
		return load_ab(load);
	result = prepare(load, &error);
	if (result >= 0 && load->options.action == LOAD_DRY_RUN)
		result = load_print_plan(&load->options.spec, &load->topology, &error);
	if (result < 0)
		return command_fail(
			"load", result == -EINVAL || result == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN,
			&error);
	return load->options.action == LOAD_DRY_RUN ? EXIT_DONE : run(load, &error);
}

static int load_run(int argc, char **argv)
{
	struct load load = {.options = {.action = LOAD_RUN}};
	int code = load_options_parse(&load.options, argc, argv);

	if (code == EXIT_DONE)
		code = act(&load);
	topology_release(&load.topology);
	spec_release(&load.options.spec);
	return code;
}

const struct command command_load = {
	.name = "load",
	.summary = "run scheduler workloads and check the results",
	.line = &load_line,
	.outputs = {"save"},
	.argument = ARGUMENT_SCENARIO,
	.run = load_run,
};
