# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve` as a running service, and requests to it."""
import contextlib
import http.client
import json
import pathlib
import re
import select
import signal
import ssl
import subprocess

import pytest

from conftest import DWELL
from prometheus_client.parser import text_string_to_metric_families


class Server:
    """One that serves; `stop()` waits for its end."""

    def __init__(self, process, port, lines, is_tls):
        self.process, self.port, self.lines, self.is_tls = process, port, lines, is_tls

    def ask(self, path, method="GET", headers={}, timeout=60, body=None):
        """(status, headers, body) of a request."""
        if self.is_tls:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=ssl._create_unverified_context())
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers, body=body)
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def json(self, path):
        status, headers, body = self.ask(path)
        assert status == 200 and headers["Content-Type"] == "application/json", (status, body)
        return json.loads(body)

    def metrics(self):
        """{(name, label, value, ...): value}, the labels in the order of their names."""
        status, _, body = self.ask("/metrics")
        assert status == 200
        return samples(body.decode())

    def children(self):
        """Pids of its processes, itself first."""
        pids = [self.process.pid]
        for pid in pids:
            try:
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    pids += [int(child) for child in (task / "children").read_text().split()]
            except (FileNotFoundError, ProcessLookupError):
                pass  # it, or the thread, has ended
        return pids

    def stop(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        return self.process.wait(timeout=60)


def samples(text):
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, *(part for label in sorted(sample.labels.items()) for part in label))
            assert key not in found, key
            found[key] = sample.value
    return found


@contextlib.contextmanager
def serving(*arguments, listen="127.0.0.1:0", prefix=(), **options):
    """Starts one on a free port, by `prefix` where that is given, and waits until it says where."""
    process = subprocess.Popen([*prefix, DWELL, "serve", "--listen", listen, *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
    lines = []
    try:
        while not lines or "://" not in lines[-1]:
            ready, _, _ = select.select([process.stderr], [], [], 60)
            line = process.stderr.readline() if ready else ""
            assert line, f"dwell serve said only {lines}, exit status {process.poll()}"
            lines.append(line.strip())
        found = re.search(r"(https?)://.*:(\d+)/", lines[-1])
        yield Server(process, int(found.group(2)), lines, found.group(1) == "https")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture(scope="module")
def server():
    with serving("--by", "process", "-i", "1s") as server:
        yield server


def names_of(metrics, name):
    return [key for key in metrics if key[0] == name]
