#!/usr/bin/env python3
"""Compares the responses of two servers with one configuration: each is started in separate namespaces and gets the same requests.

    nginx_answers.py BINARY PREFIX CONF PLAN [MODULE]...    (started by `answers_of` in new network, mount and process namespaces)

Nothing leaves the machine: a new network namespace contains only the loopback interface. If the configuration forwards requests to an
address, an upstream listens there and responds with the request that it received: line and headers, or FastCGI parameters. Folders of
sites are new and contain only a few files. Every difference of a header is reported; a person has to judge it.
"""

import collections
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

from nginx_text import Broken, directives

# Limits per configuration: addresses, names and requests; seconds per request, for the start, and in total.
MAX_ADDRESSES, MAX_NAMES, MAX_REQUESTS, REQUEST_TIMEOUT, START_TIMEOUT, TOTAL_TIMEOUT = 4, 4, 48, 3, 4, 60
# Folders in which site roots and sockets may be created; each configuration has its own copy.
SITES = ("/var/www", "/srv", "/home", "/opt", "/usr/share/nginx", "/usr/share/webapps", "/usr/local/www", "/data", "/app", "/www", "/run", "/dev/shm", "/tmp")
FILES = {
    "index.html": "<html>front</html>\n", "index.php": "<?php\n", "style.css": "body { color: red }\n", "image.png": "\x89PNG", "app.js": "var a;\n",
    "robots.txt": "User-agent: *\n", "folder/index.html": "<html>folder</html>\n", "folder/empty/.keep": "", ".env": "secret\n",
    "wp-login.php": "<?php\n", "wp-content/uploads/a.php": "<?php\n", "wp-content/uploads/a.jpg": "jpeg", "feed.xml": "<a/>\n",
}
TARGETS = ("/", "/index.php?a=1&b=%20c", "/style.css", "/image.png", "/folder", "/folder/", "/none", "/none.php", "/none.png", "//folder/./index.html",
           "/.env", "/.git/config", "/wp-login.php", "/wp-content/uploads/a.php", "/wp-content/uploads/a.jpg", "/robots.txt", "/favicon.ico",
           "/a%2fb/%2e%2e/c", "/index.php/path/info", "/feed.xml", "/wp-json/", "/?s=x", "/folder/empty/")
# Headers that differ between servers or change over time; ports of new connections.
IGNORED = {"date", "server", "connection", "keep-alive", "transfer-encoding", "alt-svc"}
VOLATILE = re.compile(r"\b(REMOTE_PORT|REQUEST_ID|HTTP_X_REQUEST_ID|CONNECTION|HTTP_X_REAL_PORT)=\S+|\b[0-9a-f]{32}\b|"
                      r"127\.0\.0\.1:\d{4,5}|\b1[67]\d{8}(\.\d+)?\b|nginx/[\d.]+|Myriad/[\d.]+")


def plan_of(texts):
    """Collects names, targets, roots and upstream addresses from all texts of a configuration."""
    names, targets, roots, origins = ["localhost"], list(TARGETS), [], set()
    for text in texts:
        try:
            lines = list(directives(text))
        except Broken:
            continue
        for one in lines:
            words = [word.text for word in one.words]
            if one.name == "server_name":
                names += [word for word in words[1:] if re.fullmatch(r"[a-z0-9.-]+\.[a-z]+", word)]
            elif one.name == "location" and len(words) > 1 and (words[-1].startswith("/") and not set(words[1:-1]) & {"~", "~*"}):
                targets += [words[-1], words[-1].rstrip("/") + "/x"]
            elif one.name in ("root", "alias") and len(words) == 2 and "$" not in words[1]:
                roots.append(words[1])
            elif one.name.endswith("_pass") or one.name == "server" and "upstream" in one.inside:
                found = re.match(r"(?:\w+://)?(unix:[^:;]+|(?:\d+\.){3}\d+(?::\d+)?|localhost(?::\d+)?)", words[1] if len(words) > 1 else "")
                if found:
                    port = ":443" if words[1].startswith("https") else ":80"
                    origins.add(found[1] if ":" in found[1] else found[1] + port)
    return {"names": list(dict.fromkeys(names))[: MAX_NAMES], "targets": list(dict.fromkeys(targets)), "roots": roots, "origins": sorted(origins)}


def answers_of(binary, prefix, conf, plan, modules=()):
    """Returns the server's addresses and its responses by request, or a text if it did not start."""
    command = ["unshare", "-n", "-p", "-m", "-f", "--kill-child", "--mount-proc", sys.executable, __file__, binary, prefix, conf, json.dumps(plan), *modules]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TOTAL_TIMEOUT, check=False)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return "timed out"
    except ValueError:
        return done.stderr.decode("utf-8", "replace")[-300:] or "no output"


def differences(one, other):
    """Yields the differences between two servers: request, subject, and both values."""
    if one["listens"] != other["listens"]:
        yield "", "listens", " ".join(one["listens"]), " ".join(other["listens"])
    for request, (status, fields, body) in one["answers"].items():
        if request not in other["answers"]:
            if one["listens"] == other["listens"]:
                yield request, "status", status, None
            continue
        status2, fields2, body2 = other["answers"][request]
        if status != status2:
            yield request, "status", status, status2
            continue
        for name in sorted({*fields, *fields2} - IGNORED):
            if name == "allow" and status == 405 and name not in fields:
                continue  # Required by RFC 9110 section 15.5.6, but not sent by nginx.
            if name == "content-length" and (status >= 300 or name not in fields or name not in fields2):
                continue
            if fields.get(name) != fields2.get(name):
                yield request, name, fields.get(name), fields2.get(name)
        if status < 300 and body != body2 and not body.startswith("Active connections"):
            lines, lines2 = body.split("\n"), body2.split("\n")
            changes = [change for change in difflib.SequenceMatcher(None, lines, lines2, autojunk=False).get_opcodes() if change[0] != "equal"]
            for _, start, end, start2, end2 in changes[:2]:
                yield request, "body", "\n".join(lines[start:end]) or None, "\n".join(lines2[start2:end2]) or None


def answered(answers):
    """Returns the number of requests with a response; two equal failures prove nothing."""
    return sum(status > 0 for status, _, _ in answers["answers"].values())


def report(results):
    """Yields counts and the grouped differences in Markdown, the most frequent first."""
    tested = [one for one in results if "differs" in one]
    requests, equal = sum(one["asked"] for one in tested), sum(not one["differs"] for one in tested)
    silent = [one for one in results if "silent" in one]
    yield f"\n## Responses\n\n{len(tested)} configurations got {requests} requests; {equal} of them have equal responses; {len(silent)} could not be tested."
    groups = collections.defaultdict(lambda: [set(), 0, None])
    for one in tested:
        for request, name, ours, theirs in one["differs"]:
            shown = re.sub(r"\d+", "N", f"{name}: {ours} -> {theirs}") if name != "status" else f"{name}: {ours} -> {theirs}"
            row = groups[shown[:200]]
            row[0].add((one["source"], one["configuration"]))
            row[1] += 1
            row[2] = row[2] or f"{one['source']}: {one['configuration']}: {request}"
    yield "\n| configurations | requests | nginx -> Myriad | example |\n|--:|--:|---|---|"
    for shown, (ones, count, example) in sorted(groups.items(), key=lambda item: (-len(item[1][0]), item[0])):
        yield f"| {len(ones)} | {count} | {shown.replace('|', chr(92) + '|')} | {example.replace('|', chr(92) + '|')} |"


# The following code runs in the namespaces.

def prepare(plan, needed):
    """Sets up the loopback interface and the folders of the sites with their files. A folder with the needed files is not changed."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for folder in SITES:
        if any(f"{os.path.realpath(one)}/".startswith(f"{folder}/") for one in needed):
            continue
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    for root in dict.fromkeys(plan["roots"]):
        if root.startswith(tuple(f"{site}/" for site in SITES)):
            for name, text in FILES.items():
                path = pathlib.Path(root, name)
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, "latin-1")
                    os.utime(path, (1_600_000_000, 1_600_000_000))
                except OSError:
                    pass


def start_upstream(address):
    """Starts an upstream that responds with the request that it received, over HTTP or FastCGI."""
    try:
        if address.startswith("unix:"):
            os.makedirs(os.path.dirname(address[5:]) or "/", exist_ok=True)
            pathlib.Path(address[5:]).unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address[5:])
            os.chmod(address[5:], 0o777)
            listener.listen(64)
        else:
            host, _, port = address.rpartition(":")
            listener = socket.create_server((host, int(port)))
    except OSError:
        return
    threading.Thread(target=accept, args=(listener,), daemon=True).start()


def accept(listener):
    """Handles each connection in a separate thread."""
    while True:
        threading.Thread(target=respond, args=(listener.accept()[0],), daemon=True).start()


def respond(connection):
    """Responds to one HTTP or FastCGI request with the request itself."""
    connection.settimeout(REQUEST_TIMEOUT)
    file = connection.makefile("rb")
    try:
        first = file.peek(1)[:1]
        if first == b"\1":
            body = "\n".join(sorted(f"{name}={value}" for name, value in parameters(file)))
            out = b"Content-Type: text/plain\r\n\r\n" + body.encode("latin-1")[:30000]
            connection.sendall(struct.pack(">BBHHBB", 1, 6, 1, len(out), 0, 0) + out + struct.pack(">BBHHBBIB3x", 1, 3, 1, 8, 0, 0, 0, 0))
        elif first.isalpha():
            lines = [file.readline().decode("latin-1").strip()]
            while line := file.readline().decode("latin-1").strip():
                lines.append(line)
            lines[0] = lines[0].rpartition(" ")[0]
            body = "\n".join([lines[0], *sorted(line for line in lines[1:] if not line.lower().startswith("connection:"))]).encode("latin-1")
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    except (OSError, struct.error):
        pass
    connection.close()


def parameters(file):
    """Reads a FastCGI request including its body; yields its parameters."""
    block, over = b"", False
    while not over:
        _, kind, _, length, padding, _ = struct.unpack(">BBHHBB", file.read(8))
        content = file.read(length)
        file.read(padding)
        block += content if kind == 4 else b""
        over = kind == 5 and not length
    at = 0
    while at < len(block):
        lengths = []
        for _ in range(2):
            long = block[at] >= 128
            lengths.append(struct.unpack(">I", block[at : at + 4])[0] & 0x7FFFFFFF if long else block[at])
            at += 4 if long else 1
        name, value = block[at : at + lengths[0]], block[at + lengths[0] : at + sum(lengths)]
        at += sum(lengths)
        yield name.decode("latin-1"), value.decode("latin-1")


def listening():
    """Returns (port, host) of all TCP listeners, as reachable from this machine."""
    found = set()
    for name, family in (("/proc/net/tcp", 4), ("/proc/net/tcp6", 6)):
        for line in pathlib.Path(name).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A":
                address, port = local.split(":")
                host = socket.inet_ntop(socket.AF_INET, bytes.fromhex(address)[::-1]) if family == 4 else "::1"
                found.add((int(port, 16), "127.0.0.1" if host == "0.0.0.0" else host))
    return found


def send_request(host, port, tls, name, method, target, fields=""):
    """Returns status, headers and body of a response."""
    with socket.create_connection((host, port), REQUEST_TIMEOUT) as plain:
        connection = plain
        if tls:
            context = ssl._create_unverified_context()
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            connection = context.wrap_socket(plain, server_hostname=name)
        connection.settimeout(REQUEST_TIMEOUT)
        connection.sendall(f"{method} {target} HTTP/1.1\r\nHost: {name}\r\nUser-Agent: compare\r\nAccept: */*\r\n{fields}Connection: close\r\n\r\n".encode())
        data = b""
        try:
            while piece := connection.recv(65536):
                data += piece
        except (OSError, ssl.SSLError):
            pass
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = collections.defaultdict(list)
    for line in lines[1:]:
        key, _, value = line.partition(":")
        fields[key.lower()].append(VOLATILE.sub("-", value.strip()))
    if fields.get("transfer-encoding") == ["chunked"]:
        whole = b""
        while size := int(body.partition(b"\r\n")[0].split(b";")[0] or b"0", 16):
            start = body.index(b"\r\n") + 2
            whole, body = whole + body[start : start + size], body[start + size + 2 :]
        body = whole
    status = int(lines[0].split(" ")[1]) if lines[0].startswith("HTTP/") else 0
    expires = fields.pop("expires", None)
    shown = {key: ", ".join(values) for key, values in fields.items()}
    if expires:
        shown["expires"] = "a date" if "GMT" in expires[0] and "1970" not in expires[0] else expires[0]
    return status, shown, VOLATILE.sub("-", body.decode("latin-1"))


def requests_of(plan):
    """Yields each request: name, method, target, additional headers."""
    for at, name in enumerate(plan["names"]):
        for target in plan["targets"] if at < 2 else plan["targets"][:6]:
            yield name, "GET", target, ""
    name = plan["names"][-1]
    yield name, "HEAD", "/", ""
    yield name, "POST", "/index.php", "Content-Length: 0\r\n"
    yield name, "DELETE", "/", ""
    yield name, "GET", "/style.css", "Range: bytes=0-3\r\n"
    yield name, "GET", "/style.css", "Accept-Encoding: gzip\r\n"
    yield name, "GET", "/index.php", "Cookie: wordpress_logged_in_a=b\r\n"
    yield "unknown.test", "GET", "/", ""


def run_in_namespaces(binary, prefix, conf, plan, *modules):
    """Starts the server, sends it the requests of the plan, and prints its addresses and responses as JSON."""
    plan = json.loads(plan)
    prepare(plan, [binary, prefix, *modules])
    for address in plan["origins"]:
        start_upstream(address)
    before = listening()
    loads = "".join(f"load_module {module};" for module in modules)
    subprocess.run([binary, "-e", "/dev/stderr", "-p", f"{prefix}/", "-c", conf, *(["-g", loads] if loads else [])], stdout=2, timeout=START_TIMEOUT * 4, check=False) \
        if b"daemon" not in pathlib.Path(conf).read_bytes() else subprocess.Popen([binary, "-p", f"{prefix}/", "-c", conf], stdout=2)
    until = time.monotonic() + START_TIMEOUT
    while not listening() - before and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    addresses = sorted(listening() - before)
    todo = []
    for port, host in addresses[:MAX_ADDRESSES]:
        tls = uses_tls(host, port, plan["names"][-1])
        todo += [(host, port, tls, *request) for request in requests_of(plan)][: MAX_REQUESTS // min(len(addresses), MAX_ADDRESSES) + 8]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(send_or_error, todo))
    by_request = {" ".join(map(str, one)).replace("\r\n", " ").strip(): answer for one, answer in zip(todo, answers)}
    print(json.dumps({"listens": [f"{host}:{port}" for port, host in addresses], "answers": by_request}))


def uses_tls(host, port, name):
    """Returns true if the address uses TLS; a TLS server answers plain requests with 400."""
    found = False
    for tls in (False, True):
        try:
            status = send_request(host, port, tls, name, "GET", "/")[0]
        except (OSError, ValueError):
            continue
        if status and (tls or status != 400):
            found = tls
    return found


def send_or_error(one):
    """Returns the response to a request; status 0 with the error if there is none."""
    try:
        return send_request(*one)
    except (OSError, ValueError) as error:
        return 0, {"error": type(error).__name__}, ""


if __name__ == "__main__":
    run_in_namespaces(*sys.argv[1:])
