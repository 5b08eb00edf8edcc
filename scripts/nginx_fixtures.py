"""Fixtures of compare-configurations: servers that are shell scripts, and the expected results of the comparison."""

import contextlib
import io
import json
import pathlib
import socket
import sys
import tempfile

from nginx_answers import answered, differences, plan_of
from nginx_templates import filled
from nginx_text import Broken, Rewriting, below, directives
from nginx_trees import fences_of
from nginx_trials import group_of, isolation, run_isolated

# A template, and all texts that it can produce.
TEMPLATES = [
    ("root /a;", ["root /a;"]),
    ("listen {{ port }};", ["listen 8080;"]),
    ("a {% if x %}1{% elif y %}2{% else %}3{% endif %};", ["a 1;", "a 3;", "a 2;"]),
    ("{{#on}}a;{{/on}}{{^on}}b;{{/on}}", ["a;", "b;"]),
    ("{{ if .A }}a;{{ else }}b;{{ end }}{{ range .B }}c;{{ end }}", ["a;c;", "b;c;"]),
    ("<% if @a -%>a;<% else %>b;<% end %>", ["a;", "b;"]),
    ("<%- @list.each do |one| -%>\n  allow <%= one %>;\n<%- end -%>", ["\n  allow 127.0.0.1;\n"]),
    ("{% for one in list %}allow {{ one }};{% endfor %}{# remark #}", ["allow 127.0.0.1;"]),
    ("listen %ip%:%proxy_port%; server_name %domain%;", ["listen 127.0.0.1:8080; server_name example.com;"]),
    ("location __PATH__/ { return 200 a:__PORT__; }", ["location /srv/example/ { return 200 a:8080; }"]),
    ("location @a { set $NAME 1; return 200 $NAME$host${host}; }", ["location @a { set $NAME 1; return 200 $NAME$host${host}; }"]),
    ("location ~ (?<name>.*) { root <DOCUMENT_ROOT>; }", ["location ~ (?<name>.*) { root /srv/example; }"]),
    ("error_log %log% %level%;", ["error_log /var/log/nginx/error.log warn;"]),
    ("proxy_cache_path /a inactive=%x%;", ["proxy_cache_path /a inactive=60s;"]),
    ("${core.enabled}listen [${ip.v6}]:${core.x};", ["listen [::1]:8080;"]),
    ('a {{ getenv "X" "max=1 y" }} {{ z | default(7) }};', ["a max=1 y 7;"]),
    ("listen 443 ssl{{ ' http2' if a else '' }}; listen {{ port }} {{ more }};", ["listen 443 ssl; listen 8081 ;"]),
    ("http {\n  {{ more }}\n}", ["http {\n  \n}"]),
    ("{% if a %}never closed", ["never closed"]),
]

# A text, and the text that every server gets.
REWRITES = [
    ("user www; load_module x.so; http { }", "  http { }"),
    ("access_log /var/log/a b; error_log stderr; access_log off;", "access_log /P/var/log/a b; error_log stderr; access_log off;"),
    ("ssl_certificate ../../../x; ssl_certificate_key $key;", "ssl_certificate /P/x; ssl_certificate_key $key;"),
    ("include a.conf; include none.conf;", "include /P/1; include /P/2; include none.conf;"),
    ("listen 10.0.0.1:80; listen 80; listen *:81;", "listen 127.0.1.1:80; listen 80; listen *:81;"),
    ("listen [2001:db8::1]:80; listen [::]:80;", "listen [::1]:80; listen [::]:80;"),
    ("proxy_pass http://a.example/b$c;", "proxy_pass http://127.0.1.1/b$c;"),
    ("proxy_pass http://up; proxy_pass $x;", "proxy_pass http://up; proxy_pass $x;"),
    ("fastcgi_pass php; fastcgi_pass unix:/a;", "fastcgi_pass 127.0.1.1:9000; fastcgi_pass unix:/a;"),
    ("upstream up { server up:1 weight=2; }", "upstream up { server 127.0.1.1:1 weight=2; }"),
    ("root /a; map $a $b { include x; user y; }", "root /a; map $a $b { include /P/1; include /P/2; user y; }"),
    ("resolver ns.example valid=1s;", "resolver 127.0.1.1 valid=1s;"),
]

NOT_FOUND = {"none.conf": None}

# Texts that are not in the nginx language.
INVALID = ["a", "a {", "}", "[php]\nuser = x", '"a"b;', ";"]

# Responses of two servers by request, and the expected differences.
ANSWERS = [
    ({"a": (200, {"x": "1"}, "one\ntwo\n")}, {"a": (200, {"x": "1", "date": "now"}, "one\ntwo\n")}, []),
    ({"a": (200, {}, "")}, {"a": (404, {"x": "1"}, "no")}, [("a", "status", 200, 404)]),
    ({"a": (200, {}, "")}, {}, [("a", "status", 200, None)]),
    ({"a": (200, {"x": "1"}, "")}, {"a": (200, {"x": "2"}, "")}, [("a", "x", "1", "2")]),
    ({"a": (200, {}, "one\ntwo")}, {"a": (200, {}, "two\none")}, [("a", "body", None, "two"), ("a", "body", "two", None)]),
    ({"a": (200, {}, "same\none")}, {"a": (200, {}, "same\ntwo")}, [("a", "body", "one", "two")]),
    ({"a": (405, {}, "")}, {"a": (405, {"allow": "GET"}, "")}, []),
    ({"a": (0, {"error": "x"}, "")}, {"a": (200, {}, "")}, [("a", "status", 0, 200)]),
]

# A configuration, and the expected requests.
ASKED = "http { server { server_name a.test *.test; root /srv/x; location /in/ { proxy_pass http://127.0.0.1:81; } location ~ php { fastcgi_pass unix:/run/p; } } }"

# A server that accepts all configurations except those with certain words; `more_set_headers` needs a module.
SERVER = r"""#!/bin/sh
case "$*" in *-V*) echo "nginx version: NAME/1"; echo "configure arguments: --modules-path=MODULES"; exit;; esac
while [ $# -gt 0 ]; do [ "$1" = -c ] && conf=$2; [ "$1" = -g ] && loads=$2; shift; done
all=$(cat "$conf" "$(dirname "$conf")/candidate.conf" 2>/dev/null)
no() { echo "NAME: [emerg] $1"; exit 1; }
case NAME in
nginx)
  case "$(cat "$conf")" in *candidate.conf* | *"events {}"*) ;; *) no '"server" directive is not allowed here in x:1';; esac
  case "$all" in *'$lost'*) case "$all" in *'map "" $lost'*) ;; *) no 'unknown "lost" variable';; esac;; esac
  case "$all" in *more_set_headers*) case "$loads" in *more*) ;; *) no 'unknown directive "more_set_headers"';; esac;; esac
  case "$all" in *bogus*) no 'unknown directive "bogus"';; esac;;
myriad)
  case "$all" in *'$lost'*) case "$all" in *'map "" $lost'*) ;; *) no 'unknown "lost" variable';; esac;; esac
  case "$all" in *more_set_headers*) no 'unknown directive "more_set_headers"';; esac
  case "$all" in *strange*) no '"strange" is not valid in "/x/17" 12';; esac;;
esac
exit 0
"""

# Files of a source repository.
FILES = {
    "nginx.conf": "events {} http { include sites/*.conf; }",
    "sites/a.conf": "server { listen 80; return 200 $lost; }",
    "sites/same.conf": "server {  listen 80; return 200 $lost; }",
    "sites/b.conf": "server { listen 80; strange on; }",
    "more.conf": 'server { more_set_headers "a: b"; }',
    "bogus.conf": "server { bogus on; }",
    "php.ini": "[php]\nx = 1",
    "README.md": "text\n```json\n{}\n```\nserver { listen 80; }\n```nginx title\nserver { listen 81; }\n```\n",
}


def self_check(program):
    """Returns the wrong results of the comparison."""
    for template, expected in TEMPLATES:
        found = list(filled(template).values())
        if found != expected:
            yield f"self-check: {template!r}: expected {expected}, found {found}"
    for text, expected in REWRITES:
        rewriting = Rewriting(lambda path, kind: below("/P", path), lambda name, _: NOT_FOUND.get(name, ["/P/1", "/P/2"]), {"up"})
        found = rewriting.text(text, None)
        if found != expected:
            yield f"self-check: {text!r}: expected {expected!r}, found {found!r}"
    for text in INVALID:
        with contextlib.suppress(Broken):
            list(directives(text))
            yield f"self-check: {text!r}: is accepted as the nginx language"
    if fences_of(FILES["README.md"]) != ["server { listen 81; }\n"]:
        yield "self-check: fences of Markdown are not found"
    if group_of('"gzip" in "a" of /T/x.conf:12 wants 3', {"gzip"}, "/T") != '"gzip" in "..." of PATH:N wants N':
        yield "self-check: messages are not grouped"
    listed = "# remark\na/b /x/ *.conf # description\nc/d\n"
    if list(program.sources_of(listed)) != [("a/b", ["/x/", "*.conf"]), ("c/d", ["*"])]:
        yield "self-check: the list of sources is not read"
    yield from self_check_answers()
    yield from self_check_isolation()
    yield from self_check_run(program)


# Fails if the port of the only argument is in use, or if connections to this machine are not possible.
BIND = "import socket, sys; a = socket.create_server(('127.0.0.1', int(sys.argv[1]))); socket.create_connection(a.getsockname())"


def self_check_isolation():
    """Returns the errors if a port that is in use on this machine is not free for a test."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        code, output = run_isolated([sys.executable, "-c", BIND, str(holder.getsockname()[1])])
    if isolation() and code:
        yield f"self-check: a port in use is not free for a test: {output}"


def self_check_answers():
    """Returns the wrong results for responses."""
    here = ["127.0.0.1:80"]
    for one, other, expected in ANSWERS:
        found = list(differences({"listens": here, "answers": one}, {"listens": here, "answers": other}))
        if found != expected:
            yield f"self-check: {one} and {other}: expected {expected}, found {found}"
    if next(differences({"listens": here, "answers": {}}, {"listens": [], "answers": {}}), None) != ("", "listens", "127.0.0.1:80", ""):
        yield "self-check: a server that does not listen is not seen"
    if answered({"answers": {"a": (0, {}, ""), "b": (404, {}, "")}}) != 1:
        yield "self-check: a request without a response is counted as answered"
    plan = plan_of([ASKED])
    if (plan["names"], plan["roots"], plan["origins"], plan["targets"][-2:]) != (["localhost", "a.test"], ["/srv/x"], ["127.0.0.1:81", "unix:/run/p"], ["/in/", "/in/x"]):
        yield f"self-check: wrong requests for {ASKED!r}: {plan}"


def self_check_run(program):
    """Returns the wrong results of a run over FILES."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "modules").mkdir()
        (folder / "modules/more.so").touch()
        for name, text in FILES.items():
            path = folder / "sources/owner+name" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in ("nginx", "myriad"):
            (folder / name).write_text(SERVER.replace("NAME", name).replace("MODULES", str(folder / "modules")))
            (folder / name).chmod(0o755)
        servers = ["--myriad", str(folder / "myriad"), "--nginx", str(folder / "nginx")]
        words = ["run", str(folder / "sources"), *servers, "--json", str(folder / "all.json")]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            program.main(words)
        results = json.loads((folder / "all.json").read_text())
        results = {one["configuration"]: (one["context"], one.get("modules"), one.get("loads")) for one in results}
    expected = {
        "nginx.conf": ("main", False, True), "sites/a.conf": ("http", False, True), "sites/b.conf": ("http", False, False),
        "more.conf": ("http", True, False), "bogus.conf": (None, None, None), "README.md#1": ("http", False, True),
    }
    if results != expected:
        yield f"self-check: a run: expected {expected}, found {results}"
    for line in ("| owner/name | 6 | 4 | 3 | 1 | 0 |", '| 1 | 1 | "strange" is not valid in "..." N | owner/name: sites/b.conf |'):
        if line not in output.getvalue():
            yield f"self-check: the output of a run lacks {line!r}: {output.getvalue()}"
