# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile`: which code each state's time was spent in, beside programs that measure themselves."""
import collections
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import browser
import pytest

from conftest import DWELL, WORKLOAD, run
from test_libraries import compile_into

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
SHARES = FIXTURES / "shares"
ON_CPU = {"user": "cpu", "kernel": "cpu"}

#: name: flags; of all but the first the library is a part of the program
BUILDS = {
    "shared": ["-O2", "-g"],
    "static": ["-O2", "-g", "-static"],
    "lto": ["-O2", "-g", "-flto", "-no-pie", "-fomit-frame-pointer"],
    "frame-pointers": ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"],
    "separate-debug": ["-O2", "-g"],
}


def build_shares(build, directory):
    program = directory / "shares"
    if build == "shared":
        library = compile_into(directory / "libshares.so", "gcc", "-O2", "-g", "-fPIC", "-shared", SHARES / "library.c")
        return compile_into(program, "gcc", *BUILDS[build], "-rdynamic", SHARES / "shares.c", library, f"-Wl,-rpath,{directory}")
    compile_into(program, "gcc", *BUILDS[build], SHARES / "shares.c", SHARES / "library.c")
    if build == "separate-debug":
        debug = directory / "shares.debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", "--strip-all", program], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    return program


class Shares:
    """The program, which goes on until end(); then truth: {(function, state): ns}."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen([program, directory / "data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def end(self):
        rest, _ = self.process.communicate("\n", timeout=30)
        lines = (line.split() for line in rest.splitlines())
        return {(function, state): int(ns) for function, state, ns in lines}


def profile(*arguments, **options):
    done = run("profile", *arguments, "--format", "json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def shown_ns(result):
    return sum(state["total_ns"] for state in result["states"] if state["wanted"])


def shares_of(result):
    """{(function, state): (share, standard error)}: time in it and in what it calls."""
    shown, sums = shown_ns(result), collections.defaultdict(lambda: [0, 0])
    for row in result["functions"]:
        key = row["function"], ON_CPU.get(row["state"], row["state"])
        sums[key][0] += row["total_ns"]
        sums[key][1] += row["total_error_ns"] ** 2
    return {key: (ns / shown, math.sqrt(variance) / shown) for key, (ns, variance) in sums.items()}


@pytest.mark.measures
@pytest.mark.parametrize("build", BUILDS)
def test_shares(build, tmp_path):
    with Shares(build_shares(build, tmp_path), tmp_path) as shares:
        result = profile("-t", shares.process.pid, "-d", "4s")
        truth = shares.end()
    known, whole = shares_of(result), sum(truth.values())
    for key, ns in truth.items():
        # who waits for a CPU may do so where it reads its clocks, too
        if ns < 0.01 * whole or key[1] == "runnable":
            continue
        share, error = known.get(key, (0, 0))
        assert abs(share - ns / whole) < 0.01 + 4 * max(error, 0.005), (key, ns / whole, share, error)
    quality = result["quality"]
    stacks = quality["stacks_complete"] + quality["stacks_truncated"] + quality["stacks_failed"]
    assert quality["stacks_complete"] >= 0.99 * stacks > 100, quality
    assert not quality["lost"]


@pytest.mark.measures
def test_sums_are_those_of_top(tmp_path):
    """One recording, which both of them show."""
    recording = tmp_path / "it.dwell"
    with Shares(build_shares("shared", tmp_path), tmp_path) as shares:
        done = run("record", "--stacks", "-p", shares.process.pid, "-d", "2s", "-i", "200ms", "-o", recording)
        assert done.returncode == 0, done.stderr
    states = collections.Counter()
    done = run("top", "--from", recording, "--no-blame", "--format", "json")
    for line in done.stdout.splitlines():
        for row in json.loads(line)["threads"]:
            states.update({(row["tid"], state): ns for state, ns in row["states_ns"].items() if ns})
    result = profile("--from", recording, "--state", "all")
    assert {(row["tid"], state): ns for row in result["threads"] for state, ns in row["states_ns"].items() if ns} == dict(states)
    # and the code's of those that have stacks, to half a nanosecond a row
    for state in result["states"]:
        self_ns = [row["self_ns"] for row in result["functions"] if row["state"] == state["state"]]
        paths_ns = [row["ns"] for row in result["paths"] if row["state"] == state["state"]]
        assert abs(sum(self_ns) - state["sampled_ns"]) <= len(self_ns), state
        assert abs(sum(paths_ns) - state["sampled_ns"]) <= len(paths_ns), state
    # by line and by file it is the same time
    for by in ("line", "file"):
        other = profile("--from", recording, "--state", "all", "--by", by)
        assert abs(sum(row["self_ns"] for row in other["functions"]) - sum(row["self_ns"] for row in result["functions"])) < 1000


RUST = """
use std::{hint::black_box, thread::sleep, time::Duration};
#[inline(never)] fn computes(rounds: u64) -> u64 { (0..rounds).fold(1u64, |x, i| black_box(x.wrapping_mul(i | 1))) }
#[inline(never)] fn naps() { sleep(Duration::from_millis(2)); black_box(()); }
fn main() { loop { black_box(computes(1_000_000)); naps(); } }
"""

CPLUSPLUS = """
#include <chrono>
#include <stdexcept>
#include <thread>
volatile unsigned long sink;
struct Ledger {
	template <typename T> __attribute__((noinline)) void computes(T rounds) { for (T i = 0; i < rounds; i++) sink = sink * 3 + i; }
	__attribute__((noinline)) void naps() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); sink = sink + 1; }
};
int main() { Ledger ledger; for (;;) { ledger.computes(1000000UL); ledger.naps(); try { throw std::runtime_error("x"); } catch (...) {} } }
"""

GO = """package main

import "time"

var sink uint64

//go:noinline
func computes(rounds uint64) {
	for i := uint64(0); i < rounds; i++ {
		sink = sink*3 + i
	}
}

//go:noinline
func naps() { time.Sleep(2 * time.Millisecond) }

func main() {
	for {
		computes(1000000)
		naps()
	}
}
"""

GO_READS = """package main

import "syscall"

var buffer [65536]byte

//go:noinline
func reads(fd int) {
	for i := 0; i < 100; i++ {
		syscall.Read(fd, buffer[:])
	}
}

func main() {
	fd, _ := syscall.Open("/dev/zero", 0, 0)
	for {
		reads(fd)
	}
}
"""


@pytest.mark.measures
def test_where_a_stripped_go_program_has_inlined_its_library(tmp_path):
    """The call is in a file of the library, the function is the program's all the same."""
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    (tmp_path / "it.go").write_text(GO_READS)
    environment = dict(os.environ, GOCACHE=str(tmp_path / "cache"), GO111MODULE="off", HOME=str(tmp_path))
    subprocess.run(["go", "build", "-ldflags=-s -w", "-o", "it", "it.go"], check=True, cwd=tmp_path, env=environment)
    with subprocess.Popen([tmp_path / "it"]) as process:
        result = profile("-p", process.pid, "-d", "2s", "--state", "kernel")
        process.kill()
    spent = collections.Counter()
    for row in result["functions"]:
        spent[row["function"]] += row["self_ns"]
    assert spent["main.reads"] > 10 * spent["main.main"], spent


LANGUAGES = {
    "rust": (RUST, "it.rs", ["rustc", "-O", "-g"], ["-o"], "computes"),
    "c++": (CPLUSPLUS, "it.cc", ["g++", "-O2", "-g"], ["-o"], "computes<unsigned long>"),
    "c++-split": (CPLUSPLUS, "it.cc", ["g++", "-O2", "-g", "-gsplit-dwarf"], ["-o"], "computes<unsigned long>"),
    "go": (GO, "it.go", ["go", "build"], ["-o"], "main.computes"),
    "go-stripped": (GO, "it.go", ["go", "build", "-ldflags=-s -w"], ["-o"], "main.computes"),
    "go-pie-stripped": (GO, "it.go", ["go", "build", "-buildmode=pie", "-ldflags=-s -w"], ["-o"], "main.computes"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_application_frames(language, tmp_path):
    """Of what runs, the program's own function is on 99 in 100 stacks."""
    text, name, command, output, function = LANGUAGES[language]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    (tmp_path / name).write_text(text)
    program = tmp_path / "it"
    environment = dict(os.environ, GOCACHE=str(tmp_path / "cache"), GO111MODULE="off", HOME=str(tmp_path))
    if command[0] == "rustc":
        environment["HOME"] = os.environ.get("HOME", "/root")
    subprocess.run([*command, *output, program, tmp_path / name], check=True, cwd=tmp_path, env=environment, capture_output=True)
    process = subprocess.Popen([program])
    try:
        result = profile("-p", process.pid, "-d", "2s", "--freq", "900")
    finally:
        process.kill()
        process.wait()
    # the runtime of Go has threads of its own, which run none of the program: goroutines begin in goexit
    running = [
        path for path in result["paths"]
        if path["state"] == "user" and path["stack"] and (not language.startswith("go") or path["stack"][-1]["function"].startswith("runtime.goexit"))
    ]  # fmt: skip
    own = sum(path["stacks"] for path in running if any(frame["kind"] == "user" for frame in path["stack"]))
    everything = sum(path["stacks"] for path in running)
    assert everything > 100
    assert own >= 0.99 * everything, (own, everything)
    total = max(row["total_ns"] for row in result["functions"] if row["state"] == "user" and function in row["function"])
    assert total > 0.9 * sum(row["self_ns"] for row in result["functions"] if row["state"] == "user")
    assert any(row["function"] and function in row["function"] and (row["file"] or "").endswith(name) for row in result["functions"])
    # down to where a thread or a goroutine begins, and no further
    quality = result["quality"]
    ends = [quality[f"stacks_{end}"] for end in ("complete", "truncated", "failed")]
    assert ends[0] >= 0.95 * sum(ends), ends


def varints(data):
    """(field, value) of a protocol buffer's message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            length = varint()
            yield key >> 3, data[at : at + length]
            at += length


def test_exports(tmp_path):
    """Folded stacks and pprof have the same times as JSON."""
    recording = tmp_path / "it.dwell"
    with Shares(build_shares("shared", tmp_path), tmp_path) as shares:
        done = run("record", "--stacks", "-p", shares.process.pid, "-d", "4s", "-o", recording)  # the library has 2 %
        assert done.returncode == 0, done.stderr
    result = profile("--from", recording)
    on_cpu = sum(path["ns"] for path in result["paths"] if path["state"] in ON_CPU)
    off_cpu = sum(path["ns"] for path in result["paths"]) - on_cpu
    # folded: microseconds
    done = run("profile", "--from", recording, "--format", "folded")
    lines = [line.rpartition(" ") for line in done.stdout.splitlines()]
    assert abs(sum(int(us) for _, _, us in lines) * 1000 - on_cpu - off_cpu) <= 1000 * len(result["paths"])
    assert any(stack.startswith("lock;") and ";main;" in stack and ";locks;" in stack for stack, _, _ in lines), lines
    assert all("schedule" not in stack for stack, _, _ in lines if stack.startswith("lock;"))
    done = run("profile", "--from", recording, "--format", "folded", "--root", "thread", "--kernel")
    assert any(line.startswith(f"shares-{shares.process.pid};") and "schedule_[k]" in line for line in done.stdout.splitlines())
    check_trace(json.loads(run("profile", "--from", recording, "--format", "chrome").stdout)["traceEvents"], on_cpu + off_cpu)
    # pprof: nanoseconds
    file = tmp_path / "it.pb.gz"
    assert run("profile", "--from", recording, "--format", "pprof", "-o", file).returncode == 0
    message = list(varints(gzip.decompress(file.read_bytes())))
    strings = [value.decode() for field, value in message if field == 6]
    assert strings[0] == "" and "locks" in strings and "lock" in strings
    values = []
    for field, value in message:
        if field == 2:
            packed = dict(varints(value))[2]
            values.append([number for _, number in varints(b"".join(b"\x08" + part for part in split(packed)))])
    assert sum(value[1] for value in values) == on_cpu and sum(value[2] for value in values) == off_cpu
    # each file that is mapped has its build id: field 5 is its name, 6 the id
    mappings = [dict(varints(value)) for field, value in message if field == 3]
    ids = {strings[mapping[5]]: strings[mapping.get(6, 0)] for mapping in mappings}
    assert ids[str(tmp_path / "libshares.so")] == build_id(tmp_path / "libshares.so"), ids
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    for kind, total in (("cpu", on_cpu), ("off_cpu", off_cpu)):
        shown = subprocess.run(
            ["go", "tool", "pprof", "-top", "-unit=ns", f"-sample_index={kind}", file],
            capture_output=True, text=True, check=True, env=dict(os.environ, HOME=str(tmp_path)),
        ).stdout  # fmt: skip
        assert f"of {total}ns total" in shown, shown


def build_id(file):
    notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def check_trace(events, total_ns):
    """What is called lies within its caller, on the same track; the outermost have all the time."""
    tracks, outermost_ns = {}, 0
    for event in (event for event in events if event["ph"] == "X"):
        open_until = tracks.setdefault(event["tid"], [])
        begin, end = event["ts"], event["ts"] + event["dur"]
        callers = [until for since, until in open_until if since - 0.001 <= begin and end <= until + 0.001]
        outermost_ns += 0 if callers else event["dur"] * 1000
        open_until.append((begin, end))
    assert abs(outermost_ns - total_ns) <= total_ns / 1000
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} >= {"lock", "sleep", "user"}


def split(packed):
    """The varints of a packed field, as bytes."""
    begin = 0
    for at, byte in enumerate(packed):
        if byte < 128:
            yield packed[begin : at + 1]
            begin = at + 1


def test_a_command_from_its_first_instruction(tmp_path):
    """Its output goes where it would; the profile to a file."""
    file = tmp_path / "profile"
    done = run("profile", "-o", file, "--format", "json", "--", "sh", "-c", "echo hello; sleep 0.2; exit 3")
    assert done.stdout == "hello\n" and done.returncode == 0, done
    result = json.loads(file.read_text())
    assert {row["comm"] for row in result["threads"]} >= {"sh", "sleep"}
    assert any(row["state"] == "sleep" and row["self_ns"] > 150_000_000 for row in result["functions"])
    again = run("profile", "-o", file, "--", "true")
    assert again.returncode == 1 and "exists: --force" in again.stderr
    assert run("profile", "-o", file, "--force", "--", "true").returncode == 0
    assert run("profile", "-o", tmp_path / "no" / "such", "--", "true").returncode == 1
    full = run("profile", "-o", "/dev/full", "--force", "--", "true")
    assert full.returncode == 1 and "No space left" in full.stderr, full.stderr


def test_who_waits_in_vfork(tmp_path):
    """Its caller is in a register, for the child that shares the stack overwrites it there."""
    program = compile_into(tmp_path / "vfork", "gcc", "-O2", "-fomit-frame-pointer", FIXTURES / "vfork.c")
    result = json.loads(run("profile", "--state", "idle", "--format", "json", "--", program).stdout)
    (idle,) = (state["total_ns"] for state in result["states"] if state["state"] == "idle")
    known = shares_of(result)
    assert idle > 1_200_000_000 and known["spawn_one", "idle"][0] > 0.95 < known["main", "idle"][0], (idle, known)


def test_who_waits_in_posix_spawn(tmp_path):
    """The tables of glibc's clone3() end before its system call."""
    program = compile_into(tmp_path / "spawn", "gcc", "-O2", "-fomit-frame-pointer", FIXTURES / "vfork.c")
    result = json.loads(run("profile", "--state", "idle", "--format", "json", "--", program, tmp_path / "pipe").stdout)
    waiting = [row for row in result["functions"] if (row["function"], row["state"]) == ("spawn_slowly", "idle")]
    assert waiting and waiting[0]["total_ns"] > 400_000_000, waiting
    assert any(row["function"] == "main" and row["total_ns"] > 400_000_000 for row in result["functions"]), result["functions"]


COMPILERS = [["gcc"], ["gcc", "-static"], ["musl-gcc"], ["musl-gcc", "-static"], ["musl-gcc", "-fno-omit-frame-pointer"]]


@pytest.mark.parametrize("compiler", COMPILERS, ids="".join)
def test_waits_are_named_by_who_called_the_c_library(compiler, tmp_path):
    """It may be a part of the program, or have no unwind tables, and the program frame pointers or none."""
    flags = ["-O2", "-g", "-fomit-frame-pointer", *compiler[1:]]
    program = compile_into(tmp_path / "callers", compiler[0], *flags, FIXTURES / "callers.c", "-pthread")
    result = json.loads(run("profile", "--state", "all", "--format", "json", "--", program, "2").stdout)
    own, total = collections.defaultdict(int), collections.defaultdict(int)
    for row in result["functions"]:
        own[row["function"], row["state"]] += row["self_ns"]
        # on a busy machine some have gone on before their stacks were read
        total[row["state"]] += row["self_ns"] if row["function"] else 0
    named = {"ipc": ["reads"], "lock": ["locks"], "sleep": ["holder", "writer", "locker", "main"]}
    for state, functions in named.items():
        assert total[state] > 200_000_000 and sum(own[function, state] for function in functions) > 0.97 * total[state], (state, total, own)
    printing = sum(row["total_ns"] for row in result["functions"] if (row["function"], row["state"]) == ("prints", "user"))
    assert printing > 0.9 * total["user"], (printing, total)
    quality = result["quality"]
    assert quality["stacks_complete"] > 0.98 * sum(quality[f"stacks_{end}"] for end in ("complete", "truncated", "failed")), quality


def test_code_that_a_javascript_engine_has_made_or_built_in(tmp_path):
    """It has no unwind tables, but frame pointers."""
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    script = tmp_path / "script.js"
    script.write_text("""
        function leaf(n) { let sum = 0; for (let i = 0; i < 2000; i++) sum += Math.sqrt(i * n); return sum; }
        function maps(n) { return [1, 2, 3, 4].map(x => leaf(x + n)).reduce((a, b) => a + b); }
        while (process.cpuUsage().user < 2e6) maps(3);
    """)
    command = ("node", "--perf-basic-prof", script)  # which leaves a log where it runs
    result = json.loads(run("profile", "--state", "user", "--format", "json", "--", *command, cwd=tmp_path).stdout)
    ends = [result["quality"][f"stacks_{end}"] for end in ("complete", "truncated", "failed")]
    assert sum(ends) > 100 and ends[0] > 0.95 * sum(ends), ends
    (user_ns,) = (state["total_ns"] for state in result["states"] if state["state"] == "user")
    ours = max((row["total_ns"] for row in result["functions"] if "script.js" in (row["function"] or "")), default=0)
    assert ours > 0.5 * user_ns, (ours, user_ns)


def test_what_is_asked_for():
    process = subprocess.Popen([WORKLOAD, "crowd", "3"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    try:
        # they wait for work: not without being asked for
        assert not profile("-p", process.pid, "-d", "300ms")["functions"]
        idle = profile("-p", process.pid, "-d", "500ms", "--state", "idle")
        assert idle["functions"] and {row["state"] for row in idle["functions"]} == {"idle"}
        assert len(profile("-p", process.pid, "-d", "500ms", "--state", "idle", "--top", "1")["functions"]) == 1
        page = run("profile", "-p", process.pid, "-d", "500ms", "--state", "all").stdout
        assert "HEAVIEST PATHS" in page and "idle" in page
    finally:
        process.kill()
        process.wait()


def test_the_whole_machine():
    result = profile("-d", "500ms")
    assert len({row["pid"] for row in result["threads"]}) > 10


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["--state", "lok"], "did you mean 'lock'?"),
        (["--by", "funktion"], "did you mean 'function'?"),
        (["--root", "x"], "state, thread or none"),
        (["--freq", "100000"], "2500 at most"),
        (["--rate", "0"], "--rate"),
        (["--source", "procfs", "-d", "1s"], "stacks need --source bpf"),
        (["--from", "x", "-p", "1"], "give a target, a command or --from"),
        (["--format", "flamegraph"], "folded"),
    ],
)
def test_mistakes(words, complaint):
    done = run("profile", *words)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


WAITS = """
import time
def ended():
    for _ in range(10): time.sleep(0.1)
def goes_on():
    time.sleep(100)
input()
ended()
goes_on()
"""


def test_a_wait_that_goes_on_is_not_shared_out(tmp_path):
    """What has ended has the time that it took, however long what has not goes on."""
    (tmp_path / "waits.py").write_text(WAITS)
    recording = tmp_path / "it.dwell"
    with subprocess.Popen(["/usr/bin/python3", tmp_path / "waits.py"], stdin=subprocess.PIPE) as process:
        with subprocess.Popen([DWELL, "record", "--stacks", "-p", str(process.pid), "-i", "500ms", "-o", recording], stderr=subprocess.DEVNULL) as recorder:
            # with its second interval the file has its name
            deadline = time.monotonic() + 60
            while not recording.exists():
                assert time.monotonic() < deadline
                time.sleep(0.1)
            process.stdin.write(b"\n")
            process.stdin.flush()
            time.sleep(6)
            recorder.kill()
        process.kill()
    lines = run("profile", "--from", recording, "--state", "sleep", "--format", "folded").stdout.splitlines()
    ns = {name: sum(int(line.rpartition(" ")[2]) for line in lines if f";{name};" in line) for name in ("ended", "goes_on")}
    assert 900_000 < ns["ended"] < 1_300_000 and ns["goes_on"] > 2_500_000, lines


def test_recordings_without_stacks(tmp_path):
    recording = tmp_path / "it.dwell"
    assert run("record", "-d", "200ms", "-i", "100ms", "-o", recording).returncode == 0
    done = run("profile", "--from", recording)
    assert done.returncode == 1 and "has no stacks: record them with dwell record --stacks" in done.stderr
    assert run("record", "--stacks", "--source", "procfs", "-o", tmp_path / "other").returncode == 2


def test_a_target_that_vanishes():
    process = subprocess.Popen(["sh", "-c", "sleep 1; exec sleep 3"])
    result = profile("-p", process.pid, "-d", "20s")
    process.wait()
    assert result["duration_ns"] < 10_000_000_000
    # under its new name, and by the program that it ran then
    sleeping = [path for path in result["paths"] if path["state"] == "sleep"]
    assert sum(path["ns"] for path in sleeping) > 200_000_000, result["states"]
    assert any(frame["module"].endswith("/sleep") for path in sleeping for frame in path["stack"]), sleeping


def test_interrupted(tmp_path):
    file = tmp_path / "it.json"
    process = subprocess.Popen([DWELL, "profile", "--format", "json", "-o", file], stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert json.loads(file.read_text())["duration_ns"] > 0


HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=document.title='taken'>"


def hostile_program(directory):
    """A function with that name."""
    source = directory / "hostile.c"
    source.write_text(
        "#include <unistd.h>\nvolatile unsigned long sink;\n"
        "__attribute__((noinline)) void evil(void) { for (int i = 0; i < 1000000; i++) sink += i; usleep(1000); }\n"
        "int main(void) { for (;;) { evil(); sink++; } }\n"
    )
    program = compile_into(directory / "hostile", "gcc", "-O2", source)
    subprocess.run(["objcopy", f"--redefine-sym=evil={HOSTILE}", program], check=True)
    return program


def test_page(tmp_path):
    """In a browser: drawn, searched, zoomed, by keys too; it asks for nothing, and names are text."""
    file = tmp_path / "it.html"
    process = subprocess.Popen([hostile_program(tmp_path)])
    try:
        done = run("profile", "-p", process.pid, "-d", "1s", "--freq", "400", "--format", "html", "-o", file)
        assert done.returncode == 0, done.stderr
    finally:
        process.kill()
        process.wait()
    found = "document.querySelectorAll('#graph .found').length"
    boxes = "document.querySelectorAll('#graph div').length"
    with browser.Page(file, tmp_path) as page:
        assert re.fullmatch(f"hostile {process.pid}: where [0-9.]+s went", page.evaluate("document.title"))
        everything = page.evaluate(boxes)
        assert everything > 10 and page.evaluate("document.querySelectorAll('#rows tr').length") > 2
        assert page.evaluate("[...document.querySelectorAll('#rows td')].some(cell => cell.textContent.includes('onerror'))")
        page.key("/")
        for letter in "onerror":
            page.key(letter)
        assert page.evaluate(found) > 0
        assert "found: " in page.evaluate("document.getElementById('status').textContent")
        page.key("Escape")
        assert page.evaluate(found) == 0
        # into one state by keys, and back
        for key in ("ArrowDown", "Enter"):
            page.key(key)
        assert page.evaluate(boxes) < everything
        page.key("Escape")
        assert page.evaluate(boxes) == everything
        # a state less, a thread alone, upside down
        page.evaluate("document.querySelector('#states button').click()")
        assert page.evaluate(boxes) < everything
        page.evaluate("document.getElementById('invert').click()")
        assert page.evaluate("document.getElementById('threads').options.length") == 2
        assert not page.errors and page.requests == [f"file://{file}"], (page.errors, page.requests)
        page.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 5000
    for width, dark in ((390, True), (1200, True)):
        with browser.Page(file, tmp_path, width, 800, dark) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"


CLOSURES = """
#include <functional>
#include <time.h>
static double now() { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void spin(double s) { double end = now() + s; volatile double sum = 0; while (now() < end) for (int i = 0; i < 1000; i++) sum += i; }
static std::function<void()> some[2];
__attribute__((noinline)) void setup() {
	some[0] = [] { spin(0.03); }; some[1] = [] { spin(0.01); };
}
int main() { setup(); for (double end = now() + 3; now() < end;) for (auto &one : some) one(); }
"""


@pytest.mark.measures
def test_each_closure_has_a_name(tmp_path):
    """GCC's debug information calls each of them operator()."""
    (tmp_path / "it.cc").write_text(CLOSURES)
    subprocess.run(["g++", "-O1", "-g", "-o", tmp_path / "it", tmp_path / "it.cc"], check=True)
    result = json.loads(run("profile", "--state", "user", "--format", "json", "--", tmp_path / "it").stdout)
    spent = {row["function"]: row["total_ns"] for row in result["functions"] if re.fullmatch(r"setup\(\)::{lambda:\d+:\d+}", row["function"] or "")}
    assert len(spent) == 2 and 1.7 < max(spent.values()) / min(spent.values()) < 6, (spent, [row["function"] for row in result["functions"]])


CLOSURE_IN_FUNCTION = """
fn spin(seconds: f64) -> u64 {
    let mut sum = 0u64;
    let begin = std::time::Instant::now();
    while begin.elapsed().as_secs_f64() < seconds { for i in 0..1000u64 { sum = std::hint::black_box(sum.wrapping_mul(31) ^ i); } }
    sum
}
#[inline(never)] fn apart(work: &dyn Fn() -> u64) -> u64 { work() }
#[inline(never)] fn outer() -> u64 { apart(&|| spin(0.02)) ^ spin(0.01) }
fn main() { for _ in 0..60 { std::hint::black_box(outer()); } }
"""


@pytest.mark.measures
@pytest.mark.skipif(not shutil.which("rustc"), reason="rustc is not installed")
def test_a_closure_is_not_its_function(tmp_path):
    """Each has a row of its own, under its own name."""
    (tmp_path / "it.rs").write_text(CLOSURE_IN_FUNCTION)
    subprocess.run(["rustc", "-O", "-g", "-o", tmp_path / "it", tmp_path / "it.rs"], check=True, capture_output=True)
    result = json.loads(run("profile", "--state", "user", "--format", "json", "--", tmp_path / "it").stdout)
    rows = [(row["function"], row["module"]) for row in result["functions"]]
    assert len(rows) == len(set(rows)), rows
    assert len({name for name, _ in rows if name and name.startswith("it::outer")}) == 2, rows


CHANGED = """
#include <pthread.h>
#include <unistd.h>
volatile unsigned long sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define APART __attribute__((noinline))
APART static void computes(long rounds) { for (long i = 0; i < rounds; i++) sink = sink * 3 + i; sink++; }
APART static void compares(long rounds) { for (long i = 0; i < rounds; i++) sink = sink * 5 + i; sink++; }
APART static void locks(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); sink++; }
static void *holds(void *unused) { for (;;) { pthread_mutex_lock(&mutex); usleep(HELD); pthread_mutex_unlock(&mutex); usleep(1000); } }
/* apart from what computes: how long that takes is the machine's business */
static void *waits(void *unused) { for (;;) { locks(); usleep(1000); } }
int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], 0, holds, 0);
	pthread_create(&threads[1], 0, waits, 0);
	for (;;) { computes(ROUNDS); compares(1000000); usleep(1000); }
}
"""


@pytest.mark.measures
def test_what_two_recordings_differ_in(tmp_path):
    """The function that computes more, and the one that waits longer for a lock; of two runs of one program, none."""
    (tmp_path / "it.c").write_text(CHANGED)
    recordings = []
    for number, (held, rounds) in enumerate(((2000, 1_000_000), (2000, 1_000_000), (9000, 8_000_000))):
        directory = tmp_path / str(number)
        directory.mkdir()
        program = compile_into(directory / "changes", "gcc", "-O2", "-pthread", f"-DHELD={held}", f"-DROUNDS={rounds}", tmp_path / "it.c")
        recordings.append(directory / "it.dwell")
        done = run("record", "--stacks", "-d", "6s", "-i", "100ms", "-o", recordings[-1], "--", program)
        assert done.returncode == 0, done.stderr
    done = run("compare", recordings[0], recordings[1], "--format", "json")
    same = json.loads(done.stdout)
    assert not [row for row in same["rows"] if row["level"] == "code" and row["verdict"] not in ("same", "chance", "undecided", None)], same
    done = run("compare", recordings[0], recordings[2], "--format", "json")
    changed = json.loads(done.stdout)
    assert changed["a"]["stacks"] and changed["b"]["stacks"]
    verdicts = {(row["function"], row["state"]): row["verdict"] for row in changed["rows"] if row["level"] == "code"}
    assert verdicts["computes", "user"] == "more" and verdicts["locks", "lock"] == "worse", verdicts
    page = run("compare", recordings[0], recordings[2]).stdout
    assert " in locks " in page and "changes computes more in computes: " in page, page
    check_difference(tmp_path, recordings)


def check_difference(directory, recordings):
    """The page with both: what takes more is red, and first in the table; of two runs of one program nothing is."""
    rows = "[...document.querySelectorAll('#rows tr')].map(row => [...row.children].map(cell => cell.textContent))"
    red = "[...document.querySelectorAll('#graph div')].filter(box => box.style.background.includes('--more')).map(box => box.textContent)"
    for name, after in (("same", recordings[1]), ("changed", recordings[2])):
        file = directory / f"{name}.html"
        done = run("profile", "--from", after, "--before", recordings[0], "--format", "html", "-o", file)
        assert done.returncode == 0, done.stderr
    with browser.Page(directory / "changed.html", directory, 1200, 800) as page:
        changes = {(row[5].partition(".")[0], row[4]): row[7] for row in page.evaluate(rows)}
        assert changes["computes", "user"].startswith("+") and changes["locks", "lock"].startswith("+"), changes
        assert {"computes", "locks"} <= {name.partition(".")[0] for name in page.evaluate(red)}, page.evaluate(red)
        page.evaluate("document.getElementById('difference').click()")
        assert not page.evaluate(red) and not page.errors, page.errors
    with browser.Page(directory / "same.html", directory, 1200, 800) as page:
        changed = [row for row in page.evaluate(rows) if row[7] and float(row[7].split()[0].replace("\u2212", "-")) > 2]
        assert not changed and not page.errors, (changed, page.errors)


def test_before_needs_a_page_and_stacks(tmp_path):
    golden = pathlib.Path(__file__).parents[1] / "golden"
    for arguments, word in (
        (["--before", golden / "stacks.dwell"], "--format html"),
        (["--before", golden / "mixed.dwell", "--format", "html"], "has no stacks"),
        (["--before", tmp_path / "none.dwell", "--format", "html"], "none.dwell"),
    ):
        done = run("profile", "--from", golden / "stacks.dwell", *arguments)
        assert done.returncode and word in done.stderr and not done.stdout, (arguments, done.stderr)


SPINS = """
#include <time.h>
__attribute__((noinline)) void NAME(void) { for (volatile long i = 0; i < 1000000; i++); }
int main(void) { for (time_t end = time(0) + 2; time(0) < end;) NAME(); }
"""


def test_a_program_that_is_written_again_in_place(tmp_path):
    """As by cp over one that has ended: the file keeps its inode, and has other functions at its addresses."""
    builds = ["of_the_old_build", "of_the_new_build"]
    for name in builds:
        subprocess.run(["gcc", "-O1", f"-DNAME={name}", "-xc", "-", "-o", tmp_path / name], input=SPINS, text=True, check=True)
    script = "for build; do cat $build > program; chmod +x program; ./program; done"
    done = run("profile", "--format", "json", "--", "sh", "-c", f"cd {tmp_path} && {script}", "sh", *builds)
    result = json.loads(done.stdout.splitlines()[-1])
    seconds = {name: sum(row["self_ns"] for row in result["functions"] if row["function"] == name) / 1e9 for name in builds}
    assert all(value > 0.5 for value in seconds.values()), seconds
