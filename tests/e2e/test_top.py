# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell top` as people and scripts use it: ends, signals, formats, other instances."""
import csv
import io
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from conftest import Background, DWELL, STATES, WHERE_ACCOUNTED, WORKLOAD, lost_transitions, parse, run, totals
from matrices import wait_until


def dwell_programs():
    shown = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^(\d+):.*name (?:on_switch|on_wakeup|on_fork|snapshot)\b", shown, re.M))


def test_no_fragment_follows_a_late_interval():
    """The reader is late, so dwell is: its next interval is a whole one, not what is left of the beat."""
    top = subprocess.Popen([DWELL, "top", "-c", "5", "-i", "400ms", "--format", "json"], stdout=subprocess.PIPE, text=True)
    first = top.stdout.readline()
    # stopped between two beats, some way into the interval after next
    top.send_signal(signal.SIGSTOP)
    time.sleep(0.7)
    top.send_signal(signal.SIGCONT)
    intervals, _ = parse(first + top.communicate()[0])
    lengths = [interval["duration_ns"] for interval in intervals]
    assert max(lengths) > 600_000_000 and min(lengths[:-1]) >= 200_000_000, lengths


def test_whole_machine():
    done = run("top", "-c", "2", "-i", "100ms", "--format", "json")
    intervals, _ = parse(done.stdout)
    assert [interval["final"] for interval in intervals] == [False, True]
    names = {row["comm"] for row in intervals[0]["threads"]}
    assert "dwell" in names and "ksoftirqd/0" in names
    for before, after in zip(intervals, intervals[1:]):
        assert before["start_ns"] + before["duration_ns"] == after["start_ns"]


def test_cpu_time_is_conserved():
    """All threads together cannot run longer than the CPUs exist.

    The kernel charges a thread from the wakeup on, before it has the CPU; its next wait for one pays that (src/bpf/turn.h),
    perhaps in a later interval. So the sum holds from the start on; an interval's, but for what the threads then owed.
    """
    spinners = [subprocess.Popen([WORKLOAD, "two-spinners"], stderr=subprocess.DEVNULL) for _ in range(2)]
    done = run("top", "-c", "5", "-i", "200ms", "--format", "json")
    for spinner in spinners:
        spinner.wait()
    intervals, _ = parse(done.stdout)
    all_used, all_there, seen = 0, 0, set()
    for interval in intervals:
        used = sum(row["states_ns"]["user"] + row["states_ns"]["kernel"] for row in interval["threads"])
        seen |= {row["tid"] for row in interval["threads"]}
        # the scheduler's clock is not slewed with CLOCK_MONOTONIC, by up to 500 ppm (adjtimex(2))
        there = 1.0005 * os.cpu_count() * interval["duration_ns"]
        all_used, all_there = all_used + used, all_there + there
        assert all_used <= all_there + 2_000 * len(seen)  # TURN_TOLERANCE_NS
        assert used <= there + 50_000 * len(interval["threads"])  # TURN_EARLY_MAX_NS
        assert used >= 0.8 * interval["duration_ns"]


def test_waits_that_began_before():
    """A thread parked since before dwell came is shown with its function, from the first interval."""
    workload = subprocess.Popen([WORKLOAD, "foreign"], stderr=subprocess.DEVNULL)
    parked = None
    while not parked:
        for task in pathlib.Path(f"/proc/{workload.pid}/task").iterdir():
            if (task / "comm").read_text() == "parked\n" and (task / "syscall").read_text().startswith(("202 ", "98 ")):
                parked = int(task.name)
    done = run("top", "-p", workload.pid, "-c", "2", "-i", "100ms", "--format", "json")
    workload.kill()
    workload.wait()
    intervals, _ = parse(done.stdout)
    for interval in intervals:
        (row,) = [row for row in interval["threads"] if row["tid"] == parked]
        assert row["reason"] == "futex:cond"
        assert row["states_ns"]["idle"] == row["observed_ns"]


NAPPERS = "import threading, time; [threading.Thread(target=lambda: [time.sleep(0.01) for _ in range(3000)]).start() for _ in range(8)]"


def test_top_limits_reasons_too():
    nappers = subprocess.Popen([sys.executable, "-c", NAPPERS])
    try:
        tids = lambda rows: {row["tid"] for row in rows}  # noqa: E731
        wait_until(lambda: len(os.listdir(f"/proc/{nappers.pid}/task")) == 9)
        for options, shown in (((), 9), (("--top", "2"), 2)):
            done = run("top", "-p", nappers.pid, "-d", "600ms", "-i", "300ms", *options, "--format", "json")
            interval = json.loads(done.stdout.splitlines()[-1])
            assert interval["total"] == 9 and len(interval["threads"]) == shown
            assert tids(interval["reasons"]) >= tids(interval["threads"]) - {nappers.pid}, interval
            assert tids(interval["reasons"]) <= tids(interval["threads"]), interval
    finally:
        nappers.kill()
        nappers.wait()


TWO_REASONS = """
import os, select, threading, time
r, w = os.pipe()
def work(rounds):
    for _ in range(rounds):
        time.sleep(0.02)
        select.poll().poll(10)
        select.select([], [], [], 0.005)
threads = [threading.Thread(target=work, args=(rounds,)) for rounds in (10, 10, 1000)]
input()
for thread in threads:
    thread.start()
print(*(thread.native_id for thread in threads), flush=True)
threads[0].join()
threads[1].join()
print("ended", flush=True)
input()
"""


def test_each_reason_of_a_thread_comes_once_and_whole():
    """The first is kept in another place than the others, and moves when the thread ends."""
    program = subprocess.Popen([sys.executable, "-c", TWO_REASONS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        top = subprocess.Popen(
            [DWELL, "top", "-p", str(program.pid), "-i", "50ms", "--format", "json"], stdout=subprocess.PIPE, text=True
        )
        lines = [json.loads(top.stdout.readline())]
        program.stdin.write("\n")
        program.stdin.flush()
        short, other, long = map(int, program.stdout.readline().split())
        assert program.stdout.readline() == "ended\n"
        # their ends, and the interval after those
        gone = set()
        while not gone >= {short, other} or {row["tid"] for row in lines[-1]["reasons"]} & gone:
            lines.append(json.loads(top.stdout.readline()))
            gone |= {row["tid"] for row in lines[-1]["threads"] if row["exited"]}
        top.send_signal(signal.SIGINT)
        lines += map(json.loads, top.communicate()[0].splitlines())
    finally:
        program.kill()
        program.wait()
    last = {}
    for interval in lines:
        keys = [(row["tid"], row["reason"]) for row in interval.get("reasons", [])]
        assert len(set(keys)) == len(keys), interval
        for row in interval.get("reasons", []):
            key = row["tid"], row["reason"]
            assert row["count"] >= last.get(key, {"count": 0})["count"], (key, interval)
            last[key] = row
    ends = [index for index, line in enumerate(lines) if any(row["tid"] == short and row["exited"] for row in line["threads"])]
    assert len(ends) == 1 and not any(row["tid"] == short for row in lines[-1]["reasons"]), lines[-1]
    # a timer may have fired before its thread has left the CPU, and the host hides some switches
    reasons = {"clock_nanosleep", "poll", "pselect6"}
    for tid in short, other:
        counts = {reason: row["count"] for (of, reason), row in last.items() if of == tid and reason in reasons}
        assert set(counts) == reasons and all(7 <= count <= 10 for count in counts.values()), last
    assert {reason for of, reason in last if of == long} >= reasons, last


def test_by_process_and_cgroup():
    done = run("top", "--by", "process", "-c", "1", "-i", "100ms", "--format", "json")
    (interval,), _ = parse(done.stdout)
    pids = [row["pid"] for row in interval["processes"]]
    assert len(pids) == len(set(pids))
    assert all(row["threads"] >= 1 for row in interval["processes"])
    done = run("top", "--by", "cgroup", "-c", "1", "-i", "100ms", "--format", "json")
    (interval,), _ = parse(done.stdout)
    # processes that were there before and after were there meanwhile
    done = run("top", "--by", "process", "-c", "1", "-i", "100ms", "--format", "json")
    there = set(pids) & {row["pid"] for row in parse(done.stdout)[0][0]["processes"]}
    assert sum(row["threads"] for row in interval["cgroups"]) >= len(there) > 0


def on_terminal(*arguments, columns=80):
    """What the program writes to a terminal of that width, as lines."""
    shell = f"stty cols {columns}; exec {shlex.join([DWELL, *arguments])}"
    shown = subprocess.run(["script", "-qec", shell, "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return shown.replace("\r", "").splitlines()


def test_a_terminal_has_no_columns_without_time():
    """There is little room; what another program reads always has the same columns."""
    piped = run("top", "-c", "1", "-i", "100ms", "--", "sleep", "1").stdout
    shown = "\n".join(on_terminal("top", "-c", "1", "-i", "100ms", "--", "sleep", "1"))
    assert " SWAP " in piped and " STOP" in piped and " IDLE" in piped
    assert " SWAP " not in shown and " STOP" not in shown and " SLP " in shown, shown


@pytest.mark.parametrize("columns", [80, 72])
@pytest.mark.parametrize("by", [["--by", "thread"], ["--by", "process"], ["--by", "cgroup"], ["--blame"]])
def test_no_line_is_wider_than_the_terminal(by, columns):
    """The last column is cut, and states with little time are left out; what is piped is whole."""
    lines = on_terminal("top", "-c", "1", "-i", "100ms", "-a", *by, columns=columns)
    too_long = [line for line in lines if len(line) > columns]
    assert len(lines) > 3 and not too_long, too_long
    if by == ["--by", "thread"]:
        assert any(line.endswith("  NOW") for line in lines), lines
        assert any(len(line) > 80 for line in run("top", "-c", "1", "-i", "100ms", "-a").stdout.splitlines()[1:])


def test_the_doctor_breaks_its_lines_at_words():
    shown, piped = on_terminal("doctor", columns=60), run("doctor", check=False).stdout.splitlines()
    known = {word for line in piped for word in line.split()}
    assert max(map(len, piped)) > 60
    # figures differ from one run to the next
    assert [word for line in shown for word in line.split() if word not in known and not word[0].isdigit()] == []
    assert all(len(line) <= 60 or len(line.split()) == 1 for line in shown), shown


def test_exit_status_of_the_command():
    done = run("top", "--format", "json", "--", "sh", "-c", "exit 3")
    intervals, ended = parse(done.stdout)
    assert done.returncode == 0
    assert (ended["status"], ended["signal"]) == (3, None)
    assert intervals[-1]["final"]
    done = run("top", "--format", "json", "--", "sh", "-c", "kill -9 $$")
    _, ended = parse(done.stdout)
    assert (ended["status"], ended["signal"]) == (None, 9)
    done = run("top", "--", "sh", "-c", "exit 3")
    assert "sh exited with status 3 after" in done.stdout


def test_command_is_watched_from_the_first_instruction():
    done = run("top", "--format", "json", "--", "sleep", "0.2")
    intervals, ended = parse(done.stdout)
    (row,) = [row for interval in intervals for row in interval["threads"]]
    assert row["comm"] == "sleep" and row["exited"]
    # all of it, and not the wait for the start before
    assert 200_000_000 <= row["observed_ns"] <= ended["duration_ns"]
    assert row["states_ns"]["sleep"] >= 200_000_000 and row["states_ns"]["user"] + row["states_ns"]["kernel"] > 0
    assert row["states_ns"]["kernel"] + row["states_ns"]["user"] > 100_000


def test_interrupt_prints_the_last_partial_interval():
    for number in (signal.SIGINT, signal.SIGTERM):
        background = Background("-i", "200ms")
        first = background.interval()
        assert not first["final"]
        rest, errors, status = background.end(number)
        assert status == 0, errors
        assert rest[-1]["final"]
        assert rest[-1]["duration_ns"] < 400_000_000


def test_interrupt_reaches_the_command():
    background = Background("-i", "200ms", "--", "sleep", "60")
    background.interval()
    rest, errors, status = background.end(signal.SIGTERM)
    assert status == 0, errors
    assert rest[-1]["type"] == "exit" and rest[-1]["signal"] == signal.SIGTERM


@pytest.mark.parametrize("waits, what", [("idle", "poll.register(os.pipe()[0])"), ("sleep", "pass")])
@pytest.mark.parametrize("stopped", ["before", "while it is watched"])
def test_a_stopped_call_goes_on_as_what_it_was(waits, what, stopped):
    """After SIGCONT the kernel goes on with poll() as restart_syscall(): still waiting for work, or for the time alone."""
    script = f"import os, select; poll = select.poll(); {what}; poll.poll(100000)"
    process = subprocess.Popen(["python3", "-c", script])
    background = None

    def call():
        return pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()[0]

    def until(state):
        for _ in range(200):
            (row,) = background.interval()["threads"]
            if row["state"] == state:
                return row["reason"]
        pytest.fail(f"never {state}: {row}")

    try:
        if stopped == "before":
            wait_until(lambda: "poll" in pathlib.Path(f"/proc/{process.pid}/wchan").read_text())
            first = call()
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: "T" in pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[2])
            process.send_signal(signal.SIGCONT)
            wait_until(lambda: "poll" in pathlib.Path(f"/proc/{process.pid}/wchan").read_text())
            if os.uname().machine == "x86_64":
                assert call() != first
        background = Background("-p", process.pid, "-i", "50ms")
        assert until(waits) == "poll"
        if stopped == "before":
            return
        process.send_signal(signal.SIGSTOP)
        assert until("stopped") == "signal"
        process.send_signal(signal.SIGCONT)
        assert until(waits) == "poll"
    finally:
        process.kill()
        process.wait()
        if background:
            background.end()


@pytest.mark.measures
def test_the_first_interval_is_as_exact_as_the_others():
    """It begins when dwell watches, and not when it was started: it is longer only where dwell had to wait, as it says."""
    asked_ns, slack_ns = 300_000_000, 2_000_000
    done = run("top", "-c", "4", "-i", "300ms", "--format", "json")
    intervals, _ = parse(done.stdout)
    assert len(intervals) == 4
    for interval in intervals:
        over = interval["duration_ns"] - asked_ns
        if not interval["final"]:
            assert interval["quality"]["overrun_ns"] == max(0, over)
        # one that ended late takes from the next
        assert over <= interval["self"]["runnable_ns"] + slack_ns, [each["duration_ns"] for each in intervals]
    assert intervals[0]["duration_ns"] >= asked_ns - slack_ns


@pytest.mark.measures
def test_an_interval_in_which_dwell_was_stopped_says_how_much_longer_it_is():
    background = Background("-i", "200ms")
    background.interval()
    background.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: pathlib.Path(f"/proc/{background.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    time.sleep(1)
    stopped_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begin
    background.process.send_signal(signal.SIGCONT)
    intervals = [background.interval() for _ in range(3)]
    background.end()
    (late,) = [interval for interval in intervals if interval["start_ns"] <= begin and begin + stopped_ns <= interval["start_ns"] + interval["duration_ns"]]
    assert late["quality"]["overrun_ns"] == late["duration_ns"] - 200_000_000 >= stopped_ns - 200_000_000
    # which was no wait for a CPU
    assert late["self"]["runnable_ns"] < stopped_ns / 2, late["self"]
    assert all(interval["quality"]["overrun_ns"] < late["quality"]["overrun_ns"] / 2 for interval in intervals if interval is not late)


#: It has the CPU for most of a second, then none of it, as often as it is asked to.
IN_THE_WAY = """import sys, time
for line in sys.stdin:
    end = time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) + 0.6
    while time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) < end:
        pass
    print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
"""


@pytest.mark.measures
def test_what_dwell_itself_waits_for_a_cpu_is_in_the_interval():
    """Behind a real-time thread on its only CPU: the interval is late by what dwell waited."""
    one = str(min(os.sched_getaffinity(0)))
    with subprocess.Popen(["chrt", "-f", "90", "taskset", "-c", one, "/usr/bin/python3", "-c", IN_THE_WAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hog:
        background = Background("-i", "100ms", prefix=["taskset", "-c", one])
        background.interval()
        hog.stdin.write("once\n")
        hog.stdin.flush()
        end_ns = int(hog.stdout.readline())
        intervals = []
        while not intervals or intervals[-1]["start_ns"] < end_ns:
            intervals.append(background.interval())
        hog.stdin.close()
    background.end()
    late = max(intervals, key=lambda interval: interval["quality"]["overrun_ns"])
    waited, overrun = late["self"]["runnable_ns"], late["quality"]["overrun_ns"]
    # it wanted a CPU from the end of the interval on, a tenth of a second after its begin
    assert overrun > 300_000_000 and 0.9 * overrun < waited <= late["duration_ns"], (waited, late["duration_ns"])


@pytest.mark.measures
def test_duration_and_count():
    done = run("top", "-d", "350ms", "-i", "100ms", "--format", "json")
    intervals, _ = parse(done.stdout)
    total = sum(interval["duration_ns"] for interval in intervals)
    assert len(intervals) == 4 and intervals[-1]["final"]
    assert 340e6 < total < 700e6
    done = run("top", "-c", "3", "-i", "20ms", "--format", "json")
    assert len(parse(done.stdout)[0]) == 3


def test_csv():
    done = run("top", "-c", "2", "-i", "50ms", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len({row["start_ns"] for row in rows}) == 2
    for row in rows:
        assert None not in row
        # an empty cell is what the kernel does not account for
        assert all(row[f"states_ns.{state}"] for state in STATES if state not in WHERE_ACCOUNTED)
        assert sum(int(row[f"states_ns.{state}"] or 0) for state in STATES) == int(row["observed_ns"])


@pytest.mark.parametrize("field", ["idle", "IDLE", "Idle"])
def test_sorting_and_top(field):
    done = run("top", "-c", "1", "-i", "100ms", "--format", "json", "--sort", field, "--top", "5")
    (interval,), _ = parse(done.stdout)
    idle = [row["states_ns"]["idle"] for row in interval["threads"]]
    assert len(idle) == 5 and idle == sorted(idle, reverse=True)
    assert interval["total"] > 5


def test_what_only_a_column_has_sorts_rows_too():
    for by, name in (("process", "owner"), ("thread", "start"), ("thread", "delays_cpu_count"), ("thread", "command")):
        fields = ("--fields", f"comm,{name}") if by == "thread" else ("--fields", f"process,{name}")
        done = run("top", "-c", "1", "-i", "100ms", "--by", by, "--format", "csv", *fields, "--sort", name, "--top", "5")
        assert done.returncode == 0, done.stderr
        rows = list(csv.reader(done.stdout.splitlines()))[1:]
        values = [row[1] for row in rows]
        known = [value for value in values if value]
        assert len(rows) == 5 and values == known + [""] * (5 - len(known)), values
        is_number = all(value.isdigit() for value in known)
        assert known == (sorted(known, key=int, reverse=True) if is_number else sorted(known)), values


def test_what_a_process_was_started_as_on_request(tmp_path):
    fields = ("--fields", "pid,command,owner", "--format", "csv")
    sleeper = subprocess.Popen(["sleep", "77"])
    try:
        command = ("-p", sleeper.pid, "-c", "1", "-i", "50ms")
        heading, *rows = run("top", *command, *fields).stdout.splitlines()
        assert heading == "pid,command,owner" and rows == [f'{sleeper.pid},"sleep 77",root'], rows
        assert "command" not in run("top", *command, "--format", "csv").stdout
        assert '"command"' not in run("top", *command, "--format", "json").stdout
        file = tmp_path / "sleeper.dwell"
        assert run("record", *command, "-o", file).returncode == 0
        # whose pid it is when the recording is read is another matter
        assert run("top", "--from", file, *fields).stdout.splitlines()[1:] == [f"{sleeper.pid},,"]
    finally:
        sleeper.kill()
        sleeper.wait()


def test_hostile_thread_names():
    """Names from the process under study: control characters, quotes, invalid UTF-8, brackets."""
    script = r"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.prctl(15, ctypes.create_string_buffer(bytes.fromhex(sys.argv[1]) + b"\0"), 0, 0, 0)
sys.stdout.write("ready\n"); sys.stdout.flush(); sys.stdin.read()
"""
    for name in (b'\x1b[31m"x\\', b"\xff\xfe) R 1", b"a\nb,c\t'", "é中".encode()):
        process = subprocess.Popen(
            ["python3", "-c", script, name.hex()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        shown = {}
        for form in ("json", "csv", "table"):
            done = subprocess.run(
                [DWELL, "top", "-p", str(process.pid), "-c", "1", "-i", "20ms", "--format", form],
                capture_output=True,
                check=True,
                env=dict(os.environ, LC_ALL="C.UTF-8"),
            )
            shown[form] = done.stdout
            text = done.stdout.decode("utf-8")  # valid, always
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), (form, text)
        row = json.loads(shown["json"])["threads"][0]
        assert row["comm"] == name.decode("utf-8", "replace")
        (row,) = csv.DictReader(io.StringIO(shown["csv"].decode()))
        assert len(row["comm"]) == len(name.decode("utf-8", "replace"))
        process.communicate("")


def disagreement():
    """What two instances report differently of threads that both have seen for the same time; None: nothing."""
    other = Background("-i", "200ms")
    other.interval()
    done = run("top", "-i", "10s", "--format", "json", "--", WORKLOAD, "mutex")
    intervals, _ = parse(done.stdout)
    rest, errors, status = other.end()
    assert status == 0, errors
    mine, others = totals(intervals), totals(rest)
    # the first thread waits for its start before one of them looks: not the same time
    workers = {tid: thread for tid, thread in mine.items() if thread["name"] == "contend"}
    assert len(workers) == 3
    for tid, thread in workers.items():
        for state in STATES:
            if state in ("user", "kernel"):
                continue  # one exact total, split by the same ticks over different spans
            difference = abs(thread["states"][state] - others[tid]["states"][state])
            if difference >= 0.005 * thread["observed_ns"] + 1_000_000:
                return state, thread, others[tid]
    return None


@pytest.mark.measures
def test_two_instances_agree():
    """They measure independently; one that lacks a CPU at its start learns later what a new lock is, so not every run."""
    seen = [disagreement()]
    while seen[-1] and len(seen) < 3:
        seen.append(disagreement())
    assert seen[-1] is None, seen


def test_kill_leaves_nothing_attached():
    before = dwell_programs()
    background = Background("-i", "50ms")
    background.interval()
    assert dwell_programs() - before
    background.process.kill()
    background.process.wait()
    deadline = time.monotonic() + 10
    while dwell_programs() - before and time.monotonic() < deadline:
        pass  # the kernel frees programs some grace periods after their last reference
    assert not dwell_programs() - before


STORM = 5_000  # switches in 500 ms: far more than a machine makes by itself


def switches(interval):
    return sum(row["switches"]["voluntary"] for row in interval.get("threads", []))


def test_nothing_is_lost_under_a_storm_of_switches():
    # in front of the others: a load like this can keep other threads from the CPU for many seconds
    background = Background("-i", "500ms", prefix=["chrt", "-f", "10"])
    background.interval()
    storm = subprocess.Popen([DWELL, "load", "--quiet", "--work", "futex-ping-pong", "--workers", "16", "-d", "60s"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        lines, stormy = [], 0
        while stormy < 5:
            assert len(lines) < 100, f"only {stormy} of {len(lines)} intervals had a storm in them"
            lines.append(background.line())
            stormy += switches(json.loads(lines[-1])) > STORM
    finally:
        storm.kill()
        storm.wait()
    background.end()
    intervals, _ = parse("".join(lines))
    # parse() has checked every sum; lost records would have been counted
    for interval in intervals:
        quality = interval["quality"]
        assert (quality["torn"], quality["lost_threads"], quality["lost_exits"]) == (0, 0, 0)
    # see lost_transitions() in conftest.py
    wakeups = sum(row["wakeups"] for interval in intervals for row in interval["threads"])
    assert lost_transitions(intervals) <= 50 + wakeups / 1_000


def unreclaimable_kib():
    meminfo = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"SUnreclaim:\s+(\d+)", meminfo).group(1))


def test_storm_of_threads_leaves_no_memory_behind():
    """10,000 threads made and gone, six times: memory of dwell and of the kernel goes back."""
    background = Background("-i", "100ms")
    background.interval()

    def resident_kib():
        status = pathlib.Path(f"/proc/{background.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    own, kernel = [], []
    for _ in range(6):
        subprocess.run([WORKLOAD, "storm", "10000"], check=True)
        background.interval()
        own.append(resident_kib())
        kernel.append(unreclaimable_kib())
    # an account takes most of a KiB: leaked, four storms' would be 30 MiB. Freed after RCU's grace
    deadline = time.monotonic() + 20
    while unreclaimable_kib() > kernel[0] + 15 * 1024 and time.monotonic() < deadline:
        background.interval()
    kernel.append(unreclaimable_kib())
    _, errors, status = background.end()
    assert status == 0, errors
    # the first may be reported in two intervals, each half as large; leaked, the others' records would be 16 MiB
    assert own[-1] < max(own[:2]) + 8 * 1024, own
    assert own[-1] < 64 * 1024, own
    assert kernel[-1] <= kernel[0] + 15 * 1024, kernel


def test_a_duration_of_one_interval_is_one_interval():
    """And it begins with the baseline, however long that took."""
    intervals, _ = parse(run("top", "-d", "400ms", "-i", "400ms", "--format", "json").stdout)
    assert len(intervals) == 1 and intervals[0]["final"] and intervals[0]["duration_ns"] >= 400_000_000


def nice_of(process):
    return os.getpriority(os.PRIO_PROCESS, process.pid)


def test_its_nice_value_is_no_lower_than_it_needs():
    """-20 until it has seen that it is in time; not that of what it starts."""
    top = Background("-i", "100ms", "--", "sleep", "300")
    try:
        (child,) = {row["pid"] for row in top.interval()["threads"]}
        assert os.getpriority(os.PRIO_PROCESS, child) == 0
        wait_until(lambda: top.interval() and nice_of(top.process) == -10)
    finally:
        top.end()


def test_a_nice_value_of_the_users_stays():
    top = Background("-p", os.getpid(), "-i", "100ms", prefix=("nice", "-n", "3"))
    try:
        assert {nice_of(top.process) for _ in range(5) if top.interval()} == {3}
    finally:
        top.end()
