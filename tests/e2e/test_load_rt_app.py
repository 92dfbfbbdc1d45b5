# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of rt-app as specs of `dwell load`."""
import json
import pathlib

import pytest
import schemas

from conftest import run

FILES = pathlib.Path(__file__).parents[1] / "fixtures" / "rt-app"


def plan(*arguments, **options):
    done = run("load", *arguments, "--dry-run", **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def groups(*arguments):
    done = run("load", *arguments, "--json")
    lines = schemas.read(done.stdout)
    assert lines, done.stderr
    return lines[-1]["groups"], lines[:-1], lines[-1]


def test_tasks_with_something_in_common_are_a_group():
    text = plan(FILES / "video.json")
    assert text.startswith("spec: 2.00s")
    assert ("2 x rt-app:tasks=task=decoder loop=-1 phase run=2000us resume=renderer timer=unique/16667us "
            "task=renderer phase suspend lock=frame run=500us unlock=frame sleep=100us run=500us") in text  # fmt: skip
    assert ("2 x rt-app:tasks=task=periodic instances=2 delay=10000us cpus=0 phase loop=10 run=1000us "
            "timer=uniqueA/10000us/absolute phase loop=5 policy=idle runtime=4000us sleep=6000us") in text  # fmt: skip
    assert "1 x rt-app:tasks=task=batch nice=10 phase mem=65536 iorun=4096 run=3000us yield sleep=1000us" in text


def test_it_runs_and_reports():
    made, workers, result = groups(FILES / "sync.json", "-d", "1s", "--check", "not-starved")
    assert [group["workers"] for group in made] == [2, 3, 2, 1]
    assert result["verdict"] in ("pass", "inconclusive") and not any(worker.get("note") for worker in workers)
    # a signal that finds none waiting is lost, as pthread_cond_signal(3)'s: on a busy machine the consumer does less, and never more
    consumer, producer = (worker["iterations"] for worker in workers[:2])
    assert 3 < consumer <= producer + 1, (consumer, producer)
    # partners go on together: a barrier, a sync is for both
    for first, last in ((2, 5), (5, 7)):
        iterations = [worker["iterations"] for worker in workers[first:last]]
        assert min(iterations) > 3 and max(iterations) - min(iterations) <= 2 + 0.1 * max(iterations), iterations
    # a loop that ends does nothing any more
    assert workers[7]["iterations"] == 3 or workers[7]["iterations"] == 4


def test_the_command_line_goes_before_it_and_a_sweep_takes_it():
    assert plan(FILES / "video.json", "-d", "7s").startswith("spec: 7.00s")
    swept = run("load", FILES / "video.json", "--sweep", "load=10..50%:2", "-d", "60ms", "--rounds", "1", "--json")
    assert schemas.read(swept.stdout)[0]["runs"] == 2, swept.stderr


def with_task(task, **top):
    return json.dumps({"tasks": {"t": task}, **top}, indent=1)


@pytest.mark.parametrize(
    "text, message",
    [
        (with_task({"run": 10, "fork": "other"}), ":5:4: 'fork' is not supported"),
        (with_task({"util_min": 10, "run": 10}), ":4:4: 'util_min' is not supported"),
        (with_task({"slep": 10}), "did you mean 'sleep'"),
        (with_task({"run": -1}), "not a whole number"),
        (with_task({"run": "long"}), "not a whole number"),
        (with_task({"timer": {"ref": "a"}}), 'it needs "period"'),
        (with_task({"timer": {"ref": "a", "period": 0}}), "more than 0"),
        (with_task({"timer": {"ref": "a", "period": 5, "mode": "odd"}}), "neither relative nor absolute"),
        (with_task({"wait": {"ref": "c"}}), 'it needs "mutex"'),
        (with_task({"lock": "a b"}), "none of them a blank"),
        (with_task({"resume": "absent"}), "which is no task"),
        (with_task({"policy": "SCHED_ODD", "run": 1}), "unknown policy"),
        (with_task({"policy": "SCHED_FIFO", "priority": 100, "run": 1}), "from 1 to 99"),
        (with_task({"policy": "SCHED_DEADLINE", "run": 1}), "deadline"),
        (with_task({"cpus": [], "run": 1}), "the list is empty"),
        (with_task({"phases": {"a": {"run": 1}}, "sleep": 1}), "events are in the phases"),
        (with_task({"phases": {"a": {}}}), "without events"),
        (with_task({"loop": -2, "run": 1}), "from -1 to"),
        (with_task({"run": 1}, **{"global": {"io_device": "/dev/sda"}}), "only /dev/null"),
        (with_task({"run": 1}, **{"global": {"pi_enabled": 3}}), "neither true nor false"),
        (with_task({"run": 1}, other={}), "'other' is not supported"),
        ('{"tasks": {}}', "there are no tasks"),
        ('{"tasks": [1]}', "tasks are an object"),
        ('{"tasks": {"t": {"run": 1}', "did not find"),
        ('{"tasks": {"a": {"lock": "m", "taskgroup": "/x"}, "b": {"lock": "m"}}}', "two task groups"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path, text, message):
    (tmp_path / "app.json").write_text(text)
    done = run("load", tmp_path / "app.json", "--dry-run")
    assert done.returncode == 2 and "app.json:" in done.stderr and message in done.stderr, done.stderr


def test_repeated_keys_and_comments_are_read(tmp_path):
    path = tmp_path / "app.json"
    path.write_text('/* a "comment"\n over lines */ {"tasks": {"t /* no comment */".x": {}}}')
    assert run("load", path, "--dry-run").returncode == 2
    path.write_text('/* one */\n{"tasks": /* two */ {"t": {"run": 1, "sleep": 2, "run": 3, "sleep": 4, "run": 5}}}')
    assert "task=t phase run=1us sleep=2us run=3us sleep=4us run=5us" in plan(path)
    # lines count from the comment on
    path.write_text('/* one\n two */\n{"tasks": {"t": {\n"run": 1,\n"fork": "t"}}}')
    assert "app.json:5:1: 'fork'" in run("load", path, "--dry-run").stderr


def test_task_groups_are_cgroups(tmp_path):
    (tmp_path / "app.json").write_text(with_task({"taskgroup": "/grp", "instance": 3, "run": 1}))
    text = plan(tmp_path / "app.json")
    assert "grp" in text and "3 x rt-app" in text
