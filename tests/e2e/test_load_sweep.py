# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell load --sweep`: one number of a spec at several values."""
import csv
import io
import os
import signal
import subprocess
import time

import pytest
import schemas

from conftest import DWELL, run

SPEC = "name: front\ncgroups:\n  - name: front\n    work: {type: timer-latency, workers: 2}\n"


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "front.yaml"
    path.write_text(SPEC)
    return path


def swept(*arguments):
    """-> (exit status, the result, what was said)"""
    done = run("load", *arguments, "--json")
    assert done.stdout, done.stderr
    return done.returncode, schemas.read(done.stdout)[0], done.stderr


def test_a_load_beside_the_spec_has_steps_and_curves(spec, tmp_path):
    status, result, said = swept(spec, "--sweep", "load=10..70%:4", "-d", "100ms", "--seed", "5", "--save",
                                 tmp_path / "runs")  # fmt: skip
    assert status in (0, 4) and not said
    assert (result["name"], result["parameter"], result["unit"], result["end"]) == ("front", "load", "share", "complete")
    assert [step["text"] for step in result["steps"]] == ["10%", "30%", "50%", "70%"]
    assert result["runs"] == 12 and all(step["runs"] == 3 for step in result["steps"])
    assert [step["offered_load"] for step in result["steps"]] == pytest.approx([0.1, 0.3, 0.5, 0.7])
    for step in result["steps"]:
        names = [(group["cgroup"], group["work"], group["background"]) for group in step["groups"]]
        assert names == [("front", "timer-latency", False), ("background", "open-loop", True)]
        assert step["achieved_load"] > 0
    assert len(list((tmp_path / "runs").glob("*/report.json"))) == 12
    # the load itself has no curve
    assert {curve["cgroup"] for curve in result["curves"]} == {"front"}
    decided = {curve["answer"] for curve in result["curves"]} & {"knee", "none"}
    assert (status == 0) == bool(decided)


def test_the_steps_are_those_of_set():
    status, result, _ = swept("--work", "bursty:sleep=5ms", "--sweep", "burst=1..4ms:2", "-d", "100ms", "--rounds", "1")
    assert status == 4 and [step["value"] for step in result["steps"]] == [1e6, 4e6]
    assert {curve["answer"] for curve in result["curves"]} == {"nothing"}
    for value in ("1ms", "4ms"):
        plan = run("load", "--work", "bursty:sleep=5ms", "--set", f"burst={value}", "--dry-run").stdout
        assert f"burst={value}" in plan.replace(": ", "="), plan


def test_rows_are_groups_of_steps():
    done = run("load", "--work", "spin-wait", "--sweep", "workers=1..3:3", "-d", "60ms", "--rounds", "1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["text"], row["runs"], row["work"]) for row in rows] == [(n, "1", "spin-wait") for n in "123"]


def test_it_is_said_in_sentences(spec):
    done = run("load", spec, "--sweep", "workers=1..5:5", "-d", "60ms", "--metrics", "iterations")
    lines = done.stdout.splitlines()
    assert lines[0] == "dwell load  front  workers from 1 to 5 in 5 steps", done.stderr
    assert any(line.startswith(("Knee: iterations ", "No knee: iterations ", "Undecided: iterations ")) for line in lines)
    assert any(line.startswith("VALUE ") for line in lines)


@pytest.mark.parametrize("steps, said", [
    ("1..2:4", "2 steps, from 1 to 2, not 4: a knee is looked for from 4 on"),
    ("1..5:7", "5 steps, from 1 to 5, not 7"),
    ("1..2", "2 steps, from 1 to 2: a knee is looked for from 4 on"),
    ("1..5", None),
    ("1..8:4", None),
])  # fmt: skip
def test_fewer_steps_than_are_needed_or_asked_for_are_no_secret(steps, said):
    done = run("load", "--work", "spin-wait", "--sweep", f"workers={steps}", "--dry-run")
    assert done.returncode == 0 and done.stderr == (f"dwell load: --sweep: {said}\n" if said else ""), done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--sweep", "lod=1..2"], "did you mean 'load'"),
        (["--sweep", "load=10"], "FROM..TO"),
        (["--sweep", "load=10..120%"], "not a share"),
        (["--sweep", "workers=1..4:1"], "2 to 100 steps"),
        (["--sweep", "front.workers=1..200000"], "at most 100000"),
        (["--sweep", "workers=1..4", "--observe"], "apply to one run"),
        (["--sweep", "workers=1..4", "--pairs", "3"], "belong to --ab"),
        (["--rounds", "3"], "--rounds to --sweep"),
        (["--set", "workers"], "NAME=VALUE"),
        (["--set", "interval=soon"], "interval"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(spec, arguments, message):
    done = run("load", spec, *arguments)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not done.stdout


def test_interrupted_it_says_what_it_knows(spec, tmp_path):
    runs = tmp_path / "runs"
    command = [DWELL, "load", spec, "--sweep", "load=10..90%:9", "--rounds", "50", "-d", "60ms", "--json", "--save", runs]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(runs.glob("*/report.json"))) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    result = schemas.read(out)[0]
    assert result["end"] == "interrupted" and 0 < result["runs"] == sum(step["runs"] for step in result["steps"]) < 450
    assert process.returncode in (0, 4)


def test_runs_that_fail_are_counted_and_end_it(tmp_path):
    done = run("load", "--work", "exec:command=/nowhere/x", "--sweep", "workers=1..2:2", "-d", "60ms", "--json")
    assert done.returncode in (1, 2, 4), done.stderr
    if done.returncode == 4:
        assert schemas.read(done.stdout)[0]["runs"] == 6
