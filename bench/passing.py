#!/usr/bin/env python3
"""Measures forwarding to two upstreams in turn, with keep-alive on both sides: Myriad, nginx and HAProxy.

    make bench-passing                      all rounds; writes its table to bench/REPORT.md
    bench/passing.py --rounds 1             one round; prints the table

*CPU* is the CPU time of the server, per request and per GB, with wrk and 64 connections (8 for long bodies). *Latency* is that of one client
with one request after another, compared with direct requests to an upstream in the same rounds. Its 99th percentile shows the jitter.
"""

import argparse
import socket
import statistics
import sys
import time

import load
import report
from bench import OUT, hold_machine, turned
from servers import Server, Stand, Unavailable, free_port, myriad_binary, program

HEADING = "\n## Forwarding to two upstreams: Myriad, nginx and HAProxy\n"
SMALL, LARGE = 2 << 10, 16 << 20  # bytes
IN_TURN = 2000                    # requests of the single client in each round


class Passing(Stand):
    """The servers and the upstreams that they share."""

    def __init__(self, folder, cores, origin_cores):
        super().__init__(folder, folder, cores)
        self.origins = Server("origins", folder, 1, origin_cores)
        files = self.origins.folder / "files"
        files.mkdir()
        (files / "small").write_bytes(b"s" * SMALL)
        (files / "large").write_bytes(b"l" * LARGE)
        self.ports = []
        for name in ("first", "second"):
            port = free_port()
            path = self.configuration(self.origins, "files.conf", f"{name}.conf", origin=name, files=files, origin_port=port)
            self.origins.spawn([program("nginx"), "-p", self.origins.folder, "-c", path, "-e", self.origins.folder / "error.log"], port)
            self.ports.append(port)

    def begin(self, name):
        server = Server(name, self.folder, 1, self.cores)
        template = "passing.cfg" if name == "haproxy" else "passing.conf"
        path = self.configuration(server, template, first=self.ports[0], second=self.ports[1])
        common = ["-p", server.folder, "-c", path, "-e", server.folder / "error.log"]
        command = {"myriad": lambda: [myriad_binary(), *common], "nginx": lambda: [program("nginx"), *common],
                   "haproxy": lambda: [program("haproxy"), "-db", "-f", path]}[name]()
        server.spawn(command, server.port)
        return server


def latencies(port):
    """Returns the seconds of requests for the small file, one after another on one connection."""
    sent, taken = load.request_bytes("/small"), []
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(IN_TURN):
            began = time.perf_counter()
            connection.sendall(sent)
            status = load.read_response(connection)[1]
            taken.append(time.perf_counter() - began)
            if status != 200:
                raise load.Wrong(f"status {status}")
    return sorted(taken)


def measured(stand, servers, options):
    """Returns the figures of each server and of direct requests to the first upstream: medians of all rounds."""
    rounds = {name: [] for name in [*servers, "origin"]}
    cores = options.cores.split(",")[1]
    for number in range(-1, options.rounds):  # the first round is a warm-up
        for name in turned(rounds, max(number, 0)):
            figures = {}
            if name == "origin":
                alone = latencies(stand.ports[0])
            else:
                small = load.measured_wrk(servers[name], "/small", (), options.seconds, cores=cores)
                large = load.measured_wrk(servers[name], "/large", (), options.seconds, connections=8, cores=cores)
                for sample in (small, large):
                    if sample["status_errors"] + sample["socket_errors"]:
                        raise load.Wrong(f"{name}: failed requests under load")
                figures = {"cpu_us": small["cpu_us"], "seconds_per_gb": large["cpu_us"] / 1e6 * (1 << 30) / LARGE, "p99_load_us": small["p99_us"]}
                alone = latencies(servers[name].port)
            figures |= {"p50_us": statistics.median(alone) * 1e6, "p99_us": alone[int(len(alone) * 0.99)] * 1e6}
            if number >= 0:
                rounds[name].append(figures)
    return {name: {figure: statistics.median(entry[figure] for entry in taken) for figure in taken[0]} for name, taken in rounds.items()}


def table(results):
    """Returns the table, Myriad first."""
    origin = results.pop("origin")
    lines = []
    for name, figures in results.items():
        lines.append([name, f"{figures['cpu_us']:.1f} µs", f"{figures['seconds_per_gb']:.2f} s", f"{figures['p50_us'] - origin['p50_us']:.0f} µs",
                      f"{figures['p99_us'] - figures['p50_us']:.0f} µs", f"{figures['p99_load_us'] / 1000:.1f} ms"])
    heads = ["", f"CPU of a request, {SMALL >> 10} KB", "CPU of a GB", "added to the median latency", "jitter: 99th percentile minus median",
             "99th percentile under load"]
    return (report.table(heads, lines) + f"\n\nDirect requests of one client to an upstream take {origin['p50_us']:.0f} µs (median), "
            f"with {origin['p99_us'] - origin['p50_us']:.0f} µs of jitter.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="seconds of load per server, size and round")
    parser.add_argument("--cores", default="0,1", help="SERVER,CLIENT AND ORIGINS")
    options = parser.parse_args()
    lock = hold_machine()  # released when this process exits
    own, others = options.cores.split(",")
    stand, servers = Passing(OUT / "passing", own, others), {}
    try:
        for name in ("myriad", "nginx", "haproxy"):
            try:
                servers[name] = stand.begin(name)
            except Unavailable as problem:
                print(f"{name}: {problem}")
        text = table(measured(stand, servers, options))
    finally:
        for server in [*servers.values(), stand.origins]:
            server.stop()
        lock.close()
    print(text)
    if options.rounds >= 5:
        report.add_section(HEADING, f"{report.machine(argparse.Namespace())}\n\n{options.rounds} alternating rounds; medians.\n\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
