# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of task types of `dwell blocked`, against tasks that count and time their own polls."""
import contextlib
import json
import re
import subprocess

import pytest

from conftest import run
from services import STRIPPED, Blocked, build_tokio, loop_service

#: what the program calls them -> the name of the type
TYPES = {
    "parse_order": "tokio_tasks::Counted<tokio_tasks::parse_order>",
    "render_page": "tokio_tasks::Counted<tokio_tasks::render_page>",
    "pack_archive": "tokio_tasks::Counted<tokio_tasks::pack_archive>",
    "flood": "tokio_tasks::Counted<tokio_tasks::flood>",
    "saturate": "tokio_tasks::Counted<tokio_tasks::saturate>",
    # two futures of one name
    "deliver 1": "tokio_tasks::deliver",
    "deliver 2": "tokio_tasks::deliver",
}
#: of the program itself, when the others have ended
SETTLE = "tokio_tasks::settle"


class Tasks:
    def __init__(self, program, workers):
        self.process = subprocess.Popen([program, str(workers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def ask(self, request, number):
        """-> {type: (polls, busy ns, longest ns)}"""
        self.process.stdin.write(f"{request} {number}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@contextlib.contextmanager
def tasks_of(build="release", workers=2):
    tasks = Tasks(build_tokio(build, "tokio-tasks"), workers)
    try:
        yield tasks
    finally:
        tasks.process.kill()
        tasks.process.communicate()


def measure(build, workers, requests, *options):
    """-> ([answer], summary)"""
    with tasks_of(build, workers) as tasks:
        blocked = Blocked(tasks.process.pid, *options)
        answers = [tasks.ask(*request) for request in requests]
        summary = blocked.end()[1]
    return answers, summary


def by_name(answers):
    """What is to be reported: one row for each name."""
    expected = {}
    for answer in answers:
        for key, (polls, busy, longest) in answer.items():
            row = expected.setdefault(TYPES[key], [0, 0, 0])
            row[:] = [row[0] + polls, row[1] + busy, max(row[2], longest)]
    return expected


def check(row, polls, busy, longest):
    assert row["polls"] == polls, (row, polls)
    assert row["busy_ns"] == pytest.approx(busy, rel=0.02, abs=1_000_000), (row, busy)
    assert row["max_ns"] == pytest.approx(longest, abs=100_000), (row, longest)
    assert row["mean_ns"] == row["busy_ns"] // row["polls"] and not row["estimate"], row


@pytest.mark.measures
@pytest.mark.parametrize("build, workers", [("release", 2), ("release", 0), ("v0", 2)])
def test_polls_by_type(build, workers):
    answers, summary = measure(build, workers, [("work", 40), ("work", 20)])
    rows = {row["task"]: row for row in summary["tasks"]}
    expected = by_name(answers)
    # legacy names have no type in them, the others do: which closure it is they say in their own way
    named = {name: row for name, row in rows.items() if name in expected}
    assert set(named) == set(expected), (sorted(rows), sorted(expected))
    for name, figures in expected.items():
        check(named[name], *figures)
    assert len(rows) == len(summary["tasks"]) and set(rows) - set(expected) <= {SETTLE}, sorted(rows)
    busy = [row["busy_ns"] for row in summary["tasks"]]
    assert busy == sorted(busy, reverse=True)
    archives = rows[TYPES["pack_archive"]]
    assert archives["stalls"] == 6, archives
    assert sum(row["stalls"] for row in summary["tasks"]) == summary["stalls"]


@pytest.mark.measures
@pytest.mark.parametrize("build", ["plain", *STRIPPED])
def test_without_types_they_are_known_by_their_functions(build):
    [answer], summary = measure(build, 2, [("work", 40)])
    # no two have as many polls: no row is mistaken for another
    expected = {polls: figures for polls, *figures in answer.values()}
    assert len(expected) == len(answer)
    program = build_tokio(build, "tokio-tasks").name
    for row in summary["tasks"]:
        assert re.fullmatch(re.escape(program) + r"\+0x[0-9a-f]+", row["task"]), row
        if row["polls"] in expected:
            check(row, row["polls"], *expected.pop(row["polls"]))
    assert not expected, (expected, summary["tasks"])


def test_no_poll_is_lost():
    """Hundreds of thousands of a type at once, on two CPUs."""
    answers, summary = measure("release", 2, [("flood", 150_000)] * 2, "--budget", "100")
    [row] = [row for row in summary["tasks"] if row["task"] == TYPES["flood"]]
    assert row["polls"] == sum(answer["flood"][0] for answer in answers) == 600_000
    assert not row["estimate"] and not summary["quality"]["probes"]["sampled"]


def test_sampled_polls_are_estimates():
    answers, summary = measure("release", 2, [("work", 4), ("saturate", 5000)])
    probes = summary["quality"]["probes"]
    assert probes["sampled"] and probes["probed_share"] < 0.9, probes
    rows = {row["task"]: row for row in summary["tasks"]}
    assert all(row["estimate"] for row in rows.values())
    # what was there before the probes went off is exact, and stays so
    assert rows[TYPES["pack_archive"]]["polls"] <= answers[0]["pack_archive"][0]
    # a probed poll takes longer: in a saturated worker there are fewer of them
    assert 0 < rows[TYPES["saturate"]]["polls"] < 1.5 * answers[1]["saturate"][0], (rows, answers)


def test_a_recording_has_the_same_tasks(tmp_path):
    recording = tmp_path / "tasks.dwell"
    with tasks_of() as tasks:
        blocked = Blocked(tasks.process.pid, "--record", recording)
        tasks.ask("work", 20)
        summary = blocked.end()[1]
    again = run("blocked", "--from", recording, "--format", "json")
    assert json.loads(again.stdout.splitlines()[-1])["tasks"] == summary["tasks"]
    page = run("blocked", "--from", recording, "--top", "2").stdout
    table = page[page.index("\nTASKS "):].splitlines()
    assert re.fullmatch(r"TASKS +POLLS +BUSY +MEAN +MAX +STALLS", table[1])
    for line, row in zip(table[2:4], summary["tasks"]):
        assert line.split()[0] == row["task"][-64:] and line.split()[1] == str(row["polls"]), (line, row)
    assert table[4:] == ["and 3 more types"]


def test_an_event_loop_has_no_tasks():
    with loop_service() as service:
        blocked = Blocked(service.process.pid)
        service.ask("sleep", 20)
        assert blocked.end()[1]["tasks"] is None


MANY = 5000
#: a program with more functions that poll tasks than there is room for
MANY_TYPES = "\n".join(
    [
        "#include <stdio.h>",
        *(
            f'__attribute__((noinline)) int p{i}(int x) __asm__("_ZN5tokio7runtime4task3raw4poll17h{i:016x}E");'
            f'int p{i}(int x) {{ __asm__ volatile("" ::: "memory"); return x + {i}; }}'
            for i in range(MANY)
        ),
        f"static int (*const polls[])(int) = {{ {', '.join(f'p{i}' for i in range(MANY))} }};",
        "int main(void) { int sum = 0; puts(\"ready\"); fflush(stdout); getchar();",
        f"for (int i = 0; i < 2 * {MANY}; i++) sum += polls[i % {MANY}](i);",
        "puts(\"done\"); fflush(stdout); getchar(); getchar(); return sum == 1; }",
    ]
)


def test_more_types_than_there_is_room_for(tmp_path):
    program = tmp_path / "many"
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", program], input=MANY_TYPES, text=True, check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        blocked = Blocked(process.pid, "--budget", "100")
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        rows = blocked.end()[1]["tasks"]
        process.communicate("\n\n")
    *named, rest = rows
    assert len(named) == 4095 and all(row["task"].startswith("many+0x") for row in named)
    assert rest["task"] is None and rest["polls"] == 2 * (MANY - 4095)
    assert all(row["polls"] == 2 for row in named)
