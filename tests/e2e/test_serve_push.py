# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve --push`: engines get what /metrics has, each in its own format, also after they were away."""
import base64
import collections
import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest
import receivers
from conftest import parse, run
from engines import clickhouse, free_port, victoria_metrics
from receivers import key_of, receiving
from serving import samples, serving
from test_serve_engines import wait_for

HOST = os.uname().nodename
OFTEN = ("-i", "1s", "--push-every", "1s", "--groups", "5")
TOKEN = "0123456789abcdef0123"
TOP = pathlib.Path(__file__).resolve().parents[2]
DDL, FLEET, GOLDEN = TOP / "deploy" / "clickhouse" / "dwell.sql", TOP / "docs" / "fleet.md", TOP / "tests" / "golden"


def pushing(server, metric):
    """{reason or "": value} of the only engine."""
    return {dict(zip(key[1::2], key[2::2])).get("reason", ""): value for key, value in server.metrics().items() if key[0] == f"dwell_push_{metric}"}


def interval_of(figures, extra={"instance": HOST, "job": "dwell"}):
    return figures[key_of("dwell_intervals_total", extra)]


def own_lines(server):
    """What it has said after its address; it has ended."""
    return server.process.stderr.read()


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


def certificate_of(directory, name="127.0.0.1", days="30"):
    """A file with a key and a certificate that signs itself."""
    path = directory / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", days, "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={'IP' if name[0].isdigit() else 'DNS'}:{name}", "-keyout", path, "-out", directory / "certificate"],
                   check=True, capture_output=True)
    path.write_text(path.read_text() + (directory / "certificate").read_text())
    return path


def test_each_engine_gets_the_same_figures(tmp_path):
    """The last interval's, which is pushed at the stop: from four formats, each decoded here."""
    with contextlib.ExitStack() as stack:
        engines = {name: stack.enter_context(receiving()) for name in ("remote-write", "victoriametrics", "otlp", "clickhouse")}
        arguments = [part for name, engine in engines.items() for part in ("--push", f"{name}={engine.url()}")]
        server = stack.enter_context(serving(*OFTEN, "--by", "process", "--store", tmp_path, *arguments))
        for engine in engines.values():
            engine.wait(2)
        assert server.stop() == 0
        last = {name: engine.requests[-1] for name, engine in engines.items()}
    path, headers, body = last["remote-write"]
    assert path == "/api/v1/write"
    assert (headers["Content-Encoding"], headers["Content-Type"], headers["X-Prometheus-Remote-Write-Version"]) == ("snappy", "application/x-protobuf", "0.1.0")
    written, (when,), metadata = receivers.remote_write(body)
    assert metadata["dwell_thread_seconds_total"][::2] == (1, "seconds") and metadata["dwell_runqueue_wait_seconds"][0] == 3
    assert abs(when / 1000 - time.time()) < 600
    assert sum(key[0] == "dwell_group_threads" for key in written) == 6  # and the others

    path, headers, body = last["victoriametrics"]
    assert (path, headers["Content-Encoding"]) == ("/api/v1/import/prometheus", "gzip")
    text = gzip.decompress(body).decode()
    assert set(re.findall(r"^dwell.* (\d+)$", text, re.M)) == {str(when)}
    imported = {key: value for key, value in samples(re.sub(r" \d+$", "", text, flags=re.M)).items()}
    # Prometheus takes a label without a value for none
    imported = {key_of(key[0], {name: value for name, value in zip(key[1::2], key[2::2]) if value}): value for key, value in imported.items()}
    steady = [key for key in imported if not key[0].startswith("dwell_push")]
    assert {key: imported[key] for key in steady} == {key: pytest.approx(written[key], rel=1e-12) for key in steady}
    assert interval_of(written) == interval_of(imported) > 1

    path, headers, body = last["otlp"]
    assert (path, headers["Content-Encoding"], headers["Content-Type"]) == ("/v1/metrics", "gzip", "application/x-protobuf")
    resource, metrics = receivers.otlp(body)
    assert resource == {"host.name": HOST, "service.name": "dwell", "service.instance.id": HOST}
    count = 0
    for name, (kind, unit, points) in metrics.items():
        assert (unit == "s") == name.endswith("_seconds")
        for labels, value, start, at in points:
            assert at // 10**6 == when and (start is None) == (kind == "gauge") and (start is None or start < at)
            labels = {"instance": HOST, "job": "dwell", **{name: value for name, value in labels.items() if value}}
            if name.startswith("dwell_push"):
                continue
            if kind == "histogram":
                assert written[key_of(f"{name}_count", labels)] == value["count"]
                assert written[key_of(f"{name}_sum", labels)] == pytest.approx(value["sum"])
                for i, bound in enumerate(value["bounds"]):
                    assert written[key_of(f"{name}_bucket", {**labels, "le": f"{bound:.9g}"})] == sum(value["buckets"][:i + 1])
            else:
                assert written[key_of(name + ("_total" if kind == "sum" else ""), labels)] == pytest.approx(value)
            count += 1
    assert count > 100

    rows = receivers.clickhouse(last["clickhouse"][2])
    in_rows = {}
    for row in rows:
        assert row.pop("host") == HOST
        stamp, ms, metric, value = (row.pop(name) for name in ("time", "ms", "metric", "value"))
        assert stamp == time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(when // 1000)) and ms == when % 1000
        in_rows[key_of(metric, {"instance": HOST, "job": "dwell", **{name: value for name, value in row.items() if value}})] = value
    assert {key: in_rows[key] for key in steady} == {key: pytest.approx(written[key], rel=1e-12) for key in steady}


@pytest.mark.parametrize("engine", ["remote-write", "victoriametrics"])
def test_victoria_metrics_has_what_metrics_says(tmp_path, engine):
    """The increase from one interval to another; each is there once."""
    with victoria_metrics(tmp_path / "victoria", {"scrape_configs": []}) as victoria, \
            serving("-i", "1h", "--push-every", "1h", "--groups", "5", "--push", f"{engine}={victoria.url}") as server:
        scraped = server.metrics()
        assert server.stop() == 0
        whole = wait_for(lambda: {labels["state"]: value for labels, value in victoria.query("dwell_thread_seconds_total")})
        assert whole.keys() == {key[2] for key in scraped if key[0] == "dwell_thread_seconds_total"}
        for state, value in whole.items():
            assert value >= scraped["dwell_thread_seconds_total", "state", state]
        assert {(labels["instance"], labels["job"]) for labels, _ in victoria.query("dwell_thread_seconds_total")} == {(HOST, "dwell")}


def test_victoria_metrics_increase_is_that_of_metrics(tmp_path):
    """Both ways: a receiver beside it gets the same intervals."""
    with victoria_metrics(tmp_path / "victoria", {"scrape_configs": []}) as victoria, receiving() as receiver, \
            serving(*OFTEN, "--push", f"remote-write={victoria.url}", "--push", f"victoriametrics={receiver.url()}") as server:
        receiver.wait(4)
        assert server.stop() == 0
        figures = [gzip.decompress(body).decode() for _, _, body in receiver.requests]
        times = [int(re.search(r"^dwell_intervals_total\S* \S+ (\d+)$", text, re.M).group(1)) / 1000 for text in figures]
        ours = [samples(re.sub(r" \d+$", "", text, flags=re.M)) for text in figures]
        there = wait_for(lambda: {labels: values for labels, values in victoria.samples("dwell_thread_seconds_total").items() if values[-1][0] == times[-1]})
        assert len(there) >= 11
        for labels, values in there.items():
            state, values = dict(labels)["state"], dict(values)
            key = key_of("dwell_thread_seconds_total", {"state": state, "instance": HOST, "job": "dwell"})
            assert set(times) == values.keys()
            assert values[times[-1]] - values[times[0]] == pytest.approx(ours[-1][key] - ours[0][key], abs=1e-6)


def shipped_schema(engine):
    for statement in re.sub(r"--.*", "", DDL.read_text()).split(";"):
        if statement.strip():
            engine.sql(statement)


def test_clickhouse_takes_rows_by_the_shipped_schema(tmp_path, token):
    with clickhouse(tmp_path / "clickhouse", dwell=TOKEN) as engine:
        shipped_schema(engine)
        with serving(*OFTEN, "--push", engine.url.replace("http://", "clickhouse=http://dwell@"), "--push-token-file", token) as server:
            wait_for(lambda: pushing(server, "sent_total")[""] >= 2)
            assert server.stop() == 0
        rows = engine.sql("SELECT state, max(value) FROM dwell.samples WHERE metric = 'dwell_thread_seconds_total' GROUP BY state")
        assert len(rows) >= 11 and all(state for state, _ in rows) and sum(float(value) for _, value in rows) > 1
        (distinct, count), = engine.sql("SELECT uniqExact(time, ms), count() FROM dwell.samples WHERE metric = 'dwell_intervals_total'")
        assert distinct == count and int(count) >= 2
        for query in re.findall(r"```sql\n(.*?)```", FLEET.read_text(), re.S):
            engine.sql(query)


def test_pyroscope_gets_a_profile():
    with receiving() as receiver, serving("-i", "1s", "--push", f"pyroscope={receiver.url()}", "--push-profile", "1s") as server:
        path, headers, body = receiver.wait(1)[0]
        assert server.stop() == 0
    found = re.fullmatch(r"/ingest\?name=dwell%7Bhost%3D([\w.-]+)%7D&from=(\d+)&until=(\d+)", path)
    assert found and 1 <= int(found[3]) - int(found[2]) <= 2
    parts = receivers.form(headers, body)
    assert parts.keys() == {"sample_type_config", "profile"}
    profile = receivers.fields(gzip.decompress(parts["profile"]))
    strings = [text.decode() for text in profile[6]]
    types = [strings[receivers.one(receivers.fields(entry), 1)] for entry in profile[1]]
    assert types == ["samples", "cpu", "off_cpu"] and profile[2]
    assert set(types) == set(json.loads(parts["sample_type_config"]))


def test_an_engine_that_comes_back_gets_all(tmp_path):
    """Each interval once and in order, though dwell was killed while the engine was away."""
    with receiving() as receiver, serving(*OFTEN, "--store", tmp_path, "--push", f"remote-write={receiver.url()}") as server:
        receiver.wait(2)
        port = receiver.port
    # killed, with nothing at that address
    with serving(*OFTEN, "--store", tmp_path, "--push", f"remote-write=http://127.0.0.1:{port}") as server:
        queued = wait_for(lambda: len(list((tmp_path / "push").iterdir())) >= 4 and pushing(server, "queue_bytes")[""])
        assert queued > 0 and pushing(server, "sent_total") == {"": 0}
    files = sorted(path.name for path in (tmp_path / "push").iterdir())
    assert len(files) >= 4
    with serving(*OFTEN, "--store", tmp_path, "--push", f"remote-write=http://127.0.0.1:{port}") as server:
        time.sleep(2)
        with receiving(port) as receiver:
            wait_for(lambda: pushing(server, "queue_bytes")[""] == 0)
            dropped, sent = pushing(server, "dropped_total"), pushing(server, "sent_total")[""]
            assert server.stop() == 0
    assert sum(dropped.values()) == 0 and sent >= len(files)
    times = [next(iter(receivers.remote_write(body)[1])) for _, _, body in receiver.requests]
    assert times == sorted(set(times)) and len(times) >= sent
    assert not list((tmp_path / "push").iterdir())


#: so long, in seconds; tests/soak has ten minutes
AWAY_S = float(os.environ.get("DWELL_ENGINE_AWAY_S", "10"))


def made(recording, every_ns):
    """The numbers of the intervals that were pushed, at the end of the one that is nearest to it; they are as long as that, but for those
    that follow one that was late."""
    intervals, _ = parse(run("top", "--from", recording, "--by", "process", "--top", "1", "--json").stdout)
    found, done_ns = set(), 0
    for number, interval in enumerate(intervals, 1):
        end_ns = interval["start_ns"] + interval["duration_ns"]
        if end_ns + every_ns // 2 >= done_ns + every_ns:
            found.add(number)
            done_ns = end_ns
    return found | {len(intervals)}  # the last one at the stop


def test_what_an_engine_that_was_away_does_not_get_is_counted(tmp_path):
    """Each batch that was made has come to it, or is among those that were dropped."""
    port, queue = free_port(), tmp_path / "push"
    # nothing is asked of it, which would end intervals
    with serving("-i", "500ms", "--push-every", "500ms", "--by", "process", "--groups", "200", "--push-queue", "64K", "--store", tmp_path,
                 "--push", f"otlp=http://127.0.0.1:{port}") as server:
        with receiving(port) as before:
            before.wait(3)
        time.sleep(AWAY_S)
        with receiving(port) as after:
            after.wait(3)
            wait_for(lambda: len(list(queue.iterdir())) < 2)
            assert server.stop() == 0
    figures = [receivers.otlp(body)[1] for receiver in (before, after) for _, _, body in receiver.requests]
    numbers = [metrics["dwell_intervals"][2][0][1] for metrics in figures]
    dropped = sum(value for _, value, _, _ in figures[-1]["dwell_push_dropped"][2])
    (recording,) = tmp_path.glob("*.dwell")
    wanted = made(recording, 500_000_000)
    # one whose answer did not come back any more was sent again
    assert numbers == sorted(numbers) and wanted >= set(numbers), (numbers, wanted)
    assert dropped > 0 and len(set(numbers)) + dropped == len(wanted), (numbers, dropped, wanted)


@pytest.mark.parametrize("stored", [True, False])
def test_the_oldest_are_dropped_at_the_bound_and_counted(tmp_path, stored):
    """What was measured is what came, and what was dropped."""
    store = ["--store", tmp_path] if stored else []
    with receiving() as receiver:
        receiver.always = (503, {}, b"")
        with serving("-i", "200ms", "--push-every", "200ms", "--groups", "200", "--by", "process", "--push-queue", "64K", *store,
                     "--push", f"otlp={receiver.url()}") as server:
            wait_for(lambda: pushing(server, "dropped_total")["queue_full"] >= 3)
            assert 0 < pushing(server, "queue_bytes")[""] <= 64 << 10
            receiver.always = None
            wait_for(lambda: pushing(server, "sent_total")[""] >= 3)
            assert server.stop() == 0
        figures = [receivers.otlp(body)[1] for _, _, body in receiver.requests]
    numbers = [metrics["dwell_intervals"][2][0][1] for metrics in figures]
    assert numbers == sorted(set(numbers))
    (dropped,) = [value for labels, value, _, _ in figures[-1]["dwell_push_dropped"][2] if labels["reason"] == "queue_full"]
    # each interval was pushed, but those that a question for /metrics had ended
    assert numbers[-1] - len(numbers) >= dropped >= 3


def test_answers_of_an_engine(tmp_path):
    """400 drops a batch, 429 and 500 do not; the user hears of it once."""
    with receiving() as receiver:
        receiver.answers = [(400, {}, b"out of bounds\r\n"), (429, {"Retry-After": "2"}, b""), (500, {}, b""), (503, {"Retry-After": "nonsense"}, b"")]
        with serving(*OFTEN, "--push", f"victoriametrics={receiver.url('/somewhere?extra_label=a=b')}") as server:
            receiver.wait(3)
            assert len(receiver.refused) == 4
            assert pushing(server, "dropped_total") == {"refused": 1, "queue_full": 0, "corrupt": 0, "busy": 0, "lost": 0}
            assert server.stop() == 0
            said = own_lines(server)
    assert {path for path, _, _ in receiver.requests} == {"/somewhere?extra_label=a=b"}
    bodies = [body for _, _, body in receiver.refused]
    # one and the same, until it was taken
    assert bodies[1] == bodies[2] == bodies[3] == receiver.requests[0][2] != bodies[0]
    assert said.count("HTTP 400: out of bounds; such batches are dropped") == 1 and said.count("sent again") == 1 and "HTTP 500" not in said


def test_what_an_engine_takes_without_a_part_of_it_counts_as_refused(tmp_path):
    """OTLP: HTTP 200 and a partial success. Where none of its points was rejected it may have a message, too."""
    with receiving() as receiver:
        receiver.answers = [(200, {}, b"\x0a\x09\x12\x07old SDK"), (200, {}, b"\x0a\x11\x08\xac\x02\x12\x0cout\x1bof\norder"), (200, {}, b"")]
        with serving(*OFTEN, "--push", f"otlp={receiver.url()}") as server:
            receiver.wait(4)
            wait_for(lambda: pushing(server, "sent_total")[""] >= 3)
            assert pushing(server, "dropped_total")["refused"] == 1
            assert server.stop() == 0
            said = own_lines(server)
    assert said.count("it took a batch without 300 of its points: out") == 1 and "count as refused" in said and "\x1b" not in said, said


def test_the_token_goes_to_the_engine(token):
    with receiving() as receiver:
        with serving(*OFTEN, "--push", f"otlp={receiver.url()}", "--push-token-file", token) as server:
            receiver.wait(1)
            assert server.stop() == 0
        assert receiver.requests[0][1]["Authorization"] == f"Bearer {TOKEN}"
        with serving(*OFTEN, "--push", f"otlp=http://me@127.0.0.1:{receiver.port}", "--push-token-file", token) as server:
            receiver.wait(len(receiver.requests) + 1)
            assert server.stop() == 0
        scheme, credentials = receiver.requests[-1][1]["Authorization"].split()
        assert scheme == "Basic" and base64.b64decode(credentials).decode() == f"me:{TOKEN}"
        receiver.always = (401, {}, b"who are you?")
        with serving(*OFTEN, "--push", f"otlp={receiver.url()}", "--push-token-file", token) as server:
            wait_for(lambda: pushing(server, "dropped_total")["refused"] >= 1)
            assert server.stop() == 0
            assert "HTTP 401: who are you?" in own_lines(server)
        # the token is for this engine alone
        with receiving() as other:
            receiver.always = (307, {"Location": other.url()}, b"")
            with serving(*OFTEN, "--push", f"otlp={receiver.url()}", "--push-token-file", token) as server:
                wait_for(lambda: pushing(server, "dropped_total")["refused"] >= 1)
                assert server.stop() == 0
            assert not other.requests


def test_only_the_right_certificate_is_trusted(tmp_path):
    right, wrong = certificate_of(tmp_path), certificate_of(tmp_path, "other.example")
    with receiving(certificate=right) as receiver, receiving(certificate=wrong) as impostor:
        with serving(*OFTEN, "--push", f"otlp={receiver.url()}", "--push-ca", right) as server:
            receiver.wait(1)
            assert server.stop() == 0
        for arguments in ([f"otlp={receiver.url()}"], [f"otlp={receiver.url()}", "--push-ca", wrong], [f"otlp={impostor.url()}", "--push-ca", wrong]):
            receiver.requests.clear()
            with serving(*OFTEN, "--push", *arguments) as server:
                wait_for(lambda: pushing(server, "queue_bytes")[""] > 0)
                assert server.stop() == 0
                said = own_lines(server)
            assert "certificate" in said and "trying again" in said, said
            assert not receiver.requests and not impostor.requests


@pytest.mark.parametrize("given, words", [
    ("http://127.0.0.1", "ENGINE=URL is missing"),
    ("graphite=http://127.0.0.1", "unknown engine"),
    ("otlp=", "does not begin with http"),
    ("otlp=ftp://127.0.0.1", "does not begin with http"),
    ("otlp=file:///etc/passwd", "does not begin with http"),
    ("otlp=http://", "no host"),
    ("otlp=http:///v1/metrics", "no host"),
    ("otlp=http://:4318", "no host"),
    ("otlp=http://me:secret@host", "--push-token-file"),
    ("otlp=http://a@b:secret@host", "--push-token-file"),
    ("clickhouse=http://host/?password=secret", "--push-token-file"),
    ("otlp=http://host:0", "port"),
    ("otlp=http://host:65536", "port"),
    ("otlp=http://host:4318a", "port"),
    ("otlp=http://host/#part", "#"),
    ("otlp=http://host/a b", "characters"),
    ("otlp=http://host\\@other", "characters"),
    ("otlp=http://host/\x1b[2J", "characters"),
    ("otlp=http://host\r\nX-Header: 1", "characters"),
    ("otlp=http://host/" + "a" * 1000, "1,000"),
])
def test_urls_that_are_refused(given, words):
    done = run("serve", "--listen", "127.0.0.1:0", "--push", given, check=False)
    assert done.returncode == 2 and words in done.stderr and "secret" not in done.stderr and "\x1b" not in done.stderr, done.stderr


@pytest.mark.parametrize("arguments, words", [
    (["--push-every", "1s"], "for --push"),
    (["--push-token-file", "x"], "--push before it"),
    (["--push", "otlp=http://h", "--push", "otlp=http://h"], "twice"),
    (["--push", "otlp=http://h", "--push-every", "1s", "-i", "2s"], "interval"),
    (["--push", "otlp=http://h", "--push-queue", "1K"], "64K"),
    (["--push", "pyroscope=http://h", "--push-profile", "60s"], "50s"),
    (sum((["--push", f"otlp=http://h{i}"] for i in range(9)), []), "at most 8"),
])
def test_options_that_do_not_fit(arguments, words):
    done = run("serve", "--listen", "127.0.0.1:0", *arguments, check=False)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_a_token_does_not_cross_the_network_in_clear(token):
    done = run("serve", "--listen", "127.0.0.1:0", "--push", "otlp=http://192.0.2.1", "--push-token-file", token, check=False)
    assert done.returncode == 1 and "https://" in done.stderr and TOKEN not in done.stderr


def test_a_directory_of_others_is_refused(tmp_path):
    (tmp_path / "push").mkdir()
    (tmp_path / "push").chmod(0o777)
    arguments = ["serve", "--listen", "127.0.0.1:0", "--store", tmp_path, "--push", "otlp=http://127.0.0.1:1"]
    done = run(*arguments, check=False)
    assert done.returncode == 1 and "others can write" in done.stderr
    (tmp_path / "push").rmdir()
    (tmp_path / "push").symlink_to("/tmp")
    done = run(*arguments, check=False)
    assert done.returncode == 1 and "cannot open" in done.stderr


def test_files_that_are_not_as_they_were_written(tmp_path):
    with receiving() as receiver:
        port = receiver.port
    with serving(*OFTEN, "--store", tmp_path, "--push", f"otlp=http://127.0.0.1:{port}") as server:
        wait_for(lambda: len(list((tmp_path / "push").glob("*.batch"))) >= 4)
    first, second, third, *_ = sorted((tmp_path / "push").glob("*.batch"))
    changed = bytearray(first.read_bytes())
    changed[-1] ^= 1
    first.write_bytes(changed)
    second.write_bytes(second.read_bytes()[:100])
    third.write_bytes(b"something else")
    (tmp_path / "push" / "notes").write_text("mine")
    (tmp_path / "push" / third.name.replace("-0", "-1", 1)).symlink_to("/etc/passwd")
    left = len(list((tmp_path / "push").glob("*.batch"))) - 4
    with receiving(port) as receiver, serving(*OFTEN, "--store", tmp_path, "--push", f"otlp=http://127.0.0.1:{port}") as server:
        wait_for(lambda: pushing(server, "dropped_total")["corrupt"] == 3 and pushing(server, "sent_total")[""] > left)
        assert server.stop() == 0
        said = "\n".join(server.lines) + own_lines(server)
    assert said.count("left alone") == 1 and "not as it was written" in said
    assert all(receivers.otlp(body) for _, _, body in receiver.requests)
    # what is not dwell's is still there
    assert {path.name for path in (tmp_path / "push").iterdir()} == {"notes", third.name, third.name.replace("-0", "-1", 1)}


def test_a_full_disk_keeps_batches_in_memory(tmp_path):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    try:
        with receiving() as receiver:
            port = receiver.port
        with serving(*OFTEN, "--store", tmp_path, "--push", f"otlp=http://127.0.0.1:{port}") as server:
            def is_in_memory():
                """Recordings that are removed make room again."""
                with contextlib.suppress(OSError), open(tmp_path / "fills", "ab", buffering=0) as fills:
                    while fills.write(b"x" * 1024):
                        pass
                written = sum(path.stat().st_size for path in (tmp_path / "push").glob("*.batch"))
                return pushing(server, "queue_bytes")[""] > written + (10 << 10)

            wait_for(is_in_memory)
            with receiving(port) as receiver:
                wait_for(lambda: pushing(server, "queue_bytes")[""] == 0)
                assert sum(pushing(server, "dropped_total").values()) == 0
                assert server.stop() == 0
                assert "it is in memory" in own_lines(server)
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def pushers(server):
    """(the process with the queues, those that send)"""
    parents = {}
    for pid in server.children():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # some are being killed
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            parents[pid] = (int(re.search(r"^PPid:\s+(\d+)", status, re.M)[1]), int(re.search(r"^Uid:\s+(\d+)", status, re.M)[1]))
    # a sender is another user whose grandparent is not the server, but a keeper
    senders = [pid for pid, (parent, uid) in parents.items() if uid and parents.get(parents.get(parent, (0, 0))[0], (0, 0))[0] == server.process.pid]
    return {parents[pid][0] for pid in senders}, senders


@pytest.mark.parametrize("stored", [True, False])
def test_killed_processes_come_back(tmp_path, stored):
    """What a process had in memory is counted as lost, what it had on disk is sent."""
    store = ["--store", tmp_path] if stored else []
    with receiving() as receiver:
        port = receiver.port
    with serving(*OFTEN, *store, "--push", f"otlp=http://127.0.0.1:{port}") as server:
        wait_for(lambda: pushing(server, "queue_bytes")[""] > 0)
        (queues,), (sender,) = wait_for(lambda: pushers(server) if pushers(server)[1] else None)
        os.kill(sender, signal.SIGKILL)
        wait_for(lambda: pushers(server)[1] not in ([], [sender]))
        (queues,), _ = pushers(server)
        before = pushing(server, "queue_bytes")[""]
        # a batch that is on its way to the disk would be lost, and one has just come there
        wait_for(lambda: pushing(server, "queue_bytes")[""] != before)
        os.kill(queues, signal.SIGKILL)
        wait_for(lambda: pushers(server)[0] not in (set(), {queues}))
        if not stored:
            wait_for(lambda: pushing(server, "dropped_total")["lost"] > 0)
        with receiving(port) as receiver:
            receiver.wait(3)
            wait_for(lambda: pushing(server, "queue_bytes")[""] == 0)
            lost = pushing(server, "dropped_total")["lost"]
            assert (lost > 0) != stored and before > 0
            assert server.stop() == 0
            numbers = [receivers.otlp(body)[1]["dwell_intervals"][2][0][1] for _, _, body in receiver.requests]
    assert numbers == sorted(set(numbers))


def test_processes_that_send_have_no_rights():
    with receiving() as receiver, serving(*OFTEN, "--push", f"otlp=http://localhost:{receiver.port}") as server:
        receiver.wait(1)
        _, (sender,) = pushers(server)
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{sender}/status").read_text().splitlines() if ":\t" in line)
        assert int(status["CapPrm"], 16) == int(status["CapBnd"], 16) * 0 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        assert "0" not in status["Uid"].split() and not status["Groups"].strip()
        kinds = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{sender}/fd").iterdir()]
        # of files, the batch that it sends at the moment
        assert all(kind == "/dev/null" or kind.startswith(("socket:", "anon_inode:", "pipe:", "/memfd:dwell-push ")) for kind in kinds), kinds
        assert server.stop() == 0


def test_only_what_sends_loads_the_library_that_does():
    with receiving() as receiver, serving(*OFTEN, "--push", f"otlp={receiver.url()}") as server:
        receiver.wait(1)
        (queue,), (sender,) = pushers(server)
        mapped = {pid: "libcurl" in pathlib.Path(f"/proc/{pid}/maps").read_text() for pid in (server.process.pid, queue, sender)}
        assert mapped == {server.process.pid: False, queue: False, sender: True}
        assert server.stop() == 0


def test_without_the_library_push_is_refused_at_the_start(tmp_path):
    subprocess.run(["gcc", "-shared", "-o", tmp_path / "libcurl.so.4", "-x", "c", "/dev/null"], check=True)
    push = ["serve", "--push", "otlp=http://127.0.0.1:1"]
    done = run(*push, env=dict(os.environ, LD_LIBRARY_PATH=str(tmp_path)))
    assert done.returncode == 1 and "--push sends with libcurl: libcurl.so.4 has no function 'curl_global_init'" in done.stderr, done
    (tmp_path / "libcurl.so.4").write_text("not a library")
    done = run(*push, env=dict(os.environ, LD_LIBRARY_PATH=str(tmp_path)))
    assert done.returncode == 1 and "--push sends with libcurl: cannot load " in done.stderr, done
    assert "(package libcurl4, libcurl4t64 or libcurl)" in done.stderr, done


def test_an_engine_that_never_answers_does_not_hold_measuring_up():
    """Nor the stop."""
    with socket.create_server(("127.0.0.1", 0)) as silent, receiving() as receiver, \
            serving(*OFTEN, "--push", f"otlp=http://127.0.0.1:{silent.getsockname()[1]}", "--push", f"otlp={receiver.url()}") as server:
        receiver.wait(4)
        first = server.metrics()["dwell_intervals_total",]
        wait_for(lambda: server.metrics()["dwell_intervals_total",] > first + 2)
        assert server.stop() == 0


def of_recording(*arguments):
    """Rows of `dwell report --format clickhouse`."""
    return [json.loads(line) for line in run("report", "--format", "clickhouse", *arguments).stdout.splitlines()]


def reported(*arguments):
    """What the report has of the whole: {state: seconds} where it was measured, {(process, state): seconds}, intervals."""
    (whole,) = [json.loads(line) for line in run("report", "--format", "json", "--by", "process", *arguments).stdout.splitlines()][:1]
    states, programs = collections.Counter(), collections.Counter()
    for row in whole["processes"]:
        for state, ns in row["states_ns"].items():
            if ns is not None:
                states[state] += ns / 1e9
                programs[row["process"], state] += ns / 1e9
    return states, programs


def test_clickhouse_takes_the_rows_of_a_recording(tmp_path):
    """By the shipped schema; the sums are the report's, of all threads and of groups, and so are those of the query that fleet.md has."""
    recording = tmp_path / "it.dwell"
    assert run("record", "-o", recording, "-i", "200ms", "-d", "3s").returncode == 0
    states, _ = reported(recording)
    lines = run("report", "--format", "clickhouse", recording).stdout
    with clickhouse(tmp_path / "clickhouse") as engine:
        shipped_schema(engine)
        engine.sql("INSERT INTO dwell.samples FORMAT JSONEachRow\n" + lines.replace(json.dumps(HOST), '"recorded"'))
        (rows,), = engine.sql("SELECT count() FROM dwell.samples WHERE host = 'recorded'")
        assert int(rows) == len(lines.splitlines()) > 1000
        last = "(SELECT max(value) AS value, {} FROM dwell.samples WHERE metric = '{}' GROUP BY {})"
        for keys, metric in (("state", "dwell_thread_seconds_total"), ("state, group", "dwell_group_thread_seconds_total")):
            sums = {state: float(value) for state, value in engine.sql(f"SELECT state, sum(value) FROM {last.format(keys, metric, keys)} GROUP BY state")}
            assert len(sums) >= 11
            for state, value in sums.items():
                assert value == pytest.approx(states[state], abs=1e-6), (metric, state)
        (query,) = [text for text in re.findall(r"```sql\n(.*?)```", FLEET.read_text(), re.S) if "'recorded'" in text]
        blocked = collections.Counter()
        for _, state, _, _, seconds in engine.sql(query.replace("LIMIT 20", "")):
            blocked[state] += float(seconds)
        assert blocked["sleep"] == pytest.approx(states["sleep"], abs=1e-6) and blocked["sleep"] > 0


def test_rows_of_a_recording_are_counters_of_each_interval():
    """Of each interval, or so often; groups by program have what the report has of them."""
    recording = GOLDEN / "blame.dwell"
    intervals, _ = parse(run("top", "--from", recording, "--format", "json").stdout)
    states, programs = reported(recording)
    rows = of_recording("--by", "process", recording)
    (host,) = {row["host"] for row in rows}
    assert host != HOST and host in run("report", recording).stdout.splitlines()[0]
    series = collections.defaultdict(list)
    for row in rows:
        series[row["metric"], row.get("group", ""), row.get("state", "")].append(row["value"])
    assert series["dwell_intervals_total", "", ""] == list(range(1, len(intervals) + 1))
    for (metric, group, state), values in series.items():
        if metric == "dwell_thread_seconds_total":
            assert values == sorted(values) and values[-1] == pytest.approx(states[state], abs=1e-9)
            assert len(values) == len(intervals)
        if metric == "dwell_group_thread_seconds_total" and group != "other":
            assert values[-1] == pytest.approx(programs[group, state], abs=1e-9), (group, state)
    assert sum(metric == "dwell_thread_seconds_total" for metric, _, _ in series) >= 11
    assert any(metric == "dwell_group_thread_seconds_total" and group != "other" for metric, group, _ in series)
    # the first, and the last in any case
    seldom = of_recording("--every", "1h", recording)
    assert [row["value"] for row in seldom if row["metric"] == "dwell_intervals_total"] == [1, len(intervals)]


@pytest.mark.parametrize("arguments,words", [
    (["--format", "clickhouse", "--by", "thread"], "by process or cgroup"),
    (["--format", "clickhouse", "--top", "3"], "cannot be combined"),
    (["--format", "clickhouse", "--json"], "cannot be combined"),
    (["--every", "1s"], "--every is for --format clickhouse"),
])
def test_mistakes_of_rows_for_clickhouse(arguments, words):
    done = run("report", *arguments, GOLDEN / "blame.dwell")
    assert done.returncode == 2 and words in done.stderr and not done.stdout
