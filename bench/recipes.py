#!/usr/bin/env python3
"""Repeats commonly published load tests on loopback with Apache, nginx, Varnish, HAProxy and Myriad.

    make bench-recipes                                        adds its table to bench/REPORT.md
    bench/recipes.py --runs keep-alive,c100 --servers nginx   some runs; prints the table
    bench/recipes.py --quick                                  a hundredth of the requests, to check that everything works

Each run is one call of ab (or our own client for a fixed rate), limited by requests and seconds. All servers use the same two
cores, and ab runs on the same machine, as in the published tests, so the figures are those of a whole small machine. The CPU
time per request shows the share of the server.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import resource
import selectors
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import time

import load
import report
from bench import OUT, PROJECT, prepare_site
from rows import GZIP
from servers import HERE, Stand, Unavailable

SERVERS = ["myriad", "nginx", "varnish", "haproxy", "apache"]
LONGEST = 30  # maximum seconds of a run of ab
HEADING = "\n## The published runs, repeated\n"


@dataclasses.dataclass
class Run:
    name: str
    words: str
    ab: tuple = ()
    gzip: bool = False
    tls: bool = False
    rate: int = 0       # requests per second that our own client sends, instead of ab
    ramp: bool = False
    parts: bool = False
    only: tuple = tuple(SERVERS)


def ab_run(name, concurrency, number=None, seconds=None, keep=False, **more):
    words = f"c {concurrency}" + (f" n {number}" if number else f" t {seconds}") + (" -k" if keep else "")
    # -t before -n: the run stops at the first limit that is reached.
    arguments = ("-c", concurrency, "-t", seconds or LONGEST, "-n", number or 5_000_000, *(("-k",) if keep else ()))
    return Run(name, "ab " + words + (", Accept-Encoding: gzip" if more.get("gzip") else ""), arguments, **more)


RUNS = [
    ab_run("c100", 100, 100_000),
    ab_run("keep-alive", 100, 50_000, keep=True),
    ab_run("c500", 500, 6_000, keep=True),
    ab_run("c500-gzip", 500, 6_000, keep=True, gzip=True),
    ab_run("thirty-seconds", 10, seconds=30, keep=True, gzip=True),
    *[ab_run(f"c{clients}-n{number}", clients, number, gzip=True)
      for clients in (100, 1000) for number in (100, 1_000, 10_000, 100_000) if number >= clients],
    ab_run("c10000", 10_000, 50_000, keep=True, gzip=True),
    Run("whole-page", "a page with all resources (1.6 MB), 10 visitors at a time, 500 visits", parts=True, gzip=True),
    Run("held", "10,000 requests per second for 10 s", rate=10_000, gzip=True),
    Run("ramped", "from 0 to 10,000 requests per second in 10 s", rate=10_000, ramp=True, gzip=True),
    Run("held-tls", "10,000 requests per second for 10 s, HTTPS", rate=10_000, gzip=True, tls=True),
    Run("ramped-tls", "from 0 to 10,000 requests per second in 10 s, HTTPS", rate=10_000, ramp=True, gzip=True, tls=True),
]


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    site = prepare_site(options.site)
    make_parts(site / "wordpress")
    stand = Stand(site, OUT / "recipes", "0,1")
    lines = []
    try:
        for name in options.servers or SERVERS:
            try:
                server = stand.start(name)
            except Unavailable as problem:
                print(f"{name}: {problem}")
                lines.append([name, "all", str(problem).splitlines()[0]] + [""] * 8)
                continue
            try:
                lines += serve_runs(server, options)
            finally:
                server.stop()
    finally:
        subprocess.run([PROJECT / "scripts" / "site", "stop", site], check=False)
    write(lines, options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--runs", type=names, default=[], help=",".join(run.name for run in RUNS))
    parser.add_argument("--servers", type=names, default=[], help=",".join(SERVERS))
    parser.add_argument("--quick", action="store_true", help="a hundredth of the requests")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of each run; the table has mean and deviation")
    parser.add_argument("--site", type=pathlib.Path, default=OUT / "site")
    return parser.parse_args()


HEADS = ["server", "run", "requests/s", "± %", "p50 ms", "p90 ms", "p99 ms", "slowest ms", "failed", "MB", "CPU µs"]


def serve_runs(server, options):
    lines = []
    for run in RUNS:
        if options.runs and run.name not in options.runs:
            continue
        if run.tls and not server.tls_port:
            lines.append([server.name, run.words, "no TLS here"] + [""] * 8)
            continue
        try:
            samples = repeated(server, run, options)
        except (load.Wrong, OSError, subprocess.SubprocessError) as problem:
            lines.append([server.name, run.words, f"failed: {str(problem).splitlines()[0][:80]}"] + [""] * 8)
            print(f"{server.name}: {run.words}: {problem}", flush=True)
            continue
        lines.append([server.name, run.words, *columns(samples)])
        print("  ".join(map(str, lines[-1])), flush=True)
    return lines


def repeated(server, run, options):
    """Returns the samples of a run; a run that used up its time is not repeated."""
    samples = []
    for _ in range(1 if options.quick else options.repeats):
        start = time.monotonic()
        samples.append(sample(server, run, options))
        if time.monotonic() - start > LONGEST - 1 and run.name != "thirty-seconds":
            break
    return samples


def columns(samples):
    rates = [sample["rate"] for sample in samples]
    mean = statistics.mean(rates)
    deviation = statistics.stdev(rates) / mean * 100 if len(rates) > 1 else 0
    middle = lambda name: statistics.median(sample[name] for sample in samples)
    return [f"{mean:.0f}", f"{deviation:.0f}", *[f"{middle(name):.1f}" for name in ("p50", "p90", "p99", "slowest")],
            sum(sample["failed"] for sample in samples), f"{middle('bytes') / 1e6:.1f}", f"{middle('cpu_us'):.1f}"]


def sample(server, run, options):
    """Runs once, with the page already stored; returns figures in ms, bytes and requests per second."""
    fields = (GZIP,) if run.gzip else ()
    for _ in range(3):
        load.fetch(server.port, "/", fields)
    before = server.cpu()
    if run.rate:
        figures = paced(server, run, fields, 1 if options.quick else 10)
    elif run.parts:
        figures = visits(server, fields, 5 if options.quick else 500)
    else:
        figures = ab(server, run, fields, options.quick)
    figures["cpu_us"] = (server.cpu() - before) * 1e6 / max(1, figures["requests"])
    return figures


def ab(server, run, fields, quick):
    arguments = [str(word) for word in run.ab]
    if quick:
        shorter = {"-n": lambda n, c: max(c, n // 100), "-t": lambda t, c: 1, "-c": lambda n, c: n}
        clients = int(arguments[1])
        arguments = [str(shorter[arguments[at - 1]](int(word), clients)) if at and arguments[at - 1] in shorter else word
                     for at, word in enumerate(arguments)]
    command = ["ab", "-q", "-r", "-s", "30", *arguments, "-H", f"Host: {load.HOST}"]
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    done = subprocess.run([*command, f"http://127.0.0.1:{server.port}/"], capture_output=True, text=True, timeout=LONGEST * 4)
    if done.returncode:
        raise load.Wrong(done.stderr.strip() or "ab failed")
    number = lambda pattern: float((re.search(pattern, done.stdout) or [0, "0"])[1])
    # ab counts each response with another length than the first as failed. Here, non-2xx and broken responses count.
    broken = sum(int(n) for n in re.findall(r"(?:Connect|Receive|Exceptions): (\d+)", done.stdout))
    percentile = lambda n: number(rf"\n\s+{n}%\s+(\d+)")
    return {"rate": number(r"Requests per second:\s+([\d.]+)"), "requests": number(r"Complete requests:\s+(\d+)"),
            "p50": percentile(50), "p90": percentile(90), "p99": percentile(99), "slowest": percentile(100),
            "failed": broken + int(number(r"Non-2xx responses:\s+(\d+)")), "bytes": number(r"Total transferred:\s+(\d+)")}


# --- a page with all its resources -------------------------------------------------------------------------------------

PICTURES = 13


def make_parts(root):
    """Creates images that do not compress, so that the home page with its resources has about 1.6 MB."""
    folder = root / "wp-content" / "uploads" / "parts"
    if not folder.exists():
        folder.mkdir(parents=True)
        for number in range(PICTURES):
            (folder / f"{number}.jpg").write_bytes(os.urandom(120_000))


def visits(server, fields, count):
    """Makes `count` visits, ten at a time. Each is one connection that fetches the page and its resources one after another."""
    page = load.fetch(server.port, "/", ())[0].decode("utf-8", "replace")
    linked = re.findall(rf'(?:href|src)=.http://{load.HOST}(/[^\'"]+\.(?:css|js)[^\'"]*)', page)
    parts = ["/", *dict.fromkeys(linked), *[f"/wp-content/uploads/parts/{number}.jpg" for number in range(PICTURES)]]
    requests = [load.request_bytes(path, fields) for path in parts]
    selector, running, times, failed, received, begun = selectors.DefaultSelector(), 0, [], 0, 0, 0
    start = time.monotonic()

    def begin():
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        connection.sendall(requests[0])
        selector.register(connection, selectors.EVENT_READ, {"at": 0, "answer": Answer(), "start": time.monotonic()})

    while begun < min(10, count):
        begin()
        begun += 1
    running = begun
    while running:
        for key, _ in selector.select(30):
            connection, visit = key.fileobj, key.data
            more = connection.recv(262144)
            answer = visit["answer"]
            if more and not answer.takes(more):
                continue
            received += answer.size
            failed += not answer.head.startswith(b"HTTP/1.1 200") or not more
            visit["answer"], visit["at"] = Answer(), visit["at"] + 1
            if more and visit["at"] < len(requests):
                connection.sendall(requests[visit["at"]])
                continue
            times.append((time.monotonic() - visit["start"]) * 1000)
            selector.unregister(connection)
            connection.close()
            running -= 1
            if begun < count:
                begin()
                begun, running = begun + 1, running + 1
    elapsed = time.monotonic() - start
    return distribution(times, elapsed, failed, received, count * len(requests))


# --- a fixed rate ------------------------------------------------------------------------------------------------------


def paced(server, run, fields, seconds):
    """Sends requests at fixed times on 200 connections, whether earlier ones got a response or not.

    The duration of a request counts from its planned time, so that requests delayed by a stalled server count as slow."""
    connections = [connect(server.tls_port if run.tls else server.port, run.tls) for _ in range(200)]
    selector = selectors.DefaultSelector()
    for connection in connections:
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ)
    request, idle = load.request_bytes("/", fields), list(connections)
    state = {}
    total = int(run.rate * seconds / (2 if run.ramp else 1))
    due = (lambda n: seconds * (n / total) ** 0.5) if run.ramp else (lambda n: n / run.rate)
    start, sent, times, failed, received = time.monotonic(), 0, [], 0, 0
    while len(times) + failed < total and time.monotonic() - start < seconds + 20:
        now = time.monotonic() - start
        while sent < total and idle and due(sent) <= now:
            connection = idle.pop()
            state[connection] = Answer(), start + due(sent)
            connection.sendall(request)
            sent += 1
        for key, _ in selector.select(0.0005):
            connection = key.fileobj
            answer, since = state[connection]
            whole, ended = receive(connection, answer)
            if not ended and not whole:
                continue
            received += answer.size
            if whole and answer.head.startswith(b"HTTP/1.1 200"):
                times.append((time.monotonic() - since) * 1000)
            else:
                failed += 1
            if ended:
                selector.unregister(connection)
            else:
                idle.append(connection)
    elapsed = time.monotonic() - start
    for connection in connections:
        connection.close()
    return distribution(times, elapsed, total - len(times), received, total)


def receive(connection, answer):
    """Reads all available data; returns whether the response is complete and whether the connection was closed. TLS may
    have buffered data that a selector does not see."""
    whole = False
    while True:
        try:
            more = connection.recv(262144)
        except (ssl.SSLWantReadError, BlockingIOError):
            return whole, False
        if not more:
            return whole, True
        whole = answer.takes(more)


def connect(port, tls):
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    if not tls:
        return connection
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connection)


def distribution(times, elapsed, failed, received, requests):
    if not times:
        raise load.Wrong("no request got a response")
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))]
    return {"rate": len(times) / elapsed, "requests": requests, "p50": at(0.5), "p90": at(0.9), "p99": at(0.99),
            "slowest": times[-1], "failed": failed, "bytes": received}


class Answer:
    """Parses one response incrementally. The body is counted, not stored, so that the client's cost does not depend on
    the size of the pieces."""

    def __init__(self):
        self.head, self.tail, self.size, self.length = b"", b"", 0, None

    def takes(self, piece):
        """Adds a piece; returns whether the response is complete, by its length or its last chunk."""
        self.size += len(piece)
        if not self.head:
            self.tail += piece
            head, end, body = self.tail.partition(b"\r\n\r\n")
            if not end:
                return False
            self.head, self.tail = head, body[-5:]
            length = re.search(rb"\r\ncontent-length: *(\d+)", head.lower())
            self.length = len(head) + 4 + int(length[1]) if length else None
        else:
            self.tail = (self.tail + piece[-5:])[-5:]
        return self.size >= self.length if self.length is not None else self.tail == b"0\r\n\r\n"


def write(lines, options):
    """Writes the section as the last one of bench/REPORT.md; a run of some rows is written to bench/out/ instead."""
    partial = options.runs or options.servers or options.quick
    path = (OUT if partial else HERE) / "REPORT.md"
    text = (f"{HEADING}\n{report.machine(options)}\n\nOne worker per server, both cores shared with the client; mean and deviation of {options.repeats} "
            f"repeats; the last column is the CPU time of the server's processes per request.\n\n{report.table(HEADS, lines)}\n")
    earlier = report.without_section(path.read_text() if path.exists() else "# Bench\n", HEADING)
    path.write_text(earlier.rstrip() + "\n" + text)
    print(f"written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
