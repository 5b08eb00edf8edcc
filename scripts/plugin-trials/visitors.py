"""Browsers without JavaScript: they store cookies, follow redirects and submit forms."""

import http.client
import json
import re
import urllib.parse
import uuid

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
SAFE = "/%:@!$&'()*+,;=~-._"
MAX_REDIRECTS = 8


class Answer:
    """Response, and the address that it is for."""

    def __init__(self, url, status, fields, body):
        self.url, self.status, self.fields, self.body = url, status, fields, body
        self.text = body.decode("utf-8", "replace")

    def field(self, name):
        """Returns the values of a header field, separated by commas; an empty string if it is absent."""
        return ", ".join(value for key, value in self.fields if key == name)

    def cookies(self):
        """Returns the names of the cookies that the response sets, without deleted ones."""
        lines = [value for key, value in self.fields if key == "set-cookie"]
        return sorted({line.split("=", 1)[0] for line in lines if "=deleted" not in line})

    def json(self):
        """Returns the parsed body; None if it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def _multipart(pairs):
    boundary = uuid.uuid4().hex
    parts = []
    for name, value in pairs:
        is_file = isinstance(value, tuple)
        filename = f'; filename="{value[0]}"' if is_file else ""
        kind = f"Content-Type: {value[1]}\r\n" if is_file else ""
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n{kind}\r\n'
        parts.append(head.encode() + (value[2] if is_file else str(value).encode()) + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class Visitor:
    """Client with cookies and a separate address. All requests go to one server on this machine."""

    def __init__(self, port, address="127.0.0.1"):
        self.port, self.address, self.jar, self.nonce = port, address, {}, ""
        self.seen, self.has_posted = [], False
        self.base = f"http://localhost:{port}"

    def path(self, url):
        """Returns path and query of an address of the site."""
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(self.base + "/", url))
        return urllib.parse.quote(parts.path or "/", safe=SAFE) + (
            "?" + urllib.parse.quote(parts.query, safe=SAFE + "?[]") if parts.query else "")

    def send(self, method, url, body=None, fields=None):
        """Sends one request, and returns its response without following a redirect."""
        head = {"Host": f"localhost:{self.port}", "User-Agent": AGENT, "Accept": ACCEPT, **(fields or {})}
        cookies = self.cookie_field(self.path(url))
        if cookies:
            head["Cookie"] = cookies
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=70, source_address=(self.address, 0))
        try:
            connection.request(method, self.path(url), body, head)
            response = connection.getresponse()
            received = [(name.lower(), value) for name, value in response.getheaders()]
            answer = Answer(urllib.parse.urljoin(self.base, url), response.status, received, response.read())
        finally:
            connection.close()
        self._store_cookies(answer)
        self.has_posted |= method == "POST"
        if method == "GET" and answer.status == 200:
            self.seen.append(self.path(url))
        return answer

    def cookie_field(self, path):
        """Returns the value of the Cookie field for a path."""
        pairs = [f"{name}={value}" for (name, prefix), value in self.jar.items() if path.startswith(prefix)]
        return "; ".join(pairs)

    def has_cookie(self, prefix):
        """Returns True if there is a cookie whose name has a prefix."""
        return any(name.startswith(prefix) for name, _ in self.jar)

    def _store_cookies(self, answer):
        for key, value in answer.fields:
            if key != "set-cookie":
                continue
            name, _, rest = value.split(";", 1)[0].partition("=")
            path = re.search(r";\s*path=([^;]*)", value, re.I)
            place = (name, path.group(1).strip() if path and path.group(1).strip() else "/")
            if rest in ("", "deleted", "+") or "max-age=0" in value.lower():
                self.jar.pop(place, None)
            else:
                self.jar[place] = rest

    def get(self, url, fields=None):
        """Returns the page at an address, after redirects."""
        return self.follow(self.send("GET", url, fields=fields))

    def follow(self, answer):
        """Follows the redirects of a response within the site; returns the last response."""
        for _ in range(MAX_REDIRECTS):
            target = answer.field("location")
            if answer.status not in (301, 302, 303, 307, 308) or not target:
                break
            target = urllib.parse.urljoin(answer.url, target)
            if urllib.parse.urlsplit(target).hostname not in ("localhost", "127.0.0.1"):
                break
            answer = self.send("GET", target)
        return answer

    def post(self, url, pairs, is_multipart=False, fields=None):
        """Submits pairs of names and values; returns the response without following a redirect."""
        pairs = list(pairs.items()) if isinstance(pairs, dict) else pairs
        head = {"Referer": urllib.parse.urljoin(self.base, url), "Origin": self.base, **(fields or {})}
        if is_multipart or any(isinstance(value, tuple) for _, value in pairs):
            body, head["Content-Type"] = _multipart(pairs)
        else:
            body = urllib.parse.urlencode(pairs).encode()
            head["Content-Type"] = "application/x-www-form-urlencoded"
        return self.send("POST", url, body, head)

    def rest(self, method, route, data=None):
        """Requests a REST route as the block editor does; returns the response."""
        fields = {"Content-Type": "application/json", "X-WP-Nonce": self.nonce, "Accept": "application/json"}
        body = None if data is None else json.dumps(data).encode()
        return self.send(method, "/wp-json" + route, body, fields if self.nonce else {**fields, "X-WP-Nonce": ""})

    def log_in(self, name, password):
        """Logs in with the form; raises RuntimeError if it fails."""
        self.send("GET", "/wp-login.php")
        form = {"log": name, "pwd": password, "wp-submit": "Log In", "testcookie": "1", "redirect_to": "/wp-admin/"}
        answer = self.post("/wp-login.php", form)
        if not self.has_cookie("wordpress_logged_in_"):
            raise RuntimeError(f"{name} cannot log in: {answer.status} {answer.text[:300]}")
        return self
