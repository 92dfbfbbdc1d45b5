// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "bpf/config.h"
#include "capture/child.h"
#include "capture/cpu_samples.h"
#include "capture/kept_threads.h"
#include "capture/kernel_waits.h"
#include "capture/lock_holders.h"
#include "capture/own_proc.h"
#include "capture/proc_threads.h"
#include "capture/span_seeds.h"
#include "capture/syscalls.h"
#include "capture/target.h"
#include "capture/wait_names.h"

static struct wait_function table[WAIT_FUNCTIONS];

static int load(const char *text)
{
	char path[] = "/tmp/dwell-kallsyms-XXXXXX";
	int fd = mkstemp(path);
	struct error error = {""};
	int result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	result = kernel_waits_load(table, path, &error);
	unlink(path);
	return result;
}

CASE(kernel_functions_end_where_the_next_begins)
{
	assert_int_equal(load("ffffffff81000000 T first\n"
			      "ffffffff81000200 T do_swap_page\n"
			      "ffffffff81000300 t other\n"
			      "ffffffff81000100 t __mutex_lock.constprop.0\n"
			      "ffffffff81000180 d data_is_not_code\n"
			      "ffffffff81000200 T again\n"),
			 2);
	assert_int_equal(table[0].start, 0xffffffff81000100);
	assert_int_equal(table[0].end, 0xffffffff81000200);
	assert_int_equal(table[0].state, WIRE_LOCK);
	assert_false(table[0].decides);
	assert_int_equal(table[1].start, 0xffffffff81000200);
	assert_int_equal(table[1].end, 0xffffffff81000300);
	assert_int_equal(table[1].detail, WIRE_DETAIL_SWAP_IN);
	assert_true(table[1].decides);
	assert_int_equal(table[2].start, ~0ULL);
}

CASE(hidden_kernel_addresses_are_no_functions)
{
	assert_int_equal(load("0000000000000000 T do_swap_page\n"
			      "0000000000000000 T __mutex_lock\n"),
			 0);
	assert_int_equal(table[0].start, ~0ULL);
}

CASE(odd_kallsyms_do_no_harm)
{
	assert_int_equal(load(""), 0);
	assert_int_equal(load("\n\n\n"), 0);
	assert_int_equal(load("garbage"), 0);
	assert_int_equal(load("ffffffff81000000 T"), 0);
	assert_int_equal(load("ffffffff81000000 T do_swap_page"), 1);
	assert_int_equal(load("ffffffff81000000 t do_swap_page\t[module]\n"), 1);
	assert_true(kernel_waits_load(table, "/nonexistent", NULL) == -ENOENT);
	assert_int_equal(table[0].start, ~0ULL);
}

CASE(system_calls_have_their_classes)
{
	__u8 classes[SYSCALL_TABLE_SIZE] = {0};

	syscalls_classify(classes);
	assert_int_equal(classes[__NR_futex], SYSCALL_FUTEX);
	assert_int_equal(classes[__NR_read], SYSCALL_DESCRIPTOR);
	assert_int_equal(classes[__NR_epoll_pwait], SYSCALL_WAIT);
	assert_int_equal(classes[__NR_clock_nanosleep], SYSCALL_SLEEP);
	assert_int_equal(classes[__NR_getpid], SYSCALL_OTHER);
}

CASE(target_lists_are_checked)
{
	static const char *const bad[] = {"",	  "x",	 "0",  "-1",	      "1,", ",1",
					  "1,,2", "1 2", "1x", "99999999999", "+1", "4194305"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_targets struct targets targets = {0};
		struct error error = {""};
		int result = targets_parse(&targets, bad[i], TARGET_PROCESS, &error);

		assert_true(result == -EINVAL || result == -ESRCH);
		assert_true(*error.text);
	}
}

CASE(only_the_own_namespace_s_proc_is_believed)
{
	char directory[] = "/tmp/dwell-proc-XXXXXX", link[64], number[16];
	struct error error = {""};

	assert_int_equal(own_proc_check(OWN_PROC, &error), 0);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(own_proc_check(directory, &error), -ENOENT);
	assert_non_null(strstr(error.text, "/proc is not mounted"));
	snprintf(link, sizeof(link), "%s/self", directory);
	snprintf(number, sizeof(number), "%d", getpid() + 1);
	assert_int_equal(symlink(number, link), 0);
	assert_int_equal(own_proc_check(directory, &error), -ESRCH);
	assert_non_null(strstr(error.text, "another pid namespace's processes"));
	unlink(link);
	snprintf(number, sizeof(number), "%d", getpid());
	assert_int_equal(symlink(number, link), 0);
	assert_int_equal(own_proc_check(directory, &error), 0);
	unlink(link);
	rmdir(directory);
}

CASE(targets_are_held_once)
{
	cleanup_targets struct targets targets = {0};
	struct error error = {""};
	char list[64];

	snprintf(list, sizeof(list), "%d,%d", getpid(), getpid());
	assert_true(targets_everything(&targets));
	assert_int_equal(targets_parse(&targets, list, TARGET_PROCESS, &error), 0);
	assert_int_equal(targets.count, 1);
	assert_false(targets_everything(&targets));
	assert_int_equal(targets_parse(&targets, list, TARGET_THREAD, &error), 0);
	assert_int_equal(targets.count, 2);
}

CASE(the_end_of_targets_is_noticed)
{
	cleanup_targets struct targets targets = {0};
	struct error error = {""};
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(targets_add_process(&targets, (uint32_t)child, &error), 0);
	assert_true(targets_watch(&targets) > 0);
	assert_int_equal(targets_alive(&targets), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(targets_alive(&targets), 0);
	assert_int_equal(targets_alive(&targets), 0);
}

static size_t listed(const struct targets *targets)
{
	struct proc_threads threads = {0};
	size_t count;

	assert_int_equal(proc_threads_list(&threads, targets, false), 0);
	count = threads.count;
	proc_threads_release(&threads);
	return count;
}

CASE(who_has_an_ended_target_s_number_is_no_target)
{
	for (int way = 0; way < 3; way++) {
		cleanup_targets struct targets targets = {0};
		struct error error = {""};
		pid_t child = fork();
		char id[32];

		if (child == 0) {
			pause();
			_exit(0);
		}
		snprintf(id, sizeof(id), "%d", child);
		assert_int_equal(targets_parse(&targets, id,
					       way == 1 ? TARGET_THREAD : TARGET_PROCESS, &error),
				 0);
		targets.children = way == 2;
		assert_int_equal(listed(&targets), 1);
		/* as if it were our number now */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		targets.items[0].id = (uint32_t)getpid();
		assert_int_equal(listed(&targets), 0);
	}
}

CASE(unknown_names_and_cgroups_are_refused)
{
	cleanup_targets struct targets targets = {0};
	struct error error = {""};

	assert_int_equal(targets_add_name(&targets, "no such name at all", &error), -ESRCH);
	assert_int_equal(targets_add_name(&targets, "", &error), -EINVAL);
	assert_true(targets_set_cgroup(&targets, "/no/such/cgroup", &error) < 0);
	assert_true(targets_set_cgroup(&targets, "/proc", &error) < 0);
}

CASE(a_child_waits_runs_and_is_reaped)
{
	static char program[] = "/bin/sh", option[] = "-c", script[] = "exit 7";
	char *const argv[] = {program, option, script, NULL};
	cleanup_child struct child child = CHILD_NONE;
	struct error error = {""};
	uint64_t duration_ns;
	int status;

	assert_int_equal(child_prepare(&child, argv, &error), 0);
	assert_int_equal(waitpid(child.pid, &status, WNOHANG), 0);
	assert_int_equal(child_start(&child, argv[0], &error), 0);
	assert_int_equal(child_reap(&child, &status, &duration_ns), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_true(duration_ns > 0);
}

CASE(a_program_that_is_not_there_is_an_error)
{
	static char program[] = "/no/such/program";
	char *const argv[] = {program, NULL};
	cleanup_child struct child child = CHILD_NONE;
	struct error error = {""};

	assert_int_equal(child_prepare(&child, argv, &error), 0);
	assert_int_equal(child_start(&child, argv[0], &error), -ENOENT);
	assert_non_null(strstr(error.text, "/no/such/program"));
}

CASE(a_child_that_was_never_started_goes_away)
{
	static char program[] = "/bin/true";
	char *const argv[] = {program, NULL};
	struct child child = CHILD_NONE;
	struct error error = {""};
	pid_t pid;

	assert_int_equal(child_prepare(&child, argv, &error), 0);
	pid = child.pid;
	child_release(&child);
	assert_int_equal(kill(pid, 0), -1);
	child_release(&child); /* twice does no harm */
}

CASE(names_of_functions_distinguish_locks_from_parking)
{
	static const struct {
		const char *name;
		int verdict;
	} known[] = {
		{"_ZN3std3sys4unix5locks11futex_mutex5Mutex14lock_contended17h0123456789abcdefE",
		 SITE_LOCK},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended",
		 SITE_LOCK},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync7condvar5futexNtB2_7Condvar4wait",
		 SITE_CONDITION},
		{"_RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions4park", SITE_CONDITION},
		{"_ZN3std6thread4park17h0123456789abcdefE", SITE_CONDITION},
		{"_ZN11parking_lot9raw_mutex8RawMutex9lock_slow17h0123456789abcdefE", SITE_LOCK},
		{"_ZN16parking_lot_core11parking_lot4park17h0123456789abcdefE", SITE_CALLER},
		{"__GI___lll_lock_wait", SITE_LOCK},
		{"g_mutex_lock_slowpath", SITE_LOCK},
		{"clock_slow", SITE_OPERATION},
		{"unlock_slow_then_lock_slow", SITE_LOCK},
		{"thread_contended", SITE_OPERATION},
		{"pthread_cond_timedwait@@GLIBC_2.3.2", SITE_CONDITION},
		{"__futex_abstimed_wait_common64", SITE_CALLER},
		{"syscall", SITE_CALLER},
		{"sem_clockwait", SITE_SEMAPHORE},
		{"PGSemaphoreLock", SITE_LOCK},
		{"ProcSleep", SITE_LOCK},
		{"_ZN8MDL_wait10timed_waitEP17MDL_context_ownerP8timespecb", SITE_LOCK},
		{"_ZN17MDL_wait_for_flushD1Ev", SITE_OPERATION},
		{"WaitEventSetWait", SITE_CALLER},
		{"secure_read", SITE_OPERATION},
		{"_ZN13ObjectMonitor6EnterIEP10JavaThread", SITE_LOCK},
		{"_ZN13ObjectMonitor5enterEP6Thread", SITE_LOCK},
		{"_ZN13ObjectMonitor14enter_internalEP10JavaThread", SITE_LOCK},
		{"_ZN13ObjectMonitor4waitElbP10JavaThread", SITE_OPERATION},
		{"_ZN16LinuxWaitBarrier4waitEi", SITE_LOCK},
		{"_ZN8VMThread7executeEP12VM_Operation", SITE_LOCK},
		{"_ZN8VMThread19wait_until_executedEP12VM_Operation", SITE_LOCK},
		{"_ZN8VMThread18wait_for_operationEv", SITE_OPERATION},
		{"_ZN2os15PlatformMonitor4waitEl", SITE_CALLER},
		{"_ZN7Monitor28wait_without_safepoint_checkEl", SITE_CALLER},
		{"_ZN7Monitor4waitEblb", SITE_CALLER},
		{"_ZN7Monitor5IWaitEP6Threadl", SITE_CALLER},
		{"_ZN10JavaThread5sleepEl", SITE_SLEEP},
		{"_ZN2os13PlatformEvent4parkEv", SITE_CALLER},
		{"_ZN6Parker4parkEbl", SITE_CONDITION},
		{"AbslInternalSpinLockDelay_lts_20220623", SITE_LOCK},
		{"g_cond_wait_until", SITE_CONDITION},
		{"g_mutex_lock_slowpath", SITE_LOCK},
		{"_ZN11QBasicMutex12lockInternalEv", SITE_LOCK},
		{"_ZN10QSemaphore7acquireEi", SITE_CONDITION},
		{"_ZN14QWaitCondition4waitEP6QMutexm", SITE_OPERATION}, /* not of a mutex */
		{"GOMP_critical_start", SITE_LOCK},
		{"GOMP_barrier", SITE_SEMAPHORE},
		{"gomp_team_barrier_wait_end", SITE_SEMAPHORE},
		{"gomp_mutex_lock_slow", SITE_LOCK},
		{"_ZN3tbb6detail2r126wait_bounded_queue_monitorEPNS1_18concurrent_monitorEmlRNS0_"
		 "2d113delegate_baseE",
		 SITE_SEMAPHORE},
		/* a user's, that takes what TBB gives it */
		{"_ZNK3FooclERKN3tbb6detail2d113blocked_rangeIiEE", SITE_OPERATION},
		{"runtime.notesleep", SITE_CONDITION},
		{"runtime.futexsleep", SITE_CALLER},
		{"_ZN5spark3runE", SITE_OPERATION},
		{"main", SITE_OPERATION},
		{"__libc_start_main@@GLIBC_2.34", SITE_UNNAMED},
		{NULL, SITE_CALLER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_int_equal(wait_verdict_of_name(known[i].name), known[i].verdict);
}

/* How the thread of each name is taken after a second in which nothing else showed; 0: not at all.
 */
static void settle(const char *const *comms, size_t count, __u8 *found_by)
{
	struct span_options options = {
		.stacks.marks = {.poll = "poll", .names = {"tokio-runtime-w", "other"}}};
	struct span_seeds seeds = {.verdicts = -1};

	seeds.items = calloc(count, sizeof(*seeds.items));
	seeds.room = count;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(identities_add(&seeds.threads, 100 + (uint32_t)i, 1), i);
		snprintf(seeds.items[i].comm, sizeof(seeds.items[i].comm), "%s", comms[i]);
	}
	for (int round = 0; round < 4; round++)
		span_seeds_settle(&seeds, &options);
	for (size_t i = 0; i < count; i++)
		found_by[i] = seeds.items[i].decided ? seeds.items[i].found_by : 0;
	span_seeds_release(&seeds);
}

CASE(names_nominate_workers_where_nothing_else_does)
{
	static const char *const known[] = {"main", "tokio-runtime-w", "worker-1", "worker-2",
					    "tokio-runtime-w"};
	static const char *const grouped[] = {"main",	  "io-1",     "io-2",  "worker-10",
					      "worker-2", "worker-3", "worker"};
	static const char *const others[] = {"main", "worker-1", "logger"};
	__u8 found_by[8];

	settle(known, ARRAY_SIZE(known), found_by);
	assert_int_equal(found_by[0], 0);
	assert_int_equal(found_by[1], WIRE_FOUND_BY_NAME);
	assert_int_equal(found_by[2], 0);
	assert_int_equal(found_by[4], WIRE_FOUND_BY_NAME);
	/* the largest group; a name without a number is not of it */
	settle(grouped, ARRAY_SIZE(grouped), found_by);
	assert_int_equal(found_by[1], 0);
	assert_int_equal(found_by[3], WIRE_FOUND_BY_GROUP);
	assert_int_equal(found_by[5], WIRE_FOUND_BY_GROUP);
	assert_int_equal(found_by[6], 0);
	/* one alone is no group */
	settle(others, ARRAY_SIZE(others), found_by);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(found_by[i], 0);
}

CASE(a_program_stops_before_its_first_instruction)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
	char *const missing[] = {(char *)"/no/such/program", NULL};
	struct child child = CHILD_NONE;
	struct error error;
	uint64_t duration_ns;
	char link[64], program[256] = "";
	int status;

	assert_int_equal(child_prepare_program(&child, argv, &error), 0);
	/* it is that program already */
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)child.pid);
	assert_true(readlink(link, program, sizeof(program) - 1) > 0);
	assert_null(strstr(program, "test-capture"));
	assert_int_equal(child_start(&child, argv[0], &error), 0);
	assert_int_equal(child_reap(&child, &status, &duration_ns), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	child_release(&child);
	assert_int_equal(child_prepare_program(&child, missing, &error), -ENOENT);
	child_release(&child);
	/* never let go: it goes with us */
	assert_int_equal(child_prepare_program(&child, argv, &error), 0);
	child_release(&child);
}

/* Words from a futex on, as libraries leave them. */
static void a_lock_names_its_owner_or_none(void **state)
{
	static const struct {
		uint32_t words[LOCK_WORDS], operation, owner;
	} cases[] = {
		/* glibc: normal, recursive, with waiters at a condition variable, robust */
		{{2, 0, 412, 1, 0}, FUTEX_WAIT, 412},
		{{2, 3, 412, 1, 1}, FUTEX_WAIT, 412},
		{{2, 0, 412, 7, 2}, FUTEX_WAIT, 412},
		{{FUTEX_WAITERS | 412, 1, 412, 1, 0x10}, FUTEX_WAIT, 412},
		/* being taken: the owner is not there yet */
		{{2, 0, 0, 0, 0}, FUTEX_WAIT, 0},
		/* its owner has ended */
		{{FUTEX_WAITERS | FUTEX_OWNER_DIED | 412, 1, 412, 1, 0x10}, FUTEX_WAIT, 0},
		/* free again */
		{{0, 0, 0, 0, 0}, FUTEX_WAIT, 0},
		/* priority inheritance, of any library */
		{{FUTEX_WAITERS | 412, 0x1234, 0, 0x7fff, 0}, FUTEX_LOCK_PI, 412},
		{{FUTEX_WAITERS | FUTEX_OWNER_DIED | 412, 0, 412, 1, 0x20}, FUTEX_LOCK_PI, 0},
		/* an arena of malloc: flags, have_fastchunks, a pointer */
		{{2, 0, 1, 0, 0x7f3210}, FUTEX_WAIT, 0},
		/* the read-write locks of glibc and of musl: numbers of readers */
		{{2, 3, 0, 0, 412}, FUTEX_WAIT, 0},
		{{0x80000001, 1, 1, 1, 0}, FUTEX_WAIT, 0},
		/* musl: EBUSY is not a thread */
		{{0x80000010, 1, 0, 0, 0}, FUTEX_WAIT, 0},
		/* Rust: what the mutex is around follows it */
		{{2, 0, 412, 1, 0}, FUTEX_WAIT_BITSET, 0},
		/* Go: a pointer follows */
		{{2, 0, 0x123450, 0xc0, 0x7f3210}, FUTEX_WAIT, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(lock_owner(cases[i].words, cases[i].operation), cases[i].owner);
}

/* Who waits, since when, and who had the lock as it was read, shortly after the snapshot at 1 s. */
static void note_wait(struct lock_holders *holders, uint32_t tid, uint64_t since_ns,
		      uint32_t holder_tid)
{
	const struct wire_thread thread = {
		.end_ns = NS_PER_S,
		.since_ns = since_ns,
		.voluntary = 7,
		.tid = tid,
		.pid = (uint32_t)getpid(),
		.site = {.state = WIRE_LOCK, .detail = WIRE_DETAIL_FUTEX_LOCK},
	};
	struct lock_wait *wait;

	lock_holders_note(holders, &thread);
	wait = &holders->waits[holders->count - 1];
	assert_int_equal(wait->tid, tid);
	wait->holder_tid = holder_tid;
	wait->answered_ns = NS_PER_S;
	wait->taken_ns = NS_PER_S + 1000;
}

static void note_again(struct lock_holders *holders, uint32_t tid, uint64_t since_ns,
		       uint64_t voluntary)
{
	const struct thread_locked again = {
		.since_ns = since_ns, .voluntary = voluntary, .tid = tid};

	lock_holders_note_again(holders, &again);
}

static int take_holder(void *data, const struct wire_header *record)
{
	struct wire_holder *taken = data;

	assert_int_equal(record->kind, WIRE_HOLDER);
	while (taken->tid)
		taken++;
	*taken = *(const struct wire_holder *)(const void *)record;
	return 0;
}

/* No thread that has gone on meanwhile is said to wait for who has the lock now. */
CASE(a_lock_has_a_holder_for_who_waits_all_the_time)
{
	uint32_t here = (uint32_t)getpid();
	struct wire_holder taken[5] = {{.tid = 0}};
	struct record_sink sink = {.data = taken, .record = take_holder};
	struct lock_holders holders = {.count = 0};
	struct error error;
	struct wait_sites *sites = wait_sites_new(&error);

	assert_non_null(sites);
	note_wait(&holders, 1, 1000, here);
	note_wait(&holders, 2, 2000, here);
	note_wait(&holders, 3, 3000, here);
	note_wait(&holders, here, 4000, here);
	assert_true(lock_holders_look_again(&holders, sites, NS_PER_S));
	note_again(&holders, 1, 1000, 7);
	/* these had it meanwhile; of one the events were not seen, of one it is another wait */
	note_again(&holders, 2, 2000, 8);
	note_again(&holders, here, NS_PER_S + 500, 8);
	assert_int_equal(lock_holders_send(&holders, NS_PER_S, sink), 0);
	assert_int_equal(taken[0].tid, 1);
	assert_int_equal(taken[0].holder_tid, here);
	assert_int_equal(taken[1].tid, 0);
	wait_sites_free(sites);
}

/* A thread that goes on in the same wait has what was read before: nothing is read any more. */
CASE(who_waits_for_its_own_lock_does_so_for_good)
{
	uint32_t here = (uint32_t)getpid();
	struct wire_holder taken[3] = {{.tid = 0}};
	struct record_sink sink = {.data = taken, .record = take_holder};
	struct lock_holders holders = {.count = 0};
	struct error error;
	struct wait_sites *sites = wait_sites_new(&error);

	assert_non_null(sites);
	note_wait(&holders, here, 4000, here);
	assert_true(lock_holders_look_again(&holders, sites, NS_PER_S));
	note_again(&holders, here, 4000, 7);
	assert_int_equal(lock_holders_send(&holders, NS_PER_S, sink), 0);
	assert_int_equal(taken[0].tid, here);
	lock_holders_begin(&holders);
	holders.waits[0].goes_on = true;
	assert_false(lock_holders_look_again(&holders, sites, 2 * NS_PER_S));
	assert_int_equal(lock_holders_send(&holders, 2 * NS_PER_S, sink), 0);
	assert_int_equal(taken[1].tid, here);
	/* it does not any more */
	lock_holders_begin(&holders);
	assert_int_equal(lock_holders_send(&holders, 3 * NS_PER_S, sink), 0);
	assert_int_equal(taken[2].tid, 0);
	wait_sites_free(sites);
}

static const struct wire_thread *take(struct kept_threads *kept, const void *record)
{
	const struct wire_header *taken = record;

	assert_int_equal(kept_threads_take(kept, &taken), 0);
	return (const void *)taken;
}

/* A walk that meets `count` threads from `first` on, all of which wait as they did. */
static void meet_unchanged(struct kept_threads *kept, uint32_t first, uint32_t count,
			   uint64_t instant_ns)
{
	for (uint32_t tid = first; tid < first + count; tid++) {
		struct thread_unchanged unchanged = {
			.header = {sizeof(unchanged), THREAD_UNCHANGED, 0, instant_ns},
			.start_ns = 7,
			.tid = tid,
		};
		const struct wire_thread *thread = take(kept, &unchanged);

		assert_int_equal(thread->tid, tid);
		assert_int_equal(thread->header.kind, WIRE_THREAD);
		assert_int_equal(thread->end_ns, instant_ns);
		assert_int_equal(thread->totals.ns[WIRE_IDLE], instant_ns - 100);
		assert_int_equal(thread->totals.ns[WIRE_ON_CPU], 50);
	}
	assert_int_equal(kept_threads_walked(kept), 0);
}

static void meet_all(struct kept_threads *kept, uint32_t first, uint32_t count, uint64_t instant_ns)
{
	for (uint32_t tid = first; tid < first + count; tid++) {
		struct wire_thread thread = {
			.header = {sizeof(thread), WIRE_THREAD, 0, instant_ns},
			.start_ns = 7,
			.end_ns = instant_ns,
			.site = {.state = WIRE_IDLE},
			.tid = tid,
		};

		thread.totals.ns[WIRE_ON_CPU] = 50;
		thread.totals.ns[WIRE_IDLE] = instant_ns - 100;
		assert_ptr_equal(take(kept, &thread), &thread);
	}
}

CASE(threads_that_change_nothing_go_on)
{
	struct kept_threads kept = {.met = 0};
	struct wire_reason other = {.header = {sizeof(other), WIRE_REASON, 0, 0}};
	struct thread_unchanged stranger = {
		.header = {sizeof(stranger), THREAD_UNCHANGED, 0, 900}, .start_ns = 8, .tid = 3};
	const struct wire_header *record = &stranger.header;

	meet_all(&kept, 1, 5000, 200);
	assert_ptr_equal(take(&kept, &other), &other);
	assert_int_equal(kept_threads_walked(&kept), 0);
	meet_unchanged(&kept, 1, 5000, 300);
	/* most of them end, and others come: tids of ended threads are used again */
	for (int round = 0; round < 20; round++) {
		meet_all(&kept, 2000 + 500 * (uint32_t)round, 500, 400 + (uint64_t)round);
		meet_unchanged(&kept, 1, 1000, 400 + (uint64_t)round);
	}
	assert_true(kept.identities.count < 2 * 1500 + 2048);
	meet_unchanged(&kept, 1, 10, 500);
	/* the same tid, another thread */
	assert_int_equal(kept_threads_take(&kept, &record), -EBADMSG);
	kept_threads_release(&kept);
}

/* Each change begins a period: what has passed of the one before has no sample. */
CASE(samples_are_as_many_as_were_asked_for)
{
	static const struct {
		uint64_t period_ns, window_ns;
	} rates[] = {{NS_PER_S / 99, 105 * NS_PER_MS},
		     {NS_PER_S / 99, 190 * NS_PER_MS},
		     {NS_PER_S / 5, 1610 * NS_PER_MS},
		     {NS_PER_S / 2500, 105 * NS_PER_MS}};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		uint64_t samples = 0, windows = 10000;
		double wanted;

		for (uint64_t j = 0; j < windows; j++)
			samples += rates[i].window_ns /
				   cpu_samples_varied_ns(rates[i].period_ns, rates[i].window_ns,
							 (double)j / (double)windows);
		wanted = (double)windows * (double)rates[i].window_ns / (double)rates[i].period_ns;
		assert_true(fabs((double)samples / wanted - 1) < 0.01);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(kernel_functions_end_where_the_next_begins),
		cmocka_unit_test(hidden_kernel_addresses_are_no_functions),
		cmocka_unit_test(odd_kallsyms_do_no_harm),
		cmocka_unit_test(system_calls_have_their_classes),
		cmocka_unit_test(target_lists_are_checked),
		cmocka_unit_test(samples_are_as_many_as_were_asked_for),
		cmocka_unit_test(only_the_own_namespace_s_proc_is_believed),
		cmocka_unit_test(targets_are_held_once),
		cmocka_unit_test(the_end_of_targets_is_noticed),
		cmocka_unit_test(who_has_an_ended_target_s_number_is_no_target),
		cmocka_unit_test(unknown_names_and_cgroups_are_refused),
		cmocka_unit_test(a_child_waits_runs_and_is_reaped),
		cmocka_unit_test(a_program_that_is_not_there_is_an_error),
		cmocka_unit_test(a_child_that_was_never_started_goes_away),
		cmocka_unit_test(a_lock_names_its_owner_or_none),
		cmocka_unit_test(a_lock_has_a_holder_for_who_waits_all_the_time),
		cmocka_unit_test(who_waits_for_its_own_lock_does_so_for_good),
		cmocka_unit_test(names_of_functions_distinguish_locks_from_parking),
		cmocka_unit_test(names_nominate_workers_where_nothing_else_does),
		cmocka_unit_test(threads_that_change_nothing_go_on),
		cmocka_unit_test(a_program_stops_before_its_first_instruction),
	};

	return RUN(cases);
}
