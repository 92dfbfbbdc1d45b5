# SPDX-License-Identifier: GPL-2.0-or-later
"""Schedulers under test in guests: they pass, fail to start, are stopped, stall and are thrown out by the kernel.

scx_simple and scx_qmap lie beside DWELL_GUEST_KERNEL.
"""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
import schemas

import guests
from guests import KERNEL, KERNELS, guest
from conftest import BUILD, run
from loads import Trace, spec
from verdicts import inconclusive

SIMPLE, QMAP = ((pathlib.Path(KERNEL).parent / name if KERNEL else pathlib.Path("/nonexistent")) for name in ("scx_simple", "scx_qmap"))
pytestmark = guests.needs + [
    pytest.mark.skipif(not (SIMPLE.exists() and QMAP.exists()), reason="scx_simple and scx_qmap are not beside DWELL_GUEST_KERNEL"),
]
DUMP = "scheduler-*.log"


def under(scheduler, *command, directory, options=(), **others):
    """The command under a scheduler; with what --result says."""
    result = pathlib.Path(directory) / "result.json"
    done = guest(*command, options=["--scheduler", scheduler, "--result", result, *options], cwd=directory, **others)
    return done, schemas.read(result.read_text())[0]


def report_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()][-1]


def test_one_that_works_passes(tmp_path):
    done, result = under(SIMPLE, "load", "steady", "-d", "2s", "--json", directory=tmp_path)
    assert done.returncode == 0, done
    report = report_of(done)
    assert report["verdict"] == "pass" and report["machine"]["sched_ext"] == "simple", report["machine"]
    assert result["exit"] == 0 and result["error"] is None
    assert result["scheduler"] == {"command": str(SIMPLE), "state": "alive", "after_ns": None, "reason": None, "dump": None}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json"]


def test_one_that_fails_is_reported_with_the_kernels_reason_and_its_dump(tmp_path):
    done, result = under(f"{QMAP} -e 200", "load", "--work", "spin-wait", "--work", "pipe-io", "-d", "20s", "--json", directory=tmp_path)
    assert done.returncode == 3, done
    report = report_of(done)
    assert report["verdict"] == "fail"
    died = result["scheduler"]
    assert died["state"] == "died" and "qmap: test triggering error" in died["reason"], died
    assert died["after_ns"] > 0 and "qmap: test triggering error" in done.stderr
    dump = tmp_path / died["dump"]
    assert list(tmp_path.glob(DUMP)) == [dump]
    text = dump.read_text(errors="replace")
    assert f"scheduler: {QMAP} -e 200\n" in text and "\n--- the kernel's log\n" in text
    assert "DEBUG DUMP" in text and "test triggering error" in text


def test_pairs_end_with_their_scheduler(tmp_path):
    """What runs under another one says nothing of it, and is not compared."""
    spec = tmp_path / "spec.yaml"
    spec.write_text("work: {type: spin-wait, workers: 3}\n")
    done, result = under(f"{QMAP} -e 1200", "load", "--ab", spec, spec, "-d", "300ms", "--pairs", "40", directory=tmp_path)
    assert result["scheduler"]["state"] == "died" and done.returncode == 3, done
    assert "the scheduler has changed: it was qmap, and is the kernel's own now" in done.stderr, done.stderr
    assert "sched_ext:" not in done.stdout and (not done.stdout or "then runs failed; 1 more could not be run" in done.stdout), done.stdout


def test_a_dump_that_was_named_is_there_under_its_name(tmp_path):
    """Also of a command that knows nothing of schedulers: that is reported at once, and the status is not the command's."""
    (tmp_path / "dump").write_text("of the last run\n" * 1000)
    text = "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done; echo done"
    done, result = under(f"{QMAP} -e 30", "/bin/sh", "-c", text, directory=tmp_path,
                         options=["--keep-dump", "dump", "--add", "/bin/true"])  # fmt: skip
    assert done.returncode == 3 and done.stdout == "done\n", done
    assert result["exit"] == 3 and result["scheduler"]["state"] == "died" and result["scheduler"]["dump"] == "dump"
    told = [line for line in done.stderr.splitlines() if "the scheduler died" in line]
    assert len(told) == 2, "when it happens, and at the end"
    assert "qmap: test triggering error" in told[0] and told[1].endswith("; its dump is in dump")
    kept = (tmp_path / "dump").read_text(errors="replace")
    assert kept.startswith("scheduler: ") and "DEBUG DUMP" in kept and "of the last run" not in kept
    assert not list(tmp_path.glob(DUMP))


def stalled(directory, *options):
    """Every hundredth user thread is lost: a worker, sooner or later, if it is not the scheduler's own program."""
    for _ in range(3):
        done, result = under(f"{QMAP} -t 100", "load", "--work", "spin-wait", "-d", "40s", "--json", directory=directory, options=options)
        if "qmap: scx_qmap[" not in (result["scheduler"]["reason"] or ""):
            break
    return done, result


@pytest.mark.parametrize("options", [(), ("--repro",)], ids=["", "repro"])
def test_a_stall_leaves_evidence(tmp_path, options):
    """scx_qmap does not catch SIGUSR2: the stall lasts until the kernel ejects it, after 5 s, with its reason."""
    done, result = stalled(tmp_path, *options)
    assert done.returncode == 3 and "SIGUSR2" not in done.stderr, done
    assert result["scheduler"]["state"] == "died" and "runnable task stall" in result["scheduler"]["reason"], result
    report = json.loads(done.stdout.splitlines()[-1])
    stuck = re.search(r"worker (\d+) \(spin-wait\) has not run for 2 s", json.dumps(report["events"]))
    if not stuck:
        inconclusive("the kernel ejected it before a worker had been stuck for 2 s")
    evidence = report["evidence"].splitlines()
    assert re.match(r"stall after \d.*: worker \d+ \(spin-wait\) has not run for 2\.", evidence[0]), evidence
    assert evidence[1].startswith(f"dwell[{stuck[1]}] state R, policy "), evidence
    assert {"kernel stack:", "--- threads that run or could run, those of its CPU first", "--- the scheduler's program", "--- sched_ext (SysRq-D)"} <= set(evidence)
    # it is in none of the kernel's queues: scx_qmap has lost it
    waiting = evidence[evidence.index("--- dispatch queues of sched_ext: who waits, where, and how long") + 1 :]
    lost = re.compile(rf"  the scheduler's own: dwell\[{stuck[1]}\] of CPU \d, for [2-6]\.\d+s")
    assert any(lost.fullmatch(line) for line in waiting), waiting
    assert f"  {evidence[1]}" in evidence, "it is among those that could run"
    # the scheduler's program is no worker: a stall that is noticed first has its worker in the trace, put down and left
    trace = Trace(tmp_path / result["trace"])
    assert report["trace"] == result["trace"] and trace.mark["name"] == f"worker {stuck[1]} (spin-wait) has not run for 2 s"
    *_, (name, began, ended) = trace.of(int(stuck[1]))
    assert name.startswith("runnable") and ended == pytest.approx(trace.end, abs=1e-5) and ended - began > 1.5, trace.of(int(stuck[1]))
    assert not trace.overlapping()


def test_traces_and_recordings_are_kept_where_they_are_asked_for(tmp_path):
    options = ["--keep-trace", "why.json", "--record", "all.dwell", "--keep-dump", "dump"]
    done, result = under(f"{QMAP} -e 300", "load", "steady", "-d", "20s", directory=tmp_path, options=options)
    assert done.returncode == 3 and result["trace"] == "why.json" and "for Perfetto: why.json" in done.stdout, done
    trace = Trace(tmp_path / "why.json")
    assert trace.mark["name"] == f"the scheduler died: {result['scheduler']['reason']}" and 0 < trace.end - trace.begin <= 1.1
    report = run("report", tmp_path / "all.dwell")
    assert report.returncode == 0 and "exact (bpf)" in report.stdout and "scx_qmap" in report.stdout, report
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.dwell", "dump", "result.json", "why.json"]
    for path in tmp_path.iterdir():
        path.unlink()
    done, result = under(f"{QMAP} -e 300", "load", "steady", "-d", "20s", directory=tmp_path, options=["--keep-trace", "", *options[4:]])
    assert done.returncode == 3 and result["trace"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump", "result.json"]


def test_the_kernels_own_watchdog(tmp_path):
    done, result = under(f"{QMAP} -T 3", "load", "--work", "spin-wait", "-d", "40s", directory=tmp_path)
    assert done.returncode == 3, done
    assert "stall: qmap: " in result["scheduler"]["reason"], result


def test_on_a_busy_host_each_fault_is_reported_with_its_reason():
    """One run of each, beside six programs that spin; `make soak PART=schedulers` has 30, and a host at load 20."""
    script = pathlib.Path(__file__).resolve().parents[1] / "faulty-schedulers"
    done = subprocess.run([script, BUILD, "3", "6", "1n1l1c1t"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "3 runs in " in done.stdout, done.stdout


def test_schedulers_come_and_go_in_phases(tmp_path):
    path = spec(tmp_path, f"""
name: schedulers
duration: 3s
work: {{type: spin-wait, workers: 2}}
phases:
  - hold: 25%
  - {{ops: [{{start-scheduler: {SIMPLE}}}], hold: 25%}}
  - {{ops: [{{replace-scheduler: {QMAP}}}], hold: 25%}}
  - {{ops: [stop-scheduler], hold: 25%}}
""")
    done = guest("load", path, "--json", options=["--add", SIMPLE, "--add", QMAP])
    assert done.returncode == 0, done
    assert report_of(done)["verdict"] == "pass" and "died" not in done.stderr

    # one that was there before is stopped like any other
    stop = spec(tmp_path, """
name: stopped
duration: 1s
work: {type: spin-wait, workers: 2}
phases:
  - hold: 50%
  - {ops: [stop-scheduler], hold: 50%}
""", "stop.yaml")
    done, result = under(SIMPLE, "load", stop, "--json", directory=tmp_path)
    assert done.returncode == 0 and report_of(done)["verdict"] == "pass", done
    assert result["scheduler"]["state"] == "stopped" and not list(tmp_path.glob(DUMP))


def unstarted(scheduler, *options, directory, kernel=None):
    done, result = under(scheduler, "/bin/echo", "never", directory=directory, options=options, kernel=kernel)
    assert done.returncode == 1 and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and result["exit"] in (1, None), done
    assert not list(pathlib.Path(directory).glob(DUMP))
    return done.stderr, result["scheduler"]["state"]


def test_one_that_is_not_there_or_no_program(tmp_path):
    assert "no program 'scx_nonexistent' in PATH" in unstarted("scx_nonexistent", directory=tmp_path)[0]
    assert "/nonexistent/scx" in unstarted("/nonexistent/scx -v", directory=tmp_path)[0]
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert "plain: Permission denied" in unstarted(plain, directory=tmp_path)[0]
    assert "command is empty" in unstarted(" ", directory=tmp_path)[0]


@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler")
def test_one_that_lacks_a_library(tmp_path):
    for text, *options in (("int gone(void) { return 0; }", "-shared", "-o", "libdwell-gone.so"),
                           ("int gone(void); int main(void) { return gone(); }", "-o", "lacking", "-L.", "-ldwell-gone")):  # fmt: skip
        (tmp_path / "a.c").write_text(text)
        subprocess.run(["cc", "a.c", *options], cwd=tmp_path, check=True)
    (tmp_path / "libdwell-gone.so").unlink()
    error, _ = unstarted(tmp_path / "lacking", directory=tmp_path)
    assert "lacking needs a library that is not here: libdwell-gone.so" in error


def test_one_that_ends_before_it_begins(tmp_path):
    script = tmp_path / "broken"
    script.write_text("#!/bin/sh\necho first\necho the verifier does not like it >&2\nexit 1\n")
    script.chmod(0o755)
    error, state = unstarted(script, "--add", "/bin/sh", directory=tmp_path)
    assert f"the scheduler '{script}' ended before it began: the verifier does not like it" in error
    assert state == "not-started"


def test_one_that_never_begins(tmp_path):
    error, state = unstarted("/bin/sleep 1000", directory=tmp_path)
    assert re.search(r"'/bin/sleep 1000' was not taken into use within 1\d s", error) and state == "not-started", error


SLOW = """#!/bin/sh
# as one whose programs the kernel takes long to check
read now rest < /proc/uptime
end=$((${now%.*} + 26))
while read now rest < /proc/uptime && [ "${now%.*}" -lt "$end" ]; do :; done
exec "$1"
"""


def test_one_that_takes_long_to_begin_is_waited_for(tmp_path):
    """Longer than a guest may be silent that hangs."""
    script = tmp_path / "slow"
    script.write_text(SLOW)
    script.chmod(0o755)
    options = ["--boot-timeout", "20s", "--add", "/bin/sh", "--add", SIMPLE]
    done, result = under(f"{script} {SIMPLE}", "/bin/echo", "done", directory=tmp_path, options=options)
    assert done.returncode == 0 and done.stdout == "done\n" and result["scheduler"]["state"] == "alive", (done, result)


@pytest.mark.skipif(not KERNELS, reason="DWELL_GUEST_KERNELS names no other kernel")
def test_a_kernel_without_sched_ext(tmp_path):
    error, state = unstarted(SIMPLE, directory=tmp_path, kernel=KERNELS[0])
    assert f"this kernel has no sched_ext, so it cannot run '{SIMPLE}'" in error and state == "not-started"
