# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite proves its own numbers: what a worker says of itself, and what dwell's accounting says of it from outside.

CPU time is the kernel's in both, so it agrees whatever the machine does. Waiting for a CPU agrees within 1 % of wall
time, and a bound per wakeup: the kernel begins and ends waits with the run queue's clock, dwell with the tracepoints.
"""
import collections
import contextlib
import functools
import os
import subprocess

import pytest

import schemas
from conftest import DWELL, run
from loads import Load, spec
from verdicts import inconclusive

SHARE = 0.01
#: Of what is seen from outside and is none of its work: it begins and ends.
EDGES_NS = 8_000_000
EXACT = 0.001
#: Between a wakeup, or a switch, and its tracepoint, each time it got a CPU.
EACH_NS = 4_000
RUNS = 4

TYPES = [
    line.split()[0]
    for line in subprocess.run([DWELL, "load", "--list=types"], capture_output=True, text=True).stdout.splitlines()[1:]
]
# a program's time is not its worker's; a function of another program counts as spin-wait does
TYPES = [name for name in TYPES if name not in ("custom", "exec")]


def observe(name):
    # what a worker makes before its clock begins, the cgroups of this one, is seen from outside too
    load = Load("--work", name, "-d", "4s" if name == "cgroup-churn" else "1s", "--observe", "--check", "not-starved")
    assert load.status == 0, (load.error, load.checks)
    return load


observe_once = functools.cache(observe)


@contextlib.contextmanager
def judged(name):
    """Both tests judge the same run; a second attempt takes another one."""
    try:
        yield observe_once(name)
    except AssertionError:
        observe_once.cache_clear()
        raise


def test_there_are_types():
    assert len(TYPES) > 30


@pytest.mark.parametrize("name", TYPES)
def test_cpu_time_is_the_kernels(name):
    """A turn that a hidden switch began, and that lay across the end of an interval, was reported as a wait there: dwell counts it as lost."""
    with judged(name) as load:
        for _ in range(RUNS):
            wrong = [figures for figures in map(wrong_cpu_time, load.workers) if figures]
            if not wrong:
                return
            assert load.run["observed_lost"], wrong
            load = observe(name)
    inconclusive(f"this machine hid switches from tracing in each of {RUNS} runs: {wrong}")


def wrong_cpu_time(worker):
    """None: it is the kernel's. Else what is wrong."""
    observed, own = worker["observed"], worker["cpu_time_ns"]
    states, outside = observed["states_ns"], observed["observed_ns"] - worker["wall_time_ns"]
    on_cpu, exact = states["user"] + states["kernel"], EXACT * worker["wall_time_ns"]
    # the rest is no less than what it was off its CPU
    rest = observed["observed_ns"] - on_cpu
    right = (outside >= -exact and -exact <= on_cpu - own <= exact + EDGES_NS + outside
             and -exact - EDGES_NS <= rest - worker["off_cpu_ns"] <= exact + outside)  # fmt: skip
    spent = {state: ns for state, ns in states.items() if ns}
    return None if right else (on_cpu, own, worker["wall_time_ns"], outside, worker["off_cpu_ns"], spent)


def wrong_delays(load):
    for worker in load.workers:
        states = worker["observed"]["states_ns"]
        ours, own, times = states["runnable"], worker["schedstat_run_delay_ns"], worker["schedstat_run_count"]
        outside = worker["observed"]["observed_ns"] - worker["wall_time_ns"]
        if not -bound(worker, times) <= ours - own <= bound(worker, times) + outside:
            yield ours, own, times, worker["wall_time_ns"]


def bound(worker, times):
    return SHARE * worker["wall_time_ns"] + EACH_NS * times


@pytest.mark.measures
@pytest.mark.parametrize("name", TYPES)
def test_waiting_for_a_cpu_is_the_kernels(name):
    """Where this machine hid switches from tracing the figures are short, which is reported, and no proof of a mistake."""
    with judged(name) as load:
        for _ in range(RUNS):
            wrong = list(wrong_delays(load))
            if not wrong:
                return
            assert load.run["observed_lost"], wrong
            load = observe(name)
    inconclusive(f"this machine hid switches from tracing in each of {RUNS} runs: {wrong}")


ANTAGONIST = """
name: antagonist
duration: 2s
work:
  - {type: spin-wait, nice: 5}
  - {type: spin-wait, workers: 2}
"""


def on_one_cpu(*arguments):
    """As Load(); all workers share a CPU."""
    cpus = os.sched_getaffinity(0)
    return Load(*arguments, preexec_fn=lambda: os.sched_setaffinity(0, {max(cpus)}))


def sums_by_state(load, number):
    """Of a group: what its workers lost in each state, and what its blame adds up to."""
    group = load.groups[number]
    observed, blamed = collections.Counter(), collections.Counter()
    for worker in load.workers:
        if worker["group_idx"] == group["group_idx"]:
            observed.update({state: ns or 0 for state, ns in worker["observed"]["states_ns"].items()})
    for blame in group["blame"]:
        blamed[blame["state"]] += blame["total_ns"]
        assert 0 < blame["total_ns"] and 0 <= blame["share"] <= 1
    return observed, blamed


@pytest.fixture(scope="module")
def antagonist(tmp_path_factory):
    return on_one_cpu(spec(tmp_path_factory.mktemp("antagonist"), ANTAGONIST), "--observe")


def test_blame_adds_up_to_what_the_group_lost(antagonist):
    for number in range(2):
        observed, blamed = sums_by_state(antagonist, number)
        assert blamed["runnable"] == observed["runnable"] > 0
        for state, ns in blamed.items():
            assert ns == observed[state], state
            assert state not in ("user", "kernel", "sleep", "idle", "stopped")


def took(load, number, culprit):
    """Runnable time that the group owes to the culprit: a group's number, or a kind."""
    return sum(
        blame["total_ns"] for blame in load.groups[number]["blame"]
        if blame["state"] == "runnable" and culprit in (blame["culprit"]["group"], blame["culprit"]["kind"])
    )  # fmt: skip


def ran(load, number):
    return sum(
        worker["observed"]["states_ns"]["user"] + worker["observed"]["states_ns"]["kernel"]
        for worker in load.workers if worker["group_idx"] == number
    )  # fmt: skip


@pytest.mark.measures
def test_a_group_owes_its_waits_to_what_the_other_ran(tmp_path):
    """On one CPU a worker that never blocks waits exactly while another one runs: each owes it its CPU time."""
    load = on_one_cpu(spec(tmp_path, ANTAGONIST), "--observe")
    victim, others = 0, 1
    # how much each gets is the scheduler's: nice does not count between autogroups
    assert ran(load, others) > 0 and ran(load, victim) > 0
    assert abs(took(load, victim, others) - ran(load, others)) < 0.02 * ran(load, others) + EDGES_NS
    # its workers wait for the victim, both of them, and for each other
    assert abs(took(load, others, victim) - 2 * ran(load, victim)) < 0.02 * ran(load, others) + 2 * EDGES_NS
    assert abs(took(load, others, others) - ran(load, others)) < 0.02 * ran(load, others) + 2 * EDGES_NS
    assert took(load, victim, "unknown") < 0.02 * ran(load, others) + EDGES_NS


def test_a_pair_waits_because_of_itself(tmp_path):
    load = Load("--work", "pipe-io", "-d", "1s", "--observe")
    own = [blame for blame in load.groups[0]["blame"] if blame["state"] == "ipc" and blame["culprit"]["group"] == 0]
    assert own and own[0]["culprit"]["name"] == "pipe-io", load.groups
    assert {blame["culprit_state"] for blame in own} >= {"cpu"}


def test_blame_on_the_page_and_without_observation(tmp_path):
    file = spec(tmp_path, ANTAGONIST.replace("2s", "500ms"))
    page = run("load", file, "--observe").stdout
    assert "BECAUSE OF" in page and "ran instead: " in page, page
    plain = Load(file)
    assert all("blame" not in group for group in plain.groups)
    assert "BECAUSE OF" not in run("load", file).stdout


def test_reports_with_and_without_blame_compare(tmp_path):
    file = spec(tmp_path, ANTAGONIST.replace("2s", "500ms"))
    for name, arguments in (("with", ["--observe"]), ("without", [])):
        assert run("load", file, "--save", tmp_path / name, *arguments).returncode == 0
    for a, b in (("with", "without"), ("without", "with"), ("with", "with")):
        done = run("compare", tmp_path / a, tmp_path / b)
        # 3: one is worse, which is this machine's business
        assert done.returncode in (0, 3, 4), done.stderr


#: Loads whose workers wait for their turn, and those who take a lock, each with what all of these wait for.
WAITS = {
    "futex-ping-pong:spin_iters=20000": "idle",
    "wake-chain:by=futex": "idle",
    "thundering-herd": "idle",
    "futex-fan-out": "idle",
    "producer-consumer": "idle",
    "taobench": "idle",
    "mutex-contention": "lock",
}


@pytest.mark.measures
@pytest.mark.parametrize("work", WAITS)
def test_who_waits_for_a_turn_waits_for_no_lock(work):
    """Whatever the value of the word that it waits at: that of a mutex, too."""
    load = Load("--work", work, "-d", "3s", "--observe")
    assert load.status == 0 and load.workers, load.error
    states = [worker["observed"]["states_ns"] for worker in load.workers]
    other = "idle" if WAITS[work] == "lock" else "lock"
    # a place that is met for the first time is asked for, which is answered when it is
    assert sum(of[WAITS[work]] for of in states) > sum(of["unknown"] + of[other] for of in states), states


def test_without_names_no_wait_for_a_turn_is_a_lock(tmp_path):
    """Programs are stripped when they are installed: the word and the operation are all there is to go by."""
    program = tmp_path / "dwell"
    subprocess.run(["strip", "-o", program, DWELL], check=True)
    for work in ("futex-ping-pong:spin_iters=20000", "wake-chain:by=futex"):
        done = subprocess.run([program, "load", "--work", work, "-d", "1s", "--observe", "--json"], capture_output=True, text=True)
        workers = [line for line in schemas.read(done.stdout) if line["type"] == "worker"]
        states = [worker["observed"]["states_ns"] for worker in workers]
        assert states and sum(of["idle"] for of in states) > sum(of["unknown"] + of["lock"] for of in states), states
