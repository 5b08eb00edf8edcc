"""Crawls that count false alarms: browsers with ordinary cookies request pages without leaks, with the leak guard on and off."""

import collections
import html
import multiprocessing
import random
import re
import socket
import time
import urllib.parse

from browsers import Browser

BROWSERS = 120
PROCESSES = 2
LINK = re.compile(r"""<a\b[^>]*?\bhref=["']([^"'#]+)""")
# Requests for such paths change data or log out.
SKIPPED = re.compile(r"wp-login|logout|wp-admin|action=|add-to-cart|replytocom|xmlrpc|do=|Special:|oldid=|diff=|printable|\.(?:css|js|png|jpe?g|svg|ico|gif|pdf|zip)$")
MOST_PATHS = 400
# Verifications are complete if there is none for this time, which is longer than their delay; and the maximum time to wait for this.
QUIET_SECONDS, MOST_SECONDS = 8, 120
# False alarms that are permitted on all pages together.
MOST_ALARMS = 1


class Client:
    """HTTP/1.1 client with one connection."""

    def __init__(self, port):
        self.port, self.socket, self.file = port, None, None

    def get(self, path, fields):
        """Returns status, fields (lower-case names) and body of a response. A closed connection is opened again."""
        for is_last in (False, True):
            try:
                return self._exchange(path, fields)
            except (ConnectionError, ValueError):
                self.close()
                if is_last:
                    return 0, [], b""
        return None

    def _exchange(self, path, fields):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=120)
            self.file = self.socket.makefile("rb")
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        status = int(self.file.readline().split()[1])
        received = []
        while (line := self.file.readline().rstrip()):
            name, _, value = line.decode("latin-1").partition(":")
            received.append((name.lower(), value.strip()))
        known = dict(received)
        body = self._chunks() if known.get("transfer-encoding") == "chunked" else self._exactly(int(known["content-length"]))
        if known.get("connection", "").lower() == "close":
            self.close()
        return status, received, body

    def _exactly(self, length):
        body = self.file.read(length)
        if len(body) < length:
            raise ConnectionError("the body is not complete")
        return body

    def _chunks(self):
        body = b""
        while (length := int(self.file.readline().split(b";")[0] or b"x", 16)):
            body += self._exactly(length)
            self.file.readline()
        self.file.readline()
        return body

    def close(self):
        """Closes the connection."""
        if self.socket is not None:
            self.file.close()
            self.socket.close()
        self.socket = None


def _request_all(port, paths, rounds, seed, offset, results):
    """Requests all paths in a random order, a number of times, each time as another browser; puts the counted results into a queue."""
    numbers = random.Random(seed)
    browsers = [Browser(number + offset) for number in range(BROWSERS)]
    client, counts = Client(port), collections.Counter()
    for _ in range(rounds):
        for path in numbers.sample(paths, len(paths)):
            browser = numbers.choice(browsers)
            status, fields, body = client.get(path, browser.fields())
            known = dict(fields)
            browser.store([value for name, value in fields if name == "set-cookie"])
            counts["{} {}".format(known.get("x-cache", f"status {status}"), known.get("x-reason", "")).strip()] += 1
            counts["leak"] += known.get("x-reason") == "leak"
            counts["bytes"] += len(body)
    client.close()
    results.put(counts)


def crawl(port, paths, rounds, seed):
    """Requests all paths of a server; returns the number of responses by their result."""
    results, begun = multiprocessing.Queue(), time.monotonic()
    parts = [paths[number::PROCESSES] for number in range(PROCESSES)]
    tasks = [multiprocessing.Process(target=_request_all, args=(port, part, rounds, f"{seed} {number}", number * BROWSERS, results)) for number, part in enumerate(parts)]
    for task in tasks:
        task.start()
    counts = sum((results.get() for _ in tasks), collections.Counter())
    for task in tasks:
        task.join()
    counts["seconds"] = round(time.monotonic() - begun)
    return counts


def _summary(counts, pages):
    """Returns the results of crawls, with the hit ratio in percent."""
    counts = collections.Counter(counts)
    seconds, size = counts.pop("seconds"), counts.pop("bytes")
    requests = sum(count for name, count in counts.items() if name != "leak")
    hits = sum(count for name, count in counts.items() if name.startswith("HIT"))
    return {
        "pages": pages, "requests": requests, "hit ratio": round(100 * hits / max(requests, 1), 3), "megabytes": size // 1_000_000, "seconds": seconds,
        "results": dict(counts)}


def _wait_for_verifications(server, zone):
    """Waits until no page of a zone is verified any more."""
    limit, last, since = time.monotonic() + MOST_SECONDS, None, time.monotonic()
    while time.monotonic() < min(limit, since + QUIET_SECONDS):
        now = server.counter("cache_leak_sample_requests_total", zone)
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(1)


def find_paths(port, starts):
    """Returns the paths of pages that can be reached by links, at most 400."""
    browser, client = Browser(0), Client(port)
    browser.jar.clear()
    found, waiting = {}, list(starts)
    while waiting and len(found) < MOST_PATHS:
        path = waiting.pop(0)
        if path in found:
            continue
        status, fields, body = client.get(path, browser.fields())
        found[path] = status
        if not dict(fields).get("content-type", "").startswith("text/html"):
            continue
        for href in LINK.findall(body.decode("utf-8", "replace")):
            parts = urllib.parse.urlsplit(urllib.parse.urljoin(f"http://localhost{path}", html.unescape(href)))
            target = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{parts.query}" if parts.query else "")
            if parts.hostname == "localhost" and not SKIPPED.search(target) and " " not in target and target not in found:
                waiting.append(target)
    client.close()
    return [path for path, status in found.items() if status == 200]


def compare(server, name, paths, rounds, seed):
    """Crawls a server with the leak guard off and on, and again after the verifications; returns the results of both, and the findings."""
    results = {suffix: crawl(server.ports[name + suffix], paths, rounds, seed) for suffix in ("-off", "")}
    _wait_for_verifications(server, name)
    for suffix, counts in results.items():
        counts.update(crawl(server.ports[name + suffix], paths, 1, f"{seed} again"))
    results = {suffix: _summary(counts, len(paths)) for suffix, counts in results.items()}
    verified, unstable = (server.counter(f"cache_leak_samples_{count}total", name) for count in ("", "unstable_"))
    return {"pages": len(paths), "verified": verified, "unstable": unstable, "guard off": results["-off"], "guard on": results[""],
            "findings": [f"{one['state']}: {one['page']}: {one['what']} ({one['count']} x)" for one in server.findings(name)]}


def findings(results):
    """Returns the false alarms beyond the limit, and the losses of hits."""
    alarms = [f"{name}: {one}" for name, result in results.items() for one in result["findings"]]
    lost = [f"{name}: hit ratio {result['guard on']['hit ratio']}%, and {result['guard off']['hit ratio']}% without the leak guard"
            for name, result in results.items() if result["guard on"]["hit ratio"] < result["guard off"]["hit ratio"]]
    return (alarms if len(alarms) > MOST_ALARMS else []) + lost
