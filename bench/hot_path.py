#!/usr/bin/env python3
"""Counts the instructions of ten kinds of request in the test build, and fails if one costs more than its recorded figure.

    bench/hot_path.py BINARY             compare with bench/hot_path.json (part of `make test`)
    bench/hot_path.py BINARY --record    write the figures to that file, in the commit that changes them, with the reason in its message

The worker runs under callgrind, which counts only while the task of a connection runs (CONNECTION). Each figure is the difference
between a run with FEW and a run with MANY requests on one connection, divided by the difference in requests, so accepting the
connection and the first requests do not count. Instructions hardly depend on the load of the machine, but on the compiler and the C
library: with others than the recorded ones, the figures are printed and not compared. The test build is not optimized. It shows added
work; `make bench-instructions` measures the release build.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

import load

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "hot_path.json"
FEW, MANY = 50, 250
# Requests per second, so that the worker always waits for the next one: whether it does is part of the figure. Above 64, requests are
# recorded in samples (crates/myriad-exchange/src/ranking/sampling.rs), and the figure would depend on the speed of the machine.
RATE = 50
TOLERANCE = 1.015
# Maximum number of counts of a row. The minimum is its figure: a slow run has more wake-ups and periodic checks, which only add
# instructions. A row within the tolerance is counted once.
COUNTS = 4
# Seconds until a server under callgrind responds.
START = 120
# Function whose instructions, and those that it calls, are counted: the task of a connection.
CONNECTION = "myriad_net::listener::ConnectionWorker*::start_connection::{{closure}}::{{closure}}"

GZIP = ("Accept-Encoding", "gzip")
BROWSER = ("Cookie", "_ga=GA1.1.1187265834.1700000000; _gid=GA1.2.33; cookieyes-consent=yes")
AGENT = ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36")
LOGGED_IN = ("Cookie", "wordpress_logged_in_0123=admin%7C1700000000")

# name: (path, request headers, status, value of X-Cache or None)
ROWS = {
    "hit gzip": ("/page/", (GZIP,), 200, "HIT"),
    "hit identity": ("/page/", (), 200, "HIT"),
    "hit tracking cookies": ("/page/", (GZIP, BROWSER, AGENT), 200, "HIT"),
    "hit 304": ("/page/", (GZIP, ("If-None-Match", "*")), 304, None),
    "hit HTTP/2": ("/page/", (GZIP,), 200, "HIT"),
    "hit access log and twenty headers": ("/logged/", (GZIP,), 200, "HIT"),
    "bypass to FastCGI": ("/page/", (LOGGED_IN,), 200, "BYPASS"),
    "proxied uncached": ("/proxied/", (), 200, None),
    "static file": ("/static/style.css", (), 200, None),
    "redirect": ("/old/page", (), 301, None),
}

BODY = b"".join(b"<p class=\"entry\">Paragraph %d of a page with some text that compresses.</p>\n" % number for number in range(70))

CONFIGURATION = """
daemon off; worker_processes 1; error_log {folder}/error.log warn; pid {folder}/pid; {user}
events {{ worker_connections 64; }}
http {{
    access_log off; keepalive_requests 100000; default_type text/html; types {{ text/html html; text/css css; }}
    gzip on; gzip_types text/css; gzip_vary on;
    log_format full '$remote_addr [$time_local] "$request" $status $body_bytes_sent "$http_user_agent" $upstream_cache_status';
    fastcgi_cache_path {folder}/cache keys_zone=pages:10m; fastcgi_cache_key "$scheme$request_method$host$request_uri";
    upstream php {{ server unix:{folder}/php.sock; keepalive 4; }}
    upstream app {{ server unix:{folder}/app.sock; keepalive 4; }}
    map $http_cookie $skip {{ default 0; ~*"comment_author|wordpress_logged_in|wp-postpass|woocommerce_items_in_cart" 1; }}
    server {{
        listen 127.0.0.1:{port}; http2 on; server_name localhost; root {folder}/root;
        location / {{
            fastcgi_pass php; fastcgi_keep_conn on; fastcgi_param REQUEST_URI $request_uri; fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_cache pages; fastcgi_cache_valid 200 1h; fastcgi_cache_bypass $skip; fastcgi_no_cache $skip;
            add_header X-Cache $upstream_cache_status;
        }}
        location /logged/ {{
            fastcgi_pass php; fastcgi_param REQUEST_URI $request_uri; fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_cache pages; fastcgi_cache_valid 200 1h; add_header X-Cache $upstream_cache_status;
            access_log {folder}/access.log full; {headers}
        }}
        location /proxied/ {{ proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; }}
        location /static/ {{ expires 1h; }}
        location /old/ {{ rewrite ^/old/(.*)$ /new/$1 permanent; }}
    }}
}}
"""


class Wrong(Exception):
    """An unexpected response, or a server that did not start."""


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Origin on a Unix socket, one thread per connection."""

    daemon_threads = True


class FastCgi(socketserver.StreamRequestHandler):
    """Answers every request with BODY and keeps the connection open."""

    def handle(self):
        while True:
            head = self.rfile.read(8)
            if len(head) < 8:
                return
            kind, number = head[1], head[2:4]
            length = int.from_bytes(head[4:6], "big")
            self.rfile.read(length + head[6])
            if kind == 5 and length == 0:  # the end of the request body
                self.answer(number)

    def answer(self, number):
        output = b"Content-Type: text/html; charset=UTF-8\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
        for part in (output[at:at + 32768] for at in range(0, len(output), 32768)):
            self.wfile.write(b"\x01\x06" + number + len(part).to_bytes(2, "big") + b"\0\0" + part)
        self.wfile.write(b"\x01\x03" + number + b"\0\x08\0\0" + b"\0" * 8)


class Http(socketserver.StreamRequestHandler):
    """Answers every request with BODY and keeps the connection open."""

    def handle(self):
        while True:
            line = self.rfile.readline()
            if not line:
                return
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)


class Stand:
    """The origins, the files, and the library that starts the worker under callgrind."""

    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        folder.chmod(0o777)  # started by root, the worker runs as another user
        self.preloaded = folder / "worker.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", self.preloaded, HERE / "instructions" / "worker.c", "-ldl"], check=True)
        for name, handler in (("php", FastCgi), ("app", Http)):
            server = UnixServer(str(folder / f"{name}.sock"), handler)
            (folder / f"{name}.sock").chmod(0o777)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        static = folder / "root" / "static"
        static.mkdir(parents=True)
        (static / "style.css").write_bytes(BODY)

    def instructions(self, name, requests):
        """Returns the instructions of a connection with `requests` requests of the row `name`."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o777)
        port = free_port()
        headers = " ".join(f"add_header X-Header-{number} value;" for number in range(20))
        text = CONFIGURATION.format(folder=folder, port=port, headers=headers, user="user nobody;" if os.getuid() == 0 else "")
        text = text.replace(f"unix:{folder}/", f"unix:{self.folder}/").replace(f"{folder}/root", f"{self.folder}/root")
        (folder / "myriad.conf").write_text(text)
        under = f"{shutil.which('valgrind')} -q --vgdb=no --tool=callgrind --separate-threads=yes --toggle-collect={CONNECTION} --callgrind-out-file={folder}/count.%p"
        environment = os.environ | {"LD_PRELOAD": str(self.preloaded), "MYRIAD_WORKER_UNDER": under}
        with open(folder / "output", "wb") as output:
            server = subprocess.Popen([self.binary, "-c", folder / "myriad.conf"], env=environment, stdout=output, stderr=output)
        try:
            self.serve(name, port, requests, server, folder)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
        # One file per thread.
        found = [re.search(r"^(?:summary|totals): (\d+)", file.read_text(), re.M) for file in folder.glob("count.*-*")]
        if not found:
            raise Wrong(f"callgrind wrote no counts to {folder}: {(folder / 'output').read_text()}")
        return sum(int(total.group(1)) for total in found if total)

    def serve(self, name, port, requests, server, folder):
        path, fields, status, cache = ROWS[name]
        wait_until_it_responds(port, server, folder)
        wait_until_stored(port, path, fields[:1] if status == 304 else fields)
        if name == "hit HTTP/2":
            command = ["h2load", "-n", str(requests), "-c", "1", "-m", "1", f"--rps={RATE}", "-H", "accept-encoding: gzip", f"http://127.0.0.1:{port}{path}"]
            report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            if f"{requests} succeeded" not in report:
                raise Wrong(f"{name}: {report}")
            return
        with socket.create_connection(("127.0.0.1", port), timeout=START) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(requests):
                connection.sendall(load.request_bytes(path, fields))
                _, found, headers, _ = load.read_response(connection)
                if found != status or (cache and headers.get("x-cache") != cache):
                    raise Wrong(f"{name}: status {found}, X-Cache {headers.get('x-cache')}")
                time.sleep(1 / RATE)


def wait_until_it_responds(port, server, folder):
    deadline = time.monotonic() + START
    while True:
        try:
            return load.fetch(port, "/old/x", timeout=START)
        except OSError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise Wrong(f"the server did not start: {(folder / 'output').read_text()}") from error
            time.sleep(0.1)


def wait_until_stored(port, path, fields):
    """Waits until five responses in a row have the same size: the page is stored and has been compressed in the background."""
    sizes, deadline = [], time.monotonic() + START
    while len(sizes) < 5 or len(set(sizes[-5:])) > 1:
        if time.monotonic() > deadline:
            raise Wrong(f"{path}: the size of the response keeps changing")
        data, _, headers, _ = load.fetch(port, path, fields, timeout=START)
        sizes.append(len(data) - len(headers.get("age", "")))
        time.sleep(0.3)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def counted(stand, name, enough):
    """Returns the instructions per request of the row `name`; a figure of at most `enough` is not counted again."""
    figure = None
    for _ in range(COUNTS):
        again = (stand.instructions(name, MANY) - stand.instructions(name, FEW)) / (MANY - FEW)
        figure = min(figure or again, again)
        if figure <= enough:
            break
    if figure <= 0:
        raise Wrong(f"{name}: callgrind counted nothing; is CONNECTION still the name of the function?")
    return figure


def this_platform():
    """Returns the architecture, the C library and the compiler, on which the figures depend."""
    compiler = re.search(r'channel = "(.*)"', (HERE.parent / "rust-toolchain.toml").read_text()).group(1)
    return f"{platform.machine()}, {' '.join(platform.libc_ver())}, Rust {compiler}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS))
    options = parser.parse_args()
    record = json.loads(RECORD.read_text())
    is_comparable = record["platform"] == this_platform()
    recorded = record["instructions"] if is_comparable else {}
    with tempfile.TemporaryDirectory(prefix="myriad-hot-path-") as folder:
        stand = Stand(pathlib.Path(folder), options.binary.resolve())
        with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
            enough = lambda name: 0 if options.record else recorded.get(name, math.inf) * TOLERANCE
            figures = dict(zip(options.rows, pool.map(lambda name: counted(stand, name, enough(name)), options.rows)))
    over = []
    for name, figure in figures.items():
        ratio = figure / recorded[name] if name in recorded else None
        print(f"{name:<40} {figure:>10.0f} instructions" + (f", {ratio:.3f} of the recorded figure" if ratio else ""))
        if is_comparable and not options.record and (ratio is None or ratio > TOLERANCE):
            over.append(name)
    if options.record:
        instructions = recorded | {name: round(figure) for name, figure in figures.items()}
        RECORD.write_text(json.dumps({"platform": this_platform(), "instructions": instructions}, indent=2) + "\n")
    elif not is_comparable:
        print(f"hot_path: not compared: the record is of {record['platform']}, this is {this_platform()}")
    if over:
        sys.exit(f"hot_path: more than {TOLERANCE} of the recorded figure: {', '.join(over)}. Remove the work that was added, or, if it is "
                 f"worth it, run bench/hot_path.py BINARY --record and commit bench/hot_path.json with the reason")


if __name__ == "__main__":
    main()
