/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to watch, how long and from which source: options that several commands share. */
#ifndef DWELL_COMMAND_WATCH_OPTIONS_H
#define DWELL_COMMAND_WATCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command_line.h"
#include "command/parsing.h"
#include "session/watch.h"

/* Of a struct watch_options; without source and interval, which each command says itself. */
extern const struct command_option watch_option_table[];

int watch_take_source(void *data, const char *value, struct error *error) must_check;
int watch_take_interval(void *data, const char *value, struct error *error) must_check;

#define WATCH_SOURCES "where figures come from: auto, bpf, taskstats or procfs (auto)"

/* All of them in a command's table; `sources`: the help of --source, `interval`: its default. */
#define WATCH_OPTIONS(options, member_, sources, interval)                                         \
	OPTIONS_OF(watch_option_table, options, member_), OPTION_GROUP(1, NULL),                   \
		TAKEN_MEMBER("source", 0, "SOURCE", options, member_, watch_take_source, sources), \
		OPTION_GROUP(2, NULL),                                                             \
		TAKEN_MEMBER("interval", 'i', "TIME", options, member_, watch_take_interval,       \
			     "length of an interval, at least 1ms (" interval ")")

void watch_options_init(struct watch_options *options);

/* As command_line.take_argument and command_line.end: a name, or the command behind `--`. */
int watch_take_argument(void *data, char **rest, bool is_behind_dashes,
			struct error *error) must_check;
int watch_options_end(const struct watch_options *options, struct error *error) must_check;

#endif
