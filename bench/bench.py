#!/usr/bin/env python3
"""Measures the CPU time per request of Myriad, nginx, Varnish and a minimal server (the floor) on one WordPress site.

    make bench                                     every row, every server; writes bench/REPORT.md
    bench/bench.py --rows home-gzip,idle --servers myriad,nginx-best --rounds 3 --seconds 1
    bench/bench.py --before ../old --servers myriad,myriad-before
                                                   compare with an earlier commit: ../old is a checkout of it. Uses the release
                                                   binaries of both (run make build in both); the profile of the packages fits
                                                   only one commit

A server runs on one core and wrk on the other. Each server is warmed up, then rounds alternate between the servers, and medians are
shown. If the response of a server is not the page (status, coding, decoded body, X-Cache), it is left out of that row.
"""

import argparse
import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

import h2
import h3
import load
import report
import tls
from rows import BEFORE, CANDIDATES, ROWS, judge
from servers import HERE, PROJECT, Stand, Unavailable

OUT = HERE / "out"
IDLE_CONNECTIONS = 10_000
CROWD = 200
CROWD_MS = 300


def main():
    options = arguments()
    if options.before and "MYRIAD" in os.environ:
        sys.exit("bench: --before compares the release binaries of two checkouts; run make build in both, and unset MYRIAD")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lock = hold_machine()  # released when this process exits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))  # the servers inherit it
    site = prepare_site(options.site)
    build_ends()
    stand = Stand(site, OUT / "servers", options.cores.split(",")[0], options.before)
    bench = Bench(stand, options)
    rows = [row.with_before() for row in ROWS] if options.before else ROWS
    try:
        for row in rows:
            if not options.rows or row.name in options.rows:
                bench.run(row)
    finally:
        subprocess.run([PROJECT / "scripts" / "site", "stop", site], check=False)
    (OUT / "results.json").write_text(json.dumps(bench.results, indent=1))
    text = report.write(bench.results, bench.notes, options, rows=rows,
                        partial=bool(options.rows or options.servers or options.before))
    print("\n" + text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--rows", type=names, default=[], help=",".join(row.name for row in ROWS))
    parser.add_argument("--servers", type=names, default=[], help=",".join([*CANDIDATES, *BEFORE.values()]))
    parser.add_argument("--before", type=pathlib.Path, help="a checkout of an earlier commit, with target/release/myriad in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="seconds of load per server, row and round")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--idle", type=int, default=IDLE_CONNECTIONS, help="number of connections in the idle rows")
    parser.add_argument("--cores", default="0,1", help="SERVER,CLIENT")
    parser.add_argument("--site", type=pathlib.Path, default=OUT / "site")
    return parser.parse_args()


def hold_machine():
    """Takes a lock, because two benchmarks at the same time would disturb each other and share folders."""
    OUT.mkdir(exist_ok=True)
    lock = (OUT / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("bench: another benchmark is running")
    return lock


def prepare_site(folder):
    """Starts the site, with a page that reports when PHP finished it. For "nginx-best" there is a pool with compression in PHP,
    and precompressed CSS."""
    folder = folder.resolve()
    site = [PROJECT / "scripts" / "site"]
    subprocess.run([*site, "create", folder], check=True)
    shutil.copy(HERE / "php" / "timed.php", folder / "wordpress")
    pool = (folder / "etc" / "php-fpm.conf").read_text().split("[site]", 1)[1]
    pool = pool.replace("/run/php.sock", "/run/php-compressing.sock")
    pools = folder / "etc" / "pools"
    pools.mkdir(exist_ok=True)
    (pools / "compressing.conf").write_text(f"[compressing]{pool}php_admin_value[zlib.output_compression] = 1\n"
                                            "php_admin_value[zlib.output_compression_level] = 6\n")
    css = folder / "compressed" / "wp-includes"
    if not css.exists():
        shutil.copytree(folder / "wordpress" / "wp-includes" / "css", css / "css")
        subprocess.run(["sh", "-c", f"find '{css}' -name '*.css' -exec gzip -9 -k {{}} +"], check=True)
    subprocess.run([*site, "stop", folder], check=True)  # pools are read at startup
    subprocess.run([*site, "start", folder], check=True)
    return folder


def build_ends():
    """Builds the floor and the crowd client."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", "target"], cwd=HERE / "floor", check=True)


class Bench:
    """Runs rows one after another. results[row][server] is a dictionary of figures."""

    def __init__(self, stand, options):
        self.stand, self.options = stand, options
        self.results, self.notes = {}, []

    def run(self, row):
        print(f"{row.title}", flush=True)
        self.results[row.name] = {}
        if row.kind == "handshake":
            tls.handshakes(self, row)
            return self.judged(row)
        running = self.start(row)
        try:
            {"hit": self.loaded, "h2": self.loaded, "h3": self.loaded, "tls": self.loaded, "idle-tls": lambda *asked: tls.idle(self, *asked), "revalidate": self.loaded, "miss": self.loaded, "crowd": self.crowded,
             "idle": self.idle}[row.kind](row, running)
        finally:
            for server in running.values():
                server.stop()
        self.judged(row)

    def judged(self, row):
        for asked, measured, met in judge(row, self.results):
            print(f"    {'met   ' if met else 'MISSED'}  {asked}: {measured}", flush=True)

    def note(self, row, name, problem):
        self.notes.append((row.title, name, str(problem)))
        print(f"    {name}: {problem}", flush=True)

    def start(self, row):
        running = {}
        for name in row.servers:
            if self.options.servers and name not in self.options.servers:
                continue
            try:
                running[name] = self.stand.start(name, row.workers)
                if name in row.against_one:
                    running[one_worker(name)] = self.stand.start(name)
            except Unavailable as problem:
                self.note(row, name, problem)
        return running

    def client_cores(self, server):
        """Returns the core for the client; a server with several workers shares all cores with it."""
        return self.options.cores.split(",")[1] if server.workers == 1 else self.options.cores

    def wrk(self, row, server, asked):
        if row.kind == "h2":
            return h2.measured(server, row.path, asked, self.options.seconds, self.client_cores(server))
        if row.kind == "h3":
            return h3.measured(server, row.path, asked, self.options.seconds, self.client_cores(server))
        secure = row.kind == "tls" and server.tls_port is not None  # the floor has no TLS
        return load.measured_wrk(server, row.path, asked, self.options.seconds, secure=secure,
                                 connections=self.options.connections, cores=self.client_cores(server))

    def undisturbed(self, row, server, asked):
        """Returns a run of wrk that was limited by the server or by wrk, or the best of three runs that something else slowed down.

        Only the CPU usage decides whether a run is repeated, never the cost of a request.
        """
        tried = []
        while len(tried) < 3:
            sample = self.wrk(row, server, asked)
            if server.workers == 1:
                sample["used"] = max(sample["busy"], sample["client_busy"])
            else:  # both share two cores
                sample["used"] = (sample["busy"] + sample["client_busy"]) / 2
            tried.append(sample)
            if sample["used"] > 0.85 or row.kind == "miss":  # on a miss, both wait for PHP
                break
        return max(tried, key=lambda sample: sample["used"])

    # --- rows with load from wrk -------------------------------------------------------------------------------------

    def loaded(self, row, running):
        asked = {}
        for name in list(running):
            try:
                asked[name] = self.checked(row, running[name])
            except (load.Wrong, OSError, subprocess.CalledProcessError) as problem:
                self.note(row, name, problem)
                running.pop(name).stop()
        samples = {name: [] for name in asked}

        def turn(names, kept):
            for name in names:
                try:
                    sample = (self.undisturbed if kept else self.wrk)(row, running[name], asked[name])
                except (load.Wrong, OSError, subprocess.CalledProcessError) as problem:
                    self.note(row, name, problem)
                    del asked[name], samples[name]
                    continue
                if kept:
                    samples[name].append(sample)

        if row.kind == "h3":
            try:
                h3.build()
            except (OSError, subprocess.CalledProcessError) as problem:
                return self.note(row, "myriad", problem)
        turn(list(asked), kept=False)  # warm up caches, pools, buffers
        if row.floor and asked:
            # After the warm-up, because a fast encoding is later replaced by a shorter one in the background.
            source = next(name for name in ("myriad", "myriad-bare", "nginx-best", *asked) if name in asked)
            response = load.fetch(running[source].port, row.path, asked[source])[0]
            running["floor"] = self.stand.start("floor", response=response, close=row.close)
            asked["floor"], samples["floor"] = asked[source], []
            turn(["floor"], kept=False)
        if row.kind == "h3" and "myriad" in asked:
            source = "myriad"
            try:
                running["floor"] = self.stand.start("h3-bare", page=h3.page(running[source], row.path, asked[source]))
                asked["floor"], samples["floor"] = asked[source], []
                turn(["floor"], kept=False)
            except (Unavailable, OSError, subprocess.CalledProcessError) as problem:
                self.note(row, "floor", problem)
        for number in range(row.rounds or self.options.rounds):
            turn(turned(asked, number), kept=True)
        for name, taken in samples.items():
            errors = sum(sample["status_errors"] + sample["socket_errors"] for sample in taken)
            if errors:
                self.note(row, name, f"{errors} failed requests under load")
            self.results[row.name][name] = self.summary(name, taken)
        if "floor" in samples and source in samples:
            sent, written = (self.results[row.name][name]["bytes"] for name in (source, "floor"))
            if abs(sent - written) > 0.01 * written:
                self.note(row, "floor", f"sent {written:.0f} bytes per request, {source} sent {sent:.0f}")

    def summary(self, name, taken):
        figures = {
            "cpu_us": statistics.median(sample["cpu_us"] for sample in taken),
            "per_second": statistics.median(sample["per_second"] for sample in taken),
            "p99_us": statistics.median(sample["p99_us"] for sample in taken),
            "bytes": sum(sample["bytes"] for sample in taken) / sum(sample["requests"] for sample in taken),
            "busy": statistics.median(sample["busy"] for sample in taken),
            "client_busy": statistics.median(sample["client_busy"] for sample in taken),
            "all_cpu_us": [sample["cpu_us"] for sample in taken],
        }
        print(f"    {name:14} {figures['cpu_us']:8.2f} µs  {figures['per_second']:9.0f}/s  {figures['bytes']:7.0f} bytes"
              f"  {figures['busy']:5.0%} busy, wrk {figures['client_busy']:.0%}")
        return figures

    def checked(self, row, server):
        """Checks that the server responds correctly to this row; returns the request headers."""
        reference = self.reference(row)
        deadline = time.monotonic() + 5
        while True:  # encodings may be created in the background after the first requests
            _, status, fields, _ = load.fetch(server.port, row.path, row.fields)
            coding = fields.get("content-encoding", "")
            # Wait for the best accepted coding, because later requests get it.
            settled = coding == row.codings[0] and (not row.cached or fields.get("x-cache") == "HIT")
            if settled or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if status != 200:
            raise load.Wrong(f"status {status}")
        if coding not in row.codings:
            raise load.Wrong(f"content coding {coding or 'identity'}")
        if row.cached and fields.get("x-cache") != "HIT":
            raise load.Wrong(f"X-Cache {fields.get('x-cache')}")
        if row.kind == "miss" and fields.get("x-cache") == "HIT":
            raise load.Wrong("a personal request was served from the cache")
        keep = [field for field in row.fields if field[0] != "Connection"]
        if load.decoded_body(server.port, row.path, keep) != reference:
            raise load.Wrong("the body differs from the upstream's")
        if row.kind == "h2":
            h2.check(server, row.path, row.fields, reference)
        if row.kind in ("tls", "idle-tls"):
            tls.check(server, row.path, row.fields, reference)
        if row.kind != "revalidate":
            return row.fields
        return self.validated(row, server, fields)

    def validated(self, row, server, fields):
        if "etag" in fields:
            condition = ("If-None-Match", fields["etag"])
        elif "last-modified" in fields:
            condition = ("If-Modified-Since", fields["last-modified"])
        else:
            raise load.Wrong("sends no validator, so a repeat visitor gets the whole page")
        asked = (*row.fields, condition)
        status = load.fetch(server.port, row.path, asked)[1]
        if status != 304:
            raise load.Wrong(f"{condition[0]} got status {status}")
        return asked

    def reference(self, row):
        """Returns the expected decoded body of this row, from php-fpm or the disk, through a server without a cache."""
        if not hasattr(self, "references"):
            self.references = {}
        if row.path not in self.references:
            if row.path.endswith(".css"):
                self.references[row.path] = (self.stand.site / "wordpress" / row.path[1:]).read_bytes()
            else:
                origin = self.stand.start("origin")
                try:
                    self.references[row.path] = load.decoded_body(origin.port, row.path, ())
                finally:
                    origin.stop()
        return self.references[row.path]

    # --- crowds ------------------------------------------------------------------------------------------------------

    def crowded(self, row, running):
        rounds = {name: [] for name in running}
        for name, server in running.items():
            load.fetch(server.port, f"/timed.php/0/{name}-{row.workers}-{os.getpid()}", row.fields)  # warm up script and pools
        for number in range(row.rounds or self.options.rounds):
            for name in turned(running, number):
                path = f"/timed.php/{CROWD_MS}/{name}-{row.workers}-{os.getpid()}-{number}"
                try:
                    rounds[name].append(self.crowd(running[name], path, row.fields))
                except (load.Wrong, OSError, subprocess.TimeoutExpired) as problem:
                    self.note(row, name, problem)
        for name, taken in rounds.items():
            if not taken:
                continue
            figures = {figure: statistics.median(entry[figure] for entry in taken) for figure in taken[0]}
            figures["origin_requests"] = max(entry["origin_requests"] for entry in taken)
            self.results[row.name][name] = figures
            print(f"    {name:14} slowest {figures['slowest_late_ms']:8.2f} ms after the upstream, median {figures['median_late_ms']:.2f}, "
                  f"{figures['beyond_ms']:.2f} in addition to PHP's time, {figures['origin_requests']} upstream requests "
                  f"(client {figures['client_cpu_ms']:.2f} ms of CPU)")

    def crowd(self, server, path, fields):
        """Returns the figures of the crowd, with the number of requests and the time of the first one from php-fpm's log."""
        log = self.stand.site / "log" / "php-access.log"
        seen = log.stat().st_size
        figures = load.crowd(server.port, path, fields, CROWD, self.client_cores(server))
        time.sleep(CROWD_MS / 1000 + 0.1)  # a late second upstream request may still be running
        with log.open() as lines:
            lines.seek(seen)
            taken = [float(line.split()[-1]) for line in lines if path in line]
        if not taken:
            raise load.Wrong("the crowd got responses, but php-fpm's log has no request")
        if figures["origin_after_ms"] < CROWD_MS:
            raise load.Wrong(f"PHP's timestamp is {figures['origin_after_ms']:.1f} ms after the first request, which is too early for this page")
        return {**figures, "origin_requests": len(taken), "beyond_ms": figures["longest_ms"] - taken[0]}

    # --- idle connections --------------------------------------------------------------------------------------------

    def idle(self, row, running):
        count = self.options.idle
        rounds = min(self.options.rounds, 5)  # must finish within 65 s, the keep-alive timeout of the preset
        for name, server in running.items():
            try:
                asked = self.checked(row, server)
                self.wrk(row, server, asked)  # warm up
                alone = [self.undisturbed(row, server, asked) for _ in range(rounds)]
                before = server.memory()
                with load.Idle(server.port, row.path, asked, count) as crowd:
                    time.sleep(1)
                    each = (server.memory() - before) / count / 1024
                    among = [self.undisturbed(row, server, asked) for _ in range(rounds)]
                    dead = crowd.dead()
                time.sleep(1)
                alone += [self.undisturbed(row, server, asked) for _ in range(rounds)]  # before and after, to compensate for drift
            except (load.Wrong, OSError, subprocess.CalledProcessError) as problem:
                self.note(row, name, problem)
                continue
            middle = lambda samples: statistics.median(sample["cpu_us"] for sample in samples)
            lost = sum(sample["socket_errors"] + sample["status_errors"] for sample in among)
            figures = {"kilobytes_each": each, "dead": dead + lost, "hit_alone_us": middle(alone), "hit_among_us": middle(among),
                       "all_alone_us": [sample["cpu_us"] for sample in alone],
                       "all_among_us": [sample["cpu_us"] for sample in among]}
            self.results[row.name][name] = figures
            print(f"    {name:14} {each:6.2f} KB each, hit {figures['hit_alone_us']:.2f} µs without and "
                  f"{figures['hit_among_us']:.2f} µs with them, {figures['dead']} lost")


def one_worker(name):
    """Returns the name in the results of a server with one worker, in a row with several workers."""
    return f"{name}, one worker"


def turned(names, number):
    """Returns `names` rotated, so that each round starts with another server and drift affects all of them."""
    names = list(names)
    turn = number % max(1, len(names))
    return names[turn:] + names[:turn]


if __name__ == "__main__":
    main()
