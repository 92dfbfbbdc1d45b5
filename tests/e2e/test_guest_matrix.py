# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell guest --matrix`: what it does with its guests, whatever these do. A stand-in says how they end."""
import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess

import pytest

from conftest import DWELL, run
from loads import children, processes
from matrices import Matrix, nothing_goes_on, wait_until  # noqa: F401
from test_docs import keys

TOP = pathlib.Path(__file__).resolve().parents[2]
COMMAND = "command: load steady -d 2s\n"


def schedulers(*ends):
    """One for each way to end; the first is none, with which all is well."""
    return "schedulers:\n" + "".join(f"  - {'./scx ' + end if end else 'none'}\n" for end in ends)


def test_every_combination_has_a_verdict_and_its_reason(tmp_path):
    ends = ["", "fail", "died", "error", "unsure", "unstarted", "strange", "crash", "garbage"]
    matrix = Matrix(tmp_path, "name: gauntlet\ntopologies: [tiny-2llc, 1n1l2c1t, max-cpu]\n" + schedulers(*ends) + COMMAND)
    status, report = matrix.json("--accel", "tcg", "--append", "nokaslr a", "--max-cpus", 8, "--out", matrix.out)
    assert status == 3
    assert (report["type"], report["version"], report["matrix"]["name"]) == ("guest-matrix", 1, "gauntlet")
    cells = {(cell["topology"], (cell["scheduler"] or "").split(" ")[-1]): cell for cell in report["cells"]}
    assert len(cells) == len(report["cells"]) == 27
    for topology in ("tiny-2llc", "1n1l2c1t"):
        found = {end: cells[topology, end] for end in ends}
        assert [found[end]["verdict"] for end in ends] == ["pass", "fail", "died", "error", "inconclusive"] + ["error"] * 4
        assert [check["check"] for check in found["fail"]["checks"]] == ["max-gap", "not-starved"]
        assert found["fail"]["checks"][0]["text"] == "spin-wait: worker 53: worst 3.20s, limit 2.00s"
        assert found["died"]["reason"] == "runtime error (stall)"
        assert found["died"]["guest"]["scheduler"]["dump"].startswith("sched_ext: scx_fake disabled")
        assert "\n" in found["died"]["guest"]["scheduler"]["dump"].strip()
        assert found["error"]["reason"] == "the guest did not boot within 60s"
        assert found["unstarted"]["reason"] == "the verifier refuses it"
        assert "so strange" in found["strange"]["reason"] and "about to crash" in found["crash"]["reason"]
        assert found[""]["guest"]["release"] == "6.12.0" and found[""]["elapsed_ns"] > 0
    for end in ends:
        assert cells["max-cpu", end]["verdict"] == "skipped"
        assert cells["max-cpu", end]["reason"] == "252 CPUs, --max-cpus 8"
    assert report["verdicts"] == {"pass": 2, "fail": 2, "died": 2, "inconclusive": 2, "error": 10, "skipped": 9, "not_run": 0}
    assert json.loads(matrix.out.read_text()) == report
    assert matrix.left() == []
    rows = csv.DictReader(io.StringIO(matrix.run("--out", matrix.out, "--resume", "--format", "csv", "--accel", "tcg", "--append", "nokaslr a", "--max-cpus", 8).stdout))
    dumps = [row["guest.scheduler.dump"] for row in rows]
    assert [dump for dump in dumps if dump] == [cells[topology, "died"]["guest"]["scheduler"]["dump"] for topology in ("tiny-2llc", "1n1l2c1t")]


def test_each_guest_is_started_with_what_it_is_to_be(tmp_path):
    matrix = Matrix(tmp_path, "topologies: [tiny-2llc]\nmemory: 700M\n" + schedulers("", "fail") + COMMAND)
    matrix.run("--accel", "tcg", "--add", tmp_path / "scx", "--append", "a b")
    lines = sorted((line[1:] for line in matrix.started()), key=len)
    common = ["guest", "--kernel", "./bzImage", "--topology", "tiny-2llc", "--memory", "700M"]
    for line, scheduler in zip(lines, ([], ["--scheduler", "./scx fail"]), strict=True):
        end = line.index("--result")
        assert line[:end] == common + scheduler + ["--accel", "tcg", "--add", str(tmp_path / "scx"), "--append", "a b"]
        assert line[end + 2] == "--keep-dump"
        assert line[end + 4 :] == ["--keep-trace", "", "--", "load", "--json", "steady", "-d", "2s"]


def test_the_table_says_which_fails_where_and_how_to_repeat_it(tmp_path):
    matrix = Matrix(tmp_path, "topologies: [tiny-2llc, max-cpu]\n" + schedulers("", "fail") + COMMAND)
    done = matrix.run("--accel", "tcg", "--max-cpus", 8)
    lines = done.stdout.splitlines()
    assert done.returncode == 3 and done.stderr == ""
    assert lines[2].split("  ")[0] == "TOPOLOGY" and "scx fail" in lines[2]
    assert lines[3].split() == ["tiny-2llc", "4", "pass", "fail", "max-gap,", "not-starved"]
    assert lines[4].split() == ["max-cpu", "252", "skipped", "skipped"]
    assert "skipped  max-cpu: 252 CPUs, --max-cpus 8" in lines
    again = next(line for line in lines if line.startswith("  dwell guest "))
    assert "--scheduler './scx fail' --accel tcg -- load steady -d 2s" in again
    assert lines[-1] == "1 pass, 1 fail, 2 skipped"


@pytest.mark.parametrize("ends, topology, status", [
    (["", "pass"], "tiny-2llc", 0),
    (["", "pass"], "[tiny-2llc, max-cpu]", 0),
    (["", "error"], "tiny-2llc", 1),
    (["unsure"], "tiny-2llc", 4),
    (["unsure", "error"], "tiny-2llc", 1),
    (["error", "fail"], "tiny-2llc", 3),
    (["died"], "tiny-2llc", 3),
])  # fmt: skip
def test_exit_status(tmp_path, ends, topology, status):
    matrix = Matrix(tmp_path, f"topologies: {topology}\n" + schedulers(*ends) + COMMAND)
    assert matrix.run("--max-cpus", 8).returncode == status


def test_commands_other_than_load_are_judged_by_their_status(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\ncommand: [doctor]\n")
    assert matrix.run().returncode == 0
    assert matrix.started()[0][-2:] == ["--", "doctor"]


def test_patterns_of_verify_are_findings(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("fail", "unsure") + "command: verify --quick\n")
    status, report = matrix.json()
    failed, unsure = report["cells"]
    assert status == 3 and matrix.started()[0][-3:] == ["verify", "--json", "--quick"]
    assert [(check["check"], check["text"]) for check in failed["checks"]] == [("pipe-read", "pipe-read: lock is off by +90.00 % of its time")]
    assert (unsure["verdict"], unsure["reason"]) == ("inconclusive", "1 inconclusive, 0 skipped of 2 patterns")


def test_repeated_runs_are_distinguished(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\nrepeat: 3\n" + schedulers("", "fail") + COMMAND)
    status, report = matrix.json()
    assert status == 3
    assert [(cell["run"], cell["verdict"]) for cell in report["cells"]] == [
        (1, "pass"), (2, "pass"), (3, "pass"), (1, "fail"), (2, "fail"), (3, "fail"),
    ]  # fmt: skip


def scored(directory, *ends, repeat=8):
    matrix = Matrix(directory, f"topologies: [tiny-2llc, 1n1l2c1t]\nrepeat: {repeat}\n" + schedulers("", *ends) + COMMAND)
    matrix.environment["FAKE_GUEST_RATE"] = "1000"
    return matrix


def test_schedulers_are_scored_against_the_kernels_own(tmp_path):
    matrix = scored(tmp_path, "rate-800", "rate-1000", "died")
    status, report = matrix.json("--out", matrix.out)
    assert status == 3 and all(len(cell["figures"]) == (cell["verdict"] == "pass") for cell in report["cells"])
    assert report["cells"][0]["figures"][0]["metrics"]["iterations"] == pytest.approx(1000, rel=0.04)
    scores = {(score["topology"], score["metric"], (score["scheduler"] or "none").split()[-1]): score for score in report["scores"]}
    for topology in ("tiny-2llc", "1n1l2c1t"):
        for metric in ("iterations", "slowest-worker"):
            slow, same, died, none = (scores[topology, metric, name] for name in ("rate-800", "rate-1000", "died", "none"))
            assert (slow["verdict"], slow["rank"], slow["runs"]) == ("worse", 3, 8)
            assert slow["low"] <= slow["change"] <= slow["high"] < -0.15 and slow["p"] < 0.05
            assert same["verdict"] in ("same", "undecided") and abs(same["change"]) < 0.03
            assert none["baseline"] and none["verdict"] is None and {none["rank"], same["rank"]} == {1, 2}
            assert (died["runs"], died["median"], died["verdict"], died["rank"]) == (0, None, None, None)
        # alike in all
        assert scores[topology, "migrations", "rate-800"]["verdict"] == "same"
    # what is read back says the same
    assert matrix.json("--out", matrix.out, "--resume")[1]["scores"] == report["scores"]
    table = matrix.run("--out", matrix.out, "--resume").stdout
    assert re.search(r"^tiny-2llc +front spin-wait +iterations +none +[\d.]+/s$", table, re.M), table
    assert re.search(r"^ +scx rate-800 +[\d.]+/s +-\d\d\.\d% +-\d\d\.\d to -\d\d\.\d%  worse$", table, re.M), table
    assert "migrations" not in table and "mean rank in throughput" in table


def test_where_nothing_is_decided_there_is_no_ranking(tmp_path):
    matrix = scored(tmp_path, "rate-800", repeat=2)
    assert matrix.run("--out", matrix.out).returncode == 0
    for name in ("card.md", "card.html"):
        matrix.run("--out", matrix.out, "--resume", "--scorecard", name)
        card = (tmp_path / name).read_text()
        assert "undecided" in card and "mean rank" not in card and "no ranking: nothing is better or worse" in card, card
    table = matrix.run("--out", matrix.out, "--resume").stdout
    assert "mean rank" not in table and "no ranking: nothing is better or worse" in table, table


def test_runs_alternate(tmp_path):
    matrix = scored(tmp_path, "rate-800", repeat=2)
    matrix.run("--jobs", 1)
    order = ["--scheduler" in line for line in matrix.started()]
    assert order == [False, True] * 2 + [True, False] * 2


def test_a_scorecard_is_a_file(tmp_path):
    matrix = scored(tmp_path, "rate-800")
    text = matrix.path.read_text().replace("./scx rate-800", "./scx '<b>|*rate-800' rate-800")
    matrix.path.write_text("name: a<b\n" + text)
    assert matrix.run("--scorecard", tmp_path / "card.md").returncode == 0
    card = (tmp_path / "card.md").read_text()
    assert card.startswith("# a\\<b\n") and "| tiny-2llc | front spin-wait | iterations | none |" in card
    assert "Kernel: bzImage, Linux 6.12.0, SHA-256 " in card and "Host: " in card and "- dwell " in card
    assert re.search(r"^\|  \|  \|  \| scx '\\<b\\>\\\|\\\*rate-800' rate-800 \| .* \| worse \|$", card, re.M), card
    matrix.run("--scorecard", tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    assert "<b>" not in page and '<td class="worse">worse' in page and "a&lt;b" in page
    (tmp_path / "other").mkdir()
    other = Matrix(tmp_path / "other", "topologies: tiny-2llc\n" + schedulers("", "fail") + COMMAND)
    assert ".md or .html" in refused(other, "--scorecard", "card.txt")
    (tmp_path / "none").mkdir()
    none = Matrix(tmp_path / "none", "topologies: max-cpu\n" + schedulers("") + COMMAND)
    assert none.run("--scorecard", "card.md", "--max-cpus", 8).returncode == 0
    card = (tmp_path / "none" / "card.md").read_text()
    assert "Kernel: bzImage, nothing was run under it" in card and "boot" not in card and "Host" not in card, card
    # without figures there are verdicts
    assert other.run("--scorecard", "card.md").returncode == 3
    assert "Verdicts: 1 pass, 1 fail." in (tmp_path / "other" / "card.md").read_text()


def test_parts_put_together_are_the_whole(tmp_path):
    matrix = scored(tmp_path, "rate-800")
    parts = [tmp_path / f"part-{number}.json" for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        matrix.run("--shard", f"{number}/3", "--out", part)
        cells = json.loads(part.read_text())["cells"]
        # all schedulers of a run are of one part
        there = {(cell["topology"], cell["run"]) for cell in cells if cell["verdict"]}
        assert 5 <= len(there) <= 6 and sum(cell["verdict"] is not None for cell in cells) == 2 * len(there)
    whole = tmp_path / "whole.json"
    merged = [word for part in parts for word in ("--merge", part)]
    status, report = matrix.json(*merged, "--out", whole)
    assert status == 0 and {cell["verdict"] for cell in report["cells"]} == {"pass"} and json.loads(whole.read_text()) == report
    assert [score["runs"] for score in report["scores"]] == [8] * len(report["scores"]) and report["scores"]
    # the file is as one that was run at once: it can be gone on with, and nothing is left to run
    count = len(matrix.started())
    assert matrix.json("--out", whole, "--resume")[1] == report and len(matrix.started()) == count

    done = matrix.run(*merged[:4])
    assert done.returncode == 1 and "10 of 32 cells are in none of the files: a part is missing" in done.stderr
    for arguments, part in (
        (merged[:2] * 2, "merged twice"),
        (("--merge", tmp_path / "nowhere"), "nowhere"),
        (("--merge", matrix.path), "damaged"),
        ((*merged, "--out", parts[0]), "there already"),
        ((*merged, "--resume", "--out", "x"), "--merge runs nothing"),
        (("--shard", "4/3"), "--shard needs K/N"),
        (("--shard", "0/3"), "--shard needs K/N"),
        (("--shard", "1"), "--shard needs K/N"),
    ):
        failed = matrix.run(*arguments)
        assert failed.returncode in (1, 2) and part in failed.stderr and not failed.stdout, failed
    shutil.copy("/bin/false", tmp_path / "scx")
    assert "not the same" in matrix.run(*merged).stderr
    matrix.path.write_text(matrix.path.read_text().replace("repeat: 8", "repeat: 9"))
    assert "another matrix" in matrix.run(*merged).stderr
    assert len(matrix.started()) == count


def test_results_are_tied_to_what_they_were_made_of(tmp_path):
    """By the digests that sha256sum prints; each file once, also where parts are put together."""

    def digest(path):
        return subprocess.run(["sha256sum", "--", path], capture_output=True, text=True, check=True).stdout.split()[0]

    matrix = scored(tmp_path, "rate-800", repeat=2)
    (tmp_path / "scx").write_bytes((tmp_path / "scx").read_bytes() + b"another")
    (tmp_path / "my.yaml").write_text("duration: 1s\nwork: spin-wait\n")
    text = matrix.path.read_text().replace(COMMAND, "command: load ./my.yaml\n")
    matrix.path.write_text(text.replace("  - ./scx rate-800\n", "  - ./scx rate-800\n  - ./scx my.yaml rate-900\n"))
    parts = [tmp_path / f"part-{number}.json" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        assert matrix.run("--shard", f"{number}/2", "--out", part).returncode == 0
    merged = matrix.json(*[word for part in parts for word in ("--merge", part)])[1]
    for report in (merged, *[json.loads(part.read_text()) for part in parts]):
        assert report["inputs"] == [
            {"used_as": used_as, "file": file, "sha256": digest(tmp_path / file)}
            for used_as, file in (("kernel", "./bzImage"), ("scheduler", "./scx"), ("scheduler", "my.yaml"), ("command", "./my.yaml"))
        ]
        assert {session["dwell_sha256"] for session in report["sessions"]} == {digest(matrix.program)}
    matrix.run(*[word for part in parts for word in ("--merge", part)], "--scorecard", "card.md")
    card = (tmp_path / "card.md").read_text()
    assert f"Kernel: bzImage, Linux 6.12.0, SHA-256 {digest(tmp_path / 'bzImage')[:16]}..." in card
    assert f"Scheduler: scx rate-800, SHA-256 {digest(tmp_path / 'scx')[:16]}..." in card


def test_parts_come_to_the_same_as_the_whole(tmp_path):
    """Each cell has figures of its own, by its number, in whichever part it runs."""
    matrix = scored(tmp_path, "rate-800", repeat=4)
    matrix.path.write_text(matrix.path.read_text().replace(COMMAND, COMMAND.rstrip() + " --seed {cell}\n"))
    # at once, as on three machines
    parts = [tmp_path / f"part-{number}.json" for number in (1, 2, 3)]
    running = [matrix.start("--shard", f"{number}/3", "--out", part) for number, part in enumerate(parts, 1)]
    for process in running:
        assert "--seed" not in process.communicate(timeout=200)[1]
    status, merged = matrix.json(*[word for part in parts for word in ("--merge", part)])
    whole_status, whole = matrix.json("--out", matrix.out)
    assert status == whole_status == 0
    rates = [[[figures["metrics"] for figures in cell["figures"]] for cell in report["cells"]] for report in (merged, whole)]
    assert rates[0] == rates[1] and len({str(rate) for rate in rates[0]}) == len(whole["cells"]) == 16
    for report in (merged, whole):
        del report["sessions"]
        for cell in report["cells"]:
            del cell["elapsed_ns"], cell["session_ns"]
    assert merged == whole and merged["scores"]


def hosts(matrix, *arguments):
    """Lines of the scorecard that say who ran, and whether it says that versions differ."""
    card = matrix.directory / "card.md"
    matrix.run(*arguments, "--scorecard", card)
    lines = card.read_text().splitlines()
    return [line[2:].replace("\\", "") for line in lines if line.startswith(("- dwell ", "- Host: "))], "different versions of dwell" in card.read_text()


def test_a_scorecard_names_those_that_ran(tmp_path):
    """Not the machine, nor the dwell, that puts parts together or goes on."""
    matrix = scored(tmp_path, "rate-800", repeat=2)
    parts = [tmp_path / f"part-{number}.json" for number in (1, 2, 3, 4)]
    for number, part in enumerate(parts, 1):
        matrix.run("--shard", f"{number}/4", "--out", part)
    merged = [word for part in parts for word in ("--merge", part)]
    (here,) = json.loads(parts[0].read_text())["sessions"]
    host = f"Host: {here['cpu_model'] + ', ' if here['cpu_model'] else ''}Linux {here['kernel']} {here['architecture']}, {here['cpus']} CPUs"
    assert here["kernel"] == os.uname().release and here["cpus"] == len(os.sched_getaffinity(0))
    assert hosts(matrix, *merged) == ([f"dwell {here['dwell']}", host], False)

    def edit(part, **changes):
        report = json.loads(part.read_text())
        report["sessions"] = [session | changes for session in report["sessions"]] if changes else []
        part.write_text(json.dumps(report))

    other = {"cpu_model": "Zilog_Z80", "kernel": "2.6.78", "architecture": "z80", "cpus": 1}
    edit(parts[0], **other)
    edit(parts[2], dwell="0.0.9", **other)
    whole = tmp_path / "whole.json"
    zilog = "Host: Zilog_Z80, Linux 2.6.78 z80, 1 CPUs"
    expected = [f"dwell {here['dwell']}: 6 runs", "dwell 0.0.9: 2 runs", f"{zilog}: 4 runs", f"{host}: 4 runs"], True
    assert hosts(matrix, *merged, "--out", whole) == expected
    # it is kept, also when all there is to run has been run elsewhere
    assert hosts(matrix, "--out", whole, "--resume") == expected
    assert len(json.loads(whole.read_text())["sessions"]) == 4
    # of what was not run, nothing is said
    assert hosts(matrix, "--merge", parts[0])[0] == [f"dwell {here['dwell']}", zilog]
    # files that do not say it
    for part in parts:
        edit(part)
    assert hosts(matrix, *merged) == (["dwell version not recorded", "Host: not recorded"], False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_one_is_gone_on_with(tmp_path, number):
    text = "topologies: [tiny-2llc, 1n1l2c1t]\n" + schedulers("", "fail", "slow") + COMMAND
    matrix = Matrix(tmp_path, text)
    process = matrix.start("--jobs", 2, "--out", matrix.out, "--no-rerun")
    # one of the two places is taken for good, all others go through the other one
    wait_until(lambda: any("./scx slow" in line for line in matrix.started()))
    wait_until(lambda: matrix.out.exists() and sum(verdict is not None for verdict in matrix.verdicts()) >= 3)
    process.send_signal(number)
    output, error = process.communicate(timeout=30)
    assert process.returncode == 1
    verdicts = matrix.verdicts()
    done = sum(verdict is not None for verdict in verdicts)
    assert error == f"dwell guest: interrupted: {done} of 6 cells done; go on with --resume\n"
    assert verdicts[:3] == ["pass", "fail", None] and verdicts[5] is None
    assert output.splitlines()[-1].endswith("not run")
    assert matrix.left() == []

    before = len(matrix.started())
    matrix.environment["FAKE_GUEST_HURRY"] = "1"
    again = matrix.run("--jobs", 2, "--out", matrix.out, "--resume", "--no-rerun")
    assert again.returncode == 3 and again.stdout.splitlines()[-1] == "4 pass, 2 fail"
    assert len(matrix.started()) - before == 6 - done
    assert matrix.verdicts() == ["pass", "fail", "pass"] * 2


def test_errors_are_tried_again_and_nothing_else(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("", "fail", "died", "once") + COMMAND)
    matrix.environment["FAKE_GUEST_MARK"] = str(tmp_path / "mark")
    assert matrix.run("--out", matrix.out, "--no-rerun").returncode == 3
    assert matrix.verdicts() == ["pass", "fail", "died", "error"]
    (tmp_path / "mark").touch()
    assert matrix.run("--out", matrix.out, "--resume", "--boot-timeout", "5m", "--no-rerun").returncode == 3
    assert matrix.verdicts() == ["pass", "fail", "died", "pass"]
    assert len(matrix.started()) == 5
    assert matrix.run("--out", matrix.out, "--resume", "--no-rerun").stdout.splitlines()[-1] == "2 pass, 1 fail, 1 died"
    assert len(matrix.started()) == 5


def repeated(matrix):
    """(scheduler's end, verdict of the second run, trace, recording) of each cell of --out that has one."""
    cells = json.loads(matrix.out.read_text())["cells"]
    return [(cell["scheduler"].split()[-1], cell["again"]["verdict"], cell["again"]["trace"], cell["again"]["recording"])
            for cell in cells if cell["again"]]


def test_what_fails_runs_once_more_with_a_recording(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("", "fail", "died", "flaky", "unsure") + COMMAND)
    card = tmp_path / "card.md"
    done = matrix.run("--out", matrix.out, "--scorecard", card)
    assert done.returncode == 3 and done.stdout.splitlines()[-1] == "1 pass, 2 fail, 1 died, 1 inconclusive"
    # beside --out, by the number of the cell; a stand-in that dies leaves no trace
    base = str(tmp_path / "verdicts-cell-")
    assert repeated(matrix) == [("fail", "fail", base + "2.trace.json", base + "2.dwell"), ("died", "died", None, base + "3.dwell"),
                                ("flaky", "pass", None, base + "4.dwell")]  # fmt: skip
    assert all(pathlib.Path(path).exists() for found in repeated(matrix) for path in found[2:] if path)
    assert f"  when repeated: fail; trace for Perfetto: {base}2.trace.json; recording: {base}2.dwell\n" in done.stdout
    assert f"  passed when repeated; recording: {base}4.dwell\n" in done.stdout
    for text in ("when repeated: fail", "passed when repeated", "verdicts-cell-2.trace.json"):
        assert text in card.read_text(), card.read_text()
    matrix.run("--out", matrix.out, "--resume", "--scorecard", tmp_path / "card.html")
    assert "passed when repeated" in (tmp_path / "card.html").read_text()
    lines = matrix.started()
    # when all have a verdict; once; the same guest and command
    assert ["--record" in line for line in lines] == [False] * 5 + [True] * 3
    again, first = lines[5], next(line for line in lines if "./scx fail" in line)
    cut = slice(again.index("--result"), again.index("--"))
    assert again[: cut.start] + again[cut.stop :] == first[: cut.start] + first[first.index("--") :]

    # what has run again does not on --resume; what was not to does
    assert matrix.run("--out", matrix.out, "--resume").returncode == 3 and len(matrix.started()) == 8
    other = tmp_path / "other.json"
    assert matrix.run("--out", other, "--no-rerun").returncode == 3 and len(matrix.started()) == 13
    assert [cell["again"] for cell in json.loads(other.read_text())["cells"]] == [None] * 5
    assert matrix.run("--out", other, "--resume").returncode == 3 and len(matrix.started()) == 16
    # without a place for files nothing is run again
    assert matrix.run().returncode == 3 and len(matrix.started()) == 21


def test_of_repeated_runs_the_first_failure_runs_again(tmp_path):
    matrix = Matrix(tmp_path, "topologies: [tiny-2llc, 1n1l2c1t]\nrepeat: 3\n" + schedulers("", "fail") + COMMAND)
    parts = [tmp_path / "one.json", tmp_path / "two.json"]
    for number, part in enumerate(parts, 1):
        assert matrix.run("--shard", f"{number}/2", "--out", part).returncode == 3
    assert matrix.run("--merge", parts[0], "--merge", parts[1], "--out", matrix.out).returncode == 3
    # each part has runs of both topologies
    assert len(matrix.started()) == 12 + 4
    assert [found[1] for found in repeated(matrix)] == ["fail"] * 4
    assert {pathlib.Path(found[3]).name.split("-")[0] for found in repeated(matrix)} == {"one", "two"}
    count = len(matrix.started())
    assert matrix.run("--out", matrix.out, "--resume").returncode == 3 and len(matrix.started()) == count


def test_one_that_hangs_when_repeated_is_ended(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\ntimeout: 3s\n" + schedulers("hangs-again") + COMMAND)
    assert matrix.run("--out", matrix.out).returncode == 3
    assert [found[1] for found in repeated(matrix)] in (["fail"], ["error"]) and matrix.left() == []
    assert "timeout" in json.loads(matrix.out.read_text())["cells"][0]["again"]["reason"]


def test_what_was_built_again_runs_again(tmp_path):
    matrix = Matrix(tmp_path, "topologies: [tiny-2llc, 1n1l2c1t]\n" + schedulers("", "fail") + "command: load spec.yaml\n")
    spec = tmp_path / "spec.yaml"
    spec.write_text("{work: spin-wait, duration: 1s}\n")
    assert matrix.run("--out", matrix.out, "--no-rerun").returncode == 3
    started = len(matrix.started())

    def run_again():
        nonlocal started
        assert matrix.run("--out", matrix.out, "--resume", "--no-rerun").returncode == 3
        before, started = started, len(matrix.started())
        return [line[line.index("--scheduler") + 1] if "--scheduler" in line else None for line in matrix.started()[before:]]

    assert run_again() == []
    with open(tmp_path / "scx", "ab") as program:
        program.write(b"\n# another one\n")
    assert run_again() == ["./scx fail"] * 2
    assert run_again() == []
    spec.write_text("{work: spin-wait, duration: 2s}\n")
    assert sorted(run_again(), key=str) == sorted([None, "./scx fail"] * 2, key=str)


def test_nothing_runs_on_when_it_is_killed(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("slow", "stuck", "") + COMMAND)
    process = matrix.start("--jobs", 3, "--out", matrix.out)
    wait_until(lambda: len(matrix.started()) == 3 and matrix.verdicts() == [None, None, "pass"])
    process.kill()
    process.communicate(timeout=30)
    wait_until(lambda: processes(str(tmp_path)) == [], seconds=10)
    assert matrix.verdicts() == [None, None, "pass"], "the file is whole"


def test_a_second_interrupt_has_no_patience(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("stuck") + COMMAND)
    process = matrix.start()
    wait_until(lambda: matrix.started())
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 1
    assert process.stderr.read() == "dwell guest: interrupted: 0 of 1 cells done\n"
    assert matrix.left() == []


def test_guests_that_do_not_end_are_ended(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\ntimeout: 1s\n" + schedulers("slow", "stuck") + COMMAND)
    status, report = matrix.json("--jobs", 2)
    assert status == 1
    for cell in report["cells"]:
        assert cell["verdict"] == "error" and "`timeout` of the matrix" in cell["reason"]
    assert matrix.left() == []


def test_not_more_guests_at_once_than_wanted(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\nrepeat: 4\n" + schedulers("slow") + COMMAND)
    process = matrix.start("--jobs", 2)
    # all that there is room for are forked at once, long before the second of them has said so
    wait_until(lambda: len(matrix.started()) >= 2)
    first, _ = children(process.pid)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: len(matrix.started()) >= 3)
    assert len(children(process.pid)) == 2
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 1
    assert len(matrix.started()) == 3


def test_more_memory_than_there_is(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\nmemory: 64T\n" + COMMAND)
    status, report = matrix.json("--out", matrix.out)
    assert status == 1 and not matrix.started()
    assert "needs 64.0 TiB of memory" in report["cells"][0]["reason"]
    assert matrix.verdicts() == ["error"]


def test_progress_is_for_terminals(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("", "fail") + COMMAND)
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [matrix.program, *matrix.arguments()], cwd=tmp_path, env=matrix.environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=60,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # EIO is the end
        while part := os.read(ours, 65536):  # one read may get one write
            shown += part
    os.close(ours)
    shown = shown.decode()
    assert done.returncode == 3 and "\033" not in done.stdout
    rows = [line.split("\033[K")[-1].split() for line in shown.replace("\r", "").splitlines()]
    assert sorted(row[0] for row in rows if row) == ["fail", "pass"]


def test_every_field_and_key_is_in_the_pages(tmp_path):
    page = (TOP / "docs" / "formats" / "json.md").read_text().partition("## `dwell guest --matrix`")[2]
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + schedulers("", "fail", "died") + COMMAND)
    found = keys(matrix.json()[1])
    assert {"matrix", "cells", "checks", "dump", "command_line"} < found
    assert not [key for key in found if f'"{key}"' not in page and f"`{key}`" not in page]

    manual = (TOP / "docs" / "man" / "dwell-guest.1.in").read_text()
    reader = (TOP / "src" / "matrix" / "yaml.c").read_text()
    table = re.search(r"matrix_keys\[\] = \{(.*?)\};", reader, re.S).group(1)
    names = re.findall(r'\{"([a-z]+)"', table)
    assert len(names) == 8
    assert not [name for name in names if f"\n.TP\n.B {name}\n" not in manual]


def test_the_file_of_the_manual_is_sound(tmp_path):
    manual = (TOP / "docs" / "man" / "dwell-guest.1.in").read_text()
    text = re.search(r"^name: qmap.*?(?=^\.fi)", manual, re.S | re.M).group(0).replace("\\-", "-")
    # which kernel that is depends on the machine
    matrix = Matrix(tmp_path, text.replace("auto", "./other"))
    for name in ("other", "scx_simple", "scx_qmap"):
        shutil.copy("/bin/true", tmp_path / name)
    status, report = matrix.json("--max-cpus", 8)
    assert len(report["cells"]) == 12 and {cell["verdict"] for cell in report["cells"]} <= {"pass", "error"}


def refused(matrix, *options, status=2):
    done = matrix.run(*options)
    assert done.returncode == status and done.stdout == "" and not matrix.started(), done
    assert done.stderr.startswith("dwell guest: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_mistakes_on_the_command_line(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + COMMAND)
    assert "`command` in" in refused(matrix, "--", "doctor")
    assert "--kernel is for one guest" in refused(matrix, "--kernel", "auto")
    assert "--topology is for one guest" in refused(matrix, "--topology", "tiny-2llc")
    assert "--scheduler is for one guest" in refused(matrix, "--scheduler", "./scx")
    assert "--result is for one guest" in refused(matrix, "--result", "a")
    assert "--keep-dump is for one guest" in refused(matrix, "--keep-dump", "a")
    assert "--keep-log is for one guest" in refused(matrix, "--keep-log", "a")
    assert "--resume of what? --out FILE" in refused(matrix, "--resume")
    assert "--jobs needs a number" in refused(matrix, "--jobs", "0")
    assert "1024 at most" in refused(matrix, "--jobs", "9999999999")
    assert "--max-cpus needs a number" in refused(matrix, "--max-cpus", "none")
    assert "table, json, jsonl, csv" in refused(matrix, "--format", "xml")
    assert "auto, kvm or tcg" in refused(matrix, "--accel", "fast")
    done = run("guest", "--jobs", "2", "--", "doctor")
    assert done.returncode == 2 and "--jobs is for many guests: --matrix FILE" in done.stderr
    done = run("guest", "--matrix", "/nonexistent")
    assert done.returncode == 1 and "cannot read /nonexistent" in done.stderr


def test_a_command_that_each_guest_would_refuse_boots_none(tmp_path):
    matrix = Matrix(tmp_path, "topologies: [1n1l2c1t, 1n1l1c1t]\ncommand: load steadyy -d 1s\n")
    assert "command: load: no file and no built-in scenario" in refused(matrix)
    assert matrix.started() == []


def test_mistakes_in_the_file_have_their_line(tmp_path):
    matrix = Matrix(tmp_path, COMMAND + "topologies:\n  - tiny-2llc\n  - tiny-3llc\n")
    assert f"{matrix.path}:5:5: bad topology 'tiny-3llc': did you mean 'tiny-" in refused(matrix)
    matrix.path.write_text(COMMAND + "scheduler: ./scx\n")
    assert f"{matrix.path}:2:1: a matrix has no key 'scheduler'; did you mean 'schedulers'?" in refused(matrix)


def test_files_of_verdicts_that_cannot_be(tmp_path):
    matrix = Matrix(tmp_path, "topologies: tiny-2llc\n" + COMMAND)
    assert "cannot write /nonexistent/a: " in refused(matrix, "--out", "/nonexistent/a", status=1)
    assert "is not a regular file" in refused(matrix, "--out", "/dev/null")
    matrix.out.write_text("precious")
    assert "is there already" in refused(matrix, "--out", matrix.out, status=1)
    assert "is damaged: line 1" in refused(matrix, "--out", matrix.out, "--resume")
    matrix.out.unlink()
    assert matrix.run("--out", matrix.out, "--resume").returncode == 0, "the first time there is nothing"
    matrix.log.unlink()
    assert "was made with other options for its guests" in refused(matrix, "--out", matrix.out, "--resume", "--append", "quiet")
    before = matrix.out.read_text()
    matrix.path.write_text("kernels: ./bzImage\ntopologies: tiny-1llc\n" + COMMAND)
    assert "is of another matrix: `topologies`" in refused(matrix, "--out", matrix.out, "--resume")
    assert matrix.out.read_text() == before


def test_the_topologies_are_listed():
    done = run("guest", "--list")
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    assert done.returncode == 0 and len(rows) == 24
    assert rows["smt-2llc"] == ["1n2l2c2t", "8"] and rows["max-cpu"] == ["1n14l9c2t", "252"]
