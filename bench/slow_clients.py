#!/usr/bin/env python3
"""Measures other visitors while thousands of connections are slow on purpose (heads, bodies, reads); compared with nginx.

    bench/slow_clients.py [--connections 5000] [--seconds 10] [--rounds 3] [--binary FILE]

Fifty visitors request a small page over keep-alive connections, ten times per second each. Then attackers connect from 64 loopback
addresses. Each attacker sends one byte of a request head per second, or one byte of a body for an upstream, or reads a hundred bytes of
a long file per second; an attacker with a closed connection opens another. The server runs on one core, all clients on the other. The
visitors have a real-time priority there (needs root); otherwise they would also wait for the attackers on that core.

The 99th percentile of the visitors' latency is measured before the attack, in its first three seconds, and when all attackers are
connected. The exit status is 1 if a visitor gets no complete response from Myriad, or if the latency with
Myriad more than doubles.
"""

import argparse
import heapq
import multiprocessing
import os
import pathlib
import resource
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from servers import MYRIAD, free_port, program, proportional_bytes, wait_until

FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
VISITORS, EACH_PER_SECOND = 50, 10
# Seconds after the start of the attack that count as its beginning.
COMING = 3
ATTACKS = ("heads", "bodies", "readers")
QUESTION = b"GET /page.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAGE_BYTES, LONG_BYTES = 4096, 20 << 20
# Lower limit for the 99th percentile before the attack, ms; smaller values only measure when Linux wakes a process.
SHORTEST_MS = 0.5


def configuration(folder, port, origin):
    (folder / "www").mkdir(exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "www" / "page.html").write_text("x" * PAGE_BYTES)
    with open(folder / "www" / "long.bin", "wb") as long:
        long.truncate(LONG_BYTES)
    path = folder / "server.conf"
    path.write_text(f"""worker_processes 1;
worker_rlimit_nofile {FILES};
pid {folder}/server.pid;
error_log {folder}/error.log crit;
events {{ worker_connections {FILES - 1000}; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  server {{
    listen 127.0.0.1:{port} backlog=65535; root {folder}/www;
    location /post {{ proxy_pass http://127.0.0.1:{origin}; client_max_body_size 10m; }}
  }}
  server {{ listen 127.0.0.1:{origin}; location / {{ return 200; }} }}
}}
""")
    return path


def attack(kind, port, options, held):
    """Holds a number of connections of a kind; `held` is their current number. Runs until the process is terminated."""
    os.sched_setaffinity(0, {1 % os.cpu_count()})
    os.nice(10)
    selector, due, opened = selectors.DefaultSelector(), [], 0

    def connect():
        nonlocal opened
        one = socket.socket()
        if kind == "readers":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.bind((f"127.0.1.{1 + opened % 64}", 0))
        opened += 1
        one.settimeout(30)
        one.connect(("127.0.0.1", port))
        one.setblocking(False)
        if kind == "heads":
            one.send(b"GET /page.html HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        elif kind == "bodies":
            one.send(b"POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        else:
            one.send(b"GET /long.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        # A slow reader notices a closed connection when it reads, the others at once.
        if kind != "readers":
            selector.register(one, selectors.EVENT_READ)
        heapq.heappush(due, (time.monotonic() + 1 + opened % 1000 / 1000, opened, one))

    def close(one):
        if kind != "readers":
            selector.unregister(one)
        one.close()

    while True:
        while len(due) < options.connections:
            connect()
            held.value = len(due)
            if len(due) % 100 == 0:
                break
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, number, one = heapq.heappop(due)
            if one.fileno() < 0:
                continue
            try:
                alive = one.recv(100) if kind == "readers" else one.send(b"a")
            except BlockingIOError:
                alive = True
            except OSError:
                alive = False
            if alive:
                heapq.heappush(due, (now + 1, number, one))
            else:
                close(one)
        for key, _ in selector.select(0.005):
            try:
                closed = not key.fileobj.recv(4096)
            except OSError:
                closed = True
            if closed:
                close(key.fileobj)


def visitors(port, seconds):
    """Sends requests of visitors at fixed times; returns (milliseconds of each request, number without a complete response)."""
    selector, due, waits, failed = selectors.DefaultSelector(), [], [], 0
    begin = time.monotonic()
    for number in range(VISITORS):
        heapq.heappush(due, (begin + number / VISITORS / EACH_PER_SECOND, number, None))
    under_way = {}
    while time.monotonic() < begin + seconds or under_way:
        now = time.monotonic()
        while due and due[0][0] <= now < begin + seconds:
            at, number, one = heapq.heappop(due)
            if one is None:
                one = socket.create_connection(("127.0.0.1", port), timeout=30)
                one.setblocking(False)
                selector.register(one, selectors.EVENT_READ)
            one.send(QUESTION)
            under_way[one] = (at, time.monotonic(), number, bytearray())
        wait = max(0.0, due[0][0] - time.monotonic()) if due and now < begin + seconds else 0.1
        for key, _ in selector.select(min(wait, 0.1)):
            one, moment = key.fileobj, time.monotonic()
            try:
                piece = one.recv(65536)
            except OSError:
                piece = b""
            at, sent, number, answer = under_way.get(one, (None, None, None, None))
            if at is None or not piece:
                selector.unregister(one)
                one.close()
                if at is None:
                    continue
                failed += 1
                one = None
            else:
                answer.extend(piece)
                head, _, body = answer.partition(b"\r\n\r\n")
                if len(body) < PAGE_BYTES:
                    continue
                failed += not head.startswith(b"HTTP/1.1 200 ")
                waits.append((moment - sent) * 1000)
            del under_way[key.fileobj]
            heapq.heappush(due, (max(at + 1 / EACH_PER_SECOND, moment), number, one))
        late = [one for one, (_, sent, *_) in under_way.items() if time.monotonic() - sent > 30]
        for one in late:
            selector.unregister(one)
            one.close()
            heapq.heappush(due, (time.monotonic(), under_way.pop(one)[2], None))
            failed += 1
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    return waits, failed


def hundredth(waits):
    return statistics.quantiles(waits, n=100)[98]


def measured(name, binary, folder, options):
    """Returns for each attack the percentiles before and during it, the failures, and the server's memory."""
    port, origin = free_port(), free_port()
    path = configuration(folder, port, origin)
    process = subprocess.Popen(["taskset", "-c", "0", *map(str, [binary, "-p", folder, "-c", path, "-g", "daemon off;"])])
    found = {kind: {"calm": [], "coming": [], "attacked": [], "failed": 0, "mb": 0.0} for kind in ATTACKS}
    try:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, f"{name} on port {port}")
        visitors(port, 1)
        for _ in range(options.rounds):
            for kind in ATTACKS:
                waits, failed = visitors(port, options.seconds)
                one = found[kind]
                one["calm"].append(hundredth(waits))
                held = multiprocessing.Value("i", 0)
                attacker = multiprocessing.Process(target=attack, args=(kind, port, options, held), daemon=True)
                attacker.start()
                try:
                    waits, early = visitors(port, COMING)
                    one["coming"].append(hundredth(waits))
                    wait_until(lambda: held.value >= options.connections, f"{options.connections} slow {kind} at {name}", 120)
                    waits, more = visitors(port, options.seconds)
                    one["mb"] = max(one["mb"], proportional_bytes(process.pid) / 2**20)
                    if not attacker.is_alive():
                        sys.exit(f"the attackers exited before the visitors: slow {kind} at {name}")
                finally:
                    attacker.kill()
                    attacker.join()
                one["attacked"].append(hundredth(waits))
                one["failed"] += failed + early + more
                time.sleep(1)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--binary", type=pathlib.Path, default=MYRIAD)
    parser.add_argument("--only", default="nginx,myriad")
    options = parser.parse_args()
    if options.connections > FILES - 2000:
        sys.exit(f"{FILES} open files (ulimit -Hn) are not enough for {options.connections} connections; use at most {FILES - 2000}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    os.sched_setaffinity(0, {1 % os.cpu_count()})
    try:
        # Servers and attackers, which are started from here, have the normal priority.
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        print("no real-time priority (run as root): the measured latency includes waiting for the attackers on the clients' core")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="myriad-slow-"))
    folder.chmod(0o755)
    fine = True
    try:
        for name in options.only.split(","):
            binary = program("nginx") if name == "nginx" else options.binary.resolve()
            for kind, one in measured(name, binary, folder, options).items():
                calm, coming, attacked = (statistics.median(one[when]) for when in ("calm", "coming", "attacked"))
                ratio = attacked / max(calm, SHORTEST_MS)
                print(f"{name:7} {options.connections} slow {kind:8} 99% {calm:6.2f} ms before, {coming:7.2f} ms while they connect, "
                      f"{attacked:6.2f} ms during the attack; {one['failed']} failed; {one['mb']:.0f} MB", flush=True)
                if name == "myriad":
                    fine = fine and ratio <= 2 and one["failed"] == 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
