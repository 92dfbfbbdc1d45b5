// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "base/array.h"
#include "base/duration.h"
#include "verify/peer_output.h"

typedef int (*take_line)(struct peer_sums *sums, const char *line);

static struct peer_sums taken(take_line take, const char *const *lines, size_t count)
{
	struct peer_sums sums = {.tid = 0};

	for (size_t i = 0; i < count; i++)
		assert_int_equal(take(&sums, lines[i]), 0);
	return sums;
}

static void expect(const struct peer_sums *sums, uint32_t tid, enum peer_time what, uint64_t ns)
{
	const uint64_t *found = peer_sums_find(sums, tid);

	assert_non_null(found);
	assert_int_equal(found[what], ns);
}

static void test_turns_of_perf(void **state)
{
	static const char *const lines[] = {
		"           time    cpu  task name                       wait time  sch delay   "
		"run "
		"time\n",
		"                        [tid/pid]                          (msec)     (msec)     "
		"(msec)\n",
		"--------------- ------  ------------------------------  ---------  ---------  "
		"---------\n",
		"   13842.039951 [0001]  perf[18956]                         0.000      0.000      "
		"0.250 \n",
		"   13842.041316 [0000]  python3[18890/18097]                1.500      0.035      "
		"0.098 \n",
		"   13842.041400 [0000]  a [7] b[18890/18097]                0.500      0.005      "
		"0.002 \n",
		"   13842.040116 [0000]  <idle>                              0.000      0.000      "
		"0.254 \n",
	};
	struct peer_sums sums = taken(peer_take_timehist, lines, ARRAY_SIZE(lines));

	(void)state;
	expect(&sums, 18956, PEER_CPU, 250 * NS_PER_US);
	expect(&sums, 18890, PEER_BLOCKED, 2 * NS_PER_MS);
	expect(&sums, 18890, PEER_RUNNABLE, 40 * NS_PER_US);
	expect(&sums, 18890, PEER_CPU, 100 * NS_PER_US);
	/* of <idle>, whose bracket is the CPU's, and of no name in a name */
	assert_null(peer_sums_find(&sums, 7));
	assert_null(peer_sums_find(&sums, 18097));
	peer_sums_release(&sums);
}

static void test_histograms_of_runqlat(void **state)
{
	static const char *const lines[] = {
		"Tracing run queue latency... Hit Ctrl-C to end.\n",
		"\n",
		"tid = 17369 python3\n",
		"     usecs               : count    distribution\n",
		"         0 -> 1          : 0        |                                        |\n",
		"         8 -> 15         : 2        |****************************************|\n",
		"tid = 17447 1 -> 2 : 3\n",
		"       512 -> 1023       : 1        |****************************************|\n",
	};
	struct peer_sums sums = taken(peer_take_runqlat, lines, ARRAY_SIZE(lines));

	(void)state;
	expect(&sums, 17369, PEER_RUNNABLE, 24 * NS_PER_US);
	expect(&sums, 17447, PEER_RUNNABLE, 768 * NS_PER_US);
	assert_int_equal(sums.tids.count, 2);
	peer_sums_release(&sums);
}

static void test_stacks_of_offcputime(void **state)
{
	static const char *const lines[] = {
		"    bpf_prog_6896d07dd3e1383c_sched_switch\n",
		"    [unknown]\n",
		"    -                loop-service (18889)\n",
		"        4027\n",
		"\n",
		"    [Missed User Stack]\n",
		"    -                loop (x) (18889)\n",
		"        44\n",
		/* a sum follows its thread, and nothing else does */
		"        999\n",
		"    -                other (5)\n",
		"    7 frames\n",
		"        999\n",
	};
	struct peer_sums sums = taken(peer_take_offcputime, lines, ARRAY_SIZE(lines));

	(void)state;
	expect(&sums, 18889, PEER_OFF_CPU, 4071 * NS_PER_US);
	assert_int_equal(sums.tids.count, 1);
	peer_sums_release(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns_of_perf),
		cmocka_unit_test(test_histograms_of_runqlat),
		cmocka_unit_test(test_stacks_of_offcputime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
