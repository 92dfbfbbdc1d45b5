# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents of `dwell load` and `dwell guest` say, tried out: specs, programs, fields, types, command lines."""
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess

import pytest

from conftest import BUILD, run
from loads import Load

TOP = pathlib.Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
NO_CONTROLLER = "needs the cgroup v2 controller"


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.S | re.M)


def listed(what):
    """Names of `dwell load --list WHAT`."""
    return re.findall(r"^  ([a-z0-9-]+)", run("load", "--list", what).stdout, re.M)


SPECS = [pytest.param(path, number, id=f"{path.stem}-{number}")
         for path in (DOCS / "formats" / "spec.md", DOCS / "load.md", DOCS / "testing-a-scheduler.md")
         for number, text in enumerate(blocks(path, "yaml")) if "\ncommand:" not in text]  # fmt: skip


@pytest.mark.parametrize("path, number", SPECS)
def test_specs_are_sound(tmp_path, path, number):
    (tmp_path / "doc.yaml").write_text(blocks(path, "yaml")[number])
    done = run("load", "--dry-run", tmp_path / "doc.yaml")
    assert done.returncode == 0 or NO_CONTROLLER in done.stderr, done.stderr


def test_the_large_spec_runs_where_it_needs_no_controllers(tmp_path):
    controllers = r"^ +(- )?(cpuset|cpu_weight|cpu_max|memory_max|pids_max|set-cpuset|clear-cpuset|set-limits):.*\n"
    text = re.sub(controllers, "", blocks(DOCS / "formats" / "spec.md", "yaml")[0], flags=re.M)
    (tmp_path / "doc.yaml").write_text(text)
    load = Load(tmp_path / "doc.yaml", "-d", "1s")
    # how long wakeups take is the machine's business
    assert load.status in (0, 3, 4), load.error
    assert not [finding for finding in load.checks if finding["verdict"] == "fail" and finding["check"] != "wake-p99"]


def test_examples_of_the_help_fit_their_lines():
    """What is too long goes on at the first column, and looks like another command."""
    commands = re.findall(r"^  ([a-z]+) ", run("--help").stdout, re.M)
    assert len(commands) > 9
    for command in commands:
        _, _, examples = run("help", command).stdout.partition("Examples:\n")
        lines = examples.split("\n\n")[0].splitlines()
        assert all(line.startswith("  ") for line in lines), (command, lines)


def test_make_installs_as_its_help_says(tmp_path):
    """With the options of Meson that a build begins with; here it is only shown what would be done."""
    def make(*arguments):
        return subprocess.run(["make", "--no-print-directory", *arguments], cwd=TOP, capture_output=True, text=True, check=True).stdout

    said = re.search(r"^  make install +(.*)$", make("help"), re.M)[1]
    assert said == "into /usr/local, or below DESTDIR=; elsewhere: make clean, then MESON_OPTIONS=--prefix=/usr"
    assert re.search(r"^meson setup \S+ --prefix=/usr ", make("-n", "install", f"BUILD={tmp_path}/none", "MESON_OPTIONS=--prefix=/usr"), re.M)
    done = subprocess.run(["make", "--no-print-directory", "install", f"BUILD={BUILD}", f"DESTDIR={tmp_path}"], cwd=TOP, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("usr/local/**/bin/dwell")), done.stdout


def test_installing_waits_for_another_apt(tmp_path):
    """Which holds its lock for a while: that of a machine that has just begun, or of updates by themselves."""
    programs = {"apt-get": f'echo "$@" >> {tmp_path}/asked', "apt-cache": "exit 0", "dpkg-query": "exit 1", "id": "echo 0"}
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    subprocess.run([TOP / "scripts" / "deps", "install", "packaging"], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True, capture_output=True)
    installed = [line for line in (tmp_path / "asked").read_text().splitlines() if "install" in line]
    assert len(installed) == 1 and re.search(r"-o DPkg::Lock::Timeout=\d{3,} install -y .*debhelper", installed[0])


def test_no_line_of_the_help_is_empty_or_ends_in_blanks():
    """argp writes a line of blanks behind a text that is just as wide as its column: such a text needs other words."""
    for command in re.findall(r"^  ([a-z]+) ", run("--help").stdout, re.M):
        text = run(command, "--help").stdout
        assert not re.findall(r"^.*[ \t]$", text, re.M), command
        # what has a line of its own before it is a heading, the first option, or the help that all have
        first = re.search(r"^ +-.*$", text, re.M)
        after = [line for line in re.findall(r"\n\n( +-.*)$", text, re.M) if not line.startswith("  -?, --help")]
        assert after in ([], [first and first[0]]), command


def test_each_help_has_its_own_default():
    for command, interval in ("top", "1s"), ("profile", "1s"), ("record", "1s"), ("serve", "5s"):
        text = run(command, "--help").stdout
        assert f"length of an interval, at least 1ms ({interval})" in text and "; of dwell" not in text


def test_every_key_op_and_check_is_in_the_page():
    page = (DOCS / "formats" / "spec.md").read_text()
    ops = re.search(r"op_names\[OP_KINDS\] = \{(.*?)\};", (TOP / "src/load/spec.c").read_text(), re.S).group(1)
    limits = re.search(r"limit_info\[SPEC_LIMITS\] = \{(.*?)\};", (TOP / "src/load/spec_limits.c").read_text(), re.S).group(1)
    yaml = "".join((TOP / f"src/load/spec_{part}.c").read_text() for part in ("yaml", "work", "ops"))
    names = re.findall(r'"([a-z-]+)"', ops) + re.findall(r'\{"([a-z_]+)"', limits) + re.findall(r'\{"([a-z-]+)",', yaml)
    names += listed("checks")
    assert len(names) > 60
    assert not [name for name in names if not re.search(rf"\b{name}\b", page)]


def test_every_type_and_parameter_is_in_the_manual():
    page = (DOCS / "man" / "dwell-load.1.in").read_text().replace("\\-", "-").replace("\\:", "")
    rows = re.split(r"^(?=[a-z0-9-]+\t)", page[page.index("\n.TS") : page.index("\n.TE")], flags=re.M)
    rows = {row.split("\t")[0]: re.sub(r"\\f[BIR]", "", row) for row in rows}
    for name in listed("types"):
        text = run("load", "--list", name).stdout
        team = re.search(r"groups of (\d+)", text)
        assert rows[name].split("\t")[1] == (team.group(1) if team else "1"), name
        for param, value in re.findall(r"^  ([a-z_]+)=(\S*)", text, re.M):
            assert re.search(rf"\b{param}={re.escape(value)}" if value else rf"\b{param}\b", rows[name]), (name, param)


def keys(value):
    """All keys, but those that are names of a type's parameters, nodes or states."""
    if isinstance(value, list):
        return set().union(*map(keys, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    inner = [keys(value[key]) for key in value if key not in ("params", "numa_pages", "states_ns")]
    return set(value).union(*inner)


def test_every_field_of_the_reports_is_in_the_page():
    page = (DOCS / "formats" / "json.md").read_text()
    page = page[page.index("## `dwell load --json`") : page.index("## `dwell compare` of loads")]
    load = Load("--work", "pipe-io", "--work", "exec:command=true", "--work", "affinity-churn", "--observe", "--samples", "-d", "300ms")
    assert load.run, load.error
    found = keys(load.workers) | keys(load.run)
    unknown = [key for key in found if not re.search(rf"\b{re.escape(key)}\b", page) and not key.startswith("schedstat_")]
    assert not unknown


def test_the_function_in_a_shared_object_works(tmp_path):
    source, library = tmp_path / "chase.c", tmp_path / "chase.so"
    source.write_text(blocks(DOCS / "work-types.md", "c")[0])
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{TOP / 'include'}", "-o", library, source],
        check=True,
    )
    load = Load("--work", f"custom:library={library},argument=1000", "-d", "300ms")
    assert load.status == 0, load.error
    worker = load.workers[0]
    assert worker["work_units"] == 4096 * worker["iterations"] > 0
    assert worker["iteration_cost_sample_total"] == worker["iterations"] and worker["max_gap_ms"] is not None


def test_the_function_of_the_manual_works(tmp_path):
    page = (DOCS / "man" / "dwell-work.3.in").read_text()
    text = re.search(r"^#include <dwell/work.h>\n\nint.*?^}$", page, re.S | re.M).group(0)
    source, library = tmp_path / "mine.c", tmp_path / "mine.so"
    source.write_text(text.replace("\\-", "-"))
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{TOP / 'include'}", "-o", library, source], check=True)
    load = Load("--work", f"custom:library={library}", "--check", "not-starved", "-d", "300ms")
    assert load.status == 0 and load.workers[0]["work_units"] == 1000 * load.workers[0]["iterations"], load.error


def test_the_type_of_the_page_compiles(tmp_path):
    """Against the contract that it explains."""
    source = tmp_path / "token_ring.c"
    source.write_text(blocks(DOCS / "work-types.md", "c")[1])
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{TOP / 'src'}", source], check=True
    )


def test_the_example_of_the_manual_is_a_spec(tmp_path):
    page = (DOCS / "man" / "dwell-load.1.in").read_text()
    text = re.search(r"^name: two.*?(?=^\.fi)", page, re.S | re.M).group(0)
    (tmp_path / "doc.yaml").write_text(text.replace("\\-", "-"))
    done = run("load", tmp_path / "doc.yaml", "--json", "-d", "1s")
    assert done.returncode in (0, 3, 4), done.stderr
    failed = [check for check in json.loads(done.stdout.splitlines()[-1])["checks"] if check["verdict"] == "fail"]
    assert not [check for check in failed if check["check"] != "wake-p99"]


GUEST_PAGE = DOCS / "testing-a-scheduler.md"
KERNEL = os.environ.get("DWELL_GUEST_KERNEL")


def guest_examples():
    """[(words of a command of dwell, what is shown of its output)], of the page."""
    examples = []
    for block in blocks(GUEST_PAGE, "console"):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, shown = example.partition("\n")
            examples += [(shlex.split(command), shown) for command in re.findall(r"dwell ([^;]+)", line)]
    return examples


def guest_commands():
    """Words of the examples of the README and the manual, without those of another architecture."""
    page = (DOCS / "man" / "dwell-guest.1.in").read_text().replace("\\-", "-")
    lines = page[page.index("\n.EX\n") : page.index("\n.EE")] + (TOP / "README.md").read_text()
    words = [shlex.split(line, comments=True) for line in re.findall(r"^dwell (guest .*)$", lines, re.M) if "arm64" not in line]
    return words + [words for words, shown in guest_examples()]


def guest_files(directory, kernel, scheduler):
    """What the examples name. As --kernel auto finds it, the kernel has sched_ext."""
    cached = directory / "cache" / "dwell" / "kernels" / "6.12.1-a" / "bzImage"
    cached.parent.mkdir(parents=True)
    (cached.parent / "config").write_text("CONFIG_SCHED_CLASS_EXT=y\n")
    cached.write_bytes(kernel)
    for name in ("scx_mine", "scx_simple", "scx_qmap", "server", "tests/all"):
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.copy(scheduler(name), directory / name)
    shutil.copy(cached, directory / "bzImage")
    score, spec, matrix = blocks(GUEST_PAGE, "yaml")
    for name in ("swap.yaml", "mine.yaml", "spec.yaml", "before.yaml", "after.yaml"):
        (directory / name).write_text(spec)
    (directory / "score.yaml").write_text(score)
    (directory / "gauntlet.yaml").write_text(matrix)
    return dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels of the examples are for x86_64")
@pytest.mark.parametrize("words", guest_commands(), ids=" ".join)
def test_examples_of_guests_are_sound(tmp_path, words):
    """Up to where QEMU would boot: the one that is found here ends at once."""
    kernel = bytearray(1024)
    kernel[0x202:0x208], kernel[0x236] = b"HdrS\x0f\x02", 1
    environment = guest_files(tmp_path, kernel, lambda name: "/bin/true")
    qemu = tmp_path / "bin" / "qemu-system-x86_64"
    qemu.parent.mkdir()
    qemu.write_text("#!/bin/sh\n")
    qemu.chmod(0o755)
    environment["PATH"] = f"{qemu.parent}:{environment['PATH']}"
    here = {"cwd": tmp_path, "env": environment}
    if words[0] == "guest" and "--matrix" in words:
        for number, part in enumerate(("part-1.json", "part-2.json", "part-3.json") if "--merge" in words else (), 1):
            assert run("guest", "--matrix", "gauntlet.yaml", "--max-cpus", "1", "--shard", f"{number}/3", "--out", part, **here).returncode == 0
        done = run(*words, "--max-cpus", "1", "--format", "json", **here)
        assert done.returncode == 0 and json.loads(done.stdout)["verdicts"]["skipped"] >= 2, done.stderr
        return
    if words[0] == "guest":
        if not {"--kernel", "--scheduler"}.intersection(words):
            words = ["guest", "--kernel", "bzImage", *words[1:]]
        done = run(*words, **here)
        assert done.returncode == 1 and "QEMU ended before the guest had booted" in done.stderr, done.stderr
        words = words[words.index("--") + 1 :]
    # another program is nothing to be checked; mistakes before --help are reported
    if "/" not in words[0]:
        end = words.index("--") if "--" in words else len(words)
        done = run(*words[:end], "--help", **here)
        assert done.returncode == 0, done.stderr
    if words[0] == "load":
        done = run(*words, "--dry-run", **here)
        # the guest has another topology
        assert done.returncode == 0 or re.search(f"{NO_CONTROLLER}|this machine has", done.stderr), done.stderr


def skeleton(text):
    """Its lines, without the figures."""
    return [re.sub(r" +", " ", re.sub(r"\d[\w.]*", "N", line)).strip() for line in text.splitlines()]


def real_guests(directory):
    """Where examples can be run: the environment."""
    if not KERNEL or not shutil.which("qemu-system-x86_64"):
        pytest.skip("DWELL_GUEST_KERNEL names no kernel, or QEMU is not installed")
    beside = pathlib.Path(KERNEL).resolve().parent
    if not (beside / "scx_simple").exists() or not (beside / "scx_qmap").exists():
        pytest.skip("there are no schedulers beside the kernel")
    programs = {"scx_mine": beside / "scx_simple", "scx_simple": beside / "scx_simple", "scx_qmap": beside / "scx_qmap"}
    return guest_files(directory, pathlib.Path(KERNEL).read_bytes(), lambda name: programs.get(name, "/bin/true"))


# a death, stalls, a gauntlet
SHOWN = [pytest.param(words, shown, id=" ".join(words)) for words, shown in guest_examples() if shown and words[0] == "guest"]


DEATH = "the scheduler died"


def is_ejected(line, came):
    """Where the host is busy, the kernel's watchdog may end a scheduler before SIGUSR2 has: it then says so in that line."""
    start, died, _ = line.partition(DEATH)
    return died and any(other.startswith(start + DEATH) and "runnable task stall" in other for other in came)


@pytest.mark.parametrize("words, shown", SHOWN)
def test_what_the_page_shows_is_what_comes(tmp_path, words, shown):
    environment = real_guests(tmp_path)
    options = [] if "--matrix" in words else ["--accel", "tcg", "--kernel", "bzImage"]
    done = run("guest", *options, *words[1:], cwd=tmp_path, env=environment, timeout=600)
    assert done.returncode == 3, done.stderr
    came = skeleton(done.stdout + done.stderr)
    # which worker is stalled, what else fails by it, and whether the run had ended before the scheduler did, is chance
    lines = [line for line in skeleton(shown) if line and line != "…" and "max-gap" not in line]
    ends = {" run": [line for line in lines if " died " in line and not line.startswith("FAIL")],
            " CHECKS THAT FAILED": [line for line in lines if line.startswith("TOPOLOGY")]}
    for line in lines:
        without = [line.removesuffix(end) for end, rows in ends.items() if line in rows]
        assert line in came or any(other.startswith(start) for start in without for other in came) or is_ejected(line, came), (line, done)


def test_the_spec_of_the_page_changes_schedulers(tmp_path):
    environment = real_guests(tmp_path)
    words = next(words for words, shown in guest_examples() if "swap.yaml" in words)
    done = run(*words, "--json", cwd=tmp_path, env=environment, timeout=300)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    # how long no worker ran while the kernel changed them is the machine's business
    assert done.returncode in (0, 3) and report["end"] == "complete", done.stderr
    events = [event["event"] for event in report["events"]]
    assert [event for event in events if "scheduler" in event] == ["start-scheduler", "replace-scheduler", "stop-scheduler"]
    # the last one of the run
    assert report["scheduler"]["command"] == "./scx_mine -f" and report["scheduler"]["state"] == "stopped"
