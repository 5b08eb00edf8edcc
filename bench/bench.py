#!/usr/bin/env python3
"""Myriad against nginx, Varnish and the floor, on one WordPress site: CPU time per request, in one run.

    make bench                                     every row, every server; writes bench/REPORT.md
    bench/bench.py --rows home-gzip,idle --servers myriad,nginx-best --rounds 3 --seconds 1

Each server runs alone on one core and wrk on the other; rounds alternate between the servers, medians are shown. A server
whose answer is not the page (status, coding, decoded body, X-Cache) takes no part in that row.
"""

import argparse
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

import load
import report
from rows import CANDIDATES, ROWS, judge
from servers import HERE, PROJECT, Stand, Unavailable

OUT = HERE / "out"
IDLE_CONNECTIONS = 10_000
CROWD = 200
CROWD_MS = 300


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))  # the servers inherit it
    site = prepare_site(options.site)
    build_floor()
    stand = Stand(site, OUT / "servers", options.cores.split(",")[0])
    bench = Bench(stand, options)
    try:
        for row in ROWS:
            if not options.rows or row.name in options.rows:
                bench.run(row)
    finally:
        subprocess.run([PROJECT / "scripts" / "site", "stop", site], check=False)
    (OUT / "results.json").write_text(json.dumps(bench.results, indent=1))
    text = report.write(bench.results, bench.notes, options, partial=bool(options.rows or options.servers))
    print("\n" + text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--rows", type=names, default=[], help=",".join(row.name for row in ROWS))
    parser.add_argument("--servers", type=names, default=[], help=",".join(CANDIDATES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of load per server, row and round")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--idle", type=int, default=IDLE_CONNECTIONS, help="connections of the idle rows")
    parser.add_argument("--cores", default="0,1", help="SERVER,CLIENT")
    parser.add_argument("--site", type=pathlib.Path, default=OUT / "site")
    return parser.parse_args()


def prepare_site(folder):
    """The site, running, with a pool whose PHP compresses and CSS that was compressed ahead, for nginx at its best."""
    folder = folder.resolve()
    site = [PROJECT / "scripts" / "site"]
    subprocess.run([*site, "create", folder], check=True)
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
    subprocess.run([*site, "stop", folder], check=True)  # the pool is read at start
    subprocess.run([*site, "start", folder], check=True)
    return folder


def build_floor():
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", "target"], cwd=HERE / "floor", check=True)


class Bench:
    """Runs rows one after the other and keeps what they gave: results[row][server] is a dictionary of figures."""

    def __init__(self, stand, options):
        self.stand, self.options = stand, options
        self.results, self.notes = {}, []
        self.core = options.cores.split(",")[1]

    def run(self, row):
        print(f"{row.title}", flush=True)
        self.results[row.name] = {}
        running = self.start(row)
        try:
            {"hit": self.loaded, "revalidate": self.loaded, "miss": self.loaded, "crowd": self.crowded,
             "idle": self.idle}[row.kind](row, running)
        finally:
            for server in running.values():
                server.stop()
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
            except Unavailable as problem:
                self.note(row, name, problem)
        return running

    # --- rows that wrk loads -----------------------------------------------------------------------------------------

    def loaded(self, row, running):
        asked = {}
        for name in list(running):
            try:
                asked[name] = self.checked(row, running[name])
            except (load.Wrong, OSError, subprocess.CalledProcessError) as problem:
                self.note(row, name, problem)
                running.pop(name).stop()
        if row.floor and asked:
            source = next(name for name in ("myriad", "myriad-bare", "nginx-best", *asked) if name in asked)
            response = load.fetch(running[source].port, row.path, asked[source])[0]
            running["floor"] = self.stand.start("floor", response=response, close=row.close)
            asked["floor"] = asked[source]
        if not asked:
            return
        samples = {name: [] for name in asked}
        cores = self.core if row.workers == 1 else self.options.cores
        for number in range(row.rounds or self.options.rounds):
            # Each round begins with another server: what drifts on the machine falls on all.
            names = list(asked)
            turn = number % max(1, len(names))
            names = names[turn:] + names[:turn]
            for name in names:
                try:
                    samples[name].append(load.measured_wrk(
                        running[name], row.path, asked[name], self.options.seconds,
                        connections=self.options.connections, cores=cores))
                except (load.Wrong, OSError, subprocess.CalledProcessError) as problem:
                    self.note(row, name, problem)
                    del asked[name], samples[name]
        for name, taken in samples.items():
            errors = sum(sample["status_errors"] + sample["socket_errors"] for sample in taken)
            if errors:
                self.note(row, name, f"{errors} failed requests under load")
            self.results[row.name][name] = self.summary(row, name, taken)

    def summary(self, row, name, taken):
        figures = {
            "cpu_us": statistics.median(sample["cpu_us"] for sample in taken),
            "per_second": statistics.median(sample["per_second"] for sample in taken),
            "p99_us": statistics.median(sample["p99_us"] for sample in taken),
            "bytes": taken[0]["bytes"] / taken[0]["requests"],
            "all_cpu_us": [sample["cpu_us"] for sample in taken],
        }
        print(f"    {name:14} {figures['cpu_us']:8.2f} µs  {figures['per_second']:9.0f}/s  {figures['bytes']:7.0f} bytes")
        return figures

    def checked(self, row, server):
        """The fields to send, once the server has proved that it answers this row rightly."""
        reference = self.reference(row)
        deadline = time.monotonic() + 5
        while True:  # an encoding may be made in the background of the first requests
            _, status, fields, _ = load.fetch(server.port, row.path, row.fields)
            coding = fields.get("content-encoding", "")
            # The best coding that is allowed is worth waiting for, as it is what stays.
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
            raise load.Wrong("a personal request was answered from the cache")
        keep = [field for field in row.fields if field[0] != "Connection"]
        if load.decoded_body(server.port, row.path, keep) != reference:
            raise load.Wrong("another body than the origin's")
        if row.kind != "revalidate":
            return row.fields
        return self.validated(row, server, fields)

    def validated(self, row, server, fields):
        if "etag" in fields:
            condition = ("If-None-Match", fields["etag"])
        elif "last-modified" in fields:
            condition = ("If-Modified-Since", fields["last-modified"])
        else:
            raise load.Wrong("sends no validator: a repeat visitor gets the whole page")
        asked = (*row.fields, condition)
        status = load.fetch(server.port, row.path, asked)[1]
        if status != 304:
            raise load.Wrong(f"{condition[0]} answered with {status}")
        return asked

    def reference(self, row):
        """The decoded body that php-fpm or the disk has for this row, by a server that caches nothing."""
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
        log = self.stand.site / "log" / "php-access.log"
        rounds = {name: [] for name in running}
        for number in range(row.rounds or self.options.rounds):
            for name, server in running.items():
                path = f"/slow.php/{CROWD_MS}/{name}-{row.workers}-{os.getpid()}-{number}"
                seen = log.stat().st_size
                try:
                    answered = load.crowd(server.port, path, row.fields, CROWD)
                except (load.Wrong, OSError) as problem:
                    self.note(row, name, problem)
                    continue
                time.sleep(0.1)
                with log.open() as lines:
                    lines.seek(seen)
                    origin = [float(line.split()[-1]) for line in lines if path in line]
                if origin:
                    excess = answered[-1] * 1000 - origin[0]
                    rounds[name].append((excess, len(origin), statistics.median(answered) * 1000 - origin[0]))
        for name, taken in rounds.items():
            if not taken:
                continue
            figures = {"excess_ms": statistics.median(entry[0] for entry in taken),
                       "origin_requests": max(entry[1] for entry in taken),
                       "median_excess_ms": statistics.median(entry[2] for entry in taken)}
            self.results[row.name][name] = figures
            print(f"    {name:14} slowest {figures['excess_ms']:8.1f} ms after the origin, {figures['origin_requests']} origin requests")

    # --- connections that stay ---------------------------------------------------------------------------------------

    def idle(self, row, running):
        count = self.options.idle
        cores = self.core if row.workers == 1 else self.options.cores
        options = {"connections": self.options.connections, "cores": cores}
        for name, server in running.items():
            try:
                asked = self.checked(row, server)
                alone = load.measured_wrk(server, row.path, asked, self.options.seconds, **options)
                before = server.memory()
                with load.Idle(server.port, row.path, asked, count) as crowd:
                    time.sleep(1)
                    each = (server.memory() - before) / count / 1024
                    among = load.measured_wrk(server, row.path, asked, self.options.seconds, **options)
                    dead = crowd.dead()
            except (load.Wrong, OSError, subprocess.CalledProcessError) as problem:
                self.note(row, name, problem)
                continue
            figures = {"kilobytes_each": each, "dead": dead + among["socket_errors"] + among["status_errors"],
                       "hit_alone_us": alone["cpu_us"], "hit_among_us": among["cpu_us"]}
            self.results[row.name][name] = figures
            print(f"    {name:14} {each:6.2f} KB each, hit {alone['cpu_us']:.2f} µs alone and {among['cpu_us']:.2f} µs among them, {figures['dead']} lost")


if __name__ == "__main__":
    main()
