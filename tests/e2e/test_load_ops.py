# SPDX-License-Identifier: GPL-2.0-or-later
"""Phases and ops of `dwell load` where they meet each other: stopped groups, nested and frozen cgroups, moves."""
import pytest

from loads import CGROUPS, Load, spec

pytestmark = pytest.mark.skipif(not CGROUPS, reason="cgroup v2 is not mounted")


def events(load):
    return [event["event"] for event in load.run["events"]]


def test_a_run_goes_on_after_its_only_group_was_stopped(tmp_path):
    """Its workers have ended, but not by themselves, and more are to come."""
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: spin-wait}}
phases:
  - hold: 200ms
  - {ops: [{stop-group: a}], hold: 200ms}
  - {ops: [{spawn: {cgroup: a, work: {type: spin-wait}}}], hold: 200ms}
checks: {not-starved: true}
"""))
    assert load.run["verdict"] == "pass", load.checks
    assert "phase 3 of 3" in events(load) and "all workers have ended" not in events(load)
    assert len(load.workers) == 2


def test_programs_that_have_ended_are_followed_by_what_comes_later(tmp_path):
    load = Load(spec(tmp_path, """
cgroups:
  - {name: a, work: {type: exec, command: "true"}}
phases:
  - hold: 200ms
  - {ops: [{spawn: {cgroup: a, work: {type: exec, command: "true"}}}], hold: 60s}
"""))
    assert len(load.workers) == 2 and events(load)[-1] == "all workers have ended"
