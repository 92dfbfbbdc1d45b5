# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell top --blame`: because of whom threads wait, where it is known who that is. Runs inside guests too."""
import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import BUILD, DWELL, WORKLOAD, parse, run, totals
from guests import name_of
from loads import children
from matrices import wait_until
from verdicts import disturbed

pytestmark = pytest.mark.measures

#: Emulated, the edges of a thread's life are long: test_truth.py.
EDGES_NS = 1_000_000 * int(os.environ.get("DWELL_TRUTH_EDGES_MS", 4))
ENOUGH = 0.95
CPU = max(os.sched_getaffinity(0))


class Blame:
    """Of a workload that has ended: shares of the victim's states, and what every thread did itself."""

    def __init__(self, *command, prefix=()):
        # where the workload writes files, they are to be on a disk
        done = run("top", "--blame", "--format", "json", "-i", "500ms", "--", *prefix, WORKLOAD, *command, timeout=120)
        assert done.returncode == 0, done.stderr
        self.intervals, self.ended = parse(done.stdout)
        self.own = {thread["name"]: thread["states"] for thread in totals(self.intervals).values()}
        self.shares = collections.Counter()
        for interval in self.intervals:
            for blame in interval["blame"]:
                if blame["victim"]["comm"] == "victim" and not blame["goes_on"]:
                    culprit = blame["culprit"]
                    key = blame["state"], culprit["kind"], culprit["comm"], blame["culprit_state"]
                    self.shares[key] += blame["total_ns"] + blame["earlier_ns"]

    def of(self, state, kind=None, comm=None, meanwhile=None):
        """ns of the victim's waits that have ended."""
        return sum(
            ns for key, ns in self.shares.items()
            if all(wanted is None or wanted == found for wanted, found in zip((state, kind, comm, meanwhile), key))
        )  # fmt: skip


def culprits_of(intervals, kind):
    return [blame["culprit"] for interval in intervals for blame in interval["blame"] if blame["culprit"]["kind"] == kind]


def sums_are_exact(intervals):
    for interval in intervals:
        states = {thread["tid"]: thread["states_ns"] for thread in interval["threads"]}
        sums = collections.Counter()
        for blame in interval["blame"]:
            sums[blame["victim"]["tid"], blame["state"]] += blame["total_ns"]
        # a thread id may be of two threads, one after the other
        twice = [tid for tid, count in collections.Counter(thread["tid"] for thread in interval["threads"]).items() if count > 1]
        wrong = [(tid, state, ns, states[tid][state]) for (tid, state), ns in sums.items() if tid not in twice and ns != states[tid][state]]
        assert not wrong, wrong
        for thread in interval["threads"]:
            for state in ("runnable", "disk", "net", "ipc", "lock", "swap", "stolen", "irq", "unknown"):
                assert not thread["states_ns"][state] or (thread["tid"], state) in sums


def blame_of(*arguments):
    done = run("top", "--blame", "--format", "json", *arguments, timeout=120)
    assert done.returncode == 0, done.stderr
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    return intervals


def owed(intervals, state, **wanted):
    """ns of waits that have ended: victim, kind and comm of the culprit."""
    found = 0
    for interval in intervals:
        for blame in interval["blame"]:
            known = {"kind": blame["culprit"]["kind"], "comm": blame["culprit"]["comm"], "victim": blame["victim"]["comm"]}
            if blame["state"] == state and not blame["goes_on"] and all(known[key] == value for key, value in wanted.items()):
                found += blame["total_ns"] + blame["earlier_ns"]
    return found


@contextlib.contextmanager
def spinning(name, cpu=CPU, prefix=()):
    """A process of that name that never sleeps, and has begun."""
    text = f"printf {name} > /proc/self/comm; while :; do :; done"
    process = subprocess.Popen([*prefix, "/bin/sh", "-c", text], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}), start_new_session=True)
    try:
        while name not in map(name_of, (process.pid, *children(process.pid))):
            assert process.poll() is None
            time.sleep(0.01)
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def watching(*arguments):
    """A list of the intervals that it has had at the end; it begins when there was one."""
    intervals = []
    top = subprocess.Popen([DWELL, "top", "--blame", "--format", "json", *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    lines = [top.stdout.readline()]
    try:
        yield intervals
    finally:
        top.send_signal(signal.SIGINT)
        lines.append(top.communicate(timeout=60)[0])
    intervals.extend(parse("".join(lines))[0])
    sums_are_exact(intervals)


def brief(name, ns):
    """A process that spins that long on the CPU, and ends: (pid, what it ran at most). It has its name when it gets there."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ours - {CPU})
    pid = os.fork()
    if not pid:
        pathlib.Path("/proc/self/comm").write_text(name)
        os.sched_setaffinity(0, {CPU})
        end = time.thread_time_ns() + ns
        while time.thread_time_ns() < end:
            pass
        os._exit(0)
    usage = os.wait4(pid, 0)[2]
    os.sched_setaffinity(0, ours)
    return pid, int((usage.ru_utime + usage.ru_stime) * 1e9)


def has_run_again(pid):
    """Waits until it has: before that its last wait goes on, and is owed to no thread yet."""
    schedstat = pathlib.Path(f"/proc/{pid}/schedstat")
    before = int(schedstat.read_text().split()[0])
    wait_until(lambda: int(schedstat.read_text().split()[0]) > before + 10_000_000)


needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU only")


@pytest.mark.parametrize("thieves", [1, 2, 8])
def test_who_takes_the_cpu(thieves):
    """A victim that never sleeps waits whenever a thief has its CPU: each owes what it ran."""
    blame = Blame("blame-cpu", thieves)
    sums_are_exact(blame.intervals)
    whole = blame.of("runnable")
    assert whole > 300_000_000
    ran = [sum(blame.own[f"thief-{number}"][state] for state in ("user", "kernel")) for number in range(thieves)]
    owed = [blame.of("runnable", "thread", f"thief-{number}") for number in range(thieves)]
    # eight fill all places: where a thread of the machine comes beside them, the smallest become one share, of their process
    joined = blame.of("runnable", "thread", "victim")
    assert joined < (0.15 * whole if thieves == 8 else 1), blame.shares
    # what runs before the victim comes, or after it has gone, costs it nothing
    edges = 0.01 * whole + EDGES_NS
    assert all(-edges - joined < owes - did < edges for owes, did in zip(owed, ran)), (owed, ran, blame.shares)
    assert abs(sum(owed) + joined - sum(ran)) < edges, (owed, ran, blame.shares)
    assert blame.of("runnable", "unknown") + blame.of("runnable", "others") < 0.05 * whole, blame.shares


def test_no_thread_of_many_is_forgotten():
    """More of them than the kernel has room for at a time: a thread that did not fit is met again, with all it lost."""
    intervals = Blame("blame-cpu", 60).intervals
    sums_are_exact(intervals)
    waited, unknown = collections.Counter(), collections.Counter()
    for number, interval in enumerate(intervals):
        for blame in interval["blame"]:
            if blame["state"] == "runnable" and not blame["goes_on"]:
                waited[number, blame["victim"]["tid"]] += blame["total_ns"]
                unknown[number, blame["victim"]["tid"]] += blame["total_ns"] * (blame["culprit"]["kind"] == "unknown")
    long = {victim: ns for victim, ns in waited.items() if ns > 50_000_000}
    wrong = {victim: (ns, unknown[victim]) for victim, ns in long.items() if unknown[victim] > 0.1 * ns + EDGES_NS}
    assert len(long) > 60 and not wrong, wrong


def test_a_real_time_thread_takes_the_cpu():
    check_a_real_time_thread()


def check_a_real_time_thread():
    blame = Blame("blame-fifo")
    sums_are_exact(blame.intervals)
    ran = blame.own["culprit"]["user"] + blame.own["culprit"]["kernel"]
    owed = blame.of("runnable", "thread", "culprit")
    assert ran > 400_000_000 and abs(owed - ran) < 0.02 * ran + EDGES_NS, (owed, ran, blame.shares)


def test_each_of_two_that_switch_very_often_owes_its_share():
    """The victim waits while they have thousands of turns, far more than are kept one by one."""
    blame = Blame("blame-switchers")
    sums_are_exact(blame.intervals)
    whole = blame.of("runnable")
    # what came and went beside them may have taken places, too
    folded = blame.of("runnable", "others") + blame.of("runnable", "unknown")
    assert folded < 0.05 * whole + EDGES_NS, blame.shares
    for name in ("ping", "pong"):
        ran = blame.own[name]["user"] + blame.own[name]["kernel"]
        owed = blame.of("runnable", "thread", name)
        assert ran > 200_000_000 and -folded - EDGES_NS < owed - 0.98 * ran < 0.04 * ran + EDGES_NS, (name, owed, ran, blame.shares)


#: What the culprit of a mode is in, beside waiting for a CPU.
MEANWHILE = {"sleep": ["sleep", "cpu"], "cpu": ["cpu"], "disk": ["disk", "cpu"], "preempted": ["cpu"]}
#: The part of what the culprit does in its mode while the victim waits, where that is not all: it also sleeps between two turns
#: with the lock, at the end of which the victim sleeps, too.
HELD = {("lock", "sleep"): 20 / 22.5, ("lock", "cpu"): 20 / 20.5, ("lock", "disk"): 20 / 20.5}


def check_second_level(intervals):
    """Who had the culprit's CPU while the victim waited for the culprit: where it must have been the thief, it is named."""
    named = of_thief = of_all = 0
    for interval in intervals:
        waits = [blame for blame in interval["blame"] if blame["victim"]["comm"] == "culprit" and blame["state"] == "runnable"]
        all_ns = sum(wait["total_ns"] for wait in waits)
        thief_ns = sum(wait["total_ns"] for wait in waits if wait["culprit"]["comm"] == "thief")
        of_thief, of_all = of_thief + thief_ns, of_all + all_ns
        for blame in interval["blame"]:
            if blame["culprit_state"] != "runnable":
                assert blame["ran_instead"] is None
            if blame["culprit"]["comm"] != "culprit" or blame["culprit_state"] != "runnable" or not blame["total_ns"]:
                continue
            least = blame["total_ns"] - (all_ns - thief_ns)
            if least > blame["total_ns"] / 2:
                assert blame["ran_instead"]["comm"] == "thief" and blame["ran_instead"]["least_ns"] == least, blame
                named += least
    assert named > 0 or of_thief < 0.9 * of_all, (of_thief, of_all)


@pytest.mark.parametrize("mode", list(MEANWHILE))
@pytest.mark.parametrize("scenario, state", [("lock", "lock"), ("cond", "idle"), ("pipe", "ipc"), ("unix", "ipc"), ("tcp", "net")])
def test_who_ends_the_wait(scenario, state, mode):
    check_who_ends_the_wait(scenario, state, mode)


def check_who_ends_the_wait(scenario, state, mode):
    blame = Blame(f"blame-{scenario}", mode)
    sums_are_exact(blame.intervals)
    whole = blame.of(state)
    assert whole > 800_000_000, blame.shares
    assert blame.of(state, "thread", "culprit") > ENOUGH * whole, blame.shares
    did = {what: blame.of(state, "thread", "culprit", what) for what in [*MEANWHILE[mode], "runnable"]}
    assert sum(did.values()) > ENOUGH * whole, blame.shares
    # no more of anything than it did in all its life
    # what was stolen of its time on a CPU is in that
    own = dict(blame.own["culprit"], cpu=sum(blame.own["culprit"][state] or 0 for state in ("user", "kernel", "stolen", "irq")))
    for what, ns in did.items():
        assert ns < 1.02 * own[what] + 0.02 * whole + EDGES_NS, (what, ns, own, blame.shares)
    if mode == "preempted":
        assert did["runnable"] > 0.2 * whole, blame.shares
        check_second_level(blame.intervals)
    elif mode == "disk" and not did["disk"]:
        assert own["disk"] == 0, (own, blame.shares)  # a file system in memory
    else:
        # all of it, but for what a victim that had no CPU came too late for
        main = MEANWHILE[mode][0]
        late = sum(blame.own["victim"][state] or 0 for state in ("runnable", "stolen", "irq"))
        least = ENOUGH * HELD.get((scenario, mode), 1) * own[main] - late - EDGES_NS
        assert did[main] > max(0, least), (main, own, late, blame.shares)


@pytest.mark.parametrize("mode", ["sleep", "cpu"])
def test_what_a_thread_did_that_is_no_target(mode):
    """Only the victim is watched. Beside it threads come and go, of which nothing is said."""
    workload = subprocess.Popen([WORKLOAD, "blame-pipe", mode])
    storm = subprocess.Popen([WORKLOAD, "storm", "2000"], stdout=subprocess.DEVNULL)
    try:
        tasks = pathlib.Path(f"/proc/{workload.pid}/task")
        while "victim" not in (names := {(task / "comm").read_text().strip(): task.name for task in tasks.iterdir()}):
            assert workload.poll() is None
            time.sleep(0.01)
        intervals = blame_of("-i", "200ms", "-t", names["victim"])
    finally:
        workload.kill()
        storm.wait()
        workload.wait()
    assert {thread["comm"] for interval in intervals for thread in interval["threads"]} == {"victim"}
    assert {blame["victim"]["comm"] for interval in intervals for blame in interval["blame"]} == {"victim"}
    whole = owed(intervals, "ipc", comm="culprit")
    did = collections.Counter()
    for blame in (blame for interval in intervals for blame in interval["blame"]):
        if blame["culprit"]["comm"] == "culprit" and blame["state"] == "ipc":
            did[blame["culprit_state"]] += blame["total_ns"] + blame["earlier_ns"]
    assert whole > 100_000_000 and whole > ENOUGH * owed(intervals, "ipc"), intervals[-1]["blame"]
    assert did[mode] + did["runnable"] > ENOUGH * whole and did[mode] > 0.2 * whole, did


def test_time_has_to_pass():
    """What ends a sleep is its timer, and not the thread that had the CPU at that moment."""
    blame = Blame("blame-pipe", "sleep")
    slept = blame.own["culprit"]["sleep"]
    for kind, least, most in (("timer", ENOUGH, 2 - ENOUGH), ("thread", 0, 0)):
        found = sum(
            each["total_ns"] + each["earlier_ns"] for interval in blame.intervals for each in interval["blame"]
            if (each["victim"]["comm"], each["state"], each["culprit"]["kind"]) == ("culprit", "sleep", kind)
        )  # fmt: skip
        assert least * slept <= found <= most * slept, (kind, found, slept)
    assert slept > 500_000_000
    assert all(culprit["pid"] is culprit["comm"] is None for culprit in culprits_of(blame.intervals, "timer"))


#: Sleeps so briefly that its CPU has just fallen asleep, if nothing else wants it.
NAPPER = "import time\nopen('/proc/self/comm', 'w').write('napper')\nprint(flush=True)\nwhile True: time.sleep(0.002)"


def idle_ticks(cpu):
    (line,) = [line for line in pathlib.Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} ")]
    return int(line.split()[4])


def test_a_cpu_that_was_idle_has_to_wake_up():
    """Between a wakeup and the switch no thread ran there: that is owed to no one, and to no thread."""
    before = idle_ticks(CPU)
    with subprocess.Popen([sys.executable, "-c", NAPPER], stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, {CPU})) as napper:
        napper.stdout.readline()
        intervals = blame_of("-i", "500ms", "-c", "4", "-p", napper.pid)
        napper.kill()
    if idle_ticks(CPU) - before < 20:
        disturbed(f"CPU {CPU} was idle for less than 200 ms")
    waits = owed(intervals, "runnable", victim="napper")
    idle = owed(intervals, "runnable", victim="napper", kind="idle")
    counts = [each["count"] for interval in intervals for each in interval["blame"] if each["culprit"]["kind"] == "idle" and each["state"] == "runnable"]
    assert 0 < idle <= waits and sum(counts) > 10, (idle, waits, intervals[-1]["blame"])
    assert all(culprit["pid"] is culprit["comm"] is None for culprit in culprits_of(intervals, "idle"))


def test_sums_are_exact_where_no_switch_is_seen():
    """As with a hook that is gone: then nothing is known of who ran, and what is said adds up all the same."""
    environment = {**os.environ, "DWELL_FAULT": "no on_switch"}
    done = run("top", "--blame", "--format", "json", "-i", "300ms", "--", WORKLOAD, "blame-pipe", "cpu", program=str(BUILD / "tests" / "dwell-faulty"), env=environment)
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    blames = [blame for interval in intervals for blame in interval["blame"]]
    assert not [blame for blame in blames if blame["state"] == "runnable" and blame["culprit"]["kind"] == "thread"], blames


def test_sums_are_exact_while_threads_come_and_go():
    done = run("top", "--blame", "--format", "json", "-i", "100ms", "--", WORKLOAD, "storm", "4000", timeout=120)
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    assert sum(len(interval["blame"]) for interval in intervals) > 1000


def owes_its_runs(intervals, name, least_ns, most_ns):
    """Where other programs come and go beside it, some of its shares are folded."""
    owes, folded = owed(intervals, "runnable", victim="victim", comm=name), owed(intervals, "runnable", victim="victim", kind="others")
    assert 0.95 * least_ns - folded < owes < 1.02 * most_ns + EDGES_NS and owes > 0.3 * least_ns, (name, owes, folded, least_ns, most_ns)


@needs_two_cpus
def test_a_culprit_that_has_gone_keeps_its_name():
    """It is not watched, and nothing is left to ask when its name is shown."""
    with spinning("victim") as victim, watching("-i", "200ms", "-p", victim.pid) as intervals:
        ends = [brief("brief", 30_000_000) for _ in range(16)]
    owes_its_runs(intervals, "brief", len(ends) * 30_000_000, sum(ran for _, ran in ends))
    named = {blame["culprit"]["pid"] for interval in intervals for blame in interval["blame"] if blame["culprit"]["comm"] == "brief"}
    assert named and named <= {pid for pid, _ in ends}, (named, ends)


LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")


@needs_two_cpus
@pytest.mark.skipif(not os.access(LAST_PID, os.W_OK), reason="the next pid cannot be chosen")
def test_a_pid_that_is_used_again_is_another_culprit():
    firsts, seconds = [], []
    with spinning("victim") as victim, watching("-i", "500ms", "-p", victim.pid) as intervals:
        while len(firsts) < 10:
            firsts.append(brief("first", 30_000_000))
            LAST_PID.write_text(str(firsts[-1][0] - 1))
            seconds.append(brief("second", 30_000_000))
    # others may have been faster
    assert len({pid for pid, _ in firsts} & {pid for pid, _ in seconds}) > 3, (firsts, seconds)
    for name, ends in (("first", firsts), ("second", seconds)):
        owes_its_runs(intervals, name, len(ends) * 30_000_000, sum(ran for _, ran in ends))


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_a_culprit_in_a_pid_namespace_below_has_our_number():
    with spinning("victim") as victim, spinning("thief", prefix=["unshare", "--pid", "--fork"]) as outer:
        with watching("-i", "200ms", "-p", victim.pid) as intervals:
            time.sleep(1)
        (thief,) = children(outer.pid)
    assert owed(intervals, "runnable", victim="victim", comm="thief") > 200_000_000, intervals[-1]["blame"]
    assert {blame["culprit"]["pid"] for interval in intervals for blame in interval["blame"] if blame["culprit"]["comm"] == "thief"} == {thief}


def test_thousands_of_threads_are_one_culprit():
    """There is no room for each: their process is named."""
    storm = ["taskset", "-c", str(CPU), WORKLOAD, "storm", "5000"]
    with spinning("victim") as victim, watching("-i", "1s", "-p", victim.pid) as intervals:
        process = subprocess.Popen(storm, stdout=subprocess.DEVNULL)
        assert process.wait(timeout=120) == 0
        has_run_again(victim.pid)
    shares = [blame for interval in intervals for blame in interval["blame"] if blame["state"] == "runnable"]
    assert max(len(interval["blame"]) for interval in intervals) < 30
    of_storm = [blame for blame in shares if blame["culprit"]["pid"] == process.pid]
    together = [blame for blame in of_storm if blame["culprit"]["tid"] is None]
    assert sum(blame["count"] for blame in together) > 20 and {blame["culprit"]["comm"] for blame in together} == {"workload"}, of_storm
    rest = owed(intervals, "runnable", kind="others") + owed(intervals, "runnable", kind="unknown")
    assert rest < 0.05 * owed(intervals, "runnable") + EDGES_NS, shares


#: Sixty threads with names of their own, of a process with another; it ends with its input.
MANY_THREADS = """
import ctypes, pathlib, sys, threading, time
def spin(number):
    ctypes.CDLL(None).prctl(15, f"thread-{number}".encode(), 0, 0, 0)
    end = time.thread_time_ns() + 3_000_000
    while time.thread_time_ns() < end:
        pass
pathlib.Path("/proc/self/comm").write_text("of-many")
for number in range(60):
    thread = threading.Thread(target=spin, args=(number,))
    thread.start()
    thread.join()
print("spun", flush=True)
sys.stdin.read()
"""


def test_several_threads_have_the_name_of_their_process():
    with spinning("victim") as victim:
        with watching("-i", "500ms", "-p", victim.pid) as intervals:
            process = subprocess.Popen(["taskset", "-c", str(CPU), "python3", "-c", MANY_THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdout.readline() == "spun\n"
            has_run_again(victim.pid)
        process.communicate("")  # until the last interval it was there to be asked
    shares = [blame for interval in intervals for blame in interval["blame"] if blame["culprit"]["pid"] == process.pid]
    assert {blame["culprit"]["comm"] for blame in shares if blame["culprit"]["tid"] is None} == {"of-many"}, shares


def names_of_all():
    """{(pid, tid): name} of the machine's threads, but for workers of the kernel, whose names are of their work in /proc.

    Its other threads may have longer names there than the 15 bytes that their tasks have room for.
    """
    names = {}
    for task in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError):
            names[int(task.parts[2]), int(task.name)] = (task / "comm").read_text(errors="replace").rstrip("\n")[:15]
    return {thread: name for thread, name in names.items() if not name.startswith("kworker")}


def test_culprits_have_the_names_that_the_kernel_has_for_them():
    """Also where the host hides switches: then who ran is unknown, and no other thread is."""
    with spinning("victim"), spinning("thief"):
        before = names_of_all()
        with watching("-i", "300ms") as intervals:
            time.sleep(2)  # of whatever runs on this machine
        lasting = dict(before.items() & names_of_all().items())
    culprits = [blame["culprit"] for interval in intervals for blame in interval["blame"] if blame["culprit"]["kind"] == "thread"]
    judged = [culprit for culprit in culprits if (culprit["pid"], culprit["tid"]) in lasting]
    assert judged
    wrong = [(culprit, lasting[culprit["pid"], culprit["tid"]]) for culprit in judged if lasting[culprit["pid"], culprit["tid"]] != culprit["comm"]]
    assert not wrong, wrong


@needs_two_cpus
def test_processes_of_a_name_are_one_culprit():
    with spinning("victim") as victim, watching("-i", "1s", "-p", victim.pid) as intervals:
        ran = sum(brief("short-lived", 3_000_000)[1] for _ in range(60))
    owes_its_runs(intervals, "short-lived", 60 * 3_000_000, ran)
    shares = [blame for interval in intervals for blame in interval["blame"] if blame["culprit"]["comm"] == "short-lived"]
    assert sum(blame["count"] for blame in shares if blame["culprit"]["pid"] is None) > 20, shares
    assert all(blame["culprit"]["tid"] is None for blame in shares if blame["culprit"]["pid"] is None)


@needs_two_cpus
def test_many_unlike_culprits_are_folded():
    """What is not kept of each is kept of all: the sums are exact."""
    with spinning("victim") as victim, watching("-i", "1s", "-p", victim.pid) as intervals:
        for number in range(60):
            brief(f"brief-{number}", 3_000_000)
    assert max(len(interval["blame"]) for interval in intervals) < 20
    assert owed(intervals, "runnable", kind="others") > 10_000_000, intervals


#: Its process is woken by forty unlike ones, and syncs a file now and then, of which most is the disk's time. Arguments: seconds, a file.
WOKEN_BY_MANY = """
import os, sys, time
end = time.monotonic() + float(sys.argv[1])
reading, writing = os.pipe()
for number in range(40):
    if not os.fork():
        open("/proc/self/comm", "w").write(f"waker-{number}")
        time.sleep(0.0005 * number)
        while time.monotonic() < end:
            os.write(writing, b"x")
            time.sleep(0.04)
        os._exit(0)
open("/proc/self/comm", "w").write("victim")
file = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY, 0o600)
os.close(writing)
woken = 0
while os.read(reading, 1):
    woken += 1
    if woken % 200 == 0:
        os.pwrite(file, os.urandom(1 << 22), 0)
        os.fsync(file)
"""


def test_many_culprits_of_one_state_hide_none_of_another(tmp_path):
    done = run("top", "--blame", "--format", "json", "-i", "3s", "--", sys.executable, "-c", WOKEN_BY_MANY, "3", tmp_path / "file")
    intervals, _ = parse(done.stdout)
    sums_are_exact(intervals)
    disk_ns = sum(thread["states_ns"]["disk"] for interval in intervals for thread in interval["threads"] if thread["comm"] == "victim")
    others_ns = owed(intervals, "disk", victim="victim", kind="others")
    assert owed(intervals, "ipc", victim="victim", kind="others") > 0, "there are not many enough"
    assert disk_ns > 1_000_000 and others_ns < 0.5 * disk_ns, (disk_ns, others_ns)


def test_all_formats_have_it():
    done = run("top", "--blame", "--format", "csv", "--fields", "victim_comm,state,culprit_comm,total_ns", "--", WORKLOAD, "blame-pipe", "sleep")
    lines = done.stdout.splitlines()
    assert lines[0] == "victim.comm,state,culprit.comm,total_ns"
    assert any(line.startswith("victim,ipc,culprit,") for line in lines)
    table = run("top", "--blame", "-i", "1s", "--", WORKLOAD, "blame-pipe", "sleep").stdout
    assert "ended by culprit" in table and "meanwhile sleep clock_nanosleep" in table
    by_process = run("top", "--blame", "--by", "process", "-i", "1s", "--", WORKLOAD, "blame-pipe", "sleep").stdout
    assert "ended by its own threads, meanwhile sleep" in by_process


def test_a_recording_keeps_it(tmp_path):
    with_it, without = tmp_path / "with.dwell", tmp_path / "without.dwell"
    assert run("record", "-o", with_it, "--", WORKLOAD, "blame-pipe", "sleep").returncode == 0
    assert run("record", "--no-blame", "-o", without, "--", "/bin/sleep", "0.1").returncode == 0
    intervals, _ = parse(run("top", "--from", with_it, "--blame", "--format", "json").stdout)
    sums_are_exact(intervals)
    assert any(blame["culprit"]["comm"] == "culprit" for blame in intervals[0]["blame"])
    assert "is not recorded" in run("top", "--from", without, "--blame").stdout
    for form in ("csv", "jsonl", "json"):
        done = run("top", "--from", without, "--blame", "--format", form)
        assert "is not recorded" in done.stderr and done.returncode == 0
    assert {"source": "blame", "why": "not recorded"} in parse(done.stdout)[0][0]["quality"]["unavailable"]
    for file in (with_it, without):
        assert "blame" not in parse(run("top", "--from", file, "--format", "json").stdout)[0][0]


def test_a_report_sums_up_who_cost_whom(tmp_path):
    """Waits are whole there: what went on at the end of an interval is owed to who ended it later."""
    file = tmp_path / "blame.dwell"
    assert run("record", "-i", "100ms", "-o", file, "--", WORKLOAD, "blame-pipe", "sleep").returncode == 0
    page = run("report", file).stdout
    assert "Who cost whom" in page and "When was it worst" in page
    (whole,), _ = parse(run("report", file, "--format", "json").stdout)
    waits = [blame for blame in whole["blame"] if blame["state"] == "ipc" and blame["victim"]["comm"] == "victim"]
    lost = sum(blame["total_ns"] for blame in waits)
    known = sum(blame["total_ns"] for blame in waits if blame["culprit"]["kind"] == "thread")
    assert not any(blame["earlier_ns"] for blame in waits)
    assert known > 0.98 * lost > 1_500_000_000, waits
    states = sum(thread["states_ns"]["ipc"] for thread in whole["threads"])
    assert lost == states, (lost, states, whole["blame"])


def test_the_other_side():
    done = run("top", "--blame=caused", "-i", "3s", "--", WORKLOAD, "blame-pipe", "sleep").stdout
    cost = [line for line in done.splitlines() if line.startswith("culprit ")]
    assert "COST" in done and cost and "victim" in cost[0] and "meanwhile sleep" in cost[0], done
    wrong = run("top", "--blame=both", "-c", "1")
    assert wrong.returncode == 2 and "suffered or caused" in wrong.stderr
    screen = run("top", "--blame", "--format", "tui")
    assert screen.returncode == 1 and "needs a terminal" in screen.stderr


@needs_two_cpus
@pytest.mark.parametrize("targets", ["process", "children"])
def test_whom_the_targets_make_wait(tmp_path, targets):
    """The victim is no target, and begins to wait before anything is watched; the thief may be a target's child, and gone."""
    file = tmp_path / "caused.dwell"
    with spinning("victim"):
        if targets == "process":
            with spinning("thief") as thief:
                done = run("top", "--blame=caused", "--format", "json", "-i", "1s", "-c", "2", "--record", file, "-p", thief.pid)
        else:
            thieves = f"for i in 1 2 3; do taskset -c {CPU} timeout 0.5 sh -c 'printf thief > /proc/self/comm; while :; do :; done'; done; true"
            done = run("top", "--blame=caused", "--format", "json", "-i", "500ms", "--record", file, "--", "/bin/sh", "-c", thieves)
    assert done.returncode == 0, done.stderr
    intervals, _ = parse(done.stdout)
    names = {thread["comm"] for interval in intervals for thread in interval["threads"]}
    assert "thief" in names and "victim" not in names, names
    blames = [blame for interval in intervals for blame in interval["blame"]]
    members = {thread["pid"] for interval in intervals for thread in interval["threads"]}
    assert {blame["culprit"]["kind"] for blame in blames} == {"thread"} and {blame["culprit"]["pid"] for blame in blames} <= members
    ran = sum(thread["states_ns"][state] for interval in intervals for thread in interval["threads"] if thread["comm"] == "thief"
              for state in ("user", "kernel"))  # fmt: skip
    owed = sum(blame["total_ns"] for blame in blames if (blame["victim"]["comm"], blame["culprit"]["comm"]) == ("victim", "thief"))
    # it also waits for others, while the thief does
    assert 0.9 * ran - EDGES_NS < owed < 1.02 * ran + EDGES_NS and owed > 200_000_000, (owed, ran)
    assert [interval["blame"] for interval in parse(run("top", "--from", file, "--blame", "--format", "json").stdout)[0]] == [
        interval["blame"] for interval in intervals
    ]
    without = parse(run("top", "--from", file, "--format", "json").stdout)[0]
    assert {thread["comm"] for interval in without for thread in interval["threads"]} == names


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_both_sides_have_the_numbers_of_our_pid_namespace():
    """Of what is beyond it there is only the name: outside, `thief` takes the same CPU."""
    with spinning("thief"):
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", DWELL, "top", "--blame", "--format", "json", "-i", "5s",
                               "--", WORKLOAD, "blame-cpu", "1"], capture_output=True, text=True, timeout=60)
    (interval,), _ = parse(done.stdout)
    sums_are_exact([interval])
    owed = {blame["culprit"]["comm"]: blame for blame in interval["blame"] if blame["victim"]["comm"] == "victim" and blame["state"] == "runnable"}
    assert 0 < owed["thief-0"]["culprit"]["tid"] < 100, owed
    assert owed["thief"]["total_ns"] > 50_000_000, owed
    assert owed["thief"]["culprit"]["pid"] is None and owed["thief"]["culprit"]["tid"] is None, owed


#: The victim gets the number that a process outside has there, and has its CPU.
SAME_NUMBER = f"""
echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid
taskset -c {CPU} sh -c 'printf victim > /proc/self/comm; while :; do :; done' & victim=$!
[ $victim = $1 ] || exit 9
"$2" top --blame --format json -i 500ms -c 2 -p $victim
kill -9 $victim
exit 0
"""


@pytest.mark.measures
@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_a_culprit_beyond_our_pid_namespace_may_have_the_victims_number():
    with spinning("thief-a") as one, spinning("thief-b"):
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", SAME_NUMBER, "sh", str(one.pid), DWELL], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    intervals = parse(done.stdout)[0]
    for thief in ("thief-a", "thief-b"):
        assert owed(intervals, "runnable", victim="victim", comm=thief) > 0.2 * owed(intervals, "runnable"), intervals[-1]["blame"]


def test_without_bpf_it_says_why():
    done = run("top", "--source", "procfs", "--blame", "--format", "json", "-c", "1", "-p", os.getpid())
    (interval,), _ = parse(done.stdout)
    assert "blame" not in interval
    assert "blame" in [missing["source"] for missing in interval["quality"]["unavailable"]]

READER = "import os, signal; signal.signal(signal.SIGUSR1, lambda *_: None); ends = os.pipe(); print(flush=True); os.read(ends[0], 1)"


@pytest.mark.parametrize("signals", [(signal.SIGUSR1,), (signal.SIGSTOP, signal.SIGCONT)], ids=["signal", "stop"])
def test_who_interrupts_a_wait_did_not_cause_it(signals):
    """The call is made again and waits on, as in a program that a profiler's signals reach."""
    reader = subprocess.Popen([sys.executable, "-c", READER], stdout=subprocess.PIPE)
    reader.stdout.readline()
    with watching("-p", reader.pid, "-i", "500ms") as intervals:
        for number in range(40):
            os.kill(reader.pid, signals[number % len(signals)])
            time.sleep(0.025)
    reader.kill()
    reader.wait()
    assert owed(intervals, "ipc", kind="thread") == 0
    assert owed(intervals, "ipc", kind="unknown") > 200_000_000
