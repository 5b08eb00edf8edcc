#!/usr/bin/env python3
"""Measures 10,000 active and 50,000 idle connections: errors, 99th percentile, memory; compared with nginx.

    bench/many_clients.py [--clients 10000] [--idle 50000] [--seconds 10] [--binary FILE]

Fewer idle connections are opened if they would need more than six tenths of the limit of open files (ulimit -Hn). Each server serves a small
page over keep-alive connections to `ab -k`, then to wrk. Then it holds idle connections from several loopback addresses; each of them
sends one more request at last. The exit status is 1 if a response of Myriad fails or its 99th percentile is above nginx's.
"""

import argparse
import pathlib
import re
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from servers import MYRIAD, free_port, program, proportional_bytes

# Maximum number of open files of this process.
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
# Connections from one address to one port; the kernel has about 28,000 client ports.
EACH = 20000


def configuration(folder, port, options):
    # One worker can get more than its share.
    each = FILES - 1000
    (folder / "www").mkdir(exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "www" / "page.html").write_text("x" * 1024)
    path = folder / "server.conf"
    path.write_text(f"""worker_processes 2;
worker_rlimit_nofile {FILES};
pid {folder}/server.pid;
error_log {folder}/error.log;
events {{ worker_connections {each}; }}
http {{
  access_log off;
  keepalive_requests 1000000000; keepalive_timeout 300s;
  server {{ listen 127.0.0.1:{port} backlog=65535; root {folder}/www; }}
}}
""")
    return path


def ab(port, options):
    count = options.clients * 20
    done = subprocess.run([program("ab"), "-k", "-r", "-q", "-c", str(options.clients), "-n", str(count), "-s", "60",
                           f"http://127.0.0.1:{port}/page.html"], capture_output=True, text=True)
    number = lambda words: int((re.search(rf"{words}:?\s+(\d+)", done.stdout) or [0, -1])[1])
    if number("Complete requests") != count:
        raise SystemExit(f"ab: {done.stdout[-800:]}{done.stderr[-800:]}")
    return {"ab_errors": number("Failed requests") + max(0, number("Non-2xx responses")), "ab_p99_ms": number("  99%"),
            "ab_per_second": float(re.search(r"Requests per second:\s+([\d.]+)", done.stdout)[1])}


def wrk(port, options):
    done = subprocess.run([program("wrk"), "-t2", f"-c{options.clients}", f"-d{options.seconds}s", "--timeout", "30s", "--latency",
                           f"http://127.0.0.1:{port}/page.html"], capture_output=True, text=True)
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", done.stdout)
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", done.stdout)
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    return {"wrk_errors": (sum(map(int, errors.groups())) if errors else 0) + (int(other[1]) if other else 0),
            "wrk_p99_ms": float(p99[1]) * {"us": 0.001, "ms": 1, "s": 1000}[p99[2]],
            "wrk_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])}


def idle(port, pid, options):
    """Returns the memory per idle connection after one request, and how many connections fail when they send a second one."""
    before = proportional_bytes(pid)
    held = []
    question = b"GET /page.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for number in range(options.idle):
        one = socket.socket()
        one.bind((f"127.0.0.{2 + number // EACH}", 0))
        one.connect(("127.0.0.1", port))
        one.sendall(question)
        held.append(one)
        if number % 500 == 499:
            answered(held[-500:])
    time.sleep(2)
    after = proportional_bytes(pid)
    for one in held:
        one.sendall(question)
    answers = answered(held)
    for one in held:
        one.close()
    return {"idle_bytes": (after - before) / options.idle, "idle_errors": options.idle - answers}


def answered(connections):
    """Returns how many connections get a complete response within thirty seconds."""
    selector = selectors.DefaultSelector()
    for one in connections:
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ, bytearray())
    done, deadline = 0, time.monotonic() + 30
    while selector.get_map() and time.monotonic() < deadline:
        for key, _ in selector.select(1):
            piece = b""
            try:
                piece = key.fileobj.recv(65536)
            except OSError:
                pass
            key.data.extend(piece)
            whole = key.data.startswith(b"HTTP/1.1 200 ") and len(key.data.partition(b"\r\n\r\n")[2]) == 1024
            if whole or not piece:
                done += whole
                selector.unregister(key.fileobj)
    for key in list(selector.get_map().values()):
        selector.unregister(key.fileobj)
    for one in connections:
        one.setblocking(True)
    return done


def measured(name, binary, folder, options):
    port = free_port()
    path = configuration(folder, port, options)
    process = subprocess.Popen(list(map(str, [binary, "-p", folder, "-c", path, "-g", "daemon off;"])))
    try:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        found = {**ab(port, options), **wrk(port, options)}
        found["busy_mb"] = proportional_bytes(process.pid) / 2**20
    finally:
        process.terminate()
        process.wait(60)
    process = subprocess.Popen(list(map(str, [binary, "-p", folder, "-c", path, "-g", "daemon off;"])))
    try:
        time.sleep(1)
        found.update(idle(port, process.pid, options))
    finally:
        process.terminate()
        process.wait(60)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10000)
    parser.add_argument("--idle", type=int, default=50000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--binary", type=pathlib.Path, default=MYRIAD)
    parser.add_argument("--only", default="nginx,myriad")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    if options.idle > FILES * 6 // 10:
        # The server reserves some of them for files and upstreams.
        options.idle = FILES * 6 // 10
        print(f"{FILES} open files (ulimit -Hn) allow only {options.idle} idle connections")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="myriad-clients-"))
    folder.chmod(0o755)
    results = {}
    try:
        for name in options.only.split(","):
            binary = program("nginx") if name == "nginx" else options.binary.resolve()
            found = results[name] = measured(name, binary, folder, options)
            print(f"{name:7} ab -k -c {options.clients}: {found['ab_per_second']:.0f}/s, 99% {found['ab_p99_ms']} ms, {found['ab_errors']} errors; "
                  f"wrk: {found['wrk_per_second']:.0f}/s, 99% {found['wrk_p99_ms']:.0f} ms, {found['wrk_errors']} errors; {found['busy_mb']:.0f} MB; "
                  f"{options.idle} idle: {found['idle_bytes']:.0f} bytes each, {found['idle_errors']} errors", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ours = results.get("myriad", {})
    theirs = results.get("nginx", ours)
    fine = not any(value for key, value in ours.items() if key.endswith("errors"))
    fine = fine and all(ours[key] <= theirs[key] for key in ours if key.endswith("p99_ms"))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
