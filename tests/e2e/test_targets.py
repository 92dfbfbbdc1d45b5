# SPDX-License-Identifier: GPL-2.0-or-later
"""What `dwell top` watches: processes, threads, names, children, cgroups, pid namespaces."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest

from conftest import Background, DWELL, WORKLOAD, parse, run
from matrices import wait_until


@pytest.fixture
def sleeper():
    """A process of three threads that wait."""
    process = subprocess.Popen([WORKLOAD, "crowd", "2"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()


def test_process_and_thread_targets(sleeper):
    done = run("top", "-p", sleeper.pid, "-c", "1", "-i", "50ms", "--format", "json")
    (interval,), _ = parse(done.stdout)
    assert {row["pid"] for row in interval["threads"]} == {sleeper.pid}
    assert len(interval["threads"]) == 3
    tid = max(row["tid"] for row in interval["threads"])
    done = run("top", "-t", tid, "-c", "1", "-i", "50ms", "--format", "json")
    (interval,), _ = parse(done.stdout)
    (row,) = interval["threads"]
    assert row["tid"] == tid
    assert row["state"] == "idle" and row["reason"] == "pause"
    assert row["states_ns"]["idle"] == row["observed_ns"]


def test_name_target(tmp_path):
    program = tmp_path / "dwell-unusual-name"
    program.write_bytes(pathlib.Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    process = subprocess.Popen([program, "60"])
    done = run("top", "-n", "dwell-unusual-name", "-c", "1", "-i", "50ms", "--format", "json")
    # the same as an argument; a pattern, and only a pattern, takes a part of the name
    for words in (["dwell-unusual-name"], ["dwell-unusual*"], ["-n", "*usual-nam*"]):
        again = run("top", *words, "-c", "1", "-i", "50ms", "--format", "json")
        assert [row["pid"] for row in parse(again.stdout)[0][0]["threads"]] == [process.pid], again.stderr
    part = run("top", "unusual-nam", "-c", "1")
    assert part.returncode == 1 and "no process named 'unusual-nam'" in part.stderr and "comes after --" in part.stderr
    # the kernel keeps 15 bytes of it
    misspelt = run("top", "dwell-unusal-na", "-c", "1")
    assert misspelt.returncode == 1 and "did you mean 'dwell-unusual-n'?" in misspelt.stderr
    other = subprocess.Popen([program, "60"])
    several = run("top", "-n", "dwell-unusual-name", "-c", "1")
    # of a pattern, all
    pattern = run("top", "dwell-unusual*", "-c", "1", "-i", "50ms", "--format", "json")
    one = run("blocked", "-n", "dwell-unusual*", "-d", "1s")
    for child in (process, other):
        child.kill()
        child.wait()
    (interval,), _ = parse(done.stdout)
    assert [row["pid"] for row in interval["threads"]] == [process.pid]
    assert {row["pid"] for row in parse(pattern.stdout)[0][0]["threads"]} == {process.pid, other.pid}, pattern.stderr
    assert one.returncode == 1 and "2 processes match" in one.stderr, one.stderr
    assert several.returncode == 1
    assert f"choose with -p" in several.stderr
    assert str(process.pid) in several.stderr and str(other.pid) in several.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("blocked", "--runtme", "tokio"), "unrecognized option '--runtme'; did you mean '--runtime'?"),
        (("load", "steady", "--cpuz=1"), "unrecognized option '--cpuz'; did you mean '--cpus'?"),
        (("top", "-i", "1s", "--formt", "json"), "unrecognized option '--formt'; did you mean '--format'?"),
        # every command that takes a process has -n
        (("blocked", "-n", "no-such-name", "-d", "1s"), "no process named 'no-such-name'"),
        # neither like an option, nor is a beginning or a value of one a misspelt one
        (("top", "--zzzzzzz"), "unrecognized option '--zzzzzzz'\n"),
        (("top", "--format"), "requires an argument"),
        (("record", "--blame=x"), "doesn't allow an argument"),
        # what follows is another command's
        (("top", "--", "--formt"), "cannot run --formt"),
    ],
)
def test_an_option_that_is_misspelt(arguments, said):
    done = run(*arguments)
    assert done.returncode and said in done.stderr, done.stderr


ADVICE = "a program to run comes after --"


@pytest.mark.parametrize(
    "words, said",
    [
        (("no-such-name",), f"({ADVICE})"),
        (("no-such-name", "-c", "1"), f"({ADVICE})"),
        (("-c", "1", "no-such-name", "more"), f"(two targets were given, 'no-such-name' and 'more'; {ADVICE})"),
        (("-p", str(os.getpid()), "no-such-name"), f"(another target was given before it; {ADVICE})"),
    ],
)
def test_a_second_target_is_no_secret(words, said):
    done = run("top", *words)
    assert (done.returncode, done.stderr) == (1, f"dwell top: no process named 'no-such-name' {said}\n")


@pytest.mark.parametrize("command", ["top", "blocked", "profile", "record"])
def test_who_gives_a_pid_as_a_name_reads_of_the_option(command):
    done = run(command, "9999999")
    assert (done.returncode, done.stderr) == (1, f"dwell {command}: no process named '9999999' (-p 9999999 is the process of that number; {ADVICE})\n")


FORKS = r"""
import os, sys, time
open("/proc/self/comm", "w").write("forks-test")
for _ in range(2):
    if not os.fork():
        os.write(1, b"%d\n" % os.getpid())  # at once: the other one writes into the same pipe
        time.sleep(600)
time.sleep(600)
"""


def forking(servers):
    """Starts a server in a group of its own, into `servers`. Returns its pid and those of its two workers."""
    server = subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, start_new_session=True)
    servers.append(server)
    return {server.pid, *(int(server.stdout.readline()) for _ in range(2))}


def test_a_name_is_that_of_a_server_and_its_workers():
    """All of one name that one of them has forked, without exec(): that one, and its children."""
    servers = []
    try:
        pids = forking(servers)
        for words in (["forks-test"], ["-n", "forks-*"]):
            done = run("top", *words, "-c", "1", "-i", "50ms", "--format", "json")
            assert done.returncode == 0, done.stderr
            assert {row["pid"] for row in parse(done.stdout)[0][0]["threads"]} == pids
        done = run("profile", "forks-test", "-d", "500ms", "--state", "all", "--by", "thread", "--format", "json")
        assert done.returncode == 0, done.stderr
        assert {row["pid"] for row in json.loads(done.stdout)["threads"]} == pids
        # one worker at a time, whose is not for dwell to choose
        blocked = run("blocked", "forks-test", "-d", "1s")
        assert blocked.returncode == 1 and blocked.stderr.endswith("; choose one with -p\n"), blocked.stderr
        forking(servers)
        several = run("top", "forks-test", "-c", "1")
        assert several.returncode != 0 and "6 processes match" in several.stderr, several.stderr
    finally:
        for server in servers:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@pytest.mark.parametrize("arguments", [("top", "-c", "1", "-i", "200ms"), ("profile", "-d", "300ms"), ("blocked", "-d", "300ms")])
def test_a_command_ends_with_all_that_it_has_started(arguments, tmp_path):
    """A pipeline, and what a shell of it has started; what had ended by then is another one's."""
    (tmp_path / "commands.sh").write_text("sleep 3719 | sh -c 'sleep 3720 & wait' | sleep 3721\n")
    run(*arguments, "--", "/bin/sh", tmp_path / "commands.sh")
    left = subprocess.run(["pgrep", "-f", "^sleep 37(19|20|21)$"], capture_output=True, text=True).stdout
    assert not left


def test_a_command_begins_with_its_program():
    """What its process does before that, as waiting for dwell, is not the command's."""
    for _ in range(5):
        done = run("top", "--blame", "--format", "json", "--", "true")
        intervals, _ = parse(done.stdout)
        rows = [row for interval in intervals for row in interval["threads"]]
        assert {row["comm"] for row in rows} == {"true"}
        # of so short a life a hypervisor may take all: the first use of memory that it has taken back
        on_cpu = sum(row["states_ns"][state] or 0 for row in rows for state in ("user", "kernel", "stolen"))
        assert sum(row["states_ns"]["ipc"] for row in rows) == 0 and on_cpu > 0, rows
        assert "dwell" not in {blame["culprit"]["comm"] for interval in intervals for blame in interval["blame"] if blame["state"] != "runnable"}


def test_children_are_followed():
    script = "sh -c 'sleep 0.2; true' & wait; sleep 0.1"
    done = run("top", "-i", "10s", "--format", "json", "--", "sh", "-c", script)
    intervals, ended = parse(done.stdout)
    assert ended["status"] == 0
    names = [row["comm"] for interval in intervals for row in interval["threads"]]
    assert names.count("sleep") == 2
    assert names.count("sh") == 2


def test_children_of_a_process():
    shell = subprocess.Popen(["sh", "-c", "sleep 30 & sleep 30 & wait"], start_new_session=True)
    try:
        # the children must be there: wait for the second
        deadline = time.monotonic() + 10
        children = pathlib.Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
        while len(children.read_text().split()) < 2 and time.monotonic() < deadline:
            pass
        done = run("top", "-p", shell.pid, "--children", "-c", "1", "-i", "50ms", "--format", "json")
        (interval,), _ = parse(done.stdout)
        assert sorted(row["comm"] for row in interval["threads"]) == ["sh", "sleep", "sleep"]
        done = run("top", "-p", shell.pid, "-c", "1", "-i", "50ms", "--format", "json")
        (interval,), _ = parse(done.stdout)
        assert [row["comm"] for row in interval["threads"]] == ["sh"]
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


NESTED = """
if [ "$1" -gt 0 ]; then exec unshare -pf --mount-proc sh -c "$0" "$0" $(($1 - 1)); fi
sleep 60 &
"$DWELL" top -p $! -d 100ms -i 100ms --format json
"""


def test_deep_pid_namespace():
    """Ten namespaces down the threads have the numbers that they have there."""
    done = run("-c", NESTED, NESTED, "10", program="sh", env={**os.environ, "DWELL": DWELL})
    (row,) = json.loads(done.stdout.splitlines()[-1])["threads"]
    assert (row["comm"], row["pid"]) == ("sleep", row["tid"]) and row["pid"] < 100, done


DESCEND = """
import os, sys, time
for _ in range(100):
    if os.fork():
        time.sleep(60)
print(flush=True)
time.sleep(60)
"""


def test_children_of_children():
    """A hundred generations, all of them there before dwell."""
    parents = subprocess.Popen([sys.executable, "-c", DESCEND], stdout=subprocess.PIPE, start_new_session=True)
    try:
        parents.stdout.readline()
        done = run("top", "-p", parents.pid, "--children", "-d", "100ms", "-i", "100ms", "--format", "json")
        assert json.loads(done.stdout.splitlines()[-1])["total"] == 101
    finally:
        os.killpg(parents.pid, signal.SIGKILL)
        parents.wait()


def test_what_cannot_be_seen_is_no_empty_table():
    """Some hosts hide a process of theirs, here the first: an empty table would be a lie."""
    done = run("top", "-p", "1", "-d", "100ms", "-i", "100ms", "--format", "json")
    if done.returncode:
        assert done.returncode == 1 and "none of its threads can be seen" in done.stderr and not done.stdout.strip(), done
    else:
        assert json.loads(done.stdout.splitlines()[-1])["threads"], done


def cgroup2_mount():
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        fields = line.split()
        if fields[2] == "cgroup2":
            return pathlib.Path(fields[1])
    return None


@pytest.mark.parametrize("blame", ["--no-blame", "--blame", "--blame=caused"])
def test_cgroup_target(blame):
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-test-{os.getpid()}"
    inner = group / "inner"
    inner.mkdir(parents=True)
    process = subprocess.Popen(["sleep", "60"])
    try:
        background = Background("--cgroup", group, "-i", "50ms", blame)
        assert background.interval()["threads"] == []
        (inner / "cgroup.procs").write_text(str(process.pid))
        for _ in range(40):
            rows = background.interval()["threads"]
            if rows:
                break
        assert [row["pid"] for row in rows] == [process.pid]
        assert rows[0]["cgroup"] == f"/{group.name}/inner"
        (mount / "cgroup.procs").write_text(str(process.pid))
        for _ in range(40):
            if not background.interval()["threads"]:
                break
        else:
            pytest.fail("a process that left the cgroup is still shown")
        background.end()
    finally:
        process.kill()
        process.wait()
        inner.rmdir()
        group.rmdir()


def test_more_processes_than_a_message_lists_have_a_sign(tmp_path):
    """In the list, and in what is offered to be typed."""
    program = shutil.copy("/bin/sleep", tmp_path / "lots-of-these")
    lots = [subprocess.Popen([program, "60"]) for _ in range(10)]
    try:
        wait_until(lambda: all(pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "lots-of-these\n" for process in lots))
        done = run("top", "lots-of-these", "-c", "1")
    finally:
        for process in lots:
            process.kill()
            process.wait()
    assert done.returncode == 1 and "10 processes match 'lots-of-these'" in done.stderr, done
    offered = done.stderr.split("; choose with -p ")[1].strip()
    assert offered.endswith(",…") and offered.count(",") == 8 and "), …; choose" in done.stderr, done


@pytest.mark.parametrize("command", ["top", "record", "profile"])
def test_an_empty_cgroup_is_refused(command):
    """As of an unset variable: the whole machine is not what was meant."""
    for option, why in (("--cgroup", "empty path of a cgroup"), ("-n", "empty process name"), ("-p", "''")):
        done = run(command, option, "", "-d", "50ms")
        assert done.returncode != 0 and why in done.stderr and not done.stdout, done


def test_a_long_cgroup_is_whole_but_on_a_terminal():
    """One copies a container's id from a file; a terminal would break the line."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"libpod-{'0123456789' * 8}-{os.getpid()}"
    group.mkdir()
    process = subprocess.Popen(["sleep", "60"])
    ours, theirs = os.openpty()
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        for options in (["--fields", "cgroup,tid"], ["--by", "cgroup"], ["--by", "cgroup", "--fields", "cgroup,threads"]):
            arguments = ["top", "-p", process.pid, "-c", "1", "-i", "50ms", *options]
            done = run(*arguments)
            assert done.returncode == 0 and f"/{group.name}" in done.stdout, done
            done = subprocess.run([DWELL, *map(str, arguments)], stdout=theirs, timeout=30)
            shown = os.read(ours, 65536).decode()
            assert done.returncode == 0 and group.name not in shown and max(map(len, shown.split("\r\n"))) <= 80, shown
    finally:
        os.close(ours)
        os.close(theirs)
        process.kill()
        process.wait()
        group.rmdir()


ON_ORDERS = """
import sys, threading
other = threading.Thread(target=threading.Event().wait)
other.start()
print(other.native_id, flush=True)
for line in sys.stdin:
    task, name = line.split()
    open(f"/proc/self/task/{task}/comm", "w").write(name)
    print("done", flush=True)
"""


def test_what_others_change_of_a_thread_that_waits():
    """Of one that does nothing, the kernel side sends no more than that: its names and its cgroup are of now all the same."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-moved-{os.getpid()}"
    group.mkdir()
    program = subprocess.Popen([sys.executable, "-c", ON_ORDERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        tid = int(program.stdout.readline())
        top = subprocess.Popen(
            [DWELL, "top", "-p", str(program.pid), "-i", "50ms", "--format", "json"], stdout=subprocess.PIPE, text=True
        )

        def rename(task, name):
            program.stdin.write(f"{task} {name}\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"

        def after(change):
            """The thread in an interval that began after `change`."""
            change()
            changed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            while True:
                interval = json.loads(top.stdout.readline())
                if interval["start_ns"] > changed_ns:
                    (row,) = [row for row in interval["threads"] if row["tid"] == tid]
                    assert row["state"] == "idle" and row["states_ns"]["idle"] == row["observed_ns"] > 0, row
                    assert row["switches"] == {"voluntary": 0, "involuntary": 0} and row["in_state_ns"] > row["observed_ns"]
                    return row

        before = after(lambda: None)
        row = after(lambda: rename(tid, "other"))
        assert (row["comm"], row["process"]) == ("other", before["process"])
        row = after(lambda: rename(program.pid, "leader"))
        assert (row["comm"], row["process"], row["cgroup"]) == ("other", "leader", before["cgroup"])
        row = after(lambda: (group / "cgroup.procs").write_text(str(program.pid)))
        assert row["cgroup"] == f"/{group.name}"
        top.send_signal(signal.SIGINT)
        top.communicate()
    finally:
        program.kill()
        program.wait()
        group.rmdir()


NAPPING = "import threading, time; [threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(4)]"


def test_a_cgroup_that_has_gone_by_the_intervals_end_has_its_name():
    """As of a job that runs for less than an interval: it is too late then to ask for its path."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-short-{os.getpid()}"
    background = Background("-i", "2s", "--by", "cgroup")
    background.interval()
    group.mkdir()
    try:
        script = f"echo 0 > {group}/cgroup.procs; exec timeout 0.2 sh -c 'while :; do :; done'"
        subprocess.run(["sh", "-c", script])
    finally:
        group.rmdir()
    second = background.interval()
    background.end()
    (row,) = [row for row in second["cgroups"] if row["cgroup"] == f"/{group.name}"]
    assert row["states_ns"]["user"] + row["states_ns"]["kernel"] + row["states_ns"]["runnable"] > 100_000_000, row


@pytest.mark.parametrize("blame", ["--no-blame", "--blame"])
def test_moved_into_the_cgroup_in_the_middle_of_an_interval(blame):
    """All its threads count from the move on, not from the next snapshot on."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-test-{os.getpid()}"
    group.mkdir()
    process = subprocess.Popen([sys.executable, "-c", NAPPING])
    try:
        wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 5)
        background = Background("--cgroup", group, "-i", "1s", blame)
        assert not background.interval()["threads"]
        (group / "cgroup.procs").write_text(str(process.pid))
        moved_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        interval = background.interval()
        left_ns = interval["start_ns"] + interval["duration_ns"] - moved_ns
        assert left_ns > 0 and interval["quality"]["lost"] == 0
        observed = [row["observed_ns"] for row in interval["threads"]]
        assert len(observed) == 5 and all(left_ns - 500e6 < ns < left_ns + 50e6 for ns in observed), (left_ns, observed)
        background.end()
    finally:
        process.kill()
        process.wait()
        group.rmdir()


@pytest.mark.parametrize("by", ["--cgroup", "-p"])
def test_the_cgroup_of_a_culprit_that_is_no_target(by):
    """It has no row, but who harms a service is a question about services."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    groups = {name: mount / f"dwell-{name}-{os.getpid()}" for name in ("victim", "culprit")}
    processes = {}
    try:
        for name, group in groups.items():
            group.mkdir()
            processes[name] = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
            (group / "cgroup.procs").write_text(str(processes[name].pid))
        background = Background(by, groups["victim"] if by == "--cgroup" else processes["victim"].pid, "-i", "500ms", "--blame")
        for _ in range(20):
            shares = background.interval()["blame"]
            culprits = [share["culprit"] for share in shares if share["culprit"]["pid"] == processes["culprit"].pid]
            if culprits:
                break
        assert {culprit["cgroup"] for culprit in culprits} == {f"/{groups['culprit'].name}"}, shares
        background.end()
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
        for group in groups.values():
            wait_until(lambda: not (group / "cgroup.procs").read_text())
            group.rmdir()


SYS_CLONE3 = 435
CLONE_INTO_CGROUP = 0x200000000


def born_into(directory, *words):
    """As newer systemd and container runtimes start a process: its parent is in another cgroup."""
    group = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    # flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup
    arguments = struct.pack("<11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, group)
    room = ctypes.create_string_buffer(arguments)
    pid = ctypes.CDLL(None, use_errno=True).syscall(SYS_CLONE3, room, len(arguments))
    if not pid:
        try:
            os.execvp(words[0], words)
        finally:
            os._exit(127)
    os.close(group)
    assert pid > 0, os.strerror(ctypes.get_errno())
    return pid


@pytest.mark.measures
@pytest.mark.parametrize("source", ["bpf", "procfs"])
def test_made_again_the_cgroup_is_still_the_target(source):
    """As a service's is at each start: its threads count from their birth on, not from the next snapshot on."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-test-{os.getpid()}"
    group.mkdir()
    born = 0
    try:
        background = Background("--cgroup", group, "-i", "1s", "--source", source)
        assert not background.interval()["threads"]
        group.rmdir()
        group.mkdir()
        born_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        born = born_into(group, "sleep", "60")
        interval = background.interval()
        left_ns = interval["start_ns"] + interval["duration_ns"] - born_ns
        assert [row["pid"] for row in interval["threads"]] == [born] and interval["quality"]["lost"] == 0
        observed_ns = interval["threads"][0]["observed_ns"]
        assert source != "bpf" or 0 < left_ns - 500e6 < observed_ns < left_ns + 50e6, (left_ns, observed_ns)
        background.end()
    finally:
        if born:
            os.kill(born, signal.SIGKILL)
            os.waitpid(born, 0)
        group.rmdir()


@pytest.mark.parametrize("blame", ["--no-blame", "--blame"])
def test_born_into_the_cgroup_and_moved_out_of_it(blame):
    """Both in the middle of an interval, which has their time; and neither is lost, nor waited for."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-test-{os.getpid()}"
    group.mkdir()
    moved = subprocess.Popen(["sleep", "60"])
    try:
        background = Background("--cgroup", group, "-i", "1s", blame)
        assert not background.interval()["threads"]
        born = born_into(group, "sleep", "0.2")
        assert os.waitpid(born, 0)[1] == 0
        rows = []
        while not rows or not rows[-1]["exited"]:
            rows += background.interval()["threads"]
        assert {row["pid"] for row in rows} == {born} and sum(row["states_ns"]["sleep"] for row in rows) > 150e6
        (group / "cgroup.procs").write_text(str(moved.pid))
        while not background.interval()["threads"]:
            pass
        left_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        (mount / "cgroup.procs").write_text(str(moved.pid))
        intervals = [background.interval()]
        while intervals[-1]["threads"]:
            intervals.append(background.interval())
        last = intervals[-2]
        assert [(row["pid"], row["exited"]) for row in last["threads"]] == [(moved.pid, False)]
        # the interval in which it left has its time up to then at least
        assert last["start_ns"] + last["threads"][0]["observed_ns"] > left_ns
        rest, _, _ = background.end()
        assert all(not interval["threads"] and not interval["quality"]["lost_exits"] for interval in rest), rest
    finally:
        moved.kill()
        moved.wait()
        group.rmdir()


IN_A_NAMESPACE = """
umount {mount} && mount -t cgroup2 none {mount} || exit 77
sleep 60 &
echo $! > {mount}/inner/cgroup.procs
{dwell} top --cgroup /inner -i 50ms -c 2 --format json
kill $!
wait
"""


def test_cgroup_of_a_cgroup_namespace():
    """As in a container, whose root is not the machine's: levels of the kernel's are others there."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    group = mount / f"dwell-test-{os.getpid()}"
    (group / "inner").mkdir(parents=True)
    script = IN_A_NAMESPACE.format(mount=mount, dwell=DWELL)
    try:
        done = subprocess.run(
            ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec unshare -C -m sh -c "$0"', script], capture_output=True, text=True, timeout=60
        )
        if done.returncode == 77:
            pytest.skip(f"no cgroup namespace: {done.stderr}")
        intervals, _ = parse(done.stdout)
        assert intervals and all(len(interval["threads"]) == 1 for interval in intervals), done
    finally:
        wait_until(lambda: not (group / "inner" / "cgroup.procs").read_text() and not (group / "cgroup.procs").read_text())
        (group / "inner").rmdir()
        group.rmdir()


def test_end_of_the_target(sleeper):
    background = Background("-p", sleeper.pid, "-i", "100ms")
    background.interval()
    sleeper.kill()
    rest = background.process.stdout.read()
    assert background.process.wait(timeout=20) == 0
    last = [json.loads(line) for line in rest.splitlines()][-1]
    assert last["final"]
    assert all(row["exited"] and row["exit_code"] == 9 for row in last["threads"])


def test_nohup_outlives_the_terminal(sleeper):
    """A signal that is ignored since before dwell began is none for it."""
    background = Background("-p", sleeper.pid, "-i", "100ms", prefix=["nohup"])
    background.interval()
    background.process.send_signal(signal.SIGHUP)
    for _ in range(3):
        assert background.interval()["threads"]
    _, _, status = background.end()
    assert status == 0


def in_namespaces(options, prepare, *arguments):
    """dwell where unshare(1) and then the shell have made something else of /proc."""
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
        pytest.skip("no such namespaces here")
    return subprocess.run(["unshare", *options, "sh", "-c", f'{prepare} && "$0" "$@"', DWELL, *map(str, arguments)], capture_output=True, text=True, timeout=60)  # fmt: skip


@pytest.mark.parametrize(
    "options, prepare, said",
    [
        (["-pf"], "true", "/proc shows another pid namespace's processes"),
        (["-m"], "mount -t tmpfs none /proc", "/proc is not mounted: mount -t proc proc /proc"),
    ],
    ids=["of-another", "absent"],
)
def test_proc_with_other_numbers_or_none(options, prepare, said, tmp_path):
    """Numbers of another namespace would name, and measure, other processes."""
    for words in (["top", "-d", "100ms"], ["top", "-p", "1"], ["top", "-t", "1"], ["profile", "-n", "sh", "-d", "100ms"],
                  ["blocked", "-p", "1"], ["record", "-o", tmp_path / "x.dwell", "-d", "100ms"]):  # fmt: skip
        done = in_namespaces(options, prepare, *words)
        assert done.returncode == 1 and done.stdout == "", words
        assert said in done.stderr and done.stderr.startswith(f"dwell {words[0]}: ") and done.stderr.count("\n") == 1, done.stderr
    (line,) = [check for check in json.loads(in_namespaces(options, prepare, "doctor", "--json").stdout)["checks"] if check["name"] == "proc"]
    assert line["status"] == "missing" and said in line["found"]
    # what looks at no process goes on
    recording = tmp_path / "here.dwell"
    assert run("record", "-o", recording, "-d", "100ms", "-i", "50ms").returncode == 0
    for words in (["help"], ["--version"], ["report", recording], ["top", "--from", recording, "--format", "json"], ["compare", recording, recording]):
        assert in_namespaces(options, prepare, *words).returncode == run(*words).returncode, words


def test_what_has_lost_its_parent_ends_with_the_command():
    """In another session, and a child of another process by then; what the command has not started goes on."""
    mark = f"86400.{os.getpid()}"
    beside = subprocess.Popen(["sleep", f"{mark}1"])
    done = run("top", "-c", "2", "-i", "300ms", "--", "sh", "-c", f"(setsid sleep {mark}2 & sleep {mark}3 &); sleep {mark}4")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: subprocess.run(["pgrep", "-f", f"^sleep {mark}[2-4]"], stdout=subprocess.DEVNULL).returncode == 1)
    assert beside.poll() is None
    beside.kill()
    beside.wait()
