# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell guest` with a kernel of another architecture. `make cross-arm64` makes what the tests need that boot one."""
import json
import os
import pathlib
import platform
import shutil
import subprocess

import pytest

from conftest import BUILD, run, sum_ns

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
ARM64 = pathlib.Path(f"{BUILD}-arm64")


def missing():
    """Why none can be booted; "": nothing is missing."""
    if not shutil.which("qemu-system-aarch64"):
        return "qemu-system-aarch64 is not installed"
    done = subprocess.run([TOP / "scripts/arm64", "options", ARM64], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.stderr.strip()


MISSING = missing()
booted = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def guest(*arguments, options=()):
    found = subprocess.run([TOP / "scripts/arm64", "options", ARM64], stdout=subprocess.PIPE, text=True, check=True)
    done = run("guest", *found.stdout.split(), "--accel", "tcg", *options, "--", *arguments, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout


@booted
def test_top_is_exact_inside():
    intervals = [json.loads(line) for line in guest("top", "-d", "2s", "--format", "json").splitlines()]
    assert len(intervals) >= 2
    for interval in intervals:
        assert interval["sources"] == ["bpf"] and interval["quality"]["torn"] == 0
        assert interval["threads"]
        for thread in interval["threads"]:
            assert sum_ns(thread["states_ns"]) == thread["observed_ns"]
    reasons = {thread["reason"] for interval in intervals for thread in interval["threads"]}
    assert any(reason.startswith(("rt_sig", "wait4", "ppoll", "epoll_pwait")) for reason in reasons), "named by its own table"


@booted
def test_doctor_and_load():
    assert "dwell top is exact here" in guest("doctor")
    report = json.loads(guest("load", "steady", "-d", "1s", "--json").splitlines()[-1])
    assert report["verdict"] == "pass" and report["machine"]["architecture"] == "aarch64"
    assert all(group["iterations"] > 0 for group in report["groups"])


@booted
def test_modules_are_loaded_with_what_they_need():
    """pktgen shows by its threads; the other needs two that are modules too."""
    options = ["--module", "virtio-console", "--module", "pktgen"]
    text = guest("top", "-d", "1s", "--format", "json", "--all", options=options)
    names = {thread["comm"] for line in text.splitlines() for thread in json.loads(line)["threads"]}
    assert {"kpktgend_0", "kpktgend_1"} <= names


@booted
def test_caches_that_cannot_be_set_are_remarked():
    found = subprocess.run([TOP / "scripts/arm64", "options", ARM64], stdout=subprocess.PIPE, text=True, check=True)
    for topology, caches, remarked in (("1n1l2c1t", 2, True), ("1n2l1c1t", 2, False)):
        done = run("guest", *found.stdout.split(), "--accel", "tcg", "--topology", topology, "--", "load", "steady", "-d",
                   "300ms", "--json", timeout=180)
        assert json.loads(done.stdout.splitlines()[-1])["machine"]["llcs"] == caches
        assert ("share a cache" in done.stderr) == remarked, done.stderr


@booted
def test_the_port_of_the_frames_gets_its_driver():
    """Without a serial line nothing would come, if virtio_console, a module of this kernel, were not loaded."""
    assert "verdict: pass" in guest("load", "steady", "-d", "500ms", options=["--append", "8250.nr_uarts=0"])


@booted
@pytest.mark.parametrize("request_, function, cause", [
    ("sleep 40", "wait_for_printer", "sleep"),
    ("spin 40", "compute_report", "cpu"),
    ("lock 40", "read_ledger", "lock"),
])
def test_blocked_finds_callers_whose_addresses_are_signed(request_, function, cause):
    service = (ARM64 / "tests/loop-service").resolve()
    text = guest("blocked", "-d", "3s", "--format", "json", "--", service, "1", "/tmp", request_, options=["--add", service])
    records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    found = [stall for stall in records if stall["type"] == "stall" and stall["function"] == function]
    assert len(found) >= 3
    # not all: an emulated CPU may take longer for what surrounds a wait
    assert cause in [stall["cause"] for stall in found]
    for stall in found:
        names = [frame["function"] for frame in stall["stack"]]
        assert names.index(function) < names.index("handle") < names.index("main"), names
        assert names[-1] == "_start", names


def image(path, mark, offset):
    path.write_bytes(b"MZ".ljust(offset, b"\0") + mark.ljust(1024, b"\0"))
    return path


def refused(*arguments, status):
    done = run("guest", *arguments, "--", "doctor", timeout=60)
    assert done.returncode == status and done.stdout == "", done
    return done.stderr


def test_programs_have_to_suit_the_kernel(tmp_path):
    """Reported before anything is booted."""
    here = platform.machine()
    arm64 = image(tmp_path / "Image", b"ARM\x64", 56)
    x86 = image(tmp_path / "bzImage", b"HdrS", 0x202)
    own, other = (x86, arm64) if here == "x86_64" else (arm64, x86)
    name = "aarch64" if here == "x86_64" else "x86_64"
    assert f"is for {name}, this dwell for {here}" in refused("--kernel", other, status=2)
    (tmp_path / "text").write_text("no program")
    assert "is not a program" in refused("--kernel", own, "--program", tmp_path / "text", status=2)
    assert "/nonexistent: No such file" in refused("--kernel", own, "--program", "/nonexistent", status=1)
    (tmp_path / "root").mkdir()
    text = refused("--kernel", own, "--sysroot", tmp_path / "root", status=1)
    assert "ld-linux" in text and f"which is not below {tmp_path}/root" in text
    assert "/nonexistent" in refused("--kernel", own, "--sysroot", "/nonexistent", status=1)
    text = refused("--kernel", other, "--accel", "kvm", status=2)
    assert f"KVM runs those of this machine only, {here}" in text
    assert "there are no modules of the kernel" in refused("--kernel", own, "--module", "loop", status=1)
    zboot = image(tmp_path / "zboot", b"zimg", 4)
    assert "zboot" in refused("--kernel", zboot, status=2)
