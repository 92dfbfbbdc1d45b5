# SPDX-License-Identifier: GPL-2.0-or-later
"""What the screen asks a terminal when it comes up: a terminal of our own answers, or does not."""
import contextlib
import fcntl
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import DWELL, RECORDING

QUESTION = b"\x1b]11;?\x1b\\"
KIND = b"\x1b[c"  #: asked for behind it
VT220 = b"\x1b[?62;22c"
WHITE, BLACK = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", b"\x1b]11;rgb:0000/0000/0000\a"
#: the colours of what runs in user mode, STATE_LOOKS
LIGHT_USER, DARK_USER = b"\x1b[38;5;29m", b"\x1b[38;5;34m"


class Pty:
    """dwell top on a terminal that says what the test says."""

    def __init__(self, *arguments, **environment):
        self.pid, self.file = pty.fork()
        if not self.pid:
            environment = {
                **{key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORFGBG")},
                "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": "/nonexistent", **environment,
            }  # fmt: skip
            # the size is there before dwell looks
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
            os.execve(DWELL, [DWELL, "top", "--from", RECORDING, *arguments], environment)
        self.seen = b""

    def write(self, data):
        os.write(self.file, data)

    def wait(self, *parts, seconds=20):
        """Until all of them have been written, in any order; what was until then."""
        deadline = time.monotonic() + seconds
        while not all(part in self.seen for part in parts):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.file], [], [], left)[0], f"no {parts} in {self.seen!r}"
            try:
                more = os.read(self.file, 65536)
            except OSError:  # it has ended
                more = b""
            assert more, f"ended without {parts}: {self.seen!r}"
            self.seen += more
        return self.seen

    def status(self):
        """Reads to the end; the exit status."""
        with contextlib.suppress(OSError):
            while more := os.read(self.file, 65536):
                self.seen += more
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self):
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.file)


@pytest.fixture
def opened():
    terminals = []

    def open_pty(*arguments, **environment):
        terminals.append(Pty(*arguments, **environment))
        return terminals[-1]

    yield open_pty
    for terminal in terminals:
        terminal.close()


def quits(terminal):
    terminal.write(b"q")
    assert terminal.status() == 0


@pytest.mark.parametrize("answer, expected, other", [(WHITE, LIGHT_USER, DARK_USER), (BLACK, DARK_USER, LIGHT_USER)])
def test_the_terminal_says_its_background(opened, answer, expected, other):
    terminal = opened()
    terminal.wait(QUESTION, KIND)
    terminal.write(answer + VT220)
    seen = terminal.wait(b"encoder-1", expected, b"end of the recording")
    assert other not in seen
    quits(terminal)


def test_a_terminal_that_does_not_answer_is_dark(opened):
    terminal = opened()
    seen = terminal.wait(QUESTION, b"encoder-1", DARK_USER, b"end of the recording")
    assert LIGHT_USER not in seen
    quits(terminal)
    # but for what its environment says
    terminal = opened(COLORFGBG="0;15")
    assert DARK_USER not in terminal.wait(b"encoder-1", LIGHT_USER)
    quits(terminal)


def test_a_terminal_that_does_not_know_the_question(opened):
    terminal = opened()
    terminal.wait(QUESTION, KIND)
    terminal.write(VT220)
    assert LIGHT_USER not in terminal.wait(b"encoder-1", DARK_USER)
    quits(terminal)


def test_a_theme_needs_no_question(opened):
    terminal = opened("--theme", "light")
    seen = terminal.wait(b"encoder-1", LIGHT_USER)
    assert QUESTION not in seen and DARK_USER not in seen
    quits(terminal)


def test_what_is_typed_meanwhile_is_harmless(opened):
    terminal = opened()
    terminal.wait(QUESTION, KIND)
    terminal.write(b"jj\x1b[B" + WHITE + b"k" + VT220)
    assert DARK_USER not in terminal.wait(b"encoder-1", LIGHT_USER, b"end of the recording")
    quits(terminal)


@pytest.mark.parametrize(
    "term, said",
    [
        ("xterm-nosuch", b"terminfo does not know the terminal 'xterm-nosuch' (TERM): tables are printed "),
        ("", b"TERM is not set: tables are printed "),
        # who says so wants tables
        ("dumb", None),
    ],
)
def test_a_kind_of_terminal_that_is_not_known(opened, term, said):
    terminal = opened(TERM=term)
    assert terminal.status() == 0
    assert b"encoder-1" in terminal.seen and b"\x1b[?1049h" not in terminal.seen
    lines = [line for line in terminal.seen.split(b"\r\n") if b"TERM" in line]
    if said is None:
        assert not lines
    else:
        (line,) = lines
        assert line.startswith(b"dwell top: " + said) and line.endswith(b"; try TERM=xterm-256color")


def test_without_a_terminal_its_kind_does_not_matter():
    for term in "xterm-nosuch", "":
        done = subprocess.run(
            [DWELL, "top", "--from", RECORDING],
            stdin=subprocess.DEVNULL, capture_output=True, env=dict(os.environ, TERM=term),
        )  # fmt: skip
        assert done.returncode == 0 and b"encoder-1" in done.stdout and not done.stderr


@pytest.mark.parametrize("how", ["key", "SIGSEGV", "SIGABRT"])
def test_a_crash_ends_what_the_screen_began(opened, how):
    terminal = opened("--theme", "dark")
    begun = terminal.wait(b"encoder-1", b"end of the recording")
    assert b"\x1b[?1006;1000h" in begun and b"\x1b[?1049h" in begun
    number = signal.SIGQUIT if how == "key" else getattr(signal, how)
    resource.prlimit(terminal.pid, resource.RLIMIT_CORE, (0, 0))
    if how == "key":
        terminal.write(b"\x1c")
    else:
        os.kill(terminal.pid, number)
    # the mouse, the end of lines, the cursor, its keys, and the other screen
    seen = terminal.wait(b"\x1b[?1006;1000l", b"\x1b[?1049l")[len(begun) :]
    assert all(part in seen for part in (b"\x1b[?7h", b"\x1b[?12l\x1b[?25h", b"\x1b[?1l", b"\x1b[?1006;1000l"))
    assert terminal.status() == -number


def test_a_crash_where_terminfo_does_not_say_how_the_mouse_ends(opened):
    terminal = opened("--theme", "dark", TERM="screen-256color")
    begun = terminal.wait(b"encoder-1", b"end of the recording")
    resource.prlimit(terminal.pid, resource.RLIMIT_CORE, (0, 0))
    terminal.write(b"\x1c")
    assert b"\x1b[?1000h" in begun and b"\x1b[?1000l" in terminal.wait(b"\x1b[?1049l")[len(begun) :]
    assert terminal.status() == -signal.SIGQUIT


def test_an_answer_that_comes_late_is_no_key(at_end):
    screen = at_end()
    # of its letters r would reverse the order, b show the blame, / search, and g ask for a time
    screen.tmux("send-keys", "-l", (WHITE + VT220 + BLACK).decode())
    screen.keys("s")
    screen.wait("▾RUNQ", "by runnable", "encoder-1", absent=("reversed", "search:", "go to"))
    # in pieces
    screen.tmux("send-keys", "-l", WHITE[:9].decode())
    screen.tmux("send-keys", "-l", WHITE[9:].decode())
    screen.keys("r")
    screen.wait("▴RUNQ", "(reversed)", "encoder-1", absent=("search:", "go to"))
    # what only begins like one does not take the keyboard away for good
    screen.tmux("send-keys", "-l", "\x1b]1")
    screen.keys(*["x"] * 70, "r")
    screen.wait("▾RUNQ", absent=("reversed",))
