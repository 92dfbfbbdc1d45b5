# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked --blame`: because of whom the workers of a runtime waited for a CPU."""
import contextlib
import os
import pathlib
import subprocess
import threading

import pytest
import schemas

from conftest import DWELL, run, wait_for_threads
from services import Blocked, loop_service

SPIN = "import time; end = time.process_time() + 0.1\nwhile time.process_time() < end: pass"
HOG = ["taskset", "-c", "0", "chrt", "-f", "20", "/usr/bin/python3", "-c", SPIN]


@contextlib.contextmanager
def one_cpu_service():
    """Of CPU 0 only, where starve() can take it away."""
    with loop_service() as service:
        os.sched_setaffinity(service.process.pid, {0})
        yield service


def starve(service):
    """Its handler wants 150 ms of CPU time while another process takes the CPU for 100 ms or more: its pid."""
    asking = threading.Thread(target=service.ask, args=("spin", 150))
    asking.start()
    # it keeps its pid, though not its name, from taskset to Python
    with subprocess.Popen(HOG) as hog:
        pass
    asking.join()
    assert hog.returncode == 0
    return hog.pid


@pytest.mark.measures
def test_who_took_the_cpu(tmp_path):
    """Each hog's time before the worker is owed to it, and the shares are of all that the worker waited."""
    file = tmp_path / "starved.dwell"
    with one_cpu_service() as service:
        blocked = Blocked(service.process.pid, "--blame", "--record", str(file))
        hogs = [starve(service) for _ in range(5)]
        _, summary = blocked.end()
    starved = summary["starved_by"]
    waited = sum(worker["states_ns"]["runnable"] for worker in summary["workers"])
    assert abs(sum(one["total_ns"] for one in starved) - waited) < 0.01 * waited
    assert abs(sum(one["share"] for one in starved) - 1) < 0.01
    owed = {one["party"]["pid"]: one["total_ns"] for one in starved if one["party"]["kind"] == "thread"}
    # one may have run before the handler did
    assert sorted(owed.get(pid, 0) for pid in hogs)[1] > 80_000_000, (hogs, starved)
    page = run("blocked", "--from", file, "--format", "table").stdout
    assert "starved by: " in page and " processes) " in page, page
    assert "(other threads had the CPU)" in page, page
    lines = schemas.read(run("blocked", "--from", file, "--format", "json").stdout)
    assert lines[-1]["starved_by"] == starved


def on_the_first_cpu(name, script, *before):
    """A Python program of that name."""
    named = f"import time\nopen('/proc/self/comm', 'w').write({name!r})\n{script}"
    return subprocess.Popen(["taskset", "-c", "0", *before, "/usr/bin/python3", "-c", named])


@pytest.mark.measures
def test_no_passer_by_is_accused():
    """What has the CPU for microseconds just before the worker has not kept it waiting, even if it is the last that did."""
    with (one_cpu_service() as service, on_the_first_cpu("thief", "while True: pass") as thief,
          on_the_first_cpu("passer-by", "while True: time.sleep(0.0005)", "chrt", "-f", "20") as passer_by):  # fmt: skip
        try:
            blocked = Blocked(service.process.pid)
            for _ in range(5):
                service.ask("spin", 60)
            stalls, _ = blocked.end()
        finally:
            thief.kill()
            passer_by.kill()
    culprits = [stall["culprit"]["comm"] for stall in stalls if stall["culprit"]]
    assert "thief" in culprits and "passer-by" not in culprits, culprits


@contextlib.contextmanager
def budget(pid, share):
    """The process has that share of a CPU, in periods of 100 ms, by a cgroup of version 1."""
    mount = next((line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                  if line.split()[2] == "cgroup" and "cpu" in line.split()[3].split(",")), None)
    if not mount or not os.access(mount, os.W_OK):
        pytest.skip("no CPU controller of cgroup v1 is mounted here")
    group = pathlib.Path(mount, f"dwell-test-{os.getpid()}")
    group.mkdir()
    try:
        (group / "cpu.cfs_quota_us").write_text(str(int(100_000 * share)))
        (group / "cgroup.procs").write_text(str(pid))
        yield group.name
    finally:
        pathlib.Path(mount, "cgroup.procs").write_text(str(pid))
        group.rmdir()


@pytest.mark.measures
@pytest.mark.parametrize("options", [[], ["--blame"]])
def test_a_used_up_budget_is_no_other_threads_fault(options, tmp_path):
    """What has the CPU meanwhile has not taken it: it was not to be had. The cgroup that has the limit is named."""
    options = [*options, "--record", tmp_path / "limit.dwell"]
    with loop_service() as service, subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) as other:
        try:
            for pid in (service.process.pid, other.pid):
                os.sched_setaffinity(pid, {0})
            with budget(service.process.pid, 0.2) as group:
                blocked = Blocked(service.process.pid, *options)
                service.ask("spin", 100)
                stalls, summary = blocked.end()
        finally:
            other.kill()
    throttled = [stall for stall in stalls if stall["reason"] == "throttled"]
    assert throttled and all(stall["cause"] == "runnable" and stall["culprit"] is None for stall in throttled), stalls
    limit = {"cgroup": None, "name": group[:15]}  # one of cgroups v1 has no id by which its path is found
    assert all(stall["limit"] == limit for stall in throttled), throttled
    assert [spot["limit"] for spot in summary["hotspots"] if spot["cause"] == "runnable"] == [limit]
    page = run("blocked", "--from", tmp_path / "limit.dwell", "--format", "table").stdout
    assert f"the CPU quota of {group[:15]} was used up" in page, page


def test_without_blame_it_is_absent():
    with one_cpu_service() as service:
        blocked = Blocked(service.process.pid)
        service.ask("spin", 20)
        _, summary = blocked.end()
    assert "starved_by" not in summary


@pytest.mark.parametrize("options, why", [(["--window", "5s"], "--window"),
                                          (["--from", "x"], "--from")])
def test_what_does_not_go_with_blame(options, why):
    target = [] if options[0] == "--from" else ["-p", str(os.getpid())]
    done = subprocess.run([DWELL, "blocked", "--blame", *target, *options], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and why in done.stderr, done.stderr


#: A handler waits in vain for a condition, 60 ms each time, while two threads compute that never wake it.
IN_VAIN = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile unsigned long count;

static void *compute(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (;;)
		count++;
}

static void handle(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += 60000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &end);
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	struct itimerspec period = {{0, 200000000}, {0, 200000000}};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	pthread_t threads[2];
	uint64_t times;

	pthread_create(&threads[0], NULL, compute, "innocent");
	pthread_create(&threads[1], NULL, compute, "innocent");
	timerfd_settime(timer, 0, &period, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	for (;;) {
		epoll_wait(epoll, &event, 1, -1);
		if (read(timer, &times, sizeof(times)) < 0)
			return 1;
		handle();
	}
}
"""


@pytest.mark.measures
@pytest.mark.parametrize("options", [[], ["--blame"]], ids=["alone", "blame"])
def test_who_computes_where_a_timer_fires_is_not_accused(options, tmp_path):
    """The interrupt runs in the thread that happens to have the CPU."""
    (tmp_path / "in-vain.c").write_text(IN_VAIN)
    program = tmp_path / "in-vain"
    subprocess.run(["gcc", "-O1", "-g", "-o", program, tmp_path / "in-vain.c", "-pthread"], check=True)
    with subprocess.Popen(["taskset", "-c", "0", program]) as target:
        try:
            wait_for_threads(target.pid, "innocent")
            done = run("blocked", "-p", target.pid, "-d", "4s", "--format", "json", *options)
        finally:
            target.kill()
    lines = schemas.read(done.stdout)
    waits = [line for line in lines if line["type"] == "stall" and line["function"] == "handle"]
    assert len(waits) > 3, lines
    assert not any(line["waker"] for line in waits), waits
