#!/usr/bin/env python3
"""A real WordPress under traffic while everything around Myriad fails in turn, and Myriad itself.

    make soak                        an hour (SECONDS=600: ten minutes), to the terminal
    bench/soak.py --short            each fault once, half a minute: what `make test` runs

Strangers ask for stored pages, members for pages that PHP makes for them, an editor edits. Meanwhile php-fpm, MariaDB, Redis and the worker
process are stalled and killed, the disk fills, files of the cache are damaged, descriptors run out, the clock jumps, packets are lost; the
configuration is read again, and pages are purged (bench/faults.py).

What must hold: strangers get every page whole and as it is, whatever fails behind the cache; nobody sees an error but those that a fault
provokes; an edit is seen by the next visitor; after each fault all is served again; memory and descriptors stay flat. Else exit status 1.
As root it takes a network and a file system of its own for the time; without, it says what it leaves out.
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

STRANGERS, MEMBERS, PAUSE = 16, 3, 0.1
# How long a visitor waits: more than `fastcgi_read_timeout` of the preset.
PATIENCE = 90
SMALL_DISK = "size=48m,mode=755"
TITLE = re.compile(rb"<title>(.*?)</title>", re.S)
Answer = collections.namedtuple("Answer", "begun ended kind page problem is_broken")


def own_namespaces():
    """A network and mounts of this process's own, and of what it starts; whether there are."""
    CLONE_NEWNS, CLONE_NEWNET, MS_REC_PRIVATE = 0x20000, 0x40000000, 0x44000
    libc = ctypes.CDLL(None, use_errno=True)
    if os.getuid() or libc.unshare(CLONE_NEWNS | CLONE_NEWNET) or libc.mount(None, b"/", None, MS_REC_PRIVATE, None):
        return False
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    return subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], env=environment, check=False).returncode == 0


class Stand:
    """The site with its database, PHP and Redis, and Myriad before it."""

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
        """Makes the site and starts everything; `stop` ends what was started, also where this fails."""
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
        # Whoever edits is shown pages of PHP alone.
        self.members = [line.partition(" ")[2] + "; wordpress_no_cache=1" for line in lines]

    def start(self):
        environment, command = dict(os.environ), self.command
        if self.clock:
            self.set_clock("+0d")
            clock = {"LD_PRELOAD": faults.faketime(), "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                     "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
            environment |= clock
            # Worker processes get only what the configuration names.
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
                raise Unavailable(f"waited in vain for {what}")
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
        """Has every page stored: what must be served whatever fails next."""
        addresses = [f"http://127.0.0.1:{self.port}{page}" for page in self.pages]
        subprocess.run(["curl", "-s", "--max-time", str(PATIENCE), *addresses], check=True, stdout=subprocess.DEVNULL)

    def date(self):
        """What time the server says it is."""
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
        """Puts a mark into the post that nobody else asks for."""
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
    """Strangers and members, until it is over. What each was answered lies in `answers`."""

    def __init__(self, stand):
        super().__init__(daemon=True)
        self.stand, self.answers, self.titles, self.is_over = stand, [], {}, False

    def run(self):
        asyncio.run(self.all())

    async def all(self):
        strangers = [self.visit(STORED, "") for _ in range(STRANGERS)]
        members = [self.visit(MADE, f"Cookie: {cookie}\r\n") for cookie in self.stand.members]
        await asyncio.gather(*strangers, *members)

    def problem(self, kind, page, status, body):
        """What is wrong with an answer; nothing for most."""
        if status != 200:
            return f"status {status}"
        title = TITLE.search(body)
        if not title or b"</html>" not in body[-200:]:
            return "no whole page"
        if kind == STORED and title[1] != self.titles.setdefault(page, title[1]):
            return f"the page of {title[1]!r}"
        if kind == STORED and b"wpadminbar" in body:
            return "a member's page"
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
        """On the connection of before, if the server has not closed it meanwhile: then on another, as browsers do."""
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
    """A reader of which a byte has been read."""

    def __init__(self, first, reader):
        self.first, self.reader = first, reader

    async def readuntil(self, end):
        first, self.first = self.first, b""
        return first + await self.reader.readuntil(end)

    def __getattr__(self, name):
        return getattr(self.reader, name)


class Judge:
    """Holds answers against what faults may spoil, and figures against those of the first round."""

    def __init__(self, stand, traffic):
        self.stand, self.traffic = stand, traffic
        self.windows, self.failures, self.counted, self.figures, self.provoked = [], [], 0, [], collections.Counter()

    def fail(self, text):
        print(f"soak: {text}", file=sys.stderr)
        self.failures.append(text)

    def judge(self):
        """All answers that have come since it was asked last."""
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
        """Waits until a page of this kind that was asked for from now on has come well."""
        since, at = time.monotonic(), len(self.traffic.answers)
        while time.monotonic() < since + 30:
            new = self.traffic.answers[at:]
            if any(answer.kind == kind and answer.begun >= since and not answer.problem for answer in new):
                return
            time.sleep(0.05)
        self.fail(f"{kind}: nothing is served 30 s after a fault; the last: {self.traffic.answers[-1:]}")

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
        """An edit is seen by whoever asks next."""
        self.stand.edit(mark)
        page = subprocess.run(["curl", "-s", "--max-time", "60", f"http://127.0.0.1:{self.stand.port}{self.stand.edited}"], capture_output=True, check=False)
        if f"mark-{mark}-of".encode() not in page.stdout:
            self.fail(f"edit {mark} is not seen by the next visitor: curl {page.returncode}")

    def measure(self):
        """Memory and descriptors of supervisor and worker, when nothing fails."""
        figures = {}
        for name, pids in (("supervisor", [self.stand.process.pid]), ("worker", self.stand.workers())):
            with contextlib.suppress(OSError):
                descriptors = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)  # fails if one of them has ended
                figures[f"{name}, KB"] = rolled_up(pids, "Pss")[0] // 1024
                figures[f"{name}, descriptors"] = descriptors
                figures[f"{name}, processes"] = len(pids)
        self.figures.append(figures)
        print("  ".join(f"{name} {value}" for name, value in figures.items()), flush=True)

    def is_flat(self):
        """Of the second round on: what the first one fills (caches, allocator) is no leak."""
        if len(self.figures) < 3:
            return
        for name, last in self.figures[-1].items():
            first = self.figures[1][name]
            room = first // 10 + 8192 if name.endswith("KB") else 8 if name.endswith("descriptors") else 0
            if last > first + room:
                self.fail(f"{name}: {first} after the second round, {last} after the last")


def soak(stand, seconds, kinds):
    """Rounds of all faults until the time is over; what was wrong."""
    chosen = [kind(stand) for kind in kinds]
    for fault in [fault for fault in chosen if fault.missing()]:
        print(f"left out: {type(fault).__name__}: {fault.missing()}", flush=True)
        chosen.remove(fault)
    traffic = Traffic(stand)
    stand.warm()
    traffic.start()
    judge, until, number = Judge(stand, traffic), time.monotonic() + seconds, 0
    try:
        while number == 0 or time.monotonic() < until:
            number += 1
            judge.see_edit(number)
            stand.warm()
            for fault in chosen:
                judge.try_fault(fault)
                judge.judge()
                if stand.process.poll() is not None:
                    raise Unavailable("Myriad has ended")
            judge.see_edit(f"{number}-again")
            judge.measure()
            random.shuffle(chosen)
    finally:
        traffic.is_over = True
        traffic.join(PATIENCE)
    judge.judge()
    judge.is_flat()
    said = (stand.prefix.parent / "output").read_text() + "".join(path.read_text(errors="replace") for path in stand.prefix.rglob("error.log"))
    if "panicked" in said:
        judge.fail("something panicked: " + said[said.index("panicked") - 200:][:600])
    slowest = max((answer.ended - answer.begun for answer in traffic.answers if answer.kind == STORED), default=0)
    print(f"{number} rounds, {len(traffic.answers)} answers, the slowest stored page {slowest:.2f} s")
    for what, count in judge.provoked.most_common():
        print(f"provoked {count}: {what}")
    return judge.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600, help="how long (3600); a round of all faults is finished")
    parser.add_argument("--short", action="store_true", help="one round, each fault shortly")
    parser.add_argument("--only", default="", help="faults to try, by their names in faults.py, with commas")
    parser.add_argument("--folder", type=pathlib.Path, help="where the site is made (default: a temporary folder)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the order of faults and pages")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kinds = [kind for kind in faults.ALL if not options.only or kind.__name__ in options.only.split(",")]
    with contextlib.ExitStack() as stack:
        folder = options.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="myriad-soak-", ignore_cleanup_errors=True)))
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        stand = Stand(folder.resolve(), own_namespaces())
        stack.callback(stand.stop)
        stand.begin()
        if options.short:
            options.seconds = 0
            faults.Fault.lasts = lambda _: 0.6
        failures = soak(stand, options.seconds, kinds)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
