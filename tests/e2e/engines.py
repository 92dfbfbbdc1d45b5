# SPDX-License-Identifier: GPL-2.0-or-later
"""Prometheus, Alertmanager and VictoriaMetrics, each on a free port of this machine and with a directory of its own."""
import contextlib
import http.server
import json
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SECONDS = 60  # to start, on a busy machine


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def get(url, data=None):
    with urllib.request.urlopen(url, data=data, timeout=SECONDS) as response:
        return response.read()


class Engine:
    """One that runs; `stop()` and `start()` for a while without it."""

    def __init__(self, directory, ready, command, port=None):
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.directory, self.ready = directory, ready
        self.command = [argument.replace("PORT", str(self.port)) for argument in command]
        directory.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self):
        self.log = (self.directory / "engine.log").open("ab")
        self.process = subprocess.Popen(self.command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        until = time.monotonic() + SECONDS
        while True:
            assert self.process.poll() is None and time.monotonic() < until, (self.directory / "engine.log").read_text()[-3000:]
            with contextlib.suppress(OSError):
                get(self.url + self.ready)
                return
            time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def api(self, path, **parameters):
        """`data` of an answer of Prometheus' HTTP API."""
        try:
            answer = json.loads(get(f"{self.url}/api/v1/{path}", urllib.parse.urlencode(parameters).encode()))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression, **parameters):
        """Of an instant: [({label: value}, number)]"""
        return [(row["metric"], float(row["value"][1])) for row in self.api("query", query=expression, **parameters)["result"]]

    def samples(self, selector, window="1h"):
        """{labels: [(time, value)]} as they were scraped."""
        return {tuple(sorted(row["metric"].items())): [(at, float(value)) for at, value in row["values"]]
                for row in self.api("query", query=f"{selector}[{window}]")["result"]}


@contextlib.contextmanager
def running(engine):
    try:
        yield engine
    finally:
        if engine.process.poll() is None:
            engine.stop()


def prometheus(directory, config, *options):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "prometheus.yml").write_text(json.dumps(config))
    return running(Engine(directory, "/-/ready", [
        "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
        "--web.listen-address=127.0.0.1:PORT", "--log.level=warn", *options]))


def alertmanager(directory, config):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "alertmanager.yml").write_text(json.dumps(config))
    return running(Engine(directory, "/-/ready", [
        "prometheus-alertmanager", f"--config.file={directory}/alertmanager.yml", f"--storage.path={directory}/data",
        "--web.listen-address=127.0.0.1:PORT", "--cluster.listen-address=", "--log.level=warn"]))


def victoria_metrics(directory, config, *options):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "scrape.yml").write_text(json.dumps(config))
    return running(Engine(directory, "/health", [
        "victoria-metrics", "-httpListenAddr=127.0.0.1:PORT", f"-storageDataPath={directory}/data", "-retentionPeriod=1",
        f"-promscrape.config={directory}/scrape.yml", "-promscrape.config.strictParse=false", "-search.latencyOffset=0s", "-loggerLevel=WARN", *options]))


CLICKHOUSE = """<yandex><logger><level>warning</level><console>1</console></logger><http_port>PORT</http_port><listen_host>127.0.0.1</listen_host>
<path>./data/</path><tmp_path>./tmp/</tmp_path><mark_cache_size>5368709</mark_cache_size><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database></yandex>"""
CLICKHOUSE_USER = "<{0}><password>{1}</password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></{0}>"


class ClickHouse(Engine):
    def sql(self, statement):
        """Rows of texts."""
        try:
            answer = get(self.url, statement.encode()).decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{statement}: {error.read().decode()}") from error
        return [line.split("\t") for line in answer.splitlines()]


def clickhouse(directory, **passwords):
    """With these users, besides the usual one without a password."""
    directory.mkdir(parents=True, exist_ok=True)
    users = "".join(CLICKHOUSE_USER.format(*user) for user in {"default": "", **passwords}.items())
    (directory / "users.xml").write_text(f"<yandex><profiles><default/></profiles><users>{users}</users><quotas><default/></quotas></yandex>")
    port = free_port()
    (directory / "config.xml").write_text(CLICKHOUSE.replace("PORT", str(port)))
    return running(ClickHouse(directory, "/ping", ["clickhouse-server", "--config-file=config.xml"], port))


def scraping(*ports, interval="1s"):
    """A configuration with the job dwell."""
    return {"global": {"scrape_interval": interval, "evaluation_interval": interval},
            "scrape_configs": [{"job_name": "dwell", "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}]}


@contextlib.contextmanager
def webhook():
    """(port, alerts), as Alertmanager has sent them."""
    alerts = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            alerts.extend((self.path, alert["status"], alert["labels"], alert["annotations"]) for alert in body["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], alerts
        finally:
            server.shutdown()
            thread.join()
