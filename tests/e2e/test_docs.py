# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents of `dwell load` say, tried out: specs, programs, fields, types."""
import json
import pathlib
import re
import subprocess

import pytest

from conftest import run
from loads import Load

TOP = pathlib.Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
NO_CONTROLLER = "needs the cgroup v2 controller"


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.S | re.M)


def listed(what):
    """Names of `dwell load --list WHAT`."""
    return re.findall(r"^  ([a-z0-9-]+)", run("load", "--list", what).stdout, re.M)


SPECS = [pytest.param(path, number, id=f"{path.stem}-{number}")
         for path in (DOCS / "formats" / "spec.md", TOP / "README.md")
         for number in range(len(blocks(path, "yaml")))]  # fmt: skip


@pytest.mark.parametrize("path, number", SPECS)
def test_specs_are_sound(tmp_path, path, number):
    (tmp_path / "doc.yaml").write_text(blocks(path, "yaml")[number])
    done = run("load", "--dry-run", tmp_path / "doc.yaml")
    assert done.returncode == 0 or NO_CONTROLLER in done.stderr, done.stderr


def test_the_large_spec_runs_where_it_needs_no_controllers(tmp_path):
    controllers = r"^ +(- )?(cpuset|cpu_weight|cpu_max|memory_max|pids_max|set-cpuset|clear-cpuset|set-limits):.*\n"
    text = re.sub(controllers, "", blocks(DOCS / "formats" / "spec.md", "yaml")[0], flags=re.M)
    (tmp_path / "doc.yaml").write_text(text)
    load = Load(tmp_path / "doc.yaml", "-d", "1s")
    # how long wakeups take is the machine's business
    assert load.status in (0, 3, 4), load.error
    assert not [finding for finding in load.checks if finding["verdict"] == "fail" and finding["check"] != "wake-p99"]


def test_every_key_op_and_check_is_in_the_page():
    page = (DOCS / "formats" / "spec.md").read_text()
    ops = re.search(r"op_names\[OP_KINDS\] = \{(.*?)\};", (TOP / "src/load/spec.c").read_text(), re.S).group(1)
    limits = re.search(r"limit_info\[SPEC_LIMITS\] = \{(.*?)\};", (TOP / "src/load/spec_limits.c").read_text(), re.S).group(1)
    yaml = "".join((TOP / f"src/load/spec_{part}.c").read_text() for part in ("yaml", "work", "ops"))
    names = re.findall(r'"([a-z-]+)"', ops) + re.findall(r'\{"([a-z_]+)"', limits) + re.findall(r'\{"([a-z-]+)",', yaml)
    names += listed("checks")
    assert len(names) > 60
    assert not [name for name in names if not re.search(rf"\b{name}\b", page)]


def test_every_type_and_parameter_is_in_the_manual():
    page = (DOCS / "man" / "dwell-load.1.in").read_text().replace("\\-", "-").replace("\\:", "")
    rows = re.split(r"^(?=[a-z0-9-]+\t)", page[page.index("\n.TS") : page.index("\n.TE")], flags=re.M)
    rows = {row.split("\t")[0]: re.sub(r"^\.IR (\S+) (=)", r"\1\2", row, flags=re.M) for row in rows}
    for name in listed("types"):
        text = run("load", "--list", name).stdout
        team = re.search(r"groups of (\d+)", text)
        assert rows[name].split("\t")[1] == (team.group(1) if team else "1"), name
        for param, value in re.findall(r"^  ([a-z_]+)=(\S*)", text, re.M):
            assert re.search(rf"\b{param}={re.escape(value)}" if value else rf"\b{param}\b", rows[name]), (name, param)


def keys(value):
    """All keys, but those that are names of a type's parameters, nodes or states."""
    if isinstance(value, list):
        return set().union(*map(keys, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    inner = [keys(value[key]) for key in value if key not in ("params", "numa_pages", "states_ns")]
    return set(value).union(*inner)


def test_every_field_of_the_reports_is_in_the_page():
    page = (DOCS / "formats" / "json.md").read_text()
    page = page[page.index("## `dwell load --json`") : page.index("## `dwell compare` of loads")]
    load = Load("--work", "pipe-io", "--work", "exec:command=true", "--work", "affinity-churn", "--observe", "--samples", "-d", "300ms")
    assert load.run, load.error
    found = keys(load.workers) | keys(load.run)
    unknown = [key for key in found if not re.search(rf"\b{re.escape(key)}\b", page) and not key.startswith("schedstat_")]
    assert not unknown


def test_the_function_in_a_shared_object_works(tmp_path):
    source, library = tmp_path / "chase.c", tmp_path / "chase.so"
    source.write_text(blocks(DOCS / "work-types.md", "c")[0])
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{TOP / 'include'}", "-o", library, source],
        check=True,
    )
    load = Load("--work", f"custom:library={library},argument=1000", "-d", "300ms")
    assert load.status == 0, load.error
    worker = load.workers[0]
    assert worker["work_units"] == 4096 * worker["iterations"] > 0
    assert worker["iteration_cost_sample_total"] == worker["iterations"] and worker["max_gap_ms"] is not None


def test_the_function_of_the_manual_works(tmp_path):
    page = (DOCS / "man" / "dwell-work.3.in").read_text()
    text = re.search(r"^#include <dwell/work.h>\n\nint.*?^}$", page, re.S | re.M).group(0)
    source, library = tmp_path / "mine.c", tmp_path / "mine.so"
    source.write_text(text.replace("\\-", "-"))
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{TOP / 'include'}", "-o", library, source], check=True)
    load = Load("--work", f"custom:library={library}", "--check", "not-starved", "-d", "300ms")
    assert load.status == 0 and load.workers[0]["work_units"] == 1000 * load.workers[0]["iterations"], load.error


def test_the_type_of_the_page_compiles(tmp_path):
    """Against the contract that it explains."""
    source = tmp_path / "token_ring.c"
    source.write_text(blocks(DOCS / "work-types.md", "c")[1])
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{TOP / 'src'}", source], check=True
    )


def test_the_example_of_the_manual_is_a_spec(tmp_path):
    page = (DOCS / "man" / "dwell-load.1.in").read_text()
    text = re.search(r"^name: two.*?(?=^\.fi)", page, re.S | re.M).group(0)
    (tmp_path / "doc.yaml").write_text(text.replace("\\-", "-"))
    done = run("load", tmp_path / "doc.yaml", "--json", "-d", "1s")
    assert done.returncode in (0, 3, 4), done.stderr
    failed = [check for check in json.loads(done.stdout.splitlines()[-1])["checks"] if check["verdict"] == "fail"]
    assert not [check for check in failed if check["check"] != "wake-p99"]
