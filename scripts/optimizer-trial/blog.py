"""Site for scripts/try-optimizer: typical content, and servers with and without the optimizer that share one cache."""

import pathlib
import re
import shutil
import subprocess
import urllib.parse

from trial_site import Site, free_port
from visitors import Visitor

HERE = pathlib.Path(__file__).resolve().parent
# Pages stay as they are during the trial.
SETTINGS = ("validity=1d", "adaptive=1d", "dashboard=off")
BLOCK = re.compile(r"(?ms)^    server \{\n        listen 127\.0\.0\.1:(\d+);\n.*?^    \}\n")
ACCEPT = "text/html,image/avif,image/webp,image/apng,image/svg+xml,*/*;q=0.8"
STOP_SECONDS = 30
CACHE_FIELD = re.compile(r"(?m)^( *)(add_header X-Cache .*)$")


class Blog(Site):
    """Site with typical content. The URLs of its pages have no port, and one cache contains the pages of all servers."""

    def __init__(self, folder, options):
        super().__init__(folder, options)
        self.paths, self.ports, self.prefix = {}, {}, None

    def host(self):
        """Returns the host name in the URLs of the site."""
        return "localhost"

    def _start_myriad(self):
        self._install_plugin()

    def create(self):
        """Creates the site with its content, and activates the plugins of the options."""
        super().create()
        # The style sheets and scripts of an ordinary WordPress.
        (self.root / "wp-content/mu-plugins/site.php").unlink()
        self.evaluate("require_once ABSPATH . 'wp-admin/includes/upgrade.php'; wp_upgrade(); return 1;")
        for folder in self.options.plugin_folders:
            self.add_plugin(folder)
            self.evaluate(f"require_once ABSPATH . 'wp-admin/includes/plugin.php'; foreach (array_keys(get_plugins('/{folder.name}')) as $file) {{"
                          f" activate_plugin('{folder.name}/' . $file); }} return 1;")
        self.paths = self.evaluate((HERE / "content.php").read_text())

    def show_theme(self, theme):
        """Activates the theme in a folder, and fills its menus and sidebars; returns its properties."""
        name = self.add_theme(theme)
        self.evaluate(f"switch_theme('{name}'); return 1;")
        return self.evaluate((HERE / "theme.php").read_text())

    def start_servers(self, theme, servers):
        """Starts Myriad with an empty cache and a server for each name in `servers`, whose value is a list of further directives."""
        self.prefix = self.folder / f"myriad-{theme}"
        shutil.copytree(self.folder / "myriad", self.prefix, dirs_exist_ok=True)
        self.ports = {name: free_port() for name in servers}
        self.port = next(iter(self.ports.values()))
        settings = [part for value in (*SETTINGS, *self.options.sets) for part in ("--set", value)]
        printed = subprocess.run([self.options.myriad, "wordpress", "--root", self.root, "--php", f"unix:{self.folder}/run/php.sock", "--prefix", self.prefix,
                                  "--listen", f"127.0.0.1:{self.port}", "--print", *settings], check=True, capture_output=True, text=True).stdout
        configuration = self.prefix / "nginx.conf"
        configuration.write_text(BLOCK.sub(lambda block: "".join(self._server(block, name, lines) for name, lines in servers.items()), printed))
        with open(self.folder / "log/myriad.log", "w") as log:
            self.server = subprocess.Popen([self.options.myriad, "-c", configuration, "-p", self.prefix], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._await_myriad()

    def stop_servers(self):
        """Stops Myriad."""
        self.server.terminate()
        self.server.wait(STOP_SECONDS)
        self.server = None

    def _server(self, block, name, lines):
        text = block.group(0).replace(f"127.0.0.1:{block.group(1)};", f"127.0.0.1:{self.ports[name]};", 1)
        fields = [line for line in lines if line.startswith("add_header")]
        others = [line for line in lines if line not in fields]
        # An `optimize` of the preset is replaced.
        text = re.sub(r"(?m)^ *optimize [a-z]+;\n", "", text) if others else text
        return CACHE_FIELD.sub(lambda found: "\n".join(found.group(1) + line for line in [found.group(2), *fields, *others]), text, count=1)

    def request(self, server, path, agent):
        """Requests a page or file from a server as Chromium does; returns the response."""
        fields = {"Host": self.host(), "User-Agent": agent, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate, br, zstd"}
        return Visitor(self.ports[server]).send("GET", path, fields=fields)

    def size(self, server, url, agent):
        """Returns the bytes of the body of a response; 0 for URLs of other sites."""
        is_own = urllib.parse.urlsplit(url).netloc == self.host()
        return len(self.request(server, url, agent).body) if is_own else 0

    def explain(self, url):
        """Returns the report of `myriad optimize show` for a URL; an empty string if there is none."""
        done = subprocess.run([self.options.myriad, "optimize", "show", url, "-c", self.prefix / "nginx.conf", "-p", self.prefix], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""
