# SPDX-License-Identifier: GPL-2.0-or-later
"""What every format has, and that docs/formats say so.

`make golden-update` writes docs/formats/schema.json again.
"""
import collections
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests" / "e2e"))
DWELL = str(pathlib.Path(os.environ.get("DWELL_BUILD", "build")).resolve() / "dwell")
SCHEMA = TOP / "docs" / "formats" / "schema.json"

#: What needs neither root nor time.
COMMANDS = {
    "top": ["top", "--from", "mixed.dwell"],
    "top --by process": ["top", "--from", "mixed.dwell", "--by", "process"],
    "top --by cgroup": ["top", "--from", "mixed.dwell", "--by", "cgroup"],
    "report": ["report", "mixed.dwell"],
    "blocked": ["blocked", "--from", "blocked.dwell"],
    "compare blocked": ["compare", "blocked.dwell", "blocked.dwell"],
    "compare load": ["compare", "load.json", "load.json"],
    "compare threads": ["compare", "mixed.dwell", "mixed.dwell"],
    "doctor": ["doctor"],
    "profile": ["profile", "--from", "stacks.dwell"],
    "profile --by thread": ["profile", "--from", "stacks.dwell", "--by", "thread"],
    "profile of short threads": ["profile", "--from", "short.dwell", "--by", "thread"],
}


def dwell(*arguments):
    return subprocess.run([DWELL, *arguments], cwd=HERE, capture_output=True, text=True)


def written(name, *more):
    done = dwell(*COMMANDS[name], *more)
    assert done.returncode in (0, 3, 4), (name, more, done.stderr)
    return done.stdout


def test_the_schema_is_in_the_documentation():
    done = dwell("schema")
    assert done.returncode == 0, done.stderr
    if os.environ.get("GOLDEN_UPDATE"):
        SCHEMA.write_text(done.stdout)
    assert done.stdout == SCHEMA.read_text()


def test_a_mistake_would_be_seen():
    import schemas

    result = json.loads(written("doctor", "--format", "json"))
    assert not schemas.mistakes(result)
    assert schemas.mistakes(dict(result, more=1))
    assert schemas.mistakes({key: value for key, value in result.items() if key != "exact"})
    assert schemas.mistakes(dict(result, exact="yes"))
    assert schemas.mistakes(dict(result, type="nothing"))


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_as_the_schema_says(name):
    import schemas

    assert schemas.read(written(name, "--format", "json"))


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_are_the_same_in_all_formats(name):
    rows = list(csv.reader(io.StringIO(written(name, "--format", "csv"))))
    lines = [json.loads(line) for line in written(name, "--format", "jsonl").splitlines()]
    assert len(rows) == len(lines) + 1 > 1
    for row, line in zip(rows[1:], lines):
        assert len(row) == len(rows[0]) == len(line)
        for cell, value in zip(row, line.values()):
            if value is None:
                assert cell == ""
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                assert cell == "" or float(cell) == value


#: Lists that lead to the rows, in JSON.
TABLES = {
    "top": ["threads"], "top --by process": ["processes"], "top --by cgroup": ["cgroups"], "report": ["threads"],
    "blocked": ["hotspots"], "compare blocked": ["hotspots"], "compare load": ["groups", "metrics"], "doctor": ["checks"],
    "compare threads": ["rows"], "profile": ["functions"], "profile --by thread": ["functions"],
    "profile of short threads": ["functions"],
}  # fmt: skip


def rows_of(result, lists):
    """Objects from the result to each row, the row last."""
    if not lists:
        yield [result]
        return
    for inner in result[lists[0]]:
        for path in rows_of(inner, lists[1:]):
            yield [result] + path


def at(row, key):
    for part in key.split("."):
        row = row.get(part) if row is not None else None
    return row


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_are_those_of_json(name):
    results = [json.loads(line) for line in written(name, "--format", "json").splitlines()]
    expected = [path for result in results if TABLES[name][0] in result for path in rows_of(result, TABLES[name])]
    rows = list(csv.DictReader(io.StringIO(written(name, "--format", "csv"))))
    assert len(rows) == len(expected) > 0
    compared = collections.Counter()
    for row, path in zip(rows, expected):
        for key, cell in row.items():
            if key not in path[-1] and key.split(".")[0] not in path[-1]:
                continue  # of the objects around it
            value = at(path[-1], key)
            compared[key] += value is not None
            shown = {None: "", True: "true", False: "false"}.get(value, value) if not isinstance(value, (int, float)) or isinstance(value, bool) else value
            assert cell in (str(shown), "'" + str(shown)) or float(cell) == shown, (key, cell, value)
    assert len(compared) > 4 and sum(compared.values()) > len(rows)
    if name == "blocked":
        assert compared["waker.function"] and compared["culprit.comm"]


@pytest.mark.parametrize("name", COMMANDS)
def test_fields_choose_columns(name):
    listed = [line.split()[0] for line in written(name, "--fields", "help").splitlines()]
    first = [json.loads(line) for line in written(name, "--format", "jsonl").splitlines()][0]
    # what is a column only where it is named
    assert [key for key in listed if key not in ("command", "owner")] == list(first)
    chosen = [listed[-1], listed[0]]
    for line in written(name, "--format", "jsonl", "--fields", ",".join(chosen)).splitlines():
        assert list(json.loads(line)) == chosen
    assert len(written(name, "--format", "csv", "--fields", ",".join(chosen)).splitlines()[0].split(",")) == 2
    table = written(name, "--fields", ",".join(chosen))
    assert len(table.splitlines()) > 1 and len(table.splitlines()[0].split()) == 2
    done = dwell(*COMMANDS[name], "--fields", listed[0] + "x")
    assert done.returncode == 2 and f"did you mean '{listed[0]}'?" in done.stderr, done.stderr
    done = dwell(*COMMANDS[name], "--format", "json", "--fields", listed[0])
    assert done.returncode == 2 and "--fields chooses columns" in done.stderr


def test_a_heading_is_a_name_of_a_field():
    assert json.loads(written("top", "--format", "jsonl", "--fields", "RUNQ").splitlines()[0]).keys() == {"runnable"}
    assert json.loads(written("top", "--format", "jsonl", "--fields", "p99_ns").splitlines()[0]).keys() == {"p99"}
    assert json.loads(written("top", "--format", "jsonl", "--fields", "delay-cpu").splitlines()[0]).keys() == {"delays_cpu_total_ns"}


def test_every_key_is_explained():
    """By name, in the page that people read."""
    page = (TOP / "docs" / "formats" / "json.md").read_text()
    keys = set()
    for definition in json.loads(SCHEMA.read_text())["$defs"].values():
        for key, field in definition["properties"].items():
            keys.add(key)
            keys.update(field.get("properties", {}))
    missing = [key for key in sorted(keys) if not re.search(rf"\b{re.escape(key)}\b", page)]
    assert not missing
