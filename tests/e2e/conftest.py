# SPDX-License-Identifier: GPL-2.0-or-later
"""Running dwell and the workloads. Paths come from DWELL_BUILD, the Meson build directory."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
import schemas

BUILD = pathlib.Path(os.environ.get("DWELL_BUILD", "build")).resolve()
DWELL = str(BUILD / "dwell")
WORKLOAD = str(BUILD / "tests" / "workload")

STATES = ["user", "kernel", "runnable", "disk", "net", "ipc", "lock", "swap", "sleep", "idle", "stopped", "stolen", "irq", "unknown"]
# null where the kernel does not account for it, or a recording is from before there was such a state
WHERE_ACCOUNTED = ["stolen", "irq", "unknown"]


def sum_ns(states):
    """What is measured of the states."""
    return sum(ns for ns in states.values() if ns is not None)


def run(*arguments, timeout=60, program=DWELL, **options):
    """Runs dwell; returns the completed process with text output."""
    return subprocess.run(
        [program, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        errors="surrogateescape",
        **options,
    )


def parse(output):
    """JSON lines -> (intervals, exit object or None). Checks what holds for every interval."""
    intervals, ended = [], None
    for line in output.splitlines():
        record = json.loads(line)
        if len(intervals) < 2 or record["type"] == "exit":
            assert not schemas.mistakes(record), schemas.mistakes(record)[:5]
        if record["type"] == "exit":
            ended = record
            continue
        assert record["type"] == "interval"
        for rows in ("threads", "processes", "cgroups"):
            for row in record.get(rows, []):
                assert list(row["states_ns"]) == STATES
                assert all(ns is None or ns >= 0 for ns in row["states_ns"].values()), row
                if record["sources"] != ["taskstats"]:
                    assert sum_ns(row["states_ns"]) == row["observed_ns"], row
                if record["sources"][0] == "bpf":
                    assert None not in [ns for state, ns in row["states_ns"].items() if state not in WHERE_ACCOUNTED]
        # others than BPF read one thread after another, and not at one instant
        longest = record["duration_ns"] + (0 if record["sources"][0] == "bpf" else record["self"]["snapshot_ns"])
        for row in record.get("threads", []):
            # one that died slowly is in the interval its totals came in, also with what it was in those before
            assert row["observed_ns"] <= longest or row["exited"], (row, record["duration_ns"])
        intervals.append(record)
    return intervals, ended


def totals(intervals):
    """Sums each thread's rows over the intervals: tid -> {"name", "states", "observed_ns"}."""
    threads = collections.defaultdict(lambda: {"states": collections.Counter(), "observed_ns": 0, "wakeups": 0})
    for interval in intervals:
        for row in interval["threads"]:
            thread = threads[row["tid"]]
            thread["name"] = row["comm"]
            thread["states"].update({state: ns or 0 for state, ns in row["states_ns"].items()})
            thread["observed_ns"] += row["observed_ns"]
            thread["wakeups"] += row["wakeups"] or 0
    return threads


def lost_transitions(intervals):
    """Wakeups and switches without a tracepoint.

    Some hosts hide a process of theirs from tracing: what happens while one of its threads is on the CPU,
    a timer's wakeup of another thread or the switch to it, is not traced (perf and ftrace miss it too). dwell
    counts these, and cannot do more.
    """
    return sum(interval["quality"]["lost_transitions"] for interval in intervals)


def lost(intervals):
    """What is missing for reasons of our own."""
    for interval in intervals:
        assert interval["quality"]["torn"] == 0
    return sum(interval["quality"]["lost"] for interval in intervals) - lost_transitions(intervals)


def wait_for_threads(pid, *names, seconds=10):
    """Until a process has threads of all these names; their tids by name (of several, one)."""
    deadline = time.monotonic() + seconds
    while True:
        found = {}
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            try:
                found[(task / "comm").read_text().rstrip("\n")] = int(task.name)
            except OSError:
                pass  # it has ended
        if all(name in found for name in names):
            return found
        assert time.monotonic() < deadline, f"no threads {names} in {pid}: {found}"
        time.sleep(0.01)


#: lost_transitions() of each run of watch().
HIDDEN = [0]


def hidden_transitions():
    """Of the last run that watch() made."""
    return HIDDEN[-1]


class OutOfMemory(AssertionError):
    """The kernel gave up on swapping for a memory limit, and killed the workload: no measurement."""


@pytest.fixture
def watch():
    """watch(scenario, argument): runs a workload under dwell; returns what each of them measured.

    -> (dwell's totals by tid, the workload's own figures, the intervals)

    What does not compare in a run of which dwell says that transitions were lost is no mistake: hidden_transitions().
    """

    def watch_scenario(*arguments, attempts=6, **options):
        for attempt in range(attempts):
            try:
                threads, own, intervals = watch_once(*arguments, **options)
            except OutOfMemory:
                if attempt == attempts - 1:
                    raise
                continue
            HIDDEN.append(lost_transitions(intervals))
            return threads, own, intervals

    def watch_once(*arguments, interval="300ms", prefix=(), program=WORKLOAD):
        done = run("top", "-i", interval, "--format", "json", "--", *prefix, program, *arguments)
        assert done.returncode == 0, done.stderr
        intervals, ended = parse(done.stdout)
        if ended["signal"] == signal.SIGKILL:
            raise OutOfMemory(done.stderr)
        return totals(intervals), own_figures(ended["status"], done.stderr), intervals

    return watch_scenario


def own_figures(status, printed):
    """What a workload says of its threads."""
    if status and "Function not implemented" in printed:
        pytest.skip(f"not in this kernel: {printed}")
    assert status == 0, printed
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


class Background:
    """A dwell that goes on while the test does something; reads its JSON line by line."""

    def __init__(self, *arguments, prefix=()):
        self.process = subprocess.Popen(
            [*prefix, DWELL, "top", "--format", "json", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line

    def interval(self):
        return json.loads(self.line())

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        # not communicate(): it does not know what readline() has buffered
        rest, errors = self.process.stdout.read(), self.process.stderr.read()
        return [json.loads(line) for line in rest.splitlines()], errors, self.process.wait(timeout=20)


class Together:
    """Scenarios one after the other under one dwell, which takes seconds to start where it is emulated."""

    SCRIPT = f'cd "$1" && shift && for each in "$@"; do "{WORKLOAD}" "$each" 2> "$each.err"; echo $? > "$each.status"; done'

    def __init__(self, directory, scenarios):
        self.directory, self.left = directory, set(scenarios)
        if not scenarios:
            return
        done = run("top", "-i", "300ms", "--format", "json", "--", "sh", "-c", self.SCRIPT, "sh", directory, *scenarios, timeout=300)
        assert done.returncode == 0, done.stderr
        self.intervals, _ = parse(done.stdout)
        self.threads = totals(self.intervals)

    def take(self, scenario):
        """As watch(), of those there are left; None: this one has been taken, or is none of them."""
        if scenario not in self.left:
            return None
        self.left.remove(scenario)
        HIDDEN.append(lost_transitions(self.intervals))
        status, printed = ((self.directory / f"{scenario}.{end}").read_text() for end in ("status", "err"))
        return self.threads, own_figures(int(status), printed), self.intervals
