# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve`: metrics, history and profiles of what runs here, and who may ask."""
import base64
import contextlib
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest
import schemas
from conftest import BUILD, DWELL, STATES, WORKLOAD, run
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from services import loop_service
from serving import samples, serving
from verdicts import descendants, doing

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def server():
    with serving("--by", "process", "-i", "1s") as server:
        yield server


def names_of(metrics, name):
    return [key for key in metrics if key[0] == name]


def test_metrics_are_prometheus_and_openmetrics(server):
    status, headers, body = server.ask("/metrics")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    status, headers, body = server.ask("/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"})
    assert status == 200 and headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    families = {family.name: family for family in open_families(body.decode())}
    assert families["dwell_thread_seconds"].type == "counter" and families["dwell_thread_seconds"].unit == "seconds"
    assert families["dwell_runqueue_wait_seconds"].type == "histogram" and families["dwell_source"].type == "info"
    assert body.endswith(b"# EOF\n")


def test_groups_add_up_to_all_threads_and_never_go_back():
    """As long as there is a place for each."""
    with serving("--by", "process", "-i", "1s", "--groups", "1000") as server, subprocess.Popen([WORKLOAD, "mixed"], stdout=subprocess.DEVNULL) as load:
        before = server.metrics()
        time.sleep(1)
        after = server.metrics()
        load.kill()
    for metrics in before, after:
        for state in STATES:
            if ("dwell_thread_seconds_total", "state", state) not in metrics:
                continue
            groups = sum(metrics[key] for key in names_of(metrics, "dwell_group_thread_seconds_total") if key[-1] == state)
            assert groups == pytest.approx(metrics["dwell_thread_seconds_total", "state", state], abs=1e-6)
        blocked = {}
        for _, _, group, _, reason, _, state in names_of(metrics, "dwell_group_blocked_seconds_total"):
            key = "dwell_group_thread_seconds_total", "group", group, "state", state
            blocked[key] = blocked.get(key, 0) + metrics["dwell_group_blocked_seconds_total", "group", group, "reason", reason, "state", state]
        assert "idle" in {state for *_, state in blocked}
        assert blocked == {key: pytest.approx(metrics[key], abs=1e-6) for key in blocked}
        threads = sum(metrics[key] for key in names_of(metrics, "dwell_group_threads"))
        assert threads == metrics["dwell_threads",]
    gone_back = [key for key in before if key[0].endswith(("_total", "_bucket", "_count", "_sum")) and after.get(key, before[key]) < before[key]]
    assert not gone_back
    assert after["dwell_intervals_total",] > before["dwell_intervals_total",]


def test_a_wait_for_a_cpu_is_in_one_bucket_and_all_above(server):
    metrics = server.metrics()
    counts = names_of(metrics, "dwell_runqueue_wait_seconds_count")
    assert counts
    for key in counts:
        buckets = sorted((float(bucket[4]), metrics[bucket]) for bucket in names_of(metrics, "dwell_runqueue_wait_seconds_bucket") if bucket[2] == key[2])
        assert [count for _, count in buckets] == sorted(count for _, count in buckets)
        assert buckets[-1] == (float("inf"), metrics[key])


def test_few_groups_leave_the_rest_to_other():
    with serving("--by", "process", "--groups", "3") as server:
        metrics = server.metrics()
        groups = {key[2] for key in names_of(metrics, "dwell_group_thread_seconds_total")}
        assert len(groups) == 4 and "other" in groups
        states = len({key[4] for key in names_of(metrics, "dwell_group_thread_seconds_total")})
        assert len(names_of(metrics, "dwell_group_thread_seconds_total")) == 4 * states


def test_blocked_time_says_what_for():
    """Of one that waits for a pipe all the time the whole wait."""
    with serving("--by", "process", "-i", "200ms", "--groups", "1000") as server, reader_of_a_pipe() as pid:
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        key = ("dwell_group_blocked_seconds_total", "group", name, "reason", "read:pipe", "state", "ipc")
        wait_for(lambda: server.metrics().get(key, 0) > 1)
        metrics = server.metrics()
    assert metrics[key] == pytest.approx(metrics["dwell_group_thread_seconds_total", "group", name, "state", "ipc"], abs=1e-6)
    reasons = {(found[4], found[6]) for found in names_of(metrics, "dwell_group_blocked_seconds_total")}
    assert all(reason and state in STATES for reason, state in reasons)


WAITS_OFTEN = """
import os, pathlib, threading, time
pathlib.Path("/proc/self/comm").write_text("waits-often")
ends = os.pipe()
def write():
    pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text("waits-often")
    while True:
        time.sleep(0.001)
        os.write(ends[1], b"x")
threading.Thread(target=write, daemon=True).start()
while True:
    os.read(ends[0], 1)
"""


def test_short_waits_have_their_reason():
    """All of them, not those alone that a snapshot meets: a thousand begin and end between two."""

    def of_group(metrics, name):
        return {key[3:]: metrics[key] for key in names_of(metrics, name) if key[2] == "waits-often"}

    with serving("--by", "process", "-i", "500ms", "--groups", "1000") as server, subprocess.Popen(["/usr/bin/python3", "-c", WAITS_OFTEN]) as waiter:
        wait_for(lambda: of_group(server.metrics(), "dwell_group_thread_seconds_total"))
        time.sleep(1)
        before, _, after = server.metrics(), time.sleep(2), server.metrics()
        waiter.kill()
    reasons = [of_group(metrics, "dwell_group_blocked_seconds_total") for metrics in (before, after)]
    spent = {(key[1], key[3]): value - reasons[0].get(key, 0) for key, value in reasons[1].items()}
    states = [of_group(metrics, "dwell_group_thread_seconds_total") for metrics in (before, after)]
    for state, reason in (("ipc", "read:pipe"), ("sleep", "clock_nanosleep")):
        whole = states[1]["state", state] - states[0]["state", state]
        # on a busy machine it waits for a CPU for the most part
        assert whole > 0.3 and spent[reason, state] == pytest.approx(whole, rel=0.01), (spent, whole)


def test_short_waits_of_the_first_interval_have_their_reason():
    """Counters begin with it: each start of a server would add to what is not known."""
    with subprocess.Popen(["/usr/bin/python3", "-c", WAITS_OFTEN]) as waiter:
        wait_for(lambda: pathlib.Path(f"/proc/{waiter.pid}/comm").read_text().strip() == "waits-often")
        with serving("-p", str(waiter.pid), "--by", "process", "-i", "2s") as server:
            time.sleep(0.5)  # the first question ends the first interval
            metrics = server.metrics()
        waiter.kill()
    waits = {key[4:]: metrics[key] for key in names_of(metrics, "dwell_group_blocked_seconds_total") if key[2] == "waits-often"}
    assert waits["read:pipe", "state", "ipc"] > 0.05 and waits.get(("unknown", "state", "ipc"), 0) < 0.01, waits


@contextlib.contextmanager
def reader_of_a_pipe():
    name = f"reads-{os.getpid()}"
    with subprocess.Popen(["sh", "-c", f"printf {name} > /proc/$$/comm; read line"], stdin=subprocess.PIPE) as reader:
        wait_for(lambda: pathlib.Path(f"/proc/{reader.pid}/comm").read_text().strip() == name)
        yield reader.pid
        reader.kill()


def test_history_and_status_follow_their_schemas(server):
    server.metrics()
    status = server.json("/api/status")
    assert not schemas.mistakes(status), schemas.mistakes(status)[:5]
    assert status["by"] == "process" and status["intervals"] >= 1 and status["host"] == os.uname().nodename
    history = server.json("/api/history")
    assert history
    for period in history:
        assert not schemas.mistakes(period), schemas.mistakes(period)[:5]
        for state in STATES:
            assert sum(group["states_ns"].get(state, 0) for group in period["groups"]) == period["all"]["states_ns"].get(state, 0)
    assert server.json("/api/history?from=1&to=2") == []
    assert server.json("/api/history?step=60") == []


@pytest.mark.parametrize("path, status, words", [
    ("/metric", 404, "nothing here"),
    ("/../../etc/passwd", 404, "nothing here"),
    ("/api/history?from=x", 400, "milliseconds"),
    ("/api/history?foo=1", 400, "step, from and to"),
    ("/api/history?step=1&step=2", 400, "each once"),
    ("/debug/pprof/profile?seconds=1&state=irq", 400, "user, kernel, runnable"),
    ("/api/history?step=-1", 400, "number of seconds"),
    ("/api/history?step=99999999999999999999", 400, "number of seconds"),
    ("/debug/pprof/profile?seconds=0", 400, "from 1 to 300"),
    ("/debug/pprof/profile?seconds=1&state=nix", 400, "no such state"),
    ("/debug/pprof/profile?seconds=1&state=sleep,lock", 400, "state takes one"),
    ("/debug/pprof/profile?second=1", 400, "seconds, state and format"),
    ("/debug/pprof/profile?seconds=1&format=exe", 400, "pprof, html or folded"),
])
def test_mistakes_get_a_status_and_a_reason(server, path, status, words):
    assert server.ask(path)[0] == status
    assert words in server.ask(path)[2].decode()


def test_only_reading_is_allowed(server):
    for method in "POST", "PUT", "DELETE", "OPTIONS", "PATCH":
        status, headers, _ = server.ask("/metrics", method, body=b"x" * 1000)
        assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, headers, body = server.ask("/metrics", "HEAD")
    assert status == 200 and int(headers["Content-Length"]) > 1000 and not body


def test_answers_are_compressed_where_that_is_accepted(server):
    _, headers, body = server.ask("/metrics", headers={"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip" and samples(gzip.decompress(body).decode())
    assert server.ask("/metrics")[1]["Content-Encoding"] is None
    assert server.ask("/metrics", headers={"Accept-Encoding": "gzip;q=0"})[1]["Content-Encoding"] is None


def test_pages_of_other_sites_get_nothing(server):
    assert server.ask("/metrics", headers={"Host": "rebound.example:9465"})[0] == 403
    assert server.ask("/metrics", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    for host in "localhost", "LOCALHOST:1", "127.0.0.1:9465", "[::1]:9465", "10.0.0.1":
        assert server.ask("/healthz", headers={"Host": host})[0] == 200
    _, headers, _ = server.ask("/")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Access-Control-Allow-Origin"] is None


def test_a_profile_that_no_one_waits_for_is_ended():
    """Else two that have left keep all others out, for up to five minutes."""
    with serving() as server:
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert server.ask("/healthz")[0] == 200
        end = time.monotonic() + 60
        while (status := server.ask("/debug/pprof/profile?seconds=1&format=folded")[0]) == 503 and time.monotonic() < end:
            time.sleep(0.2)
        assert status == 200


@contextlib.contextmanager
def profiling(server):
    """A profile that is longer than any test."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: any("profile -d 300s" in (doing(pid) or "") for pid in descendants(server.process.pid)))
        yield


def test_what_takes_the_places_of_profiles_is_said(tmp_path):
    again = "/debug/pprof/profile?seconds=1"
    with serving("--store", tmp_path, "-i", "100ms", "--trigger", "idle>0.1", "--trigger-after", "300s", "--trigger-pause", "1h") as flying:
        wait_for(lambda: any("record --stacks" in (doing(pid) or "") for pid in descendants(flying.process.pid)))
        with profiling(flying):
            status, _, body = flying.ask(again)
            assert status == 503 and body == b"a profile and a trigger's recording are being taken already: there is room for two\n"
    with serving() as asked, profiling(asked):
        with socket.create_connection(("127.0.0.1", asked.port)) as client:
            client.sendall(b"GET /debug/pprof/profile?seconds=299 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_for(lambda: any("profile -d 299s" in (doing(pid) or "") for pid in descendants(asked.process.pid)))
            assert asked.ask(again)[::2] == (503, b"two profiles are being taken already\n")


def test_a_profile_is_taken_of_the_machine(server):
    with subprocess.Popen([WORKLOAD, "mixed"], stdout=subprocess.DEVNULL) as load:
        status, headers, body = server.ask("/debug/pprof/profile?seconds=1&format=folded")
        load.kill()
    assert status == 200 and headers["Content-Type"].startswith("text/plain")
    lines = body.decode().splitlines()
    assert lines and all(line.rpartition(" ")[2].isdigit() for line in lines)
    status, headers, body = server.ask("/debug/pprof/profile?seconds=1&state=user")
    assert status == 200 and headers["Content-Type"] == "application/octet-stream" and gzip.decompress(body)
    status, headers, body = server.ask("/debug/pprof/profile?seconds=1&format=html")
    assert status == 200 and body.startswith(b"<!DOCTYPE html>")


def test_who_speaks_http_has_no_rights(server):
    served = []
    for pid in server.children():
        fields = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
        listens = any("socket:" in os.readlink(fd) and is_listening(os.readlink(fd), server.port) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir())
        if listens and fields["Seccomp"] == "2":
            served.append(fields)
    assert len(served) == 1
    assert int(served[0]["CapEff"], 16) == int(served[0]["CapPrm"], 16) == 0 and served[0]["NoNewPrivs"] == "1"
    assert "0" not in served[0]["Uid"].split()


def is_listening(link, port):
    inode = link[len("socket:["):-1]
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] == inode and fields[3] == "0A" and int(fields[1].split(":")[1], 16) == port:
            return True
    return False


def test_one_that_dies_is_replaced(server):
    server.metrics()
    for _ in range(3):
        victims = [pid for pid in server.children() if has_listener(pid, server.port) and not pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()]
        [os.kill(pid, signal.SIGKILL) for pid in victims if "Seccomp:\t2" in pathlib.Path(f"/proc/{pid}/status").read_text()]
        for _ in range(100):
            try:
                assert server.metrics()
                break
            except (OSError, AssertionError):
                time.sleep(0.1)
        else:
            raise AssertionError("it did not come back")


def link_of(fd):
    """Where it leads; "": it has been closed meanwhile."""
    with contextlib.suppress(OSError):
        return os.readlink(fd)
    return ""


def has_listener(pid, port):
    links = map(link_of, pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return any("socket:" in link and is_listening(link, port) for link in links)


def test_hostile_requests_leave_it_serving(server):
    """What is no HTTP, too long, never ends, or comes in great numbers."""
    hostile = [b"", b"\x00" * 4000, b"GET " + b"/" * 60000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9000 + b"\r\n",
               b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
               b"GET /%00%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 200000,
               b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20]
    for number in range(2000):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            try:
                client.sendall(hostile[number % len(hostile)])
                client.settimeout(0.01)
                if number % 3:
                    client.shutdown(socket.SHUT_WR)
                    client.recv(1000)
            except OSError:
                pass
    kept = []
    for _ in range(100):
        kept.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        kept[-1].sendall(b"GET /metrics HTTP/1.1\r\nHo")
    slow = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    slow.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
    assert server.ask("/healthz")[0] == 200
    # who takes longer than that for a request is cut off, also one whose body comes byte by byte
    began = time.monotonic()
    with contextlib.suppress(OSError):
        while time.monotonic() < began + 60:
            slow.sendall(b"x")
            time.sleep(0.5)
    assert time.monotonic() < began + 50
    slow.close()
    for client in kept:
        client.settimeout(60)
        assert client.recv(1000) == b""
        client.close()
    assert server.metrics()


def test_other_machines_need_a_token_and_tls(tmp_path):
    done = run("serve", "--listen", "0.0.0.0:0")
    assert done.returncode == 1 and "needs --tls-cert, --tls-key and --token-file, or --insecure" in done.stderr
    done = run("serve", "--tls-cert", "x")
    assert done.returncode == 2 and "need each other" in done.stderr
    with serving("--insecure", "-i", "1s", listen=":0") as server:
        assert server.metrics()


@pytest.fixture
def credentials(tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dwell", "-keyout",
                    tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True)
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    return ["--tls-cert", tmp_path / "cert", "--tls-key", tmp_path / "key", "--token-file", tmp_path / "token"]


def test_tls_and_token(credentials):
    with serving(*credentials, listen="0.0.0.0:0") as server:
        assert server.is_tls
        for header in None, "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "x", "Basic !!!", "Basic " + base64.b64encode(b"x").decode(), TOKEN:
            status, headers, body = server.ask("/metrics", headers={"Authorization": header} if header else {})
            assert status == 401 and headers["WWW-Authenticate"].startswith("Basic"), header
            assert b"dwell_" not in body
            # for probes, which have no token
            assert server.ask("/healthz", headers={"Authorization": header} if header else {})[2] == b"ok\n"
        for header in "Bearer " + TOKEN, "Basic " + base64.b64encode(f"any:{TOKEN}".encode()).decode():
            assert server.ask("/metrics", headers={"Authorization": header})[0] == 200
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"dwell_" not in plain.recv(4000)


@pytest.mark.parametrize("text, mode, words", [
    (TOKEN, 0o644, "others can read it"),
    ("short", 0o600, "16 characters at least"),
    ("", 0o600, "16 characters at least"),
    ("with a space in it", 0o600, "printable characters"),
    (TOKEN + "\nsecond", 0o600, "printable characters"),
])
def test_bad_tokens_are_refused(tmp_path, text, mode, words):
    token = tmp_path / "token"
    token.write_text(text)
    token.chmod(mode)
    done = run("serve", "--listen", "127.0.0.1:0", "--token-file", token)
    assert done.returncode == 1 and words in done.stderr


@pytest.mark.parametrize("arguments, words", [
    (["--listen", "127.0.0.1"], "write HOST:PORT"),
    (["--listen", "127.0.0.1:99999"], "write HOST:PORT"),
    (["--listen", "203.0.113.1:0"], "cannot listen on"),
    (["--tls-cert", "/etc/hostname", "--tls-key", "/etc/hostname"], "not in PEM"),
    (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], "cannot read /nowhere"),
    (["--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"], "not a small plain file"),
    (["--token-file", "/nowhere"], "cannot read /nowhere"),
])
def test_what_cannot_be_served_is_explained(arguments, words):
    done = run("serve", *arguments)
    assert done.returncode == (2 if "write" in words else 1) and words in done.stderr, done.stderr


def test_a_key_of_another_certificate_is_refused(credentials, tmp_path):
    subprocess.run(["openssl", "genrsa", "-out", tmp_path / "key", "2048"], check=True, capture_output=True)
    done = run("serve", *credentials, "--listen", "127.0.0.1:0")
    assert done.returncode == 1 and "certificate or its key" in done.stderr


def test_a_port_that_is_taken(server):
    done = run("serve", "--listen", f"127.0.0.1:{server.port}")
    assert done.returncode == 1 and "in use; --listen takes another port" in done.stderr


def test_nothing_is_left_behind():
    for by in signal.SIGTERM, signal.SIGINT, signal.SIGKILL:
        with serving("-i", "1s") as server:
            pids = server.children()
            assert len(pids) > 3
            assert server.stop(by) == (-signal.SIGKILL if by == signal.SIGKILL else 0)
            for _ in range(100):
                left = [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]
                if not left:
                    break
                time.sleep(0.05)
            assert not left


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sleeps(pid):
    """What is at the end of a descriptor again and again never does."""
    for _ in range(100):
        if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S":
            return True
        time.sleep(0.05)
    return False


def test_a_part_that_is_killed_for_good_ends_it(tmp_path):
    """As the kernel does where memory is short. What can be done without, or started again, is."""
    arguments = ["-i", "1s", "--stalls", "no-such-program", "--container-names", tmp_path / "socket", "--push", "otlp=http://127.0.0.1:9"]
    ended = set()
    with serving(*arguments) as server:
        parts = len(children_of(server.process.pid))
    for part in range(parts):
        with serving(*arguments) as server:
            os.kill(children_of(server.process.pid)[part], signal.SIGKILL)
            try:
                assert server.process.wait(timeout=3) == 1
            except subprocess.TimeoutExpired:
                assert sleeps(server.process.pid) and server.ask("/metrics")[0] == 200
                continue
            words = server.process.stderr.read()
            ended.add(next(word for word in ("serves", "starts jobs", "watches for stalls", "asks for the names", "pushes") if word in words))
            assert "has been killed, and what would start it again is not there any more" in words
    assert len(ended) == 5


def test_a_service_manager_stops_all_processes_at_once(tmp_path):
    arguments = ["-i", "1s", "--stalls", "no-such-program", "--container-names", tmp_path / "socket", "--push", "otlp=http://127.0.0.1:9"]
    with serving(*arguments) as server:
        for pid in reversed(server.children()):
            os.kill(pid, signal.SIGTERM)
        assert server.process.wait(timeout=60) == 0, server.process.stderr.read()


def test_systemd_hands_over_sockets_and_hears_when_it_is_ready(tmp_path):
    notified = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.create_server(("127.0.0.1", 0)) as listener:
        manager.bind(str(notified))
        manager.settimeout(60)
        port = listener.getsockname()[1]
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve -i 1s'
        with subprocess.Popen(["sh", "-c", script, DWELL], preexec_fn=lambda: os.dup2(listener.fileno(), 3), pass_fds=[3], env={**os.environ, "NOTIFY_SOCKET": str(notified)},
                              stderr=subprocess.PIPE, text=True) as process:
            words = [manager.recv(100) for _ in range(3)]
            assert words[0] == b"READY=1" and words[1] == b"WATCHDOG=1"
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert b"200 OK" in client.recv(1000)
            process.terminate()
            assert process.wait(timeout=30) == 0
            while words[-1] != b"STOPPING=1":
                words.append(manager.recv(100))
            assert f"http://127.0.0.1:{port}/" in process.stderr.read()


def harmless(text):
    """What a terminal that takes it for UTF-8, or for bytes, neither obeys nor turns around."""
    hostile = [character for character in text if ord(character) < 0x20 and character != "\n" or 0x7F <= ord(character) < 0xA0 or character in "\u202e\ufeff\ufffd"]
    assert not hostile, hostile
    return text


def test_names_of_groups_may_be_anything():
    """Quotes, backslashes, line ends, what a terminal obeys, and bytes that are no text: as label values and in JSON. Those that look alike are one."""
    names = (b'a"\\\n\x1b]\x07\r\xc2\x9b\xe2\x80\xae', b'a"\\\r\x1b]\xff\n\xc2\x9d\x07')
    program = "import ctypes, sys, time; ctypes.CDLL(None).prctl(15, sys.stdin.buffer.read()); print(flush=True); time.sleep(60)"
    with contextlib.ExitStack() as running:
        for name in names:
            process = running.enter_context(subprocess.Popen(["/usr/bin/python3", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            running.callback(process.kill)
            process.stdin.write(name + b"\0")
            process.stdin.close()
            process.stdout.readline()
        server = running.enter_context(serving("--by", "process", "--groups", "500"))
        shown = 'a"\\??]????'
        assert [value for key, value in server.metrics().items() if key[0] == "dwell_group_threads" and key[2] == shown] == [2]
        assert any(group["group"] == shown for group in server.json("/api/history")[-1]["groups"])
        for path in "/metrics", "/api/history", "/api/status":
            harmless(server.ask(path)[2].decode())
        harmless(server.ask("/metrics", headers={"Accept": "application/openmetrics-text"})[2].decode())


def test_the_store_keeps_recordings_and_survives_a_full_disk(tmp_path):
    """On a filesystem of 3 MiB, which another file fills up in between."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", disk], check=True)
    try:
        with serving("--by", "process", "-i", "100ms", "--store", disk) as server:
            wait_for(lambda: server.metrics()["dwell_store_bytes",] > 100_000)
            assert server.metrics()["dwell_store_failures_total",] == 0
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as file:
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(65536))
            wait_for(lambda: server.metrics()["dwell_store_failures_total",] > 0)
            filler.unlink()
            before = {path.name for path in disk.iterdir()}
            wait_for(lambda: {path.name for path in disk.iterdir()} - before)
            server.stop()
            said = server.process.stderr.read()
        assert "trying again" in said and "kept again" in said
        for path in disk.iterdir():
            done = run("report", path)
            assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_store_that_is_moved_away_is_noticed(tmp_path):
    """What is written to it then could be found nowhere."""
    store = tmp_path / "store"
    store.mkdir()
    with serving("--by", "process", "-i", "100ms", "--store", store) as server:
        wait_for(lambda: server.metrics()["dwell_store_bytes",] > 0)
        store.rename(tmp_path / "moved")
        wait_for(lambda: server.metrics()["dwell_store_failures_total",] > 0)
        store.mkdir()
        wait_for(lambda: list(store.iterdir()))
        server.stop()
        said = server.process.stderr.read()
    assert "is not there any more; trying again" in said and "kept again" in said, said
    for path in [*store.iterdir(), *(tmp_path / "moved").iterdir()]:
        assert run("report", path).returncode == 0, path


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_trigger_records_what_was_before_and_what_follows(tmp_path):
    """A crowd of threads that compute: each waits for a CPU."""
    with serving("--by", "process", "-i", "200ms", "--store", tmp_path, "--trigger", "runnable>5@crowd,lock>100000,runqueue-max>1h",
                 "--trigger-before", "1s", "--trigger-after", "1s", "--trigger-pause", "1h") as server:
        time.sleep(2.5)
        metrics = server.metrics()
        assert [metrics[key] for key in names_of(metrics, "dwell_triggers_total")] == [0, 0, 0]
        program = "import ctypes, os; ctypes.CDLL(None).prctl(15, b'crowd'); [os.fork() for _ in range(5)]\nwhile True: pass"
        crowd = subprocess.Popen(["/usr/bin/python3", "-c", program], start_new_session=True)
        try:
            wait_for(lambda: server.metrics()["dwell_flight_suppressed_total",] > 0)
            wait_for(lambda: list(tmp_path.glob("trigger.after.*.dwell")))
            wait_for(lambda: server.metrics()["dwell_flight_recordings_total",] == 1)
            metrics = server.metrics()
            # it has its name from its first record on
            wait_for(lambda: not any("record --stacks" in (doing(pid) or "") for pid in descendants(server.process.pid)))
        finally:
            os.killpg(crowd.pid, signal.SIGKILL)
            crowd.wait()
        assert metrics["dwell_flight_recordings_total",] == 1
        assert metrics["dwell_triggers_total", "group", "crowd", "trigger", "runnable>5"] > 1 and metrics["dwell_triggers_total", "trigger", "lock>100000"] == 0
        server.stop()
        said = server.process.stderr.read()
    (before,), (after,) = tmp_path.glob("trigger.before.*.dwell"), tmp_path.glob("trigger.after.*.dwell")
    assert f"runnable>5: " in said and f"threads of crowd: {before}, and what follows" in said
    report = json.loads(run("report", before, "--json").stdout)
    # a second before it fired, and until the second recording had begun: nothing is missing between the two
    assert report["duration_ns"] >= 900_000_000
    began = json.loads(run("report", after, "--json").stdout)["start_ns"]
    assert report["start_ns"] + report["duration_ns"] > began
    assert any(row["comm"] == "crowd" for row in report["threads"])
    shown = run("profile", "--from", after, "--format", "folded")
    assert shown.returncode == 0 and shown.stdout, shown.stderr


def test_a_group_that_a_trigger_names_need_not_lead(tmp_path):
    """One that only sleeps has no place among the first; and one that is called as the rest is has a name of its own."""
    program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'other')\nwhile True: time.sleep(0.001)"
    with subprocess.Popen(["sleep", "100"]) as sleeper, subprocess.Popen(["/usr/bin/python3", "-c", program]) as other:
        try:
            with serving("--by", "process", "--groups", "2", "-i", "200ms", "--store", tmp_path, "--trigger", "sleep>0.5@sleep,sleep>0.5@nowhere",
                         "--trigger-after", "1s", "--trigger-pause", "1h") as server:
                wait_for(lambda: server.metrics()["dwell_triggers_total", "group", "sleep", "trigger", "sleep>0.5"] > 0)
                text = server.ask("/metrics")[2].decode()
                assert server.metrics()["dwell_triggers_total", "group", "nowhere", "trigger", "sleep>0.5"] == 0
        finally:
            sleeper.kill()
            other.kill()
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if line.startswith("dwell_")]
    assert len(lines) == len(set(lines)), [line for line in lines if lines.count(line) > 1][:5]


def test_a_trigger_names_a_group_as_it_is_served(tmp_path):
    program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'a\\x1b]b')\nwhile True: time.sleep(0.001)"
    with subprocess.Popen(["/usr/bin/python3", "-c", program]) as sleeper:
        try:
            with serving("--by", "process", "-i", "200ms", "--store", tmp_path, "--trigger", "sleep>0.1@a?]b", "--trigger-after", "1s", "--trigger-pause", "1h") as server:
                wait_for(lambda: server.metrics()["dwell_triggers_total", "group", "a?]b", "trigger", "sleep>0.1"] > 0)
        finally:
            sleeper.kill()


def test_recordings_of_triggers_are_few(tmp_path):
    for day in range(10, 30):
        for kind in "before", "after":
            (tmp_path / f"trigger.{kind}.202601{day}T000000Z.dwell").write_bytes(b"x")
    with serving("--by", "process", "-i", "100ms", "--store", tmp_path, "--trigger", "idle>0.1,sleep>0.1", "--trigger-after", "1s") as server:
        wait_for(lambda: server.metrics()["dwell_flight_recordings_total",] == 1)
    assert len(list(tmp_path.glob("trigger.before.*"))) == 16
    assert len(list(tmp_path.glob("trigger.after.*"))) <= 16


@pytest.mark.parametrize("arguments, words", [
    (["--trigger", "runqueue-p99>20ms"], "needs --store"),
    (["--trigger", "runqueue-p98>20ms"], "there is no 'runqueue-p98'"),
    (["--trigger", "runqueue-p99>20"], None),
    (["--trigger", "runqueue-p99>fast"], "fast"),
    (["--trigger", "runqueue-p99"], "write FIELD>LIMIT"),
    (["--trigger", "lock>"], "write FIELD>LIMIT"),
    (["--trigger", "lock>many"], "how many threads"),
    (["--trigger", "lock>-1"], "how many threads"),
    (["--trigger", "lock>nan"], "how many threads"),
    (["--trigger", "lock>1@"], "write FIELD>LIMIT"),
    (["--trigger", ","], "no condition"),
    (["--trigger", ",".join(f"lock>{threads}" for threads in range(1, 18))], "at most 16"),
    (["--trigger", "lock>1", "--trigger", "disk>1"], "given once"),
    (["--trigger", "lock>1@a,lock>1@b,lock>1@a"], "'lock>1' is there twice"),
    (["--stalls", "a", "--stalls", "a"], "a is given twice"),
    (["--trigger-pause", "1h"], "are for --trigger"),
    (["--store", "/tmp", "--trigger", "stall>1s"], "needs --stalls"),
    (["--stalls", "-p"], "not the name of a program"),
    (["--stalls", "a", "--stalls", "b", "--stalls", "c", "--stalls", "d", "--stalls", "e"], "at most 4"),
    (["--stall-threshold", "1ms"], "is for --stalls"),
    (["--keep", "1h"], "are for --store"),
])
def test_triggers_that_make_no_sense(arguments, words):
    done = run("serve", *arguments)
    assert done.returncode == 2 and (words or "needs --store") in done.stderr, done.stderr


@pytest.mark.measures
def test_stalls_of_a_program_are_counted_and_trigger(tmp_path):
    """A service that blocks its loop for 60 ms each time it is asked to; it comes and goes."""
    program = tmp_path / f"loops-{os.getpid()}"
    shutil.copy(pathlib.Path(BUILD) / "tests" / "loop-service", program)
    with serving("--by", "process", "-i", "200ms", "--stalls", program.name, "--store", tmp_path, "--trigger", f"stall>50ms@{program.name}",
                 "--trigger-after", "1s") as server:
        watched = ("dwell_stalls_watched", "process", program.name)
        assert server.metrics()[watched] == 0
        with loop_service(program=program) as service:
            wait_for(lambda: server.metrics()[watched] == 1)
            asked = [service.ask("spin", 60) for _ in range(5)]
            wait_for(lambda: server.metrics()["dwell_stall_seconds_count", "process", program.name] >= 5)
            metrics = server.metrics()
            _, _, body = server.ask("/metrics", headers={"Accept": "application/openmetrics-text"})
        wait_for(lambda: server.metrics()[watched] == 0)
        server.stop()
        assert f"stalls: dwell blocked: no process named '{program.name}'" in server.process.stderr.read()
    # on a busy machine some are for want of a CPU
    causes = {key[2]: metrics[key] for key in names_of(metrics, "dwell_stalls_total")}
    assert causes["cpu"] >= 1 and causes["cpu"] + causes["runnable"] + causes["stolen"] >= 5, causes
    total = metrics["dwell_stall_seconds_sum", "process", program.name]
    assert total >= sum(duration for _, duration, _ in asked) / 1e9 * 0.9
    assert metrics["dwell_triggers_total", "group", program.name, "trigger", "stall>50ms"] >= 1 and list(tmp_path.glob("trigger.before.*"))
    exemplars = [sample.exemplar.labels for family in open_families(body.decode()) for sample in family.samples if sample.exemplar]
    assert exemplars and all(list(labels) == ["function"] for labels in exemplars)


def test_a_stuck_worker_is_seen_while_it_is_stuck(tmp_path):
    """It comes back when the test lets it, then is killed while it is stuck again."""
    program = tmp_path / f"stuck-{os.getpid()}"
    shutil.copy(pathlib.Path(BUILD) / "tests" / "loop-service", program)
    with serving("--by", "process", "-i", "1s", "--stalls", program.name) as server:
        watched, stuck, ended = ((name, "process", program.name) for name in ("dwell_stalls_watched", "dwell_workers_stuck", "dwell_stall_seconds_count"))
        assert server.metrics()[stuck] == 0
        with loop_service(program=program) as service:
            wait_for(lambda: server.metrics()[watched] == 1)
            hold_up(service, 5000)
            wait_for(lambda: server.metrics()[stuck] == 1)
            assert server.metrics()[ended] == 0
            service.process.send_signal(signal.SIGCONT)
            service.file.readline()
            wait_for(lambda: server.metrics()[stuck] == 0)
            wait_for(lambda: server.metrics()[ended] == 1)
            hold_up(service, 5000)
            wait_for(lambda: server.metrics()[stuck] == 1)
        wait_for(lambda: server.metrics()[watched] == 0)
        assert server.metrics()[stuck] == 0


def test_a_program_that_is_not_there_gets_no_advice_of_another_command():
    """dwell blocked would run a program that comes after --; serve runs none."""
    with serving("--by", "process", "-i", "100ms", "--stalls", "no-such-program") as server:
        said = server.process.stderr.readline()
        assert said == "dwell serve: stalls: dwell blocked: no process named 'no-such-program'\n"
        server.stop()


def hold_up(service, ms):
    """The worker sleeps in its turn, and goes on doing so until it is continued."""
    service.file.write(f"sleep {ms}\n")
    service.file.flush()
    sleeping = pathlib.Path(f"/proc/{service.process.pid}/syscall")
    wait_for(lambda: sleeping.read_text().split()[0] in ("35", "230", "101", "115"))
    service.process.send_signal(signal.SIGSTOP)
