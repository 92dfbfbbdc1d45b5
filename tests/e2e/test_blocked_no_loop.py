# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` on threads without a loop, which are not blamed, and on loops that never wait."""
import contextlib
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time

import pytest

from conftest import BUILD, DWELL
from services import Blocked, blamed, program_running, stall_of, taken_away


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


#: A thread of Ruby's that sleeps, and one that waits for a connection.
RUBY_WAITS = """
require "socket"
require "io/wait"
Thread.new { loop { sleep 0.3 } }
server = TCPServer.new("127.0.0.1", 0)
$stdout.sync = true
puts
loop { server.wait_readable(0.2) }
"""


def test_who_only_waits_in_ruby_is_no_worker():
    """Else that none was blocked would seem to be known."""
    with program_running(["ruby", "-e", RUBY_WAITS]) as program:
        program.stdout.readline()
        done = subprocess.run([DWELL, "blocked", "-p", str(program.pid), "-d", "3s", "--format", "json"], capture_output=True, text=True, timeout=60)
    summary = json.loads(done.stdout.splitlines()[-1])
    assert "no worker found" in done.stderr and summary["workers"] == [], done.stdout


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


#: A loop that always has something to do asks for events, and never waits.
SATURATED = """
import asyncio, time

async def rest():
    while True:
        begun = time.monotonic_ns()
        time.sleep(0.03)
        print(begun, time.monotonic_ns() - begun, flush=True)
        await asyncio.sleep(0)

asyncio.run(rest())
"""


#: So does a program that calls a loop beside its own work, and rests in between.
PUMPS = """
import asyncio, time

def work():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass

loop = asyncio.new_event_loop()
print(flush=True)
while True:
    loop.call_soon(work)
    loop.call_soon(loop.stop)
    loop.run_forever()
    time.sleep(0.03)
"""


def turns_after(program, since_ns):
    """Thirty: such a loop is known at a snapshot, by its thread's stack."""
    turns = []
    while len(turns) < 30:
        turn = tuple(int(word) for word in program.stdout.readline().split())
        turns += [turn] * (turn[0] > since_ns)
    return turns


@pytest.mark.measures
def test_a_loop_that_never_waits_is_one():
    with program_running([sys.executable, "-c", SATURATED]) as program:
        blocked = Blocked(program.pid)
        asked = turns_after(program, time.monotonic_ns() + 2_000_000_000)
        stalls, _ = blocked.end()
    found = [stall_of(stalls, *stall) for stall in asked[:-1]]
    assert found.count(None) <= 0.1 * len(asked), (asked, stalls)
    assert {(stall["cause"], stall["function"]) for stall in blamed(stalls)} == {("sleep", "rest")}


#: One of the program's own, which no name says.
SATURATED_OWN = """
import select, time

def rest():
    begun = time.monotonic_ns()
    time.sleep(0.03)
    print(begun, time.monotonic_ns() - begun, flush=True)

queue = select.epoll()
while True:
    queue.poll(0)
    rest()
"""


@pytest.mark.measures
def test_a_loop_that_never_waits_is_one_where_the_user_names_its_thread():
    """And does not seem to hang."""
    with program_running([sys.executable, "-c", SATURATED_OWN]) as program:
        with open(f"/proc/{program.pid}/comm", encoding="utf-8") as file:
            name = file.read().strip()
        blocked = Blocked(program.pid, "--workers", name)
        asked = turns_after(program, time.monotonic_ns() + 2_000_000_000)
        stalls, _ = blocked.end()
    found = [stall_of(stalls, *stall) for stall in asked[:-1]]
    assert found.count(None) <= 0.1 * len(asked), (asked, stalls)
    assert {(stall["cause"], stall["function"]) for stall in blamed(stalls)} == {("sleep", "rest")}
    assert max(stall["duration_ns"] for stall in blamed(stalls)) < 300_000_000


@pytest.mark.measures
def test_who_calls_a_loop_beside_his_own_work_is_not_blamed():
    with program_running([sys.executable, "-c", PUMPS]) as program:
        assert program.stdout.readline() == "\n"
        blocked = Blocked(program.pid, "-d", "4s")
        stalls, _ = blocked.wait()
    assert blamed(stalls) == []


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
