# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops that hang already when `dwell blocked` comes: a thread that was never seen to wait for events."""
import concurrent.futures
import contextlib
import json
import re
import subprocess
import sys
import time

import pytest

import programs
from conftest import DWELL
from services import Blocked, loop_service, taken_away


@contextlib.contextmanager
def held(program, name, seconds):
    """With a request that holds its loop for so long, and has done so for a while."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(program.ask, name, seconds * 1000)
        time.sleep(0.3)
        yield answer


LOOPS = {"libuv": (programs.Libuv,), "libevent": (programs.Libevent,), "asio": (programs.Asio, 4), "asyncio": (programs.Asyncio,), "uvloop": (programs.Asyncio, "uvloop")}


@pytest.mark.measures
@pytest.mark.parametrize(
    "loop, name",
    [("libuv", "sleep"), ("libuv", "spin"), ("libevent", "sleep"), ("asio", "spin"), ("asio", "lock"), ("asyncio", "sleep"), ("asyncio", "lock"), ("uvloop", "spin")],
)  # fmt: skip
def test_a_loop_that_hangs_already(tmp_path, loop, name):
    """It is one by the names on its stack: stuck now, and a stall when it has come back."""
    kind, *arguments = LOOPS[loop]
    request = kind.requests[name]
    with programs.running(kind, tmp_path, *arguments) as program, held(program, name, 4) as answer:
        blocked = Blocked(program.pid)
        answer.result()
        program.settle()
        stalls, summary = blocked.end()
    found = [stall for stall in stalls if not taken_away(stall)]
    assert summary["runtime"] == "loop" and len(found) == 1, (found, summary)
    stall = found[0]
    assert stall["began_before"] and re.fullmatch(request.function, stall["function"].split("::")[-1]) and 1e8 < stall["duration_ns"] < 4e9, stall
    assert stall["cause"] in request.causes | {"runnable"}, stall
    stuck = [worker["stuck"] for line in blocked.stuck for worker in line["workers"]]
    assert stuck and all(re.fullmatch(request.function, one["function"].split("::")[-1]) for one in stuck), blocked.stuck


@pytest.mark.measures
def test_all_threads_of_a_loop_that_hang_already(tmp_path):
    """Afterwards one waits for events, and the others for their turn: not seen to do so before, and until the end."""
    with programs.running(programs.Asio, tmp_path, 4) as program, concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(program.service.another().ask, "sleep", 3000) for _ in range(4)]
        time.sleep(0.3)
        blocked = Blocked(program.pid)
        for answer in answers:
            answer.result()
        program.settle()
        stalls, summary = blocked.end()
    found = [stall for stall in stalls if not taken_away(stall)]
    assert len(found) == 4 == len({stall["tid"] for stall in found}), (found, summary)
    function = programs.Asio.requests["sleep"].function
    assert all(stall["began_before"] and re.fullmatch(function, stall["function"].split("::")[-1]) and 1e8 < stall["duration_ns"] < 3e9 for stall in found), found


@pytest.mark.measures
@pytest.mark.parametrize("threads", [1, 4])
def test_jobs_of_a_pool_are_no_turns(tmp_path, threads):
    """Threads of an asio::thread_pool run what those of the loop run, and wait where they do, without events."""
    with programs.running(programs.Asio, tmp_path, threads) as program, held(program, "offload", 2) as answer:
        blocked = Blocked(program.pid)
        answer.result()
        for _ in range(3):
            program.ask("offload", 250)
        program.settle()
        stalls, summary = blocked.end()
    assert [stall for stall in stalls if not taken_away(stall) and stall["cause"] != "runnable"] == [], stalls
    assert len(summary["workers"]) <= threads, summary["workers"]
    assert [line for line in blocked.stuck if line["workers"]] == [], blocked.stuck


@pytest.mark.parametrize("name", ["sleep", "spin"])
def test_who_names_the_worker_sees_what_holds_it(name):
    """Of a loop of its own that a program hangs in no name says that it is one: the user does."""
    function = {"sleep": "wait_for_printer", "spin": "compute_report"}[name]
    with loop_service() as service, held(service, name, 10) as answer:
        pid = service.process.pid
        done = subprocess.run([DWELL, "blocked", "-p", str(pid), "-d", "1s"], capture_output=True, text=True)
        assert done.returncode == 1 and "also where their loop hangs" in done.stderr and "TID" not in done.stdout, done
        done = subprocess.run([DWELL, "blocked", "-p", str(pid), "-d", "1s", "--workers", "loop-serv"], capture_output=True, text=True)
        answer.result()
    assert done.returncode == 0 and "No stall has ended" in done.stdout, done
    assert " for at least " in done.stdout and f" in {function}" in done.stdout, done


#: threads that do all that a loop's handlers do, without one
NO_LOOP = """
import asyncio, sys, threading, time
async def once():
    await asyncio.sleep(0.01)
asyncio.run(once())
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
while True:
    sum(range(1000))
"""


def test_who_has_no_loop_any_more_is_not_blamed():
    with subprocess.Popen([sys.executable, "-c", NO_LOOP], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        done = subprocess.run([DWELL, "blocked", "-p", str(process.pid), "-d", "1s", "--format", "json"], capture_output=True, text=True)
        process.kill()
    assert done.returncode == 1 and json.loads(done.stdout)["workers"] == [], done


def test_a_busy_loop_does_not_hang():
    """One that is in a turn when dwell comes, and at each look after that in another."""
    turns = "import asyncio\nasync def main():\n    print('ready', flush=True)\n    while True:\n        sum(range(20000))\n        await asyncio.sleep(0)\nasyncio.run(main())\n"
    with subprocess.Popen([sys.executable, "-c", turns], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        blocked = Blocked(process.pid, "-d", "2s", "--max-stall", "500ms")
        stalls, summary = blocked.wait()
        process.kill()
    assert not blocked.stuck and not [stall for stall in stalls if stall["began_before"]], (stalls, summary)
