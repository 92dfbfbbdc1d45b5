# SPDX-License-Identifier: GPL-2.0-or-later
"""What `dwell load` reports of the inside of sched_ext, in guests: its counters, queues, and what a scheduler's programs take."""
import pytest

import guests
from guests import KERNELS, guest
from loads import spec
from test_guest_scheduler import QMAP, SIMPLE, report_of

pytestmark = guests.needs + [
    pytest.mark.skipif(not (SIMPLE.exists() and QMAP.exists()), reason="scx_simple and scx_qmap are not beside DWELL_GUEST_KERNEL"),
]


def loaded(*options, scheduler=None, work="pipe-io", kernel=None, **others):
    """The report of a second of work."""
    under = ["--scheduler", scheduler] if scheduler else []
    done = guest("load", "--work", work, "--work", "spin-wait", "-d", "1s", "--json", *options, options=under, kernel=kernel, **others)
    assert done.returncode == 0, done
    return report_of(done)


@pytest.mark.parametrize("scheduler", [SIMPLE, QMAP], ids=["simple", "qmap"])
def test_programs_of_a_scheduler_are_timed(scheduler):
    name = scheduler.name.removeprefix("scx_")
    inside = loaded(scheduler=scheduler)["sched_ext"]
    programs = {program["name"]: program for program in inside["programs"]}
    assert {f"{name}_{op}" for op in ("enqueue", "dispatch", "init", "exit")} <= set(programs), programs
    for op in ("enqueue", "dispatch"):
        program = programs[f"{name}_{op}"]
        assert program["calls"] > 10 and program["calls_per_second"] > 0, program
        assert program["ns_per_call"] == pytest.approx(program["time_ns"] / program["calls"], rel=1e-4)
    assert programs[f"{name}_exit"] == {"name": f"{name}_exit", "calls": 0, "calls_per_second": 0, "ns_per_call": None, "time_ns": 0}
    assert inside["programs_unknown"] is None
    assert inside["timing_cost_ns"] > 0 and inside["timing_floor_ns"] > 0


# scx_simple has one queue for all, 0; scx_qmap has them in maps, out of sight of the kernel, and dispatches from there
@pytest.mark.parametrize(("scheduler", "main"), [(SIMPLE, "user 0x0"), (QMAP, "the scheduler's own")], ids=["simple", "qmap"])
def test_queues_of_a_scheduler(scheduler, main):
    """Two spinning threads for each of two CPUs, and more, so that some always wait."""
    inside = loaded("--work", "spin-wait", "--workers", "8", scheduler=scheduler)["sched_ext"]
    queues = {queue["queue"]: queue for queue in inside["queues"]}
    assert inside["queue_looks"] > 3 and inside["queues_unknown"] is None
    assert queues[main]["p50"] >= 4 and queues[main]["p50"] <= queues[main]["p99"] <= queues[main]["max"], queues
    assert queues[main]["max"] < 100 and (queues[main]["id"] == 0) == (main == "user 0x0")
    for queue in queues.values():
        assert (queue["cpu"] is None) == (not queue["queue"].startswith("local of CPU ")), queue


def test_programs_are_not_timed_where_that_is_not_wanted():
    inside = loaded("--no-time-ops", scheduler=SIMPLE)["sched_ext"]
    assert inside["programs"] is None and "--no-time-ops" in inside["programs_unknown"]
    assert inside["timing_cost_ns"] is None


def test_counters_of_a_scheduler_that_comes_and_goes(tmp_path):
    path = spec(tmp_path, f"""
duration: 2s
work: {{type: pipe-io}}
phases:
  - hold: 25%
  - {{ops: [{{start-scheduler: {SIMPLE}}}], hold: 25%}}
  - {{ops: [{{replace-scheduler: {QMAP}}}], hold: 25%}}
""")
    done = guest("load", path, "--json", options=["--add", SIMPLE, "--add", QMAP])
    assert done.returncode == 0, done
    report = report_of(done)
    before, after = report["sched_ext"]["before"], report["sched_ext"]["after"]
    assert (before["state"], before["ops"], before["enable_seq"]) == ("disabled", None, 0), before
    assert (after["state"], after["ops"], after["enable_seq"]) == ("enabled", "qmap", 2), after
    assert after["switch_all"] is True and after["nr_rejected"] == 0
    # Linux 6.12 counts no events
    assert report["sched_ext"]["events"] is None and "does not count them" in report["sched_ext"]["events_unknown"]
    names = [program["name"] for program in report["sched_ext"]["programs"]]
    assert names.index("simple_enqueue") < names.index("qmap_enqueue")
    assert [phase["sched_ext"] for phase in report["phases"]] == [None, "simple", "qmap"]


def test_without_a_scheduler_there_is_nothing_to_time():
    inside = loaded()["sched_ext"]
    assert inside["programs"] == [] and inside["programs_unknown"] is None
    assert inside["before"]["state"] == inside["after"]["state"] == "disabled"
    assert inside["events"] is None and inside["events_unknown"] == "no scheduler was in use"
    assert inside["queues"] is inside["queue_looks"] is None and "no scheduler" in inside["queues_unknown"]


@pytest.mark.skipif(not KERNELS, reason="DWELL_GUEST_KERNELS names no other kernel")
def test_a_kernel_without_sched_ext_has_none():
    assert loaded(kernel=KERNELS[0])["sched_ext"] is None
    done = guest("load", "--work", "spin-wait", "-d", "1s", kernel=KERNELS[0])
    assert ", no sched_ext\n" in done.stdout, done
