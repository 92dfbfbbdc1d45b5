# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile`: the names of code, by language, compiler and library, and who called it."""
import collections
import json
import re
import shutil
import subprocess

import pytest

from conftest import run
from profiles import FIXTURES, profile, shares_of
from services import build_go
from test_libraries import compile_into

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
    with subprocess.Popen([build_go(tmp_path, GO_READS, "-ldflags=-s -w")]) as process:
        result = profile("-p", process.pid, "-d", "2s", "--state", "kernel")
        process.kill()
    spent = collections.Counter()
    for row in result["functions"]:
        spent[row["function"]] += row["self_ns"]
    assert spent["main.reads"] > 10 * spent["main.main"], spent


GO_CALLS = """package main

var sink uint64

//go:noinline
func burns() {
	for i := uint64(0); i < 300000; i++ {
		sink = sink*3 + i
	}
}

//go:noinline
func deep(depth int) {
	var room [200]byte
	room[depth] = 1
	if depth == 0 {
		burns()
	} else {
		deep(depth - 1)
	}
	sink += uint64(room[3])
}

//go:noinline
func defers() {
	defer func() { burns() }()
	sink++
}

//go:noinline
func panics() {
	defer func() {
		recover()
		burns()
	}()
	panic("x")
}

func main() {
	for {
		deep(20)
		defers()
		panics()
	}
}
"""
#: who may have called a function
GO_CALLERS = {
    "main.burns": {"main.deep", "main.defers.func1", "main.panics.func1"},
    "main.deep": {"main.deep", "main.main"},
    "main.defers.func1": {"main.defers"},
    "main.defers": {"main.main"},
    "runtime.gopanic": {"main.panics"},
    "main.panics": {"main.main"},
    "main.main": {"runtime.main"},
    "runtime.main": {"runtime.goexit"},
}


def test_who_called_in_a_stripped_go_program(tmp_path):
    """Only who did, and each of them: what former calls have left on the stack counts for nothing."""
    with subprocess.Popen([build_go(tmp_path, GO_CALLS, "-ldflags=-s -w")]) as process:
        result = profile("-p", process.pid, "-d", "2s", "--freq", "900")
        process.kill()
    edges = collections.Counter()
    for path in result["paths"]:
        names = [frame["function"].removesuffix(".abi0") for frame in path["stack"] if frame["function"] and not frame["inlined"]]
        edges.update(zip(names, names[1:]))
    found = {called: {caller for name, caller in edges if name == called} for called in GO_CALLERS}
    assert found == GO_CALLERS, found
    ends = [result["quality"][f"stacks_{end}"] for end in ("complete", "truncated", "failed")]
    assert ends[0] >= 0.95 * sum(ends), ends


C = """
#include <unistd.h>
volatile unsigned long sink;
__attribute__((noinline)) static void computes(unsigned long rounds) { for (unsigned long i = 0; i < rounds; i++) sink = sink * 3 + i; }
__attribute__((noinline)) static void naps(void) { usleep(2000); sink = sink + 1; }
int main(void) { for (;;) { computes(1000000); naps(); } }
"""

GCC = ["gcc", "-O2", "-g", "-fomit-frame-pointer"]
GXX = ["g++", "-O2", "-g", "-fomit-frame-pointer"]
RUSTC = ["rustc", "-O", "-g"]
LANGUAGES = {
    "c": (C, "it.c", GCC, "computes"),
    "c-lto": (C, "it.c", [*GCC, "-flto"], "computes"),
    "c-no-pie": (C, "it.c", [*GCC, "-fno-pie", "-no-pie"], "computes"),
    "rust": (RUST, "it.rs", RUSTC, "computes"),
    "rust-lto": (RUST, "it.rs", [*RUSTC, "-C", "lto"], "computes"),
    "rust-no-pie": (RUST, "it.rs", [*RUSTC, "-C", "relocation-model=static"], "computes"),
    "c++": (CPLUSPLUS, "it.cc", GXX, "computes<unsigned long>"),
    "c++-lto": (CPLUSPLUS, "it.cc", [*GXX, "-flto"], "computes<unsigned long>"),
    "c++-no-pie": (CPLUSPLUS, "it.cc", [*GXX, "-fno-pie", "-no-pie"], "computes<unsigned long>"),
    "c++-split": (CPLUSPLUS, "it.cc", [*GXX, "-gsplit-dwarf"], "computes<unsigned long>"),
    "go": (GO, "it.go", ["go"], "main.computes"),
    "go-stripped": (GO, "it.go", ["go", "-ldflags=-s -w"], "main.computes"),
    "go-pie-stripped": (GO, "it.go", ["go", "-buildmode=pie", "-ldflags=-s -w"], "main.computes"),
}


def is_of_go_itself(path):
    """A thread that looks for a goroutine to run: on a stack that begins where the runtime does."""
    return bool(path["stack"]) and path["stack"][-1]["function"].split(".abi0")[0] in GO_BEGINNINGS


#: of threads, and of what is called on their stacks in place of a goroutine's
GO_BEGINNINGS = {"runtime.mstart", "runtime.mstart0", "runtime.mstart1", "runtime.clone", "runtime.rt0_go", "runtime.mcall", "runtime.systemstack"}


@pytest.mark.measures
@pytest.mark.parametrize("language", LANGUAGES)
def test_application_frames(language, tmp_path):
    """The program's own code is on 99 of 100 stacks, of what runs and of what waits; what has no stack counts, too.

    Not of threads that Go has for itself: those that never run the program.
    """
    text, name, command, function = LANGUAGES[language]
    is_go = command[0] == "go"
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    if is_go:
        program = build_go(tmp_path, text, *command[1:])
    else:
        program = tmp_path / "it"
        (tmp_path / name).write_text(text)
        subprocess.run([*command, "-o", program, tmp_path / name], check=True, cwd=tmp_path, capture_output=True)
    process = subprocess.Popen([program])
    try:
        result = profile("-p", process.pid, "-d", "2s", "--freq", "900")
    finally:
        process.kill()
        process.wait()
    paths = [path for path in result["paths"] if not (is_go and is_of_go_itself(path))]
    own = [path for path in paths if any(frame["module"] == str(program) and (not is_go or frame["function"].startswith("main.")) for frame in path["stack"])]
    if is_go:
        threads = {path["tid"] for path in own}
        paths = [path for path in paths if path["tid"] in threads]
    stacks, with_own = (sum(path["stacks"] for path in some) for some in (paths, own))
    assert stacks > 100 and with_own >= 0.99 * stacks, (with_own, stacks, [(path["state"], path["stacks"], [frame["function"] for frame in path["stack"]]) for path in paths if path not in own])
    states = {path["state"] for path in own}
    assert "user" in states and (is_go or "sleep" in states), states
    total = max(row["total_ns"] for row in result["functions"] if row["state"] == "user" and function in row["function"])
    assert total > 0.9 * sum(row["self_ns"] for row in result["functions"] if row["state"] == "user")
    assert any(row["function"] and function in row["function"] and (row["file"] or "").endswith(name) for row in result["functions"])
    # down to where a thread or a goroutine begins, and no further
    quality = result["quality"]
    ends = [quality[f"stacks_{end}"] for end in ("complete", "truncated", "failed")]
    assert ends[0] >= 0.95 * sum(ends), ends


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


VERSIONED = """
__asm__(".symver work_of_version_1, work@@V_1");
__attribute__((noinline)) void work_of_version_1(void) { for (volatile long i = 0; i < 1000000; i++) ; }
"""
CALLS_IT = "void work(void); int main(void) { for (int i = 0; i < 400; i++) work(); }"


def test_names_that_a_library_exports(tmp_path):
    """Not those that it has for itself, and without their versions."""
    (tmp_path / "versions").write_text("V_1 { global: work; local: *; };")
    for name, source in (("library.c", VERSIONED), ("program.c", CALLS_IT)):
        (tmp_path / name).write_text(source)
    library = compile_into(tmp_path / "libwork.so", "gcc", "-O1", "-shared", "-fPIC", tmp_path / "library.c", f"-Wl,--version-script={tmp_path}/versions")
    program = compile_into(tmp_path / "program", "gcc", "-O1", tmp_path / "program.c", library, f"-Wl,-rpath,{tmp_path}")
    result = json.loads(run("profile", "--state", "user", "--format", "json", "--", program).stdout)
    assert {row["function"] for row in result["functions"] if row["total_ns"] > 100_000_000} >= {"work", "main"}, result["functions"]


COMPILERS = [["gcc"], ["gcc", "-static"], ["musl-gcc"], ["musl-gcc", "-static"], ["musl-gcc", "-fno-omit-frame-pointer"]]


@pytest.mark.measures
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


ONE_FUNCTION = """
#include <time.h>
static volatile unsigned long count;
__attribute__((noinline)) void FUNCTION(void) { for (int i = 0; i < 1000000; i++) count++; }
int main(void) { for (time_t end = time(NULL) + 3; time(NULL) < end;) FUNCTION(); return 0; }
"""


def test_sessions_that_are_read_as_one_keep_their_functions(tmp_path):
    """Two sessions in the directory of a rotation number their stacks from one on, each."""
    (tmp_path / "it.c").write_text(ONE_FUNCTION)
    ring = tmp_path / "ring"
    ring.mkdir()
    functions = ["computes_first", "computes_second"]
    for function in functions:
        program = compile_into(tmp_path / function, "gcc", "-O1", f"-DFUNCTION={function}", tmp_path / "it.c")
        done = run("record", "--stacks", "-i", "100ms", "-d", "2s", "--rotate", "1h", "-o", ring / "it.dwell", "--", program)
        assert done.returncode == 0, done.stderr
    compared = json.loads(run("compare", ring, ring, "--all", "--format", "json").stdout)
    shares = {row["function"]: row["a"] for row in compared["rows"] if row["level"] == "code" and row["state"] == "user"}
    assert set(functions) <= set(shares), shares
    found = {row["function"] for row in json.loads(run("profile", "--from", ring, "--format", "json").stdout)["functions"]}
    assert set(functions) <= found, found


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
    result = json.loads(done.stdout)
    seconds = {name: sum(row["self_ns"] for row in result["functions"] if row["function"] == name) / 1e9 for name in builds}
    assert all(value > 0.5 for value in seconds.values()), seconds
