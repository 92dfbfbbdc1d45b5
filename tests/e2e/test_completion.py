# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion: what is offered, and what interactive shells make of it."""
import ctypes
import os
import pathlib
import random
import shutil
import signal
import subprocess

import pytest

from conftest import DWELL, run
from hostile import NOBODY, lair  # noqa: F401: a fixture
from shells import SHELLS, Shell

CGROUPS = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]


def offered(*words, shell="zsh", **options):
    """{word: description}, and instructions, which begin with a tab."""
    done = run("completion", "--words", shell, "dwell", *words, **options)
    assert done.returncode == 0 and not done.stderr, done
    return {line if line.startswith("\t") else line.split("\t")[0]: line.split("\t")[1] for line in done.stdout.splitlines()}


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def shell(request, tmp_path_factory):
    if request.param not in SHELLS:
        pytest.skip(f"{request.param} is not installed")
    directory = tmp_path_factory.mktemp(request.param)
    (directory / "my file.dwell").write_text("")
    (directory / "sub dir").mkdir()
    with Shell(request.param, directory) as one:
        yield one


def named(name):
    """The pid of a process of that name that waits."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        ctypes.CDLL(None).prctl(15, os.fsencode(name))  # PR_SET_NAME
        os.write(writer, b".")
        while True:
            signal.pause()
    os.read(reader, 1)
    os.close(reader)
    os.close(writer)
    return pid


@pytest.fixture
def processes():
    pids = []

    def start(*names):
        pids.extend(map(named, names))
        return pids

    yield start
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_commands_and_options():
    assert {"top", "guest", "help", "version", "--version"} <= set(offered(""))
    assert list(offered("help", "doc")) == ["doctor"] == list(offered("doc"))
    assert offered("top", "--inte") == {"--interval": "length of an interval, at least 1ms (1s)"}
    assert "--format" in offered("doctor", ""), "which takes nothing else"
    assert list(offered("top", "-p")) == ["-p"]
    assert "--pid" not in offered("load", "--") and offered("nonsense", "--") == {}
    assert list(offered("completion", "")) == ["bash", "zsh", "fish"]


def test_values_of_options():
    assert list(offered("top", "--by", "")) == ["thread", "process", "cgroup"]
    assert list(offered("profile", "--by", "")) == ["function", "file", "line", "thread", "state"]
    assert {"json", "html", "pprof", "folded"} <= set(offered("profile", "--format", "")) and "html" not in offered("top", "--format", "")
    assert {"all", "cpu", "lock", "idle"} <= set(offered("profile", "--state", ""))
    assert list(offered("top", "--sou", "")) == list(offered("top", "--source", "")) == ["auto", "bpf", "taskstats", "procfs"]
    assert list(offered("profile", "--source", "")) == ["auto", "bpf"], "stacks need BPF"
    assert list(offered("top", "--by=pro")) == ["--by=process"]
    assert list(offered("load", "--work", "pipe-io:")) == ["pipe-io:burst_iters=", "\tnospace"]
    assert list(offered("load", "--print", "steady-")) == ["steady-llc"]
    assert list(offered("load", "steady-")) == ["steady-llc", "\tfiles"] == list(offered("load", "--", "steady-"))
    assert list(offered("load", "--policy", "d")) == ["deadline:", "\tnospace"]
    assert list(offered("load", "--format", "")) == ["table", "json", "jsonl", "csv"]
    assert "tui" in offered("top", "--format", "")
    assert list(offered("top", "--blame=c")) == ["--blame=caused"] and "caused" not in offered("top", "--blame", "c")
    assert list(offered("verify", "--patterns", "spin,futex-w")) == ["spin,futex-waitv"]
    assert offered("guest", "--topology", "odd-3") == {"odd-3llc": "1n3l3c1t"}
    assert list(offered("guest", "--accel", "")) == ["auto", "kvm", "tcg"]
    assert "\tfiles" in offered("report", "") and "\tfiles" in offered("top", "--from", "")
    assert "\tdirectories" in offered("load", "--save=")
    assert offered("top", "-i", "") == {}
    assert list(offered("serve", "--by", "")) == ["process", "cgroup"] and {"html", "clickhouse"} <= set(offered("report", "--format", ""))
    assert list(offered("top", "--theme", "l")) == ["light"] and list(offered("load", "--metrics", "wake-p99,iter")) == ["wake-p99,iterations"]
    assert list(offered("serve", "--push", "otl"))[0] == "otlp=" and list(offered("serve", "--trigger", "runqueue-m"))[0] == "runqueue-max>"


@pytest.mark.parametrize("command", [
    ["top"], ["top", "--by", "process"], ["top", "--by=cgroup"], ["top", "--blame"], ["blocked", "-p", str(os.getpid())], ["load"],
    ["doctor"], ["verify"], ["record"], ["profile"], ["guest", "--matrix", "/dev/null"],
])  # fmt: skip
def test_fields_are_those_of_the_command(command):
    listed = {line.split()[0] for line in run(*command, "--fields", "help").stdout.splitlines()}
    assert listed and set(offered(*command, "--fields", "")) == listed | {"help"}


@pytest.mark.parametrize("command", [
    ["top"], ["top", "--by", "process"], ["top", "--by", "cgroup", "--blame"], ["report", "a"], ["blocked"], ["load"], ["doctor"], ["verify"],
    ["record"], ["profile"],
])  # fmt: skip
def test_rows_are_sorted_by_any_field(command):
    more = {"active"} if command[0] in ("top", "report") and "--blame" not in command else set()
    assert set(offered(*command, "--sort", "")) == set(offered(*command, "--fields", "")) | more


@pytest.mark.parametrize("command", [["top"], ["top", "--by", "cgroup"], ["report"]])
def test_what_sorts_rows_without_a_column_is_listed(command):
    columns = run(*command, "--fields", "help").stdout.splitlines()
    first, *others = run(*command, "--sort", "help").stdout.splitlines()
    assert first.split()[0] == "active" and others == columns


def test_shares_of_blame_have_no_order_but_columns():
    command = ["top", "--blame", "--format", "csv"]
    assert run(*command, "--sort", "help").stdout == run(*command, "--fields", "help").stdout != ""
    assert run(*command, "--sort", "active").returncode == 2


def test_sort_keys_are_those_of_the_rows():
    threads, processes = set(offered("top", "--sort", "")), set(offered("top", "--by", "process", "--sort", ""))
    assert "tid" in threads and "tid" not in processes and "runnable" in threads & processes
    assert "p99" in threads
    assert list(offered("top", "--fields", "pid,run"))[0].startswith("pid,run")


def test_the_command_in_a_guest():
    assert "load" in offered("guest", "--", "") and "guest" not in offered("guest", "--", "")
    assert "\tfiles" in offered("guest", "--", "./")
    assert list(offered("guest", "--memory", "2G", "--", "load", "steady-")) == ["steady-llc", "\tfiles"] == list(offered("guest", "load", "steady-"))
    assert list(offered("guest", "--", "top", "--by=c")) == ["--by=cgroup"]
    assert offered("guest", "--", "top", "-p", "") == {}, "processes of this machine are not in there"
    assert "\tcommand 3" in offered("guest", "--", "/bin/ls", "-") and "\tcommand 3" in offered("top", "--", "make", "al")


def test_processes_have_their_names(processes):
    (pid,) = processes("q process")
    assert offered("top", "-p", str(pid))[str(pid)] == "q process"
    assert offered("top", "-p", f"1,{pid}") == {f"1,{pid}": "q process"}
    assert offered("top", "--tid=" + str(pid))[f"--tid={pid}"] == "q process"
    assert offered("top", "--name", "q pr") == {"q process": f"pid {pid}"} == offered("record", "q pr") == offered("blocked", "q pr")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_offers_need_no_rights(lair):
    copy = shutil.copy(DWELL, lair)
    done = subprocess.run([*NOBODY, copy, "completion", "--words", "zsh", "dwell", "top", "-p", ""], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done


@pytest.mark.skipif(not CGROUPS or os.geteuid() != 0, reason="no cgroup v2 that could be written to")
def test_cgroups_are_offered_level_by_level():
    top = pathlib.Path(CGROUPS[0]) / f"q {os.getpid()}@a"
    (top / "be:low").mkdir(parents=True)
    try:
        assert f"/{top.name}/" in offered("top", "--cgroup", "")
        assert f"--cgroup=/{top.name}/" in offered("top", f"--cgroup=/{top.name[:4]}")
        assert list(offered("top", "--cgroup", f"/{top.name}/")) == [f"/{top.name}/be:low"]
        assert list(offered("top", "--cgroup", f"{top}/be")) == [f"{top}/be:low"]
        # bash has split the word, and replaces its last part only
        assert list(offered("top", "--cgroup", f"/q\\ {os.getpid()}", "@", "a/be", shell="bash")) == ["a/be:low"]
    finally:
        (top / "be:low").rmdir()
        top.rmdir()


LINES = [
    (["dwell top --by=pro", ""], ["top", "--by=process"]),
    (["dwell top --sor", " runna", ""], ["top", "--sort", "runnable"]),
    (["dwell top --fields pid,runna", ""], ["top", "--fields", "pid,runnable"]),
    (["dwell guest --topo", " odd-3", ""], ["guest", "--topology", "odd-3llc"]),
    (["dwell guest -- top --sort=runna", ""], ["guest", "--", "top", "--sort=runnable"]),
    (["dwell load --work=pipe-io:b", "1"], ["load", "--work=pipe-io:burst_iters=1"]),
    (["dwell top --from my", ""], ["top", "--from", "my file.dwell"]),
    (["dwell report my\\ f", ""], ["report", "my file.dwell"]),
    (["dwell top --from=my", ""], ["top", "--from=my file.dwell"]),
    (["dwell top -- cat my", ""], ["top", "--", "cat", "my file.dwell"]),
    (["dwell guest -- ./my", ""], ["guest", "--", "./my file.dwell"]),
]


@pytest.mark.parametrize("typed, arguments", LINES, ids=[typed[0] for typed, _ in LINES])
def test_lines(shell, typed, arguments):
    assert shell.enter(*typed) == arguments


#: What is typed, the name, and what stands in the line then.
HOSTILE = [
    ("Qa", "Qa b;touch P1"), ("Qb", "Qb$(touch P2)"), ("Qc", "Qc`touch P3`"), ("Qd", "Qd'x\"y"), ("Qe", "Qe:lon:g"), ("Qe:lo", "Qe:lon:g"),
    ("Qg", "Qg\ttab\x1b[2J", "Qg?tab?[2J"), ("Qh", "Qh\\back"), ("Qi", "Qi*g?[x]"), ("Qj", "Qj~t#h!bang"), ("Qk", "Qk&|<>(){}"),
    ("Ql", "Ql é ü"), ("-Qm", "-Qm dash"), ("Qn=", "Qn=eq@at"), ("Qn", "Qn=eq@at"), ("Qo", "Qo%s\\n%n"), ("Qp", "Qp\xadx\udcff", "Qp?x?"),
    ("'Qq", "Qq $(touch P4)"), ("'#Qr", "#Qr ;'x"), ('"Qs', "Qs $(touch P5)"), ('"Qt', 'Qt`"\\x'), ("Qu", "Qu\nnew", "Qu"),
]  # fmt: skip


@pytest.mark.parametrize("typed, name, shown", [case if len(case) == 3 else (*case, case[1]) for case in HOSTILE], ids=[str(case[0]) for case in HOSTILE])
def test_hostile_names_stay_names(shell, processes, typed, name, shown):
    before = set(shell.directory.iterdir())
    processes(name)
    assert shell.enter(f"dwell top -n {typed}", "") == ["top", "-n", shown]
    assert set(shell.directory.iterdir()) == before


def test_arguments_that_would_be_options_are_not_offered(processes):
    processes("-Qv dash")
    assert "-Qv dash" in offered("top", "-n", "-Qv")
    assert "-Qv dash" not in offered("top", "-Qv") and "-Qv dash" not in offered("top", "")


def test_any_words_will_do():
    """A fixed seed: bytes and pieces of options, as they may stand in a line."""
    chosen = random.Random(1)
    pieces = ["--", "-", "=", ":", "@", ",", "'", '"', "\\", "top", "guest", "load", "work", "fields", "p", "\xff", "é", " ", "/", "", "x" * 5000]
    for _ in range(300):
        words = ["".join(chosen.choices(pieces, k=chosen.randrange(4))) for _ in range(chosen.randrange(1, 6))]
        offered(*words, shell=chosen.choice(["bash", "zsh"]))


def test_scripts_are_sound(tmp_path):
    for name in SHELLS:
        script = tmp_path / name
        script.write_text(run("completion", name).stdout)
        done = subprocess.run([name, "-n", script], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done
