# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks of `dwell blocked` share: `tests/bench/NAME BUILD [ROUNDS]`, rows, and the services."""
import os
import pathlib
import re
import statistics
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
CPUS = os.sched_getaffinity(0)
#: what takes long to make is kept here
CACHE = pathlib.Path("/var/tmp") / f"dwell-bench-{os.getuid()}"

# before services is imported, which reads it
os.environ["DWELL_BUILD"] = str(BUILD)
sys.path.insert(0, str(TOP / "tests" / "e2e"))


def rounds(default):
    return int(sys.argv[2]) if len(sys.argv) > 2 else default


def row(figure, ours, theirs="", ratio="", bar=""):
    print(f"{figure:<46} {ours:>12} {theirs:>26} {ratio:>8}  {bar}", flush=True)


def median_ratio(ours, theirs):
    """Of figures from the same rounds."""
    return statistics.median(mine / other for mine, other in zip(ours, theirs))


def children(pid):
    """Of a process, with theirs."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from children(int(child))


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def cpu_seconds(pids):
    """That their threads which still run have had."""
    tasks = (task for pid in pids for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
