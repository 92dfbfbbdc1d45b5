/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell verify`. */
#ifndef DWELL_COMMAND_VERIFY_OPTIONS_H
#define DWELL_COMMAND_VERIFY_OPTIONS_H

#include <stdbool.h>

#include "base/status_line.h"
#include "command/result_options.h"
#include "view/verify.h"

#define VERIFY_DIRECTORY "/var/tmp" /* unless --directory says another */

struct verify {
	struct result_options output;
	struct verify_options options;
	bool all, list;
	struct status_line line;
};

extern const struct command_line verify_line;

#endif
