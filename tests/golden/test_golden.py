# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that are checked in, and the exact bytes every view makes of them.

`make golden-update` writes the expected files again and shows the difference.
"""
import csv
import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
DWELL = str(pathlib.Path(os.environ.get("DWELL_BUILD", "build")).resolve() / "dwell")

VIEWS = {
    "mixed.table": ["top", "--from", "mixed.dwell", "--format", "table"],
    "mixed.json": ["top", "--from", "mixed.dwell", "--format", "json"],
    "mixed.csv": ["top", "--from", "mixed.dwell", "--format", "csv"],
    "mixed-process.table": ["top", "--from", "mixed.dwell", "--format", "table", "--by", "process"],
    "mixed-cgroup.json": ["top", "--from", "mixed.dwell", "--format", "json", "--by", "cgroup"],
    "mixed-p99.table": ["top", "--from", "mixed.dwell", "--format", "table", "--sort", "p99", "--top", "3"],
    "mixed.report": ["report", "mixed.dwell"],
    "mixed-report.json": ["report", "mixed.dwell", "--format", "json"],
    "mixed.compare": ["compare", "mixed.dwell", "mixed.dwell", "--all"],
    "blame.report": ["report", "blame.dwell"],
    "blame-cgroup.report": ["report", "blame.dwell", "--by", "cgroup"],
    "blame-cgroup-report.json": ["report", "blame.dwell", "--by", "cgroup", "--format", "json"],
    "profile.table": ["profile", "--from", "stacks.dwell"],
    "profile.folded": ["profile", "--from", "stacks.dwell", "--format", "folded", "--state", "all"],
    "profile-short.table": ["profile", "--from", "short.dwell"],
    "profile-short-threads.table": ["profile", "--from", "short.dwell", "--by", "thread"],
    "profile-short.folded": ["profile", "--from", "short.dwell", "--format", "folded", "--root", "thread"],
    "profile-compare.table": ["compare", "stacks.dwell", "stacks.dwell", "--all"],
    "blocked.table": ["blocked", "--from", "blocked.dwell", "--format", "table"],
    "blocked-window.table": ["blocked", "--from", "blocked.dwell", "--format", "table", "--window", "2s"],
    "starved.table": ["blocked", "--from", "starved.dwell", "--format", "table"],
    "tasks.table": ["blocked", "--from", "tasks.dwell", "--format", "table"],
    "tasks.csv": ["blocked", "--from", "tasks.dwell", "--by", "task", "--format", "csv"],
    "tasks-sampled.table": ["blocked", "--from", "tasks-sampled.dwell", "--by", "task"],
}


@pytest.mark.parametrize("name", VIEWS)
def test_view(name):
    done = subprocess.run(
        [DWELL, *VIEWS[name]], cwd=HERE, capture_output=True, env=dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8")
    )
    assert done.returncode == 0, done.stderr
    expected = HERE / name
    if os.environ.get("GOLDEN_UPDATE"):
        expected.write_bytes(done.stdout)
    assert done.stdout == expected.read_bytes()


def test_the_readme_shows_what_comes():
    page = (HERE.parent.parent / "README.md").read_text()
    shown = page[page.index("$ dwell top -p 26375") :].split("```")[0].splitlines()[1:]
    came = (HERE / "mixed.table").read_text().splitlines()
    assert len(shown) > 3 and all(line in came for line in shown if line != "…")


#: Command, a field of numbers and one of text, and the list of rows in its JSON.
TABLES = {
    "report": (["report", "mixed.dwell"], "wakeups", "comm", "threads"),
    "top": (["top", "--from", "mixed.dwell", "-c", "1"], "wakeups", "comm", "threads"),
    "blame": (["top", "--from", "blame.dwell", "--blame", "-c", "1"], "total_ns", "culprit_comm", "blame"),
    "blocked": (["blocked", "--from", "blocked.dwell"], "total_ns", "cause", "hotspots"),
    "tasks": (["blocked", "--from", "tasks.dwell", "--by", "task"], "polls", "task", "tasks"),
    "compare": (["compare", "mixed.dwell", "mixed.dwell"], "a_share", "level", "rows"),
    "doctor": (["doctor"], None, "status", "checks"),
    "profile": (["profile", "--from", "stacks.dwell"], "total_ns", "state", "functions"),
}


def output(*arguments):
    done = subprocess.run([DWELL, *arguments], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_sorted_and_cut_in_every_format(name):
    command, number, text, rows = TABLES[name]
    for field in filter(None, (number, text)):
        flat = [json.loads(line) for line in output(*command, "--format", "jsonl", "--sort", field).splitlines()]
        known = [row[field] for row in flat if row[field] is not None]
        assert len(set(known)) > 1 and known == sorted(known, reverse=field == number)
        assert [row[field] for row in flat] == known + [None] * (len(flat) - len(known))
        first = flat[:2]
        cut = ("--sort", field, "--top", "2")
        assert [json.loads(line) for line in output(*command, "--format", "jsonl", *cut).splitlines()] == first
        rows_of_csv = list(csv.reader(output(*command, "--format", "csv", "--fields", field, *cut).splitlines()))[1:]
        assert len(rows_of_csv) == 2
        if field == text:
            assert [value for (value,) in rows_of_csv] == [row[field] or "" for row in first]
        assert len(output(*command, "--format", "table", "--fields", field, *cut).splitlines()) == 3
        line = output(*command, "--format", "json", *cut).splitlines()[-1]
        assert len(json.loads(line)[rows]) == 2
    whole = json.loads(output(*command, "--format", "json").splitlines()[-1])
    assert len(whole[rows]) == len(flat) > 2 and set(whole) - {"reasons"} == set(json.loads(line)) - {"reasons"}


def test_a_recording_is_shown_in_part():
    intervals = [json.loads(line) for line in output("top", "--from", "mixed.dwell", "--format", "json").splitlines()]
    assert len(intervals) > 2
    for part, count in ((("-c", "2"), 2), (("-d", "1ms"), 1)):
        shown = output("top", "--from", "mixed.dwell", "--format", "json", *part).splitlines()
        assert [json.loads(line) for line in shown] == intervals[:count]


@pytest.mark.parametrize("file", ["mixed.dwell", "blame.dwell"])
def test_the_timeline_of_a_report_adds_up(file):
    report = json.loads(output("report", file, "--format", "json"))
    for state, of_one in report["threads"][0]["states_ns"].items():
        if of_one is not None:
            periods = sum(period["states_ns"][state] for period in report["timeline"])
            assert periods == sum(thread["states_ns"][state] for thread in report["threads"])
    lost = [worst["lost_ns"] for worst in report["worst"]]
    assert lost and lost == sorted(lost, reverse=True)
    assert all((worst["most"] is not None) == (file == "blame.dwell") for worst in report["worst"])


@pytest.mark.parametrize("name", TABLES)
def test_two_formats_do_not_go_together(name):
    command = TABLES[name][0]
    for words in (("--json", "--format", "csv"), ("--format", "csv", "--json")):
        done = subprocess.run([DWELL, *command, *words], cwd=HERE, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"dwell {command[0]}: --json and --format csv do not go together\n"
    assert output(*command, "--json", "--format", "json").startswith("{")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("option", ["--fields", "--sort"])
def test_a_list_of_fields_that_cannot_be_written_is_an_error(name, option):
    with open("/dev/full", "w") as full:
        done = subprocess.run([DWELL, *TABLES[name][0], option, "help"], cwd=HERE, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"dwell: cannot write to standard output: No space left on device\n")
