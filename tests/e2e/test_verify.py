# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell verify`: it passes where dwell is right, and finds every mistake that dwell can be built with."""
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
import schemas

from conftest import BUILD, DWELL, run
from hostile import BPF, refusing
from test_truth import disk_path, swap_device  # noqa: F401
from verdicts import disturbed

FAULTY = str(BUILD / "tests" / "dwell-faulty")


def verify(*arguments, program=DWELL, fault=None):
    """-> (its result, its exit status)"""
    environment = {**os.environ, "DWELL_FAULT": fault} if fault else os.environ
    done = run("verify", "--quick", *arguments, "--format", "json", program=program, env=environment, timeout=400)
    assert not done.stderr and done.stdout.count("\n") == 1, done.stderr
    result = json.loads(done.stdout)
    assert not schemas.mistakes(result), schemas.mistakes(result)[:5]
    return result, done.returncode


def why(result):
    return [(pattern["name"], pattern["verdict"], pattern["why"]) for pattern in result["results"] if pattern["why"]]


OPEN_MAX = 5  # patterns


@pytest.mark.measures
def test_dwell_is_right(tmp_path):
    """All patterns in all states, but swapping, which needs a memory limit: test_truth.py."""
    result, status = verify()
    assert not result["failed"] and not result["wrong_states"], why(result)
    # threads that the machine has held up before they measured themselves
    held_up = [pattern for pattern in result["results"] if pattern["verdict"] == "inconclusive" and "the machine leaves" in pattern["why"]]
    if len(held_up) > OPEN_MAX:
        disturbed(f"{len(held_up)} patterns: {held_up[0]['why']}")
    # at first sight: until the helper has read whose lock it is
    assert {pattern["name"] for pattern in result["results"] if (pattern["unknown_percent"] or 0) > 1} <= {"foreign", "mutex-polled"}, result
    assert result["verdict"] in ("pass", "inconclusive"), result
    assert status == {"pass": 0, "inconclusive": 4}[result["verdict"]]
    assert result["patterns"] == len(result["results"]) >= 100
    assert result["inconclusive"] <= OPEN_MAX and result["skipped"] <= 1, why(result)
    assert result["reasons_right"] == result["reasons"] > 80
    # not where a switch was lost
    assert result["latencies_right"] == result["latencies"] > 0, result
    assert result["culprits_right"] == result["culprits"] > 8, result
    assert result["shares_right"] == result["shares"] >= 5, result
    assert result["turns_right"] == result["turns_found"] == result["turns"] > 10 and not result["turns_false"], result
    assert result["worst_error_percent"] <= 1 and result["p99_error_percent"] <= 0.5 and result["p50_error_percent"] <= 0.05
    judged = {state["state"] for state in result["states"] if state["count"]}
    # null on a machine from which no hypervisor has ever taken time
    (row, *_) = json.loads(run("top", "-c", "1", "-i", "50ms", "--format", "json").stdout)["threads"]
    stolen = {"stolen"} if row["states_ns"]["stolen"] is not None else set()
    assert judged >= {"cpu", "runnable", "disk", "net", "ipc", "lock", "sleep", "idle", "stopped"} | stolen
    assert not result["unseen"]
    assert result["lost_on_purpose"] > 1000 and not result["lost_unreported"], result
    # root's result is there for the doctor of everyone
    doctor = json.loads(run("doctor", "--format", "json").stdout)
    found = next(check["found"] for check in doctor["checks"] if check["name"] == "verified")
    assert f"{result['passed']} patterns passed" in found and result["verdict"] in found


#: fault: (patterns that show it, which of them must fail, what is wrong there)
FAULTS = {
    "no on_switch": ("naps", None, ""),
    "no on_wakeup": ("naps,tcp", None, ""),
    "no on_blame_waking": ("mutex", "mutex", "dwell blames unknown for"),
    "no on_fork": ("pipe-read", "pipe-read", "has not seen"),
    # a worker of io_uring is made without a fork
    "no on_wakeup_new": ("io-uring", "io-uring", "has not seen"),
    "no on_migrate": ("moved", "moved", "dwell blames moved-other for"),
    # its name comes from there
    "no on_disk": ("direct", "direct", "dwell blames device for"),
    # without on_leave only what ends within microseconds of the last snapshot is missing, in some runs, and not counted
    "read is for locks": ("pipe-read", "pipe-read", "lock is off by +"),
    "sleeps are for work": ("nanosleep", "nanosleep", "idle is off by +"),
    "futexes are locks": ("condition", "condition", "lock is off by +"),
    "epoll is not known": ("epoll-wait", "epoll-wait", "sleep is off by +"),
    "flock is for work": ("flock-wait", "flock-wait", "idle is off by +"),
    "no kernel functions": ("seccomp", "seccomp", "net is off by +"),
    "every futex site is a lock": ("condvar", "condvar", "lock is off by +"),
    "the clock is 3 % fast": ("pipe-read", "pipe-read", "ipc is off by +3"),
    "stolen is CPU time": ("spin", "spin", "cpu is off by +"),
    "preempted is CPU time": ("two-spinners", "two-spinners", "is off by"),
    "a tenth of disk is idle": ("direct", "direct", "is off by"),
    "waits for a CPU are short": ("late", "late", "the longest wait for a CPU was"),
    "every tenth end is lost": ("short-lived", "short-lived", ""),
    # that there is no room for them, not that they end
    "no losses": ("ring-full", "ring-full", "reported as lost"),
    "victims blame themselves": ("two-spinners", "two-spinners", "dwell blames spin-"),
    "disks are timers": ("direct", "direct", "dwell blames timer for"),
    "each stack is that of the one before": ("functions", "functions", "of the time, not"),
    "reasons have no object": ("pipe-read", "pipe-read", "the reason is read, not read:pipe"),
}


@pytest.mark.measures
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault):
    patterns, failing, wrong = FAULTS[fault]
    result, status = verify("--patterns", patterns, program=FAULTY, fault=fault)
    if (result["verdict"], status) == ("inconclusive", 4) and any("the machine leaves" in text for _, _, text in why(result)):
        disturbed(f"{why(result)}")
    assert (result["verdict"], status) == ("fail", 3), (why(result), result)
    if failing:
        found = next(pattern for pattern in result["results"] if pattern["name"] == failing)
        assert found["verdict"] == "fail" and wrong in found["why"], found
    else:
        assert 10 * result["lost"] > result["wakeups"] or result["unseen"], result


@pytest.mark.measures
@pytest.mark.parametrize("fault, cause", {"read is for locks": "lock, not ipc", "sleeps are for work": "net, not sleep"}.items())
def test_faults_of_blocked_are_found(fault, cause):
    result, status = verify("--patterns", "event-loop", program=FAULTY, fault=fault)
    (found,) = result["results"]
    assert (status, found["verdict"]) == (3, "fail") and cause in found["why"], result
    assert result["turns_found"] == result["turns"] > result["turns_right"] and not result["turns_false"]


@pytest.mark.measures
def test_the_faulty_build_is_right_without_a_fault():
    result, status = verify("--patterns", "pipe-read,nanosleep,condition", program=FAULTY)
    assert (result["verdict"], status, result["passed"]) == ("pass", 0, 3), why(result)


def test_list_and_mistakes():
    names = [line.split()[0] for line in run("verify", "--list").stdout.splitlines()]
    assert len(names) == len(set(names)) >= 100
    for arguments, message in {
        ("--patterns", "mutex-lock,mutex-lok"): "no pattern is called 'mutex-lok'; did you mean 'mutex-lock'?",
        ("--patterns", "mutex-lok"): "no pattern is called 'mutex-lok'; did you mean 'mutex-lock'?",
        ("--patterns", "zzzzzzzzzz"): "`--list` shows them all",
        ("--limit", "0"): "--limit 0: a number of percent, above 0",
        ("--limit", "nan"): "--limit nan",
        ("-d", "1ms"): "--duration 1ms: from 200ms to 60s",
        ("--rounds", "0"): "--rounds",
        ("--pattern=x",): "no pattern is called 'x'",
        ("here",): "Too many arguments",
    }.items():
        done = run("verify", *arguments)
        assert done.returncode == 2 and message in done.stderr, (arguments, done.stderr)
    for directory, reason in (("/nonexistent", "No such file"), ("/etc/passwd", "Not a directory")):
        done = run("verify", "--directory", directory)
        assert done.returncode == 1 and f"--directory {directory}: {reason}" in done.stderr, done.stderr


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_that_the_result_is_not_kept_is_said_last():
    """As in a guest, which has no /var/lib: it is a remark, and the result comes first."""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /var/lib; exec "$0" verify --quick', DWELL],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("dwell ") and lines[-1].startswith("dwell verify: /var/lib/dwell/verify.json is not written: "), lines


def test_without_privileges():
    done = run("verify", "--quick", "--patterns", "nanosleep", user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1 and done.stderr.startswith("dwell verify: exact states need BPF"), done.stderr
    assert not done.stdout


@pytest.mark.skipif(not BPF, reason="the number of bpf(2) is not known here")
@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS])
def test_root_without_bpf(code):
    """As in a container: it has the rights, and a filter refuses the call."""
    done = run("verify", "--quick", "--patterns", "nanosleep", preexec_fn=refusing(BPF, code))
    assert done.returncode == 1 and not done.stdout, done.stdout
    assert done.stderr == f"dwell verify: the kernel or a seccomp filter refuses bpf(): {os.strerror(code)}\n"


@pytest.mark.measures
@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_in_a_pid_namespace():
    """Threads have other numbers there, which they know themselves by; those of other namespaces have none."""
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", DWELL, "verify", "--quick", "--format", "json",
                           "--patterns", "nanosleep,pipe-read,mutex,short-lived,waitpid"], capture_output=True, text=True, timeout=200)  # fmt: skip
    assert not done.stderr
    result = json.loads(done.stdout)
    assert not result["unseen"] and not result["failed"] and result["passed"] >= 3, why(result)
    # whom a thread has waited for, too
    assert result["culprits"] == result["culprits_right"] > 0, result


def test_what_a_machine_leaves_open_is_no_error():
    """It is inconclusive, and says how much that is: here by a limit that a busy machine would have, and any other."""
    result, status = verify("--patterns", "nanosleep", "--limit", "0.0001")
    (pattern,) = result["results"]
    assert (result["verdict"], status, pattern["verdict"]) == ("inconclusive", 4, "inconclusive"), why(result)
    (open_percent,) = re.fullmatch(r"nanosleep: the machine leaves ([\d.e-]+) % open", pattern["why"]).groups()
    assert float(open_percent) > 0.0001 and not result["failed"] and not result["wrong_states"], result
    page = run("verify", "--quick", "--patterns", "nanosleep", "--limit", "0.0001")
    assert page.returncode == 4 and " % open" in page.stdout and "inconclusive" in page.stdout, page.stdout


def test_no_room_for_a_file():
    """Patterns about disks are skipped with the reason; nothing passes for it."""
    result, status = verify("--directory", "/proc", "--patterns", "fsync,direct,nanosleep")
    skipped = {pattern["name"]: pattern["why"] for pattern in result["results"] if pattern["verdict"] == "skip"}
    assert set(skipped) == {"fsync", "direct"} and all("/proc" in reason for reason in skipped.values()), skipped
    assert (result["passed"], status) == (1, 0)


@pytest.mark.measures
def test_swap(disk_path):
    path, undo = swap_device("file", disk_path)
    try:
        result, status = verify("--patterns", "swap")
    finally:
        subprocess.run(["swapoff", path], check=True)
        undo()
    (swap,) = result["results"]
    assert (status, swap["verdict"], swap["state"]) == (0, "pass", "swap"), swap
    assert swap["measured_ns"] > 0


def children(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []  # it has ended


def threads(pid):
    try:
        return [path.read_text().strip() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]
    except OSError:
        return []


def test_interrupted():
    """It is inconclusive, says what it has judged, and leaves nothing behind."""
    with subprocess.Popen([DWELL, "verify", "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not any("pipe-read" in threads(pattern) for batch in children(process.pid) for pattern in children(batch)):
            assert process.poll() is None
            time.sleep(0.02)
        process.terminate()  # SIGINT may be ignored where the tests run in the background
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 4, (process.returncode, errors)
    result = json.loads(output)
    assert result["verdict"] == "inconclusive" and result["interrupted"]
    left = subprocess.run(["pgrep", "-f", "dwell verify --format json"], capture_output=True, text=True).stdout
    assert not left
    files = [name for directory in ("/tmp", "/var/tmp") for name in os.listdir(directory)]
    assert not [name for name in files if name.startswith("dwell-verify-")]


PEERS = ["dwell", "schedstat", "taskstats", "perf sched timehist", "runqlat", "offcputime"]


@pytest.mark.measures
def test_peers():
    """The same threads, at the same time, by other tools; each says which of its times were compared."""
    result, _ = verify("--peers", "--patterns", "two-spinners,naps,mutex-lock")
    peers = {peer["name"]: peer for peer in result["peers"]}
    assert list(peers) == PEERS
    assert not any(peer["why"] for peer in peers.values()), peers
    assert peers["dwell"]["worst_percent"] <= 1 and not peers["dwell"]["unseen"], peers
    assert all(peer["count"] and peer["threads"] for peer in peers.values()), peers
    # nothing hides the spinners, which no reading of counters is needed for
    assert all(peer["p50_percent"] < 50 for peer in peers.values()), peers
    # each kind of time alone, and all of them
    for peer in peers.values():
        kinds = [each["time"] for each in peer["times"]]
        assert kinds == {"run queue": ["run queue"], "off-CPU": ["off-CPU"]}.get(peer["measures"], ["CPU", "run queue", "blocked"]), peer
        assert sum(each["count"] for each in peer["times"]) == peer["count"]
        worst = max(each["worst_percent"] for each in peer["times"] if each["count"])
        assert worst == peer["worst_percent"], peer
    page = run("verify", "--peers", "--quick", "--patterns", "naps").stdout
    assert all(f"\n{name} " in page for name in PEERS), page


def test_peers_that_are_not_there(tmp_path):
    (tmp_path / "perf").write_text("#!/bin/sh\necho 'no permission, says perf' >&2\nexit 1\n")
    (tmp_path / "perf").chmod(0o755)
    (tmp_path / "stdbuf").symlink_to("/usr/bin/stdbuf")
    done = run("verify", "--peers", "--quick", "--patterns", "naps", "--format", "json", env={**os.environ, "PATH": str(tmp_path)})
    peers = {peer["name"]: peer for peer in json.loads(done.stdout)["peers"]}
    assert list(peers) == PEERS
    assert {name: peer["why"] for name, peer in peers.items() if peer["why"]} == {
        "perf sched timehist": "no permission, says perf", "runqlat": "not installed", "offcputime": "not installed",
    }
    assert peers["runqlat"]["count"] is None and peers["schedstat"]["count"]


def test_peers_end_with_dwell(tmp_path):
    """However it ends."""
    with subprocess.Popen([DWELL, "verify", "--peers", "-d", "60s", "--patterns", "naps"], stdout=subprocess.DEVNULL) as process:
        tools = {"perf", "runqlat", "offcputime"}
        while {pathlib.Path(f"/proc/{child}/comm").read_text().strip() for child in children(process.pid)} < tools:
            assert process.poll() is None
            time.sleep(0.02)
        started = children(process.pid)
        process.kill()
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{child}") for child in started):
        assert time.monotonic() < deadline, started
        time.sleep(0.02)
    assert not subprocess.run(["pgrep", "-f", "perf sched record -o /proc"], capture_output=True, text=True).stdout
