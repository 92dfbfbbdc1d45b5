# SPDX-License-Identifier: GPL-2.0-or-later
"""Running `dwell guest --matrix`, with a stand-in for the guests or with real ones."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest
import schemas

from conftest import BUILD, DWELL, run
from loads import processes

STARTED = []
FAKE = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "fake-guest"


class Matrix:
    """A directory with the file of a matrix, its verdicts, and the command lines of its guests."""

    def __init__(self, directory, text, fake=True):
        self.directory = pathlib.Path(directory)
        self.path = self.directory / "matrix.yaml"
        self.out = self.directory / "verdicts.json"
        self.log = self.directory / "log"
        # a kernel and a scheduler by name only: a stand-in does not look
        for name in ("bzImage", "scx"):
            shutil.copy("/bin/true", self.directory / name)
        self.path.write_text(text if "kernels:" in text or not fake else "kernels: ./bzImage\n" + text)
        self.environment = dict(os.environ, TMPDIR=str(self.directory))
        self.program = BUILD / "tests" / "dwell-hooked" if fake else DWELL
        if fake:
            self.environment |= {"DWELL_GUEST_PROGRAM": str(FAKE), "FAKE_GUEST_LOG": str(self.log)}

    def arguments(self, *options):
        return ["guest", "--matrix", str(self.path), *map(str, options)]

    def run(self, *options, **others):
        return run(*self.arguments(*options), cwd=self.directory, env=self.environment, timeout=200, program=self.program, **others)

    def start(self, *options, **others):
        STARTED.append(subprocess.Popen(
            [self.program, *self.arguments(*options)], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **others,
        ))  # fmt: skip
        return STARTED[-1]

    def json(self, *options):
        """(exit status, the object)"""
        done = self.run("--format", "json", *options)
        return done.returncode, schemas.read(done.stdout)[0]

    def verdicts(self):
        """Those of --out, in the order of the cells."""
        return [cell["verdict"] for cell in json.loads(self.out.read_text())["cells"]]

    def started(self):
        """Command lines of the stand-ins so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def left(self, seconds=10):
        """Processes of its guests, and files of its own in the directory, that are there after that time."""
        deadline = time.monotonic() + seconds
        while True:
            left = processes(str(self.directory)) + [str(path) for path in self.directory.glob("dwell-guest.*")]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.02)


@pytest.fixture(autouse=True)
def nothing_goes_on():
    """What a test that failed has left running; its guests end with it."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.wait()


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.02)
