"""Load over HTTP/2: h2load with ten connections of twenty streams, over TLS."""

import re
import subprocess

import load

CONNECTIONS = 10
STREAMS = 20


def check(server, path, fields, reference):
    """Raises unless curl gets the expected page over HTTP/2."""
    done = load.curl_tls(server, path, fields, "--http2", "--compressed", "-w", "%{stderr}%{http_version}")
    if done.stderr.strip() != b"2":
        raise load.Wrong(f"speaks HTTP/{done.stderr.decode().strip()}")
    load.must_be_page(done.stdout, reference, "HTTP/2")


def h2load(port, path, fields, amount, cores):
    """Returns the output of h2load; `amount` contains its options for the number of requests and connections."""
    command = ["taskset", "--cpu-list", cores, "h2load", "-t", "1", "-m", STREAMS, *amount, f"--connect-to=127.0.0.1:{port}"]
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    # nginx refuses a `Host` that differs from `:authority`.
    command.append(f"https://{load.HOST}:{port}{path}")
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def report(output):
    """Returns h2load's report as a dictionary with wrk's names; the latency is that of the slowest request."""
    def number(pattern):
        found = re.search(pattern, output)
        if not found:
            raise load.Wrong(f"the output of h2load has no {pattern}")
        return float(found.group(1))

    slowest = re.search(r"time for request:\s+\S+\s+([\d.]+)(us|ms|s)", output)
    unit = {"us": 1, "ms": 1e3, "s": 1e6}
    finished = re.search(r"finished in ([\d.]+)(us|ms|s)", output)
    if not finished:
        raise load.Wrong("the output of h2load has no 'finished in'")
    requests = number(r"(\d+) succeeded")
    return {
        "requests": requests, "seconds": float(finished.group(1)) * unit[finished.group(2)] / 1e6, "bytes": number(r"traffic: \S+ \((\d+)\) total"),
        # Responses with a head before the time limit count as status codes, but not as requests.
        "status_errors": max(0, requests - number(r"status codes: (\d+) 2xx")),
        "socket_errors": number(r"(\d+) failed") + number(r"(\d+) timeout"),
        "p99_us": float(slowest.group(1)) * unit[slowest.group(2)] if slowest else 0.0,
    }


def measured(server, path, fields, seconds, cores):
    """Returns the report with the server's CPU time per request, as load.measured_wrk does."""
    before, client_before = server.cpu(), load.ended_children()
    figures = report(h2load(server.tls_port, path, fields, ("-c", CONNECTIONS, "-D", seconds), cores))
    spent, client_spent = server.cpu() - before, load.ended_children() - client_before
    if figures["requests"] == 0:
        raise load.Wrong("no request got a response")
    figures["cpu_us"] = spent * 1e6 / figures["requests"]
    figures["busy"] = spent / figures["seconds"]
    figures["client_busy"] = client_spent / figures["seconds"]
    figures["per_second"] = figures["requests"] / figures["seconds"]
    return figures
