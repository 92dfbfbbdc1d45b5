# SPDX-License-Identifier: GPL-2.0-or-later
"""Running `dwell load`, and what must be gone afterwards."""
import json
import pathlib
import subprocess
import time

import schemas
from conftest import DWELL, run

CGROUPS = [pathlib.Path(line.split()[1]) for line in open("/proc/self/mounts") if line.split()[2] == "cgroup2"]


class Load:
    """One run: the workers' reports and that of the run."""

    def __init__(self, *arguments, timeout=60, **options):
        done = run("load", *arguments, "--json", timeout=timeout, **options)
        self.status, self.error = done.returncode, done.stderr
        lines = schemas.read(done.stdout)
        self.workers = [line for line in lines if line["type"] == "worker"]
        self.run = next((line for line in lines if line["type"] == "load"), None)
        self.groups = self.run["groups"] if self.run else []
        self.checks = self.run["checks"] if self.run else []

    def check(self, name):
        """The findings of one check."""
        return [finding for finding in self.checks if finding["check"] == name]


class Trace:
    """Trace events of --trace: times in seconds since the start of the run."""

    def __init__(self, path):
        events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
        self.names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.slices = [event for event in events if event["ph"] == "X"]
        (self.mark,) = (event for event in events if event["ph"] == "i")
        self.begin = min((event["ts"] for event in self.slices), default=0) / 1e6
        self.end = self.mark["ts"] / 1e6

    def of(self, tid, process=2):
        """What a worker did: (what, from, until)."""
        return [(event["name"], event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6)
                for event in self.slices if (event["pid"], event["tid"]) == (process, tid)]

    def overlapping(self):
        """Tracks on which a slice begins before the one before has ended: none should."""
        ends, found = {}, set()
        for event in sorted(self.slices, key=lambda event: event["ts"]):
            track = event["pid"], event["tid"]
            if event["ts"] < ends.get(track, 0) - 0.002:
                found.add(track)
            ends[track] = event["ts"] + event["dur"]
        return found


def spec(directory, text, name="spec.yaml"):
    path = pathlib.Path(directory) / name
    path.write_text(text)
    return str(path)


def refused(*arguments, status=2, **options):
    """What is said when nothing is run: one line."""
    done = run("load", *arguments, **options)
    assert done.returncode == status and done.stdout == "", (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("dwell load: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("dwell load: ").rstrip("\n")


def start(*arguments, **options):
    """A run that goes on; its standard output is read by communicate()."""
    return subprocess.Popen(
        [DWELL, "load", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, **options,
    )


def processes(pattern):
    """pids whose command line or name has it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if pattern in line:
            found.append(int(entry.name))
    return found


def cpu_ticks(pid):
    """CPU time so far: a process that has some has begun. 0 once it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def runner_of(process):
    """The process below two guardians, which forks the workers; None: it is not there."""
    for guardian in children(process.pid):
        for runner in children(guardian):
            return runner
    return None


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def left_behind(mark, scratch):
    """Processes with the mark in their command line, cgroups, and files."""
    return (
        [f"process {pid}" for pid in processes(mark)]
        + [str(path) for mount in CGROUPS for path in mount.glob("dwell-load.*")]
        + [str(path) for path in pathlib.Path(scratch).glob("dwell-load.*")]
    )


def await_nothing(mark, scratch, seconds=10):
    """What is left after that time: the list is empty as soon as all is gone."""
    deadline = time.monotonic() + seconds
    while True:
        left = left_behind(mark, scratch)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)
