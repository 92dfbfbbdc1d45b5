# SPDX-License-Identifier: GPL-2.0-or-later
"""Which threads `dwell blocked` takes for workers, and what they were in before it came."""
import json
import subprocess
import threading
import time

import pytest
import schemas

from conftest import DWELL, run
from services import Blocked, build_tokio, loop_service, stall_of, taken_away, tokio_service
from test_libraries import FIXTURES, compile_into


def in_background(service, *request):
    """-> the connection it is asked on, and the thread that waits for the answer."""
    waiting = threading.Thread(target=service.another().ask, args=request)
    waiting.start()
    return waiting


def found(blocked, count):
    """Waits until that many workers have been named: -> {(name, how)}"""
    told = []
    while len(told) < count:
        line = blocked.process.stderr.readline()
        assert line, told
        if "dwell blocked: worker " in line:
            told.append(tuple(line.removeprefix("dwell blocked: worker ").rstrip("\n").split(" ", 1)[1].split(", by ")))
    return told


@pytest.mark.parametrize(
    "build, arguments, expected",
    [
        ("release", [], {("tokio-runtime-w", "stack"), ("tokio-service", "stack")}),
        ("plain", ["--threads", "0"], {("tokio-service", "stack")}),
        ("v0", ["--name", "orders"], {("orders", "stack"), ("tokio-service", "stack")}),
        ("fat", [], {("tokio-runtime-w", "stack")}),
    ],
)
def test_idle_workers_are_found_by_their_stacks(build, arguments, expected):
    with tokio_service(build, *arguments) as service:
        blocked = Blocked(service.process.pid)
        assert set(found(blocked, 1 if "0" in arguments else 2)) <= expected
        _, summary = blocked.end()
    names = {(worker["comm"], worker["found_by"]) for worker in summary["workers"]}
    # who has polled since is known by that
    assert {name for name, _ in names} == {name for name, _ in expected}
    assert {how for _, how in names} <= {"stack", "type"}


def test_idle_loops_are_found():
    with loop_service(2) as service:
        blocked = Blocked(service.process.pid)
        assert set(found(blocked, 2)) == {("loop-service", "type"), ("loop", "type")}
        blocked.end()


@pytest.mark.measures
def test_many_stalls_at_once():
    """More than there are CPUs, and more than the kernel side first had room for: each has its function."""
    asked, ms = 450, 3000
    with loop_service(600) as service:
        # -v would name 600 workers, more than a pipe takes that is not read
        command = [DWELL, "blocked", "-p", str(service.process.pid), "--format", "json", "--headless"]
        blocked = Blocked(service.process.pid, command=command)
        clients = []
        for _ in range(asked):
            # one that sleeps accepts no other; one that is about to may
            clients.append(service.another())
            clients[-1].file.write(f"sleep {ms}\n")
            clients[-1].file.flush()
        answers = [tuple(map(int, client.file.readline().split())) for client in clients]
        stalls, summary = blocked.end()
    at_once = max(sum(begin <= start < begin + duration for begin, duration, _ in answers) for start, _, _ in answers)
    assert at_once > 280
    found = [stall_of(stalls, *answer[:2]) for answer in answers]
    assert [stall["function"] for stall in found if stall].count("wait_for_printer") == asked, summary["quality"]
    stackless = [stall for stall in stalls if not stall["stack"] and not taken_away(stall)]
    assert summary["quality"]["stalls_without_stack"] == len(stackless)


@pytest.mark.measures
def test_threads_that_block_no_one(tmp_path):
    """What sleeps by select() has no loop; calls that cannot wait, or that only submit, are not where a loop waits."""
    program = compile_into(tmp_path / "odd", "gcc", "-O2", "-pthread", FIXTURES / "odd-loops.c")
    *stalls, summary = (json.loads(line) for line in run("blocked", "-d", "4s", "--format", "json", "--", program).stdout.splitlines())
    # their code takes no time: only a busy machine holds them up
    assert {stall["cause"] for stall in stalls if stall["type"] == "stall"} <= {"runnable", "stolen"}, stalls
    assert {worker["comm"] for worker in summary["workers"]} == {"drains", "flushes"}


@pytest.mark.measures
@pytest.mark.parametrize("build", ["release", "fat", "v0"])
@pytest.mark.parametrize("handler, cause, function", [("sleep", "sleep", "wait_for_printer"), ("spin", "cpu", "compute_report")])
def test_a_poll_that_runs_already(build, handler, cause, function):
    with tokio_service(build) as service:
        service.settle()
        waiting = in_background(service, handler, 4000)
        blocked = Blocked(service.process.pid)
        waiting.join()
        service.settle()
        stalls, _ = blocked.end()
        (stall,) = [stall for stall in stalls if stall["duration_ns"] > 500_000_000]
        states = stall["states_ns"]
        if cause == "cpu" and states["runnable"] > states["cpu"]:
            cause = "runnable"  # others had the CPU for longer
        assert (stall["cause"], stall["function"]) == (cause, f"tokio_service::{function}")


@pytest.mark.measures
def test_who_does_not_come_back():
    with tokio_service() as service:
        service.settle()
        waiting = in_background(service, "lock", 4000)
        done = run("blocked", "-p", service.process.pid, "-d", "2s", "--max-stall", "500ms")
        assert done.returncode == 3
        assert "STUCK for" in done.stdout and "lock in tokio_service::read_ledger" in done.stdout
        assert "more than 500ms" in done.stderr
        waiting.join()


@pytest.mark.measures
@pytest.mark.parametrize(
    "build, arguments",
    [("release", []), ("release", ["--threads", "0"]), ("plain", ["--threads", "0"]), ("release", ["--threads", "0", "--again", "yes"]),
     ("release", ["--again", "yes"])],
)
def test_the_root_future(build, arguments):
    """Also of one block_on() after the other: what the thread does in between is not the runtime's."""
    with tokio_service(build, *arguments) as service:
        blocked = Blocked(service.process.pid)
        while ("tokio-service", "stack") not in found(blocked, 1):
            pass
        answers = [service.ask("root", 20) for _ in range(10)]
        service.settle()
        stalls, summary = blocked.end()
    right = [
        stall
        for stall in (stall_of(stalls, *answer[:2]) for answer in answers)
        if stall
        and (stall["span"], stall["cause"], stall["function"]) == ("root", "sleep", "tokio_service::rotate_logs")
    ]
    assert len(right) >= 9, stalls
    if "--again" in arguments:
        outside = [stall for stall in stalls if stall["span"] == "root" and stall["function"] != "tokio_service::rotate_logs"]
        assert not [stall for stall in outside if stall["cause"] == "sleep"], outside
        assert all(worker["stalls"] <= len(stalls) for worker in summary["workers"]), summary["workers"]


def test_only_some_workers():
    with loop_service(2) as service:
        pid = service.process.pid
        blocked = Blocked(pid, "--workers", "loop-")
        assert found(blocked, 1) == [("loop-service", "prefix")]
        for _ in range(4):
            # one loop has the first connection, and sleeps: so the other one has the second
            first = service.file
            first.write("sleep 100\n")
            first.flush()
            service.connect()
            service.ask("sleep", 10)
            first.readline()
        service.settle()
        stalls, summary = blocked.end()
        assert {worker["tid"] for worker in summary["workers"]} == {pid}
        assert stalls and {stall["tid"] for stall in stalls} == {pid}
        done = run("blocked", "-p", pid, "--workers", "tokio", "-d", "1s")
        assert done.returncode == 1
        assert f"no thread of process {pid} is named tokio…: there are loop, loop-service" in done.stderr
    assert run("blocked", "-p", 1, "--workers", "sixteen-bytes-xx").returncode == 2


@pytest.mark.parametrize(
    "wrapper",
    [("sh", "-c", 'exec "$0"'), ("env", "DWELL_TEST=1", "nice", "-n", "1"), ("bash", "-c", 'sleep 0.2; exec "$0"'), ("taskset", "1")],
    ids=["sh", "env and nice", "later", "taskset"],
)
def test_a_command_that_another_program_runs(wrapper):
    """What is watched is what it becomes, from its first instruction on."""
    done = run("blocked", "-d", "1s", "--", *wrapper, build_tokio("release"))
    assert done.returncode == 0, done.stderr
    assert "tokio-service" in done.stdout and "tokio, " in done.stdout


def test_a_shell_that_becomes_nothing_else():
    done = run("blocked", "-d", "300ms", "--", "sh", "-c", "while :; do sleep 0.1; done")
    assert done.returncode == 1 and "dwell blocked  sh " in done.stdout and "no worker found" in done.stderr, done.stderr
    # signals reach it, also before it is known what it is
    script = "trap 'echo caught; exit 4' USR1; kill -USR1 $$; sleep 9"
    done = run("blocked", "--", "sh", "-c", script)
    assert done.returncode == 1 and "ended before it ran another program" in done.stderr and "caught" in done.stdout
    subprocess.run(["pkill", "-f", "while :; do sleep 0.1"])


def test_a_process_that_becomes_another_program():
    """Its workers are others, and what is probed is gone: what was seen until then is all there is."""
    script = "import os, select, time; poll = select.epoll()\nwhile time.monotonic() < {end}: poll.poll(0.01); time.sleep(0.02)\nos.execv('/bin/sleep', ['sleep', '60'])"
    with subprocess.Popen(["/usr/bin/python3", "-c", script.format(end=time.monotonic() + 3)]) as process:
        try:
            done = run("blocked", "-p", process.pid, "-d", "50s", "--format", "json", "--headless")
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    assert f"{process.pid} has become another program, sleep: start dwell blocked again" in done.stderr
    *stalls, summary = schemas.read(done.stdout)
    assert len(stalls) >= 10
    # on a busy host some of them wait for a CPU longer than they sleep
    others = [stall for stall in stalls if longest_state(stall) not in ("sleep", "runnable") or stall["cause"] != longest_state(stall)]
    assert not others, json.dumps(others)
    assert sum(stall["cause"] == "sleep" for stall in stalls) >= 10
    assert summary["duration_ns"] < 10e9


def longest_state(stall):
    return max(stall["states_ns"], key=lambda state: stall["states_ns"][state] or 0)


def test_a_command(tmp_path):
    record = tmp_path / "command.dwell"
    script = "import select, time; poll = select.epoll()\nfor _ in range(3): poll.poll(0.01); time.sleep(0.02)"
    done = run("blocked", "--record", record, "--", "/usr/bin/python3", "-c", script)
    assert done.returncode == 0, done.stderr
    assert "sleep clock_nanosleep" in done.stdout and "loop, 1 worker," in done.stdout
    # on a busy host a poll of a task may take as long as an accused one
    done = run("blocked", "-d", "1s", "--threshold", "10s", "--max-stalls", "0", "--", build_tokio("release"))
    assert done.returncode == 0, done.stderr
    assert "tokio, " in done.stdout
    done = run("blocked", "--", "no-such-command")
    assert done.returncode == 1 and "cannot run no-such-command: No such file or directory" in done.stderr
    assert run("blocked", "-p", "1", "--", "true").returncode == 2
    # it ends with us, as under any watcher
    process = subprocess.Popen(
        [DWELL, "blocked", "-v", "--", "sleep", "4321"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    while "watching" not in process.stderr.readline():
        pass
    process.kill()
    process.wait()
    subprocess.run(["pkill", "-f", "sleep 4321"])
