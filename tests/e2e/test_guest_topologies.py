# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine has not: limits of cgroup v2, NUMA nodes, other topologies."""
import json

import pytest

import inside
from conftest import run

NOT = inside.why_not()
SCHED_EXT = inside.sched_ext_kernel()
# no clock inside an emulated guest knows when the host took its CPU away
pytestmark = [pytest.mark.skipif(bool(NOT) or not SCHED_EXT, reason=NOT or "DWELL_GUEST_KERNEL names no kernel"), pytest.mark.measures]

INSIDE = inside.TESTS.parent / "inside"


def test_limits_and_nodes(tmp_path):
    """What needs cgroup v2 controllers and two NUMA nodes."""
    inside.run_inside(SCHED_EXT, tmp_path, INSIDE / "test_limits.py", options=["--topology", "2n2l1c1t"]).check()


def test_every_scenario_runs(tmp_path):
    results = inside.run_inside(SCHED_EXT, tmp_path, INSIDE / "test_scenarios.py",
                                options=["--topology", "2n4l2c1t", "--memory", "1500M"])
    results.check()


@pytest.mark.parametrize("topology", ["1n1l2c1t", "1n2l2c2t", "2n4l2c1t"])
def test_topologies_pass_the_same_scenario(topology):
    done = run("guest", "--kernel", SCHED_EXT, "--accel", "tcg", "--topology", topology, "--memory", "1500M", "--",
               "load", "steady", "-d", "2s", "--json", timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    nodes, caches, cores, threads = (int(number) for number in topology.translate(str.maketrans("nlct", "    ")).split())
    machine = report["machine"]
    assert (machine["nodes"], machine["llcs"], machine["cpus"]) == (nodes, caches, caches * cores * threads)
    assert report["verdict"] == "pass" and len(report["groups"]) == 2
    for group in report["groups"]:
        for places, count in ((group["llcs"], caches), (group["nodes"], nodes)):
            assert [place["id"] for place in places] == list(range(count)), places
            assert sum(place["work_units"] for place in places) == group["work_units"]
            assert sum(place["cpu_time_ns"] for place in places) == pytest.approx(group["cpu_time_ns"], rel=0.02)
            assert sum(place["cpu_share"] for place in places) == pytest.approx(1, abs=0.001)
            assert sum(place["work_share"] for place in places) == pytest.approx(1, abs=0.001)
