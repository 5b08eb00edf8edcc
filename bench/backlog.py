#!/usr/bin/env python3
"""Measures the effect of net.core.somaxconn and tcp_max_syn_backlog (set by `myriad tune`) when thousands of clients connect at once.

    sudo bench/backlog.py [--clients 6000] [--rounds 3]

Each limit is set in a separate network namespace (unshare --net), so the settings of the machine do not change. If the queue is full, the
client's kernel retries after one second, which the visitor has to wait.
"""

import argparse
import pathlib
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from servers import free_port, myriad_binary, program

BOUNDS = (128, 4096, 16384)
CONFIGURATION = """daemon off; pid pid; error_log error.log; worker_processes 2; worker_rlimit_nofile 16384; events { worker_connections 8000; }
http { access_log off; server { listen 127.0.0.1:%d backlog=16384; return 200 here; } }
"""
PATIENCE = 20


def burst(port, clients):
    """Returns the seconds until each client has its response; all clients connect at once."""
    selector, begin, took = selectors.DefaultSelector(), time.monotonic(), []
    for _ in range(clients):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", port))
        selector.register(client, selectors.EVENT_WRITE)
    while selector.get_map() and time.monotonic() - begin < PATIENCE:
        for key, events in selector.select(1):
            client = key.fileobj
            try:
                if events & selectors.EVENT_WRITE:
                    client.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    selector.modify(client, selectors.EVENT_READ)
                    continue
                if client.recv(4096):
                    took.append(time.monotonic() - begin)
            except OSError:
                pass  # Counted as a client without a response.
            selector.unregister(client)
            client.close()
    if len(took) < clients:
        sys.exit(f"{clients - len(took)} of {clients} clients got no response within {PATIENCE} s")
    return sorted(took)


def row(bound, clients, rounds):
    """Prints the medians of the rounds; runs in a namespace in which the limit is set."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        (pathlib.Path(folder) / "myriad.conf").write_text(CONFIGURATION % port)
        server = subprocess.Popen([myriad_binary(), "-p", folder, "-c", "myriad.conf"], stderr=subprocess.DEVNULL)
        try:
            begin = time.monotonic()
            while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() - begin < PATIENCE:
                time.sleep(0.05)
            told = [burst(port, clients) for _ in range(rounds)]
        finally:
            server.terminate()
            server.wait()
    middle, late, last = (statistics.median(part) * 1000 for part in zip(*((took[len(took) // 2], took[len(took) * 99 // 100], took[-1]) for took in told)))
    print(f"| {bound:>6} | {middle:8.0f} ms | {late:6.0f} ms | {last:6.0f} ms |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=6000, help="clients that connect at once; each needs an open file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bound", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bound:
        return row(options.bound, options.clients, options.rounds)
    print(f"{options.clients} clients at once, medians of {options.rounds} rounds")
    print("| limit  | half are served | 99%       | all       |\n|--------|-----------------|-----------|-----------|", flush=True)
    for bound in BOUNDS:
        inner = f'ip link set lo up && {program("sysctl")} -qw net.core.somaxconn={bound} net.ipv4.tcp_max_syn_backlog={bound} && exec "$@"'
        subprocess.run(["unshare", "--net", "sh", "-c", inner, "sh", sys.executable, __file__, "--bound", str(bound), "--clients", str(options.clients), "--rounds", str(options.rounds)], check=True)
    return None


if __name__ == "__main__":
    main()
