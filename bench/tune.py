#!/usr/bin/env python3
"""Measures the effect of settings of `myriad tune`: PHP's CPU time for a page of WordPress, with and without a setting.

    scripts/site create DIR && bench/tune.py DIR [PAGES]

Each row is a php-fpm with one child and its own settings. The home page and a post are requested through Myriad with a cookie that
bypasses the cache. Rounds of all rows alternate, so that other load on the machine affects all of them. The time is utime + stime of
the child (/proc/PID/stat), not wall time. Prints a table.
"""

import http.client
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")
ROUNDS = 6
PLANNED = {
    "opcache.enable": "1", "opcache.memory_consumption": "128", "opcache.interned_strings_buffer": "24",
    "opcache.max_accelerated_files": "7963", "opcache.revalidate_freq": "10", "opcache.jit": "tracing", "opcache.jit_buffer_size": "32M",
    "realpath_cache_size": "8M", "realpath_cache_ttl": "600",
}
# The effective settings of Debian's php.ini, which sets only `opcache.jit=off`.
PACKAGE = {
    "opcache.memory_consumption": "128", "opcache.interned_strings_buffer": "8", "opcache.max_accelerated_files": "10000",
    "opcache.revalidate_freq": "2", "opcache.jit": "off", "opcache.jit_buffer_size": "0", "realpath_cache_size": "4M",
    "realpath_cache_ttl": "120",
}
ROWS = [
    ("planned", {}),
    ("package default", PACKAGE),
    ("no OPcache", {"opcache.enable": "0"}),
    ("OPcache full (8 MB)", {"opcache.memory_consumption": "8", "opcache.interned_strings_buffer": "4"}),
    ("strings full (1 MB)", {"opcache.interned_strings_buffer": "1"}),
    ("revalidate_freq 0", {"opcache.revalidate_freq": "0"}),
    ("no realpath cache", {"realpath_cache_size": "0"}),
    ("no JIT", {"opcache.jit": "off", "opcache.jit_buffer_size": "0"}),
    ("JIT by function", {"opcache.jit": "function"}),
]


def fpm():
    found = sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))
    return found[-1] if found else sys.exit("php-fpm is missing: scripts/install-packages up")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Row:
    """A php-fpm with its settings, and Myriad."""

    def __init__(self, site, index, name, settings):
        self.name, self.samples = name, []
        folder = site / "run" / f"tune-{index}"
        folder.mkdir(exist_ok=True)
        os.chmod(folder, 0o755)
        text = re.sub(r"(?m)^(listen|pid|access\.log|pm|pm\.\w+|include) = .*\n", "", (site / "etc/php-fpm.conf").read_text())
        text += f"listen = {folder}/php.sock\npm = static\npm.max_children = 1\n"
        (folder / "php-fpm.conf").write_text(text)
        options = [word for pair in {**PLANNED, **settings}.items() for word in ("-d", "=".join(pair))]
        arguments = [fpm(), "--nodaemonize", "--fpm-config", folder / "php-fpm.conf", *options]
        if os.geteuid() == 0:
            arguments.append("--allow-to-run-as-root")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.socket = str(folder / "php.sock")
        self.php = subprocess.Popen(arguments, **quiet)
        self.port = free_port()
        self.front = subprocess.Popen([
            HERE / "target/debug/myriad" if "--debug" in sys.argv else HERE / "target/release/myriad", "wordpress",
            "--root", site / "wordpress", "--php", f"unix:{folder}/php.sock", "--listen", f"127.0.0.1:{self.port}",
            "--prefix", folder / "myriad"], **quiet)

    def child(self):
        pids = pathlib.Path(f"/proc/{self.php.pid}/task/{self.php.pid}/children").read_text().split()
        return pids[0]

    def ask(self, path):
        request = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        request.request("GET", path, headers={"Cookie": "wordpress_logged_in_measured=1"})
        answer = request.getresponse()
        body = answer.read()
        if answer.status != 200 or b"</html>" not in body:
            sys.exit(f"{self.name}: {path} got status {answer.status}")

    def await_first(self):
        for _ in range(400):
            try:
                with socket.create_connection(("127.0.0.1", self.port)), socket.socket(socket.AF_UNIX) as php:
                    php.connect(self.socket)
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"{self.name}: no response")

    def round(self, paths, pages):
        fields = lambda: pathlib.Path(f"/proc/{self.child()}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = lambda: sum(map(int, fields()[11:13]))
        before = ticks()
        for index in range(pages):
            self.ask(paths[index % len(paths)])
        self.samples.append((ticks() - before) * 1000 / TICK / pages)

    def stop(self):
        for process in (self.front, self.php):
            process.terminate()
            process.wait()


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words:
        sys.exit(__doc__)
    site, pages = pathlib.Path(words[0]).resolve(), int(words[1]) if len(words) > 1 else 60
    subprocess.run([HERE / "scripts/site", "start", site], check=True)
    rows = [Row(site, index, *row) for index, row in enumerate(ROWS)]
    try:
        for row in rows:
            row.await_first()
        home = http.client.HTTPConnection("127.0.0.1", rows[0].port)
        home.request("GET", "/")
        link = re.search(rb'class="wp-block-post-title[^>]*>\s*<a href="https?://[^/"]+(/[^"]+)"', home.getresponse().read())
        paths = ["/", link.group(1).decode() if link else "/?p=1"]
        for row in rows:
            row.round(paths, 20)
            row.samples.clear()
        for _ in range(ROUNDS):
            for row in rows:
                row.round(paths, pages)
    finally:
        for row in rows:
            row.stop()
        subprocess.run([HERE / "scripts/site", "stop", site], check=True)
    base = statistics.median(rows[0].samples)
    print(f"| settings | CPU time of PHP per page, ms | relative to the planned settings |\n|---|---|---|")
    for row in rows:
        middle = statistics.median(row.samples)
        print(f"| {row.name} | {middle:.1f} | {middle / base:.2f} |")


if __name__ == "__main__":
    main()
