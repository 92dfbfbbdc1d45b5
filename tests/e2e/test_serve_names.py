# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of containers from an engine's socket, which may answer anything."""
import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import run
from loads import CGROUPS
from serving import serving

ID = "0123456789ab" + "c" * 52
OTHER = "ba9876543210" + "d" * 52


class Engine:
    """A socket as an engine has it; `answer(client)` answers each question, which has been read."""

    def __init__(self, path, answer):
        self.path, self.answer, self.questions = path, answer, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.peer, _, _ = struct.unpack("iII", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            with client, contextlib.suppress(OSError):
                self.questions.append(client.recv(1000))
                self.answer(client)


@contextlib.contextmanager
def engine(tmp_path, answer):
    made = Engine(tmp_path / "engine.sock", answer)
    try:
        yield made
    finally:
        made.socket.shutdown(socket.SHUT_RDWR)
        made.socket.close()


def containers(*named, **more):
    return json.dumps([{"Id": id, "Names": [name], **more} for id, name in named])


def http(body, status="200 OK"):
    return f"HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n".encode() + (body if isinstance(body, bytes) else body.encode())


def sends(*parts):
    return lambda client: [client.sendall(part) for part in parts]


@pytest.fixture
def cgroup():
    """As Docker names it, with a process in it."""
    if not CGROUPS:
        pytest.skip("there is no cgroup v2 hierarchy")
    path = CGROUPS[0] / "docker" / ID
    try:
        path.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    with subprocess.Popen(["sleep", "600"]) as process:
        (path / "cgroup.procs").write_text(str(process.pid))
        yield f"/docker/{ID}"
        process.kill()
        process.wait()
    for each in path, path.parent:
        with contextlib.suppress(OSError):
            each.rmdir()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def names_of(server):
    """{group: name} of the groups that are in a container."""
    found = {}
    for key in server.metrics():
        if key[0] == "dwell_group_info":
            labels = dict(zip(key[1::2], key[2::2]))
            if labels["container"]:
                found[labels["group"]] = labels["name"]
    return found


def failures(server):
    return server.metrics()["dwell_container_names_failures_total",]


def test_names_come_from_the_socket(tmp_path, cgroup):
    with engine(tmp_path, sends(http(containers((ID, "/web"), (OTHER, "/db"))))) as asked, \
            serving("-i", "1s", "--groups", "1000", "--container-names", f"unix://{asked.path}") as server:
        wait_for(lambda: server.metrics()["dwell_container_names",] == 2)
        wait_for(lambda: cgroup in names_of(server))
        assert names_of(server)[cgroup] == "web" and failures(server) == 0
    assert asked.questions[0].startswith(b"GET /containers/json HTTP/1.0\r\n")


def test_without_the_option_nothing_is_asked_and_no_label_is_there():
    with serving("-i", "1s") as server:
        metrics = server.metrics()
    assert not [key for key in metrics if key[0].startswith("dwell_container")]
    assert all("name" not in key[1::2] for key in metrics if key[0] == "dwell_group_info")


@pytest.mark.parametrize("name, shown", [
    ("/a\"b\\c\nd\x1b[31m", 'a"b\\c?d?[31m'),
    ("/" + "x" * 65536, "x" * 64),
    ("/" + "\u00e4" * 100, "\u00e4" * 32),
    ("no slash", "no slash"),
])
def test_names_are_printable_and_short(tmp_path, cgroup, name, shown):
    with engine(tmp_path, sends(http(containers((ID, name))))) as asked, \
            serving("-i", "1s", "--groups", "1000", "--container-names", asked.path) as server:
        wait_for(lambda: server.metrics()["dwell_container_names",] == 1)
        wait_for(lambda: cgroup in names_of(server))
        assert names_of(server)[cgroup] == shown


def endless(client):
    while True:
        client.sendall(b"x" * 65536)


def slow(client):
    for byte in http(containers((ID, "/web"))):
        client.sendall(bytes([byte]))
        time.sleep(1)


@pytest.mark.parametrize("answer, words", [
    (endless, "too long"),
    (slow, "too long to answer"),
    (sends(), "not in the format of Docker's API"),
    (sends(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "not in the format of Docker's API"),
    (sends(b"HTTP/1.0 200 OK\r\n"), "not in the format of Docker's API"),
    (sends(http("{}")), "not in the format of Docker's API"),
    (sends(http("[" * 100000)), "not in the format of Docker's API"),
    (sends(http(b'[{"Id": "' + ID.encode() + b'", "Names": ["\xff\xfe"]}]')), "not in the format of Docker's API"),
    (sends(http("no", "403 Forbidden")), "with an error"),
], ids=["endless", "slow", "closes", "http2", "cut", "object", "deep", "utf8", "error"])
def test_hostile_answers_leave_it_serving(tmp_path, answer, words):
    with engine(tmp_path, answer) as asked, serving("-i", "1s", "--container-names", asked.path) as server:
        wait_for(lambda: failures(server) >= 1)
        assert server.metrics()["dwell_container_names",] == 0
        server.stop()
        assert words in server.process.stderr.read()


def test_what_makes_no_sense_in_an_answer_is_left_out(tmp_path):
    odd = [None, 5, {}, {"Id": 5, "Names": ["/a"]}, {"Id": "xyz", "Names": ["/a"]}, {"Id": ID}, {"Id": ID, "Names": []}, {"Id": ID, "Names": [7]},
           {"Id": ID, "Names": ["/"]}, {"Id": OTHER, "Names": ["/kept", "/alias"]}]
    with engine(tmp_path, sends(http(json.dumps(odd)))) as asked, serving("-i", "1s", "--container-names", asked.path) as server:
        wait_for(lambda: server.metrics()["dwell_container_names",] == 1)
        assert failures(server) == 0


def test_more_containers_than_there_is_room_for(tmp_path):
    many = containers(*((f"{number:012x}", f"/c{number}") for number in range(5000)))
    with engine(tmp_path, sends(http(many))) as asked, serving("-i", "1s", "--container-names", asked.path) as server:
        wait_for(lambda: server.metrics()["dwell_container_names",] == 1024)


def test_who_reads_answers_has_no_rights(tmp_path):
    held = threading.Event()
    with engine(tmp_path, lambda client: held.wait(60)) as asked, serving("-i", "1s", "--container-names", asked.path) as server:
        wait_for(lambda: asked.questions)
        asker = pathlib.Path(f"/proc/{asked.peer}/task/{asked.peer}")
        (reader,) = (asker / "children").read_text().split()
        fields = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{reader}/status").read_text().splitlines() if ":\t" in line)
        assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0 and fields["Seccomp"] == "2" and fields["NoNewPrivs"] == "1"
        assert "0" not in fields["Uid"].split()
        # to its parent, and to the engine
        assert len([fd for fd in pathlib.Path(f"/proc/{reader}/fd").iterdir() if os.readlink(fd) != "/dev/null"]) == 2
        held.set()


@pytest.mark.parametrize("value", ["run/podman.sock", "tcp://localhost:2375", "unix://x", "/" + "x" * 200, ""], ids=["relative", "tcp", "uri", "long", "empty"])
def test_what_is_no_socket_is_refused(value):
    done = run("serve", "--container-names", value)
    assert done.returncode == 2 and "write the path of a socket" in done.stderr


def test_a_socket_that_is_not_there_is_tried_again(tmp_path):
    with serving("-i", "1s", "--container-names", tmp_path / "later.sock") as server:
        wait_for(lambda: failures(server) >= 1)
        server.stop()
        assert "No such file or directory; trying again" in server.process.stderr.read()
