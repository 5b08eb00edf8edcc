"""Sends requests to php-fpm over its Unix socket, without a web server."""

import socket
import struct

BEGIN, PARAMS, STDIN, STDOUT, STDERR, END = 1, 4, 5, 6, 7, 3
MAX_RECORD = 65528


def _record(kind, content):
    return struct.pack("!BBHHBx", 1, kind, 1, len(content), 0) + content


def _records(kind, content):
    pieces = [content[at : at + MAX_RECORD] for at in range(0, len(content), MAX_RECORD)]
    return b"".join(_record(kind, piece) for piece in [*pieces, b""])


def _length(value):
    return bytes([len(value)]) if len(value) < 128 else struct.pack("!I", len(value) | 1 << 31)


def _encode(params):
    pairs = [(name.encode(), str(value).encode()) for name, value in params.items()]
    return b"".join(_length(name) + _length(value) + name + value for name, value in pairs)


def _read_output(connection):
    """Returns the standard output of the script; php-fpm writes its error messages to another stream."""
    output, buffer = [], b""
    while True:
        while len(buffer) < 8 or len(buffer) < 8 + sum(struct.unpack("!HB", buffer[4:7])):
            piece = connection.recv(65536)
            if not piece:
                return b"".join(output)
            buffer += piece
        length, padding = struct.unpack("!HB", buffer[4:7])
        kind, content = buffer[1], buffer[8 : 8 + length]
        buffer = buffer[8 + length + padding :]
        if kind == STDOUT:
            output.append(content)
        elif kind == END:
            return b"".join(output)


def request(socket_path, params, body=b"", timeout=60):
    """Returns status, header fields (lists of name and value, lower-case names) and body of the response of a script."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout)
        connection.connect(str(socket_path))
        begin = _record(BEGIN, struct.pack("!HB5x", 1, 0))
        connection.sendall(begin + _records(PARAMS, _encode(params)) + _records(STDIN, body))
        output = _read_output(connection)
    head, _, content = output.partition(b"\r\n\r\n")
    fields = []
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        fields.append((name.strip().lower(), value.strip()))
    status = int(dict(fields).get("status", "200").split()[0])
    return status, fields, content
