# SPDX-License-Identifier: GPL-2.0-or-later
"""CONTRIBUTING.md says what it takes to add something: this adds a format, a field, a state, a runtime, a command and a work type to a copy of the tree."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from matrices import Matrix, nothing_goes_on  # noqa: F401

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = TOP / "tests" / "golden"
DWELL = pathlib.Path(os.environ.get("DWELL_BUILD", TOP / "build")) / "dwell"

#: Those whose results have formats.
COMMANDS = ["top", "blocked", "load", "guest", "record", "report", "compare", "doctor", "verify", "profile"]

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

RUNTIME = """\
#include <stdio.h>

#include "runtime/runtime.h"

static int find(struct runtime_plan *plan, uint32_t pid, const char *symbols, struct error *error)
{
	(void)pid;
	(void)symbols;
	(void)error;
	snprintf(plan->why, sizeof(plan->why), "no fibers here");
	return 0;
}

const struct runtime_ops runtime_fibers = {.name = "fibers", .summary = "of a test", .find = find};
"""

COMMAND = """\
#include "command/command.h"

static const struct command_line greet_line = {.text = "Greets."};

static int greet_run(int argc, char **argv)
{
	int code = command_line_parse(&greet_line, argc, argv, NULL);

	if (code == EXIT_DONE)
		puts("good day");
	return code;
}

const struct command command_greet = {.name = "greet", .summary = "a greeting", .line = &greet_line, .run = greet_run};
"""

UNKNOWN = "\tX(UNKNOWN, 12, \"unknown\", \"UNKN\", \"blocked in what dwell does not recognize\")"
LOOK = "\tX(UNKNOWN, '?', '?', 187, 95, -1, -1, -1, -1)"

#: By the words that begin its item in CONTRIBUTING.md: its new file, and its words in others (before, after).
ADDITIONS = {
    "an output format": {
        "src/emit/names.c": FORMAT,
        "src/emit/emit.h": ("X(json) X(jsonl) X(csv)", "X(json) X(jsonl) X(csv) X(names)"),
    },
    "a field": {
        "src/view/fields.c": ("\t{.name = \"active\",", "\tNUMBER_MEMBER(struct row, cpu, \"last_cpu\", \"where it was\", .name = \"last-cpu\", .levels = THREADS),\n\t{.name = \"active\","),
    },
    "a state": {
        "src/bpf/wire.h": (UNKNOWN, UNKNOWN + " \\\n\tX(DREAM, 13, \"dream\", \"DREAM\", \"of a test\")"),
        "src/model/state.c": ("STATE_UNKNOWN,", "STATE_UNKNOWN, STATE_DREAM,"),
        "src/tui/state_looks.h": (LOOK, LOOK + " \\\n\tX(DREAM, 0x25cb, 'o', 30, 23, -1, -1, -1, -1)"),
    },
    "a runtime": {
        "src/runtime/fibers.c": RUNTIME,
        "src/runtime/runtime.h": ("X(tokio) X(jvm)", "X(tokio) X(fibers) X(jvm)"),
    },
    "a command": {
        "src/command/greet.c": COMMAND,
        "src/command/command.h": ("\tX(schema)\n", "\tX(schema) X(greet)\n"),
    },
    "a work type": {
        "src/load/work/three_steps.c": TYPE,
        "src/load/work_type.c": ("X(yield_heavy)", "X(yield_heavy) X(three_steps)"),
    },
}  # fmt: skip


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
    for files in ADDITIONS.values():
        for name, change in files.items():
            if isinstance(change, str):
                (tree / name).write_text(change)
                edit(tree / "src/meson.build", "  'emit/emit.c',", f"  'emit/emit.c',\n  '{name.removeprefix('src/')}',")
            else:
                edit(tree / name, *change)
    subprocess.run(["meson", "setup", "build", "-Doptimization=0", "-Ddebug=false"], cwd=tree, check=True, capture_output=True)
    done = subprocess.run(["ninja", "-C", "build", "dwell"], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]

    def run(*words):
        return subprocess.run([tree / "build" / "dwell", *words], cwd=GOLDEN, capture_output=True, text=True)

    run.tree = tree
    yield run
    shutil.rmtree(tree)


def test_the_files_are_those_that_are_named():
    items = re.split(r"^- ", (TOP / "CONTRIBUTING.md").read_text(), flags=re.M)
    for what, files in ADDITIONS.items():
        (item,) = [item for item in items if item.startswith(f"**{what}**")]
        for name, change in files.items():
            named = f"`{pathlib.Path(name).parent}/`" if isinstance(change, str) else f"`{name}`"
            assert named in item or f"`{pathlib.Path(name).parent}/*" in item, (what, name)


@pytest.fixture
def results(dwell, tmp_path):
    """What each of COMMANDS is to do, to have a result."""
    matrix = Matrix(tmp_path, f"kernels: {tmp_path}/bzImage\ntopologies: [1n1l2c1t]\ncommand: load steady -d 2s\n")
    assert matrix.run("--out", matrix.out).returncode == 0
    return {
        "top": ["--from", "mixed.dwell"],
        "blocked": ["--from", "blocked.dwell"],
        "load": ["--work", "spin-wait", "-d", "50ms", "--quiet"],
        "guest": ["--matrix", matrix.path, "--merge", matrix.out],
        "record": ["-o", tmp_path / "new.dwell", "-d", "100ms"],
        "report": ["mixed.dwell"],
        "compare": ["load.json", "load.json"],
        "doctor": [],
        "verify": ["--patterns", "mutex-lock", "--rounds", "1", "-d", "200ms"],
        "profile": ["--from", "stacks.dwell"],
    }


def test_a_format_is_in_every_command(dwell, results):
    assert list(results) == COMMANDS
    for command, words in results.items():
        done = dwell(command, *words, "--format", "names")
        assert done.returncode in (0, 3, 4) and done.stdout.splitlines()[0].count(";") > 3, (command, done)
        assert re.search(r"--format=FORMAT .*\bnames\b", dwell(command, "--help").stdout), command
        assert re.search(r"'xml': use .*\bnames\b", dwell(command, "--format", "xml").stderr), command
        assert "names\t" in dwell("completion", "--words", "zsh", "dwell", command, "--format", "").stdout, command


def test_a_field_is_in_every_format(dwell):
    assert '"last_cpu":' in dwell("top", "--from", "mixed.dwell", "--format", "json").stdout
    assert ",last_cpu" in dwell("top", "--from", "mixed.dwell", "--format", "csv").stdout
    assert '"last_cpu":' in dwell("top", "--from", "mixed.dwell", "--format", "jsonl").stdout
    assert dwell("top", "--from", "mixed.dwell", "--fields", "last-cpu").stdout.split()[0] == "last_cpu"
    assert "last_cpu" in json.loads(dwell("schema").stdout)["$defs"]["thread"]["properties"]


def test_a_field_is_offered(dwell):
    for words in (["top"], ["report", "mixed.dwell"]):
        for option in ("--fields", "--sort"):
            assert re.search(r"^last_cpu +where it was", dwell(*words, option, "help").stdout, re.M), (words, option)
    assert "last_cpu\twhere it was" in dwell("completion", "--words", "zsh", "dwell", "top", "--fields", "").stdout
    assert "did you mean 'last_cpu'?" in dwell("top", "--from", "mixed.dwell", "--fields", "last-cpi").stderr


def test_a_state_is_in_every_list(dwell):
    for words in (["top"], ["report", "mixed.dwell"]):
        assert re.search(r"^dream +of a test", dwell(*words, "--fields", "help").stdout, re.M), words
    assert dwell("top", "--from", "mixed.dwell", "--fields", "tid,dream").stdout.split()[:2] == ["TID", "DREAM"]
    assert ",states_ns.dream" in dwell("top", "--from", "mixed.dwell", "--format", "csv").stdout.splitlines()[0]
    assert "dream\tof a test" in dwell("completion", "--words", "zsh", "dwell", "profile", "--state", "").stdout
    assert "dream" in json.loads(dwell("schema").stdout)["$defs"]["thread"]["properties"]["states_ns"]["properties"]


def test_a_runtime_is_a_choice(dwell):
    assert re.search(r"--runtime=RUNTIME .*\bfibers\b", dwell("blocked", "--help").stdout)
    assert re.search(r"'erlang': use .*\bfibers\b", dwell("blocked", "--runtime", "erlang").stderr)
    assert "fibers\tof a test" in dwell("completion", "--words", "zsh", "dwell", "blocked", "--runtime", "").stdout
    done = dwell("blocked", "-p", str(os.getpid()), "--runtime", "fibers", "-d", "100ms")
    assert done.returncode == 1 and "no fibers here" in done.stderr, done


def test_a_command_is_run(dwell):
    assert re.search(r"^  greet +a greeting$", dwell("--help").stdout, re.M)
    assert dwell("greet").stdout == "good day\n"
    assert dwell("help", "greet").stdout.startswith("Usage: dwell greet")
    assert "did you mean 'greet'?" in dwell("gret").stderr
    assert "greet\ta greeting" in dwell("completion", "--words", "zsh", "dwell", "").stdout


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
    assert re.search(r"^ *three-steps +three at once", dwell("load", "--list", "types").stdout, re.M)
    assert "did you mean 'three-steps'?" in dwell("load", "--work", "three-step").stderr
    assert "three-steps\t" in dwell("completion", "--words", "zsh", "dwell", "load", "--work", "").stdout
    done = dwell("load", "--work", "three-steps", "-d", "50ms", "--format", "json")
    group = json.loads(done.stdout.splitlines()[-1])["groups"][0]
    assert group["work"] == "three-steps"
    assert group["work_units"] == 3 * group["iterations"] > 0, done
