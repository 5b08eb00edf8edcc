"""WordPress site with its own MariaDB, php-fpm and Myriad, for the trial of one plugin."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

import fastcgi
from visitors import ACCEPT, AGENT, Answer, Visitor

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent
KEPT_IN_CORE = {"wp-content", "wp-config.php"}
# Sites whose processes and files exist.
ACTIVE = set()


def free_port():
    """Returns a port without a listener on this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def remove_sites_on_signals():
    """Makes SIGINT and SIGTERM remove all sites and exit the program."""
    def stop(number, _frame):
        for site in list(ACTIVE):
            site.remove()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


class Site:
    """Site in a folder. `folder` must be short: it contains Unix sockets."""

    def __init__(self, folder, options):
        self.folder, self.options = pathlib.Path(folder), options
        self.root = self.folder / "wordpress"
        self.debug_log = self.folder / "log/debug.log"
        self.server, self.port, self.secrets, self.visitors = None, 0, {}, []

    def create(self):
        """Creates the site and starts all of its processes."""
        ACTIVE.add(self)
        self._script("create")
        self._configure()
        self._copy_theme()
        if self.options.core:
            self._replace_core(pathlib.Path(self.options.core))
        self._script("start")
        lines = (self.folder / "site.env").read_text().splitlines()
        self.secrets = dict(line.split("=", 1) for line in lines)
        self.own(self.root)
        self._start_myriad()

    def _script(self, verb):
        environment = {**os.environ, "MYRIAD_SITE_CACHE": str(self.options.site_cache)}
        done = subprocess.run([SCRIPTS / "site", verb, self.folder], env=environment, capture_output=True, text=True)
        if done.returncode and verb != "stop":
            raise RuntimeError(f"scripts/site {verb}: {done.stdout}{done.stderr}")

    def _configure(self):
        file = self.root / "wp-config.php"
        lines = "\n".join([
            "define('WP_DEBUG', true);", f"define('WP_DEBUG_LOG', '{self.debug_log}');",
            "define('WP_DEBUG_DISPLAY', false);", "@ini_set('display_errors', '0');",
            "define('WP_ENVIRONMENT_TYPE', 'production');", "define('FS_METHOD', 'direct');"])
        text = file.read_text().replace("define('WP_DEBUG', false);", lines)
        file.write_text(text)
        shutil.copy(HERE / "evaluate.php", self.folder / "evaluate.php")
        pools = self.folder / "etc/php-fpm.conf"
        pools.write_text(re.sub(r"(?m)^(php_admin_value\[error_log\]) = .*$", rf"\1 = {self.debug_log}", pools.read_text()))
        self.debug_log.touch()
        self.own(self.debug_log)
        trial = self.root / "wp-content/mu-plugins/trial.php"
        trial.write_text((HERE / "must-use.php").read_text())

    def add_theme(self, theme):
        """Copies the theme to the site if it is a folder. Returns its name."""
        folder = pathlib.Path(theme)
        if folder.is_dir():
            shutil.copytree(folder, self.root / "wp-content/themes" / folder.name, dirs_exist_ok=True)
            self.own(self.root / "wp-content/themes")
        return folder.name

    def _copy_theme(self):
        shutil.copytree(HERE / "theme", self.root / "wp-content/themes/trial", dirs_exist_ok=True)

    def _replace_core(self, core):
        for name in ("wp-admin", "wp-includes"):
            shutil.rmtree(self.root / name)
        for entry in core.iterdir():
            if entry.is_dir() and entry.name not in KEPT_IN_CORE:
                shutil.copytree(entry, self.root / entry.name, dirs_exist_ok=True)
            elif entry.is_file() and entry.name not in KEPT_IN_CORE:
                shutil.copy(entry, self.root / entry.name)
        for theme in (core / "wp-content/themes").glob("*/"):
            shutil.copytree(theme, self.root / "wp-content/themes" / theme.name, dirs_exist_ok=True)

    def own(self, path):
        """Gives files to the user of php-fpm."""
        if os.geteuid() == 0:
            owner = (self.folder / "db").owner()
            subprocess.run(["chown", "-R", f"{owner}:", path], check=True)

    def _myriad(self, *more):
        return [self.options.myriad, "wordpress", "--root", self.root, "--php", f"unix:{self.folder}/run/php.sock",
                "--prefix", self.folder / "myriad", *more]

    def _install_plugin(self):
        (self.folder / "myriad").mkdir(exist_ok=True)
        kind = [] if self.options.ordinary else ["--must-use"]
        subprocess.run(self._myriad("--install-plugin", *kind), check=True, capture_output=True)
        if self.options.source:
            place = "plugins" if self.options.ordinary else "mu-plugins"
            self._overlay(pathlib.Path(self.options.source), self.root / "wp-content" / place / "myriad-cache")

    def _start_myriad(self):
        self._install_plugin()
        self.port = free_port()
        log = open(self.folder / "log/myriad.log", "w")
        command = self._myriad("--listen", f"127.0.0.1:{self.port}", *self.options.set_options)
        self.server = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._await_myriad()

    def install_object_cache(self, address):
        """Installs Myriad's object cache, which stores its values at an address."""
        subprocess.run(self._myriad("--install-object-cache", address), check=True, capture_output=True)
        self.own(self.root / "wp-content")

    def _await_myriad(self):
        for _ in range(600):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.server.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("Myriad did not start: " + (self.folder / "log/myriad.log").read_text()[-2000:])

    def _overlay(self, source, target):
        if not target.is_dir():
            raise RuntimeError(f"{target} is missing: the binary installs the plugin elsewhere")
        for file in source.rglob("*.php"):
            shutil.copy(file, target / file.relative_to(source))
        self.own(target)

    def add_plugin(self, folder):
        """Copies a plugin to the site."""
        shutil.copytree(folder, self.root / "wp-content/plugins" / folder.name, dirs_exist_ok=True, symlinks=False)
        self.own(self.root / "wp-content/plugins" / folder.name)

    def remove(self):
        """Stops all processes and removes the folder, unless the option to keep it is set."""
        if self.server is not None:
            self.server.terminate()
            try:
                self.server.wait(20)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        self._script("stop")
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        ACTIVE.discard(self)

    def visitor(self, kind=Visitor):
        """Returns a new anonymous visitor with a separate address, of a class of visitors."""
        self.visitors.append(kind(self.port, f"127.0.{1 + len(self.visitors) // 250}.{1 + len(self.visitors) % 250}"))
        return self.visitors[-1]

    def bystander(self):
        """Returns a new anonymous visitor with the address of those whose pages are compared."""
        return Visitor(self.port)

    def administrator(self):
        """Returns a visitor that is logged in as the administrator."""
        return Visitor(self.port).log_in(self.secrets["ADMIN_USER"], self.secrets["ADMIN_PASSWORD"])

    def host(self):
        """Returns the host name and port in the URLs of the site."""
        return f"localhost:{self.port}"

    def _params(self, path, query, script):
        return {
            "SCRIPT_FILENAME": script, "SCRIPT_NAME": "/index.php", "PATH_INFO": "", "REQUEST_URI": path + ("?" + query if query else ""),
            "QUERY_STRING": query, "REQUEST_METHOD": "GET", "REQUEST_SCHEME": "http", "CONTENT_TYPE": "", "CONTENT_LENGTH": "",
            "DOCUMENT_URI": "/index.php", "DOCUMENT_ROOT": self.root, "SERVER_PROTOCOL": "HTTP/1.1", "GATEWAY_INTERFACE": "CGI/1.1",
            "SERVER_SOFTWARE": "nginx/1.29.0 (Myriad)", "REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "40000",
            "SERVER_ADDR": "127.0.0.1", "SERVER_PORT": str(self.port), "SERVER_NAME": "localhost", "REDIRECT_STATUS": "200",
            "MYRIAD_CLOCK": "site", "HTTP_HOST": self.host(), "HTTP_USER_AGENT": AGENT, "HTTP_ACCEPT": ACCEPT,
        }

    def php_page(self, url, visitor=None):
        """Returns the response that PHP makes for a visitor (by default an anonymous one), without a cache.

        The request lacks Surrogate-Capability, so that Myriad's plugin adds nothing to the page. Page caches in PHP do not store it.
        """
        parts = urllib.parse.urlsplit(url)
        params = self._params(parts.path or "/", parts.query, self.root / "index.php") | {"TRIAL_DIRECT": "1"}
        if visitor:
            params |= {"HTTP_COOKIE": visitor.cookie_field(parts.path), "REMOTE_ADDR": visitor.address}
        return Answer(url, *fastcgi.request(self.folder / "run/php.sock", params))

    def evaluate(self, code, visitor=None):
        """Runs PHP code in WordPress as the administrator; returns the value that it returns. Nonces are those of the visitor."""
        params = self._params("/", "", self.folder / "evaluate.php")
        body = code.encode()
        params |= {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/octet-stream"}
        if visitor:
            params["HTTP_COOKIE"] = visitor.cookie_field("/")
        status, _, content = fastcgi.request(self.folder / "run/php.sock", params, body, timeout=120)
        try:
            return json.loads(content)
        except ValueError:
            raise RuntimeError(f"PHP code failed ({status}): {code[:200]}: {content[:500]!r} {self.last_error()}") from None

    def last_error(self):
        """Returns the last fatal error in PHP's log."""
        errors = [line for line in self.log_lines() if "PHP Fatal" in line or "PHP Parse" in line]
        return errors[-1] if errors else ""

    def log_lines(self):
        """Returns the lines of PHP's error log."""
        return self.debug_log.read_text("utf-8", "replace").splitlines() if self.debug_log.exists() else []

    def cron_runs(self):
        """Returns the number of requests for wp-cron.php that PHP has answered."""
        log = self.folder / "log/php-access.log"
        return len(re.findall(r"wp-cron\.php", log.read_text("utf-8", "replace"))) if log.exists() else 0

    def page_requests(self):
        """Returns the number of requests that PHP has answered, without those for wp-cron.php."""
        log = self.folder / "log/php-access.log"
        return len([line for line in log.read_text("utf-8", "replace").splitlines() if "wp-cron.php" not in line])

    def registry(self, administrator):
        """Returns the names that WordPress and its plugins have registered for the administrator."""
        return self.evaluate((HERE / "registry.php").read_text(), administrator)
