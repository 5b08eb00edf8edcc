"""The faults of a soak: what each does to a running site, for how long, and what of it visitors may notice.

A fault says what it spoils: nothing of stored pages, whatever befalls PHP and what stands behind it; what PHP makes, where PHP itself or the
database is away; requests under way at a worker process that is killed. The soak holds every answer against that.
"""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import time

from servers import SEARCH_PATH, Unavailable, family

STORED, MADE, BROKEN = "stored", "made", "broken"


class Fault:
    """Something that goes wrong and is put right. `spoils`: STORED and MADE pages may fail, BROKEN: connections may break off."""

    spoils = frozenset()
    # Whether pages have to be stored again.
    empties = False
    # Seconds after the end in which what it spoils may still fail: an origin that was given up is asked again after a while.
    after = 0.0

    def __init__(self, stand):
        self.stand = stand

    def lasts(self):
        return 3.0

    def begin(self):
        raise NotImplementedError

    def end(self):
        pass

    def missing(self):
        """Why it cannot be tried on this machine; nothing where it can."""
        return ""


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Stall(Fault):
    """Processes that are there and do nothing."""

    def pids(self):
        raise NotImplementedError

    def begin(self):
        self.held = self.pids()
        send(self.held, signal.SIGSTOP)

    def end(self):
        send(self.held, signal.SIGCONT)


class PhpStalls(Stall):
    """php-fpm and its children stand still."""
    spoils, after = frozenset([MADE]), 3.0

    def pids(self):
        return family(self.stand.pid("php"))


class DatabaseStalls(Stall):
    """MariaDB stands still."""
    spoils, after = frozenset([MADE]), 3.0

    def pids(self):
        return [self.stand.pid("db")]


class RedisStalls(Stall):
    """The object cache stands still: PHP goes on without it."""
    spoils, after = frozenset([MADE]), 3.0

    def pids(self):
        return [self.stand.redis.pid]


class WorkerStalls(Stall):
    """Myriad's worker process stands still: visitors wait and are answered."""

    def lasts(self):
        return 1.0

    def pids(self):
        return self.stand.workers()


class PhpDies(Fault):
    """php-fpm and its children are killed, and started again."""
    spoils, after = frozenset([MADE]), 3.0

    def begin(self):
        send(family(self.stand.pid("php")), signal.SIGKILL)
        # None of its children is left to be looked for.
        (self.stand.site / "run/php.pid").unlink()

    def end(self):
        self.stand.script("start")


class DatabaseDies(Fault):
    """MariaDB is killed, and started again."""
    spoils, after = frozenset([MADE]), 3.0

    def begin(self):
        send([self.stand.pid("db")], signal.SIGKILL)

    def end(self):
        self.stand.script("start")


class RedisDies(Fault):
    """Redis is killed, and started again: pages of PHP are made all the same."""

    def begin(self):
        self.stand.redis.kill()
        self.stand.redis.wait()

    def end(self):
        self.stand.start_redis()


class WorkerDies(Fault):
    """The worker process is killed: what it had under way breaks off, the next one serves on the same sockets."""
    # Another one has to start, and reads what is on the disk; until then newcomers wait in the socket's queue.
    spoils, after, empties = frozenset([BROKEN]), 1.0, True

    def lasts(self):
        return 0.0

    def begin(self):
        self.before = self.stand.workers()
        send(self.before, signal.SIGKILL)
        self.stand.wait_for("another worker process", lambda: set(self.stand.workers()) - set(self.before))


class FilesAreDamaged(WorkerDies):
    """Bytes of the cache's files are overwritten, some files are cut short, and memory is lost: nobody sees a damaged page."""

    def begin(self):
        for number, path in enumerate(self.stand.cache_files()):
            with contextlib.suppress(OSError):
                size = path.stat().st_size
                if number % 3 == 2:
                    os.truncate(path, size // 2)
                    continue
                with open(path, "r+b") as file:
                    file.seek(random.randrange(max(1, size)))
                    file.write(random.randbytes(64))
        super().begin()


class DiskFills(Fault):
    """No byte more fits the file system of the cache and the logs; all pages are to be made anew meanwhile."""
    empties = True

    def missing(self):
        return "" if self.stand.is_small_disk else "no file system of its own could be mounted (root and mount namespaces are needed)"

    def begin(self):
        self.ballast = self.stand.prefix / "ballast"
        with open(self.ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError):
            # The last bytes of the last block, too.
            (self.stand.prefix / "ballast.end").write_bytes(bytes(4096))
        if os.statvfs(self.stand.prefix).f_bavail:
            raise Unavailable("the disk is not full")
        self.stand.invalidate_all()

    def end(self):
        for path in (self.ballast, self.stand.prefix / "ballast.end"):
            path.unlink(missing_ok=True)


class DescriptorsRunOut(Fault):
    """The worker process may open a few descriptors more, and idle clients take them."""
    spoils = frozenset([BROKEN])

    def limit_of(self, pid):
        return int(re.search(r"^Max open files +(\d+)", pathlib.Path(f"/proc/{pid}/limits").read_text(), re.M)[1])

    def limit(self, pid, count):
        """As the worker's own user: that is allowed to root only with a capability that containers lack."""
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        owner = [re.search(rf"^{name}:\t(\d+)", status, re.M)[1] for name in ("Uid", "Gid")]
        command = ["setpriv", f"--reuid={owner[0]}", f"--regid={owner[1]}", "--clear-groups", "prlimit", f"--pid={pid}", f"--nofile={count}:"]
        return subprocess.run(command if os.getuid() == 0 else command[4:], check=False).returncode == 0

    def missing(self):
        pid = self.stand.workers()[0]
        self.usual = self.limit_of(pid)
        return "" if self.limit(pid, self.usual) else "the limit of another process may not be changed here"

    def begin(self):
        self.idle, room = [], {pid: len(os.listdir(f"/proc/{pid}/fd")) + 16 for pid in self.stand.workers()}
        for pid, count in room.items():
            self.limit(pid, count)
        for _ in range(100):
            with contextlib.suppress(OSError):
                self.idle.append(socket.create_connection(("127.0.0.1", self.stand.port), 1))
        if any(self.limit_of(pid) != count for pid, count in room.items()):
            raise Unavailable("the limit of descriptors has not changed")

    def end(self):
        for one in self.idle:
            one.close()
        for pid in self.stand.workers():
            self.limit(pid, self.usual)


class ClockJumps(Fault):
    """The clock of the server goes two days ahead, then a day back, then right again."""

    def missing(self):
        return "" if self.stand.clock else "libfaketime is missing: scripts/install-packages soak"

    def jump(self, days):
        self.stand.set_clock(f"{days:+}d")
        self.stand.wait_for("the other clock", lambda: round((self.stand.date() - time.time()) / 86400) == days)

    def begin(self):
        self.jump(2)
        time.sleep(0.5)
        self.jump(-1)

    def end(self):
        self.jump(0)


class PacketsAreLost(Fault):
    """Packets between visitors and server are dropped and come late."""

    def __init__(self, stand):
        super().__init__(stand)
        self.rules = [["netem", "delay", "20ms", "10ms", "loss", "2%"],
                      # Where the kernel has no netem: a narrow line with a short queue, which holds up and drops what is too much.
                      ["tbf", "rate", "20mbit", "burst", "16kb", "limit", "24kb"]]

    def tc(self, *words):
        return subprocess.run(["tc", *words], capture_output=True, check=False, env={**os.environ, "PATH": SEARCH_PATH}).returncode == 0

    def missing(self):
        if not self.stand.has_own_network:
            return "a network namespace needs root"
        rule = next((rule for rule in self.rules if self.tc("qdisc", "replace", "dev", "lo", "root", *rule)), None)
        self.tc("qdisc", "del", "dev", "lo", "root")
        self.rules = [rule] if rule else []
        return "" if rule else "the kernel has neither netem nor tbf, or tc is missing"

    def begin(self):
        self.tc("qdisc", "replace", "dev", "lo", "root", *self.rules[0])

    def end(self):
        self.tc("qdisc", "del", "dev", "lo", "root")


class Reload(Fault):
    """Not a fault: the configuration is read again, ten times."""

    def lasts(self):
        return 1.0

    def begin(self):
        for _ in range(10):
            os.kill(self.stand.process.pid, signal.SIGHUP)
            time.sleep(0.1)


class PurgesAll(Fault):
    """Not a fault: all pages are removed, and made anew by who asks."""
    empties = True

    def lasts(self):
        return 1.0

    def begin(self):
        self.stand.purge_all()


ALL = [Reload, PhpStalls, PurgesAll, PhpDies, DatabaseStalls, WorkerDies, DatabaseDies, RedisStalls, DiskFills, RedisDies, FilesAreDamaged,
       DescriptorsRunOut, ClockJumps, WorkerStalls, PacketsAreLost]


def faketime():
    """The library that shows a process another clock, if it is installed."""
    found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(found[0]) if found and shutil.which("env") else ""
