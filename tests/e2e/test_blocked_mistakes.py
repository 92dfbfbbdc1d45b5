# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` where something is wrong with the target, with the arguments or with the rights, and under load."""
import contextlib
import errno
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from conftest import BUILD, DWELL, run, wait_for_threads
from guests import await_end_of, below
from hostile import refusing
from matrices import wait_until
from services import STRIPPED, Blocked, Service, build_go, build_tokio, loop_service, taken_away, tokio_service

#: Its number.
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
LOOP = pathlib.Path(BUILD) / "tests" / "loop-service"
BPF_ONLY = ["--inh-caps", "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon", "--bounding-set", "-all,+bpf,+perfmon"]


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "infinity"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def services():
    """services(command...): started, and ended after the test."""
    started = []

    def start(*command):
        started.append(Service(command))
        return started[-1]

    yield start
    for service in started:
        service.end()


@pytest.fixture
def for_all():
    """A directory that every user can read, with the program in it."""
    directory = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    directory.chmod(0o755)
    shutil.copy(DWELL, directory / "dwell")
    yield directory
    shutil.rmtree(directory)


def refused(*arguments, status=1):
    """The only line that is said."""
    done = run("blocked", *arguments)
    assert done.returncode == status and done.stdout == "", (done.stdout, done.stderr)
    assert done.stderr.startswith("dwell blocked: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("dwell blocked: ").rstrip("\n")


def test_a_name_of_several(services, tmp_path):
    program = tmp_path / "orders-api"
    shutil.copy(LOOP, program)
    first, second = sorted(services(program, "1", tmp_path).process.pid for _ in range(2))
    for name in ("orders-api", "orders-ap*"):
        told = refused(name, "-d", "10ms")
        assert told.startswith(f"2 processes match '{name}': {first} (orders-api), {second} (orders-api); choose"), told
    assert refused("orders-ap", "-d", "10ms").startswith("no process named 'orders-ap'; did you mean 'orders-api'?")


def test_a_process_that_has_ended():
    process = subprocess.Popen(["true"])
    process.wait()
    assert refused("-p", process.pid) == f"no such process: {process.pid}"


def test_a_process_that_ends_before_it_is_looked_into():
    for _ in range(5):
        process = subprocess.Popen(["sleep", "infinity"])
        wait_for_threads(process.pid, "sleep")
        dwell = subprocess.Popen(
            [DWELL, "blocked", "-p", str(process.pid), "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        first = dwell.stderr.readline()
        process.kill()
        process.wait()
        assert "runtime loop" in first
        output, errors = dwell.communicate(timeout=60)
        assert dwell.returncode == 1
        if output:
            assert "0 workers" in output and "no worker found: no thread of sleep polled a task" in errors
        else:
            assert errors == f"dwell blocked: cannot look into process {process.pid}: No such process\n"


def test_a_process_without_a_runtime(sleeper):
    done = run("blocked", "-p", sleeper.pid, "-d", "100ms", "-v")
    assert done.returncode == 1
    assert "no worker found: no thread polled a task or waited for events as a loop does: there are sleep (--workers" in done.stderr
    assert f"For plain threads use dwell top -p {sleeper.pid}\n" in done.stderr
    assert "0 workers, 0 pool threads" in done.stdout
    assert "No thread polled a task or waited for events as a loop does." in done.stdout
    assert "runtime loop: no tokio::runtime::task::raw::poll in the symbols" in done.stderr


def test_a_process_that_is_stopped(sleeper):
    """As by a debugger, that lets none of its threads do anything."""
    sleeper.send_signal(signal.SIGSTOP)
    wait_until(lambda: " T " in pathlib.Path(f"/proc/{sleeper.pid}/stat").read_text())
    done = run("blocked", "-p", sleeper.pid, "-d", "100ms")
    assert done.returncode == 1
    assert "no worker found: all threads of sleep are stopped, by a debugger or a signal: let them go on" in done.stderr


def test_names_of_a_stripped_program(services, tmp_path):
    for option, sleeps, place in (("--strip-debug", "wait_for_printer", None), ("--strip-all", "stripped+0x", None)):
        program = tmp_path / "stripped"
        subprocess.run(["strip", option, "-o", program, LOOP], check=True)
        service = services(program, "1", tmp_path)
        blocked = Blocked(service.process.pid)
        for _ in range(3):
            service.ask("sleep", 20)
        service.settle()
        stalls, summary = blocked.end()
        found = {(stall["function"], stall["file"]) for stall in stalls if stall["cause"] == "sleep"}
        ((function, file),) = found
        assert function.startswith(sleeps) and file == place
        assert summary["quality"]["stacks"]["failed"] == 0


@pytest.mark.parametrize("build", STRIPPED)
def test_what_is_known_of_a_stripped_program(build):
    """By its tables, each function that polls and had a name before."""
    names = subprocess.run(["nm", build_tokio(STRIPPED[build])], capture_output=True, text=True, check=True).stdout
    polls = {line.split()[0] for line in names.splitlines() if "5tokio7runtime4task3raw4poll17h" in line}
    with tokio_service(build) as service:
        blocked = Blocked(service.process.pid)
        service.ask("good", 10)
        service.settle()
        _, summary = blocked.end()
    assert summary["runtime"] == "tokio"
    assert (
        f"runtime tokio: Tokio polls its tasks and closures by {len(polls)} functions, found by its tables: the program has no "
        "symbols (--target FILE names one that has)" in blocked.errors
    ), blocked.errors


GO = """
package main
import ("fmt"; "time")
func main() {
	for i := 0; i < 4; i++ {
		go func() { for { for begun := time.Now(); time.Since(begun) < 4*time.Millisecond; {}; time.Sleep(20*time.Millisecond) } }()
	}
	fmt.Println("ready")
	time.Sleep(time.Minute)
}
"""


@pytest.mark.parametrize("flags", [[], ["-ldflags=-s -w"], ["-buildmode=pie", "-ldflags=-s -w"]], ids=["symbols", "stripped", "pie, stripped"])
def test_threads_of_go_are_not_blamed(tmp_path, flags):
    with subprocess.Popen([build_go(tmp_path, GO, *flags)], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            error = refused("-p", process.pid, "-d", "300ms")
            assert error.startswith(f"process {process.pid} runs Go 1.") and f"dwell profile -p {process.pid}" in error
            done = run("blocked", "-p", process.pid, "-d", "1s", "--runtime", "loop")
            assert done.returncode == 0 and "loop" in done.stdout
        finally:
            process.kill()


@pytest.mark.parametrize("name, what", [("beam.smp", "Erlang's BEAM"), ("libcoreclr.so", ".NET")])
def test_other_runtimes_that_move_tasks_are_named(tmp_path, name, what):
    shutil.copy(LOOP if name == "beam.smp" else "/lib/x86_64-linux-gnu/libresolv.so.2", tmp_path / name)
    preload = {} if name == "beam.smp" else {"LD_PRELOAD": str(tmp_path / name)}
    command = [tmp_path / name if name == "beam.smp" else LOOP, "1", tmp_path]
    with subprocess.Popen(command, env={**os.environ, **preload}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            assert f"runs {what}, whose runtime moves tasks" in refused("-p", process.pid, "-d", "100ms")
        finally:
            process.kill()


def test_a_runtime_that_its_own_starter_starts(tmp_path):
    """`erl` is a script that executes erlexec, which executes the runtime."""
    shutil.copy(LOOP, tmp_path / "beam.smp")
    (tmp_path / "it.c").write_text("#include <unistd.h>\nint main(int argc, char **argv) { return execv(argv[1], argv + 1); }\n")
    subprocess.run(["gcc", "-o", tmp_path / "erlexec", tmp_path / "it.c"], check=True)
    command = ["sh", "-c", 'exec "$0" "$@"', tmp_path / "erlexec", tmp_path / "beam.smp", "1", tmp_path]
    assert "runs Erlang's BEAM" in refused("-d", "100ms", "--", *command)


@pytest.mark.parametrize("exported", ["DotNetRuntimeInfo", "DotNetRuntimeDebugHeader"])
def test_a_runtime_in_the_program_itself_is_named(tmp_path, exported):
    """As of .NET that was published as a single file, or compiled; stripped, as those are."""
    (tmp_path / "it.c").write_text(f"#include <stdio.h>\n#include <unistd.h>\nint {exported} = 1;\nint main(void) {{ puts(\"\"); fflush(stdout); sleep(60); }}\n")
    subprocess.run(["gcc", "-rdynamic", "-s", "-o", tmp_path / "it", tmp_path / "it.c"], check=True)
    with subprocess.Popen([tmp_path / "it"], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            assert "runs .NET, whose runtime moves tasks" in refused("-p", process.pid, "-d", "100ms")
        finally:
            process.kill()


TWO_LOOPS = """
import select
loops = [select.epoll(), select.epoll()]
print(flush=True)
for i in range(400):
    loops[i % 2].poll(0.01)
"""


def test_a_thread_with_two_loops_is_not_blamed():
    """Neither is within a turn of the other."""
    with subprocess.Popen([sys.executable, "-c", TWO_LOOPS], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        blocked = Blocked(process.pid, "-d", "1s")
        stalls, summary = blocked.wait()
        process.kill()
    assert [stall for stall in stalls if stall["cause"] not in ("runnable", "stolen")] == []
    assert summary["workers"][0]["turns"] > 50


def test_limits_of_what_was_not_seen():
    """No poll, no turn: that is no all-clear."""
    naps = "import threading, time; [threading.Thread(target=lambda: [time.sleep(0.01) for _ in range(6000)]).start() for _ in range(2)]"
    with subprocess.Popen([sys.executable, "-c", naps]) as process:
        try:
            wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 3)
            for limit in ("--max-stall=1ms", "--max-stalls=0"):
                done = run("blocked", "-p", process.pid, "--workers", "python", "-d", "300ms", limit)
                assert done.returncode == 4 and "no limit was checked" in done.stderr, done
                assert "No poll of a task and no turn of a loop was seen: what is listed" in done.stdout
        finally:
            process.kill()


def test_nothing_that_was_seen_is_no_comparison(tmp_path):
    """A program without a worker, or that has ended before one was seen, passes no limit, before or after."""
    with subprocess.Popen(["sleep", "100"]) as process:
        seen = run("blocked", "-p", process.pid, "-d", "200ms", "--json")
        process.kill()
    assert seen.returncode == 1
    (tmp_path / "a.json").write_text(seen.stdout)
    compared = run("compare", tmp_path / "a.json", tmp_path / "a.json", "--worse", "10")
    assert compared.returncode == 4 and "has no poll and no turn of a worker" in compared.stderr, compared
    ended = run("blocked", "--", "sleep", "0.2")
    assert ended.returncode == 1 and "no thread of sleep polled a task" in ended.stderr, ended


def test_when_all_is_attached():
    with loop_service() as service:
        read, write = os.pipe()
        arguments = [DWELL, "blocked", "-p", str(service.process.pid), "--headless", "--ready-fd", str(write), "-d", "1s"]
        with subprocess.Popen(arguments, pass_fds=[write], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            os.close(write)
            assert os.read(read, 100) == b"ready\n"
            os.close(read)
            service.ask("sleep", 20)
            out, err = process.communicate()
        assert f"watching loop-service {service.process.pid}\n" in err and "wait_for_printer" in out
        assert refused("-p", service.process.pid, "--ready-fd", "999", status=2).startswith("--ready-fd 999: no such descriptor is open")


LOOKS_LIKE_TOKIO = r"""
#include <poll.h>
#include <stdio.h>
const char message[] = "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
#define FUNCTION(name) __attribute__((noinline)) int name(int x) { for (int i = 0; i < x; i++) __asm__ volatile("nop"); return x + 1; }
FUNCTION(a) FUNCTION(b) FUNCTION(c) FUNCTION(d) FUNCTION(e) FUNCTION(f) FUNCTION(g)
/* aligned, so that all words of it are */
struct table { int (*functions[7])(int); unsigned long trailer, scheduler, id; };
const struct table table = {{(int (*)(int))((char *)a + OFFSET), b, c, d, e, f, g}, 256, 32, 40};
int main(void)
{
	puts(message);
	fflush(stdout);
	for (int i = 0; i < 300; i++) {
		int sum = 0;
		for (int j = 0; j < 7; j++)
			sum += (j || !OFFSET ? table.functions[j] : a)(10);
		if (sum != 77)
			return 1;
		poll(NULL, 0, 5);
	}
	return 0;
}
"""


@pytest.mark.parametrize("offset", [0, 1], ids=["whole", "within an instruction"])
def test_a_program_that_looks_like_tokio(tmp_path, offset):
    """A probe anywhere but where a function begins would be its end."""
    program = tmp_path / "fake"
    subprocess.run(["gcc", "-O1", "-s", f"-DOFFSET={offset}", "-xc", "-", "-o", program], input=LOOKS_LIKE_TOKIO, text=True, check=True)
    with subprocess.Popen([program], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = run("blocked", "-p", process.pid, "-d", "300ms", "-v", "--json")
        assert process.wait() == 0
    assert ("runtime tokio: Tokio polls its tasks and closures by 1 function," in done.stderr) == (offset == 0), done.stderr
    assert ("runtime loop" in done.stderr) == (offset == 1), done.stderr


def test_symbols_of_something_else(services, tmp_path):
    plain = build_tokio("plain")
    program = tmp_path / "service"
    subprocess.run(["strip", "-o", program, plain], check=True)
    service = services(program, "--directory", tmp_path)
    pid = service.process.pid
    for target, told in (
        (tmp_path / "none", "cannot read {}: No such file or directory"),
        ("/etc/passwd", "{} is not an ELF file"),
        (tmp_path, "{} is not an ELF file"),
        (LOOP, "no tokio::runtime::task::raw::poll in the symbols of {}: it is not a Tokio program, or stripped"),
        (program, "no tokio::runtime::task::raw::poll in the symbols of {}: it is not a Tokio program, or stripped"),
        # probes there would end it
        (build_tokio("release"), f"{{}} is not what process {pid} runs: its code is another"),
    ):
        assert refused("-p", pid, "-d", "10ms", "--target", target) == told.format(target)
    blocked = Blocked(pid, "--target", plain)
    answers = [service.ask_clearly("sleep", 20) for _ in range(3)]
    stalls, summary = blocked.end()
    assert {stall["function"] for stall in stalls if not taken_away(stall)} == {"tokio_service::wait_for_printer"}
    assert summary["runtime"] == "tokio"
    assert "uprobes" not in {item["source"] for item in summary["quality"]["unavailable"]}
    assert sum(worker["polls"] for worker in summary["workers"]) >= len(answers)


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
@pytest.mark.parametrize("runtime", ["loop", "tokio"])
def test_a_program_that_is_not_there_any_more(services, tmp_path, runtime, replaced):
    program = tmp_path / "service"
    shutil.copy(LOOP if runtime == "loop" else build_tokio("release"), program)
    service = services(program, *(["1", tmp_path] if runtime == "loop" else ["--directory", tmp_path]))
    program.unlink()
    if replaced:
        shutil.copy("/bin/true", program)
    blocked = Blocked(service.process.pid)
    for _ in range(3):
        service.ask_clearly("sleep", 20)
        service.ask_clearly("spin", 20)
    stalls, summary = blocked.end()
    assert summary["runtime"] == runtime
    # others may have become stalls because the machine was busy
    found = [stall for stall in stalls if (stall["function"] or "").split("::")[-1] in ("wait_for_printer", "compute_report")]
    places = {(stall["function"].split("::")[-1], pathlib.Path(stall["file"]).name) for stall in found}
    source = "handlers.c" if runtime == "loop" else "main.rs"
    assert {("wait_for_printer", source), ("compute_report", source)} <= places, places
    assert all(stall["line"] for stall in found), found


def as_nobody(dwell, pid, *rights):
    return subprocess.run(
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *rights,
         dwell, "blocked", "-p", str(pid), "-d", "100ms"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_another_users_process_without_rights(for_all):
    with loop_service() as service:
        pid = service.process.pid
        done = as_nobody(for_all / "dwell", pid)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == (
            f"dwell blocked: cannot read the memory map of process {pid}: Permission denied; it takes the rights of root (sudo dwell …), which a sandbox may withhold\n"
        )


def test_ones_own_process_without_rights(for_all):
    shutil.copy(LOOP, for_all / "service")
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    service = Service([*nobody, for_all / "service", "1", "/tmp"])
    try:
        done = as_nobody(for_all / "dwell", service.process.pid)
    finally:
        service.end()
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (
        "dwell blocked: exact states need BPF: run as root (sudo dwell …), or give the program CAP_BPF and CAP_PERFMON\n"
    )


def test_only_the_rights_for_bpf(for_all):
    """What cannot be seen then is said; nothing is made up for it."""
    # where it is not mounted, a user without rights cannot mount it either
    if os.path.exists("/sys/kernel/tracing/events") and os.stat("/sys/kernel/tracing").st_mode & 0o005:
        pytest.skip("everybody may read /sys/kernel/tracing here")
    with loop_service() as service:
        done = as_nobody(for_all / "dwell", service.process.pid, *BPF_ONLY)
    assert done.returncode == 0 and done.stderr == ""
    assert "1 worker," in done.stdout
    assert (
        "not measured: turns: /sys/kernel/tracing cannot be read: turns of event loops are not seen: run as root"
        in done.stdout
    )
    assert "no CAP_SYS_PTRACE" in done.stdout


@pytest.mark.skipif(not PERF_EVENT_OPEN, reason="the number of perf_event_open(2) is not known here")
@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES, errno.ENOSYS])
def test_tracepoints_that_a_filter_refuses_are_there(code):
    with loop_service() as service:
        done = subprocess.run([DWELL, "blocked", "-p", str(service.process.pid), "-d", "100ms"], capture_output=True, text=True,
                              preexec_fn=refusing(PERF_EVENT_OPEN, code), timeout=60)  # fmt: skip
    said = f"not measured: turns: the tracepoints of system calls cannot be used: perf_event_open: {os.strerror(errno.EPERM if code == errno.EACCES else code)}"
    assert said in done.stdout and "CONFIG_FTRACE_SYSCALLS" not in done.stdout, done


@pytest.mark.parametrize("watched", [False, True], ids=["alone", "watched"])
@pytest.mark.parametrize("runtime", ["loop", "tokio"])
def test_a_crash(runtime, watched):
    """A process dies of what it would die of anyway."""
    start = loop_service if runtime == "loop" else tokio_service
    with start(prefix=["prlimit", "--core=0"]) as service:
        if watched:
            blocked = Blocked(service.process.pid)
        service.ask("sleep", 20)
        assert service.ask("crash", 8) == ()
        assert service.process.wait(60) == -signal.SIGSEGV
        if watched:
            stalls, summary = blocked.wait()
            assert blocked.status == 0 and summary["runtime"] == runtime
            assert "wait_for_printer" in {(stall["function"] or "").split("::")[-1] for stall in stalls if not taken_away(stall)}


class Client:
    """Asks all the time, and checks every answer, until end()."""

    def __init__(self, service):
        self.service = service
        self.changed = threading.Condition()
        self.count = 0
        self.wrong = None
        self.stop = False
        self.thread = threading.Thread(target=self.ask_on)
        self.thread.start()

    def ask_on(self):
        last = 0
        while not self.stop and not self.wrong:
            try:
                answer = self.service.ask("spin", 1)
                right = len(answer) == 3 and answer[0] > last and answer[1] >= 1_000_000
            except (OSError, ValueError) as error:
                answer, right = error, False
            with self.changed:
                if right:
                    last = answer[0] + answer[1]
                    self.count += 1
                else:
                    self.wrong = f"answer {self.count}: {answer}"
                self.changed.notify()

    def wait_for(self, count):
        """Until there are so many more answers."""
        with self.changed:
            wanted = self.count + count
            assert self.changed.wait_for(lambda: self.wrong or self.count >= wanted, 60)
            assert self.wrong is None, self.wrong

    def end(self):
        self.stop = True
        self.thread.join()


@pytest.mark.parametrize("runtime", ["loop", "tokio"])
def test_the_target_is_left_as_it_was(runtime):
    """Attached and detached many times while it answers: DWELL_CYCLES, 25 if not set."""
    with (loop_service if runtime == "loop" else tokio_service)() as service:
        client = Client(service)
        try:
            for cycle in range(int(os.environ.get("DWELL_CYCLES", 25))):
                client.wait_for(1)
                blocked = Blocked(service.process.pid)
                client.wait_for(3)
                if cycle % 2:
                    # in the middle of it, and nothing stays attached
                    blocked.process.kill()
                    blocked.process.communicate()
                else:
                    _, summary = blocked.end()
                    assert blocked.status == 0 and summary["runtime"] == runtime
            client.wait_for(10)
        finally:
            client.end()
        assert client.wrong is None and service.process.poll() is None


def code_of(pid):
    """Of the program's file, as the process has it in its memory now: all that may be executed."""
    program, code = os.readlink(f"/proc/{pid}/exe"), b""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for bounds, rights, *_, path in (line.split() for line in maps):
            if "x" in rights and path == program:
                start, end = (int(bound, 16) for bound in bounds.split("-"))
                memory.seek(start)
                code += memory.read(end - start)
    return code


def opened_in_kernel(pids):
    """Programs and links of BPF that these processes have open: (kind, id)."""
    found = set()
    for info in (path for pid in pids for path in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*")):
        with contextlib.suppress(OSError):  # closed, or the process has ended
            found |= set(re.findall(r"^(prog|link)_id:\s+(\d+)$", info.read_text(), re.M))
    return found


def left_in_kernel(known):
    """Of those, what there still is. No id is used twice."""
    there = set()
    for kind in ("prog", "link"):
        shown = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True, check=True)
        there |= {(kind, str(one["id"])) for one in json.loads(shown.stdout)}
    return known & there


@pytest.mark.skipif(not shutil.which("bpftool"), reason="bpftool is not installed")
@pytest.mark.parametrize("runtime", ["loop", "tokio"])
def test_nothing_is_left_of_dwell_that_is_killed(runtime):
    """All of its processes at once, while it begins or watches, DWELL_BLOCKED_KILLS times (5): of its probes, programs and links none
    is left, and the target answers all the time."""
    rng, held = random.Random(runtime), 0
    with (loop_service if runtime == "loop" else tokio_service)() as service:
        pid, took_s = service.process.pid, None
        untouched, client = code_of(pid), Client(service)
        assert untouched
        try:
            for _ in range(int(os.environ.get("DWELL_BLOCKED_KILLS", 5))):
                client.wait_for(1)
                began = time.monotonic()
                command = [DWELL, "blocked", "-p", str(pid), "--format", "json", "-v"]
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
                if took_s is None:
                    assert any("watching" in line for line in process.stderr)
                    took_s = time.monotonic() - began
                    client.wait_for(3)
                    assert (code_of(pid) != untouched) == (runtime == "tokio"), "only polls have probes in the program"
                else:
                    time.sleep(rng.random() * 1.5 * took_s)
                    assert process.poll() is None
                known = below(process.pid)
                opened = opened_in_kernel(one for one, _ in known)
                held += bool(opened)
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                assert not await_end_of(known)
                # the kernel takes them away when it has time
                wait_until(lambda: not left_in_kernel(opened))
                wait_until(lambda: code_of(pid) == untouched)
            client.wait_for(10)
        finally:
            client.end()
        assert client.wrong is None and service.process.poll() is None
    assert held > 1, "it was killed before it had anything in the kernel"


def test_a_ring_that_is_too_small(services):
    """What is lost is counted, and reported."""
    service = services(LOOP, "1", "/var/tmp")
    blocked = Blocked(service.process.pid, "--ring", "64K", "--threshold", "500us")
    blocked.process.send_signal(signal.SIGSTOP)
    for _ in range(200):
        service.ask("sleep", 1)
    blocked.process.send_signal(signal.SIGCONT)
    stalls, summary = blocked.end()
    assert summary["quality"]["lost"] > 50
    assert len(stalls) < 150
    for size, told in (("100K", "a power of two"), ("4K", "from 64K"), ("x", "bad size 'x'")):
        assert told in refused("-p", service.process.pid, "--ring", size, status=2)


def test_too_few_open_files_are_the_reason():
    """Helpers begin with 64; what then finds no room says so."""
    with loop_service() as service:
        done = subprocess.run(["prlimit", "--nofile=64", DWELL, "blocked", "-p", str(service.process.pid), "-d", "100ms"], capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 1 and "Too many open files" in done.stderr and "helper" not in done.stderr, done


def test_help_says_how_a_name_differs():
    """`dwell top NAME` takes a server with its workers, `dwell blocked NAME` one process."""
    words = [" ".join(run(command, "--help").stdout.split()) for command in ("top", "blocked")]
    assert "the process of this name, of a server with what it has forked" in words[0]
    assert "of a server with workers that it has forked choose one by -p" in words[1]
