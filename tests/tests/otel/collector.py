"""Collector of traces: receives OTLP over gRPC (python3-grpcio) or over HTTP, decodes it with Debian's python3-protobuf, and appends a line
of JSON to FILE for each resource of a batch.

    collector.py grpc|tls|http FILE PORT [CERTIFICATE KEY]

PORT 0 selects a free port. The port is written to FILE.port when it listens. While FILE.sick exists, batches are rejected as unavailable;
while FILE.picky exists, one span of each batch is reported as rejected.
"""

import concurrent.futures
import http.server
import json
import os
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
KINDS = {
    "text": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES, "flag": FIELD.TYPE_BOOL, "int64": FIELD.TYPE_INT64,
    "double": FIELD.TYPE_DOUBLE, "fixed64": FIELD.TYPE_FIXED64, "fixed32": FIELD.TYPE_FIXED32, "enum": FIELD.TYPE_INT32,
}
# From opentelemetry-proto 1.3: trace.proto, common.proto, resource.proto, trace_service.proto.
MESSAGES = {
    "AnyValue": "1 string_value text|2 bool_value flag|3 int_value int64|4 double_value double|5 array_value ArrayValue",
    "ArrayValue": "1 values AnyValue*",
    "KeyValue": "1 key text|2 value AnyValue",
    "Resource": "1 attributes KeyValue*",
    "Scope": "1 name text|2 version text",
    "Event": "1 time_unix_nano fixed64|2 name text|3 attributes KeyValue*",
    "Status": "2 message text|3 code enum",
    "Span": "1 trace_id bytes|2 span_id bytes|3 trace_state text|4 parent_span_id bytes|5 name text|6 kind enum"
            "|7 start_time_unix_nano fixed64|8 end_time_unix_nano fixed64|9 attributes KeyValue*|11 events Event*"
            "|15 status Status|16 flags fixed32",
    "ScopeSpans": "1 scope Scope|2 spans Span*",
    "ResourceSpans": "1 resource Resource|2 scope_spans ScopeSpans*",
    "Request": "1 resource_spans ResourceSpans*",
    "Partial": "1 rejected_spans int64|2 error_message text",
    "Response": "1 partial_success Partial",
}


def classes():
    file = descriptor_pb2.FileDescriptorProto(name="otlp.proto", package="otlp", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for field in fields.split("|"):
            number, called, kind = field.split()
            repeated = kind.endswith("*")
            made = message.field.add(
                name=called, number=int(number), label=FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL)
            if name == "AnyValue":
                made.oneof_index = 0
            if kind in KINDS:
                made.type = KINDS[kind]
            else:
                made.type, made.type_name = FIELD.TYPE_MESSAGE, ".otlp." + kind.rstrip("*")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = lambda name: pool.FindMessageTypeByName("otlp." + name)
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return make(find("Request")), make(find("Response"))


Request, Response = classes()
MODE, FILE, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def value(of):
    kind = of.WhichOneof("value")
    if kind == "array_value":
        return [value(one) for one in of.array_value.values]
    return getattr(of, kind) if kind else None


def attributes(of):
    keys = [one.key for one in of]
    assert len(set(keys)) == len(keys), keys
    return {one.key: value(one.value) for one in of}


def span(of):
    return {
        "trace": of.trace_id.hex(), "span": of.span_id.hex(), "parent": of.parent_span_id.hex(), "state": of.trace_state,
        "name": of.name, "kind": of.kind, "start": of.start_time_unix_nano, "end": of.end_time_unix_nano,
        "attributes": attributes(of.attributes), "status": of.status.code, "flags": of.flags,
        "events": {one.name: one.time_unix_nano for one in of.events},
    }


def take(message, fields):
    """Writes a batch to the file, and returns the response."""
    request = Request.FromString(message)
    for resource in request.resource_spans:
        line = {
            "fields": fields, "resource": attributes(resource.resource.attributes),
            "scope": [scope.scope.name for scope in resource.scope_spans],
            "spans": [span(one) for scope in resource.scope_spans for one in scope.spans],
        }
        with open(FILE, "a") as file:
            file.write(json.dumps(line) + "\n")
    answer = Response()
    if os.path.exists(FILE + ".picky"):
        answer.partial_success.rejected_spans = 1
        answer.partial_success.error_message = "too old"
    return answer.SerializeToString()


def listening(port):
    with open(FILE + ".port.new", "w") as file:
        file.write(str(port))
    os.rename(FILE + ".port.new", FILE + ".port")


def export(message, context):
    if os.path.exists(FILE + ".sick"):
        context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
    return take(message, {key: value for key, value in context.invocation_metadata() if isinstance(value, str)})


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = self.rfile.read(int(self.headers["Content-Length"]))
        sick = os.path.exists(FILE + ".sick") or self.path != "/v1/traces"
        answer = b"" if sick else take(message, {key.lower(): value for key, value in self.headers.items()})
        self.send_response(503 if sick else 200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if MODE == "http":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Page)
    listening(server.server_address[1])
    server.serve_forever()
else:
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    method = grpc.unary_unary_rpc_method_handler(export)
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))
    if MODE == "tls":
        certificate, key = (open(name, "rb").read() for name in sys.argv[4:6])
        port = server.add_secure_port(f"127.0.0.1:{PORT}", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port(f"127.0.0.1:{PORT}")
    server.start()
    listening(port)
    server.wait_for_termination()
