# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell load --ab`: two specs by turns."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
import schemas

from conftest import DWELL, run
from loads import spec

SPEC = """\
name: {name}
duration: 150ms
cgroups:
  - name: front
    work: {{type: "pipe-io:burst_iters={iterations}", workers: 2}}
"""


@pytest.fixture
def specs(tmp_path):
    """specs(iterations, ...) -> paths"""

    def make(*iterations):
        paths = [tmp_path / f"spec-{number}.yaml" for number in range(len(iterations))]
        for path, work in zip(paths, iterations):
            path.write_text(SPEC.format(name=path.stem, iterations=work))
        return paths

    return make


def compared(*arguments, **options):
    """-> (exit status, the comparison, what was said)"""
    done = run("load", "--ab", *arguments, "--json", **options)
    assert done.stdout, done.stderr
    return done.returncode, schemas.read(done.stdout)[0], done.stderr


def metric(comparison, name):
    return next(metric for metric in comparison["groups"][0]["metrics"] if metric["metric"] == name)


def kept(directory, first="a", second="b"):
    """-> (exit status, the comparison) of what --save has kept"""
    done = run("compare", directory / first, directory / second, "--json")
    assert done.stdout, done.stderr
    return done.returncode, schemas.read(done.stdout)[0]


def judged(comparison):
    """All figures, but those of which the last digit is by the order in which runs were read."""
    groups = [{**group, "metrics": [{key: value for key, value in metric.items() if key not in ("a", "b")}
                                    for metric in group["metrics"]]} for group in comparison["groups"]]  # fmt: skip
    return {**{key: comparison[key] for key in ("answer", "alpha", "paired", "worse", "better", "same", "undecided")}, "groups": groups}


def await_pairs(directory, count=2):
    """Until that many runs of each side are kept."""
    deadline = time.monotonic() + 60
    while min(len(list((directory / side).glob("*/report.json"))) for side in "ab") <= count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def left_behind():
    """Processes of this program and their workers, but for those of other tests: our children are gone."""
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return children.read().split()


def test_a_large_difference_ends_it_at_an_early_look(specs, tmp_path):
    light, heavy = specs(1024, 51200)
    status, comparison, said = compared(light, heavy, "--save", tmp_path / "runs")
    assert (status, said) == (3, "")
    assert comparison["answer"] == "different" and comparison["paired"] and comparison["end"] == "decided"
    # after 8 pairs; on a busy machine a run may be so slow that it takes one look more
    assert comparison["pairs"] == comparison["a"]["runs"] == comparison["b"]["runs"] <= 12
    assert [comparison[side]["path"] for side in "ab"] == [str(light), str(heavy)]
    # both runs of a pair have one seed
    assert "seed" not in {difference["what"] for difference in comparison["differences"]}
    iterations = metric(comparison, "iterations")
    assert iterations["verdict"] == "worse" and iterations["low"] <= iterations["change"] <= iterations["high"] < -0.5
    # what was kept says the same
    status, again = kept(tmp_path / "runs")
    assert status == 3 and judged(again) == judged(comparison)
    starts = sorted((json.loads(path.read_text().splitlines()[-1])["started"], path.parent.parent.name)
                    for path in (tmp_path / "runs").glob("?/*/report.json"))  # fmt: skip
    order = "".join(side for _, side in starts)
    # of each two pairs, A is first in one
    assert len(order) == 16 and {order[at : at + 4] for at in range(0, 16, 4)} <= {"abba", "baab"}


def test_what_is_kept_is_judged_as_it_was(specs, tmp_path):
    """When to end was decided by looking: each look has a part of the 5 % only."""
    same, again = specs(1024, 1024)
    runs = tmp_path / "runs"
    _, comparison, _ = compared(same, again, "--pairs", "12", "--duration", "50ms", "--gate", "iterations=0/0%", "--save", runs)
    assert comparison["pairs"] == 12 and comparison["alpha"] == 0.025
    gate = ("--gate", "iterations=0/0%")
    done = run("compare", runs / "a", runs / "b", "--json", *gate)
    assert judged(schemas.read(done.stdout)[0]) == judged(comparison)
    assert "   the two took turns, so their runs are compared in pairs, as --ab did\n" in run("compare", runs / "a", runs / "b").stdout
    # the other way round, too; but without its files they are runs as any others
    swapped = kept(runs, "b", "a")[1]
    assert (swapped["alpha"], swapped["paired"], swapped["a"]["runs"]) == (0.025, True, 12)
    (pairs,) = (runs / "a").glob("ab-*.json")
    assert schemas.read(pairs.read_text())[0]["looks"] == 2
    moved = tmp_path / "moved"
    (runs / "a").rename(moved)
    (moved / pairs.name).rename(tmp_path / "pairs.json")
    done = run("compare", moved, runs / "b", "--json", *gate)
    plain = schemas.read(done.stdout)[0]
    assert (plain["alpha"], plain["paired"], plain["a"]["runs"]) == (0.05, True, 12)
    iterations, wide = metric(plain, "iterations"), metric(comparison, "iterations")
    assert wide["change"] == iterations["change"] and wide["low"] <= iterations["low"] <= iterations["high"] <= wide["high"]
    assert wide["high"] - wide["low"] > iterations["high"] - iterations["low"]
    # a run that was made beside them is of no pair, and what --ab runs later is looked at as often
    (tmp_path / "pairs.json").rename(moved / pairs.name)
    moved.rename(runs / "a")
    assert run("load", same, "--duration", "50ms", "--quiet", "--save", runs / "a").returncode in (0, 3, 4)
    _, beside = kept(runs)
    assert [beside[side]["runs"] for side in "ab"] == [12, 12] and beside["a"]["left_out"]["without_pair"] == 1
    compared(same, again, "--pairs", "9", "--duration", "50ms", "--save", runs, "--gate", "iterations=0/0%")
    _, both = kept(runs)
    assert both["paired"] and both["a"]["runs"] == both["b"]["runs"] == 21 and both["alpha"] == 0.025
    compared(same, again, "--pairs", "12", "--duration", "50ms", "--save", runs, "--gate", "iterations=0/0%")
    _, three = kept(runs)
    assert three["paired"] and three["a"]["runs"] == 33 and three["alpha"] == 0.0125
    pairs.write_text("{}")
    done = run("compare", runs / "a", runs / "b")
    assert done.returncode == 1 and f"{pairs}: damaged" in done.stderr, done.stderr


def test_it_is_said_in_sentences(specs):
    light, heavy = specs(1024, 51200)
    done = run("load", "--ab", light.name, heavy.name, cwd=light.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 3 and re.fullmatch(rf"A  {re.escape(light.name)}  8 runs; others had [0-9.]+ % of the CPUs' time", lines[0]), done.stdout
    assert any(line.startswith("   8 pairs, by turns, in ") and line.endswith(": decided") for line in lines), lines
    assert any(line.startswith("Worse: iterations is ") for line in lines), lines
    rows = run("load", "--ab", light, heavy, "--format", "csv").stdout.splitlines()
    assert rows[0].startswith("cgroup,group_idx,work,") and any(",iterations," in row for row in rows)


@pytest.mark.measures
def test_a_spec_does_not_differ_from_itself(specs):
    """But for one time in twenty, of all metrics together."""
    same, again = specs(1024, 1024)
    status, comparison, _ = compared(same, again)
    assert (status, comparison["answer"]) in ((0, "same"), (4, "undecided")), comparison
    assert comparison["end"] in ("decided", "pairs") and comparison["pairs"] <= 20
    # wide gates: there is nothing that could be decided but that they are the same
    wide = ("--metrics", "iterations", "--gate", "iterations=0/10000%")
    status, comparison, _ = compared(same, again, *wide)
    assert (status, comparison["answer"], comparison["end"], comparison["pairs"]) == (0, "same", "decided", 8)
    assert metric(comparison, "wake-p99")["verdict"] is None


def test_pairs_and_budgets_limit_it(specs):
    same, again = specs(1024, 1024)
    status, comparison, _ = compared(same, again, "--pairs", "3")
    assert (status, comparison["end"], comparison["pairs"]) == (4, "pairs", 3)
    assert metric(comparison, "iterations")["low"] is None
    status, comparison, _ = compared(same, again, "--budget", "2s", "--duration", "50ms", "--gate", "iterations=0/0%")
    assert comparison["end"] == "budget" and comparison["pairs"] >= 3
    for pairs, words in (("1", "1 pair"), ("2", "2 pairs")):
        remark = run("load", "--ab", same, again, "--pairs", pairs).stdout
        assert f"{words} cannot distinguish a change from chance: 6 can, where it is large." in remark
    remark = run("load", "--ab", same, again, "--budget", "1ms").stdout
    assert "1 pair, by turns, in " in remark and ": more than the budget of 1.0ms\n" in remark, remark


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_what_it_knows(specs, tmp_path, number):
    same, again = specs(1024, 1024)
    command = [DWELL, "load", "--ab", same, again, "--pairs", "200", "--gate", "iterations=0/0%", "--json",
               "--save", tmp_path / "runs"]
    before = left_behind()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    await_pairs(tmp_path / "runs")
    os.killpg(process.pid, number)
    out, _ = process.communicate(timeout=30)
    comparison = schemas.read(out)[0]
    assert comparison["end"] == "interrupted" and 0 < comparison["pairs"] < 200
    assert comparison["pairs"] == comparison["a"]["runs"] == comparison["b"]["runs"]
    assert process.returncode in (3, 4)
    assert left_behind() == before


@pytest.mark.parametrize("form", ["json", "table"])
def test_interrupted_it_says_how_near_it_came(specs, tmp_path, form):
    """From nine pairs on there is an interval, though no look was due; what was kept has the same one."""
    same, again = specs(1024, 1024)
    gate = ("--gate", "iterations=0/0%")
    process = subprocess.Popen([DWELL, "load", "--ab", same, again, "--pairs", "200", "--duration", "50ms", *gate, "--format", form,
                                "--save", tmp_path / "runs"], stdout=subprocess.PIPE, text=True)  # fmt: skip
    await_pairs(tmp_path / "runs", 9)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode in (3, 4)
    done = run("compare", tmp_path / "runs" / "a", tmp_path / "runs" / "b", *gate, "--format", form)
    if form == "json":
        comparison = schemas.read(out)[0]
        iterations = metric(comparison, "iterations")
        assert comparison["end"] == "interrupted" and 9 <= comparison["pairs"] < 200
        assert iterations["low"] <= iterations["change"] <= iterations["high"]
        assert judged(schemas.read(done.stdout)[0]) == judged(comparison)
    else:
        (row,) = re.findall(r"^  iterations .*", out, re.M)
        assert re.search(r"^   \d+ pairs, by turns, in \S+: interrupted$", out, re.M), out
        assert re.search(r"%  +[-+]?[\dx.]+ to [-+]?[\dx.]+%? ", row), row
        assert row in done.stdout.splitlines(), done.stdout


def test_killed_it_leaves_nothing(specs):
    (spec,) = specs(1024)
    spec.write_text('name: marked\nduration: 60s\ncgroups:\n  - name: a\n    work: {type: "exec:command=sleep 4242"}\n')
    process = subprocess.Popen([DWELL, "load", "--ab", spec, spec], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sleeping():
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                found += [entry] if entry.read_bytes() == b"sleep\x004242\x00" else []
            except OSError:
                continue
        return found

    for _ in range(200):
        if sleeping():
            break
        time.sleep(0.05)
    assert sleeping()
    process.kill()
    process.wait()
    for _ in range(200):
        if not sleeping():
            break
        time.sleep(0.05)
    assert not sleeping()


def test_what_cannot_run_is_said_at_once(specs, tmp_path):
    good, bad = specs(1024, 1024)
    bad.write_text(bad.read_text().replace("duration", "duratoin"))
    start = time.monotonic()
    done = run("load", "--ab", good, bad)
    assert done.returncode == 2 and "duration" in done.stderr and not done.stdout
    assert time.monotonic() - start < 5
    # a run that ends without a report ends it all, if it is the first
    bad.write_text(good.read_text() + "  - name: a\n    work: {type: io-sync-write}\n")
    done = run("load", "--ab", good, bad, "--pairs", "6", "--scratch", "/proc/nowhere")
    assert done.returncode == 1 and done.stderr.startswith((f"dwell load: A ({good}): ", f"dwell load: B ({bad}): ")), done.stderr
    (tmp_path / "file").write_text("")
    done = run("load", "--ab", good, good, "--save", tmp_path / "file")
    assert done.returncode == 1 and "file" in done.stderr


def test_what_was_measured_is_not_lost_by_runs_that_fail(specs, tmp_path):
    good, bad = specs(1024, 1024)
    process = subprocess.Popen([DWELL, "load", "--ab", good, bad, "--pairs", "200", "--gate", "iterations=0/0%", "--json",
                                "--save", tmp_path / "runs"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    await_pairs(tmp_path / "runs")
    bad.unlink()
    out, error = process.communicate(timeout=60)
    comparison = schemas.read(out)[0]
    assert process.returncode in (3, 4) and comparison["end"] == "failed" and comparison["pairs"] > 0, error
    assert error.splitlines()[-1].startswith(f"dwell load: B ({bad}): no file and no built-in scenario"), error


def test_what_has_no_group_in_common_does_not_run(tmp_path):
    """But what is moved into the other's cgroup may."""
    text = "cgroups: [{name: %s, work: %s}]\nduration: 60s\n"
    one, work, cgroup = (spec(tmp_path, text % (name, work), f"{name}-{work}.yaml")
                         for name, work in (("a", "spin-wait"), ("a", "pipe-io"), ("b", "spin-wait")))  # fmt: skip
    for other in (work, cgroup):
        done = run("load", "--ab", one, other, timeout=30)
        assert done.returncode == 2 and "have no group in common" in done.stderr and not done.stdout, done
    moved = spec(tmp_path, """
cgroups: [{name: a}, {name: b, work: spin-wait}]
phases:
  - {ops: [{move-tasks: [b, a]}], hold: 60s}
""", "moved.yaml")
    assert run("load", "--ab", one, moved, "--dry-run").returncode == 0


@pytest.mark.parametrize("arguments, part", [
    (("--ab",), "which specs?"),
    (("--ab", "steady"), "which specs?"),
    (("--ab", "steady", "--work", "spin-wait", "steady"), "which specs?"),
    (("--ab", "steady", "steady", "steady"), "not more"),
    (("--ab", "steady", "nothing"), "nothing"),
    (("--ab", "steady", "-"), "standard input"),
    (("--ab", "steady", "steady", "--pairs", "0"), "--pairs"),
    (("--ab", "steady", "steady", "--pairs", "9999999"), "at most"),
    (("--ab", "steady", "steady", "--pairs", "9", "--budget", "9s"), "not both"),
    (("--ab", "steady", "steady", "--observe"), "apply to one run"),
    (("--ab", "steady", "steady", "--metrics", "wake-p9"), "'wake-p99'"),
    (("--ab", "steady", "steady", "--gate", "wake-p99"), "METRIC="),
    (("steady", "steady"), "one spec at a time"),
    (("steady", "--pairs", "9"), "belong to --ab"),
    (("steady", "--metrics", "all"), "belongs to --ab"),
])  # fmt: skip
def test_mistakes(arguments, part):
    done = run("load", *arguments)
    assert done.returncode == 2 and part in done.stderr and not done.stdout, done.stderr
    assert done.stderr.count("\n") == 1
