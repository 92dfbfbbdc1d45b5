// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/build_options.h"

#include <errno.h>
#include <stdio.h>

#include "built_with.h"

static const struct {
	const char *name, *lacks;
	bool enabled;
} options[BUILD_OPTIONS_COUNT] = {
#define ROW(name, key, lacks) {#key, lacks, BUILT_WITH_##name},
	BUILD_OPTIONS(ROW)
#undef ROW
};

bool build_option_enabled(enum build_option option)
{
	return options[option].enabled;
}

const char *build_option_lacks(enum build_option option)
{
	return options[option].lacks;
}

void build_options_list(char *into, size_t room, bool enabled)
{
	size_t used = 0;

	*into = '\0';
	for (int i = 0; i < BUILD_OPTIONS_COUNT; i++)
		if (options[i].enabled == enabled && used < room)
			used += (size_t)snprintf(into + used, room - used, "%s%s", used ? ", " : "",
						 options[i].name);
}

int build_option_missing(enum build_option option, struct error *error)
{
	return error_set(error, ENOTSUP,
			 "this dwell was built without %s: build it with -D%s=enabled",
			 options[option].lacks, options[option].name);
}
