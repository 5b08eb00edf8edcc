#!/usr/bin/env python3
"""Reloads and upgrades of the binary under load: is a request lost, does memory grow?

    bench/reloads.py [--reloads 200] [--upgrades 20] [--binary FILE]

Asks over HTTP/1, HTTP/1 with TLS, HTTP/2 and HTTP/3 (bench/quic, which is built first) all the while. A request that went out on
a kept connection which the server had closed meanwhile is sent again, as RFC 9112 section 9.3.1 has clients do, and so is one
that the server rejected (RFC 9114 section 5.2); nothing else is forgiven. Exits with 1 where a request fails, or memory after the last reload is more than 1.05 of that after the first.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import h3
from servers import MYRIAD, family, free_port, program, proportional_bytes, wait_until

GROWTH = 1.05
# Memory goes up and down with what is asked just now: what counts is the median of so many looks, two seconds apart.
LOOKS = 5
THREADS = 4
# Requests of one curl.
CURL = 5000


def certificate(folder):
    subprocess.run([program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "3650", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)


def configuration(folder, ports, label):
    plain, secure = ports
    path = folder / "server.conf"
    path.write_text(f"""worker_processes 2;
pid {folder}/server.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log {folder}/access.log;
  keepalive_requests 1000000000;
  limit_req_zone $binary_remote_addr zone=visitors:1m rate=1000000r/s;
  map $uri $label {{ default {label}; }}
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{secure} ssl; listen 127.0.0.1:{secure} quic; http2 on;
    server_name localhost;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    root {folder}/www;
    location / {{ limit_req zone=visitors burst=100000 nodelay; gzip on; add_header X-Label $label; }}
    location = /label {{ return 200 $label; }}
    location ~ ^/shop/(?<item>[a-z]+)$ {{ return 200 "item $item"; }}
  }}
}}
""")
    return path


def descriptors(pid):
    return sum(len(list(pathlib.Path(f"/proc/{one}/fd").iterdir())) for one in family(pid))


class Visitor(threading.Thread):
    """Asks over a kept connection of HTTP/1 until it is told to end."""

    def __init__(self, port, secure):
        super().__init__(daemon=True)
        self.port, self.over = port, threading.Event()
        self.context = ssl._create_unverified_context() if secure else None
        self.asked, self.again, self.failures = 0, 0, []

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), 30)
        return self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain

    def ask(self, connection):
        """True if the connection is kept; None if it had ended before the answer began."""
        try:
            connection.sendall(b"GET /page.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = connection.recv(65536)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            return None
        if not answer:
            return None
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536) or self.cut()
        head, _, body = answer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise ValueError(head[:80])
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(body) < length:
            body += connection.recv(65536) or self.cut()
        return b"connection: close" not in head.lower()

    @staticmethod
    def cut():
        raise ValueError("the answer was cut off")

    def run(self):
        connection, fresh = None, True
        while not self.over.is_set():
            try:
                if connection is None:
                    connection, fresh = self.connect(), True
                kept = self.ask(connection)
                if kept is None:
                    connection.close()
                    connection = None
                    if fresh:
                        self.failures.append("a new connection was closed without an answer")
                    self.again += 1
                    continue
                self.asked, fresh = self.asked + 1, False
                if not kept:
                    connection.close()
                    connection = None
            except (OSError, ValueError) as problem:
                self.failures.append(repr(problem))
                connection = None


class Repeated(threading.Thread):
    """Runs a program that asks for a second over and over; `read` makes (asked, failed, sent again) of what it prints."""

    def __init__(self, command, read):
        super().__init__(daemon=True)
        self.command, self.read, self.over = list(map(str, command)), read, threading.Event()
        self.asked, self.again, self.failures = 0, 0, []

    def run(self):
        while not self.over.is_set():
            done = subprocess.run(self.command, capture_output=True, text=True)
            try:
                asked, failed, again = self.read(done.stdout)
            except (TypeError, ValueError):
                self.failures.append((done.stdout + done.stderr)[-300:])
                continue
            self.asked, self.again = self.asked + asked, self.again + again
            if failed:
                self.failures.append(f"{failed} of {asked}")


def read_curl(text):
    """Each request has a line: 200 2. curl asks again where a GOAWAY says that a stream was not looked at (RFC 9113 section 8.7)."""
    lines = text.splitlines()
    return len(lines), [line for line in lines if line.strip() != "200 2"] or (not lines), 0


def read_h3(text):
    requests, _, failures, again = map(int, text.split())
    return requests, failures or not requests, again


def visitors(ports):
    plain, secure = ports
    return {"HTTP/1": [Visitor(plain, False) for _ in range(THREADS)],
          "HTTP/1, TLS": [Visitor(secure, True) for _ in range(THREADS)],
          "HTTP/2": [Repeated([program("curl"), "-ks", "-Z", "--parallel-max", 10, "--http2", "-o", "/dev/null", "-w",
                             r"%{http_code} %{http_version} %{errormsg}\n", f"https://127.0.0.1:{secure}/page.html?[1-{CURL}]"], read_curl)
                   for _ in range(2)],
          "HTTP/3": [Repeated([h3.BUILT / "h3-load", secure, "localhost", "/page.html", 4, 4, 10], read_h3)]}


def label(port):
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(b"GET /label HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
        return answer.rpartition(b"\r\n\r\n")[2].decode()


def serving(folder):
    """The process of the pid file; 0 for the moment in which an upgrade has renamed the file and written none."""
    try:
        return int((folder / "server.pid").read_text())
    except (FileNotFoundError, ValueError):
        return 0


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def upgrade(folder):
    """What `myriad upgrade` does, by signals."""
    old = serving(folder)
    os.kill(old, signal.SIGUSR2)
    wait_until(lambda: serving(folder) not in (0, old), "the new binary")
    wait_until(lambda: len(family(serving(folder))) > 1, "its worker")
    time.sleep(0.3)
    os.kill(old, signal.SIGQUIT)
    return old


def reloads(folder, ports, count):
    memory = []
    for number in range(count):
        configuration(folder, ports, f"r{number}")
        os.kill(serving(folder), signal.SIGHUP)
        wait_until(lambda number=number: label(ports[0]) == f"r{number}", f"reload {number}")
        if number in (0, count // 2, count - 1):
            memory.append((settled_bytes(folder), descriptors(serving(folder))))
    return memory


def settled_bytes(folder):
    """What the server takes once what is older has ended with the exchanges that began with it."""
    sizes = []
    for _ in range(LOOKS):
        time.sleep(2)
        sizes.append(proportional_bytes(serving(folder)))
    return statistics.median(sizes)


def wait_until_busy(folder):
    """Waits until what a busy server takes is there: a minute without a new most, five minutes in all. Traffic alone has it grow."""
    most, looks = 0, 0
    for _ in range(15):
        time.sleep(20)
        size = proportional_bytes(serving(folder))
        most, looks = (size, 0) if size > most * 1.005 else (most, looks + 1)
        if looks == 3:
            return


def measured(folder, options):
    ports = free_port(), free_port()
    certificate(folder)
    # Once: a file that is written again is empty for a moment.
    (folder / "www").mkdir()
    (folder / "www" / "page.html").write_text("a page of a site\n" * 200)
    path = configuration(folder, ports, "start")
    process = subprocess.Popen([options.binary.resolve(), "-p", folder, "-c", path, "-g", "daemon off;"])
    wait_until(lambda: serving(folder), "start")
    by_protocol = {} if options.alone else visitors(ports)
    everybody = [one for group in by_protocol.values() for one in group]
    wrong = 0
    try:
        for one in everybody:
            one.start()
        if not options.alone:
            wait_until_busy(folder)
        memory = reloads(folder, ports, options.reloads)
        for when, (size, files) in zip(("first", "middle", "last"), memory):
            print(f"after the {when:6} reload: {size / 2**20:.1f} MB, {files} descriptors", flush=True)
        before = {name: sum(one.asked for one in group) for name, group in by_protocol.items()}
        old = [upgrade(folder) for _ in range(options.upgrades) if time.sleep(0.5) is None]
        wait_until(lambda: not any(alive(pid) for pid in old if pid != process.pid), "the old processes to end", 120)
        time.sleep(1)
    finally:
        for one in everybody:
            one.over.set()
        for one in everybody:
            one.join(30)
        os.kill(serving(folder), signal.SIGTERM)
    print(f"{options.reloads} reloads, {options.upgrades} upgrades of the binary")
    for name, group in by_protocol.items():
        failures = [failure for one in group for failure in one.failures]
        asked = sum(one.asked for one in group)
        print(f"{name:12} {asked:9} requests ({asked - before[name]} during the upgrades), {len(failures)} failed, "
              f"{sum(one.again for one in group)} sent again", *failures[:3])
        wrong += len(failures)
    if wrong:
        lines = (folder / "error.log").read_text(errors="replace").splitlines()
        print(*[line for line in lines if "[notice]" not in line][-5:], sep="\n")
    growth = memory[-1][0] / memory[0][0]
    print(f"memory: {growth:.3f} of that after the first")
    return wrong == 0 and growth <= GROWTH


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reloads", type=int, default=200)
    parser.add_argument("--upgrades", type=int, default=20)
    parser.add_argument("--alone", action="store_true", help="without visitors: what reloads themselves leave in memory")
    parser.add_argument("--binary", type=pathlib.Path, default=MYRIAD)
    options = parser.parse_args()
    if not options.alone:
        h3.build()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="myriad-reloads-"))
    folder.chmod(0o755)
    try:
        fine = measured(folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
