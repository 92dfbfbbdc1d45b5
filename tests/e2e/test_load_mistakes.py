# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell load` with a spec that cannot work: it names the place and the fix, before anything is forked."""
import os
import pathlib
import subprocess

import pytest

from conftest import DWELL, run
from loads import CGROUPS, Load, refused, spec

NODES = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1


@pytest.mark.parametrize("arguments, words", [
    ([], ["--work TYPE", "--list"]),
    (["--sweep", "load=10..200%", "steady", "--dry-run"], ["--sweep: load: '200%' is not a share"]),
    (["--print", "steady", "--dry-run"], ["they take no --dry-run"]),
    (["--list", "--ab", "steady", "steady"], ["--list and --ab: one of them"]),
    (["--work", "futex-pingpog"], ["unknown work type", "did you mean 'futex-ping-pong'"]),
    (["--work", "xyzzy"], ["unknown work type", "--list"]),
    (["--work", "pipe-io:burst_itres=3"], ["pipe-io has no parameter", "did you mean 'burst_iters'"]),
    (["--work", "pipe-io:burst_iters"], ["is not NAME=VALUE"]),
    (["--work", "pipe-io:burst_iters=-1"], ["burst_iters", "not a whole number"]),
    (["--work", "bursty:burst=5parsecs"], ["burst", "bad duration", "200us"]),
    (["--work", "cache-pressure:size=3Q"], ["size", "bad size"]),
    (["--work", "futex-fan-out:fan_out=0"], ["fan_out", "too small; at least 1"]),
    (["--work", "pipe-io", "--workers", "3"], ["groups of 2", "use 2 or 4"]),
    (["--work", "pipe-io", "--workers", "0"], ["--workers", "from 1"]),
    (["--workers", "3"], ["follow its --work"]),
    (["--work", "spin-wait", "--cpus", "0-9000"], ["bad list"]),
    (["--work", "spin-wait", "--cpus", "4095"], ["cannot be used here"]),
    (["--work", "spin-wait", "--cpus", "disjoint:0/999"], ["impossible", "cannot be divided into 999"]),
    (["--work", "spin-wait", "--cpus", "llc:99"], ["last-level cache", "numbered from 0"]),
    (["--work", "spin-wait", "--cpus", "numa:99"], ["NUMA node"]),
    (["--work", "spin-wait", "--affinity", "sometimes"], ["unknown affinity", "smt-pair"]),
    (["--work", "spin-wait", "--policy", "fifo"], ["priority from 1 to 99"]),
    (["--work", "spin-wait", "--policy", "fifo:100"], ["priority from 1 to 99"]),
    (["--work", "spin-wait", "--policy", "deadline:5ms/1ms/10ms"], ["RUNTIME/DEADLINE/PERIOD"]),
    (["--work", "spin-wait", "--policy", "fast"], ["unknown policy"]),
    (["--work", "spin-wait", "--nice", "99"], ["-20 to 19"]),
    (["--work", "spin-wait", "--mode", "thred"], ["did you mean 'thread'?"]),
    (["--work", "fork-exit", "--mode", "thread"], ["processes of its own", "thread"]),
    (["--work", "cgroup-churn", "--mode", "thread"], ["cgroup of its process", "thread"]),
    (["--work", "spin-wait", "-d", "0"], ["more than zero"]),
    (["--work", "spin-wait", "-d", "0s"], ["more than zero"]),
    (["--work", "spin-wait", "--seed", "x"], ["--seed"]),
    (["--work", "spin-wait", "--check", "max-gpa=1s"], ["unknown check", "did you mean 'max-gap'"]),
    (["--work", "spin-wait", "--check", "max-gap=soon"], ["max-gap", "bad duration"]),
    (["--work", "spin-wait", "--check", "max-gap"], ["max-gap needs a limit: a time, as 200us"]),
    (["--work", "spin-wait", "--check", "max-spread"], ["max-spread needs a limit: a share, as 15%"]),
    (["--work", "spin-wait", "--check", "max-spread=150%"], ["max-spread", "share"]),
    (["--work", "spin-wait", "--format", "xml"], ["table, json, jsonl, csv"]),
    (["--work", "spin-wait", "steady"], ["cannot be combined"]),
    (["steady", "oversubscribed"], ["one spec at a time"]),
    (["--work", "custom"], ["which library"]),
    (["--work", "custom:library=/nonexistent.so"], ["cannot load it", "nonexistent"]),
    (["--work", "exec"], ["which program"]),
    (["--work", "exec:command=no-such-program-here"], ["no program 'no-such-program-here'"]),
    (["--work", "exec:command=ls | wc"], ["cannot be split into words"]),
    (["--list", "futex-pingpog"], ["what"]),
])
def test_mistakes_in_the_command_line(arguments, words):
    if arguments[:1] == ["--list"]:
        text = refused("--list=futex-pingpog")
        assert "did you mean" in text
        return
    text = refused(*arguments)
    for word in words:
        assert word in text, text


def test_a_library_without_the_function(tmp_path):
    (tmp_path / "empty.c").write_text("int nothing;\n")
    subprocess.run(["cc", "-shared", "-o", tmp_path / "empty.so", tmp_path / "empty.c"], check=True)
    assert "has no function 'dwell_work'" in refused("--work", f"custom:library={tmp_path}/empty.so")


@pytest.mark.parametrize("text, place, words", [
    ("", "", ["nothing in it"]),
    ("[1, 2", ":", ["not YAML"]),
    ("\tx: 1", ":1:", ["not YAML"]),
    ("- a\n- b\n", ":1:1:", ["a spec must be a mapping"]),
    ("wrok: {type: spin-wait}\n", ":1:1:", ["has no key 'wrok'", "did you mean 'work'"]),
    ("work: {type: spin-wiat}\n", ":1:14:", ["did you mean 'spin-wait'"]),
    ("work:\n  - type: pipe-io\n    wrokers: 2\n", ":3:5:", ["pipe-io has no key 'wrokers'", "did you mean 'workers'"]),
    ("work:\n  - type: pipe-io\n    burst_itres: 2\n", ":3:5:", ["did you mean 'burst_iters'"]),
    ("work:\n  - type: pipe-io\n    workers: 3\n", ":2:5:", ["groups of 2"]),
    ("work:\n  - type: pipe-io\n    workers: 0\n", ":3:14:", ["workers", "from 1 to"]),
    ("work:\n  - type: pipe-io\n    workers: [1]\n", ":3:14:", ["a single value is wanted, not a list"]),
    ("work: {type: spin-wait}\nwork: {type: spin-wait}\n", ":2:7:", ["work", "twice"]),
    ("work: {workers: 2}\n", ":1:7:", ["needs a `type`"]),
    ("work: {type: spin-wait}\nduration: 0\n", ":2:11:", ["duration", "more than zero"]),
    ("work: {type: spin-wait}\nduration: 5 apples\n", ":2:11:", ["bad duration"]),
    ("name: a/b\nwork: {type: spin-wait}\n", ":1:7:", ["name"]),
    ("cgroups:\n  - {work: {type: spin-wait}}\n", ":2:5:", ["needs a `name`"]),
    ("cgroups:\n  - {name: ../up, work: {type: spin-wait}}\n", ":2:12:", ["is not the name of a cgroup"]),
    ("cgroups:\n  - {name: a}\n  - {name: a}\n", ":3:5:", ["there is a cgroup 'a' already"]),
    ("cgroups:\n  - {name: a}\n", "", ["there is no work in it"]),
    ("cgroups:\n  - {name: a, cpu_mx: 50%, work: {type: spin-wait}}\n", ":2:15:", ["did you mean 'cpu_max'"]),
    ("cgroups:\n  - {name: a, cpu_max: lots, work: {type: spin-wait}}\n", ":2:24:", ["cpu_max", "percentage"]),
    ("cgroups:\n  - {name: a, memory_max: 3 cows, work: {type: spin-wait}}\n", ":2:27:", ["memory_max", "bad size"]),
    ("cgroups:\n  - {name: a, cpuset: '77', work: {type: spin-wait}}\n", ":2:23:", ["cannot be used here"]),
    ("cgroups:\n  - {name: a, cpuset: '', work: {type: spin-wait}}\n", ":2:23:", ["empty"]),
    ("work: {type: spin-wait}\nchecks: {max-gpa: 2s}\n", ":2:19:", ["did you mean 'max-gap'"]),
    ("work: {type: spin-wait}\nphases:\n  - {ops: [{freze: a}], hold: 1s}\n", ":3:12:", ["unknown op 'freze'", "'freeze'"]),
    ("work: {type: spin-wait}\nphases:\n  - {ops: [{freeze: a}], hold: 1s}\n", ":3:12:", ["freeze", "no cgroup 'a'"]),
    ("work: {type: spin-wait}\nphases:\n  - {hold: 140%}\n", ":3:12:", ["hold", "percentage"]),
    ("work: {type: spin-wait, memory: {policy: bind, nodes: [63]}}\n", ":1:7:", ["NUMA node 63"]),
    ("work: {type: spin-wait, memory: {policy: bound}}\n", ":1:42:", ["unknown 'bound'", "bind"]),
    ("work: {type: spin-wait, affinity: {random: {from: '0', count: 0}}}\n", ":1:63:", ["from 1"]),
    ("a: &a [*a, *a]\n", ":1:", []),
    ("work: " + "[" * 5000 + "]" * 5000 + "\n", "", []),
])
def test_mistakes_in_a_spec_name_the_place(tmp_path, text, place, words):
    path = spec(tmp_path, text)
    said = refused(path)
    assert said.startswith(path) and said.startswith(path + place), said
    for word in words:
        assert word in said, said


def test_what_is_not_a_spec(tmp_path):
    missing = tmp_path / "missing.yaml"
    assert "no file and no built-in scenario" in refused(missing, status=1)
    assert "did you mean 'steady'" in refused("steedy", status=1)
    (tmp_path / "huge.yaml").write_text("#" * (1 << 20) + "#")
    assert "larger than 1 MiB" in refused(tmp_path / "huge.yaml")
    (tmp_path / "nul.yaml").write_bytes(b"work: a\0b\n")
    assert "NUL" in refused(tmp_path / "nul.yaml")
    assert "cannot read" in refused(tmp_path, status=1)


def test_limits_without_their_controller(tmp_path):
    if not CGROUPS:
        pytest.skip("cgroup v2 is not mounted")
    there = (CGROUPS[0] / "cgroup.controllers").read_text().split()
    if "cpu" in there:
        pytest.skip("this machine has the cpu controller in cgroup v2")
    path = spec(tmp_path, "cgroups:\n  - {name: a, cpu_max: 50%, work: {type: spin-wait}}\n")
    text = refused(path, status=1)
    assert "cpu_max needs the cgroup v2 controller 'cpu'" in text and "cgroup v1 at" in text, text


def test_cgroups_without_permission(tmp_path):
    if not CGROUPS:
        pytest.skip("cgroup v2 is not mounted")
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", DWELL, "load", "steady", "-d", "1s"],
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "cannot make the cgroup" in done.stderr and "--cgroup-root" in done.stderr


def test_a_report_that_cannot_be_written_is_an_error_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot make" in refused("--work", "spin-wait", "-d", "60s", "--save", tmp_path / "file" / "runs", status=1)
    assert "cannot make" in refused("--work", "spin-wait", "-d", "60s", "--save", "/proc/runs", status=1)
    assert "cannot make a directory" in refused("--work", "spin-wait", "-d", "60s", "--scratch", "/proc/x", status=1)


def test_a_closed_or_full_output():
    with open("/dev/full", "w") as full:
        done = subprocess.run([DWELL, "load", "--work", "spin-wait", "-d", "100ms"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "No space left" in done.stderr


@pytest.mark.parametrize("arguments", [["--list"], ["--print", "steady"], ["steady", "--dry-run"],
                                       ["--sweep", "load=10..90%", "steady", "--dry-run"]])
def test_text_that_is_not_written(arguments):
    """A spec that a full disk has cut is not left behind with status 0."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([DWELL, "load", *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "No space left" in done.stderr


def test_a_scheduler_that_is_not_there():
    assert "the scheduler, process 4194303" in refused("--work", "spin-wait", "--scheduler-pid", "4194303", status=1)
    assert "--scheduler-pid" in refused("--work", "spin-wait", "--scheduler-pid", "0")
    assert "--scheduler-pid" in refused("--work", "spin-wait", "--scheduler-pid", "-1")


@pytest.mark.skipif(not CGROUPS, reason="cgroup v2 is not mounted")
def test_a_tree_that_may_not_be_deeper_is_named(tmp_path):
    root = CGROUPS[0] / f"dwell-test-{os.getpid()}"
    root.mkdir()
    try:
        (root / "cgroup.max.depth").write_text("1")
        path = tmp_path / "deep.yaml"
        path.write_text("duration: 100ms\ncgroups:\n  - {name: a, work: {type: spin-wait, workers: 1}}\n")
        done = run("load", path, "--cgroup-root", root)
        assert done.returncode == 1 and "cgroup.max.depth or cgroup.max.descendants of one above it is reached" in done.stderr, done
        assert [entry for entry in root.iterdir() if entry.is_dir()] == []
    finally:
        root.rmdir()
