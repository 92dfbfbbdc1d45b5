# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell compare` of reports that `dwell load` made, and of what became of them."""
import copy
import json
import pathlib
import re
import subprocess

import pytest
import schemas

from conftest import DWELL, run
from verdicts import inconclusive

RUNS = 6
ATTEMPTS = 20  # of a run that others leave no CPU


def load(directory, *arguments):
    done = run("load", "--quiet", *arguments, "--duration", "500ms", "--save", directory)
    assert done.returncode in (0, 3), done.stderr


def reports(directory):
    return [path / "report.json" for path in sorted(directory.iterdir())]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def compare(*arguments):
    """-> (exit status, the comparison, what was said)"""
    done = run("compare", *arguments, "--format", "json")
    assert done.stdout, done.stderr
    return done.returncode, schemas.read(done.stdout)[0], done.stderr


def metrics(comparison, group=0):
    return {metric["metric"]: metric for metric in comparison["groups"][group]["metrics"]}


def rate(path):
    return lines(path)[-1]["groups"][0]["iterations_per_second"]


def run_fast(directory, attempt, least):
    """Runs pipe-io into `directory`, as often as a machine that gives it no CPU makes it slower than that."""
    attempt.mkdir()
    for number in range(ATTEMPTS):
        load(attempt / str(number), "--work", "pipe-io", "--workers", "2")
        (report,) = reports(attempt / str(number))
        if rate(report) > least:
            directory.mkdir(exist_ok=True)
            report.parent.rename(directory / f"run-{attempt.name}")
            return
    inconclusive(f"the machine gave the load no CPU: {rate(report):.0f} iterations a second, and {least:.0f} where they are longer")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Runs of pipe-io; and as many of the same with fifty times the work in between."""
    top = tmp_path_factory.mktemp("runs")
    for _ in range(RUNS):
        load(top / "heavy", "--work", "pipe-io:burst_iters=51200", "--workers", "2")
    for number in range(RUNS):
        run_fast(top / "light", tmp_path_factory.mktemp("attempts") / str(number), 3 * max(map(rate, reports(top / "heavy"))))
    return top


@pytest.fixture
def edited(kept, tmp_path):
    """edited(name, change): a copy of the light runs; change(records, number) edits each."""

    def edit(name, change):
        for number, path in enumerate(reports(kept / "light")):
            records = lines(path)
            records = change(records, number) or records
            write(tmp_path / name / f"run-{number}" / "report.json", records)
        return tmp_path / name

    return edit


def test_the_same_runs_are_equal(kept):
    status, comparison, said = compare(kept / "light", kept / "light")
    assert (status, said) == (0, "")
    assert comparison["type"] == "comparison" and comparison["of"] == "load" and comparison["answer"] == "same"
    assert comparison["a"]["runs"] == comparison["b"]["runs"] == RUNS
    assert comparison["worse"] == comparison["better"] == comparison["undecided"] == 0 < comparison["same"]
    assert comparison["differences"] == []
    table = run("compare", kept / "light", kept / "light")
    assert table.returncode == 0 and "No difference beyond the gates." in table.stdout and "max-gap" not in table.stdout
    assert table.stdout.splitlines()[-1].startswith("0 worse, 0 better, ")
    everything = run("compare", kept / "light", kept / "light", "--all").stdout
    for metric in metrics(comparison):
        assert f"  {metric} " in everything


def test_figures_are_those_of_the_reports(kept):
    _, comparison, _ = compare(kept / "light", kept / "heavy")
    of_group = metrics(comparison)
    for side in ("light", "heavy"):
        groups = [lines(path)[-1]["groups"][0] for path in reports(kept / side)]
        workers = [[line for line in lines(path) if line["type"] == "worker"] for path in reports(kept / side)]
        key = "a" if side == "light" else "b"
        expected = {
            "iterations": [group["iterations_per_second"] for group in groups],
            "slowest-worker": [group["slowest_worker"] for group in groups],
            "migrations": [group["migration_count"] * 2e9 / group["wall_time_ns"] for group in groups],
            "fairness": [group["fairness"] for group in groups],
            "cpus": [group["cpu_time_ns"] * 2 / group["wall_time_ns"] for group in groups],
            "cross-llc": [group["cross_llc_migrations"] * 2e9 / group["wall_time_ns"] for group in groups],
            "run-delay": [group["run_delay_ns"] / group["run_count"] for group in groups],
            "worst-run-delay": [
                max(worker["schedstat_run_delay_ns"] / worker["schedstat_run_count"] for worker in run_workers)
                for run_workers in workers
            ],
            # of fewer samples it is the largest
            "wake-p99": [
                group["wake_to_run"]["p99_ns"] for group in groups if group["wake_to_run"]["total"] >= 100
            ],
            "wake-median": [group["wake_to_run"]["p50_ns"] for group in groups],
            "page-locality": [group["numa_local_pages"] / sum(group["numa_pages"].values()) for group in groups],
        }
        for metric, values in expected.items():
            found = of_group[metric][key]
            if not values:
                assert found is None, metric
                continue
            assert found["runs"] == len(values), metric
            assert found["mean"] == pytest.approx(sum(values) / len(values), rel=1e-4), metric
            assert found["min"] == pytest.approx(min(values), rel=1e-4), metric
            assert found["max"] == pytest.approx(max(values), rel=1e-4), metric
    # pipe-io does not measure what an iteration costs
    assert of_group["cost-p50"]["a"] is None and of_group["cost-p50"]["verdict"] is None


def test_a_real_difference_is_found(kept):
    status, comparison, said = compare(kept / "light", kept / "heavy")
    assert status == 3
    for metric in ("iterations", "slowest-worker"):
        found = metrics(comparison)[metric]
        assert found["verdict"] == "worse" and found["low"] < found["change"] < -0.5 and found["high"] < -0.5, found
        assert metric in said
    assert {"what": "burst_iters", "a": ["1024"], "b": ["51200"]} in comparison["groups"][0]["differences"]
    assert comparison["differences"] == [], "seeds were drawn by each run"
    # the other way round it is better
    _, comparison, _ = compare(kept / "heavy", kept / "light")
    assert metrics(comparison)["iterations"]["verdict"] == "better"
    table = run("compare", kept / "light", kept / "heavy")
    assert table.returncode == 3 and "burst_iters: A 1024, B 51200" in table.stdout
    row = next(line.split() for line in table.stdout.splitlines() if line.startswith("  iterations "))
    assert row[0] == "iterations" and row[-1] == "worse" and row[3].startswith("-")
    assert re.search(r"^Worse: iterations is [\d.]+ % lower \(95 %: [\d.]+ to [\d.]+\), [\d.]+/s instead of ", table.stdout, re.M)


def test_gates_decide(kept):
    # absolute: from 0 (no migration in any run) to something is beyond every percentage
    wide = [argument
            for name, metric in metrics(compare(kept / "light", kept / "heavy")[1]).items()
            for argument in ("--gate", f"{name}=1e12{'s' if metric['unit'] == 'ns' else ''}/0%")]
    # of wakeups not every run has enough samples
    wide += ["--metrics", "iterations,slowest-worker,run-delay,max-gap"]
    assert compare(kept / "light", kept / "heavy", *wide)[0] == 0
    status, comparison, said = compare(kept / "light", kept / "heavy", *wide, "--gate", "iterations=1/s/1%")
    assert status == 3 and said == "dwell compare: worse in pipe-io: iterations\n"
    assert metrics(comparison)["iterations"]["gate"] == {"absolute": 1, "relative": 0.01}


def test_the_manual_lists_the_gates(kept):
    page = pathlib.Path(__file__).parents[2] / "docs" / "man" / "dwell-compare.1.in"
    pattern = r"^(\S+) +(low|high|-) +([\d.]+)(us|ms|%|) +and (\d+)%"
    rows = re.findall(pattern, page.read_text().replace("\\-", "-"), re.M)
    units = {"us": 1e3, "ms": 1e6, "%": 0.01, "": 1}
    _, comparison, _ = compare(kept / "light", kept / "light")
    assert [row[0] for row in rows] == list(metrics(comparison))
    for name, better, absolute, unit, relative in rows:
        metric = metrics(comparison)[name]
        assert (metric["better"] or "-") == better and metric["gate"]["relative"] == float(relative) / 100
        if metric["unit"] == "per_second":
            continue  # it is of a total, and has become a rate by the length of the runs
        assert metric["gate"]["absolute"] == pytest.approx(float(absolute) * units[unit]), name


def test_one_run_a_side_says_little(kept):
    light, heavy = reports(kept / "light")[0], reports(kept / "heavy")[0]
    status, comparison, _ = compare(light, heavy)
    assert status == 4 and comparison["answer"] == "undecided"
    iterations = metrics(comparison)["iterations"]
    assert iterations["p"] is iterations["low"] is iterations["high"] is None and iterations["verdict"] == "undecided"
    assert iterations["change"] < -0.5
    # the directory of a run is that run
    remark = "1 run a side cannot distinguish a change from chance: 4 can, where it is large."
    assert remark in run("compare", light.parent, heavy.parent).stdout
    assert "from chance" not in run("compare", kept / "light", kept / "heavy").stdout
    assert compare(light.parent, heavy.parent)[1]["groups"] == comparison["groups"]


def test_a_single_run_among_several_is_no_regression(edited):
    """One off by far is chance."""

    def slower(records, number):
        if number == 1:
            records[-1]["groups"][0]["iterations_per_second"] /= 10

    def steady(records, number):
        records[-1]["groups"][0]["iterations_per_second"] = 50000 + number

    def off(records, number):
        steady(records, number)
        slower(records, number)

    before = edited("before", steady)
    status, comparison, _ = compare(before, edited("after", off), "--metrics", "iterations")
    assert status == 4 and comparison["paired"]
    iterations = metrics(comparison)["iterations"]
    assert iterations["verdict"] == "undecided" and iterations["p"] > 0.05 and -0.1 < iterations["change"] < 0.1


def test_a_seed_differs_where_it_was_given(tmp_path):
    """Of one run a side, too: each has drawn another one, which was not asked for."""
    for side in ("a", "b"):
        load(tmp_path / f"drawn-{side}", "--work", "spin-wait")
        load(tmp_path / f"given-{side}", "--work", "spin-wait", "--seed", "1" if side == "a" else "2")
    drawn, given = ([lines(reports(tmp_path / f"{how}-{side}")[0])[-1] for side in ("a", "b")] for how in ("drawn", "given"))
    assert [run["seed_given"] for run in drawn + given] == [False, False, True, True]
    assert drawn[0]["seed"] != drawn[1]["seed"]
    assert compare(tmp_path / "drawn-a", tmp_path / "drawn-b")[1]["differences"] == []
    assert compare(tmp_path / "given-a", tmp_path / "given-b")[1]["differences"] == [{"what": "seed", "a": ["1"], "b": ["2"]}]
    assert "\n   seed: A 1, B 2\n" in run("compare", tmp_path / "given-a", tmp_path / "given-b").stdout


def test_a_zero_baseline_is_a_baseline(edited):
    def spread(share):
        def change(records, number):
            records[-1]["groups"][0]["off_cpu_spread"] = share

        return change

    only = ("--metrics", "off-cpu-spread")
    status, comparison, said = compare(edited("a", spread(0)), edited("b", spread(0.06)), *only)
    found = metrics(comparison)["off-cpu-spread"]
    assert status == 3 and found["verdict"] == "worse" and found["change"] is None and "off-cpu-spread" in said
    assert "from 0" in run("compare", edited("a", spread(0)), edited("b", spread(0.06)), *only).stdout
    assert compare(edited("a", spread(0)), edited("b", spread(0.01)), *only)[0] == 0


def test_nothing_is_lower_by_more_than_all_of_it(edited):
    """A run in which nothing was done: no ratio can be made of it."""

    def rates(*values):
        def change(records, number):
            records[-1]["groups"][0]["iterations_per_second"] = values[number]

        return change

    before = edited("before", rates(60000, 55000, 57000, 58000, 54000, 61000))
    after = edited("after", rates(0, 9000, 10000, 11000, 3000, 9500))
    iterations = metrics(compare(before, after, "--metrics", "iterations")[1])["iterations"]
    assert iterations["verdict"] == "worse" and iterations["change"] < -0.8
    assert -1 <= iterations["low"] < iterations["change"] < iterations["high"] < 0, iterations


def test_runs_of_another_length_are_compared_by_rates(edited, tmp_path):
    def longer(records, number):
        group = records[-1]["groups"][0]
        for key in ("iterations", "migration_count", "wall_time_ns", "run_delay_ns", "run_count"):
            group[key] *= 10

    same = edited("same", lambda records, number: None)
    status, comparison, _ = compare(same, edited("longer", longer))
    assert status == 0 and comparison["worse"] == comparison["better"] == 0


def test_runs_that_are_not_whole_are_left_out(edited, kept, tmp_path):
    def broken(records, number):
        if number == 0:
            records[-1]["end"] = "interrupted"
        if number == 1:
            records[-1]["groups"][0]["completed"] -= 1
        if number == 2:
            records[-1]["verdict"] = "fail"

    directory = edited("broken", broken)
    (directory / "killed").mkdir()
    (directory / "killed" / "spec.yaml").write_text("name: x\n")
    (directory / "notes.txt").write_text("not a run\n")
    status, comparison, _ = compare(directory, kept / "light")
    assert status in (0, 3, 4)
    assert comparison["a"]["runs"] == RUNS - 2 and comparison["a"]["failed"] == 1
    assert comparison["a"]["left_out"] == {"not_ended": 1, "lacking_workers": 1, "without_report": 1, "without_pair": 0}
    table = run("compare", directory, kept / "light").stdout
    assert f"{RUNS - 2} runs, of which 1 failed by its own checks" in table
    assert "left out: 1 did not come to the end, 1 lacked workers, 1 without report.json" in table
    # nothing left is no comparison
    done = run("compare", kept / "light", directory / "run-0")
    assert done.returncode == 1 and "no run to compare: 1 did not come to the end, 0 lacked" in done.stderr


def test_groups_and_machines_that_differ_are_named(edited):
    def moved(records, number):
        records[-1]["machine"].update(kernel="9.9.9", sched_ext="scx_\x1b[31mred")
        other = copy.deepcopy(records[-1]["groups"][0])
        other["cgroup"] = "extra"
        records[-1]["groups"].append(other)

    same = edited("same", lambda records, number: None)
    status, comparison, _ = compare(same, edited("moved", moved))
    assert status == 0
    kernel, scheduler = comparison["differences"]
    assert kernel["what"] == "kernel" and kernel["b"] == ["9.9.9"]
    assert scheduler == {"what": "sched_ext", "a": ["none"], "b": ["scx_\x1b[31mred"]}
    assert [(group["cgroup"], group["in"]) for group in comparison["groups"]] == [(None, "both"), ("extra", "b")]
    table = run("compare", same, edited("moved", moved)).stdout
    assert "extra pipe-io: only in B" in table and "sched_ext: A none, B scx_?[31mred" in table


def test_nothing_in_common_is_inconclusive(edited, kept):
    def renamed(records, number):
        records[-1]["groups"][0]["work"] = "spin-wait"

    status, comparison, said = compare(kept / "light", edited("renamed", renamed))
    assert status == 4 and "nothing to judge" in said
    assert [group["in"] for group in comparison["groups"]] == ["a", "b"]


def test_wakeups_of_two_kinds_are_left_out(edited, kept):
    def without(records, number):
        records[-1]["groups"][0]["wake_to_run"] = None

    status, comparison, _ = compare(kept / "light", edited("without", without))
    assert status == 0 and comparison["groups"][0]["wakes_differ"]
    assert metrics(comparison)["wake-p99"]["a"] is None
    assert "wakeups are left out" in run("compare", kept / "light", edited("without", without)).stdout
    # two of the waits are of one kind
    _, comparison, _ = compare(edited("without", without), edited("without", without))
    assert comparison["groups"][0]["wakes"] == "resume"


def test_groups_that_were_started_again_are_distinguished(edited):
    def again(slower):
        def change(records, number):
            run_line = records[-1]
            second = copy.deepcopy(run_line["groups"][0])
            run_line["groups"][0]["iterations_per_second"] = 50000 + number
            second["iterations_per_second"] = (20000 if slower else 60000) + number
            run_line["groups"].append(second)
            workers = [copy.deepcopy(record) for record in records[:-1]]
            for worker in workers:
                worker["schedstat_run_delay_ns"] += 10**9 * worker["schedstat_run_count"]
            records[-1:-1] = workers

        return change

    status, comparison, said = compare(edited("a", again(False)), edited("b", again(True)))
    assert status == 3 and said == "dwell compare: worse in pipe-io, time 2: iterations\n"
    assert [group["occurrence"] for group in comparison["groups"]] == [0, 1]
    # their workers are in the order of the groups
    assert metrics(comparison, 0)["worst-run-delay"]["a"]["max"] < 10**9
    assert metrics(comparison, 1)["worst-run-delay"]["a"]["min"] >= 10**9


def test_several_runs_in_a_file_and_a_pipe(kept, tmp_path):
    light = write(tmp_path / "light.json", [line for path in reports(kept / "light") for line in lines(path)])
    heavy = write(tmp_path / "heavy.json", [line for path in reports(kept / "heavy") for line in lines(path)])
    status, comparison, _ = compare(light, heavy)
    assert status == 3 and comparison["a"]["runs"] == RUNS
    assert comparison["groups"] == compare(kept / "light", kept / "heavy")[1]["groups"]
    done = subprocess.run(
        [DWELL, "compare", str(kept / "light"), "/dev/stdin", "--format", "json"],
        input=heavy.read_text(), capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 3 and json.loads(done.stdout)["groups"] == comparison["groups"]
    # written for people to read
    pretty = tmp_path / "pretty.json"
    pretty.write_text("\n".join(json.dumps(line, indent=2) for line in lines(heavy)))
    assert compare(light, pretty)[1]["groups"] == comparison["groups"]


def test_what_was_not_measured_is_null(edited):
    def bare(records, number):
        group = records[-1]["groups"][0]
        for key in list(group):
            if key in ("cgroup", "group_idx", "work", "workers", "completed", "iterations_per_second"):
                continue
            group[key] = None
            if number % 2:
                del group[key]  # an older dwell did not know it
        del records[:-1]

    status, comparison, _ = compare(edited("bare", bare), edited("bare", bare))
    assert status == 0
    for name, metric in metrics(comparison).items():
        assert (metric["verdict"] is None) == (metric["a"] is None) == (name != "iterations"), metric


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "neither a recording nor JSON"),
        ('{"type":"load"', "at byte"),
        ('{"type":"load","version":1}\n', '"end" and "groups"'),
        ('{"type":"load","version":2,"end":"complete","groups":[]}\n', "another version"),
        ('{"type":"load","end":"complete","groups":[]}\n', "another version"),
        ('{"type":"load","version":1,"end":"complete","groups":[7]}\n', '"workers" and "completed"'),
        ('{"type":"load","version":1,"end":"complete","groups":[{"workers":1,"completed":1}]}\n', "no group"),
        ('{"type":"worker","version":1,"group_idx":0}\n', "no group"),
        ('{"type":"worker","version":1,"group_idx":0,"work":"x"}\n', "ends before"),
        ('{"type":"worker","version":1,"group_idx":-1,"work":"x"}\n', "no group"),
        ('{"type":"worker","version":1,"group_idx":0,"work":"x","schedstat_run_count":"1"}\n', "is not a number"),
        ('{"type":"load","version":1,"end":"complete","groups":[]}\n{"type":"inter', "at byte"),
        ('{"type":"load","version":1,"end":"complete","groups":[]}\n[1]\n', "not a report"),
        ('{"type":"load","version":1,"end":"interrupted","groups":[]}\n', "no run to compare"),
        *(
            (
                '{"type":"load","version":1,"end":"complete","groups":[{"workers":1,"completed":1,"group_idx":0,'
                f'"work":"x",{damage}}}]}}\n',
                part,
            )
            for damage, part in [
                ('"iterations":-1', '"iterations" is not a number'),
                ('"iterations":"many"', '"iterations" is not a number'),
                ('"iterations":1e300', '"iterations" is not a number'),
                ('"iterations":1e999', "at byte"),
                ('"resume":[1]', '"resume" is not an object'),
                ('"numa_pages":{"0":"x"}', "is not a number"),
                ('"cgroup":7', "no group"),
            ]
        ),
    ],
)
def test_damaged_reports(kept, tmp_path, text, part):
    path = tmp_path / "damaged.json"
    path.write_text(text)
    for arguments in ((kept / "light", path), (path, kept / "light")):
        done = run("compare", *arguments)
        assert done.returncode == 1 and done.stdout == "", (text, done.stdout)
        # an empty file is of no kind
        assert "damaged.json" in done.stderr and (part in done.stderr or not text), (text, done.stderr)
        assert done.stderr.count("\n") == 1


def test_a_damaged_report_among_others_is_named(edited):
    directory = edited("cut", lambda records, number: None)
    report = directory / "run-1" / "report.json"
    report.write_text(report.read_text()[:-40])
    done = run("compare", directory, directory)
    assert done.returncode == 1 and "run-1/report.json: damaged: at byte" in done.stderr
    report.write_text(" \n")
    done = run("compare", directory, directory)
    assert done.returncode == 1 and "run-1/report.json: damaged: it is empty" in done.stderr
    report.unlink()
    report.mkdir()
    done = run("compare", directory, directory)
    assert done.returncode == 1 and "run-1/report.json" in done.stderr


def test_directories_without_reports(kept, tmp_path):
    (tmp_path / "empty" / "inside").mkdir(parents=True)
    for path in (tmp_path / "empty", tmp_path / "empty" / "inside"):
        done = run("compare", kept / "light", path)
        assert done.returncode == 1 and f"{path} has no report" in done.stderr
    done = run("compare", kept / "light", tmp_path / "nowhere")
    assert done.returncode == 1 and "nowhere: No such file" in done.stderr


def test_kinds_are_not_mixed(kept, tmp_path):
    blocked = write(tmp_path / "blocked.json", [{"type": "blocked", "version": 1, "hotspots": []}])
    report = reports(kept / "light")[0]
    for arguments in ((report, blocked), (blocked, kept / "light")):
        done = run("compare", *arguments)
        assert done.returncode == 1 and "only two of one kind" in done.stderr, done.stderr
    assert run("compare", blocked, blocked).returncode == 0
    options = (("--worse=5", report), ("--all", blocked), ("--gate=wake-cv=1/1%", blocked))
    for option, path in options:
        done = run("compare", path, path, option)
        assert done.returncode == 2 and f"{option.split('=')[0]} is for measurements of" in done.stderr


def test_mistakes_in_gates(kept):
    for gate, part in (("wake-p9=1us/1%", "'wake-p99'"), ("wake-p99=1/1%", "number of us"), ("x", "METRIC=")):
        done = run("compare", kept, kept, "--gate", gate)
        assert done.returncode == 2 and part in done.stderr, done.stderr
