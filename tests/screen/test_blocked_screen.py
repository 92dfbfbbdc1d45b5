# SPDX-License-Identifier: GPL-2.0-or-later
"""The screen of `dwell blocked` on a recording."""
import pathlib
import re
import shutil
import subprocess
import sys

import cast
import pytest

from conftest import DWELL, TOP, compare, film, picture

RECORDING = str(TOP / "tests" / "golden" / "blocked.dwell")
LOOP = pathlib.Path(DWELL).parent / "tests" / "loop-service"


@pytest.fixture
def blocked(terminal):
    def open_blocked(*arguments, **options):
        screen = terminal(command=" ".join([DWELL, "blocked", "--from", RECORDING, *arguments]), **options)
        screen.wait("HEALTH", "WORKERS")
        return screen

    return open_blocked


def test_picture_in_the_documentation(blocked):
    screen = blocked(columns=120, rows=22)
    screen.wait("read_ledger", "STUCK NOW")
    picture("blocked", screen, 120, "dwell blocked: the functions that blocked a Tokio service, and its workers along a time axis")


def test_film_in_the_documentation(blocked):
    recorded = cast.Cast("dwell blocked: the functions that blocked a Tokio service", 120, 30)
    recorded.type("dwell blocked --from blocked.dwell")
    screen = blocked("--theme", "dark", columns=120, rows=30)
    screen.wait("read_ledger", "STUCK NOW")
    recorded.show(screen.text("-e"), 4)
    for keys, parts, absent, seconds in (
        (["Enter"], ["STACK of the longest"], ["WORKERS"], 5),
        (["Escape"], ["WORKERS"], ["STACK of the longest"], 1),
        (["g"], ["HOTSPOTS by file"], [], 3),
        (["g"], ["HOTSPOTS by task"], [], 3),
        (["g", "g"], ["HOTSPOTS by function"], [], 1),
        (["Tab", "Enter"], ["STUCK for"], ["HOTSPOTS"], 5),
    ):
        screen.keys(*keys)
        screen.wait(*parts, absent=absent)
        recorded.show(screen.text("-e"), seconds)
    recorded.end()
    film("blocked", recorded, page="docs/blocked.md")


@pytest.mark.parametrize("columns, rows", [(80, 24), (132, 43), (60, 12), (250, 60)])
def test_sizes(blocked, columns, rows):
    compare(f"blocked-{columns}x{rows}", blocked(columns=columns, rows=rows).wait("append_audit"))


def test_resize(blocked):
    screen = blocked(columns=100)
    for columns, rows in ((40, 8), (10, 3), (1, 1), (200, 50), (80, 24)):
        screen.resize(columns, rows)
    compare("blocked-80x24", screen.wait("HEALTH", "append_audit", "TIME "))


def test_groups(blocked):
    screen = blocked(columns=120)
    screen.keys("g")
    compare("blocked-by-file", screen.wait("HOTSPOTS by file"))
    screen.keys("g")
    compare("blocked-by-task", screen.wait("HOTSPOTS by task", "tokio_service::serve"))
    screen.keys("g", "g")
    screen.wait("HOTSPOTS by function")


@pytest.mark.parametrize("columns, rows", [(60, 12), (120, 24)])
def test_who_took_the_workers_cpu(terminal, columns, rows):
    """Of a recording with --blame: the share of all workers' time, and by whom, as far as the line has room."""
    screen = terminal(command=f"{DWELL} blocked --from {TOP / 'tests' / 'golden' / 'starved.dwell'}", columns=columns, rows=rows)
    text = screen.wait("STARVED", "WORKERS")
    (line,) = [line for line in text.splitlines() if line.startswith("STARVED")]
    assert re.match(r"STARVED 48\.\d % of worker time, 1\.05s, by: chrt ", line), line
    compare(f"blocked-starved-{columns}x{rows}", text)


def test_nothing_is_said_of_who_took_no_cpu(blocked):
    """Without --blame it is not known."""
    assert "STARVED" not in blocked(columns=120).text()


def of_tasks(terminal, recording, **options):
    """By `g`, behind the hotspots by type of task."""
    screen = terminal(command=f"{DWELL} blocked --from {TOP / 'tests' / 'golden' / recording}", **options)
    screen.wait("HOTSPOTS by function")
    screen.keys("g", "g", "g")
    return screen


@pytest.mark.parametrize("columns, rows", [(60, 12), (80, 24), (120, 40)])
def test_tasks(terminal, columns, rows):
    screen = of_tasks(terminal, "tasks.dwell", columns=columns, rows=rows)
    compare(f"tasks-{columns}x{rows}", screen.wait("TASKS by type", "tokio_tasks::deliver"))
    screen.keys("g")
    screen.wait("HOTSPOTS by function", absent=("TASKS",))


def test_sampled_tasks_are_estimates(terminal):
    screen = of_tasks(terminal, "tasks-sampled.dwell", columns=100)
    compare("tasks-sampled", screen.wait("TASKS by type", "~", ">="))


def test_tasks_of_an_old_recording(blocked):
    screen = blocked()
    screen.keys("g", "g", "g")
    screen.wait("TASKS by type", "not recorded")


def test_from_a_type_of_task_to_its_stalls(terminal):
    screen = of_tasks(terminal, "tasks.dwell", columns=100)
    screen.wait("TASKS by type")
    screen.keys("/", *"archive", "Enter")
    screen.wait("TASKS, 1 of 5 types", "pack_archive", absent=("parse_order",))
    screen.keys("Enter")
    screen.wait("HOTSPOTS by task, 1 of ", "pack_archive>", "runnable", "search: tokio_tasks::Counted<", absent=("deliver",))
    # a stall's stack: of the hotspot, as ever
    screen.keys("Enter")
    screen.wait("STACK of the longest")
    screen.keys("Escape", "c")
    screen.wait("HOTSPOTS by task", "deliver", absent=("search:",))


def test_all_about_a_hotspot(blocked):
    screen = blocked(columns=140, rows=70)
    screen.keys("Down", "Down", "Down", "Enter")
    compare("blocked-hotspot", screen.wait("STACK of the longest", "LENGTHS", "ON WORKER", "ended by"))
    screen.resize(100, 20)
    screen.wait("STACK of the longest", "LENGTHS", absent=("start_thread",))
    screen.keys("End")
    screen.wait("start_thread", absent=("STACK of",))
    screen.keys("Home")
    screen.wait("STACK of", absent=("start_thread",))
    screen.keys("Escape")
    screen.wait("WORKERS")


def test_all_about_a_worker(blocked):
    screen = blocked(columns=140, rows=70)
    screen.keys("Tab", "Enter")
    compare("blocked-worker", screen.wait("STUCK for", "STACK now", "wait_for_printer", "known as a worker by", "idle"))
    screen.keys("Enter", "Down", "Enter")
    screen.wait("worker ", absent=("STACK now",))


def test_search(blocked):
    screen = blocked()
    screen.keys("/", *"refresh", "Enter")
    screen.wait("nothing matches the search", "search: refresh")  # the waker's stack is not the hotspot's
    screen.keys("c")
    screen.wait("compute_report", absent=("search:",))
    screen.keys("/", *"DISK")
    screen.wait("append_audit", "2 of 8", absent=("compute_report",))
    screen.keys("Enter", "Escape")
    screen.wait("compute_report")


def test_timeline(blocked):
    screen = blocked(columns=120)
    screen.wait("|-30s", "|-20s", "|-10s", "now|")
    screen.keys("+", "+")
    screen.wait("|-6s", "|-4s", "|-2s", "now|")
    screen.keys("Left")
    assert re.search(r"\|-8s +\|-6s +\|-4s +-2s\|$", screen.wait("|-8s"), re.M)
    screen.keys("Right")
    screen.wait("|-6s", "now|")
    screen.keys("+", "+")
    assert re.search(r"\|-1\.5s +\|-1\.0s +\|-0\.5s +now\|$", screen.wait("|-1.5s"), re.M)
    screen.keys("-", "-", "-", "-", "-")
    screen.wait("|-60s", "|-45s", "|-30s", "|-15s", "now|")
    screen.keys("-", "-")
    screen.wait("|-4m", "|-3m", "|-2m", "|-1m", "now|")


def test_copy(blocked):
    screen = blocked()
    screen.tmux("set-option", "-s", "set-clipboard", "on")
    screen.keys("y")
    screen.wait("sent to the clipboard")
    text = screen.tmux("show-buffer")
    assert re.match(r"tokio_service::\w+: \w+.*, \d+ stalls, .* in all, longest ", text)
    assert re.search(r"^  tokio_service::\w+ at src/main\.rs:\d+$", text, re.M)
    assert text.splitlines()[-1].startswith("  clone") or "start_thread" in text


def test_help_lists_every_key(blocked):
    screen = blocked(columns=110, rows=40)
    screen.keys("?")
    compare("blocked-help", screen.wait("Keys", "States", "through the terminal"))
    screen.keys("?")
    screen.wait("WORKERS")


def test_ascii(blocked):
    compare("blocked-ascii", blocked(LC_ALL="C", columns=110).wait("append_audit"))


def test_mouse(blocked):
    screen = blocked()
    screen.tmux("send-keys", "-l", "\x1b[M #&")  # the first button on column 3, row 6
    screen.keys("Enter")
    assert "append_audit" in screen.wait("STACK of").split("\n")[2]


def test_quit_restores_the_terminal(blocked):
    screen = blocked()
    screen.keys("q")
    assert "HOTSPOTS" not in screen.wait("ended with 0")
    screen.keys("stty -a", "Enter")
    screen.wait(" echo ", " icanon ")


def test_not_on_a_terminal(terminal):
    screen = terminal(command=f"{DWELL} blocked --from {RECORDING} --format tui < /dev/null")
    screen.wait("needs a terminal on standard input and output", "ended with 1")
    screen = terminal(command=f"{DWELL} blocked --from {RECORDING} < /dev/null | head -3", columns=140)
    screen.wait("90 stalls", "ended with 0")


def test_what_there_is_stays_when_the_process_has_ended(terminal, tmp_path):
    with subprocess.Popen([LOOP, "1", tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        screen = terminal(command=f"{DWELL} blocked -p {process.pid}; echo status $?; sleep 60", columns=100)
        screen.wait("HEALTH", "WORKERS")
        process.kill()
    screen.wait("HEALTH", f"{process.pid} has ended: killed by signal 9 (Killed)")
    screen.keys("?")
    screen.wait("Keys", absent=("HEALTH",))
    screen.keys("Escape")
    screen.wait("HEALTH")
    screen.keys("q")
    screen.wait("status 0", absent=("HEALTH",))


def test_an_event_loop_has_no_tasks(terminal, tmp_path):
    with subprocess.Popen([LOOP, "1", tmp_path, "sleep 30"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            screen = terminal(command=f"{DWELL} blocked -p {process.pid}", columns=100)
            screen.wait("HOTSPOTS by function", "wait_for_printer", seconds=30)
            screen.keys("g")
            screen.wait("HOTSPOTS by file")
            screen.keys("g")
            screen.wait("HOTSPOTS by function", absent=("type not known",))
        finally:
            process.kill()


def test_nothing_seen_is_not_healthy(terminal):
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            screen = terminal(command=f"{DWELL} blocked -p {sleeper.pid}", columns=100)
            screen.wait("HEALTH  unknown: no poll or turn has been seen yet")
        finally:
            sleeper.kill()


def test_what_is_not_judged_is_named(terminal):
    """A screen without a stall says nothing of a thread that is no worker."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
        try:
            screen = terminal(command=f"{DWELL} blocked -p {spinner.pid}", columns=120)
            screen.wait("no worker has been seen yet", f"not judged: python3 {spinner.pid}, which used 100 % of the process's CPU time")
        finally:
            spinner.kill()


STUCK = """
import asyncio, sys, time
async def main():
    asyncio.get_running_loop().add_reader(0, lambda: time.sleep(30))
    while True:
        await asyncio.sleep(0.05)
asyncio.run(main())
"""


def test_who_has_not_come_back_is_not_healthy(terminal):
    """Also before the first stall has ended."""
    with subprocess.Popen([sys.executable, "-c", STUCK], stdin=subprocess.PIPE) as process:
        try:
            screen = terminal(command=f"{DWELL} blocked -p {process.pid}", columns=120)
            screen.wait("HEALTH  good")
            screen.keys("Enter")
            screen.wait("no stall is selected")
            process.stdin.write(b"x")
            process.stdin.flush()
            screen.wait("HEALTH  blocked: no stall has ended yet", "STUCK NOW: 1 of 1 worker", absent=("good",))
        finally:
            process.kill()


def test_what_to_do_about_nameless_code_is_there_to_its_end(terminal, tmp_path):
    """Where its line is longer than the terminal's."""
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    script = tmp_path / "it.js"
    script.write_text("function spins(until) { while (Date.now() < until); }\nconsole.log('ready'); setInterval(() => spins(Date.now() + 30), 50);\n")
    with subprocess.Popen(["node", script], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            screen = terminal(command=f"{DWELL} blocked -p {process.pid}", columns=80, rows=50)
            screen.wait("STALLS", "cpu")
            screen.keys("Enter")
            screen.wait("STACK of the longest", "DOTNET_PerfMapEnabled=1.")
        finally:
            process.kill()
