# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` on event loops that others wrote."""
import contextlib
import ctypes
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from conftest import BUILD, DWELL
import programs
from loads import children
from matrices import wait_until
from services import FIXTURES, Blocked, Service, build_tokio, stall_of, taken_away

ROUNDS = 4
ARCHIVE_BYTES = 32 << 20


def functions(stall):
    return [frame["function"] for frame in stall["stack"]]


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


def blocked_followers(threads, *how, program="followers", options=(), missed=0.05):
    """-> (what dwell has of each handler that blocked, of which it may miss a share, all stalls)"""
    program = pathlib.Path(BUILD) / "tests" / program
    with subprocess.Popen([program, str(threads), "200", *how], stdout=subprocess.PIPE, text=True) as loop:
        blocked = Blocked(loop.pid, *options)
        answers = [tuple(int(word) for word in line.split()) for line in loop.stdout]
        stalls, summary = blocked.wait()
    # what began before all was attached was not seen
    answers = [answer for answer in answers if answer[0] > summary["end_ns"] - summary["duration_ns"] + 100_000_000]
    assert len(answers) > 20
    found = [stall_of(stalls, *answer) for answer in answers]
    assert found.count(None) <= missed * len(answers), found
    return found, stalls


@pytest.mark.measures
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_followers_of_a_loop_are_idle(threads):
    """As in Asio: of its threads one waits for events, and the others for that one."""
    found, stalls = blocked_followers(threads)
    for stall in filter(None, found):
        assert "wait_for_printer" in (stall["function"] or "") or taken_away(stall) or stall["cause"] == "runnable", stall
    others = [stall for stall in stalls if "wait_for_printer" not in (stall["function"] or "")]
    assert not [stall for stall in others if not taken_away(stall) and stall["cause"] != "runnable"], others[:3]


@pytest.mark.measures
@pytest.mark.parametrize("own, missed", [([], 1), (["--own", "wait_for_printer"], 0.15)], ids=["of the program", "of a library"])
def test_who_is_parked_beside_the_loops_function_is_idle(own, missed):
    """As in a pool of async-io. Where a library parks its threads, that ends a turn; else a job may be seen with those before it."""
    found, stalls = blocked_followers(3, program="pool-loop", options=own, missed=missed)
    for stall in filter(None, found):
        assert "wait_for_printer" in (stall["function"] or "") and stall["cause"] == "sleep" or taken_away(stall), stall
    assert not [stall for stall in stalls if "wait_for_printer" not in (stall["function"] or "") and not taken_away(stall)], stalls


@pytest.mark.measures
@pytest.mark.parametrize("threads, cause", [(1, "lock"), (1, "condition"), (2, "lock")])
def test_what_a_handler_within_the_loops_function_waits_for_is_a_stall(threads, cause):
    """The compiler has put it there: the function that waits for events waits for the printer, too."""
    found, _ = blocked_followers(threads, cause)
    causes = {"lock": {"lock"}, "condition": {"ipc", "idle", "lock"}}[cause]
    for stall in filter(None, found):
        assert stall["cause"] in causes or taken_away(stall) or stall["cause"] == "runnable", stall


@pytest.mark.measures
@pytest.mark.parametrize("kind", ["mutex", "pi", "processes"])
def test_who_waits_for_the_lock_of_the_loop_is_idle(kind):
    """As with Apache's accept mutex and uWSGI's --thunder-lock: who has it waits for events."""
    program = pathlib.Path(BUILD) / "tests" / "locked-loop"
    with subprocess.Popen([program, kind, "3", "250"], stdout=subprocess.PIPE, text=True) as loop:
        if kind == "processes":
            wait_until(lambda: children(loop.pid))
        blocked = Blocked(children(loop.pid)[0] if kind == "processes" else loop.pid)
        answers = [tuple(int(word) for word in line.split()) for line in loop.stdout]
        stalls, summary = blocked.wait()
    begin = summary["end_ns"] - summary["duration_ns"] + 100_000_000
    tids = {worker["tid"] for worker in summary["workers"]}
    answers = [(start, length) for tid, start, length in answers if start > begin and tid in tids]
    assert len(answers) > (5 if kind == "processes" else 20)
    found = [stall_of(stalls, *answer) for answer in answers]
    assert found.count(None) <= max(1, 0.1 * len(answers)), found
    assert all("wait_for_printer" in (stall["function"] or "") or taken_away(stall) or stall["cause"] == "runnable" for stall in stalls), stalls


@contextlib.contextmanager
def program_running(words):
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.03)
    os.kill(pid, signal.SIGCONT)


def trace(pid):
    """As a debugger that attaches to all threads, and lets them go."""
    ptrace, attach, detach, all_threads = ctypes.CDLL(None, use_errno=True).ptrace, 16, 17, 0x40000000
    tids = [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
    for tid in tids:
        assert ptrace(attach, tid, None, None) == 0, ctypes.get_errno()
        os.waitpid(tid, all_threads)
    time.sleep(0.03)
    for tid in tids:
        ptrace(detach, tid, None, None)


@pytest.mark.measures
@pytest.mark.parametrize("interrupt", [stop, trace])
def test_an_interrupted_wait_for_events_is_no_turn(interrupt):
    """poll() goes on in restart_syscall(), ppoll() and select() are called again, epoll_wait() returns."""
    with program_running([pathlib.Path(BUILD) / "tests" / "idle-loops"]) as loops:
        time.sleep(1)
        blocked = Blocked(loops.pid, "--threshold", "5ms")
        begun = []
        for _ in range(5):
            interrupt(loops.pid)
            time.sleep(0.5)
        for _ in range(3):
            loops.send_signal(signal.SIGUSR1)
            begun.append(int(loops.stdout.readline()))
            time.sleep(0.2)
        stalls, summary = blocked.end()
    assert len([worker for worker in summary["workers"] if worker["turns"] > 3]) == 4, summary["workers"]
    found = [stall_of(stalls, at, 30_000_000) for at in begun]
    assert all(found), (begun, stalls)
    for stall in stalls:
        # the handler's, or one that something else delayed
        assert stall in found or stall["cause"] in ("runnable", "stolen", "irq"), stall


def handlers_of_a_poll_loop(loop, handler):
    """-> (when handlers began that ended while all was seen, from the sixteenth turn on; stalls)"""
    with program_running([pathlib.Path(BUILD) / "tests" / "poll-loop", loop, handler]) as program:
        blocked = Blocked(program.pid, "--threshold", "5ms")
        begun = [int(program.stdout.readline()) for _ in range(70)]
        stalls, summary = blocked.end()
    begun = [at for at in begun if at > summary["end_ns"] - summary["duration_ns"]]
    return begun[16:-1], stalls


@pytest.mark.measures
@pytest.mark.parametrize("loop, handler", [("poll", "poll"), ("ppoll", "select"), ("select", "select")])
def test_what_a_handler_waits_for_in_poll_is_a_stall(loop, handler):
    """As drivers of databases, resolvers and subprocess.run() do, below GLib's loop and Qt's, which are on poll() as well."""
    begun, stalls = handlers_of_a_poll_loop(loop, handler)
    assert len(begun) > 20
    found = [stall_of(stalls, at, 29_000_000) for at in begun]
    assert found.count(None) <= 0.1 * len(begun), (found, stalls[-1:])
    for stall in filter(None, found):
        assert stall["function"] in ("wait_in_poll", "wait_in_select") and stall["cause"] == "ipc" or taken_away(stall) or stall["cause"] == "runnable", stall
        assert stall["cause"] != "ipc" or stall["reason"].endswith(":pipe"), stall


@pytest.mark.measures
@pytest.mark.parametrize("loop", ["poll", "ppoll", "select"])
def test_what_a_handler_waits_for_in_epoll_is_no_turn_of_a_loop_in_poll(loop):
    """Whether the loop's wait or the handler's is seen first, the loop is not blamed for waiting for events. Where its wait is deeper in
    the stack than the handler's, the handler's is missed."""
    begun, stalls = handlers_of_a_poll_loop(loop, "epoll")
    assert len(begun) > 20
    for stall in stalls:
        assert stall["function"] == "wait_in_epoll" and stall["cause"] == "ipc" or taken_away(stall) or stall["cause"] == "runnable", stall
    found = [stall_of(stalls, at, 29_000_000) for at in begun]
    assert loop != "poll" or found.count(None) <= 0.1 * len(begun), (found, stalls[-1:])


JOBS = """
import asyncio, time
from concurrent.futures import ThreadPoolExecutor

async def job(stall):
    for i in range(12):
        await asyncio.sleep(0.002)
    if stall:
        begun = time.monotonic_ns()
        time.sleep(0.03)
        print(begun, time.monotonic_ns() - begun, flush=True)
    await asyncio.sleep(0.002)

print(flush=True)
with ThreadPoolExecutor(2) as pool:
    for i in range(30):
        pool.submit(asyncio.run, job(i % 5 == 4))
        time.sleep(0.1)
print(flush=True)
time.sleep(60)
"""


@pytest.mark.measures
@pytest.mark.parametrize("kind", ["epoll", "ring"])
def test_what_a_handler_of_a_loop_on_io_uring_waits_for_is_a_stall(kind):
    """In epoll, which does not make it a loop there, or for a ring of its own, which ends no turn."""
    with subprocess.Popen([pathlib.Path(BUILD) / "tests" / "ring-loop", kind, "400"], stdout=subprocess.PIPE, text=True) as loop:
        blocked = Blocked(loop.pid)
        answers = [tuple(int(word) for word in line.split()) for line in loop.stdout]
        stalls, summary = blocked.wait()
    if loop.returncode == 77:
        pytest.skip("there is no io_uring")
    # which of both is its loop shows by some turns
    answers = [answer for answer in answers if answer[0] > summary["end_ns"] - summary["duration_ns"] + 500_000_000]
    found = [stall_of(stalls, *answer) for answer in answers]
    assert len(answers) > 20 and found.count(None) <= 0.1 * len(answers), found
    blamed = [stall for stall in stalls if stall["cause"] != "runnable" and not taken_away(stall)]
    assert all(f"ask_by_{kind}" in functions(stall) for stall in blamed), [(stall["cause"], functions(stall)) for stall in blamed]


@pytest.mark.measures
def test_a_thread_that_waits_for_the_next_loop_to_run_is_not_blamed():
    """As Django's async_to_sync() does: a job of a pool runs a loop to its end, and its thread waits for the next job."""
    with program_running([sys.executable, "-c", JOBS]) as program:
        program.stdout.readline()
        blocked = Blocked(program.pid)
        begun = [tuple(int(word) for word in line.split()) for line in iter(program.stdout.readline, "\n")]
        stalls, summary = blocked.end()
    begun = [stall for stall in begun if stall[0] > summary["end_ns"] - summary["duration_ns"]]
    assert len(begun) >= 3 and len(summary["workers"]) <= 2
    found = [stall_of(stalls, *stall) for stall in begun]
    assert found.count(None) <= 1, (begun, stalls)
    assert [stall for stall in stalls if stall not in found and not taken_away(stall) and stall["cause"] != "runnable"] == []


#: A client that needs each answer: Python waits in poll() for a socket that has a timeout.
ASKS = """
import select, socket, threading, time

server = socket.create_server(("127.0.0.1", 0))

def serve():
    client, _ = server.accept()
    while client.recv(1):
        time.sleep(0.002)
        client.send(b"y")

threading.Thread(target=serve, daemon=True).start()
connection = socket.create_connection(server.getsockname(), timeout=5)
while True:
    connection.send(b"x")
    WAIT
    connection.recv(1)
    time.sleep(0.02)
"""


@pytest.mark.parametrize("wait", ["", "select.select([connection], [], [], 5)"])
def test_who_waits_for_answers_has_no_loop(wait):
    with program_running([sys.executable, "-c", ASKS.replace("WAIT", wait)]) as program:
        done = subprocess.run([DWELL, "blocked", "-p", str(program.pid), "-d", "2s", "--format", "json"], capture_output=True, text=True, timeout=60)
    summary = json.loads(done.stdout.splitlines()[-1])
    assert "no worker found" in done.stderr and (summary["stalls"], summary["workers"]) == (0, []), done.stdout


#: It runs programs, and waits in poll() for both of their pipes.
RUNS = """
import subprocess, time

def run():
    subprocess.run(["sh", "-c", "echo; sleep 0.01; echo >&2"], capture_output=True)

def think(deep=5):
    think(deep - 1) if deep else time.sleep(0.02)

print(flush=True)
while True:
    run()
    time.sleep(0.02)
    think()
"""

#: A handler that waits for a child process.
HANGS = """
import asyncio, os

def wait_for_child(pid):
    os.waitpid(pid, 0)

async def main():
    print(flush=True)
    while True:
        wait_for_child(os.posix_spawn("/bin/sleep", ["sleep", "1.5"], os.environ))
        await asyncio.sleep(0.1)

asyncio.run(main())
"""


@pytest.mark.measures
def test_what_a_handler_waits_for_now_is_as_it_will_be_called_in_the_end():
    with program_running([sys.executable, "-c", HANGS]) as program:
        assert program.stdout.readline() == "\n"
        blocked = Blocked(program.pid, "-d", "4s")
        stalls, summary = blocked.wait()
    stuck = [worker["stuck"] for worker in summary["workers"] if worker["stuck"]]
    found = {(stall["cause"], stall["reason"], stall["function"]) for stall in [*stalls, *stuck] if stall["cause"] != "runnable"}
    assert found == {("ipc", "wait4:child", "wait_for_child")}


#: Ruby sleeps in poll() for an eventfd.
SLEEPS = """
$stdout.sync = true
puts
loop do
  sleep 0.02
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.02
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
end
"""


def blamed(stalls):
    return [stall for stall in stalls if not taken_away(stall) and stall["cause"] != "runnable"]


@contextlib.contextmanager
def asking(kind):
    """Synchronous programs whose libraries wait for events."""
    if kind == "python":
        words = [sys.executable, "-c", RUNS]
    elif kind == "ruby":
        words = ["ruby", "-e", SLEEPS]
    else:
        words = [pathlib.Path(BUILD) / "tests" / "asks", kind]
    with contextlib.ExitStack() as stack:
        if kind == "curl":
            server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            words.append(f"http://127.0.0.1:{server.server_address[1]}/")
        program = stack.enter_context(program_running(words))
        yield program


class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(0.005)
        self.send_response(200)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"x")

    def log_message(self, *arguments):
        pass


@pytest.mark.measures
@pytest.mark.parametrize("kind", ["curl", "python", "ruby"])
def test_a_program_without_a_loop_is_not_blamed(kind):
    """What it does between two calls of a library that waits for an answer holds up no one."""
    with asking(kind) as program:
        assert program.stdout.readline() == "\n"
        blocked = Blocked(program.pid, "-d", "4s")
        stalls, summary = blocked.wait()
    assert blamed(stalls) == []
    assert sum(worker["stalls"] for worker in summary["workers"]) == len(stalls), summary["workers"]


@pytest.mark.measures
@pytest.mark.parametrize("depth", ["2", "9"])
def test_a_loop_of_the_programs_own_is_one_however_far_its_wait(depth):
    with asking(depth) as program:
        blocked = Blocked(program.pid)
        asked = [tuple(int(word) for word in program.stdout.readline().split()) for _ in range(60)]
        stalls, summary = blocked.end()
    asked = [stall for stall in asked if stall[0] > summary["end_ns"] - summary["duration_ns"]]
    found = [stall_of(stalls, *stall) for stall in asked]
    assert len(asked) > 20 and found.count(None) <= 0.1 * len(asked), (asked, stalls)


#: Its handlers wait for a thread, as jobs of a pool are waited for, or sleep.
JOINS = """
import os, selectors, threading, time

reader, writer = os.pipe()

def tick():
    while True:
        time.sleep(0.01)
        os.write(writer, b"x")

def join():
    thread = threading.Thread(target=time.sleep, args=(0.03,))
    thread.start()
    thread.join()

def nap():
    time.sleep(0.03)

threading.Thread(target=tick, daemon=True).start()
selector = selectors.PollSelector()
selector.register(reader, selectors.EVENT_READ)
for number in range(10**9):
    selector.select()
    os.read(reader, 1)
    if number % 12 == 11:
        begun = time.monotonic_ns()
        (join if number % 24 == 23 else nap)()
        print(begun, time.monotonic_ns() - begun, flush=True)
"""


@pytest.mark.measures
def test_a_loop_whose_handlers_wait_for_threads_stays_one():
    """In poll(), for one descriptor: where the handler waits lies far from where the loop does."""
    with program_running([sys.executable, "-c", JOINS]) as program:
        blocked = Blocked(program.pid)
        lines = [program.stdout.readline() for _ in range(60)]
        stalls, summary = blocked.end()
    asked = [tuple(int(word) for word in line.split()) for line in lines]
    # it is asked about once for each kind of wait
    asked = [stall for stall in asked if stall[0] > summary["end_ns"] - summary["duration_ns"] + 3e9]
    found = [stall_of(stalls, *stall) for stall in asked]
    assert len(asked) >= 15 and found.count(None) <= 0.2 * len(asked), (asked, stalls)
    names = [stall["function"] for stall in filter(None, found)]
    assert names.count("nap") >= 4 and names.count("join") >= 4, names


#: Jobs of a pool that wait in poll() for two pipes, in a library's function, and take their time.
POOL = """
import queue, subprocess, threading, time

jobs = queue.Queue()

def run(job):
    subprocess.run(["sh", "-c", "for i in 1 2 3 4 5 6; do echo; sleep 0.005; echo >&2; done"], capture_output=True)
    time.sleep(0.02)

def work():
    while True:
        run(jobs.get())

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for job in range(10**9):
    jobs.put(job)
    time.sleep(0.1)
"""


@pytest.mark.measures
def test_a_pool_whose_jobs_wait_in_poll_is_not_blamed():
    with program_running([sys.executable, "-c", POOL]) as program:
        done = subprocess.run([DWELL, "blocked", "-p", str(program.pid), "-d", "5s", "--format", "json"], capture_output=True, text=True, timeout=60)
    stalls = [stall for stall in map(json.loads, done.stdout.splitlines()) if stall["type"] == "stall"]
    assert [stall for stall in stalls if stall["cause"] != "runnable"] == [], stalls


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


#: Its wait has much on the stack, as libuv's, and what it calls beside its handlers waits less deep: of a timer that waits twice for an
#: eventfd, as libraries do that have threads of their own.
TIMERS = """
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
__attribute__((noinline)) void wait_for_events(int queue)
{
	struct epoll_event events[1024];

	memset(events, 0, 64);
	epoll_wait(queue, events, 1024, 25);
	__asm__ volatile("" : : "r"(events) : "memory");
}
__attribute__((noinline)) void call_timer(int fd)
{
	struct pollfd one = {fd, POLLIN, 0};

	for (int i = 0; i < 2; i++)
		poll(&one, 1, 15);
	__asm__ volatile("" : : : "memory");
}
int main(void)
{
	int queue = epoll_create1(0), fd = eventfd(0, 0);

	puts("");
	fflush(stdout);
	for (int turn = 0;; turn++) {
		wait_for_events(queue);
		if (turn % 4 == 3)
			call_timer(fd);
	}
}
"""


@pytest.mark.measures
def test_a_loop_whose_timers_wait_for_events_stays_the_loop(tmp_path):
    (tmp_path / "timers.c").write_text(TIMERS)
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "timers", tmp_path / "timers.c"], check=True)
    with program_running([tmp_path / "timers"]) as program:
        program.stdout.readline()
        blocked = Blocked(program.pid, "-d", "4s")
        stalls, summary = blocked.wait()
    assert [stall for stall in stalls if stall["function"] != "call_timer" and not taken_away(stall) and stall["cause"] != "runnable"] == []
    assert summary["workers"][0]["turns"] > 60, summary["workers"]


#: As PHP-FPM's workers: accept(), poll() for the request, the request, accept().
ACCEPTORS = """
import select, socket, threading, time

listening = socket.create_server(("127.0.0.1", 0))

def ask():
    while True:
        time.sleep(0.06)
        socket.create_connection(listening.getsockname()).sendall(b"x")

threading.Thread(target=ask, daemon=True).start()
print(flush=True)
while True:
    connection, _ = listening.accept()
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.poll(5000)
    connection.recv(1)
    connection.close()
"""


@pytest.mark.measures
def test_who_waits_for_a_connection_is_not_blamed():
    with program_running([sys.executable, "-c", ACCEPTORS]) as program:
        program.stdout.readline()
        blocked = Blocked(program.pid, "-d", "3s")
        stalls, _ = blocked.wait()
    assert [stall for stall in stalls if not taken_away(stall) and stall["cause"] != "runnable"] == []


#: As of Jetty: a thread that has been woken hands the selector on to another thread of the pool, works, and waits for what comes next.
ROTATING = """
import java.nio.channels.Selector;
import java.util.concurrent.*;

public class Rotating {
    static final ExecutorService pool = Executors.newFixedThreadPool(3);
    static Selector selector;

    static void turn() {
        try {
            selector.select(50);
        } catch (java.io.IOException error) {
            throw new RuntimeException(error);
        }
        pool.execute(Rotating::turn);
        // long enough for another thread to take it
        for (long begin = System.nanoTime(); System.nanoTime() - begin < 2_000_000;)
            ;
    }

    public static void main(String[] arguments) throws Exception {
        selector = Selector.open();
        pool.execute(Rotating::turn);
        System.out.println();
        Thread.sleep(60000);
    }
}
"""


@pytest.mark.measures
def test_who_has_handed_on_a_selector_is_not_blamed(tmp_path):
    (tmp_path / "Rotating.java").write_text(ROTATING)
    with program_running(["java", tmp_path / "Rotating.java"]) as program:
        program.stdout.readline()
        time.sleep(1)
        blocked = Blocked(program.pid, "-d", "4s")
        stalls, summary = blocked.wait()
    assert summary["runtime"] == "jvm" and len(summary["workers"]) == 3, summary["workers"]
    assert [stall for stall in stalls if stall["cause"] not in ("cpu", "runnable") and not taken_away(stall)] == []


@pytest.mark.measures
@pytest.mark.parametrize("loop", ["poll", "ppoll", "select"])
def test_a_loop_within_the_loop_is_no_stall(loop):
    """A dialog's, as of gtk_dialog_run() or QEventLoop::exec(): it waits for what the loop waits for."""
    begun, stalls = handlers_of_a_poll_loop(loop, "loop")
    assert len(begun) > 20
    assert [stall for stall in stalls if not taken_away(stall) and stall["cause"] != "runnable"] == []


@pytest.mark.measures
def test_a_loop_whose_wait_is_deeper_than_its_handlers_is_not_blamed():
    """Sets of descriptors are large: select() of the loop is deeper in the stack than poll() of the handler, which is missed then."""
    begun, stalls = handlers_of_a_poll_loop("select", "poll")
    assert len(begun) > 20
    assert [stall for stall in stalls if stall["function"] == "wait_in_select" and stall["cause"] in ("ipc", "idle", "net")] == []


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
    # what nginx's Lua has compiled has no names
    unnamed = {"spin"} if program[0] is programs.Nginx else set()
    for column in ("found", "cause", "name"):
        missing = [(name, row) for name, row in table.items() if row[column] < row["asked"] and not (column == "name" and name in unnamed)]
        assert sum(row["asked"] - row[column] for _, row in missing) <= 0.05 * asked, (column, missing)
    assert not false, [(stall["cause"], stall["function"], stall["states_ns"], functions(stall)) for stall in false]


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


#: A thread waits for the events of the loop that runs in the first one, as Tcl's notifier does.
NOTIFIES = """
import os, queue, selectors, threading, time

events = queue.SimpleQueue()
reader, writer = os.pipe()

def notify():
    selector = selectors.EpollSelector()
    selector.register(reader, selectors.EVENT_READ)
    print(flush=True)
    while True:
        selector.select()
        os.read(reader, 1)
        events.put(None)

threading.Thread(target=notify, daemon=True).start()
while True:
    os.write(writer, b"x")
    events.get()
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
"""


def test_where_another_thread_does_the_work_dwell_says_that_it_is_not_judged():
    """That no stall of a worker was seen says nothing of the handlers."""
    with program_running([sys.executable, "-c", NOTIFIES]) as program:
        assert program.stdout.readline() == "\n"
        with open(f"/proc/{program.pid}/comm", encoding="utf-8") as file:
            name = file.read().strip()
        _, summary = Blocked(program.pid, "-d", "2s").wait()
        page = subprocess.run([DWELL, "blocked", "-p", str(program.pid), "-d", "2s"], capture_output=True, text=True, timeout=60).stdout
    workers, other = [worker["tid"] for worker in summary["workers"]], summary["not_judged"]
    assert workers and program.pid not in workers
    assert (other["tid"], other["comm"]) == (program.pid, name)
    assert 0 < other["process_cpu_ns"] / 2 < other["cpu_ns"] <= other["process_cpu_ns"]
    assert f"\nNot judged: {name} {program.pid}, which used " in page, page
