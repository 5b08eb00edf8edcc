"""What is done to a server: raw requests, wrk, a crowd at one page, and connections that only stay."""

import json
import pathlib
import select
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
HOST = "bench.test"


class Wrong(Exception):
    """A server that answered something else than the page: it takes no part in that row."""


def request_bytes(path, fields=(), method="GET"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_response(connection):
    """One whole response as it stands on the wire: (all bytes, status, fields, length of its head)."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise Wrong("connection closed before a head came")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split(None, 2)[1])
    fields = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    if status not in (204, 304):
        body = read_body(connection, fields, body)
    return head + b"\r\n\r\n" + body, status, fields, len(head) + 4


def read_body(connection, fields, body):
    if "content-length" in fields:
        complete = lambda: len(body) >= int(fields["content-length"])
    elif "chunked" in fields.get("transfer-encoding", ""):
        complete = lambda: body.endswith(b"0\r\n\r\n")
    else:
        complete = lambda: False  # it ends with the connection
    while not complete():
        more = connection.recv(65536)
        if not more:
            break
        body += more
    return body


def fetch(port, path, fields=(), timeout=30):
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(request_bytes(path, fields))
        return read_response(connection)


def decoded_body(port, path, fields):
    """The body as a browser would show it: curl knows gzip, br and zstd, Python knows only the first."""
    command = ["curl", "-sS", "--compressed", "--max-time", "30", f"http://127.0.0.1:{port}{path}", "-H", f"Host: {HOST}"]
    if not any(name == "Accept-Encoding" for name, _ in fields):
        command += ["-H", "Accept-Encoding:"]  # curl's way to send none
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def wrk(port, path, fields, seconds, connections=64, cores="1", threads=1):
    """One run of wrk: its own report as a dictionary."""
    command = ["taskset", "--cpu-list", cores, "wrk", "-t", threads, "-c", connections, "-d", f"{seconds}s",
               "-s", HERE / "wrk" / "report.lua", "-H", f"Host: {HOST}"]
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    command.append(f"http://127.0.0.1:{port}{path}")
    output = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    return json.loads(output.strip().splitlines()[-1])


def measured_wrk(server, path, fields, seconds, **options):
    """wrk's report with `cpu_us`, the server's CPU time per request."""
    before = server.cpu()
    report = wrk(server.port, path, fields, seconds, **options)
    spent = server.cpu() - before
    if report["requests"] == 0:
        raise Wrong("no request was answered")
    report["cpu_us"] = spent * 1e6 / report["requests"]
    report["per_second"] = report["requests"] / report["seconds"]
    return report


def crowd(port, path, fields, clients):
    """`clients` connected clients ask at once; seconds until each has its whole answer, in order of arrival."""
    request = request_bytes(path, fields)
    waiting = {}
    poll = select.epoll()
    for _ in range(clients):
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        waiting[connection.fileno()] = [connection, b""]
        poll.register(connection.fileno(), select.EPOLLIN)
    start = time.monotonic()
    for connection, _ in waiting.values():
        connection.sendall(request)
    answered, deadline = [], start + 60
    while waiting and time.monotonic() < deadline:
        for number, _ in poll.poll(1):
            entry = waiting[number]
            more = entry[0].recv(262144)
            entry[1] += more
            if not more or is_whole(entry[1]):
                if not entry[1].startswith(b"HTTP/1.1 200") or not is_whole(entry[1]):
                    raise Wrong(f"a waiter got {entry[1][:60]!r}")
                answered.append(time.monotonic() - start)
                poll.unregister(number)
                waiting.pop(number)[0].close()
    if waiting:
        raise Wrong(f"{len(waiting)} of {clients} waiters got nothing within a minute")
    return answered


def is_whole(data):
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    head = head.lower()
    if b"\r\ncontent-length:" in head:
        return len(body) >= int(head.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
    return body.endswith(b"0\r\n\r\n")


class Idle:
    """Keep-alive connections that have had one answer and stay. Use as a context; `dead()` counts those lost."""

    def __init__(self, port, path, fields, count):
        self.connections = []
        request = request_bytes(path, fields)
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            self.connections.append(connection)
            connection.sendall(request)
            if read_response(connection)[1] != 200:
                raise Wrong("an idle connection's first request failed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()

    def dead(self):
        poll = select.poll()
        for connection in self.connections:
            poll.register(connection.fileno(), select.POLLIN | select.POLLHUP)
        return len(poll.poll(0))
