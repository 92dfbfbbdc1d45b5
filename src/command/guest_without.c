// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without guests (-Dguests=disabled). */
#include "base/build_options.h"
#include "command/command.h"
#include "command/guest_options.h"

static int guest_run(int argc, char **argv)
{
	struct error error = {""};

	(void)argc;
	(void)argv;
	return build_option_missing(BUILD_GUESTS, &error) < 0
		       ? command_fail("guest", EXIT_NOT_RUN, &error)
		       : EXIT_DONE;
}

const struct command command_guest = {
	.name = "guest",
	.summary = "not in this build: `dwell guest` says which option brings it",
	.line = &guest_line,
	.argument = ARGUMENT_COMMAND,
	.run = guest_run,
};
