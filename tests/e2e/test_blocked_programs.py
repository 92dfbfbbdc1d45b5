# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` on event loops that others wrote."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from conftest import DWELL
import programs
from services import FIXTURES, Blocked, Service, build_tokio, functions, stall_of, taken_away

ROUNDS = 4
ARCHIVE_BYTES = 32 << 20


@pytest.mark.measures
def test_redis(tmp_path):
    """Stripped, but its functions are exported for modules."""
    with programs.running(programs.Redis, tmp_path) as server:
        blocked = Blocked(server.pid)
        for _ in range(ROUNDS):
            assert server.query("DEBUG", "SLEEP", "0.05") == "+OK"
            assert server.query("EVAL", "return #redis.call('keys', '*none*')", "0") == ":0"
            assert server.query("EVAL", "local n = 0; for i = 1, 1e7 do n = n + i end; return 1", "0") == ":1"
        # the turn of the last is over before that of another one
        server.query("PING")
        stalls, summary = blocked.end()
    assert summary["runtime"] == "loop"
    (worker,) = summary["workers"]
    assert worker["tid"] == server.pid
    asleep = [stall for stall in stalls if stall["cause"] == "sleep"]
    assert len(asleep) >= ROUNDS - 1, stalls
    for stall in asleep:
        called = functions(stall)
        assert stall["function"] == "debugCommand" and stall["duration_ns"] >= 50_000_000, called
        assert "hrtimer_nanosleep" in called and "clock_nanosleep" in " ".join(called)
        assert called.index("debugCommand") < called.index("processCommand") < called.index("aeMain")
    computing = [functions(stall) for stall in stalls if stall["cause"] == "cpu"]
    assert any("keysCommand" in called and "scriptCall" in called for called in computing), computing
    assert any("evalGenericCommand" in called and "keysCommand" not in called for called in computing), computing
    assert {stall["cause"] for stall in stalls} <= {"sleep", "cpu", "runnable"}


#: handler -> (argument, causes, a function of the stack)
NODE = {
    "child": ("0.03", {"ipc"}, r"printLabel .*/node-service\.js:\d+"),
    "spin": (30, {"cpu"}, r"computeReport .*/node-service\.js:\d+"),
    "pbkdf2": (40000, {"cpu"}, r"hashPassword .*/node-service\.js:\d+"),
    "sleep": (30, {"ipc", "lock", "sleep"}, r"waitForPrinter .*/node-service\.js:\d+"),
    "fsync": (100, {"disk"}, r"appendAudit .*/node-service\.js:\d+"),
    "read": ("archive", {"disk"}, r"loadArchive .*/node-service\.js:\d+"),
}


def cool(path):
    with open(path) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def node():
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    # not in memory, as /tmp may be
    directory = pathlib.Path(tempfile.mkdtemp(prefix="dwell-node-", dir="/var/tmp"))
    with open(directory / "archive", "wb") as file:
        file.write(bytes(ARCHIVE_BYTES))
        os.fsync(file.fileno())
    options = ["--perf-basic-prof", "--interpreted-frames-native-stack", f"--logfile={directory}/log"]
    service = Service(["node", *options, FIXTURES / "node-service.js", directory])
    service.directory = directory
    yield service
    service.end()
    pathlib.Path(f"/tmp/perf-{service.process.pid}.map").unlink(missing_ok=True)
    shutil.rmtree(directory)


def complaint(stalls, handler, start, duration):
    _, causes, function = NODE[handler]
    stall = stall_of(stalls, start, duration)
    if not stall:
        return f"{handler}: a stall of {duration / 1e6} ms was not seen"
    if taken_away(stall):
        return None
    shares = {state: (ns or 0) / stall["duration_ns"] for state, ns in stall["states_ns"].items()}
    # as in test_blocked: more than one answer
    if shares["cpu"] > 0.6:
        causes = {"cpu"}
    elif shares["cpu"] > 0.4 or shares["runnable"] > 0.3:
        return None
    if stall["cause"] not in causes:
        return f"{handler}: {stall['cause']} ({stall['states_ns']})"
    # what is blamed in OpenSSL is any of a hundred functions
    blamed = " ".join(functions(stall)) if handler == "pbkdf2" else stall["function"] or ""
    return None if re.search(function, blamed) else f"{handler}: {functions(stall)[:8]} {stall['states_ns']}"


@pytest.mark.measures
def test_node(node):
    blocked = Blocked(node.process.pid)
    for _ in range(10):
        node.ask("good", 1)  # a loop is known when it has gone round
    answers = []
    for _ in range(ROUNDS):
        for handler, (argument, _, _) in NODE.items():
            cool(node.directory / "archive")
            answers.append((handler, *node.ask(handler, argument)[:2]))
            node.settle()
    stalls, summary = blocked.end()
    assert summary["runtime"] == "loop"
    long = [answer for answer in answers if answer[2] > 6_000_000]
    assert {handler for handler, _, _ in long} == set(NODE)
    complaints = [text for text in (complaint(stalls, *answer) for answer in long) if text]
    assert len(complaints) <= 0.05 * len(long), complaints


@pytest.mark.measures
def test_good_node_is_not_blamed(node):
    """Files and hashes on the pool of threads, and timers."""
    requests = [("good", 30), ("load", "archive"), ("hash", 40000)]
    for request in requests:
        node.ask(*request)
    blocked = Blocked(node.process.pid)
    for _ in range(10):
        for request in requests:
            cool(node.directory / "archive")
            node.ask(*request)
    stalls, summary = blocked.end()
    # its own threads may have a lock of its heap while they wait for a CPU
    shared = {"runnable", "lock", "ipc"}
    blamed = [
        stall
        for stall in stalls
        if stall["cause"] not in shared and not taken_away(stall) and stall["states_ns"]["runnable"] < 0.3 * stall["duration_ns"]
    ]
    # V8 collects its garbage when it likes; a kind of request is made ten times
    told = [(stall["duration_ns"], stall["cause"], functions(stall)) for stall in blamed]
    assert len(blamed) <= 2, told
    # the main thread, and perhaps V8's for delayed tasks, which is a loop too; of the pool's none
    workers = {worker["tid"]: worker for worker in summary["workers"]}
    assert workers.pop(node.process.pid)["turns"] >= 30
    assert len(workers) <= 1, workers
    assert len(os.listdir(f"/proc/{node.process.pid}/task")) > 8


#: Its extension has Tokio, as those of Node.js and Python that are made in Rust.
EXTENDED = """
import asyncio, ctypes, os, sys, threading, time

def block_the_loop():
    begun = time.monotonic_ns()
    time.sleep(0.03)
    print(begun, time.monotonic_ns() - begun, file=sys.stderr, flush=True)

async def main():
    for i in range(10**6):
        await asyncio.sleep(0.01)
        if i % 20 == 19:
            block_the_loop()

library = ctypes.CDLL(os.environ["LIBRARY"])
threading.Thread(target=library.serve_from_library, daemon=True).start()
asyncio.run(main())
"""


@pytest.mark.measures
@pytest.mark.parametrize("stripped", [False, True])
def test_a_loop_beside_a_runtime_that_is_in_a_library(tmp_path, stripped):
    """Stalls of both are found, and Tokio's idle threads, which wait for events as loops do, are not blamed."""
    (tmp_path / "both.py").write_text(EXTENDED)
    library = build_tokio("cdylib")
    if stripped:
        subprocess.run(["strip", "-o", tmp_path / "library.so", library], check=True)
        library = tmp_path / "library.so"
    with open(tmp_path / "stalls", "w+") as written:
        command = [sys.executable, tmp_path / "both.py", "--directory", tmp_path]
        service = Service(command, stderr=written, env={**os.environ, "LIBRARY": str(library)})
        blocked = Blocked(service.process.pid)
        asked = []
        for _ in range(6):
            time.sleep(0.5)
            for handler in ("spin", "sleep"):
                asked.append(service.ask(handler, 30)[:2])
                service.settle()
        stalls, summary = blocked.end()
        service.end()
        written.seek(0)
        own = [tuple(int(word) for word in line.split()) for line in written]
    assert summary["runtime"] == "tokio" and "tokio-" in str(summary["workers"]), summary["workers"]
    # a verdict about the loop may take until the second snapshot
    seen = [stall for stall in own if summary["end_ns"] - summary["duration_ns"] + 1_500_000_000 < stall[0] and sum(stall) < summary["end_ns"]]
    assert len(seen) >= 3
    for expected in (asked, seen):
        found = [stall_of(stalls, *stall) for stall in expected]
        assert found.count(None) <= 1, (expected, stalls)
    for stall in stalls:
        known = any(stall_of([stall], *one) for one in asked + own)
        assert known or taken_away(stall) or stall["cause"] == "runnable", stall
        if known and stall["tid"] == service.process.pid:
            assert stall["function"] == "block_the_loop" and stall["cause"] == "sleep", stall


@pytest.fixture
def disk():
    """A directory that is not in memory, as /tmp may be."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="dwell-program-", dir="/var/tmp"))
    yield directory
    shutil.rmtree(directory)


@pytest.mark.measures
@pytest.mark.parametrize(
    "program, runtime",
    [((programs.Asio, 4), "loop"), ((programs.Java,), "jvm"), ((programs.Nginx,), "loop"), ((programs.Haproxy,), "loop"), ((programs.Memcached,), "loop")],
    ids=["asio", "java", "nginx", "haproxy", "memcached"],
)  # fmt: skip
def test_programs_of_others(disk, program, runtime):
    """As tests/bench/programs, a few rounds: found, with the right cause and name; and nothing else."""
    with programs.running(*program[:1], disk, *program[1:]) as started:
        table, false, summary = programs.watch(started, ROUNDS)
    assert summary["runtime"] == runtime
    asked = sum(row["asked"] for row in table.values())
    assert asked >= ROUNDS * len(table) / 2
    for column in ("found", "cause", "name"):
        missing = [(name, row) for name, row in table.items() if row[column] < row["asked"] and not (column == "name" and name in started.unnamed)]
        assert sum(row["asked"] - row[column] for _, row in missing) <= 0.05 * asked, (column, missing)
    assert not false, [(stall["cause"], stall["function"], stall["states_ns"], functions(stall)) for stall in false]


def test_what_falls_short_of_the_bars():
    """One stall that is missing of a few says nothing, two do; one that blames what is innocent always does."""
    row = {"asked": 60, "found": 60, "cause": 60, "name": 60}

    def short(false=0, unnamed=frozenset(), **missing):
        spin = {column: count - missing.get(column, 0) for column, count in row.items()}
        return programs.short_of(programs.summed([{"spin": spin, "read": row}], unnamed), false)

    assert short() == [] and short(false=1) == ["false"]
    assert short(found=1, cause=1, name=1) == []
    assert short(found=2, cause=2, name=2) == ["recall"]
    assert short(cause=3) == ["cause"] and short(name=3) == ["name"]
    assert short(name=60, unnamed={"spin"}) == []


def test_java_without_names(disk):
    """It is recognized, and dwell says how its functions get names."""
    with programs.running(programs.Java, disk) as java:
        command = [DWELL, "blocked", "-p", str(java.pid), "--headless", "-v"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            for line in watching.stderr:
                if "runtime jvm" in line:
                    assert f"jcmd {java.pid} Compiler.perfmap" in line
                if "watching" in line:
                    break
            for _ in range(20):
                java.settle()
            while java.ask("sleep", 20)[1] < 20_000_000:
                pass
            java.settle()
            watching.send_signal(2)
            said = watching.communicate()[0]
    assert "  jvm, " in said and "Java with jcmd PID Compiler.perfmap" in said, said
