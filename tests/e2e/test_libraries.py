# SPDX-License-Identifier: GPL-2.0-or-later
"""Each way in which a library waits is recognized, whatever it was built with; where nothing has a name it is unknown, and never wrong."""
import pathlib
import shutil
import subprocess

import pytest

from conftest import parse, run

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
C, RUST = FIXTURES / "library-waits.c", FIXTURES / "library-waits.rs"
FUTEX = {"lock", "idle"}  # the same system call for the kernel

#: name: (command, where everything is recognized)
BUILDS = {
    "glibc": (["gcc", "-O2", C], True),
    "glibc-stripped": (["gcc", "-O2", "-s", C], True),
    "glibc-O0": (["gcc", "-O0", "-fcf-protection=none", C], True),
    "glibc-no-plt": (["gcc", "-O2", "-fno-plt", "-fcf-protection", C], True),
    "glibc-static": (["gcc", "-O2", "-static", C], True),
    "glibc-static-stripped": (["gcc", "-O2", "-static", "-s", C], False),
    "musl": (["musl-gcc", "-O2", C], True),
    "musl-stripped": (["musl-gcc", "-O2", "-s", C], True),
    "musl-static": (["musl-gcc", "-O2", "-static", C], True),
    "musl-static-stripped": (["musl-gcc", "-O2", "-static", "-s", C], False),
    "rust": (["rustc", "-O", RUST], True),
    "rust-debug": (["rustc", "-g", RUST], True),
    "rust-stripped": (["rustc", "-O", "-C", "strip=symbols", RUST], False),
}


@pytest.mark.parametrize("build", BUILDS)
def test_waits_of_a_library(build, tmp_path):
    command, recognized = BUILDS[build]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    program = tmp_path / "waits"
    subprocess.run([*command, "-o", program], check=True, capture_output=True)
    intervals, ended = parse(run("top", "-i", "10s", "--format", "json", "--", program).stdout)
    assert ended["status"] == 0
    seen = {}
    for thread in intervals[-1]["threads"]:
        way, _, right = thread["comm"].partition("=")
        if right:
            states = {state: ns for state, ns in thread["states_ns"].items() if ns}
            seen[way] = max(states, key=states.get), right, states
    wrong = [
        (way, states) for way, (most, right, states) in seen.items()
        if most != right and not (most == "unknown" and right in FUTEX and not recognized)
    ]  # fmt: skip
    assert len(seen) == 12 and not wrong, (wrong, seen)
