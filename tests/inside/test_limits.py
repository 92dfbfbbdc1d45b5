# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits, cpusets, NUMA, policies: what needs cgroup v2 controllers or a topology. Runs inside a guest (test_guest_topologies.py)."""
import os
import pathlib
import re
import sys

import pytest

from conftest import DWELL, parse, run, totals
from loads import Load, spec

CGROUP = pathlib.Path("/sys/fs/cgroup")


def nodes():
    return len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*")))


@pytest.fixture
def cgroup():
    (CGROUP / "cgroup.subtree_control").write_text("+cpu +memory +cpuset")
    directory = CGROUP / f"inside-{os.getpid()}"
    directory.mkdir()
    yield directory
    directory.rmdir()


def within(cgroup, *command):
    """The command line of a program that runs in the cgroup from its first instruction, without its output."""
    return ["sh", "-c", f'echo $$ > {cgroup}/cgroup.procs && exec "$0" "$@" > /dev/null', *map(str, command)]


def stat_of(cgroup, name):
    return {key: int(value) for key, value in (line.split() for line in (cgroup / name).read_text().splitlines())}


def test_who_is_throttled_waits_for_a_cpu(cgroup):
    """cpu.max: the kernel's throttled time is dwell's `runnable`, for nothing but the limit keeps it from a CPU."""
    (cgroup / "cpu.max").write_text("20000 100000")
    load = ["load", "--work", "spin-wait", "--workers", "1", "-d", "3s"]
    done = run("top", "-i", "500ms", "--format", "json", "--", *within(cgroup, DWELL, *load))
    intervals, ended = parse(done.stdout)
    assert ended["status"] == 0, done.stderr
    throttled_ns = stat_of(cgroup, "cpu.stat")["throttled_usec"] * 1000
    worker = max(totals(intervals).values(), key=lambda thread: thread["states"]["user"])
    states, seen = worker["states"], worker["observed_ns"]
    assert throttled_ns > 1e9, "the limit holds"
    assert (states["user"] + states["kernel"]) < 0.35 * seen, worker
    assert states["runnable"] > 0.6 * seen, worker
    assert states["user"] + states["kernel"] + states["runnable"] > 0.9 * seen, worker


# On one CPU: of several, the kernel averages a group's pressure, weighted by how busy each was for it (kernel/sched/psi.c,
# collect_percpu_times()), and who has moved has had less than it waited for.
GROW = """
import os, time
os.sched_setaffinity(0, {0})
end, kept = time.monotonic() + 4, []
while time.monotonic() < end:
    kept.append(b"x" * (256 << 10))
"""


def test_who_is_over_its_memory_waits_for_memory(cgroup):
    """memory.high: the kernel lets it sleep, which is dwell's `swap`, and what the kernel counts as pressure."""
    (cgroup / "memory.high").write_text("24M")
    done = run("top", "-i", "500ms", "--format", "json", "--", *within(cgroup, sys.executable, "-c", GROW))
    intervals, ended = parse(done.stdout)
    assert ended["status"] == 0, done.stderr
    assert stat_of(cgroup, "memory.events")["high"] > 0, "the limit holds"
    (grower,) = totals(intervals).values()
    assert grower["states"]["swap"] > 0.5 * grower["observed_ns"], grower
    pressure = cgroup / "memory.pressure"
    try:
        some = re.search(r"some .* total=(\d+)", pressure.read_text())
    except OSError as error:  # a kernel without PSI
        pytest.skip(f"{pressure.name}: {error.strerror}; the state itself is right")
    assert grower["states"]["swap"] == pytest.approx(int(some.group(1)) * 1000, rel=0.1, abs=1e8), grower


def test_limits_of_a_load_hold(tmp_path):
    load = Load(spec(tmp_path, """
duration: 3s
cgroups:
  - {name: half, cpu_max: 30%, work: {type: spin-wait, workers: 1}}
  - {name: small, memory_max: 64M, work: {type: page-fault-churn, workers: 1}}
checks: {not-starved: true}
"""))
    assert load.run and load.run["verdict"] == "pass", (load.error, load.checks)
    half = next(group for group in load.groups if group["cgroup"] == "half")
    assert half["cpu_time_ns"] < 0.45 * half["wall_time_ns"]


def test_cpusets_hold_while_they_change(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, cpuset: "0", work: {type: spin-wait, workers: 2}}
  - {name: b, cpuset: "1", work: {type: spin-wait, workers: 2}}
phases:
  - hold: 1s
  - {ops: [{swap-cpusets: [a, b]}], hold: 1s}
  - {ops: [{clear-cpuset: a}], hold: 1s}
checks: {not-starved: true, isolation: true}
"""))
    assert load.run and load.run["verdict"] == "pass", (load.error, load.checks)
    assert [finding["verdict"] for finding in load.check("isolation")] == ["pass"] * 2
    assert sorted(load.groups[1]["cpus_used"]) == [0, 1]


def test_policies():
    for policy in ("batch", "idle", "fifo:5", "rr:5", "deadline:1ms/5ms/10ms"):
        load = Load("--work", "yield-heavy", "--policy", policy, "-d", "300ms")
        assert load.status == 0 and load.workers[0]["policy_error"] is None, (policy, load.workers)


def test_real_time_goes_first():
    """On one CPU, fifo leaves the others what the kernel keeps for them: a twentieth."""
    load = Load("--work", "rt-starvation", "--cpus", "0", "-d", "3s", timeout=90)
    assert load.run is not None, load.error
    shares = sorted(worker["cpu_time_ns"] / worker["wall_time_ns"] for worker in load.workers)
    assert shares[0] < 0.3 and shares[-1] > 0.4, shares


@pytest.mark.parametrize("work", ["numa-working-set-sweep", "numa-migration-churn"])
def test_numa_work(work):
    if nodes() < 2:
        pytest.skip("one NUMA node")
    load = Load("--work", work, "-d", "2s", "--check", "not-starved")
    assert load.run and load.run["verdict"] == "pass", (load.error, load.checks)
    cpus = {cpu for worker in load.workers for cpu in worker["cpus_used"]}
    if work == "numa-migration-churn":
        homes = {(pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/node{node}")).exists() and node
                 for cpu in cpus for node in range(nodes())}
        assert {0, 1} <= homes, cpus


@pytest.mark.parametrize("node, verdict", [(0, "pass"), (1, "fail")])
def test_numa_locality_is_judged(tmp_path, node, verdict):
    """Memory bound to a node is local to the workers of that node's CPUs, and to no others.

    A worker on a starved host needs seconds to touch all of it; until then its program is a large part.
    """
    if nodes() < 2:
        pytest.skip("one NUMA node")
    load = Load(spec(tmp_path, f"""
duration: 4s
cgroups:
  - name: a
    cpuset: "numa:0"
    work: {{type: cache-pressure, size: 32M, workers: 1, memory: {{policy: bind, nodes: [{node}]}}}}
"""), "--check", "numa-locality=90%")
    assert load.run is not None, load.error
    (finding,) = load.check("numa-locality")
    assert finding["verdict"] == "pass", ("it is judged by the nodes that the work asks for", finding, load.workers)
    away = Load(spec(tmp_path, f"""
duration: 4s
cgroups:
  - {{name: a, cpuset: "numa:0", cpuset_mems: "{node}", work: {{type: cache-pressure, size: 32M, workers: 1}}}}
"""), "--check", "numa-locality=90%")
    (finding,) = away.check("numa-locality")
    assert finding["verdict"] == verdict, (finding, away.groups)


def test_observed_states_agree():
    for work in ("spin-wait", "bursty", "timer-latency"):
        load = Load("--work", work, "-d", "2s", "--observe")
        assert load.status == 0, load.error
        for worker in load.workers:
            assert worker["observed"], worker
            states, wall = worker["observed"]["states_ns"], worker["wall_time_ns"]
            both = states["user"] + states["kernel"] + states["runnable"]
            own = worker["cpu_time_ns"] + worker["schedstat_run_delay_ns"]
            # what it does, or waits for, before its clock begins and after it has ended, dwell sees too
            edges = worker["observed"]["observed_ns"] - wall
            # dwell's wait for a CPU begins with the wakeup's tracepoint, the kernel's when it has queued the thread:
            # emulated, up to 90 us later, and more where the host takes the CPU away
            bound = 0.02 * wall + 200_000 * worker["schedstat_run_count"]
            assert edges >= 0 and -bound < both - own < bound + edges, (work, both, own, wall, edges)
