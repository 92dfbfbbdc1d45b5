# SPDX-License-Identifier: GPL-2.0-or-later
"""Text on a terminal: it breaks no line that dwell could have broken at a word."""
import pytest

from conftest import DWELL, TOP

RECORDING = TOP / "tests" / "golden" / "blame.dwell"


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_lines_of_a_report_fit(terminal, tmp_path, columns):
    """`script` keeps what was written: a terminal does not say where it has broken a line."""
    kept = tmp_path / "kept"
    screen = terminal(
        command=f"script -qec '{DWELL} report {RECORDING}' {kept}; echo status $?; sleep 60", columns=columns, rows=50
    )
    screen.wait("status 0")
    lines = kept.read_text().replace("\r", "").split("\n")[1:-2]
    assert any("When was it worst" in line for line in lines)
    assert not [line for line in lines if len(line) > columns]
    assert any("ended by its own http-4" in line for line in lines)
    assert any(" USER  SYS RUNQ" in line for line in lines)
