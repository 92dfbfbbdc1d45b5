# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve` with the engines of a fleet: what they have of it is what dwell measured, and the shipped rules fire."""
import collections
import json
import os
import re
import signal
import subprocess
import time

import pytest
import yaml
from conftest import DWELL, STATES, parse, run
from engines import alertmanager, prometheus, scraping, victoria_metrics, webhook
from serving import serving
from test_deploy import DEPLOY, PROMETHEUS, expressions

#: no interval but those of scrapes
ONLY_SCRAPES = ("-i", "1h")


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.2)
    return result


def named(name, program, *prefix):
    """Runs a program of Python as a process of that name."""
    return subprocess.Popen([*prefix, "/usr/bin/python3", "-c", f"import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r})\n{program}"])


def scrapes_of(engine):
    """[(time, number of the interval)] of the scrapes, each of which ended an interval."""
    found = engine.samples("dwell_intervals_total")
    return next(iter(found.values())) if found else []


def increases(engine, metric, first, last):
    """{labels: increase} from one scrape to another. Edges that are scrapes' leave nothing to extrapolate."""
    window = f"{round((last - first) * 1000)}ms"
    return {tuple(labels.get(name) for name in ("group", "state") if name in labels): value
            for labels, value in engine.query(f"increase({metric}[{window}])", time=last)}


def measured(recording, first, last):
    """Of the intervals after `first`, to `last`, by number: seconds by state, and by process name and state."""
    intervals, _ = parse(run("top", "--from", recording, "--by", "process", "--format", "json").stdout)
    states, groups = collections.Counter(), collections.Counter()
    for interval in intervals[int(first):int(last)]:
        for row in interval["processes"]:
            for state, ns in row["states_ns"].items():
                states[state,] += (ns or 0) / 1e9
                groups[row["process"], state] += (ns or 0) / 1e9
    return states, groups


def all_of_recording(recording):
    """What dwell report says of the whole of it."""
    (whole,), _ = parse(run("report", recording, "--json").stdout)
    states = collections.Counter()
    for row in whole["threads"]:
        for state, ns in row["states_ns"].items():
            states[state] += (ns or 0) / 1e9
    return states


def test_increases_are_what_was_recorded_also_over_a_gap(tmp_path):
    """The engine is killed in between, and back: counters lose nothing of the time without it."""
    store = tmp_path / "store"
    store.mkdir()
    with serving(*ONLY_SCRAPES, "--by", "process", "--groups", "900", "--store", store) as server, \
            named("by turns", "import time\nwhile True:\n time.sleep(0.02)\n sum(range(10**5))") as load, \
            prometheus(tmp_path / "prometheus", scraping(server.port)) as engine:
        wait_for(lambda: len(scrapes_of(engine)) >= 4)
        engine.stop()
        time.sleep(4)
        engine.start()
        before = len(scrapes_of(engine))
        wait_for(lambda: len(scrapes_of(engine)) >= before + 3)
        scrapes = scrapes_of(engine)
        assert max(later[0] - earlier[0] for earlier, later in zip(scrapes, scrapes[1:])) > 3
        (first, number), (last, last_number) = scrapes[0], scrapes[-1]
        whole = increases(engine, "dwell_thread_seconds_total", first, last)
        groups = increases(engine, "dwell_group_thread_seconds_total", first, last)
        load.kill()
        server.stop()
    (recording,) = store.iterdir()
    states, by_name = measured(recording, number, last_number)
    assert len(whole) >= 11
    for (state,), value in whole.items():
        assert value == pytest.approx(states[state,], rel=1e-3, abs=1e-6), state
    ours = {key: value for key, value in groups.items() if key[0] == "by turns"}
    assert ours["by turns", "user"] > 0 and ours["by turns", "sleep"] > 0
    for key, value in ours.items():
        assert value == pytest.approx(by_name[key], rel=1e-3, abs=1e-6), key
    everything, _ = measured(recording, 0, 1 << 30)
    reported = all_of_recording(recording)
    for state in STATES:
        assert everything[state,] == pytest.approx(reported[state], rel=1e-3, abs=1e-6), state


def test_a_dwell_that_ends_and_starts_again(tmp_path):
    """Counters begin at zero again, which increase() sees; in between the target is down."""
    listen = None
    with prometheus(tmp_path / "prometheus", scraping(1)) as engine:
        for _ in range(2):
            with serving(*ONLY_SCRAPES, **({"listen": listen} if listen else {})) as server:
                if not listen:
                    listen = f"127.0.0.1:{server.port}"
                    (engine.directory / "prometheus.yml").write_text(json.dumps(scraping(server.port)))
                    engine.process.send_signal(signal.SIGHUP)
                had = len(scrapes_of(engine))
                wait_for(lambda: len(scrapes_of(engine)) >= had + 3)
                server.stop()
            wait_for(lambda: engine.query('up{instance="%s"}' % listen)[0][1] == 0)
        values = [value for _, value in next(iter(engine.samples('dwell_thread_seconds_total{state="idle"}').values()))]
        resets = sum(later < earlier for earlier, later in zip(values, values[1:]))
        assert resets == 1
        grown = sum(later - earlier if later >= earlier else later for earlier, later in zip(values, values[1:]))
        times = [at for at, _ in next(iter(engine.samples('dwell_thread_seconds_total{state="idle"}').values()))]
        (_, increase), = engine.query(f'increase(dwell_thread_seconds_total{{state="idle"}}[{round((times[-1] - times[0]) * 1000)}ms])', time=times[-1])
        assert increase == pytest.approx(grown, rel=1e-3)


def shortened(name):
    """Shipped rules that decide within seconds: the same expressions over shorter windows."""
    text = (PROMETHEUS / name).read_text()
    return re.sub(r"for: \d+m", "for: 2s", re.sub(r"\[\d+m\]", "[10s]", text))


def test_an_alert_of_the_shipped_rules_fires_and_resolves(tmp_path):
    """A process of the lowest weight that shares its CPU with dwell load."""
    rules = tmp_path / "rules"
    rules.mkdir()
    for name in "dwell.rules.yml", "dwell.alerts.yml":
        (rules / name).write_text(shortened(name))
    cpu = str(min(os.sched_getaffinity(0)))
    with webhook() as (port, alerts), serving("--by", "process", "--groups", "900") as server:
        config = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
        config["route"].update(group_wait="1s", group_interval="1s")
        for receiver in config["receivers"]:
            for hook in receiver["webhook_configs"]:
                hook["url"] = hook["url"].replace(":9095", f":{port}")
        with alertmanager(tmp_path / "alertmanager", config) as manager:
            scrape = scraping(server.port)
            scrape["rule_files"] = [str(path) for path in rules.iterdir()]
            scrape["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{manager.port}"]}]}]}
            with prometheus(tmp_path / "prometheus", scrape) as engine:
                with named("starved", "while True: pass", "taskset", "-c", cpu, "nice", "-n", "19") as victim, \
                        subprocess.Popen([DWELL, "load", "-q", "--work", "spin-wait", "--workers", "8", "--cpus", cpu, "-d", "10m"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as antagonists:
                    try:
                        fired = wait_for(lambda: starved(alerts, "firing"))
                        assert fired[0] == "/pager" and fired[2]["severity"] == "critical"
                        assert fired[3]["summary"] == f"starved on 127.0.0.1:{server.port} hardly gets a CPU"
                        assert not starved(alerts, "resolved")
                        culprits = engine.query('topk(1, instance_victim_neighbour:dwell_blame_seconds:rate5m{victim="starved"})')
                        assert culprits and culprits[0][0]["culprit"].startswith("dwell"), culprits
                    finally:
                        antagonists.terminate()
                        victim.kill()
                wait_for(lambda: starved(alerts, "resolved"))


def starved(alerts, status):
    return next((alert for alert in alerts if alert[1] == status and alert[2]["alertname"] == "DwellStarved" and alert[2]["group"] == "starved"), None)


def test_the_engines_understand_every_expression(tmp_path):
    """Of rules, dashboard and docs/fleet.md; and those that ask for what is there always have an answer."""
    with serving("-i", "1s", "--by", "cgroup", "--groups", "5") as server, \
            prometheus(tmp_path / "prometheus", scraping(server.port)) as engine, victoria_metrics(tmp_path / "victoria", scraping(server.port)) as victoria:
        wait_for(lambda: len(scrapes_of(engine)) >= 3)
        answered = set()
        count = 0
        for where, expression in expressions():
            count += 1
            if engine.query(expression):
                answered.add(where)
            victoria.query(expression)
        assert count > 40
        # without the recorded series, which have their own test
        assert {"Threads by state, without idle and sleep", "Lost time of groups", "Groups: unit, container, pod", "CPU time of dwell",
                "Waits for a CPU by length", "Machines that answer", "docs/fleet.md"} <= answered


def test_victoria_metrics_has_the_same_numbers(tmp_path):
    with serving(*ONLY_SCRAPES, "--groups", "5") as server, victoria_metrics(tmp_path / "victoria", scraping(server.port)) as engine:
        wait_for(lambda: len(scrapes_of(engine)) >= 3)
        scrapes = [number for _, number in scrapes_of(engine)]
        assert scrapes == sorted(scrapes)
        # in one question, or a scrape may come between the two
        groups = "sum by (state) (dwell_group_thread_seconds_total)"
        differences = engine.query(f"{groups} - on (state) sum by (state) (dwell_thread_seconds_total)")
        assert len(differences) >= 11
        whole = sum(value for _, value in engine.query("dwell_thread_seconds_total"))
        assert all(abs(value) < 1e-6 * whole for _, value in differences), differences
