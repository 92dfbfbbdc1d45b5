# SPDX-License-Identifier: GPL-2.0-or-later
"""The screen of `dwell profile` on a recording."""
import re

import pytest

from conftest import DWELL, TOP, compare, picture

RECORDING = str(TOP / "tests" / "golden" / "stacks.dwell")


@pytest.fixture
def profile(terminal):
    def open_profile(*arguments, **options):
        screen = terminal(command=" ".join([DWELL, "profile", "--from", RECORDING, *arguments]), **options)
        screen.wait("FLAMES")
        return screen

    return open_profile


def test_picture_in_the_documentation(profile):
    screen = profile(columns=110, rows=20)
    screen.keys("Down", "Down", "Right", "Down", "Down", "Down", "Down")
    screen.wait("pace  ledger.c:14 of")
    picture("profile", screen, 110, "dwell profile: a flame graph of where a program's time went, by state", page="docs/profile.md")


@pytest.mark.parametrize("columns, rows", [(80, 24), (132, 43), (60, 12), (200, 50)])
def test_sizes(profile, columns, rows):
    compare(f"profile-{columns}x{rows}", profile(columns=columns, rows=rows).wait("sleep"))


def test_resize(profile):
    screen = profile(columns=100)
    for columns, rows in ((40, 8), (10, 3), (1, 1), (200, 50), (80, 24)):
        screen.resize(columns, rows)
    compare("profile-80x24", screen.wait("FLAMES", "holder", "quit"))


def test_pages(profile):
    screen = profile(columns=120)
    screen.keys("Tab")
    compare("profile-code", screen.wait("by function", "poll_feed"))
    screen.keys("g")
    screen.wait("by file", "ledger.c", absent=("poll_feed",))
    screen.keys("g")
    screen.wait("by line", "ledger.c:13")
    screen.keys("Tab")
    compare("profile-threads", screen.wait("TID", "5172"))
    screen.keys("Escape")
    screen.wait("clone3")


def test_zoom(profile):
    screen = profile(columns=120)
    screen.keys("Down", "Down", "Right", "Enter")  # sleep, clone3, _start
    screen.wait("zoomed in", "pace", absent=("holder", "price_order"))
    screen.keys("BSpace")
    screen.wait("holder", absent=("price_order",))
    screen.keys("Escape")
    screen.wait("pars…", absent=("zoomed in",))


def test_inverted(profile):
    screen = profile(columns=120)
    screen.keys("i", "r", "r")
    compare("profile-inverted", screen.wait("inverted", "__x64_sys_clock_nanosleep", absent=("▏sleep",)))


def test_one_state(profile):
    screen = profile(columns=120)
    screen.keys("s")
    compare("profile-user", screen.wait("only user", "price_order"))
    screen.keys("s")
    screen.wait("only kernel")
    screen.keys("Escape")
    screen.wait("holder", absent=("only",))


def test_one_thread(profile):
    screen = profile(columns=120)
    screen.keys("t", "Down", "Enter")
    screen.wait("only ledger 517", "start_thread", absent=("pars…",))
    screen.keys("Escape")
    screen.wait("pars…", absent=("only",))


def test_short_threads(terminal):
    """They are one row; of those that go on the code on a CPU is one."""
    screen = terminal(command=f"{DWELL} profile --from {TOP}/tests/golden/short.dwell", columns=200)
    screen.wait("FLAMES")
    screen.keys("t")
    compare("profile-short-threads", screen.wait("TID", "120 threads", "thumbs "))
    screen.keys("Down", "Down", "Down", "Enter")
    screen.wait("only 120 threads of thumbs", "fetch_image", "scale_image", absent=("janitor",))
    screen.keys("Escape", "r", "s")
    screen.wait("only user", "120 threads of thumbs", "3 threads of", "expire_cache")


def test_one_function(profile):
    """From the list of code to its calls alone, and on to its callers."""
    screen = profile(columns=120)
    screen.keys("Tab", "/", *"price", "Enter", "Enter")
    screen.wait("only in price_order", "search: price: ", " match", absent=("parse_order", "holder"))
    screen.keys("i")
    screen.wait("inverted", "price_order", "main", absent=("parse_order",))


def test_search(profile):
    screen = profile(columns=120)
    screen.keys("/", *"pace")
    found = re.search(r"^search: pace_  (\d+ match(?:es)?, 17\.6 %)$", screen.wait("search: pace_", "17.6 %"), re.M)[1]
    screen.keys("Enter", "n")
    screen.wait("ledger.c:14 of", f"search: pace: {found}")
    screen.keys("c")
    screen.wait(absent=("match", "search:"))
    screen.keys("n")
    screen.wait("search first")
    screen.keys("/", *"nowhere")
    screen.wait("search: nowhere_  nothing matches")
    screen.keys("Enter")
    screen.wait("search: nowhere: nothing matches")
    screen.keys("N")
    screen.wait("nothing that is drawn has this name")
    screen.keys("Tab")
    screen.wait("search: nowhere: nothing matches")
    screen.keys("c", "/", *"pace")
    screen.wait("search: pace_  2 matches")


def test_all_of_the_kernel(profile):
    screen = profile(columns=120, rows=40)
    screen.wait("__x64_sys_clock_nanosleep", absent=("do_nanosleep",))
    screen.keys("K")
    screen.wait("do_nanosleep", "schedule")


def test_help_scrolls(profile):
    screen = profile(columns=80, rows=16)
    screen.keys("?")
    screen.wait("Keys", "more lines", absent=("standard error",))
    screen.keys("PPage", *["NPage"] * 6)
    screen.wait("standard error")
    screen.keys("Escape")
    screen.wait("FLAMES")


def test_without_colours_and_without_utf8(profile):
    screen = profile(columns=100, NO_COLOR="1", LC_ALL="C")
    screen.keys("Down", "Down")
    text = screen.wait(">clone3", "|holder", "|writer")
    assert text.isascii()


def test_mouse(profile):
    screen = profile(columns=120)
    row, column = next((i, line.index("holder")) for i, line in enumerate(screen.text().split("\n")) if "holder" in line)
    place = chr(33 + column) + chr(33 + row)
    for _ in range(2):  # selects it, and what is selected is opened
        screen.tmux("send-keys", "-l", f"\x1b[M {place}\x1b[M#{place}")
        screen.wait("holder", "ledger.c:17 of")
    screen.wait("zoomed in", "holder", absent=("writer",))


def test_live(terminal):
    """It grows; it can be frozen; when the time is over it stays, and so it does when the target has ended."""
    screen = terminal(command=f"{DWELL} profile -p $$ -d 3s --format tui", columns=100)
    screen.wait("FLAMES", "dwell profile")
    screen.keys("Space")
    screen.wait("FROZEN")
    screen.keys("Space")
    screen.wait("this was all", "(ended)")
    screen.keys("Tab")
    screen.wait("SELF")
    screen.keys("q")
    screen.wait("ended with 0")


def test_a_target_that_ends(terminal):
    screen = terminal(command=f"sh -c 'sleep 3 & exec {DWELL} profile -p $!'", columns=100)
    screen.wait("the target has ended", "sleep", "clock_nanosleep")
    screen.keys("q")
    screen.wait("ended with 0")


def test_a_command_does_not_share_the_screen(terminal):
    screen = terminal(command=f"{DWELL} profile --format tui -- true", columns=100)
    screen.wait("the command would share the screen", "ended with 2")


def test_copy(profile):
    screen = profile(columns=100)
    screen.keys("Down", "y")
    screen.wait("sent to the clipboard")


def test_end(profile):
    for key in ("q", "F10", "C-c"):
        screen = profile()
        screen.keys(key)
        screen.wait("ended with 0")
