"""TLS: handshakes, compared with a minimal rustls server, and idle connections."""

import json
import socket
import ssl
import subprocess
import time

import load
from servers import CONF, HERE, Server, Unavailable, fill, myriad_binary, program

FOLDER = HERE / "tls"
BARE = FOLDER / "target" / "release" / "tls-bare"
LOAD = FOLDER / "target" / "release" / "tls-load"
THREADS = 16
IDLE_CONNECTIONS = 2000


def build():
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", "target"], cwd=FOLDER, check=True)


def starter(command):
    """Returns a function that starts nginx, Myriad or the minimal server for `full` or `resumed` handshakes."""
    def start(stand, server, mode="full"):
        certificate = stand.certificate()
        if command == "bare":
            if not BARE.exists():
                raise Unavailable("bench/tls is not built")
            return server.spawn([BARE, server.port, certificate, mode], server.port)
        path = server.folder / "server.conf"
        path.write_text(fill(CONF / "handshake.conf", {
            **stand.values(server), "certificate": certificate, "tickets": "on" if mode == "resumed" else "off"}))
        binary = program("nginx") if command == "nginx" else myriad_binary()
        return server.spawn([binary, "-p", server.folder, "-c", path, "-e", server.folder / "error.log"], server.port)
    return start


# Names as in the table.
SERVERS = {"myriad": starter("myriad"), "nginx-recipe": starter("nginx"), "floor": starter("bare")}


def handshakes(bench, row):
    """Measures the CPU time per handshake in alternating rounds, into results[row][server]."""
    build()
    running, samples = {}, {}
    for name, start in SERVERS.items():
        if bench.options.servers and name not in (*bench.options.servers, "floor"):
            continue
        server = Server(f"handshake-{name}", bench.stand.folder, 1, bench.stand.cores)
        try:
            start(bench.stand, server, row.path)
            running[name], samples[name] = server, []
            measured(bench, server, row.path)  # warm up
        except (Unavailable, load.Wrong) as problem:
            bench.note(row, name, problem)
            running.pop(name, None)
            samples.pop(name, None)
    try:
        for number in range(bench.options.rounds):
            order = list(running)
            turn = number % len(order)
            for name in order[turn:] + order[:turn]:
                samples[name].append(measured(bench, running[name], row.path))
    finally:
        for server in running.values():
            server.stop()
    for name, taken in samples.items():
        bench.results[row.name][name] = bench.summary(name, taken)


def measured(bench, server, mode):
    before, client_before = server.cpu(), load.ended_children()
    command = ["taskset", "--cpu-list", bench.client_cores(server), LOAD, server.port, mode, bench.options.seconds, THREADS]
    report = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
    spent, client_spent = server.cpu() - before, load.ended_children() - client_before
    done = report["handshakes"]
    if not done or report["failed"] > done / 100:
        raise load.Wrong(f"{report['failed']} handshakes failed, {done} succeeded")
    return {"requests": done, "bytes": 0, "cpu_us": spent * 1e6 / done, "per_second": done / report["seconds"], "p99_us": 0,
            "busy": spent / report["seconds"], "client_busy": client_spent / report["seconds"],
            "status_errors": 0, "socket_errors": report["failed"]}


def idle(bench, row, running):
    """Measures the memory of an idle connection that had one response, into results[row][server]."""
    count = min(bench.options.idle, IDLE_CONNECTIONS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = load.request_bytes(row.path, row.fields)
    for name, server in running.items():
        connections = []
        try:
            bench.checked(row, server)
            connect(server, context, request)  # memory that is allocated once
            before = server.memory()
            for _ in range(count):
                connections.append(connect(server, context, request))
            time.sleep(1)
            each = (server.memory() - before) / count / 1024
        except (load.Wrong, OSError) as problem:
            bench.note(row, name, problem)
            continue
        finally:
            for connection in connections:
                connection.close()
        bench.results[row.name][name] = {"tls_kilobytes_each": each}
        print(f"    {name:14} {each:6.2f} KB each")


def connect(server, context, request):
    plain = socket.create_connection(("127.0.0.1", server.tls_port), timeout=30)
    connection = context.wrap_socket(plain, server_hostname=load.HOST)
    connection.sendall(request)
    if load.read_response(connection)[1] != 200:
        raise load.Wrong("an idle connection's first request failed")
    return connection


def judge_idle(mine, _results, _row, target):
    subject, _, kilobytes = target
    each = mine["tls_kilobytes_each"]
    return f"{subject}: at most {kilobytes:.0f} KB each", f"{each:.2f} KB", each <= kilobytes


def check(server, path, fields, reference):
    """Raises unless curl gets the expected page over TLS."""
    body = load.curl_tls(server, path, fields, "--http1.1", "--compressed").stdout
    load.must_be_page(body, reference, "TLS")
