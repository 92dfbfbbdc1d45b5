# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile` of programs that are gone, replaced, hostile or changing, and with nowhere to write."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

from conftest import DWELL, run
from matrices import wait_until
from profiles import profile
from test_libraries import compile_into

SPINNER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "spinner.c"
FULL = "/dev/full"


@contextlib.contextmanager
def spinning(program, *arguments):
    with subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def public_copy():
    """dwell where every user may run it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        yield shutil.copy(DWELL, directory)


def build(program, *flags):
    return compile_into(program, "gcc", "-O1", "-g", "-Wl,--build-id", *flags, SPINNER)


def functions(pid, *options):
    return {row["function"] for row in profile("-p", pid, "-d", "500ms", *options)["functions"] if row["function"]}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_program_that_was_deleted_while_it_ran(tmp_path, replaced):
    """What is mapped is read, not what has its name now."""
    program = build(tmp_path / "spinner")
    with spinning(program) as process:
        program.unlink()
        if replaced:
            build(program, "-Dburns=freezes")
        names = functions(process.pid)
    assert "burns" in names and "freezes" not in names, names


PLUGIN = """
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) double NAME(double end) { volatile double sum = 0; while (now() < end) for (int i = 0; i < 100000; i++) sum += i; return sum; }
double work(double seconds) { return NAME(now() + seconds) + 1; }
"""
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **paths) {
	for (int i = 1;; i = i % (count - 1) + 1) {
		void *plugin = dlopen(paths[i], RTLD_NOW);
		double (*work)(double) = (double (*)(double))dlsym(plugin, "work");
		if (i == 1) puts("ready"), fflush(stdout);
		work(0.2), dlclose(plugin);
	}
}
"""


@pytest.mark.measures
def test_a_library_in_the_place_of_another(tmp_path):
    """What is unmapped leaves its addresses to the next one, as with plugins that are loaded again."""
    plugins = {name: tmp_path / f"{name}.so" for name in ("alpha", "beta", "gamma")}
    for name, path in plugins.items():
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", f"-DNAME={name}", "-xc", "-", "-o", path], input=PLUGIN, text=True, check=True)
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", tmp_path / "loader"], input=LOADER, text=True, check=True)
    with spinning(tmp_path / "loader", *plugins.values()) as process:
        rows = profile("-p", process.pid, "-d", "3s", "--state", "user")["functions"]
    shares = {row["function"]: row["total_ns"] for row in rows if row["function"] in plugins}
    assert len(shares) == len(plugins) and max(shares.values()) < 0.5 * sum(shares.values()), shares


TURNS = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int count, char **words) {
	int before = atoi(words[1]), plugins = count - 3, turn = 0;
	double nap = atof(words[2]), end = now(CLOCK_MONOTONIC) + 4, took[8] = {0};
	for (; turn < before && now(CLOCK_MONOTONIC) < end; turn++) dlclose(dlopen(words[3 + turn % plugins], RTLD_NOW));
	for (int of = 0; now(CLOCK_MONOTONIC) < end; of = ++turn % plugins) {
		void *plugin = dlopen(words[3 + of], RTLD_NOW);
		double (*work)(double) = (double (*)(double))dlsym(plugin, "work"), begin = now(CLOCK_THREAD_CPUTIME_ID);
		/* the second one works longest */
		work(nap * (of == 1 ? 5 : 1)), took[of] += now(CLOCK_THREAD_CPUTIME_ID) - begin;
		usleep(nap * 1e6), dlclose(plugin);
	}
	for (int of = 0; of < plugins; of++) printf("%f\\n", took[of]);
}
"""


def profile_of_turns(tmp_path, before, nap):
    """Of plugins that are loaded in turn: what each worked by its own clock, and by the profile."""
    plugins = {name: tmp_path / f"{name}.so" for name in ("alpha", "beta", "gamma")}
    for name, path in plugins.items():
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", f"-DNAME={name}", "-xc", "-", "-o", path], input=PLUGIN, text=True, check=True)
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", tmp_path / "turns"], input=TURNS, text=True, check=True)
    done = run("profile", "--format", "json", "-o", tmp_path / "it.json", "--", tmp_path / "turns", before, nap, *plugins.values(), timeout=60)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "it.json").read_text())
    took = dict(zip(plugins, map(float, done.stdout.split())))
    found = {name: sum(row["total_ns"] for row in result["functions"] if row["function"] == name and row["state"] in ("user", "kernel")) / 1e9 for name in plugins}
    return took, found, result


@pytest.mark.measures
@pytest.mark.parametrize("before, nap", [(900, 0.05), (0, 0.001)], ids=["after-very-many", "for-moments"])
def test_libraries_that_take_turns(tmp_path, before, nap):
    """Each stack is named by what was mapped at its time, however often that has changed before or does since."""
    took, found, _ = profile_of_turns(tmp_path, before, nap)
    for name in took:
        assert abs(found[name] / sum(found.values()) - took[name] / sum(took.values())) < 0.1, (took, found)


def test_libraries_that_take_turns_too_fast(tmp_path):
    """What cannot be known has no name, and a line says why."""
    took, found, result = profile_of_turns(tmp_path, 100_000_000, 0)
    assert any(missing["source"] == "symbols" and "could not be followed" in missing["why"] for missing in result["quality"]["unavailable"]), result["quality"]
    assert not sum(took.values()) and not sum(found.values()), (took, found)


def test_a_debug_file_of_another_build(tmp_path):
    """It would give wrong names."""
    program, debug = build(tmp_path / "spinner"), tmp_path / "spinner.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    with spinning(program) as process:
        assert "burns" in functions(process.pid)
    other = build(tmp_path / "other", "-Dburns=freezes", "-O2")
    subprocess.run(["objcopy", "--only-keep-debug", other, debug], check=True)
    with spinning(program) as process:
        done = run("profile", "-p", process.pid, "-d", "500ms")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^not measured: symbols: the debug file of \S*spinner is from another build", done.stdout, re.M), done.stdout
    assert "burns" not in done.stdout and "freezes" not in done.stdout and "spinner+0x" in done.stdout


def test_symbols_of_another_build(tmp_path):
    """Likewise; of the same they are used."""
    program, whole = build(tmp_path / "spinner"), tmp_path / "whole"
    shutil.copy(program, whole)
    subprocess.run(["strip", program], check=True)
    other = build(tmp_path / "other", "-Dburns=freezes", "-O2")
    with spinning(program) as process:
        assert "burns" in functions(process.pid, "--target", whole)
        done = run("profile", "-p", process.pid, "-d", "500ms", "--target", other)
    assert done.returncode == 0, done.stderr
    complaint = r"^not measured: symbols: \S*spinner is from another build than the file of --target"
    assert re.search(complaint, done.stdout, re.M), done.stdout
    assert "burns" not in done.stdout and "freezes" not in done.stdout and "spinner+0x" in done.stdout


def test_very_many_mappings(tmp_path):
    with spinning(build(tmp_path / "spinner"), 65_000) as process:
        assert len(pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()) > 65_000
        assert "burns" in functions(process.pid)


@pytest.mark.parametrize("kind", ["own", "link", "fifo", "huge", "of another user", "of before"])
def test_a_list_of_names_that_is_none(tmp_path, kind):
    """In /tmp everyone may put a file of that name. It is read in bounded time, or not at all."""
    with spinning(build(tmp_path / "spinner"), "jit") as process:
        listed = pathlib.Path(f"/tmp/perf-{process.pid}.map")
        secret = tmp_path / "secret"
        secret.write_text("1000 7fffffff0000 leaked_name\n")
        try:
            if kind in ("own", "of before"):
                listed.write_text(secret.read_text())
                # what had the pid before has left it
                age = 3600 if kind == "of before" else 0
                os.utime(listed, (time.time() - age, time.time() - age))
            elif kind == "link":
                listed.symlink_to(secret)
            elif kind == "fifo":
                os.mkfifo(listed)
            elif kind == "huge":
                with open(listed, "w", encoding="ascii") as file:
                    os.truncate(file.fileno(), 10 << 30)
            else:
                listed.write_text(secret.read_text())
                os.chown(listed, 12345, 12345)
            began = time.monotonic()
            names = functions(process.pid)
        finally:
            listed.unlink(missing_ok=True)
    assert time.monotonic() - began < 60
    assert names and ("leaked_name" in names) == (kind == "own"), names


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("name", ["", "-", "image"])
def test_code_that_was_made_in_a_file(tmp_path, name, is_listed):
    """As Erlang and .NET do it to map it twice, and PHP for its children, whose memory is a file /dev/zero (deleted); .NET has files of compiled code, too, that are not ELF files."""
    file = tmp_path / name if name == "image" else name
    with spinning(build(tmp_path / "spinner"), "jit", file) as process:
        listed = pathlib.Path(f"/tmp/perf-{process.pid}.map")
        if is_listed:
            listed.write_text("1000 7fffffff0000 listed_name\n")
        try:
            rows = [row for row in profile("-p", process.pid, "-d", "500ms")["functions"] if row["state"] == "user"]
        finally:
            listed.unlink(missing_ok=True)
    row = max(rows, key=lambda row: row["self_ns"])
    assert name == "image" or row["self_ns"] > 0.9 * sum(row["self_ns"] for row in rows), rows
    if is_listed:
        assert row["function"] == "listed_name", row
    elif name == "image":
        assert row["function"].startswith("image+0x") and row["module"] == str(file), row
    else:
        assert row["function"] == "(code made at run time)" and row["module"] is None, row


def test_a_program_that_executes_others_all_the_time(tmp_path):
    """No name of the one is taken for an address of the other."""
    programs = [build(tmp_path / name, f"-Dburns={name}_burns") for name in ("one", "two")]
    with spinning(programs[0], "exec", programs[1]) as process:
        result = profile("-p", process.pid, "-d", "2s")
    seen = {(row["function"], pathlib.Path(row["module"]).name) for row in result["functions"] if row["function"] and row["module"]}
    wrong = {(name, module) for name, module in seen if name.endswith("_burns") and name != f"{module}_burns"}
    assert {"one_burns", "two_burns"} <= {name for name, _ in seen} and not wrong, seen


def test_processes_that_end_before_they_are_read(tmp_path):
    """What they had mapped is known all the same, before and after an exec."""
    programs = [build(tmp_path / name, f"-Dburns={name}_burns") for name in ("one", "two")]
    result = json.loads(run("profile", "--freq", "999", "--state", "user", "--format", "json", "--", programs[0], "children", "80", programs[1]).stdout)
    (user_ns,) = (state["total_ns"] for state in result["states"] if state["state"] == "user")
    shares = {(row["function"], pathlib.Path(row["module"]).name): row["self_ns"] / user_ns for row in result["functions"] if row["module"]}
    assert shares["one_burns", "one"] > 0.3 and shares["two_burns", "two"] > 0.3, shares
    assert shares["one_burns", "one"] + shares["two_burns", "two"] > 0.9, shares
    assert not {("one_burns", "two"), ("two_burns", "one")} & set(shares), shares
    ends = [result["quality"][f"stacks_{end}"] for end in ("complete", "truncated", "failed")]
    # of a process that ends, or begins another program, there is no stack any more
    assert sum(ends) > 200 and ends[0] > 0.9 * sum(ends), ends


@pytest.mark.parametrize("form", ["json", "html", "pprof", "folded", "chrome", "csv"])
def test_nowhere_to_write(tmp_path, form):
    with spinning(build(tmp_path / "spinner")) as process:
        done = run("profile", "-p", process.pid, "-d", "200ms", "--format", form, "-o", FULL, "--force")
        assert done.returncode == 1 and "No space left on device" in done.stderr, (done.returncode, done.stderr)
        done = run("profile", "-p", process.pid, "-d", "200ms", "--format", form, "-o", tmp_path / "none" / "it")
    assert done.returncode == 1 and "No such file or directory" in done.stderr, (done.returncode, done.stderr)


@pytest.mark.parametrize("options, why", [
    (["--from", "none.dwell", "-d", "1s"], "--from: stacks have been taken"),
    (["--from", "none.dwell", "--freq", "3"], "--from: stacks have been taken"),
    (["-p", "1", "--since", "10m"], "--since and --until are for --from"),
    (["-p", "1", "-d", "100ms", "--target", "/no/such"], "cannot read /no/such"),
    (["-p", "1", "-d", "100ms", "--force"], "--force needs -o"),
    (["-p", "1", "-d", "100ms", "--root", "thread"], "--root is for --format folded and chrome"),
    (["-p", "1", "--state", "lokc"], "did you mean 'lock'?"),
    (["-p", "1", "--state", "foo"], "use all, cpu, waits, user, kernel, runnable,"),
])  # fmt: skip
def test_options_that_would_do_nothing_are_refused(options, why):
    done = run("profile", *options)
    assert done.returncode == (1 if "/no/such" in options else 2) and why in done.stderr, done


CAPABLE = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"]


def test_programs_with_the_capabilities_that_dwell_has_are_read(tmp_path):
    """Without CAP_SYS_PTRACE, too: what began with the same ones is named, as a command of dwell's is."""
    program = build(tmp_path / "spinner")
    with public_copy() as copy:
        public = shutil.copy(program, pathlib.Path(copy).parent)
        done = subprocess.run([*CAPABLE, copy, "profile", "-d", "1s", "--format", "json", "--", public],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done
    assert "burns" in {row["function"] for row in json.loads(done.stdout)["functions"]}, done.stdout


def test_programs_that_may_not_be_read_are_a_reason(tmp_path):
    """Without CAP_SYS_PTRACE another user's code has no names: that is said, and not of one's own programs."""
    program = build(tmp_path / "spinner")

    def page(pid):
        return subprocess.run([*CAPABLE, copy, "profile", "-p", str(pid), "-d", "300ms"], capture_output=True, text=True, timeout=60)

    with public_copy() as copy, spinning(program) as process:
        done = page(process.pid)
        own = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"])
        try:
            wait_until(lambda: pathlib.Path(f"/proc/{own.pid}/comm").read_text() == "sleep\n")
            readable = page(own.pid)
        finally:
            own.kill()
            own.wait()
    said = "not measured: names: other users' programs may not be read (no CAP_SYS_PTRACE)"
    assert done.returncode == 0 and said in done.stdout, done
    assert readable.returncode == 0 and said not in readable.stdout, readable
