# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve --store`: recordings of the last hours, and those of triggers and stalls."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, parse, run
from matrices import wait_until
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from services import hold_up, loop_service
from serving import names_of, serving
from verdicts import descendants, doing


def test_the_store_keeps_recordings_and_survives_a_full_disk(tmp_path):
    """On a filesystem of 3 MiB, which another file fills up in between."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", disk], check=True)
    try:
        with serving("--by", "process", "-i", "100ms", "--store", disk) as server:
            wait_until(lambda: server.metrics()["dwell_store_bytes",] > 100_000)
            assert server.metrics()["dwell_store_failures_total",] == 0
            history = next(disk.iterdir())
            recorded = history.stat().st_size
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as file:
                def is_full(failures):
                    with contextlib.suppress(OSError):
                        while True:
                            file.write(bytes(4096))
                    return server.metrics()["dwell_store_failures_total",] > failures
                wait_until(lambda: is_full(5))
            # what is removed would make room for the other file
            assert history.stat().st_size >= recorded
            filler.unlink()
            before = {path.name for path in disk.iterdir()}
            wait_until(lambda: {path.name for path in disk.iterdir()} - before)
            server.stop()
            said = server.process.stderr.read()
        assert "trying again" in said and "kept again" in said
        for path in disk.iterdir():
            done = run("report", path)
            assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_store_that_is_moved_away_is_noticed(tmp_path):
    """What is written to it then could be found nowhere."""
    store = tmp_path / "store"
    store.mkdir()
    with serving("--by", "process", "-i", "100ms", "--store", store) as server:
        wait_until(lambda: server.metrics()["dwell_store_bytes",] > 0)
        store.rename(tmp_path / "moved")
        wait_until(lambda: server.metrics()["dwell_store_failures_total",] > 0)
        store.mkdir()
        wait_until(lambda: list(store.iterdir()))
        server.stop()
        said = server.process.stderr.read()
    assert "is not there any more; trying again" in said and "kept again" in said, said
    for path in [*store.iterdir(), *(tmp_path / "moved").iterdir()]:
        assert run("report", path).returncode == 0, path


def test_a_store_outlives_a_server_that_is_killed(tmp_path):
    """Of the intervals that were counted in an answer the last chunk's is lost at most: there is one in each."""
    with serving("--by", "process", "-i", "100ms", "--store", tmp_path) as server:
        wait_until(lambda: server.metrics()["dwell_intervals_total",] > 30)
        counted = int(server.metrics()["dwell_intervals_total",])
        server.stop(signal.SIGKILL)
    (recording,) = tmp_path.iterdir()
    done = run("report", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    (whole,), _ = parse(done.stdout)
    intervals, _ = parse(run("top", "--from", recording, "--json").stdout)
    assert len(intervals) >= counted - 1
    assert whole["duration_ns"] == sum(interval["duration_ns"] for interval in intervals)


def test_a_store_has_one_server(tmp_path):
    with serving("-i", "1s", "--store", tmp_path):
        done = run("serve", "--listen", "127.0.0.1:0", "--store", tmp_path)
        assert done.returncode == 1
        assert done.stderr.endswith(f"dwell serve: another dwell serve keeps its recordings in {tmp_path}: end it, or name another directory\n"), done.stderr
    # which has been killed
    with serving("-i", "1s", "--store", tmp_path) as server:
        assert server.metrics()


def test_a_trigger_records_what_was_before_and_what_follows(tmp_path):
    """A crowd of threads that compute: each waits for a CPU."""
    with serving("--by", "process", "-i", "200ms", "--store", tmp_path, "--trigger", "runnable>5@crowd,lock>100000,runqueue-max>1h",
                 "--trigger-before", "1s", "--trigger-after", "1s", "--trigger-pause", "1h") as server:
        time.sleep(2.5)
        metrics = server.metrics()
        assert [metrics[key] for key in names_of(metrics, "dwell_triggers_total")] == [0, 0, 0]
        program = "import ctypes, os; ctypes.CDLL(None).prctl(15, b'crowd'); [os.fork() for _ in range(5)]\nwhile True: pass"
        crowd = subprocess.Popen(["/usr/bin/python3", "-c", program], start_new_session=True)
        try:
            wait_until(lambda: server.metrics()["dwell_flight_suppressed_total",] > 0)
            wait_until(lambda: list(tmp_path.glob("trigger.after.*.dwell")))
            wait_until(lambda: server.metrics()["dwell_flight_recordings_total",] == 1)
            metrics = server.metrics()
            # it has its name from its first record on
            wait_until(lambda: not any("record --stacks" in (doing(pid) or "") for pid in descendants(server.process.pid)))
        finally:
            os.killpg(crowd.pid, signal.SIGKILL)
            crowd.wait()
        assert metrics["dwell_flight_recordings_total",] == 1
        assert metrics["dwell_triggers_total", "group", "crowd", "trigger", "runnable>5"] > 1 and metrics["dwell_triggers_total", "trigger", "lock>100000"] == 0
        server.stop()
        said = server.process.stderr.read()
    (before,), (after,) = tmp_path.glob("trigger.before.*.dwell"), tmp_path.glob("trigger.after.*.dwell")
    assert f"runnable>5: " in said and f"threads of crowd: {before}, and what follows" in said
    report = json.loads(run("report", before, "--json").stdout)
    # a second before it fired, and until the second recording had begun: nothing is missing between the two
    assert report["duration_ns"] >= 900_000_000
    began = json.loads(run("report", after, "--json").stdout)["start_ns"]
    assert report["start_ns"] + report["duration_ns"] > began
    assert any(row["comm"] == "crowd" for row in report["threads"])
    shown = run("profile", "--from", after, "--format", "folded")
    assert shown.returncode == 0 and shown.stdout, shown.stderr


def test_a_group_that_a_trigger_names_need_not_lead(tmp_path):
    """One that only sleeps has no place among the first; and one that is called as the rest is has a name of its own."""
    program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'other')\nwhile True: time.sleep(0.001)"
    with subprocess.Popen(["sleep", "100"]) as sleeper, subprocess.Popen(["/usr/bin/python3", "-c", program]) as other:
        try:
            with serving("--by", "process", "--groups", "2", "-i", "200ms", "--store", tmp_path, "--trigger", "sleep>0.5@sleep,sleep>0.5@nowhere",
                         "--trigger-after", "1s", "--trigger-pause", "1h") as server:
                wait_until(lambda: server.metrics()["dwell_triggers_total", "group", "sleep", "trigger", "sleep>0.5"] > 0)
                text = server.ask("/metrics")[2].decode()
                assert server.metrics()["dwell_triggers_total", "group", "nowhere", "trigger", "sleep>0.5"] == 0
        finally:
            sleeper.kill()
            other.kill()
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if line.startswith("dwell_")]
    assert len(lines) == len(set(lines)), [line for line in lines if lines.count(line) > 1][:5]


def test_a_trigger_names_a_group_as_it_is_served(tmp_path):
    program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'a\\x1b]b')\nwhile True: time.sleep(0.001)"
    with subprocess.Popen(["/usr/bin/python3", "-c", program]) as sleeper:
        try:
            with serving("--by", "process", "-i", "200ms", "--store", tmp_path, "--trigger", "sleep>0.1@a?]b", "--trigger-after", "1s", "--trigger-pause", "1h") as server:
                wait_until(lambda: server.metrics()["dwell_triggers_total", "group", "a?]b", "trigger", "sleep>0.1"] > 0)
        finally:
            sleeper.kill()


def records_for(server, length):
    """What follows a trigger, now."""
    for pid in descendants(server.process.pid):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if words[1:3] == ["record", "--stacks"] and words[-3:] == ["-d", length, ""]:
                return True
    return False


@pytest.mark.parametrize("given, taken", [("90500ms", "90500ms"), ("90.0001s", "90001ms"), ("700ms", "700ms")])
def test_what_follows_a_trigger_is_as_long_as_asked_for(tmp_path, given, taken):
    with serving("-i", "100ms", "--store", tmp_path, "--trigger", "idle>0.1", "--trigger-after", given, "--trigger-pause", "100ms") as server:
        wait_until(lambda: records_for(server, taken))


def test_a_trigger_on_what_is_not_measured_is_said(tmp_path):
    """procfs has no histogram of waits."""
    with serving("--source", "procfs", "-i", "100ms", "--store", tmp_path, "--trigger", "runqueue-p99>20ms,sleep>1000000") as server:
        said = server.process.stderr.readline()
    assert said == "dwell serve: --trigger runqueue-p99>20ms: that is not measured here, so it never fires\n"


def test_recordings_of_triggers_are_few(tmp_path):
    for day in range(10, 30):
        for kind in "before", "after":
            (tmp_path / f"trigger.{kind}.202601{day}T000000Z.dwell").write_bytes(b"x")
    with serving("--by", "process", "-i", "100ms", "--store", tmp_path, "--trigger", "idle>0.1,sleep>0.1", "--trigger-after", "1s") as server:
        wait_until(lambda: server.metrics()["dwell_flight_recordings_total",] == 1)
    assert len(list(tmp_path.glob("trigger.before.*"))) == 16
    assert len(list(tmp_path.glob("trigger.after.*"))) <= 16


@pytest.mark.parametrize("arguments, words", [
    (["--trigger", "runqueue-p99>20ms"], "needs --store"),
    (["--trigger", "runqueue-p98>20ms"], "there is no 'runqueue-p98'"),
    (["--trigger", "runqueue-p99>20"], None),
    (["--trigger", "runqueue-p99>fast"], "fast"),
    (["--trigger", "lock>inf"], "how many threads, above 0"),
    (["--trigger", "runqueue-p99"], "write FIELD>LIMIT"),
    (["--trigger", "lock>"], "write FIELD>LIMIT"),
    (["--trigger", "lock>many"], "how many threads"),
    (["--trigger", "lock>-1"], "how many threads"),
    (["--trigger", "lock>nan"], "how many threads"),
    (["--trigger", "lock>1@"], "write FIELD>LIMIT"),
    (["--trigger", ","], "no condition"),
    (["--trigger", ",".join(f"lock>{threads}" for threads in range(1, 18))], "at most 16"),
    (["--trigger", "lock>1", "--trigger", "disk>1"], "given once"),
    (["--trigger", "lock>1@a,lock>1@b,lock>1@a"], "'lock>1' is there twice"),
    (["--stalls", "a", "--stalls", "a"], "a is given twice"),
    (["--trigger-pause", "1h"], "are for --trigger"),
    (["--store", "/tmp", "--trigger", "stall>1s"], "needs --stalls"),
    (["--stalls", "-p"], "not the name of a program"),
    (["--stalls", "a", "--stalls", "b", "--stalls", "c", "--stalls", "d", "--stalls", "e"], "at most 4"),
    (["--stall-threshold", "1ms"], "is for --stalls"),
    (["--keep", "1h"], "are for --store"),
])
def test_triggers_that_make_no_sense(arguments, words):
    done = run("serve", *arguments)
    assert done.returncode == 2 and (words or "needs --store") in done.stderr, done.stderr


@pytest.mark.measures
def test_stalls_of_a_program_are_counted_and_trigger(tmp_path):
    """A service that blocks its loop for 60 ms each time it is asked to; it comes and goes."""
    program = tmp_path / f"loops-{os.getpid()}"
    shutil.copy(pathlib.Path(BUILD) / "tests" / "loop-service", program)
    with serving("--by", "process", "-i", "200ms", "--stalls", program.name, "--store", tmp_path, "--trigger", f"stall>50ms@{program.name}",
                 "--trigger-after", "1s") as server:
        watched = ("dwell_stalls_watched", "process", program.name)
        assert server.metrics()[watched] == 0
        with loop_service(program=program) as service:
            wait_until(lambda: server.metrics()[watched] == 1)
            asked = [service.ask("spin", 60) for _ in range(5)]
            wait_until(lambda: server.metrics()["dwell_stall_seconds_count", "process", program.name] >= 5)
            metrics = server.metrics()
            _, _, body = server.ask("/metrics", headers={"Accept": "application/openmetrics-text"})
            (listed,) = server.json("/api/stalls")
        wait_until(lambda: server.metrics()[watched] == 0)
        server.stop()
        assert f"stalls: dwell blocked: no process named '{program.name}'" in server.process.stderr.read()
    # on a busy machine some are for want of a CPU
    causes = {key[2]: metrics[key] for key in names_of(metrics, "dwell_stalls_total")}
    assert causes["cpu"] >= 1 and causes["cpu"] + causes["runnable"] + causes["stolen"] >= 5, causes
    total = metrics["dwell_stall_seconds_sum", "process", program.name]
    assert total >= sum(duration for _, duration, _ in asked) / 1e9 * 0.9
    assert metrics["dwell_triggers_total", "group", program.name, "trigger", "stall>50ms"] >= 1 and list(tmp_path.glob("trigger.before.*"))
    # it leads to the stall, and so to its stack
    (exemplar,) = [sample.exemplar for family in open_families(body.decode()) for sample in family.samples if sample.exemplar]
    (stall,) = [stall for stall in listed["stalls"] if {name: str(stall[name]) for name in ("tid", "start_ns")}.items() <= exemplar.labels.items()]
    assert exemplar.labels["function"] == stall["function"] and exemplar.value == pytest.approx(stall["own_ns"] / 1e9) and stall["stack"]


def test_a_stuck_worker_is_seen_while_it_is_stuck(tmp_path):
    """It comes back when the test lets it, then is killed while it is stuck again."""
    program = tmp_path / f"stuck-{os.getpid()}"
    shutil.copy(pathlib.Path(BUILD) / "tests" / "loop-service", program)
    with serving("--by", "process", "-i", "1s", "--stalls", program.name) as server:
        watched, stuck, ended = ((name, "process", program.name) for name in ("dwell_stalls_watched", "dwell_workers_stuck", "dwell_stall_seconds_count"))
        assert server.metrics()[stuck] == 0
        with loop_service(program=program) as service:
            wait_until(lambda: server.metrics()[watched] == 1)
            hold_up(service, 5000)
            wait_until(lambda: server.metrics()[stuck] == 1)
            assert server.metrics()[ended] == 0
            service.process.send_signal(signal.SIGCONT)
            service.file.readline()
            wait_until(lambda: server.metrics()[stuck] == 0)
            wait_until(lambda: server.metrics()[ended] == 1)
            hold_up(service, 5000)
            wait_until(lambda: server.metrics()[stuck] == 1)
        wait_until(lambda: server.metrics()[watched] == 0)
        assert server.metrics()[stuck] == 0
