# SPDX-License-Identifier: GPL-2.0-or-later
"""The screen of `dwell top` on a recording: what it shows, its keys, and how it leaves a terminal."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import DWELL, RECORDING, compare, picture

def test_picture_in_the_documentation(at_end):
    screen = at_end(columns=120, rows=26)
    screen.wait("encoder-1", "run queue")
    picture("top", screen, 120, "dwell top: what each thread of a program spent its time on")


@pytest.mark.parametrize("columns, rows", [(80, 24), (132, 43), (60, 12), (250, 60)])
def test_sizes(at_end, columns, rows):
    compare(f"top-{columns}x{rows}", at_end(columns=columns, rows=rows).wait("encoder"))


def test_groups(at_end):
    screen = at_end()
    screen.keys("t")
    compare("by-process", screen.wait("PROCESS", "workload"))
    screen.keys("t")
    compare("by-cgroup", screen.wait("CGROUP"))
    screen.keys("t")
    screen.wait("TID", "encoder-1")


def test_inspector(at_end):
    screen = at_end(columns=140, rows=40)
    screen.keys("/", "w", "a", "l", "Enter", "Enter")
    compare("inspector", screen.wait("wal-sync", "taskstats, version", "reasons", "waits for a CPU"))
    screen.keys("Escape")
    screen.wait("TID", "filter: wal")
    screen.keys("Escape")
    screen.wait("encoder-1")


def test_selection_follows_the_thread(at_end):
    screen = at_end()
    third = screen.text().split("\n")[5].split()[0]
    screen.keys("Down", "Down")
    screen.wait(f"── {third} ")
    screen.keys(">", "r", "s")
    screen.wait("by runnable", f"── {third} ")


def test_filter_and_sort(at_end):
    screen = at_end()
    screen.keys("/", "l", "e", "d", "g", "e", "r")
    screen.wait("filter: ledger_", "ledger-holder", "ledger-waiter", absent=("encoder",))
    screen.keys("Enter", "s")
    screen.wait("ledger-holder")
    screen.keys("Escape")
    screen.wait("encoder-1", "by runnable")
    screen.keys("/", "z", "z", "Enter")
    screen.wait("nothing matches the filter")


def test_help_lists_every_key(at_end):
    screen = at_end(columns=110, rows=40)
    screen.keys("?")
    compare("help", screen.wait("Keys", "States", "recording: the next interval"))
    screen.keys("?")
    screen.wait("encoder-1")


def test_steps_and_times(at_end):
    screen = at_end()
    times = []
    for key in ("Left", "Left", "Right"):
        before = screen.text().split("\n")[1]
        screen.keys(key)
        screen.wait(absent=(before,))
        times.append(screen.text().split("\n")[1])
    assert times[0] == times[2] != times[1]
    screen.keys("g", "2", "5", "Enter")
    screen.wait("a time reads")
    screen.keys("g", *"00:00:01", "Enter")
    screen.wait("PAUSED", absent=("a time reads",))


def test_bad_interval(terminal):
    screen = terminal()
    screen.wait("encoder")
    screen.keys("i", "x", "Enter")
    screen.wait("bad duration 'x'")
    screen.keys("i", *"250ms", "Enter")
    screen.wait(absent=("bad duration",))


def test_resize(at_end):
    screen = at_end()
    for columns, rows in ((40, 8), (10, 3), (1, 1), (200, 50), (80, 24)):
        screen.resize(columns, rows)
    compare("top-80x24", screen.wait("encoder", "run queue"))


def test_mouse(at_end):
    screen = at_end()
    screen.wait("encoder-1")
    third = screen.text().split("\n")[5].split()[0]
    # a press of the first button on column 3, row 6 as xterm sends it (SGR or X10, as terminfo says)
    screen.tmux("send-keys", "-l", "\x1b[M #&")
    screen.wait(f"── {third} ")


def test_colours(at_end):
    assert "\x1b[38;5;" in at_end().text("-e")
    if pathlib.Path("/usr/share/terminfo/x/xterm-direct").exists():
        assert re.search(r"\x1b\[38[;:]2[;:]", at_end(TERM="xterm-direct").text("-e"))
    plain = at_end(NO_COLOR="1").text("-e")
    assert not re.search(r"\x1b\[(3[0-7]|38)", plain)
    assert re.search(r"\x1b\[(?:\d+;)*7m", plain)  # the selected row
    eight = at_end(TERM="screen").text("-e")
    assert re.search(r"\x1b\[3[0-7]m", eight) and "\x1b[38;5;" not in eight


def test_ascii(at_end):
    compare("ascii", at_end(LC_ALL="C").wait("encoder-1"))


def test_quit_restores_the_terminal(at_end):
    screen = at_end()
    screen.keys("q")
    text = screen.wait("ended with 0")
    assert "encoder" not in text
    screen.keys("stty -a", "Enter")
    screen.wait(" echo ", " icanon ")


def pid_of(screen):
    pane = screen.tmux("display-message", "-p", "#{pane_pid}").strip()
    return int(subprocess.run(["pgrep", "-P", pane, "dwell"], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT])
def test_signals_restore_the_terminal(at_end, number):
    screen = at_end()
    os.kill(pid_of(screen), number)
    text = screen.wait("ended with")
    assert "encoder" not in text
    screen.keys("stty -a", "Enter")
    screen.wait(" echo ", " icanon ")


def test_suspend_and_resume(terminal):
    screen = terminal(command="sh -i", columns=100)
    screen.keys(f"TZ=UTC {DWELL} top --from {RECORDING}", "Enter")
    screen.wait("end of the recording")
    screen.keys("C-z")
    screen.wait("Stopped", absent=("run queue",))
    screen.keys("fg", "Enter")
    screen.wait("encoder-1", "run queue")
    screen.keys("q")
    screen.wait(absent=("run queue",))


def test_unusable_terminals(terminal):
    screen = terminal(command=f"{DWELL} top --from {RECORDING} --format tui", TERM="no-such-terminal")
    screen.wait("the terminal 'no-such-terminal' is not known", "ended with 1")
    screen = terminal(command=f"{DWELL} top --from {RECORDING} --format tui < /dev/null")
    screen.wait("needs a terminal on standard input and output", "ended with 1")
    # not asked for, it is not used
    screen = terminal(command=f"{DWELL} top --from {RECORDING} < /dev/null | tail -4")
    screen.wait("event-loop", "ended with 0")
