#!/usr/bin/env python3
"""Measures the effect of each group of settings of `myriad tune` on WordPress: Debian's defaults, then the files that `tune` writes.

    bench/tune_groups.py --rounds 3                     prints a table
    bench/tune_groups.py --rounds 3 --data 400          also with a database table of 400 MB that pages read, as in a shop

The files are written by `myriad tune --apply --root` for `--memory` and `--cores`, into a copy of Debian's /etc. Eight clients request the
home page, a post and a category in turn directly from php-fpm, so that no page comes from a cache. Rows alternate round by round. Each
round restarts php-fpm and MariaDB and requests some pages as a warm-up. CPU is the time that the processes used; memory is their Pss at
the last moment of the round.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import report
from bench import OUT, PROJECT, hold_machine
from object_cache import length, record
from servers import myriad_binary, rolled_up

CLIENTS, TICK = 8, os.sysconf("SC_CLK_TCK")
# The pool as in Debian's www.conf.
POOL = {"pm": "dynamic", "pm.max_children": "5", "pm.start_servers": "2", "pm.min_spare_servers": "1", "pm.max_spare_servers": "3"}
# Debian's 50-server.cnf sets nothing that matters here; these options allow several servers on one machine.
DATABASE = ["--skip-networking", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"]
GROUPS = {"ini": "php.ini, OPcache, JIT", "pool": "php-fpm's pool", "db": "MariaDB", "redis": "Redis"}
# What a page of a shop reads from a table that is larger than Debian's buffer pool.
READS = """<?php
add_action('template_redirect', function () {
    global $wpdb;
    if (!isset($_SERVER['TUNE_DATA'])) return;
    if (isset($_SERVER['TUNE_SCAN'])) $wpdb->get_var('SELECT SUM(LENGTH(words)) FROM tune_data');
    for ($read = 0; $read < 20; $read++)
        $wpdb->get_var('SELECT words FROM tune_data WHERE id = ' . mt_rand(1, (int) $_SERVER['TUNE_DATA']));
});
"""
FILL = """
global $wpdb; require_once ABSPATH . 'wp-load.php';
$wpdb->query('CREATE TABLE IF NOT EXISTS tune_data (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, words VARCHAR(2000) NOT NULL)');
while (($rows = (int) $wpdb->get_var('SELECT COUNT(*) FROM tune_data')) < @ROWS@) {
    if (!$rows) $wpdb->query("INSERT INTO tune_data (words) VALUES (REPEAT(MD5(1), 30))");
    else $wpdb->query('INSERT INTO tune_data (words) SELECT REPEAT(MD5(RAND()), 30) FROM tune_data LIMIT 50000');
}
echo $wpdb->get_var('SELECT MAX(id) FROM tune_data');
"""


def written(root, options):
    """Returns the settings of each file that `myriad tune` writes below a copy of /etc."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "var/lib").mkdir(parents=True)
    for name in ("php", "mysql", "redis"):
        shutil.copytree(f"/etc/{name}", root / "etc" / name, symlinks=True, dirs_exist_ok=True)
    site = OUT / "tune/site/wordpress"
    said = subprocess.run([myriad_binary(), "tune", "--root", root, "--apply", "--memory", options.memory, "--cores", str(options.cores), "--worker",
                           "64m", "--database", options.database, "--site", site], text=True, capture_output=True, check=False)
    if said.returncode:
        sys.exit(said.stdout + said.stderr)
    files = {"ini": "etc/php/*/fpm/conf.d/99-myriad.ini", "pool": "etc/php/*/fpm/pool.d/zz-myriad.conf",
             "db": "etc/mysql/mariadb.conf.d/99-myriad.cnf", "redis": "etc/redis/99-myriad.conf"}
    found = {}
    for group, pattern in files.items():
        path = next(iter(root.glob(pattern)), None) or sys.exit(f"tune wrote no {pattern}:\n{said.stdout}")
        lines = [line.strip() for line in path.read_text().splitlines()]
        lines = [line for line in lines if line and line[0] not in ";#["]
        split = r"\s+" if group == "redis" else r"\s*=\s*"
        found[group] = dict(re.split(split, line, maxsplit=1) for line in lines)
    return found


class Stack:
    """MariaDB, php-fpm and optionally Redis of one row."""

    def __init__(self, site, settings, groups, cached, rows):
        self.site, self.children, self.rows = site, [], rows
        own = lambda group: settings[group] if group in groups else {}
        options = DATABASE + [f"--{name.replace('_', '-')}={value}" for name, value in own("db").items()]
        self.socket = site / "run/php.sock"
        for path in ("run/php.sock", "run/db.sock", "run/redis.sock"):
            (site / path).unlink(missing_ok=True)
        self.begin("db", site / "run/db.sock", "mariadbd", "--no-defaults", f"--datadir={site}/db", f"--socket={site}/run/db.sock", "--user=www-data",
                   f"--pid-file={site}/run/tune-db.pid", *options)
        if cached:
            redis = [word for name, value in own("redis").items() for word in ("--" + name, value)]
            self.begin("redis", site / "run/redis.sock", "redis-server", "--port", "0", "--save", "", "--unixsocketperm", "777", "--unixsocket",
                       site / "run/redis.sock", "--dir", site / "run", *redis)
        pool = {**POOL, **{name: value for name, value in own("pool").items() if name.startswith(("pm", "listen"))}}
        text = "[global]\nerror_log = /dev/null\n[www]\nuser = www-data\ngroup = www-data\ncatch_workers_output = no\n"
        text += f"listen = {self.socket}\nlisten.mode = 0666\n" + "".join(f"{name} = {value}\n" for name, value in pool.items())
        (site / "run/tune-fpm.conf").write_text(text)
        ini = [word for name, value in own("ini").items() for word in ("-d", f"{name}={value}")]
        self.begin("php", self.socket, fpm(), "--nodaemonize", "--fpm-config", site / "run/tune-fpm.conf", *ini)
        command = [myriad_binary(), "wordpress", "--root", site / "wordpress"]
        change = ["--install-object-cache", f"redis:{site}/run/redis.sock"] if cached else ["--remove-object-cache"]
        subprocess.run([*command, *change], check=True, stdout=subprocess.DEVNULL)

    def begin(self, name, path, *command):
        log = open(self.site / f"log/tune-{name}.log", "ab")
        self.children.append((name, subprocess.Popen([*map(str, command)], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)))
        log.close()
        until = time.time() + 30
        while not answers(path):
            if time.time() > until or self.children[-1][1].poll() is not None:
                sys.exit(f"{name} did not start; see {self.site}/log/tune-{name}.log")
            time.sleep(0.05)

    def families(self, name):
        """Yields the process IDs of a program: that of its main process, then those of the children."""
        for known, child in self.children:
            if known == name:
                children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
                yield from [str(child.pid), *children]

    def cpu(self, name):
        """Returns CPU seconds, including those of exited children."""
        ticks = 0
        for number, pid in enumerate(self.families(name)):
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
                ticks += sum(map(int, fields[11:15 if number == 0 else 13]))
        return ticks / TICK

    def memory(self):
        """Returns the memory of all programs in MB; shared pages count once."""
        members = [pid for name, _ in self.children for pid in self.families(name)]
        return rolled_up(members, "Pss")[0] / 2**20

    def ask(self, target, **more):
        """Returns PHP's response for a target."""
        root = self.site / "wordpress"
        params = {"SCRIPT_FILENAME": root / "index.php", "SCRIPT_NAME": "/index.php", "REQUEST_URI": target, "REQUEST_METHOD": "GET", "QUERY_STRING": "",
                  "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost", "SERVER_NAME": "localhost", "REMOTE_ADDR": "127.0.0.1", "DOCUMENT_ROOT": root,
                  **more}
        if self.rows:
            params["TUNE_DATA"] = self.rows
        pairs = b"".join(length(name) + length(str(value)) + name.encode() + str(value).encode() for name, value in params.items())
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(self.socket))
            connection.sendall(record(1, b"\0\1\0\0\0\0\0\0") + record(4, pairs) + record(4, b"") + record(5, b""))
            received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        answer, at = b"", 0
        while at + 8 <= len(received):
            _, kind, _, size, padding = struct.unpack(">BBHHB", received[at:at + 7])
            answer += received[at + 8:at + 8 + size] if kind == 6 else b""
            at += 8 + size + padding
        if b"</html>" not in answer or answer.startswith(b"Status:"):
            sys.exit(f"{target} failed: {answer[:300]!r}; see {self.site}/log")
        return answer

    def load(self, targets, seconds):
        """Requests pages from all clients until the time is over; returns the durations of the responses."""
        taken, until = [], time.perf_counter() + seconds

        def client(number):
            while time.perf_counter() < until:
                began = time.perf_counter()
                self.ask(targets[number % len(targets)])
                taken.append(time.perf_counter() - began)
                number += 1
        threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return taken

    def measure(self, targets, seconds):
        if self.rows:
            self.ask("/", TUNE_SCAN=1)  # memory is filled as far as there is room
        self.load(targets, 2)
        before, began = {name: self.cpu(name) for name, _ in self.children}, time.perf_counter()
        taken = self.load(targets, seconds)
        clock = time.perf_counter() - began
        used = {name: (self.cpu(name) - before[name]) * 1000 / len(taken) for name in before}
        slowest = sorted(taken)[int(len(taken) * 0.95)] * 1000
        return (len(taken) / clock, statistics.median(taken) * 1000, slowest, used["php"], used["db"], self.memory())

    def stop(self):
        for name, child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(30)
                continue
            child.kill()
            child.wait()


def answers(path):
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(str(path)) == 0


def fpm():
    return sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))[-1]


def prepare(site, megabytes):
    """Creates a site; returns the targets of its pages and the number of rows of its large table."""
    subprocess.run([PROJECT / "scripts/site", "create", site], check=True, stdout=subprocess.DEVNULL)
    (site / "wordpress/wp-content/mu-plugins/reads.php").write_text(READS)
    code = "$_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/', 'SERVER_NAME' => 'localhost']; require $argv[1]; "
    load = str(site / "wordpress/wp-load.php")
    subprocess.run([PROJECT / "scripts/site", "start", site], check=True, stdout=subprocess.DEVNULL)
    try:
        ask = lambda text: subprocess.run(["php", "-r", code + text, load], check=True, text=True, capture_output=True).stdout
        post = ask("echo parse_url(get_permalink(get_posts(['numberposts' => 1])[0]), PHP_URL_PATH);")
        rows = int(ask(FILL.replace("@ROWS@", str(megabytes * 1000)))) if megabytes else 0
    finally:
        subprocess.run([PROJECT / "scripts/site", "stop", site], check=True, stdout=subprocess.DEVNULL)
    return ["/", post, "/category/rivers/"], rows


def plan(rows):
    """Returns the rows: name, groups, whether the object cache is used, rows of the large table."""
    alone = [("package defaults", (), False, 0)]
    alone += [(f"+ {GROUPS[group]}", (group,), False, 0) for group in ("ini", "pool", "db")]
    alone += [("+ all three", ("ini", "pool", "db"), False, 0)]
    alone += [("object cache in Redis, package defaults", (), True, 0), (f"+ {GROUPS['redis']}", ("redis",), True, 0),
              ("+ all four", tuple(GROUPS), True, 0)]
    if rows:
        alone += [("large table, package defaults", (), False, rows), (f"+ {GROUPS['db']}", ("db",), False, rows)]
    return alone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--memory", default="8g")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--database", default="mariadb-10.11")
    parser.add_argument("--within", type=float, default=3600, help="maximum seconds in total; no round is started that would exceed them")
    parser.add_argument("--data", type=int, default=0, help="size in MB of a table that pages read as well")
    options = parser.parse_args()
    lock = hold_machine()  # released when this process exits
    site = OUT / "tune/site"
    targets, rows = prepare(site, options.data)
    settings, figures = written(OUT / "tune/root", options), {}
    rows_of_table = plan(rows)
    began, rounds = time.monotonic(), 0
    for number in range(options.rounds):
        if number and (time.monotonic() - began) * (number + 1) / number > options.within:
            break
        rounds, at = number + 1, number % len(rows_of_table)
        for index, (_, groups, cached, large) in [*enumerate(rows_of_table)][at:] + [*enumerate(rows_of_table)][:at]:
            stack = Stack(site, settings, groups, cached, large)
            try:
                figures.setdefault(index, []).append(stack.measure(targets, options.seconds))
            finally:
                stack.stop()
    lock.close()
    lines, base = [], None
    for index, (name, *_) in enumerate(rows_of_table):
        pages, median, slow, php, db, memory = [statistics.median(column) for column in zip(*figures[index])]
        spread = [row[0] for row in figures[index]]
        base = pages if not name.startswith("+") else base
        lines.append([name, f"{pages:.1f} ({min(spread):.1f} to {max(spread):.1f})", f"{pages / base:.2f}", f"{median:.0f} / {slow:.0f}", f"{php:.1f}",
                      f"{db:.1f}", f"{memory:.0f}"])
    print(f"{rounds} rounds of {options.seconds:g} seconds, medians; MariaDB and php-fpm for {options.memory} and {options.cores} cores; {os.getloadavg()[0]:.1f} processes ran")
    print(report.table(["settings", "pages per second (minimum and maximum)", "gain", "ms, median / 95 %", "CPU ms of PHP", "of MariaDB", "memory, MB"], lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
