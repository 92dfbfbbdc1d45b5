// SPDX-License-Identifier: GPL-2.0-or-later
/* A machine made up of files, and the sets that descriptions give on it. */
#define _GNU_SOURCE /* nftw */
#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load/cpu-sets.h"

static char root[64];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info, (void)type, (void)at;
	return remove(path);
}

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/dwell-sysfs-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *format, ...)
{
	char path[256];
	va_list args;
	int used = snprintf(path, sizeof(path), "%s/devices/system/", root);
	FILE *file;

	va_start(args, format);
	vsnprintf(path + used, sizeof(path) - (size_t)used, format, args);
	va_end(args);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void put_cache(unsigned int cpu, unsigned int index, const char *level, const char *shared)
{
	put(level, "cpu/cpu%u/cache/index%u/level", cpu, index);
	put(shared, "cpu/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
}

/*
 * Nine CPUs: 0-3 and 8 are a node, with a cache for 0, 1, 8 and one for 2, 3; 4-7 are another. Two
 * and two are a core, CPU 8 is alone. CPU 7 is offline. A third node has only memory.
 */
static void put_machine(void)
{
	put("0-6,8\n", "cpu/online");
	put("0-2\n", "node/online");
	put("0-3,8\n", "node/node0/cpulist");
	put("4-6\n", "node/node1/cpulist");
	put("\n", "node/node2/cpulist");
	for (unsigned int cpu = 0; cpu < 9; cpu++) {
		const char *llc = cpu == 8 || cpu < 2 ? "0-1,8\n" : cpu < 4 ? "2-3\n" : "4-6\n";
		char core[16];

		if (cpu == 7)
			continue;
		snprintf(core, sizeof(core), cpu == 8 || cpu == 6 ? "%u\n" : "%u-%u\n", cpu & ~1U,
			 cpu | 1U);
		put(core, "cpu/cpu%u/topology/thread_siblings_list", cpu);
		put_cache(cpu, 0, "1\n", core);
		put_cache(cpu, 1, "1\n", core);
		put_cache(cpu, 2, "3\n", llc);
		put_cache(cpu, 3, "2\n", core);
	}
}

static struct topology read_machine(const char *allowed)
{
	struct topology topology;
	struct cpus cpus = set(allowed);
	struct error error = {""};

	if (topology_read(&topology, root, &cpus, &error) < 0)
		fail_msg("%s", error.text);
	return topology;
}

static void assert_parts(const struct topology_parts *parts, const char *const *texts)
{
	for (size_t i = 0; i < parts->count; i++) {
		assert_non_null(texts[i]);
		assert_cpus(&parts->items[i].cpus, texts[i]);
		assert_int_equal(parts->items[i].id, i);
	}
	assert_null(texts[parts->count]);
}

#define PARTS(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

CASE(a_machine_is_read)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};

	put_machine();
	topology = read_machine("0-100");
	assert_cpus(&topology.usable, "0-6,8");
	assert_parts(&topology.llcs, PARTS("0-1,8", "2-3", "4-6"));
	assert_parts(&topology.nodes, PARTS("0-3,8", "4-6", ""));
	assert_parts(&topology.cores, PARTS("0-1", "2-3", "4-5", "6", "8"));
}

CASE(what_is_not_allowed_is_not_usable)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};

	put_machine();
	topology = read_machine("2,4,7");
	assert_cpus(&topology.usable, "2,4");
	/* parts are whole, but those without a usable CPU have no number */
	assert_parts(&topology.llcs, PARTS("2-3", "4-6"));
	assert_parts(&topology.cores, PARTS("2-3", "4-5"));
	assert_parts(&topology.nodes, PARTS("0-3,8", "4-6", ""));
}

CASE(what_a_machine_does_not_say_is_simple)
{
	cleanup_topology struct topology topology = read_machine("1-2,5");

	assert_cpus(&topology.usable, "1-2,5");
	assert_parts(&topology.llcs, PARTS("1-2,5"));
	assert_parts(&topology.nodes, PARTS("1-2,5"));
	assert_parts(&topology.cores, PARTS("1", "2", "5"));
}

CASE(files_that_make_no_sense_are_not_believed)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};

	put("0-3\n", "cpu/online");
	put("0,2,9\n", "node/online");
	put("", "node/node0/cpulist");
	put("0-3\n", "node/node2/cpulist");
	put("1-2\n", "cpu/cpu0/topology/thread_siblings_list"); /* of others */
	put("rubbish\n", "cpu/cpu1/topology/thread_siblings_list");
	put("2-3", "cpu/cpu2/topology/thread_siblings_list"); /* not ended */
	put_cache(0, 0, "2\n", "1-3\n");
	put_cache(1, 0, "rubbish\n", "0-3\n");
	put_cache(2, 0, "2\n", "2-3\n");
	put_cache(2, 1, "3\n", "rubbish\n");
	put_cache(2, 3, "4\n", "0-3\n"); /* behind a gap */
	topology = read_machine("0-7");
	assert_parts(&topology.cores, PARTS("0", "1", "2-3"));
	assert_parts(&topology.llcs, PARTS("2-3"));
	assert_int_equal(topology.nodes.count, 1);
	assert_int_equal(topology.nodes.items[0].id, 2);
	assert_cpus(&topology.nodes.items[0].cpus, "0-3");
}

CASE(lists_longer_than_a_page_are_read_whole)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};
	char text[CPUS_MAX / 2 * 5 + 2], *at = text;

	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu += 2)
		at += sprintf(at, "%s%u", cpu ? "," : "", cpu);
	put(text, "cpu/online");
	topology = read_machine("0-8191");
	assert_int_equal(cpus_count(&topology.usable), CPUS_MAX / 2);
	assert_int_equal(topology.cores.count, CPUS_MAX / 2);
}

CASE(this_machine_can_be_read)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};
	struct error error = {""};

	assert_int_equal(topology_read(&topology, "/sys", NULL, &error), 0);
	assert_true(cpus_count(&topology.usable) > 0);
	assert_true(topology.llcs.count > 0);
	assert_true(topology.nodes.count > 0);
	assert_true(topology.cores.count > 0);
	topology_release(&topology);
	assert_int_equal(topology.cores.count, 0);
}

static void assert_described(const struct topology *topology, const char *text,
			     const char *expected)
{
	struct cpus cpus;
	struct error error = {""};

	if (topology_cpus(topology, text, &cpus, &error) < 0)
		fail_msg("%s", error.text);
	if (strcmp(shown(&cpus), expected) != 0)
		fail_msg("%s is %s, not %s", text, shown(&cpus), expected);
}

static void assert_refused(const struct topology *topology, const char *text, const char *message)
{
	struct cpus cpus = set("77");
	struct error error = {""};

	if (topology_cpus(topology, text, &cpus, &error) != -EINVAL)
		fail_msg("%s is %s", text, shown(&cpus));
	assert_string_equal(error.text, message);
	assert_cpus(&cpus, "77");
}

CASE(lists_must_be_usable)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};

	put_machine();
	topology = read_machine("0-5,8");
	assert_described(&topology, "0-3,8", "0-3,8");
	assert_described(&topology, " 5 ", "5");
	assert_refused(&topology, "6",
		       "cpuset '6' has CPUs that cannot be used here: use CPUs of 0-5,8");
	assert_refused(&topology, "0-8",
		       "cpuset '0-8' has CPUs that cannot be used here: use CPUs of 0-5,8");
	assert_refused(&topology, "", "cpuset '' is empty: 7 CPUs can be used here");
	assert_refused(&topology, "all", "bad list 'all': use numbers and ranges, as 0-3,8");
}

CASE(caches_and_nodes_have_numbers)
{
	cleanup_topology struct topology topology = {.usable = {{0}}};

	put_machine();
	topology = read_machine("0-6");
	assert_described(&topology, "llc:0", "0-1");
	assert_described(&topology, "llc:1", "2-3");
	assert_described(&topology, "llc:2", "4-6");
	assert_described(&topology, "numa:0", "0-3");
	assert_described(&topology, "numa:1", "4-6");
	assert_refused(&topology, "llc:3",
		       "'llc:3': this machine has 3 last-level caches, numbered from 0");
	assert_refused(&topology, "llc:-1",
		       "'llc:-1': this machine has 3 last-level caches, numbered from 0");
	assert_refused(&topology, "llc:4294967296",
		       "'llc:4294967296': this machine has 3 last-level caches, numbered from 0");
	assert_refused(&topology, "llc:", "'llc:' needs a number: last-level cache");
	assert_refused(&topology, "llc:0x", "'llc:0x' needs a number: last-level cache");
	assert_refused(&topology, "numa:", "'numa:' needs a number: NUMA node");
	assert_refused(&topology, "numa:9",
		       "'numa:9': this machine has 3 NUMA nodes, numbered from 0");
	assert_refused(&topology, "numa:2", "cpuset 'numa:2' is empty: 7 CPUs can be used here");
	topology_release(&topology);
	topology = read_machine("0");
	assert_refused(&topology, "llc:1",
		       "'llc:1': this machine has 1 last-level cache, numbered from 0");
	assert_refused(&topology, "numa:1", "cpuset 'numa:1' is empty: 1 CPU can be used here");
}

CASE(shares_meet)
{
	cleanup_topology struct topology topology = read_machine("1-4,10-15");

	assert_described(&topology, "0.0-1.0", "1-4,10-15");
	assert_described(&topology, "0-1.", "1-4,10-15");
	assert_described(&topology, "0.0-0.5", "1-4,10");
	assert_described(&topology, "0.5-1.0", "11-15");
	assert_described(&topology, "0.0-0.33", "1-3");
	assert_described(&topology, "0.33-0.66", "4,10-12");
	assert_described(&topology, "0.66-1.0", "13-15");
	assert_described(&topology, "0.9-1.0", "15");
	assert_refused(&topology, "0.0-0.01",
		       "cpuset '0.0-0.01' is empty: 10 CPUs can be used here");
	for (unsigned int cut = 0; cut <= 100; cut++) {
		char text[32];
		struct cpus low = {{0}}, high = {{0}};
		int a, b;

		snprintf(text, sizeof(text), "0.0-%.2f", cut / 100.0);
		a = topology_cpus(&topology, text, &low, NULL);
		snprintf(text, sizeof(text), "%.2f-1.0", cut / 100.0);
		b = topology_cpus(&topology, text, &high, NULL);
		assert_true(a == 0 || b == 0);
		assert_int_equal(cpus_count(&low) + cpus_count(&high), 10);
		cpus_intersect(&low, &high);
		assert_int_equal(cpus_count(&low), 0);
	}
}

CASE(shares_that_are_none_are_refused)
{
	static const char *const bad[] = {"0.5-0.5", "0.6-0.5",	 "0.0-1.1",    "-0.1-0.5", "0.5",
					  "0.5-",    ".-.",	 "0.0-0.5x",   "0.0-nan.", "nan.-1",
					  "0.1,0.2", "0.0-inf.", "0.0-0.5-1.0"};
	cleanup_topology struct topology topology = read_machine("0-9");

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char message[128];

		snprintf(message, sizeof(message),
			 "bad share '%s': use two numbers between 0 and 1, as 0.0-0.5", bad[i]);
		assert_refused(&topology, bad[i], message);
	}
}

CASE(disjoint_parts_are_all_there_is)
{
	cleanup_topology struct topology topology = read_machine("0-4,8-12");

	assert_described(&topology, "disjoint:0/1", "0-4,8-12");
	assert_described(&topology, "disjoint:0/3", "0-2");
	assert_described(&topology, "disjoint:1/3", "3-4,8");
	assert_described(&topology, "disjoint:2/3", "9-12");
	for (unsigned int parts = 1; parts <= 10; parts++) {
		struct cpus all = {{0}};
		unsigned int count = 0;

		for (unsigned int part = 0; part < parts; part++) {
			struct cpus cpus;
			char text[32];

			snprintf(text, sizeof(text), "disjoint:%u/%u", part, parts);
			assert_int_equal(topology_cpus(&topology, text, &cpus, NULL), 0);
			assert_true(cpus_count(&cpus) >= 10 / parts);
			count += cpus_count(&cpus);
			cpus_unite(&all, &cpus);
		}
		assert_int_equal(count, 10);
		assert_cpus(&all, "0-4,8-12");
	}
}

CASE(overlapping_parts_reach_into_their_neighbours)
{
	cleanup_topology struct topology topology = read_machine("0-11");

	assert_described(&topology, "overlap:0/3:0", "0-3");
	assert_described(&topology, "overlap:0/3:0.5", "0-5");
	assert_described(&topology, "overlap:1/3:0.5", "2-9");
	assert_described(&topology, "overlap:2/3:0.5", "6-11");
	assert_described(&topology, "overlap:1/3:1", "0-11");
	/* any overlap is at least one CPU */
	assert_described(&topology, "overlap:0/2:0.01", "0-6");
	assert_described(&topology, "overlap:0/1:1", "0-11");
	assert_described(&topology, "overlap:0/12:1", "0-1");
	assert_described(&topology, "overlap:11/12:1", "10-11");
}

CASE(parts_that_are_none_are_refused)
{
	static const char *const disjoint[] = {"disjoint:",    "disjoint:0",	"disjoint:0/",
					       "disjoint:/2",  "disjoint:2/2",	"disjoint:-1/2",
					       "disjoint:0/0", "disjoint:0/2x", "disjoint:0/2:0.5",
					       "disjoint:a/b"};
	static const char *const overlap[] = {
		"overlap:0/2",	   "overlap:0/2:",    "overlap:0/2:x",	 "overlap:0/2:-0.1",
		"overlap:0/2:1.1", "overlap:0/2:nan", "overlap:2/2:0.5", "overlap:0/2:1x"};
	cleanup_topology struct topology topology = read_machine("0-3");
	char message[160];

	for (size_t i = 0; i < ARRAY_SIZE(disjoint); i++) {
		snprintf(message, sizeof(message),
			 "bad cpuset '%s': use disjoint:I/N, part I of N, counted from 0",
			 disjoint[i]);
		assert_refused(&topology, disjoint[i], message);
	}
	for (size_t i = 0; i < ARRAY_SIZE(overlap); i++) {
		snprintf(message, sizeof(message),
			 "bad cpuset '%s': use overlap:I/N:F, part I of N from 0, F from 0 to 1",
			 overlap[i]);
		assert_refused(&topology, overlap[i], message);
	}
	assert_refused(
		&topology, "disjoint:0/5",
		"cpuset 'disjoint:0/5' is impossible: 4 usable CPUs cannot be divided into 5");
	topology_release(&topology);
	topology = read_machine("3");
	assert_refused(
		&topology, "overlap:0/2:0.5",
		"cpuset 'overlap:0/2:0.5' is impossible: 1 usable CPU cannot be divided into 2");
}

CASE(of_no_cpus_nothing_can_be_made)
{
	static const char *const forms[] = {"", "llc:0", "numa:0", "0.0-1.0"};
	cleanup_topology struct topology topology = {.usable = {{0}}};

	put("0-3\n", "cpu/online");
	topology = read_machine("4-7");
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char message[128];

		snprintf(message, sizeof(message), "cpuset '%s' is empty: 0 CPUs can be used here",
			 forms[i]);
		assert_refused(&topology, forms[i], message);
	}
	assert_refused(
		&topology, "disjoint:0/1",
		"cpuset 'disjoint:0/1' is impossible: 0 usable CPUs cannot be divided into 1");
}

#define FILES(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest cases[] = {
		FILES(a_machine_is_read),
		FILES(what_is_not_allowed_is_not_usable),
		FILES(what_a_machine_does_not_say_is_simple),
		FILES(files_that_make_no_sense_are_not_believed),
		FILES(lists_longer_than_a_page_are_read_whole),
		cmocka_unit_test(this_machine_can_be_read),
		FILES(lists_must_be_usable),
		FILES(caches_and_nodes_have_numbers),
		FILES(shares_meet),
		FILES(shares_that_are_none_are_refused),
		FILES(disjoint_parts_are_all_there_is),
		FILES(overlapping_parts_reach_into_their_neighbours),
		FILES(parts_that_are_none_are_refused),
		FILES(of_no_cpus_nothing_can_be_made),
	};

	return RUN(cases);
}
