# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs and files made to harm the dwell that reads them: their symbols, unwind tables, debug files and memory.

They belong to `nobody`; dwell runs as root.
"""
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import pytest

from conftest import DWELL, parse, run
from guests import await_end_of, below
from hostile import NOBODY, lair  # noqa: F401
from loads import children
from services import taken_away
from serving import serving
from test_serve_names import engine

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "attacks"
x86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the attack is written in assembly of x86_64")

# Runs a command, and prints its status and the most memory that it or a process of its own had, in KiB.
MEASURED = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:], stdout=open(sys.argv[1], "w"))
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def measured(tmp_path, *arguments, read=lambda text: parse(text)[0]):
    """-> (exit status, MiB at most, what it printed: its intervals)"""
    out = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", MEASURED, out, DWELL, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    status, memory = done.stdout.split()
    return int(status), int(memory) / 1024, read(out.read_text()) if out.exists() else []


def sparse(path):
    """Its symbol table becomes 1.5 GB of nothing, in a file that takes no room."""
    data = path.read_bytes()
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    with open(path, "r+b") as file:
        for number in range(count):
            at = sections + number * size
            if struct.unpack_from("<I", data, at + 4)[0] == 2:  # SHT_SYMTAB
                file.truncate(len(data) + (1500 << 20))
                file.seek(at + 24)
                file.write(struct.pack("<QQ", len(data) // 4096 * 4096, 1500 << 20))


@pytest.fixture
def waiter(lair):
    """waiter(kind): a program that the user `nobody` runs; it waits for a futex, in code or memory that is a trap."""
    started = []

    def start(kind):
        program = lair / f"waiter-{kind}"
        # unwind tables that name a register of this number make libdw want 0.7 GB
        flags = ["-DREGISTER=89000000"] if kind == "tables" else []
        subprocess.run(["cc", "-pthread", *flags, "-o", program, FIXTURES / "waiter.c"], check=True)
        if kind == "symbols":
            sparse(program)
        command = [*NOBODY, program, "own"]
        if kind in ("memory", "code"):
            if not os.path.exists("/dev/fuse"):
                pytest.skip("no /dev/fuse here")
            subprocess.run(["cc", "-o", lair / "silent-fs", FIXTURES / "silent-fs.c"], check=True)
            (lair / "mount").mkdir()
            command = [lair / "silent-fs", lair / "mount", program, "code" if kind == "code" else "file", lair / "mount" / "file"]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True))
        assert started[-1].stdout.readline() == "waiting\n"
        return started[-1]

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(["umount", "-l", lair / "mount"], capture_output=True)


TRAPS = ["tables", "symbols", "memory"]


@x86_64
@pytest.mark.parametrize("kind", TRAPS)
def test_a_trap_costs_a_name_and_nothing_else(waiter, tmp_path, kind):
    """Neither memory nor an interval: of the whole machine, and in a recording."""
    waiter(kind)
    status, memory, intervals = measured(tmp_path, "top", "-i", "200ms", "-c", "5", "--format", "json")
    assert status == 0 and len(intervals) == 5 and memory < 256, (status, memory)
    assert [thread for thread in intervals[-1]["threads"] if thread["comm"].startswith("waiter")]
    status, memory, _ = measured(tmp_path, "record", "-i", "200ms", "-d", "1s", "-o", tmp_path / "file")
    assert status == 0 and memory < 256, (status, memory)


@x86_64
@pytest.mark.parametrize("kind", TRAPS)
def test_a_trap_costs_a_profile_its_names_and_nothing_else(waiter, tmp_path, kind):
    """Its stacks are unwound by those tables, and named by those symbols: the time is there all the same."""
    process = waiter(kind)
    status, memory, (result,) = measured(tmp_path, "profile", "-d", "2s", "--state", "all", "--format", "json", read=lambda text: [json.loads(text)])
    assert status == 0 and memory < 256, (status, memory)
    waited = [thread for thread in result["threads"] if thread["comm"].startswith("waiter")]
    assert waited and all(sum(ns or 0 for ns in thread["states_ns"].values()) > 1_000_000_000 for thread in waited), (process.pid, waited)


@x86_64
@pytest.mark.measures
@pytest.mark.parametrize("kind", TRAPS)
def test_a_trap_does_not_delay_intervals(waiter, tmp_path, kind):
    waiter(kind)
    _, _, intervals = measured(tmp_path, "top", "-i", "300ms", "-c", "5", "--format", "json")
    for interval in intervals:
        assert abs(interval["duration_ns"] - 300_000_000) < 100_000_000, interval["duration_ns"]


@x86_64
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_in_a_trap(waiter, number):
    waiter("memory")
    process = subprocess.Popen([DWELL, "top", "-i", "100ms", "--format", "json"], stdout=subprocess.PIPE, text=True)
    for _ in range(3):
        assert process.stdout.readline()
    known = below(process.pid)
    assert len(known) == 4, "dwell, the keeper, the helper and its reader"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert not await_end_of(known)


def test_helpers_are_killed_at_random(tmp_path):
    """DWELL_HELPER_KILLS times: every figure is right, and names come back."""
    rng, kills = random.Random(15), int(os.environ.get("DWELL_HELPER_KILLS", 40))
    process = subprocess.Popen([DWELL, "top", "-i", "50ms", "--format", "json", "-p", str(os.getpid())], stdout=subprocess.PIPE,
                               text=True)  # fmt: skip
    lines = [process.stdout.readline()]
    (keeper,) = children(process.pid)
    deadline, killed = time.monotonic() + 120 + kills, 0
    while killed < kills and time.monotonic() < deadline:
        # threads whose waits are asked about
        threads = [threading.Thread(target=time.sleep, args=(0.02,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(rng.random() * 0.01)
        for helper in children(keeper):
            try:
                os.kill(helper, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        for thread in threads:
            thread.join()
    assert killed >= kills and process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    intervals, _ = parse("".join(lines) + out)  # which checks the sums
    assert process.returncode == 0 and intervals


@x86_64
def test_code_in_a_file_that_is_never_read(waiter):
    """Another user serves its filesystem: a process that reads it cannot be killed, so dwell does not read it."""
    waiter("code")
    (pid,) = [int(pid) for pid in subprocess.run(["pgrep", "-x", "waiter-code"], capture_output=True, text=True).stdout.split()]
    process = subprocess.Popen([DWELL, "blocked", "-p", str(pid), "--workers", "waiter", "-d", "1s"], stdout=subprocess.PIPE, text=True)
    known = set()
    while process.poll() is None:
        known |= set(below(process.pid))
        time.sleep(0.05)
    out = process.stdout.read()
    assert process.returncode == 0 and "lost 0" in out and "hangs or kills" not in out, out
    assert len(known) >= 4 and not await_end_of(known)
    assert "not measured: symbols: " in out and "/mount/file lies on a filesystem that another user's program serves" in out, out


CAPABILITY = {"dac_override": 1, "dac_read_search": 2, "kill": 5, "setgid": 6, "setuid": 7, "net_admin": 12, "sys_chroot": 18, "sys_ptrace": 19,
              "sys_nice": 23, "syslog": 34, "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}  # fmt: skip
READING = ("sys_ptrace", "perfmon", "checkpoint_restore", "dac_read_search", "syslog")
RIGHTS = {
    "parent": ("bpf", "perfmon", "net_admin", "sys_ptrace", "dac_read_search", "dac_override", "kill", "sys_nice"),
    "keeper": (*READING, "kill", "setuid", "setgid", "sys_chroot"),
    "reader": READING,
    "helper": (),
}


def status(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def role(pid, parent):
    if pid == parent:
        return "parent"
    if children(pid):
        return "keeper"
    return "reader" if status(pid)["Name"] == "dwell-reader" else "helper"


@contextlib.contextmanager
def roles_of(wanted, *command):
    """What each of `wanted` processes of a dwell is that watches."""
    process, deadline = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), time.monotonic() + 30
    try:
        # watching: when its rights are dropped, all are there, and the command's process is still called dwell until its exec
        while (
            int(status(process.pid)["NoNewPrivs"]) == 0
            or "record" in command and "sleep" not in [status(pid)["Name"].strip() for pid, _ in below(process.pid)]
        ) and time.monotonic() < deadline:
            time.sleep(0.05)
        pids = [pid for pid, _ in below(process.pid)]
        roles = {pid: role(pid, process.pid) for pid in pids if status(pid)["Name"].startswith("dwell")}
        assert len(roles) == wanted and set(roles.values()) == set(RIGHTS), roles
        while any(status(pid)["Seccomp"] != "2" for pid, its in roles.items() if its == "helper") and time.monotonic() < deadline:
            time.sleep(0.05)
        yield roles
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


@pytest.mark.parametrize("command", ["top", "record", "blocked", "profile"])
def test_rights_of_each_process(stalling, tmp_path, command):
    target = stalling()
    arguments = {"top": ["--format", "json"], "record": ["-o", tmp_path / "file", "--", "sleep", "30"], "blocked": ["-p", target.pid], "profile": ["-p", target.pid, "--json"]}[command]
    with roles_of({"top": 4, "record": 4, "blocked": 7, "profile": 7}[command], DWELL, command, *arguments) as roles:
        for pid, its in roles.items():
            now = status(pid)
            assert int(now["CapEff"], 16) == int(now["CapPrm"], 16) == sum(1 << CAPABILITY[name] for name in RIGHTS[its]), (its, now["CapEff"])
            assert int(now["CapInh"], 16) == int(now["CapAmb"], 16) == 0 and now["NoNewPrivs"] == "1", its
            assert now["Seccomp"] == ("2" if its == "helper" else "0"), its
            if its == "helper":
                assert min(map(int, now["Uid"].split() + now["Gid"].split())) > 65533 and not now["Groups"].split()
                # of a process that has ended: not even that can be listed
                assert os.readlink(f"/proc/{pid}/root").endswith("/fdinfo")
                with pytest.raises(ProcessLookupError):
                    list(pathlib.Path(f"/proc/{pid}/root").iterdir())
                opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                assert not [name for name in opened if "bpf" in name], opened


#: Of each process of `dwell serve`: its rights, and whether a filter of system calls is left besides. None: all.
SERVING = [
    # what measures
    (RIGHTS["parent"], False), (RIGHTS["keeper"], False), (RIGHTS["reader"], False), ((), True),
    # HTTP, and its keeper
    ((), True), (("kill", "setuid", "setgid", "sys_chroot"), False),
    # names of containers: who asks, who reads the answer
    (("kill", "setuid", "setgid", "sys_chroot", "dac_override"), False), ((), True),
    # the queue of what is pushed, its keeper, and who sends it
    (("kill", "setuid", "setgid", "dac_override"), False), (("kill", "setuid", "setgid", "dac_override"), False), ((), True),
    # what starts dwell again: for profiles and recordings, and for stalls, of which a program has a process of its own
    (None, False), (None, False), (None, False),
]  # fmt: skip


def test_rights_of_each_process_of_serve(tmp_path):
    mine = int(status("self")["CapPrm"], 16)
    wanted = collections.Counter((mine if rights is None else sum(1 << CAPABILITY[name] for name in rights), filtered) for rights, filtered in SERVING)
    held = threading.Event()
    arguments = ["-i", "200ms", "--container-names", tmp_path / "engine.sock", "--stalls", "no-such-program", "--push-every", "200ms",
                 "--push", "otlp=http://127.0.0.1:9"]  # fmt: skip

    def statuses(server):
        """Of those that have not become another program."""
        found = {}
        for pid in server.children():
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if words[1:2] == [b"serve"]:
                    opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                    found[pid] = {**status(pid), "root": os.readlink(f"/proc/{pid}/root"), "opened": opened}
        return found

    def as_wanted(now):
        return wanted == collections.Counter((int(its["CapPrm"], 16), its["Seccomp"] == "2") for its in now.values())

    with engine(tmp_path, lambda client: held.wait(60)), serving(*arguments) as server:
        deadline = time.monotonic() + 60
        while not as_wanted(now := statuses(server)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert as_wanted(now), [(pid, its["CapPrm"], its["Seccomp"]) for pid, its in now.items()]
        for pid, its in now.items():
            assert its["CapEff"] == its["CapPrm"] and int(its["CapInh"], 16) == int(its["CapAmb"], 16) == 0, pid
            assert its["NoNewPrivs"] == ("0" if int(its["CapPrm"], 16) == mine else "1"), pid
            if its["Seccomp"] == "2":
                assert min(map(int, its["Uid"].split() + its["Gid"].split())) > 65533 and not its["Groups"].split(), pid
                assert not [name for name in its["opened"] if "bpf" in name or str(tmp_path) in name], its["opened"]
        # all without rights but who sends: it reads certificates of authorities
        assert sum(its["root"].endswith("/fdinfo") for its in now.values() if its["Seccomp"] == "2") == 3
        held.set()


def test_rights_without_that_of_reading_others():
    """The kernel compares capabilities then: only who parses is left without them."""
    mine = int(status("self")["CapPrm"], 16) & ~(1 << CAPABILITY["sys_ptrace"])
    without = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-all"]
    with roles_of(4, *without, DWELL, "top", "--format", "json") as roles:
        for pid, its in roles.items():
            now = status(pid)
            assert int(now["CapEff"], 16) == int(now["CapPrm"], 16) == (0 if its == "helper" else mine), (its, now["CapEff"])
            assert int(now["CapInh"], 16) == int(now["CapAmb"], 16) == 0 and now["NoNewPrivs"] == "1", its
            assert now["Seccomp"] == ("2" if its == "helper" else "0"), its


@pytest.fixture
def stalling(lair):
    """stalling(*flags): an event loop that the user `nobody` runs; it blocks for 20 ms, again and again."""
    started = []

    def start(*flags, prepare=lambda program: None):
        program = lair / f"staller-{len(started)}"
        subprocess.run(["cc", "-O1", *flags, "-o", program, FIXTURES / "staller.c"], check=True)
        prepare(program)
        started.append(subprocess.Popen([*NOBODY, program], stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "stalling\n"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def bomb():
    """A name whose plain form is twice as long with every level: f(a<a<…, …>, …)."""
    name, numbers = "_Z1f1aIiiE", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    # S_ is a, S0_ is a<int, int>, and each that follows is made of the one before
    for level in range(34):
        name += f"S_IS{numbers[level]}_S{numbers[level]}_E"
    return name


def link_to(name):
    """A separate debug file of this name, which it has not: one of the same length is linked, and then the name is exchanged."""

    def prepare(program):
        stand_in = program.parent / ("x" * len(name))
        stand_in.write_bytes(b"no debug information")
        subprocess.run(["strip", "-d", program], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={stand_in}", program], check=True)
        stand_in.unlink()
        data = program.read_bytes()
        assert data.count(stand_in.name.encode()) == 1
        program.write_bytes(data.replace(stand_in.name.encode(), name.encode()))
        if "/" not in name:
            os.mkfifo(program.parent / name)

    return prepare


def stalls_of(text):
    return [stall for stall in map(json.loads, text.split("\n")[:-1]) if stall["type"] == "stall"]


def sleeps_of(stalls):
    """It sleeps in the trap: what others took of the CPU meanwhile is of no function, or of main()."""
    return [wait for stall in stalls if not taken_away(stall) for wait in stall["parts"] or [stall] if wait["cause"] == "sleep"]


BLOCKED_TRAPS = {
    "name": ([f'-DNAME="{bomb()}"'], {}),
    "debug information": (["-DINFO"], {}),
    "pipe": ([], {"prepare": link_to("pipe.debug")}),
    "elsewhere": ([], {"prepare": link_to("../../../../../etc/shadow")}),
    "symbols": ([], {"prepare": sparse}),
}


@x86_64
@pytest.mark.parametrize("kind", BLOCKED_TRAPS)
def test_a_trap_costs_blocked_stacks_and_no_stall(stalling, tmp_path, kind):
    flags, more = BLOCKED_TRAPS[kind]
    target = stalling(*flags, **more)
    start = time.monotonic()
    status, memory, stalls = measured(tmp_path, "blocked", "-p", target.pid, "-d", "2s", "--format", "json", "--threshold", "10ms",
                                      read=stalls_of)  # fmt: skip
    assert status == 0 and memory < 256 and time.monotonic() - start < 30, (status, memory, time.monotonic() - start)
    assert len(stalls) > 20 and all(stall["duration_ns"] > 10_000_000 for stall in stalls)
    waits = sleeps_of(stalls)
    assert len(waits) > 10
    functions = {wait["function"] for wait in waits}
    if kind in ("pipe", "elsewhere", "debug information"):
        assert functions == {"trap"}, functions
    if kind == "name":
        # as long as it may be: left as the linker has it
        assert len(functions) == 1 and functions.pop().startswith("_Z1f1aIiiES_"), functions


@x86_64
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_blocked_in_a_trap(stalling, number):
    target = stalling("-DINFO")
    process = subprocess.Popen([DWELL, "blocked", "-p", str(target.pid), "--format", "json"], stdout=subprocess.PIPE, text=True)
    for _ in range(3):
        assert process.stdout.readline()
    known = below(process.pid)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert not await_end_of(known)
    # it closes what was attached, after the end of dwell
    deadline = time.monotonic() + 60
    while subprocess.run(["pgrep", "-x", "dwell-closer"], capture_output=True).returncode == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_stack_helpers_are_killed_at_random(stalling):
    """DWELL_HELPER_KILLS times, but fewer than make dwell give up: no stall is lost, and names come back."""
    rng, kills = random.Random(15), 12
    target = stalling()
    process = subprocess.Popen([DWELL, "blocked", "-p", str(target.pid), "--format", "json", "--threshold", "10ms"], stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline()]
    for _ in range(kills):
        time.sleep(rng.random() * 0.2)
        for keeper in children(process.pid):
            for victim in children(keeper):
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
    lines += [process.stdout.readline() for _ in range(50)]
    process.send_signal(signal.SIGINT)
    lines += [process.stdout.read()]
    # anywhere in the program others may take its CPU
    stalls = [stall for stall in stalls_of("".join(lines)) if not taken_away(stall) and stall["cause"] != "runnable"]
    assert process.wait() == 0
    assert {stall["function"] for stall in stalls} <= {"trap", None}, [stall for stall in stalls if stall["function"] not in ("trap", None)]
    assert stalls[-1]["function"] == "trap", stalls[-1]


def separate(place, program):
    """Its debug information in a file of its own: beside it, in .debug, below /usr/lib/debug, by build id. -> that file"""
    name = program.name + ".debug"
    by_id = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout.split("Build ID: ")[1].split()[0]
    file = {
        "beside": program.parent / name,
        "in .debug": program.parent / ".debug" / name,
        "below /usr/lib/debug": pathlib.Path(f"/usr/lib/debug{program.parent}") / name,
        "by build id": pathlib.Path(f"/usr/lib/debug/.build-id/{by_id[:2]}/{by_id[2:]}.debug"),
    }[place]
    file.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, file], check=True)
    subprocess.run(["strip", "-s", program], check=True)
    if place != "by build id":
        subprocess.run(["objcopy", f"--add-gnu-debuglink={file}", program], check=True)
    return file


def read_by(stalling, place, change=lambda file: None):
    """-> (function, file and line) of the stalls of a stripped program whose debug information is there"""
    files = []

    def prepare(program):
        files.append(separate(place, program))
        change(files[0])

    target = stalling("-g", "-Wl,--build-id", prepare=prepare)
    try:
        done = run("blocked", "-p", target.pid, "-d", "500ms", "--format", "json", "--threshold", "10ms")
    finally:
        files[0].unlink()
        if "/usr/lib/debug" in str(files[0]):
            with contextlib.suppress(OSError):  # others' are in it
                os.removedirs(files[0].parent)
    found = {(wait["function"], (wait["file"] or "").rpartition("/")[2]) for wait in sleeps_of(stalls_of(done.stdout))}
    assert done.returncode == 0 and found, done
    return found


PLACES = ["beside", "in .debug", "below /usr/lib/debug", "by build id"]


@pytest.mark.parametrize("place", PLACES)
def test_debug_information_in_a_file_of_its_own(stalling, place):
    assert read_by(stalling, place) == {("trap", "staller.c")}


@pytest.mark.parametrize("place", PLACES)
def test_debug_information_of_another_user(stalling, place):
    """A file that is neither root's nor of the user who runs the program says nothing."""
    assert read_by(stalling, place, lambda file: os.chown(file, 12345, 12345)) != {("trap", "staller.c")}


@pytest.mark.parametrize("place", ["beside", "in .debug"])
def test_debug_information_that_the_user_could_not_read(stalling, place):
    """Nor does one of root's that others may not read: its names would be shown to them."""
    assert read_by(stalling, place, lambda file: file.chmod(0o600)) != {("trap", "staller.c")}


@pytest.mark.parametrize("place", ["beside", "below /usr/lib/debug"])
def test_debug_information_of_another_build(stalling, place):
    def change(file):
        file.write_bytes(file.read_bytes() + b"x")

    assert read_by(stalling, place, change) != {("trap", "staller.c")}
