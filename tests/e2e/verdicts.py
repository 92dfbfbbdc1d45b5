# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test's result is worth: a plugin of pytest (`-p verdicts`) that knows of disturbed machines.

A test that measures is marked `measures`. When it fails while the machine was disturbed (a hypervisor took CPU time
away, or programs that no test started used it), the failure proves nothing: the test is repeated after a wait for a
quieter moment, a bounded number of times, and for a bounded time in all. If it never passes it is *inconclusive*: neither passed nor failed, and
counted apart. A failure on an undisturbed machine counts, whatever the test; a test that passes when it is run once more
is *flaky*: it passed, and is named at the end.

A test that does not end within LIMIT_S fails, whatever the machine did, and what it has started is killed.

Past DWELL_DEADLINE (seconds of CLOCK_MONOTONIC) the machine is too slow for a judgement in time: nothing is repeated because of a disturbance,
and what measures is inconclusive without a run.

DWELL_RESULTS names a file that gets a line of JSON for each test; `tests/run` sums them up. DWELL_REPEATS=0: what failed on a disturbed
machine is inconclusive at once; `tests/run` repeats it later.
"""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import time

import pytest
from _pytest.runner import runtestprotocol

from machine import TICK_NS, machine_ns

MARK = "DWELL_TESTS"  # in the environment of everything that tests start

PF_KTHREAD = 0x200000  # include/linux/sched.h

STOLEN_SHARE = 0.01  # of busy CPU time
FOREIGN_SHARE = 0.10  # of a CPU
REPEATS = int(os.environ.get("DWELL_REPEATS", "3"))  # of a test that failed on a disturbed machine
WAIT_S = 15  # for a quiet moment, at most
WAIT_ALL_S = 240  # in a whole run, at most
LIMIT_S = int(os.environ.get("DWELL_LIMIT", "900"))  # of an attempt: the longest takes 350 where a third of the machine is stolen
AGAIN_S = 20  # its end hangs, too
REPEAT_ALL_S = 600  # of attempts after a test's first, in a whole run: a machine that is never quiet is not worth more
DEADLINE_S = float(os.environ.get("DWELL_DEADLINE", "inf"))


class Inconclusive(pytest.skip.Exception):
    """The machine does not allow a judgement. Without this plugin it counts as a skip."""


def inconclusive(why):
    raise Inconclusive(f"inconclusive: {why}")


#: What a program that judges the machine itself has said of it in the present attempt, if that is all that was wrong.
SAID = []


def disturbed(why):
    """Fails, as on a machine that was seen to be disturbed: the test is repeated in a quieter moment."""
    SAID.append(why)
    raise AssertionError(why)


def foreign_ticks():
    """CPU time so far of each program that no test has started, with that of its children that have ended; kernel threads left out.

    Started by a test is what has our mark in its environment, or a parent that does: some programs overwrite theirs.
    """
    mark = f"{MARK}={os.environ.get(MARK, '')}".encode()
    ours, parents, found = {os.getpid()}, {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(errors="replace").rpartition(") ")[2].split()
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                ours.add(int(entry.name))
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        # not what has ended, whose environment is gone
        if not int(fields[6]) & PF_KTHREAD and fields[0] != "Z":
            # what has lost its parent ends with init: it may have been ours
            own = fields[11:13] if entry.name == "1" else fields[11:15]
            found[int(entry.name), fields[19]] = sum(map(int, own))

    def is_ours(pid):
        while pid and pid not in ours:
            pid = parents.get(pid, 0)
        return pid in ours

    return {key: ticks for key, ticks in found.items() if not is_ours(key[0])}


class Window:
    """What the machine did for others while something was measured."""

    def __init__(self):
        self.began, self.foreign = time.monotonic(), foreign_ticks()
        self.stolen, self.busy = machine_ns()

    def stolen_ns(self):
        """So far, of all CPUs."""
        return machine_ns()[0] - self.stolen

    def disturbance(self):
        """In words; None: none that matters."""
        stolen, busy = (now - then for now, then in zip(machine_ns(), (self.stolen, self.busy)))
        seconds = time.monotonic() - self.began
        now = foreign_ticks()
        # what has ended is in its parent's time, unless that did not ask for it
        one_by_one = sum(ticks - self.foreign.get(key, 0) for key, ticks in now.items())
        foreign = min(one_by_one, max(0, sum(now.values()) - sum(self.foreign.values()))) * TICK_NS / 1e9
        if stolen > max(STOLEN_SHARE * busy, 2 * TICK_NS):
            return f"the hypervisor took {100 * stolen / busy:.1f} % of the busy CPU time"
        if foreign > max(FOREIGN_SHARE * seconds, 0.05):
            return f"other programs used {100 * foreign / seconds:.0f} % of a CPU"
        return None


def cpu_seconds():
    """Of this process and its children, as far as they have been waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def descendants(pid):
    """-> pids of what it has started, and of what that has."""
    found = []
    with contextlib.suppress(OSError):
        for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            for child in path.read_text().split():
                found += [child, *descendants(child)]
    return found


def doing(pid):
    """What it was started as, and where it is; None: it has ended."""
    with contextlib.suppress(OSError):
        entry = pathlib.Path("/proc", pid)
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        state = (entry / "stat").read_text(errors="replace").rpartition(") ")[2].split()[0]
        return None if state == "Z" else f"{' '.join(words)[:200]} ({state} in {(entry / 'wchan').read_text()})"
    return None


class Hung(Exception):
    """A test that does not end."""


def give_up(number, frame):
    left = {pid: doing(pid) for pid in descendants(os.getpid())}
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(int(pid), signal.SIGKILL)
    raise Hung(f"no end within {LIMIT_S} s; left running: {'; '.join(filter(None, left.values())) or 'nothing'}")


@contextlib.contextmanager
def limited():
    """What is done within gets LIMIT_S."""
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_late():
    return time.monotonic() > DEADLINE_S


class Verdicts:
    def __init__(self):
        self.waited, self.repeated, self.results = 0.0, 0.0, os.environ.get("DWELL_RESULTS")

    def wait_for_quiet(self):
        """Bounded, and less and less where it is never quiet."""
        deadline = time.monotonic() + min(WAIT_S, max(0.0, WAIT_ALL_S - self.waited))
        began = time.monotonic()
        while time.monotonic() < deadline:
            window = Window()
            time.sleep(0.5)
            if not window.disturbance():
                break
        self.waited += time.monotonic() - began

    def note(self, item, outcome, why=""):
        if self.results:
            with open(self.results, "a", encoding="utf-8") as file:
                began, cpu = item.stash[BEGAN]
                result = {"test": item.nodeid, "outcome": outcome, "why": why, "seconds": time.monotonic() - began, "cpu_seconds": cpu_seconds() - cpu}
                print(json.dumps(result), file=file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        measures = item.get_closest_marker("measures") is not None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        item.stash[BEGAN] = time.monotonic(), cpu_seconds()
        failures, undisturbed = 0, 0
        if measures and is_late():
            item.add_marker(pytest.mark.skip(reason="inconclusive: no time is left"))
        while True:
            window, began = Window(), time.monotonic()
            SAID.clear()
            with limited():
                reports = runtestprotocol(item, log=False, nextitem=nextitem)
            bad = next((report for report in reports if report.failed), None)
            # else nothing was measured: a program is missing or wrong, or waits for what never comes
            excusable = bad and measures and not re.search(r"CalledProcessError|\bHung\b", last_line(bad.longrepr))
            disturbance = (window.disturbance() or next(iter(SAID), None)) if excusable else None
            self.repeated += time.monotonic() - began if failures else 0
            if not bad:
                break
            failures += 1
            undisturbed += not disturbance
            if undisturbed > 1 or failures > REPEATS or (disturbance and (self.repeated > REPEAT_ALL_S or is_late())):
                break
            if disturbance:
                self.wait_for_quiet()
            item.stash[LAST] = f"{bad.longrepr}"
            print(f"\n--- {item.nodeid}: attempt {failures} failed{' (' + disturbance + ')' if disturbance else ''}\n{bad.longrepr}\n")
        if bad and disturbance:
            bad.outcome, bad.longrepr = "skipped", (str(item.path), 0, f"Skipped: inconclusive: {disturbance}; {last_line(bad.longrepr)}")
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        self.sum_up(item, reports, failures)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def sum_up(self, item, reports, failures):
        skipped = next((report for report in reports if report.skipped), None)
        bad = next((report for report in reports if report.failed), None)
        if bad:
            self.note(item, "failed", last_line(bad.longrepr))
        elif skipped:
            _, found, why = str(skipped.longrepr[2]).rpartition("inconclusive: ")
            self.note(item, "inconclusive" if found else "skipped", why.removeprefix("Skipped: "))
        else:
            self.note(item, "flaky" if failures else "passed", last_line(item.stash[LAST]) if failures else "")


LAST = pytest.StashKey()
BEGAN = pytest.StashKey()


def last_line(text):
    """Of a failure: what was wrong, not where."""
    lines = [line for line in str(text).splitlines() if line.startswith("E  ")] or str(text).splitlines() or [""]
    return lines[0].removeprefix("E").strip()[:300]


def pytest_report_teststatus(report):
    if report.skipped and isinstance(report.longrepr, tuple) and "inconclusive: " in report.longrepr[2]:
        return "inconclusive", "i", "INCONCLUSIVE"
    return None


def pytest_configure(config):
    os.environ.setdefault(MARK, str(os.getpid()))
    config.addinivalue_line("markers", "measures: compares with clocks, or counts on a CPU: a disturbed machine can spoil it")
    config.pluginmanager.register(Verdicts(), "verdicts-of-dwell")
