# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups whose names have quotes, backslashes, markup and characters beyond ASCII: wherever a name leaves the machine."""
import contextlib
import gzip
import json
import os
import pathlib
import re
import subprocess

import browser
import pytest
import receivers
from conftest import run
from loads import CGROUPS
from receivers import receiving
from serving import samples, serving
from test_serve_engines import wait_for

ID = "fedcba987654" + "e" * 52
NAME = 'q"u\'o\\te {x="y"} \u00e4\u4e2d <b>&amp; $1'
#: What a terminal obeys, and bytes that are no text, become question marks.
RAW = b"\x1b]\xff\r" + NAME.encode()
SHOWN = f"?]??{NAME}/docker-{ID}.scope"


@pytest.fixture
def group():
    """Its name; a process is in it."""
    if not CGROUPS:
        pytest.skip("there is no cgroup v2 hierarchy")
    above = f"dwell-test-{os.getpid()}"
    path = os.path.join(os.fsencode(CGROUPS[0]), above.encode(), RAW, f"docker-{ID}.scope".encode())
    try:
        os.makedirs(path)
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        pathlib.Path(os.fsdecode(path), "cgroup.procs").write_text(str(sleeper.pid))
        yield f"/{above}/{SHOWN}"
        sleeper.kill()
    for each in path, os.path.dirname(path), os.path.dirname(os.path.dirname(path)):
        os.rmdir(each)


def threads_of(figures, group):
    """[number] of each series of that group, of `key_of()`'s keys."""
    return [value for key, value in figures.items() if key[0] == "dwell_group_threads" and dict(zip(key[1::2], key[2::2])).get("group") == group]


def containers_of(figures, group):
    return [labels["container"] for key in figures if key[0] == "dwell_group_info" for labels in [dict(zip(key[1::2], key[2::2]))] if labels["group"] == group]


def test_every_engine_gets_the_name_as_metrics_has_it(group):
    with contextlib.ExitStack() as stack:
        engines = {name: stack.enter_context(receiving()) for name in ("remote-write", "victoriametrics", "otlp", "clickhouse")}
        arguments = [part for name, engine in engines.items() for part in ("--push", f"{name}={engine.url()}")]
        server = stack.enter_context(serving("-i", "1s", "--push-every", "1s", "--groups", "1000", *arguments))
        wait_for(lambda: threads_of(server.metrics(), group) == [1])
        (container,) = containers_of(server.metrics(), group)
        assert container == ID[:12]
        assert server.stop() == 0
        last = {name: engine.requests[-1][2] for name, engine in engines.items()}
    written, _, _ = receivers.remote_write(last["remote-write"])
    assert threads_of(written, group) == [1] and containers_of(written, group) == [container]
    imported = samples(re.sub(r" \d+$", "", gzip.decompress(last["victoriametrics"]).decode(), flags=re.M))
    assert threads_of(imported, group) == [1] and containers_of(imported, group) == [container]
    _, metrics = receivers.otlp(last["otlp"])
    assert [value for labels, value, _, _ in metrics["dwell_group_threads"][2] if labels["group"] == group] == [1]
    rows = receivers.clickhouse(last["clickhouse"])
    assert [row["value"] for row in rows if row["metric"] == "dwell_group_threads" and row["group"] == group] == [1]


def test_the_page_shows_the_name_and_obeys_nothing_in_it(group, tmp_path):
    with serving("-i", "1s", "--groups", "1000") as server:
        wait_for(lambda: threads_of(server.metrics(), group) == [1])
        # what stands in the page for browsers without JavaScript is markup
        status, _, body = server.ask("/")
        assert status == 200 and "<b>&amp;" not in body.decode()
        with browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path) as page:
            page.until(f"[...document.querySelectorAll('#groups .name')].some(name => name.textContent === {json.dumps(group)})")
            assert page.evaluate("document.querySelectorAll('#groups b').length") == 0 and not page.errors, page.errors


def test_recordings_of_the_store_keep_the_name(group, tmp_path):
    with serving("-i", "1s", "--groups", "1000", "--store", tmp_path) as server:
        wait_for(lambda: threads_of(server.metrics(), group) == [1])
        assert server.stop() == 0
    # in JSON there are escapes for what a terminal obeys
    whole = group.replace("?]??", "\x1b]\ufffd\r")
    (result,) = map(json.loads, run("report", "--by", "cgroup", "--format", "json", tmp_path).stdout.splitlines())
    assert [each["threads"] for each in result["cgroups"] if each["cgroup"] == whole] == [1]
    rows = map(json.loads, run("report", "--format", "clickhouse", tmp_path).stdout.splitlines())
    assert group in {row.get("group") for row in rows}
