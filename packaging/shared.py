"""Code that the package tests share: Debian root file systems, clients that send requests continuously, waiting."""
import http.client
import os
import socket
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "scripts"))
import debian_root
PATIENCE = 30


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, capture_output=True, **more).stdout


def wait_for(what, holds, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out waiting for {what}")
        time.sleep(0.02)


def packed(name, suite, packages=()):
    """Returns the archive of a Debian root file system with these packages; creates it if it does not exist."""
    archive = os.path.join(ROOT, "target", "roots", f"{name}.tar")
    if not os.path.exists(archive):
        os.makedirs(os.path.dirname(archive), exist_ok=True)
        debian_root.bootstrap(suite, archive + ".new.tar", packages)
        os.rename(archive + ".new.tar", archive)
    return archive


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def page(host="site.test", port=80, context=None, path="/"):
    """Returns status, head and text of a page, or None on failure. With a TLS context it uses HTTPS."""
    try:
        raw = socket.create_connection(("127.0.0.1", port), PATIENCE)
        with (context.wrap_socket(raw, server_hostname=host) if context else raw) as stream:
            stream.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            head, text = b"".join(iter(lambda: stream.recv(65536), b"")).decode().split("\r\n\r\n", 1)
        return int(head.split(" ", 2)[1]), head, text
    except (OSError, ValueError, IndexError):
        return None


class Visitors:
    """Clients that request a page with this text continuously: half with keep-alive, half with a new connection for each request."""

    def __init__(self, text, host="site.test", port=80):
        self.text, self.host, self.port = text, host, port
        self.failures, self.answered, self.ended = [], 0, False
        self.threads = [threading.Thread(target=self.visit, args=(keep_alive,), daemon=True) for keep_alive in (True, False, True, False)]
        for thread in self.threads:
            thread.start()

    def visit(self, keep_alive):
        connection = None
        while not self.ended:
            fresh = connection is None
            connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            try:
                connection.request("GET", "/", headers={"Host": self.host})
                answer = connection.getresponse()
                assert answer.status == 200 and self.text in answer.read(), answer.status
                self.answered += 1
                if not keep_alive or answer.will_close:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException, AssertionError) as error:
                # An idle keep-alive connection may be closed between two requests (RFC 9112 section 9.5); clients then repeat the request.
                idle_closed = isinstance(error, (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError))
                if fresh or not idle_closed:
                    self.failures.append(repr(error))
                connection.close()
                connection = None

    def more(self, count=50):
        """Waits until `count` more requests were answered."""
        seen = self.answered
        wait_for("visitors", lambda: self.answered > seen + count, 4 * PATIENCE)

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()
        assert not self.failures, f"{len(self.failures)} of {self.answered}: {self.failures[:3]}"
