// SPDX-License-Identifier: GPL-2.0-or-later
/* What a container's cgroups leave: a tree of files as the kernel has them. */
#include "test.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own_limits.h"

static char root[] = "/tmp/dwell-test-limits.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s%s", root, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

CASE(the_smallest_limit_of_all_above_counts)
{
	struct own_limits limits;

	own_limits_read_at(&limits, root, "/pod/app");
	assert_int_equal(limits.cpus, UINT_MAX);
	assert_true(limits.memory_bytes == UINT64_MAX);
	write_file("/pod/cpu.max", "150000 100000\n");
	write_file("/pod/app/cpu.max", "max 100000\n");
	write_file("/pod/memory.max", "max\n");
	write_file("/pod/app/memory.max", "8000\n");
	write_file("/pod/app/memory.current", "3000\n");
	own_limits_read_at(&limits, root, "/pod/app");
	assert_int_equal(limits.cpus, 2);
	assert_int_equal(limits.memory_bytes, 5000);
	/* the page cache is given back */
	write_file("/pod/app/memory.stat",
		   "anon 10\nfile 2500\ninactive_file 1500\nactive_file 500\nslab_reclaimable 7\n");
	own_limits_read_at(&limits, root, "/pod/app");
	assert_int_equal(limits.memory_bytes, 7007);
	/* of a cgroup namespace, whose root is the container's */
	write_file("/cpu.max", "100000 100000\n");
	write_file("/memory.max", "100\n");
	write_file("/memory.current", "300\n");
	own_limits_read_at(&limits, root, "/");
	assert_int_equal(limits.cpus, 1);
	assert_int_equal(limits.memory_bytes, 0);
}

CASE(time_that_limits_took_is_added_up)
{
	write_file("/pod/cpu.stat", "usage_usec 7\nnr_throttled 2\nthrottled_usec 1500\n");
	write_file("/pod/app/cpu.stat", "usage_usec 7\n");
	write_file("/cpu.stat", "throttled_usec 500\n");
	assert_int_equal(own_throttled_ns_at(root, "/pod/app"), 2000000);
	assert_int_equal(own_throttled_ns_at(root, "/none"), 500000);
	assert_int_equal(own_throttled_ns_at(root, "/"), 500000);
}

int main(void)
{
	static const char *const files[] = {"/pod/app/cpu.max",
					    "/pod/app/memory.max",
					    "/pod/app/memory.current",
					    "/pod/app/memory.stat",
					    "/pod/cpu.max",
					    "/pod/memory.max",
					    "/cpu.max",
					    "/memory.max",
					    "/memory.current",
					    "/pod/cpu.stat",
					    "/pod/app/cpu.stat",
					    "/cpu.stat"};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_limit_of_all_above_counts),
		cmocka_unit_test(time_that_limits_took_is_added_up),
	};
	int failed;

	if (!mkdtemp(root) || mkdir(path_of("/pod"), 0700) || mkdir(path_of("/pod/app"), 0700))
		return 1;
	failed = RUN(tests);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(path_of(files[i]));
	rmdir(path_of("/pod/app"));
	rmdir(path_of("/pod"));
	rmdir(root);
	return failed;
}
