// SPDX-License-Identifier: GPL-2.0-or-later
/* What a spec is made of, in words: work, affinities, policies, limits, checks. */
#include "test.h"

#include <errno.h>
#include <math.h>

#include "base/duration.h"
#include "load/spec.h"

static void release(struct spec_work *work)
{
	struct spec spec;
	struct spec_cgroup *cgroup;

	spec_init(&spec);
	cgroup = spec_add_cgroup(&spec.cgroups);
	assert_non_null(cgroup);
	*spec_add_work(&cgroup->works) = *work;
	spec_release(&spec);
}

static uint64_t param_of(const struct spec_work *work, const char *name)
{
	const struct param *param = params_find(work->type->params, name);

	assert_non_null(param);
	return *(const uint64_t *)(const void *)((const char *)work->params + param->offset);
}

CASE(work_is_a_type_with_parameters)
{
	struct spec_work work = {.type = NULL};
	struct error error = {""};

	assert_int_equal(spec_parse_work(&work, "FutexFanOut:fan-out=3,Spin_Iters=0", &error), 0);
	assert_string_equal(work.type->name, "futex-fan-out");
	assert_int_equal(param_of(&work, "fan_out"), 3);
	assert_int_equal(param_of(&work, "spin_iters"), 0);
	assert_int_equal(work_team_size(work.type, work.params), 4);
	release(&work);
	work = (struct spec_work){.type = NULL};
	assert_int_equal(spec_parse_work(&work, "spin-wait", &error), 0);
	assert_int_equal(work_team_size(work.type, work.params), 1);
	release(&work);
}

CASE(work_that_is_none_is_explained)
{
	static const char *const bad[][2] = {
		{"", "unknown work type ''; `dwell load --list` shows them all"},
		{"spin-wiat", "unknown work type 'spin-wiat'; did you mean 'spin-wait'?"},
		{"spin-wait=3", "unknown work type 'spin-wait=3'; did you mean 'spin-wait'?"},
		{"sleeping-beauty",
		 "unknown work type 'sleeping-beauty'; `dwell load --list` shows them all"},
		{"futex-fan-out:", "'' in 'futex-fan-out:' is not NAME=VALUE; write as "
				   "futex-fan-out:fan_out=3,spin_iters=256"},
		{"futex-fan-out:3", "'3' in 'futex-fan-out:3' is not NAME=VALUE; write as "
				    "futex-fan-out:fan_out=3,spin_iters=256"},
		{"futex-fan-out:fanout=0", "fan_out: 0 is too small; at least 1"},
		{"futex-fan-out:fan_out=5000", "fan_out: 5000 is too large; at most 4096"},
		{"futex-fan-out:fun_out=3",
		 "futex-fan-out has no parameter 'fun_out'; did you mean 'fan_out'?"},
		{"futex-fan-out:colour=3",
		 "futex-fan-out has no parameter 'colour'; `dwell load --list futex-fan-out` shows "
		 "those it has"},
		{"spin-wait:n=3",
		 "spin-wait has no parameter 'n'; `dwell load --list spin-wait` shows those it "
		 "has"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct spec_work work = {.type = NULL};
		struct error error = {""};

		assert_int_equal(spec_parse_work(&work, bad[i][0], &error), -EINVAL);
		assert_string_equal(error.text, bad[i][1]);
		release(&work);
	}
}

CASE(affinities_have_words)
{
	static const struct {
		const char *text;
		enum affinity_kind kind;
		const char *cpus;
		unsigned int count;
	} good[] = {
		{"inherit", AFFINITY_INHERIT, NULL, 0},
		{"Single", AFFINITY_SINGLE, NULL, 0},
		{"llc", AFFINITY_LLC, NULL, 0},
		{"cross_cgroup", AFFINITY_CROSS_CGROUP, NULL, 0},
		{"smt-pair", AFFINITY_SMT_PAIR, NULL, 0},
		{"spread", AFFINITY_SPREAD, NULL, 0},
		{"spread:0-3", AFFINITY_SPREAD, "0-3", 0},
		{"random", AFFINITY_RANDOM, NULL, 0},
		{"random:2", AFFINITY_RANDOM, NULL, 2},
		{"random:2:", AFFINITY_RANDOM, NULL, 2},
		{"random:8192:llc:0", AFFINITY_RANDOM, "llc:0", 8192},
		{"cpus:0,2", AFFINITY_CPUS, "0,2", 0},
		{"0,2", AFFINITY_CPUS, "0,2", 0},
		{"llc:0", AFFINITY_CPUS, "llc:0", 0},
		{"0.0-0.5", AFFINITY_CPUS, "0.0-0.5", 0},
		{"disjoint:0/2", AFFINITY_CPUS, "disjoint:0/2", 0},
	};
	struct spec_affinity affinity = {.kind = AFFINITY_INHERIT};
	struct error error = {""};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(spec_parse_affinity(&affinity, good[i].text, &error), 0);
		assert_int_equal(affinity.kind, good[i].kind);
		assert_int_equal(affinity.count, good[i].count);
		if (good[i].cpus)
			assert_string_equal(affinity.cpus, good[i].cpus);
		else
			assert_null(affinity.cpus);
	}
	free(affinity.cpus);
}

CASE(affinities_that_are_none_are_explained)
{
	static const char *const words[] = {"", "all", "cpus", "cpus:", "spred", "randomly"};
	static const char *const random[] = {"0", "-1", "x", "2x", ":0-3", "8193", "99999999999"};
	struct spec_affinity affinity = {.kind = AFFINITY_INHERIT};
	char text[64], message[160];
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		snprintf(message, sizeof(message),
			 "unknown affinity '%s': use inherit, single, spread, random:N, llc, "
			 "smt-pair, cross-cgroup or CPUs, as 0-3",
			 words[i]);
		assert_int_equal(spec_parse_affinity(&affinity, words[i], &error), -EINVAL);
		assert_string_equal(error.text, message);
	}
	for (size_t i = 0; i < ARRAY_SIZE(random); i++) {
		snprintf(text, sizeof(text), "random:%s", random[i]);
		snprintf(message, sizeof(message),
			 "affinity '%s': use random:N or random:N:CPUS, N of them for each worker",
			 text);
		assert_int_equal(spec_parse_affinity(&affinity, text, &error), -EINVAL);
		assert_string_equal(error.text, message);
	}
	free(affinity.cpus);
}

CASE(policies_have_words)
{
	static const char *const same[][2] = {
		{"normal", "normal"},
		{"BATCH", "batch"},
		{"idle", "idle"},
		{"ext", "ext"},
		{"fifo:1", "fifo:1"},
		{"rr:99", "rr:99"},
		{"deadline:1ms/5ms/10ms", "deadline:1.0ms/5.0ms/10.0ms"},
		{"deadline:1024ns/1024ns/1024ns", "deadline:1us/1us/1us"},
	};
	struct spec_policy policy;
	struct error error = {""};
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		assert_int_equal(spec_parse_policy(&policy, same[i][0], &error), 0);
		spec_format_policy(text, sizeof(text), &policy);
		assert_string_equal(text, same[i][1]);
	}
	assert_int_equal(spec_parse_policy(&policy, "deadline:1ms/5ms/10ms", &error), 0);
	assert_int_equal(policy.kind, POLICY_DEADLINE);
	assert_int_equal(policy.runtime_ns, NS_PER_MS);
	assert_int_equal(policy.deadline_ns, 5 * NS_PER_MS);
	assert_int_equal(policy.period_ns, 10 * NS_PER_MS);
}

CASE(policies_that_are_none_are_explained)
{
	static const char *const unknown[] = {"", "other", "normal:1", "fifo1", "idle:x"};
	static const char *const priorities[] = {"fifo",    "fifo:",  "fifo:0", "fifo:100",
						 "fifo:-1", "fifo:x", "fifo:1x"};
	static const char *const deadlines[] = {"1ms",		"1ms/5ms",	"1ms/2ms/3ms/4ms",
						"5ms/1ms/10ms", "1ms/10ms/5ms", "1023ns/1ms/1ms"};
	struct spec_policy policy;
	struct error error;
	char text[64], message[256];

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		snprintf(message, sizeof(message),
			 "unknown policy '%s': use normal, batch, idle, fifo:PRIORITY, "
			 "rr:PRIORITY, deadline:RUNTIME/DEADLINE/PERIOD or ext",
			 unknown[i]);
		assert_int_equal(spec_parse_policy(&policy, unknown[i], &error), -EINVAL);
		assert_string_equal(error.text, message);
	}
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		assert_int_equal(spec_parse_policy(&policy, priorities[i], &error), -EINVAL);
		assert_string_equal(error.text, "fifo needs a priority from 1 to 99: fifo:10");
	}
	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		snprintf(text, sizeof(text), "deadline:%s", deadlines[i]);
		snprintf(message, sizeof(message),
			 "%s: use RUNTIME/DEADLINE/PERIOD, none below 1.024us or shorter "
			 "than the one before it, as deadline:1ms/5ms/10ms",
			 text);
		assert_int_equal(spec_parse_policy(&policy, text, &error), -EINVAL);
		assert_string_equal(error.text, message);
	}
	assert_int_equal(spec_parse_policy(&policy, "deadline:1/x/2", &error), -EINVAL);
	assert_string_equal(error.text, "deadline: bad duration 'x': use a number and a "
					"unit, as 200us, 5ms or 1.5s");
}

CASE(limits_are_what_the_kernel_wants)
{
	static const struct {
		const char *name, *text;
		enum spec_limit limit;
		const char *value;
	} good[] = {
		{"cpu_weight", "1", LIMIT_CPU_WEIGHT, "1"},
		{"cpu-weight", "10000", LIMIT_CPU_WEIGHT, "10000"},
		{"cpu_max", "50%", LIMIT_CPU_MAX, "50000 100000"},
		{"cpu_max", "2", LIMIT_CPU_MAX, "200000 100000"},
		{"cpu_max", "1.5", LIMIT_CPU_MAX, "150000 100000"},
		{"cpu_max", "1%", LIMIT_CPU_MAX, "1000 100000"},
		{"cpu_max", "max", LIMIT_CPU_MAX, "max"},
		{"cpu_max", "20ms/100ms", LIMIT_CPU_MAX, "20000 100000"},
		{"cpu_max", "2s/1s", LIMIT_CPU_MAX, "2000000 1000000"},
		{"memory_max", "256M", LIMIT_MEMORY_MAX, "268435456"},
		{"memory_high", "max", LIMIT_MEMORY_HIGH, "max"},
		{"memory_low", "0", LIMIT_MEMORY_LOW, "0"},
		{"memory_swap_max", "4096", LIMIT_MEMORY_SWAP_MAX, "4096"},
		{"io_weight", "100", LIMIT_IO_WEIGHT, "100"},
		{"pids_max", "max", LIMIT_PIDS_MAX, "max"},
		{"pids_max", "4194304", LIMIT_PIDS_MAX, "4194304"},
		{"cpuset_mems", "0-1,3", LIMIT_CPUSET_MEMS, "0-1,3"},
	};
	struct spec_limits limits = {{NULL}};
	struct error error = {""};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(spec_is_limit(good[i].name));
		assert_int_equal(spec_parse_limit(&limits, good[i].name, good[i].text, &error), 0);
		assert_string_equal(limits.values[good[i].limit], good[i].value);
	}
	/* what is no binary fraction too */
	for (unsigned int percent = 1; percent <= 400; percent++) {
		char text[16], value[32];

		snprintf(text, sizeof(text), "%u%%", percent);
		snprintf(value, sizeof(value), "%u 100000", percent * 1000);
		assert_int_equal(spec_parse_limit(&limits, "cpu_max", text, &error), 0);
		assert_string_equal(limits.values[LIMIT_CPU_MAX], value);
	}
	assert_false(spec_is_limit("cpu"));
	for (size_t i = 0; i < SPEC_LIMITS; i++) {
		assert_non_null(limits.values[i]);
		assert_non_null(limit_info[i].file);
		assert_non_null(limit_info[i].controller);
		free(limits.values[i]);
	}
}

CASE(long_lists_of_nodes_are_whole)
{
	struct spec_limits limits = {{NULL}};
	char text[512] = "0";

	for (int i = 2; i < 200; i += 2)
		sprintf(text + strlen(text), ",%d", i);
	assert_int_equal(spec_parse_limit(&limits, "cpuset_mems", text, NULL), 0);
	assert_string_equal(limits.values[LIMIT_CPUSET_MEMS], text);
	free(limits.values[LIMIT_CPUSET_MEMS]);
}

CASE(limits_that_are_none_are_explained)
{
	static const char *const bad[][3] = {
		{"colour", "1", "unknown limit 'colour'"},
		{"cpu_weight", "0", "cpu_weight: '0' is not a whole number from 1 to 10000"},
		{"cpu_weight", "10001",
		 "cpu_weight: '10001' is not a whole number from 1 to 10000"},
		{"cpu_weight", "max", "cpu_weight: 'max' is not a whole number from 1 to 10000"},
		{"io_weight", "1.5", "io_weight: '1.5' is not a whole number from 1 to 10000"},
		{"pids_max", "4194305",
		 "pids_max: '4194305' is not a whole number from 1 to 4194304"},
		{"cpu_max", "0.5%",
		 "cpu_max: '0.5%' is out of bounds: at least 1ms, in a period of 1ms to 1s"},
		{"cpu_max", "1ms/2s",
		 "cpu_max: '1ms/2s' is out of bounds: at least 1ms, in a period of 1ms to 1s"},
		{"cpu_max", "0%",
		 "cpu_max: '0%' is neither a percentage of a CPU (50%), nor QUOTA/PERIOD "
		 "(20ms/100ms), nor max"},
		{"cpu_max", "nan",
		 "cpu_max: 'nan' is neither a percentage of a CPU (50%), nor QUOTA/PERIOD "
		 "(20ms/100ms), nor max"},
		{"cpu_max", "50%%",
		 "cpu_max: '50%%' is neither a percentage of a CPU (50%), nor QUOTA/PERIOD "
		 "(20ms/100ms), nor max"},
		{"cpu_max", "/1s",
		 "cpu_max: bad duration '': use a number and a unit, as 200us, 5ms or 1.5s"},
		{"memory_max", "256m",
		 "memory_max: bad size '256m': use a number, as 4096, 64K or 16M"},
		{"memory_max", "-1",
		 "memory_max: bad size '-1': use a number, as 4096, 64K or 16M"},
		{"cpuset_mems", "a", "cpuset_mems: bad list 'a': use numbers and ranges, as 0-3,8"},
	};
	struct spec_limits limits = {{NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = {""};

		assert_int_equal(spec_parse_limit(&limits, bad[i][0], bad[i][1], &error), -EINVAL);
		assert_string_equal(error.text, bad[i][2]);
	}
	for (size_t i = 0; i < SPEC_LIMITS; i++)
		assert_null(limits.values[i]);
}

CASE(checks_have_kinds)
{
	struct spec spec;
	struct error error = {""};
	struct spec_checks *checks = &spec.checks;

	spec_init(&spec);
	assert_int_equal(spec.duration_ns, 5 * NS_PER_S);
	assert_false(checks->not_starved || checks->isolation);
	assert_true(isnan(checks->max_gap_ns) && isnan(checks->max_spread) &&
		    isnan(checks->wake_p99_ns) && isnan(checks->wake_cv) &&
		    isnan(checks->min_iteration_rate) && isnan(checks->max_migration_ratio) &&
		    isnan(checks->throughput_cv) && isnan(checks->min_work_rate) &&
		    isnan(checks->numa_locality));
	assert_int_equal(spec_parse_check(checks, "NotStarved", "Yes", &error), 0);
	assert_int_equal(spec_parse_check(checks, "isolation", "true", &error), 0);
	assert_int_equal(spec_parse_check(checks, "max-gap", "2s", &error), 0);
	assert_int_equal(spec_parse_check(checks, "max-spread", "15%", &error), 0);
	assert_int_equal(spec_parse_check(checks, "wake-p99", "500us", &error), 0);
	assert_int_equal(spec_parse_check(checks, "wake_cv", "3", &error), 0);
	assert_int_equal(spec_parse_check(checks, "min-iteration-rate", "1e3", &error), 0);
	assert_int_equal(spec_parse_check(checks, "max-migration-ratio", "0", &error), 0);
	assert_int_equal(spec_parse_check(checks, "throughput-cv", "0.2", &error), 0);
	assert_int_equal(spec_parse_check(checks, "min-work-rate", "5", &error), 0);
	assert_int_equal(spec_parse_check(checks, "numa-locality", "0.8", &error), 0);
	assert_true(checks->not_starved && checks->isolation);
	assert_true(checks->max_gap_ns == 2e9 && checks->max_spread == 0.15 &&
		    checks->wake_p99_ns == 500e3 && checks->wake_cv == 3 &&
		    checks->min_iteration_rate == 1000 && checks->max_migration_ratio == 0 &&
		    checks->throughput_cv == 0.2 && checks->min_work_rate == 5 &&
		    checks->numa_locality == 0.8);
	assert_int_equal(spec_parse_check(checks, "not-starved", "no", &error), 0);
	assert_false(checks->not_starved);
	spec_release(&spec);
}

CASE(checks_that_are_none_are_explained)
{
	static const char *const bad[][3] = {
		{"max-gap", "2x",
		 "max-gap: bad duration '2x': use a number and a unit, as 200us, 5ms or 1.5s"},
		{"max-gap", "15%",
		 "max-gap: bad duration '15%': use a number and a unit, as 200us, 5ms or 1.5s"},
		{"max-spread", "101%",
		 "max-spread: '101%' is not a share: use 0 to 1, or a percentage"},
		{"max-spread", "15 %",
		 "max-spread: '15 %' is not a share: use 0 to 1, or a percentage"},
		{"throughput-cv", "20%", "throughput-cv: '20%' is not a number"},
		{"throughput-cv", "-1", "throughput-cv: '-1' is not a number"},
		{"throughput-cv", "inf", "throughput-cv: 'inf' is not a number"},
		{"throughput-cv", "nan", "throughput-cv: 'nan' is not a number"},
		{"throughput-cv", "", "throughput-cv: '' is not a number"},
		{"isolation", "1", "isolation: '1' is neither true nor false"},
		{"max-gpa", "1s", "unknown check 'max-gpa'; did you mean 'max-gap'?"},
		{"colour", "1s",
		 "unknown check 'colour'; `dwell load --list checks` shows them all"},
		/* always looked at: not to be asked for */
		{"completed", "true",
		 "unknown check 'completed'; `dwell load --list checks` shows them all"},
	};
	struct spec spec;

	spec_init(&spec);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = {""};

		assert_int_equal(spec_parse_check(&spec.checks, bad[i][0], bad[i][1], &error),
				 -EINVAL);
		assert_string_equal(error.text, bad[i][2]);
	}
	spec_release(&spec);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(work_is_a_type_with_parameters),
		cmocka_unit_test(work_that_is_none_is_explained),
		cmocka_unit_test(affinities_have_words),
		cmocka_unit_test(affinities_that_are_none_are_explained),
		cmocka_unit_test(policies_have_words),
		cmocka_unit_test(policies_that_are_none_are_explained),
		cmocka_unit_test(limits_are_what_the_kernel_wants),
		cmocka_unit_test(long_lists_of_nodes_are_whole),
		cmocka_unit_test(limits_that_are_none_are_explained),
		cmocka_unit_test(checks_have_kinds),
		cmocka_unit_test(checks_that_are_none_are_explained),
	};

	return RUN(cases);
}
