#!/usr/bin/env python3
"""Measures WordPress with and without an object cache (Redis, memcached, APCu): database queries and milliseconds per page.

    make bench-object-cache                             adds its table to bench/REPORT.md
    bench/object_cache.py --rounds 3                    prints the table
    bench/object_cache.py --public ../redis-cache       compare with the plugin Redis Object Cache (a checkout of its repository)

Requests go directly to php-fpm, one after another. The caches alternate round by round and are warm when they are measured. *ms* is the
time until the client has the complete page; *CPU* is the CPU time of php-fpm's children, MariaDB and the cache server.
"""

import argparse
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import time

import report
from bench import OUT, PROJECT, hold_machine
from servers import myriad_binary

HEADING = "\n## The object cache of WordPress\n"
PAGES = {"home": "/", "post": "", "category": "/category/rivers/", "feed": "/feed/", "404": "/nothing/"}
CACHES = {"none": None, "redis": "Myriad, Redis", "memcached": "Myriad, memcached", "apcu": "Myriad, APCu", "public": "Redis Object Cache"}
FIGURES = """<?php
ob_start(function ($page) { header('X-Queries: ' . get_num_queries()); return $page; });
"""
CONSTANTS = "define('WP_REDIS_CLIENT', 'phpredis'); define('WP_REDIS_SCHEME', 'unix'); define('WP_REDIS_PATH', '{socket}');\n"


class Site:
    """A WordPress site with a Redis and a memcached server."""

    def __init__(self, folder, public):
        self.folder, self.public, self.children = folder, public, []
        self.content = folder / "wordpress/wp-content"
        subprocess.run([PROJECT / "scripts/site", "create", folder], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([PROJECT / "scripts/site", "start", folder], check=True, stdout=subprocess.DEVNULL)
        (self.content / "mu-plugins/figures.php").write_text(FIGURES)
        redis, memcached = folder / "run/redis.sock", folder / "run/memcached.sock"
        user = ["-u", "root"] if os.getuid() == 0 else []
        self.begin(redis, "redis-server", "--port", "0", "--save", "", "--unixsocketperm", "777", "--unixsocket", redis, "--dir", folder / "run")
        self.begin(memcached, "memcached", *user, "-a", "0777", "-s", memcached)
        self.post = re.search(rb'wp-block-post-title[^>]*><a href="http://localhost(/[^"]+)"', self.ask("/")[1])[1].decode()
        self.addresses = {"redis": f"redis:{redis}", "memcached": f"memcached:{memcached}", "apcu": "apcu"}
        config = folder / "wordpress/wp-config.php"
        if "WP_REDIS_PATH" not in config.read_text():
            config.write_text(config.read_text().replace("require_once ABSPATH", CONSTANTS.format(socket=redis) + "require_once ABSPATH"))

    def begin(self, path, *command):
        self.children.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        until = time.time() + 20
        while not path.exists():
            if time.time() > until:
                raise SystemExit(f"{command[0]} did not start; run scripts/install-packages bench")
            time.sleep(0.05)

    def use(self, cache):
        """Replaces the object cache; returns whether this cache is available."""
        drop_in = self.content / "object-cache.php"
        if drop_in.exists() and "Redis Object Cache" in drop_in.read_text()[:600]:
            drop_in.unlink()
        command = [myriad_binary(), "wordpress", "--root", self.folder / "wordpress"]
        subprocess.run([*command, "--remove-object-cache"], check=True, stdout=subprocess.DEVNULL)
        if cache == "public":
            source = self.public / "includes/object-cache.php" if self.public else None
            if not source or not source.exists():
                return False
            shutil.copy(source, drop_in)
        elif cache != "none":
            subprocess.run([*command, "--install-object-cache", self.addresses[cache]], check=True, stdout=subprocess.DEVNULL)
        return True

    def cpu(self):
        """Returns the CPU seconds that php-fpm's children, MariaDB, Redis and memcached have used."""
        ticks, master = 0, (self.folder / "run/php.pid").read_text().strip()
        others = [str(child.pid) for child in self.children] + [(self.folder / "run/db.pid").read_text().strip()]
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rsplit(") ", 1)[1].split()
            except OSError:
                continue
            if master == fields[1] or path.parent.name in others:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def ask(self, target):
        """Returns head and body of a response of PHP, and its duration in seconds."""
        root = self.folder / "wordpress"
        params = {"SCRIPT_FILENAME": root / "index.php", "SCRIPT_NAME": "/index.php", "REQUEST_URI": target, "REQUEST_METHOD": "GET",
                  "QUERY_STRING": target.partition("?")[2], "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost", "SERVER_NAME": "localhost",
                  "SERVER_SOFTWARE": "nginx/1", "REMOTE_ADDR": "127.0.0.1", "DOCUMENT_ROOT": root}
        pairs = b"".join(length(name) + length(str(value)) + name.encode() + str(value).encode() for name, value in params.items())
        began = time.perf_counter()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.folder / "run/php.sock"))
            connection.sendall(record(1, b"\0\1\0\0\0\0\0\0") + record(4, pairs) + record(4, b"") + record(5, b""))
            received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        taken, answer, at = time.perf_counter() - began, b"", 0
        while at + 8 <= len(received):
            _, kind, _, size, padding = struct.unpack(">BBHHB", received[at:at + 7])
            answer += received[at + 8:at + 8 + size] if kind == 6 else b""
            at += 8 + size + padding
        head, _, body = answer.partition(b"\r\n\r\n")
        return head.decode(), body, taken

    def stop(self):
        for child in self.children:
            child.terminate()
            child.wait()
        subprocess.run([PROJECT / "scripts/site", "stop", self.folder], check=False)


def record(kind, content):
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def length(text):
    size = len(text.encode())
    return bytes([size]) if size < 128 else struct.pack(">I", size | 1 << 31)


def measured(site, rounds, times):
    """Returns queries, milliseconds and CPU time of each page with each cache."""
    figures, bodies = {}, {}
    for number in range(rounds):
        order = list(CACHES)
        for cache in order[number % len(order):] + order[:number % len(order)]:
            if not site.use(cache):
                continue
            time.sleep(2.2)  # OPcache checks its files every two seconds
            for page, target in PAGES.items():
                target = target or site.post
                for _ in range(8):  # children of php-fpm
                    site.ask(target)
                cpu, taken = site.cpu(), []
                for _ in range(times):
                    head, body, seconds = site.ask(target)
                    taken.append(seconds)
                if bodies.setdefault(page, len(body)) != len(body):
                    raise SystemExit(f"{cache}: {target} is not the expected page")
                queries = int(re.search(r"X-Queries: (\d+)", head)[1])
                row = figures.setdefault((cache, page), [])
                row.append((queries, statistics.median(taken) * 1000, (site.cpu() - cpu) / times * 1000))
    return {key: [statistics.median(column) for column in zip(*rows)] for key, rows in figures.items()}


def table(figures):
    lines = []
    for cache, name in CACHES.items():
        if (cache, "home") in figures:
            cells = [figures[cache, page] for page in PAGES]
            lines.append([name or "no object cache"] + [f"{queries:.0f} / {ms:.1f} / {cpu:.1f}" for queries, ms, cpu in cells])
    return report.table(["queries / ms / CPU ms", *PAGES], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=30, help="requests per page and round")
    parser.add_argument("--public", type=pathlib.Path, help="checkout of the plugin Redis Object Cache")
    options = parser.parse_args()
    lock = hold_machine()  # released when this process exits
    site = Site(OUT / "object-cache", options.public)
    try:
        text = table(measured(site, options.rounds, options.times))
    finally:
        site.stop()
        lock.close()
    print(text)
    if options.rounds >= 5:
        report.add_section(HEADING, f"{report.machine(argparse.Namespace())}\n\n{options.rounds} alternating rounds of {options.times} requests; medians. "
                           f"Requests go directly to PHP; MariaDB, Redis and memcached run on the same machine and use Unix sockets.\n\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
