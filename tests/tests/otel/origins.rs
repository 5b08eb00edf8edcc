//! Propagation to gRPC servers, and spans of the queue before an origin.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use myriad_tests::{HttpOrigin, Place, Request, Server, wait_for};

use super::export::{Collector, http, server};
use super::{PARENT, TRACE, sent, traced};

/// gRPC server that responds with the trace context that it received, and a client with a trace context, which waits
/// for the port of Myriad.
const GRPC: &str = "import grpc, sys, concurrent.futures as futures
def told(request, context):
    return dict(context.invocation_metadata()).get('traceparent', 'none').encode()
server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('test.Test', {'Told': grpc.unary_unary_rpc_method_handler(told)}),))
print(server.add_insecure_port('127.0.0.1:0'), flush=True)
server.start()
channel = grpc.insecure_channel('127.0.0.1:' + sys.stdin.readline().strip())
print(channel.unary_unary('/test.Test/Told')(b'', timeout=20, metadata=(('traceparent', sys.argv[1]),)).decode(), flush=True)
";

#[test]
fn grpc_servers_get_trace_context_and_their_calls_are_spans() {
    use std::io::{BufRead, BufReader, Write};
    let place = Place::new();
    let collector = Collector::start(&place, "grpc", 0);
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", GRPC, &sent("01")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = command.spawn().expect("python3");
    let mut lines = BufReader::new(python.stdout.take().expect("its output")).lines();
    let mut line = || lines.next().expect("a line of python3-grpcio").expect("text");
    let locations =
        format!("http2 on; otel_trace_context propagate; location / {{ grpc_pass 127.0.0.1:{}; }}", line());
    let server = Server::start(place, &http(&collector, "", "", &locations));
    let mut input = python.stdin.take().expect("its input");
    writeln!(input, "{}", server.port).expect("the client reads");
    let told = line();
    drop(input);
    assert!(python.wait().expect("the client exits").success());
    let span = &collector.servers(1)[0];
    assert_eq!(told, format!("00-{TRACE}-{}-01", span["span"].as_str().expect("an id")));
    assert_eq!(span["parent"], PARENT);
    let parts = collector.parts(span);
    assert_eq!(parts.len(), 1, "{parts:#?}");
    assert_eq!(parts[0]["kind"], 3);
    assert_eq!(parts[0]["attributes"]["http.response.status_code"], 200);
    assert_eq!(parts[0]["attributes"]["server.address"], "127.0.0.1");
}

#[test]
fn wait_in_origin_queue_is_span_of_waiting_request() {
    let (let_go, held) = channel::<()>();
    let held = Mutex::new(held);
    let origin = HttpOrigin::start(move |call| {
        if call.target == "/slow" {
            let _ = held.lock().expect("a lock").recv();
        }
        call.answer("HTTP/1.1 200 OK", "page");
    });
    let locations = format!(
        "location / {{ origin_queue zone=one concurrency=1 queue=4; proxy_pass http://{}; }}
        location = /metrics {{ otel_trace off; metrics; }}",
        origin.address
    );
    let (collector, server) = server("", "", &locations);
    let (mut first, mut second) = (server.connect(), server.connect());
    first.send(Request::get("/slow").bytes());
    wait_for("the origin's only place", || origin.count() == 1);
    second.send(traced("/waits").bytes());
    wait_for("one who waits", || {
        server.get("/metrics").text().contains("myriad_origin_queue_waiting{queue=\"one\"} 1")
    });
    let_go.send(()).expect("the origin waits");
    assert_eq!([first.answer().text(), second.answer().text()], ["page", "page"]);
    let spans = collector.servers(2);
    let parts = |target: &str| {
        let span = spans.iter().find(|span| span["attributes"]["http.target"] == target).expect("its span");
        let parts = collector.parts(span);
        parts.iter().map(|part| part["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(parts("/slow"), ["GET"]);
    assert_eq!(parts("/waits"), ["origin_queue", "GET"]);
}
