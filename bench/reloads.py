#!/usr/bin/env python3
"""Tests reloads and upgrades of the binary under load: counts lost requests and measures memory growth.

    bench/reloads.py [--reloads 200] [--upgrades 20] [--binary FILE]

Sends requests over HTTP/1, HTTP/1 with TLS, HTTP/2 and HTTP/3 (bench/quic, which is built first) all the time. A request is repeated
if it was sent on a keep-alive connection that the server had closed meanwhile (RFC 9112 section 9.3.1), or if the server rejected it
(RFC 9114 section 5.2). All other errors count. The exit status is 1 if a request fails, or if the memory after the last reload is more
than 1.05 times the memory after the first.
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
# Memory fluctuates with the current requests, so the median of this number of samples is used, two seconds apart.
LOOKS = 5
THREADS = 4
# Requests per curl process.
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
    """Sends requests over a keep-alive HTTP/1 connection until it is stopped."""

    def __init__(self, port, secure):
        super().__init__(daemon=True)
        self.port, self.over = port, threading.Event()
        self.context = ssl._create_unverified_context() if secure else None
        self.asked, self.again, self.failures = 0, 0, []

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), 30)
        return self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain

    def ask(self, connection):
        """Returns True if the connection stays open, None if it was closed before the response began."""
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
        raise ValueError("the response was truncated")

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
                        self.failures.append("a new connection was closed without a response")
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
    """Runs a load program repeatedly; `read` parses (requests, failures, repeated requests) from its output."""

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
    """Each request prints a line: 200 2. curl repeats a request that was not processed according to a GOAWAY (RFC 9113 section 8.7)."""
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
    """Returns the process of the pid file; 0 while an upgrade has renamed the file and not written a new one."""
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
    """Upgrades with signals, as `myriad upgrade` does."""
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
    """Returns the memory of the server after old configurations have been dropped with their last request."""
    sizes = []
    for _ in range(LOOKS):
        time.sleep(2)
        sizes.append(proportional_bytes(serving(folder)))
    return statistics.median(sizes)


def wait_until_busy(folder):
    """Waits until the memory of the busy server stops growing: one minute without a new maximum, at most five minutes."""
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
    # Written once, because a file is empty for a moment while it is rewritten.
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
        wait_until(lambda: not any(alive(pid) for pid in old if pid != process.pid), "the exit of the old processes", 120)
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
              f"{sum(one.again for one in group)} repeated", *failures[:3])
        wrong += len(failures)
    if wrong:
        lines = (folder / "error.log").read_text(errors="replace").splitlines()
        print(*[line for line in lines if "[notice]" not in line][-5:], sep="\n")
    growth = memory[-1][0] / memory[0][0]
    print(f"memory: {growth:.3f} times the memory after the first reload")
    return wrong == 0 and growth <= GROWTH


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reloads", type=int, default=200)
    parser.add_argument("--upgrades", type=int, default=20)
    parser.add_argument("--alone", action="store_true", help="no load: measures only the memory growth caused by reloads")
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
