"""Finds configurations in source repositories, resolves their includes, and creates a temporary prefix for one of them.

A configuration is a file (one of the texts that its template can produce) with everything that it includes. It is written below a
separate folder as `etc/nginx/candidate.conf`. Included files are searched in its repository by the longest matching path suffix,
the nearest first, then in other repositories of the same owner, then in this machine's /etc/nginx. A file that is not found is
replaced by an empty one and counted.
"""

import fnmatch
import os
import pathlib
import re
import subprocess

from nginx_templates import filled
from nginx_text import Broken, Rewriting, below, directives, includes_of, is_values, upstreams_of

# Maximum size of a file in bytes, and maximum number of included files.
MAX_FILE_BYTES = 400_000
MAX_INCLUDES = 400
# Names of files that can be a configuration. Code blocks in Markdown can be, too.
LIKELY = re.compile(
    r"(\.(conf|nginx|tpl|stpl|tmpl|template|mustache|j2|erb|ejs|inc|include|vhost|sample|example|dist|cfg|default|params)|^[^.]+)$"
)
# Extensions of template names.
TEMPLATE_ENDS = (".j2", ".erb", ".tmpl", ".tpl", ".template", ".mustache", ".default", ".sample", ".dist", ".ejs")
FENCE = re.compile(r"^[ \t]*```+[ \t]*([^\n]*)\n(.*?)^[ \t]*```+[ \t]*$", re.S | re.M)
# Directives that distinguish an nginx configuration from other files with braces and semicolons.
NGINX_DIRECTIVE = re.compile(
    r"(server|location|http|events|upstream|map|geo|stream|add_header|expires|listen|root|include|if|rewrite|return|index|try_files"
    r"|deny|allow|(proxy|fastcgi|uwsgi|scgi|grpc|ssl|gzip|brotli|auth|limit|real|client|access|error|log|open_file|more|worker"
    r"|keepalive|server|fancyindex|subs?|echo|set|resolver|charset|default|types|large|send|tcp|aio|dav|pagespeed|modsecurity"
    r"|geoip2?|split|valid|secure)_?[a-z_0-9]*)"
)


class Source:
    """The files of one repository below `folder`; `siblings` are the other repositories of its owner."""

    def __init__(self, name, folder):
        self.name, self.owner, self.folder, self.siblings = name, name.split("/")[0], pathlib.Path(folder), []
        files = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink() and ".git" not in path.parts)
        self.files = sorted(path.relative_to(self.folder).as_posix() for path in files)
        self.by_name = {}
        for file in self.files:
            name = file.rsplit("/", 1)[-1]
            self.by_name.setdefault(name, []).append(file)
            for end in TEMPLATE_ENDS:
                if name.endswith(end):
                    self.by_name.setdefault(name.removesuffix(end), []).append(file)

    def text(self, file):
        data = (self.folder / file).read_bytes()
        return data.decode("utf-8", "surrogateescape") if len(data) <= MAX_FILE_BYTES and b"\0" not in data else ""

    def candidates(self):
        """Yields the file, name, label and text of every configuration; a template yields each different text with its label."""
        for file in self.files:
            base = file.rsplit("/", 1)[-1]
            if base.endswith((".md", ".markdown")):
                texts = {f"{file}#{at}": text for at, text in enumerate(fences_of(self.text(file)), 1)}
            else:
                texts = {file: self.text(file)} if LIKELY.search(base) else {}
            for name, text in texts.items():
                for label, one in filled(text).items():
                    if looks_like_nginx(one):
                        yield file, f"{name} ({label})" if label else name, label, one

    def find(self, pattern, near):
        """Returns the files that `include` with this pattern means in the file `near`: the nearest ones with the longest matching path suffix."""
        parts = [part for part in pattern.split("/") if part not in ("", ".", "..")]
        glob = bool(re.search(r"[*?\[]", pattern))
        if not parts or glob and len(parts) < 2:
            return []
        # A pattern for sites does not include the configuration that contains it.
        fitting = (name for name in self.by_name if fnmatch.fnmatchcase(name, parts[-1]) and name != "nginx.conf")
        names = fitting if glob else [parts[-1]]
        found = [(file.split("/"), file) for name in names for file in self.by_name.get(name, ()) if file != near]
        for length in range(len(parts) - 1, 0 if glob else -1, -1):
            ends = [file for at, file in found if len(at) > length and at[-length - 1 : -1] == parts[-length - 1 : -1]]
            if ends:
                folders = [file.rpartition("/")[0] for file in ends]
                folder = max(folders, key=lambda folder: len(os.path.commonprefix([folder + "/", near])))
                here = [file for file in ends if file.rpartition("/")[0] == folder]
                return sorted(here) if glob else here[:1]
        return []


def fences_of(text):
    """Returns the code blocks in Markdown with the language nginx, nginxconf, conf or config, or without a language."""
    return [fence[2] for fence in FENCE.finditer(text) if re.fullmatch(r"(nginx|nginxconf|conf|config)?(\s.*)?", fence[1], re.I)]


def looks_like_nginx(text):
    try:
        outer = [one.name for one in directives(text) if not one.inside]
    except Broken:
        return False
    return any(NGINX_DIRECTIVE.fullmatch(name) for name in outer)


class Prefix:
    """A temporary folder with one configuration and all files that it refers to."""

    def __init__(self, folder, source, file, label, text, keys):
        self.folder, self.source, self.label, self.keys = str(folder), source, label, keys
        self.stubs, self.texts, self.found = [], {}, {}
        self.conf = pathlib.Path(self.folder, "etc/nginx")
        for needed in ("logs", "included"):
            (self.conf / needed).mkdir(parents=True, exist_ok=True)
        self.gather(source, file, text, 0)
        upstreams = set().union(upstreams_of(text), *(upstreams_of(one) for one in self.texts.values()))
        self.rewriting = Rewriting(self.place, self.included, upstreams)
        for (owner, name), one in self.texts.items():
            self.write(self.path_of(owner, name), self.rewriting.text(one, (owner, name)))
        self.text = self.rewriting.text(text, (source, file))

    def gather(self, source, file, text, depth):
        """Finds the files that the text includes, recursively."""
        for pattern in includes_of(text):
            found = ([(owner, name) for name in owner.find(pattern, file)] for owner in (source, *source.siblings))
            files = next(filter(None, found), [])
            kept = []
            for owner, name in files:
                if (owner, name) not in self.texts and len(self.texts) < MAX_INCLUDES and depth < 8:
                    texts = filled(owner.text(name))
                    one = texts.get(self.label, next(iter(texts.values())))
                    try:
                        list(directives(one))
                    except Broken:
                        continue
                    self.texts[owner, name] = one
                    self.gather(owner, name, one, depth + 1)
                if (owner, name) in self.texts:
                    kept.append((owner, name))
            self.found[source, file, pattern] = kept

    def path_of(self, source, file):
        return str(self.conf / "included" / source.name.replace("/", "+") / file)

    def included(self, pattern, where):
        """Returns the paths that replace the pattern of an include."""
        files = self.found.get((*where, pattern), ())
        if files:
            return [self.path_of(*file) for file in files]
        if re.search(r"[*?\[]", pattern):
            return []
        base = pattern.rsplit("/", 1)[-1]
        installed = pathlib.Path("/etc/nginx", base)
        new = str(self.conf / "included" / base)
        if installed.is_file():
            self.write(new, installed.read_text(errors="surrogateescape"))
        else:
            self.stubs.append(pattern)
            self.write(new, "")
        return [new]

    def place(self, path, kind):
        """Creates the file for a directive of this kind; returns its path."""
        new = below(self.folder, path)
        if kind == "folder":
            os.makedirs(new, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(new), exist_ok=True)
        if kind not in ("folder", "log") and not os.path.exists(new):
            pathlib.Path(new).write_bytes(self.keys.of(kind))
        return new

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text(text, "utf-8", "surrogateescape")


class Keys:
    """Returns the content of files of each kind; keys are created once with openssl."""

    def __init__(self, folder):
        self.folder, self.made = pathlib.Path(folder), {}

    def of(self, kind):
        if kind in ("certificate", "key", "dhparam") and not self.made:
            self.make()
        if kind in self.made:
            return self.made[kind]
        if kind.startswith("geoip"):
            # Four empty nodes, then the kind of the database: 1 country, 2 city, 5 organisation.
            edition = {"geoip country": 1, "geoip city": 2, "geoip org": 5}[kind]
            return bytes(96) + b"\xff\xff\xff" + bytes([edition]) + b"\4\0\0"
        return {
            "ticket": bytes(80), "text": b"example\n", "empty": b"", "users": b"example:{PLAIN}example\n", "mmdb": mmdb(),
            "xslt": b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>\n',
        }[kind]

    def make(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.folder)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "certificate", "-days", "30",
                "-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:example.com,DNS:*.example.com")
        openssl("genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048", "-out", "dhparam")
        both = (self.folder / "certificate").read_bytes() + (self.folder / "key").read_bytes()
        self.made = {"certificate": both, "key": both, "dhparam": (self.folder / "dhparam").read_bytes()}


def mmdb():
    """Returns a MaxMind database with one node and no address."""

    def text_field(text):
        return bytes([0x40 | len(text)]) + text.encode()

    def number_field(value, kind):
        return bytes([0xA0 | 2 if kind == 5 else 0xC0 | 4]) + value.to_bytes(2 if kind == 5 else 4, "big")

    fields = [
        text_field("binary_format_major_version"), number_field(2, 5), text_field("binary_format_minor_version"), number_field(0, 5),
        text_field("build_epoch"), b"\x08\x02" + (1_700_000_000).to_bytes(8, "big"), text_field("database_type"), text_field("GeoLite2-City"),
        text_field("description"), b"\xe0", text_field("ip_version"), number_field(6, 5), text_field("languages"), b"\x00\x04",
        text_field("node_count"), number_field(1, 6), text_field("record_size"), number_field(24, 5),
    ]
    return b"\0\0\1\0\0\1" + bytes(16) + b"\xab\xcd\xefMaxMind.com" + bytes([0xE0 | 9]) + b"".join(fields)
