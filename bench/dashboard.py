#!/usr/bin/env python3
"""Measures the cost of an open dashboard: hits per second of one saturated worker, with the dashboard open and closed in alternation.

    bench/dashboard.py [--rounds 6] [--seconds 4] [--binary FILE]

Instead of a browser, which would use a core of this machine, the script sends the requests of the page: the live stream, and its lists
every five seconds. Worker and clients have one core each. Prints a table and the median of the pairs. The exit status is 1 if an open
dashboard costs more than 2 %.
"""

import argparse
import http.client
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from servers import MYRIAD

MOST = 0.02
LISTS = ["/reasons", "/tops?by=requests&limit=8", "/tops?by=misses&limit=8", "/tops?by=slow&limit=8", "/9/http/server_zones"]
CONF = """
worker_processes 1;
daemon off;
pid {folder}/myriad.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    proxy_cache_path {folder}/cache keys_zone=pages:8m;
    server {{ listen 127.0.0.1:{origin}; return 200 "{body}"; }}
    server {{
        listen 127.0.0.1:{site};
        location / {{ proxy_pass http://127.0.0.1:{origin}; proxy_cache pages; proxy_cache_valid 1h; }}
    }}
    server {{ listen 127.0.0.1:{board}; server_name localhost; location / {{ dashboard; }} }}
}}
"""


class Page(threading.Thread):
    """Sends the requests of an open dashboard page until it is closed."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.closed, self.ticks = port, threading.Event(), 0
        self.first = threading.Event()

    def run(self):
        lists = threading.Thread(target=self.lists, daemon=True)
        lists.start()
        stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        stream.request("GET", "/live", headers={"Accept": "text/event-stream"})
        answer = stream.getresponse()
        assert answer.status == 200, answer.read()
        while not self.closed.is_set():
            if answer.readline().startswith(b"event: tick"):
                self.ticks += 1
                self.first.set()
        stream.close()
        lists.join()

    def lists(self):
        while not self.closed.is_set():
            for path in LISTS:
                asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                asked.request("GET", path)
                asked.getresponse().read()
                asked.close()
            self.closed.wait(5)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def load(port, seconds):
    """Returns hits per second."""
    said = subprocess.run(["taskset", "-c", "1", "wrk", "-t1", "-c32", f"-d{seconds}", f"http://127.0.0.1:{port}/"],
                          capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    return float(re.search(r"Requests/sec:\s+([0-9.]+)", said)[1])


def measured(ports, rounds, seconds):
    """Returns pairs of hits per second, with the dashboard closed and open, and prints each; the order alternates."""
    pairs = []
    for number in range(rounds):
        pair = {}
        for is_open in [False, True] if number % 2 else [True, False]:
            page = Page(ports["board"])
            if is_open:
                page.start()
                assert page.first.wait(10), "no live event received"
            pair[is_open] = load(ports["site"], seconds)
            page.closed.set()
            if is_open:
                page.join()
                assert page.ticks >= seconds - 1, f"{page.ticks} live events in {seconds} seconds"
        pairs.append((pair[False], pair[True]))
        print(f"| {number + 1} | {pair[False]:,.0f} | {pair[True]:,.0f} | {pair[True] / pair[False] - 1:+.2%} |", flush=True)
    return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--binary", type=pathlib.Path, default=MYRIAD)
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    ports = {name: free_port() for name in ["origin", "site", "board"]}
    with tempfile.TemporaryDirectory() as folder:
        conf = pathlib.Path(folder, "myriad.conf")
        conf.write_text(CONF.format(folder=folder, body="x" * 1000, **ports))
        os.chmod(folder, 0o755)
        server = subprocess.Popen(["taskset", "-c", "0", options.binary, "-p", folder, "-c", conf, "-e", f"{folder}/error.log"])
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", ports["site"])) == 0:
                        break
                time.sleep(0.05)
            load(ports["site"], 1)
            print("| round | closed, hits per second | open | |\n|---|---|---|---|")
            pairs = measured(ports, options.rounds, options.seconds)
        finally:
            server.terminate()
            server.wait()
    change = statistics.median(after / before - 1 for before, after in pairs)
    print(f"\nan open dashboard changes hits per second by {change:+.2%} (median of {len(pairs)} pairs; limit: -{MOST:.0%})")
    return 0 if change >= -MOST else 1


if __name__ == "__main__":
    sys.exit(main())
