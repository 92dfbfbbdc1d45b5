# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell load` on the real kernel: workers, reports, phases, verdicts, what is kept and what is left."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, DWELL, STATES, run, sum_ns
from loads import CGROUPS, Load, Trace, await_nothing, children, cpu_ticks, refused, spec, runner_of, start

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
REPORT = """work_units cpu_time_ns wall_time_ns off_cpu_ns migration_count cpus_used migrations max_gap_ms max_gap_cpu
max_gap_at_ms wake_sample_total wake_to_run_total iteration_cost_sample_total iterations schedstat_cpu_time_ns
schedstat_run_delay_ns schedstat_run_count completed numa_pages vmstat_numa_pages_migrated exit_info is_messenger group_idx
affinity_error policy_error memory_policy_error""".split()


def test_a_worker_reports_every_field():
    load = Load("--work", "pipe-io", "--workers", 2, "-d", "500ms", "--samples")
    assert load.status == 0, load.error
    assert len(load.workers) == 2
    for worker in load.workers:
        assert not [field for field in REPORT if field not in worker], worker.keys()
        assert worker["completed"] and worker["exit_info"] is None
        assert worker["work_units"] == worker["iterations"] * 1024
        assert worker["off_cpu_ns"] == worker["wall_time_ns"] - worker["cpu_time_ns"]
        assert 0.4e9 < worker["wall_time_ns"] < 5e9
        assert len(worker["resume_latencies_ns"]) == min(worker["wake_sample_total"], 100000)
        assert len(worker["wake_to_run_ns"]) == min(worker["wake_to_run_total"], 100000)
        assert worker["schedstat_run_count"] >= worker["wake_to_run_total"] / 2
        # the kernel's clock and the worker's own
        assert abs(worker["schedstat_cpu_time_ns"] - worker["cpu_time_ns"]) < 0.02 * worker["wall_time_ns"]


def test_the_wait_contains_the_partners_work_and_the_wakeup_does_not():
    # on one CPU: a partner with its own may be done before there is a wait
    load = Load("--work", "futex-ping-pong", "--cpus", "0", "-d", "500ms")
    # one of the two may never have to wait: it is preempted as it wakes the other, who is done when it goes on
    wakes, waits = ([worker[stream]["p50_ns"] for worker in load.workers] for stream in ("wake_to_run", "resume"))
    assert min(wakes) < max(waits)


def test_percentiles_are_nearest_ranks_of_the_pooled_samples():
    load = Load("--work", "futex-fan-out", "--workers", 5, "-d", "500ms", "--samples")
    pooled = sorted(sample for worker in load.workers for sample in worker["wake_to_run_ns"])
    summary = load.groups[0]["wake_to_run"]
    assert summary["kept"] == summary["total"] == len(pooled) > 100
    for key, share in (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990), ("p99_9_ns", 999)):
        assert summary[key] == pooled[-(-len(pooled) * share // 1000) - 1], key
    assert summary["max_ns"] == pooled[-1] and summary["min_ns"] == pooled[0]


def test_messengers_are_distinguished_from_receivers():
    load = Load("--work", "futex-fan-out:fan_out=2", "--workers", 6, "-d", "300ms")
    assert [worker["is_messenger"] for worker in load.workers] == [True, False, False] * 2
    for worker in load.workers:
        assert (worker["wake_sample_total"] == 0) == worker["is_messenger"]


def test_a_worker_runs_in_its_cgroup_from_the_first_instruction(tmp_path):
    """The library writes down where it finds itself, first thing."""
    if not CGROUPS:
        pytest.skip("cgroup v2 is not mounted")
    library = build_custom(tmp_path, """
        FILE *from = fopen("/proc/self/cgroup", "r"), *to = fopen(work->argument, "w");
        char line[512];
        while (fgets(line, sizeof(line), from)) fputs(line, to);
        fclose(to);
        while (!work->stopping(work)) work->sleep_ns(work, 1000000);
        work->iterations = work->work_units = 1;
    """)
    found = tmp_path / "found"
    path = spec(tmp_path, f"""
cgroups:
  - name: outer/inner
    work: {{type: custom, library: {library}, argument: {found}}}
duration: 200ms
""")
    load = Load(path)
    assert load.status == 0, load.error
    lines = [line for line in found.read_text().splitlines() if line.startswith("0::")]
    assert lines[0].endswith("/outer/inner") and "dwell-load." in lines[0], lines


def build_custom(directory, body):
    source = directory / "mine.c"
    source.write_text(f"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <dwell/work.h>
int dwell_work(struct dwell_work *work)
{{
{body}
	return 0;
}}
int other(struct dwell_work *work) {{ work->fail(work, "it does not feel like it"); return 0; }}
""")
    library = directory / "mine.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", library, source], check=True)
    return library


def test_custom_work_reports_what_it_counts_and_nothing_else(tmp_path):
    library = build_custom(tmp_path, """
	while (!work->stopping(work)) {
		work->work_units += 3;
		work->iterations++;
		work->wait_sample(work, 1000);
		work->cost_sample(work, 2000 + work->index);
		work->progress(work);
		work->sleep_ns(work, 1000000);
	}
    """)
    load = Load("--work", f"custom:library={library}", "--workers", 2, "-d", "300ms")
    assert load.status == 0, load.error
    for index, worker in enumerate(load.workers):
        assert worker["work_units"] == 3 * worker["iterations"] > 0
        assert worker["resume"]["min_ns"] == 1000
        assert worker["iteration_cost"]["min_ns"] == worker["iteration_cost"]["max_ns"] == 2000 + index
        assert worker["max_gap_ms"] is not None
    load = Load("--work", f"custom:library={library},function=other", "-d", "300ms")
    assert load.status == 3 and load.check("worked")[0]["text"] == "it does not feel like it"
    assert load.workers[0]["max_gap_ms"] is None and load.workers[0]["migration_count"] is None


def test_a_program_takes_the_place_of_a_worker():
    load = Load("--work", "exec:command=sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'", "-d", "30s")
    worker = load.workers[0]
    assert load.status == 0, load.error
    assert worker["program"]["ended_by_itself"] and worker["program"]["code"] == 0
    assert worker["program"]["user_ns"] > 10e6
    assert load.run["elapsed_ns"] < 20e9, "the run ends when all programs have ended"
    load = Load("--work", "exec:command=sleep 100", "-d", "200ms")
    assert load.status == 0 and load.workers[0]["program"]["signal"] == signal.SIGTERM
    load = Load("--work", "exec:command=sh -c 'exit 7'", "-d", "20s")
    assert load.status == 3 and "status 7" in load.check("worked")[0]["text"]


def test_timers_of_workers_are_as_late_as_the_callers(tmp_path):
    """dwell's own are not: it has a real-time policy, which takes their slack away."""
    slack = tmp_path / "slack"
    load = Load("--work", f"exec:command=sh -c 'cat /proc/self/timerslack_ns > {slack}'", "-d", "20s")
    assert load.status == 0, load.error
    assert slack.read_text() == pathlib.Path("/proc/self/timerslack_ns").read_text()


def test_threads_instead_of_processes():
    load = Load("--work", "futex-ping-pong", "--workers", 4, "--mode", "thread", "-d", "300ms")
    assert load.status == 0, load.error
    assert len({worker["tid"] for worker in load.workers}) == 4
    assert all(worker["iterations"] for worker in load.workers)


@pytest.mark.parametrize("work", ["pipe-io", "cache-pipe", "wake-chain"])
def test_threads_that_wait_for_each_other_stop(work):
    """One may have stopped while its partner is in a read() that nothing but a signal ends."""
    for _ in range(5):
        load = Load("--work", work, "--workers", 8, "--mode", "thread", "-d", "100ms")
        assert load.run["verdict"] == "pass", load.checks


def test_policies_and_nice_values():
    for policy in ("batch", "idle", "fifo:5", "rr:5", "deadline:1ms/5ms/10ms"):
        load = Load("--work", "yield-heavy", "--policy", policy, "-d", "200ms")
        assert load.status == 0 and load.workers[0]["policy_error"] is None, (policy, load.workers)
    load = Load("--work", "spin-wait", "--nice", "-5", "-d", "200ms")
    assert load.workers[0]["nice_error"] is None


def test_what_is_refused_is_reported_and_the_work_goes_on():
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    for options, field in ((["--policy", "fifo:5"], "policy_error"), (["--policy", "deadline:1ms/5ms/10ms"], "policy_error"),
                           (["--nice", "-5"], "nice_error")):
        done = subprocess.run([*drop, DWELL, "load", "--work", "spin-wait", *options, "-d", "200ms", "--json"],
                              capture_output=True, text=True, timeout=30)
        worker = json.loads(done.stdout.splitlines()[0])
        assert done.returncode == 0, done.stderr
        assert "CAP_SYS_NICE" in worker[field], (options, worker[field])
        assert worker["iterations"] > 0


def test_affinity_pins_and_random_draws_repeat():
    load = Load("--work", "spin-wait", "--workers", 4, "--affinity", "spread", "-d", "300ms")
    cpus = sorted(os.sched_getaffinity(0))
    assert [worker["cpus_used"] for worker in load.workers] == [[cpus[i % len(cpus)]] for i in range(4)]
    plans = [run("load", "--work", "spin-wait", "--workers", 6, "--affinity", "random:1", "--seed", seed, "--dry-run").stdout
             for seed in (1, 1, 2, 3, 4)]
    assert plans[0] == plans[1]
    assert len({plan.split("\n", 1)[1] for plan in plans}) > 1


def test_phases_and_ops(tmp_path):
    if not CGROUPS:
        pytest.skip("cgroup v2 is not mounted")
    load = Load(spec(tmp_path, """
name: phases
duration: 1s
cgroups:
  - {name: a, work: {type: spin-wait, workers: 2}}
  - {name: b, work: {type: yield-heavy, workers: 1}}
phases:
  - hold: 20%
  - ops:
      - freeze: a
      - add-cgroup: {name: c, work: {type: pipe-io, workers: 2}}
    hold: 300ms
  - ops:
      - thaw: a
      - move-tasks: {from: b, to: c}
      - stop-group: c
      - remove-cgroup: b
      - spawn: {cgroup: c, work: {type: spin-wait, workers: 1}}
      - set-affinity: {cgroup: a, affinity: single}
    hold: 300ms
checks: {not-starved: true, max-gap: 250ms}
"""))
    assert load.error == "" and load.run["verdict"] == "pass", (load.error, load.checks)
    assert [event["event"] for event in load.run["events"]] == [
        "phase 1 of 3", "phase 2 of 3", "freeze a", "add-cgroup c", "phase 3 of 3", "thaw a", "move-tasks b c",
        "stop-group c", "remove-cgroup b", "spawn c", "set-affinity a"]
    frozen = [worker for worker in load.workers if worker["cgroup"] == "a"]
    for worker in frozen:
        # frozen by an op: nobody's fault, so no gap
        assert worker["paused_ns"] > 250e6
        assert worker["max_gap_ms"] < 250
        # it has run on one CPU only since the last op, so it ran there at least
        assert min(os.sched_getaffinity(0)) in worker["cpus_used"]
    assert [group["work"] for group in load.groups] == ["spin-wait", "yield-heavy", "pipe-io", "spin-wait"]


def test_the_plan_is_as_long_as_its_phases(tmp_path):
    text = "duration: 4s\nwork: spin-wait\nphases:\n  - hold: 300ms\n  - hold: 50%\n"
    (tmp_path / "phases.yaml").write_text(text)
    done = run("load", "--dry-run", tmp_path / "phases.yaml")
    assert ": 2.30s, seed " in done.stdout.splitlines()[0], done.stdout


@pytest.mark.measures
def test_who_waits_for_a_cpu_from_the_start_has_waited():
    """Three that never sleep on one CPU, of which the first in the queue keeps it."""
    cpu = min(os.sched_getaffinity(0))
    load = Load("--work", "spin-wait", "--workers", 3, "--policy", "fifo:50", "--affinity", cpu, "-d", "1s")
    wall_ns = sum(worker["wall_time_ns"] for worker in load.workers)
    assert sum(worker["cpu_time_ns"] for worker in load.workers) < 0.36 * wall_ns, load.workers
    starved = [worker for worker in load.workers if not worker["work_units"]]
    assert starved, load.workers
    for worker in starved:
        assert worker["schedstat_run_delay_ns"] > 0.9 * worker["wall_time_ns"] > 0.3e9, worker
        assert worker["max_gap_ms"] > 300, worker


def test_checks_decide_the_verdict():
    assert Load("--work", "spin-wait", "-d", "200ms", "--check", "max-gap=10s").status == 0
    load = Load("--work", "spin-wait", "--workers", 8, "-d", "500ms", "--check", "max-gap=1us")
    assert load.status == 3 and load.run["verdict"] == "fail"
    finding = load.check("max-gap")[0]
    assert finding["tid"] in [worker["tid"] for worker in load.workers]
    assert finding["figure"] > finding["limit"] == 1000
    load = Load("--work", "spin-wait", "-d", "200ms", "--check", "wake-p99=1ms")
    assert load.status == 0 and load.check("wake-p99")[0]["verdict"] == "skip"
    load = Load("--work", "bursty:sleep=90ms", "-d", "500ms", "--check", "wake-p99=1s")
    assert load.status == 4 and load.check("wake-p99")[0]["verdict"] == "inconclusive"
    load = Load("--work", "pipe-io", "-d", "500ms", "--check", "min-iteration-rate=1e9", "--check", "throughput-cv=5")
    assert load.status == 3
    assert {finding["check"]: finding["verdict"] for finding in load.checks} == {
        "completed": "pass", "min-iteration-rate": "fail", "throughput-cv": "pass"}


@pytest.mark.parametrize("scenario", ["oversubscribed", "mixed-workloads", "host-contention", "nested-task-move",
                                      "affinity-change", "affinity-pinned", "cgroup-add", "cgroup-remove"])
def test_scenarios_come_to_a_verdict(scenario):
    if not CGROUPS:
        pytest.skip("cgroup v2 is not mounted")
    load = Load(scenario, "-d", "2s")
    assert load.run is not None, load.error
    assert load.run["verdict"] in ("pass", "fail") and load.status == {"pass": 0, "fail": 3}[load.run["verdict"]]
    assert all(worker["completed"] for worker in load.workers)


def test_runs_are_kept_and_never_overwritten(tmp_path):
    kept = tmp_path / "runs"
    for _ in range(3):
        done = run("load", "steady", "-d", "100ms", "--save", kept)
        assert done.returncode == 0, done.stderr
    directories = sorted(kept.iterdir())
    assert len(directories) == 3
    for directory in directories:
        assert sorted(path.name for path in directory.iterdir()) == ["report.json", "spec.yaml"]
        lines = [json.loads(line) for line in (directory / "report.json").read_text().splitlines()]
        assert lines[-1]["machine"]["kernel"] == os.uname().release
        assert run("load", directory / "spec.yaml", "--dry-run").returncode == 0


def instances():
    """Of the kernel's tracing: dwell's own."""
    return [path.name for path in pathlib.Path("/sys/kernel/tracing/instances").glob("dwell-*")]


traces = pytest.mark.skipif(not pathlib.Path("/sys/kernel/tracing/events/sched/sched_switch").exists(), reason="no tracefs here")


@traces
def test_a_run_that_fails_leaves_a_trace(tmp_path):
    path = tmp_path / "trace.json"
    # a gap of a microsecond: each worker fails, and the worst one of the first is shown
    load = Load("--work", "spin-wait", "-w", 3, "--cpus", 0, "-d", "1s", "--check", "max-gap=1us", "--trace", path)
    assert load.status == 3 and load.run["trace"] == str(path)
    trace = Trace(path)
    assert trace.mark["name"].startswith(("max-gap: worker ", "the end: max-gap: ")), trace.mark
    assert 0 <= trace.begin < trace.end <= load.run["elapsed_ns"] / 1e9 and not trace.overlapping()
    tids = [worker["tid"] for worker in load.workers]
    assert [trace.names.get((2, tid)) for tid in tids] == [f"spin-wait {tid}" for tid in tids]
    # one CPU for three: they take turns, and each waits for it, preempted
    for tid in tids:
        assert {name for name, *_ in trace.of(tid)} >= {"running", "runnable (preempted)"}, trace.of(tid)
    # until it has set its affinity, a worker may run on another one
    turns = sorted((event["ts"], event["ts"] + event["dur"]) for event in trace.slices
                   if event["pid"] == 2 and event["name"] == "running" and event["args"]["cpu"] == 0)
    overlaps = [pair for pair in zip(turns, turns[1:], strict=False) if pair[0][1] > pair[1][0] + 2]
    assert len(turns) > 10 and not overlaps, overlaps
    assert {event["name"] for event in trace.slices if (event["pid"], event["tid"]) == (1, 0)} >= {f"spin-wait {tid}" for tid in tids}
    assert instances() == []


def test_a_trace_that_cannot_be_written_is_refused_before_the_run():
    done = refused("--work", "spin-wait", "-d", "60s", "--check", "max-gap=1us", "--trace", "/nonexistent/x", status=1, timeout=30)
    assert done == "cannot write /nonexistent/x: No such file or directory"


@traces
def test_a_run_that_passes_leaves_none(tmp_path):
    load = Load("--work", "spin-wait", "-d", "200ms", "--trace", tmp_path / "trace.json")
    assert load.run["trace"] is None and list(tmp_path.iterdir()) == []
    assert "--trace apply to one run" in refused("--ab", "steady", "steady", "--trace", "x")


@traces
def test_a_run_that_is_killed_leaves_no_ring(tmp_path):
    process = start("--work", "spin-wait", "-d", "60s", "--trace", tmp_path / "trace.json")
    try:
        deadline = time.monotonic() + 30
        while not instances():
            assert time.monotonic() < deadline, "no ring is made"
            time.sleep(0.02)
        os.kill(runner_of(process), signal.SIGKILL)
        process.communicate(timeout=30)
        assert process.returncode == 1
    finally:
        process.kill()
    assert instances() == []


def test_the_table_shows_the_same_as_the_json():
    text = run("load", "--work", "pipe-io", "--workers", 4, "-d", "300ms", "--each").stdout
    assert "4 workers in 1 group" in text and "verdict: pass" in text
    assert text.count("\npipe-io   ") == 5  # the group and each worker
    assert "wake to run" in text and "p99.9" in text and "#" in text


@pytest.mark.measures
def test_work_that_had_no_time_to_begin_has_not_passed(tmp_path):
    """A real-time worker leaves the other one nothing: of 40 ms nothing can be said."""
    spec = tmp_path / "kept-off.yaml"
    spec.write_text("""
name: kept-off
duration: 40ms
cgroups:
  - {name: first, work: {type: spin-wait, workers: 1, policy: "fifo:10", affinity: "0"}}
  - {name: second, work: {type: spin-wait, workers: 1, policy: idle, affinity: "0"}}
""")
    load = Load(spec)
    (first, second) = load.groups
    assert first["iterations"] > 0 == second["iterations"] and second["completed"] == 1
    (found,) = load.check("worked")
    assert (load.status, load.run["verdict"], found["cgroup"], found["verdict"]) == (4, "inconclusive", "second", "inconclusive")
    assert found["text"].endswith("in too little time to judge")


def test_the_table_shows_what_others_did():
    load = Load("--work", "spin-wait", "-d", "300ms")
    text = run("load", "--work", "spin-wait", "-d", "300ms").stdout
    assert "other processes had " in text
    assert bool(re.search(r"^in \d+\.\d % of the time some thread waited for a CPU$", text, re.M)) == (load.run["pressure"]["waiting_ns"] is not None)


def test_many_that_wait_for_a_cpu_are_reported_in_few_lines():
    """1,000 workers on one CPU, each for 3 ms: most have not run after 2 s."""
    load = Load("--work", "spin-wait", "--workers", "1000", "--cpus", "0", "-d", "4s")
    lines = [line for line in load.error.splitlines() if "run for 2 s" in line]
    assert 9 <= len(lines) <= 10, load.error
    assert int(re.search(r"and (\d+) times more that a worker had not run", lines[-1]).group(1)) > 20


def test_progress_only_on_a_terminal(tmp_path):
    assert run("load", "--work", "spin-wait", "-d", "300ms").stderr == ""
    shown = subprocess.run(["script", "-qec", f"{DWELL} load --work spin-wait -d 500ms", "/dev/null"],
                           capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL).stdout
    assert "iterations/s" in shown and "of 500ms" in shown


def test_interrupted_it_reports_what_it_has(tmp_path):
    process = start("--work", "spin-wait", "--workers", 3, "-d", "60s", "--json", "--scratch", tmp_path)
    while not len(children(runner_of(process) or 0)) == 3:
        time.sleep(0.01)
    # so that there is something to report: all have begun to work
    for worker in children(runner_of(process)):
        while cpu_ticks(worker) < 2:
            time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=20)
    assert process.returncode == 4, error
    report = json.loads(out.splitlines()[-1])
    assert report["end"] == "interrupted" and report["verdict"] == "inconclusive"
    assert report["groups"][0]["completed"] == 3
    assert await_nothing(str(tmp_path), tmp_path) == []


def test_observed_states_are_part_of_the_report():
    load = Load("--work", "pipe-io", "-d", "500ms", "--observe")
    for worker in load.workers:
        assert list(worker["observed"]["states_ns"]) == STATES
        assert sum_ns(worker["observed"]["states_ns"]) == worker["observed"]["observed_ns"]


@pytest.mark.skipif(not CGROUPS or not shutil.which("unshare"), reason="cgroup v2 is not mounted, or unshare is not installed")
def test_a_plan_is_printed_also_where_it_cannot_run(tmp_path):
    path = spec(tmp_path, "cgroups: [{name: a, cpu_weight: 300, work: spin-wait}]\nduration: 1s\n")
    unmounted = "; ".join(["set -e", *(f"umount -l '{mount}'" for mount in CGROUPS), 'exec "$0" "$@"'])
    for arguments in ([path], ["--ab", path, path], [path, "--sweep", "workers=1..4:4"]):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", unmounted, DWELL, "load", "--dry-run", *arguments],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 0 and "x spin-wait" in done.stdout, done
        lines = set(done.stderr.splitlines())
        assert len(lines) == 1 and lines.pop().startswith("dwell load: it cannot run here: cgroup v2 is not mounted"), done.stderr
    done = subprocess.run(["unshare", "--mount", "sh", "-c", unmounted, DWELL, "load", path], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "cgroup v2 is not mounted" in done.stderr and not done.stdout, done


def test_list_dry_run_and_print():
    text = run("load", "--list").stdout
    for name in ("spin-wait", "custom", "exec", "steady", "nested-task-move", "wake-p99", "numa-locality"):
        assert f"  {name}" in text
    assert "spin_iters" in run("load", "--list", "futex-ping-pong").stdout
    assert "spin_iters" in run("load", "--list=futexpingpong").stdout
    text = run("load", "--print", "oversubscribed").stdout
    assert run("load", "-", "--dry-run", input=None).returncode == 2
    done = subprocess.run([DWELL, "load", "-", "--dry-run"], input=text, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "32 x mixed" in done.stdout


def test_plans_of_many_runs():
    """Nothing runs: hours of a sweep are looked at before they are spent."""
    lines = run("load", "steady", "--sweep", "load=10..90%:3", "--rounds", "5", "--dry-run").stdout.splitlines()
    assert lines[0] == "load: 3 steps, each run in 5 rounds: 10% 50% 90%" and "  cgroup background" in lines
    assert any("open-loop:load=0.1," in line for line in lines)
    text = run("load", "--ab", "steady", "--dry-run", "oversubscribed").stdout
    first, second = text.split("B: oversubscribed:")
    assert first.startswith("A: steady: 5.00s") and "spin-wait" in first and "32 x mixed" in second
