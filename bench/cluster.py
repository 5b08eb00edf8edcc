#!/usr/bin/env python3
"""Measures a cluster: three nodes and redis-server on the loopback interface, under a load of other requests.

    bench/cluster.py [--purges 10000] [--cold 1000] [--binary FILE]

Cold pages: the same pages are requested from all nodes at the same time. Each page must be fetched once, and all nodes must send the same content.

Purges: before each purge, all nodes have the page in their cache, and its content changes. The purge is sent to the nodes in turn. Its time is
that of the whole request, whose response names the nodes that have confirmed it. Then the page is requested from all nodes: a hit with the
old content, stored by this or another node, is a lost purge.

The exit status is 1 if a page is fetched more than once, if a purge is lost or unconfirmed, if another request fails, or if the median or the
99th percentile of the purges exceeds its limit.
"""

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import shutil
import signal
import socket
import socketserver
import statistics
import subprocess
import tempfile
import time

from servers import MYRIAD, free_port, program, wait_until

NODES = 3
PAGES = 500
# Pages that only the other requests ask for.
OTHER_PAGES = 100
# Number of the first cold page.
FIRST_COLD = PAGES + OTHER_PAGES
# Processes that send other requests, and the pause after each response, in seconds.
LOAD = 2
PAUSE = 0.0005
# Limits in milliseconds.
MEDIAN, SLOWEST = 5, 25


class Connection:
    """Keep-alive connection to a node."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method, target):
        """Returns the status, the fields and the body of the response."""
        self.socket.sendall(f"{method} {target} HTTP/1.1\r\nHost: bench.test\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(65536) or self.cut()
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        while len(body) < int(fields["content-length"]):
            body += self.socket.recv(65536) or self.cut()
        return int(first.split()[1]), fields, body.decode()

    @staticmethod
    def cut():
        raise OSError("the connection was closed")


def origin(port, versions, fetches):
    """Serves pages whose content is their version, and counts the requests of each."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while line := self.rfile.readline():
                while self.rfile.readline() not in (b"\r\n", b""):
                    pass
                number = int(line.split()[1][1:])
                with fetches.get_lock():
                    fetches[number] += 1
                body = f"{number} {versions[number]}".encode()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address, daemon_threads = True, True

    with Server(("127.0.0.1", port), Handler) as server:
        server.serve_forever()


def load(ports, is_over, results):
    """Sends requests for other pages to the nodes in turn, until the measurement is over."""
    connections = [Connection(port) for port in ports]
    asked = failed = 0
    while not is_over.is_set():
        try:
            status, _, _ = connections[asked % NODES].ask("GET", f"/{PAGES + asked % OTHER_PAGES}")
            failed += status != 200
        except OSError:
            failed += 1
            connections[asked % NODES] = Connection(ports[asked % NODES])
        asked += 1
        time.sleep(PAUSE)
    results.put((asked, failed))


def ask_for_cold(port, start, numbers, results):
    """Requests pages from a node, once all processes are ready."""
    connection = Connection(port)
    start.wait()
    results.put([connection.ask("GET", f"/{number}")[2] for number in numbers])


def cold_pages(ports, fetches, count):
    """Requests pages from all nodes at once; returns the number of requests to the origin, and whether all nodes sent the same pages."""
    numbers = range(FIRST_COLD, FIRST_COLD + count)
    start, results = multiprocessing.Barrier(len(ports)), multiprocessing.Queue()
    clients = [multiprocessing.Process(target=ask_for_cold, args=(port, start, numbers, results), daemon=True) for port in ports]
    for client in clients:
        client.start()
    pages = [results.get(timeout=300) for _ in clients]
    return sum(fetches[FIRST_COLD:FIRST_COLD + count]), all(page == pages[0] for page in pages)


def uses_pages(connections, number):
    """Returns whether the last node uses a page that the first one has fetched."""
    connections[0].ask("PURGE", f"/{number}")
    connections[0].ask("GET", f"/{number}")
    return connections[-1].ask("GET", f"/{number}")[1]["x-cache"] == "HIT"


def start_node(binary, folder, number, port, valkey, source):
    home = folder / f"web{number}"
    home.mkdir()
    secret = home / "secret"
    secret.write_text("0123456789abcdef" * 4)
    secret.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(secret, 65534, -1)  # the workers run as this user
    (home / "server.conf").write_text(f"""worker_processes 1;
pid {home}/server.pid;
error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  proxy_cache_path {home}/cache keys_zone=pages:10m;
  cluster bench {{ server redis://127.0.0.1:{valkey}; secret_file {secret}; node web{number}; receipt_timeout 10s; }}
  server {{
    listen 127.0.0.1:{port};
    add_header X-Cache $upstream_cache_status always;
    location / {{
      proxy_cache pages; proxy_cache_key $uri; proxy_cache_valid 1h; proxy_cache_lock on; proxy_cache_purge PURGE from 127.0.0.1;
      proxy_pass http://127.0.0.1:{source};
    }}
  }}
}}
""")
    process = subprocess.Popen([binary.resolve(), "-p", home, "-c", home / "server.conf", "-g", "daemon off;"])
    wait_until(lambda: (home / "server.pid").exists(), f"web{number}")
    return process


def all_confirm(connection):
    return connection.ask("PURGE", "/0")[1].get("cache-purge-cluster", "").startswith(f"applied on {NODES} of {NODES} nodes")


def purges(connections, versions, count):
    """Executes the purges; returns their times in milliseconds, and the numbers of unconfirmed and of lost ones."""
    for connection in connections:
        for number in range(PAGES):
            connection.ask("GET", f"/{number}")
    times, unconfirmed, lost = [], 0, 0
    for round_ in range(count):
        number = round_ % PAGES
        versions[number] += 1
        began = time.perf_counter()
        _, fields, _ = connections[round_ % NODES].ask("PURGE", f"/{number}")
        times.append((time.perf_counter() - began) * 1000)
        if not fields.get("cache-purge-cluster", "").startswith(f"applied on {NODES} of {NODES} nodes"):
            unconfirmed += 1
        for connection in connections:
            _, fields, body = connection.ask("GET", f"/{number}")
            lost += fields["x-cache"] == "HIT" and body != f"{number} {versions[number]}"
    return times, unconfirmed, lost


def measured(folder, options, children):
    valkey, source, *ports = (free_port() for _ in range(NODES + 2))
    versions = multiprocessing.Array("Q", FIRST_COLD + options.cold, lock=False)
    fetches = multiprocessing.Array("Q", FIRST_COLD + options.cold)
    children.append(subprocess.Popen([program("redis-server"), "--port", str(valkey), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
                                     stdout=subprocess.DEVNULL))
    serving = multiprocessing.Process(target=origin, args=(source, versions, fetches), daemon=True)
    serving.start()
    for number, port in enumerate(ports, 1):
        children.append(start_node(options.binary, folder, number, port, valkey, source))
    connections = [Connection(port) for port in ports]
    for connection in connections:
        wait_until(lambda connection=connection: all_confirm(connection), "all nodes", pause=0.2)
    is_over, results = multiprocessing.Event(), multiprocessing.Queue()
    loads = [multiprocessing.Process(target=load, args=(ports, is_over, results), daemon=True) for _ in range(LOAD)]
    for one in loads:
        one.start()
    wait_until(lambda: uses_pages(connections, 0), "pages of other nodes", pause=0.2)
    fetched, is_same = cold_pages(ports, fetches, options.cold)
    times, unconfirmed, lost = purges(connections, versions, options.purges)
    is_over.set()
    asked, failed = map(sum, zip(*(results.get(timeout=30) for _ in loads)))
    median, slowest = statistics.median(times), statistics.quantiles(times, n=100)[98]
    print(f"{options.cold} cold pages, requested from {NODES} nodes at once: {fetched} requests to the origin{'' if is_same else '; pages differ'}")
    print(f"{options.purges} purges on {NODES} nodes: median {median:.1f} ms (limit {MEDIAN}), 99% within {slowest:.1f} ms (limit {SLOWEST}), "
          f"{unconfirmed} unconfirmed, {lost} lost")
    print(f"other requests: {asked}, {failed} failed")
    return fetched == options.cold and is_same and not (unconfirmed or lost or failed) and median <= MEDIAN and slowest <= SLOWEST


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--purges", type=int, default=10_000)
    parser.add_argument("--cold", type=int, default=1000)
    parser.add_argument("--binary", type=pathlib.Path, default=MYRIAD)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="myriad-cluster-"))
    folder.chmod(0o755)
    children = []
    try:
        is_fine = measured(folder, options, children)
    finally:
        for child in reversed(children):
            child.send_signal(signal.SIGTERM)
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(10)
        shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
