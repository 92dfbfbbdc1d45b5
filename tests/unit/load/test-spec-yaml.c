// SPDX-License-Identifier: GPL-2.0-or-later
/* Specs in YAML: all that one may say, each mistake with its place, and what would be too much. */
#include "test.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <math.h>
#include <unistd.h>

#include "base/duration.h"
#include "load/scenarios.h"
#include "load/spec_ops.h"
#include "load/work_type.h"

static uint64_t param_of(const struct spec_work *work, const char *name)
{
	const struct param *param = params_find(work->type->params, name);

	assert_non_null(param);
	return *(const uint64_t *)(const void *)((const char *)work->params + param->offset);
}

static void read_spec(struct spec *spec, const char *text)
{
	struct error error = {""};

	spec_init(spec);
	if (spec_read_text(spec, text, "s.yaml", &error) < 0)
		fail_msg("%s", error.text);
}

static const char full[] =
	"name: two-groups\n"
	"description: all there is\n"
	"duration: 4s\n"
	"seed: 18446744073709551615\n"
	"cgroups:\n"
	"  - name: front\n"
	"    cpuset: \"0-1\"\n"
	"    cpu_weight: 100\n"
	"    cpu_max: 50%\n"
	"    memory_max: 256M\n"
	"    work:\n"
	"      - type: futex-fan-out\n"
	"        fan_out: 4\n"
	"        workers: 5\n"
	"        affinity: {random: {from: \"0-3\", count: 2}}\n"
	"        policy: deadline:1ms/5ms/10ms\n"
	"        nice: -5\n"
	"        memory: {policy: bind, nodes: [0, 63], flags: [static-nodes, numa-balancing]}\n"
	"        mode: thread\n"
	"      - {type: SpinWait, affinity: {cpus: \"0,2\"}, policy: fifo:10, nice: 0, mode: "
	"fork}\n"
	"  - name: front/inner\n"
	"    work: pipe-io\n"
	"  - name: back\n"
	"    work: [\"futex-ping-pong:spin_iters=256\", {type: yield-heavy, affinity: smt-pair}]\n"
	"work: {type: spin-wait, affinity: {random: {}}, memory: {policy: local, nodes: []}}\n"
	"phases:\n"
	"  - {hold: 40%}\n"
	"  - ops:\n"
	"      - add-cgroup: {name: late, cpuset: \"disjoint:0/2\", pids_max: 10, work: "
	"spin-wait}\n"
	"      - remove-cgroup: late\n"
	"      - set-cpuset: {cgroup: front, cpus: \"0\"}\n"
	"      - clear-cpuset: front\n"
	"      - swap-cpusets: [front, back]\n"
	"      - set-limits: {cgroup: back, cpu_max: max, io_weight: 50}\n"
	"      - spawn: {cgroup: back, work: [spin-wait, yield-heavy]}\n"
	"      - spawn: {work: {type: spin-wait, workers: 3}}\n"
	"      - stop-group: back\n"
	"      - set-affinity: {cgroup: front, affinity: {random: {count: 1}}}\n"
	"      - move-tasks: {from: front, to: back}\n"
	"      - move_tasks: [back, front]\n"
	"      - Freeze: back\n"
	"      - thaw: back\n"
	"      - start-scheduler: scx_simple -f\n"
	"      - stop-scheduler\n"
	"      - replace-scheduler: scx_qmap -s 5000\n"
	"    hold: 1500ms\n"
	"    loop: 100ms\n"
	"  - ops: {freeze: back}\n"
	"checks:\n"
	"  not-starved: true\n"
	"  max-gap: 2s\n"
	"  max-spread: 15%\n"
	"  isolation: true\n"
	"  wake-p99: 500us\n"
	"  min-iteration-rate: 100\n"
	"  max-migration-ratio: 0.5\n"
	"  throughput-cv: 0.2\n"
	"  numa-locality: 0.8\n";

CASE(a_full_spec_is_read)
{
	struct spec spec;
	const struct spec_cgroup *cgroup;
	const struct spec_work *work;

	read_spec(&spec, full);
	assert_string_equal(spec.name, "two-groups");
	assert_string_equal(spec.description, "all there is");
	assert_int_equal(spec.duration_ns, 4 * NS_PER_S);
	assert_true(spec.seed_given && spec.seed == UINT64_MAX);
	assert_string_equal(spec.file, "s.yaml");
	assert_string_equal(spec.source, full);
	assert_true(spec_needs_cgroups(&spec));

	assert_int_equal(spec.cgroups.count, 4);
	cgroup = &spec.cgroups.items[0];
	assert_string_equal(cgroup->name, "front");
	assert_string_equal(cgroup->cpuset, "0-1");
	assert_string_equal(cgroup->limits.values[LIMIT_CPU_WEIGHT], "100");
	assert_string_equal(cgroup->limits.values[LIMIT_CPU_MAX], "50000 100000");
	assert_string_equal(cgroup->limits.values[LIMIT_MEMORY_MAX], "268435456");
	assert_null(cgroup->limits.values[LIMIT_PIDS_MAX]);
	assert_int_equal(cgroup->place.line, 6);
	assert_int_equal(cgroup->place.column, 5);

	assert_int_equal(cgroup->works.count, 2);
	work = &cgroup->works.items[0];
	assert_string_equal(work->type->name, "futex-fan-out");
	assert_int_equal(param_of(work, "fan_out"), 4);
	assert_int_equal(work->workers, 5);
	assert_int_equal(work->affinity.kind, AFFINITY_RANDOM);
	assert_string_equal(work->affinity.cpus, "0-3");
	assert_int_equal(work->affinity.count, 2);
	assert_int_equal(work->policy.kind, POLICY_DEADLINE);
	assert_true(work->nice_given && work->nice == -5);
	assert_true(work->memory.given && work->memory.mode == MPOL_BIND);
	assert_true(work->memory.nodes == (1ULL | 1ULL << 63));
	assert_int_equal(work->memory.flags, 1 << 15 | 1 << 13);
	assert_true(work->threads);
	assert_int_equal(work->place.line, 12);
	assert_int_equal(work->place.column, 9);
	work = &cgroup->works.items[1];
	assert_string_equal(work->type->name, "spin-wait");
	assert_int_equal(work->workers, 0);
	assert_int_equal(work->affinity.kind, AFFINITY_CPUS);
	assert_string_equal(work->affinity.cpus, "0,2");
	assert_int_equal(work->policy.kind, POLICY_FIFO);
	assert_int_equal(work->policy.priority, 10);
	assert_true(work->nice_given && work->nice == 0);
	assert_false(work->threads);
	assert_false(work->memory.given);

	assert_string_equal(spec.cgroups.items[1].name, "front/inner");
	assert_string_equal(spec.cgroups.items[1].works.items[0].type->name, "pipe-io");
	work = spec.cgroups.items[2].works.items;
	assert_int_equal(param_of(work, "spin_iters"), 256);
	assert_false(work->nice_given);
	assert_int_equal(work[1].affinity.kind, AFFINITY_SMT_PAIR);
	assert_string_equal(spec.cgroups.items[3].name, "");
	work = spec.cgroups.items[3].works.items;
	assert_int_equal(work->affinity.kind, AFFINITY_RANDOM);
	assert_null(work->affinity.cpus);
	assert_int_equal(work->affinity.count, 0);
	assert_true(work->memory.given && work->memory.mode == MPOL_LOCAL && !work->memory.nodes);

	assert_true(spec.checks.not_starved && spec.checks.isolation);
	assert_true(spec.checks.max_gap_ns == 2e9 && spec.checks.max_spread == 0.15 &&
		    spec.checks.wake_p99_ns == 500e3 && spec.checks.min_iteration_rate == 100 &&
		    spec.checks.max_migration_ratio == 0.5 && spec.checks.throughput_cv == 0.2 &&
		    spec.checks.numa_locality == 0.8);
	assert_true(isnan(spec.checks.wake_cv) && isnan(spec.checks.min_work_rate));
	spec_release(&spec);
	assert_null(spec.cgroups.items);
	spec_release(&spec);
}

CASE(parameters_that_have_the_name_of_a_key_are_read)
{
	const struct spec_work *works;
	struct spec spec;

	read_spec(&spec, "work:\n"
			 "  - {type: taobench, memory: 1M}\n"
			 "  - {type: taobench, memory: {policy: bind, nodes: 0}}\n"
			 "  - {type: taobench:memory=2M, memory: {policy: local}}\n"
			 "  - {type: priority-inversion, mode: pi}\n"
			 "  - {type: priority-inversion, mode: thread}\n"
			 "  - {type: priority-inversion:mode=pi, mode: thread}\n");
	works = spec.cgroups.items[0].works.items;
	assert_int_equal(param_of(&works[0], "memory"), 1 << 20);
	assert_false(works[0].memory.given);
	assert_int_equal(param_of(&works[1], "memory"), 64 << 20);
	assert_true(works[1].memory.given && works[1].memory.mode == MPOL_BIND);
	assert_int_equal(param_of(&works[2], "memory"), 2 << 20);
	assert_true(works[2].memory.given && works[2].memory.mode == MPOL_LOCAL);
	assert_int_equal(param_of(&works[3], "mode"), 1);
	assert_false(works[3].threads);
	assert_int_equal(param_of(&works[4], "mode"), 0);
	assert_true(works[4].threads);
	assert_int_equal(param_of(&works[5], "mode"), 1);
	assert_true(works[5].threads);
	spec_release(&spec);
}

/* A parameter of such a name could not be set: a new one needs another name. */
CASE(no_other_parameter_has_the_name_of_a_key)
{
	for (size_t t = 0; work_types[t]; t++)
		for (const struct yaml_key *key = spec_work_keys; key->name; key++)
			if (params_find(work_types[t]->params, key->name) &&
			    strcmp(key->name, "memory") != 0 && strcmp(key->name, "mode") != 0)
				fail_msg("%s has a parameter '%s'", work_types[t]->name, key->name);
}

CASE(phases_and_ops_are_read)
{
	static const enum op_kind order[] = {
		OP_ADD_CGROUP,
		OP_REMOVE_CGROUP,
		OP_SET_CPUSET,
		OP_CLEAR_CPUSET,
		OP_SWAP_CPUSETS,
		OP_SET_LIMITS,
		OP_SPAWN,
		OP_SPAWN,
		OP_STOP_GROUP,
		OP_SET_AFFINITY,
		OP_MOVE_TASKS,
		OP_MOVE_TASKS,
		OP_FREEZE,
		OP_THAW,
		OP_START_SCHEDULER,
		OP_STOP_SCHEDULER,
		OP_REPLACE_SCHEDULER,
	};
	const struct spec_phase *phase;
	const struct spec_op *ops;
	struct spec spec;

	read_spec(&spec, full);
	assert_int_equal(spec.phases.count, 3);
	phase = spec.phases.items;
	assert_int_equal(phase->hold, HOLD_SHARE);
	assert_true(phase->share == 0.4);
	assert_int_equal(phase->op_count, 0);
	phase++;
	assert_int_equal(phase->hold, HOLD_TIME);
	assert_int_equal(phase->hold_ns, 1500 * NS_PER_MS);
	assert_int_equal(phase->loop_ns, 100 * NS_PER_MS);
	assert_int_equal(phase->op_count, ARRAY_SIZE(order));
	ops = phase->ops;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		assert_int_equal(ops[i].kind, order[i]);
		assert_int_equal(ops[i].place.line, 29 + i);
		assert_int_equal(ops[i].place.column, 9);
	}
	assert_string_equal(ops[0].cgroup.name, "late");
	assert_string_equal(ops[0].cgroup.cpuset, "disjoint:0/2");
	assert_string_equal(ops[0].cgroup.limits.values[LIMIT_PIDS_MAX], "10");
	assert_int_equal(ops[0].cgroup.works.count, 1);
	assert_string_equal(ops[1].cgroup.name, "late");
	assert_string_equal(ops[2].cgroup.name, "front");
	assert_string_equal(ops[2].cgroup.cpuset, "0");
	assert_string_equal(ops[4].cgroup.name, "front");
	assert_string_equal(ops[4].other, "back");
	assert_string_equal(ops[5].cgroup.limits.values[LIMIT_CPU_MAX], "max");
	assert_string_equal(ops[5].cgroup.limits.values[LIMIT_IO_WEIGHT], "50");
	assert_int_equal(ops[6].cgroup.works.count, 2);
	assert_string_equal(ops[7].cgroup.name, "");
	assert_int_equal(ops[7].cgroup.works.items[0].workers, 3);
	assert_string_equal(ops[9].cgroup.name, "front");
	assert_int_equal(ops[9].affinity.kind, AFFINITY_RANDOM);
	assert_int_equal(ops[9].affinity.count, 1);
	assert_string_equal(ops[10].cgroup.name, "front");
	assert_string_equal(ops[10].other, "back");
	assert_string_equal(ops[11].cgroup.name, "back");
	assert_string_equal(ops[11].other, "front");
	assert_string_equal(ops[14].command, "scx_simple -f");
	assert_string_equal(ops[16].command, "scx_qmap -s 5000");
	phase++;
	assert_int_equal(phase->op_count, 1);
	assert_int_equal(phase->hold, HOLD_TIME);
	assert_int_equal(phase->hold_ns, 0);
	spec_release(&spec);
}

CASE(aliases_and_merely_named_specs_are_read)
{
	struct spec spec;

	read_spec(&spec, "cgroups:\n"
			 "  - {name: a, work: &w {type: spin-wait, workers: 3}}\n"
			 "  - {name: b, work: [*w, *w]}\n");
	assert_string_equal(spec.name, "spec");
	assert_int_equal(spec.cgroups.items[1].works.count, 2);
	assert_int_equal(spec.cgroups.items[1].works.items[1].workers, 3);
	assert_true(spec.cgroups.items[0].works.items[0].params !=
		    spec.cgroups.items[1].works.items[0].params);
	spec_release(&spec);
	read_spec(&spec, "---\n# a remark\nwork: spin-wait\n...\n");
	assert_false(spec_needs_cgroups(&spec));
	spec_release(&spec);
}

static const char *const mistakes[][2] = {
	{"", "s.yaml: there is nothing in it"},
	{"# nothing\n", "s.yaml: there is nothing in it"},
	{"---\n", "s.yaml:2:1: a spec must be a mapping of keys to values"},
	{"- a\n", "s.yaml:1:1: a spec must be a mapping of keys to values"},
	{"name\n", "s.yaml:1:1: a spec must be a mapping of keys to values"},
	{"nmae: a\n", "s.yaml:1:1: a spec has no key 'nmae'; did you mean 'name'?"},
	{"colour: a\n", "s.yaml:1:1: a spec has no key 'colour'; there are name, description, "
			"duration, seed, cgroups, work, phases, checks"},
	{"[a]: b\n", "s.yaml:1:1: a key: a single value is wanted, not a list"},
	{"\"na\\0me\": a\n", "s.yaml:1:1: a key: there is a NUL in it"},
	{"name: [a]\n", "s.yaml:1:7: name: a single value is wanted, not a list"},
	{"name: {a: b}\n", "s.yaml:1:7: name: a single value is wanted, not a mapping"},
	{"name:\n", "s.yaml:1:6: name: '': a name has 1 to 63 bytes, none of them '/', and does "
		    "not begin with a dot"},
	{"name: a/b\n", "s.yaml:1:7: name: 'a/b': a name has 1 to 63 bytes, none of them '/', and "
			"does not begin with a dot"},
	{"name: .a\n", "s.yaml:1:7: name: '.a': a name has 1 to 63 bytes, none of them '/', and "
		       "does not begin with a dot"},
	{"name: a\nNAME: b\n", "s.yaml:2:7: NAME: it is there twice"},
	{"name: \"a\\0b\"\n", "s.yaml:1:7: name: there is a NUL in it"},
	{"duration: 5x\n", "s.yaml:1:11: duration: bad duration '5x': use a number and a unit, as "
			   "200us, 5ms or 1.5s"},
	{"duration: 0s\n", "s.yaml:1:11: duration: duration '0s' must be more than zero"},
	{"duration: [5s]\n", "s.yaml:1:11: duration: a single value is wanted, not a list"},
	{"seed: -1\n",
	 "s.yaml:1:7: seed: '-1' is not a whole number from 0 to 18446744073709551615"},
	{"seed: 1.5\n",
	 "s.yaml:1:7: seed: '1.5' is not a whole number from 0 to 18446744073709551615"},
	{"seed: 18446744073709551616\n", "s.yaml:1:7: seed: '18446744073709551616' is not a whole "
					 "number from 0 to 18446744073709551615"},
	{"work: spin-wiat\n",
	 "s.yaml:1:7: type: unknown work type 'spin-wiat'; did you mean 'spin-wait'?"},
	{"work: {workers: 3}\n", "s.yaml:1:7: work: work needs a `type`"},
	{"work: [spin-wait, [spin-wait]]\n", "s.yaml:1:19: work needs a `type`"},
	{"work: {type: [a]}\n", "s.yaml:1:14: type: a single value is wanted, not a list"},
	{"work:\n  - type: spin-wait\n    wrokers: 3\n",
	 "s.yaml:3:5: spin-wait has no key 'wrokers'; did you mean 'workers'?"},
	{"work:\n  - type: futex-fan-out\n    fan-uot: 3\n",
	 "s.yaml:3:5: futex-fan-out has no key 'fan-uot'; did you mean 'fan_out'?"},
	{"work: {type: futex-fan-out, fan_out: 0}\n",
	 "s.yaml:1:38: fan_out: 0 is too small; at least 1"},
	{"work: {type: futex-fan-out, fan_out: 2, FanOut: 3}\n",
	 "s.yaml:1:49: FanOut: it is there twice"},
	{"work: {type: futex-fan-out, fan_out: [2]}\n",
	 "s.yaml:1:38: fan_out: a single value is wanted, not a list"},
	{"work: {type: spin-wait, type: spin-wait}\n", "s.yaml:1:31: type: it is there twice"},
	{"work: {type: spin-wait, workers: 0}\n",
	 "s.yaml:1:34: workers: '0' is not a whole number from 1 to 100000"},
	{"work: {type: spin-wait, workers: 100001}\n",
	 "s.yaml:1:34: workers: '100001' is not a whole number from 1 to 100000"},
	{"work: {type: spin-wait, workers: many}\n",
	 "s.yaml:1:34: workers: 'many' is not a whole number from 1 to 100000"},
	{"work: {type: spin-wait, colour: red}\n",
	 "s.yaml:1:25: spin-wait has no key 'colour'; there are type, workers, affinity, policy, "
	 "nice, memory, mode"},
	{"work: {type: spin-wait, nice: 20}\n",
	 "s.yaml:1:31: nice: '20' is not a whole number from -20 to 19"},
	{"work: {type: spin-wait, nice: -21}\n",
	 "s.yaml:1:31: nice: '-21' is not a whole number from -20 to 19"},
	{"work: {type: spin-wait, nice: }\n",
	 "s.yaml:1:31: nice: '' is not a whole number from -20 to 19"},
	{"work: {type: spin-wait, policy: fifo}\n",
	 "s.yaml:1:33: policy: fifo needs a priority from 1 to 99: fifo:10"},
	{"work: {type: spin-wait, policy: {fifo: 10}\n}\n",
	 "s.yaml:1:33: policy: a single value is wanted, not a mapping"},
	{"work: {type: spin-wait, mode: process}\n",
	 "s.yaml:1:31: mode: 'process' is neither fork nor thread"},
	{"work: {type: priority-inversion, mode: process}\n",
	 "s.yaml:1:40: mode: unknown 'process'; use one of plain, pi"},
	{"work: {type: taobench, memory: bind}\n",
	 "s.yaml:1:32: memory: bad size 'bind': use a number, as 4096, 64K or 16M"},
	{"work: {type: spin-wait, affinity: all}\n",
	 "s.yaml:1:35: affinity: unknown affinity 'all': use inherit, single, spread, random:N, "
	 "llc, smt-pair, cross-cgroup or CPUs, as 0-3"},
	{"work: {type: spin-wait, affinity: [0, 1]}\n",
	 "s.yaml:1:35: affinity: use a word, {cpus: \"0,2\"} or {random: {from: \"0-3\", count: "
	 "2}}"},
	{"work: {type: spin-wait, affinity: {}}\n",
	 "s.yaml:1:35: affinity: use a word, {cpus: \"0,2\"} or {random: {from: \"0-3\", count: "
	 "2}}"},
	{"work: {type: spin-wait, affinity: {rnadom: {}}}\n",
	 "s.yaml:1:36: an affinity has no key 'rnadom'; did you mean 'random'?"},
	{"work: {type: spin-wait, affinity: {random: 2}}\n",
	 "s.yaml:1:44: random must be a mapping of keys to values"},
	{"work: {type: spin-wait, affinity: {random: {cuont: 2}}}\n",
	 "s.yaml:1:45: random has no key 'cuont'; did you mean 'count'?"},
	{"work: {type: spin-wait, affinity: {random: {count: 0}}}\n",
	 "s.yaml:1:52: count: '0' is not a whole number from 1 to 8192"},
	{"work: {type: spin-wait, affinity: {random: {count: 1, count: 2}}}\n",
	 "s.yaml:1:62: count: it is there twice"},
	{"work: {type: spin-wait, affinity: {cpus: [0]}}\n",
	 "s.yaml:1:42: cpus: a single value is wanted, not a list"},
	{"work: {type: spin-wait, affinity: {cpus: \"0\", random: {}}}\n",
	 "s.yaml:1:35: affinity: use a word, {cpus: \"0,2\"} or {random: {from: \"0-3\", count: "
	 "2}}"},
	{"work: {type: spin-wait, memory: bind}\n",
	 "s.yaml:1:33: memory must be a mapping of keys to values"},
	{"work: {type: spin-wait, memory: {policy: bound}}\n",
	 "s.yaml:1:42: policy: unknown 'bound'; use one of default, bind, preferred, interleave, "
	 "local, preferred-many, weighted-interleave"},
	{"work: {type: spin-wait, memory: {nodes: [0, 64]}}\n",
	 "s.yaml:1:45: '64' is not a whole number from 0 to 63"},
	{"work: {type: spin-wait, memory: {nodes: x}}\n",
	 "s.yaml:1:41: nodes: 'x' is not a whole number from 0 to 63"},
	{"work: {type: spin-wait, memory: {flags: sticky}}\n",
	 "s.yaml:1:41: flags: unknown 'sticky'; use one of static-nodes, relative-nodes, "
	 "numa-balancing"},
	{"work: {type: spin-wait, memory: {policy: bind}}\n",
	 "s.yaml:1:33: memory: that policy needs `nodes`"},
	{"work: {type: spin-wait, memory: {policy: weighted-interleave, flags: static-nodes}}\n",
	 "s.yaml:1:33: memory: that policy needs `nodes`"},
	{"work: {type: spin-wait, memory: {policy: local, nodes: 0}}\n",
	 "s.yaml:1:33: memory: the policies default and local take no nodes"},
	{"work: {type: spin-wait, memory: {policy: bind, nodes: 0, flags: [static-nodes, "
	 "relative-nodes]}}\n",
	 "s.yaml:1:33: memory: flags: static-nodes and relative-nodes contradict each other"},
	{"work: {type: spin-wait, memory: {policy: preferred, flags: static-nodes}}\n",
	 "s.yaml:1:33: memory: flags: static-nodes and relative-nodes need `nodes`, and there "
	 "are none"},
	{"work: !!str spin-wait\n", "s.yaml:1:7: a spec has no tags"},
	{"work: !!map {type: spin-wait}\n", "s.yaml:1:7: a spec has no tags"},
	{"cgroups: !!seq [{name: a}]\n", "s.yaml:1:10: a spec has no tags"},
	{"work: {type: spin-wait, memory: {node: 0}}\n",
	 "s.yaml:1:34: memory has no key 'node'; did you mean 'nodes'?"},
	{"cgroups:\n  - a\n", "s.yaml:2:5: a cgroup must be a mapping of keys to values"},
	{"cgroups:\n  - {work: spin-wait}\n", "s.yaml:2:5: a cgroup needs a `name`"},
	{"cgroups:\n  - name: a b\n",
	 "s.yaml:2:11: name: 'a b': blanks and control characters cannot be in a name"},
	{"cgroups:\n  - name: memory.max\n",
	 "s.yaml:2:11: name: 'memory.max': a name that begins as those of control files do "
	 "(cgroup., cpu., memory. ...) is not for cgroups"},
	{"cgroups:\n  - name: a/cgroup.procs\n",
	 "s.yaml:2:11: name: 'a/cgroup.procs': a name that begins as those of control files do "
	 "(cgroup., cpu., memory. ...) is not for cgroups"},
	{"cgroups:\n  - name: ../a\n", "s.yaml:2:11: name: '../a' is not the name of a cgroup"},
	{"cgroups:\n  - name: /a\n", "s.yaml:2:11: name: '/a' is not the name of a cgroup"},
	{"cgroups:\n  - name: a/\n", "s.yaml:2:11: name: 'a/' is not the name of a cgroup"},
	{"cgroups:\n  - name: "
	 "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"\n",
	 "s.yaml:2:11: name: a name has 1 to 63 bytes"},
	{"cgroups:\n  - name: \"\"\n", "s.yaml:2:11: name: a name has 1 to 63 bytes"},
	{"cgroups:\n  - name: a\n    cgroup: b\n", "s.yaml:3:13: cgroup: it has a name already"},
	{"cgroups:\n  - {name: a, cpuset: \"0\", cpus: \"1\"}\n",
	 "s.yaml:2:34: cpus: it has a cpuset already"},
	{"cgroups:\n  - {name: a, cpu_max: 50%, cpu-max: 60%}\n",
	 "s.yaml:2:38: cpu-max: it is there twice"},
	{"cgroups:\n  - {name: a, cpu_max: lots}\n",
	 "s.yaml:2:24: cpu_max: 'lots' is neither a percentage of a CPU (50%), nor "
	 "QUOTA/PERIOD (20ms/100ms), nor max"},
	{"cgroups:\n  - {name: a, cpu_mxa: 1}\n",
	 "s.yaml:2:15: a cgroup has no key 'cpu_mxa'; did you mean 'cpu_max'?"},
	{"cgroups:\n  - {name: a, weight: 1}\n",
	 "s.yaml:2:15: a cgroup has no key 'weight'; did you mean 'io_weight'?"},
	{"cgroups: a\n", "s.yaml:1:10: a cgroup must be a mapping of keys to values"},
	{"work: spin-wait\nphases:\n  - ops:\n      - freze: a\n",
	 "s.yaml:4:9: unknown op 'freze'; did you mean 'freeze'?"},
	{"work: spin-wait\nphases:\n  - ops:\n      - explode: a\n",
	 "s.yaml:4:9: unknown op 'explode'"},
	{"work: spin-wait\nphases:\n  - ops:\n      - freeze\n", "s.yaml:4:9: freeze: on what?"},
	{"work: spin-wait\nphases:\n  - ops:\n      - [freeze, a]\n",
	 "s.yaml:4:9: an op is one key with its value, as freeze: back"},
	{"work: spin-wait\nphases:\n  - ops:\n      - {freeze: a, thaw: a}\n",
	 "s.yaml:4:9: an op is one key with its value, as freeze: back"},
	{"work: spin-wait\nphases:\n  - ops:\n      - {}\n",
	 "s.yaml:4:9: an op is one key with its value, as freeze: back"},
	{"work: spin-wait\nphases:\n  - ops:\n      - freeze: [a]\n",
	 "s.yaml:4:9: freeze: a single value is wanted, not a list"},
	{"work: spin-wait\nphases:\n  - ops:\n      - freeze: {cgroup: a}\n",
	 "s.yaml:4:9: freeze: a single value is wanted, not a mapping"},
	{"work: spin-wait\nphases:\n  - ops:\n      - swap-cpusets: a\n",
	 "s.yaml:4:9: swap-cpusets: it needs two cgroups: [a, b]"},
	{"work: spin-wait\nphases:\n  - ops:\n      - swap-cpusets: [a]\n",
	 "s.yaml:4:9: swap-cpusets: it needs two cgroups: [a, b]"},
	{"work: spin-wait\nphases:\n  - ops:\n      - swap-cpusets: [a, b, c]\n",
	 "s.yaml:4:9: swap-cpusets: it needs two cgroups: [a, b]"},
	{"work: spin-wait\nphases:\n  - ops:\n      - move-tasks: {from: a}\n",
	 "s.yaml:4:9: move-tasks: it needs two cgroups: [a, b], or {from: a, to: b}"},
	{"work: spin-wait\nphases:\n  - ops:\n      - move-tasks: {from: a, into: b}\n",
	 "s.yaml:4:31: move-tasks has no key 'into'; there are from, to"},
	{"work: spin-wait\nphases:\n  - ops:\n      - move-tasks: {from: a, to: b, to: c}\n",
	 "s.yaml:4:42: to: it is there twice"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-affinity: {cgroup: a}\n",
	 "s.yaml:4:9: set-affinity: it needs {cgroup: NAME, affinity: …}"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-affinity: {cgroup: a, affinity: all}\n",
	 "s.yaml:4:45: affinity: unknown affinity 'all': use inherit, single, spread, random:N, "
	 "llc, smt-pair, cross-cgroup or CPUs, as 0-3"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-affinity: {cgroup: a, affinity: single, "
	 "cpus: \"0\"}\n",
	 "s.yaml:4:53: set-affinity has no key 'cpus'; there are cgroup, affinity"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-cpuset: {cgroup: a}\n",
	 "s.yaml:4:9: set-cpuset: it needs `cpus`"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-cpuset: {cpus: \"0\"}\n",
	 "s.yaml:4:9: set-cpuset: it needs the name of a cgroup"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-cpuset: {cgroup: a, cpus: \"0\", work: "
	 "spin-wait}\n",
	 "s.yaml:4:9: set-cpuset: `work` means nothing to it"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-cpuset: {cgroup: a, cpus: \"0\", "
	 "cpu_max: max}\n",
	 "s.yaml:4:9: set-cpuset: limits mean nothing to it"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-limits: {cgroup: a}\n",
	 "s.yaml:4:9: set-limits: it needs limits, as cpu_max: 50%"},
	{"work: spin-wait\nphases:\n  - ops:\n      - set-limits: {cgroup: a, cpu_max: max, cpus: "
	 "\"0\"}\n",
	 "s.yaml:4:9: set-limits: `cpus` mean nothing to it"},
	{"work: spin-wait\nphases:\n  - ops:\n      - spawn: {cgroup: a}\n",
	 "s.yaml:4:9: spawn: it needs `work`"},
	{"work: spin-wait\nphases:\n  - ops:\n      - spawn: {work: spin-wait, cpus: \"0\"}\n",
	 "s.yaml:4:9: spawn: `cpus` mean nothing to it"},
	{"work: spin-wait\nphases:\n  - ops:\n      - add-cgroup: {work: spin-wait}\n",
	 "s.yaml:4:9: add-cgroup: it needs the name of a cgroup"},
	{"work: spin-wait\nphases:\n  - ops:\n      - add-cgroup: a\n",
	 "s.yaml:4:21: a cgroup must be a mapping of keys to values"},
	{"work: spin-wait\nphases:\n  - ops:\n      - start-scheduler: [a]\n",
	 "s.yaml:4:9: start-scheduler: a single value is wanted, not a list"},
	{"phases:\n  - {holt: 1s}\n",
	 "s.yaml:2:6: a phase has no key 'holt'; did you mean 'hold'?"},
	{"phases:\n  - {hold: 0%}\n", "s.yaml:2:12: hold: '0%' is neither a time, nor a percentage "
				      "of the duration from 0 to 100"},
	{"phases:\n  - {hold: 101%}\n", "s.yaml:2:12: hold: '101%' is neither a time, nor a "
					"percentage of the duration from 0 to 100"},
	{"phases:\n  - {hold: 50%%}\n", "s.yaml:2:12: hold: '50%%' is neither a time, nor a "
					"percentage of the duration from 0 to 100"},
	{"phases:\n  - {hold: half}\n",
	 "s.yaml:2:12: hold: bad duration 'half': use a number and a unit, as 200us, 5ms or 1.5s"},
	{"phases:\n  - {loop: 10us}\n", "s.yaml:2:12: loop: '10us' is too short: 1ms at least"},
	{"phases:\n  - {hold: 1s, hold: 2s}\n", "s.yaml:2:22: hold: it is there twice"},
	{"phases: 3\n", "s.yaml:1:9: a phase must be a mapping of keys to values"},
	{"checks:\n  max-gpa: 1s\n",
	 "s.yaml:2:12: max-gpa: unknown check 'max-gpa'; did you mean 'max-gap'?"},
	{"checks:\n  max-gap: soon\n", "s.yaml:2:12: max-gap: bad duration 'soon': use a "
				       "number and a unit, as 200us, 5ms or 1.5s"},
	{"checks:\n  max-gap: 1s\n  max_gap: 2s\n", "s.yaml:3:12: max_gap: it is there twice"},
	{"checks: all\n", "s.yaml:1:9: checks must be a mapping of keys to values"},
	{"checks: {isolation: maybe}\n",
	 "s.yaml:1:21: isolation: 'maybe' is neither true nor false"},
	{"name: a\n---\nname: b\n", "s.yaml:2:1: a second document: a spec is one"},
	{"name: [a\n",
	 "s.yaml:2:1: not YAML: did not find expected ',' or ']', while parsing a flow sequence"},
	{"name: a: b\n", "s.yaml:1:8: not YAML: mapping values are not allowed in this context"},
	{"\tname: a\n", "s.yaml:1:1: not YAML: found character that cannot start any token, while "
			"scanning for the next token"},
	{"name: *a\n", "s.yaml:1:7: not YAML: found undefined alias"},
	{"name: \"a\n",
	 "s.yaml:2:1: not YAML: found unexpected end of stream, while scanning a quoted scalar"},
	{"name: a\n  duration: 1s\n",
	 "s.yaml:2:11: not YAML: mapping values are not allowed in this context"},
	{"%TAG ! a\n---\nname: a\n", "s.yaml:1:1: a spec has no tags"},
	{"name: a\nx\377: b\n", "s.yaml:2:2: not YAML: invalid leading UTF-8 octet"},
	{"# \377\n", "s.yaml:1:3: not YAML: invalid leading UTF-8 octet"},
	{"work: &w [*w]\n", "s.yaml:1:7: work needs a `type`"},
	{"phases: &p [{ops: *p}]\n", "s.yaml:1:13: unknown op 'ops'"},
};

CASE(mistakes_are_reported_with_their_place)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct error error = {""};
		struct spec spec;

		spec_init(&spec);
		if (spec_read_text(&spec, mistakes[i][0], "s.yaml", &error) != -EINVAL)
			fail_msg("%s\nis a spec", mistakes[i][0]);
		if (strcmp(error.text, mistakes[i][1]) != 0)
			fail_msg("%s\n%s\nnot\n%s", mistakes[i][0], error.text, mistakes[i][1]);
		spec_release(&spec);
	}
}

/* `head`, and `item` over and over, up to `bytes`. */
static char *repeated(const char *head, const char *item, size_t bytes)
{
	char *text = malloc(bytes + 1);
	size_t used = strlen(head), step = strlen(item);

	assert_non_null(text);
	memcpy(text, head, used);
	for (; used + step <= bytes; used += step)
		memcpy(text + used, item, step);
	text[used] = '\0';
	return text;
}

static void assert_refused(char *text, const char *message)
{
	struct error error = {""};
	struct spec spec;

	spec_init(&spec);
	assert_int_equal(spec_read_text(&spec, text, "s.yaml", &error), -EINVAL);
	assert_string_equal(error.text, message);
	spec_release(&spec);
	free(text);
}

/* Each takes libyaml minutes if it is let. */
CASE(what_would_keep_the_parser_busy_is_refused)
{
	char *tags = malloc(SPEC_BYTES_MAX + 64), *anchors = malloc(SPEC_BYTES_MAX + 64);
	size_t used = 0;

	for (unsigned int i = 0; used < SPEC_BYTES_MAX; i++)
		used += (size_t)sprintf(tags + used, "%%TAG !a%u! b\n", i);
	assert_refused(tags, "s.yaml:1:1: a spec has no tags");
	used = 0;
	for (unsigned int i = 0; used < SPEC_BYTES_MAX; i++)
		used += (size_t)sprintf(anchors + used, "- &a%u c\n", i);
	assert_refused(anchors, "s.yaml:257:3: too many anchors for a spec");
	assert_refused(repeated("", "[", SPEC_BYTES_MAX),
		       "s.yaml:1:33: nested too deeply for a spec");
	assert_refused(repeated("", "{a: ", SPEC_BYTES_MAX),
		       "s.yaml:1:129: nested too deeply for a spec");
	assert_refused(repeated("", "- ", SPEC_BYTES_MAX),
		       "s.yaml:1:65: nested too deeply for a spec");
	assert_refused(repeated("", "? ", SPEC_BYTES_MAX),
		       "s.yaml:1:65: nested too deeply for a spec");
}

CASE(aliases_do_not_make_a_spec_larger)
{
	char *works = repeated("cgroups:\n- {name: a, work: &w [spin-wait, ", "spin-wait, ", 50000);
	char *text = repeated(works, "x", strlen(works) + 200000), *at = text + strlen(works);
	char *cpuset = repeated("cgroups:\n- {name: a, cpuset: &c \"0", ",0", 500000);

	/* 4,500 groups in one list, which is used thrice */
	at += sprintf(at, "spin-wait]}\n");
	at += sprintf(at, "- {name: b, work: *w}\n- {name: c, work: *w}\n");
	assert_refused(text, "s.yaml:2:10077: more than 10000 groups");
	free(works);
	text = repeated(cpuset, "x", strlen(cpuset) + 1000);
	sprintf(text + strlen(cpuset), "\"}\n- {name: b, cpuset: *c}\n- {name: c, cpuset: *c}\n"
				       "- {name: d, cpuset: *c}\n- {name: e, cpuset: *c}\n");
	free(cpuset);
	assert_refused(text, "s.yaml:2:21: cpuset: with its aliases it is larger than 2 MiB");
	text = repeated("phases:\n- ops: &o [stop-scheduler", ", stop-scheduler", 100000);
	at = repeated(text, "x", strlen(text) + 100);
	sprintf(at + strlen(text), "]\n- ops: *o\n");
	free(text);
	assert_refused(at, "s.yaml:2:60044: more than 10000 ops");
}

/* What a file is read from: a temporary one. */
static void write_file(char *path, const char *bytes, size_t length)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

CASE(files_are_read)
{
	static const char text[] = "name: from-file\nwork: spin-wait\n";
	static const char nul[] = "name: a\0b\n";
	char good[] = "/tmp/dwell-spec-XXXXXX", with_nul[] = "/tmp/dwell-spec-XXXXXX";
	char message[128];
	struct error error = {""};
	struct spec spec;

	write_file(good, text, strlen(text));
	spec_init(&spec);
	assert_int_equal(spec_read_file(&spec, good, &error), 0);
	assert_string_equal(spec.name, "from-file");
	assert_string_equal(spec.file, good);
	assert_string_equal(spec.source, text);
	spec_release(&spec);
	unlink(good);
	assert_int_equal(spec_read_file(&spec, good, &error), -ENOENT);
	snprintf(message, sizeof(message), "cannot read %s: No such file or directory", good);
	assert_string_equal(error.text, message);
	assert_int_equal(spec_read_file(&spec, "/tmp", &error), -EISDIR);
	assert_string_equal(error.text, "cannot read /tmp: Is a directory");
	write_file(with_nul, nul, sizeof(nul) - 1);
	assert_int_equal(spec_read_file(&spec, with_nul, &error), -EINVAL);
	snprintf(message, sizeof(message), "%s is not text: it contains a NUL", with_nul);
	assert_string_equal(error.text, message);
	unlink(with_nul);
	spec_release(&spec);
}

CASE(files_may_have_a_mebibyte)
{
	char large[] = "/tmp/dwell-spec-XXXXXX", larger[] = "/tmp/dwell-spec-XXXXXX";
	char *text = repeated("work: spin-wait\n#", "x", SPEC_BYTES_MAX + 1);
	char message[128];
	struct error error = {""};
	struct spec spec;

	spec_init(&spec);
	write_file(large, text, SPEC_BYTES_MAX);
	assert_int_equal(spec_read_file(&spec, large, &error), 0);
	unlink(large);
	write_file(larger, text, SPEC_BYTES_MAX + 1);
	assert_int_equal(spec_read_file(&spec, larger, &error), -EINVAL);
	snprintf(message, sizeof(message), "%s is larger than 1 MiB: it is not a spec", larger);
	assert_string_equal(error.text, message);
	unlink(larger);
	spec_release(&spec);
	free(text);
}

/* ----- what is built in ----- */

CASE(scenarios_are_specs)
{
	size_t count = 0;

	for (const struct scenario *scenario = scenarios; scenario->name; scenario++, count++) {
		struct error error = {""};
		struct spec spec;

		spec_init(&spec);
		if (spec_read_text(&spec, scenario->text, scenario->name, &error) < 0) {
			/* whose work is not there yet */
			if (!strstr(error.text, "unknown work type"))
				fail_msg("%s", error.text);
			print_message("%s\n", error.text);
		} else {
			assert_string_equal(spec.name, scenario->name);
			assert_non_null(spec.description);
			assert_true(spec.checks.not_starved);
		}
		assert_ptr_equal(scenario_find(scenario->name), scenario);
		spec_release(&spec);
	}
	assert_true(count >= 14);
}

CASE(scenarios_that_are_not_there_are_guessed)
{
	struct error error = {""};

	assert_null(scenario_find("stedy"));
	assert_int_equal(scenario_unknown("stedy", &error), -ENOENT);
	assert_string_equal(
		error.text,
		"no file and no built-in scenario is named 'stedy'; did you mean 'steady'?");
	assert_int_equal(scenario_unknown("my.yaml", &error), -ENOENT);
	assert_string_equal(error.text,
			    "no file and no built-in scenario is named 'my.yaml'; `dwell "
			    "load --list` shows them all");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_full_spec_is_read),
		cmocka_unit_test(parameters_that_have_the_name_of_a_key_are_read),
		cmocka_unit_test(no_other_parameter_has_the_name_of_a_key),
		cmocka_unit_test(phases_and_ops_are_read),
		cmocka_unit_test(aliases_and_merely_named_specs_are_read),
		cmocka_unit_test(mistakes_are_reported_with_their_place),
		cmocka_unit_test(what_would_keep_the_parser_busy_is_refused),
		cmocka_unit_test(aliases_do_not_make_a_spec_larger),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(files_may_have_a_mebibyte),
		cmocka_unit_test(scenarios_are_specs),
		cmocka_unit_test(scenarios_that_are_not_there_are_guessed),
	};

	return RUN(cases);
}
