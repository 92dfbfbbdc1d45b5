# SPDX-License-Identifier: GPL-2.0-or-later
"""Because of whom threads wait, under each kernel that is named; the tests are test_blame.py's and those of tests/inside."""
import pathlib

import pytest

import inside

NOT = inside.why_not()
# no clock inside an emulated guest knows when the host took its CPU away
pytestmark = [pytest.mark.skipif(bool(NOT), reason=NOT or ""), pytest.mark.measures]

INSIDE = inside.TESTS.parent / "inside"
KERNELS = inside.kernels()
#: Of test_blame.py, one of each kind; and what needs a machine of its own.
BLAME = "takes_the_cpu and 2, real_time, lock-preempted, pipe-ipc-sleep, tcp-net-cpu, cond-idle-cpu, come_and_go, time_has_to_pass, was_idle, test_blame_cases"
OF_SCHED_EXT = ("test_threads_of_a_bpf_scheduler_take_the_cpu", "test_waits_under_a_bpf_scheduler", "test_a_real_time_thread_beside_a_bpf_scheduler")
OF_TURNS = "test_a_limit_makes_a_stall"  # the kernel with sched_ext has no tracepoints of system calls


@pytest.mark.parametrize("name", KERNELS)
def test_blame(tmp_path, name):
    """Because of whom threads wait, where it is known."""
    chosen = " or ".join(f"({one})" for one in BLAME.split(", "))
    beside = [pathlib.Path(KERNELS[name]).parent / program for program in ("scx_simple", "scx_qmap")]
    schedulers = [str(program) for program in beside if program.exists()]
    options = [word for program in schedulers for word in ("--add", program)]
    environment = {"DWELL_SCHEDULERS": ":".join(schedulers)}
    results = inside.run_inside(KERNELS[name], tmp_path, inside.TESTS / "test_blame.py", INSIDE / "test_blame_cases.py",
                                options=options, environment=environment, arguments=["-k", chosen])
    results.check(skipped=(OF_TURNS,) if schedulers else OF_SCHED_EXT)
