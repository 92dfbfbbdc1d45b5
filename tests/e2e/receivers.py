# SPDX-License-Identifier: GPL-2.0-or-later
"""What figures are pushed to: a server that takes all, or answers as a test wants, and what it has got, decoded here and not by dwell."""
import contextlib
import email
import gzip
import http.server
import json
import socket
import ssl
import struct
import threading


def unpack_snappy(data):
    """Snappy's block format: format_description.txt."""
    wanted, at = varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        kind, upper = tag & 3, tag >> 2
        if kind == 0:
            length = upper + 1
            if upper >= 60:
                count = upper - 59
                length = int.from_bytes(data[at:at + count], "little") + 1
                at += count
            assert at + length <= len(data)
            out += data[at:at + length]
            at += length
            continue
        if kind == 1:
            length, offset = (upper & 7) + 4, (tag >> 5) << 8 | data[at]
            at += 1
        else:
            count = 2 if kind == 2 else 4
            length, offset = upper + 1, int.from_bytes(data[at:at + count], "little")
            at += count
        assert 0 < offset <= len(out)
        for _ in range(length):
            out.append(out[-offset])
    assert len(out) == wanted
    return bytes(out)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """A message of protocol buffers: {number: [value]}; values are ints, 8 bytes, or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        assert kind in (0, 1, 2), kind
        if kind == 0:
            value, at = varint(data, at)
        else:
            length = 8
            if kind == 2:
                length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        found.setdefault(key >> 3, []).append(value)
    return found


def one(message, number, default=None):
    value, = message.get(number, [default])
    return value


def double(data):
    return struct.unpack("<d", data)[0]


def integer(data):
    return struct.unpack("<q", data)[0]


def packed(data, form):
    return list(struct.unpack(f"<{len(data) // 8}{form}", data))


def key_of(name, labels):
    """As serving.samples() has it."""
    return (name, *(part for label in sorted(labels.items()) for part in label))


def remote_write(body):
    """({series: value}, {time, ms}, {family: (type, help, unit)})"""
    request = fields(unpack_snappy(body))
    samples, times = {}, set()
    for series in map(fields, request[1]):
        pairs = [(label[1][0].decode(), label[2][0].decode()) for label in map(fields, series[1])]
        assert pairs == sorted(pairs) and len(dict(pairs)) == len(pairs) and all(value for _, value in pairs), pairs
        labels = dict(pairs)
        sample = fields(one(series, 2))
        key = key_of(labels.pop("__name__"), labels)
        assert key not in samples
        samples[key] = double(one(sample, 1))
        times.add(one(sample, 2))
    metadata = {one(entry, 2).decode(): (one(entry, 1), one(entry, 4).decode(), one(entry, 5, b"").decode()) for entry in map(fields, request[3])}
    return samples, times, metadata


def attributes(entries):
    return {one(entry, 1).decode(): one(fields(one(entry, 2)), 1).decode() for entry in map(fields, entries)}


def otlp(body):
    """(attributes of the resource, {name: (kind, unit, [(attributes, value or histogram, start, time)])})"""
    resource = fields(one(fields(gzip.decompress(body)), 1))
    scope = fields(one(resource, 2))
    assert one(fields(one(scope, 1)), 1) == b"dwell"
    metrics = {}
    for metric in map(fields, scope[2]):
        (kind, number), = [(kind, number) for kind, number in (("gauge", 5), ("sum", 7), ("histogram", 9)) if number in metric]
        data = fields(one(metric, number))
        if kind != "gauge":
            assert one(data, 2) == 2, "cumulative"
        assert kind != "sum" or one(data, 3) == 1, "monotonic"
        points = []
        for point in map(fields, data.get(1, [])):
            if kind == "histogram":
                value = {"count": integer(one(point, 4)), "sum": double(one(point, 5)),
                         "buckets": packed(one(point, 6), "q"), "bounds": packed(one(point, 7), "d")}
                assert len(value["buckets"]) == len(value["bounds"]) + 1 and sum(value["buckets"]) == value["count"]
            else:
                value = double(point[4][0]) if 4 in point else integer(one(point, 6))
            labels = attributes(point.get(9 if kind == "histogram" else 7, []))
            points.append((labels, value, integer(point[2][0]) if 2 in point else None, integer(one(point, 3))))
        name = one(metric, 1).decode()
        assert name not in metrics
        metrics[name] = (kind, one(metric, 3, b"").decode(), points)
    return attributes(fields(one(resource, 1))[1]), metrics


def clickhouse(body):
    return [json.loads(line) for line in gzip.decompress(body).splitlines()]


def form(headers, body):
    """{name: bytes} of multipart/form-data."""
    whole = email.message_from_bytes(b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + body)
    assert whole.is_multipart() and not whole.defects
    return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in whole.get_payload()}


class Receiver:
    """`requests` has (path, headers, body) of each, `answers` the next [(status, headers, body)]; then 204."""

    def __init__(self):
        self.requests, self.answers, self.refused, self.always = [], [], [], None
        self.changed = threading.Condition()

    def answer_to(self, request):
        with self.changed:
            status, headers, body = self.answers.pop(0) if self.answers else self.always or (204, {}, b"")
            (self.requests if status < 300 else self.refused).append(request)
            self.changed.notify_all()
        return status, headers, body

    def wait(self, count=1, of="requests", seconds=120):
        """-> so many requests that were taken, or refused."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(getattr(self, of)) >= count, seconds), f"{len(self.requests)} taken, {len(self.refused)} refused"
            return list(getattr(self, of))

    def url(self, path=""):
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"


@contextlib.contextmanager
def receiving(port=0, certificate=None, receiver=None):
    """`certificate`: a file with one and its key."""
    receiver = receiver or Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, answer = receiver.answer_to((self.path, self.headers, body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        connections = []

        def get_request(self):
            connection, address = super().get_request()
            self.connections.append(connection)
            return connection, address

        def handle_error(self, request, address):
            pass  # a client that does not trust the certificate

    with Server(("127.0.0.1", port), Handler) as server:
        receiver.port, receiver.scheme = server.server_address[1], "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            receiver.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
            for connection in server.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
