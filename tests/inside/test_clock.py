# SPDX-License-Identifier: GPL-2.0-or-later
"""The clock of the day is set while `dwell serve` runs, which may be done in a guest alone (test_guest_truth.py)."""
import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import time
import zlib

from conftest import DWELL, run

DAY = 86400
#: Of the time that is right then: back and forth, and home.
JUMPS = (-DAY, 2 * DAY, -400 * DAY, 0)


def read_message(client):
    """-> its body; of one with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(body) < int(length[1]) and (part := client.recv(65536)):
        body += part
    return body


class Engine:
    """As ClickHouse; `bodies` in the order of their arrival."""

    def __init__(self):
        self.bodies, self.socket = [], socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(30)
                self.bodies.append(read_message(client))
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def ask(port, path):
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        client.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        data = b""
        while part := client.recv(65536):
            data += part
    return data.partition(b"\r\n\r\n")[2].decode()


def counters(port):
    return {name: float(value) for name, value in re.findall(r"^(\w+_(?:total|count|sum|bucket)(?:\{.*\})?) (\S+)$", ask(port, "/metrics"), re.M)}


@contextlib.contextmanager
def serving(*arguments):
    with subprocess.Popen([DWELL, "serve", "--listen", "127.0.0.1:0", *map(str, arguments)], stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.stderr.readline()
            while not (found := re.search(r"http://.*:(\d+)/$", said.strip())):
                line = process.stderr.readline()
                assert line, said
                said += line
            yield process, int(found[1])
        finally:
            process.kill()


def began(file):
    """When its first interval did: CLOCK_MONOTONIC, which no one sets."""
    done = run("report", "--format", "json", file)
    return json.loads(done.stdout.splitlines()[0])["start_ns"] if done.returncode == 0 else None


def test_the_clock_of_the_day_is_set(tmp_path):
    store, engine = tmp_path / "store", Engine()
    store.mkdir()
    push = f"clickhouse=http://127.0.0.1:{engine.socket.getsockname()[1]}"
    with serving("-i", "100ms", "--by", "process", "--groups", "5", "--store", store, "--max-bytes", "1M", "--push", push, "--push-every", "1s") as (process, port):
        before = counters(port)
        offset = time.time() - time.monotonic()
        try:
            for jump in JUMPS:
                time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + offset + jump)
                batches, files = len(engine.bodies), set(os.listdir(store))
                # what follows is measured, pushed and kept
                while len(engine.bodies) < batches + 3 or set(os.listdir(store)) <= files:
                    assert process.poll() is None
                    time.sleep(0.1)
                after = counters(port)
                # a group that lost its place may be gone; what is there has not gone back
                assert {name for name in before if "group=" not in name and "victim=" not in name} <= after.keys()
                assert not {name: (before[name], after[name]) for name in before if name in after and after[name] < before[name]}, jump
                assert ask(port, "/healthz") == "ok\n"
                before = after
        finally:
            time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + offset)
        process.terminate()
        assert process.wait(timeout=60) == 0
    dropped = [value for name, value in before.items() if name.startswith("dwell_push_dropped_total")]
    assert dropped and not any(dropped)
    # in the order in which they were measured
    intervals = [row["value"] for body in engine.bodies for row in map(json.loads, zlib.decompress(body, 31).splitlines()) if row["metric"] == "dwell_intervals_total"]
    assert len(intervals) > 3 * len(JUMPS) and intervals == sorted(set(intervals)), intervals
    # so is the ring, by its names
    recordings = sorted(path for path in store.glob("dwell.*.dwell"))
    starts = [began(path) for path in recordings]
    assert len(starts) > 1 and None not in starts and starts == sorted(starts), starts
    whole = run("report", "--format", "json", store)
    assert whole.returncode == 0 and json.loads(whole.stdout.splitlines()[0])["start_ns"] == starts[0], whole.stderr
