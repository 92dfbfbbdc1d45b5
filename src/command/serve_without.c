// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without libmicrohttpd (-Dserve=disabled). */
#include "base/build_options.h"
#include "command/command.h"
#include "command/serve_options.h"

static int serve_run(int argc, char **argv)
{
	struct error error = {""};

	(void)argc;
	(void)argv;
	return build_option_missing(BUILD_SERVE, &error) < 0
		       ? command_fail("serve", EXIT_NOT_RUN, &error)
		       : EXIT_DONE;
}

const struct command command_serve = {
	.name = "serve",
	.summary = "not in this build: `dwell serve` says which option brings it",
	.line = &serve_line,
	.argument = ARGUMENT_PROCESS,
	.run = serve_run,
};
