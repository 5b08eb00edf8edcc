#!/usr/bin/env python3
"""Counts the instructions of Myriad's worker thread for one cached hit with callgrind. The result does not depend on the load of the machine.

    make bench-instructions                                    every row of keep-alive hits, preset and bare
    bench/instructions.py --before ../old --rows home-gzip     compare with an earlier commit: a checkout with its release binary

Each figure is the difference between a run with FEW and a run with MANY requests, divided by the difference in requests. So the cost
of starting, warming up and stopping, which is part of both, does not count. Only the thread with the greatest difference counts, so
background compression does not. Each count is the minimum of RUNS runs, because a page that is fetched again only adds instructions.
Instructions of the kernel are not counted.
"""

import argparse
import pathlib
import re
import socket
import subprocess
import sys
import time

import bench
import h2
import load
import report
from rows import BEFORE, ROWS, UNCHANGED
from servers import HERE, Stand, Unavailable, program

FEW, MANY, RUNS = 200, 6200, 3
KINDS = ("hit", "revalidate", "h2")
NAMES = ["myriad", "myriad-bare"]
ALSO = ["myriad-headers", "myriad-logged"]  # in rows that compare them


def main():
    options = arguments()
    lock = bench.hold_machine()  # released when this process exits
    site = bench.prepare_site(bench.OUT / "site")
    names = [name for now in NAMES for name in (now, BEFORE[now] if options.before else None) if name]
    stand = Counting(site, bench.OUT / "instructions", "0,1", options.before)
    lines, missed = [], 0
    try:
        for row in (row for row in ROWS if is_counted(row)):
            if options.rows and row.name not in options.rows:
                continue
            pairs = {now: [now, BEFORE[now]] if options.before else [now] for now in NAMES if now in row.servers}
            asked = [name for pair in pairs.values() for name in pair] + [name for name in ALSO if name in row.servers]
            counts = {name: counted(stand, name, row) for name in asked}
            ratios = {now: counts[now] / counts[BEFORE[now]] for now in pairs if options.before}
            missed += sum(ratio > UNCHANGED for ratio in ratios.values())
            shown = lambda figures, names, form: [format(figures[name], form) if name in figures else "" for name in names]
            lines.append([row.title, *shown(counts, [*names, *ALSO], ".0f"), *shown(ratios, NAMES if options.before else [], ".3f")])
            print("  ".join(lines[-1]), flush=True)
    finally:
        subprocess.run([bench.PROJECT / "scripts" / "site", "stop", site], check=False)
    heads = ["row", *names, *ALSO, *(f"{now}: now/before" for now in NAMES if options.before)]
    print("\n" + report.table(heads, lines))
    if missed:
        sys.exit(f"{missed} figures are above {UNCHANGED} x the earlier commit")


def is_counted(row):
    return row.kind in KINDS and not row.close and row.workers == 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [row.name for row in ROWS if is_counted(row)]
    parser.add_argument("--rows", type=lambda text: text.split(","), default=[], help=",".join(names))
    parser.add_argument("--before", type=pathlib.Path, help="a checkout of an earlier commit, with target/release/myriad in it")
    return parser.parse_args()


class Counting(Stand):
    """Servers with the worker process under callgrind, which writes its counts when it exits."""

    def launcher(self, server):
        server.folder.chmod(0o777)  # if started by root, the worker writes its counts as another user
        preloaded = self.folder / "worker.so"
        if not preloaded.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", preloaded, HERE / "instructions" / "worker.c", "-ldl"], check=True)
        under = f"{program('valgrind')} -q --tool=callgrind --separate-threads=yes --callgrind-out-file={server.folder}/count.%p"
        return ["env", f"LD_PRELOAD={preloaded}", f"MYRIAD_WORKER_UNDER={under}"]


def counted(stand, name, row):
    """Returns the instructions per request of the row."""
    few, many = ([by_thread(stand, name, row, requests) for _ in range(RUNS)] for requests in (FEW, MANY))
    threads = set.intersection(*(set(counts) for counts in few + many))
    least = lambda runs, thread: min(counts[thread] for counts in runs)
    return max((least(many, thread) - least(few, thread)) / (MANY - FEW) for thread in threads)


def by_thread(stand, name, row, requests):
    """Starts a server, warms it up, sends `requests` requests and stops it; returns the instructions of each thread of the worker
    process, by thread number."""
    server = stand.start(name)
    try:
        fields = settled(server, row)
        ask(server, row, fields, requests)
    finally:
        server.stop()
    counts = {}
    for file in server.folder.glob("count.*-*"):
        found = re.search(r"^(?:summary|totals): (\d+)", file.read_text(), re.M)
        if found:
            counts[file.name.rpartition("-")[2]] = int(found.group(1))
    if not counts:
        raise Unavailable(f"{name}: callgrind wrote no counts to {server.folder}")
    return counts


def settled(server, row):
    """Waits until the page is a hit in the coding of the row and its size is stable; returns the request headers."""
    lengths, deadline = [], time.monotonic() + 60
    while len(lengths) < 4 or len(set(lengths[-4:])) > 1:
        data, status, fields, _ = load.fetch(server.port, row.path, row.fields, timeout=60)
        is_hit = not row.cached or fields.get("x-cache") == "HIT"
        if status == 200 and is_hit and fields.get("content-encoding", "") == row.codings[0]:
            lengths.append(len(data))
        if time.monotonic() > deadline:
            raise load.Wrong(f"{server.name}: no stable hit of {row.name}")
        time.sleep(0.5)
    return (*row.fields, ("If-None-Match", fields["etag"])) if row.kind == "revalidate" else row.fields


def ask(server, row, fields, requests):
    """Requests the page on one connection: one request after another; over HTTP/2 in as many streams as bench.py uses."""
    if row.kind == "h2":
        done = h2.report(h2.h2load(server.tls_port, row.path, fields, ("-n", requests, "-c", 1), "0,1"))
        if (done["requests"], done["status_errors"], done["socket_errors"]) != (requests, 0, 0):
            raise load.Wrong(f"{server.name}: {done} responses to {requests} requests")
        return
    sent = load.request_bytes(row.path, fields)
    wanted = 304 if row.kind == "revalidate" else 200
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(requests):
            connection.sendall(sent)
            status = load.read_response(connection)[1]
            if status != wanted:
                raise load.Wrong(f"{server.name}: status {status} instead of {wanted}")


if __name__ == "__main__":
    main()
