/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What meson_options.txt leaves to a distribution, and whether this dwell was built with it. */
#ifndef DWELL_BASE_BUILD_OPTIONS_H
#define DWELL_BASE_BUILD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* name as meson's -D has it, what a dwell without it lacks */
#define BUILD_OPTIONS(X)                                                                           \
	X(DEMANGLE, demangle, "readable names of C++ and Rust code, Tokio in dwell blocked")       \
	X(GUESTS, guests, "virtual machines (dwell guest)")                                        \
	X(PAGE, page, "pages for browsers (--format html)")                                        \
	X(PUSH, push, "sending metrics to other machines (dwell serve --push)")                    \
	X(SCREENS, screens, "screens (dwell top, blocked, profile)")                               \
	X(SERVE, serve, "metrics over HTTP (dwell serve)")                                         \
	X(TASKSTATS, taskstats, "delay accounting, --source taskstats")

enum build_option {
#define ENUMERATOR(name, key, lacks) BUILD_##name,
	BUILD_OPTIONS(ENUMERATOR)
#undef ENUMERATOR
		BUILD_OPTIONS_COUNT
};

bool build_option_enabled(enum build_option option);

/* What a dwell without it lacks. */
const char *build_option_lacks(enum build_option option);

/* The names of those that are, or are not, enabled: "demangle, guests"; "" if there are none. */
void build_options_list(char *into, size_t room, bool enabled);

/* -ENOTSUP: says that this dwell was built without it, and which of Meson's options brings it. */
int build_option_missing(enum build_option option, struct error *error) must_check;

#endif
