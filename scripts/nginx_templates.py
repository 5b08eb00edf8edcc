"""Fills templates of nginx configurations with values that the surrounding directives accept.

`filled(text)` returns each text that the template can produce. Conditionals of Jinja, Liquid, Go, Mustache, Handlebars, ERB and EJS
are expanded with all conditions true, with none true, and with only one true (for the first MAX_SINGLE conditions). Loops run once.
Placeholders (`{{x}}`, `<%= x %>`, `%x%`, `__X__`, `@x@`, `!X!`, `${X}`, `$X`, `<x>`) get the default value of the template, or a value
for the directive, or a value for their name.
A text without any of these is returned unchanged. No code of a template is evaluated.
"""

import re
from typing import NamedTuple

# Maximum number of conditions that are tried as the only true one.
MAX_SINGLE = 8

TAG = re.compile(
    r"\{%[-+~]?(?P<block>.*?)[-+~]?%\}|\{#(?P<remark>.*?)#\}|\{\{(?P<value>\{.*?\}|.*?)\}\}|<%(?P<ruby>.*?)%>", re.S
)
# Placeholders of shells, panels and packagers. nginx's variable names are lower case, and `?<name>` is a regex group.
PLACE = re.compile(
    r"%(?P<panel>[a-zA-Z][a-zA-Z_0-9]*)%|__(?P<under>[A-Z][A-Z0-9_]*?)__|@(?P<at>[A-Za-z][\w.]*)@"
    r"|\$\{(?P<brace>[A-Z][A-Z0-9_]*|[a-z]+(?:\.\w+)+)(?::?-[^}]*)?\}|!(?P<bang>[A-Z][A-Z0-9_]+)!"
    r"|\$(?P<shell>[A-Z][A-Z0-9_]+)\b|(?<![?P])<(?P<angle>[A-Za-z][\w .-]*)>"
)

# Values of a whole argument by its directive; the first matching pattern is used.
BY_DIRECTIVE = [
    (r"listen", "8080"),
    (r"server_name", "example.com"),
    (r"resolver", "127.0.0.1"),
    (r"(proxy|grpc)_pass", "http://127.0.0.1:8080"),
    (r"(fastcgi|uwsgi|scgi|memcached)_pass|server", "127.0.0.1:9000"),
    (r".*_buffers", "8 16k"),
    (r".*_timeout|expires|.*_valid|.*_interval|.*_delay", "60s"),
    (r".*_size|.*_rate|.*_after|.*_length", "16k"),
    (r"worker_.*|.*_(level|requests|depth|tries|connections)", "4"),
    (r"ssl_protocols", "TLSv1.2"),
    (r"ssl_ciphers", "HIGH"),
    (r"ssl_ecdh_curve", "auto"),
    (r"ssl_(stapling.*|session_tickets|prefer_server_ciphers)|sendfile|gzip|server_tokens|multi_accept|accept_mutex|daemon", "on"),
    (r".*_(nodelay|nopush|buffering|errors|update|recursive|vary|static|lock|not_found)|autoindex|etag|internal_\w+", "on"),
    (r".*_redirect", "off"),
    (r"ssl_session_cache", "none"),
    (r".*_certificate(_key)?|.*_dhparam", "/etc/ssl/example.pem"),
    (r"root|alias|.*_path", "/srv/example"),
    (r"allow|deny|set_real_ip_from", "127.0.0.1"),
    (r"error_log", "/var/log/nginx/error.log"),
    (r"access_log", "/var/log/nginx/access.log"),
    (r"index", "index.html"),
    (r"return", "404"),
    (r"auth_basic", "off"),
]
BY_DIRECTIVE = [(re.compile(pattern), value) for pattern, value in BY_DIRECTIVE]
# Values by the words of a name.
BY_NAME = [
    (r"ports?\d*", "8080"),
    (r"sock(et)?|lsnr", "/run/example.sock"),
    (r"ipv?6", "[::1]"),
    (r"ip|ipv?4|addr(ess)?", "127.0.0.1"),
    (r"url|uri|upstream|backend", "http://127.0.0.1:8080"),
    (r"proto(col)?|scheme", "http"),
    (r"cert(ificate)?|crt|pem|key", "/etc/ssl/example.pem"),
    (r"timeout|interval|expires?|ttl", "60s"),
    (r"size|body|upload|memory|limit|max", "16m"),
    (r"path|dir|(s|doc|web)?(doc)?root|home|folder|location|www", "/srv/example"),
    (r"domains?|host(name)?|fqdn|sites?|alias|server|name", "example.com"),
    (r"workers?|count|num(ber)?|connections|processes|level|rate|version|phpversion", "4"),
    (r"code|status", "404"),
    (r"enabled?", "on"),
    (r"inactive|valid", "60s"),
    (r"backlog|weight|fails", "4"),
]
BY_NAME = [(re.compile(pattern), value) for pattern, value in BY_NAME]

# Default values in a template.
DEFAULT = re.compile(r"""getenv\s+"\w+"\s+"([^"]+)"|\|\s*d(?:efault)?\(\s*["']?([\w./:=-]+)["']?\s*\)""")


class Value(NamedTuple):
    name: str


class Choice(NamedTuple):
    """A conditional. Each branch is a condition (None: else), whether it is negated, and its parts."""

    branches: list


def word_kind(code, first):
    """Classifies a tag: opens a conditional, a loop or an omitted part, continues, closes, outputs a value, or nothing."""
    if first in ("if", "unless", "ifequal", "with", "case"):
        return "open"
    if first in ("for", "range", "each") or re.search(r"\bdo\b\s*(\|.*\|)?\s*$|forEach\(.*\{\s*$", code):
        return "loop"
    if first in ("macro", "define") or (first == "set" and "=" not in code):
        return "never"
    if first in ("elif", "elsif", "elseif", "else", "when") or re.match(r"\}\s*else\b", code):
        return "else"
    if first in ("block", "raw", "filter", "call"):
        return "always"
    if first == "end" or re.match(r"end[a-z]+$", first) or re.match(r"\}[);]*\s*$", code):
        return "close"
    return None


def kind_of(tag):
    """Returns the kind of a tag and its subject."""
    if tag["remark"] is not None:
        return "nothing", ""
    code = next(part for part in (tag["block"], tag["value"], tag["ruby"]) if part is not None)
    if tag["ruby"] is not None and code.strip("=- \n"):
        if code[0] == "=" or code[0] == "-" and not word_kind(code.strip("- \n"), first_word(code)):
            return "value", code.strip("=- \n")
    code = code.strip("-~ \t\n")
    if tag["value"] is not None and code[:1] in ("#", "^"):
        name = re.sub(r"^(if|unless|each|with)\s+", "", code[1:].strip())
        negated = code[0] == "^" or code[1:].startswith("unless")
        return ("loop", name) if code[1:].startswith("each") else ("open", ("not " if negated else "") + name)
    if tag["value"] is not None and code[:1] == "/" and not code.startswith("/*"):
        return "close", ""
    kind = word_kind(code, first_word(code))
    if kind:
        rest = re.sub(r"^[}\s]*(else\s+if|elif|elsif|elseif|if|unless|with|when|case)\b", "", code).strip()
        return kind, ("not " + rest if code.startswith("unless") else "" if rest == code and kind == "else" else rest)
    if tag["value"] is None or re.match(r"/\*|!|>|template\b|include\b|\$?\w+\s*:?=[^=]", code):
        return "nothing", ""
    return "value", code


def first_word(code):
    found = re.match(r"[-~\s]*([A-Za-z]+)", code)
    return found[1] if found else ""


def condition(text):
    """Returns the name of a condition, and whether it is negated."""
    negated = False
    while found := re.match(r"(not\b|!)\s*(?!=)", text):
        negated, text = not negated, text[found.end() :]
    return re.sub(r"\s+", " ", text).strip("() {"), negated


def parsed(text):
    """Returns the parts of a template (texts, values and conditionals), or None if its tags do not match."""
    stack, parts, at = [], [], 0
    for tag in TAG.finditer(text):
        parts.append(text[at : tag.start()])
        at = tag.end()
        kind, about = kind_of(tag)
        if kind == "value":
            parts.append(Value(about))
        elif kind in ("open", "loop", "never", "always"):
            choice = Choice([(about if kind == "open" else kind, [])])
            parts.append(choice)
            stack.append((parts, choice))
            parts = choice.branches[-1][1]
        elif kind == "else" and stack:
            choice = stack[-1][1]
            choice.branches.append((about or None, []))
            parts = choice.branches[-1][1]
        elif kind == "close":
            if not stack:
                return None
            parts = stack.pop()[0]
        elif kind == "else":
            return None
    return None if stack else [*parts, text[at:]]


def conditions_of(parts):
    for part in parts:
        if isinstance(part, Choice):
            for about, inner in part.branches:
                if about and about not in ("loop", "never", "always"):
                    yield condition(about)[0]
                yield from conditions_of(inner)


def chosen(parts, holds):
    """Returns the parts that remain if `holds` decides the conditions."""
    for part in parts:
        if not isinstance(part, Choice):
            yield part
            continue
        for about, inner in part.branches:
            name, negated = condition(about) if about else ("", False)
            if about is None or about in ("loop", "always") or (about != "never" and holds(name) != negated):
                yield from chosen(inner, holds)
                break


def value_of(name, before, after):
    """Returns a value for this name between these texts."""
    directive = re.sub(r"#.*", "", before[max(before.rfind(char) for char in ";{}") + 1 :])
    words, next_char = directive.split(), after[:1]
    if not words and (not after.strip(" \t") or after.lstrip(" \t")[0] in "\n{}" or next_char.isalpha()):
        return ""
    if re.search(r"\bif\b", name) or words[:1] == ["listen"] and len(words) > 1 and directive[-1].isspace():
        return ""
    if given := DEFAULT.search(name):
        return given[1] or given[2]
    if words and directive[-1] in " \t\n\"'" and next_char in ("", *" \t\n;\"'"):
        for pattern, value in BY_DIRECTIVE:
            if pattern.fullmatch(words[0]):
                # Two placeholders of a server are two ports; the second argument of a log is its level or format.
                if words[0] == "listen":
                    return str(8079 + before.count("listen"))
                return {"error_log": "warn", "access_log": "combined"}.get(words[0], value) if len(words) > 1 else value
    if re.search(r"[\w\].]:$", directive) and not directive.endswith("unix:"):
        return "8080"
    assigned = re.search(r"(\w+)=$", directive)
    value = by_name(assigned[1]) if assigned and by_name(assigned[1]) else by_name(name) or "example"
    if directive.endswith("://"):
        return value.removeprefix("http://")
    if directive.endswith("["):
        return "::1"
    if next_char.isalnum() and re.fullmatch(r"\d+[a-z]", value):
        return value[:-1]
    return "example" if directive.endswith("/") and value.startswith("/") else value


def by_name(name):
    """Returns a value by the words of a name, the last one first (a `cert_path` is a path), or None."""
    words = re.findall(r"[a-z]+\d*", re.sub(r"([a-z])([A-Z])", r"\1_\2", name.split("|")[0]).lower())
    return next((value for word in reversed(words) for pattern, value in BY_NAME if pattern.fullmatch(word)), None)


def with_values(parts):
    text = ""
    for at, part in enumerate(parts):
        after = parts[at + 1] if at + 1 < len(parts) and isinstance(parts[at + 1], str) else ""
        text += value_of(part.name, text, after) if isinstance(part, Value) else part
    return text


def with_places(text):
    """Fills in the placeholders of shells and panels; `$X` only if the text does not set it."""
    result, at = "", 0
    for place in PLACE.finditer(text):
        name = next(group for group in place.groups() if group is not None)
        if place["shell"] and re.search(rf"(set|map\s+\S+|geo)\s+\${name}\b", text):
            continue
        result += text[at : place.start()]
        result += value_of(name, result, text[place.end() : place.end() + 1])
        at = place.end()
    return result + text[at:]


def filled(text):
    """Returns every text that the template can produce, by the names of its branches (`""` without branches)."""
    parts = parsed(text)
    if parts is None:
        return {"": with_places(TAG.sub("", text))}
    names = list(dict.fromkeys(conditions_of(parts)))
    choices = {"": lambda name: True}
    if names:
        choices = {"all": lambda name: True, "none": lambda name: False}
        choices |= {f"only {only}": lambda name, only=only: name == only for only in names[:MAX_SINGLE]}
    texts = {}
    for label, holds in choices.items():
        one = with_places(with_values(list(chosen(parts, holds))))
        if one not in texts.values():
            texts[label] = one
    return texts
