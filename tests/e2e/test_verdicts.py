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


def test_what_does_not_end_fails(tmp_path):
    """And the next one runs, and nothing is left."""
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(verdicts.__file__), "DWELL_LIMIT": "1", "DWELL_REPEATS": "0", "DWELL_RESULTS": f"{tmp_path}/results"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "verdicts", "-p", "no:cacheprovider", tmp_path]
    subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, timeout=100)
    program, thread, ends = map(json.loads, (tmp_path / "results").read_text().splitlines())
    assert program["outcome"] == "failed" and "no end within 1 s; left running: sleep 1000" in program["why"], program
    assert thread["outcome"] == "failed" and "no end within 1 s; left running: nothing" in thread["why"], thread
    assert ends["outcome"] == "passed"
