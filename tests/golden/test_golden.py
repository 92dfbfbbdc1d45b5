# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings that are checked in, and the exact bytes every view makes of them.

`make golden-update` writes the expected files again and shows the difference.
"""
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
    "blocked.table": ["blocked", "--from", "blocked.dwell", "--format", "table"],
    "blocked-window.table": ["blocked", "--from", "blocked.dwell", "--format", "table", "--window", "2s"],
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
