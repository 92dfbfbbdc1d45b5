# SPDX-License-Identifier: GPL-2.0-or-later
"""The other commands, inside a guest (test_guest_truth.py): what they leave in the working directory comes back."""
import json
import os
import threading
import time

import pytest

from conftest import WORKLOAD, run
from services import Blocked, loop_service, stall_of


@pytest.mark.skipif(not os.path.exists("/sys/kernel/tracing/events/syscalls"), reason="this kernel has no CONFIG_FTRACE_SYSCALLS")
def test_stalls_are_found():
    with loop_service() as service:
        service.ask("good", 1)
        blocked = Blocked(service.process.pid)
        asked = [service.ask("sleep", 300), service.ask("spin", 300)]
        service.settle()
        stalls, summary = blocked.end()
    (_, spun, cpu) = asked[1]
    # it spins by the clock: what others had of that time it waited for its CPU
    for (start, duration, _), cause in zip(asked, ("sleep", "cpu" if 2 * cpu > spun else "runnable")):
        stall = stall_of(stalls, start, duration)
        assert stall and stall["cause"] == cause, (asked, stalls, summary, blocked.errors)


def test_a_recording_is_made():
    done = run("record", "-o", "inside.dwell", "-i", "100ms", "--", WORKLOAD, "mixed", "1")
    assert done.returncode == 0, done.stderr
    report = run("report", "inside.dwell", "--format", "json")
    assert report.returncode == 0, report.stderr
    whole = json.loads(report.stdout.splitlines()[0])
    with open("inside.json", "w") as file:
        json.dump(whole, file)


def works(ended):
    while not ended.is_set():
        sum(range(500))


def sleeps(ended):
    while not ended.is_set():
        time.sleep(0.3)


def test_code_is_profiled():
    """Of this very interpreter: what runs as samples, with the function that this is; and what waits."""
    ended = threading.Event()
    threads = [threading.Thread(target=target, args=(ended,)) for target in (works, sleeps)]
    for thread in threads:
        thread.start()
    try:
        done = run("profile", "-p", os.getpid(), "-d", "2s", "--state", "all", "--format", "json", timeout=120)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    states = {(frame["function"], path["state"]) for path in result["paths"] for frame in path["stack"]}
    assert ("works", "user") in states, states
    assert {state for function, state in states if function == "__x64_sys_clock_nanosleep"} & {"sleep"}, states
