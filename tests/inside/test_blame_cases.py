# SPDX-License-Identifier: GPL-2.0-or-later
"""Blame where a machine of its own is needed: limits, kernel threads, CPUs that go, a scheduler in BPF. Runs inside a guest (test_guest_blame.py)."""
import mmap
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

import services
from conftest import DWELL, WORKLOAD, parse
from test_blame import (
    CPU, EDGES_NS, Blame, blame_of, check_a_real_time_thread, check_who_ends_the_wait, culprits_of, owed, spinning, sums_are_exact,
)  # fmt: skip

CGROUP = pathlib.Path("/sys/fs/cgroup")
STATE = pathlib.Path("/sys/kernel/sched_ext/state")
SCHEDULERS = os.environ.get("DWELL_SCHEDULERS", "").split(":")


def ran(interval, comm):
    rows = [row for row in interval["threads"] if row["comm"] == comm]
    return sum(row["states_ns"]["user"] + row["states_ns"]["kernel"] for row in rows)


@pytest.fixture
def cgroup():
    (CGROUP / "cgroup.subtree_control").write_text("+cpu")
    directory = CGROUP / f"blame-{os.getpid()}"
    directory.mkdir()
    yield directory
    directory.rmdir()


@pytest.mark.parametrize("below", ["", "inner", "inner/most"])
def test_a_limit_throttles(cgroup, below):
    """The thread's own cgroup has it, or one around it."""
    (cgroup / "cpu.max").write_text("20000 100000")
    made = []
    for name in below.split("/") if below else []:
        parent = made[-1] if made else cgroup
        (parent / "cgroup.subtree_control").write_text("+cpu")
        made.append(parent / name)
        made[-1].mkdir()
    procs = (made[-1] if made else cgroup) / "cgroup.procs"
    try:
        blame = Blame("blame-cpu", 0, prefix=["/bin/sh", "-c", f'echo $$ > {procs}; exec "$0" "$@"'])
    finally:
        for directory in reversed(made):
            directory.rmdir()
    sums_are_exact(blame.intervals)
    whole, throttled = blame.of("runnable"), blame.of("runnable", "throttle", cgroup.name[:15])
    assert whole > 1_000_000_000 and throttled > 0.95 * whole, blame.shares
    limits = {culprit["cgroup"] for culprit in culprits_of(blame.intervals, "throttle")}
    assert limits == {f"/{cgroup.name}"}, limits


@pytest.mark.skipif(not pathlib.Path("/sys/kernel/tracing/events/syscalls").exists(), reason="no tracepoints of system calls: no turns")
def test_a_limit_makes_a_stall(cgroup):
    """A worker whose cgroup has used up its share is throttled by that, whatever runs meanwhile."""
    (cgroup / "cpu.max").write_text("20000 100000")
    try:
        with services.loop_service(directory="/tmp") as service, subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) as other:
            for pid in (service.process.pid, other.pid):
                os.sched_setaffinity(pid, {0})
            try:
                (cgroup / "cgroup.procs").write_text(str(service.process.pid))
                blocked = services.Blocked(service.process.pid)
                for _ in range(3):  # the last turn may go on, for it is throttled, too
                    service.ask("spin", 50)
                stalls, _ = blocked.end()
            finally:
                other.kill()
    finally:
        deadline = time.monotonic() + 10
        while (cgroup / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
    throttled = [stall for stall in stalls if stall["reason"] == "throttled"]
    assert throttled and all(stall["culprit"] is None for stall in throttled), stalls
    assert {stall["limit"]["cgroup"] for stall in throttled} == {f"/{cgroup.name}"}, throttled


class Collapse:
    """Memory that khugepaged makes huge pages of, again and again: copying them takes CPU time."""

    BYTES = 32 << 20
    SETTINGS = pathlib.Path("/sys/kernel/mm/transparent_hugepage")

    def __enter__(self):
        self.settings = {}
        for name, value in (("enabled", "madvise"), ("khugepaged/scan_sleep_millisecs", "5"), ("khugepaged/pages_to_scan", "100000")):
            path = self.SETTINGS / name
            chosen = re.search(r"\[(\w+)\]", path.read_text())
            self.settings[path] = chosen[1] if chosen else path.read_text()
            path.write_text(value)
        self.ended = False
        self.thread = threading.Thread(target=self.feed)
        self.thread.start()
        return self

    def feed(self):
        os.sched_setaffinity(0, {0})
        memory = mmap.mmap(-1, self.BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        while not self.ended:
            memory.madvise(mmap.MADV_DONTNEED)
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            memory[::4096] = b"x" * (self.BYTES // 4096)
            memory.madvise(mmap.MADV_HUGEPAGE)
            time.sleep(0.2)

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        for path, value in self.settings.items():
            path.write_text(value)


def pid_of(comm):
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        if path.read_text().rstrip("\n") == comm:
            return int(path.parent.name)
    raise AssertionError(comm)


def test_a_real_time_kernel_thread_takes_the_cpu():
    pid = pid_of("khugepaged")
    os.sched_setaffinity(pid, {CPU})
    os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(10))
    with spinning("victim"), Collapse():
        intervals = blame_of("-i", "500ms", "-d", "3s")
    # what ran when dwell came is not known, and who ends a wait at the end of an interval is not yet
    cost = owes = undecided = 0
    for interval in intervals[1:]:
        cost += ran(interval, "khugepaged")
        for blame in interval["blame"]:
            if blame["victim"]["comm"] == "victim" and blame["state"] == "runnable":
                owes += blame["total_ns"] if blame["culprit"]["comm"] == "khugepaged" else 0
                undecided += blame["total_ns"] if blame["goes_on"] else 0
    assert cost > 50_000_000 and 0.95 * cost - undecided < owes < 1.05 * cost, (cost, owes, undecided)


def test_cpus_go_and_come():
    online = pathlib.Path(f"/sys/devices/system/cpu/cpu{CPU}/online")
    top = subprocess.Popen([DWELL, "top", "--blame", "--format", "json", "-i", "200ms", "--", WORKLOAD, "blame-cpu", "2"],
                           stdout=subprocess.PIPE, text=True)  # fmt: skip
    changes = 0
    while top.poll() is None and changes < 6:
        online.write_text("01"[changes % 2])
        changes += 1
        time.sleep(0.3)
    online.write_text("1")
    intervals, _ = parse(top.communicate(timeout=60)[0])
    assert top.returncode == 0 and changes > 2
    sums_are_exact(intervals)
    assert owed(intervals, "runnable") > 100_000_000
    # who had a CPU that has gone is known as far as it was seen: no thief owes more than it ran, and what is left is unknown
    for thief in ("thief-0", "thief-1"):
        cost = sum(ran(interval, thief) for interval in intervals)
        owes = owed(intervals, "runnable", victim="victim", comm=thief)
        assert owes <= 1.02 * cost + EDGES_NS, (thief, owes, cost)
    kinds = {blame["culprit"]["kind"] for interval in intervals for blame in interval["blame"]
             if (blame["victim"]["comm"], blame["state"]) == ("victim", "runnable")}  # fmt: skip
    assert kinds <= {"thread", "unknown", "idle", "others"}, kinds


@pytest.fixture(params=[name for name in SCHEDULERS if name])
def scheduler(request):
    """Of those that are here: one whose queues the kernel keeps, one that keeps its own."""
    process = subprocess.Popen([request.param], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while STATE.read_text().strip() != "enabled":
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    yield
    assert STATE.read_text().strip() == "enabled"
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)


def test_threads_of_a_bpf_scheduler_take_the_cpu(scheduler):
    """Whose queues belong to no CPU."""
    blame = Blame("blame-cpu", 2)
    sums_are_exact(blame.intervals)
    whole = blame.of("runnable")
    assert whole > 300_000_000
    for name in ("thief-0", "thief-1"):
        cost = blame.own[name]["user"] + blame.own[name]["kernel"]
        owes = blame.of("runnable", "thread", name)
        assert abs(cost - owes) < 0.05 * whole, (name, cost, owes, blame.shares)
    unknown = blame.of("runnable", "unknown") + blame.of("runnable", "others")
    assert unknown < 0.05 * whole, blame.shares


@pytest.mark.parametrize("scenario, state, mode", [("cond", "idle", "cpu"), ("pipe", "ipc", "sleep"), ("tcp", "net", "cpu")])
def test_waits_under_a_bpf_scheduler(scheduler, scenario, state, mode):
    check_who_ends_the_wait(scenario, state, mode)


def test_a_real_time_thread_beside_a_bpf_scheduler(scheduler):
    """It is of another class, which goes first."""
    check_a_real_time_thread()
