#!/usr/bin/env python3
"""Tests a site on a machine with 2 GB and 1,000 clients: php-fpm, MariaDB and Myriad with WordPress and the plugin.

    make bench-small-machine                       ten minutes, and one without a database; writes its table to bench/REPORT.md
    bench/small_machine.py --seconds 60 --quick    one minute; prints the table only

A tenth of the clients are logged in. Nine of ten of these are readers (stored pages with personal parts), one of ten is an editor (pages
from PHP). Each client requests random pages, and a post is edited every ten seconds. php-fpm has the number of children that
`myriad tune --memory 2g` plans. A response that is not 200, or shows the name of another user, is a failure.

Memory is measured once per second: the Pss of all processes (shared pages count once), and the growth of the memory of all sockets of the
machine. The exit status is 1 if a request failed, the limit was exceeded, memory was swapped out, or the OOM killer killed a process. To
enforce the limit with a cgroup: systemd-run --scope -p MemoryMax=2G -p MemorySwapMax=0 bench/small_machine.py
"""

import argparse
import asyncio
import os
import pathlib
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time

import report
from bench import OUT, PROJECT
from servers import MYRIAD, Unavailable, family, free_port, rolled_up
from shield import BROWSER, beside, milliseconds, p99

HEADING = "\n## A machine with 2 GB\n"
PATIENCE = 60
PROCESSES = 3
PAUSE = 2.0
# The page was sent, but PHP did not deliver its personal parts within `esi_timeout`; the visitor sees the anonymous page.
LATE = "without its parts"

READERS = """
foreach (range(1, %d) as $number) {
    $name = ($number %% 10 ? 'reader' : 'editor') . $number . 'x';
    $user = get_user_by('login', $name);
    $id = $user ? $user->ID : wp_insert_user(['user_login' => $name, 'user_pass' => wp_generate_password(), 'user_email' => "$name@example.org",
        'display_name' => $name, 'role' => $number %% 10 ? 'subscriber' : 'editor']);
    $until = time() + DAY_IN_SECONDS;
    $token = WP_Session_Tokens::get_instance($id)->create($until);
    $cookie = LOGGED_IN_COOKIE . '=' . rawurlencode(wp_generate_auth_cookie($id, $until, 'logged_in', $token));
    echo $name, ' ', $cookie, $number %% 10 ? '' : '; wordpress_no_cache=1', "\\n";
}
"""
EDIT = """
foreach (get_posts(['numberposts' => 1, 'orderby' => 'rand']) as $post)
    wp_update_post(['ID' => $post->ID, 'post_content' => $post->post_content . "\\n<!-- edited -->"]);
"""


async def answer_of(reader):
    """Reads a response; returns its status and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    status, fields, body = int(head[9:12]), head.lower(), b""
    length = re.search(rb"\r\ncontent-length: *(\d+)", fields)
    if length:
        body = await reader.readexactly(int(length[1]))
    elif b"\r\ntransfer-encoding: chunked" in fields:
        while piece := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(piece)
            await reader.readline()
        await reader.readline()
    return status, body


def wrong(kind, name, status, body):
    """Returns the problem of a response, or an empty text."""
    if status != 200:
        return f"{kind}: status {status}"
    shown = set(re.findall(rb"(?:reader|editor)[0-9]+x", body))
    if shown - {name.encode()}:
        return f"{kind}: the page for {name} shows {sorted(shown)}"
    return LATE if kind == "reader" and name.encode() not in shown else ""


async def visit(port, client, pages, until, out):
    """One client with one connection, which is reopened after an error or if the server has closed it between two requests."""
    kind, name, cookie = client
    streams, fields = None, f"Cookie: {cookie}\r\n" if cookie else ""
    await asyncio.sleep(random.random() * PAUSE)
    while time.time() < until:
        target, started, problem = random.choice(pages), time.time(), ""
        text = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {BROWSER}\r\nAccept: text/html\r\n{fields}\r\n".encode()
        try:
            if streams is None or streams[0].at_eof():
                streams = await asyncio.open_connection("127.0.0.1", port)
            streams[1].write(text)
            status, body = await asyncio.wait_for(answer_of(streams[0]), PATIENCE)
            problem = wrong(kind, name, status, body)
        except (OSError, ValueError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
            problem, streams = f"{kind}: {type(error).__name__}: {error}", None
        out.append((kind, time.time() - started, f"{target}: {problem}" if problem and problem != LATE else problem))
        await asyncio.sleep(max(0.0, random.random() * 2 * PAUSE))


def crowd(port, clients, pages, seconds, queue):
    async def everybody():
        out, until = [], time.time() + seconds
        await asyncio.gather(*[visit(port, client, pages, until, out) for client in clients])
        return out
    queue.put(asyncio.run(everybody()))


def sockets():
    """Returns the memory of all sockets of the machine, bytes."""
    pages = re.findall(r"^(?:TCP|UDP): .*\bmem (\d+)", pathlib.Path("/proc/net/sockstat").read_text(), re.M)
    return sum(map(int, pages)) * resource.getpagesize()


def killed():
    """Returns the number of processes that the OOM killer has killed."""
    return int(re.search(r"^oom_kill (\d+)", pathlib.Path("/proc/vmstat").read_text(), re.M)[1])


class Watch(threading.Thread):
    """Measures the memory of all processes once per second."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes, self.over = processes, threading.Event()
        self.most, self.swapped, self.of_each = 0, 0, {}
        self.killed, self.sockets = killed(), sockets()

    def run(self):
        while not self.over.wait(1):
            taken = {name: rolled_up(family(pid()), "Pss", "SwapPss") for name, pid in self.processes.items()}
            taken["sockets"] = (max(0, sockets() - self.sockets), 0)
            for name, (pss, _) in taken.items():
                self.of_each[name] = max(self.of_each.get(name, 0), pss)
            self.most = max(self.most, sum(pss for pss, _ in taken.values()))
            self.swapped = max(self.swapped, sum(swapped for _, swapped in taken.values()))

    def stop(self):
        self.over.set()
        self.join()
        self.killed = killed() - self.killed
        return self


class Stand:
    """The site with the plugin and the settings of `myriad tune`, and Myriad."""

    def __init__(self, folder, limit):
        self.site, self.prefix, self.port = folder / "small", folder / "small-myriad", free_port()
        self.script("create")
        self.children = self.planned(limit)
        configuration = self.site / "etc/php-fpm.conf"
        configuration.write_text(re.sub(r"pm\.max_children = \d+", f"pm.max_children = {self.children}", configuration.read_text()))
        self.script("stop")
        self.script("start")
        subprocess.run(["rm", "-rf", self.prefix], check=True)
        command = [MYRIAD, "wordpress", "--root", self.site / "wordpress", "--php", self.site / "run/php.sock", "--listen",
                   f"127.0.0.1:{self.port}", "--prefix", self.prefix, "--php-children", self.children]
        command = list(map(str, command))
        subprocess.run([*command, "--install-plugin", "--must-use"], check=True, stdout=subprocess.DEVNULL)
        log = open(folder / "small-myriad.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while not (self.prefix / "plugins" / "plugin.sock").exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Unavailable((folder / "small-myriad.log").read_text())
            time.sleep(0.1)
        paths = self.php("foreach (get_posts(['numberposts' => 50]) as $post) echo parse_url(get_permalink($post), PHP_URL_PATH), ' ';").split()
        self.pages = ["/", "/page/2/", "/page/3/", "/about/", "/colophon/", *paths]

    def script(self, verb):
        subprocess.run([PROJECT / "scripts/site", verb, self.site], check=True)

    def planned(self, limit):
        plan = subprocess.run([MYRIAD, "tune", "--memory", str(limit), "--cores", "2", "--worker", "80m", "--database", "mariadb-10.11", "--site",
                               self.site / "wordpress"], capture_output=True, text=True, check=True).stdout
        return int(re.search(r"pm\.max_children = (\d+)", plan)[1])

    def php(self, code):
        """Runs code in WordPress, as the administrator."""
        prepared = (f"$_SERVER += ['HTTP_HOST' => '127.0.0.1:{self.port}', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'REMOTE_ADDR' => "
                    f"'127.0.0.1', 'SERVER_PROTOCOL' => 'HTTP/1.1']; require '{self.site}/wordpress/wp-load.php'; wp_set_current_user(1);")
        return subprocess.run(["php", "-r", prepared + code], capture_output=True, text=True, check=True).stdout

    def pid(self, name):
        return int((self.site / f"run/{name}.pid").read_text())

    def processes(self):
        return {"Myriad": lambda: self.process.pid, "php-fpm": lambda: self.pid("php"), "MariaDB": lambda: self.pid("db")}

    def invalidate_all(self):
        subprocess.run([MYRIAD, "purge", "--all", "--invalidate", "-p", self.prefix], check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.script("stop")


def under_load(stand, clients, seconds, meanwhile=lambda: None):
    """Runs the clients and returns all results; `meanwhile` is called every ten seconds."""
    shares = [beside(crowd, stand.port, clients[number::PROCESSES], stand.pages, seconds) for number in range(PROCESSES)]
    until = time.time() + seconds
    while (left := until - time.time()) > 0:
        time.sleep(min(10, left))
        meanwhile()
    return [one for share in shares for one in share()]


def counts(results):
    """Returns the numbers of requests and failures for the table, and whether there are no failures; prints the first failures."""
    failures = [problem for _, _, problem in results if problem and problem != LATE]
    for problem in failures[:10]:
        print(f"small_machine: {problem}", file=sys.stderr)
    return f"{len(results):,}, {len(failures):,}", not failures


def try_load(stand, options, logged_in):
    """Yields the rows of the table for the load, each with whether it passes."""
    anonymous = [("anonymous", "", "")] * (options.clients - len(logged_in))
    watch = Watch(stand.processes())
    watch.start()
    results = under_load(stand, anonymous + logged_in, options.seconds, lambda: stand.php(EDIT))
    watch.stop()
    yield (f"{options.clients:,} clients, {len(logged_in)} of them logged in, for {options.seconds} s: requests, failed requests", *counts(results))
    for kind in ("anonymous", "reader", "editor"):
        times = [seconds for one, seconds, _ in results if one == kind]
        middle = milliseconds(statistics.median(times)) if times else "none"
        yield f"{kind}: requests; median, 99th percentile", f"{len(times):,}; {middle}, {milliseconds(p99(times))}", True
    late = sum(problem == LATE for _, _, problem in results)
    yield "stored pages sent to readers without personal parts, because PHP took more than 10 s (`esi_timeout`)", f"{late}", True
    each = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in watch.of_each.items())
    yield f"maximum of memory (Pss), with a limit of {options.limit / 1e6:,.0f} MB; maximum of each program", f"{watch.most / 1e6:,.0f} MB; {each}", watch.most < options.limit
    yield "swapped out; processes killed by the OOM killer", f"{watch.swapped / 1e6:.0f} MB; {watch.killed}", not watch.swapped and not watch.killed


def try_no_database(stand, options):
    """Returns the row of the table for a stopped database while all pages are invalid."""
    anonymous = [("anonymous", "", "")] * (options.clients // 5)
    for page in stand.pages:
        subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{stand.port}{page}"], check=True)
    os.kill(stand.pid("db"), signal.SIGKILL)
    stand.invalidate_all()
    results = under_load(stand, anonymous, options.down)
    stand.script("start")
    return (f"MariaDB killed for {options.down} s and all pages purged (`--invalidate`), {len(anonymous)} anonymous clients: requests, failed requests", *counts(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="duration of the load (600)")
    parser.add_argument("--down", type=int, default=60, help="seconds without a database after that (60)")
    parser.add_argument("--clients", type=int, default=1000, help="number of clients (1000)")
    parser.add_argument("--limit", type=int, default=2 << 30, help="memory limit in bytes (2 GB)")
    parser.add_argument("--quick", action="store_true", help="only print the table")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    stand = Stand(OUT, options.limit)
    try:
        lines = stand.php(READERS % (options.clients // 10)).split("\n")[:-1]
        logged_in = [(name[:6], name, cookie) for name, _, cookie in (line.partition(" ") for line in lines)]
        rows = [*try_load(stand, options, logged_in), try_no_database(stand, options)]
    finally:
        stand.stop()
    text = "\n".join(["| | |", "|---|---|", f"| children of php-fpm, planned by `myriad tune` for the limit | {stand.children} |",
                      *[f"| {what} | {value} |" for what, value, _ in rows]])
    print(text)
    if not options.quick:
        report.add_section(HEADING, f"{report.machine(options)}\n\n{text}")
    return 0 if all(is_right for _, _, is_right in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
