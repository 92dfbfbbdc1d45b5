# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile`: which code each state's time was spent in, beside programs that measure themselves."""
import collections
import csv
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import DWELL, WORKLOAD, run
from profiles import BUILDS, ON_CPU, STACKS, Shares, build_id, build_shares, profile, shares_of
from test_libraries import compile_into
from test_targets import cgroup2_mount


@pytest.mark.measures
@pytest.mark.parametrize("build", BUILDS)
def test_shares(build, tmp_path):
    with Shares(build_shares(build, tmp_path), tmp_path) as shares:
        result = profile("-t", shares.process.pid, "-d", "4s", "--state", "all")
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


class Pprof:
    """What a file of pprof's says: (locations, values, labels) of samples; (function, file, line) of locations, innermost first; build ids by file."""

    def __init__(self, data):
        self.message = list(varints(gzip.decompress(data)))
        self.strings = [value.decode() for value in self.of(6)]
        functions = {fields[1]: (self.strings[fields[2]], self.strings[fields.get(4, 0)]) for fields in map(dict, map(varints, self.of(5)))}
        self.samples = [(packed(dict(varints(sample)).get(1, b"")), packed(dict(varints(sample))[2]), self.labels(sample)) for sample in self.of(2)]
        self.locations = {
            dict(varints(location))[1]: [(*functions[line[1]], line.get(2, 0)) for line in map(dict, (varints(value) for field, value in varints(location) if field == 4))]
            for location in self.of(4)
        }  # fmt: skip
        self.build_ids = {self.strings[mapping[5]]: self.strings[mapping.get(6, 0)] for mapping in map(dict, map(varints, self.of(3)))}
        self.default = self.strings[dict(self.message)[14]]

    def of(self, wanted):
        return [value for field, value in self.message if field == wanted]

    def labels(self, sample):
        labels = (dict(varints(value)) for field, value in varints(sample) if field == 3)
        return {self.strings[label[1]]: self.strings[label[2]] if 2 in label else label[3] for label in labels}


def packed(numbers):
    """The varints of a packed field."""
    return [number for _, number in varints(b"".join(b"\x08" + part for part in split(numbers)))]


def check_labels(pprof, paths):
    """State, reason, thread and process of each sample are those of JSON, and so is the time with them."""
    labelled, wanted = collections.Counter(), collections.Counter()
    for _, values, labels in pprof.samples:
        labelled[tuple(labels.get(key) for key in ("state", "reason", "tid", "pid", "thread"))] += values[1] + values[2]
    for path in paths:
        of = path["comm"] if path["tid"] else f"{path['threads']} threads of {path['comm']}"
        wanted[(*(path[key] for key in ("state", "reason", "tid", "pid")), of)] += path["ns"]
    assert labelled == wanted, (labelled, wanted)
    assert {("lock", "futex:lock"), ("ipc", "read:pipe"), ("runnable", "woken"), ("user", None)} <= {key[:2] for key in labelled}, labelled


def check_inlined(pprof):
    """A call that was inlined is a line of its own at the place that it is inlined into."""
    both = [lines for lines in pprof.locations.values() if lines[0][0] == "inlined_computes"]
    assert both, pprof.locations
    for lines in both:
        assert [function for function, _, _ in lines] == ["inlined_computes", "caller_of_inlined"], lines
        assert all(file.endswith("/shares.c") and line for _, file, line in lines), lines


def test_exports(tmp_path):
    """Folded stacks and pprof have the same times as JSON."""
    recording = tmp_path / "it.dwell"
    with Shares(build_shares("shared", tmp_path), tmp_path) as shares:
        # the library has 2 %, and the inlined function
        done = run("record", "--stacks", "-p", shares.process.pid, "-d", "4s", "--freq", "400", "-o", recording)
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
    pprof = Pprof(file.read_bytes())
    assert pprof.strings[0] == "" and pprof.default == "cpu"
    assert sum(values[1] for _, values, _ in pprof.samples) == on_cpu and sum(values[2] for _, values, _ in pprof.samples) == off_cpu
    check_labels(pprof, result["paths"])
    check_inlined(pprof)
    assert pprof.build_ids[str(tmp_path / "libshares.so")] == build_id(tmp_path / "libshares.so"), pprof.build_ids
    assert run("profile", "--from", recording, "--state", "lock", "--format", "pprof", "-o", tmp_path / "lock.pb.gz").returncode == 0
    assert Pprof((tmp_path / "lock.pb.gz").read_bytes()).default == "off_cpu"
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    shown = {}
    for report in ("top", "tree"):
        for kind, total in (("cpu", on_cpu), ("off_cpu", off_cpu)):
            shown[report, kind] = subprocess.run(
                ["go", "tool", "pprof", f"-{report}", "-unit=ns", "-nodecount=1000", "-nodefraction=0", "-edgefraction=0", f"-sample_index={kind}", file],
                capture_output=True, text=True, check=True, env=dict(os.environ, HOME=str(tmp_path)),
            ).stdout  # fmt: skip
            assert f"of {total}ns total" in shown[report, kind], shown
    # in the tree who calls is above, and what is called below
    assert re.search(r"\|   caller_of_inlined \(inline\)\n.*\| inlined_computes\n", shown["tree", "cpu"]), shown["tree", "cpu"]
    assert re.search(r"\| locks\n", shown["tree", "off_cpu"]), shown["tree", "off_cpu"]


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
    assert full.returncode == 1 and full.stderr.endswith("cannot write /dev/full: No space left on device\n"), full.stderr


PRINTS = "import asyncio; print('of the command', flush=True); asyncio.run(asyncio.sleep(0.3)); print('its end')"
#: of what programs read: whether it is that, and nothing else
READERS = {
    "json": lambda output: [json.loads(line) for line in output.splitlines()],
    "jsonl": lambda output: [json.loads(line) for line in output.splitlines()],
    "csv": lambda output: len(set(map(len, csv.reader(output.splitlines())))) == 1,
    "chrome": json.loads,
    "folded": lambda output: all(re.fullmatch(r"[a-z]+;.* \d+", line) for line in output.splitlines()),
    "html": lambda output: output.startswith("<!DOCTYPE html>") and output.endswith("</html>\n\n"),
    "pprof": gzip.decompress,
}


@pytest.mark.parametrize("command, form", [("top", "json"), ("top", "csv"), ("blocked", "json"), *(("profile", form) for form in READERS)])
def test_what_programs_read_is_apart_from_what_the_command_prints(command, form):
    """It goes to standard error, then; else where it would."""
    words = [DWELL, command, "--format", form, "--", "/usr/bin/python3", "-c", PRINTS]
    done = subprocess.run(words, capture_output=True, timeout=60)
    errors = done.stderr.decode()
    assert done.returncode == 0 and "of the command\n" in errors and "its end\n" in errors, errors
    assert READERS[form](done.stdout if form == "pprof" else done.stdout.decode()), done.stdout


@pytest.mark.parametrize("command", ["top", "blocked", "profile"])
def test_what_a_command_prints_stays_where_it_is_for_a_person(command):
    done = run(command, "--", "/usr/bin/python3", "-c", PRINTS)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and {"of the command", "its end"} < set(lines) and "its end" not in done.stderr, done


@pytest.mark.parametrize("command", ["profile", "record"])
def test_how_a_command_failed(command, tmp_path):
    """What was measured may be a part of it."""
    for script, complaint in (("kill -9 $$", "killed by signal 9 (Killed)"), ("exit 3", "exited with status 3"), ("exit 0", "")):
        done = run(command, "-o", tmp_path / "it", "--force", "--", "sh", "-c", script)
        assert done.returncode == 0 and ("the command ended" in done.stderr) == bool(complaint), done.stderr
        assert not complaint or f"dwell {command}: the command ended: {complaint}\n" in done.stderr, done.stderr


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


@pytest.mark.measures
def test_few_samples_a_second(tmp_path):
    """A period ends before the next begins."""
    (tmp_path / "spin.c").write_text("volatile unsigned long sink; int main(void) { for (;;) sink++; }")
    with subprocess.Popen([compile_into(tmp_path / "spin", "gcc", "-O2", tmp_path / "spin.c")]) as process:
        result = profile("-p", process.pid, "-d", "4s", "--freq", "5")
        process.kill()
    (user,) = (state for state in result["states"] if state["state"] == "user")
    assert user["stacks"] >= 0.5 * 5 * user["total_ns"] / 1e9, user


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


def window(*arguments):
    """{(tid, state): ns} of a part of the recording, stacks of each state, and all stacks."""
    result = profile("--from", STACKS, "--state", "all", *arguments)
    times = collections.Counter({(row["tid"], state): ns for row in result["threads"] for state, ns in row["states_ns"].items() if ns})
    stacks = collections.Counter({state["state"]: state["stacks"] for state in result["states"]})
    return times, stacks, result["quality"]["stacks_complete"]


def test_a_window_of_a_recording():
    """Accounts, stacks and what was read for them are those of its intervals. Of four: the first two, the last three, and what these share."""
    found = []
    since, until = ("--since", "2026-11-25T19:06:41Z"), ("--until", "2026-11-25T19:06:42Z")
    for intervals, choice in (4, ()), (2, until), (3, since), (1, since + until):
        found.append(window(*choice))
        top = collections.Counter()
        for line in (lines := run("top", "--from", STACKS, "--no-blame", "--format", "json", *choice).stdout.splitlines()):
            for row in json.loads(line)["threads"]:
                top.update({(row["tid"], state): ns for state, ns in row["states_ns"].items() if ns})
        assert len(lines) == intervals and found[-1][0] == top, choice
    (_, stacks, complete), *parts = found
    first, last, shared = parts
    assert first[2] + last[2] - shared[2] == complete and 0 < shared[2] < first[2] < complete
    # one that goes on where a window begins counts with what follows
    for state in "sleep", "user", "kernel", "lock":
        assert abs(first[1][state] + last[1][state] - shared[1][state] - stacks[state]) <= 3, state
    done = run("profile", "--from", STACKS, "--until", "2026-11-25T19:06:41Z")
    assert done.returncode == 1 and "has no whole interval of that time" in done.stderr, done


def test_stacks_without_a_root():
    """The same lines as with the state, without it: one frame less, the same time."""
    rooted, bare = (run("profile", "--from", STACKS, "--format", "folded", "--root", root).stdout.splitlines() for root in ("state", "none"))
    assert len(rooted) > 5 and [line.partition(";")[2] for line in rooted] == bare, bare
    assert {line.partition(";")[0] for line in rooted} >= {"user", "lock", "sleep"}


def test_rows_by_state():
    """They have the time of the accounts, what no stack stands for, too, and no code."""
    result = profile("--from", STACKS, "--by", "state")
    rows = {row["state"]: row for row in result["functions"]}
    assert len(rows) == len(result["functions"]) and result["by"] == "state"
    assert {state: row["self_ns"] for state, row in rows.items()} == {state["state"]: state["total_ns"] for state in result["states"] if state["total_ns"]}
    assert all((row["function"], row["total_ns"], row["self_error_ns"]) == (None, row["self_ns"], 0) for row in rows.values()), rows
    page = run("profile", "--from", STACKS, "--by", "state").stdout
    assert re.search(r"^ *5\.24s +0 +87\.4% +5\.24s +sleep +3$", page, re.M), page


def test_a_cgroup(tmp_path):
    """Those that are in it, or below, and no one else."""
    mount = cgroup2_mount()
    if not mount:
        pytest.skip("cgroup v2 is not mounted")
    (tmp_path / "spin.c").write_text(SPINS_ON)
    program = compile_into(tmp_path / "spin", "gcc", "-O1", tmp_path / "spin.c")
    group = mount / f"dwell-test-{os.getpid()}"
    inner = group / "inner"
    inner.mkdir(parents=True)
    processes = [subprocess.Popen([program]) for _ in range(2)]
    try:
        (inner / "cgroup.procs").write_text(str(processes[0].pid))
        result = profile("--cgroup", group, "-d", "1s")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        inner.rmdir()
        group.rmdir()
    assert {row["pid"] for row in result["threads"]} == {processes[0].pid}, result["threads"]
    assert any(row["function"] == "spins" and row["self_ns"] for row in result["functions"]), result["functions"]


SPINS_ON = """
__attribute__((noinline)) void spins(void) { for (volatile long i = 0; i < 1000000; i++); }
int main(void) { for (;;) spins(); }
"""
