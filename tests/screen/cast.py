# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of a terminal, as asciinema plays it (format asciicast v2), of screens that a test has seen: the same bytes each time.

Its clock is the script's, not the test's: how long a screen is to be looked at.
"""
import json
import re

TYPED = 0.06  #: seconds between two characters of a command
EPOCH = 1767225600  #: 2026-01-01, as the format wants a date


def plain(screen):
    """Without switches of character sets, which capture-pane adds; lines begin as a terminal needs them."""
    return re.sub(r"[\x0e\x0f]|\x1b\([B0]", "", screen).replace("\n", "\r\n")


class Cast:
    def __init__(self, title, columns, rows):
        self.now = 0.5
        self.events = []
        self.header = {
            "version": 2, "width": columns, "height": rows, "timestamp": EPOCH, "title": title, "env": {"TERM": "xterm-256color"},
        }  # fmt: skip

    def out(self, text, seconds):
        self.events.append([round(self.now, 2), "o", text])
        self.now += seconds

    def type(self, command):
        self.out("\x1b[H\x1b[2J$ ", 0.8)
        for character in command:
            self.out(character, TYPED)
        self.out("\r\n\x1b[?25l", 0.5)

    def show(self, screen, seconds):
        """As `Terminal.text("-e")` has it. Style goes on from line to line, so each screen is drawn as a whole."""
        self.out("\x1b[0m\x1b[H\x1b[2J" + plain(screen), seconds)

    def end(self):
        self.out("\x1b[0m\x1b[H\x1b[2J\x1b[?25h$ ", 0)

    def __str__(self):
        lines = [self.header, *self.events]
        return "".join(json.dumps(line, ensure_ascii=False, separators=(", ", ": ")) + "\n" for line in lines)
