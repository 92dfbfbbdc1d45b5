# SPDX-License-Identifier: GPL-2.0-or-later
"""What users without rights try against a dwell that root runs, or that was given capabilities.

Each attack runs as `nobody`, for real. That the attack would work is part of its test: what it does in its own
directory has to have happened.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import threading
import time

import pytest

from conftest import BUILD, DWELL, parse, run
from hostile import NOBODY, lair  # noqa: F401
from services import Service

FILES = 400


def namespace():
    return os.stat("/proc/self/ns/pid").st_ino


@pytest.fixture
def victim(tmp_path_factory):
    """A directory of root's with files of known names."""
    directory = pathlib.Path(f"/var/lib/dwell-test-victim-{os.getpid()}")
    directory.mkdir(mode=0o755)
    for number in range(FILES):
        (directory / f"file-{number}").write_text("precious")
    yield directory
    shutil.rmtree(directory)


def files(directory):
    return len(list(directory.iterdir()))


# Fills `bait`/inner, and exchanges it for a link to the victim as soon as anything in it is removed.
SWAP = """
import os, sys, time
bait, victim, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
inner = bait + "/inner"
os.makedirs(inner)
for number in range(files):
    open(f"{inner}/file-{number}", "w").close()
print("ready", flush=True)
while os.path.exists(bait):
    try:
        if len(os.listdir(inner)) < files and not os.path.islink(inner):
            os.rename(inner, bait + "/aside")
            os.symlink(victim, inner)
            print("exchanged", flush=True)
    except FileNotFoundError:
        pass
"""


def attack(script, *arguments):
    return subprocess.Popen(
        [*NOBODY, sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def load(*arguments, **environment):
    return subprocess.run(
        [DWELL, "load", "--quiet", "--work", "io-sync-write", "--workers", "1", "--duration", "200ms", *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env=dict(os.environ, **environment),
    )  # fmt: skip


@pytest.mark.parametrize("place", ["/var/tmp", "lair"])
def test_what_others_left_is_not_swept(victim, lair, place):
    """A directory named as one of a run that has ended, whose owner puts a link in while it is swept."""
    parent = pathlib.Path(place) if place != "lair" else lair
    bait = parent / f"dwell-load.1.1.{namespace()}.bait"
    attacker = attack(SWAP, bait, victim, FILES)
    try:
        assert attacker.stdout.readline() == "ready\n"
        for _ in range(3):
            done = load(TMPDIR=str(parent))
            assert done.returncode in (0, 3), done.stderr
        assert files(bait / "inner") == FILES and files(victim) == FILES
    finally:
        attacker.kill()
        attacker.wait()
        shutil.rmtree(bait, ignore_errors=True)


# Moves the run's own directory away, and puts one in its place in which it plays the same game.
REPLACE = """
import glob, os, sys
lair, victim, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
while True:
    for found in glob.glob(lair + "/dwell-load.*"):
        os.rename(found, lair + "/aside")
        os.makedirs(found + "/inner")
        for number in range(files):
            open(f"{found}/inner/file-{number}", "w").close()
        print("replaced", flush=True)
        sys.argv[1:] = [found, victim, str(files)]
        while os.path.exists(found):
            try:
                if len(os.listdir(found + "/inner")) < files and not os.path.islink(found + "/inner"):
                    os.rename(found + "/inner", found + "/gone")
                    os.symlink(victim, found + "/inner")
            except FileNotFoundError:
                pass
        sys.exit(0)
"""


def test_a_scratch_directory_is_exchanged(victim, lair):
    """TMPDIR belongs to the attacker: the workers' files go where they should, and nothing else is removed."""
    attacker = attack(REPLACE, lair, victim, FILES)
    try:
        assert attacker.stdout.readline() == "ready\n"
        done = load("--duration", "1s", TMPDIR=str(lair))
        assert done.returncode in (0, 1, 3), done.stderr
        # refused, if it was quicker than the first look
        assert done.returncode != 1 or "another user" in done.stderr or "cannot make" in done.stderr, done.stderr
        deadline = time.monotonic() + 10
        while not list(lair.glob("dwell-load.*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        (replaced,) = lair.glob("dwell-load.*")
        assert files(replaced / "inner") == FILES and files(victim) == FILES
        assert files(lair / "aside") == 0
    finally:
        attacker.kill()
        attacker.wait()


CAPABILITIES = "cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace,cap_net_admin+ep"

LIBRARY = """
#include <fcntl.h>
#include <unistd.h>
#include "dwell/work.h"

__attribute__((constructor)) static void loaded(void)
{
	close(open("%s", O_CREAT | O_WRONLY, 0666));
}

int dwell_work(struct dwell_work *work)
{
	while (!work->stopping(work)) work->sleep_ns(work, 10000000);
	return 0;
}
"""


@pytest.fixture
def lent(lair):
    """lent(mode, capabilities): a copy of dwell of root's with such a mode, and with capabilities."""

    def copy(mode=0o755, capabilities=CAPABILITIES):
        path = lair / "dwell"
        shutil.copy(DWELL, path)
        os.chown(path, 0, 65534)
        path.chmod(mode)
        if capabilities:
            subprocess.run(["setcap", capabilities, path], check=True)
        return path

    return copy


@pytest.fixture
def library(lair):
    """A library for the work type `custom`, and the file that it makes when it is loaded."""
    marker = lair / "loaded"
    (lair / "mine.c").write_text(LIBRARY % marker)
    include = pathlib.Path(__file__).parents[2] / "include"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", "-o", lair / "mine.so", lair / "mine.c"], check=True)
    (lair / "spec.yaml").write_text(f"work: {{type: custom, library: {lair}/mine.so}}\n")
    return lair / "mine.so", marker


def nobody(*arguments):
    return subprocess.run(
        [*NOBODY, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--dry-run", "--sweep", "workers=1..2:2"]])
@pytest.mark.parametrize("by", ["command line", "spec"])
def test_a_copy_with_capabilities_runs_no_code_of_its_user(lent, library, by, more):
    path, marker = library
    work = ["--work", f"custom:library={path}", "--workers", "1"] if by == "command line" else [path.parent / "spec.yaml"]
    done = nobody(lent(), "load", *work, "--duration", "200ms", "--quiet", *more)
    assert done.returncode == 2 and "capabilities that its user lacks" in done.stderr, done
    assert not marker.exists()
    # without them it does
    done = nobody(lent(capabilities=None), "load", *work, "--duration", "200ms", "--quiet", *more)
    assert done.returncode == 0, done.stderr
    assert marker.exists() == (not more)  # dry is dry


def test_programs_that_a_copy_with_capabilities_starts_have_none(lent, lair):
    found = lair / "found"
    script = lair / "script"
    script.write_text(f"#!/bin/sh\ngrep ^Cap /proc/self/status >> {found}\n")
    script.chmod(0o755)
    copy = lent()
    done = nobody(copy, "load", "--work", f"exec:command={script}", "--workers", "1", "--duration", "200ms", "--quiet")
    assert done.returncode in (0, 3), done.stderr
    done = nobody(copy, "top", "-i", "50ms", "-c", "1", "--format", "json", "--", script)
    assert done.returncode == 0, done.stderr
    sets = dict(line.split() for line in found.read_text().splitlines())
    for name in ("CapInh:", "CapPrm:", "CapEff:", "CapAmb:"):
        assert int(sets[name], 16) == 0, sets


def test_doctor_on_copies_with_capabilities(lent):
    done = nobody(lent(0o755), "doctor")
    assert "secrecy" in done.stdout and "chmod o-x" in done.stdout, done.stdout
    # the user nobody is in the group of this one
    done = nobody(lent(0o750), "doctor")
    assert "secrecy" not in done.stdout and "with all that dwell uses" in done.stdout, done.stdout


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_set_user_id_is_refused(lent, mode):
    copy = lent(mode, None)
    os.chown(copy, 0, 0)
    copy.chmod(mode)
    for arguments in (["top", "-c", "1"], ["load", "--work", "spin-wait"], ["--help"]):
        done = nobody(copy, *arguments)
        assert done.returncode == 1 and done.stderr.startswith("dwell: refuses to run set-user-ID"), done
        assert not done.stdout


HOSTILE = "a\x1b[2J\x9b\u061c\u180e\u202eb"


def harmless(text):
    """No character that moves, hides or turns anything."""
    hostile = [character for character in text if ord(character) < 0x20 and character != "\n" or 0x7F <= ord(character) < 0xA0
               or character in "\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"]
    assert not hostile, (hostile, text)


@pytest.mark.parametrize("screen", [["-v"], ["--format", "table"]])
def test_names_of_services_cannot_disturb_a_terminal(tmp_path, screen):
    service = tmp_path / f"{HOSTILE}\nx"
    shutil.copy(BUILD / "tests" / "loop-service", service)
    running = Service([service, "1", tmp_path])
    try:
        for _ in range(3):
            running.ask("sleep", 20)
        done = run("blocked", "-p", running.process.pid, "-d", "300ms", *screen)
    finally:
        running.end()
    assert done.returncode in (0, 3, 4), done.stderr
    assert "a?[2J" in done.stdout + done.stderr
    harmless(done.stdout + done.stderr)


def test_names_in_specs_cannot_disturb_a_terminal(tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text('name: "x\\e[2J\\u202Ey\\nverdict: pass"\nduration: 200ms\nwork: {type: spin-wait, workers: 1}\n', encoding="utf-8")
    for more in ([], ["--dry-run"], ["--save", tmp_path / "kept"]):
        done = run("load", spec, *more)
        assert done.returncode in (0, 2, 3), done
        harmless(done.stdout + done.stderr)
        assert "x?[2J?y?verdict: pass" in done.stdout + done.stderr, done


def test_files_and_options_of_any_name(tmp_path):
    """In messages about them."""
    for arguments in (["top", "--from", f"/tmp/{HOSTILE}"], ["report", f"/tmp/{HOSTILE}"], ["load", f"/tmp/{HOSTILE}"],
                      ["top", HOSTILE], ["load", "--work", HOSTILE], [HOSTILE], ["compare", f"/{HOSTILE}", f"/{HOSTILE}"],
                      ["guest", "--kernel", f"/tmp/{HOSTILE}", "--", "doctor"], ["guest", "--matrix", f"/tmp/{HOSTILE}"],
                      ["record", "-o", f"/nonexistent/{HOSTILE}", "-d", "100ms"]):  # fmt: skip
        done = run(*arguments)
        assert done.returncode in (1, 2) and done.stderr, done
        harmless(done.stdout + done.stderr)
        assert done.stderr.count("\n") <= 2, done.stderr


def test_names_that_a_spreadsheet_would_run(tmp_path):
    program = tmp_path / "=1+1"
    program.write_text("#!/bin/sh\nsleep 0.2\n")
    shutil.copy("/bin/sleep", program)
    done = run("top", "-i", "100ms", "-c", "1", "--format", "csv", "--", program, "0.3")
    assert done.returncode == 0, done.stderr
    cells = [cell for line in done.stdout.splitlines() for cell in line.split(",") if "1+1" in cell]
    assert cells and all(cell.startswith("'=1+1") for cell in cells), done.stdout


def test_a_time_namespace_with_another_clock():
    """Whose times would be wrong, or of no thread at all."""
    shifted = ["unshare", "-T", "--boottime", "1000", "--monotonic", "1000"]
    if subprocess.run([*shifted, "true"], capture_output=True).returncode:
        pytest.skip("no time namespaces here")
    done = subprocess.run([*shifted, DWELL, "top", "-c", "1", "-i", "100ms", "--format", "json"], capture_output=True, text=True)
    (interval,), _ = parse(done.stdout)
    assert done.returncode == 0 and interval["sources"] == ["procfs"] and "time namespace" in done.stderr
    for arguments in (["top", "-c", "1", "--source", "bpf"], ["blocked", "-p", str(os.getpid()), "-d", "100ms"]):
        done = subprocess.run([*shifted, DWELL, *arguments], capture_output=True, text=True)
        assert done.returncode == 1 and "time namespace" in done.stderr and not done.stdout, done
    done = subprocess.run([*shifted, DWELL, "doctor"], capture_output=True, text=True)
    assert done.returncode == 3 and "time namespace" in done.stdout


def test_descriptors(tmp_path):
    """As many as there may be, and no more than before for who is started."""
    limits = f"ulimit -Sn 200; exec {DWELL} top -i 60s --format json -- "
    done = subprocess.run(["bash", "-c", limits + f"bash -c 'ulimit -Sn > {tmp_path}/child'"], capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "child").read_text() == "200\n", done
    # each library is a file that is looked into when a thread waits in it
    library = next(pathlib.Path("/usr/lib").glob("*/libz.so.1"))
    script = ["import ctypes, sys, threading, time"]
    for number in range(300):
        shutil.copy(library, tmp_path / f"lib{number}.so")
    script += [f"for number in range(300): ctypes.CDLL('{tmp_path}/lib' + str(number) + '.so')", "print('loaded', flush=True)",
               "lock = threading.Lock(); lock.acquire(); threading.Thread(target=lock.acquire, daemon=True).start(); time.sleep(60)"]
    target = subprocess.Popen([sys.executable, "-c", "\n".join(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert target.stdout.readline() == "loaded\n"
        limits = f"ulimit -Sn 200; exec {DWELL} top -p {target.pid} -i 200ms -c 2 --format json"
        done = subprocess.run(["bash", "-c", limits], capture_output=True, text=True)
        intervals, _ = parse(done.stdout)
        states = [thread["state"] for thread in intervals[-1]["threads"]]
        assert done.returncode == 0 and len(states) == 2 and "Too many open files" not in done.stderr, (states, done.stderr)
    finally:
        target.kill()
        target.wait()
