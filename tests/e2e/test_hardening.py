# SPDX-License-Identifier: GPL-2.0-or-later
"""How the program is built: what makes a mistake in a parser harder to use."""
import subprocess

import pytest

from conftest import DWELL


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, DWELL], capture_output=True, text=True, check=True).stdout


def test_it_is_at_no_fixed_address():
    assert "DYN (" in readelf("-h")


def test_what_is_relocated_is_read_only():
    assert "GNU_RELRO" in readelf("-l")
    assert "NOW" in readelf("-d")


def test_no_memory_is_writable_and_executable():
    for line in readelf("-l").splitlines():
        if line.split()[:1] in (["LOAD"], ["GNU_STACK"]):
            flags = "".join(word for word in line.split()[6:-1])
            assert not ("W" in flags and "E" in flags), line
    assert any(line.split()[:1] == ["GNU_STACK"] for line in readelf("-l").splitlines())


@pytest.mark.parametrize("symbol", ["__stack_chk_fail", "__fread_chk", "__snprintf_chk", "__vsnprintf_chk"])
def test_stacks_and_buffers_are_checked(symbol):
    assert f" {symbol}@" in readelf("--dyn-syms"), symbol
