"""The faults of the soak test: what each does to a running site, for how long, and which errors visitors may see.

A fault declares what it may affect: nothing of stored pages if PHP or a service behind it fails; pages from PHP if PHP or the database is
unavailable; requests in progress if a worker process is killed. The soak test checks every response against that.
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
    """A fault that is caused and then repaired. `spoils`: STORED and MADE pages may fail, BROKEN: connections may be aborted."""

    spoils = frozenset()
    # True if pages have to be stored again afterwards.
    empties = False
    # Seconds after the repair in which affected pages may still fail, because a failed upstream is retried only after a while.
    after = 0.0

    def __init__(self, stand):
        self.stand = stand

    # Seconds for which a fault lasts.
    duration = 3.0

    def lasts(self):
        return self.duration

    def begin(self):
        raise NotImplementedError

    def end(self):
        pass

    def missing(self):
        """Returns why the fault cannot be caused on this machine, or an empty text."""
        return ""


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Stall(Fault):
    """Stops processes with SIGSTOP."""

    def pids(self):
        raise NotImplementedError

    def begin(self):
        self.held = self.pids()
        send(self.held, signal.SIGSTOP)

    def end(self):
        send(self.held, signal.SIGCONT)


class PhpStalls(Stall):
    """php-fpm and its children hang."""
    spoils, after = frozenset([MADE]), 3.0

    def pids(self):
        return family(self.stand.pid("php"))


class DatabaseStalls(Stall):
    """MariaDB hangs."""
    spoils, after = frozenset([MADE]), 3.0

    def pids(self):
        return [self.stand.pid("db")]


class RedisStalls(Stall):
    """The object cache hangs; PHP continues without it."""
    spoils, after = frozenset([MADE]), 3.0

    def pids(self):
        return [self.stand.redis.pid]


class WorkerStalls(Stall):
    """Myriad's worker process hangs; visitors wait and then get their response."""

    def lasts(self):
        return 1.0

    def pids(self):
        return self.stand.workers()


class PhpDies(Fault):
    """php-fpm and its children are killed and restarted."""
    spoils, after = frozenset([MADE]), 3.0

    def begin(self):
        send(family(self.stand.pid("php")), signal.SIGKILL)
        # Its children are killed here, so that none has to be searched for.
        (self.stand.site / "run/php.pid").unlink()

    def end(self):
        self.stand.script("start")


class DatabaseDies(Fault):
    """MariaDB is killed and restarted."""
    spoils, after = frozenset([MADE]), 3.0

    def begin(self):
        send([self.stand.pid("db")], signal.SIGKILL)

    def end(self):
        self.stand.script("start")


class RedisDies(Fault):
    """Redis is killed and restarted; PHP still creates pages."""

    def begin(self):
        self.stand.redis.kill()
        self.stand.redis.wait()

    def end(self):
        self.stand.start_redis()


class WorkerDies(Fault):
    """The worker process is killed: its requests are aborted, and the next one serves on the same sockets."""
    # The next worker has to start and read the disk; until then new connections wait in the socket's queue.
    spoils, after, empties = frozenset([BROKEN]), 1.0, True

    def lasts(self):
        return 0.0

    def begin(self):
        self.before = self.stand.workers()
        send(self.before, signal.SIGKILL)
        self.stand.wait_for("a new worker process", lambda: set(self.stand.workers()) - set(self.before))


class FilesAreDamaged(WorkerDies):
    """Bytes of cache files are overwritten, some files are truncated, and the memory is lost; no client gets a damaged page."""

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
    """The file system of the cache and the logs is full, and all pages have to be created again."""
    empties = True

    def missing(self):
        return "" if self.stand.is_small_disk else "a file system cannot be mounted (root and mount namespaces are needed)"

    def begin(self):
        self.ballast = self.stand.prefix / "ballast"
        with open(self.ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError):
            # Fill the last bytes of the last block as well.
            (self.stand.prefix / "ballast.end").write_bytes(bytes(4096))
        if os.statvfs(self.stand.prefix).f_bavail:
            raise Unavailable("the disk is not full")
        self.stand.invalidate_all()

    def end(self):
        for path in (self.ballast, self.stand.prefix / "ballast.end"):
            path.unlink(missing_ok=True)


class DescriptorsRunOut(Fault):
    """The worker process may open only a few more descriptors, and idle clients use them."""
    spoils = frozenset([BROKEN])

    def limit_of(self, pid):
        return int(re.search(r"^Max open files +(\d+)", pathlib.Path(f"/proc/{pid}/limits").read_text(), re.M)[1])

    def limit(self, pid, count):
        """Runs as the worker's user, because root needs a capability for this that containers lack."""
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        owner = [re.search(rf"^{name}:\t(\d+)", status, re.M)[1] for name in ("Uid", "Gid")]
        command = ["setpriv", f"--reuid={owner[0]}", f"--regid={owner[1]}", "--clear-groups", "prlimit", f"--pid={pid}", f"--nofile={count}:"]
        return subprocess.run(command if os.getuid() == 0 else command[4:], check=False).returncode == 0

    def missing(self):
        pid = self.stand.workers()[0]
        self.usual = self.limit_of(pid)
        return "" if self.limit(pid, self.usual) else "not permitted to change the limits of another process"

    def begin(self):
        self.idle, room = [], {pid: len(os.listdir(f"/proc/{pid}/fd")) + 16 for pid in self.stand.workers()}
        for pid, count in room.items():
            self.limit(pid, count)
        for _ in range(100):
            with contextlib.suppress(OSError):
                self.idle.append(socket.create_connection(("127.0.0.1", self.stand.port), 1))
        if any(self.limit_of(pid) != count for pid, count in room.items()):
            raise Unavailable("the descriptor limit did not change")

    def end(self):
        for one in self.idle:
            one.close()
        for pid in self.stand.workers():
            self.limit(pid, self.usual)


class ClockJumps(Fault):
    """The clock of the server jumps two days forward, then to three days back, where all pages are stored again, then to the right time."""

    def missing(self):
        return "" if self.stand.clock else "libfaketime is missing: scripts/install-packages soak"

    def jump(self, days):
        self.stand.set_clock(f"{days:+}d")
        self.stand.wait_for("the changed clock", lambda: round((self.stand.date() - time.time()) / 86400) == days)

    def begin(self):
        self.jump(2)
        time.sleep(0.5)
        self.jump(-3)
        self.stand.purge_all()
        self.stand.warm()

    def end(self):
        self.jump(0)


class PacketsAreLost(Fault):
    """Packets between visitors and server are dropped and delayed."""

    def __init__(self, stand):
        super().__init__(stand)
        self.rules = [["netem", "delay", "20ms", "10ms", "loss", "2%"],
                      # If the kernel has no netem: a slow link with a short queue, which delays and drops packets.
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
    """Not a fault: ten reloads."""

    def lasts(self):
        return 1.0

    def begin(self):
        for _ in range(10):
            os.kill(self.stand.process.pid, signal.SIGHUP)
            time.sleep(0.1)


class PurgesAll(Fault):
    """Not a fault: all pages are purged and created again by the next requests."""
    empties = True

    def lasts(self):
        return 1.0

    def begin(self):
        self.stand.purge_all()


ALL = [Reload, PhpStalls, PurgesAll, PhpDies, DatabaseStalls, WorkerDies, DatabaseDies, RedisStalls, DiskFills, RedisDies, FilesAreDamaged,
       DescriptorsRunOut, ClockJumps, WorkerStalls, PacketsAreLost]


def rounds_of_pairs(faults, order):
    """Returns rounds in which each fault follows each other fault directly exactly once; the first round is `faults` as they are.

    The order is a closed walk over all ordered pairs (Hierholzer's algorithm), shuffled by the generator `order`. A round begins with the
    fault that ended the round before, so that no check of the whole site comes between the two faults of a pair.
    """
    if len(faults) < 2:
        return [list(faults)]
    first = set(zip(faults, faults[1:]))
    left = {one: [other for other in faults if other is not one and (one, other) not in first] for one in faults}
    for others in left.values():
        order.shuffle(others)
    # The walk from the last fault of the first round back to its first fault, over all other pairs.
    walk, open_ends = [], [faults[-1]]
    while open_ends:
        others = left[open_ends[-1]]
        if others:
            open_ends.append(others.pop())
        else:
            walk.append(open_ends.pop())
    walk = faults[:-1] + walk[::-1]
    pairs = len(faults) - 1
    return [walk[at:at + pairs + 1] for at in range(0, len(walk) - 1, pairs)]


def faketime():
    """Returns the path of libfaketime, if it is installed."""
    found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(found[0]) if found and shutil.which("env") else ""
