"""Ways to load a server: single requests, wrk, many clients at once for one page, and idle connections."""

import json
import pathlib
import resource
import select
import socket
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CROWD = HERE / "floor" / "target" / "release" / "crowd"
HOST = "bench.test"


class Wrong(Exception):
    """A server did not respond with the page; it is left out of that row."""


def request_bytes(path, fields=(), method="GET"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_response(connection):
    """Reads one response; returns (all bytes, status, headers, length of the head)."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise Wrong("connection closed before the response head")
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
        complete = lambda: False  # delimited by the close of the connection
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


def curl(url, fields, *options):
    """Runs curl with these headers and its own `User-Agent` and `Accept`; without `Accept-Encoding` in `fields`, none is sent."""
    command = ["curl", "-sS", "--max-time", "30", *options, url]
    if not any(name == "Accept-Encoding" for name, _ in fields):
        command += ["-H", "Accept-Encoding:"]
    for name, value in (("Host", HOST), *fields):
        command += ["-H", f"{name}: {value}"]
    return subprocess.run(command, check=True, capture_output=True)


def curl_tls(server, path, fields, *options):
    """The same over TLS, with the host name of the certificate."""
    at = f"{HOST}:{server.tls_port}"
    return curl(f"https://{at}{path}", fields, "-k", "--resolve", f"{at}:127.0.0.1", *options)


def decoded_body(port, path, fields):
    """Returns the decoded body. curl is used because it supports gzip, br and zstd; Python supports only gzip."""
    return curl(f"http://127.0.0.1:{port}{path}", fields, "--compressed").stdout


def must_be_page(body, reference, way):
    """Raises unless the body is the expected page; the scheme of the page's links is ignored."""
    if body.replace(b"https:", b"http:") != reference.replace(b"https:", b"http:"):
        raise Wrong(f"the body over {way} differs from the upstream's")


def wrk(port, path, fields, seconds, connections=64, cores="1", threads=1, scheme="http"):
    """Runs wrk once; returns its report as a dictionary."""
    command = ["taskset", "--cpu-list", cores, "wrk", "-t", threads, "-c", connections, "-d", f"{seconds}s",
               "-s", HERE / "wrk" / "report.lua", "-H", f"Host: {HOST}"]
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    command.append(f"{scheme}://127.0.0.1:{port}{path}")
    output = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    return json.loads(output.strip().splitlines()[-1])


def ended_children():
    """Returns the CPU seconds of child processes that have exited."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured_wrk(server, path, fields, seconds, secure=False, **options):
    """Returns wrk's report with `cpu_us` (the server's CPU time per request), and the number of cores that the server (`busy`)
    and wrk (`client_busy`) used.

    A server that waits for wrk is woken more often than one with a queue, so each request costs more. A `busy` well below 1
    means that wrk was the limit and that `cpu_us` is rather too high. If both are well below 1, something else used the
    cores, and the figures mean little.
    """
    before, client_before = server.cpu(), ended_children()
    if secure:
        report = wrk(server.tls_port, path, fields, seconds, scheme="https", **options)
    else:
        report = wrk(server.port, path, fields, seconds, **options)
    spent, client_spent = server.cpu() - before, ended_children() - client_before
    if report["requests"] == 0:
        raise Wrong("no request got a response")
    report["cpu_us"] = spent * 1e6 / report["requests"]
    report["busy"] = spent / report["seconds"]
    report["client_busy"] = client_spent / report["seconds"]
    report["per_second"] = report["requests"] / report["seconds"]
    return report


def crowd(port, path, fields, clients, cores):
    """Sends one request from each of `clients` connected clients at once; returns the figures of floor/src/bin/crowd in ms.

    `slowest_late_ms` counts from the timestamp that php/timed.php sets in its response, `longest_ms` from the client's request.
    """
    done = subprocess.run(["taskset", "--cpu-list", cores, CROWD, str(port), str(clients), "X-Done-At"],
                          input=request_bytes(path, fields), capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        raise Wrong(done.stderr.decode(errors="replace").strip())
    return json.loads(done.stdout)


class Idle:
    """Keep-alive connections that had one response and stay open. Used as a context; `dead()` counts the lost ones."""

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
