# SPDX-License-Identifier: GPL-2.0-or-later
"""Each allocation fails once: a command ends with an error, or with the same output. Never with another one.

DWELL_ALLOCATIONS=all tries every allocation; else every 25th, and the last of each command, where its result is made.
"""
import json
import os
import pathlib
import subprocess

import pytest

from conftest import DWELL

TESTS = pathlib.Path(__file__).parents[1]
COMMANDS = {
    "top, table": ["top", "--from", "mixed.dwell", "--format", "table"],
    "top, JSON by cgroup": ["top", "--from", "mixed.dwell", "--format", "json", "--by", "cgroup"],
    "top, CSV by process": ["top", "--from", "mixed.dwell", "--format", "csv", "--by", "process"],
    "report": ["report", "mixed.dwell"],
    "report, JSON": ["report", "mixed.dwell", "--format", "json"],
    "blocked, table": ["blocked", "--from", "blocked.dwell", "--format", "table"],
    "blocked, JSON": ["blocked", "--from", "blocked.dwell", "--format", "json"],
    "compare": ["compare", "blocked.dwell", "blocked.dwell"],
    "compare, threads": ["compare", "mixed.dwell", "mixed.dwell", "--all"],
    "compare, threads by a field": ["compare", "mixed.dwell", "mixed.dwell", "--format", "json", "--sort", "program"],
    "load, dry": ["load", "mixed-workloads", "--seed", "1", "--dry-run"],
}
LAST = 40


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "no-memory.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, TESTS / "fixtures" / "attacks" / "no-memory.c"], check=True)
    return path


def run(library, arguments, **environment):
    # without memory for a locale, bars are drawn in ASCII
    return subprocess.run(
        [DWELL, *arguments], cwd=TESTS / "golden", capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
        env=dict(os.environ, TZ="UTC", LC_ALL="C", LD_PRELOAD=str(library), **environment),
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_no_memory_is_an_error(library, tmp_path, name):
    whole = run(library, COMMANDS[name], NO_MEMORY_COUNT=str(tmp_path / "count"))
    count = int((tmp_path / "count").read_text())
    assert whole.returncode == 0 and count > 20, whole
    step = 1 if os.environ.get("DWELL_ALLOCATIONS") == "all" else 25
    failed = 0
    for number in sorted({*range(1, count + 1, step), *range(max(1, count - LAST), count + 1)}):
        for more in ({}, {"NO_MEMORY_FROM": "1"}):
            done = run(library, COMMANDS[name], NO_MEMORY_AT=str(number), **more)
            where = f"allocation {number} of {count}{' and all after it' if more else ''}: {done}"
            assert done.returncode >= 0, where
            assert done.returncode != 0 or done.stdout == whole.stdout, where
            assert done.returncode == 0 or done.stderr, where
            failed += done.returncode != 0
    assert failed, "nothing failed: is the library used?"


#: command -> its arguments; on the machine as it is, whose output is never the same twice
LIVE = {
    "doctor": ["doctor"],
    "top": ["top", "-p", "self", "-i", "50ms", "-c", "2", "--format", "json"],
    "record": ["record", "-p", "self", "-i", "50ms", "-d", "100ms", "--force", "-o", "live.dwell"],
    "blocked": ["blocked", "-p", "self", "-d", "100ms", "--format", "json"],
    "load": ["load", "steady", "-d", "100ms", "--json"],
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("name", LIVE)
def test_no_memory_while_it_measures(library, tmp_path, name):
    """An error or a whole result; no crash, and no word about the machine that is about memory instead."""
    arguments = [str(os.getpid()) if word == "self" else word for word in LIVE[name]]
    arguments = [str(tmp_path / word) if word.endswith(".dwell") else word for word in arguments]
    whole = run(library, arguments, NO_MEMORY_COUNT=str(tmp_path / "count"))
    count = int((tmp_path / "count").read_text())
    assert whole.returncode in (0, 1) and count > 50, whole
    # those of the kernel's types in libbpf are nearly all of them
    step = 1 if os.environ.get("DWELL_ALLOCATIONS") == "all" else max(1, count // 12)
    for number in range(1, count + 1, step):
        done = run(library, arguments, NO_MEMORY_AT=str(number))
        where = f"allocation {number} of {count}: {done}"
        assert done.returncode >= 0, where
        assert done.returncode == 0 or done.stderr or done.stdout, where
        assert b"no /sys/kernel/btf" not in done.stdout + done.stderr, where
        if done.returncode == 0 and "json" in "".join(arguments):
            assert [json.loads(line) for line in done.stdout.split(b"\n")[:-1]], where
