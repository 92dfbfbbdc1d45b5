# SPDX-License-Identifier: GPL-2.0-or-later
"""The screen of `dwell top` on a recording: what it shows, its keys, and how it leaves a terminal."""
import os
import pathlib
import re
import signal
import subprocess
import time

import cast
import pytest
import svg

from conftest import DWELL, RECORDING, TOP, compare, film, picture

BLAME = TOP / "tests" / "golden" / "blame.dwell"


@pytest.fixture
def with_blame(at_end):
    return lambda *words, **options: at_end(command=" ".join([DWELL, "top", "--from", str(BLAME), *words]), **options)


def test_pictures_in_the_documentation(with_blame):
    title = "dwell top: who lost most time, in what and because of whom, and what each thread spent its time on"
    screen = with_blame("--theme", "dark", columns=120, rows=26)
    screen.wait("http-4", "run queue")
    picture("top", screen, 120, title)
    screen = with_blame("--theme", "light", columns=120, rows=26)
    screen.wait("http-4", "run queue")
    picture("top-light", screen, 120, title, page="docs/top.md", theme=svg.LIGHT)
    screen = with_blame("--theme", "dark", columns=120, rows=26, TERM="xterm-16color")
    screen.wait("http-4", "run queue")
    picture("top-16", screen, 120, title, page="docs/top.md")


def test_film_in_the_documentation(with_blame):
    recorded = cast.Cast("dwell top: who lost most time, and because of whom", 120, 30)
    recorded.type("dwell top --from blame.dwell")
    screen = with_blame("--theme", "dark", columns=120, rows=30)
    screen.wait("http-4", "run queue")
    recorded.show(screen.text("-e"), 4)
    for keys, parts, absent, seconds in (
        (["b"], ["WHO LOST"], ["run queue"], 4),
        (["b"], ["WHO COST"], ["WHO LOST"], 3),
        (["b"], ["run queue"], ["WHO COST"], 1),
        (["Enter"], ["because of, this interval"], [], 4),
        (["Escape"], ["run queue"], ["because of, this interval"], 1),
        (["t"], ["PROCESS"], [], 3),
        (["?"], ["this list, or back"], [], 3),
    ):
        screen.keys(*keys)
        screen.wait(*parts, absent=absent)
        recorded.show(screen.text("-e"), seconds)
    recorded.end()
    film("top", recorded, page="docs/top.md")


@pytest.mark.parametrize("columns, rows", [(60, 12), (80, 24), (120, 40), (200, 50)])
def test_blame_at_each_size(with_blame, columns, rows):
    compare(f"top-blame-{columns}x{rows}", with_blame(columns=columns, rows=rows).wait("http-4"))


def test_all_of_the_blame(with_blame):
    screen = with_blame(columns=120, rows=30)
    screen.keys("b")
    compare("blame-table", screen.wait("http-4", absent=("run queue",)))


def test_culprits_of_no_known_cgroup_have_names(with_blame):
    screen = with_blame("--by", "cgroup", columns=120, rows=30)
    screen.keys("b")
    assert "  cc1 2 %  " in screen.wait("WHO LOST", "its own 88 %", absent=("run queue",))


@pytest.mark.parametrize("columns, rows", [(60, 12), (40, 10), (32, 10), (20, 8)])
def test_the_blame_on_narrow_screens(with_blame, columns, rows):
    screen = with_blame(columns=columns, rows=rows)
    screen.keys("b")
    compare(f"blame-table-{columns}x{rows}", screen.wait("WHO LOST"))


@pytest.mark.parametrize("keys", [[], ["s", "f", "Home"], ["r"]])
def test_on_narrow_screens_the_help_is_the_last_hint(at_end, keys):
    """Without it no key can be found; how the screen is left is in it."""
    for columns in (80, 40, 30, 20):
        screen = at_end(columns=columns, rows=10)
        screen.keys(*keys)
        screen.wait("? h F1 help")


def test_enter_shows_blame_before_the_past(with_blame):
    screen = with_blame(columns=80, rows=40)
    screen.keys("Enter")
    compare("blame-inspector", screen.wait("because of, this interval", "the last"))


@pytest.mark.parametrize("columns, rows", [(80, 24), (132, 43), (60, 12), (250, 60), (20, 8)])
def test_sizes(at_end, columns, rows):
    compare(f"top-{columns}x{rows}", at_end(columns=columns, rows=rows).wait("26376"))


def test_groups(at_end):
    screen = at_end()
    screen.keys("t")
    compare("by-process", screen.wait("PROCESS", "workload"))
    screen.keys("t")
    compare("by-tree", screen.wait("PROCESS", "workload"))
    screen.keys("t")
    compare("by-cgroup", screen.wait("CGROUP"))
    screen.keys("t")
    screen.wait("TID", "encoder-1")


def test_inspector(at_end):
    screen = at_end(columns=140, rows=40)
    screen.keys("\\", "w", "a", "l", "Enter", "Enter")
    compare("inspector", screen.wait("wal-sync", ", since start ", "reasons", "waits for a CPU"))
    screen.keys("Escape")
    screen.wait("TID", "filter: wal")
    screen.keys("Escape")
    screen.wait("encoder-1")


def test_inspector_scrolls(at_end):
    screen = at_end(columns=100, rows=24)
    screen.keys("Enter")
    screen.wait("this interval", "more lines (PgDn)", absent=("storage read",))
    screen.keys(*["NPage"] * 6)
    screen.wait("encoder-1", "storage read", absent=("more lines",))
    screen.keys(*["PPage"] * 6)
    screen.wait("this interval", "more lines (PgDn)")


def first_line(screen):
    """Of the table: below its headings."""
    lines = screen.text().split("\n")
    return next(number for number, line in enumerate(lines) if "COMM" in line) + 1


def tid_of(screen, number):
    return screen.text().split("\n")[first_line(screen) + number].split()[0]


def test_selection_stays_on_its_line_until_it_follows(at_end):
    screen = at_end()
    third = tid_of(screen, 2)
    screen.keys("Down", "Down")
    screen.wait(f"── {third} ")
    screen.keys("r")
    screen.wait("(reversed)")
    assert tid_of(screen, 2) != third
    screen.wait(f"── {tid_of(screen, 2)} ")
    screen.keys("r", "f", "r")
    screen.wait("following", "(reversed)", f"── {third} ")


def test_search(at_end):
    screen = at_end()
    screen.keys("/", *"ledger")
    first = screen.wait("search: ledger_", "── ").split("── ")[1].split()[:2]
    assert first[1].startswith("ledger-")
    screen.keys("Enter", "n")
    screen.wait("ledger-", absent=(f"── {first[0]} ",))
    screen.keys("n")
    screen.wait(f"── {first[0]} ")
    screen.keys("/", *"zz")
    screen.wait("search: zz_  nothing matches")
    screen.keys("Enter")
    screen.wait("nothing matches", absent=("search:",))
    screen.keys("Home")
    screen.wait("F3 search")
    screen.keys("n")
    screen.wait("nothing matches")


def test_headings_sort(at_end):
    screen = at_end()
    row = first_line(screen) - 1
    column = screen.text().split("\n")[row].index("RUNQ")
    place = chr(33 + column) + chr(33 + row)
    click = f"\x1b[M {place}\x1b[M#{place}"  # and the end of it
    screen.tmux("send-keys", "-l", click)
    screen.wait("▾RUNQ", "by runnable")
    screen.tmux("send-keys", "-l", click)
    screen.wait("▴RUNQ", "by runnable (reversed)")


def test_columns_without_time_are_hidden(at_end):
    screen = at_end(columns=160)
    assert "SWAP" not in screen.text() and "STOP" not in screen.text()
    screen.keys("z")
    screen.wait("SWAP", "STOP")


def test_marks_in_place_of_colours(at_end):
    screen = at_end()
    assert "▇▇" in screen.text() and "▒▒" not in screen.text()
    screen.keys("m")
    screen.wait("▒▒", absent=("▇▇",))
    assert "▒▒" in at_end(NO_COLOR="1").text()
    assert "▒▒" in at_end(command=f"{DWELL} top --from {RECORDING} --theme mono").text()


def test_blame_that_was_not_recorded(at_end):
    screen = at_end()
    screen.keys("b")
    screen.wait("because of whom threads waited is not recorded")
    screen.keys("Escape")
    screen.wait("encoder-1", "run queue")


def test_settings(at_end, tmp_path):
    screen = at_end(HOME=str(tmp_path), XDG_CONFIG_HOME="")
    screen.keys("t", "z", "m", "s", "W")
    screen.wait("kept in ")
    kept = (tmp_path / ".config" / "dwell" / "config").read_text()
    for line in ('by = "process"', 'columns = "all"', 'marks = "true"', 'sort = "runnable"'):
        assert line in kept
    screen = at_end(HOME=str(tmp_path), XDG_CONFIG_HOME="", columns=160)
    text = screen.wait("PROCESS", "▾RUNQ", "SWAP")
    assert "▒▒" in text and "▇▇" not in text
    # what is said on the command line counts
    text = at_end(command=f"{DWELL} top --from {RECORDING} --by thread --sort tid", HOME=str(tmp_path), XDG_CONFIG_HOME="").text()
    assert "COMM" in text and "TID" in text and "by tid" in text


def test_the_direction_of_the_order_is_a_setting(at_end, tmp_path):
    screen = at_end(HOME=str(tmp_path), XDG_CONFIG_HOME="")
    screen.keys("s", "r", "W")
    screen.wait("kept in ", "▴RUNQ")
    assert 'reverse = "true"' in (tmp_path / ".config" / "dwell" / "config").read_text()
    screen = at_end(HOME=str(tmp_path), XDG_CONFIG_HOME="")
    screen.wait("▴RUNQ", "by runnable (reversed)")
    # it is that of this order alone
    other = at_end(command=f"{DWELL} top --from {RECORDING} --sort tid", HOME=str(tmp_path), XDG_CONFIG_HOME="")
    other.wait("by tid", absent=("(reversed)",))
    screen.keys("r", "W")
    screen.wait("kept in ", "▾RUNQ")
    assert 'reverse = "false"' in (tmp_path / ".config" / "dwell" / "config").read_text()


def test_f2_writes_no_settings(at_end, tmp_path):
    """It opens a menu elsewhere."""
    screen = at_end(HOME=str(tmp_path), XDG_CONFIG_HOME="")
    screen.keys("F2", "s")
    screen.wait("▾RUNQ", absent=("kept in ",))
    assert not list(tmp_path.iterdir())


def test_settings_with_mistakes(terminal, tmp_path):
    (tmp_path / "dwell").mkdir()
    (tmp_path / "dwell" / "config").write_text('theme = "dark"\n  colums = "all"\n[keys]\nx = "?"\n')
    screen = terminal(f"{DWELL} top --from {RECORDING}", XDG_CONFIG_HOME=str(tmp_path), columns=140)
    screen.wait("dwell/config:2:3: unknown setting 'colums'; did you mean 'columns'?")
    screen.keys("x")
    screen.wait("Keys", "select a line")


def test_settings_are_not_written_over_what_is_none(terminal, tmp_path):
    config = tmp_path / "dwell" / "config"
    config.parent.mkdir()
    mistakes = 'theme = "dark"\ncolums = "all"\n'
    config.write_text(mistakes)
    screen = terminal(XDG_CONFIG_HOME=str(tmp_path), columns=160)
    screen.wait("encoder-1")
    screen.keys("W")
    screen.wait("not replaced: ", "dwell/config:2:1: unknown setting 'colums'")
    assert config.read_text() == mistakes
    # one that cannot be opened for writing without waiting
    config.unlink()
    os.mkfifo(config)
    screen.keys("W")
    screen.wait("it is not a regular file")
    config.unlink()
    config.write_text("# much\n" * 20000)
    screen.keys("W")
    screen.wait("is longer than 64 KiB")


def test_filter_and_sort(at_end):
    screen = at_end()
    screen.keys("\\", "l", "e", "d", "g", "e", "r")
    screen.wait("filter: ledger_", "ledger-holder", "ledger-waiter", absent=("encoder",))
    screen.keys("Enter", "s")
    screen.wait("ledger-holder")
    screen.keys("Escape")
    screen.wait("encoder-1", "by runnable")
    screen.keys("F4", "z", "z", "Enter")
    screen.wait("nothing matches the filter")


@pytest.mark.parametrize("columns", [40, 60, 80, 150])
def test_help_is_whole_in_few_columns(at_end, columns):
    """What does not fit in a line goes on in the next: nothing is cut off, and nothing lies over another text."""
    screen = at_end(columns=columns, rows=150)
    screen.keys("?")
    text = screen.wait("First line", "CPU time")
    assert "…" not in "".join(text.splitlines()[:-1])
    assert " ".join(text.split()).count("recording: the next interval") == 1


def test_help_lists_every_key(at_end):
    screen = at_end(columns=110, rows=54)
    screen.keys("?")
    compare("help", screen.wait("Keys", "States", "recording: the next interval"))
    screen.keys("?")
    screen.wait("encoder-1")
    # where it does not fit, it scrolls
    screen.resize(80, 24)
    screen.keys("F1")
    screen.wait("Keys", "more lines", absent=("States",))
    screen.keys("NPage", "NPage", "NPage")
    screen.wait("blocked in what dwell does not recognize", absent=("Keys", "more lines"))
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
    third = tid_of(screen, 2)
    # a press of the first button on column 3 as xterm sends it (SGR or X10, as terminfo says)
    screen.tmux("send-keys", "-l", "\x1b[M #" + chr(33 + first_line(screen) + 2))
    screen.wait(f"── {third} ")


def test_the_end_of_a_click_comes_later(at_end):
    """As of a hand; and buttons that mean nothing. What is typed then is heard at once, and is no Escape."""
    screen = at_end()
    screen.wait("encoder-1")
    third = tid_of(screen, 2)
    place = "#" + chr(33 + first_line(screen) + 2)
    screen.tmux("send-keys", "-l", f"\x1b[M {place}")
    screen.wait(f"── {third} ")
    for button in (" ", '"', "!"):  # first, third, second
        screen.tmux("send-keys", "-l", f"\x1b[M{button}{place}")
        time.sleep(0.1)
        screen.tmux("send-keys", "-l", f"\x1b[M#{place}")
        time.sleep(0.1)
    screen.keys("/")
    screen.wait("search: _")
    screen.tmux("send-keys", "-l", f"\x1b[M!{place}")
    time.sleep(0.1)
    screen.tmux("send-keys", "-l", f"\x1b[M#{place}")
    screen.keys(*"enc")
    screen.wait("search: enc_")


def test_keys_go_through_the_help(at_end):
    screen = at_end(rows=12)
    screen.keys("?")
    first = screen.wait("more lines")
    screen.keys("End")
    last = screen.wait(absent=("more lines",))
    assert last != first
    screen.keys("Home")
    assert screen.wait("more lines") == first


def test_hints_can_be_clicked(at_end):
    screen = at_end()
    shown = screen.wait("quit").split("\n")

    def click(word):
        place = chr(33 + shown[-1].index(word)) + chr(32 + len(shown))
        screen.tmux("send-keys", "-l", f"\x1b[M {place}\x1b[M#{place}")

    click("help")
    screen.wait("select a line")
    screen.keys("Escape")
    screen.wait("encoder-1")
    click("quit")
    screen.wait("ended with 0")


def test_keys_that_change_processes_elsewhere_say_so(at_end):
    screen = at_end()
    for key in ("F7", "F8", "F9"):
        screen.keys(key)
        screen.wait("dwell watches only")
        screen.keys("Down")


def test_colours(at_end):
    assert "\x1b[38;5;" in at_end().text("-e")
    if pathlib.Path("/usr/share/terminfo/x/xterm-direct").exists():
        assert re.search(r"\x1b\[38[;:]2[;:]", at_end(TERM="xterm-direct").text("-e"))
    plain = at_end(NO_COLOR="1").text("-e")
    assert not re.search(r"\x1b\[(3[0-7]|38)", plain)
    assert re.search(r"\x1b\[(?:\d+;)*7m", plain)  # the selected row
    eight = at_end(TERM="screen").text("-e")
    assert re.search(r"\x1b\[3[0-7]m", eight) and "\x1b[38;5;" not in eight


@pytest.mark.parametrize("term, theme, look", [
    ("screen-256color", "dark", "1;38;5;214"), ("screen-256color", "light", "1;38;5;160"),
    *((term, theme, "1;4;7") for term in ("xterm-16color", "screen") for theme in ("dark", "light", "mono")),
])  # fmt: skip
def test_warnings_look_like_no_state(at_end, term, theme, look):
    """With few colours each belongs to a state: a warning has attributes instead."""
    if not any(pathlib.Path(base, term[0], term).exists() for base in ("/usr/share/terminfo", "/lib/terminfo")):
        pytest.skip(f"no terminfo of {term}")
    screen = at_end(command=f"{DWELL} top --from {RECORDING} --theme {theme}", TERM=term).text("-e")
    (before, *_) = screen.split("PAUSED")
    # tmux writes what changes; in 256 colours, the attributes and then the colour
    found = re.findall(r"\x1b\[([\d;]*)m", before)
    style = ";".join(found[max(i for i, codes in enumerate(found) if codes.split(";")[0] in ("", "0", "1")) :])
    assert style.removeprefix("0;") == look, screen.split("\n")[0]


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


def test_nothing_could_let_it_go_on_after_a_stop(terminal):
    """Of a terminal's only process, which no shell looks after, Ctrl-Z stops nothing."""
    screen = terminal(command=f"setsid --ctty --wait {DWELL} top --from {RECORDING}", columns=100)
    screen.wait("end of the recording")
    screen.keys("C-z")
    screen.keys("?")
    screen.wait("select a line")
    screen.keys("q", "q")
    screen.wait(absent=("select a line",))


def test_there_is_a_screen_before_there_is_a_source(terminal, tmp_path):
    """Where the machine is busy, a source takes seconds to begin: here one that never does, and then one that cannot."""
    shown = tmp_path / "shown"
    refused = f"setpriv --bounding-set -all --inh-caps -all {DWELL} top --source bpf --by cgroup"
    terminal(command=f"script -qec '{refused}' {shown}").wait("ended with")
    text = shown.read_text()
    assert 0 < text.index("dwell top") < text.index("measuring the first interval") < text.index("dwell top: "), text


def test_unusable_terminals(terminal):
    screen = terminal(command=f"{DWELL} top --from {RECORDING} --format tui", TERM="no-such-terminal")
    screen.wait("the terminal 'no-such-terminal' is not known", "ended with 1")
    screen = terminal(command=f"{DWELL} top --from {RECORDING} --format tui < /dev/null")
    screen.wait("needs a terminal on standard input and output", "ended with 1")
    # not asked for, it is not used
    screen = terminal(command=f"{DWELL} top --from {RECORDING} < /dev/null | tail -4")
    screen.wait("event-loop", "ended with 0")


def test_ctrl_l_draws_over_what_others_wrote(at_end):
    screen = at_end()
    tty = screen.tmux("display-message", "-p", "#{pane_tty}").strip()
    with open(tty, "w", encoding="utf-8") as other:
        other.write("\033[3;1Hgarbage from elsewhere")
    screen.wait("garbage from elsewhere")
    screen.keys("C-l")
    screen.wait("encoder-1", absent=("garbage",))


def test_the_selection_stays_when_rows_are_grouped(at_end):
    """`t`: on the process of the thread, and `f` follows no other."""
    screen = at_end(columns=120)
    screen.keys("/")
    screen.keys("w", "a", "l", "Enter", "f", "t")
    screen.wait("── 26375 workload", "following")
    screen.keys("t", "t", "t")
    screen.wait("of process 26375")
