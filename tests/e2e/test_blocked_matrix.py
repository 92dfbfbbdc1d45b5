# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` beside the polls that a Tokio service noted itself: each two of build, runtime and kind of stall meet.

All of them: `make soak PART=matrix`; as a table: `tests/bench/polls`.
"""
import itertools
import subprocess

import pytest

import polls
from services import build_tokio, tokio_command

REQUESTS = 3


def test_each_two_values_meet():
    met = set().union(*map(polls.pairs_of, polls.pairwise()))
    values = [(axis, value) for axis, values in enumerate((polls.BUILDS, polls.RUNTIMES, polls.STALLS)) for value in values]
    for first, second in itertools.combinations(values, 2):
        possible = first[0] != second[0] and (first[1], second[1]) not in polls.IMPOSSIBLE
        assert ((first, second) in met) == possible, (first, second)


def test_the_builds_are_what_they_are_called():
    parts = subprocess.run(["readelf", "-hlSW", build_tokio("static-pie")], capture_output=True, text=True, check=True).stdout
    assert "DYN (" in parts and "INTERP" not in parts and " .symtab" in parts
    for build in ("plain", "cdylib"):
        assert ".debug_info" not in subprocess.run(["readelf", "-SW", build_tokio(build)], capture_output=True, text=True, check=True).stdout
    host, library = tokio_command("cdylib")
    assert library.suffix == ".so" and b"tokio" not in host.read_bytes()


@pytest.mark.measures
@pytest.mark.parametrize("build", polls.BUILDS)
def test_polls(build):
    chosen = [cell for cell in polls.pairwise() if cell[0] == build]
    total = polls.summed(polls.measure(chosen, REQUESTS))
    assert total.long >= 20
    assert not total.short_of(unknown_is_right=True), (total.figures(), total.complaints)
