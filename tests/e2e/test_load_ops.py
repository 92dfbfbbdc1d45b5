# SPDX-License-Identifier: GPL-2.0-or-later
"""Phases and ops of `dwell load` where they meet each other: stopped groups, nested and frozen cgroups, moves."""
import os
import pathlib
import re
import subprocess

import pytest

from loads import CGROUPS, Load, spec

pytestmark = pytest.mark.skipif(not CGROUPS, reason="cgroup v2 is not mounted")

TRACING = pathlib.Path("/sys/kernel/tracing")


def events(load):
    return [event["event"] for event in load.run["events"]]


def test_a_run_goes_on_after_its_only_group_was_stopped(tmp_path):
    """Its workers have ended, but not by themselves, and more are to come."""
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: spin-wait}}
phases:
  - hold: 200ms
  - {ops: [{stop-group: a}], hold: 200ms}
  - {ops: [{spawn: {cgroup: a, work: {type: spin-wait}}}], hold: 200ms}
checks: {not-starved: true}
"""))
    assert load.run["verdict"] == "pass", load.checks
    assert "phase 3 of 3" in events(load) and "all workers have ended" not in events(load)
    assert len(load.workers) == 2


def test_programs_that_have_ended_are_followed_by_what_comes_later(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: exec, command: "true"}}
phases:
  - hold: 200ms
  - {ops: [{spawn: {cgroup: a, work: {type: exec, command: "true"}}}], hold: 60s}
"""))
    assert len(load.workers) == 2 and events(load)[-1] == "all workers have ended"


def test_who_is_frozen_with_a_cgroup_around_is_excused_and_can_be_stopped(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: outer}
  - {name: outer/inner, work: {type: spin-wait}}
phases:
  - hold: 100ms
  - {ops: [{freeze: outer}, {freeze: outer/inner}], hold: 1s}
  - {ops: [{thaw: outer/inner}, {thaw: outer}], hold: 100ms}
  - {ops: [{freeze: outer}], hold: 100ms}
checks: {max-gap: 500ms}
"""))
    assert load.run["verdict"] == "pass", (load.error, load.checks)
    assert 1e9 < load.workers[0]["paused_ns"] < 2e9
    assert load.run["stop_ns"] < 2e9


def test_stopping_a_group_thaws_what_is_around_it_and_says_so(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: outer}
  - {name: outer/inner, work: {type: spin-wait}}
phases:
  - {ops: [{freeze: outer}], hold: 100ms}
  - {ops: [{stop-group: outer/inner}], hold: 100ms}
"""))
    assert load.run["verdict"] == "pass", (load.error, load.checks)
    assert "thawed outer to stop outer/inner" in events(load)


def test_moves_out_of_and_into_frozen_cgroups(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: ice, work: {type: spin-wait}}
  - {name: sun, work: {type: yield-heavy}}
  - {name: lee}
phases:
  - hold: 100ms
  - {ops: [{freeze: ice}], hold: 1s}
  - {ops: [{move-tasks: [ice, lee]}, {move-tasks: [sun, ice]}], hold: 700ms}
checks: {max-gap: 500ms}
"""))
    assert load.run["verdict"] == "pass", (load.error, load.checks)
    out, into = load.workers
    assert 0.9e9 < out["paused_ns"] < 1.4e9
    assert 0.6e9 < into["paused_ns"] < 1.1e9


def test_spawned_into_a_frozen_cgroup_it_begins_with_the_thaw(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a}
phases:
  - {ops: [{freeze: a}, {spawn: {cgroup: a, work: {type: spin-wait}}}], hold: 500ms}
  - {ops: [{thaw: a}], hold: 300ms}
checks: {not-starved: true, max-gap: 400ms}
"""))
    assert load.run["verdict"] == "pass", (load.error, load.checks)
    assert load.workers[0]["wall_time_ns"] < 0.7e9


def test_frozen_before_its_first_instruction_it_has_been_there(tmp_path):
    """Whether it came to that before the freeze is a matter of luck: its shares of the time are no other ones then."""
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: spin-wait, workers: 8}}
phases:
  - {ops: [{freeze: a}], hold: 500ms}
"""))
    for worker in load.workers:
        assert worker["paused_ns"] >= 0.5e9 and worker["wall_time_ns"] >= worker["paused_ns"], worker


def test_an_affinity_is_set_for_workers_that_have_just_been_let_begin(tmp_path):
    cpu = max(os.sched_getaffinity(0))
    load = Load(spec(tmp_path, f"""
cgroups:
  - {{name: a, work: {{type: custom, library: {build(tmp_path)}, workers: 8}}}}
phases:
  - {{ops: [{{set-affinity: {{cgroup: a, affinity: {{cpus: "{cpu}"}}}}}}], hold: 200ms}}
"""))
    assert load.run["verdict"] == "pass", (load.error, load.checks)
    assert [worker["work_units"] for worker in load.workers] == [cpu + 1] * 8


def build(directory):
    """Work that counts the CPU it is on at the end, from 1."""
    source, library = directory / "where.c", directory / "where.so"
    source.write_text("""
#define _GNU_SOURCE
#include <sched.h>
#include <dwell/work.h>
int dwell_work(struct dwell_work *work)
{
	while (!work->stopping(work))
		work->sleep_ns(work, 1000000);
	work->work_units = sched_getcpu() + 1;
	return 0;
}
""")
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", "-o", library, source], check=True)
    return library


def test_each_phase_has_figures_of_its_own(tmp_path):
    """Who is frozen does nothing in that phase, and that is no gap; who comes later is in later ones only."""
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: futex-ping-pong, workers: 2}}
  - {name: b, work: {type: spin-wait, workers: 2}}
phases:
  - hold: 400ms
  - {ops: [{freeze: b}], hold: 400ms}
  - {ops: [{thaw: b}, {stop-group: a}, {spawn: {work: {type: spin-wait}}}], hold: 400ms}
"""))
    phases = load.run["phases"]
    assert [phase["ops"] for phase in phases] == [[], ["freeze b"], ["thaw b", "stop-group a", "spawn"]]
    assert [[group["group"] for group in phase["groups"]] for phase in phases] == [[0, 1], [0, 1], [1, 2]]
    assert all(phase["hold_ns"] >= 400e6 for phase in phases)
    ends = [phase["began_ns"] + phase["hold_ns"] for phase in phases]
    assert all(end <= later["began_ns"] for end, later in zip(ends, phases[1:]))

    ping, spin, frozen = phases[0]["groups"][0], phases[0]["groups"][1], phases[1]["groups"][1]
    assert frozen["iterations"] == 0 and frozen["max_gap_ms"] == 0 and frozen["iterations_per_second"] is None, frozen
    assert ping["workers"] == ping["completed"] == 2 and ping["wall_time_ns"] >= 2 * 400e6
    assert spin["iterations"] > 0 and spin["wake_to_run"] is None

    # what is counted between two phases is in no phase, and nothing is in two
    for number, group in enumerate(load.groups):
        parts = [part for phase in phases for part in phase["groups"] if part["group"] == number]
        assert 0 < sum(part["iterations"] for part in parts) <= group["iterations"]
        assert sum(part["migration_count"] for part in parts) <= group["migration_count"]
        assert sum((part["resume"] or {"total": 0})["total"] for part in parts) <= (group["resume"] or {"total": 0})["total"]
        assert sum(part["run_count"] for part in parts) <= group["run_count"] + len(parts)
        assert max(part["max_gap_ms"] for part in parts) <= group["max_gap_ms"]


def test_a_run_of_one_phase_has_no_figures_of_phases(tmp_path):
    load = Load(spec(tmp_path, "work: {type: spin-wait}\nphases: [{hold: 200ms}]\n"))
    assert load.run["phases"] == []


def test_what_was_due_in_a_freeze_is_not_late(tmp_path):
    """Of a timer's fixed grid one wakeup falls into the freeze, and not each of its 200 periods; that one is not the scheduler's, either."""
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: timer-latency, interval: 2ms, workers: 2}}
phases:
  - hold: 300ms
  - {ops: [{freeze: a}], hold: 400ms}
  - {ops: [{thaw: a}], hold: 500ms}
"""))
    for worker in load.workers:
        assert worker["wake_to_run"]["total"] > 100 and worker["wake_to_run"]["max_ns"] < 350e6, worker["wake_to_run"]


@pytest.fixture
def freezes():
    """What the kernel says of freezes while the test runs: a function that returns their lengths, in nanoseconds."""
    instance = TRACING / "instances/test-freezes"
    instance.mkdir()
    (instance / "trace_clock").write_text("mono")
    for event in ("cgroup_freeze", "cgroup_unfreeze"):
        (instance / "events/cgroup" / event / "enable").write_text("1")

    def lengths():
        at = {"freeze": [], "unfreeze": []}
        for line in (instance / "trace").read_text().splitlines():
            if found := re.search(r"(\d+\.\d+): cgroup_(\w+): .*dwell-load", line):
                at[found[2]].append(float(found[1]) * 1e9)
        return [end - begin for begin, end in zip(at["freeze"], at["unfreeze"], strict=True)]

    yield lengths
    instance.rmdir()


@pytest.mark.skipif(not (TRACING / "events/cgroup/cgroup_freeze").exists(), reason="no tracefs here")
def test_no_worker_is_frozen_for_longer_than_is_excused(tmp_path, freezes):
    """Also where dwell comes to know late that all have stopped, as it does on a machine that is busy."""
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: futex-ping-pong, workers: 2}}
phases:
  - hold: 100ms
  - {ops: [{freeze: a}], hold: 100ms}
  - {ops: [{thaw: a}], hold: 100ms}
  - {ops: [{freeze: a}], hold: 100ms}
  - {ops: [{thaw: a}], hold: 100ms}
"""))
    frozen = freezes()
    assert len(frozen) == 2 and len(load.workers) == 2
    # the kernel prints microseconds
    assert all(worker["paused_ns"] > sum(frozen) - 4000 for worker in load.workers), (frozen, load.workers)


def test_what_a_freeze_falls_into_is_no_sample(tmp_path):
    """Whichever call or computation it interrupts: of all that these do, it would be the longest by far."""
    load = Load(spec(tmp_path, """
cgroups:
  - name: a
    work:
      - cache-yield
      - pipe-io
      - fork-exit
      - alu-hot
      - {type: io-sync-write, size: 1M}
      - {type: fan-out-compute, fan_out: 1}
      - {type: schbench, threads: 1, sleep: 10ms}
phases:
  - hold: 200ms
  - {ops: [{freeze: a}], hold: 3s}
  - {ops: [{thaw: a}], hold: 500ms}
"""))
    for worker in load.workers:
        for stream in ("resume", "wake_to_run", "iteration_cost"):
            assert not worker[stream] or worker[stream]["max_ns"] < 3e9, (worker["work"], stream, worker[stream])
