# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` where several threads take turns at a loop, or hand work to each other."""
import json
import pathlib
import subprocess
import sys
import time

import pytest

from conftest import BUILD, DWELL
from loads import children
from matrices import wait_until
from services import Blocked, program_running, stall_of, taken_away


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
