# SPDX-License-Identifier: GPL-2.0-or-later
"""Interactive shells on a terminal of ours, whose Tab asks dwell: what they make of a line that is typed."""
import os
import pathlib
import pty
import select
import shutil
import signal
import time

from conftest import BUILD, run

SHELLS = [name for name in ("bash", "zsh", "fish") if shutil.which(name)]

#: `dwell` is a function that keeps its arguments, so that a line can be entered; completions ask the program.
START = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": """PS1='ready> '; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; source ./completion
dwell() { printf '%s\\0' "$@" > args.new; mv args.new args; }; touch started
""",
    "zsh": """PS1='ready> '; unset zle_bracketed_paste; unsetopt beep auto_menu list_ambiguous bang_hist; zstyle ':completion:*' list-prompt ''
mkdir functions; cp completion functions/_dwell; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D
dwell() { printf '%s\\0' "$@" > args.new; mv args.new args; }; touch started
""",
    "fish": """function fish_prompt; echo 'ready> '; end; source ./completion
function dwell; printf '%s\\0' $argv > args.new; mv args.new args; end; touch started
""",
}
PROMPT = b"ready> "


class Shell:
    """In a directory of its own, where nothing else is to be made."""

    def __init__(self, name, directory):
        self.directory = pathlib.Path(directory)
        (self.directory / "completion").write_text(run("completion", name).stdout)
        environment = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}", TERM="xterm", HOME=str(directory), LC_ALL="C.UTF-8", HISTFILE="/dev/null",
                           XDG_CONFIG_HOME=str(directory), XDG_DATA_HOME=str(directory))  # fmt: skip
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(directory)
            os.execvpe(START[name][0], START[name], environment)
        self.said = b""
        for line in SETUP[name].splitlines():
            self.run(line)
        self.await_file("started").unlink()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def send(self, text):
        os.write(self.terminal, os.fsencode(text))

    def hear(self):
        if select.select([self.terminal], [], [], 0.02)[0]:
            self.said += os.read(self.terminal, 65536)

    def await_file(self, name):
        self.until(lambda: (self.directory / name).exists())
        return self.directory / name

    def until(self, is_done, seconds=30):
        deadline = time.monotonic() + seconds
        while not is_done():
            self.hear()
            assert time.monotonic() < deadline, self.said.decode(errors="replace")[-2000:]

    def run(self, line):
        """Until it prompts for the next."""
        heard = len(self.said)
        self.send(line + "\r")
        self.until(lambda: PROMPT in self.said[heard:].partition(b"\n")[2])

    def enter(self, *typed):
        """The arguments that `dwell` gets when each of these was typed, with a Tab between them, and then Return."""
        self.run("\t".join(typed))
        file = self.await_file("args")
        arguments = file.read_bytes().split(b"\0")[:-1]
        file.unlink()
        return [os.fsdecode(argument) for argument in arguments]
