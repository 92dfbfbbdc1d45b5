# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs have names whatever filesystem their files lie on, and each has its own."""
import collections
import contextlib
import json
import shutil
import subprocess
import time

import pytest

from conftest import run
from profiles import build_id, profile

#: for ever, or for some tenths of a second of CPU time
SPINS = """
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) void NAME(void) { for (volatile long i = 0; i < 1000000; i++); }
int main(int count, char **words)
{
    while (count == 1 || clock() < atol(words[1]) * CLOCKS_PER_SEC / 10)
        NAME();
}
"""


def build(path, name, *flags):
    subprocess.run(["gcc", "-O1", *flags, f"-DNAME={name}", "-xc", "-", "-o", path], input=SPINS, text=True, check=True)


def call(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


@contextlib.contextmanager
def mounted(place, *arguments):
    """Or the test is skipped."""
    place.mkdir()
    done = call("mount", *arguments, place)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    try:
        yield place
    finally:
        call("umount", "-l", place)


@pytest.fixture
def btrfs(tmp_path):
    if not shutil.which("mkfs.btrfs"):
        pytest.skip("btrfs-progs is not installed")
    with open(tmp_path / "image", "wb") as image:
        image.truncate(300 << 20)
    subprocess.run(["mkfs.btrfs", "-q", tmp_path / "image"], check=True)
    with mounted(tmp_path / "btrfs", "-t", "btrfs", "-o", "loop", tmp_path / "image") as place:
        yield place


@pytest.fixture
def overlay(tmp_path):
    """Its lower layer is another filesystem than the upper one, so that its files have devices of their own."""
    (tmp_path / "lower").mkdir()
    build(tmp_path / "lower" / "spins", "of_the_lower_layer")
    with mounted(tmp_path / "memory", "-t", "tmpfs", "none") as memory:
        for name in ("upper", "work"):
            (memory / name).mkdir()
        options = f"lowerdir={tmp_path}/lower,upperdir={memory}/upper,workdir={memory}/work"
        with mounted(tmp_path / "overlay", "-t", "overlay", "-o", options, "none") as place:
            yield place


@contextlib.contextmanager
def running(*commands):
    processes = [subprocess.Popen([str(word) for word in command]) for command in commands]
    time.sleep(0.1)
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def named(result):
    """Of those that the programs here are named for: {function: seconds}; those of a moment, as before the first sample, are not."""
    sums = collections.Counter()
    for row in result["functions"]:
        if row["function"].startswith("of_"):
            sums[row["function"]] += row["self_ns"] / 1e9
    return {name: seconds for name, seconds in sums.items() if seconds > 0.05}


def names_of(pid):
    result = profile("-p", pid, "-d", "500ms")
    quality = result["quality"]
    assert quality["stacks_complete"] > 0.9 * (quality["stacks_complete"] + quality["stacks_truncated"] + quality["stacks_failed"])
    return set(named(result))


def names_of_the_ended(program):
    """Its file is found by its name."""
    done = run("profile", "--format", "json", "--", "sh", "-c", "$0 3; sleep 0.2", program)
    assert done.returncode == 0, done.stderr
    return set(named(json.loads(done.stdout.splitlines()[-1])))


def test_overlay_of_two_filesystems(overlay):
    with running([overlay / "spins"]) as (pid,):
        assert names_of(pid) == {"of_the_lower_layer"}
    assert names_of_the_ended(overlay / "spins") == {"of_the_lower_layer"}


def test_btrfs(btrfs):
    build(btrfs / "spins", "of_btrfs")
    with running([btrfs / "spins"]) as (pid,):
        assert names_of(pid) == {"of_btrfs"}
    assert names_of_the_ended(btrfs / "spins") == {"of_btrfs"}


def test_subvolumes_have_the_same_inodes(btrfs):
    """And one device in /proc/PID/maps, and the programs the same path in their roots."""
    inodes = set()
    for name in ("first", "second"):
        done = call("btrfs", "subvolume", "create", btrfs / name)
        assert not done.returncode, done.stderr
        build(btrfs / "built", f"of_the_{name}")
        shutil.copyfile(btrfs / "built", btrfs / name / "spins")
        (btrfs / name / "spins").chmod(0o755)
        inodes.add((btrfs / name / "spins").stat().st_ino)
    assert len(inodes) == 1
    with running([btrfs / "first" / "spins"], [btrfs / "second" / "spins"]) as pids:
        result = profile("-p", f"{pids[0]},{pids[1]}", "-d", "1s")
    seconds = named(result)
    assert set(seconds) == {"of_the_first", "of_the_second"}, result["functions"]
    assert all(0.8 < value < 1.1 for value in seconds.values()), seconds


def test_a_filesystem_that_was_unmounted_lazily(tmp_path):
    with mounted(tmp_path / "lazy", "-t", "tmpfs", "none") as place:
        build(place / "spins", "of_no_mount")
        with running([place / "spins"]) as (pid,):
            assert not call("umount", "-l", place).returncode
            assert names_of(pid) == {"of_no_mount"}


@pytest.mark.parametrize("of_this_build", [True, False])
def test_debug_files_of_a_container(tmp_path, of_this_build):
    """As its packages put them, below the root directory of the program; one that only has the right name is not used."""
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    build(root / "spins", "of_the_container", "-g", "-static", "-Wl,--build-id")
    build(other, "of_another_build", "-g", "-static", "-Wl,--build-id")
    its_id = build_id(root / "spins")
    debug = root / "usr/lib/debug/.build-id" / its_id[:2] / f"{its_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", root / "spins" if of_this_build else other, debug], check=True)
    subprocess.run(["strip", "--strip-all", root / "spins"], check=True)
    with running(["chroot", root, "/spins"]) as (pid,):
        result = profile("-p", pid, "-d", "500ms")
    assert set(named(result)) == ({"of_the_container"} if of_this_build else set()), result["functions"]
