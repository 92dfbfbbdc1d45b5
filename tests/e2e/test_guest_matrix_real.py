# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell guest --matrix` with real guests. DWELL_GUEST_KERNEL names a kernel to try it with."""
import os
import pathlib
import random
import shutil
import signal
import time

import pytest

from conftest import run
from loads import Trace, processes
from matrices import Matrix, nothing_goes_on, wait_until  # noqa: F401

KERNEL = os.environ.get("DWELL_GUEST_KERNEL")
pytestmark = [
    pytest.mark.skipif(not KERNEL, reason="DWELL_GUEST_KERNEL names no kernel"),
    pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="QEMU is not installed"),
]


#: What a load that is right comes to: where the host is busy it may get too little of a CPU.
JUDGED = ("pass", "inconclusive")


def real(directory, text):
    return Matrix(directory, f"kernels: {pathlib.Path(KERNEL).resolve()}\n" + text, fake=False)


def beside_kernel(name):
    path = pathlib.Path(KERNEL).resolve().parent / name
    if not path.exists():
        pytest.skip(f"there is no {name} beside the kernel")
    return path


def qemus(mark):
    """Those with the mark in their kernel's command line: others may have theirs."""
    return [pid for pid in processes(mark) if pid in processes("qemu-system")]


def test_topologies_have_verdicts(tmp_path):
    matrix = real(tmp_path, "topologies: [2n2l1c1t, 1n2l1c2t]\ncommand: load steady -d 1s --check max-gap=20s\n")
    status, report = matrix.json("--accel", "tcg", "--out", matrix.out)
    assert status in (0, 4), report["cells"]
    for cell in report["cells"]:
        assert (cell["verdict"], cell["guest"]["exit"]) in zip(JUDGED, (0, 4)), cell
        assert cell["guest"]["accel"] == "tcg" and cell["guest"]["release"][0].isdigit()
        assert 0 < cell["guest"]["boot_ns"] < cell["guest"]["wall_ns"] < cell["elapsed_ns"]
    assert matrix.left() == []


def test_the_scheduler_that_dies_and_the_check_that_fails_are_named(tmp_path):
    simple, qmap = beside_kernel("scx_simple"), beside_kernel("scx_qmap")
    matrix = real(tmp_path, f"""
schedulers: [{simple}, {qmap} -e 50]
command: load --work futex-ping-pong -d 1s --check wake-p99=1ns
""")
    status, report = matrix.json("--accel", "tcg")
    alive, dead = report["cells"]
    assert status == 3
    assert alive["verdict"] == "fail" and [check["check"] for check in alive["checks"]] == ["wake-p99"]
    assert alive["guest"]["scheduler"]["state"] == "alive"
    assert dead["verdict"] == "died" and "qmap" in dead["reason"], dead
    assert dead["guest"]["scheduler"]["after_ns"] > 0 and len(dead["guest"]["scheduler"]["dump"]) > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bzImage", "matrix.yaml", "scx"], "no dumps lie about"


def test_what_fails_runs_again_and_leaves_its_files(tmp_path):
    matrix = real(tmp_path, f"""
schedulers: [none, {beside_kernel("scx_qmap")} -e 300]
command: load --work futex-ping-pong -d 3s --check wake-p99=1ns
""")
    status, report = matrix.json("--accel", "tcg", "--out", matrix.out)
    assert status == 3 and [cell["verdict"] for cell in report["cells"]] == ["fail", "died"]
    for cell, mark in zip(report["cells"], ("the end: wake-p99: ", "the scheduler died: "), strict=True):
        again = cell["again"]
        assert again["verdict"] == cell["verdict"] and Trace(again["trace"]).mark["name"].startswith(mark), again
        shown = run("report", again["recording"])
        assert shown.returncode == 0 and "exact (bpf)" in shown.stdout, shown


def test_kernels_that_are_none_cost_nothing_else(tmp_path):
    (tmp_path / "none").write_text("no kernel at all\n")
    matrix = Matrix(tmp_path, f"kernels: [{tmp_path}/none, {pathlib.Path(KERNEL).resolve()}]\ncommand: doctor\n", fake=False)
    status, report = matrix.json("--accel", "tcg")
    assert status == 1
    first, second = report["cells"]
    assert first["verdict"] == "error" and f"{tmp_path}/none is no" in first["reason"]
    assert second["verdict"] == "pass"


def test_an_interrupted_one_is_gone_on_with(tmp_path):
    mark = f"dwell_mark={tmp_path.name}-{os.getpid()}"
    matrix = real(tmp_path, "repeat: 2\ncommand: load steady -d 1s --check max-gap=20s\n")
    options = ["--accel", "tcg", "--append", mark, "--jobs", 1, "--out", matrix.out]
    process = matrix.start(*options)
    wait_until(lambda: matrix.out.exists() and matrix.verdicts()[0] and qemus(mark))
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert error == "dwell guest: interrupted: 1 of 2 cells done; go on with --resume\n"
    first, missing = matrix.verdicts()
    assert first in JUDGED and missing is None and not qemus(mark) and matrix.left() == []
    done = matrix.run(*options, "--resume")
    first_again, second = matrix.verdicts()
    assert done.returncode in (0, 4) and first_again == first and second in JUDGED


def test_no_guest_is_left_when_it_is_killed(tmp_path):
    mark = f"dwell_mark={tmp_path.name}-{os.getpid()}"
    matrix = real(tmp_path, "topologies: [1n1l2c1t, 1n2l1c1t]\ncommand: load --work spin-wait -d 60s\n")
    rng = random.Random(7)
    for number in range(int(os.environ.get("DWELL_GUEST_KILLS", "6"))):
        process = matrix.start("--accel", "tcg", "--append", mark, "--jobs", 2)
        wait_until(lambda: qemus(mark))
        time.sleep(rng.random() * 3)
        process.send_signal([signal.SIGKILL, signal.SIGTERM, signal.SIGINT][number % 3])
        process.communicate(timeout=60)
        wait_until(lambda: not qemus(mark) and not processes(str(tmp_path)), seconds=10)
