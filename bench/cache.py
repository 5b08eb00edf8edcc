#!/usr/bin/env python3
"""What the page cache must reach, measured: a million small pages, hit rates, what a purge costs, a page of one second's validity.

    make bench-cache                                         all of it; adds its section to bench/REPORT.md
    bench/cache.py --rows validity,hit-rates                 some of it, to bench/out/REPORT.md
    bench/cache.py --rows million --objects 100000 --servers myriad

Each figure stands beside what is asked of it and the command that gives it alone. The servers of a row run one after the
other, on one core; the client has the other.
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
    lock = hold_machine()  # until this process ends
    build_ends()
    sections = [text for name, row in ROWS.items() if not options.rows or name in options.rows for text in [row(options)]]
    write("\n\n".join(sections), options)
    del lock


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--rows", type=names, default=[], help=",".join(ROWS))
    parser.add_argument("--servers", type=names, default=[], help=",".join(SERVERS))
    parser.add_argument("--objects", type=int, default=1_000_000, help="of the row million")
    parser.add_argument("--requests", type=int, default=200_000, help="of each of five runs that hits are measured by")
    parser.add_argument("--seconds", type=int, default=30, help="of the row validity")
    parser.add_argument("--cores", default="0,1", help="SERVER,CLIENT")
    return parser.parse_args()


def write(text, options):
    """Puts the section into bench/REPORT.md in the place of its former; a part of the rows goes to bench/out/ instead."""
    whole = (options.objects, options.requests, options.seconds) == (1_000_000, 200_000, 30)
    partial = options.rows or options.servers or not whole
    path = (OUT if partial else HERE) / "REPORT.md"
    earlier = path.read_text() if path.exists() else "# Bench\n"
    earlier = report.without_section(earlier, HEADING)
    path.write_text(f"{earlier.rstrip()}\n{HEADING}\n{report.machine(options)}\n\n{text}\n")
    print(f"\n{text}\n\nwritten to {os.path.relpath(path)}")


# --- servers ---------------------------------------------------------------------------------------------------------


class Started:
    """One of the servers before an origin, with the files it has written."""

    def __init__(self, name, origin_port, valid, options, folder=OUT / "cache"):
        self.server = Server(name, folder, 1, options.cores.split(",")[0])
        self.name, self.origin_port, self.valid = name, origin_port, valid
        self.start()

    def start(self):
        """Starts it, or starts it again on what it has stored; the seconds until it listened."""
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
        """Waits until it does nothing any more: files written, encodings made."""
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
    """What bench/floor's `walk` saw."""
    core = options.cores.split(",")[1]
    done = subprocess.run(["taskset", "--cpu-list", core, WALK, str(server.port), str(CONNECTIONS), order, str(first), str(count)],
                          check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    if seen["wrong"]:
        raise load.Wrong(f"{seen['wrong']} of {seen['answers']} answers were no 200")
    return seen


def hit_us(server, options, pages):
    """CPU time of a hit on any of so many pages, in µs."""
    before = server.cpu()
    seen = walk(server, options, "at-random", pages, options.requests)
    if seen["hits"] < seen["answers"]:
        raise load.Wrong(f"{seen['answers'] - seen['hits']} of {seen['answers']} answers were no hits")
    return (server.cpu() - before) / seen["answers"] * 1e6


def hits_us(few, many, options):
    """The same on a server with ten pages and on one with all, in turns, for others on the machine slow down both alike: the
    medians of five runs."""
    runs = [(hit_us(few, options, 10), hit_us(many, options, options.objects)) for _ in range(5)]
    return [statistics.median(taken) for taken in zip(*runs)]


def judged(lines, asked):
    """Which of the figures that are asked of Myriad it misses; `asked` has a name, a column and the most for each."""
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
    heads = ["server", "filled, s", "a hit among ten, µs", f"among {options.objects:,}, µs", "times", "bytes of memory an object beyond its data",
             "first hit after a restart, s", "all known after, s"]
    return (f"### {options.objects:,} small pages in a zone\n\nBodies of 0 to 960 bytes. An object's data are its key, and the head and body that the origin "
            "sent; memory is the resident size of the serving processes. A hit is a whole request, any of the pages being as likely; it is "
            "measured in turns with one on a server that holds ten. "
            "nginx keeps no bodies in its memory; Varnish keeps nothing over a restart.\n\n"
            f"Asked of Myriad: a hit at most 1.2 ×, at most 400 bytes, first hit within 1 s, all within 60 s. "
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
        # Varnish and nginx count the pages of shared memory with them.
        each = (server.memory() - before - (data if name != "nginx" else 0)) / seen["answers"]
        os.sync()  # What the kernel has yet to write is no hit's.
        among_ten, among_all = hits_us(few.server, server, options)
        restart = restarted(started, options) if name != "varnish" else ["", ""]
        return [f"{seen['seconds']:.0f}", f"{among_ten:.2f}", f"{among_all:.2f}", f"{among_all / among_ten:.2f}", f"{each:.0f}", *restart]
    finally:
        started.stop()
        few.stop()


def restarted(started, options):
    """Seconds from a restart to the first hit, on a page in the middle, and until all files are known."""
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
        found = re.findall(r"(\d+) files of \d+ bytes known", log.read_text(errors="replace"))
        if found and int(found[-1]) >= options.objects:
            return [f"{first:.2f}", f"{time.monotonic() - began:.1f}"]
        time.sleep(0.1)
    return [f"{first:.2f}", "not within 300"]


def drop_page_cache():
    """So that files are read from the disk; where the system does not let us, they come from its memory."""
    try:
        os.sync()
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        pass


# --- one second's validity -------------------------------------------------------------------------------------------


class SlowOrigin:
    """An origin that takes 0.66 s, and counts how often it was asked."""

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
    heads = ["server", "fetches", "answers", "slowest of the first, ms", "slowest once a page is there, ms", "longer than 50 ms"]
    return (f"### Validity 1 s, an origin that takes {FETCH_SECONDS} s, {CLIENTS} clients for {options.seconds} s\n\n"
            "Each client asks anew 10 ms after its answer. Fetches are those that the origin was asked for within the time.\n\n"
            "Asked of Myriad: at most 18 fetches, nobody waits once a page is there. "
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
    # Who asked before the first page was whole had to wait for it.
    there = min(asked + waited for asked, waited in waits)
    first = [waited for asked, waited in waits if asked < there]
    later = [waited for asked, waited in waits if asked >= there]
    return [fetches, len(waits), f"{max(first) * 1e3:.0f}", f"{max(later) * 1e3:.1f}", sum(1 for waited in later if waited > 0.05)]


def visit(port, end, waits):
    """Asks for the page over and over; notes when, and how long each answer took."""
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


# --- what other programs of ours print ------------------------------------------------------------------------------


def hit_rates(_):
    manifest = HERE / "eviction" / "Cargo.toml"
    done = subprocess.run(["cargo", "run", "--release", "--quiet", "--manifest-path", manifest, "--", "--markdown"],
                          check=True, capture_output=True, text=True)
    return ("### Hit rates, the cache a tenth of the set\n\nAsked: on the first two traces within half a point of the best library, and above LRU. "
            "Seeded traces; see `bench/eviction/src/traces.rs`. Command: `cargo run --release --manifest-path bench/eviction/Cargo.toml`\n\n" + done.stdout.strip())


def example(name, title, words):
    """A row that an example of the store prints."""
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
                    "Asked: answered within 10 ms beyond the fdatasync, in effect at once, the next hits at most 1.1 ×."),
}


if __name__ == "__main__":
    main()
