# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` on handlers that wait as loops do, and on loops within loops."""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from conftest import BUILD
from services import Blocked, blamed, functions, program_running, stall_of, taken_away


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


#: Loops in epoll whose handlers sleep, as Ruby does: in poll(). That of EventMachine waits in poll() itself, for its epoll descriptor.
REACTORS = """
require "fiddle"
require "io/wait"
def call(name, *types)
  Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], types, Fiddle::TYPE_INT)
end
wait = call("epoll_wait", Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_INT)
add = call("epoll_ctl", Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP)
queue = call("epoll_create1", Fiddle::TYPE_INT).call(0)
reader, writer = IO.pipe
add.call(queue, 1, reader.fileno, [1, 0, 0].pack("L*"))
events = Fiddle.malloc(16 * 12)
io = IO.for_fd(queue, autoclose: false)
spawn("while sleep 0.01; do echo; done", out: writer)
$stdout.sync = true
(1..).each do |turn|
  if ARGV == ["poll"]
    io.wait_readable(0.1)
    wait.call(queue, events, 16, 0)
  else
    wait.call(queue, events, 16, 100)
  end
  reader.read_nonblock(100, exception: false)
  next if turn % 5 > 0
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  turn % 2 > 0 ? sleep(0.03) : system("sleep 0.02")
  puts "#{begun} #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - begun}"
end
"""


@pytest.mark.measures
@pytest.mark.parametrize("wait", ["poll", "epoll"])
def test_what_a_handler_in_ruby_waits_for_is_a_stall(wait):
    """How deep in the stack it sleeps says nothing, nor does what it waits for: an eventfd."""
    with program_running(["ruby", "-e", REACTORS, wait]) as program:
        program.stdout.readline()
        blocked = Blocked(program.pid)
        # where it waits is learnt from the first
        learnt_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 1e9
        asked, later = [], []
        while len(later) < 15:
            asked.append(tuple(int(word) for word in program.stdout.readline().split()))
            later += [stall for stall in asked[-1:] if stall[0] > learnt_ns]
        stalls, summary = blocked.end()
    found = [stall_of(stalls, *stall) for stall in later]
    assert found.count(None) <= 0.1 * len(later), (later, stalls)

    def is_of_a_handler(stall):
        """Of one before its wait was learnt it may be a part."""
        return any(stall["start_ns"] < start + duration and start < stall["start_ns"] + stall["duration_ns"] for start, duration in asked)

    # Ruby itself computes that long where it collects garbage
    assert [stall for stall in blamed(stalls) if stall["cause"] != "cpu" and not is_of_a_handler(stall)] == []


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


#: A handler that waits until each thread that it starts has begun.
STARTS = """
import asyncio, threading, time

def compute():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass

def start_threads():
    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

async def main():
    print(flush=True)
    while True:
        await asyncio.sleep(0.05)
        start_threads()

asyncio.run(main())
"""


@pytest.mark.measures
def test_a_function_that_starts_threads_has_its_name():
    """A thread that has not begun is in the interpreter's list with the number of who has made it."""
    with program_running([sys.executable, "-c", STARTS]) as program:
        assert program.stdout.readline() == "\n"
        blocked = Blocked(program.pid, "-d", "5s")
        stalls, _ = blocked.wait()
    waits = [part["function"] for stall in stalls for part in stall["parts"] if part["cause"] in ("ipc", "lock")]
    assert len(waits) > 20 and waits.count("start_threads") > 0.95 * len(waits), waits


#: A quiet loop, of which each turn has a handler that waits in an epoll of its own.
NESTS = """
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}
__attribute__((noinline)) void ask_by_epoll(int queue)
{
	struct epoll_event events[64];
	long begun = now();

	epoll_wait(queue, events, 64, 15);
	epoll_wait(queue, events, 64, 15);
	printf("%ld %ld\\n", begun, now() - begun);
	fflush(stdout);
}
int main(void)
{
	int queue = epoll_create1(0), own = epoll_create1(0);
	struct epoll_event one;

	while (1) {
		epoll_wait(queue, &one, 1, 150);
		ask_by_epoll(own);
	}
}
"""


@pytest.mark.measures
def test_a_handler_in_each_turn_that_waits_in_epoll_is_found(tmp_path):
    (tmp_path / "nests.c").write_text(NESTS)
    subprocess.run(["gcc", "-O2", "-o", tmp_path / "nests", tmp_path / "nests.c"], check=True)
    with program_running([tmp_path / "nests"]) as program:
        blocked = Blocked(program.pid)
        asked = [tuple(int(word) for word in program.stdout.readline().split()) for _ in range(40)]
        stalls, summary = blocked.end()
    # which of both is the loop shows by some turns
    asked = [stall for stall in asked if stall[0] > summary["end_ns"] - summary["duration_ns"]][10:-1]
    found = [stall_of(stalls, *stall) for stall in asked]
    assert len(asked) > 10 and found.count(None) <= 0.1 * len(asked), (asked, stalls)
    assert {(stall["cause"], stall["function"]) for stall in blamed(stalls)} == {("ipc", "ask_by_epoll")}


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
