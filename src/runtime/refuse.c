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
#include "symbol/program.h"

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

/*
 * What .NET exports for debuggers where its runtime is in the program itself: of one that was
 * published as a single file (coreclr's runtimeinfo.cpp), or compiled (NativeAOT's
 * DebugHeader.cpp).
 */
static const char *const dotnet_exports[] = {"DotNetRuntimeInfo", "DotNetRuntimeDebugHeader"};

/* The runtime that is in the program itself; NULL: none of these. */
static const char *runtime_of_program(uint32_t pid, char version[GO_VERSION_BYTES])
{
	char path[OPENER_PATH_BYTES];
	int fd = opener_program(pid, path);
	const char *what = NULL;
	struct object *object;
	uint64_t address;

	*version = '\0';
	if (fd < 0 || object_open(&object, fd) < 0)
		return NULL;
	if (object_go_version(object, version))
		what = "Go";
	for (size_t i = 0; !what && i < ARRAY_SIZE(dotnet_exports); i++)
		if (object_variable(object, dotnet_exports[i], &address))
			what = ".NET";
	object_free(object);
	return what;
}

int runtime_refuse_32_bit(uint32_t pid, struct error *error)
{
	if (!program_is_32_bit(pid))
		return 0;
	return error_set(error, EOPNOTSUPP,
			 "process %" PRIu32
			 " is a 32-bit program: its system calls and stacks are not looked into, "
			 "so no loop of it can be found. dwell top -p %" PRIu32
			 " shows when its threads run and wait",
			 pid, pid);
}

int runtime_refuse(uint32_t pid, struct error *error)
{
	cleanup_mappings struct mappings mappings = {0};
	char version[GO_VERSION_BYTES];
	const char *what = runtime_of_program(pid, version);

	if (what)
		return refuse(error, pid, what, *version ? version + strlen("go") : "");
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
