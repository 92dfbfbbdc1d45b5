# SPDX-License-Identifier: GPL-2.0-or-later
"""The same run-queue waits, and who had the CPU meanwhile, computed from `perf sched record` of the same seconds."""
import collections
import re
import shutil
import subprocess

import pytest

from conftest import DWELL, WORKLOAD, lost_transitions, parse

pytestmark = [pytest.mark.measures, pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")]

EVENT = re.compile(r"^\s*(?P<comm>.+?)\s+(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>[\d.]+):\s+sched:(?P<name>\w+):\s*(?P<rest>.*)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+)")
WAKEUP = re.compile(r"comm=.* pid=(\d+) prio=\d+ target_cpu=(\d+)")
MIGRATE = re.compile(r"comm=.* pid=(\d+) prio=\d+ orig_cpu=(\d+) dest_cpu=(\d+)")


class Cpu:
    """Who ran when: (begin, tid, comm), the last of which goes on."""

    def __init__(self):
        self.runs = []

    def charge(self, owed, begin, end):
        for number, (since, tid, comm) in enumerate(self.runs):
            until = self.runs[number + 1][0] if number + 1 < len(self.runs) else end
            part = min(until, end) - max(since, begin)
            if part > 0:
                owed[comm if tid else None] += part


def owed_by_perf(path, victim):
    """comm -> seconds that threads named `victim` waited while it ran; None: idle."""
    shown = subprocess.run(["perf", "script", "-i", path, "-F", "comm,tid,cpu,time,event,trace"], capture_output=True, text=True, check=True)
    cpus = collections.defaultdict(Cpu)
    waits, owed = {}, collections.Counter()
    for line in shown.stdout.splitlines():
        event = EVENT.match(line)
        if not event:
            continue
        now, cpu = float(event["time"]), int(event["cpu"])
        if event["name"] == "sched_switch":
            before, before_tid, state, after, after_tid = SWITCH.match(event["rest"]).groups()
            cpus[cpu].runs.append((now, int(after_tid), after))
            if before == victim and state.startswith("R"):
                waits[int(before_tid)] = now, cpu
            if int(after_tid) in waits:
                since, where = waits.pop(int(after_tid))
                if after == victim:
                    cpus[where].charge(owed, since, now)
        elif event["name"] in ("sched_wakeup", "sched_wakeup_new"):
            tid, target = map(int, WAKEUP.match(event["rest"]).groups())
            waits.setdefault(tid, (now, target))
        elif event["name"] == "sched_migrate_task":
            tid, source, target = map(int, MIGRATE.match(event["rest"]).groups())
            if tid in waits:
                since, where = waits[tid]
                cpus[where].charge(owed if tid in victims(line, victim) else collections.Counter(), since, now)
                waits[tid] = now, target
    return owed


def victims(line, victim):
    """The tid of a migrated thread, if that is the victim."""
    found = re.search(rf"comm={re.escape(victim)} pid=(\d+)", line)
    return [int(found[1])] if found else []


@pytest.mark.parametrize("thieves", [1, 3, 8])
def test_perf_agrees(tmp_path, thieves):
    recording = tmp_path / "perf.data"
    perf = subprocess.Popen(["perf", "sched", "record", "-q", "-o", recording, "--", "sleep", "60"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not recording.exists() or not recording.stat().st_size:
            assert perf.poll() is None
        done = subprocess.run([DWELL, "top", "--blame", "--format", "json", "-i", "500ms", "--", WORKLOAD, "blame-cpu", str(thieves)],
                              capture_output=True, text=True, timeout=60)
    finally:
        subprocess.run(["pkill", "-INT", "-s", str(perf.pid)])
        perf.wait()
    intervals, _ = parse(done.stdout)
    ours = collections.Counter()
    for interval in intervals:
        for blame in interval["blame"]:
            if blame["victim"]["comm"] == "victim" and blame["state"] == "runnable" and not blame["goes_on"]:
                ours[blame["culprit"]["comm"]] += (blame["total_ns"] + blame["earlier_ns"]) / 1e9
    theirs = owed_by_perf(recording, "victim")
    whole = sum(theirs.values())
    assert whole > 0.3, theirs
    for number in range(thieves):
        name = f"thief-{number}"
        # what the hypervisor took from a thief is the hypervisor's, for us
        taken = sum(t["states_ns"]["stolen"] or 0 for i in intervals for t in i["threads"]) / 1e9
        assert abs(ours[name] - theirs[name]) < 0.02 * whole + taken + 0.001 * lost_transitions(intervals), (name, ours, theirs)
