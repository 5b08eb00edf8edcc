"""The servers to compare: how to start each one, on which cores, and how to measure its CPU time and memory."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
CONF = HERE / "conf"
# The binary to measure: the environment variable MYRIAD. `make bench` sets it to the binary of the packages.
MYRIAD = pathlib.Path(os.environ.get("MYRIAD", PROJECT / "target" / "release" / "myriad")).resolve()
FLOOR = HERE / "floor" / "target" / "release" / "floor"
H3_BARE = HERE / "quic" / "target" / "release" / "h3-bare"
TICKS = os.sysconf("SC_CLK_TCK")
SEARCH_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


class Unavailable(Exception):
    """A server that is not available on this machine."""


def program(name):
    found = shutil.which(name, path=SEARCH_PATH)
    if not found:
        raise Unavailable(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(true, what, seconds=60, pause=0.01):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: timed out after {seconds} s")
        time.sleep(pause)


def fill(template, values):
    """Returns the text of `template` (a path) with every {{word}} replaced; an unknown word after `http {` is an error."""
    text = template.read_text()
    for word, value in values.items():
        text = text.replace("{{" + word + "}}", str(value))
    if "{{" in text.split("http {", 1)[-1]:
        raise KeyError(f"{template.name}: unfilled {text[text.index('{{'):][:40]}")
    return text


def family(pid):
    """Returns `pid` and all its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, queue = [], [pid]
    while queue:
        found.append(queue.pop())
        queue += parents.get(found[-1], [])
    return found


def cpu_seconds(pid):
    """Returns user and system time of a process tree: all threads of all processes, and children that exited and were awaited.

    Each process counts once, because a parent is only charged for children that have exited. The time of a process is read
    from its CPU clock (clock_getcpuclockid(3): the inverted pid, then CPUCLOCK_SCHED), in nanoseconds. /proc/PID/stat rounds
    user and system time down to 10 ms, a hundredth of a short round, but only stat has the time of exited children.
    """
    seconds = 0.0
    for member in family(pid):
        try:
            fields = pathlib.Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
            seconds += time.clock_gettime((~member << 3) | 2)
        except OSError:
            continue
        seconds += sum(int(field) for field in fields[13:15]) / TICKS
    return seconds


def rolled_up(members, *fields):
    """Returns the sums of these smaps_rollup fields over all processes, in bytes; an exited process adds nothing.

    smaps_rollup is exact; VmRSS of /proc/PID/status can be wrong by some hundred KB per core.
    """
    totals = dict.fromkeys(fields, 0)
    for member in members:
        try:
            rollup = pathlib.Path(f"/proc/{member}/smaps_rollup").read_text()
        except OSError:
            continue
        for line in rollup.splitlines():
            name, _, value = line.partition(":")
            if name in totals:
                totals[name] += int(value.split()[0]) * 1024
    return list(totals.values())


def resident_bytes(pid):
    """Returns the resident memory of a process tree; shared pages count once per process, as in `ps`."""
    return rolled_up(family(pid), "Rss")[0]


def proportional_bytes(pid):
    """Returns the memory of a process tree; shared pages count once (PSS)."""
    return rolled_up(family(pid), "Pss")[0]


class Server:
    """One running server. `processes` are the processes that its CPU time includes."""

    def __init__(self, name, folder, workers, cores):
        self.name, self.workers, self.cores = name, workers, cores
        self.folder = folder / (name if workers == 1 else f"{name}-{workers}w")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)
        self.port = free_port()
        self.processes = []
        self.launcher = ()
        self.tls_port = None

    def spawn(self, command, port, environment=None):
        log = open(self.folder / "output.log", "ab")
        process = subprocess.Popen(
            ["taskset", "--cpu-list", self.cores, *self.launcher, *map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, env={**os.environ, "PATH": SEARCH_PATH, **(environment or {})})
        self.processes.append(process)
        deadline = time.monotonic() + (120 if self.launcher else 15)
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)
        self.stop()
        tail = "\n".join(path.read_text(errors="replace")[-1500:] for path in self.folder.glob("*.log"))
        raise Unavailable(f"{self.name} did not start: {' '.join(map(str, command))}\n{tail.strip()}")

    def cpu(self):
        return sum(cpu_seconds(process.pid) for process in self.processes)

    def memory(self):
        return sum(resident_bytes(process.pid) for process in self.processes)

    def alive(self):
        return all(process.poll() is None for process in self.processes)

    def stop(self):
        for process in reversed(self.processes):
            members = family(process.pid)
            process.terminate()
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                for member in members:
                    try:
                        os.kill(member, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                process.wait()
        self.processes = []


class Stand:
    """Environment of the servers: the site that they serve, a folder for their files, their cores. `before` is a checkout
    of an earlier commit with its release binary, for a comparison."""

    def __init__(self, site, folder, cores, before=None):
        self.site, self.folder, self.cores, self.before = site, folder, cores, before

    def values(self, server):
        return {
            "dir": server.folder, "port": server.port, "workers": server.workers, "conf": CONF,
            "root": self.site / "wordpress", "php": self.site / "run" / "php.sock",
            "php_compressing": self.site / "run" / "php-compressing.sock", "compressed": self.site / "compressed",
            # If started by root, Debian's nginx would run its workers as www-data, which cannot access the folders.
            "user": "user root;" if os.getuid() == 0 else "",
        }

    def start(self, name, workers=1, **options):
        server = Server(name, self.folder, workers, self.cores if workers == 1 else ",".join(map(str, range(workers))))
        server.launcher = self.launcher(server)
        STARTERS[name](self, server, **options)
        return server

    def launcher(self, server):
        """Returns a command prefix for the server's command."""
        return ()

    def configuration(self, server, template, name="server.conf", **more):
        path = server.folder / name
        path.write_text(fill(CONF / template, {**self.values(server), **more}))
        return path

    def nginx(self, server, template):
        path = self.configuration(server, template)
        server.spawn([program("nginx"), "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)

    def myriad_bare(self, server, tree=None, more=""):
        binary = myriad_binary(tree)
        path = self.configuration(server, "bare.conf", more=more)
        server.spawn([binary, "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)

    def myriad_preset(self, server, tree=None):
        """Runs the output of `myriad wordpress --print` of the checkout `tree` (default: this one), with only the number of
        workers and a port for HTTPS changed."""
        binary = myriad_binary(tree)
        server.tls_port = free_port()
        certificate = self.certificate()
        listen = f"listen 127.0.0.1:{server.port};"
        https = (f"listen 127.0.0.1:{server.tls_port} ssl; listen 127.0.0.1:{server.tls_port} quic; http2 on; "
                 f"ssl_certificate {certificate}; ssl_certificate_key {certificate};")
        printed = subprocess.run(
            [binary, "wordpress", "--root", self.site / "wordpress", "--php", self.site / "run" / "php.sock", "--prefix", server.folder,
             "--listen", f"127.0.0.1:{server.port}", "--print"], capture_output=True, text=True, check=False)
        if printed.returncode or listen not in printed.stdout:
            raise Unavailable(f"{binary} wordpress --print: {printed.stderr.strip() or 'the output has an unknown format'}")
        text = printed.stdout.replace("worker_processes auto;", f"worker_processes {server.workers};").replace(listen, f"{listen} {https}")
        path = server.folder / "server.conf"
        path.write_text(text)
        (server.folder / "logs").mkdir(exist_ok=True)
        server.spawn([binary, "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)

    def varnish(self, server):
        origin_port = free_port()
        origin = self.configuration(server, "origin.conf", "origin.conf", origin_port=origin_port)
        vcl = self.configuration(server, "varnish.vcl", "varnish.vcl", origin_port=origin_port)
        server.spawn([program("nginx"), "-p", server.folder, "-c", origin, "-e", server.folder / "origin.log"], origin_port)
        server.spawn([program("varnishd"), "-F", "-a", f"127.0.0.1:{server.port}", "-f", vcl, "-n", server.folder / "work",
                      "-s", "malloc,256m", "-j", "none", "-p", "timeout_idle=300", "-p", "thread_pool_min=50",
                      "-p", "thread_pools=2", "-T", "none"], server.port)

    def apache(self, server):
        modules = pathlib.Path("/usr/lib/apache2/modules")
        (server.folder / "cache").mkdir()
        (server.folder / "lock").mkdir()
        server.tls_port = free_port()
        certificate = self.certificate()
        tls = (f"<VirtualHost 127.0.0.1:{server.tls_port}>\nDocumentRoot {self.site}/wordpress\nSSLEngine on\n"
               f"SSLCertificateFile {certificate}\nSSLCertificateKeyFile {certificate}\n</VirtualHost>")
        # Apache refuses to run as root; the site's user may read the files.
        for folder in (server.folder / "cache", server.folder / "lock"):
            folder.chmod(0o777)
        path = self.configuration(server, "apache.conf", modules=modules, tls=tls, user=(
            "User www-data\nGroup www-data" if os.getuid() == 0 else ""), listen_tls=f"Listen 127.0.0.1:{server.tls_port}")
        server.spawn([program("apache2"), "-DFOREGROUND", "-f", path], server.port)

    def haproxy(self, server):
        origin_port = free_port()
        origin = self.configuration(server, "origin.conf", "origin.conf", origin_port=origin_port)
        server.tls_port = free_port()
        bind = f"bind 127.0.0.1:{server.tls_port} ssl crt {self.certificate()}"
        path = self.configuration(server, "haproxy.cfg", "haproxy.cfg", origin_port=origin_port, bind_tls=bind)
        server.spawn([program("nginx"), "-p", server.folder, "-c", origin, "-e", server.folder / "origin.log"], origin_port)
        server.spawn([program("haproxy"), "-db", "-f", path], server.port)

    def nginx_tls(self, server):
        """nginx with the usual recipe, with HTTPS in addition."""
        server.tls_port = free_port()
        path = self.configuration(server, "recipe.conf")
        certificate = self.certificate()
        path.write_text(path.read_text().replace(
            "        root ", f"        listen 127.0.0.1:{server.tls_port} ssl http2 backlog=4096;\n        ssl_certificate {certificate};\n"
            f"        ssl_certificate_key {certificate};\n        root ", 1))
        server.spawn([program("nginx"), "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)

    def certificate(self):
        """Creates a self-signed P-256 certificate with its key in one file; returns the path."""
        path = self.folder / "certificate.pem"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            made = [subprocess.run([program("openssl"), *arguments], check=True, capture_output=True).stdout for arguments in (
                ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path) + ".key"],
                ["req", "-new", "-x509", "-key", str(path) + ".key", "-subj", "/CN=bench.test", "-days", "30"])]
            path.write_bytes(made[1] + pathlib.Path(str(path) + ".key").read_bytes())
        return path

    def origin(self, server):
        path = self.configuration(server, "origin.conf", origin_port=server.port)
        server.spawn([program("nginx"), "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)

    def floor(self, server, response=b"", close=False):
        if not FLOOR.exists():
            raise Unavailable("bench/floor is not built")
        path = server.folder / "response"
        path.write_bytes(response)
        server.spawn([FLOOR, server.port, path, *(["close"] if close else [])], server.port)


    def h3_bare(self, server, page=(b"", b"")):
        """A minimal server with quinn and h3 that sends one page: bench/quic."""
        if not H3_BARE.exists():
            raise Unavailable("bench/quic is not built")
        certificate = self.certificate()
        head, server.body = page
        (server.folder / "head").write_bytes(head)
        (server.folder / "body").write_bytes(server.body)
        server.tls_port = free_port()
        server.spawn([H3_BARE, server.tls_port, certificate, certificate, server.folder / "head", server.folder / "body"],
                     server.tls_port)


def myriad_binary(tree=None):
    """Returns the release binary of the checkout `tree`; by default the binary to measure."""
    binary = tree / "target" / "release" / "myriad" if tree else MYRIAD
    if not binary.exists():
        raise Unavailable(f"{binary} is not built")
    return binary


MORE_HEADERS = " ".join(f'more_set_headers "X-More-{number}: {number} of twenty";' for number in range(1, 21))

STARTERS = {
    "myriad": Stand.myriad_preset,
    "myriad-bare": Stand.myriad_bare,
    "myriad-logged": lambda stand, server: stand.myriad_bare(server, more=f"access_log {server.folder}/access.log combined;"),
    "myriad-headers": lambda stand, server: stand.myriad_bare(server, more=MORE_HEADERS),
    "myriad-before": lambda stand, server: stand.myriad_preset(server, stand.before),
    "myriad-bare-before": lambda stand, server: stand.myriad_bare(server, stand.before),
    "nginx-recipe": Stand.nginx_tls,
    "nginx-best": lambda stand, server: stand.nginx(server, "best.conf"),
    "varnish": Stand.varnish,
    "apache": Stand.apache,
    "haproxy": Stand.haproxy,
    "nginx": Stand.nginx_tls,
    "origin": Stand.origin,
    "floor": Stand.floor,
    "h3-bare": Stand.h3_bare,
}
