# SPDX-License-Identifier: GPL-2.0-or-later
"""Culprits that are no threads have names; and every view of what a busy machine gave."""
import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import DWELL, WORKLOAD, run
from test_blame import Blame, culprits_of, spinning, sums_are_exact

pytestmark = pytest.mark.measures


@pytest.fixture
def quota():
    """A cgroup of the v1 CPU controller with a quota, and one below it, which has none."""
    directory = pathlib.Path(f"/sys/fs/cgroup/cpu/quota-{os.getpid()}")
    try:
        directory.mkdir()
    except OSError as error:
        pytest.skip(f"no CPU controller of cgroups v1: {error}")
    (directory / "cpu.cfs_quota_us").write_text("20000")
    (directory / "inner").mkdir()
    yield directory
    (directory / "inner").rmdir()
    directory.rmdir()


def test_a_quota_of_cgroups_v1_has_a_name(quota):
    blame = Blame("blame-cpu", 0, prefix=["/bin/sh", "-c", f'echo $$ > {quota}/inner/cgroup.procs; exec "$0" "$@"'])
    sums_are_exact(blame.intervals)
    # others may have the CPU, too
    assert blame.of("runnable", "throttle", quota.name[:15]) > 200_000_000, blame.shares
    assert blame.of("runnable", "throttle") == blame.of("runnable", "throttle", quota.name[:15]), blame.shares
    # its ids are not those of cgroups v2
    assert {culprit["cgroup"] for culprit in culprits_of(blame.intervals, "throttle")} == {None}


def disk_of(path):
    """The disk that a file lies on; skips where it is on none, or on something that is made of disks."""
    number = os.stat(path).st_dev
    device = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        pytest.skip(f"{path} is on no disk")
    device = device.resolve()
    disk = device.parent if (device / "partition").exists() else device
    if list((disk / "slaves").iterdir()) or re.match("zram|loop|ram|md|nbd", disk.name):
        pytest.skip(f"{disk.name} ends no wait by an interrupt")
    return disk.name


def test_the_disk_that_ends_a_wait_has_a_name(tmp_path):
    disk = disk_of(tmp_path)
    with open(tmp_path / "data", "wb") as data:
        data.write(bytes(64 << 20))
        os.fsync(data.fileno())
    blame = Blame("direct", tmp_path / "data")
    named = [one for interval in blame.intervals for one in interval["blame"] if one["state"] == "disk" and one["culprit"]["kind"] == "device"]
    times = collections.Counter()
    for one in named:
        times[one["culprit"]["comm"]] += one["total_ns"]
    assert times[disk[:15]] > 0.9 * sum(times.values()) > 0, times


@pytest.mark.parametrize("namespace", [[], ["unshare", "--pid", "--fork", "--mount-proc"]], ids=["here", "container"])
def test_every_view_of_a_busy_machine(namespace, tmp_path):
    """Whatever culprits there are: beyond the namespace, below it, many of a name, those that waited for a CPU themselves."""
    names = ["one", "two", "two", "two"]
    with contextlib.ExitStack() as stack:
        for number, name in enumerate(names):
            stack.enter_context(spinning(name, cpu=number % os.cpu_count(), prefix=["unshare", "--pid", "--fork"] if number % 2 else []))
        # a victim that the container has, too, and that waits for "one" whatever CPU dwell is on
        victim = "printf victim > /proc/self/comm; while kill -0 $$ 2> /dev/null; do :; done"
        recorder = [*namespace, "/bin/sh", "-c", f'({victim}) > /dev/null 2>&1 & taskset -pc 0 $! > /dev/null; exec "$@"', "sh"]
        jobs = [subprocess.Popen([WORKLOAD, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                for command in (["mixed", "4"], ["storm", "2000"], ["deadlock"])]  # fmt: skip
        done = subprocess.run([*recorder, DWELL, "record", "-o", tmp_path / "busy.dwell", "-i", "500ms", "-d", "3s"], capture_output=True, text=True,
                              timeout=60)
        for job in jobs:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    assert done.returncode == 0, done.stderr
    views = [["top", "--from", tmp_path / "busy.dwell", *by, *side, *form]
             for by in ([], ["--by", "process"], ["--by", "cgroup"])
             for side in ([], ["--blame"], ["--blame", "-a"], ["--blame=caused"])
             for form in (["--format", "table"], ["--format", "csv"], ["--format", "json"])]  # fmt: skip
    views += [["report", tmp_path / "busy.dwell", "--format", form] for form in ("table", "csv", "json")]
    views += [["compare", tmp_path / "busy.dwell", tmp_path / "busy.dwell", "--format", form] for form in ("table", "csv", "json")]
    for view in views:
        shown = run(*view)
        assert shown.returncode == 0 and shown.stdout, (view, shown.returncode, shown.stderr)
    assert "ran instead: one" in run("top", "--from", tmp_path / "busy.dwell", "--blame").stdout


def test_an_empty_page_says_where_the_time_was():
    with subprocess.Popen(["sleep", "100"]) as process:
        slept = run("top", "-p", process.pid, "--blame", "-d", "200ms").stdout
        process.send_signal(signal.SIGSTOP)
        stopped = run("top", "-p", process.pid, "--blame", "-d", "200ms").stdout
        process.kill()
    assert "Nothing was lost: sleep 100.0 % of the time; -a shows what ended it" in slept, slept
    assert "stopped " in stopped and " % of the time; -a shows what ended it" in stopped, stopped
