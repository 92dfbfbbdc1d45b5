# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that /proc shows otherwise than most: without a first thread, below another root, of 32 bits."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import parse, run
from matrices import wait_until
from services import FIXTURES, Blocked
from test_libraries import compile_into


def build_ticks(directory, *flags):
    return compile_into(directory / "dwell-ticks", "gcc", "-O1", "-g", *flags, FIXTURES / "ticks.c", "-pthread")


@contextlib.contextmanager
def ticking(*words):
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def sleepers(pid):
    """The functions of its program in which `dwell profile` finds that it sleeps."""
    done = run("profile", "-p", pid, "-d", "1s", "--state", "sleep", "--format", "json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    return {row["function"] for row in result["functions"] if row["self_ns"] > 100_000_000}


def blamed(pid):
    """The functions of its program in which `dwell blocked` finds stalls that sleep."""
    stalls, summary = Blocked(pid, "-d", "2s").wait()
    assert summary["runtime"] == "loop" and len(stalls) > 5, stalls
    return {stall["function"] for stall in stalls if stall["cause"] == "sleep"}


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_whose_first_thread_has_exited(tmp_path):
    """/proc/PID is a zombie's then, without maps and program; those of its threads have them."""
    with ticking(build_ticks(tmp_path), "thread") as pid:
        wait_until(lambda: state_of(pid) == "Z")
        done = run("top", "-n", "dwell-ticks", "-c", "1", "-i", "100ms", "--format", "json")
        assert done.returncode == 0, done.stderr
        assert {row["pid"] for row in parse(done.stdout)[0][0]["threads"]} == {pid}
        assert sleepers(pid) == {"print_ticket"}
        assert blamed(pid) == {"print_ticket"}


def copy_into(root, program):
    """The program, and what it is linked with, at their paths."""
    linked = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for file in [str(program), *re.findall(r"(/\S+) \(0x", linked)]:
        copy = root / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)


def test_a_process_whose_root_is_a_directory(tmp_path):
    """Its C library lies below that directory, and is the system's all the same."""
    program = build_ticks(tmp_path)
    root = tmp_path / "root"
    copy_into(root, program)
    with ticking("chroot", root, program) as pid:
        assert sleepers(pid) == {"print_ticket"}
        assert blamed(pid) == {"print_ticket"}


@pytest.mark.parametrize("runtime", [[], ["--runtime", "loop"]])
def test_a_32_bit_program(tmp_path, runtime):
    """Its loop and its functions are not found, and dwell says why."""
    try:
        program = build_ticks(tmp_path, "-m32")
    except subprocess.CalledProcessError:
        pytest.skip("gcc-multilib is not installed")
    with ticking(program) as pid:
        done = run("blocked", "-p", pid, "-d", "1s", *runtime)
        assert done.returncode == 1 and f"process {pid} is a 32-bit program" in done.stderr, done.stderr
        done = run("profile", "-p", pid, "-d", "1s")
        assert re.search(r"^not measured: stacks: \S*dwell-ticks is a 32-bit program", done.stdout, re.M), done.stdout


@pytest.mark.measures
def test_of_many_loops_each_stall_has_its_function(tmp_path):
    """There is room for the stacks of some workers only, which may not keep it when their turns are over."""
    with ticking(build_ticks(tmp_path), str(max(100, 8 * os.cpu_count()))) as pid:
        stalls, summary = Blocked(pid, "-d", "4s").wait()
    asleep = [stall["function"] for stall in stalls if stall["cause"] == "sleep"]
    assert len(asleep) > 200 and asleep.count("print_ticket") >= 0.95 * len(asleep), summary
