// SPDX-License-Identifier: GPL-2.0-or-later
/* Specs, fitted to a machine that is made up: which CPUs workers get, and what cannot be. */
#include "test.h"

#include <errno.h>

#include "load/cpu-sets.h"
#include "load/plan.h"
#include "load/spec_yaml.h"

/* Eight CPUs, two threads to a core, caches of 2, 4 and 2, two nodes and one of memory alone. */
static struct topology machine;

static int make_machine(void **state)
{
	static struct topology_part llcs[3], nodes[3], cores[4];
	static const char *const shared[] = {"0-1", "2-5", "6-7"};

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		llcs[i] = (struct topology_part){i, set(shared[i])};
	for (unsigned int i = 0; i < 4; i++) {
		cores[i] = (struct topology_part){.id = i};
		cpus_add(&cores[i].cpus, 2 * i);
		cpus_add(&cores[i].cpus, 2 * i + 1);
	}
	nodes[0] = (struct topology_part){0, set("0-5")};
	nodes[1] = (struct topology_part){1, set("6-7")};
	nodes[2] = (struct topology_part){.id = 4};
	machine = (struct topology){
		.usable = set("0-7"),
		.llcs = {llcs, 3, 3},
		.nodes = {nodes, 3, 3},
		.cores = {cores, 4, 4},
	};
	return 0;
}

static void read_spec(struct spec *spec, const char *text)
{
	struct error error = {""};

	spec_init(spec);
	if (spec_read_text(spec, text, "s.yaml", &error) < 0)
		fail_msg("%s", error.text);
}

/* The sets of the workers of a group: "0 1 2-3", or "-" where they inherit. */
static void describe(const struct plan_group *group, char *into, size_t room)
{
	size_t used = 0;

	snprintf(into, room, "%s", group->cpus ? "" : "-");
	for (unsigned int i = 0; group->cpus && i < group->count; i++) {
		char text[CPUS_TEXT];

		cpus_format(text, sizeof(text), &group->cpus[i]);
		used += (size_t)snprintf(into + used, room - used, "%s%s", i ? " " : "", text);
	}
}

/* The first group of a spec with this work in a cgroup with this cpuset. */
static const char *planned(const char *cpuset, const char *work)
{
	static char shown[8192];
	char text[512];
	struct spec spec;
	struct planner planner;
	struct plan_group group = {.work = NULL};
	struct cpus cpus;
	struct error error = {""};
	int result;

	snprintf(text, sizeof(text), "seed: 7\ncgroups: [{name: a, cpuset: \"%s\", work: %s}]\n",
		 cpuset, work);
	read_spec(&spec, text);
	planner_init(&planner, &spec, &machine);
	assert_int_equal(plan_cpuset(&planner, spec.cgroups.items, &cpus, NULL), 0);
	result = plan_group(&planner, spec.cgroups.items, spec.cgroups.items[0].works.items, &cpus,
			    &group, &error);
	if (result < 0) {
		assert_int_equal(result, -EINVAL);
		snprintf(shown, sizeof(shown), "%s", error.text);
	} else {
		describe(&group, shown, sizeof(shown));
	}
	plan_group_release(&group);
	spec_release(&spec);
	return shown;
}

#define assert_planned(cpuset, work, expected) assert_string_equal(planned(cpuset, work), expected)
#define SPIN(workers, affinity)                                                                    \
	"{type: spin-wait, workers: " #workers ", affinity: \"" affinity "\"}"

CASE(affinities_become_cpus)
{
	assert_planned("0-3", SPIN(2, "inherit"), "-");
	assert_planned("0-3", "spin-wait", "-");
	assert_planned("2-5", SPIN(3, "single"), "2 2 2");
	assert_planned("2-5", SPIN(2, "0-3"), "2-3 2-3");
	assert_planned("2-5", SPIN(2, "disjoint:1/2"), "4-5 4-5");
	assert_planned("2-5", SPIN(6, "spread"), "2 3 4 5 2 3");
	assert_planned("2-5", SPIN(3, "spread:0,3-4"), "3 4 3");
	assert_planned("2-5", SPIN(1, "cross-cgroup"), "0-7");
	assert_planned("2-3", SPIN(2, "random:9"), "2-3 2-3");
}

CASE(the_cache_with_most_cpus_is_taken)
{
	assert_planned("0-7", SPIN(2, "llc"), "2-5 2-5");
	assert_planned("0-2", SPIN(1, "llc"), "0-1");
	assert_planned("5-7", SPIN(1, "llc"), "6-7");
	/* the first of equals */
	assert_planned("1-2,6", SPIN(1, "llc"), "1");
}

CASE(pairs_share_a_core)
{
	assert_planned("0-7", SPIN(8, "smt-pair"), "0 1 2 3 4 5 6 7");
	assert_planned("0-7", SPIN(10, "smt-pair"), "0 1 2 3 4 5 6 7 0 1");
	assert_planned("1-5", SPIN(4, "smt-pair"), "2 3 4 5");
	assert_planned("0-7", SPIN(3, "smt-pair"),
		       "s.yaml:2:42: affinity smt-pair needs an even number of workers, not 3");
	assert_planned("0,2,4", SPIN(2, "smt-pair"),
		       "s.yaml:2:44: affinity smt-pair: no core of the cpuset has two threads that "
		       "can be used");
}

CASE(affinities_outside_of_the_cpuset_are_refused)
{
	assert_planned("0-3", SPIN(1, "4-5"),
		       "s.yaml:2:42: affinity '4-5' has no CPU of the cpuset, which is 0-3");
	assert_planned("0-3", SPIN(1, "random:1:6"),
		       "s.yaml:2:42: affinity '6' has no CPU of the cpuset, which is 0-3");
	assert_planned("0-3", SPIN(1, "spread:numa:1"),
		       "s.yaml:2:42: affinity 'numa:1' has no CPU of the cpuset, which is 0-3");
	assert_planned("0-3", SPIN(1, "numa:4"),
		       "s.yaml:2:42: affinity: cpuset 'numa:4' is empty: 8 CPUs can be used here");
	assert_planned("0-3", SPIN(1, "8"),
		       "s.yaml:2:42: affinity: cpuset '8' has CPUs that cannot be used here: use "
		       "CPUs of 0-7");
}

static void draw(uint64_t seed, const char *affinity, struct plan_group *group, struct spec *spec)
{
	struct planner planner;
	struct cpus cpus = set("1-6");
	char text[256];

	snprintf(text, sizeof(text),
		 "seed: %llu\nwork: {type: spin-wait, workers: 2000, affinity: \"%s\"}\n",
		 (unsigned long long)seed, affinity);
	read_spec(spec, text);
	planner_init(&planner, spec, &machine);
	assert_int_equal(plan_group(&planner, spec->cgroups.items,
				    spec->cgroups.items[0].works.items, &cpus, group, NULL),
			 0);
	assert_int_equal(group->count, 2000);
}

CASE(random_affinities_are_drawn_within_the_pool)
{
	static const struct {
		const char *affinity, *pool;
		unsigned int count;
	} draws[] = {
		{"random", "1-6", 3},	{"random:1", "1-6", 1}, {"random:2:0-4", "1-4", 2},
		{"random:6", "1-6", 6}, {"random:7", "1-6", 6}, {"random:5", "1-6", 5},
		{"random:1:3", "3", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(draws); i++) {
		struct cpus pool = set(draws[i].pool);
		unsigned int taken[8] = {0}, members = cpus_count(&pool);
		double expected = 2000.0 * draws[i].count / members;
		struct plan_group group;
		struct spec spec;

		draw(3, draws[i].affinity, &group, &spec);
		for (unsigned int k = 0; k < group.count; k++) {
			assert_int_equal(cpus_count(&group.cpus[k]), draws[i].count);
			assert_true(cpus_contain(&pool, &group.cpus[k]));
			for (unsigned int cpu = 0; cpu < 8; cpu++)
				taken[cpu] += cpus_has(&group.cpus[k], cpu);
		}
		/* each CPU as often as any other: 5 standard deviations of at most sqrt(2000)/2 */
		for (unsigned int cpu = 0; cpu < 8; cpu++)
			if (cpus_has(&pool, cpu))
				assert_in_range(taken[cpu], (unsigned int)expected - 112,
						(unsigned int)expected + 112);
		plan_group_release(&group);
		spec_release(&spec);
	}
}

CASE(half_of_an_odd_pool_is_the_larger_half)
{
	assert_string_equal(planned("3", SPIN(1, "random")), "3");
	for (unsigned int last = 1; last <= 6; last++) {
		char cpuset[16];
		struct cpus cpus;

		snprintf(cpuset, sizeof(cpuset), "0-%u", last);
		cpus = set(planned(cpuset, SPIN(1, "random")));
		assert_int_equal(cpus_count(&cpus), (last + 2) / 2);
	}
}

CASE(a_seed_repeats_its_draws)
{
	struct plan_group first, again, other;
	struct spec a, b, c;
	unsigned int differ = 0, from_first = 0;

	draw(11, "random:2", &first, &a);
	draw(11, "random:2", &again, &b);
	draw(12, "random:2", &other, &c);
	assert_memory_equal(first.cpus, again.cpus, first.count * sizeof(*first.cpus));
	for (unsigned int i = 0; i < first.count; i++) {
		differ += memcmp(&first.cpus[i], &other.cpus[i], sizeof(*first.cpus)) != 0;
		from_first += memcmp(&first.cpus[0], &first.cpus[i], sizeof(*first.cpus)) != 0;
	}
	/* 14 of 15 pairs of 6 are others */
	assert_true(differ > 1700 && from_first > 1700);
	plan_group_release(&first);
	plan_group_release(&again);
	plan_group_release(&other);
	spec_release(&a);
	spec_release(&b);
	spec_release(&c);
}

CASE(groups_are_whole_teams)
{
	static const unsigned int teams[] = {1, 4, 5}, counts[] = {1, 4, 10};
	struct spec spec;
	struct planner planner;
	struct plan_group group;

	assert_planned("0-7", "{type: futex-ping-pong, workers: 3}",
		       "s.yaml:2:42: futex-ping-pong works in groups of 2, and 3 workers cannot be "
		       "split so: use 2 or 4");
	assert_planned("0-7", "{type: pipe-io, workers: 1}",
		       "s.yaml:2:42: pipe-io works in groups of 2, and 1 worker cannot be split "
		       "so: use 2");
	assert_planned("0-7", "{type: futex-fan-out, fan_out: 3, workers: 9}",
		       "s.yaml:2:42: futex-fan-out works in groups of 4, and 9 workers cannot be "
		       "split so: use 8 or 12");
	read_spec(&spec, "work: [spin-wait, {type: futex-fan-out, fan_out: 3}, {type: "
			 "futex-fan-out, workers: 10}]\n");
	planner_init(&planner, &spec, &machine);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(plan_group(&planner, spec.cgroups.items,
					    &spec.cgroups.items[0].works.items[i], &machine.usable,
					    &group, NULL),
				 0);
		assert_int_equal(group.group_idx, i);
		assert_int_equal(group.team_size, teams[i]);
		assert_int_equal(group.count, counts[i]);
		assert_ptr_equal(group.work, &spec.cgroups.items[0].works.items[i]);
		assert_ptr_equal(group.cgroup, spec.cgroups.items);
		plan_group_release(&group);
	}
	spec_release(&spec);
}

CASE(cpusets_are_inherited)
{
	static const char *const expected[] = {"0-3", "0-3", "2", "2", "0-7", "0-7"};
	struct spec spec;
	struct planner planner;

	read_spec(&spec, "cgroups:\n"
			 "  - {name: a, cpuset: \"0-3\"}\n"
			 "  - {name: a/b}\n"
			 "  - {name: a/b/c, cpuset: \"2\"}\n"
			 "  - {name: a/b/c/d}\n"
			 "  - {name: ab}\n"
			 "  - {name: b/a}\n");
	planner_init(&planner, &spec, &machine);
	for (size_t i = 0; i < spec.cgroups.count; i++) {
		struct cpus cpus;

		assert_int_equal(plan_cpuset(&planner, &spec.cgroups.items[i], &cpus, NULL), 0);
		assert_cpus(&cpus, expected[i]);
	}
	spec_release(&spec);
}

/* ----- the whole ----- */

static int check(const char *text, struct error *error)
{
	struct spec spec;
	int result;

	read_spec(&spec, text);
	*error->text = '\0';
	result = plan_check(&spec, &machine, false, error);
	spec_release(&spec);
	return result;
}

static void assert_possible(const char *text)
{
	struct error error;

	if (check(text, &error) < 0)
		fail_msg("%s\n%s", text, error.text);
}

static void assert_impossible(const char *text, const char *message)
{
	struct error error;

	if (check(text, &error) >= 0)
		fail_msg("%s\nis possible", text);
	assert_string_equal(error.text, message);
}

#define TWO                                                                                        \
	"cgroups:\n"                                                                               \
	"  - {name: a, work: spin-wait}\n"                                                         \
	"  - {name: b, cpuset: \"0-3\"}\n"
#define OPS TWO "phases:\n  - ops:\n"

CASE(what_needs_no_cgroup_needs_nothing)
{
	assert_possible("work: spin-wait\n");
	assert_possible("work: spin-wait\nphases: [{hold: 50%}, {hold: 50%}]\n");
	assert_possible("phases:\n  - ops: [{spawn: {work: spin-wait}}]\n");
}

CASE(without_work_there_is_nothing_to_do)
{
	struct spec spec;
	struct error error = {""};

	assert_impossible("name: a\n", "s.yaml: there is no work in it");
	assert_impossible("cgroups: [{name: a}]\n", "s.yaml: there is no work in it");
	assert_impossible("work: []\n", "s.yaml: there is no work in it");
	assert_impossible("cgroups: [{name: a}]\nphases: [{ops: {freeze: a}}]\n",
			  "s.yaml: there is no work in it");
	spec_init(&spec);
	assert_int_equal(plan_check(&spec, &machine, false, &error), -EINVAL);
	assert_string_equal(error.text, "there is no work in it");
	spec_release(&spec);
}

CASE(nodes_must_be_of_this_machine)
{
	assert_possible("work: {type: spin-wait, memory: {policy: bind, nodes: [0, 1, 4]}}\n");
	assert_impossible("work: {type: spin-wait, memory: {policy: bind, nodes: [0, 2]}}\n",
			  "s.yaml:1:7: memory: NUMA node 2 is not of this machine, which has 3, "
			  "numbered from 0");
	assert_impossible("work: {type: spin-wait, memory: {policy: bind, nodes: 63}}\n",
			  "s.yaml:1:7: memory: NUMA node 63 is not of this machine, which has 3, "
			  "numbered from 0");
}

CASE(cgroups_are_there_once)
{
	assert_impossible(TWO "  - {name: a}\n", "s.yaml:4:5: there is a cgroup 'a' already");
	assert_impossible(OPS "      - add-cgroup: {name: b}\n",
			  "s.yaml:6:21: there is a cgroup 'b' already");
	assert_impossible(OPS "      - add-cgroup: {name: c}\n      - add-cgroup: {name: c}\n",
			  "s.yaml:7:21: there is a cgroup 'c' already");
	assert_possible(OPS "      - remove-cgroup: b\n      - add-cgroup: {name: b}\n"
			    "      - remove-cgroup: a\n      - freeze: b\n");
}

CASE(ops_act_on_cgroups_that_are_there)
{
	static const char *const ops[][2] = {
		{"remove-cgroup: c", "remove-cgroup"},
		{"set-cpuset: {cgroup: c, cpus: \"0\"}", "set-cpuset"},
		{"clear-cpuset: c", "clear-cpuset"},
		{"swap-cpusets: [a, c]", "swap-cpusets"},
		{"swap-cpusets: [c, a]", "swap-cpusets"},
		{"set-limits: {cgroup: c, cpu_max: max}", "set-limits"},
		{"stop-group: c", "stop-group"},
		{"set-affinity: {cgroup: c, affinity: single}", "set-affinity"},
		{"move-tasks: [a, c]", "move-tasks"},
		{"move-tasks: [c, a]", "move-tasks"},
		{"freeze: c", "freeze"},
		{"thaw: c", "thaw"},
	};
	char text[512], message[128];

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		snprintf(text, sizeof(text), OPS "      - %s\n", ops[i][0]);
		snprintf(message, sizeof(message),
			 "s.yaml:6:9: %s: there is no cgroup 'c' at this point", ops[i][1]);
		assert_impossible(text, message);
		/* nor any more */
		snprintf(text, sizeof(text),
			 OPS "      - add-cgroup: {name: c}\n      - remove-cgroup: c\n"
			     "      - %s\n",
			 ops[i][0]);
		snprintf(message, sizeof(message),
			 "s.yaml:8:9: %s: there is no cgroup 'c' at this point", ops[i][1]);
		assert_impossible(text, message);
		snprintf(text, sizeof(text),
			 OPS "      - add-cgroup: {name: c}\n  - ops:\n      - %s\n", ops[i][0]);
		assert_possible(text);
	}
	assert_impossible(OPS "      - spawn: {cgroup: c, work: spin-wait}\n",
			  "s.yaml:6:9: spawn: there is no cgroup 'c' at this point");
	assert_impossible(OPS "      - add-cgroup: {name: b/c}\n      - remove-cgroup: b\n",
			  "s.yaml:7:9: remove-cgroup: 'b/c' is nested in 'b' at this point: "
			  "remove it first");
	assert_possible(OPS "      - add-cgroup: {name: b/c}\n      - add-cgroup: {name: bc}\n"
			    "      - remove-cgroup: b/c\n      - remove-cgroup: b\n");
	assert_possible(OPS "      - start-scheduler: a\n      - stop-scheduler\n"
			    "      - start-scheduler: b\n");
	assert_impossible(OPS "      - start-scheduler: a\n      - start-scheduler: b\n",
			  "s.yaml:7:9: start-scheduler: one is started already at this point: "
			  "replace-scheduler stops it first");
	assert_possible(OPS "      - start-scheduler: a\n      - stop-scheduler\n"
			    "    loop: 1s\n    hold: 2s\n");
	assert_impossible(OPS "      - start-scheduler: a\n    loop: 1s\n    hold: 2s\n",
			  "s.yaml:6:9: start-scheduler: one is started already at this point: "
			  "replace-scheduler stops it first");
	assert_possible(OPS "      - start-scheduler: scx_simple\n      - replace-scheduler: "
			    "scx_qmap\n      - stop-scheduler\n");
}

#define WORKERS(cgroup) "      - spawn: {cgroup: " cgroup ", work: spin-wait}\n"
#define HAS_WORK(out, in)                                                                          \
	"cgroup " out " has work of its own, and " in " limits: cgroup v2 allows that only to "    \
	"cgroups without work; put it into a nested one"

/* OPS has the cgroups a and b; a has work. */
CASE(cgroups_that_pass_controllers_on_have_no_workers)
{
	assert_impossible("cgroups:\n  - {name: d, work: spin-wait}\n"
			  "  - {name: d/e, cpu_max: 50%}\n",
			  "s.yaml:3:5: " HAS_WORK("d", "d/e within it has"));
	assert_impossible("cgroups:\n  - {name: d/e, cpu_max: 50%}\n"
			  "  - {name: d, work: spin-wait}\n",
			  "s.yaml:3:5: " HAS_WORK("d", "d/e within it has"));
	assert_possible(
		OPS "      - add-cgroup: {name: c}\n      - add-cgroup: {name: c/d}\n" WORKERS("c")
			WORKERS("c/d"));
	/* by each op that limits, or brings workers */
	assert_impossible(OPS "      - add-cgroup: {name: c}\n"
			      "      - add-cgroup: {name: c/d, cpu_max: 50%}\n" WORKERS("c"),
			  "s.yaml:8:9: spawn: " HAS_WORK("c", "c/d within it has"));
	assert_impossible(OPS "      - add-cgroup: {name: c}\n"
			      "      - add-cgroup: {name: c/d, cpu_max: 50%}\n"
			      "      - move-tasks: [a, c]\n",
			  "s.yaml:8:9: move-tasks: " HAS_WORK("c", "c/d within it has"));
	assert_impossible(OPS "      - add-cgroup: {name: c, work: spin-wait}\n"
			      "      - add-cgroup: {name: c/d}\n"
			      "      - set-limits: {cgroup: c/d, cpu_max: 50%}\n",
			  "s.yaml:8:9: set-limits: " HAS_WORK("c", "c/d within it has"));
	assert_impossible(OPS "      - add-cgroup: {name: c, work: spin-wait}\n"
			      "      - add-cgroup: {name: c/d}\n"
			      "      - set-cpuset: {cgroup: c/d, cpus: \"0\"}\n",
			  "s.yaml:8:9: set-cpuset: " HAS_WORK("c", "c/d within it has"));
	/* those that have left, or were stopped, are in nothing's way */
	assert_possible(OPS "      - add-cgroup: {name: c, work: spin-wait}\n"
			    "      - move-tasks: [c, b]\n"
			    "      - add-cgroup: {name: c/d, cpu_max: 50%}\n" WORKERS("c/d"));
	assert_possible(OPS "      - add-cgroup: {name: c, work: spin-wait}\n"
			    "      - stop-group: c\n"
			    "      - add-cgroup: {name: c/d, cpu_max: 50%}\n");
	/* controllers stay with the outer one */
	assert_impossible(OPS "      - add-cgroup: {name: c}\n"
			      "      - add-cgroup: {name: c/d, cpu_max: 50%}\n"
			      "      - remove-cgroup: c/d\n" WORKERS("c"),
			  "s.yaml:9:9: spawn: " HAS_WORK("c", "a cgroup that was within it had"));
	assert_possible(OPS "      - add-cgroup: {name: c}\n"
			    "      - add-cgroup: {name: c/d, cpu_max: 50%}\n"
			    "      - remove-cgroup: c/d\n      - remove-cgroup: c\n"
			    "      - add-cgroup: {name: c, work: spin-wait}\n");
}

CASE(sets_that_cannot_be_are_refused)
{
	assert_impossible(
		"cgroups: [{name: a, cpuset: \"8\", work: spin-wait}]\n",
		"s.yaml:1:29: cpuset '8' has CPUs that cannot be used here: use CPUs of 0-7");
	assert_impossible("cgroups: [{name: a, cpuset: \"llc:3\"}]\n",
			  "s.yaml:1:29: 'llc:3': this machine has 3 last-level caches, numbered "
			  "from 0");
	assert_impossible(OPS "      - set-cpuset: {cgroup: a, cpus: \"9\"}\n",
			  "s.yaml:6:9: set-cpuset: cpuset '9' has CPUs that cannot be used here: "
			  "use CPUs of 0-7");
	assert_impossible(OPS "      - set-affinity: {cgroup: a, affinity: \"9\"}\n",
			  "s.yaml:6:9: set-affinity: cpuset '9' has CPUs that cannot be used here: "
			  "use CPUs of 0-7");
	assert_impossible(OPS "      - add-cgroup: {name: c, cpuset: \"disjoint:0/9\"}\n",
			  "s.yaml:6:39: cpuset 'disjoint:0/9' is impossible: 8 usable CPUs cannot "
			  "be divided into 9");
	assert_impossible(OPS "      - spawn: {cgroup: b, work: {type: spin-wait, affinity: "
			      "\"4\"}}\n",
			  "s.yaml:6:34: affinity '4' has no CPU of the cpuset, which is 0-3");
}

#define SPAWN(cgroup, cpus)                                                                        \
	"      - spawn: {cgroup: " cgroup ", work: {type: spin-wait, affinity: \"" cpus "\"}}\n"

CASE(ops_change_the_cpusets_of_later_ones)
{
	assert_possible(OPS "      - set-cpuset: {cgroup: b, cpus: \"4-5\"}\n" SPAWN("b", "4"));
	assert_impossible(OPS "      - set-cpuset: {cgroup: b, cpus: \"4-5\"}\n" SPAWN("b", "0"),
			  "s.yaml:7:34: affinity '0' has no CPU of the cpuset, which is 4-5");
	assert_possible(OPS "      - clear-cpuset: b\n" SPAWN("b", "7"));
	assert_possible(OPS "      - swap-cpusets: [a, b]\n" SPAWN("b", "7") SPAWN("a", "3"));
	assert_impossible(OPS "      - swap-cpusets: [a, b]\n" SPAWN("a", "7"),
			  "s.yaml:7:34: affinity '7' has no CPU of the cpuset, which is 0-3");
	/* what an op adds lies in what another one added */
	assert_impossible(OPS "      - add-cgroup: {name: c, cpuset: \"6\"}\n"
			      "      - add-cgroup: {name: c/d}\n" SPAWN("c/d", "5"),
			  "s.yaml:8:36: affinity '5' has no CPU of the cpuset, which is 6");
	assert_possible(OPS
			"      - set-cpuset: {cgroup: b, cpus: \"4\"}\n      - remove-cgroup: b\n"
			"      - add-cgroup: {name: b, cpuset: \"5\"}\n" SPAWN("b", "5"));
}

CASE(phases_hold_no_more_than_the_duration)
{
	assert_possible("work: spin-wait\nphases:\n  - {hold: 30%}\n  - {hold: 60%}\n"
			"  - {hold: 10%}\n");
	/* times may make it longer */
	assert_possible("work: spin-wait\nphases:\n  - {hold: 100%}\n  - {hold: 1h}\n");
	assert_impossible("work: spin-wait\nphases:\n  - {hold: 60%}\n  - {hold: 1s}\n"
			  "  - {hold: 60%}\n",
			  "s.yaml:5:5: the phases so far hold 120% of the duration, more than all");
}

CASE(loops_do_not_add_and_remove)
{
	assert_impossible(OPS "      - add-cgroup: {name: c}\n    loop: 1s\n",
			  "s.yaml:6:9: add-cgroup cannot be repeated: put both, add and remove, "
			  "into phases of their own");
	assert_impossible(OPS "      - remove-cgroup: a\n    loop: 1s\n    hold: 2s\n",
			  "s.yaml:6:9: remove-cgroup cannot be repeated: put both, add and remove, "
			  "into phases of their own");
	assert_possible(OPS "      - freeze: a\n      - thaw: a\n    loop: 1s\n    hold: 2s\n");
}

CASE(there_are_not_too_many_workers)
{
	assert_possible("work: {type: spin-wait, workers: 100000}\n");
	assert_impossible("work: [{type: spin-wait, workers: 100000}, spin-wait]\n",
			  "s.yaml:1:44: more than 100000 workers in all");
	assert_impossible("work: {type: spin-wait, workers: 100000}\n"
			  "phases: [{ops: {spawn: {work: spin-wait}}}]\n",
			  "s.yaml:2:31: more than 100000 workers in all");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(affinities_become_cpus),
		cmocka_unit_test(the_cache_with_most_cpus_is_taken),
		cmocka_unit_test(pairs_share_a_core),
		cmocka_unit_test(affinities_outside_of_the_cpuset_are_refused),
		cmocka_unit_test(random_affinities_are_drawn_within_the_pool),
		cmocka_unit_test(half_of_an_odd_pool_is_the_larger_half),
		cmocka_unit_test(a_seed_repeats_its_draws),
		cmocka_unit_test(groups_are_whole_teams),
		cmocka_unit_test(cpusets_are_inherited),
		cmocka_unit_test(what_needs_no_cgroup_needs_nothing),
		cmocka_unit_test(without_work_there_is_nothing_to_do),
		cmocka_unit_test(nodes_must_be_of_this_machine),
		cmocka_unit_test(cgroups_are_there_once),
		cmocka_unit_test(ops_act_on_cgroups_that_are_there),
		cmocka_unit_test(cgroups_that_pass_controllers_on_have_no_workers),
		cmocka_unit_test(sets_that_cannot_be_are_refused),
		cmocka_unit_test(ops_change_the_cpusets_of_later_ones),
		cmocka_unit_test(phases_hold_no_more_than_the_duration),
		cmocka_unit_test(loops_do_not_add_and_remove),
		cmocka_unit_test(there_are_not_too_many_workers),
	};

	return cmocka_run_group_tests(cases, make_machine, NULL);
}
