# SPDX-License-Identifier: GPL-2.0-or-later
"""dwell's own tests inside guests: its truth under each kernel that is named.

One boot runs many tests; what is run inside, and cannot be outside, is in tests/inside.
"""
import json
import os
import re
import subprocess

import pytest

import inside
from conftest import run

NOT = inside.why_not()
# no clock inside an emulated guest knows when the host took its CPU away
pytestmark = [pytest.mark.skipif(bool(NOT), reason=NOT or ""), pytest.mark.measures]

INSIDE = inside.TESTS.parent / "inside"
KERNELS = inside.kernels()
SCHED_EXT = inside.sched_ext_kernel()

#: Guests have no disk, and Debian's kernels keep zram in a module.
WITHOUT_DISK = ("test_states_of_files", "test_swap_under_a_memory_limit")
#: CONFIG_SYSVIPC, CONFIG_FTRACE_SYSCALLS
MINIMAL = ("test_states[semop]", "test_stalls_are_found")
#: zram has done with a file's page before a thread could wait for it.
NO_WAIT = "test_swap_under_a_memory_limit[file]"


@pytest.mark.parametrize("name", KERNELS)
def test_truth(tmp_path, name):
    """Every state, against what threads measured of themselves; stalls; a recording that is shown out here."""
    zram = KERNELS[name] == SCHED_EXT
    results = inside.run_inside(KERNELS[name], tmp_path, inside.TESTS / "test_truth.py", INSIDE / "test_commands.py", disk=zram,
                                parts=2, always=["test_a_recording_is_made"], arguments=[f"--deselect=e2e/test_truth.py::{NO_WAIT}"] if zram else [])
    results.check(skipped=MINIMAL if zram else WITHOUT_DISK)
    shown = run("report", tmp_path / "inside.dwell", "--format", "json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout.splitlines()[0]) == json.loads((tmp_path / "inside.json").read_text())


@pytest.mark.parametrize("name", KERNELS)
def test_the_clock_of_the_day_is_set(tmp_path, name):
    """While `dwell serve` counts, keeps and pushes; this machine's is left alone."""
    # dwell loads it when it pushes
    found = re.search(r"libcurl\.so\.4 .*=> (/\S+)", subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout)
    if not found:
        pytest.skip("libcurl is not installed")
    added = [word for file in (found[1], *inside.libraries(found[1])) for word in ("--add", file)]
    inside.run_inside(KERNELS[name], tmp_path, INSIDE / "test_clock.py", options=added).check()


@pytest.mark.parametrize("name", KERNELS)
def test_verify(name):
    """What this kernel has of the calls of `dwell verify`. Emulated, a moment that the host took is late, and no clock in there shows it: 5 %."""
    calls = [line.split()[0] for line in run("verify", "--list").stdout.splitlines() if "a call" in line]
    done = run("guest", "--kernel", KERNELS[name], "--accel", "tcg", "--", "verify", "--quick", "--limit", "5", "--json",
               "--patterns", ",".join(calls), timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stderr
    result = json.loads(lines[-1])
    wrong = [(pattern["name"], pattern["verdict"], pattern["why"]) for pattern in result["results"] if pattern["verdict"] == "fail"]
    assert not wrong and not result["unseen"] and result["verdict"] != "fail", wrong
    assert result["passed"] >= 45 and result["reasons_right"] == result["reasons"] > 45, result


@pytest.mark.parametrize("name", KERNELS)
def test_doctor_distinguishes_kernels(name, tmp_path):
    done = run("guest", "--kernel", KERNELS[name], "--accel", "tcg", "--result", tmp_path / "result.json", "--", "doctor", "--json",
               timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    found = {check["name"]: check["found"] for check in report["checks"]}
    release = json.loads((tmp_path / "result.json").read_text())["release"]
    assert report["exact"] and found["kernel"] == f"Linux {release}, x86_64"
    # the version of taskstats went up with 6.4
    assert found["taskstats"] == ("version 13" if release.startswith("6.1.") else "version 14")
    for controller in ("cpuset", "cpu", "io", "memory", "pids"):
        assert controller in found["cgroup"].split("controllers: ")[1].split(), found
    assert found["namespaces"] == "the machine's own"
    # Debian's forbid others to use perf (3), the kernel itself does not go so far
    assert found["perf"].startswith("perf_event_paranoid is " + ("3" if "-cloud-" in release else "2"))


