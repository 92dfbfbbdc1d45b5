# SPDX-License-Identifier: GPL-2.0-or-later
"""taskstats and /proc as sources, delay accounting beside BPF, containers, doctor."""
import collections
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import time

import pytest

from conftest import BUILD, DWELL, STATES, WORKLOAD, parse, run, wait_for_threads
from matrices import wait_until

FIELDS = {  # of struct taskstats: offset of the count; the total follows
    "cpu": 16, "block_io": 32, "swap_in": 48, "reclaim": 312, "thrashing": 328, "compaction": 352,
    "write_protect_copy": 400, "irq": 416,
}  # fmt: skip


def attributes(data):
    offset = 0
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("HH", data, offset)
        yield kind & 0x3FFF, data[offset + 4 : offset + length]
        offset += (length + 3) & ~3


class TaskStats:
    """The kernel's answer, read as getdelays does, without dwell."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.family = 16
        reply = self.ask(3, 2, b"TASKSTATS\0")
        (self.family,) = [struct.unpack("H", value)[0] for kind, value in attributes(reply) if kind == 1]

    def ask(self, command, kind, value):
        attribute = struct.pack("HH", 4 + len(value), kind) + value
        attribute += b"\0" * (-len(attribute) % 4)
        body = struct.pack("BBH", command, 1, 0) + attribute
        self.socket.send(struct.pack("IHHII", 16 + len(body), self.family, 1, 1, 0) + body)
        reply = self.socket.recv(65536)
        assert struct.unpack_from("H", reply, 4)[0] != 2, "netlink error"
        return reply[20:]

    def thread(self, tid):
        (aggregate,) = [value for kind, value in attributes(self.ask(1, 1, struct.pack("I", tid))) if kind == 4]
        (stats,) = [value for kind, value in attributes(aggregate) if kind == 3]
        return {
            key: dict(zip(("count", "total_ns"), struct.unpack_from("QQ", stats, offset)))
            for key, offset in FIELDS.items()
            if offset + 16 <= len(stats)
        }


@pytest.fixture
def delayacct():
    path = pathlib.Path("/proc/sys/kernel/task_delayacct")
    before = path.read_text()
    path.write_text("1")
    yield
    path.write_text(before)


@pytest.fixture
def stopped_worker(delayacct):
    """A process that has waited for a CPU and then stopped: its counters stand still."""
    spinner = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
    process = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; kill -STOP $$"])
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    spinner.kill()
    spinner.wait()
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.parametrize("source", ["bpf", "taskstats"])
def test_delays_of_a_stopped_thread_stand_still(stopped_worker, source):
    done = run("top", "-p", stopped_worker, "-c", "2", "-i", "50ms", "--format", "json", "--source", source)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        (thread,) = json.loads(line)["threads"]
        assert all(delay == {"count": 0, "total_ns": 0} for delay in thread["delays"].values() if delay), thread["delays"]


def test_raw_fields_on_the_screen_equal_the_kernels(stopped_worker):
    """The inspector shows the kernel's own numbers, the times as the screen writes them."""
    if not subprocess.run(["which", "tmux"], capture_output=True).stdout:
        pytest.skip("tmux is not installed")
    expected = TaskStats().thread(stopped_worker)
    assert expected["cpu"]["total_ns"] > 10_000_000
    name = f"dwell-raw-{os.getpid()}"
    tmux = ["tmux", "-f", "/dev/null", "-L", name]
    subprocess.run([*tmux, "new-session", "-d", "-x", "150", "-y", "60", f"{DWELL} top -i 100ms -p {stopped_worker}"], check=True)
    try:
        deadline, text = time.monotonic() + 15, ""
        while ", since start " not in text:
            assert time.monotonic() < deadline, text
            if "inspect" in text and "state  " not in text:
                subprocess.run([*tmux, "send-keys", "Enter"], check=True)
            time.sleep(0.5)
            text = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True).stdout
        for key, delay in expected.items():
            shown = re.search(rf"\b{key} +(\d+) +([0-9.]+)(ns|us|ms|s)?(?= |$)", text, re.M)
            assert shown and int(shown[1]) == delay["count"], (key, delay, text)
            cut = delay["total_ns"] / {None: 1, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[shown[3]] - float(shown[2])
            assert 0 <= cut < 10 ** -len(shown[2].partition(".")[2]), (key, delay, text)
    finally:
        subprocess.run([*tmux, "kill-server"])


def test_without_delay_accounting_fields_are_null():
    path = pathlib.Path("/proc/sys/kernel/task_delayacct")
    if path.read_text().strip() != "0":
        pytest.skip("kernel.task_delayacct is on")
    done = run("top", "-p", os.getpid(), "-c", "2", "-i", "50ms", "--format", "json")
    interval = json.loads(done.stdout.splitlines()[-1])
    assert any("sysctl kernel.task_delayacct=1" in missing["why"] for missing in interval["quality"]["unavailable"])
    (thread,) = [row for row in interval["threads"] if row["tid"] == os.getpid()]
    assert thread["delays"] is None
    done = run("top", "-p", os.getpid(), "-c", "1", "-i", "50ms", "--format", "json", "--source", "taskstats")
    thread = json.loads(done.stdout)["threads"][0]
    assert thread["states_ns"]["disk"] is None and thread["delays"]["cpu"] is not None
    assert all(delay is None for key, delay in thread["delays"].items() if key != "cpu")


@pytest.mark.measures
def test_zero_percent(tmp_path):
    """A thread that waits for a CPU all the time: the kernel's counter knows only when it gets one."""
    hog = subprocess.Popen(["chrt", "-f", "5", "taskset", "-c", "0", "sh", "-c", "end=$(($(date +%s)+30)); while [ $(date +%s) -lt $end ]; do :; done"])
    limit = pathlib.Path("/proc/sys/kernel/sched_rt_runtime_us")
    before = limit.read_text()
    starved = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        limit.write_text("-1")  # else real-time threads leave it 5 %
        os.sched_setaffinity(starved.pid, {0})
        exact = run("top", "-p", starved.pid, "-c", "2", "-i", "300ms", "--format", "json")
        # the counter jumps when the thread gets its twentieth of a second: not in most of these
        lazy = run("top", "-p", starved.pid, "-c", "8", "-i", "100ms", "--format", "json", "--source", "taskstats")
        # it ends by itself only where no test can kill it any more
        assert hog.poll() is None
    finally:
        limit.write_text(before)
        starved.kill()
        hog.kill()
        starved.wait()
        hog.wait()
    share = lambda done: [
        (row["states_ns"]["runnable"] / row["observed_ns"])
        for line in done.stdout.splitlines()
        for row in json.loads(line)["threads"]
    ]
    # since 6.12 the scheduler lets ordinary threads have a twentieth of a second each second all the same
    assert min(share(exact)) > 0.75, share(exact)
    assert min(share(lazy)) < 0.2, share(lazy)


@pytest.mark.measures
@pytest.mark.parametrize("source", ["taskstats", "procfs"])
def test_other_sources_agree_with_what_threads_measure(source):
    """Two spinners on a CPU: half running, half waiting, from any source."""
    workload = subprocess.Popen([WORKLOAD, "two-spinners"], stderr=subprocess.PIPE, text=True)
    wait_for_threads(workload.pid, "spin-1", "spin-2")
    done = run("top", "-p", workload.pid, "-c", "1", "-i", "1s", "--format", "json", "--source", source)
    workload.communicate()
    (interval,), _ = parse(done.stdout)
    assert interval["sources"] == [source]
    spinners = [row for row in interval["threads"] if row["comm"].startswith("spin-") and row["comm"] != "spin-main"]
    assert len(spinners) == 2
    ran = [row["states_ns"]["user"] + row["states_ns"]["kernel"] for row in spinners]
    for row, on_cpu in zip(spinners, ran):
        assert abs(on_cpu + row["states_ns"]["runnable"] - row["observed_ns"]) < 0.05 * row["observed_ns"], row
        # other processes may have had the CPU too
        assert 0.3 < on_cpu / sum(ran) < 0.7 and sum(ran) < 1.05 * row["observed_ns"], spinners


@pytest.mark.measures
def test_sampled_states_of_ones_own_processes():
    workload = subprocess.Popen([WORKLOAD, "mixed", "3"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_threads(workload.pid, "event-loop", "ticker")
    done = run("top", "-p", workload.pid, "-c", "1", "-i", "1s", "--format", "json", "--source", "procfs")
    workload.kill()
    workload.wait()
    (interval,), _ = parse(done.stdout)
    expected = {"ledger-waiter": "lock", "pipe-reader": "ipc", "tcp-client": "net", "event-loop": "idle", "ticker": "sleep"}
    for row in interval["threads"]:
        if row["comm"] in expected:
            share = row["states_ns"][expected[row["comm"]]] / row["observed_ns"]
            assert share > 0.6, (row["comm"], row["states_ns"])


#: A thread for each wait, with its name; says when all of them wait, and ends with its input.
WAITS = """
import ctypes, os, select, socket, subprocess, sys, threading, time
stream, datagrams = socket.socketpair(), socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
server, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
tcp, (pipe, _), child, poll = socket.create_connection(server.getsockname()), os.pipe(), subprocess.Popen(["sleep", "60"]), select.poll()
poll.register(pipe)
waits = {
    "unix": lambda: stream[0].recv(1), "unix-datagram": lambda: datagrams[0].recv(1), "udp": lambda: udp.recv(1), "tcp": lambda: tcp.recv(1),
    "pipe": lambda: os.read(pipe, 1), "child": lambda: os.waitid(os.P_PID, child.pid, os.WEXITED), "poll": poll.poll,
    "sleep": lambda: time.sleep(60), "semaphore": threading.Semaphore(0).acquire,
}
def run(name, wait):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    wait()
threads = [threading.Thread(target=run, args=item, daemon=True) for item in waits.items()]
for thread in threads:
    thread.start()
state = lambda thread: open(f"/proc/self/task/{thread.native_id}/stat").read().split(")")[1].split()[0]
name = lambda thread: open(f"/proc/self/task/{thread.native_id}/comm").read().strip()
while {name(thread) for thread in threads} != set(waits) or {state(thread) for thread in threads} != {"S"}:
    time.sleep(0.01)
print("waiting", flush=True)
sys.stdin.read()
child.kill()
os._exit(0)
"""
WAITED = {"unix": "ipc", "unix-datagram": "ipc", "udp": "net", "tcp": "net", "pipe": "ipc", "child": "idle", "poll": "idle", "sleep": "sleep",
          "semaphore": "idle"}  # fmt: skip


@pytest.mark.parametrize("source", ["bpf", "procfs"])
def test_waits_have_their_state_or_none(source):
    """What /proc does not show of a wait is unknown, never another state."""
    process = subprocess.Popen(["python3", "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    done = run("top", "-p", process.pid, "-c", "1", "-i", "300ms", "--format", "json", "--source", source)
    process.communicate("")
    (interval,), _ = parse(done.stdout)
    states = {row["comm"]: row["state"] for row in interval["threads"] if row["comm"] in WAITED}
    assert set(states) == set(WAITED)
    unknown = {name for name, state in states.items() if state == "unknown"}
    assert {name: states[name] for name in states if name not in unknown} == {name: WAITED[name] for name in states if name not in unknown}
    # a datagram's function is the same for the Internet and for Unix
    assert unknown <= ({"udp", "unix-datagram"} if source == "procfs" else set())


def test_an_exec_that_waits_for_threads_waits_for_no_disk():
    """Without signals, in a call that works on files: as disks are waited for."""
    process = subprocess.Popen([BUILD / "tests" / "exec-waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    with subprocess.Popen([DWELL, "top", "-p", str(child), "-i", "300ms", "--format", "json"], stdout=subprocess.PIPE, text=True) as top:
        lines = [top.stdout.readline()]  # it is watched from before the exec on
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "executed\n"
        process.communicate("\n")
        lines += top.stdout.readlines()
    assert process.returncode == 0
    states = collections.Counter()
    for row in (row for interval in parse("".join(lines))[0] for row in interval["threads"] if row["tid"] == child):
        states.update({state: ns or 0 for state, ns in row["states_ns"].items()})
    # the second that the fixture makes it wait
    assert states["disk"] < 200e6 and states["idle"] > 900e6, states


READ_DISK = """
import mmap, os, sys
disk, buffer = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
while True:
    os.preadv(disk, [buffer], 0)
"""


@pytest.mark.measures
@pytest.mark.parametrize("source", ["bpf", "procfs"])
def test_a_disk_below_dev_is_no_terminal(tmp_path, source):
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop device can be made: {made.stderr.strip()}")
    device = made.stdout.strip()
    process = subprocess.Popen(["python3", "-c", READ_DISK, device])
    try:
        time.sleep(0.3)
        done = run("top", "-p", process.pid, "-c", "1", "-i", "1s", "--format", "json", "--source", source)
    finally:
        process.kill()
        process.wait()
        subprocess.run(["losetup", "--detach", device], check=True)
    row = next(row for row in parse(done.stdout)[0][-1]["threads"] if row["tid"] == process.pid)
    assert row["states_ns"]["disk"] > 0.1 * row["observed_ns"] and row["states_ns"]["idle"] < 0.05 * row["observed_ns"], row


FUTEX_WAIT = """
import ctypes, sys
word = ctypes.c_uint32(int(sys.argv[1]))
print("waiting", flush=True)
# futex_wait(), without an end: a private futex of 32 bits
ctypes.CDLL(None).syscall(455, ctypes.byref(word), ctypes.c_ulong(word.value), ctypes.c_ulong(0xffffffff), ctypes.c_ulong(128 | 2), None, 0)
"""


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 7), reason="futex_wait() came with Linux 6.7")
@pytest.mark.parametrize("source", ["bpf", "procfs"])
@pytest.mark.parametrize("value, state", [(2, "lock"), (7, "unknown")])
def test_the_value_says_what_futex_wait_waits_for(source, value, state):
    """As with the other call: 2 is what contended locks have, 7 may be anything."""
    process = subprocess.Popen(["python3", "-c", FUTEX_WAIT, str(value)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    done = run("top", "-p", process.pid, "-c", "2", "-i", "300ms", "--format", "json", "--source", source)
    process.kill()
    process.communicate()
    row = next(row for row in parse(done.stdout)[0][-1]["threads"] if row["tid"] == process.pid)
    assert row["state"] == state and row["states_ns"][state] > 0.9 * row["observed_ns"], row


def as_nobody(*arguments):
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", DWELL, *map(str, arguments)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return parse(done.stdout)[0][-1]


def test_root_of_a_container_sees_what_its_programs_wait_for():
    """Without CAP_SYS_PTRACE the kernel shows only programs that have no capability which dwell lacks: they have what it began with."""
    contained = ["setpriv", "--bounding-set=-all,+chown,+kill,+setuid", "--inh-caps=-all"]
    process = subprocess.Popen([*contained, "sleep", "60"])
    try:
        wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        done = subprocess.run([*contained, DWELL, "top", "-p", str(process.pid), "-c", "1", "-i", "300ms", "--format", "json"],
                              capture_output=True, text=True, timeout=30)  # fmt: skip
    finally:
        process.kill()
        process.wait()
    assert done.returncode == 0 and "sampling /proc instead: exact states need BPF: this root lacks CAP_BPF" in done.stderr, done
    (thread,) = parse(done.stdout)[0][-1]["threads"]
    assert thread["state"] == "sleep" and thread["states_ns"]["unknown"] == 0, thread


@pytest.mark.measures
def test_what_a_user_may_not_see_is_not_zero():
    """Of another user's thread /proc has CPU time and whether it runs; what it waits for is not measured."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        sampled = as_nobody("top", "-p", process.pid, "-c", "1", "-i", "300ms", "--format", "json", "--source", "procfs")
        whole = as_nobody("top", "-c", "1", "-i", "300ms", "--format", "json", "--source", "procfs")
    finally:
        process.kill()
        process.wait()
    (thread,) = sampled["threads"]
    states = thread["states_ns"]
    assert {state for state in STATES if states[state] is None} >= {"disk", "net", "ipc", "lock", "swap", "sleep", "idle"}, states
    assert states["unknown"] > 0.9 * thread["observed_ns"] and thread["reason"] == "not permitted"
    assert sum(ns or 0 for ns in states.values()) == thread["observed_ns"]
    assert any(missing["source"] == "processes" for missing in whole["quality"]["unavailable"])


@pytest.mark.measures
def test_the_sampler_does_not_mistake_its_own_look_for_work():
    """It finds itself running at every look."""
    done = run("top", "-c", "1", "-i", "500ms", "--format", "json", "--source", "procfs")
    (interval,), _ = parse(done.stdout)
    ours = [row for row in interval["threads"] if row["comm"] == "dwell" and row["parent_pid"] == os.getpid()]
    (own,) = [row for row in ours if row["reason"].startswith("epoll")]
    assert own["states_ns"]["runnable"] < 0.3 * own["observed_ns"], own


def test_inside_a_container():
    """In a pid namespace of its own: its numbers, its processes only, names and reasons as outside."""
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no pid namespaces here")
    # both kinds of its threads are there, and one of them holds the lock by now
    ready = "until grep -qs contend /proc/[0-9]*/task/*/comm && grep -qs parked /proc/[0-9]*/task/*/comm; do :; done"
    script = f"{WORKLOAD} foreign 2>/dev/null & echo workload $! >&2; {ready}; {DWELL} top -c 2 -i 300ms --format json"
    done = subprocess.run(["unshare", "-pf", "--mount-proc", "sh", "-c", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    intervals, _ = parse(done.stdout)
    threads = {row["comm"]: row for row in intervals[-1]["threads"]}
    assert set(threads) == {"sh", "dwell", "dwell-helper", "dwell-reader", "workload", "parked", "contend"}
    (number,) = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("workload ")]
    assert threads["workload"]["tid"] == threads["parked"]["pid"] == number
    assert threads["sh"]["pid"] == 1 and threads["sh"]["parent_pid"] == 0
    assert threads["parked"]["reason"] == "futex:cond"
    done = subprocess.run(
        ["unshare", "-pf", "--mount-proc", "sh", "-c", f"{DWELL} top -p 1 -c 1 -i 50ms --format json"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    (interval,), _ = parse(done.stdout)
    assert [row["pid"] for row in interval["threads"]] == [1]


def test_a_container_seen_from_outside():
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no pid namespaces here")
    container = subprocess.Popen(
        ["unshare", "-pf", "--kill-child", "--mount-proc", WORKLOAD, "foreign"], stderr=subprocess.DEVNULL
    )
    try:
        inside = None
        while not inside:
            assert container.poll() is None
            found = subprocess.run(["pgrep", "-P", str(container.pid), "workload"], capture_output=True, text=True).stdout
            inside = int(found) if found else None
        wait_for_threads(inside, "parked")
        done = run("top", "-p", inside, "-c", "1", "-i", "200ms", "--format", "json")
        (interval,), _ = parse(done.stdout)
        assert {row["pid"] for row in interval["threads"]} == {inside}
        (parked,) = [row for row in interval["threads"] if row["comm"] == "parked"]
        assert parked["reason"] == "futex:cond"
    finally:
        container.kill()
        container.wait()


def test_doctor():
    done = run("doctor")
    assert done.returncode == 0 and "dwell top is exact here." in done.stdout
    for name in ("kernel", "bpf", "btf", "taskstats", "cgroup", "namespaces", "fentry", "kvm", "qemu"):
        assert re.search(rf"^(ok|degraded|missing) +{name} ", done.stdout, re.M), name
    report = json.loads(run("doctor", "--json").stdout)
    assert report["type"] == "doctor" and report["exact"] is True
    for check in report["checks"]:
        assert check["status"] in ("ok", "degraded", "missing") and check["found"]
        assert (check["status"] == "ok") == (not check["costs"]), check


def test_doctor_without_privileges(tmp_path):
    copy = pathlib.Path(f"/tmp/dwell-doctor-{os.getpid()}")
    copy.write_bytes(pathlib.Path(DWELL).read_bytes())
    copy.chmod(0o755)
    try:
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "doctor"], capture_output=True, text=True
        )
    finally:
        copy.unlink()
    assert done.returncode == 3
    assert "sudo dwell" in done.stdout and "dwell top is not exact here" in done.stdout


def test_install(tmp_path):
    """Everything lands below DESTDIR, where packagers want it."""
    build = pathlib.Path(DWELL).parent
    done = subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild"], capture_output=True, text=True,
        env=dict(os.environ, DESTDIR=str(tmp_path)),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    root = tmp_path / "usr" / "local"
    for path in (
        "bin/dwell", "share/man/man1/dwell.1", "share/man/man1/dwell-top.1", "share/man/man1/dwell-record.1",
        "share/man/man1/dwell-report.1", "share/man/man1/dwell-doctor.1", "share/man/man1/dwell-load.1",
        "share/man/man3/dwell-work.3", "include/dwell/work.h",
        "share/bash-completion/completions/dwell", "share/zsh/site-functions/_dwell",
        "share/fish/vendor_completions.d/dwell.fish",
    ):  # fmt: skip
        assert (root / path).exists(), path


def test_manual_pages_are_sound():
    pages = list((pathlib.Path(DWELL).parent / "docs").glob("*.[13]"))
    assert len(pages) >= 8
    for page in pages:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr.strip(), (page, done.stderr)
        assert not re.search(r"@[A-Z]+( [a-z-]+)?@", page.read_text())  # what the build fills in
