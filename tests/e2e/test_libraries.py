# SPDX-License-Identifier: GPL-2.0-or-later
"""Each way in which a library waits is recognized, whatever it was built with; where nothing has a name it is unknown, and never wrong."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import DWELL, lost, parse, run, totals

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
C, RUST = FIXTURES / "library-waits.c", FIXTURES / "library-waits.rs"
FUTEXES, OPENMP = FIXTURES / "library-futexes.c", FIXTURES / "openmp.c"
FUTEX = {"lock", "idle"}  # the same system call for the kernel
ON_QUEUE = {"user", "kernel", "runnable", "stolen", "irq"}
BOUND = 0.01  # of wall time, as in test_truth.py
EDGES_NS = 4_000_000

#: name: (command, where everything is recognized)
BUILDS = {
    "glibc": (["gcc", "-O2", C], True),
    "glibc-stripped": (["gcc", "-O2", "-s", C], True),
    "glibc-postgres": (["gcc", "-O2", "-s", "-rdynamic", "-DPOSTGRES", C], True),
    "glibc-O0": (["gcc", "-O0", "-fcf-protection=none", C], True),
    "glibc-no-plt": (["gcc", "-O2", "-fno-plt", "-fcf-protection", C], True),
    "glibc-static": (["gcc", "-O2", "-static", C], True),
    "glibc-static-stripped": (["gcc", "-O2", "-static", "-s", C], False),
    "musl": (["musl-gcc", "-O2", C], True),
    "musl-stripped": (["musl-gcc", "-O2", "-s", C], True),
    "glibc-mysql": (["gcc", "-O2", "-s", "-rdynamic", "-DMYSQL", C], True),
    "musl-postgres": (["musl-gcc", "-O2", "-s", "-rdynamic", "-DPOSTGRES", C], True),
    "musl-static": (["musl-gcc", "-O2", "-static", C], True),
    "musl-static-stripped": (["musl-gcc", "-O2", "-static", "-s", C], False),
    "rust": (["rustc", "-O", RUST], True),
    "rust-debug": (["rustc", "-g", RUST], True),
    "rust-stripped": (["rustc", "-O", "-C", "strip=symbols", RUST], False),
}
#: Those whose own locks are looked for have names.
PROGRAMS = {"postgres": "postgres", "mysql": "mysqld"}


def compile_into(program, compiler, *arguments):
    """Also to the disk: its threads would wait for that when they touch its pages."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    subprocess.run([compiler, *arguments, "-o", program], check=True, capture_output=True)
    with open(program, "rb+") as file:
        os.fsync(file.fileno())
    return program


def build_it(build, directory):
    return compile_into(directory / PROGRAMS.get(build.partition("-")[2], "waits"), *BUILDS[build][0])


def judge(output, recognized, ways=13):
    """A thread that does not run, or wait for a CPU, is in its one wait; dwell may answer late whether that is for a lock.

    Who has a lock is known, if at all, of the mutexes that the first thread has taken.
    """
    intervals, ended = parse(output)
    assert ended["status"] == 0
    for blame in (blame for interval in intervals for blame in interval["blame"] if blame["held_by"]):
        assert blame["victim"]["comm"] in ("lock=lock", "tlock=lock", "mcond=lock") and blame["held_by"]["tid"] == blame["held_by"]["pid"], blame
    seen, wrong = {}, []
    for thread in totals(intervals).values():
        way, _, right = thread["name"].partition("=")
        if not right:
            continue
        seen[way] = states = {state: ns for state, ns in thread["states"].items() if ns and state not in ON_QUEUE}
        allowed = {right} if recognized or right not in FUTEX else {right, "unknown"}
        if sum(ns for state, ns in states.items() if state not in allowed) > BOUND * thread["observed_ns"] + EDGES_NS or not states:
            wrong.append((way, states))
    assert len(seen) == ways and not wrong, (wrong, seen)


def ways_of(build):
    return 12 if build.startswith("rust") else {"postgres": 17, "mysql": 18}.get(build.partition("-")[2], 13)


@pytest.mark.parametrize("build", BUILDS)
def test_waits_of_a_library(build, tmp_path):
    judge(run("top", "--blame", "-i", "2s", "--format", "json", "--", build_it(build, tmp_path)).stdout, BUILDS[build][1],
          ways=ways_of(build))


#: As a backend of PostgreSQL that waits for locks which others have for fractions of a millisecond, each time from another function.
SHORT = """
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#define noinline __attribute__((noinline))
noinline void PGSemaphoreLock(sem_t *lock) { while (sem_wait(lock)) ; __asm__ volatile("" : : : "memory"); }
noinline int work(int depth) { volatile char some[100]; some[depth] = depth; return depth ? work(depth - 1) + some[depth] : 0; }
noinline void work_long(void) { for (int i = 0; i < 2000; i++) work(9); }
noinline void take_one(sem_t *lock) { volatile char some[40]; some[0] = 0; PGSemaphoreLock(lock); some[1] = 0; }
noinline void take_other(sem_t *lock) { volatile char some[90]; some[0] = 0; PGSemaphoreLock(lock); some[1] = 0; }
int main(void)
{
	sem_t *lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	sem_init(lock, 1, 0);
	for (int i = 0; i < 1; i++)
		if (!fork()) {
			prctl(PR_SET_NAME, "waiter");
			prctl(PR_SET_PDEATHSIG, 9);
			for (;; take_other(lock), work_long())
				take_one(lock), work_long();
		}
	for (int i = 0; i < 8000; i++) {
		for (volatile int k = 0; k < 250000; k++)
			;
		sem_post(lock);
	}
}
"""


def test_waits_that_are_over_before_they_are_looked_at(tmp_path):
    """Where such a thread waited is known by what its stack was then."""
    (tmp_path / "it.c").write_text(SHORT)
    program = compile_into(tmp_path / "postgres", "gcc", "-O2", "-rdynamic", tmp_path / "it.c")
    intervals, _ = parse(run("top", "-i", "1s", "--format", "json", "--", program).stdout)
    waiters = [thread for thread in totals(intervals).values() if thread["name"] == "waiter"]
    assert len(waiters) == 1
    for thread in waiters:
        states = thread["states"]
        assert states["lock"] > 9 * (states["idle"] + states["unknown"]), states


def test_futexes_of_libraries(tmp_path):
    """They wait with values that say nothing, or that are those of a lock; their inner functions have no names."""
    library = compile_into(tmp_path / "libtbb.so.12", "gcc", "-O2", "-s", "-shared", "-fPIC", "-DLIBRARY", FUTEXES)
    program = compile_into(tmp_path / "waits", "gcc", "-O2", "-s", "-rdynamic", FUTEXES, library, f"-Wl,-rpath,{tmp_path}")
    judge(run("top", "--blame", "-i", "2s", "--format", "json", "--", program).stdout, True, ways=8)


@pytest.mark.measures
def test_openmp(tmp_path):
    """libgomp's functions have no names; each thread says how long it waited for a lock, and for others."""
    program = compile_into(tmp_path / "waits", "gcc", "-O2", "-fopenmp", OPENMP)
    done = run("top", "-i", "1s", "--format", "json", "--", "env", "OMP_WAIT_POLICY=passive", program, 4)
    intervals, _ = parse(done.stdout)
    # beside JSON what the command prints goes there
    threads, own = totals(intervals), [line.split() for line in done.stderr.splitlines()]
    assert len(own) == 4, done.stderr[-500:]
    for tid, lock_ns, idle_ns in own:
        thread = threads[int(tid)]
        # the first waits may be over before their places are known; clocks are read while the thread may lose its CPU
        bound = 0.02 * thread["observed_ns"] + thread["states"]["unknown"] + thread["states"]["runnable"]
        assert thread["states"]["unknown"] < 0.1 * thread["observed_ns"], thread
        for state, own_ns in ("lock", int(lock_ns)), ("idle", int(idle_ns)):
            assert abs(thread["states"][state] - own_ns) <= bound, (state, own_ns, thread)


def below(pid):
    """All processes that it has started, and they."""
    try:
        children = [int(word) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]
    except OSError:
        return []
    return children + [one for child in children for one in below(child)]


def await_processes(pid, name, threads=1, seconds=10):
    """Until there are some below it of that name, with so many threads each."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            found = [one for one in below(pid) if pathlib.Path(f"/proc/{one}/comm").read_text().strip() == name]
            if found and all(len(os.listdir(f"/proc/{one}/task")) >= threads for one in found):
                return found
        except OSError:
            pass  # one has ended
    raise AssertionError(f"{name} has not been started")


#: What `workload` is made of, beside its fixtures, and more; what is not called is left out, with the libraries that it would need.
OF_WORKLOAD = ["verify/pattern*.c", "verify/calls*.c", "verify/meter.c", "verify/ends.c", "base/*.c", "model/state.c", "capture/features.c",
               "capture/kernel_btf.c"]
BUILT = pathlib.Path(DWELL).resolve().parent  # has headers that the build makes
KERNEL_HEADERS = ["-idirafter", "/usr/include", "-idirafter", f"/usr/include/{os.uname().machine}-linux-gnu"]  # musl brings none

#: compiler: its own flags, to compile
COMPILERS = {"gcc": [], "musl-gcc": KERNEL_HEADERS}

#: name: (compiler, flags to link, whether every wait for a futex is recognized)
WORKLOADS = {
    "glibc-static": ("gcc", ["-static"], True),
    "glibc-static-stripped": ("gcc", ["-static", "-s"], False),
    "musl-stripped": ("musl-gcc", ["-s"], True),
    "musl-static-stripped": ("musl-gcc", ["-static", "-s"], False),
}


@pytest.fixture(scope="module")
def objects_of_workload(tmp_path_factory):
    """objects(compiler) of `workload`. Builds that only differ in how they are linked share them: to compile is most of the work."""
    made, top = {}, FIXTURES.parents[1]
    fixtures = [FIXTURES / f"{name}.c" for name in ("blame", "cpu", "file", "mixed", "workload")]
    sources = [*fixtures, *[source for pattern in OF_WORKLOAD for source in sorted((top / "src").glob(pattern))]]

    def objects(compiler):
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        if compiler not in made:
            made[compiler] = []
            # a directory each: two sources may have one name
            for parent in sorted({source.parent for source in sources}):
                directory = tmp_path_factory.mktemp(f"{compiler}-{parent.name}")
                command = [compiler, "-std=gnu11", "-O2", *COMPILERS[compiler], f"-I{top}/src", f"-I{top}/include", f"-I{BUILT}/src",
                           "-ffunction-sections", "-pthread", "-c", *[source for source in sources if source.parent == parent]]  # fmt: skip
                subprocess.run(command, cwd=directory, check=True, capture_output=True)
                made[compiler] += sorted(directory.iterdir())
        return made[compiler]

    return objects


@pytest.mark.measures
@pytest.mark.parametrize("build", WORKLOADS)
def test_every_call_by_another_library(build, watch, objects_of_workload, tmp_path):
    """As test_truth.py's test_calls_that_wait: each thread says itself how long it was in which state."""
    compiler, flags, recognized = WORKLOADS[build]
    program = compile_into(tmp_path / "workload", compiler, *flags, "-Wl,--gc-sections", *objects_of_workload(compiler), "-pthread", "-lm")
    threads, own, _ = watch("calls", program=program)
    wrong = []
    for figures in own:
        states, bound = threads[figures["tid"]]["states"], BOUND * figures["wall_ns"] + EDGES_NS
        for state in ("disk", "net", "ipc", "lock", "swap", "sleep", "idle", "stopped"):
            seen, true = states[state], figures[f"{state}_ns"]
            hidden = states["unknown"] if not recognized and state in FUTEX else 0
            if not true - hidden - bound <= seen <= true + bound:
                wrong.append((figures["name"], state, seen, true))
    assert len(own) >= 70 and not wrong, wrong


def watched_without_helpers(program):
    """dwell and the program, all of whose threads wait; the helpers get no CPU."""
    process = subprocess.Popen([DWELL, "top", "--blame", "-i", "10s", "--format", "json", "--", program], stdout=subprocess.PIPE, text=True)
    await_processes(process.pid, "waits")
    helpers = await_processes(process.pid, "dwell-helper")
    for pid in helpers:
        os.kill(pid, signal.SIGSTOP)
    await_processes(process.pid, "waits", threads=13)
    return process, helpers


def test_an_answer_that_comes_late_counts(tmp_path):
    """Helpers that get no CPU for a while: the waits go on, so what is found out then is still about them."""
    process, helpers = watched_without_helpers(build_it("musl-static-stripped", tmp_path))
    # longer than dwell waits for the first answer, shorter than what it takes for a hang
    time.sleep(1.5)
    for pid in helpers:
        os.kill(pid, signal.SIGCONT)
    judge(process.communicate(timeout=60)[0], False)


def of_waits(interval, but=()):
    """Rows of threads that are called by what they wait for, of other processes than some: their name to what they were in."""
    rows = [row for row in interval["threads"] if "=" in row["comm"] and row["pid"] not in but and not row["exited"]]
    return {row["comm"]: {state: ns for state, ns in row["states_ns"].items() if ns and state not in ON_QUEUE} for row in rows}


def test_an_answer_that_comes_after_reports_counts_from_then_on(tmp_path):
    """A wait that was already reported as something else, as it is at the start of dwell: what was reported stays."""
    program = build_it("glibc-postgres", tmp_path)
    script = f"{program} & first=$!; read line; kill $first; exec {program}"
    process = subprocess.Popen([DWELL, "top", "-a", "--blame", "-i", "200ms", "--format", "json", "--", "sh", "-c", script],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    lines = []

    def interval():
        lines.append(process.stdout.readline())
        return json.loads(lines[-1])

    # it has answered once: from now on no snapshot waits for it
    while "lock" not in of_waits(interval()).get("row=lock", {}):
        pass
    first, helpers = await_processes(process.pid, "postgres"), await_processes(process.pid, "dwell-helper")
    for pid in helpers:
        os.kill(pid, signal.SIGSTOP)
    print(file=process.stdin, flush=True)
    while "idle" not in of_waits(interval(), but=first).get("row=lock", {}):
        pass
    for pid in helpers:
        os.kill(pid, signal.SIGCONT)
    while "idle" in of_waits(interval(), but=first).get("row=lock", {}):
        assert len(lines) < 100
    lines += process.stdout.readlines()
    intervals, ended = parse("".join(lines))
    assert process.wait() == ended["status"] == 0 and lost(intervals) == 0
    # in the very last one, some have ended
    at_last = next(seen for seen in map(lambda interval: of_waits(interval, but=first), reversed(intervals)) if len(seen) == 17)
    assert all(set(states) <= {way.partition("=")[2]} for way, states in at_last.items()), at_last


@pytest.mark.parametrize("build", ["glibc", "glibc-static-stripped", "musl", "musl-static-stripped", "rust"])
def test_without_an_answer_nothing_is_wrong(build, tmp_path):
    """What the futex alone says is certain, or the wait is unknown."""
    process, _ = watched_without_helpers(build_it(build, tmp_path))
    judge(process.communicate(timeout=60)[0], False, ways=ways_of(build))
