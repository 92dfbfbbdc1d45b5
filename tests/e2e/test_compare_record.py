# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell compare` of two recordings of threads: what got worse because of whom."""
import collections
import itertools
import json
import pathlib
import subprocess
import sys

import pytest
import schemas

from conftest import DWELL, WORKLOAD, run

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
CHANGED = ("new", "worse", "better", "gone")


def record(file, *command, options=(), interval="50ms"):
    done = run("record", *options, "-i", interval, "-o", file, "--", *command)
    assert done.returncode == 0, done.stderr
    return file


def compare(*arguments):
    """-> (exit status, the comparison, what was said)"""
    done = run("compare", *arguments, "--format", "json")
    assert done.stdout, done.stderr
    return done.returncode, schemas.read(done.stdout)[0], done.stderr


def rows(comparison, **wanted):
    return [row for row in comparison["rows"] if all(row[key] == value for key, value in wanted.items())]


COMMANDS = {
    "sleep": ("blame-lock", "sleep"), "sleep again": ("blame-lock", "sleep"), "cpu": ("blame-lock", "cpu"),
    "one thief": ("blame-cpu", 1), "eight thieves": ("blame-cpu", 8), "without blame": ("blame-lock", "sleep"),
    "sampled": ("blame-lock", "sleep"),
}  # fmt: skip
OPTIONS = {"without blame": ("--no-blame",), "sampled": ("--source", "procfs")}


def recorder(directory):
    def recorded(name):
        file = directory / (name.replace(" ", "-") + ".dwell")
        return file if file.exists() else record(file, WORKLOAD, *COMMANDS[name], options=OPTIONS.get(name, ()))

    return recorded


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """recorded(name): a recording, made when it is first asked for."""
    return recorder(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def measured(tmp_path):
    """The same, of its own: a test that measures is repeated with others."""
    return recorder(tmp_path)


@pytest.mark.measures
def test_the_same_load_twice_is_the_same(measured):
    status, comparison, said = compare(measured("sleep"), measured("sleep again"), "--worse", "0")
    assert (status, said) == (0, ""), [row for row in comparison["rows"] if row["verdict"] in CHANGED]
    assert comparison["worse"] == comparison["better"] == 0 < comparison["same"] + comparison["chance"]
    assert "nothing got worse" in run("compare", measured("sleep"), measured("sleep again")).stdout.splitlines()[0]
    status, comparison, _ = compare(measured("sleep"), measured("sleep"), "--worse", "0")
    assert status == 0 and {row["verdict"] for row in comparison["rows"]} == {"same"}


@pytest.mark.measures
def test_what_the_holder_of_a_lock_does_instead(measured):
    _, comparison, _ = compare(measured("sleep"), measured("cpu"))
    did = {
        row["culprit"]["state"]: row
        for row in rows(comparison, level="culprit", state="lock", program="victim")
        if row["culprit"]["program"] == "victim"
    }
    assert did["sleep"]["verdict"] in ("better", "gone") and did["sleep"]["change"] < -0.5, did
    assert did["cpu"]["verdict"] in ("new", "worse") and did["cpu"]["change"] > 0.3, did
    assert did["cpu"]["p_adjusted"] >= did["cpu"]["p"]
    # it no longer sleeps, which is neither good nor bad
    (sleep,) = rows(comparison, level="state", state="sleep", program="victim")
    assert sleep["verdict"] in ("less", "undecided") and not sleep["is_lost"]
    table = run("compare", measured("sleep"), measured("cpu")).stdout
    assert "ended by victim itself, meanwhile cpu" in table and "victim            sleep" not in table
    # what is worse above is no contradiction to the count of states below
    (lock,) = rows(comparison, level="state", state="lock", program="victim")
    assert ("in states that are not among the worse, " in table.splitlines()[-1]) == (lock["verdict"] not in ("new", "worse")), table


@pytest.mark.measures
def test_more_thieves_make_it_worse(measured):
    before, after = measured("one thief"), measured("eight thieves")
    done = run("compare", before, after, "--worse", "20")
    assert done.returncode == 3, done.stdout
    first = done.stdout.splitlines()[0]
    assert first.startswith("victim waits ") and " times as long for a CPU: " in first and "ran instead (+" in first
    assert "dwell compare: victim loses " in done.stderr
    assert run("compare", before, after, "--worse", "100000").returncode == 0
    assert run("compare", after, before, "--worse", "0").returncode == 0
    _, comparison, _ = compare(after, before)
    (state,) = rows(comparison, level="state", state="runnable", program="victim")
    assert state["verdict"] == "better" and comparison["worse"] == 0


def test_rows_add_up(recorded):
    """Waits are whole: what a state lost is owed to its culprits, and some of it may go on."""
    _, comparison, _ = compare(recorded("sleep"), recorded("cpu"))
    for side, state in itertools.product("ab", ("lock", "runnable")):
        (whole,) = rows(comparison, level="state", state=state, program="victim")
        parts = rows(comparison, level="culprit", state=state, program="victim")
        assert sum(row[side]["total_ns"] for row in parts) == whole[side]["total_ns"], (side, state)
    (lost,) = rows(comparison, level="program", program="victim")
    for side in "ab":
        states = rows(comparison, level="state", program="victim", is_lost=True)
        assert lost[side]["total_ns"] == sum(row[side]["total_ns"] for row in states if row["a"] and row["b"])
        assert comparison[side]["blame"] and comparison[side]["damage"] is None


def test_code_has_what_its_profile_says():
    """Time in functions is that of `dwell profile --from`, and no more than its state has."""
    recording = GOLDEN / "stacks.dwell"
    done = run("profile", "--from", recording, "--state", "all", "--format", "json")
    assert done.returncode == 0, done.stderr
    profiled = collections.Counter()
    for row in json.loads(done.stdout.splitlines()[-1])["functions"]:
        profiled[row["state"]] += row["self_ns"]
    _, comparison, _ = compare(recording, recording, "--all")
    compared = collections.Counter()
    for row in rows(comparison, level="code"):
        compared[row["state"]] += row["a"]["total_ns"]
    assert compared and all(abs(compared[state] - profiled[state]) < 1e-4 * profiled[state] + 1000 for state in compared), (compared, profiled)
    for row in rows(comparison, level="state"):
        assert compared[row["state"]] <= row["a"]["total_ns"] + 1000, row


def test_what_was_not_recorded_is_said(recorded):
    _, comparison, _ = compare(recorded("without blame"), recorded("cpu"))
    assert not rows(comparison, level="culprit") and rows(comparison, level="state")
    assert any("because of whom: not recorded in A (" in remark for remark in comparison["remarks"])
    _, comparison, _ = compare(recorded("sleep"), recorded("sampled"))
    assert any(remark.startswith("source: A bpf, B procfs") for remark in comparison["remarks"])
    for row in rows(comparison, state="irq") + rows(comparison, state="stolen"):
        assert row["b"] is None and row["verdict"] is None and row["change"] is None
    table = run("compare", recorded("sleep"), recorded("sampled")).stdout
    assert "not recorded in B" in table and "source: A bpf, B procfs" in table


def test_few_intervals_accuse_no_one(tmp_path):
    for name in "ab":
        record(tmp_path / name, "/bin/sleep", "0.1", interval="10s")
    done = run("compare", tmp_path / "a", tmp_path / "b", "--worse", "0")
    assert done.returncode == 4 and "too few intervals" in done.stderr
    assert done.stdout.startswith("undecided: ")
    _, comparison, _ = compare(tmp_path / "a", tmp_path / "b")
    assert not [row for row in comparison["rows"] if row["verdict"] in CHANGED or row["p"] is not None]
    assert "too few intervals" in comparison["remarks"][0]
    # asked for nothing, it has not failed
    assert run("compare", tmp_path / "a", tmp_path / "b").returncode == 0


def test_damage_is_said(recorded, tmp_path):
    cut = tmp_path / "cut.dwell"
    data = recorded("sleep").read_bytes()
    cut.write_bytes(data[: len(data) - 100])
    _, comparison, _ = compare(cut, recorded("sleep"))
    assert "middle of a chunk" in comparison["a"]["damage"]
    assert any(remark.startswith("A: the recording ends in the middle") for remark in comparison["remarks"])
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0xFF
    cut.write_bytes(damaged)
    done = run("compare", recorded("sleep"), cut)
    assert done.returncode == 0 and " damaged" in done.stdout.split("B: ")[1], done


def test_what_is_no_comparison(recorded, tmp_path):
    threads, blocked = recorded("sleep"), GOLDEN / "blocked.dwell"
    json_file = tmp_path / "top.json"
    json_file.write_text(run("top", "--from", threads, "--format", "json").stdout)
    for other in (blocked, json_file, GOLDEN / "load.json"):
        for pair in ((threads, other), (other, threads)):
            done = run("compare", *pair)
            assert done.returncode == 1 and not done.stdout, done
            assert "only two of one kind can be compared" in done.stderr and str(other) in done.stderr
    empty = tmp_path / "empty.dwell"
    empty.write_bytes(b"")
    short = tmp_path / "short.dwell"
    short.write_bytes(threads.read_bytes()[:300])
    for file in (empty, short, tmp_path / "absent"):
        done = run("compare", threads, file)
        assert done.returncode == 1 and not done.stdout and str(file) in done.stderr, done.stderr
    for options in (("--gate", "iterations=0/2%"), ("--sort", "pogram"), ("--fields", "nonsense"), ("--worse", "x")):
        done = run("compare", threads, threads, *options)
        assert done.returncode == 2 and not done.stdout, (options, done)
    assert "did you mean 'program'" in run("compare", threads, threads, "--sort", "pogram").stderr
    assert run("compare", blocked, blocked, "--sort", "program").returncode == 2


def test_formats_and_orders(recorded):
    pair = recorded("sleep"), recorded("cpu")
    lines = run("compare", *pair, "--format", "csv", "--fields", "program,state,b_share", "--sort", "b_share").stdout.splitlines()
    assert lines[0] == "program,state,b.share"
    shares = [float(line.rsplit(",", 1)[1]) for line in lines[1:] if not line.endswith(",")]
    assert shares == sorted(shares, reverse=True) and len(shares) > 5
    assert len(compare(*pair, "--top", "3")[1]["rows"]) == 3
    assert run("compare", *pair, "--top", "1", "--all").stdout.count("\nsame ") <= 1
    everything = run("compare", *pair, "--all").stdout
    assert everything.count("\n") > run("compare", *pair).stdout.count("\n")


HOSTILE = r"""
import ctypes, os, sys, time
name = ctypes.CDLL(None).prctl
def called(text):
    name(15, ctypes.c_char_p(text), 0, 0, 0)
for number in range(int(sys.argv[1])):
    if not os.fork():
        called(b"\x1b[31m\n\xff=%d" % number)
        time.sleep(1.2)
        os._exit(0)
for number in range(int(sys.argv[1])):
    os.wait()
"""


def test_many_programs_with_any_names(tmp_path):
    program = (sys.executable, "-c", HOSTILE)
    a = record(tmp_path / "a", *program, "40")
    b = record(tmp_path / "b", *program, "400")
    for options in ((), ("--all", "--top", "100000"), ("--fields", "program,culprit_program")):
        done = subprocess.run([DWELL, "compare", a, b, *options], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert not [byte for byte in done.stdout + done.stderr if byte < 32 and byte != 10 or byte == 127]
        assert b"?[31m" in done.stdout or not options
    _, comparison, _ = compare(a, b)
    assert len({row["program"] for row in comparison["rows"]}) >= 300
    names = [row["program"] for row in rows(comparison, level="state", state="sleep")]
    assert any(name.startswith("\x1b[31m\n") for name in names)


def test_standard_input(recorded):
    with open(recorded("sleep"), "rb") as file:
        done = subprocess.run([DWELL, "compare", str(recorded("sleep")), "/dev/stdin"], stdin=file,
                              capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([DWELL, "compare", str(recorded("sleep")), "/dev/stdin"], input="x" * 100, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "/dev/stdin" in done.stderr, done
