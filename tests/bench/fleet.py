# SPDX-License-Identifier: GPL-2.0-or-later
"""Many machines with dwell, by one process, and what engines take for them. Beside tests/bench/serve."""
import http.server
import json
import math
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from figures import TOP, row

from engines import get, prometheus, victoria_metrics

SCRAPE_S = 15
#: two times the interval at which Prometheus evaluates rules
RULES_S = 120
DAY_S = 86400
#: how long an engine may take until it has all series: it writes its index first
REGISTER_S = 300
#: what a query of VictoriaMetrics may match; 300,000 where it is not set, which are 500 of these machines
MATCHED = "-search.maxUniqueTimeseries=10000000"
#: of one machine, to find what a sample takes on the disk once it is at rest
HOURS_AT_REST = 2
HOSTS_AT_REST = 3


class Exposition:
    """Of a machine, at any time: each series grows as it did between two scrapes of a real one, more or less."""

    def __init__(self, first, second, seconds):
        before = dict(self.parse(first))
        self.series, self.starts, self.rates, self.jitters = [], [], [], []
        for name, value in self.parse(second):
            self.series.append(name)
            self.starts.append(value)
            grown = value - before.get(name, value)
            is_counter = re.match(r"\w+_(total|bucket|sum|count)\b", name)
            self.rates.append(grown / seconds if is_counter else 0)
        self.template = "".join(f"{name.replace('%', '%%')} %.9f\n" for name in self.series)

    @staticmethod
    def parse(text):
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                yield name, float(value)

    def values(self, host, at):
        """Differ by machine and by time, and never go back: what it does varies between a half and one and a half of the rate."""
        chance = random.Random(host)
        factor = 0.5 + chance.random()
        phase = chance.random() * 6.283
        # the integral of 1 + sin(t)/2
        grown = factor * (at + 0.5 * 7.0 * (math.cos(phase) - math.cos(at / 7.0 + phase)))
        # the last digits of times are chance
        noise = (int(at * 1e6) * 2654435761 + host * 40503) % 1000 * 1e-9
        return [start + rate * grown + (noise if rate else 0) for start, rate in zip(self.starts, self.rates)]

    def text(self, host, at):
        return self.template % tuple(self.values(host, at))


def serve(exposition):
    """A server that is all of them: /metrics?host=17."""
    begun = time.monotonic()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            host = int(urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["host"][0])
            body = exposition.text(host, time.monotonic() - begun).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 1024
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def config(port, hosts):
    return {"global": {"scrape_interval": f"{SCRAPE_S}s"}, "scrape_configs": [{
        "job_name": "dwell", "static_configs": [{"targets": [f"{host}" for host in range(hosts)]}],
        "relabel_configs": [
            {"source_labels": ["__address__"], "regex": r"(\d+).*", "target_label": "__param_host"},
            {"source_labels": ["__param_host"], "target_label": "instance", "replacement": "host-$1"},
            {"target_label": "__address__", "replacement": f"127.0.0.1:{port}"}]}]}


def own_metric(engine, name):
    """Of the engine itself; the sum, where it has labels that the name leaves out."""
    found = [float(line.rpartition(" ")[2]) for line in get(engine.url + "/metrics").decode().splitlines() if line.startswith((name + " ", name + "{"))]
    assert found, f"no {name}"
    return sum(found)


def panels(dashboard):
    for panel in json.loads((TOP / "deploy" / "grafana" / dashboard).read_text())["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h").replace("$instance", ".*").replace("$group", "(?s).*")
            yield panel["title"], expression, target.get("instant", False)


def heaviest(engine, dashboard):
    """(seconds, title) of the dashboard's slowest query, over the time that there is. Infinite: it was not answered."""
    slowest = (0, "")
    end = time.time()
    for title, expression, is_instant in panels(dashboard):
        begun = time.monotonic()
        try:
            if is_instant:
                engine.api("query", query=expression, time=end)
            else:
                engine.api("query_range", query=expression, start=end - 120, end=end, step=SCRAPE_S)
        except (AssertionError, OSError) as error:  # VictoriaMetrics gives up after 30 s
            print(f"{title}: {error}", file=sys.stderr)
            return math.inf, title
        slowest = max(slowest, (time.monotonic() - begun, title))
    return slowest


def bench_queries(engine):
    for dashboard in "dwell.json", "dwell-fleet.json":
        took, panel = heaviest(engine, dashboard)
        row(f"  the slowest query of {dashboard}", f"{took:.2f} s", panel[:26])


def bench_rules(engine, configuration):
    """How long Prometheus takes for all rules once, which it does every minute."""
    rules = str(TOP / "deploy" / "prometheus" / "dwell.rules.yml")
    (engine.directory / "prometheus.yml").write_text(json.dumps({**configuration, "rule_files": [rules]}))
    engine.process.send_signal(signal.SIGHUP)
    time.sleep(RULES_S)
    row("  the rules, once", f"{own_metric(engine, 'prometheus_rule_group_last_duration_seconds'):.1f} s", f"every {RULES_S // 2} s")


def wait_for_series(engine, metric):
    """Until a whole scrape added none."""
    before, until = 0, time.monotonic() + REGISTER_S
    while (found := own_metric(engine, metric)) != before and time.monotonic() < until:
        before = found
        time.sleep(1.5 * SCRAPE_S)


def bench_engine(name, start, hosts, seconds, exposition, ingested, series_metric):
    server = serve(exposition)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="dwell-bench-", dir="/var/tmp"))
    try:
        configuration = config(server.server_address[1], hosts)
        with start(directory, configuration) as engine:
            time.sleep(SCRAPE_S)
            wait_for_series(engine, series_metric)
            cpu, samples, begun = own_metric(engine, "process_cpu_seconds_total"), own_metric(engine, ingested), time.monotonic()
            time.sleep(max(seconds, 3 * SCRAPE_S))
            cpu, samples = own_metric(engine, "process_cpu_seconds_total") - cpu, own_metric(engine, ingested) - samples
            wall = time.monotonic() - begun
            up = sum(value for _, value in engine.query("up"))
            title = f"{name}, {hosts:,} machines"
            row(f"{title}: series", f"{own_metric(engine, series_metric):,.0f}", f"{up:.0f} answer")
            row("  samples a second", f"{samples / wall:,.0f}", f"expected {hosts * len(exposition.series) / SCRAPE_S:,.0f}")
            row("  CPU, of one", f"{100 * cpu / wall:.1f} %", f"{1e6 * cpu / samples:.2f} us a sample")
            row("  memory", f"{own_metric(engine, 'process_resident_memory_bytes') / 2**20:,.0f} MiB")
            if name == "prometheus":
                bench_rules(engine, configuration)
            bench_queries(engine)
    finally:
        server.shutdown()
        server.server_close()
        shutil.rmtree(directory, ignore_errors=True)


def size_of(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def at_rest(exposition, milliseconds):
    """A few machines for hours, as lines with a time."""
    now = int(time.time()) // 7200 * 7200 - 2 * 7200
    for step in range(HOURS_AT_REST * 3600 // SCRAPE_S):
        for host in range(HOSTS_AT_REST):
            at = now + step * SCRAPE_S
            for name, value in zip(exposition.series, exposition.values(host, step * SCRAPE_S)):
                labelled = name[:-1] + f',instance="host-{host}"}}' if name.endswith("}") else f'{name}{{instance="host-{host}"}}'
                yield f"{labelled} {value:.9f} {at * 1000 if milliseconds else at}\n"


def bench_disk_of_prometheus(exposition):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        place = pathlib.Path(place)
        # OpenMetrics wants the samples of a metric together, which untyped ones need not be
        with (place / "samples").open("w") as file:
            file.writelines(at_rest(exposition, False))
            file.write("# EOF\n")
        done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", place / "samples", place / "data"], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr[-1000:])
        report_disk("prometheus", size_of(place / "data"), exposition)


def bench_disk_of_victoria(exposition):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place, victoria_metrics(pathlib.Path(place), {}) as engine:
        lines = []
        for line in at_rest(exposition, True):
            lines.append(line)
            if len(lines) == 100_000:
                get(engine.url + "/api/v1/import/prometheus", "".join(lines).encode())
                lines.clear()
        get(engine.url + "/api/v1/import/prometheus", "".join(lines).encode())
        get(engine.url + "/internal/force_flush")
        get(engine.url + "/internal/force_merge")
        time.sleep(10)
        report_disk("victoria-metrics", size_of(pathlib.Path(place) / "data"), exposition)


def report_disk(name, size, exposition):
    samples = len(exposition.series) * HOSTS_AT_REST * HOURS_AT_REST * 3600 / SCRAPE_S
    day = size / HOSTS_AT_REST / (HOURS_AT_REST * 3600) * DAY_S
    row(f"{name}: a machine and day on the disk", f"{day / 1e6:.1f} MB", f"{size / samples:.2f} bytes a sample")


def bench(first, second, recorded_s, hosts, seconds):
    exposition = Exposition(first, second, recorded_s)
    bench_disk_of_prometheus(exposition)
    bench_disk_of_victoria(exposition)
    for count in sorted({max(1, hosts // 10), hosts}):
        bench_engine("prometheus", prometheus, count, seconds, exposition, "prometheus_tsdb_head_samples_appended_total", "prometheus_tsdb_head_series")
        bench_engine("victoria-metrics", lambda directory, config: victoria_metrics(directory, config, MATCHED), count, seconds, exposition, 'vm_rows_inserted_total{type="promscrape"}', 'vm_cache_entries{type="storage/hour_metric_ids"}')
