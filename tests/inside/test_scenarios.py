# SPDX-License-Identifier: GPL-2.0-or-later
"""Every scenario that is built in, in a guest whose topology lets it run (test_guest_topologies.py)."""
import subprocess

import pytest

from conftest import DWELL
from loads import Load

LINES = subprocess.run([DWELL, "load", "--list=scenarios"], capture_output=True, text=True).stdout.splitlines()
SCENARIOS = [line.split()[0] for line in LINES if line.startswith("  ")]
#: What a check finds out about scheduling is no matter of dwell's where the CPUs themselves are run by a busy host.
OF_TIMING = {"max-gap", "max-spread", "not-starved"}


def test_there_are_scenarios():
    assert len(SCENARIOS) > 10


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name):
    load = Load(name, "-d", "2s", timeout=120)
    assert load.run is not None, load.error
    wrong = [finding for finding in load.checks if finding["verdict"] not in ("pass", "skip") and finding["check"] not in OF_TIMING]
    assert not wrong, wrong
    assert all(worker["completed"] for worker in load.workers)
    assert load.status == {"pass": 0, "inconclusive": 0, "fail": 3}[load.run["verdict"]], (load.status, load.run["verdict"])
