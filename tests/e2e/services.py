# SPDX-License-Identifier: GPL-2.0-or-later
"""The services `dwell blocked` is tried on, and the truth about them."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest
import schemas

from conftest import BUILD, DWELL
from matrices import wait_until
from verdicts import inconclusive

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
CARGO_TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", f"/var/tmp/dwell-tokio-{os.getuid()}"))
GO_CACHE = pathlib.Path(f"/var/tmp/dwell-go-{os.getuid()}")

#: name of a build -> (cargo profile, RUSTFLAGS[, arguments of cargo, what it makes])
BUILDS = {
    "release": ("release", ""),
    "plain": ("plain", ""),  # no debug information
    "fat": ("fat", ""),  # fat LTO, panic=abort, no debug information
    "small": ("plain", "-C opt-level=z"),
    "v0": ("plain", "-C symbol-mangling-version=v0"),
    "frame-pointers": ("release", "-C force-frame-pointers=yes"),
    "stripped": ("stripped", ""),
    "static-pie": ("plain", "-C target-feature=+crt-static -C relocation-model=pic"),
    # of the service alone: see tokio_command()
    "cdylib": ("plain", "", ("--example", "tokio_library"), "examples/libtokio_library.so"),
}

#: name of a build without symbols -> that which it is made of
STRIPPED = {"plain, stripped": "plain", "fat, stripped": "fat"}


def build_tokio(build, program="tokio-service"):
    """Path of the service, or of another program beside it, in that build; skips where it cannot be built."""
    if build in STRIPPED:
        built = build_tokio(STRIPPED[build], program)
        stripped = built.with_name(f"{program}-stripped")
        with open(built.with_name("strip-lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not stripped.exists() or stripped.stat().st_mtime < built.stat().st_mtime:
                subprocess.run(["strip", "-o", stripped, built], check=True)
        return stripped
    if not shutil.which("cargo"):
        pytest.skip("cargo is not installed")
    if not list(pathlib.Path("/usr/share/cargo/registry").glob("tokio-1*")):
        pytest.skip("librust-tokio-dev is not installed")
    profile, flags, *others = BUILDS[build]
    arguments, made = others or ((), program)
    target = CARGO_TARGET / build
    target.mkdir(parents=True, exist_ok=True)
    with open(target / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["cargo", "build", "--offline", "--profile", profile, "--target-dir", target, *arguments],
            cwd=FIXTURES / "tokio",
            env={**os.environ, "RUSTFLAGS": flags},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    if done.returncode:
        pytest.skip(f"the service cannot be built: {done.stdout[-300:]}")
    return target / profile / made


def build_go(directory, text, *flags):
    """Path of the program, in that directory; what it needs of Go's library is compiled once."""
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    (directory / "it.go").write_text(text)
    environment = dict(os.environ, GOCACHE=str(GO_CACHE), GO111MODULE="off", HOME=str(directory))
    subprocess.run(["go", "build", *flags, "-o", "it", "it.go"], cwd=directory, check=True, env=environment, capture_output=True)
    return directory / "it"


def tokio_command(build):
    """What runs the service in that build."""
    host = [pathlib.Path(BUILD) / "tests" / "library-host"] if build == "cdylib" else []
    return [*host, build_tokio(build)]


class SlowNames:
    """A name server that takes its time, as what a process in a mount namespace of its own asks.

    prefix: what a command is run by to be such a process.
    """

    RUN = """
for file in resolv.conf nsswitch.conf; do
    [ ! -e /etc/$file ] || mount --bind "$0/$file" /etc/$file || exit
done
exec "$@"
"""

    def __init__(self, directory, seconds):
        self.seconds = seconds
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.asked = 0
        for host in range(1, 255):
            try:
                self.socket.bind((f"127.53.0.{host}", 53))
                break
            except OSError as error:
                refused = error
        else:
            pytest.skip(f"no port for a name server: {refused}")
        pathlib.Path(directory, "resolv.conf").write_text(f"nameserver {self.socket.getsockname()[0]}\n")
        pathlib.Path(directory, "nsswitch.conf").write_text("hosts: dns\n")
        self.prefix = ["unshare", "--mount", "sh", "-c", self.RUN, directory]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            question, who = self.socket.recvfrom(512)
            if not question:
                return
            end = question.index(b"\0", 12) + 5
            has_address = question[end - 4 : end - 2] == b"\0\1"
            answer = question[:2] + b"\x81\x80\0\1" + bytes([0, has_address]) + bytes(4) + question[12:end]
            if has_address:
                time.sleep(self.seconds)
                self.asked += 1
                answer += b"\xc0\x0c\0\1\0\1" + bytes(4) + b"\0\4\x7f\0\0\1"
            self.socket.sendto(answer, who)

    def end(self):
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


class Service:
    """A running service; ask() -> (start, duration, CPU time) in ns as its handler measured."""

    def __init__(self, arguments, **options):
        self.process = subprocess.Popen([str(argument) for argument in arguments], stdout=subprocess.PIPE, text=True, **options)
        self.port = int(self.process.stdout.readline())
        self.connect()

    def another(self, port=None):
        """Another connection to it: to the same runtime, or to that of another port."""
        other = Service.__new__(Service)
        other.process, other.port = self.process, port or self.port
        other.connect()
        return other

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.file = self.socket.makefile("rw")

    def ask(self, name, argument):
        self.file.write(f"{name} {argument}\n")
        self.file.flush()
        return tuple(int(word) for word in self.file.readline().split())

    def ask_clearly(self, name, ms):
        """Asks until it took about as long as it should: of what the machine has drawn out, the machine is the cause."""
        for _ in range(50):
            answer = self.ask(name, ms)
            self.settle()
            if answer[1] < 1.5e6 * ms:
                return answer
        inconclusive(f"none of 50 requests for {ms} ms took less than {1.5 * ms} ms")

    def settle(self):
        """Until the poll of the last answer is over: that is written before its end."""
        self.ask("good", 1)

    def end(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def tokio_service(build="release", *arguments, directory="/var/tmp", prefix=()):
    service = Service([*prefix, *tokio_command(build), "--directory", directory, *arguments])
    try:
        yield service
    finally:
        service.end()


@contextlib.contextmanager
def loop_service(threads=1, directory="/var/tmp", prefix=(), program=pathlib.Path(BUILD) / "tests" / "loop-service"):
    service = Service([*prefix, program, threads, directory])
    try:
        yield service
    finally:
        service.end()


def hold_up(service, ms):
    """The worker sleeps in its turn, and goes on doing so until it is continued."""
    service.file.write(f"sleep {ms}\n")
    service.file.flush()
    sleeping = pathlib.Path(f"/proc/{service.process.pid}/syscall")
    wait_until(lambda: sleeping.read_text().split()[0] in ("35", "230", "101", "115"))
    service.process.send_signal(signal.SIGSTOP)


class Blocked:
    """`dwell blocked` on a process, until end()."""

    def __init__(self, pid, *arguments, command=None):
        # a pipe that is not read would hold it up when it is full
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command or [DWELL, "blocked", "-p", str(pid), "--format", "json", "-v", *arguments],
            stdout=self.output,
            stderr=subprocess.PIPE,
            text=True,
        )
        # the runtime is printed when it has been found, and once more when all is attached
        self.told = []
        for line in self.process.stderr:
            self.told.append(line)
            if "watching" in line:
                break

    def end(self, signal=2):
        """-> (stalls, summary)"""
        self.process.send_signal(signal)
        return self.wait()

    def wait(self):
        """The same, when it ends by itself."""
        _, errors = self.process.communicate(timeout=60)
        self.output.seek(0)
        output = self.output.read()
        self.errors = "".join(self.told) + errors
        self.status = self.process.returncode
        lines = schemas.read(output)
        assert lines, self.errors
        self.stuck = [line for line in lines if line["type"] == "stuck_now"]
        stalls = [line for line in lines[:-1] if line["type"] != "stuck_now"]
        assert all(line["type"] == "stall" for line in stalls) and lines[-1]["type"] == "blocked"
        return stalls, lines[-1]


def taken_away(stall):
    """Whether dwell says of a stall that the hypervisor, or interrupts, made it one: then it blames no code and no thread."""
    if stall["cause"] not in ("stolen", "irq"):
        return False
    assert stall["states_ns"][stall["cause"]] > 0 and stall["function"] is None and stall["culprit"] is None, stall
    return True


def stall_of(stalls, start, duration):
    """The stall in which the handler did what it measured; None: it was not seen."""
    for stall in stalls:
        if stall["start_ns"] <= start and stall["start_ns"] + stall["duration_ns"] >= start + duration:
            return stall
    return None


class Named:
    """What dwell says of functions that have names."""

    def is_blamed(self, stall, function):
        return function in (stall["function"] or "")

    def is_cause(self, stall, cause):
        return stall["cause"] == cause

    def is_holder(self, functions, function):
        return any(one and one.split("::")[-1] == function for one in functions)


class Stripped(Named):
    """And of those that have none: `program+0x1230`, whose names the program had before it was stripped.

    The standard library's functions look like the program's own, and where nothing has a name not every lock is known.
    """

    def __init__(self, build):
        listed = subprocess.run(["nm", "-C", build_tokio(STRIPPED[build])], capture_output=True, text=True, check=True)
        self.names = {}
        for line in listed.stdout.splitlines():
            address, _, name = line.split(" ", 2)
            if address:
                self.names.setdefault(int(address, 16), []).append(name)

    def name(self, function):
        place = re.fullmatch(r"tokio-service-stripped\+0x([0-9a-f]+)", function)
        return " ".join(self.names.get(int(place[1], 16), [function])) if place else function

    def is_blamed(self, stall, function):
        return any(function in self.name(frame["function"]) for frame in stall["stack"])

    def is_cause(self, stall, cause):
        return stall["cause"] == cause or (cause == "lock" and stall["cause"] == "unknown")

    def is_holder(self, functions, function):
        return all(functions)


def functions(stall):
    return [frame["function"] for frame in stall["stack"]]


@contextlib.contextmanager
def program_running(words):
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def blamed(stalls):
    return [stall for stall in stalls if not taken_away(stall) and stall["cause"] != "runnable"]
