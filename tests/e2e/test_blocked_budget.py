# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` on a service so busy that probes on all of its polls would cost too much."""
import contextlib
import pathlib
import subprocess
import time

import pytest
import schemas

from conftest import BUILD, run
from services import Blocked, Named, Stripped, loop_service, taken_away, tokio_service

ASKERS = pathlib.Path(BUILD) / "tests" / "askers"
#: handler -> (cause, function)
HANDLERS = {
    "spin": ("cpu", "compute_report"),
    "sleep": ("sleep", "wait_for_printer"),
    "lock": ("lock", "read_ledger"),
}
MS = 20
ROUNDS = 20


@contextlib.contextmanager
def busy(service, connections=16):
    with subprocess.Popen([ASKERS, str(service.port), str(connections), "nothing 0"]) as askers:
        try:
            yield
        finally:
            askers.kill()


def wait_for_sampling(service):
    """Two seconds of load: what a poll costs is measured, and it is more than the budget."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        service.settle()


def overlap(stall, start, duration):
    return min(stall["start_ns"] + stall["duration_ns"], start + duration) - max(stall["start_ns"], start)


def measure(build, handlers, *options):
    """-> ([(handler, start, duration)], stalls, summary)"""
    answers = []
    with tokio_service(build) as service, busy(service):
        blocked = Blocked(service.process.pid, *options)
        wait_for_sampling(service)
        for _ in range(ROUNDS):
            for handler in handlers:
                answers.append((handler, *service.ask(handler, MS)[:2]))
                # else the next may be served in the same poll
                service.settle()
        stalls, summary = blocked.end()
    return answers, stalls, summary


def is_of_others(stall):
    """The machine is the cause: on a busy one there are such."""
    return stall["cause"] == "runnable" or taken_away(stall)


def check(answers, stalls, names):
    missed, wrong = 0, []
    known = set()
    for handler, start, duration in answers:
        cause, function = HANDLERS[handler]
        found = [number for number, stall in enumerate(stalls) if overlap(stall, start, duration) > duration / 3]
        known.update(found)
        missed += not found
        for stall in (stalls[number] for number in found):
            if not is_of_others(stall) and not names.is_blamed(stall, function):
                wrong.append((handler, stall["cause"], stall["function"], stall["duration_ns"], stall["states_ns"]))
    assert missed <= 0.05 * len(answers), (missed, len(answers))
    assert not wrong, wrong
    # no one else has blocked; what is left over of the same is short
    functions = [function for _, function in HANDLERS.values()]
    others = [stall for number, stall in enumerate(stalls) if number not in known and not is_of_others(stall)]
    innocent = [stall for stall in others if not any(names.is_blamed(stall, function) for function in functions)]
    assert not innocent, innocent[:3]


@pytest.mark.measures
def test_long_stalls_are_found_though_polls_are_sampled():
    answers, stalls, summary = measure("release", HANDLERS)
    probes = summary["quality"]["probes"]
    assert probes["sampled"] and probes["probed_share"] < 0.9 and probes["budget_share"] == 0.05
    assert 0 < probes["cost_share"] < 0.2
    check(answers, stalls, Named())
    assert summary["quality"]["lost"] == 0


@pytest.mark.measures
def test_a_stripped_program_is_sampled_too():
    answers, stalls, summary = measure("plain, stripped", ["spin", "sleep"])
    assert summary["quality"]["probes"]["sampled"]
    check(answers, stalls, Stripped("plain, stripped"))


@pytest.mark.measures
def test_with_any_budget_all_polls_are_probed():
    answers, stalls, summary = measure("release", HANDLERS, "--budget", "100")
    probes = summary["quality"]["probes"]
    assert not probes["sampled"] and probes["probed_share"] == 1 and probes["budget_share"] == 1
    check(answers, stalls, Named())


@pytest.mark.measures
def test_what_announces_that_it_blocks_is_not_blamed():
    with tokio_service("fat") as service, busy(service, 4):
        blocked = Blocked(service.process.pid)
        wait_for_sampling(service)
        asked = {"block_in_place": [], None: []}
        for _ in range(20):
            asked["block_in_place"].append(service.ask("inplace", MS))
            service.settle()
            asked[None].append(service.ask("sleep", MS))
            service.settle()
        stalls, summary = blocked.end()
    assert summary["quality"]["probes"]["sampled"]
    for legitimate, answers in asked.items():
        found = [[stall for stall in stalls if overlap(stall, *answer[:2]) > answer[1] / 2] for answer in answers]
        verdicts = [some[0]["legitimate"] for some in found if some and not is_of_others(some[0])]
        assert len(verdicts) >= 16 and verdicts.count(legitimate) >= len(verdicts) - 1, verdicts


@pytest.mark.measures
def test_a_calm_service_is_not_sampled():
    with tokio_service() as service:
        blocked = Blocked(service.process.pid)
        for _ in range(100):
            service.ask("good", 20)
        _, summary = blocked.end()
    probes = summary["quality"]["probes"]
    assert not probes["sampled"] and probes["cost_share"] < 0.5


def test_an_event_loop_has_no_probes():
    with loop_service() as service:
        done = run("blocked", "-p", service.process.pid, "-d", "1s", "--format", "json")
    assert schemas.read(done.stdout)[-1]["quality"]["probes"] is None


@pytest.mark.parametrize("value", ["0", "-1", "101", "nan", "5%", "", "1e999"])
def test_a_budget_is_a_number_of_percent(value):
    done = run("blocked", "-p", 1, "--budget", value)
    assert done.returncode == 2 and "--budget" in done.stderr and "percent" in done.stderr
