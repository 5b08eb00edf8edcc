"""Tests whether servers load a configuration: nginx in all contexts where it can be valid, then Myriad with the same files.

nginx runs with all its modules, including third-party ones. If its message names something missing (a zone, a log format, a variable, a
certificate), this is added. Then it runs with its own modules only. Modules that execute code during a configuration test (Lua, Perl,
JavaScript, Passenger) are not loaded, so configurations that need them count as refused by nginx.

Each test runs in a new network namespace that contains only the loopback interface: all ports are free, and nothing leaves the machine.
"""

import functools
import os
import pathlib
import re
import subprocess
import sys

from nginx_text import Broken, directives

# Seconds for one run of a server, and maximum number of additions per context.
TIMEOUT = 10
MAX_REPAIRS = 40

RUNS_CODE = re.compile(r"lua|perl|_js_|passenger")
# Modules of nginx's own source that are built as dynamic modules.
OWN = re.compile(r"ngx_(mail|stream|http_(geoip|image_filter|xslt_filter)|stream_geoip)_module\.so")
FIRST = ("ndk_http_module.so", "ngx_stream_module.so", "ngx_mail_module.so")

# The text around the include of the candidate in each context; `additions` contains the additions. Without a server, nginx does not check
# inherited directives, such as variables in `proxy_set_header`, so EXTRA_SERVER adds one.
EXTRA_SERVER = "server {\nlocation / {\n}\n}\n"
CONTEXTS = {
    "http": "events {{}}\nhttp {{ {additions}\ninclude {candidate};\n{extra_server}}}\n",
    "server": "events {{}}\nhttp {{ {additions}\nserver {{\ninclude {candidate};\n}}\n}}\n",
    "location": "events {{}}\nhttp {{ {additions}\nserver {{\nlocation / {{\ninclude {candidate};\n}}\n}}\n}}\n",
    "stream": "events {{}}\nstream {{ {additions}\ninclude {candidate};\n}}\n",
}
MAIN = {"events", "http", "stream", "mail", "rtmp"}
NEVER_MAIN = {"server", "location", "upstream", "map", "geo", "if", "set", "rewrite", "return", "listen", "root", "allow"}


@functools.cache
def isolation():
    """Returns the command that runs another one in a new network namespace. It is empty, after a warning, if the system permits none."""
    for options in (["--net"], ["--user", "--map-root-user", "--net"]):
        command = ["unshare", *options, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        try:
            if not subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
                return command
        except FileNotFoundError:
            break
    print("compare-configurations: no network namespace (see unshare(1), ip(8)): a port in use counts as a refusal", file=sys.stderr)
    return []


def run_isolated(command):
    """Returns the exit status of a command in a network namespace (None: timed out after TIMEOUT seconds), and its output."""
    try:
        done = subprocess.run([*isolation(), *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return None, "timed out"
    return done.returncode, (done.stderr + done.stdout).decode("utf-8", "replace")


class Nginx:
    """An nginx and the modules that it can load."""

    def __init__(self, binary, folder):
        self.binary, self.modules = binary, []
        version_output = run_isolated([binary, "-V"])[1]
        found = re.search(r"--modules-path=(\S+)", version_output)
        place = pathlib.Path(found[1] if found else pathlib.Path(binary).parent)
        names = (file.name for file in place.glob("*.so") if not RUNS_CODE.search(file.name))
        self.version = re.search(r"nginx version: (\S+)|$", version_output)[1] or binary
        (folder / "logs").mkdir(exist_ok=True)
        empty = folder / "empty.conf"
        empty.write_text("events {}\n")
        for name in sorted(names, key=lambda name: (name not in FIRST, name)):
            if self.test(folder, empty, [*self.modules, str(place / name)])[0]:
                self.modules.append(str(place / name))
        self.own = [module for module in self.modules if OWN.fullmatch(os.path.basename(module))]

    def test(self, folder, conf, modules):
        """Returns whether nginx loads the configuration, and its first error."""
        loads = "".join(f"load_module {module};" for module in modules)
        command = [self.binary, "-t", "-e", "stderr", "-p", f"{folder}/", "-c", str(conf)]
        code, output = run_isolated([*command, "-g", loads] if loads else command)
        found = re.search(r"\[(?:emerg|crit|alert|error)\] (?:\d+#\d+: )?(.*)", output)
        return code == 0, found[1] if found else output.strip()[-200:]


class Myriad:
    def __init__(self, binary):
        self.binary = binary

    def test(self, folder, conf):
        """Returns whether Myriad loads the configuration, and all its errors."""
        code, output = run_isolated([self.binary, "-t", "-e", "stderr", "-p", f"{folder}/", "-c", str(conf)])
        errors = [error for error in re.findall(r"^myriad: \[(?:emerg|crit|alert|error)\] (.*)", output, re.M)]
        if code and not errors:
            panics = re.findall(r"^thread .* panicked at (\S+)", output, re.M)
            errors = panics or output.strip().splitlines()[-1:] or [f"exit status {code}"]
        return code == 0, errors if code != 0 else []


class Trial:
    """One configuration that nginx and Myriad try to load."""

    def __init__(self, prefix):
        self.prefix, self.conf = prefix, prefix.conf / "nginx.conf"
        self.outer = {one.name for one in directives(prefix.text) if not one.inside}
        self.names = names_of(prefix)

    def contexts(self):
        """Returns the contexts where the configuration can be valid, by its directive names."""
        return ("main",) if self.outer & MAIN else tuple(CONTEXTS) if self.outer & NEVER_MAIN else ("main", *CONTEXTS)

    def write(self, context, additions):
        """Writes the configuration with the additions."""
        candidate = str(self.prefix.conf / "candidate.conf")
        lines = " ".join(dict.fromkeys(additions["lines"]))
        self.prefix.write(candidate, self.prefix.text)
        if context != "main":
            extra_server = "" if "server" in self.names else EXTRA_SERVER
            self.prefix.write(str(self.conf), CONTEXTS[context].format(additions=lines, candidate=candidate, extra_server=extra_server))
            return
        text = self.prefix.text
        for one in directives(text):
            if one.opens and one.name == "http" and lines:
                text = f"{text[: one.end]} {lines}{text[one.end :]}"
                break
        self.prefix.write(str(self.conf), text + ("\nevents {}\n" if additions["events"] else ""))

    def accepted(self, nginx):
        """Returns the context in which nginx loads it and whether it needs third-party modules, or None and the reason."""
        why = ""
        for context in self.contexts():
            additions = {"lines": [], "events": False}
            for _ in range(MAX_REPAIRS):
                self.write(context, additions)
                loads, error = nginx.test(self.prefix.conf, self.conf, nginx.modules)
                if loads:
                    return context, not nginx.test(self.prefix.conf, self.conf, nginx.own)[0]
                if not self.repair(error, additions):
                    break
            # The right context is the first one with another error than a misplaced directive.
            if not why or re.search(r"not allowed here|no \"events\"", why):
                why = error
        return None, why

    def repair(self, error, additions):
        """Returns whether the missing item in nginx's message could be added."""
        before = (list(additions["lines"]), additions["events"], len(self.stubs))
        for pattern, add in REPAIRS:
            if found := re.search(pattern, error):
                add(self, additions, *found.groups())
                return before != (additions["lines"], additions["events"], len(self.stubs))
        return False

    @property
    def stubs(self):
        return self.prefix.stubs

    def zone(self, additions, name):
        """Defines a zone of the kind that its directives need."""
        texts = [self.prefix.text, *self.prefix.texts.values()]
        words = [[word.text for word in one.words] for text in texts for one in directives(text)]
        users = {line[0] for line in words if name in line[1:2]}
        if any("_cache" in user for user in users):
            self.cache(additions, name)
        elif "track_uploads" in users:
            additions["lines"].append(f"upload_progress {name} 1m;")
        elif "limit_conn" in users:
            additions["lines"].append(f"limit_conn_zone $binary_remote_addr zone={name}:1m;")
        else:
            additions["lines"].append(f"limit_req_zone $binary_remote_addr zone={name}:1m rate=10r/s;")

    def file(self, additions, path):
        """Creates an empty file if it is inside the prefix."""
        if os.path.normpath(path).startswith(self.prefix.folder) and not os.path.exists(path):
            self.stubs.append(path)
            self.prefix.write(path, "")

    def certificate(self, additions):
        certificate, key = self.prefix.place("ssl/added.pem", "certificate"), self.prefix.place("ssl/added.key", "key")
        additions["lines"].append(f"ssl_certificate {certificate}; ssl_certificate_key {key};")

    def cache(self, additions, name):
        additions["lines"].append(f"proxy_cache_path {self.prefix.place('cache/' + name, 'folder')} keys_zone={name}:1m;")


def line(text):
    """Returns a repair that adds a line."""
    return lambda trial, additions, *found: additions["lines"].append(text.format(*found))


def events(trial, additions):
    additions["events"] = True


# nginx's messages about missing items, and how to add each item (once, for all tested servers).
REPAIRS = [
    (r'no "events" section in configuration', events),
    (r'unknown "([a-z0-9_]+)" variable', line('map "" ${0} {{ default ""; }}')),
    (r'unknown log format "([^"]+)"', line("log_format {0} '$remote_addr';")),
    (r'"\w+_cache" zone "([^"]+)" is unknown', Trial.cache),
    (r'zero size shared memory zone "([^"]+)"', Trial.zone),
    (r'unknown limit_req_zone "([^"]+)"', Trial.zone),
    (r'no "ssl_certificate(?:_key)?" is defined', Trial.certificate),
    (r"could not build (server_names|map|variables|types)_hash", line("{0}_hash_bucket_size 512; {0}_hash_max_size 8192;")),
    (r'open\(\) "([^"]+)" failed \(2:', Trial.file),
]


def group_of(message, names, folder):
    """Returns the message of a refusal without paths and numbers, and without quoted words that are not directives."""
    message = message.replace(folder, "")

    def shorten(quoted):
        word = quoted[1]
        return quoted[0] if word in names or message.startswith(("unknown directive", f'"{word}" is a known')) else '"..."'

    message = re.sub(r'"((?:[^"\\]|\\.)*)"', shorten, message)
    return re.sub(r"(?<![\w.])/[\w./+-]+", "PATH", re.sub(r"\b\d+(\.\d+)*\b", "N", message))[:160]


def names_of(prefix):
    """Returns the names of all directives in a configuration."""
    names = set()
    for text in (prefix.text, *prefix.texts.values()):
        try:
            names |= {one.name for one in directives(text)}
        except Broken:
            continue
    return names
