#!/usr/bin/env python3
"""Tests the protection of PHP on WordPress with the preset: a flood of filter URLs, and PHP that is ten times slower.

    make bench-shield                       both tests; writes its table to bench/REPORT.md
    bench/shield.py --only flood --quick    a tenth of the load; prints the table

*Flood*: 200 visitors read stored pages, one page every quarter of a second. Then thousands of addresses in 127.0.0.0/8 request one new filter
URL each. *Slow*: 180 visitors read stored pages, 20 logged-in visitors read pages from PHP, and robots search; for one minute every page of PHP
takes ten times longer. Latencies are measured by clients on the same machine, so compare them with those before the test.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

import report
from bench import OUT, PROJECT, prepare_site
from servers import MYRIAD, Unavailable, free_port

HEADING = "\n## Protecting PHP: a flood of URLs, and a slow PHP\n"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36"
ROBOT = "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)"
VISITORS, LOGGED_IN, ROBOTS, AT_ONCE = 200, 20, 10, 256
PATIENCE = 60


async def answer_of(reader):
    """Reads a response; returns its status and length."""
    head = await reader.readuntil(b"\r\n\r\n")
    status, fields, size = int(head[9:12]), head.lower(), 0
    length = re.search(rb"\r\ncontent-length: *(\d+)", fields)
    if length:
        size = len(await reader.readexactly(int(length[1])))
    elif b"\r\ntransfer-encoding: chunked" in fields:
        while piece := int((await reader.readline()).split(b";")[0], 16):
            size += len(await reader.readexactly(piece + 2))
        await reader.readline()
    return status, size


async def visit(port, fields, targets, pause, until, kind, out):
    """One client with one connection, which requests one target after another."""
    streams, chosen = None, random.Random(random.getrandbits(64))
    await asyncio.sleep(chosen.random() * pause)
    while time.time() < until:
        target, started = chosen.choice(targets), time.time()
        try:
            if streams is None:
                streams = await asyncio.open_connection("127.0.0.1", port)
            streams[1].write(f"GET {target(chosen)} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/html\r\n{fields}\r\n".encode())
            status, _ = await asyncio.wait_for(answer_of(streams[0]), PATIENCE)
        except (OSError, ValueError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            status, streams = 0, None
        out.append((kind, started, time.time() - started, status))
        await asyncio.sleep(max(0.0, pause - (time.time() - started)))


def clients(port, groups, seconds, queue):
    """Runs a process of clients: `groups` contains (kind, number, headers, targets, pause)."""
    async def all_of_them():
        out, until = [], time.time() + seconds
        await asyncio.gather(*[visit(port, fields, targets, pause, until, kind, out)
                               for kind, number, fields, targets, pause in groups for _ in range(number)])
        return out
    queue.put(asyncio.run(all_of_them()))


def flood(port, number, queue):
    """Requests one URL from each of `number` addresses."""
    async def one(index, slots, statuses):
        async with slots:
            address = f"127.{1 + index // 62500}.{index // 250 % 250}.{1 + index % 250}"
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
                writer.write(f"GET /?filter_color={index}&filter_size={index % 97} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/html\r\n"
                             f"User-Agent: {BROWSER}\r\nConnection: close\r\n\r\n".encode())
                status, _ = await asyncio.wait_for(answer_of(reader), PATIENCE)
                writer.close()
            except (OSError, ValueError, EOFError, asyncio.TimeoutError):
                status = 0
            statuses[status] = statuses.get(status, 0) + 1
    async def everybody():
        slots, statuses, started = asyncio.Semaphore(AT_ONCE), {}, time.time()
        await asyncio.gather(*[one(index, slots, statuses) for index in range(number)])
        return statuses, started, time.time()
    queue.put(asyncio.run(everybody()))


def beside(function, *arguments):
    """Runs a function in a separate process; returns a function that waits for the result."""
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=function, args=(*arguments, queue), daemon=True)
    process.start()
    def result():
        value = queue.get()
        process.join()
        return value
    return result


class Backlog(threading.Thread):
    """Samples the number of connections that wait at php-fpm's socket (Recv-Q of ss) ten times per second."""

    def __init__(self, socket):
        super().__init__(daemon=True)
        self.socket, self.most, self.over = str(socket), 0, threading.Event()

    def run(self):
        while not self.over.wait(0.1):
            shown = subprocess.run(["ss", "-xlH", "src", self.socket], capture_output=True, text=True, check=False).stdout.split()
            self.most = max(self.most, int(shown[2]) if len(shown) > 2 else 0)

    def stop(self):
        self.over.set()
        self.join()
        return self.most


class Stand:
    """The site, Myriad with the preset, and a logged-in session."""

    def __init__(self, folder):
        self.site = prepare_site(folder / "site")
        self.prefix = folder / "shield"
        self.flag = self.site / "slow"
        self.flag.unlink(missing_ok=True)
        self.port = free_port()
        plugins = self.site / "wordpress/wp-content/mu-plugins"
        plugins.mkdir(parents=True, exist_ok=True)
        self.plugin = plugins / "slow.php"
        self.plugin.write_text(f"<?php if (is_file('{self.flag}')) usleep(1000 * (int) file_get_contents('{self.flag}'));\n")
        command = [MYRIAD, "wordpress", "--root", self.site / "wordpress", "--php", self.php(), "--listen", f"127.0.0.1:{self.port}",
                   "--prefix", self.prefix, "--php-children", self.children()]
        subprocess.run(["rm", "-rf", self.prefix], check=True)
        log = open(folder / "shield.log", "wb")
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and self.get("/")[0] != 200:
            time.sleep(0.1)
        links = re.findall(rb'href="(?:http://127\.0\.0\.1:\d+)?(/[^"#?]*)"', self.get("/")[1])
        pages = sorted({link.decode() for link in links if link.endswith(b"/") and b"wp-" not in link}) or ["/"]
        self.pages = [page for page in dict.fromkeys(["/", *[f"/?p={post}" for post in range(1, 20)], *pages]) if self.get(page)[0] == 200]
        self.cookies = self.log_in()

    def php(self):
        return self.site / "run/php.sock"

    def children(self):
        return int(re.search(r"pm\.max_children *= *(\d+)", (self.site / "etc/php-fpm.conf").read_text())[1])

    def get(self, target, fields=None, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, body, {"User-Agent": BROWSER, "Accept": "text/html", **(fields or {})})
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        except OSError:
            return 0, b"", {}
        finally:
            connection.close()

    def log_in(self):
        text = (self.site / "site.env").read_text()
        name, password = (re.search(rf"^{word}='?([^'\n]*)", text, re.M)[1] for word in ("ADMIN_USER", "ADMIN_PASSWORD"))
        form = urllib.parse.urlencode({"log": name, "pwd": password, "testcookie": 1})
        fields = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": "wordpress_test_cookie=WP%20Cookie%20check"}
        status, _, headers = self.get("/wp-login.php", fields, "POST", form)
        cookies = "; ".join(line.split(";")[0] for line in headers.get_all("Set-Cookie", []))
        if status != 302 or "wordpress_logged_in" not in cookies:
            raise Unavailable(f"login failed: {status}")
        return cookies

    def zone(self):
        """Returns the pages and bytes of the cache in memory."""
        shown = subprocess.run([MYRIAD, "cache", "stats", "--json", "-p", self.prefix], capture_output=True, text=True, check=True).stdout
        memory = json.loads(shown.splitlines()[0])["memory"]
        return memory["pages"], memory["bytes"]

    def stop(self):
        self.plugin.unlink(missing_ok=True)
        self.flag.unlink(missing_ok=True)
        self.process.terminate()
        self.process.wait()
        subprocess.run([PROJECT / "scripts/site", "stop", self.site], check=True)


def new_search(chosen):
    return f"/?s=word{chosen.getrandbits(40)}"


def p99(latencies):
    return statistics.quantiles(latencies, n=100)[98] if len(latencies) > 1 else float("nan")


def milliseconds(seconds):
    return f"{seconds * 1000:.1f} ms"


def try_flood(stand, seconds, number):
    """Yields the rows of the table for the flood."""
    reads = [("visitor", VISITORS, f"User-Agent: {BROWSER}\r\n", [Fixed(page) for page in stand.pages], 0.25)]
    before = beside(clients, stand.port, reads, seconds)()
    pages, size = stand.zone()
    backlog = Backlog(stand.php())
    backlog.start()
    flooding = beside(flood, stand.port, number)
    visitors = beside(clients, stand.port, reads, seconds + number / 100)
    statuses, started, ended = flooding()
    during = [one for one in visitors() if started <= one[1] <= ended]
    most = backlog.stop()
    pages_after, size_after = stand.zone()
    calm, rush = (p99([one[2] for one in ones]) for ones in (before, during))
    failed = sum(one[3] != 200 for one in during)
    said = ", ".join(f"{count:,} {status}" for status, count in sorted(statuses.items()))
    yield f"{number:,} filter URLs from as many addresses in {ended - started:.0f} s: number of responses by status", said
    yield f"{VISITORS} other visitors: requests, failed requests", f"{len(during):,}, {failed}"
    yield "their 99th percentile, before and during the flood", f"{milliseconds(calm)}, {milliseconds(rush)} ({rush / calm:.2f})"
    yield f"maximum of connections waiting at php-fpm's socket ({stand.children()} children)", str(most)
    yield "zone in memory, before and after", f"{pages} pages, {size / 1e6:.2f} MB; {pages_after} pages, {size_after / 1e6:.2f} MB"


def try_slow(stand, seconds):
    """Yields the rows of the table for a slow PHP."""
    known = {"Cookie": stand.cookies}
    usual = statistics.median(timed(lambda: stand.get("/", known)) for _ in range(20))
    groups = [
        ("visitor", VISITORS - LOGGED_IN, f"User-Agent: {BROWSER}\r\n", [Fixed(page) for page in stand.pages], 0.25),
        ("logged in", LOGGED_IN, f"User-Agent: {BROWSER}\r\nCookie: {stand.cookies}\r\n", [Fixed(page) for page in stand.pages], 2.0),
        ("robot", ROBOTS, f"User-Agent: {ROBOT}\r\n", [new_search], 0.5),
    ]
    calm_s = max(5, seconds // 6)
    running = beside(clients, stand.port, groups, calm_s + seconds + 2 * calm_s)
    time.sleep(calm_s)
    stand.flag.write_text(str(round(usual * 9000)))
    slow_from = time.time()
    time.sleep(seconds)
    stand.flag.unlink()
    slow_to = time.time()
    results = running()
    def of(kind, start, end):
        return [one for one in results if one[0] == kind and start <= one[1] < end]
    stored = of("visitor", slow_from, slow_to)
    yield f"a page from PHP, before and while it is slow for {seconds} s", f"{milliseconds(usual)}, {milliseconds(usual * 10)}"
    yield "visitors of stored pages: requests, 5xx or failed", f"{len(stored):,}, {sum(one[3] >= 500 or one[3] == 0 for one in stored)}"
    yield "their 99th percentile", milliseconds(p99([one[2] for one in stored]))
    for kind in ("logged in", "robot"):
        ones = of(kind, slow_from, slow_to)
        served = [one[2] for one in ones if one[3] == 200]
        median = milliseconds(statistics.median(served)) if served else "none"
        yield f"{kind}: requests, served, median of these", f"{len(ones)}, {len(served)}; {median}"
    calm = statistics.median(one[2] for one in of("logged in", 0, slow_from))
    after = sorted(of("logged in", slow_to - 5, slow_to + 2 * calm_s), key=lambda one: one[1])
    late = [one[1] + one[2] - slow_to for one in after if one[2] > 3 * calm and one[1] + one[2] > slow_to]
    yield "last logged-in request that took more than three times its usual time", f"{max(late, default=0):.1f} s after PHP had recovered"


class Fixed:
    """A constant target. It is a class because it must be pickled for another process."""

    def __init__(self, target):
        self.target = target

    def __call__(self, _):
        return self.target


def timed(call):
    started = time.time()
    call()
    return time.time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("flood", "slow"))
    parser.add_argument("--quick", action="store_true", help="a tenth of the load; prints the table only")
    options = parser.parse_args()
    share = 10 if options.quick else 1
    stand = Stand(OUT)
    rows = []
    try:
        if options.only != "slow":
            rows += try_flood(stand, 30 if share == 1 else 6, 20_000 // share)
        if options.only != "flood":
            rows += try_slow(stand, 60 if share == 1 else 10)
    finally:
        stand.stop()
    text = "\n".join(["| | |", "|---|---|", *[f"| {what} | {value} |" for what, value in rows]])
    print(text)
    if not options.quick and not options.only:
        report.add_section(HEADING, f"{report.machine(options)}\n\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
