# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that others wrote, each with requests that block one of its event loops, and requests that do not.

A program is a context: `with nginx(directory) as program`; program.ask(name, argument) -> (start, duration) of what blocked, as its
handler measured, or, where it cannot, from the question to the answer. watch() compares that with what `dwell blocked` reports.
"""
import collections
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import pytest

from conftest import BUILD
from polls import BARS
from services import FIXTURES, Blocked, Service, taken_away

ARCHIVE_BYTES = 12 << 20

#: argument; the causes that are right; what the function of the stall is called
Request = collections.namedtuple("Request", "argument causes function")


def need(program, package):
    if not shutil.which(program):
        pytest.skip(f"{package} is not installed")


def first_line(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.splitlines()[0]


def make_archive(directory):
    with open(directory / "archive", "wb") as file:
        file.write(bytes(ARCHIVE_BYTES))
        os.fsync(file.fileno())


    (directory / "warm").write_bytes(bytes(1 << 16))


def cool_archive(directory):
    with open(directory / "archive") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Program:
    """name, and of the class: version(), requests {name: Request}, good [(name, argument)]."""

    good = [("good", 10)]
    threshold_ms = 5
    #: its own threads may keep each other waiting for a moment: not judged
    shared = {"runnable"}
    #: what is on the stack where it does work of its own, in no request
    own_work = None
    #: requests whose code has no name outside of it
    unnamed = frozenset()

    def ask_good(self, name, argument):
        self.ask(name, argument)

    def warm_up(self):
        """Asks everything a few times first: what a program does only once is no stall of its requests."""
        for _ in range(3):
            for name, request in self.requests.items():
                self.ask_good(name, request.argument)
            for kind in self.good:
                self.ask_good(*kind)

    def settle(self):
        """Until the turn of the last answer is over: that is written before its end."""
        self.ask_good(*self.good[0])


class LineProgram(Program):
    """Speaks as services.Service does."""

    def __init__(self, directory, command):
        self.directory = directory
        self.service = Service(command)
        self.pid = self.service.process.pid

    def ask(self, name, argument):
        return self.service.ask(name, argument)[:2]

    def end(self):
        self.service.end()


#: of handlers.c
C_REQUESTS = {
    "spin": Request(20, {"cpu"}, r"compute_report"),
    "sleep": Request(20, {"sleep"}, r"wait_for_printer"),
    "lock": Request(20, {"lock"}, r"read_ledger"),
    "fsync": Request(16, {"disk"}, r"append_audit"),
    "child": Request("0.02", {"ipc"}, r"print_label"),
}


def compile_service(name, source, compiler, *flags):
    """A service with handlers.c, in the build."""
    built = pathlib.Path(BUILD) / "tests" / name
    sources = [FIXTURES / source, FIXTURES / "handlers.c", FIXTURES / "handlers.h"]
    if built.exists() and all(built.stat().st_mtime > path.stat().st_mtime for path in sources):
        return built
    handlers = built.with_suffix(".handlers.o")
    commands = (
        ["gcc", "-O2", "-g", "-c", FIXTURES / "handlers.c", "-o", handlers],
        [compiler, "-O2", "-g", FIXTURES / source, handlers, *flags, "-lpthread", "-o", built],
    )
    for command in commands:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            pytest.skip(f"{name} cannot be built: {done.stdout[-300:]}")
    return built


class Asio(LineProgram):
    requests = C_REQUESTS
    good = [("good", 10), ("offload", 20)]

    def __init__(self, directory, threads):
        self.name = f"Asio, {threads} thread{'s' if threads > 1 else ''}"
        super().__init__(directory, [compile_service("asio-service", "asio-service.cpp", "g++", "-DASIO_STANDALONE"), threads, directory])

    @staticmethod
    def version():
        header = pathlib.Path("/usr/include/asio/version.hpp").read_text()
        number = int(re.search(r"#define ASIO_VERSION (\d+)", header)[1])
        return f"{number // 100000}.{number // 100 % 1000}.{number % 100}"


class Libuv(LineProgram):
    name = "libuv"
    requests = C_REQUESTS
    good = [("good", 10), ("offload", 20)]

    def __init__(self, directory):
        super().__init__(directory, [compile_service("uv-service", "uv-service.c", "gcc", "-luv"), directory])

    @staticmethod
    def version():
        return first_line("pkg-config", "--modversion", "libuv")


class Libevent(LineProgram):
    name = "libevent"
    requests = C_REQUESTS

    def __init__(self, directory):
        super().__init__(directory, [compile_service("event-service", "event-service.c", "gcc", "-levent"), directory])

    @staticmethod
    def version():
        return first_line("pkg-config", "--modversion", "libevent")


class Asyncio(LineProgram):
    requests = {
        "spin": Request(20, {"cpu"}, r"compute_report"),
        "sleep": Request(20, {"sleep"}, r"wait_for_printer"),
        "lock": Request(20, {"lock", "ipc"}, r"read_ledger"),
        "fsync": Request(16, {"disk"}, r"append_audit"),
        "read": Request("archive", {"disk"}, r"load_archive"),
        "child": Request("0.02", {"ipc"}, r"print_label"),
        "pbkdf2": Request(20000, {"cpu"}, r"hash_password"),
        "regex": Request(18, {"cpu"}, r"parse_order"),
    }
    good = [("good", 10), ("offload", 20)]

    def __init__(self, directory, *loop):
        self.name = loop[0] if loop else "asyncio"
        super().__init__(directory, ["/usr/bin/python3", FIXTURES / "asyncio_service.py", directory, *loop])

    def version(self):
        if self.name == "uvloop":
            return first_line("/usr/bin/python3", "-c", "import uvloop; print(uvloop.__version__)")
        return first_line("/usr/bin/python3", "-V").split()[-1]


class Node(LineProgram):
    name = "Node.js"
    requests = {
        "child": Request("0.03", {"ipc"}, r"printLabel"),
        "spin": Request(30, {"cpu"}, r"computeReport"),
        "pbkdf2": Request(40000, {"cpu"}, r"hashPassword"),
        "sleep": Request(30, {"ipc", "lock", "sleep"}, r"waitForPrinter"),
        "fsync": Request(100, {"disk"}, r"appendAudit"),
        "read": Request("archive", {"disk"}, r"loadArchive"),
        "json": Request(60000, {"cpu"}, r"parseOrders"),
        "regex": Request(20, {"cpu"}, r"matchOrder"),
        "zlib": Request(4, {"cpu"}, r"packArchive"),
    }
    good = [("good", 10), ("hash", 40000), ("load", "warm")]
    own_work = r"Heap::CollectGarbage"
    #: its own threads may have a lock of its heap while they wait for a CPU
    shared = {"runnable", "lock", "ipc"}

    def __init__(self, directory):
        need("node", "nodejs")
        options = ["--perf-basic-prof", "--interpreted-frames-native-stack", f"--logfile={directory}/log"]
        super().__init__(directory, ["node", *options, FIXTURES / "node-service.js", directory])

    @staticmethod
    def version():
        return first_line("node", "--version").lstrip("v")

    def end(self):
        super().end()
        pathlib.Path(f"/tmp/perf-{self.pid}.map").unlink(missing_ok=True)


class Java(LineProgram):
    """Lists the functions that it has compiled where dwell finds them; one that it has inlined would be its caller."""

    name = "Java NIO"
    #: its threads share the selector's lock, too
    own_work = r"ObjectMonitor::enter"
    requests = {
        "spin": Request(20, {"cpu"}, r"computeReport"),
        "sleep": Request(20, {"sleep"}, r"waitForPrinter"),
        "lock": Request(20, {"lock"}, r"readLedger"),
        "fsync": Request(16, {"disk"}, r"appendAudit"),
        "read": Request("archive", {"disk"}, r"loadArchive"),
        "child": Request("0.03", {"ipc"}, r"printLabel"),
        "fetch": Request(20, {"net"}, r"fetchPrice"),
    }
    good = [("good", 10), ("offload", 20), ("offloaded-fetch", 20)]

    def __init__(self, directory, *options):
        need("javac", "default-jdk-headless")
        subprocess.run(["javac", "-g", "-d", directory, FIXTURES / "NioService.java"], check=True)
        super().__init__(directory, ["java", *options, "-XX:+PreserveFramePointer", "-XX:TieredStopAtLevel=1", "-Xbatch", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,NioService::*", "-cp", directory, "NioService", directory])

    @staticmethod
    def version():
        return first_line("java", "-version").split('"')[1]

    def warm_up(self):
        """Until it has compiled all of it: what it interprets has no names."""
        super().warm_up()
        for _ in range(300):
            for name, request in self.requests.items():
                self.ask_good(name, "warm" if request.argument == "archive" else 0)
        subprocess.run(["jcmd", str(self.pid), "Compiler.perfmap"], check=True, stdout=subprocess.DEVNULL)

    def end(self):
        super().end()
        pathlib.Path(f"/tmp/perf-{self.pid}.map").unlink(missing_ok=True)


class Timed(Program):
    """Its handlers cannot measure themselves."""

    def start(self, command, **options):
        self.process = subprocess.Popen([str(word) for word in command], **options)
        self.pid = self.process.pid

    def ask(self, name, argument):
        start = time.monotonic_ns()
        self.send(name, argument)
        return start, time.monotonic_ns() - start

    def ask_good(self, name, argument):
        self.send(name, argument)

    def connect(self, path):
        """To a socket that it is about to open."""
        end = time.monotonic() + 20
        while True:
            client = socket.socket(socket.AF_UNIX)
            try:
                client.connect(str(path))
                return client
            except OSError:
                client.close()
                if self.process.poll() is not None or time.monotonic() > end:
                    pytest.skip(f"{self.name} does not run")
                time.sleep(0.02)

    def end(self):
        self.process.kill()
        self.process.communicate()


class Http(Timed):
    def open(self, path):
        self.client = http.client.HTTPConnection("localhost")
        self.client.sock = self.connect(path)

    def get(self, path):
        self.client.request("GET", path)
        answer = self.client.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status)
        return body

    def send(self, name, argument):
        return self.get(f"/{name}?{argument}")


NGINX = """
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off;
master_process off;
pid {directory}/pid;
error_log stderr error;
events {{ }}
http {{
    access_log off;
    lua_package_path "{fixtures}/?.lua;;";
    sendfile off;
    keepalive_requests 100000;
    client_body_temp_path {directory}; proxy_temp_path {directory}; fastcgi_temp_path {directory}; uwsgi_temp_path {directory};
    scgi_temp_path {directory};
    output_buffers 1 12m;
    server {{
        listen unix:{directory}/socket;
        root {directory};
        location = /archive {{ }}
        location = /warm {{ }}
        location / {{ content_by_lua_block {{ require("nginx")() }} }}
    }}
}}
"""


class Nginx(Http):
    """The functions of Lua have no names outside of it: what is named is what calls the system, or computes."""

    name = "nginx"
    unnamed = {"spin"}  # LuaJIT has compiled it
    requests = {
        "spin": Request(20, {"cpu"}, r"lua|lj_"),
        "sleep": Request(20, {"sleep"}, r"lua|lj_"),
        "read": Request("archive", {"disk"}, r"lua|lj_|io_"),
        "child": Request("0.02", {"ipc"}, r"lua|lj_|os_execute"),
        "pattern": Request(400, {"cpu"}, r"lua|lj_|match|str_find"),
        "archive": Request(None, {"disk"}, r"ngx_"),
    }
    good = [("good", 10), ("warm", None)]

    def __init__(self, directory):
        need("nginx", "nginx")
        if not os.path.exists("/usr/lib/nginx/modules/ngx_http_lua_module.so"):
            pytest.skip("libnginx-mod-http-lua is not installed")
        self.directory = directory
        (directory / "nginx.conf").write_text(NGINX.format(directory=directory, fixtures=FIXTURES))
        self.start(["nginx", "-p", directory, "-c", directory / "nginx.conf"])
        self.open(directory / "socket")

    @staticmethod
    def version():
        return first_line("nginx", "-v").split("/")[1]

    def ask(self, name, argument):
        if argument is None:
            return self.read_time(name)
        return tuple(int(word) for word in self.send(name, argument).split())[:2]

    def send(self, name, argument):
        return self.get(f"/{name}" if argument is None else f"/{name}?{argument}")

    def read_time(self, name):
        """Until the answer begins: all of the file is read before, and sending it takes as long on a fast disk."""
        start = time.monotonic_ns()
        self.client.request("GET", f"/{name}")
        answer = self.client.getresponse()
        duration = time.monotonic_ns() - start
        answer.read()
        assert answer.status == 200, name
        return start, duration


HAPROXY = """
global
    insecure-fork-wanted
    nbthread 2
    lua-load {lua}
defaults
    mode http
    timeout client 20s
    timeout server 20s
    timeout connect 20s
frontend front
    bind unix@{directory}/socket
    http-request use-service lua.serve
"""


class Haproxy(Http):
    name = "haproxy"
    requests = {
        "child": Request("0.02", {"ipc"}, r"hlua|lua"),
        "pattern": Request(400, {"cpu"}, r"hlua|lua"),
    }
    def __init__(self, directory):
        need("haproxy", "haproxy")
        self.directory = directory
        (directory / "haproxy.conf").write_text(HAPROXY.format(directory=directory, lua=FIXTURES / "haproxy.lua"))
        self.start(["haproxy", "-db", "-f", directory / "haproxy.conf"], stderr=subprocess.DEVNULL)
        self.open(directory / "socket")

    @staticmethod
    def version():
        return first_line("haproxy", "-v").split()[2].split("-")[0]


class Memcached(Timed):
    """Serves one connection for as long as it asks, by an option that its manual page warns of."""

    name = "memcached"
    threshold_ms = 2
    requests = {"gets": Request(40000, {"cpu"}, r"process_|drive_machine|conn_|item|proto_|complete_|try_read|event_handler|memcached|resp_|assoc|write|transmit")}
    good = [("gets", 1)]

    def __init__(self, directory):
        need("memcached", "memcached")
        self.directory = directory
        self.start(["memcached", "-u", "root", "-s", directory / "socket", "-R", "1000000"])
        self.client = self.connect(directory / "socket")
        self.answers = self.client.makefile("rb")

    @staticmethod
    def version():
        return first_line("memcached", "-V").split()[-1]

    def send(self, name, count):
        # as much as it reads before it answers
        self.client.sendall(b"gets " + b" ".join(b"%d" % number for number in range(count)) + b"\r\n")
        while self.answers.readline() != b"END\r\n":
            pass


class Redis(Timed):
    """A server that keeps nothing, on a socket in its directory; query() -> the first line of the answer."""

    name = "Redis"
    requests = {
        "sleep": Request("0.03", {"sleep"}, r"debugCommand"),
        "keys": Request(300000, {"cpu"}, r"keysCommand|[Kk]eys|stringmatch|dict|lua|eval"),
        "lua": Request(3000000, {"cpu"}, r"lua|eval|redis-check-rdb"),
    }
    good = [("wait", 0.02)]

    def __init__(self, directory):
        need("redis-server", "redis-server")
        self.directory = directory
        path = f"{directory}/socket"
        arguments = {"port": "0", "unixsocket": path, "dir": str(directory), "save": "", "appendonly": "no",
                     "enable-debug-command": "yes"}  # fmt: skip
        self.start(["redis-server", *(word for name, value in arguments.items() for word in ("--" + name, value))], stdout=subprocess.DEVNULL)
        self.client = self.connect(path)
        self.answers = self.client.makefile("r", newline="\r\n")
        self.query("DEBUG", "POPULATE", "300000")

    @staticmethod
    def version():
        return re.search(r"v=([\d.]+)", first_line("redis-server", "--version"))[1]

    def query(self, *words):
        parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        self.client.sendall(f"*{len(words)}\r\n{parts}".encode())
        return self.answers.readline().strip()

    def send(self, name, argument):
        return {
            "sleep": lambda: self.query("DEBUG", "SLEEP", argument),
            "keys": lambda: self.query("EVAL", "return #redis.call('keys', '*none*')", "0"),
            "lua": lambda: self.query("EVAL", f"local n = 0; for i = 1, {argument} do n = n + i end; return 1", "0"),
            "wait": lambda: self.query("BLPOP", "none", str(argument)),
        }[name]()


def watch(program, rounds):
    """-> (table, stalls that nothing explains, dwell's summary)"""
    program.warm_up()
    blocked = Blocked(program.pid, "--threshold", f"{program.threshold_ms}ms")
    for _ in range(10):
        program.settle()  # a loop is known when it has gone round
    answers = exercise(program, rounds)
    program.settle()
    stalls, summary = blocked.end()
    return *judge(program, answers, stalls), summary


@contextlib.contextmanager
def running(program, directory, *arguments):
    make_archive(directory)
    started = program(directory, *arguments)
    try:
        yield started
    finally:
        started.end()


#: program and its arguments
PROGRAMS = (
    (Asio, 1), (Asio, 4), (Libuv,), (Libevent,), (Asyncio,), (Asyncio, "uvloop"), (Node,), (Java,), (Redis,), (Nginx,), (Haproxy,),
    (Memcached,),
)  # fmt: skip

#: a request that blocked
Answer = collections.namedtuple("Answer", "name start duration")


def overlap(stall, answer):
    end = min(stall["start_ns"] + stall["duration_ns"], answer.start + answer.duration)
    return end - max(stall["start_ns"], answer.start)


def is_right(stall, causes):
    shares = {state: (ns or 0) / stall["duration_ns"] for state, ns in stall["states_ns"].items()}
    # as in test_blocked: more than one answer
    if shares["cpu"] > 0.6:
        causes = {"cpu"}
    return stall["cause"] in causes or shares["cpu"] > 0.4 or shares["runnable"] > 0.3


def judge(program, answers, stalls):
    """-> ({name: {"asked", "found", "cause", "name", "names"}}, stalls that nothing explains)"""
    table = {}
    left = [stall for stall in stalls if not taken_away(stall)]
    away = [stall for stall in stalls if taken_away(stall)]
    for answer in answers:
        request = program.requests[answer.name]
        row = table.setdefault(answer.name, {"asked": 0, "found": 0, "cause": 0, "name": 0, "names": collections.Counter()})
        found = max(left, key=lambda stall: overlap(stall, answer), default=None)
        if answer.duration < 1.2e6 * program.threshold_ms:
            # too close to the threshold to say whether it is one
            if found and overlap(found, answer) > 0.5 * answer.duration:
                left.remove(found)
            continue
        lost = max(away, key=lambda stall: overlap(stall, answer), default=None)
        # where the machine made it one, nothing is to be said of it
        if lost and overlap(lost, answer) > 0.5 * answer.duration:
            away.remove(lost)
            continue
        row["asked"] += 1
        if not found or overlap(found, answer) < 0.5 * answer.duration:
            continue
        left.remove(found)
        row["found"] += 1
        row["cause"] += is_right(found, request.causes)
        row["name"] += bool(re.search(request.function, found["function"] or "")) or found["cause"] == "runnable"
        row["names"][found["cause"], found["function"]] += 1
    return table, [stall for stall in left if not is_excused(program, stall)]


def is_excused(program, stall):
    frames = " ".join(frame["function"] for frame in stall["stack"])
    return (
        stall["cause"] in program.shared
        or stall["states_ns"]["runnable"] > 0.3 * stall["duration_ns"]
        or bool(program.own_work and re.search(program.own_work, frames))
    )


def exercise(program, rounds):
    """Asks for everything `rounds` times, the good between -> answers"""
    answers = []
    for _ in range(rounds):
        for name, request in program.requests.items():
            cool_archive(program.directory)
            answers.append(Answer(name, *program.ask(name, request.argument)))
            for kind in program.good:
                program.ask_good(*kind)
    return answers


def summed(tables, unnamed=frozenset()):
    """Of tables of judge(), without the names that cannot be -> {"asked", "found", "named", "cause", "name"}; "named": which can have one."""
    total = collections.Counter()
    for name, row in (item for table in tables for item in table.items()):
        total.update({column: row[column] for column in ("asked", "found", "cause")})
        if name not in unnamed:
            total.update({"named": row["found"], "name": row["name"]})
    return total


def short_of(total, false):
    """-> names of the bars that are not reached. Of a few one may be missing, whatever share of them that is."""

    def is_short(got, of, bar):
        return of - got > max(1, (1 - bar) * of)

    short = {
        "recall": is_short(total["found"], total["asked"], BARS["recall"]),
        "cause": is_short(total["cause"], total["found"], BARS["right"]),
        "name": is_short(total["name"], total["named"], BARS["right"]),
        "false": false > BARS["false"],
    }
    return [name for name, is_one in short.items() if is_one]
