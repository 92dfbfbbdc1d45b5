# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin that judges tests: what it makes of those that would never end."""
import json
import os
import subprocess
import sys

import verdicts

ENDLESS = """
import subprocess
import threading

def test_that_waits_for_a_program():
    with subprocess.Popen(["sleep", "1000"]):
        pass

def test_that_waits_for_a_thread():
    threading.Event().wait()

def test_that_ends():
    pass
"""


#: What has failed is seen, what measures is not run.
LATE = """
import pytest

@pytest.mark.measures
def test_that_measures():
    assert False

def test_that_fails():
    assert False
"""


def results_of(tests, directory, **variables):
    (directory / "test_it.py").write_text(tests)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(verdicts.__file__), "DWELL_REPEATS": "0", "DWELL_RESULTS": f"{directory}/results", **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "verdicts", "-p", "no:cacheprovider", directory]
    subprocess.run(command, cwd=directory, env=environment, stdout=subprocess.DEVNULL, timeout=100)
    return [json.loads(line) for line in (directory / "results").read_text().splitlines()]


def test_what_measures_is_inconclusive_where_no_time_is_left(tmp_path):
    measures, fails = results_of(LATE, tmp_path, DWELL_DEADLINE="0")
    assert measures["outcome"] == "inconclusive" and measures["why"] == "no time is left", measures
    assert fails["outcome"] == "failed"


def test_what_measures_runs_where_there_is_time(tmp_path):
    measures, fails = results_of(LATE, tmp_path, DWELL_DEADLINE="inf")
    assert measures["outcome"] in ("failed", "inconclusive") and "assert False" in measures["why"], measures


def test_what_does_not_end_fails(tmp_path):
    """And the next one runs, and nothing is left."""
    program, thread, ends = results_of(ENDLESS, tmp_path, DWELL_LIMIT="1")
    assert program["outcome"] == "failed" and "no end within 1 s; left running: sleep 1000" in program["why"], program
    assert thread["outcome"] == "failed" and "no end within 1 s; left running: nothing" in thread["why"], thread
    assert ends["outcome"] == "passed"
