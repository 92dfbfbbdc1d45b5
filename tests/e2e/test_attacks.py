# SPDX-License-Identifier: GPL-2.0-or-later
"""What users without rights try against a dwell that root runs, or that was given capabilities.

Each attack runs as `nobody`, for real. That the attack would work is part of its test: what it does in its own
directory has to have happened.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from conftest import DWELL

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
FILES = 400


def namespace():
    return os.stat("/proc/self/ns/pid").st_ino


@pytest.fixture
def victim(tmp_path_factory):
    """A directory of root's with files of known names."""
    directory = pathlib.Path(f"/var/lib/dwell-test-victim-{os.getpid()}")
    directory.mkdir(mode=0o755)
    for number in range(FILES):
        (directory / f"file-{number}").write_text("precious")
    yield directory
    shutil.rmtree(directory)


def files(directory):
    return len(list(directory.iterdir()))


@pytest.fixture
def lair():
    """A directory of nobody's."""
    directory = pathlib.Path(f"/var/tmp/dwell-test-lair-{os.getpid()}")
    directory.mkdir(mode=0o755)
    os.chown(directory, 65534, 65534)
    yield directory
    shutil.rmtree(directory)


# Fills `bait`/inner, and exchanges it for a link to the victim as soon as anything in it is removed.
SWAP = """
import os, sys, time
bait, victim, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
inner = bait + "/inner"
os.makedirs(inner)
for number in range(files):
    open(f"{inner}/file-{number}", "w").close()
print("ready", flush=True)
while os.path.exists(bait):
    try:
        if len(os.listdir(inner)) < files and not os.path.islink(inner):
            os.rename(inner, bait + "/aside")
            os.symlink(victim, inner)
            print("exchanged", flush=True)
    except FileNotFoundError:
        pass
"""


def attack(script, *arguments):
    return subprocess.Popen(
        [*NOBODY, sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def load(*arguments, **environment):
    return subprocess.run(
        [DWELL, "load", "--quiet", "--work", "io-sync-write", "--workers", "1", "--duration", "200ms", *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env=dict(os.environ, **environment),
    )  # fmt: skip


@pytest.mark.parametrize("place", ["/var/tmp", "lair"])
def test_what_others_left_is_not_swept(victim, lair, place):
    """A directory named as one of a run that has ended, whose owner puts a link in while it is swept."""
    parent = pathlib.Path(place) if place != "lair" else lair
    bait = parent / f"dwell-load.1.1.{namespace()}.bait"
    attacker = attack(SWAP, bait, victim, FILES)
    try:
        assert attacker.stdout.readline() == "ready\n"
        for _ in range(3):
            done = load(TMPDIR=str(parent))
            assert done.returncode in (0, 3), done.stderr
        assert files(bait / "inner") == FILES and files(victim) == FILES
    finally:
        attacker.kill()
        attacker.wait()
        shutil.rmtree(bait, ignore_errors=True)


# Moves the run's own directory away, and puts one in its place in which it plays the same game.
REPLACE = """
import glob, os, sys
lair, victim, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
while True:
    for found in glob.glob(lair + "/dwell-load.*"):
        os.rename(found, lair + "/aside")
        os.makedirs(found + "/inner")
        for number in range(files):
            open(f"{found}/inner/file-{number}", "w").close()
        print("replaced", flush=True)
        sys.argv[1:] = [found, victim, str(files)]
        while os.path.exists(found):
            try:
                if len(os.listdir(found + "/inner")) < files and not os.path.islink(found + "/inner"):
                    os.rename(found + "/inner", found + "/gone")
                    os.symlink(victim, found + "/inner")
            except FileNotFoundError:
                pass
        sys.exit(0)
"""


def test_a_scratch_directory_is_exchanged(victim, lair):
    """TMPDIR belongs to the attacker: the workers' files go where they should, and nothing else is removed."""
    attacker = attack(REPLACE, lair, victim, FILES)
    try:
        assert attacker.stdout.readline() == "ready\n"
        done = load("--duration", "1s", TMPDIR=str(lair))
        assert done.returncode in (0, 1, 3), done.stderr
        # refused, if it was quicker than the first look
        assert done.returncode != 1 or "another user" in done.stderr or "cannot make" in done.stderr, done.stderr
        deadline = time.monotonic() + 10
        while not list(lair.glob("dwell-load.*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        (replaced,) = lair.glob("dwell-load.*")
        assert files(replaced / "inner") == FILES and files(victim) == FILES
        assert files(lair / "aside") == 0
    finally:
        attacker.kill()
        attacker.wait()
