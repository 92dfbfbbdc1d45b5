# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell guest`: the other commands in a virtual machine. DWELL_GUEST_KERNEL names a kernel to try it with."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import DWELL, run
from loads import processes, spec

KERNEL = os.environ.get("DWELL_GUEST_KERNEL")
pytestmark = [
    pytest.mark.skipif(not KERNEL, reason="DWELL_GUEST_KERNEL names no kernel"),
    pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="QEMU is not installed"),
]


def guest(*arguments, options=(), **others):
    return run("guest", "--kernel", pathlib.Path(KERNEL).resolve(), "--accel", "tcg", *options, "--", *arguments, timeout=120,
               **others)


def refused(*arguments, status, **options):
    done = run("guest", *arguments, timeout=60, **options)
    assert done.returncode == status and done.stdout == "", done
    return done.stderr


def no_qemu(seconds=5):
    deadline = time.monotonic() + seconds
    while processes("qemu-system-x86_64") and time.monotonic() < deadline:
        time.sleep(0.02)
    return not processes("qemu-system-x86_64")


def test_a_load_runs_inside_with_its_report(tmp_path):
    """cpusets and limits need controllers that this host may not have: the guest's kernel has them."""
    path = spec(tmp_path, """
name: inside
duration: 1s
cgroups:
  - {name: a, cpuset: "llc:0", cpu_max: 50%, work: {type: spin-wait, workers: 1}}
  - {name: b, cpuset: "llc:1", work: {type: spin-wait, workers: 2}}
phases:
  - hold: 50%
  - {ops: [{freeze: b}], hold: 20%}
  - {ops: [{thaw: b}, {swap-cpusets: [a, b]}], hold: 30%}
checks: {not-starved: true, isolation: true}
""")
    done = guest("load", path, "--json", options=["--topology", "2n2l1c1t", "--memory", "768M"])
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    report = lines[-1]
    assert report["type"] == "load" and report["verdict"] == "pass"
    machine = report["machine"]
    assert (machine["cpus"], machine["llcs"], machine["nodes"]) == (2, 2, 2)
    assert 600e6 < machine["memory_bytes"] < 768 * 2**20
    half, whole = report["groups"]
    assert half["cpu_time_ns"] < 0.65 * half["wall_time_ns"], "cpu.max holds it"
    assert whole["cpu_time_ns"] / whole["wall_time_ns"] > 0.2
    assert sorted(half["cpus_used"]) == [0, 1], "it used both, one after the other"


def test_exit_codes_come_back():
    assert guest("load", "--work", "no-such-type").returncode == 2
    done = guest("load", "--work", "spin-wait", "-d", "300ms", "--check", "max-gap=1ns")
    assert done.returncode == 3 and "verdict: fail" in done.stdout


def test_top_is_exact_inside():
    done = guest("top", "-d", "1s", "-i", "500ms", "--format", "json")
    intervals = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(intervals) >= 2
    for interval in intervals:
        assert interval["sources"][0] == "bpf"
        for thread in interval["threads"]:
            assert sum(thread["states_ns"].values()) == thread["observed_ns"]


def test_mistakes(tmp_path):
    (tmp_path / "none").write_text("no kernel")
    assert "is no kernel image" in refused("--kernel", tmp_path / "none", "--", "doctor", status=2)
    assert "cannot read the kernel" in refused("--kernel", "/nonexistent", "--", "doctor", status=1)
    assert "which command" in refused("--kernel", KERNEL, status=2)
    assert "not tried" in refused("--kernel", KERNEL, "--", "guest", status=2)
    assert "parted evenly" in refused("--kernel", KERNEL, "--topology", "2n3l1c1t", "--", "doctor", status=2)
    assert "auto, kvm or tcg" in refused("--kernel", KERNEL, "--accel", "fast", "--", "doctor", status=2)
    assert "too much for its memory" in refused("--kernel", KERNEL, "--memory", "64M", "--", "doctor", status=1)
    assert "/nonexistent" in refused("--kernel", KERNEL, "--add", "/nonexistent", "--", "doctor", status=1)
    empty = dict(os.environ, PATH=str(tmp_path))
    assert "install qemu" in refused("--kernel", KERNEL, "--accel", "tcg", "--", "doctor", status=1, env=empty)
    text = refused("--kernel", KERNEL, "--accel", "tcg", "--boot-timeout", "300ms", "--", "doctor", status=1)
    assert "did not boot within 300ms" in text
    text = refused("--kernel", KERNEL, "--accel", "tcg", "--append", "rdinit=/nonexistent", "--", "doctor", status=1)
    assert "panic" in text.lower() or "ended before the guest had booted" in text, text
    assert no_qemu()


def test_nothing_is_left_when_it_is_killed():
    rng = random.Random(6)
    for number in range(int(os.environ.get("DWELL_GUEST_KILLS", "10"))):
        process = subprocess.Popen(
            [DWELL, "guest", "--kernel", KERNEL, "--accel", "tcg", "--", "load", "--work", "spin-wait", "-d", "60s"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.random() * 3)
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        assert process.wait(timeout=10) in (-signal.SIGKILL, -signal.SIGTERM, 1)
        assert no_qemu()


def test_a_scheduler_and_a_script_are_found_where_the_command_runs(tmp_path):
    """By relative names; a script brings what it is run by."""
    simple = pathlib.Path(KERNEL).resolve().parent / "scx_simple"
    if not simple.exists():
        pytest.skip("there is no scx_simple beside the kernel")
    shutil.copy(simple, tmp_path / "scx_mine")
    (tmp_path / "tell").write_text("#!/bin/sh -e\nread name < /sys/kernel/sched_ext/root/ops\necho $1 $name\n")
    (tmp_path / "tell").chmod(0o755)
    done = guest("./tell", "it is", options=["--scheduler", "./scx_mine"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "it is simple\n"), done.stderr


@pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="KVM is not tried without /dev/kvm")
def test_what_kvm_could_not_run_is_no_error_of_what_emulation_could(tmp_path):
    qemu = tmp_path / "qemu-system-x86_64"
    qemu.write_text(f'#!/bin/sh\ncase "$*" in *"-accel kvm"*) exit 1;; esac\nexec {shutil.which(qemu.name)} "$@"\n')
    qemu.chmod(0o755)
    path = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = run("guest", "--kernel", KERNEL, "--result", tmp_path / "result", "--", "load", "steady", "-d", "200ms", timeout=120,
               env=path)
    result = json.loads((tmp_path / "result").read_text())
    assert (done.returncode, result["accel"], result["error"]) == (0, "tcg", None)
    assert "emulated (TCG)" in done.stderr
