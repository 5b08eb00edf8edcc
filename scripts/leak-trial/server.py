"""Myriad with an ordinary configuration for the applications: it ignores the fields with which they forbid caches to store their pages."""

import http.client
import json
import pathlib
import re
import socket
import subprocess
import time

from trial_site import ACTIVE, free_port

START_SECONDS, STOP_SECONDS = 30, 20
# Name of the port that has the metrics.
METRICS = "metrics"
MAIN = """worker_processes 1;
error_log {folder}/error.log notice;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    set_real_ip_from 127.0.0.0/8;
    real_ip_header X-Forwarded-For;
    default_type text/html;
    types {{ text/html html htm; text/plain txt; text/css css; text/javascript js; image/png png; image/svg+xml svg; }}
    # An argument that is not in the key.
    map $arg_unkeyed $page {{ default $request_uri; 1 $uri; }}
    server {{ listen 127.0.0.1:{metrics}; location / {{ metrics; }} }}
{zones}
{servers}
}}
"""
ZONE = "    {protocol}_cache_path {folder}/{name} levels=1:2 keys_zone={name}:64m inactive=1h max_size=8g;"
PHP = """    server {{
        listen 127.0.0.1:{port};
        root {root};
        leak_guard {guard};
        location ~* \\.(?:css|js|png|svg|ico|gif|jpe?g|woff2?)$ {{ try_files $uri =404; }}
        location / {{
            set $script /index.php;
            if ($uri ~ ^(/[a-z]+\\.php)) {{ set $script $1; }}
            {rules}
            fastcgi_param SCRIPT_FILENAME $document_root$script;
            fastcgi_param SCRIPT_NAME $script;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param REQUEST_URI $request_uri;
            fastcgi_param QUERY_STRING {query};
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param DOCUMENT_ROOT $document_root;
            fastcgi_param SERVER_PROTOCOL $server_protocol;
            fastcgi_param SERVER_NAME localhost;
            fastcgi_param SERVER_PORT $server_port;
            fastcgi_param REMOTE_ADDR $remote_addr;
            fastcgi_param PATH_INFO {path_info};
            fastcgi_param REDIRECT_STATUS 200;
            fastcgi_pass unix:{socket};
            fastcgi_read_timeout 120s;
            fastcgi_cache {name};
            fastcgi_cache_key $scheme$request_method$host$page;
            fastcgi_cache_valid 200 301 302 1h;
            fastcgi_cache_lock on;
            fastcgi_cache_lock_timeout 60s;
            fastcgi_ignore_headers {ignored};
            add_header X-Cache $upstream_cache_status always;
            add_header X-Reason $upstream_cache_reason always;
        }}
    }}"""
# The wikis have the page in the path.
RULES = {"dokuwiki": "set $page_id \"\"; if ($script = /index.php) { set $script /doku.php; } if ($uri ~ ^/(?!doku\\.php)([a-z0-9_]+)$) { set $page_id \"id=$1&\"; }"}
QUERY = {"dokuwiki": "$page_id$args"}
PATH_INFO = {"mediawiki": "$uri"}
FILES = """    server {{ listen 127.0.0.1:{port}; root {root}; charset off; }}"""
PROXY = """    server {{
        listen 127.0.0.1:{port};
        leak_guard {guard};
        location / {{
            proxy_pass http://127.0.0.1:{origin};
            proxy_set_header Host $host;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_cache {name};
            proxy_cache_key $scheme$request_method$host$request_uri;
            proxy_cache_valid 200 1h;
            add_header X-Cache $upstream_cache_status always;
            add_header X-Reason $upstream_cache_reason always;
        }}
    }}"""


class Server:
    """Myriad with a server block and a zone for each application or folder of files."""

    def __init__(self, folder, myriad):
        self.folder, self.myriad, self.ports, self.process = pathlib.Path(folder), myriad, {}, None
        self.zones, self.servers = [], []
        self._port(METRICS)

    def add_application(self, application, guard, suffix=""):
        """Adds an application with a setting of `leak_guard`. The suffix makes the name of the zone unique."""
        name = application.name
        values = {
            "port": self._port(name + suffix), "root": application.root, "guard": guard, "socket": application.socket, "name": name + suffix, "ignored": application.ignored,
            "rules": RULES.get(name, ""), "query": QUERY.get(name, "$query_string"), "path_info": PATH_INFO.get(name, '""')}
        self._add_zone("fastcgi", name + suffix)
        self.servers.append(PHP.format(**values))

    def add_files(self, name, root, guards):
        """Adds a server for the files of a folder, and a caching server in front of it for each pair of a suffix of the name and a setting of `leak_guard`."""
        origin = self._port(name)
        self.servers.append(FILES.format(port=origin, root=root))
        for suffix, guard in guards:
            self._add_zone("proxy", name + suffix)
            self.servers.append(PROXY.format(port=self._port(name + suffix), guard=guard, origin=origin, name=name + suffix))

    def _add_zone(self, protocol, name):
        self.zones.append(ZONE.format(protocol=protocol, folder=self.folder, name=name))

    def _port(self, name):
        self.ports[name] = free_port()
        return self.ports[name]

    def start(self):
        """Writes the configuration and starts the server."""
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        configuration = self.folder / "nginx.conf"
        configuration.write_text(MAIN.format(folder=self.folder, metrics=self.ports[METRICS], zones="\n".join(self.zones), servers="\n".join(self.servers)))
        ACTIVE.add(self)
        with open(self.folder / "output.log", "w") as log:
            self.process = subprocess.Popen(self._command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        port, limit = next(iter(self.ports.values())), time.monotonic() + START_SECONDS
        while time.monotonic() < limit and self.process.poll() is None:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("Myriad did not start: " + (self.folder / "output.log").read_text()[-2000:])

    def restart(self):
        """Stops the server, and starts it with the same configuration."""
        self.remove()
        self.start()

    def _command(self):
        return [self.myriad, "-c", self.folder / "nginx.conf", "-p", self.folder, "-g", "daemon off;"]

    def accepts(self, guard):
        """Returns True if the binary knows a setting of `leak_guard`."""
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        file = self.folder / "test.conf"
        file.write_text(f"events {{}} http {{ leak_guard {guard}; }}")
        return subprocess.run([self.myriad, "-t", "-c", file, "-p", self.folder], capture_output=True).returncode == 0

    def remove(self):
        """Stops the server."""
        ACTIVE.discard(self)
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def counter(self, name, zone):
        """Returns the value of a counter of a zone."""
        text = get(self.ports[METRICS], "/", {}).text
        found = re.search(rf'^\w*{name}{{zone="{zone}"}} (\d+)', text, re.MULTILINE)
        return int(found.group(1)) if found else 0

    def findings(self, zone=None):
        """Returns the findings of the leak guard, as `myriad cache leaks --json` prints them."""
        command = [self.myriad, "cache", "leaks", "--json", *(["--zone", zone] if zone else []), "-c", self.folder / "nginx.conf", "-p", self.folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 2):
            raise RuntimeError(f"myriad cache leaks: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]


class Answer:
    """Response to a request."""

    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body
        self.text = body.decode("utf-8", "replace")
        self.head = "\n".join(f"{name}: {value}" for name, value in fields)

    def field(self, name):
        """Returns the first value of a header field; an empty string if it is absent."""
        return next((value for key, value in self.fields if key.lower() == name), "")


def get(port, target, fields, timeout=120):
    """Sends a request on a new connection; returns the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", target, headers={"Host": "localhost", **fields})
        response = connection.getresponse()
        body = response.read()
        return Answer(response.status, response.getheaders(), body)
    except (http.client.HTTPException, ConnectionError) as error:
        # A response that was aborted for this client.
        return Answer(0, [("X-Aborted", type(error).__name__)], getattr(error, "partial", b""))
    finally:
        connection.close()
