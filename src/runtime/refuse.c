// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runtimes that move what they run from thread to thread, and park threads in waits of all kinds:
 * an event loop's rules would blame threads that do nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/runtime.h"
#include "symbol/mappings.h"
#include "symbol/object.h"
#include "symbol/opener.h"

/* By the name of a file that is mapped, up to its version. */
static const struct {
	const char *file, *what;
} files[] = {
	{"libcoreclr.so", ".NET"},
	{"beam.smp", "Erlang's BEAM"},
};

static int refuse(struct error *error, uint32_t pid, const char *what, const char *version)
{
	return error_set(
		error, EOPNOTSUPP,
		"process %" PRIu32 " runs %s%s%s, whose runtime moves tasks between its "
		"threads and parks those: none of them is a worker that could be blocked. "
		"dwell top -p %" PRIu32 " shows what they wait for, dwell profile -p %" PRIu32
		" in which code (--runtime loop looks at them as event loops all the same)",
		pid, what, *version ? " " : "", version, pid, pid);
}

static bool is_go(uint32_t pid, char version[GO_VERSION_BYTES])
{
	char path[OPENER_PATH_BYTES];
	int fd = opener_program(pid, path);
	struct object *object;
	bool found;

	if (fd < 0 || object_open(&object, fd) < 0)
		return false;
	found = object_go_version(object, version);
	object_free(object);
	return found;
}

int runtime_refuse(uint32_t pid, struct error *error)
{
	cleanup_mappings struct mappings mappings = {0};
	char version[GO_VERSION_BYTES];

	if (is_go(pid, version))
		return refuse(error, pid, "Go", *version ? version + strlen("go") : "");
	if (mappings_load(&mappings, pid, 0) < 0)
		return 0;
	for (size_t i = 0; i < mappings.count; i++) {
		const char *name = strrchr(mappings.items[i].path, '/');

		for (size_t k = 0; name && k < ARRAY_SIZE(files); k++)
			if (!strncmp(name + 1, files[k].file, strlen(files[k].file)))
				return refuse(error, pid, files[k].what, "");
	}
	return 0;
}
