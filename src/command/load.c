// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell load`: workers, what happened to them, and a verdict. */
#include <errno.h>

#include "command/command.h"
#include "command/load_ab.h"
#include "command/load_here.h"
#include "command/load_list.h"
#include "command/load_sweep.h"

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
	if (load->options.dry_run && load->options.output.given)
		fputs("dwell load: the plan is text: formats are for results\n", stderr);
	if (load->options.action == LOAD_AB)
		return load_ab(load);
	if (load->options.action == LOAD_SWEEP)
		return load_sweep(load);
	result = load_prepare(load, &error);
	if (result >= 0 && load->options.dry_run)
		result = load_print_plan(&load->options.spec, &load->topology, &error);
	if (result < 0)
		return command_fail(
			"load", result == -EINVAL || result == -EEXIST ? EXIT_USAGE : EXIT_NOT_RUN,
			&error);
	return load->options.dry_run ? EXIT_DONE : load_run_alone(load);
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
	.outputs = {"save", "trace"},
	.argument = ARGUMENT_SCENARIO,
	.run = load_run,
};
