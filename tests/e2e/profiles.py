# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile` as tests ask for it, and a program that knows its shares."""
import collections
import json
import math
import pathlib
import re
import subprocess

from conftest import run
from test_libraries import compile_into

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
SHARES = FIXTURES / "shares"
ON_CPU = {"user": "cpu", "kernel": "cpu"}

#: name: flags; of all but the first the library is a part of the program
BUILDS = {
    "shared": ["-O2", "-g"],
    "static": ["-O2", "-g", "-static"],
    "lto": ["-O2", "-g", "-flto", "-no-pie", "-fomit-frame-pointer"],
    "frame-pointers": ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"],
    "separate-debug": ["-O2", "-g"],
}


def build_shares(build, directory):
    program = directory / "shares"
    if build == "shared":
        library = compile_into(directory / "libshares.so", "gcc", "-O2", "-g", "-fPIC", "-shared", SHARES / "library.c")
        return compile_into(program, "gcc", *BUILDS[build], "-rdynamic", SHARES / "shares.c", library, f"-Wl,-rpath,{directory}")
    compile_into(program, "gcc", *BUILDS[build], SHARES / "shares.c", SHARES / "library.c")
    if build == "separate-debug":
        debug = directory / "shares.debug"
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", "--strip-all", program], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    return program


class Shares:
    """The program, which goes on until end(); then truth: {(function, state): ns}."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen([program, directory / "data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def end(self):
        rest, _ = self.process.communicate("\n", timeout=30)
        lines = (line.split() for line in rest.splitlines())
        return {(function, state): int(ns) for function, state, ns in lines}


def profile(*arguments, **options):
    done = run("profile", *arguments, "--format", "json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def shown_ns(result):
    return sum(state["total_ns"] for state in result["states"] if state["wanted"])


def shares_of(result):
    """{(function, state): (share, standard error)}: time in it and in what it calls."""
    shown, sums = shown_ns(result), collections.defaultdict(lambda: [0, 0])
    for row in result["functions"]:
        key = row["function"], ON_CPU.get(row["state"], row["state"])
        sums[key][0] += row["total_ns"]
        sums[key][1] += row["total_error_ns"] ** 2
    return {key: (ns / shown, math.sqrt(variance) / shown) for key, (ns, variance) in sums.items()}


def build_id(file):
    notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


STACKS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "stacks.dwell"
