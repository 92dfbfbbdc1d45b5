# SPDX-License-Identifier: GPL-2.0-or-later
"""`workload ledgers` under dwell: threads that note what the kernel charges them, several thousand times a second.

What was right at the two ends of any interval is known from the notes around them, however busy or stolen the machine
is: where it was disturbed the notes lie further apart, and the bounds with them.
"""
import bisect
import json
import pathlib
import subprocess


class Ledger:
    """What the kernel had charged a thread, at many times."""

    def __init__(self, line):
        record = json.loads(line)
        self.name, self.tid = record["name"], record["tid"]
        self.times = [wall for wall, _ in record["readings"]]
        self.charged = [cpu for _, cpu in record["readings"]]

    def at(self, time_ns):
        """(least, most) at a time; None: it was not there."""
        after = bisect.bisect_left(self.times, time_ns)
        if after in (0, len(self.times)):
            return None
        # a note is made of the wall clock first, so what was charged may be a little later
        return self.charged[max(after - 2, 0)], self.charged[min(after, len(self.times) - 1)]


class Measured:
    """One run: the ledgers by tid, what each thread read last, and the intervals of dwell as it printed them."""

    def __init__(self, dwell, workload, directory, interval="300ms"):
        notes = pathlib.Path(directory) / "notes"
        command = [dwell, "top", "-i", interval, "--format", "json", "--", "sh", "-c", f"exec {workload} ledgers > {notes}"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        self.output = done.stdout
        self.ledgers = {ledger.tid: ledger for ledger in map(Ledger, notes.read_text().splitlines())}
        self.last = {line["tid"]: line["cpu_ns"] for line in map(json.loads, done.stderr.splitlines())}


def on_cpu_ns(states):
    return states["user"] + states["kernel"]


def judged(measured, intervals):
    """(ledger, interval, CPU time by dwell, least and most that was charged) of each thread that noted both ends."""
    for interval in intervals:
        start, end = interval["start_ns"], interval["start_ns"] + interval["duration_ns"]
        for row in interval["threads"]:
            ledger = measured.ledgers.get(row["tid"])
            first, last = (ledger.at(start), ledger.at(end)) if ledger else (None, None)
            # two notes in its whole life say little of a part of it
            if first and last and ledger.name != "quiet":
                yield ledger, interval, on_cpu_ns(row["states_ns"]), last[0] - first[1], last[1] - first[0]
