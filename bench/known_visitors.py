#!/usr/bin/env python3
"""Measures pages for logged-in visitors (ESI) on WordPress with the plugin: from the cache with personal parts, and by PHP.

    bench/known_visitors.py            prints a table

A logged-in reader and a commenter read fourteen posts, ten times each. "By PHP" sends a cookie that bypasses the cache. CPU time is
that of php-fpm and its children, from their CPU clocks. The time to the first byte is measured by a client on the same machine.
"""

import socket
import statistics
import sys
import time

from bench import OUT
from servers import cpu_seconds
from small_machine import READERS, Stand

ROUNDS = 10
LIMIT = 2 << 30


def first_byte(port, target, cookie):
    """Reads a response; returns the seconds to its first byte."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        fields = f"Cookie: {cookie}\r\n" if cookie else ""
        started = time.perf_counter()
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{fields}\r\n".encode())
        first = connection.recv(65536)
        taken = time.perf_counter() - started
        assert first.startswith(b"HTTP/1.1 200 "), first[:80]
        while connection.recv(65536):
            pass
    return taken


def read_all(stand, pages, cookie):
    """Returns the median seconds to the first byte, and CPU seconds of PHP per page."""
    before = cpu_seconds(stand.pid("php"))
    times = [first_byte(stand.port, page, cookie) for _ in range(ROUNDS) for page in pages]
    return statistics.median(times), (cpu_seconds(stand.pid("php")) - before) / len(times)


def main():
    stand = Stand(OUT, LIMIT)
    try:
        _, reader = stand.php(READERS % 1).strip().split(" ", 1)
        secret = stand.php("echo COOKIEHASH;")
        commenter = f"comment_author_{secret}=Ada; comment_author_email_{secret}=ada%40example.org"
        pages = stand.pages[5:19]
        for page in pages:
            first_byte(stand.port, page, "")
        print("| fourteen posts | first byte, median | CPU time of PHP per page |\n|---|---|---|")
        for name, cookie in [("anonymous visitor, from the cache", ""), ("logged-in reader, from the cache", reader), ("the same by PHP", f"{reader}; NO_CACHE=1"),
                             ("commenter, from the cache", commenter), ("the same by PHP", f"{commenter}; NO_CACHE=1")]:
            taken, spent = read_all(stand, pages, cookie)
            print(f"| {name} | {1000 * taken:.2f} ms | {1000 * spent:.2f} ms |")
    finally:
        stand.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
