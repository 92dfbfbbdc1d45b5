# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal (tmux) of any size to run dwell in, press keys and read the screen."""
import os
import pathlib
import subprocess
import time
import uuid

import pytest
import svg

TOP = pathlib.Path(__file__).resolve().parents[2]
DWELL = str(pathlib.Path(os.environ.get("DWELL_BUILD", "build")).resolve() / "dwell")
RECORDING = str(TOP / "tests" / "golden" / "mixed.dwell")
EXPECTED = pathlib.Path(__file__).parent / "expected"


def compare(name, text):
    """With a file of expected text; `make golden-update` writes it again."""
    expected = EXPECTED / f"{name}.txt"
    if os.environ.get("GOLDEN_UPDATE"):
        EXPECTED.mkdir(exist_ok=True)
        expected.write_text(text + "\n")
    assert text + "\n" == expected.read_text()


def picture(name, screen, columns, title, page="README.md", theme=svg.DARK):
    """One that a page shows (in colours) and the manual (as text), so that it stays true."""
    pictures = {"svg": svg.picture(screen.text("-e"), columns, title, theme), "txt": screen.text() + "\n"}
    for suffix, made in pictures.items():
        shown = TOP / "docs" / "screens" / f"{name}.{suffix}"
        if os.environ.get("GOLDEN_UPDATE"):
            shown.write_text(made)
        assert made == shown.read_text()
    assert f"screens/{name}.svg" in (TOP / page).read_text()


def film(name, recorded, page="README.md"):
    """A recording of a terminal (cast.py) that a page links to, kept true as pictures are."""
    shown = TOP / "docs" / "screens" / f"{name}.cast"
    if os.environ.get("GOLDEN_UPDATE"):
        shown.write_text(str(recorded))
    assert str(recorded) == shown.read_text()
    assert f"screens/{name}.cast" in (TOP / page).read_text()


class Terminal:
    def __init__(self, command, columns, rows, environment):
        self.name = f"dwell-{uuid.uuid4().hex[:8]}"
        settings = " ".join(f"{key}='{value}'" for key, value in environment.items())
        self.tmux(
            "new-session", "-d", "-x", columns, "-y", rows,
            f"stty -echoctl; env {settings} {command}; echo \"ended with $?\"; exec sh",
        )  # fmt: skip

    def tmux(self, *arguments):
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-L", self.name, *map(str, arguments)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def text(self, *options):
        return "\n".join(line.rstrip() for line in self.tmux("capture-pane", "-p", *options).split("\n")).rstrip("\n")

    def wait(self, *parts, absent=(), seconds=15):
        """The screen, as soon as all the parts are on it and it is not being drawn."""
        deadline = time.monotonic() + seconds
        before = None
        while True:
            text = self.text()
            if text == before and all(part in text for part in parts) and not any(part in text for part in absent):
                return text
            before = text
            assert time.monotonic() < deadline, f"no {parts} on the screen:\n{text}"
            time.sleep(0.05)

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)


@pytest.fixture
def terminal():
    """terminal(command=…, columns=…, rows=…, NAME=value…): starts it; `dwell top` of the recording by default."""
    opened = []

    def open_terminal(command=f"{DWELL} top --from {RECORDING}", columns=100, rows=24, **environment):
        # the tests' own LC_ALL also decides what tmux itself can show
        environment = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "TERM": "screen-256color", **environment}
        os.environ["LC_ALL"] = "C.UTF-8"
        opened.append(Terminal(command, columns, rows, environment))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


@pytest.fixture
def at_end(terminal):
    """The recording at its end, which is always the same picture."""

    def open_at_end(**options):
        one = terminal(**options)
        one.wait("end of the recording")
        one.keys("Home")  # any key takes the message away
        one.wait(absent=("end of the recording",))
        return one

    return open_at_end
