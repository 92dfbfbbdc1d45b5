# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits inside Java's machine: for monitors (`synchronized`), and while it stops all threads, which its locks do by condition variables."""
import pathlib
import shutil
import subprocess

import pytest

from conftest import parse, run, totals

PROGRAM = pathlib.Path(__file__).parents[1] / "fixtures" / "JavaWaits.java"
#: Debian's, and others that are there.
MACHINES = {path.parents[1].name: path for path in sorted(pathlib.Path("/usr/lib/jvm").glob("*/bin/java"))
            if not path.parents[1].is_symlink()}
ON_QUEUE = {"user", "kernel", "runnable", "stolen", "irq"}

pytestmark = [pytest.mark.measures, pytest.mark.skipif(not MACHINES or not shutil.which("javac"), reason="default-jdk-headless is not installed")]


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    directory = tmp_path_factory.mktemp("java")
    subprocess.run(["javac", "--release", "11", "-d", directory, PROGRAM], check=True, capture_output=True)
    return directory


@pytest.mark.parametrize("name", MACHINES)
def test_waits_of_java(name, classes):
    """What began before dwell did, and what begins later; the first second is for finding the names."""
    with subprocess.Popen([MACHINES[name], "-cp", classes, "JavaWaits"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            done = run("top", "--blame", "-p", process.pid, "-i", "1s", "-c", "4", "--format", "json", timeout=60)
        finally:
            process.kill()
    intervals, _ = parse(done.stdout)
    threads = {thread["name"]: thread for thread in totals(intervals[1:]).values()}
    seen = 0
    for comm, thread in threads.items():
        _, _, right = comm.partition("=")
        allowed = {right, "lock"} if right == "sleep" else {right}  # a collection holds up whom its time wakes
        waits = {state: ns for state, ns in thread["states"].items() if state not in ON_QUEUE | allowed}
        if right:
            seen += 1
            assert sum(waits.values()) < 0.02 * thread["observed_ns"], (comm, thread["states"])
    assert seen == 6, list(threads)
    # held up by each collection of garbage, and by nothing else
    stopped = threads["stopped"]["states"]
    assert stopped["lock"] > 0 and stopped["unknown"] == 0 and stopped["idle"] < 0.02 * threads["stopped"]["observed_ns"], stopped
    # who asks for it waits for it
    collector = threads["collector"]["states"]
    assert collector["lock"] > 0 and collector["idle"] < 0.02 * threads["collector"]["observed_ns"], collector
    blamed = {(row["victim"]["comm"], row["culprit"]["comm"]) for interval in intervals[1:] for row in interval["blame"]
              if row["state"] == "lock" and row["culprit"]["kind"] == "thread"}  # fmt: skip
    assert ("stopped", "VM Thread") in blamed and ("turns=lock", "keeper") in blamed, blamed
    keeper = threads["keeper"]["states"]
    assert keeper["sleep"] > 0.5 * threads["keeper"]["observed_ns"] and keeper["idle"] < 0.02 * threads["keeper"]["observed_ns"], keeper


@pytest.mark.parametrize("name", MACHINES)
def test_where_java_waits(name, classes):
    """Its code has no names without a list: then by what it has called of its machine, and how to get the names."""
    with subprocess.Popen([MACHINES[name], "-cp", classes, "JavaWaits"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            done = run("profile", "-p", process.pid, "--state", "lock,sleep", "-d", "2s", timeout=60)
        finally:
            process.kill()
    assert "Compiler.perfmap" in done.stdout, done.stdout
    first = done.stdout.partition("FUNCTION")[2].splitlines()[1:4]
    assert any("JVM_Sleep" in line or "Sleep" in line for line in first) and any("onitor" in line for line in first), done.stdout
    assert not any("futex" in line for line in first), done.stdout
