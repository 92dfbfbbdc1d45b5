# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite proves its own numbers: what a worker says of itself, and what dwell's accounting says of it from outside.

CPU time is the kernel's in both, so it agrees whatever the machine does. Waiting for a CPU agrees within 1 % of wall
time, and a bound per wakeup: the kernel begins and ends waits with the run queue's clock, dwell with the tracepoints.
"""
import contextlib
import functools
import subprocess

import pytest

from conftest import DWELL
from loads import Load
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
    with judged(name) as load:
        for worker in load.workers:
            check_cpu_time(worker)


def check_cpu_time(worker):
    observed, own = worker["observed"], worker["cpu_time_ns"]
    states, outside = observed["states_ns"], observed["observed_ns"] - worker["wall_time_ns"]
    on_cpu, exact = states["user"] + states["kernel"], EXACT * worker["wall_time_ns"]
    assert outside >= -exact
    assert -exact <= on_cpu - own <= exact + EDGES_NS + outside, (on_cpu, own, worker)
    # the rest is no less than what it was off its CPU
    rest = observed["observed_ns"] - on_cpu
    assert -exact - EDGES_NS <= rest - worker["off_cpu_ns"] <= exact + outside, (rest, worker)


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
