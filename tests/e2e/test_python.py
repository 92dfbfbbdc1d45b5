# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile` of Python programs: the frames of CPython in place of its interpreter's."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import parse, run, totals

pytestmark = pytest.mark.measures

PROGRAM = pathlib.Path(__file__).parents[1] / "fixtures" / "python_program.py"


def interpreters():
    """Debian's, and others that are there."""
    found = {}
    for minor in range(8, 14):
        name = f"python3.{minor}"
        installed = sorted(pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}"))
        for path in [f"/usr/bin/{name}", *installed]:
            if pathlib.Path(path).exists():
                found[f"{name}-{'debian' if str(path).startswith('/usr') else 'built'}"] = path
    return found


FOUND = interpreters()


class Python:
    def __init__(self, interpreter, *arguments):
        self.process = subprocess.Popen([interpreter, *map(str, arguments)], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def profile(pid, *options):
    done = run("profile", "-p", pid, "-d", "3s", "--state", "all", "--format", "json", *options, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def stacks_of(result):
    """(state, frames from the innermost on, ns)."""
    return [(path["state"], path["stack"], path["ns"]) for path in result["paths"]]


FORKS = """
import os
if not os.fork():
    print("ready", flush=True)
    while True:
        sum(range(100))
os.wait()
"""


def test_all_that_are_watched_have_frames_from_the_first_sample_on():
    """Not the first process alone: another one, and what that has forked before."""
    with Python("/usr/bin/python3", PROGRAM) as one, Python("/usr/bin/python3", "-c", FORKS) as forking:
        result = profile(f"{one},{forking}", "--children")
        subprocess.run(["pkill", "-P", str(forking)], check=True)
    stacks = [[frame["function"] for frame in frames] for _, frames, _ in stacks_of(result) if frames]
    assert sum("<module>" in functions for functions in stacks) > 10
    assert not [functions for functions in stacks if any("EvalFrame" in function for function in functions)]


@pytest.mark.parametrize("name", ["python3.14", "python3.11t"])
def test_an_interpreter_that_cannot_be_looked_into_is_named(tmp_path, name):
    """Newer than those whose structures are known, or without an interpreter lock; that is by the file's name."""
    program = shutil.copy(pathlib.Path("/usr/bin/python3").resolve(), tmp_path / name)
    said = f"/{name} is a CPython that dwell cannot look into (3.8 to 3.13 with an interpreter lock are): functions are the interpreter's"
    with Python("env", "PYTHONHOME=/usr", program, PROGRAM) as pid:
        page = run("profile", "-p", pid, "-d", "1s").stdout
        result = profile(pid)
    assert re.search(rf"^not measured: python: \S*{re.escape(said)}$", page, re.M), page
    assert [missing["source"] for missing in result["quality"]["unavailable"] if missing["why"].endswith(said)] == ["python"], result["quality"]
    assert any("EvalFrame" in frame["function"] for _, frames, _ in stacks_of(result) for frame in frames), result["paths"][:3]


#: What there is of an interpreter of before 3.7, for who looks at it from outside.
OLD = r"""
#include <stdio.h>
int PyCode_Type[64];
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (volatile int i = 0;; i++)
		;
}
"""


@pytest.mark.parametrize("name", ["python2.7", "python3.6"])
def test_an_old_interpreter_is_named(tmp_path, name):
    subprocess.run(["cc", "-rdynamic", "-xc", "-", "-o", tmp_path / name], input=OLD, text=True, check=True)
    with Python(tmp_path / name) as pid:
        page = run("profile", "-p", pid, "-d", "1s").stdout
    assert re.search(rf"^not measured: python: \S*/{re.escape(name)} is a CPython that dwell cannot look into \(3\.8 to", page, re.M), page


@pytest.mark.parametrize("name", FOUND)
def test_frames(name):
    with Python(FOUND[name], PROGRAM) as pid:
        result = profile(pid)
    stacks = [(state, frames, ns) for state, frames, ns in stacks_of(result) if frames]
    total_ns = sum(ns for _, _, ns in stacks)
    mine = [(state, frames, ns) for state, frames, ns in stacks if any(frame["file"] == str(PROGRAM) for frame in frames)]
    assert sum(ns for _, _, ns in mine) >= 0.99 * total_ns, [part for part in stacks if part not in mine][:3]
    seen = collections.Counter()
    for state, frames, ns in mine:
        functions = [frame["function"] for frame in frames]
        # the interpreter's own functions are not among those of the program
        assert not any("EvalFrame" in function or function.startswith(("python3", "libpython")) for function in functions), functions
        assert functions.count("<module>") + functions.count("Thread._bootstrap") + functions.count("_bootstrap") == 1, functions
        for function in set(functions):
            seen[function.rpartition(".")[2], state in ("user", "kernel", "runnable")] += ns
        if "recurses" in functions and "nanosleep" in "".join(functions):
            assert functions.count("recurses") == 41, functions
        if "key" in functions[0:4]:
            assert "sorts" in functions, functions
    for function in ("spins", "compresses", "awaits"):
        assert seen[function, True], (function, seen)
    for function in ("numbers", "méthode", "key", "recurses", "in_a_thread"):
        assert seen[function, False], (function, seen)
    # what it calls of a C library lies below it
    below = [frames for _, frames, _ in mine if frames[0]["module"].rpartition("/")[2].startswith("libz.so")]
    assert below and all(any(frame["function"] == "compresses" for frame in frames) for frames in below), mine[:3]
    # a line's time is that line's
    lines = collections.Counter()
    for state, frames, ns in mine:
        if state == "user" and frames[0]["function"] == "spins":
            lines[PROGRAM.read_text().splitlines()[frames[0]["line"] - 1].strip()] += ns
    assert lines.most_common(1)[0][0].endswith("# the line that takes the time"), lines


def test_the_program_is_named_not_the_interpreter():
    """In the table, the functions of the program are those to which time is owed; those of Python's own library are not."""
    with Python(sys.executable, PROGRAM) as pid:
        result = profile(pid)
    kinds = {frame["function"].rpartition(".")[2]: frame["kind"] for _, frames, _ in stacks_of(result) for frame in frames}
    assert kinds["spins"] == "user" and kinds["_bootstrap"] == "standard", kinds
    named = {(row["function"], row["state"]) for row in result["functions"] if row["self_ns"] > 10_000_000}
    assert ("in_a_thread", "sleep") in named and ("Größe.méthode", "sleep") in named, named


BLOCKING = """
import asyncio, time
def reads_rates():
    time.sleep(0.04)
def parses(seconds=0.04):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))
async def handles():
    while True:
        await asyncio.sleep(0.02)
        reads_rates()
        await asyncio.sleep(0.02)
        parses()
print("ready", flush=True)
asyncio.run(handles())
"""


@pytest.mark.measures
@pytest.mark.parametrize("name", FOUND)
def test_what_blocks_an_event_loop(tmp_path, name):
    """`dwell blocked` of asyncio: the functions that keep the loop, with their lines."""
    (tmp_path / "it.py").write_text(BLOCKING)
    with Python(FOUND[name], tmp_path / "it.py") as pid:
        done = run("blocked", "-p", pid, "-d", "3s", "--format", "json", timeout=60)
    assert done.returncode == 0, done.stderr
    stalls = [stall for stall in map(json.loads, done.stdout.splitlines()) if stall["type"] == "stall" and stall["duration_ns"] > 30_000_000]
    named = collections.Counter((stall["function"], stall["line"]) for stall in stalls if stall["cause"] in ("sleep", "cpu", "idle", "net"))
    functions = {function for function, _ in named}
    assert stalls and functions <= {"reads_rates", "parses"} and "parses" in functions, named
    # up to 3.10, time.sleep() is a select(), which is how the loop waits, too
    assert ("reads_rates", 4) in named or name.split(".")[1].split("-")[0] in ("8", "9", "10"), named


def test_a_command_from_its_beginning(tmp_path):
    """The interpreter begins while it is watched: its frames are read as soon as it has threads."""
    (tmp_path / "it.py").write_text("import time\ndef works():\n\twhile time.process_time() < 2:\n\t\tfor _ in range(10000): pass\nworks()\n")
    done = run("profile", "--format", "json", "-o", tmp_path / "it.json", "--", "/usr/bin/python3", tmp_path / "it.py")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "it.json").read_text())
    spent = {row["function"]: row["self_ns"] for row in result["functions"] if row["state"] == "user"}
    assert spent.get("works", 0) > 1_000_000_000, spent


def profile_of_command(tmp_path, text):
    """What a program that begins while it is watched sleeps in: the functions of each stack there is, and how long."""
    (tmp_path / "it.py").write_text(text)
    done = run("profile", "--state", "waits", "--format", "json", "-o", tmp_path / "it.json", "--", "/usr/bin/python3", tmp_path / "it.py")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "it.json").read_text())
    return [({frame["function"] for frame in frames}, ns) for state, frames, ns in stacks_of(result) if state == "sleep" and frames]


def test_a_wait_that_a_program_begins_with(tmp_path):
    """Its stack was copied before dwell knew where the interpreter keeps its frames: they are read while the wait goes on."""
    stacks = profile_of_command(tmp_path, "import time\ndef waits():\n\ttime.sleep(2)\nwaits()\n")
    assert stacks and all("waits" in functions for functions, _ in stacks), stacks


FORKING = """
import os, time
def first():
    for _ in range(4): time.sleep(0.01)
def last():
    for _ in range(60): time.sleep(0.01)
def child():
    first(); last()
time.sleep(1.5)
for _ in range(5):
    if not os.fork():
        child()
        os._exit(0)
for _ in range(5): os.wait()
"""


def test_forked_children_have_functions_from_the_first_sample_on(tmp_path):
    """They have their interpreter where the parent has it."""
    stacks = profile_of_command(tmp_path, FORKING)
    seen = {next((name for name in ("first", "last", "<module>") if name in functions), None) for functions, _ in stacks}
    assert seen == {"first", "last", "<module>"}, stacks


#: Two that compute have the interpreter lock by turns, one that sleeps in between wants it, too; the others wait for work.
LOCKED = """
import queue, socket, threading, time
work, pair = queue.Queue(), socket.socketpair()
def compute():
    total = 0
    while True:
        total += 1
def doze():
    while True:
        time.sleep(0.002)
threading.Thread(target=work.get, daemon=True).start()
threading.Thread(target=pair[0].recv, args=(1,), daemon=True).start()
for target in (compute, compute, doze):
    threading.Thread(target=target, daemon=True).start()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("name", FOUND)
def test_the_interpreter_lock_is_a_lock(name):
    """CPython waits for it by a condition variable, in a function that has no name in a stripped build."""
    with Python(FOUND[name], "-c", LOCKED) as pid:
        done = run("top", "--blame", "-p", pid, "-i", "1s", "-c", "3", "--format", "json", timeout=60)
    intervals, _ = parse(done.stdout)
    threads = totals(intervals[1:])
    tids = sorted(threads)
    _, getter, receiver, *others = (threads[tid] for tid in tids)
    for thread in others:
        assert thread["states"]["lock"] > 0.1 * thread["observed_ns"] and thread["states"]["idle"] < 0.03 * thread["observed_ns"], thread
    assert getter["states"]["idle"] > 0.9 * getter["observed_ns"] and receiver["states"]["ipc"] > 0.9 * receiver["observed_ns"]
    blamed = {row["culprit"]["tid"] for interval in intervals[1:] for row in interval["blame"]
              if (row["victim"]["tid"], row["state"]) == (tids[5], "lock") and row["culprit"]["kind"] == "thread"}  # fmt: skip
    assert blamed & set(tids[3:5]), blamed


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_a_hostile_interpreter(tmp_path):
    """Circles, wild pointers and endless texts where an interpreter should be: what the machine runs is shown, and soon."""
    (tmp_path / "it.c").write_text("""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
char PyCode_Type[512];
uintptr_t _PyRuntime[4096], interpreter[64], thread[64], frame[64], cframe[64], code[64], text[8] = {1, 1, UINTPTR_MAX, 1, 4 | 1 << 5 | 1 << 6};
volatile unsigned long sink;
__attribute__((noinline)) void _PyEval_EvalFrameDefault(void) { for (;;) sink = sink * 3 + 1; }
int main(void)
{
	_PyRuntime[6] = (uintptr_t)interpreter;                     /* main */
	interpreter[2] = (uintptr_t)thread;                         /* threads.head */
	thread[1] = (uintptr_t)thread;                              /* next: itself */
	thread[19] = pthread_self();
	thread[7] = (uintptr_t)cframe;
	cframe[1] = (uintptr_t)frame;
	frame[4] = CODE;
	frame[6] = (uintptr_t)frame;                                /* previous: itself */
	code[1] = (uintptr_t)PyCode_Type;
	code[14] = code[15] = code[16] = (uintptr_t)text;
	code[17] = UINTPTR_MAX - 7;
	puts("ready");
	fflush(stdout);
	_PyEval_EvalFrameDefault();
}
""")
    for number, wrong in enumerate(("(uintptr_t)code", "(uintptr_t)PyCode_Type", "8", "UINTPTR_MAX >> 1", "(uintptr_t)&code[60]")):
        directory = tmp_path / str(number)
        directory.mkdir()
        program = directory / "python3.11"
        subprocess.run(["gcc", "-g", "-w", "-rdynamic", f"-DCODE={wrong}", tmp_path / "it.c", "-o", program, "-pthread"], check=True)
        with Python(program) as pid:
            result = profile(pid, "--freq", "400")
        user = [frames for state, frames, _ in stacks_of(result) if state == "user"]
        assert user and all(frames[0]["function"] == "_PyEval_EvalFrameDefault" for frames in user), user
        assert result["quality"]["stacks_failed"] == 0, result["quality"]
