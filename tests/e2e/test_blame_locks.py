# SPDX-License-Identifier: GPL-2.0-or-later
"""Because of whom threads wait for locks: who had them, in queues, of interpreters, and for ever."""
import collections
import subprocess
import sys

import pytest

from conftest import WORKLOAD, parse, run
from test_blame import ENOUGH, Blame, needs_two_cpus, sums_are_exact


@pytest.mark.parametrize("kind", ["mutex", "pi", "rwlock", "flock", "semaphore"])
def test_who_hands_a_lock_down_a_queue_has_not_held_it(kind):
    """Three queue for a lock that they hold for microseconds, behind one that holds it for long."""
    blame = Blame("blame-queue", kind)
    sums_are_exact(blame.intervals)
    whole = blame.of("lock")
    assert whole > 600_000_000, blame.shares
    assert blame.of("lock", "thread", "culprit") > ENOUGH * whole, blame.shares
    assert blame.of("lock", "thread", "culprit", "sleep") > 0.8 * blame.of("lock", "thread", "culprit"), blame.shares


#: One has the first lock, and waits for the second one meanwhile, which another has all the time; a third waits for the first one.
NESTED = """
import fcntl, os, sys, time
directory, kind = sys.argv[1:]
locks = [os.path.join(directory, name) for name in ("first", "second")]
for lock in locks:
    open(lock, "w").close()
def take(number):
    file = os.open(locks[number], os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX) if kind == "flock" else fcntl.lockf(file, fcntl.LOCK_EX)
    return file
def rename(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)
children = []
def process(name, run):
    children.append(os.fork())
    if not children[-1]:
        rename(name)
        run()
        os._exit(0)
def bystander():
    for _ in range(8):
        second = take(1)
        time.sleep(0.15)
        os.close(second)
        time.sleep(0.1)
def holder():
    for _ in range(8):
        time.sleep(0.05)
        first = take(0)
        os.close(take(1))
        time.sleep(0.03)
        os.close(first)
        time.sleep(0.07)
def victim():
    for _ in range(16):
        time.sleep(0.06)
        os.close(take(0))
for name, run in ("bystander", bystander), ("holder", holder), ("victim", victim):
    process(name, run)
for child in children:
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize("kind", ["flock", "fcntl"])
def test_who_has_another_lock_has_not_this_one(kind, tmp_path):
    """The holder has waited for it last; that was another file's."""
    done = run("top", "--blame", "-i", "10s", "--format", "json", "--", sys.executable, "-c", NESTED, tmp_path, kind)
    shares = charged(parse(done.stdout)[0], "lock")["victim"]
    whole = sum(shares.values())
    assert whole > 300_000_000 and sum(ns for (_, name, _), ns in shares.items() if name == "holder") > 0.95 * whole, shares
    assert not any(name == "bystander" for _, name, _ in shares), shares


def charged(intervals, *states):
    """Of waits in those states, those that have ended: {victim: {(kind, name of the thread, what it did meanwhile): ns}}."""
    shares = collections.defaultdict(collections.Counter)
    for interval in intervals:
        for blame in interval["blame"]:
            if blame["state"] in states and not blame["goes_on"]:
                culprit = blame["culprit"]
                # of many parties the kernel side has no room for each: threads of one process are one then
                name = culprit["comm"] if culprit["tid"] or not culprit["pid"] else "several"
                key = culprit["kind"], name, blame["culprit_state"]
                shares[blame["victim"]["comm"]][key] += blame["total_ns"] + blame["earlier_ns"]
    return shares


#: Threads that compute, and so pass the interpreter lock to and fro, and some that want it now and then for next to no time.
#: Arguments: seconds, threads that compute, others.
INTERPRETER_LOCK = """
import ctypes, sys, threading, time
rename = ctypes.CDLL(None).prctl
end = time.monotonic() + float(sys.argv[1])
def computes():
    rename(15, b"computes", 0, 0, 0)
    while time.monotonic() < end:
        sum(range(1000))
def sleeps():
    rename(15, b"sleeps", 0, 0, 0)
    while time.monotonic() < end:
        time.sleep(0.002)
threads = [threading.Thread(target=computes) for _ in range(int(sys.argv[2]))]
threads += [threading.Thread(target=sleeps) for _ in range(int(sys.argv[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@needs_two_cpus
@pytest.mark.measures
@pytest.mark.parametrize("computing, sleeping", [(2, 0), (4, 0), (8, 0), (3, 1)])
def test_who_computes_with_the_interpreter_lock(computing, sleeping):
    """A timer ends most waits for it, and the lock is handed over with no wakeup, or by a thread that has just got it."""
    arguments = sys.executable, "-c", INTERPRETER_LOCK, "3", str(computing), str(sleeping)
    intervals, _ = parse(run("top", "--blame", "--format", "json", "-i", "2500ms", "--", *arguments).stdout)
    sums_are_exact(intervals)
    shares = charged(intervals, "lock")["computes"]
    computed = sum(shares["thread", name, state] for name in ("computes", "several") for state in ("cpu", "runnable"))
    assert computed > 0.6 * sum(shares.values()) > 500_000_000, shares
    others = sum(ns for (_, name, _), ns in shares.items() if name == "sleeps")
    assert others < 0.1 * sum(shares.values()), shares


#: Threads that have a mutex by turns. Arguments: how many, and for how many microseconds each.
BY_TURNS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static useconds_t turn_us;

static void *take_turns(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "equal-%ld", (long)number);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		pthread_mutex_lock(&mutex);
		usleep(turn_us);
		pthread_mutex_unlock(&mutex);
		usleep(500);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	turn_us = (useconds_t)atoi(argv[2]);
	for (long i = 0; i < atoi(argv[1]); i++)
		pthread_create(&thread, NULL, take_turns, (void *)i);
	pause();
}
"""


@pytest.fixture(scope="module")
def by_turns(tmp_path_factory):
    directory = tmp_path_factory.mktemp("by-turns")
    (directory / "by-turns.c").write_text(BY_TURNS)
    program = directory / "by-turns"
    subprocess.run(["gcc", "-O1", "-o", program, directory / "by-turns.c", "-pthread"], check=True)
    return program


@pytest.mark.parametrize("count, turn_us, others", [(5, 20000, 0), (16, 3000, 4)])
def test_threads_that_take_turns_are_not_deadlocked(by_turns, count, turn_us, others):
    """What a lock names as its owner may have got it only after the snapshot, and lost it again before all locks were read."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        with subprocess.Popen([by_turns, str(count), str(turn_us)]) as target:
            done = run("top", "--blame", "-p", target.pid, "-d", "6s", "-i", "50ms", "--format", "json")
            target.kill()
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    intervals, _ = parse(done.stdout)
    assert len(intervals) > (0 if others else 60)
    assert not [interval["findings"] for interval in intervals if any(finding["deadlock"] for finding in interval["findings"])]


@pytest.mark.parametrize("count", [3, 5, 8])
def test_who_waits_in_a_queue_owes_each_before_it(by_turns, count):
    """Not the one that made most of them wait, as far as it goes back, which then is anyone."""
    with subprocess.Popen([by_turns, str(count), "20000"]) as target:
        done = run("top", "--blame", "-p", target.pid, "-c", "3", "-i", "1s", "--format", "json")
        target.kill()
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    shares = charged(intervals, "lock")
    names = {f"equal-{i}" for i in range(count)}
    for victim in names:
        whole = sum(shares[victim].values())
        of = {name: sum(ns for (_, other, _), ns in shares[victim].items() if other == name) / whole for name in names}
        assert whole > 500_000_000 and of.pop(victim) < 0.02, (victim, shares[victim])
        # on a busy machine some come more often than others
        assert all(0.3 < share * (count - 1) < 2 for share in of.values()), (victim, of)


#: Of `workload deadlock`, whose circle is first, second, third.
HELD_BY = {"first": "second", "second": "third", "third": "first", "self": "self", "behind": "first", "heir": "main", "robust": "main"}


@pytest.mark.parametrize("namespace", [[], ["unshare", "--pid", "--fork", "--mount-proc"]], ids=["here", "container"])
def test_who_has_the_lock(namespace, tmp_path):
    """Of waits that have no end: what the lock says of its owner, who in a container has another number there."""
    file = tmp_path / "deadlock.dwell"
    done = run("top", "--blame", "--format", "json", "-i", "500ms", "--record", file, "--", *namespace, WORKLOAD, "deadlock")
    assert done.returncode == 0, done.stderr
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    known, found = {}, []
    for interval in intervals[:-1]:
        tids = {thread["comm"]: thread["tid"] for thread in interval["threads"]}
        for blame in interval["blame"]:
            if not blame["held_by"]:  # the helper that reads locks may get no CPU in time
                continue
            name = blame["victim"]["comm"]
            assert blame["goes_on"] and blame["culprit"]["kind"] == "unknown" and blame["state"] == "lock", blame
            assert blame["held_by"]["comm"] == HELD_BY[name] and blame["held_by"]["tid"] == tids[HELD_BY[name]], blame
            known[name] = HELD_BY[name]
        found += [finding for finding in interval["findings"] if finding["deadlock"]]
    assert known == HELD_BY
    # what waits all the time still has its locks: known once, it stays so
    assert len(found) >= 2
    for finding in found:
        assert finding["threads"] == 3 and " is deadlocked: " in finding["text"], finding
        assert all(name in finding["text"] for name in ("first", "second", "third")) and "self" not in finding["text"], finding
    again, _ = parse(run("top", "--from", file, "--blame", "--format", "json").stdout)
    assert [interval["findings"] for interval in again] == [interval["findings"] for interval in intervals]
    assert " is deadlocked: " in run("report", file).stdout


def test_locks_that_are_handed_on_are_no_deadlock():
    """Each interval ends while someone waits for the mutex, and someone has it."""
    intervals = Blame("blame-lock", "cpu").intervals
    known = [blame["held_by"]["comm"] for interval in intervals for blame in interval["blame"] if blame["held_by"]]
    assert set(known) <= {"culprit"}
    assert not any(finding["deadlock"] for interval in intervals for finding in interval["findings"])


POLLS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, never = PTHREAD_MUTEX_INITIALIZER;
static int lock_for(pthread_mutex_t *lock, long ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_mutex_timedlock(lock, &until);
}
/* looks every 5 ms whether it still has to wait */
static void *polls(void *unused)
{
	pthread_setname_np(pthread_self(), "polls");
	for (;;) {
		while (lock_for(&taken, 5))
			;
		pthread_mutex_unlock(&taken);
		usleep(10000);
	}
	return unused;
}
/* does something else when it has waited in vain */
static void *gives_up(void *unused)
{
	pthread_setname_np(pthread_self(), "gives-up");
	for (;;) {
		lock_for(&never, 5);
		usleep(5000);
	}
	return unused;
}
/* the second lock is asked for at the same place of the stack */
static void *two_locks(void *unused)
{
	pthread_setname_np(pthread_self(), "two-locks");
	for (;;) {
		lock_for(&never, 5);
		if (!lock_for(&taken, 200))
			pthread_mutex_unlock(&taken);
		usleep(1000);
	}
	return unused;
}
int main(void)
{
	struct timespec begin, now;
	pthread_t thread;
	pthread_mutex_lock(&never);
	pthread_create(&thread, NULL, polls, NULL);
	pthread_create(&thread, NULL, gives_up, NULL);
	pthread_create(&thread, NULL, two_locks, NULL);
	pthread_setname_np(pthread_self(), "owner");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		pthread_mutex_lock(&taken);
		usleep(43000);
		pthread_mutex_unlock(&taken);
		usleep(5000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 3);
	_exit(0);
}
"""


def test_who_ends_the_last_of_several_waits_owes_all(tmp_path):
    """A thread that looks now and then whether it still has to wait, as CPython's do for the interpreter lock."""
    (tmp_path / "polls.c").write_text(POLLS)
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "polls", tmp_path / "polls.c", "-pthread"], check=True)
    done = run("top", "--blame", "--format", "json", "-i", "100ms", "--", tmp_path / "polls")
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    shares, lock_ns = collections.Counter(), collections.Counter()
    for interval in intervals:
        for thread in interval["threads"]:
            lock_ns[thread["comm"]] += thread["states_ns"]["lock"]
        for blame in interval["blame"]:
            if blame["state"] == "lock" and not blame["goes_on"]:
                shares[blame["victim"]["comm"], blame["culprit"]["kind"], blame["culprit"]["comm"]] += blame["total_ns"] + blame["earlier_ns"]
    # what is not known at an interval's end is known later, and counts once: but for the waits that the end of the program ends
    for victim in "polls", "gives-up", "two-locks":
        all_ns = sum(ns for (name, *_), ns in shares.items() if name == victim)
        assert -100_000_000 < all_ns - lock_ns[victim] < 10_000_000, (victim, all_ns, lock_ns, shares)
    # a fifth of its waits and more, 5 ms of some 30
    all_ns = sum(ns for (name, *_), ns in shares.items() if name == "two-locks")
    assert shares["two-locks", "timer", None] > 0.05 * all_ns and shares["two-locks", "thread", "owner"] > 0.4 * all_ns, shares
    for victim, culprit in (("polls", ("thread", "owner")), ("gives-up", ("timer", None))):
        all_ns = sum(ns for (name, *_), ns in shares.items() if name == victim)
        assert all_ns > 500_000_000 and shares[victim, *culprit] > 0.9 * all_ns, shares
