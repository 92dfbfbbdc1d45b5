// SPDX-License-Identifier: GPL-2.0-or-later
/* What the work types say of themselves; test-work-runs.c runs them. */
#include "test.h"

#include <errno.h>

#include "load/spec.h"

#define ROLES_MAX 3
#define VARIES	  0

/*
 * Their checkpoint periods, as the design has them, and team sizes. By default parameters. Position
 * by position; the last one that is given holds for the rest of the team.
 */
static const struct {
	const char *name;
	unsigned int team;
	unsigned int roles;
	unsigned int periods[ROLES_MAX];
} known[] = {
	{"spin-wait", 1, 1, {1}},
	{"yield-heavy", 1, 1, {1024}},
	{"mixed", 1, 1, {1}},
	{"bursty", 1, 1, {1}},
	{"pipe-io", 2, 2, {1, 1}},
	{"futex-ping-pong", 2, 2, {1, 1}},
	{"cache-pressure", 1, 1, {1}},
	{"cache-yield", 1, 1, {1}},
	{"cache-pipe", 2, 2, {1, 1}},
	{"futex-fan-out", 5, 2, {1, 1}},
	{"fan-out-compute", 5, 2, {4, 1024}},
	{"affinity-churn", 1, 1, {1}},
	{"cross-affinity-churn", 1, 1, {1}},
	{"policy-churn", 1, 1, {1}},
	{"nice-sweep", 1, 1, {2}},
	{"mutex-contention", 4, 2, {4, 4}},
	{"page-fault-churn", 1, 1, {16}},
	{"io-sync-write", 1, 1, {64}},
	{"io-rand-read", 1, 1, {64}},
	{"io-convoy", 1, 1, {64}},
	{"fork-exit", 1, 1, {1024}},
	{"sequence", 1, 1, {VARIES}},
	{"thundering-herd", 8, 2, {4, 1024}},
	{"priority-inversion", 3, 3, {1, 1, 1}},
	{"producer-consumer", 3, 3, {1024, 1024, 1}},
	{"rt-starvation", 2, 2, {1, 1}},
	{"asymmetric-waker", 2, 2, {1, 1}},
	{"wake-chain", 4, 2, {VARIES, VARIES}},
	{"numa-working-set-sweep", 1, 1, {1}},
	{"numa-migration-churn", 1, 1, {4}},
	{"cgroup-churn", 1, 1, {4}},
	{"cgroup-attach-storm", 1, 1, {1024}},
	{"signal-storm", 2, 2, {64, 64}},
	{"preempt-storm", 3, 2, {1, 1}},
	{"epoll-storm", 3, 2, {32, 4}},
	{"idle-churn", 1, 1, {VARIES}},
	{"alu-hot", 1, 1, {1}},
	{"ipc-variance", 1, 1, {1}},
	{"smt-sibling-spin", 2, 2, {1, 1}},
	{"timer-latency", 1, 1, {1024}},
	{"open-loop", 1, 1, {VARIES}},
	{"rt-app", 1, 1, {VARIES}},
	{"schbench:threads=2", 3, 2, {VARIES, VARIES}},
	{"taobench:clients=3", 4, 2, {1024, 1024}},
	{"net-traffic", 1, 1, {1024}},
	{"irq-wake", 2, 2, {1024, 1024}},
};

/* The type with its parameters; to be freed by drop(). */
static struct spec_work take(const char *text)
{
	struct spec_work work = {.type = NULL};
	struct error error = {""};

	if (spec_parse_work(&work, text, &error) < 0)
		fail_msg("%s: %s", text, error.text);
	return work;
}

static void drop(struct spec_work *work)
{
	params_release(work->type->params, work->params);
	free(work->params);
}

CASE(periods_and_team_sizes_are_those_of_the_design)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct spec_work work = take(known[i].name);
		unsigned int team = work_team_size(work.type, work.params);

		if (team != known[i].team)
			fail_msg("%s: teams of %u", known[i].name, team);
		for (unsigned int position = 0; position < team; position++) {
			unsigned int role =
				position < known[i].roles ? position : known[i].roles - 1;
			unsigned int expected = known[i].periods[role];
			unsigned int period =
				work_checkpoint_period(work.type, work.params, position);

			if (period != expected)
				fail_msg("%s, position %u: every %u, not %u", known[i].name,
					 position, period, expected);
		}
		drop(&work);
	}
}

/* The name, with parameters or without. */
static bool is_of(const char *text, const struct work_type *type)
{
	size_t length = strlen(type->name);

	return !strncmp(text, type->name, length) && (!text[length] || text[length] == ':');
}

CASE(every_type_is_known_here)
{
	for (size_t t = 0; work_types[t]; t++) {
		const struct work_type *found = NULL;
		size_t i = 0;

		assert_int_equal(work_type_find(work_types[t]->name, &found, NULL), 0);
		assert_ptr_equal(found, work_types[t]);
		assert_true(*found->summary);
		while (i < ARRAY_SIZE(known) && !is_of(known[i].name, found))
			i++;
		if (i == ARRAY_SIZE(known) && !(found->flags & WORK_BYPASS))
			fail_msg("%s is not in the list", found->name);
	}
}

CASE(names_are_found_however_they_are_written)
{
	static const char *const names[] = {"futex-ping-pong", "FutexPingPong", "FUTEX_PING_PONG",
					    "futexpingpong", "Futex-Ping_Pong"};
	const struct work_type *found;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		found = NULL;
		assert_int_equal(work_type_find(names[i], &found, NULL), 0);
		assert_string_equal(found->name, "futex-ping-pong");
	}
	assert_int_equal(work_type_find("IoRandRead", &found, NULL), 0);
	assert_string_equal(found->name, "io-rand-read");
}

CASE(misspelt_names_are_guessed)
{
	struct error error = {""};
	const struct work_type *found;

	assert_int_equal(work_type_find("mutex-contentoin", &found, &error), -EINVAL);
	assert_non_null(strstr(error.text, "did you mean 'mutex-contention'?"));
	assert_int_equal(work_type_find("PageFault-Chrun", &found, &error), -EINVAL);
	assert_non_null(strstr(error.text, "did you mean 'page-fault-churn'?"));
	assert_int_equal(work_type_find("zzzzzzzzzzzz", &found, &error), -EINVAL);
	assert_null(strstr(error.text, "did you mean"));
}

CASE(teams_follow_their_parameters)
{
	static const struct {
		const char *text;
		unsigned int team;
	} teams[] = {
		{"futex-fan-out:fan_out=7", 8},
		{"fan-out-compute:fan_out=1", 2},
		{"mutex-contention:contenders=1", 1},
		{"thundering-herd:waiters=3", 4},
		{"priority-inversion:high=2,medium=0,low=3", 5},
		{"producer-consumer:producers=3,consumers=4", 7},
		{"rt-starvation:rt=2,cfs=0", 2},
		{"wake-chain:depth=2,by=futex", 2},
		{"preempt-storm:cfs=5", 6},
		{"epoll-storm:consumers=5", 6},
		{"schbench:message_threads=2,threads=3", 8},
		{"taobench:clients=6", 8},
		{"taobench:clients=1,slow=2", 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(teams); i++) {
		struct spec_work work = take(teams[i].text);

		assert_int_equal(work_team_size(work.type, work.params), teams[i].team);
		drop(&work);
	}
}

CASE(periods_follow_their_parameters)
{
	static const struct {
		const char *text;
		unsigned int position, period;
	} periods[] = {
		{"futex-ping-pong:spin_iters=256", 0, 4}, {"futex-ping-pong:spin_iters=0", 0, 1},
		{"affinity-churn:spin_iters=3", 0, 1024}, {"mutex-contention:hold=0", 0, 1},
		{"fan-out-compute:operations=64", 1, 16}, {"page-fault-churn:touches=960", 0, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		struct spec_work work = take(periods[i].text);

		assert_int_equal(
			work_checkpoint_period(work.type, work.params, periods[i].position),
			periods[i].period);
		drop(&work);
	}
}

CASE(what_parameters_cannot_be_is_refused)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"bursty:burst=0s", "burst"},
		{"cache-pressure:stride=0", "stride"},
		{"cache-pipe:size=x", "size"},
		{"fan-out-compute:fan_out=0", "at least 1"},
		{"fan-out-compute:fan_out=4097", "at most 4096"},
		{"fan-out-compute:footprint=23", "footprint"},
		{"mutex-contention:contenders=0", "at least 1"},
		{"page-fault-churn:region=4095", "region"},
		{"io-rand-read:size=1K", "size"},
		{"thundering-herd:waiters=0", "at least 1"},
		{"priority-inversion:mode=magic", "plain, pi"},
		{"priority-inversion:low=0", "at least 1"},
		{"producer-consumer:depth=0", "at least 1"},
		{"producer-consumer:rate=1000001", "at most 1000000"},
		{"rt-starvation:priority=100", "at most 99"},
		{"asymmetric-waker:wakee=deadline", "normal, batch, idle, fifo, rr"},
		{"wake-chain:depth=1", "at least 2"},
		{"wake-chain:by=mail", "pipe, futex"},
		{"cgroup-churn:groups=0", "at least 1"},
		{"idle-churn:burst=0s", "burst"},
		{"idle-churn:sleep=0s", "sleep"},
		{"timer-latency:interval=0s", "interval"},
		{"schbench:message_threads=0", "at least 1"},
		{"taobench:memory=64", "memory"},
		{"taobench:hit_rate=2", "share"},
		{"net-traffic:frame=59", "at least 60"},
		{"irq-wake:frame=1515", "at most 1514"},
		{"schbench:locking=maybe", "no, yes"},
		{"schbench:auto_rps=101%", "share"},
		{"spin-wait:spin_iters=1", "spin_iters"},
		{"mutex-contention:holds=1", "hold"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct spec_work work = {.type = NULL};
		struct error error = {""};

		assert_int_equal(spec_parse_work(&work, bad[i].text, &error), -EINVAL);
		if (!strstr(error.text, bad[i].why))
			fail_msg("%s: %s", bad[i].text, error.text);
		if (work.type)
			drop(&work);
	}
}

static int checked(const char *text, struct error *error)
{
	struct spec_work work = take(text);
	int result = work.type->check(work.params, error);

	drop(&work);
	return result;
}

CASE(sequences_are_read_before_they_run)
{
	static const char *const good[] = {
		"sequence", "sequence:phases=spin:1ms",
		"sequence:phases=spin:10ms+sleep:5ms+yield:2ms+io:2ms+alu:1ms",
		"sequence:phases=ALU:1us+alu:1us"};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"sequence:phases=spin", "KIND:DURATION"},
		{"sequence:phases=spin:1ms+", "KIND:DURATION"},
		{"sequence:phases=:1ms", "KIND:DURATION"},
		{"sequence:phases=spin:0ms", "phases: spin"},
		{"sequence:phases=spin:1lightyear", "phases: spin"},
		{"sequence:phases=spni:1ms", "did you mean 'spin'?"},
		{"sequence:phases=dance:1ms", "unknown 'dance'"},
		{"sequence:phases=spinspinspinspinspinspinspinspinspin:1ms", "KIND:DURATION"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error error = {""};

		assert_int_equal(checked(good[i], &error), 0);
		assert_string_equal(error.text, "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = {""};

		assert_int_equal(checked(bad[i].text, &error), -EINVAL);
		if (!strstr(error.text, bad[i].why))
			fail_msg("%s: %s", bad[i].text, error.text);
	}
}

CASE(nodes_are_a_list)
{
	struct error error = {""};

	assert_int_equal(checked("numa-working-set-sweep", &error), 0);
	assert_int_equal(checked("numa-working-set-sweep:nodes=0-1", &error), 0);
	assert_int_equal(checked("numa-working-set-sweep:nodes=x", &error), -EINVAL);
	assert_non_null(strstr(error.text, "nodes: "));
}

CASE(a_cache_is_of_some_use)
{
	struct error error = {""};

	assert_int_equal(checked("taobench:hit_rate=1", &error), 0);
	assert_int_equal(checked("taobench:hit_rate=0", &error), -EINVAL);
	assert_non_null(strstr(error.text, "hit_rate: "));
}

CASE(io_wants_something_to_do_it_on)
{
	struct error error = {""};

	assert_int_equal(checked("io-sync-write", &error), 0);
	assert_int_equal(checked("io-rand-read:path=/no/such/file", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/no/such/file"));
	assert_int_equal(checked("io-convoy:path=/dev/null", &error), -EINVAL);
	assert_non_null(strstr(error.text, "neither"));
	assert_int_equal(checked("io-convoy:path=/dev", &error), -EINVAL);
	assert_int_equal(checked("io-sync-write:path=/proc/self/status", &error), -EINVAL);
	assert_non_null(strstr(error.text, "too small"));
}

CASE(texts_of_reports_have_an_end)
{
	struct worker_report report = {.magic = REPORT_MAGIC, .bytes = sizeof(report)};

	assert_int_equal(report_check(&report, sizeof(report)), 1);
	memset(report.note, 'x', sizeof(report.note));
	assert_int_equal(report_check(&report, sizeof(report)), -EBADMSG);
	report.note[REPORT_TEXT - 1] = '\0';
	assert_int_equal(report_check(&report, sizeof(report)), 1);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(periods_and_team_sizes_are_those_of_the_design),
		cmocka_unit_test(every_type_is_known_here),
		cmocka_unit_test(names_are_found_however_they_are_written),
		cmocka_unit_test(misspelt_names_are_guessed),
		cmocka_unit_test(teams_follow_their_parameters),
		cmocka_unit_test(periods_follow_their_parameters),
		cmocka_unit_test(what_parameters_cannot_be_is_refused),
		cmocka_unit_test(sequences_are_read_before_they_run),
		cmocka_unit_test(nodes_are_a_list),
		cmocka_unit_test(a_cache_is_of_some_use),
		cmocka_unit_test(io_wants_something_to_do_it_on),
		cmocka_unit_test(texts_of_reports_have_an_end),
	};

	return RUN(cases);
}
