# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time is what the kernel charged, per thread and interval, whatever the hypervisor takes; stolen time adds up.

The workload's threads note what the kernel has charged them, several thousand times a second, so what was right at the
two ends of any interval is known from the notes around them. Nothing here depends on how busy or how stolen the
machine is: where it was disturbed the notes lie further apart, and the bounds with them.
"""
import bisect
import json
import pathlib
import subprocess

import pytest

from conftest import WORKLOAD, parse, run, sum_ns, totals
from verdicts import TICK_NS, Window

EXACT = 0.001  # of wall
EDGE_NS = 300_000  # of a thread's life outside of its own measurement: its first and last instructions
NAMES = {"quiet", "spin", "nap", "burst", "ping", "pong"}


class Ledger:
    """What the kernel had charged a thread, at many times."""

    def __init__(self, line):
        record = json.loads(line)
        self.name, self.tid = record["name"], record["tid"]
        self.times = [wall for wall, _ in record["readings"]]
        self.charged = [cpu for _, cpu in record["readings"]]

    def at(self, time_ns):
        """(least, most) at a time; None: it was not there."""
        after = bisect.bisect_left(self.times, time_ns)
        if after in (0, len(self.times)):
            return None
        # a note is made of the wall clock first, so what was charged may be a little later
        return self.charged[max(after - 2, 0)], self.charged[min(after, len(self.times) - 1)]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """(ledgers by tid, what each thread read last, dwell's intervals, what was stolen from the machine)"""
    notes = tmp_path_factory.mktemp("ledgers") / "notes"
    window = Window()
    done = run("top", "-i", "300ms", "--format", "json", "--", "sh", "-c", f"exec {WORKLOAD} ledgers > {notes}")
    stolen = window.stolen_ns()
    assert done.returncode == 0, done.stderr
    intervals, _ = parse(done.stdout)
    ledgers = {ledger.tid: ledger for ledger in map(Ledger, notes.read_text().splitlines())}
    last = {line["tid"]: line["cpu_ns"] for line in map(json.loads, done.stderr.splitlines())}
    assert {ledger.name for ledger in ledgers.values()} == NAMES
    return ledgers, last, intervals, stolen


def test_cpu_time_of_a_life_is_what_was_charged(measured):
    ledgers, last, intervals, _ = measured
    threads = totals(intervals)
    for tid, charged in last.items():
        states, wall = threads[tid]["states"], threads[tid]["observed_ns"]
        on_cpu = states["user"] + states["kernel"]
        # it goes on for a moment after its last look
        assert -EXACT * wall < on_cpu - charged < EXACT * wall + EDGE_NS, (ledgers[tid].name, on_cpu, charged, wall)


def test_cpu_time_of_each_interval_is_what_was_charged(measured):
    ledgers, _, intervals, _ = measured
    judged = 0
    for interval in intervals:
        start, end = interval["start_ns"], interval["start_ns"] + interval["duration_ns"]
        for row in interval["threads"]:
            ledger = ledgers.get(row["tid"])
            first, last = (ledger.at(start), ledger.at(end)) if ledger else (None, None)
            if not first or not last or ledger.name == "quiet":
                continue
            on_cpu, slack = row["states_ns"]["user"] + row["states_ns"]["kernel"], EXACT * interval["duration_ns"]
            assert last[0] - first[1] - slack <= on_cpu <= last[1] - first[0] + slack, (ledger.name, on_cpu, first, last)
            judged += 1
    assert judged >= 10, "intervals in which threads noted their time at both ends"


def test_states_sum_to_wall_with_what_was_stolen(measured):
    _, _, intervals, _ = measured
    for interval in intervals:
        for row in interval["threads"]:
            assert sum_ns(row["states_ns"]) == row["observed_ns"]


def test_no_more_is_stolen_than_the_machine_lost(measured):
    _, _, intervals, stolen = measured
    seen = sum(row["states_ns"]["stolen"] or 0 for interval in intervals for row in interval["threads"])
    assert seen <= stolen + 2 * len(pathlib.Path("/proc/stat").read_text().split("cpu")) * TICK_NS
    if intervals[0]["quality"]["machine_stolen_ns"] is not None:
        told = sum(interval["quality"]["machine_stolen_ns"] for interval in intervals)
        assert told <= stolen + 2 * TICK_NS
        assert all(interval["quality"]["machine_stolen_ns"] <= interval["quality"]["machine_busy_ns"] for interval in intervals)


def test_waiting_for_a_cpu_is_the_kernels_run_delay():
    """Of threads that wait for a CPU a lot, read from outside: schedstat's second number."""
    script = (
        "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; "
        "cat /proc/$$/schedstat >&2"
    )
    spinners = [subprocess.Popen([WORKLOAD, "two-spinners"], stderr=subprocess.DEVNULL) for _ in range(2)]
    done = run("top", "-i", "10s", "--format", "json", "--", "sh", "-c", script)
    for spinner in spinners:
        spinner.kill()
        spinner.wait()
    intervals, ended = parse(done.stdout)
    thread = next(thread for thread in totals(intervals).values() if thread["name"] == "sh")
    charged, delay, times = map(int, done.stderr.split())
    states, wall = thread["states"], thread["observed_ns"]
    # what came after the shell looked: the end of `cat`, and its own
    after = 0.02 * wall + 10_000_000
    assert -EXACT * wall - 4_000 * times <= states["user"] + states["kernel"] - charged < after, (states, charged, wall)
    assert -0.01 * wall - 4_000 * times <= states["runnable"] - delay < after + 4_000 * times, (states, delay, times, wall)


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
