# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for stripped programs from debug files on a server (debuginfod), only where the user has named one."""
import ctypes.util
import http.server
import json
import os
import re
import subprocess
import threading

import pytest

from conftest import run
from profiles import SHARES, Shares, build_id
from test_libraries import compile_into


class Server(http.server.ThreadingHTTPServer):
    """As debuginfod(8): /buildid/ID/debuginfo."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = files, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        file = self.server.files.get(self.path)
        self.send_response(200 if file else 404)
        if file:
            self.send_header("Content-Length", str(file.stat().st_size))
        self.end_headers()
        if file:
            self.wfile.write(file.read_bytes())

    def log_message(self, *_):
        pass


@pytest.fixture(name="stripped")
def fixture_stripped(tmp_path):
    """(program, build id, its debug file, which lies where nothing finds it)"""
    program, debug = tmp_path / "shares", tmp_path / "elsewhere" / "it"
    debug.parent.mkdir()
    compile_into(program, "gcc", "-O2", "-g", "-Wl,--build-id", SHARES / "shares.c", SHARES / "library.c")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", "--strip-all", program], check=True)
    return program, build_id(program), debug


def environment(cache, *urls):
    known = {name: value for name, value in os.environ.items() if not name.startswith("DEBUGINFOD_")}
    return dict(known, DEBUGINFOD_URLS=" ".join(urls), DEBUGINFOD_CACHE_PATH=str(cache), DEBUGINFOD_TIMEOUT="5")


def named(program, directory, env):
    """(functions of the program that have names, what is said beside)"""
    with Shares(program, directory) as shares:
        done = run("profile", "-p", shares.process.pid, "-d", "1s", "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])["functions"]
    functions = {row["function"] for row in rows if row["module"] == str(program)}
    assert functions, rows  # with names or without
    return {name for name in functions if "+0x" not in name}, done.stderr


needs_client = pytest.mark.skipif(not ctypes.util.find_library("debuginfod"), reason="libdebuginfod is not installed")


@needs_client
def test_names_from_a_server(stripped, tmp_path):
    program, its_id, debug = stripped
    path = f"/buildid/{its_id}/debuginfo"
    with Server({path: debug}) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        assert not named(program, tmp_path, environment(tmp_path / "cache"))[0]
        assert not server.asked
        names, _ = named(program, tmp_path, environment(tmp_path / "cache", url))
        assert {"main", "locks"} <= names, names
        assert path in server.asked
    # the server is gone: what is in the cache stays
    names, said = named(program, tmp_path, environment(tmp_path / "cache", url))
    assert {"main", "locks"} <= names, names
    # and does not serve who has not asked for it
    assert not named(program, tmp_path, environment(tmp_path / "cache"))[0]


@needs_client
def test_a_server_that_lies(stripped, tmp_path):
    """A debug file of another build: no name is better than a wrong one."""
    program, its_id, _ = stripped
    other = compile_into(tmp_path / "other", "gcc", "-O2", "-g", "-Wl,--build-id", SHARES / "shares.c", SHARES / "library.c", "-DOTHER", "-O1")
    assert build_id(other) != its_id
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\x7fELF" + os.urandom(4096))
    for file in (other, garbage):
        with Server({f"/buildid/{its_id}/debuginfo": file}) as server:
            names, _ = named(program, tmp_path, environment(tmp_path / f"cache-{file.name}", f"http://127.0.0.1:{server.server_port}"))
        assert not names, names


@needs_client
def test_a_server_that_has_nothing(stripped, tmp_path):
    """Nor one of an address that the client cannot ask, which it does not report."""
    program, _, _ = stripped
    with Server({}) as server:
        for number, url in enumerate((f"http://127.0.0.1:{server.server_port}", "gopher://127.0.0.1")):
            names, said = named(program, tmp_path, environment(tmp_path / f"cache-{number}", url))
            assert not names and re.fullmatch(r"dwell profile: debuginfod has none of \d+ debug files?; functions of stripped files have no names\n", said), said


@needs_client
def test_no_server(stripped, tmp_path):
    program, _, _ = stripped
    names, said = named(program, tmp_path, environment(tmp_path / "cache", "http://127.0.0.1:1"))
    assert not names
    assert "debuginfod" in said and len(said.splitlines()) == 1, said
