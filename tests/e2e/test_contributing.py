# SPDX-License-Identifier: GPL-2.0-or-later
"""CONTRIBUTING.md counts what it takes to add something: this adds a format, a field, a state and a type of work to a copy of the tree."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = TOP / "tests" / "golden"
DWELL = pathlib.Path(os.environ.get("DWELL_BUILD", TOP / "build")) / "dwell"

FORMAT = """\
#include "emit/emit.h"

static void names_row(const struct emit *emit)
{
	for (size_t i = 0; i < emit->columns.count; i++)
		output_format(emit->out, "%s;", emit->columns.items[i].name);
	output_char(emit->out, '\\n');
}

const struct format format_names = {.name = "names", .help = "names", .has_rows = true, .row = names_row};
"""

TYPE = """\
#include "load/work_type.h"

static void iterate(struct worker *worker)
{
	worker->work_units += 3;
}

const struct work_type work_three_steps = {
	.name = "three-steps", .summary = "three at once", .units_each = 3, .iterate = iterate};
"""


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def dwell(tmp_path_factory):
    """run(words...) of a program that has one of each more."""
    tree = tmp_path_factory.mktemp("contributing") / "dwell"
    files = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, files):
        if name.startswith("tests/fuzz/seeds/"):
            continue
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tree / name)
    # a format: a file, and a word
    (tree / "src/emit/names.c").write_text(FORMAT)
    edit(tree / "src/emit/emit.h", "X(json) X(jsonl) X(csv)", "X(json) X(jsonl) X(csv) X(names)")
    # a field: a line
    edit(tree / "src/view/fields.c", "\t{.name = \"active\",", "\tNUMBER_MEMBER(struct row, cpu, \"last_cpu\", \"where it was\", .name = \"last-cpu\", .levels = THREADS),\n\t{.name = \"active\",")
    # a state: a line, its column, its look
    last = "\tX(UNKNOWN, 12, \"unknown\", \"UNKN\", \"blocked in what dwell does not recognize\")"
    edit(tree / "src/bpf/wire.h", last, last + " \\\n\tX(DREAM, 13, \"dream\", \"DREAM\", \"of a test\")")
    edit(tree / "src/model/state.c", "STATE_UNKNOWN,", "STATE_UNKNOWN, STATE_DREAM,")
    look = "\tX(UNKNOWN, '?', '?', 187, 95, -1, -1, -1, -1)"
    edit(tree / "src/tui/state_looks.h", look, look + " \\\n\tX(DREAM, 0x25cb, 'o', 30, 23, -1, -1, -1, -1)")
    # a type of work: a file, and a word
    (tree / "src/load/work/three_steps.c").write_text(TYPE)
    edit(tree / "src/load/work_type.c", "X(yield_heavy)", "X(yield_heavy) X(three_steps)")
    # and where the build finds the two files
    edit(tree / "src/meson.build", "  'emit/emit.c',", "  'emit/emit.c',\n  'emit/names.c',\n  'load/work/three_steps.c',")
    subprocess.run(["meson", "setup", "build", "-Doptimization=0", "-Ddebug=false"], cwd=tree, check=True, capture_output=True)
    done = subprocess.run(["ninja", "-C", "build", "src/dwell" if (tree / "src/dwell").exists() else "dwell"], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]

    def run(*words):
        return subprocess.run([tree / "build" / "dwell", *words], cwd=GOLDEN, capture_output=True, text=True)

    run.tree = tree
    yield run
    shutil.rmtree(tree)


def test_a_format_is_in_every_command(dwell):
    for words in (
        ["top", "--from", "mixed.dwell"], ["report", "mixed.dwell"], ["blocked", "--from", "blocked.dwell"], ["doctor"],
        ["compare", "load.json", "load.json"], ["load", "--work", "spin-wait", "-d", "50ms", "--quiet"],
    ):  # fmt: skip
        done = dwell(*words, "--format", "names")
        assert done.returncode in (0, 3, 4) and done.stdout.splitlines()[0].count(";") > 3, (words, done)
        assert "names" in dwell(words[0], "--help").stdout, words
    assert "names" in dwell("top", "--format", "xml").stderr
    assert "names\t" in dwell("completion", "--words", "zsh", "dwell", "top", "--format", "").stdout


def test_a_field_is_in_every_format(dwell):
    assert '"last_cpu":' in dwell("top", "--from", "mixed.dwell", "--format", "json").stdout
    assert ",last_cpu" in dwell("top", "--from", "mixed.dwell", "--format", "csv").stdout
    assert '"last_cpu":' in dwell("top", "--from", "mixed.dwell", "--format", "jsonl").stdout
    assert dwell("top", "--from", "mixed.dwell", "--fields", "last-cpu").stdout.split()[0] == "last_cpu"
    assert "last_cpu" in json.loads(dwell("schema").stdout)["$defs"]["thread"]["properties"]


def test_recordings_without_a_state_are_read(dwell):
    """One of version 1, whose records are longer by now, and one of today's program, which says how long they are."""
    recording = dwell.tree / "today.dwell"
    subprocess.run([DWELL, "record", "-o", recording, "-d", "200ms", "-i", "100ms"], check=True, capture_output=True)
    for name in ("mixed.dwell", recording):
        then, now = (
            [json.loads(line) for line in run("top", "--from", name, "--format", "json", "--all").stdout.splitlines()]
            for run in (lambda *words: subprocess.run([DWELL, *words], cwd=GOLDEN, capture_output=True, text=True), dwell)
        )
        assert len(then) == len(now) > 1
        for before, after in zip(then, now):
            for thread, with_dream in zip(before.get("threads", []), after.get("threads", [])):
                assert with_dream["states_ns"].pop("dream") is None
                assert with_dream["states_ns"] == thread["states_ns"]
    stalls = [json.loads(line) for line in dwell("blocked", "--from", "blocked.dwell", "--format", "json").stdout.splitlines()]
    assert stalls[0]["states_ns"]["dream"] is None and sum(filter(None, stalls[0]["states_ns"].values())) > 0


def test_a_type_of_work_works(dwell):
    assert "three-steps" in dwell("load", "--list", "types").stdout
    done = dwell("load", "--work", "three-steps", "-d", "50ms", "--format", "json")
    group = json.loads(done.stdout.splitlines()[-1])["groups"][0]
    assert group["work_units"] == 3 * group["iterations"] > 0, done
