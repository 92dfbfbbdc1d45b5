/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to watch, how long and from which source: options that several commands share. */
#ifndef DWELL_COMMAND_WATCH_OPTIONS_H
#define DWELL_COMMAND_WATCH_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "command/parsing.h"
#include "session/watch.h"

/* For the parser of a command: child_inputs[] of `watch_argp`. */
struct watch_parsing {
	struct watch_options *options;
	struct parsing *parsing;
};

/* As a child of a command's argp. Takes `-- COMMAND` too. */
extern const struct argp watch_argp;

void watch_options_init(struct watch_options *options);

#endif
