# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever is killed, and whatever runs out: no process, cgroup or file is left, and the verdict is right.

DWELL_KILLS=N: how often something is killed (100); DWELL_DOUBLE_KILLS=N: how often two of a run's processes at once (a twelfth of it).
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import uuid

import pytest

from conftest import DWELL, run
from loads import CGROUPS, Load, await_nothing, children, cpu_ticks, processes, spec, start

KILLS = int(os.environ.get("DWELL_KILLS", "100"))
DOUBLE_KILLS = int(os.environ.get("DWELL_DOUBLE_KILLS", str(max(KILLS // 12, 1))))
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture
def scratch():
    """For the workers' files, and everybody's. Programs of the run have its name in their command line."""
    directory = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp", prefix="load-scratch-"))
    directory.chmod(0o777)
    shutil.copy("/bin/sleep", directory / "sleeper")
    yield directory
    shutil.rmtree(directory)


def workload(directory, scratch, duration):
    cgroup = "- {name: a/b, work: [{type: pipe-io, workers: 2}, {type: io-sync-write, workers: 1}]}" if CGROUPS else "[]"
    # two grandchildren: one in the worker's process group, one that has left it
    return spec(directory, f"""
duration: {duration}
cgroups:
  {cgroup}
work:
  - {{type: fork-exit, workers: 1}}
  - type: exec
    command: >-
      sh -c "setsid {scratch}/sleeper 1000 & {scratch}/sleeper 1000"
""")


def random_moment(rng, process, kind, number):
    """From before the first worker to the middle of the work; each second time from when there is one of that kind.

    However long the machine takes to start it, then, something is there to be killed.
    """
    while number % 2 == 0 and process.poll() is None and not victims(process, kind):
        time.sleep(0.005)
    time.sleep(rng.random() * rng.choice((0.02, 0.1, 0.3)))
    return process.poll() is None


def victims(process, kind):
    """Processes of that kind that there are now."""
    if kind == "guardian":
        return [process.pid]
    second = children(process.pid)
    if kind == "second guardian":
        return second
    runners = [runner for guardian in second for runner in children(guardian)]
    if kind == "runner":
        return runners
    workers = [worker for runner in runners for worker in children(runner)]
    if kind == "worker":
        return workers
    return [child for worker in workers for child in children(worker)]


def kill(pids, rng):
    pid = rng.choice(pids) if pids else None
    try:
        if pid:
            os.kill(pid, signal.SIGKILL)
        return pid
    except ProcessLookupError:
        return None


@pytest.mark.parametrize("kind", ["guardian", "second guardian", "runner", "worker", "grandchild"])
def test_sigkill_at_random_moments(tmp_path, scratch, kind):
    rng = random.Random(kind)
    path = workload(tmp_path, scratch, "600ms")
    killed = 0
    for number in range(max(KILLS // 4, 1)):
        process = start(path, "--json", "--scratch", scratch)
        pid = kill(victims(process, kind), rng) if random_moment(rng, process, kind, number) else None
        out, error = process.communicate(timeout=30)
        assert await_nothing(str(scratch), scratch) == [], (kind, error)
        if not pid:
            continue
        killed += 1
        lines = [json.loads(line) for line in out.splitlines()]
        report = lines[-1] if lines and lines[-1]["type"] == "load" else None
        if kind == "guardian":
            assert process.returncode == -signal.SIGKILL
        elif kind in ("runner", "second guardian"):
            assert process.returncode == 1 and "was killed by signal 9" in error, error
        elif kind == "worker" and not report:  # it had not begun
            assert process.returncode == 1 and "cannot start the workers" in error, (process.returncode, error)
        elif kind == "worker":
            assert process.returncode == 3 and report["verdict"] == "fail", (process.returncode, error)
            dead = [line for line in lines if line["type"] == "worker" and not line["completed"]]
            assert [worker["exit_info"] for worker in dead] == [{"kind": "signaled", "signal": 9}]
        else:
            # a child of fork-exit ends anyway; what the program's shell thinks of it is its own matter
            assert process.returncode in (0, 3) and report["verdict"] in ("pass", "fail"), error
            assert all(line["completed"] for line in lines if line["type"] == "worker")
    assert killed > max(KILLS // 4, 1) // 4, "hardly anything was there to be killed"


def test_a_worker_that_does_not_stop_is_killed(tmp_path, scratch):
    """Deaf to SIGUSR1, with a child that holds its report pipe open."""
    source = tmp_path / "deaf.c"
    source.write_text("""
#include <signal.h>
#include <unistd.h>
#include <dwell/work.h>
int dwell_work(struct dwell_work *work)
{
	signal(SIGUSR1, SIG_IGN);
	if (!fork()) for (;;) pause();
	for (;;) pause();
}
int dies(struct dwell_work *work)
{
	if (!fork()) { signal(SIGUSR1, SIG_IGN); for (;;) pause(); }
	_exit(5);
}
""")
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    library = tmp_path / "deaf.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", "-o", library, source], check=True)
    began = time.monotonic()
    load = Load("--work", f"custom:library={library}", "--work", "spin-wait", "-d", "300ms", "--scratch", scratch)
    assert time.monotonic() - began < 20
    assert load.status == 3
    assert [worker["exit_info"] for worker in load.workers] == [{"kind": "timed_out"}, None]
    load = Load("--work", f"custom:library={library},function=dies", "-d", "300ms", "--scratch", scratch)
    assert load.status == 3 and load.workers[0]["exit_info"] == {"kind": "exited", "code": 5}
    assert await_nothing(str(scratch), scratch) == []


def test_a_full_disk(tmp_path):
    """30 s of ENOSPC: the workers go on, and say so; a report that has no room is an error."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=True)
    try:
        load = Load("--work", "io-sync-write", "--workers", 2, "--work", "spin-wait", "-d", "30s", "--scratch", disk, timeout=60)
        assert load.status == 0 and all(worker["completed"] for worker in load.workers), load.error
        # there is room for the file of one of them
        without = [worker for worker in load.workers[:2] if "No space left" in (worker["note"] or "")]
        assert without
        for worker in without:
            assert worker["cpu_time_ns"] < worker["wall_time_ns"] / 10, "it must not spin on the error"
            assert worker["max_gap_ms"] < 5000
        assert load.workers[2]["iterations"] > 0
        subprocess.run(["dd", "if=/dev/zero", f"of={disk}/ballast", "bs=4k"], stderr=subprocess.DEVNULL)
        done = run("load", "--work", "spin-wait", "--workers", 300, "-d", "200ms", "--save", disk / "runs")
        assert done.returncode == 1 and "No space left" in done.stderr, done
        assert [path.name for path in disk.rglob("*")] in (["ballast"], ["runs", "ballast"], ["ballast", "runs"])
    finally:
        subprocess.run(["umount", disk], check=True)


def test_limits_of_processes_and_files(scratch):
    done = subprocess.run(["prlimit", "--nofile=64:64", DWELL, "load", "--work", "spin-wait", "--workers", "100", "-d", "5s",
                           "--scratch", scratch], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "ulimit -n" in done.stderr, done.stderr
    assert await_nothing(str(scratch), scratch) == []
    if not all(directory.stat().st_mode & 0o001 for directory in pathlib.Path(DWELL).parents):
        pytest.skip(f"others than root may not enter the directory of {DWELL}")
    done = subprocess.run([*NOBODY, "prlimit", "--nproc=20:20", DWELL, "load", "--work", "spin-wait", "--workers", "100", "-d",
                           "5s", "--scratch", scratch], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "ulimit -u" in done.stderr, done.stderr
    assert await_nothing(str(scratch), scratch) == []
    # those of the first group wait for their start, and are not waited for
    began = time.monotonic()
    done = subprocess.run(["prlimit", "--nofile=40:40", DWELL, "load", "--work", "spin-wait", "--workers", "10", "--work",
                           "spin-wait", "--workers", "50", "--scratch", scratch], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "ulimit -n" in done.stderr, done.stderr
    assert time.monotonic() - began < 3
    assert await_nothing(str(scratch), scratch) == []


def test_two_of_its_processes_may_be_killed_at_once(tmp_path, scratch):
    """Whichever they are, the third one tidies up: also what has left its worker's process group."""
    rng = random.Random("two")
    path = workload(tmp_path, scratch, "60s")
    killed = number = 0
    kinds = "guardian", "second guardian", "runner"
    # one that had not begun, or had ended, does not count
    while killed < DOUBLE_KILLS and number < 10 * DOUBLE_KILLS:
        number += 1
        process = start(path, "--json", "--scratch", scratch)
        there = [pid for kind in kinds for pid in victims(process, kind)] if random_moment(rng, process, "runner", number) else []
        if len(there) == 3:
            killed += 1
            for pid in rng.sample(there, 2):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate(timeout=60)
        assert await_nothing(str(scratch), scratch) == []
    print(f"two of three processes killed {killed} times, {number} runs, nothing left")
    assert killed == DOUBLE_KILLS


def leavers(scratch):
    """Programs of the run that have left their worker's process group, and lead a session of their own."""
    found = []
    for pid in processes(f"{scratch}/sleeper"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == pid:
                found.append(pid)
    return found


def test_of_ab_two_processes_may_be_killed_at_once(tmp_path, scratch):
    """Who runs the pairs, and any of the three of the run that there is: one that is left tidies up."""
    rng = random.Random("pairs")
    path = workload(tmp_path, scratch, "60s")
    kinds = "guardian", "second guardian", "runner"
    for number in range(max(DOUBLE_KILLS // 2, len(kinds))):
        process = start("--ab", path, path, "--json", "--scratch", scratch)
        there = []
        # each second time from when the program has children of its own
        while len(there) < 3 or (number % 2 and not leavers(scratch)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
            run_of = types.SimpleNamespace(pid=next(iter(children(process.pid)), 0))
            there = [pid for kind in kinds for pid in victims(run_of, kind) if run_of.pid]
        time.sleep(rng.random() * 0.1)
        pair = [process.pid, there[number % 3]]
        rng.shuffle(pair)
        for pid in pair:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # if a process of the run was first, it may have ended by itself
        assert process.wait(timeout=60) in (-signal.SIGKILL, 1)
        assert await_nothing(str(scratch), scratch) == [], (number, pair, there)
        process.communicate(timeout=60)


@pytest.mark.parametrize("following", (["steady"], ["--work", "spin-wait"]), ids=("with cgroups", "without"))
def test_what_a_run_left_that_was_killed_as_a_whole_is_removed_by_the_next(tmp_path, scratch, following):
    if not CGROUPS:
        pytest.skip("cgroup v2 is not mounted")
    path = spec(tmp_path, f"""
duration: 60s
cgroups:
  - name: a/b
    work: {{type: exec, workers: 1, command: 'sh -c "setsid {scratch}/sleeper 1000 & {scratch}/sleeper 1000"'}}
""")
    process = start(path, "--scratch", scratch)
    while not leavers(scratch):
        time.sleep(0.01)
    ours = [victims(process, kind)[0] for kind in ("guardian", "second guardian", "runner")]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in ours:
            os.kill(pid, number)
    # these hold its output open
    process.wait(timeout=20)
    # no process was left to kill what had left its worker's process group
    left = leavers(scratch)
    assert left
    assert run("load", *following, "-d", "100ms", "--scratch", scratch).returncode == 0
    assert await_nothing(str(scratch), scratch) == []


def test_the_death_of_the_scheduler_ends_the_run_and_fails_it(scratch):
    scheduler = subprocess.Popen(["sleep", "1000"])
    process = start("--work", "spin-wait", "-d", "60s", "--json", "--scheduler-pid", scheduler.pid, "--scratch", scratch)
    while not victims(process, "worker"):
        time.sleep(0.01)
    scheduler.kill()
    scheduler.wait()
    out, error = process.communicate(timeout=20)
    report = json.loads(out.splitlines()[-1])
    assert process.returncode == 3 and report["end"] == "scheduler-died", error
    assert [finding["text"] for finding in report["checks"] if finding["check"] == "run"] == [
        "the scheduler died: its program ended"
    ]


def lift(directory):
    """Even a thread that was killed needs CPU time to end."""
    (directory / "cpu.cfs_quota_us").write_text("-1")


@pytest.fixture
def trickle():
    """A cgroup (v1) whose tasks get a millisecond of CPU a second, all together."""
    directory = pathlib.Path("/sys/fs/cgroup/cpu") / f"dwell-test-{uuid.uuid4().hex}"
    if not (directory.parent / "cpu.cfs_quota_us").parent.is_dir() or not (directory.parent / "cgroup.procs").exists():
        pytest.skip("no cpu controller of cgroup v1 here; guests try it with cpu_max")
    directory.mkdir()
    (directory / "cpu.cfs_period_us").write_text("1000000")
    (directory / "cpu.cfs_quota_us").write_text("1000")
    yield directory
    lift(directory)
    for pid in (directory / "cgroup.procs").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (directory / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    directory.rmdir()


CATCHER = ("import signal, time\nsignal.signal(signal.SIGUSR2, lambda *_: print('alarm', flush=True))\n"
           "print('ready', flush=True)\nwhile True: time.sleep(1)")  # fmt: skip


@pytest.mark.parametrize("repro, catches", [(False, True), (True, True), (False, False)])
def test_the_scheduler_gets_a_signal_for_workers_that_cannot_run(scratch, trickle, repro, catches):
    """If it catches it: what does not would be ended, and the kernel would not say why it was stuck."""
    scheduler = subprocess.Popen([sys.executable, "-c", CATCHER] if catches else ["sleep", "1000"], stdout=subprocess.PIPE, text=True)
    assert not catches or scheduler.stdout.readline() == "ready\n"
    cpu = max(os.sched_getaffinity(0))
    process = start("--work", "spin-wait", "--workers", 12, "--cpus", cpu, "-d", "8s", "--json", "--scratch", scratch,
                    "--scheduler-pid", scheduler.pid, *(["--repro"] if repro else []))
    while len(victims(process, "worker")) < 12:
        time.sleep(0.01)
    for pid in victims(process, "worker"):
        (trickle / "cgroup.procs").write_text(str(pid))
    try:
        out, error = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        lift(trickle)
        out, error = process.communicate(timeout=60)
    report = json.loads(out.splitlines()[-1])
    status = scheduler.poll()
    scheduler.kill()
    said = scheduler.communicate()[0]
    # it lives
    assert status is None and report["end"] == "complete", error
    # by dwell, or by a worker that noticed it first
    workers = [json.loads(line) for line in out.splitlines()[:-1]]
    alarms = report["scheduler_alarms"] + sum(worker.get("scheduler_alarms", 0) for worker in workers)
    assert (alarms >= 1) == ("alarm" in said) == (catches and not repro), (alarms, said, error)
    stuck = "has not run for 2 s" in json.dumps(report["events"])
    assert stuck or [worker for worker in workers if not worker["completed"]] or alarms
    assert (report["evidence"] is not None) == stuck
    assert not stuck or ("kernel stack:" in report["evidence"] and " state R, " in report["evidence"])
    assert await_nothing(str(scratch), scratch) == []


@pytest.mark.parametrize("work", ["thundering-herd:inter_batch=2500ms", "fan-out-compute:sleep=2500ms", "bursty:sleep=10s",
                                  "wake-chain:work=1100ms", "wake-chain:work=1100ms,by=futex", "idle-churn:burst=2500ms",
                                  "producer-consumer:rate=1,consume_iters=1", "preempt-storm:sleep=10s"])
def test_who_waits_for_a_partner_or_takes_long_on_purpose_is_not_stuck(scratch, work):
    """Neither a gap, nor a reason to alarm the scheduler."""
    scheduler = subprocess.Popen([sys.executable, "-c", CATCHER], stdout=subprocess.PIPE, text=True)
    assert scheduler.stdout.readline() == "ready\n"
    done = run("load", "--work", work, "-d", "4s", "--json", "--scheduler-pid", scheduler.pid, "--scratch", scratch,
               "--check", "max-gap=1s")
    scheduler.kill()
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["verdict"] == "pass", report["checks"]
    assert not [event for event in report["events"] if "has not run" in event["event"]]
    assert scheduler.communicate()[0] == ""


def test_whose_partner_was_killed_has_no_gap(scratch):
    process = start("--work", "pipe-io", "-d", "4s", "--json", "--scratch", scratch, "--check", "max-gap=1s")
    while len(victims(process, "worker")) < 2 or min(map(cpu_ticks, victims(process, "worker"))) < 2:
        time.sleep(0.01)
    os.kill(victims(process, "worker")[0], signal.SIGKILL)
    out, error = process.communicate(timeout=20)
    report = json.loads(out.splitlines()[-1])
    found = {finding["check"]: finding["verdict"] for finding in report["checks"]}
    assert found == {"completed": "fail", "worked": "fail", "max-gap": "pass"}, (report["checks"], error)
