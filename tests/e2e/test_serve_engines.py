# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve` with the engines of a fleet: what they have of it is what dwell measured, and the shipped rules fire."""
import calendar
import collections
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
import yaml
from conftest import BUILD, DWELL, STATES, parse, run
from engines import alertmanager, prometheus, scraping, victoria_metrics, webhook
from services import hold_up, loop_service
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


def intervals_of(recording):
    """[(begin, end, seconds by state, by process name and state)], the times since 1970."""
    intervals, _ = parse(run("top", "--from", recording, "--by", "process", "--format", "json").stdout)
    found = []
    for interval in intervals:
        states, groups = collections.Counter(), collections.Counter()
        for row in interval["processes"]:
            for state, ns in row["states_ns"].items():
                states[state] += (ns or 0) / 1e9
                groups[row["process"], state] += (ns or 0) / 1e9
        second, fraction = interval["start"].rstrip("Z").split(".")
        begin = calendar.timegm(time.strptime(second, "%Y-%m-%dT%H:%M:%S")) + float("0." + fraction)
        found.append((begin, begin + interval["duration_ns"] / 1e9, states, groups))
    return found


def measured(intervals):
    """Of all of these: seconds by state, and by process name and state."""
    return [sum((interval[part] for interval in intervals), collections.Counter()) for part in (2, 3)]


def whole_seconds(intervals, scrapes):
    """The first and the last scrape between which just those intervals lie that are between two whole seconds, and these: --since and
    --until take no parts of one."""
    for first, (_, number) in enumerate(scrapes):
        since = math.floor(intervals[int(number)][0])
        if intervals[int(number) - 1][0] < since:
            break
    for last, (_, number) in reversed(list(enumerate(scrapes))):
        until = math.ceil(intervals[int(number) - 1][1])
        if int(number) == len(intervals) or intervals[int(number)][1] > until:
            break
    assert first + 4 < last, (intervals, scrapes)
    return scrapes[first], scrapes[last], [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(edge)) for edge in (since, until)]


def reported(recording, *arguments):
    """What dwell report says of it: seconds by state, and by process name and state."""
    states, groups = collections.Counter(), collections.Counter()
    (whole,), _ = parse(run("report", recording, "--by", "process", "--json", *arguments).stdout)
    for row in whole["processes"]:
        for state, ns in row["states_ns"].items():
            states[state] += (ns or 0) / 1e9
            groups[row["process"], state] += (ns or 0) / 1e9
    return states, groups


def test_increases_are_what_was_recorded_also_over_a_gap(tmp_path):
    """The engine is killed in between, and back: counters lose nothing of the time without it. What the intervals have, what dwell report
    says of the same time, and what the engine says has increased are the same."""
    store = tmp_path / "store"
    store.mkdir()
    with serving(*ONLY_SCRAPES, "--by", "process", "--groups", "900", "--store", store) as server, \
            named("by turns", "import time\nwhile True:\n time.sleep(0.02)\n sum(range(10**5))") as load, \
            prometheus(tmp_path / "prometheus", scraping(server.port)) as engine:
        wait_for(lambda: len(scrapes_of(engine)) >= 5)
        engine.stop()
        time.sleep(4)
        engine.start()
        before = len(scrapes_of(engine))
        wait_for(lambda: len(scrapes_of(engine)) >= before + 5)
        load.kill()
        server.stop()
        scrapes = scrapes_of(engine)
        (recording,) = store.iterdir()
        intervals = intervals_of(recording)
        (first, number), (last, last_number), (since, until) = whole_seconds(intervals, scrapes)
        assert max(later[0] - earlier[0] for earlier, later in zip(scrapes, scrapes[1:]) if first <= earlier[0] < last) > 3
        whole = increases(engine, "dwell_thread_seconds_total", first, last)
        groups = increases(engine, "dwell_group_thread_seconds_total", first, last)
    assert len(whole) >= 11
    ours = {key: value for key, value in groups.items() if key[0] == "by turns"}
    assert ours["by turns", "user"] > 0 and ours["by turns", "sleep"] > 0
    for states, by_name in measured(intervals[int(number):int(last_number)]), reported(recording, "--since", since, "--until", until):
        for (state,), value in whole.items():
            assert value == pytest.approx(states[state], rel=1e-3, abs=1e-6), state
        for key, value in ours.items():
            assert value == pytest.approx(by_name[key], rel=1e-3, abs=1e-6), key
    (everything, _), (states, _) = measured(intervals), reported(recording)
    for state in STATES:
        assert everything[state] == pytest.approx(states[state], rel=1e-3, abs=1e-6), state


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


@contextlib.contextmanager
def alerting(directory, server):
    """(engine, alerts) of Prometheus and Alertmanager with what is shipped, and a server that they watch."""
    rules = directory / "rules"
    rules.mkdir()
    for name in "dwell.rules.yml", "dwell.alerts.yml":
        (rules / name).write_text(shortened(name))
    with webhook() as (port, alerts):
        config = yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
        config["route"].update(group_wait="1s", group_interval="1s")
        for receiver in config["receivers"]:
            for hook in receiver["webhook_configs"]:
                hook["url"] = hook["url"].replace(":9095", f":{port}")
        with alertmanager(directory / "alertmanager", config) as manager:
            scrape = scraping(server.port)
            scrape["rule_files"] = [str(path) for path in rules.iterdir()]
            scrape["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{manager.port}"]}]}]}
            with prometheus(directory / "prometheus", scrape) as engine:
                yield engine, alerts


def sent(alerts, status, name, **labels):
    """The first such alert: (path, status, labels, annotations); None: there is none yet."""
    return next((alert for alert in alerts if alert[1] == status and alert[2].items() >= {"alertname": name, **labels}.items()), None)


def test_an_alert_of_the_shipped_rules_fires_and_resolves(tmp_path):
    """A process of the lowest weight that shares its CPU with dwell load."""
    cpu = str(min(os.sched_getaffinity(0)))
    with serving("--by", "process", "--groups", "900") as server, alerting(tmp_path, server) as (engine, alerts):
        # with its lowest weight it might not get as far as its name, on a busy machine
        with named("starved", "import os\nos.nice(19)\nwhile True: pass", "taskset", "-c", cpu) as victim, \
                subprocess.Popen([DWELL, "load", "-q", "--work", "spin-wait", "--workers", "8", "--cpus", cpu, "-d", "10m"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as antagonists:
            try:
                fired = wait_for(lambda: sent(alerts, "firing", "DwellStarved", group="starved"))
                assert fired[0] == "/pager" and fired[2]["severity"] == "critical"
                assert fired[3]["summary"] == f"starved on 127.0.0.1:{server.port} hardly gets a CPU"
                assert not sent(alerts, "resolved", "DwellStarved", group="starved")
                culprits = engine.query('topk(1, instance_victim_neighbour:dwell_blame_seconds:rate5m{victim="starved"})')
                assert culprits and culprits[0][0]["culprit"].startswith("dwell"), culprits
            finally:
                antagonists.terminate()
                victim.kill()
        wait_for(lambda: sent(alerts, "resolved", "DwellStarved", group="starved"))


def test_a_stuck_worker_is_an_alert_until_it_comes_back(tmp_path):
    program = tmp_path / f"stuck-{os.getpid()}"
    shutil.copy(pathlib.Path(BUILD) / "tests" / "loop-service", program)
    with serving("--by", "process", "--stalls", program.name) as server, alerting(tmp_path, server) as (_, alerts), \
            loop_service(program=program) as service:
        wait_for(lambda: server.metrics()["dwell_stalls_watched", "process", program.name] == 1)
        service.ask("spin", 60)
        hold_up(service, 5000)
        fired = wait_for(lambda: sent(alerts, "firing", "DwellWorkersStuck", process=program.name))
        assert fired[0] == "/pager" and fired[2]["severity"] == "critical"
        assert fired[3]["summary"] == f"1 workers of {program.name} on 127.0.0.1:{server.port} are stuck"
        assert not sent(alerts, "resolved", "DwellWorkersStuck", process=program.name)
        service.process.send_signal(signal.SIGCONT)
        wait_for(lambda: sent(alerts, "resolved", "DwellWorkersStuck", process=program.name))


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
        groups = "sum by (state) (dwell_group_thread_seconds_total)"

        def agree():
            """At the last scrape but one: the engine may not have all of the last yet."""
            at = scrapes_of(engine)[-2][0]
            differences = engine.query(f"{groups} - on (state) sum by (state) (dwell_thread_seconds_total)", time=at)
            whole = sum(value for _, value in engine.query("dwell_thread_seconds_total", time=at))
            return len(differences) >= 11 and all(abs(value) < 1e-6 * whole for _, value in differences)

        wait_for(agree)
