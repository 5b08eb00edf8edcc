"""Parses the nginx language into words with positions, and rewrites a configuration so that it loads on any machine.

`directives(text)` parses the text as nginx does. `Rewriting` changes the text that every server gets:

- paths of files that a configuration test opens are moved below a folder; `root`, `alias` and files that only requests open stay,
- hosts that would have to be resolved, and listen addresses of another machine, become addresses in 127.0.0.0/8 or [::1],
- `user` and `load_module` are removed: the user is from another machine, and the test loads the modules.
"""

import ipaddress
import posixpath
import re
from typing import NamedTuple


class Broken(Exception):
    """The text is not in the nginx language; contains the reason."""


class Word(NamedTuple):
    """A word without quotes and backslashes, and its position."""

    text: str
    start: int
    end: int


class Directive(NamedTuple):
    """The words of a directive, the names of its enclosing blocks, its last position (after `;` or `{`), and whether it opens a block."""

    words: list
    inside: tuple
    end: int
    opens: bool

    @property
    def name(self):
        return self.words[0].text


def word_at(text, at):
    """Reads the word at this position, as ngx_conf_read_token does."""
    quote = text[at] if text[at] in "\"'" else ""
    start, value = at, ""
    at += len(quote)
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            value += text[at + 1] if text[at + 1] in "\"'\\" + (" ;{" if not quote else "") else text[at : at + 2]
            at += 2
        elif quote and char == quote:
            if text[at + 1 : at + 2] not in ("", " ", "\t", "\r", "\n", ";", "{", ")"):
                raise Broken("a word continues after its quote")
            return Word(value, start, at + 1)
        elif not quote and (char in " \t\r\n;" or char == "{" and text[at - 1] != "$"):
            return Word(value, start, at)
        else:
            value += char
            at += 1
    raise Broken("the text ends in a word")


def directives(text):
    """Returns all directives in the order of the text."""
    at, words, inside = 0, [], []
    while at < len(text):
        char = text[at]
        if char in " \t\r\n\ufeff":
            at += 1
        elif char == "#":
            at = text.find("\n", at) + 1 or len(text)
        elif char in ";{":
            at += 1
            if not words:
                raise Broken(f'a "{char}" without a directive')
            yield Directive(words, tuple(inside), at, char == "{")
            if char == "{":
                inside.append(words[0].text)
            words = []
        elif char == "}":
            at += 1
            if words or not inside:
                raise Broken('an unexpected "}"')
            inside.pop()
        elif char == ")" and words:
            at += 1
        else:
            words.append(word_at(text, at))
            at = words[-1].end
    if words or inside:
        raise Broken("the text ends within a directive")


def is_values(directive):
    """Returns true if this is a line of a block without directives (such as `map`)."""
    return bool(directive.inside) and directive.inside[-1] in ("map", "geo", "types", "split_clients", "charset_map", "match")


def names_of(text):
    """Returns the names of the directives."""
    return {directive.name for directive in directives(text) if not is_values(directive)}


def includes_of(text):
    """Returns the arguments of all `include` directives."""
    return [one.words[1].text for one in directives(text) if one.name == "include" and len(one.words) == 2]


def upstreams_of(text):
    """Returns the names of all `upstream` blocks."""
    return {one.words[1].text for one in directives(text) if one.name == "upstream" and len(one.words) == 2}


# Directives with a path that a configuration test opens, and the kind of the file.
FILES = {
    "ssl_certificate": "certificate", "ssl_trusted_certificate": "certificate", "ssl_client_certificate": "certificate",
    "ssl_certificate_key": "key", "ssl_dhparam": "dhparam", "ssl_session_ticket_key": "ticket", "ssl_password_file": "text",
    "auth_basic_user_file": "users", "xslt_stylesheet": "xslt", "geoip2": "mmdb",
    "geoip_country": "geoip country", "geoip_city": "geoip city", "geoip_org": "geoip org",
    "access_log": "log", "error_log": "log", "pid": "log", "lock_file": "log", "working_directory": "folder",
    "modsecurity_rules_file": "empty", "xml_entities": "empty", "client_body_temp_path": "folder",
}
FILES |= {f"{kind}_{what}": FILES[what] for kind in ("proxy", "grpc", "uwsgi") for what in FILES if what.startswith("ssl_")}
FILES |= {f"{kind}_{what}_path": "folder" for kind in ("proxy", "fastcgi", "scgi", "uwsgi") for what in ("cache", "temp")}
# Directives that name an upstream host, and those of them without a default port.
NEEDS_PORT = {"fastcgi_pass", "uwsgi_pass", "scgi_pass", "memcached_pass"}
PASSES = NEEDS_PORT | {"proxy_pass", "grpc_pass", "auth_http", "ssl_stapling_responder", "ssl_ocsp_responder"}
HOST = re.compile(r"(?P<scheme>[a-z]+://)?(?P<host>\[[^\]]*\]|[^/:?#$\s]+)(?P<port>:[^/?#]*)?(?P<rest>.*)", re.S)


def is_address(host):
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


class Rewriting:
    """Rewrites one configuration. `place(path, kind)` creates the file of a path below the folder and returns its new path.
    `included(name, source)` returns the paths that replace an include in the text of `source`."""

    def __init__(self, place, included, upstreams):
        self.place, self.included, self.upstreams = place, included, upstreams
        self.addresses = {}

    def text(self, text, source):
        """Returns the text that every server gets."""
        edits = []
        for directive in directives(text):
            if not is_values(directive) or directive.name == "include":
                edits.extend(self.edits(directive, source, text))
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def edits(self, directive, source, text):
        name, words = directive.name, directive.words
        if name in ("user", "load_module") and not directive.inside and not directive.opens:
            yield words[0].start, directive.end, ""
        elif name == "include" and len(words) == 2 and not directive.opens:
            paths = self.included(words[1].text, source)
            if paths is not None:
                yield words[0].start, directive.end, " ".join(f"include {path};" for path in paths)
        elif name == "listen" and len(words) > 1:
            yield from changed(words[1], self.listened(words[1].text))
        elif len(words) > 1 and (name in PASSES or name == "server" and not directive.opens and "upstream" in directive.inside):
            upstreams = self.upstreams if name != "server" else ()
            yield from changed(words[1], self.passed(words[1].text, name in NEEDS_PORT or "stream" in directive.inside, upstreams))
        elif name == "resolver":
            for word in words[1:]:
                if "=" not in word.text:
                    yield from changed(word, self.passed(word.text, False, ()))
        elif name in ("set_real_ip_from", "debug_connection") and len(words) == 2:
            if not re.fullmatch(r"[0-9a-fA-F.:/]+|unix:", words[1].text):
                yield from changed(words[1], "127.0.0.1")
        elif name in ("access_log", "error_log") and len(words) > 1 and words[1].text.startswith("syslog:"):
            yield from changed(words[1], re.sub(r"server=(?!unix:)[^,:]+", "server=127.0.0.1", words[1].text))
        elif name in FILES and len(words) > 1:
            which = words[2] if name == "xml_entities" and len(words) > 2 else words[1]
            if is_path(which.text, FILES[name]):
                yield from changed(which, self.place(which.text, FILES[name]))

    def listened(self, text):
        """Returns a listen address that exists on this machine."""
        if text.startswith("unix:"):
            return "unix:" + self.place(text[5:], "log")
        found = re.fullmatch(r"(\[[^\]]*\]|[^:\[]*?)(:\d[\d-]*)?", text)
        if not found or re.fullmatch(r"|[\d-]+|127\..*|\*|0\.0\.0\.0|\[::1?\]|localhost", found[1]) or "$" in text:
            return text
        if found[1].startswith("["):
            return "[::1]" + (found[2] or "")
        return self.local(found[1]) + (found[2] or "")

    def local(self, host):
        """Returns a different address of this machine for each host."""
        return self.addresses.setdefault(host, f"127.0.1.{len(self.addresses) % 250 + 1}")

    def passed(self, text, needs_port, upstreams):
        """Returns an upstream target without a name that would have to be resolved."""
        found = HOST.fullmatch(text)
        if not found or text.startswith(("unix:", "$", "http://unix:", "https://unix:")) or "$" in found["host"]:
            return text
        host = found["host"]
        if is_address(host) or host in upstreams or host in ("localhost", "_"):
            return text
        port = found["port"] or (":9000" if needs_port else "")
        return f"{found['scheme'] or ''}{self.local(host)}{port}{found['rest']}"


def is_path(text, kind):
    """Returns true if an argument is a path that can be moved."""
    if not text or "$" in text or text in ("off", "stderr", "on"):
        return False
    return not text.startswith(("/dev/", "data:", "memory:", "engine:", "store:", *(("syslog:",) if kind == "log" else ())))


def changed(word, new):
    """Returns the edit that replaces the word by `new`."""
    if new != word.text:
        quoted = '"' + new.replace("\\", "\\\\").replace('"', '\\"') + '"' if re.search(r"[\s;{}\"'\\#]", new) else new
        yield word.start, word.end, quoted


def below(folder, path):
    """Returns the path below `folder`; a relative path starts at nginx's own folder. No path can leave it."""
    return folder + posixpath.normpath("/" + posixpath.join("etc/nginx" if not path.startswith("/") else "", path.lstrip("/")))
