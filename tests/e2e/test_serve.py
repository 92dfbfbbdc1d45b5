# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve`: metrics, history and profiles of what runs here."""
import contextlib
import fcntl
import gzip
import os
import pathlib
import pty
import signal
import socket
import subprocess
import termios
import time

import pytest
import schemas

from conftest import DWELL, STATES, WORKLOAD
from loads import CGROUPS
from matrices import wait_until
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from serving import names_of, samples, server, serving  # noqa: F401: a fixture
from verdicts import descendants, doing


def test_metrics_are_prometheus_and_openmetrics(server):
    status, headers, body = server.ask("/metrics")
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    for accepted in "text/plain, application/openmetrics-text; q=0", "application/openmetrics-text;q=0.1,text/plain;q=0.9", "*/*":
        assert server.ask("/metrics", headers={"Accept": accepted})[1]["Content-Type"].startswith("text/plain")
    # as Prometheus 3 has it
    accepted = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
    assert server.ask("/metrics", headers={"Accept": accepted})[1]["Content-Type"].startswith("application/openmetrics-text")
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
        wait_until(lambda: server.metrics().get(key, 0) > 1)
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


@pytest.mark.measures
def test_short_waits_have_their_reason():
    """All of them, not those alone that a snapshot meets: a thousand begin and end between two."""

    def of_group(metrics, name):
        return {key[3:]: metrics[key] for key in names_of(metrics, name) if key[2] == "waits-often"}

    with serving("--by", "process", "-i", "500ms", "--groups", "1000") as server, subprocess.Popen(["/usr/bin/python3", "-c", WAITS_OFTEN]) as waiter:
        wait_until(lambda: of_group(server.metrics(), "dwell_group_thread_seconds_total"))
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
        wait_until(lambda: pathlib.Path(f"/proc/{waiter.pid}/comm").read_text().strip() == "waits-often")
        with serving("-p", str(waiter.pid), "--by", "process", "-i", "2s") as server:
            time.sleep(0.5)  # the first question ends the first interval
            metrics = server.metrics()
        waiter.kill()
    waits = {key[4:]: metrics[key] for key in names_of(metrics, "dwell_group_blocked_seconds_total") if key[2] == "waits-often"}
    assert waits["read:pipe", "state", "ipc"] > 0.05 and waits.get(("unknown", "state", "ipc"), 0) < 0.01, waits


def test_health_is_that_of_what_measures():
    with serving("-i", "100ms") as server:
        assert server.ask("/healthz")[2] == b"ok\n"
        server.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: server.ask("/healthz")[0] == 503)
        server.process.send_signal(signal.SIGCONT)
        wait_until(lambda: server.ask("/healthz")[0] == 200)


def failed_with(server, words):
    assert server.process.wait(timeout=60) == 1
    assert server.process.stderr.read().endswith(f"dwell serve: {words}\n")


def test_it_fails_when_what_it_measures_has_ended():
    """A service that measures nothing any more would go unnoticed."""
    with subprocess.Popen(["sleep", "600"]) as sleeper, serving("-p", str(sleeper.pid), "-i", "1s") as server:
        sleeper.kill()
        failed_with(server, "the target has ended")
    with serving("-i", "1s", "--", "true") as server:
        assert server.process.wait(timeout=60) == 0


def test_it_goes_on_when_its_cgroup_is_made_again():
    """As systemd does at each start of a service."""
    if not CGROUPS:
        pytest.skip("there is no cgroup v2 hierarchy")
    path = CGROUPS[0] / f"dwell-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    try:
        with serving("--cgroup", path, "-i", "200ms") as server:
            assert server.metrics()["dwell_threads",] == 0
            path.rmdir()
            said = server.process.stderr.readline()
            assert said == f"dwell serve: the cgroup {path} has been removed: nothing is measured until it is made again\n"
            path.mkdir()
            assert server.process.stderr.readline() == f"dwell serve: the cgroup {path} is there again\n"
            with subprocess.Popen(["sleep", "600"]) as sleeper:
                (path / "cgroup.procs").write_text(str(sleeper.pid))
                wait_until(lambda: server.metrics()["dwell_threads",] == 1)
                sleeper.kill()
    finally:
        if path.exists():
            path.rmdir()


@contextlib.contextmanager
def reader_of_a_pipe():
    name = f"reads-{os.getpid()}"
    with subprocess.Popen(["sh", "-c", f"printf {name} > /proc/$$/comm; read line"], stdin=subprocess.PIPE) as reader:
        wait_until(lambda: pathlib.Path(f"/proc/{reader.pid}/comm").read_text().strip() == name)
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
    ("/api/history?step=%20-18446744073709551611", 400, "number of seconds"),
    ("/debug/pprof/profile?seconds=0", 400, "from 1 to 300"),
    ("/debug/pprof/profile?seconds=1&state=nix", 400, "no such state"),
    ("/debug/pprof/profile?seconds=1&state=sleep,lock", 400, "state takes one"),
    ("/debug/pprof/profile?second=1", 400, "seconds, state and format"),
    ("/debug/pprof/profile?seconds=1&format=exe", 400, "pprof, html or folded"),
])
def test_mistakes_get_a_status_and_a_reason(server, path, status, words):
    assert server.ask(path)[0] == status
    assert words in server.ask(path)[2].decode()


def test_answers_are_compressed_where_that_is_accepted(server):
    for accepted in "gzip", "GZIP", "br, gzip;q=0.5", "*":
        _, headers, body = server.ask("/metrics", headers={"Accept-Encoding": accepted})
        assert headers["Content-Encoding"] == "gzip" and samples(gzip.decompress(body).decode()), accepted
    assert server.ask("/metrics")[1]["Content-Encoding"] is None
    for accepted in "gzip;q=0", "gzip; q=0", "x-gzip-foo", "gzip;q=0.1, identity", "*, gzip;q=0":
        assert server.ask("/metrics", headers={"Accept-Encoding": accepted})[1]["Content-Encoding"] is None, accepted


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
        wait_until(lambda: any("profile -d 300s" in (doing(pid) or "") for pid in descendants(server.process.pid)))
        yield


def test_what_takes_the_places_of_profiles_is_said(tmp_path):
    again = "/debug/pprof/profile?seconds=1"
    with serving("--store", tmp_path, "-i", "100ms", "--trigger", "idle>0.1", "--trigger-after", "300s", "--trigger-pause", "1h") as flying:
        wait_until(lambda: any("record --stacks" in (doing(pid) or "") for pid in descendants(flying.process.pid)))
        with profiling(flying):
            status, _, body = flying.ask(again)
            assert status == 503 and body == b"a profile and a trigger's recording are being taken already: there is room for two\n"
    with serving() as asked, profiling(asked):
        with socket.create_connection(("127.0.0.1", asked.port)) as client:
            client.sendall(b"GET /debug/pprof/profile?seconds=299 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: any("profile -d 299s" in (doing(pid) or "") for pid in descendants(asked.process.pid)))
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


def take_terminal(terminal):
    """In the child."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_a_hangup_ends_it_in_a_terminal_alone():
    with serving("-i", "1s", start_new_session=True) as server:
        server.process.send_signal(signal.SIGHUP)
        for _ in range(3):
            assert server.metrics()
        assert server.stop() == 0
    _, terminal = pty.openpty()
    with serving("-i", "1s", preexec_fn=lambda: take_terminal(terminal)) as server:
        assert server.stop(signal.SIGHUP) == 0


def test_its_command_is_not_deaf_to_hangups(tmp_path):
    """It is ignored by dwell alone, which has no terminal."""
    ignored = tmp_path / "ignored"
    script = f"grep SigIgn /proc/self/status > {ignored}.new; mv {ignored}.new {ignored}; sleep 600"
    with serving("-i", "1s", "--", "sh", "-c", script, start_new_session=True):
        wait_until(ignored.exists)
        assert not int(ignored.read_text().split()[1], 16) & 1 << signal.SIGHUP - 1


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


@pytest.mark.parametrize("name, shown", [
    (b'we"i\\rd {x="y"} \xc3\xa4.service', 'we"i\\rd {x="y"} \u00e4.service'),
    (b"\\", "\\"),
    (b'docker-"', 'docker-"'),
    (b"\x1b]\x07\xff\xe2\x80\xae\t.slice", "?]????.slice"),
])
def test_names_of_cgroups_may_be_anything(name, shown):
    """But for line ends, which the kernel does not take."""
    if not CGROUPS:
        pytest.skip("there is no cgroup v2 hierarchy")
    path = os.fsencode(CGROUPS[0]) + f"/dwell-test-{os.getpid()}-".encode() + name
    try:
        os.mkdir(path)
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    with pytest.raises(OSError):
        os.mkdir(path + b"\n")
    group = f"/dwell-test-{os.getpid()}-{shown}"
    try:
        with subprocess.Popen(["sleep", "600"]) as sleeper, serving("--by", "cgroup", "--groups", "1000", "-i", "1s") as server:
            pathlib.Path(os.fsdecode(path), "cgroup.procs").write_text(str(sleeper.pid))
            wait_until(lambda: server.metrics().get(("dwell_group_threads", "group", group)) == 1)
            _, _, body = server.ask("/metrics")
            (info,) = [dict(zip(key[1::2], key[2::2])) for key in server.metrics() if key[0] == "dwell_group_info" and group in key]
            assert info["group"] == group and info["unit"] in ("", group[1:])
            checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
            assert checked.returncode == 0, checked.stderr
            families = open_families(server.ask("/metrics", headers={"Accept": "application/openmetrics-text"})[2].decode())
            assert [sample.value for family in families for sample in family.samples if sample.name == "dwell_group_threads" and sample.labels["group"] == group] == [1]
            assert any(found["group"] == group for period in server.json("/api/history") for found in period["groups"])
            for page in "/metrics", "/api/history", "/api/status":
                harmless(server.ask(page)[2].decode())
            sleeper.kill()
    finally:
        os.rmdir(path)


def test_a_program_that_is_not_there_gets_no_advice_of_another_command():
    """dwell blocked would run a program that comes after --; serve runs none."""
    with serving("--by", "process", "-i", "100ms", "--stalls", "no-such-program") as server:
        said = server.process.stderr.readline()
        assert said == "dwell serve: stalls: dwell blocked: no process named 'no-such-program'\n"
        server.stop()
