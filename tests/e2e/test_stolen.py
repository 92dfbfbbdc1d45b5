# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time is what the kernel charged, per thread and interval, whatever the hypervisor takes; stolen time adds up.

Nothing here depends on how busy or how stolen the machine is: ledgers.py.
"""
import json
import os
import pathlib
import subprocess

import pytest

import ledgers
from conftest import DWELL, WORKLOAD, parse, run, sum_ns, totals
from machine import TICK_NS, machine_ns
from verdicts import Window, inconclusive

EXACT = 0.001  # of wall
EDGE_NS = 300_000  # of a thread's life outside of its own measurement: its first and last instructions
NAMES = {"quiet", "spin", "nap", "burst", "ping", "pong"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    window = Window()
    found = ledgers.Measured(DWELL, WORKLOAD, tmp_path_factory.mktemp("ledgers"))
    found.stolen = window.stolen_ns()
    found.intervals, _ = parse(found.output)
    assert {ledger.name for ledger in found.ledgers.values()} == NAMES
    return found


def test_cpu_time_of_a_life_is_what_was_charged(measured):
    threads = totals(measured.intervals)
    for tid, charged in measured.last.items():
        wall, on_cpu = threads[tid]["observed_ns"], ledgers.on_cpu_ns(threads[tid]["states"])
        # it goes on for a moment after its last look
        assert -EXACT * wall < on_cpu - charged < EXACT * wall + EDGE_NS, (measured.ledgers[tid].name, on_cpu, charged, wall)


def test_cpu_time_of_each_interval_is_what_was_charged(measured):
    count = 0
    for ledger, interval, on_cpu, least, most in ledgers.judged(measured, measured.intervals):
        slack = EXACT * interval["duration_ns"]
        assert least - slack <= on_cpu <= most + slack, (ledger.name, on_cpu, least, most)
        count += 1
    assert count >= 10, "intervals in which threads noted their time at both ends"


def test_states_sum_to_wall_with_what_was_stolen(measured):
    for interval in measured.intervals:
        for row in interval["threads"]:
            assert sum_ns(row["states_ns"]) == row["observed_ns"]


def test_no_more_is_stolen_than_the_machine_lost(measured):
    intervals = measured.intervals
    seen = sum(row["states_ns"]["stolen"] or 0 for interval in intervals for row in interval["threads"])
    assert seen <= measured.stolen + 2 * os.cpu_count() * TICK_NS
    if intervals[0]["quality"]["machine_stolen_ns"] is not None:
        reported = sum(interval["quality"]["machine_stolen_ns"] for interval in intervals)
        assert reported <= measured.stolen + 2 * TICK_NS
        assert all(interval["quality"]["machine_stolen_ns"] <= interval["quality"]["machine_busy_ns"] for interval in intervals)


def shell_beside_spinners():
    """(What dwell says of a shell that shares a CPU with a spinner, what it read of itself: charged ns, run delay and runs,
    when it began and at its end). What it did before it was a shell, between fork and exec, is in its first reading."""
    script = (
        "cat /proc/$$/schedstat >&2; "
        "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; "
        "cat /proc/$$/schedstat >&2"
    )
    pinned = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "sh", "-c"]
    with subprocess.Popen([*pinned, "while :; do :; done"]) as spinner:
        done = run("top", "-i", "10s", "--format", "json", "--", *pinned, script)
        spinner.kill()
    intervals, _ = parse(done.stdout)
    thread = next(thread for thread in totals(intervals).values() if thread["name"] == "sh")
    began, ended = ([int(number) for number in line.split()] for line in done.stderr.splitlines())
    return thread, began, ended


def test_waiting_for_a_cpu_is_the_kernels_run_delay():
    """schedstat's second number. Now and then the kernel counts a sleep as a wait: then it has more time than there was."""
    for _ in range(5):
        thread, began, ended = shell_beside_spinners()
        states, wall, times = thread["states"], thread["observed_ns"], ended[2]
        charged, delay, _ = (last - first for first, last in zip(began, ended))
        if charged + delay <= wall * (1 + EXACT) + 4_000 * times:
            break
    else:
        inconclusive(f"the kernel says that it ran for {charged} ns and waited for {delay} ns of {wall} ns")
    assert delay > 0.2 * wall, "it was to wait"
    # dwell has seen what came before it looked (its own start, and `cat`'s), and after (the end of `cat`, and its own)
    around = 0.02 * wall + 10_000_000
    ours = began[0], began[1]
    assert -EXACT * wall - 4_000 * times <= states["user"] + states["kernel"] - charged < around + ours[0], (states, began, ended, wall)
    assert -0.01 * wall - 4_000 * times <= states["runnable"] - delay < around + ours[1] + 4_000 * times, (states, began, ended, wall)


def test_other_sources_do_not_guess():
    for source in ("taskstats", "procfs"):
        done = run("top", "-c", "1", "-i", "100ms", "--format", "json", "--source", source)
        (interval,), _ = parse(done.stdout)
        assert {row["states_ns"]["stolen"] for row in interval["threads"]} == {None}
        assert {row["states_ns"]["irq"] for row in interval["threads"]} == {None}


def test_old_recordings_have_none():
    recording = pathlib.Path(__file__).parents[1] / "golden" / "mixed.dwell"
    done = run("top", "--from", recording, "--format", "json")
    intervals, _ = parse(done.stdout)
    assert intervals
    for interval in intervals:
        assert interval["quality"]["machine_stolen_ns"] is None
        assert {row["states_ns"]["stolen"] for row in interval["threads"]} == {None}


def test_the_first_turn_of_a_command_is_its_own():
    """It is in the middle of one when it becomes its program."""
    before, rows = machine_ns(), []
    for _ in range(15):
        rows += [json.loads(line) for line in run("top", "--format", "jsonl", "--fields", "comm,observed,stolen", "--", "/bin/true").stdout.splitlines()]
    rows = [row for row in rows if row["comm"] == "true"]
    # null where no hypervisor has ever taken time
    stolen, observed = (sum(row[field] or 0 for row in rows) for field in ("stolen", "observed"))
    assert len(rows) == 15 and observed > 0
    machine_stolen, machine_busy = (now - then for now, then in zip(machine_ns(), before))
    if stolen > 0.25 * observed and machine_stolen > 0.1 * machine_busy:
        inconclusive(f"{machine_stolen} of {machine_busy} ns were stolen meanwhile")
    assert stolen <= 0.25 * observed, rows
