# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell serve`: who may ask, and those that ask too much, too slowly or not by the rules."""
import base64
import contextlib
import http.client
import os
import pathlib
import resource
import signal
import socket
import ssl
import subprocess
import time

import pytest

from conftest import run
from serving import server, serving  # noqa: F401: a fixture

TOKEN = "0123456789abcdef0123456789abcdef"


def test_only_reading_is_allowed(server):
    for method in "POST", "PUT", "DELETE", "OPTIONS", "PATCH":
        status, headers, _ = server.ask("/metrics", method, body=b"x" * 1000)
        assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, headers, body = server.ask("/metrics", "HEAD")
    assert status == 200 and int(headers["Content-Length"]) > 1000 and not body


def test_a_target_may_name_its_server(server):
    """As for a proxy: RFC 9112, section 3.2.2."""
    address = f"http://127.0.0.1:{server.port}"
    assert server.ask(address + "/healthz")[2] == b"ok\n"
    assert b"dwell_threads" in server.ask("HTTP" + address[4:] + "/metrics")[2]
    assert server.ask(address)[1]["Content-Type"].startswith("text/html")
    assert server.ask(address + "/api/history?step=5&step=5")[0] == 400
    assert server.ask(address + "/nowhere")[0] == server.ask("/nowhere://x/healthz")[0] == 404
    assert server.ask(address + "/metrics", headers={"Host": "rebound.example"})[0] == 403


def test_pages_of_other_sites_get_nothing(server):
    assert server.ask("/metrics", headers={"Host": "rebound.example:9465"})[0] == 403
    for host in "[::1]rebound.example", "[::1", "localhost:rebound.example", "[localhost]", "":
        assert server.ask("/metrics", headers={"Host": host})[0] == 403, host
    assert server.ask("/metrics", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    for host in "localhost", "LOCALHOST:1", "127.0.0.1:9465", "[::1]:9465", "10.0.0.1":
        assert server.ask("/healthz", headers={"Host": host})[0] == 200
    _, headers, _ = server.ask("/")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Access-Control-Allow-Origin"] is None


def test_who_speaks_http_has_no_rights(server):
    served = []
    for pid in server.children():
        fields = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
        listens = any("socket:" in os.readlink(fd) and is_listening(os.readlink(fd), server.port) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir())
        if listens and fields["Seccomp"] == "2":
            served.append(fields)
    assert len(served) == 1
    assert int(served[0]["CapEff"], 16) == int(served[0]["CapPrm"], 16) == 0 and served[0]["NoNewPrivs"] == "1"
    assert "0" not in served[0]["Uid"].split()


def is_listening(link, port):
    inode = link[len("socket:["):-1]
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] == inode and fields[3] == "0A" and int(fields[1].split(":")[1], 16) == port:
            return True
    return False


def test_one_that_dies_is_replaced(server):
    server.metrics()
    for _ in range(3):
        victims = [pid for pid in server.children() if has_listener(pid, server.port) and not pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()]
        [os.kill(pid, signal.SIGKILL) for pid in victims if "Seccomp:\t2" in pathlib.Path(f"/proc/{pid}/status").read_text()]
        for _ in range(100):
            try:
                assert server.metrics()
                break
            except (OSError, AssertionError):
                time.sleep(0.1)
        else:
            raise AssertionError("it did not come back")


def link_of(fd):
    """Where it leads; "": it has been closed meanwhile."""
    with contextlib.suppress(OSError):
        return os.readlink(fd)
    return ""


def has_listener(pid, port):
    links = map(link_of, pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return any("socket:" in link and is_listening(link, port) for link in links)


def asks_again(connection):
    """In the connection there is."""
    connection.request("GET", "/healthz")
    return connection.getresponse().read() == b"ok\n"


HOSTILE = [b"", b"\x00" * 4000, b"GET " + b"/" * 60000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9000 + b"\r\n",
           b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
           b"GET /%00%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 200000,
           b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20]
#: more than the process that speaks HTTP has places for
CROWD = 1000


@pytest.fixture
def many_files():
    """For a crowd of connections."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 2 * CROWD:
        pytest.skip(f"no more than {limits[1]} files can be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2 * CROWD), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def connected(server, stack, count, begins):
    """So many connections, each of which has sent that and is held."""
    clients = []
    for _ in range(count):
        clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10)))
        clients[-1].sendall(begins)
    return clients


def attacked(server, count, hostile, at_once=100):
    """So many requests; some clients leave at once, others wait for an answer."""
    for first in range(0, count, at_once):
        with contextlib.ExitStack() as stack:
            for number, client in enumerate(connected(server, stack, at_once, b""), first):
                with contextlib.suppress(OSError):
                    client.sendall(hostile[number % len(hostile)])
                    client.settimeout(0.001)
                    if number % 3:
                        client.shutdown(socket.SHUT_WR)
                        client.recv(1000)


def test_hostile_requests_leave_it_serving(server):
    """What is no HTTP, too long, never ends, or comes in great numbers."""
    for _ in range(10):
        attacked(server, 1000, HOSTILE)
        assert server.metrics()


def test_those_that_never_ask_keep_no_one_out(server, many_files):
    """They have 15 s each, and there are more of them than places; the clients of this test have less."""
    with contextlib.ExitStack() as stack:
        clients = connected(server, stack, CROWD, b"GET /metrics HTTP/1.1\r\nHo")
        for _ in range(3):
            assert server.ask("/metrics", timeout=10)[0] == 200
        for client in clients:
            client.settimeout(60)
            assert client.recv(1000) == b""
    assert server.metrics()


def test_a_request_has_to_end(server):
    """Those who ask in time keep their connections meanwhile."""
    with contextlib.ExitStack() as stack:
        kept = connected(server, stack, 100, b"GET /metrics HTTP/1.1\r\nHo")
        regular = stack.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)))
        regular.auto_open = 0
        regular.connect()
        assert asks_again(regular)
        (slow,) = connected(server, stack, 1, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
        assert server.ask("/healthz")[0] == 200
        # who takes longer than that for a request is cut off, also one whose body comes byte by byte
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < began + 60:
                slow.sendall(b"x")
                time.sleep(0.5)
        assert time.monotonic() < began + 50
        # by now they are as far apart as scrapes
        assert asks_again(regular)
        for client in kept:
            client.settimeout(60)
            assert client.recv(1000) == b""
    assert server.metrics()


def test_those_that_take_no_answer_keep_no_one_out(server, many_files):
    """Each asks for more than fits on the way to it."""
    with contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(10)
            client.connect(("127.0.0.1", server.port))
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
        for _ in range(3):
            assert server.ask("/metrics", timeout=10)[0] == 200


def test_other_machines_need_a_token_and_tls(tmp_path):
    done = run("serve", "--listen", "0.0.0.0:0")
    assert done.returncode == 1 and "needs --tls-cert, --tls-key and --token-file, or --insecure" in done.stderr
    done = run("serve", "--tls-cert", "x")
    assert done.returncode == 2 and "need each other" in done.stderr
    with serving("--insecure", "-i", "1s", listen=":0") as server:
        assert server.metrics()


@pytest.fixture
def credentials(tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dwell", "-keyout",
                    tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True)
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    return ["--tls-cert", tmp_path / "cert", "--tls-key", tmp_path / "key", "--token-file", tmp_path / "token"]


def test_tls_and_token(credentials):
    with serving(*credentials, listen="0.0.0.0:0") as server:
        assert server.is_tls
        for header in None, "Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "x", "Basic !!!", "Basic " + base64.b64encode(b"x").decode(), TOKEN:
            status, headers, body = server.ask("/metrics", headers={"Authorization": header} if header else {})
            assert status == 401 and headers["WWW-Authenticate"].startswith("Basic"), header
            assert b"dwell_" not in body
            # for probes, which have no token
            assert server.ask("/healthz", headers={"Authorization": header} if header else {})[2] == b"ok\n"
        for header in "Bearer " + TOKEN, "Basic " + base64.b64encode(f"any:{TOKEN}".encode()).decode():
            assert server.ask("/metrics", headers={"Authorization": header})[0] == 200
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"dwell_" not in plain.recv(4000)


def client_hello():
    """The first that a client of TLS says."""
    says = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl._create_unverified_context().wrap_bio(ssl.MemoryBIO(), says, server_hostname="localhost").do_handshake()
    return says.read()


def await_end(client):
    """What has been sent until then is not looked at."""
    client.settimeout(60)
    with contextlib.suppress(ConnectionResetError):
        while client.recv(100_000):
            pass


def test_those_that_speak_no_tls_keep_no_one_out(credentials, many_files):
    """Or begin a handshake that never ends: more of them than places."""
    hello = client_hello()
    hostile = [b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x00" * 4000, os.urandom(4000), hello[:5], hello[:-1], hello,
               hello[:40] + bytes(len(hello) - 40), hello + b"\x17\x03\x03\x40\x00" + b"x" * 0x4000, b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x01\xff\xff"]
    with serving(*credentials, "-i", "1s") as server, contextlib.ExitStack() as stack:

        def answers():
            return server.ask("/metrics", headers={"Authorization": "Bearer " + TOKEN}, timeout=10)[0] == 200

        attacked(server, 1000, hostile)
        assert answers()
        clients = [client for begins in (hello, b"\x16") for client in connected(server, stack, CROWD // 2, begins)]
        assert all(answers() for _ in range(3))
        for client in clients:
            await_end(client)
        assert answers()


@pytest.mark.parametrize("text, mode, words", [
    (TOKEN, 0o644, "others can read it"),
    ("short", 0o600, "16 characters at least"),
    ("", 0o600, "16 characters at least"),
    ("with a space in it", 0o600, "printable characters"),
    (TOKEN + "\nsecond", 0o600, "printable characters"),
])
def test_bad_tokens_are_refused(tmp_path, text, mode, words):
    token = tmp_path / "token"
    token.write_text(text)
    token.chmod(mode)
    done = run("serve", "--listen", "127.0.0.1:0", "--token-file", token)
    assert done.returncode == 1 and words in done.stderr


@pytest.mark.parametrize("arguments, words", [
    (["--listen", "127.0.0.1"], "write HOST:PORT"),
    (["--listen", "127.0.0.1:99999"], "write HOST:PORT"),
    (["--listen", "203.0.113.1:0"], "cannot listen on"),
    (["--tls-cert", "/etc/hostname", "--tls-key", "/etc/hostname"], "not in PEM"),
    (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], "cannot read /nowhere"),
    (["--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"], "not a small plain file"),
    (["--token-file", "/nowhere"], "cannot read /nowhere"),
])
def test_what_cannot_be_served_is_explained(arguments, words):
    done = run("serve", *arguments)
    assert done.returncode == (2 if "write" in words else 1) and words in done.stderr, done.stderr


def test_a_key_of_another_certificate_is_refused(credentials, tmp_path):
    subprocess.run(["openssl", "genrsa", "-out", tmp_path / "key", "2048"], check=True, capture_output=True)
    done = run("serve", *credentials, "--listen", "127.0.0.1:0")
    assert done.returncode == 1 and "certificate or its key" in done.stderr


def test_a_port_that_is_taken(server):
    done = run("serve", "--listen", f"127.0.0.1:{server.port}")
    assert done.returncode == 1 and "in use; --listen takes another port" in done.stderr
