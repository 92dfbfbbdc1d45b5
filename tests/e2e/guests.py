# SPDX-License-Identifier: GPL-2.0-or-later
"""Running `dwell guest`, and what must be gone afterwards.

DWELL_GUEST_KERNEL names a kernel with sched_ext to try it with, beside scx_simple and scx_qmap;
DWELL_GUEST_KERNELS others, separated by colons.
"""
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from conftest import DWELL, run
from loads import children

KERNEL = os.path.abspath(os.environ["DWELL_GUEST_KERNEL"]) if os.environ.get("DWELL_GUEST_KERNEL") else None
KERNELS = [os.path.abspath(path) for path in os.environ.get("DWELL_GUEST_KERNELS", "").split(":") if path]
FAKE_QEMU = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "fake-qemu"

needs = [
    pytest.mark.skipif(not KERNEL, reason="DWELL_GUEST_KERNEL names no kernel"),
    pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="QEMU is not installed"),
]


def arguments(*command, options=(), kernel=None):
    return ["guest", "--kernel", str(kernel or KERNEL), "--accel", "tcg", *map(str, options), "--", *map(str, command)]


def guest(*command, options=(), kernel=None, **others):
    return run(*arguments(*command, options=options, kernel=kernel), timeout=120, **others)


def shell(text, **others):
    return guest("/bin/sh", "-c", text, **others)


def start(*command, options=(), kernel=None, **others):
    """A guest that goes on. Its QEMU is of a process of ours, so it is found below it only."""
    others = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **others}
    return subprocess.Popen([DWELL, *arguments(*command, options=options, kernel=kernel)], **others)


def qemu_of(process, seconds=30):
    """The pid of its QEMU, as soon as it is one."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for child in children(process.pid):
            if name_of(child).startswith("qemu-system"):
                return child
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("QEMU was not started")


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""


def below(pid):
    """It and all its descendants, with the time at which each began: pids are used again."""
    found = [(pid, began(pid))]
    for child in children(pid):
        found += below(child)
    return found


def began(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def await_end_of(known, seconds=10):
    """Those that are left after that time."""
    deadline = time.monotonic() + seconds
    while True:
        left = [pid for pid, start in known if start and began(pid) == start and not is_zombie(pid)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def is_zombie(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return False


def fake(directory, what, *options, popen=False, command=("/bin/echo", "hi"), accel="tcg", stdout=None, **environment):
    """`dwell guest` with a QEMU that is none; with popen it goes on."""
    path = pathlib.Path(directory) / "fake-bin"
    path.mkdir(exist_ok=True)
    if not (path / "qemu-system-x86_64").exists():
        (path / "qemu-system-x86_64").symlink_to(FAKE_QEMU)
    environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}", FAKE_QEMU=what, **environment)
    process = subprocess.Popen(
        [DWELL, "guest", "--kernel", KERNEL, "--accel", accel, *map(str, options), "--", *command],
        stdin=subprocess.DEVNULL, stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        cwd=directory,
    )  # fmt: skip
    if popen:
        return process
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
