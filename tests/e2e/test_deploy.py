# SPDX-License-Identifier: GPL-2.0-or-later
"""deploy/: units, rules, dashboard and manifests are what they are for, and fit `dwell serve`."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import BUILD, DWELL
from serving import serving

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
UNIT = BUILD / "deploy" / "dwell.service"
#: of Prometheus itself
BUILT_IN = {"up", "scrape_samples_scraped", "ALERTS"}
#: of dwell serve where something is on that a first scrape here does not have
SOMETIMES = {"dwell_workers_stuck", "dwell_store_bytes", "dwell_store_failures_total"}


def expressions():
    """(where, PromQL) of all that is shipped."""
    for name in "dwell.rules.yml", "dwell.alerts.yml":
        for group in yaml.safe_load((PROMETHEUS / name).read_text())["groups"]:
            for rule in group["rules"]:
                yield rule.get("record") or rule["alert"], rule["expr"]
    for path in DASHBOARDS:
        dashboard = json.loads(path.read_text())
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                yield panel["title"], grafana_fills_in(target["expr"])
        for annotation in dashboard["annotations"]["list"]:
            yield annotation["name"], grafana_fills_in(annotation["expr"])
    for block in re.findall(r"```promql\n(.*?)```", (DEPLOY.parent / "docs" / "fleet.md").read_text(), re.S):
        for expression in re.split(r"\n\n+", re.sub(r"^#.*$", "", block, flags=re.M).strip()):
            yield "docs/fleet.md", expression


def grafana_fills_in(expression):
    filled = expression.replace("$__rate_interval", "1m").replace("$__range", "1h").replace("$instance", ".*").replace("$group", "(?s).*")
    assert "$" not in filled, filled
    return filled


def promtool(*arguments):
    return subprocess.run(["promtool", *map(str, arguments)], cwd=PROMETHEUS, capture_output=True, text=True)


def test_rules_do_what_their_tests_say():
    done = promtool("test", "rules", "dwell.test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_rule_that_is_wrong_fails_its_tests(tmp_path):
    """So that the test above means something: each threshold is wrong in turn, and each alert silent."""
    rules = (PROMETHEUS / "dwell.alerts.yml").read_text()
    shutil.copytree(PROMETHEUS, tmp_path, dirs_exist_ok=True)
    for alert in (rule for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]):
        changed = yaml.safe_load(rules)
        for group in changed["groups"]:
            for rule in group["rules"]:
                if rule["alert"] == alert["alert"]:
                    rule["expr"] = f"({rule['expr']}) > 1e9"
        (tmp_path / "dwell.alerts.yml").write_text(yaml.safe_dump(changed))
        done = subprocess.run(["promtool", "test", "rules", "dwell.test.yml"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode != 0 and alert["alert"] in done.stderr + done.stdout, alert["alert"]


def test_each_alert_has_a_case_in_which_it_fires():
    alerts = {rule["alert"] for group in yaml.safe_load((PROMETHEUS / "dwell.alerts.yml").read_text())["groups"] for rule in group["rules"]}
    fires = {case["alertname"] for test in yaml.safe_load((PROMETHEUS / "dwell.test.yml").read_text())["tests"]
             for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
    assert alerts == fires


def test_configurations_are_accepted(tmp_path):
    assert promtool("check", "config", "prometheus.yml").returncode == 0
    shutil.copytree(PROMETHEUS, tmp_path, dirs_exist_ok=True)
    # what is in comments, and what Debian's Prometheus is built without
    text = (PROMETHEUS / "prometheus.yml").read_text()
    fleet = text[text.index("  # - job_name"):]
    (tmp_path / "fleet.yml").write_text("scrape_configs:\n" + re.sub(r"^  # ", "  ", fleet, flags=re.M))
    kubernetes = yaml.safe_load((PROMETHEUS / "kubernetes.yml").read_text())
    for job in kubernetes["scrape_configs"]:
        assert job.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": ["dwell"]}}]
        job["tls_config"]["ca_file"] = job["authorization"]["credentials_file"] = str(tmp_path / "dwell-token")
    (tmp_path / "kubernetes.yml").write_text(yaml.safe_dump(kubernetes))
    for name in "dwell-ca.crt", "dwell-token":
        (tmp_path / name).write_text("")
    for name in "fleet.yml", "kubernetes.yml":
        done = subprocess.run(["promtool", "check", "config", name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["amtool", "check-config", DEPLOY / "alertmanager" / "alertmanager.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_rules_and_panels_ask_for_is_there():
    recorded = {rule["record"] for group in yaml.safe_load((PROMETHEUS / "dwell.rules.yml").read_text())["groups"] for rule in group["rules"]}
    with serving("-i", "1s", "--by", "cgroup") as server:
        names = {key[0] for key in server.metrics()}
    asked = [(where, name) for where, expression in expressions()
             for name in re.findall(r"(?<![\w:\"])(?:[a-z_]+:)?dwell_[a-z_]+(?::\w+)?", re.sub(r'"[^"]*"', '""', expression))]
    assert len(asked) > 30
    for where, name in asked:
        assert name in names | recorded | SOMETIMES, (where, name)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_dashboards_are_sound(path):
    dashboard = json.loads(path.read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = {}
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert taken.setdefault(cell, panel["title"]) == panel["title"]
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}" and target["refId"]
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(?!__)(\w+)", json.dumps(dashboard)))
    assert used <= variables, used - variables


def test_the_dashboard_of_all_machines_reads_few_series_of_each():
    """A thousand machines have 1.8 million series: those of groups, and pairs of them, are for one machine, or are recorded."""
    panels = json.loads((DEPLOY / "grafana" / "dwell-fleet.json").read_text())["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in re.findall(r"[\w:]*dwell_[\w:]+", target["expr"])}
    with serving("-i", "1s") as server:
        metrics = server.metrics()
    series = {name: sum(key[0] == name for key in metrics) for name in asked}
    assert asked and all(count <= 50 for count in series.values()), series


def unit_values(name):
    return " ".join(re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)).split()


def test_the_units_are_accepted(tmp_path):
    for name in UNIT, DEPLOY / "systemd" / "dwell.socket":
        (tmp_path / name.name).write_text(re.sub(r"(?<=^ExecStart=)\S+", DWELL, name.read_text(), flags=re.M))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", tmp_path / "dwell.service", tmp_path / "dwell.socket"],
                          capture_output=True, text=True)  # fmt: skip
    # it warns of every unit that these lead to, which are those of the machine too
    assert done.returncode == 0 and not [line for line in done.stderr.splitlines() if "dwell" in line], done.stderr
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=50", tmp_path / "dwell.service"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert unit_values("Type") == ["notify"] and unit_values("WantedBy") == ["multi-user.target"]


def test_the_rights_of_the_unit_are_enough(tmp_path):
    """Its capabilities and what it may write to, without systemd: BPF, profiles with names of the kernel, and the store."""
    capabilities = ",".join(["-all"] + [f"+{name[4:].lower()}" for name in unit_values("CapabilityBoundingSet")])
    prefix = ["unshare", "--mount", "sh", "-c",
              "for place in /usr /etc /proc/sys /sys/fs/cgroup /sys; do mount --rbind $place $place && mount -o remount,bind,ro $place || exit 1; done\n"
              'exec "$@"', "sh", "setpriv", f"--bounding-set={capabilities}", "--no-new-privs"]
    with serving("-i", "1s", "--store", tmp_path, prefix=prefix) as server:
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        assert int(re.search(r"CapBnd:\s+(\w+)", status).group(1), 16) < 1 << 41 and "NoNewPrivs:\t1" in status
        metrics = server.metrics()
        assert any(key[0] == "dwell_source_info" and "bpf" in key for key in metrics)
        code, _, body = server.ask("/debug/pprof/profile?seconds=1&format=folded")
        assert code == 200 and b"[k]" in body
        assert server.metrics()["dwell_store_failures_total",] == 0
    assert list(tmp_path.glob("*.dwell"))


def test_all_run_with_the_same_capabilities():
    unit = sorted(name[4:] for name in unit_values("CapabilityBoundingSet"))
    manifest = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "daemonset.yaml").read_text()))[1]
    assert sorted(manifest["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]) == unit
    container = re.findall(r"--cap-add=(\S+)", (DEPLOY / "container" / "Containerfile").read_text())
    assert sorted(",".join(container).upper().split(",")) == unit


#: newer than Debian's client library: Kubernetes 1.30
NEWER = {("V1SecurityContext", "appArmorProfile")}


def unknown_fields(value, type_name, client, path=""):
    """What the API does not have of an object that was read from a manifest."""
    found = re.fullmatch(r"(list|dict)\[(?:str, )?(.*)\]|dict\(str, (.*)\)", type_name)
    if found:
        inner = found.group(2) or found.group(3)
        assert isinstance(value, list if type_name.startswith("list") else dict), (path, value)
        for key, item in enumerate(value) if isinstance(value, list) else value.items():
            yield from unknown_fields(item, inner, client, f"{path}[{key}]")
        return
    model = getattr(client, type_name, None)
    if not model:
        wanted = {"str": str, "int": int, "bool": bool}.get(type_name, object)
        if not isinstance(value, wanted):
            yield f"{path}: {value!r} is not of the type {type_name}"
        return
    assert isinstance(value, dict), (path, value)
    members = {name: member for member, name in model.attribute_map.items()}
    for key, item in value.items():
        if (type_name, key) in NEWER:
            continue
        if key not in members:
            yield f"{path}.{key} is not a field of {type_name}"
        else:
            yield from unknown_fields(item, model.openapi_types[members[key]], client, f"{path}.{key}")


def test_the_manifest_has_only_fields_that_there_are():
    client = pytest.importorskip("kubernetes.client", reason="python3-kubernetes is not installed")
    account, daemons = yaml.safe_load_all((DEPLOY / "kubernetes" / "daemonset.yaml").read_text())
    assert not list(unknown_fields(account, "V1ServiceAccount", client))
    assert not list(unknown_fields(daemons, "V1DaemonSet", client))
    pod = daemons["spec"]["template"]["spec"]
    assert daemons["spec"]["selector"]["matchLabels"].items() <= daemons["spec"]["template"]["metadata"]["labels"].items()
    assert {volume["name"] for volume in pod["volumes"]} == {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    # dwell takes the options; what it refuses is that there is no such file here
    done = subprocess.run([DWELL, *pod["containers"][0]["args"]], capture_output=True, text=True)
    assert done.returncode == 1 and "/run/dwell/tls.crt" in done.stderr
    # the check sees mistakes
    pod["hostPIDs"] = True
    pod["containers"][0]["ports"][0]["containerPort"] = "x"
    assert len(list(unknown_fields(daemons, "V1DaemonSet", client))) == 2
