#!/usr/bin/env python3
"""Measures thousands of servers: time of a check, a start and a reload, latency of a hit during a reload, and memory.

    bench/scale.py [--servers 5000] [--locations 50000] [--binary FILE] [--only myriad,nginx]

Writes the configuration and a certificate for each server into a temporary folder, starts Myriad and the installed nginx with it, one
after the other, and requests a page over a keep-alive connection during a reload. The exit status is 1 if a limit is exceeded.
"""

import argparse
import datetime
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from servers import MYRIAD, free_port, program, proportional_bytes, wait_until

# Limits in seconds, milliseconds and MB.
BOUNDS = {"check_s": 2, "reload_s": 3, "slowest_ms": 50, "memory_mb": 200, "reloaded_mb": 200}
RELOADS = 3
# Seconds between two checks for the new configuration: the precision of the times.
PAUSE = 0.002


def certificates(folder, count):
    """Creates a key and a self-signed certificate for each server."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    begin = datetime.datetime(2020, 1, 1)
    end = datetime.datetime(2120, 1, 1)
    for number in range(count):
        key = ec.generate_private_key(ec.SECP256R1())
        host = f"host{number}.example"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
                .serial_number(number + 1).not_valid_before(begin).not_valid_after(end)
                .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
                .sign(key, hashes.SHA256()))
        (folder / f"{number}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
        (folder / f"{number}.key").write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def locations(count):
    """Returns typical locations of a hosting customer: static files, PHP, a proxy, a redirect, denied paths."""
    lines = [
        "location = /hit { return 200 hit; }",
        "location / { try_files $uri $uri/ /index.php?$args; }",
        r"location ~ \.php$ { include fastcgi.inc; fastcgi_pass 127.0.0.1:9; }",
        r"location ~* \.(css|js|png|jpg|woff2)$ { expires 30d; add_header Cache-Control public; access_log off; }",
        "location /api/ { proxy_pass http://127.0.0.1:9; proxy_set_header Host $host; proxy_read_timeout 30s; }",
        "location /old/ { return 301 /new/; }",
        r"location ~ /\. { deny all; }",
    ]
    lines += [f"location /part{number}/ {{ expires {number + 1}h; }}" for number in range(max(0, count - len(lines)))]
    return "\n    ".join(lines[:count])


FASTCGI = """fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
fastcgi_param QUERY_STRING $query_string;
fastcgi_param REQUEST_METHOD $request_method;
fastcgi_param CONTENT_TYPE $content_type;
fastcgi_param CONTENT_LENGTH $content_length;
fastcgi_param SCRIPT_NAME $fastcgi_script_name;
fastcgi_param REQUEST_URI $request_uri;
fastcgi_param DOCUMENT_ROOT $document_root;
fastcgi_param SERVER_PROTOCOL $server_protocol;
fastcgi_param REMOTE_ADDR $remote_addr;
fastcgi_param SERVER_NAME $server_name;
fastcgi_param HTTPS $https if_not_empty;
"""


def configuration(folder, options, port, tls_port):
    each = locations(options.locations // options.servers)
    servers = "".join(f"""
  server {{
    listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl;
    server_name host{number}.example www.host{number}.example;
    root {folder}/www;
    ssl_certificate {folder}/pairs/{number}.crt; ssl_certificate_key {folder}/pairs/{number}.key;
    {each}
  }}""" for number in range(options.servers))
    types = pathlib.Path("/etc/nginx/mime.types")
    shutil.copy(types, folder / "mime.types")
    (folder / "www").mkdir(exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "fastcgi.inc").write_text(FASTCGI)
    path = folder / "server.conf"
    path.write_text(f"""worker_processes 2;
pid {folder}/server.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  include mime.types;
  access_log off;
  server_names_hash_max_size 65536; server_names_hash_bucket_size 128;
  keepalive_requests 1000000000;
{servers}
}}
""")
    return path


class Visitor(threading.Thread):
    """Requests a page of the last server repeatedly, and records the duration of each response.

    It reuses its connection while the server allows it, as browsers do."""

    def __init__(self, port, host):
        super().__init__(daemon=True)
        self.port, self.host, self.over = port, host, threading.Event()
        self.slowest_ms, self.asked, self.wrong, self.times = 0, 0, [], []

    def run(self):
        connection = None
        question = f"GET /hit HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()
        while not self.over.is_set():
            begun = time.perf_counter()
            fresh = connection is None
            try:
                if fresh:
                    connection = socket.create_connection(("127.0.0.1", self.port), 30)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(question)
                answer = b""
                while not answer.endswith(b"\r\n\r\nhit"):
                    piece = connection.recv(4096)
                    if not piece:
                        raise ConnectionError("closed")
                    answer += piece
            except OSError as problem:
                connection = None
                if fresh:
                    self.wrong.append(str(problem))
                continue  # a keep-alive connection may be closed between two requests
            took = (time.perf_counter() - begun) * 1000
            self.times.append(took)
            self.asked += 1
            self.slowest_ms = max(self.slowest_ms, took)
            if b"Connection: close" in answer:
                connection = None
            time.sleep(0.0005)


def certificate_of(tls_port, host):
    context = ssl._create_unverified_context()
    with socket.create_connection(("127.0.0.1", tls_port), 30) as plain:
        with context.wrap_socket(plain, server_hostname=host) as secure:
            return secure.getpeercert(True)


def generation(port, host):
    """Returns the target of the redirect from /old/, which each reload changes."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(f"GET /old/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
        return answer.split(b"Location: ", 1)[-1].split(b"\r\n", 1)[0].rsplit(b"/", 2)[-2]


def measured(name, binary, folder, options):
    port, tls_port = free_port(), free_port()
    path = configuration(folder, options, port, tls_port)
    command = [binary, "-p", folder, "-c", path]
    begun = time.monotonic()
    done = subprocess.run([*map(str, command), "-t"], capture_output=True, text=True)
    found = {"check_s": time.monotonic() - begun}
    if done.returncode:
        raise SystemExit(f"{name} -t: {done.stderr[-2000:]}")
    begun = time.monotonic()
    process = subprocess.Popen([*map(str, command), "-g", "daemon off;"], stderr=subprocess.DEVNULL)
    last = f"host{options.servers - 1}.example"
    try:
        def answers():
            if process.poll() is not None:
                raise SystemExit(f"{name} ended: {(folder / 'error.log').read_text()[-2000:]}")
            try:
                return generation(port, last) == b"new"
            except OSError:
                return False
        wait_until(answers, f"{name} start", 120, PAUSE)
        found["start_s"] = time.monotonic() - begun
        expected = ssl.PEM_cert_to_DER_cert((folder / "pairs" / f"{options.servers - 1}.crt").read_text())
        assert certificate_of(tls_port, last) == expected, "wrong certificate"
        time.sleep(1)
        found["memory_mb"] = proportional_bytes(process.pid) / 2**20
        reloads, memory, slowest, p99 = [], [], 0, []
        for number in range(RELOADS):
            label = f"new{number}"
            path.write_text(path.read_text().replace(
                "/new/;" if not number else f"/new{number - 1}/;", f"/{label}/;"))
            visitor = Visitor(port, last)
            visitor.start()
            time.sleep(0.3)
            begun = time.monotonic()
            process.send_signal(signal.SIGHUP)
            wait_until(lambda label=label: generation(port, last) == label.encode(), f"{name} reload", 120, PAUSE)
            reloads.append(time.monotonic() - begun)
            time.sleep(0.5)
            visitor.over.set()
            visitor.join()
            if visitor.wrong or not visitor.asked:
                raise SystemExit(f"{name}: requests failed during the reload: {visitor.wrong[:3]}")
            slowest = max(slowest, visitor.slowest_ms)
            p99.append(sorted(visitor.times)[len(visitor.times) * 99 // 100])
            time.sleep(1.5)
            memory.append(proportional_bytes(process.pid) / 2**20)
        found.update(reload_s=max(reloads), slowest_ms=slowest, p99_ms=max(p99), reloaded_mb=memory[-1])
    finally:
        process.terminate()
        process.wait(30)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=5000)
    parser.add_argument("--locations", type=int, default=50000)
    parser.add_argument("--binary", type=pathlib.Path, default=MYRIAD)
    parser.add_argument("--only", default="nginx,myriad")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the files, reused by the next run")
    options = parser.parse_args()
    folder = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="myriad-scale-"))
    exceeded = []
    try:
        pairs = folder / "pairs"
        if not (pairs / f"{options.servers - 1}.key").exists():
            pairs.mkdir(parents=True, exist_ok=True)
            certificates(pairs, options.servers)
        folder.chmod(0o755)
        print(f"{options.servers} servers with a certificate each, {options.locations} locations")
        print(f"{'':10}{'-t':>9}{'start':>9}{'reload':>9}{'slowest hit':>14}{'99% of hits':>14}{'memory':>10}{'after reloads':>15}")
        for name in options.only.split(","):
            binary = program("nginx") if name == "nginx" else options.binary.resolve()
            found = measured(name, binary, folder, options)
            print(f"{name:10}{found['check_s']:7.2f} s{found['start_s']:7.2f} s{found['reload_s']:7.2f} s"
                  f"{found['slowest_ms']:11.1f} ms{found['p99_ms']:11.2f} ms{found['memory_mb']:7.0f} MB{found['reloaded_mb']:12.0f} MB", flush=True)
            if name != "nginx":
                exceeded += [f"{key} {found[key]:.2f}, bound {bound}" for key, bound in BOUNDS.items() if found[key] > bound]
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    for line in exceeded:
        print("exceeds:", line)
    sys.exit(1 if exceeded else 0)


if __name__ == "__main__":
    main()
