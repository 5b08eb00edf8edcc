#!/usr/bin/env python3
"""Measures the page cache against its targets: a million small pages, hit rates, the cost of a purge, a page that is valid for one second.

    make bench-cache                                         all rows; writes its section to bench/REPORT.md
    bench/cache.py --rows validity,hit-rates                 some rows, to bench/out/REPORT.md
    bench/cache.py --rows million --objects 100000 --servers myriad

Each figure is printed with its target and the command for this row. The servers of a row run one after another, on one core;
the client runs on the other.
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import load
import report
from bench import OUT, build_ends, hold_machine
from servers import CONF, HERE, PROJECT, SEARCH_PATH, Server, Unavailable, fill, free_port, myriad_binary, program

HEADING = "\n## The page cache\n"
WALK = HERE / "floor" / "target" / "release" / "walk"
SERVERS = ["myriad", "nginx", "varnish"]
CONNECTIONS = 32
FETCH_SECONDS = 0.66
CLIENTS = 10


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lock = hold_machine()  # released when this process exits
    build_ends()
    sections = [text for name, row in ROWS.items() if not options.rows or name in options.rows for text in [row(options)]]
    write("\n\n".join(sections), options)
    del lock


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--rows", type=names, default=[], help=",".join(ROWS))
    parser.add_argument("--servers", type=names, default=[], help=",".join(SERVERS))
    parser.add_argument("--objects", type=int, default=1_000_000, help="pages in the row million")
    parser.add_argument("--requests", type=int, default=200_000, help="requests in each of the five runs that measure hits")
    parser.add_argument("--seconds", type=int, default=30, help="seconds of the row validity")
    parser.add_argument("--cores", default="0,1", help="SERVER,CLIENT")
    return parser.parse_args()


def write(text, options):
    """Replaces the section in bench/REPORT.md; a run of some rows is written to bench/out/ instead."""
    whole = (options.objects, options.requests, options.seconds) == (1_000_000, 200_000, 30)
    partial = options.rows or options.servers or not whole
    path = (OUT if partial else HERE) / "REPORT.md"
    earlier = path.read_text() if path.exists() else "# Bench\n"
    earlier = report.without_section(earlier, HEADING)
    path.write_text(f"{earlier.rstrip()}\n{HEADING}\n{report.machine(options)}\n\n{text}\n")
    print(f"\n{text}\n\nwritten to {os.path.relpath(path)}")


# --- servers ---------------------------------------------------------------------------------------------------------


class Started:
    """A caching server with an upstream, and the files that it has written."""

    def __init__(self, name, origin_port, valid, options, folder=OUT / "cache"):
        self.server = Server(name, folder, 1, options.cores.split(",")[0])
        self.name, self.origin_port, self.valid = name, origin_port, valid
        self.start()

    def start(self):
        """Starts the server, with its stored files if there are any; returns the seconds until it listens."""
        began = time.monotonic()
        server = self.server
        values = {"dir": server.folder, "port": server.port, "origin_port": self.origin_port, "valid": self.valid,
                  "user": "user root;" if os.getuid() == 0 else "", "memory": "memory=4g" if self.name == "myriad" else ""}
        if self.name == "varnish":
            path = server.folder / "many.vcl"
            path.write_text(fill(CONF / "many.vcl", values))
            server.spawn([program("varnishd"), "-F", "-a", f"127.0.0.1:{server.port}", "-f", path, "-n", server.folder / "work",
                          "-s", "malloc,6g", "-j", "none", "-T", "none"], server.port)
        else:
            path = server.folder / "server.conf"
            path.write_text(fill(CONF / "many.conf", values))
            binary = myriad_binary() if self.name == "myriad" else program("nginx")
            server.spawn([binary, "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)
        return time.monotonic() - began

    def stop(self):
        self.server.stop()

    def at_rest(self):
        """Waits until the server is idle: files written, encodings created."""
        before = self.server.cpu()
        while True:
            time.sleep(1)
            now = self.server.cpu()
            if now - before < 0.01:
                return
            before = now


def wanted(options):
    return options.servers or SERVERS


def walk(server, options, order, first, count):
    """Returns the figures of bench/floor's `walk`."""
    core = options.cores.split(",")[1]
    done = subprocess.run(["taskset", "--cpu-list", core, WALK, str(server.port), str(CONNECTIONS), order, str(first), str(count)],
                          check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    if seen["wrong"]:
        raise load.Wrong(f"{seen['wrong']} of {seen['answers']} responses were not 200")
    return seen


def hit_us(server, options, pages):
    """Returns the CPU time of a hit on one of the first `pages` pages, in µs."""
    before = server.cpu()
    seen = walk(server, options, "at-random", pages, options.requests)
    if seen["hits"] < seen["answers"]:
        raise load.Wrong(f"{seen['answers'] - seen['hits']} of {seen['answers']} responses were not hits")
    return (server.cpu() - before) / seen["answers"] * 1e6


def hits_us(few, many, options):
    """Returns the CPU time of a hit on a server with ten pages and on one with all pages: medians of five alternating runs,
    so that other load on the machine affects both."""
    runs = [(hit_us(few, options, 10), hit_us(many, options, options.objects)) for _ in range(5)]
    return [statistics.median(taken) for taken in zip(*runs)]


def judged(lines, asked):
    """Returns a sentence with the targets that Myriad misses; `asked` contains (name, column, maximum)."""
    own = [line for line in lines if line[0] == "myriad" and line[-1] != ""]
    missed = [f"{name} ({line[column]})" for line in own for name, column, most in asked if float(line[column]) > most]
    return "Missed: " + ", ".join(missed) + ". " if missed else "All met. " if own else ""


# --- a million small pages -------------------------------------------------------------------------------------------


def million(options):
    origin = Server("pages", OUT / "cache", 1, options.cores.split(",")[1])
    path = origin.folder / "pages.conf"
    path.write_text(fill(CONF / "pages.conf", {"dir": origin.folder, "port": origin.port,
                                               "user": "user root;" if os.getuid() == 0 else ""}))
    origin.spawn([program("nginx"), "-p", origin.folder, "-c", path, "-e", origin.folder / "pages.log"], origin.port)
    origin_head = len(load.fetch(origin.port, "/page/1")[0]) - 60
    lines = []
    try:
        for name in wanted(options):
            try:
                lines.append([name, *million_of(name, origin.port, origin_head, options)])
            except (Unavailable, load.Wrong, OSError, subprocess.SubprocessError) as problem:
                lines.append([name, str(problem).splitlines()[0][:100]] + [""] * 6)
            print("  ".join(map(str, lines[-1])), flush=True)
    finally:
        origin.stop()
        shutil.rmtree(OUT / "cache", ignore_errors=True)
    heads = ["server", "filled, s", "hit, ten pages, µs", f"hit, {options.objects:,} pages, µs", "ratio", "bytes of memory per page in addition to its data",
             "first hit after a restart, s", "all files known after, s"]
    return (f"### {options.objects:,} small pages in a zone\n\nBodies of 0 to 960 bytes. The data of a page is its key, and the head and body that the upstream "
            "sent; memory is the resident size of the server's processes. A hit is a whole request for a random page. It is measured in "
            "alternation with a hit on a server that holds ten pages. "
            "nginx holds no bodies in memory; Varnish stores nothing across a restart.\n\n"
            f"Targets for Myriad: a hit at most 1.2 ×, at most 400 bytes, first hit within 1 s, all files known within 60 s. "
            + judged(lines, [("a hit", 4, 1.2), ("memory", 5, 400), ("the first hit after a restart", 6, 1), ("all known after", 7, 60)])
            + "Command: `bench/cache.py --rows million`\n\n"
            + report.table(heads, lines))


def million_of(name, origin_port, origin_head, options):
    started = Started(name, origin_port, "1d", options)
    few = Started(name, origin_port, "1d", options, OUT / "cache" / "few")
    server = started.server
    try:
        for any_server in (server, few.server):
            walk(any_server, options, "in-order", 0, 10)
            walk(any_server, options, "at-random", 10, options.requests)
        started.at_rest()
        before = server.memory()
        seen = walk(server, options, "in-order", 10, options.objects - 10)
        started.at_rest()
        data = seen["answers"] * origin_head + seen["body_bytes"] + seen["target_bytes"]
        # For Varnish and nginx this includes shared memory.
        each = (server.memory() - before - (data if name != "nginx" else 0)) / seen["answers"]
        os.sync()  # Do not count pending writes of the kernel for hits.
        among_ten, among_all = hits_us(few.server, server, options)
        restart = restarted(started, options) if name != "varnish" else ["", ""]
        return [f"{seen['seconds']:.0f}", f"{among_ten:.2f}", f"{among_all:.2f}", f"{among_all / among_ten:.2f}", f"{each:.0f}", *restart]
    finally:
        started.stop()
        few.stop()


def restarted(started, options):
    """Returns the seconds from a restart to the first hit (on a page in the middle), and until all files are known."""
    started.stop()
    drop_page_cache()
    began = time.monotonic()
    started.start()
    middle = f"/page/{options.objects // 2}"
    fields = load.fetch(started.server.port, middle)[2]
    first = time.monotonic() - began
    if fields.get("x-cache") != "HIT":
        return [f"{fields.get('x-cache')} after {first:.2f}", ""]
    log = started.server.folder / "error.log"
    if started.name != "myriad":
        return [f"{first:.2f}", ""]
    deadline = began + 300
    while time.monotonic() < deadline:
        found = re.findall(r"(\d+) files of \d+ bytes found", log.read_text(errors="replace"))
        if found and int(found[-1]) >= options.objects:
            return [f"{first:.2f}", f"{time.monotonic() - began:.1f}"]
        time.sleep(0.1)
    return [f"{first:.2f}", "more than 300"]


def drop_page_cache():
    """Empties the page cache of the kernel, so that files are read from disk; without the rights they are read from memory."""
    try:
        os.sync()
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        pass


# --- a page that is valid for one second -----------------------------------------------------------------------------


class SlowOrigin:
    """An upstream that takes 0.66 s per request and counts its requests."""

    def __init__(self):
        self.begun = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.begun.append(time.monotonic())
                time.sleep(FETCH_SECONDS)
                body = b"page %d" % len(outer.begun)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


def validity(options):
    lines = []
    for name in wanted(options):
        try:
            lines.append([name, *validity_of(name, options)])
        except (Unavailable, OSError) as problem:
            lines.append([name, str(problem).splitlines()[0][:100]] + [""] * 4)
        print("  ".join(map(str, lines[-1])), flush=True)
    heads = ["server", "fetches", "answers", "slowest first response, ms", "slowest response once a page is stored, ms", "longer than 50 ms"]
    return (f"### A page valid for 1 s, an upstream that takes {FETCH_SECONDS} s, {CLIENTS} clients for {options.seconds} s\n\n"
            "Each client sends its next request 10 ms after a response. Fetches are the requests that reached the upstream.\n\n"
            "Targets for Myriad: at most 18 fetches; no client waits once a page is stored. "
            + judged(lines, [("fetches", 1, 18), ("waits", 5, 0)]) + "Command: `bench/cache.py --rows validity`\n\n" + report.table(heads, lines))


def validity_of(name, options):
    origin = SlowOrigin()
    started = Started(name, origin.port, "1s", options)
    waits = []
    try:
        began = time.monotonic()
        end = began + options.seconds
        clients = [threading.Thread(target=visit, args=(started.server.port, end, waits)) for _ in range(CLIENTS)]
        [client.start() for client in clients]
        [client.join() for client in clients]
        fetches = sum(1 for at in origin.begun if at <= end)
    finally:
        started.stop()
        origin.stop()
    # Requests before the first page was complete had to wait for it.
    there = min(asked + waited for asked, waited in waits)
    first = [waited for asked, waited in waits if asked < there]
    later = [waited for asked, waited in waits if asked >= there]
    return [fetches, len(waits), f"{max(first) * 1e3:.0f}", f"{max(later) * 1e3:.1f}", sum(1 for waited in later if waited > 0.05)]


def visit(port, end, waits):
    """Requests the page repeatedly; records the time and the duration of each response."""
    connection = load.socket.create_connection(("127.0.0.1", port), timeout=30)
    request = load.request_bytes("/page/1")
    with connection:
        while (asked := time.monotonic()) < end:
            connection.sendall(request)
            status = load.read_response(connection)[1]
            if status != 200:
                raise OSError(f"status {status}")
            waits.append((asked, time.monotonic() - asked))
            time.sleep(0.01)


# --- output of other programs of the project ------------------------------------------------------------------------


def hit_rates(_):
    manifest = HERE / "eviction" / "Cargo.toml"
    done = subprocess.run(["cargo", "run", "--release", "--quiet", "--manifest-path", manifest, "--", "--markdown"],
                          check=True, capture_output=True, text=True)
    return ("### Hit rates with room for a tenth of the pages\n\nTarget: on the first two traces at most half a point below the best library, and above LRU. "
            "Seeded traces; see `bench/eviction/src/traces.rs`. Command: `cargo run --release --manifest-path bench/eviction/Cargo.toml`\n\n" + done.stdout.strip())


def example(name, title, words):
    """Returns a row with the output of an example program of the store."""
    def row(_):
        done = subprocess.run(["cargo", "run", "--release", "--quiet", "--package", "myriad-store", "--example", name],
                              cwd=PROJECT, check=True, capture_output=True, text=True)
        return (f"### {title}\n\n{words} Command: `cargo run --release -p myriad-store --example {name}`\n\n```\n{done.stdout.strip()}\n```")
    return row


ROWS = {
    "million": million,
    "validity": validity,
    "hit-rates": hit_rates,
    "purges": example("purge_cost", "A purge of a million objects",
                    "Targets: confirmed at most 10 ms after the fdatasync, effective at once, the following hits at most 1.1 ×."),
}


if __name__ == "__main__":
    main()
