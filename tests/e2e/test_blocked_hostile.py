# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` on targets that are not what they look like, whose files are damaged, or that others hold: it ends as it should,
blames no one who did nothing, says what it does not know, and leaves the target as it was."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

from conftest import BUILD, DWELL, run
from loads import children
from matrices import wait_until
from services import Blocked, Service, build_tokio, loop_service, taken_away

LOOP = pathlib.Path(BUILD) / "tests" / "loop-service"
HOSTILE = pathlib.Path(BUILD) / "tests" / "hostile-polls"

#: how the polls of tests/fixtures/hostile-polls.c go -> causes that their stalls may have, beside what the machine does
WAYS = {
    "plainly": {"sleep"},
    "at bad addresses": {"sleep"},
    "in circles": {"sleep"},
    "by jumps": {"sleep"},
    "deep": {"sleep"},
    "in signals": {"sleep"},
    "in threads that end": {"sleep"},
    "in forks": {"ipc"},
    "strictly": {"cpu"},
    "on stacks upward": set(),
    "on stacks downward": set(),
    "beside stacks": {"sleep"},
}
#: such that there are polls on other stacks than the thread's own: they are not measured where the kernel keeps their ends apart
ELSEWHERE = {"on stacks upward", "on stacks downward", "beside stacks", "in signals"}
HAS_SESSIONS = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 13)
MACHINE = {"runnable", "stolen", "irq"}
ROUNDS = 20


class Hostile:
    """A program of that kind that waits for go()."""

    def __init__(self, program, way):
        self.process = subprocess.Popen([program, way, str(ROUNDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def go(self):
        self.process.stdin.write(b"x")
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.fixture
def hostile():
    started = []

    def start(program, way):
        started.append(Hostile(program, way))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def stripped(directory):
    program = directory / "stripped"
    subprocess.run(["strip", "-o", program, HOSTILE], check=True)
    return program


@pytest.mark.parametrize("way", WAYS)
def test_polls_as_no_runtime_makes_them(hostile, tmp_path, way):
    """By tables of a program that is not Tokio: of its polls that leave by jumps, in signals or never, none harms it."""
    if "stacks" in way and not HAS_SESSIONS:
        pytest.skip("this kernel's probes at returns kill programs that poll on several stacks")
    target = hostile(stripped(tmp_path), way)
    blocked = Blocked(target.process.pid)
    assert any("Tokio polls its tasks and closures by 1 function," in line for line in blocked.told), blocked.told
    assert target.go() == 0
    stalls, summary = blocked.wait()
    assert summary["runtime"] == "tokio", blocked.errors
    assert blocked.status == (0 if WAYS[way] else 1), blocked.errors
    assert WAYS[way] or "polls all its tasks on stacks that are not their threads' own" in blocked.errors
    assert {stall["cause"] for stall in stalls} <= WAYS[way] | MACHINE, stalls
    assert stalls or way not in ("plainly", "beside stacks")
    assert ("polls" in {each["source"] for each in summary["quality"]["unavailable"]}) == (way in ELSEWHERE and HAS_SESSIONS), summary
    assert "AddressSanitizer" not in blocked.errors and "runtime error" not in blocked.errors


class Elf:
    """A 64-bit file of this machine's byte order, to be damaged."""

    def __init__(self, path):
        self.data = bytearray(path.read_bytes())
        self.headers, = struct.unpack_from("<Q", self.data, 0x28)
        count, names = struct.unpack_from("<HH", self.data, 0x3C)
        self.sections = {}
        strings = self.section(names)[1]
        for index in range(count):
            at, offset, size = self.section(index)
            name, = struct.unpack_from("<I", self.data, at)
            self.sections[self.data[strings + name :].split(b"\0", 1)[0].decode()] = (at, offset, size)

    def section(self, index):
        """-> where its header is, where it is, its size"""
        at = self.headers + 64 * index
        return (at, *struct.unpack_from("<QQ", self.data, at + 24))

    def put(self, form, at, *values):
        struct.pack_into("<" + form, self.data, at, *values)

    def fill(self, name, form, value, first=0, step=None):
        """Such a value all over a section, or with a step between them."""
        _, offset, size = self.sections[name]
        width = struct.calcsize("<" + form)
        for at in range(offset + first, offset + size - width + 1, step or width):
            self.put(form, at, value)

    def header(self, name, field, value):
        """Of a section: size, link, entry."""
        at = self.sections[name][0]
        self.put("I" if field == "link" else "Q", at + {"offset": 24, "size": 32, "link": 40, "entry": 56}[field], value)

    def segment(self, kind):
        """Where its program header is."""
        start, = struct.unpack_from("<Q", self.data, 0x20)
        count, = struct.unpack_from("<H", self.data, 0x38)
        return next(at for at in range(start, start + 56 * count, 56) if struct.unpack_from("<I", self.data, at)[0] == kind)

    def links_in_circles(self):
        for at, _, _ in self.sections.values():
            self.put("I", at + 40, (at - self.headers) // 64)

    def cut(self):
        """What the program does not load."""
        del self.data[max(offset + size for name, (at, offset, size) in self.sections.items() if name == ".data") :]


EH_FRAME = 0x6474E550
HUGE = (1 << 63) - 8

DAMAGES = {
    "no section headers": lambda elf: elf.put("Q", 0x28, 0),
    "section headers beyond its end": lambda elf: elf.put("Q", 0x28, len(elf.data) - 32),
    "65,535 sections": lambda elf: elf.put("HH", 0x3C, 0xFFFF, 0xFFFE),
    "links in circles": Elf.links_in_circles,
    "cut off": Elf.cut,
    "symbols without an end": lambda elf: elf.header(".symtab", "size", HUGE),
    "symbols of no size": lambda elf: elf.header(".symtab", "entry", 0),
    "names of symbols beyond their end": lambda elf: elf.fill(".symtab", "I", 0xFFFFFFF0, step=24),
    "symbols beyond all addresses": lambda elf: elf.fill(".symtab", "Q", HUGE, first=8, step=24),
    "names without an end": lambda elf: elf.fill(".strtab", "B", 0x61),
    "no table of frames": lambda elf: elf.fill(".eh_frame_hdr", "B", 0),
    "a table of frames of all ones": lambda elf: elf.fill(".eh_frame_hdr", "B", 0xFF),
    "a table of frames with too many": lambda elf: elf.put("I", elf.sections[".eh_frame_hdr"][1] + 8, 0x7FFFFFFF),
    "frames without an end": lambda elf: elf.fill(".eh_frame", "I", 0xFFFFFFFF),
    "frames that belong to themselves": lambda elf: elf.fill(".eh_frame", "I", 4),
    "frames elsewhere": lambda elf: elf.put("QQQ", elf.segment(EH_FRAME) + 8, HUGE, HUGE, HUGE),
    "debug information without an end": lambda elf: elf.fill(".debug_info", "I", 0xFFFFFFF0),
    "abbreviations of all ones": lambda elf: elf.fill(".debug_abbrev", "B", 0xFF),
    "lines of all ones": lambda elf: elf.fill(".debug_line", "B", 0xFF),
    "debug information beyond the end": lambda elf: elf.header(".debug_info", "offset", HUGE),
}


def judge(stalls, answers, names):
    """Each that was asked for is there, and blames no function but these."""
    for start, duration, _ in answers:
        (stall,) = [one for one in stalls if one["start_ns"] <= start and one["start_ns"] + one["duration_ns"] >= start + duration]
        assert stall["cause"] == "sleep" or taken_away(stall), stall
        if stall["cause"] == "sleep":
            assert re.fullmatch(names, stall["function"] or "none"), stall
    others = [one for one in stalls if one["cause"] not in MACHINE | {"sleep"}]
    assert not others, others


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.measures
def test_files_that_are_damaged(tmp_path, damage):
    """Nothing but names depends on it."""
    program = tmp_path / "damaged"
    elf = Elf(LOOP)
    DAMAGES[damage](elf)
    program.write_bytes(elf.data)
    program.chmod(0o755)
    with loop_service(1, tmp_path, program=program) as service:
        blocked = Blocked(service.process.pid)
        answers = [service.ask("sleep", 20) for _ in range(3)]
        service.settle()
        stalls, summary = blocked.end()
        service.settle()
    assert blocked.status == 0 and summary["runtime"] == "loop", blocked.errors
    judge(stalls, answers, r"wait_for_printer|damaged\+0x[0-9a-f]+|none")


CHANGING = """
#include <dlfcn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	void (*handle)(void) = library ? (void (*)(void))dlsym(library, "wait_for_printer") : NULL;
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec every = {{0, 50000000}, {0, 50000000}};
	struct epoll_event event = {.events = EPOLLIN};
	unsigned long long times;
	if (argc != 2 || !handle)
		return 1;
	timerfd_settime(timer, 0, &every, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	puts("ready");
	fflush(stdout);
	while (epoll_wait(epoll, &event, 1, -1) == 1 && read(timer, &times, sizeof(times)) == sizeof(times))
		handle();
	return 1;
}
"""
SLEEPS = """
#include <unistd.h>
void wait_for_printer(void) { usleep(20000); }
"""


@pytest.mark.measures
def test_a_file_that_changes_all_the_time(tmp_path):
    """What is behind the parts that the program has mapped: symbols and debug information come and go while they are read."""
    library, host = tmp_path / "libsleeps.so", tmp_path / "host"
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-xc", "-", "-o", library], input=SLEEPS, text=True, check=True)
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", host, "-ldl"], input=CHANGING, text=True, check=True)
    whole = library.read_bytes()
    _, start, size = Elf(library).sections[".data"]
    done = threading.Event()

    def change():
        with open(library, "r+b", buffering=0) as file:
            while not done.is_set():
                file.truncate(start + size)
                file.seek(start + size)
                time.sleep(0.001)
                file.write(b"\xff" * (len(whole) - start - size) if time.monotonic_ns() & 1 else whole[start + size :])
                time.sleep(0.001)

    with subprocess.Popen([host, library], stdout=subprocess.PIPE, text=True) as process:
        changing = threading.Thread(target=change)
        try:
            assert process.stdout.readline() == "ready\n"
            changing.start()
            for _ in range(4):
                blocked = Blocked(process.pid, "-d", "500ms")
                stalls, summary = blocked.wait()
                assert blocked.status == 0 and summary["runtime"] == "loop" and process.poll() is None, blocked.errors
                sleeps = [stall for stall in stalls if stall["cause"] == "sleep"]
                assert sleeps and not [stall for stall in stalls if stall["cause"] not in MACHINE | {"sleep"}], stalls
                assert {stall["function"] for stall in sleeps} <= {"wait_for_printer", "main", None} | {
                    stall["function"] for stall in sleeps if re.fullmatch(r"(libsleeps\.so|host)\+0x[0-9a-f]+", stall["function"] or "")
                }, sleeps
        finally:
            done.set()
            changing.join()
            process.kill()


@contextlib.contextmanager
def strace(pid, output):
    tracer = subprocess.Popen(["strace", "-f", "-o", output, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    try:
        assert "attached" in tracer.stderr.readline()
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("runtime", ["loop", "tokio"])
@pytest.mark.parametrize("first", [True, False], ids=["before", "during"])
@pytest.mark.measures
def test_a_target_that_another_traces(tmp_path, runtime, first):
    """Which stops it at every call: neither disturbs the other, and what it waits for is called what it is."""
    program = LOOP if runtime == "loop" else build_tokio("plain")
    service = Service([program, *(["1", tmp_path] if runtime == "loop" else ["--directory", tmp_path])])
    traced = tmp_path / "traced"
    try:
        with contextlib.ExitStack() as stack:
            if first:
                stack.enter_context(strace(service.process.pid, traced))
            blocked = Blocked(service.process.pid)
            if not first:
                stack.enter_context(strace(service.process.pid, traced))
            answers = [service.ask("sleep", 20) for _ in range(3)]
            service.settle()
            stalls, summary = blocked.end()
            service.settle()
        assert service.ask("good", 1) and service.process.poll() is None
    finally:
        service.end()
    assert blocked.status == 0 and summary["runtime"] == runtime, blocked.errors
    for start, duration, _ in answers:
        (stall,) = [one for one in stalls if one["start_ns"] <= start and one["start_ns"] + one["duration_ns"] >= start + duration]
        assert stall["states_ns"]["sleep"] > 15_000_000, stall
    assert {stall["cause"] for stall in stalls} <= {"sleep", "stopped"} | MACHINE, stalls
    assert traced.read_text().count("nanosleep") >= 3


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_a_target_that_a_debugger_holds():
    with loop_service() as service:
        pid = service.process.pid
        gdb = subprocess.Popen(["gdb", "-q", "-nx", "-p", str(pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: "(tracing stop)" in pathlib.Path(f"/proc/{pid}/status").read_text())
            done = run("blocked", "-p", pid, "-d", "100ms")
        finally:
            gdb.stdin.close()
            gdb.wait()
        assert done.returncode == 1
        assert "no worker found: all threads of loop-service are stopped, by a debugger or a signal: let them go on" in done.stderr
        assert service.ask("good", 1)


NEW_PIDS = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


@pytest.mark.skipif(subprocess.run([*NEW_PIDS, "true"], capture_output=True).returncode != 0, reason="no pid namespaces here")
@pytest.mark.parametrize("runtime", ["loop", "tokio"])
@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.measures
def test_a_target_in_a_pid_namespace(tmp_path, runtime, where):
    """Watched from outside, by its number there, or from inside, by its own."""
    program = [LOOP, "1", tmp_path] if runtime == "loop" else [build_tokio("plain"), "--directory", tmp_path]
    service = Service([*NEW_PIDS, *program])
    try:
        (pid,) = children(service.process.pid)
        enter = ["nsenter", "-t", str(pid), "-p", "-m"] if where == "inside" else []
        number = 1 if where == "inside" else pid
        arguments = [str(word) for word in (DWELL, "blocked", "-p", number, "--format", "json", "-v")]
        blocked = Blocked(number, command=[*enter, *arguments])
        answers = [service.ask("sleep", 20) for _ in range(3)]
        service.settle()
        os.kill(children(blocked.process.pid)[0] if enter else blocked.process.pid, signal.SIGINT)
        stalls, summary = blocked.wait()
        assert service.ask("good", 1)
    finally:
        service.end()
    assert blocked.status == 0 and summary["runtime"] == runtime, blocked.errors
    judge(stalls, answers, r"wait_for_printer|tokio_service::wait_for_printer")


def test_a_container_without_proc():
    """A clear line, and nothing else."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    with loop_service() as service:
        script = 'mount -t tmpfs none /proc && exec "$0" "$@"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, DWELL, "blocked", "-p", str(service.process.pid), "-d", "100ms"],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        assert service.ask("good", 1)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1 and "/proc" in done.stderr, done
