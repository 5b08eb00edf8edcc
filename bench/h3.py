"""Load over HTTP/3: the client of bench/quic with ten connections of twenty streams, and its minimal server for comparison."""

import pathlib
import subprocess

import load

CONNECTIONS = 10
STREAMS = 20
BUILT = pathlib.Path(__file__).resolve().parent / "quic" / "target" / "release"


def build():
    """Builds the client and the minimal server."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", "target"], cwd=BUILT.parents[1], check=True)


def page(server, path, fields):
    """Returns headers and body of the page as the server sends them over TLS, for the minimal server to send."""
    head, _, body = load.curl_tls(server, path, fields, "--http1.1", "-i").stdout.partition(b"\r\n\r\n")
    of_http1 = (b"connection:", b"keep-alive:", b"transfer-encoding:")
    lines = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(of_http1)]
    return b"\n".join(lines) + b"\n", body


def measured(server, path, fields, seconds, cores):
    """Returns the report with the server's CPU time per request, as load.measured_wrk does."""
    _, body = page(server, path, fields) if server.name != "h3-bare" else (None, server.body)
    before, client_before = server.cpu(), load.ended_children()
    command = ["taskset", "--cpu-list", cores, BUILT / "h3-load", server.tls_port, load.HOST, path, CONNECTIONS, STREAMS, seconds]
    command += [f"{name}: {value}" for name, value in fields]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    spent, client_spent = server.cpu() - before, load.ended_children() - client_before
    requests, received, failures, _ = map(int, done.stdout.split())
    if requests == 0:
        raise load.Wrong(f"no request got a response: {done.stderr[:200]}")
    if received != requests * len(body):
        raise load.Wrong(f"{received / requests:.0f} bytes per page instead of {len(body)}")
    return {
        "requests": requests, "seconds": float(seconds), "bytes": received, "status_errors": 0, "socket_errors": failures,
        "p99_us": 0.0, "cpu_us": spent * 1e6 / requests, "busy": spent / float(seconds),
        "client_busy": client_spent / float(seconds), "per_second": requests / float(seconds),
    }
