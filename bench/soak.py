#!/usr/bin/env python3
"""Tests WordPress under load while Myriad and everything around it fails in turn.

    make soak                        one hour (SECONDS=600: ten minutes)
    bench/soak.py --short            each fault once, half a minute; part of `make test`
    bench/soak.py --only ClockJumps,PhpDies --seconds 60    these faults in both orders

Each fault follows each other fault directly: the 15 faults have 210 ordered pairs, in an order that the seed determines. If the time does
not suffice for all pairs, faults last less than 3 seconds, but at least 0.6. The number of pairs that were tried is printed at the end.

Anonymous visitors request stored pages, logged-in members request pages from PHP, and an editor edits. Meanwhile php-fpm, MariaDB, Redis
and the worker process are stalled and killed, the disk fills up, cache files are damaged, file descriptors run out, the clock jumps,
packets are lost, the configuration is reloaded, and pages are purged (bench/faults.py).

Requirements: anonymous visitors always get complete and correct pages, whatever fails in the upstream; there are no errors except those
that a fault may cause; the next visitor sees an edit; after each fault everything is served again; memory and descriptors do not grow.
Otherwise the exit status is 1. As root it uses separate network and mount namespaces; without root it prints the faults that it skips.
"""

import argparse
import asyncio
import collections
import contextlib
import ctypes
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from email.utils import parsedate_to_datetime

import faults
from bench import PROJECT
from faults import BROKEN, MADE, STORED
from servers import Unavailable, family, free_port, myriad_binary, rolled_up
from small_machine import READERS, answer_of

ANONYMOUS, MEMBERS, PAUSE = 16, 3, 0.1
# Timeout of a visitor: more than `fastcgi_read_timeout` of the preset.
PATIENCE = 90
SMALL_DISK = "size=48m,mode=755"
TITLE = re.compile(rb"<title>(.*?)</title>", re.S)
# Shortest duration of a fault; seconds from the end of a fault until the next one, on average.
SHORTEST, BETWEEN = 0.6, 3.0
Answer = collections.namedtuple("Answer", "begun ended kind page problem is_broken")


def own_namespaces():
    """Moves this process to separate network and mount namespaces; returns whether that worked."""
    CLONE_NEWNS, CLONE_NEWNET, MS_REC_PRIVATE = 0x20000, 0x40000000, 0x44000
    libc = ctypes.CDLL(None, use_errno=True)
    if os.getuid() or libc.unshare(CLONE_NEWNS | CLONE_NEWNET) or libc.mount(None, b"/", None, MS_REC_PRIVATE, None):
        return False
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    return subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], env=environment, check=False).returncode == 0


class Stand:
    """The site with its database, PHP and Redis, and Myriad."""

    def __init__(self, folder, has_own_network):
        self.site, self.prefix, self.port, self.has_own_network = folder / "site", folder / "myriad", free_port(), has_own_network
        self.prefix.mkdir()
        self.is_small_disk = has_own_network and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", SMALL_DISK, "none", self.prefix], check=False).returncode == 0
        self.process = self.redis = None
        self.clock = folder / "clock" if faults.faketime() else None
        self.command = list(map(str, [myriad_binary(), "wordpress", "--root", self.site / "wordpress", "--php", self.site / "run/php.sock",
                                      "--listen", f"127.0.0.1:{self.port}", "--prefix", self.prefix]))

    def begin(self):
        """Creates the site and starts everything; `stop` stops what was started, even if this function fails."""
        self.script("create")
        self.script("start")
        self.start_redis()
        for option in (["--install-plugin", "--must-use"], ["--install-object-cache", f"redis:{self.site}/run/redis.sock"]):
            subprocess.run([*self.command, *option], check=True, stdout=subprocess.DEVNULL)
        self.start()
        posts = self.php("foreach (get_posts(['numberposts' => 12]) as $post) echo $post->ID, ' ', parse_url(get_permalink($post), PHP_URL_PATH), ' ';")
        words = posts.split()
        self.edited, *others = words[1::2]
        self.edited_id = words[0]
        self.pages = ["/", "/page/2/", "/about/", "/colophon/", *others]
        lines = self.php(READERS % MEMBERS).split("\n")[:-1]
        # Editors get pages from PHP only.
        self.members = [line.partition(" ")[2] + "; wordpress_no_cache=1" for line in lines]

    def start(self):
        environment, command = dict(os.environ), self.command
        if self.clock:
            self.set_clock("+0d")
            clock = {"LD_PRELOAD": faults.faketime(), "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                     "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
            environment |= clock
            # Worker processes get only the environment variables that the configuration names.
            printed = subprocess.run([*self.command, "--print"], check=True, capture_output=True, text=True).stdout
            (self.prefix / "myriad.conf").write_text(f"env {'; env '.join(clock)};\n{printed}")
            command = [self.command[0], "-p", str(self.prefix), "-c", "myriad.conf", "-e", "error.log"]
        log = open(self.prefix.parent / "output", "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.wait_for("Myriad", lambda: self.process.poll() is not None or (self.prefix / "plugins" / "plugin.sock").exists() and self.workers())
        if self.process.poll() is not None:
            raise Unavailable((self.prefix.parent / "output").read_text())

    def start_redis(self):
        path = self.site / "run/redis.sock"
        path.unlink(missing_ok=True)
        self.redis = subprocess.Popen(["redis-server", "--port", "0", "--save", "", "--unixsocketperm", "777", "--unixsocket", path, "--dir",
                                       self.site / "run"], stdout=subprocess.DEVNULL)
        self.wait_for("Redis", path.exists)

    def wait_for(self, what, holds):
        until = time.monotonic() + 60
        while not holds():
            if time.monotonic() > until:
                raise Unavailable(f"timed out waiting for {what}")
            time.sleep(0.02)

    def set_clock(self, text):
        other = self.clock.with_suffix(".new")
        other.write_text(text + "\n")
        other.chmod(0o644)
        other.rename(self.clock)

    def script(self, verb):
        subprocess.run([PROJECT / "scripts/site", verb, self.site], check=True, stdout=subprocess.DEVNULL)

    def pid(self, name):
        return int((self.site / f"run/{name}.pid").read_text())

    def workers(self):
        return [pid for pid in family(self.process.pid) if pid != self.process.pid]

    def warm(self):
        """Requests every page so that it is stored and must be served during the next fault."""
        addresses = [f"http://127.0.0.1:{self.port}{page}" for page in self.pages]
        subprocess.run(["curl", "-s", "--max-time", str(PATIENCE), *addresses], check=True, stdout=subprocess.DEVNULL)

    def date(self):
        """Returns the time according to the server."""
        said = subprocess.run(["curl", "-sI", f"http://127.0.0.1:{self.port}/wp-includes/images/blank.gif"], capture_output=True, text=True, check=False).stdout
        date = re.search(r"^Date: (.*)$", said, re.M)
        return parsedate_to_datetime(date[1].strip()).timestamp() if date else 0

    def cache_files(self):
        return [path for path in (self.prefix / "cache").rglob("*") if path.is_file() and len(path.name) >= 16]

    def php(self, code):
        """Runs code in WordPress, as the administrator."""
        prepared = (f"$_SERVER += ['HTTP_HOST' => '127.0.0.1:{self.port}', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'REMOTE_ADDR' => "
                    f"'127.0.0.1', 'SERVER_PROTOCOL' => 'HTTP/1.1']; require '{self.site}/wordpress/wp-load.php'; wp_set_current_user(1);")
        return subprocess.run(["php", "-r", prepared + code], capture_output=True, text=True, check=True).stdout

    def edit(self, mark):
        """Writes a mark into the post that only the edit check requests."""
        self.php(f"wp_update_post(['ID' => {self.edited_id}, 'post_content' => 'mark-{mark}-of-the-soak']);")

    def purge(self, *more):
        subprocess.run([myriad_binary(), "purge", "--all", *more, "-p", self.prefix], check=True, stdout=subprocess.DEVNULL)

    def invalidate_all(self):
        self.purge("--invalidate")

    def purge_all(self):
        self.purge()

    def stop(self):
        for process in filter(None, (self.process, self.redis)):
            process.terminate()
            process.wait()
        self.script("stop")
        if self.is_small_disk:
            subprocess.run(["umount", "--lazy", self.prefix], check=False)


class Traffic(threading.Thread):
    """Anonymous and logged-in visitors, until `is_over` is set. Their responses are in `answers`."""

    def __init__(self, stand):
        super().__init__(daemon=True)
        self.stand, self.answers, self.titles, self.is_over = stand, [], {}, False

    def run(self):
        asyncio.run(self.all())

    async def all(self):
        anonymous = [self.visit(STORED, "") for _ in range(ANONYMOUS)]
        members = [self.visit(MADE, f"Cookie: {cookie}\r\n") for cookie in self.stand.members]
        await asyncio.gather(*anonymous, *members)

    def problem(self, kind, page, status, body):
        """Returns the problem of a response, or an empty text."""
        if status != 200:
            return f"status {status}"
        title = TITLE.search(body)
        if not title or b"</html>" not in body[-200:]:
            return "incomplete page"
        if kind == STORED and title[1] != self.titles.setdefault(page, title[1]):
            return f"the page of {title[1]!r}"
        if kind == STORED and b"wpadminbar" in body:
            return "a page of a logged-in member"
        return ""

    async def visit(self, kind, fields):
        streams = None
        while not self.is_over:
            page, begun, problem, is_broken = random.choice(self.stand.pages), time.monotonic(), "", False
            text = f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1:{self.stand.port}\r\nAccept: text/html\r\n{fields}\r\n".encode()
            try:
                async with asyncio.timeout(PATIENCE):
                    status, body, streams = await self.ask(streams, text)
                problem = self.problem(kind, page, status, body)
            except (OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
                problem, is_broken, streams = f"{type(error).__name__}: {error}", not isinstance(error, TimeoutError), None
            self.answers.append(Answer(begun, time.monotonic(), kind, page, problem, is_broken))
            await asyncio.sleep(PAUSE * 2 * random.random())

    async def ask(self, streams, text):
        """Uses the previous connection, or a new one if the server has closed it, as browsers do."""
        if streams:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                streams[1].write(text)
                first = await streams[0].read(1)
                if first:
                    return *await answer_of(Behind(first, streams[0])), streams
            streams[1].close()
        streams = await asyncio.open_connection("127.0.0.1", self.stand.port)
        streams[1].write(text)
        return *await answer_of(streams[0]), streams


class Behind:
    """A stream from which one byte has been read already."""

    def __init__(self, first, reader):
        self.first, self.reader = first, reader

    async def readuntil(self, end):
        first, self.first = self.first, b""
        return first + await self.reader.readuntil(end)

    def __getattr__(self, name):
        return getattr(self.reader, name)


class Judge:
    """Checks responses against what a fault may affect, and resource usage against the first rounds."""

    def __init__(self, stand, traffic):
        self.stand, self.traffic = stand, traffic
        self.windows, self.failures, self.counted, self.figures, self.provoked = [], [], 0, [], collections.Counter()

    def fail(self, text):
        print(f"soak: {text}", file=sys.stderr)
        self.failures.append(text)

    def judge(self):
        """Checks all responses since the last call."""
        answers = self.traffic.answers[self.counted:]
        self.counted += len(answers)
        for answer in answers:
            if not answer.problem:
                continue
            blamed = next((name for name, begun, ended, spoils in reversed(self.windows) if answer.ended >= begun and answer.begun <= ended
                           and (answer.kind in spoils or answer.is_broken and BROKEN in spoils)), None)
            if blamed:
                self.provoked[f"{blamed}: {answer.kind}: {answer.problem[:40]}"] += 1
            else:
                near = [name for name, begun, ended, _ in self.windows if answer.ended >= begun - 1 and answer.begun <= ended + 1]
                self.fail(f"{answer.kind} {answer.page}: {answer.problem}, after {answer.ended - answer.begun:.2f} s, near {near}")

    def is_served(self, kind):
        """Waits until a page of this kind, requested from now on, has been served correctly."""
        since, at = time.monotonic(), len(self.traffic.answers)
        while time.monotonic() < since + 30:
            new = self.traffic.answers[at:]
            if any(answer.kind == kind and answer.begun >= since and not answer.problem for answer in new):
                return
            time.sleep(0.05)
        self.fail(f"{kind}: nothing is served 30 s after a fault; last response: {self.traffic.answers[-1:]}")

    def try_fault(self, fault):
        name, begun = type(fault).__name__, time.monotonic()
        window = [name, begun, float("inf"), fault.spoils]
        self.windows.append(window)
        before = sum(answer.kind == STORED for answer in self.traffic.answers)
        fault.begin()
        time.sleep(fault.lasts())
        fault.end()
        window[2] = time.monotonic() + fault.after
        for kind in (STORED, MADE):
            self.is_served(kind)
        if fault.empties:
            self.stand.warm()
        served = sum(answer.kind == STORED for answer in self.traffic.answers) - before
        print(f"{name}: {time.monotonic() - begun:.1f} s, {served} stored pages served", flush=True)

    def see_edit(self, mark):
        """Checks that the next request sees an edit."""
        self.stand.edit(mark)
        page = subprocess.run(["curl", "-s", "--max-time", "60", f"http://127.0.0.1:{self.stand.port}{self.stand.edited}"], capture_output=True, check=False)
        if f"mark-{mark}-of".encode() not in page.stdout:
            self.fail(f"edit {mark} is not visible to the next visitor: curl {page.returncode}")

    def measure(self):
        """Records memory and descriptors of supervisor and worker while nothing fails."""
        figures = {}
        for name, pids in (("supervisor", [self.stand.process.pid]), ("worker", self.stand.workers())):
            with contextlib.suppress(OSError):
                descriptors = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)  # fails if one of them has exited
                figures[f"{name}, KB"] = rolled_up(pids, "Pss")[0] // 1024
                figures[f"{name}, descriptors"] = descriptors
                figures[f"{name}, processes"] = len(pids)
        self.figures.append(figures)
        print("  ".join(f"{name} {value}" for name, value in figures.items()), flush=True)

    def is_flat(self):
        """Compares with the second round, because caches and the allocator fill up in the first."""
        if len(self.figures) < 3:
            return
        for name, last in self.figures[-1].items():
            first = self.figures[1][name]
            room = first // 10 + 8192 if name.endswith("KB") else 8 if name.endswith("descriptors") else 0
            if last > first + room:
                self.fail(f"{name}: {first} after the second round, {last} after the last")


def rounds(chosen, order):
    """Yields rounds without end. After all ordered pairs of faults, they follow in another order."""
    while True:
        yield from faults.rounds_of_pairs(chosen, order)
        order.shuffle(chosen)


def soak(stand, seconds, kinds, order):
    """Runs rounds until the time is over; returns the failures. `order` is the random number generator for the order of faults."""
    chosen = [kind(stand) for kind in kinds]
    for fault in [fault for fault in chosen if fault.missing()]:
        print(f"skipped: {type(fault).__name__}: {fault.missing()}", flush=True)
        chosen.remove(fault)
    traffic = Traffic(stand)
    stand.warm()
    traffic.start()
    judge, until = Judge(stand, traffic), time.monotonic() + seconds
    pairs, all_pairs = set(), len(chosen) * (len(chosen) - 1)
    try:
        for number, faults_of_round in enumerate(rounds(chosen, order), 1):
            judge.see_edit(number)
            stand.warm()
            former = None
            for fault in faults_of_round:
                judge.try_fault(fault)
                if former:
                    pairs.add((former, fault))
                former = fault
                judge.judge()
                if stand.process.poll() is not None:
                    raise Unavailable("Myriad has exited")
            judge.see_edit(f"{number}-again")
            judge.measure()
            if time.monotonic() >= until:
                break
    finally:
        traffic.is_over = True
        traffic.join(PATIENCE)
    judge.judge()
    judge.is_flat()
    said = (stand.prefix.parent / "output").read_text() + "".join(path.read_text(errors="replace") for path in stand.prefix.rglob("error.log"))
    if "panicked" in said:
        judge.fail("a panic was logged: " + said[said.index("panicked") - 200:][:600])
    slowest = max((answer.ended - answer.begun for answer in traffic.answers if answer.kind == STORED), default=0)
    print(f"{number} rounds, {len(pairs)} of {all_pairs} ordered pairs of faults, {len(traffic.answers)} responses, slowest stored page {slowest:.2f} s")
    for what, count in judge.provoked.most_common():
        print(f"expected errors: {count} × {what}")
    return judge.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600, help="duration (3600); a started round is completed")
    parser.add_argument("--short", action="store_true", help="one round with short faults")
    parser.add_argument("--only", default="", help="comma-separated faults, by their names in faults.py")
    parser.add_argument("--folder", type=pathlib.Path, help="folder of the site (default: a temporary folder)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="seed of the order of faults and pages")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kinds = [kind for kind in faults.ALL if not options.only or kind.__name__ in options.only.split(",")]
    if not kinds:
        parser.error("--only names no fault of bench/faults.py")
    with contextlib.ExitStack() as stack:
        folder = options.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="myriad-soak-", ignore_cleanup_errors=True)))
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        stand = Stand(folder.resolve(), own_namespaces())
        stack.callback(stand.stop)
        stand.begin()
        if options.short:
            options.seconds = 0
        # Rounds overlap by one fault.
        per_fault = options.seconds / len(kinds) ** 2
        faults.Fault.duration = min(max(per_fault - BETWEEN, SHORTEST), faults.Fault.duration)
        # The traffic uses the generator of the module from another thread.
        failures = soak(stand, options.seconds, kinds, random.Random(options.seed))
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
