# SPDX-License-Identifier: GPL-2.0-or-later
"""What the screen asks a terminal when it comes up: a terminal of our own answers, or does not."""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
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
            while os.read(self.file, 65536):
                pass
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
