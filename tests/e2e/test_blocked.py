# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` against services whose handlers measure how long they block, and why is known."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import threading
import time

import pytest
import schemas

from conftest import DWELL, WORKLOAD, run, sum_ns
from services import STRIPPED, Blocked, Named, Service, SlowNames, Stripped, build_tokio, loop_service, stall_of, taken_away, tokio_service

#: handler -> (argument, cause of its waiting, function that does it)
CAUSES = {
    "spin": (30, "cpu", "compute_report"),
    "sleep": (30, "sleep", "wait_for_printer"),
    "lock": (30, "lock", "read_ledger"),
    "fsync": (16, "disk", "append_audit"),
    "read": (64, "disk", "load_archive"),
    "fault": (32, "disk", "touch_archive"),
    "dns": ("printer.example", "net", "resolve_partner"),
    "child": ("0.03", "ipc", "print_label"),
    "output": ("0.03", "ipc", "convert_invoice"),
}
ROUNDS = 4

#: cause of a stall for which no code is blamed -> what stands in place of a function
MACHINE = {"stolen": "(hypervisor)", "irq": "(interrupts)"}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    server = SlowNames(tmp_path_factory.mktemp("names"), 0.04)
    yield server
    server.end()


def ask_all(service):
    """-> [(handler, start, duration, cpu)]"""
    answers = []
    for _ in range(ROUNDS):
        for handler, (argument, _, _) in CAUSES.items():
            if handler in ("read", "fault"):
                service.ask("cool", argument)
            answers.append((handler, *service.ask(handler, argument)))
            # else the next may be served in the same poll
            service.settle()
    return answers


def complaint(stalls, handler, start, duration, cpu, names=Named()):
    """What is wrong with how a stall is reported; None: nothing."""
    _, cause, function = CAUSES[handler]
    stall = stall_of(stalls, start, duration)
    if not stall:
        return f"{handler}: a stall of {duration / 1e6} ms was not seen"
    if taken_away(stall):
        return None
    if not names.is_blamed(stall, function):
        return f"{handler}: {stall['function']} instead of {function} ({stall['cause']}, {stall['states_ns']})"
    # where it computed as long as it waited, or others had the CPU, there is more than one answer
    shares = {key: (ns or 0) / stall["duration_ns"] for key, ns in stall["states_ns"].items()}
    if cpu > 0.6 * duration:
        cause = "cpu"
    elif max(cpu / duration, shares["cpu"]) > 0.4 or shares["runnable"] > 0.3:
        return None
    if not names.is_cause(stall, cause):
        return f"{handler}: {stall['cause']} instead of {cause} ({stall['states_ns']}, measured CPU {cpu})"
    # both are what the kernel charges; the handler's own is without the poll around it
    if not cpu - 1_000_000 < stall["states_ns"]["cpu"] < 1.1 * cpu + 3_000_000:
        return f"{handler}: {stall['states_ns']['cpu']} ns of CPU time, measured {cpu}"
    return None


def check(stalls, summary, answers, names=Named()):
    long = [answer for answer in answers if answer[2] > 6_000_000]
    assert len(long) > 0.8 * len(answers)
    complaints = [text for text in (complaint(stalls, *answer, names) for answer in long) if text]
    assert len(complaints) <= 0.05 * len(long), complaints
    # what the handler measured is nearly all of it
    excess = [stall_of(stalls, start, duration)["duration_ns"] - duration for _, start, duration, _ in long
              if stall_of(stalls, start, duration)]  # fmt: skip
    assert statistics.median(excess) < 1_000_000, excess
    for stall in stalls:
        assert sum_ns(stall["states_ns"]) == pytest.approx(stall["duration_ns"], abs=20_000)
    quality = summary["quality"]
    assert quality["lost"] == 0
    stacks = quality["stacks"]
    assert stacks["complete"] >= 0.98 * sum(stacks.values()), stacks
    # the function of a hotspot, and who had the lock
    holders = [hotspot["waker"]["function"] for hotspot in summary["hotspots"] if names.is_cause(hotspot, "lock") and hotspot["waker"]]
    assert holders and names.is_holder(holders, "refresh_ledger"), holders


#: cause -> function of the handler `mixed`
PARTS = {"cpu": "compute_report", "sleep": "wait_for_printer", "lock": "read_ledger"}


def check_parts(stalls, summary, answers):
    """Each cause with its own function and reason, and all the time."""
    complaints = []
    for start, duration, cpu in answers:
        stall = stall_of(stalls, start, duration)
        assert stall, (start, duration)
        assert sum(part["ns"] for part in stall["parts"]) == stall["own_ns"]
        assert stall["parts"][0]["cause"] == stall["cause"] and stall["parts"][0]["function"] == stall["function"]
        if cpu > duration / 2 or (stall["states_ns"]["runnable"] or 0) > duration / 4 or taken_away(stall):
            continue
        parts = {part["cause"]: part for part in stall["parts"]}
        for cause, function in PARTS.items():
            if function not in (parts.get(cause, {}).get("function") or ""):
                complaints.append((cause, parts.get(cause), stall["states_ns"]))
        if "sleep" in parts and abs(parts["sleep"]["ns"] - 20_000_000) > 4_000_000:
            complaints.append(("sleep", parts["sleep"]["ns"], stall["states_ns"]))
        if "lock" in parts and not ((parts["lock"]["reason"] or "").startswith("futex") and parts["lock"]["waker"]):
            complaints.append(("lock", parts["lock"]))
    assert len(complaints) <= 0.1 * len(answers), complaints
    for cause, function in PARTS.items():
        spots = [spot for spot in summary["hotspots"] if spot["cause"] == cause and function in (spot["function"] or "")]
        assert spots, (cause, [(spot["cause"], spot["function"], spot["total_ns"]) for spot in summary["hotspots"]])
    assert sum(spot["total_ns"] for spot in summary["hotspots"]) == sum(stall["own_ns"] for stall in stalls)


@pytest.mark.measures
@pytest.mark.parametrize("service", [loop_service, tokio_service], ids=["loop", "tokio"])
def test_a_stall_of_several_causes_is_divided(service):
    with service() as service:
        blocked = Blocked(service.process.pid)
        answers = [service.ask("mixed", 20) for _ in range(10)]
        stalls, summary = blocked.end()
    check_parts(stalls, summary, answers)


@pytest.mark.measures
def test_causes_in_an_event_loop(names):
    with loop_service(prefix=names.prefix) as service:
        blocked = Blocked(service.process.pid)
        answers = ask_all(service)
        stalls, summary = blocked.end()
    assert summary["runtime"] == "loop"
    check(stalls, summary, answers)


@pytest.mark.measures
@pytest.mark.parametrize("build", ["release", "plain", "fat", "v0", "frame-pointers", *STRIPPED])
def test_causes_in_tokio(names, build):
    with tokio_service(build, prefix=names.prefix) as service:
        blocked = Blocked(service.process.pid)
        answers = ask_all(service)
        stalls, summary = blocked.end()
    assert summary["runtime"] == "tokio"
    check(stalls, summary, answers, Stripped(build) if build in STRIPPED else Named())
    if build in ("release", "v0", "frame-pointers"):
        assert {stall["task"] for stall in stalls} == {"tokio_service::serve"}


@pytest.mark.measures
@pytest.mark.parametrize(
    "arguments", [("--threads", "0"), ("--runtimes", "2"), ("--name", "orders")], ids=["current_thread", "two runtimes", "renamed"]
)
def test_kinds_of_tokio_runtimes(names, arguments):
    with tokio_service("release", *arguments, prefix=names.prefix) as service:
        blocked = Blocked(service.process.pid)
        answers = ask_all(service)
        stalls, summary = blocked.end()
    check(stalls, summary, answers)


@pytest.mark.measures
@pytest.mark.parametrize("build", ["release", "plain", "fat", "small", *STRIPPED])
def test_good_tasks_are_not_blamed(build):
    with tokio_service(build) as service:
        blocked = Blocked(service.process.pid)
        for _ in range(10):
            service.ask("good", 30)
            service.ask("offload", 30)
        stalls, summary = blocked.end()
    assert [stall for stall in stalls if stall["cause"] != "runnable" and not taken_away(stall)] == []
    assert summary["pool_threads"] >= 1


@pytest.mark.measures
def test_an_event_loop_that_waits_is_not_blamed():
    with loop_service() as service:
        blocked = Blocked(service.process.pid)
        for _ in range(20):
            service.ask("good", 30)
        stalls, summary = blocked.end()
    assert [stall for stall in stalls if stall["cause"] != "runnable" and not taken_away(stall)] == []
    (worker,) = summary["workers"]
    assert worker["turns"] >= 40 and worker["found_by"] == "type"


@pytest.mark.measures
@pytest.mark.parametrize("build", ["release", "plain", "plain, stripped"])
def test_block_in_place_is_legitimate(build):
    with tokio_service(build) as service:
        blocked = Blocked(service.process.pid)
        # a poll for each; on the worker that took over, blocking is still blocking
        answers = [(service.ask("inplace", 30), service.settle())[0] for _ in range(5)]
        blamed = [(service.ask("sleep", 30), service.settle())[0] for _ in range(5)]
        stalls, summary = blocked.end()
    for start, duration, _ in answers:
        assert stall_of(stalls, start, duration)["legitimate"] == "block_in_place"
    for start, duration, _ in blamed:
        assert stall_of(stalls, start, duration)["legitimate"] is None


@pytest.mark.measures
@pytest.mark.parametrize("build", ["fat", *STRIPPED])
def test_block_in_place_without_any_name(build):
    """Inlined away: known by the worker that is started in its place."""
    with tokio_service(build) as service:
        blocked = Blocked(service.process.pid)
        asked = {"block_in_place": [], None: []}
        for _ in range(20):
            asked["block_in_place"].append(service.ask("inplace", 20))
            service.settle()
            asked[None].append(service.ask("sleep", 20))
            service.settle()
        stalls, _ = blocked.end()
    for legitimate, answers in asked.items():
        told = [stall["legitimate"] for stall in (stall_of(stalls, *answer[:2]) for answer in answers) if stall]
        assert len(told) >= 19 and told.count(legitimate) >= 19, told


@pytest.mark.measures
def test_who_had_the_cpu():
    """Another process in front of it on the only CPU it may use: not its own fault."""
    with loop_service() as service:
        os.sched_setaffinity(service.process.pid, {0})
        blocked = Blocked(service.process.pid)
        spin = "import time; end = time.process_time() + 0.1\nwhile time.process_time() < end: pass"
        hog = ["taskset", "-c", "0", "chrt", "-f", "20", "/usr/bin/python3", "-c", spin]
        for _ in range(5):
            asking = threading.Thread(target=service.ask, args=("spin", 150))
            asking.start()
            subprocess.run(hog, check=True)
            asking.join()
        stalls, summary = blocked.end()
    starved = [stall for stall in stalls if stall["cause"] == "runnable"]
    assert starved
    culprits = {stall["culprit"]["comm"] for stall in starved if stall["culprit"]}
    assert "python3" in culprits, culprits
    # the most time first: on a busy machine other turns wait for the CPU, too
    assert [hotspot["function"] for hotspot in summary["hotspots"] if hotspot["cause"] == "runnable"][0] == "compute_report"


def test_the_table():
    with loop_service() as service:
        blocked = subprocess.Popen(
            [DWELL, "blocked", "-p", str(service.process.pid), "-d", "3s"], stdout=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            service.ask("sleep", 20)
        output = blocked.communicate()[0]
    assert blocked.returncode == 0
    for part in ("loop-service", "1 worker,", "HOTSPOTS", "wait_for_printer", "handlers.c:", "sleep clock_nanosleep"):
        assert part in output, output


TRACING = "/sys/kernel/tracing"


def mounts():
    """Without those of other tests, which run at the same time."""
    return [line for line in open("/proc/self/mounts") if not line.startswith("dwell-test ")]


@pytest.mark.parametrize("mounted", [True, False], ids=["mounted", "not mounted"])
def test_the_tracing_file_system_need_not_be_mounted(mounted):
    """Containers and minimal systems have none; nothing is mounted for others to see either."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    prepare = f"mount -t tracefs none {TRACING}" if mounted else f"while umount {TRACING} 2>/dev/null; do :; done"
    before = mounts()
    with loop_service() as service:
        script = f"{prepare}; exec {DWELL} blocked -p {service.process.pid} --format json -v"
        blocked = Blocked(service.process.pid, command=["unshare", "-m", "sh", "-c", script])
        answer = service.ask("sleep", 30)
        service.settle()
        stalls, _ = blocked.end()
        assert mounts() == before
    assert stall_of(stalls, *answer[:2])["cause"] == "sleep"


def test_limits_make_a_check():
    with loop_service() as service:
        for arguments, status in ((("--max-stalls", "0"), 3), (("--max-stall", "10ms"), 3), (("--max-stall", "10s"), 0)):
            blocked = Blocked(service.process.pid, *arguments)
            service.ask("sleep", 20)
            service.settle()
            blocked.end()
            assert blocked.status == status, (arguments, blocked.errors)


def test_an_interrupt_as_soon_as_it_watches():
    with loop_service() as service:
        for _ in range(5):
            blocked = Blocked(service.process.pid)
            # Blocked has read the word; the signal comes before the first snapshot
            _, summary = blocked.end()
            assert blocked.status == 0 and summary["runtime"] == "loop"


def test_the_target_ends_meanwhile():
    with loop_service() as service:
        blocked = Blocked(service.process.pid)
        service.ask("sleep", 20)
        service.settle()
        service.process.kill()
        stalls, summary = blocked.wait()
    assert blocked.status == 0
    assert summary["stalls"] == len(stalls) >= 1


@pytest.mark.parametrize(
    "arguments, status, part",
    [
        ((), 2, "which process"),
        (("-p", "0"), 2, "bad"),
        (("-p", "4194303"), 1, "4194303"),
        (("no such process",), 1, "no process named"),
        (("-p", "1,2"), 2, "one process"),
        (("-p", "1", "--threshold", "0"), 2, "too short"),
        (("-p", "1", "--threshold", "0s"), 2, "more than zero"),
        (("-p", "1", "--threshold", "9us"), 2, "10us at least"),
        (("-p", "1", "--threshold", "-5ms"), 2, "bad duration '-5ms'"),
        (("-p", "1", "--threshold", "abc"), 2, "bad duration 'abc'"),
        (("-p", "1", "--runtime", "netty"), 2, "auto, tokio, jvm, loop"),
        (("-p", "1", "--unwind", "orc"), 2, "auto, dwarf or fp"),
        (("-p", "1", "--freq", "0"), 2, "--freq"),
        (("-p", "1", "--freq", "99999"), 2, "10000"),
        (("-p", "1", "--max-stalls", "-1"), 2, "--max-stalls"),
        (("-p", "1", "--export", "/tmp/t.html"), 2, "no format has names that end in '.html'"),
        (("-p", "2", "-d", "10ms", "--runtime", "tokio"), 1, "no user-space memory"),
    ],
)
def test_mistakes(arguments, status, part):
    done = run("blocked", *arguments)
    assert done.returncode == status, done.stderr
    assert part in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_a_recording_shows_the_same(tmp_path):
    recording = tmp_path / "stalls.dwell"
    with loop_service() as service:
        blocked = Blocked(service.process.pid, "--record", recording)
        for _ in range(10):
            service.ask_clearly("sleep", 20)
            service.ask_clearly("spin", 20)
        live = blocked.end()
    again = run("blocked", "--from", recording, "--format", "json")
    assert again.returncode == 0, again.stderr
    lines = [json.loads(line) for line in again.stdout.splitlines()]
    assert (lines[:-1], lines[-1]) == live
    assert "wait_for_printer" in run("blocked", "--from", recording).stdout
    # the threads' states are in it too
    assert run("top", "--from", recording, "--format", "json").returncode == 0
    # cut off in the middle: what is whole is shown, and that it is not all
    recording.write_bytes(recording.read_bytes()[:-100])
    cut = run("blocked", "--from", recording)
    assert cut.returncode == 1 and "wait_for_printer" in cut.stdout and "middle of a chunk" in cut.stderr
    assert "exists: --force" in run("blocked", "-p", os.getpid(), "-d", "10ms", "--record", recording).stderr


@pytest.mark.measures
@pytest.mark.parametrize("own", ["tokio_service::handle", "tokio_service::measure"])
def test_what_is_ones_own_is_named(own):
    with tokio_service() as service:
        blocked = Blocked(service.process.pid, "--own", "no_such_crate::", "--own", own)
        answers = [service.ask("spin", 30)[:2] for _ in range(3)]
        stalls, _ = blocked.end()
    for stall in filter(None, (stall_of(stalls, *answer) for answer in answers)):
        if not taken_away(stall) and stall["cause"] == "cpu":
            assert stall["function"].startswith(own), stall["function"]
            kinds = {frame["function"]: frame["kind"] for frame in stall["stack"]}
            assert kinds["tokio_service::compute_report"] == "dependency"


def test_a_program_that_is_ones_own():
    """By its mapped file: of C, where all has the same kind of name."""
    with loop_service() as service:
        blocked = Blocked(service.process.pid, "--own", "loop-service")
        answer = service.ask("sleep", 30)
        stalls, _ = blocked.end()
    assert "wait_for_printer" in stall_of(stalls, *answer[:2])["function"]
    done = run("blocked", "-p", 1, "--own", "")
    assert done.returncode == 2 and "--own" in done.stderr


def test_a_recording_of_threads_has_no_stalls(tmp_path):
    recording = tmp_path / "threads.dwell"
    assert run("record", "-o", recording, "-d", "100ms", "-i", "50ms").returncode == 0
    done = run("blocked", "--from", recording)
    assert done.returncode == 1 and "dwell top --from" in done.stderr


@pytest.mark.parametrize("format", ["chrome", "folded", "json"])
def test_exports(tmp_path, format):
    path = tmp_path / "export"
    with loop_service() as service:
        blocked = Blocked(service.process.pid, "--export", path, "--export-format", format)
        for _ in range(3):
            service.ask_clearly("sleep", 20)
            service.ask_clearly("spin", 20)
        stalls, summary = blocked.end()
    assert blocked.status == 0, blocked.errors
    text = path.read_text()
    if format == "json":
        lines = [json.loads(line) for line in text.splitlines()]
        assert (lines[:-1], lines[-1]) == (stalls, summary)
    elif format == "chrome":
        trace = json.loads(text)
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert len(slices) == len(stalls)
        for event, stall in zip(slices, stalls):
            assert event["dur"] * 1000 == pytest.approx(stall["duration_ns"])
            assert event["ts"] * 1000 == pytest.approx(stall["start_ns"])
            function = MACHINE[stall["cause"]] if taken_away(stall) else stall["function"]
            assert (event["name"], event["cat"], event["tid"]) == (function, stall["cause"], stall["tid"])
            assert event["args"]["stack"] == [frame["function"] for frame in stall["stack"]]
        names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
        assert names == {"process_name", "thread_name"}
    else:
        weights = 0
        for line in text.splitlines():
            # as flame graph tools take it apart: no frame is empty, and the last space is before the number
            assert re.fullmatch(r"[^;\0-\x1f]+(;[^;\0-\x1f]+)* [1-9][0-9]*", line), line
            stack, weight = line.rsplit(" ", 1)
            weights += int(weight)
            if stack == "(no stack)":  # a part that was over before it could be sampled: of a stall or all of it
                assert any(not part["function"] for stall in stalls for part in stall["parts"])
                continue
            assert stack.split(";")[0] in ("_start", "clone3", "__libc_start_main_impl", *MACHINE.values()) or "main" in stack
        assert weights == summary["stall_ns"]
        assert "wait_for_printer" in text and "compute_report" in text
    again = run("blocked", "-p", os.getpid(), "-d", "10ms", "--export", path)
    assert again.returncode == 1 and "exists: --force" in again.stderr


def test_exports_by_name(tmp_path):
    """Without --export-format the name decides, and a name that says something else is refused: see test_mistakes."""
    recording = pathlib.Path(__file__).parents[1] / "golden" / "blocked.dwell"
    for name, begins in (("t.json", '{"'), ("t.folded", ""), ("t", '{"'), (".hidden", '{"')):
        done = run("blocked", "--from", recording, "--export", tmp_path / name)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / name).read_text()
        assert text and text.startswith(begins)
        assert ("traceEvents" in text) == bool(begins)


def test_a_trace_says_through_whom(tmp_path):
    """As the table does: who ended a wait for a lock, and what that was doing; who took the CPU."""
    recording = pathlib.Path(__file__).parents[1] / "golden" / "blocked.dwell"
    done = run("blocked", "--from", recording, "--export", tmp_path / "t.json", "--format", "json")
    stalls = [stall for stall in map(json.loads, done.stdout.splitlines()) if stall["type"] == "stall"]
    slices = [event["args"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if event["ph"] == "X"]
    said = set()
    for shown, stall in zip(slices, stalls, strict=True):
        for words, part in zip(shown["parts"], stall["parts"], strict=True):
            by, culprit = part["waker"] or {"tid": 0}, part["culprit"]
            if part["cause"] in ("lock", "ipc") and by["tid"]:
                assert words["through"] == f"ended by {by['comm']} {by['tid']} in {by['function']}"
            elif part["cause"] == "runnable" and culprit:
                assert words["through"] == f"CPU taken by {culprit['comm']} ({culprit['pid']})"
            else:
                assert "through" not in words
            said.add((part["cause"], "through" in words))
    assert ("lock", True) in said and any(not through for _, through in said), said


def test_an_export_that_cannot_be_written(tmp_path):
    for path, part in ((tmp_path / "none" / "x", "No such file"), (tmp_path, "Is a directory"), ("/dev/full", "No space left")):
        done = run("blocked", "-p", os.getpid(), "-d", "10ms", "--export", path, "--force")
        assert done.returncode == 1 and part in done.stderr, done.stderr


def test_comparing_two_measurements(tmp_path):
    """Before: sleeps and computes. After: sleeps less, and waits for a lock."""
    before, after = tmp_path / "before.dwell", tmp_path / "after.dwell"
    outputs = []
    for path, requests in ((before, [("sleep", 20), ("spin", 10)]), (after, [("sleep", 10), ("lock", 30)])):
        with loop_service() as service:
            blocked = Blocked(service.process.pid, "--record", path)
            for _ in range(10):
                for request in requests:
                    service.ask_clearly(*request)
            blocked.end()
            blocked.output.seek(0)
            outputs.append(blocked.output.read())
    as_json = tmp_path / "after.json"
    as_json.write_text(outputs[1])
    done = run("compare", before, after, "--format", "json")
    assert done.returncode == 0, done.stderr
    # what was printed is as good as what was recorded
    other = run("compare", before, as_json, "--format", "json")
    assert other.stdout.replace(str(as_json), str(after)) == done.stdout
    comparison = schemas.read(done.stdout)[0]
    changes = {(item["function"], item["cause"]): item["change"] for item in comparison["hotspots"]}
    assert changes["read_ledger", "lock"] == "new" and changes["wait_for_printer", "sleep"] == "better"
    assert [change for (function, _), change in changes.items() if function == "compute_report"][0] == "gone"
    table = run("compare", before, after).stdout
    assert "new     read_ledger" in table and "gone" in table
    # the same twice is no worse; nothing before is
    assert run("compare", after, as_json, "--worse", "1").returncode == 0
    with loop_service() as service:
        blocked = Blocked(service.process.pid, "--record", tmp_path / "idle.dwell")
        service.ask("good", 300)
        blocked.end()
    worse = run("compare", tmp_path / "idle.dwell", after, "--worse", "10")
    assert worse.returncode == 3 and "worse by more than 10 %" in worse.stderr


@pytest.mark.parametrize(
    "arguments, status, part",
    [
        ((), 2, "which files"),
        (("a",), 2, "which files"),
        (("a", "b", "c"), 2, "two files"),
        (("/etc/passwd", "/etc/passwd"), 1, "not a recording"),
        (("/nowhere", "/etc/passwd"), 1, "/nowhere"),
        (("a", "b", "--worse", "much"), 2, "number of percent"),
        (("a", "b", "--format", "xml"), 2, "table, json, jsonl, csv"),
    ],
)
def test_mistakes_in_comparing(arguments, status, part):
    done = run("compare", *arguments)
    assert done.returncode == status and part in done.stderr, done.stderr


def test_comparing_json_of_something_else(tmp_path):
    for text in ("{}\n", '{"type":"interval"}\n', '{"type":"blo', '{"type":"blocked","hotspots":7}\n'):
        path = tmp_path / "x.json"
        path.write_text(text)
        done = run("compare", path, path)
        assert done.returncode == (0 if "hotspots" in text else 1), (text, done.stderr)
