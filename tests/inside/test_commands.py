# SPDX-License-Identifier: GPL-2.0-or-later
"""The other commands, inside a guest (test_guest_truth.py): what they leave in the working directory comes back."""
import json
import os

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
