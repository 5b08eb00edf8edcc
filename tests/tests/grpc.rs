//! gRPC's own client and server, of Python, with Myriad between them.
//!
//! covers: grpc_pass

use std::process::{Child, Command, Stdio};

use myriad_tests::{Place, Server, Signal, signal, wait_for};

/// The server, whose messages are bytes as they are; it writes its port into a file.
const SERVER: &str = "import grpc, os, sys, concurrent.futures as futures
def unary(request, context):
    context.set_trailing_metadata((('x-sum', str(len(request))),))
    return request[::-1]
def stream(request, context):
    for number in range(int(request)):
        yield b'%d' % number
def both(requests, context):
    for request in requests:
        yield b'got ' + request
def fails(request, context):
    context.abort(grpc.StatusCode.NOT_FOUND, 'no such thing')
H = {'Unary': grpc.unary_unary_rpc_method_handler(unary), 'Stream': grpc.unary_stream_rpc_method_handler(stream),
     'Both': grpc.stream_stream_rpc_method_handler(both), 'Fails': grpc.unary_unary_rpc_method_handler(fails)}
server = grpc.server(futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('test.Test', H),))
port = server.add_insecure_port('127.0.0.1:0')
server.start()
with open(sys.argv[1] + '.new', 'w') as file: file.write(str(port))
os.rename(sys.argv[1] + '.new', sys.argv[1])
server.wait_for_termination()
";

/// The client, which is told the port of Myriad and says what it got.
const CLIENT: &str = "import grpc, sys, queue
channel = grpc.insecure_channel('127.0.0.1:' + sys.argv[1])
def method(kind, name): return getattr(channel, kind)('/test.Test/' + name)
answer, call = method('unary_unary', 'Unary').with_call(b'abc', timeout=20)
print(answer, [value for key, value in call.trailing_metadata() if key == 'x-sum'])
large = b'x' * 3000000
print(method('unary_unary', 'Unary')(large, timeout=20) == large)
numbers = list(method('unary_stream', 'Stream')(b'2000', timeout=20))
print(len(numbers), numbers[-1])
asked = queue.Queue()
talk = method('stream_stream', 'Both')(iter(asked.get, None), timeout=20)
for number in range(3):
    asked.put(b'%d' % number)
    print(next(talk))
asked.put(None)
print(list(talk))
for name in 'Fails', 'None':
    try: method('unary_unary', name)(b'', timeout=20)
    except grpc.RpcError as error: print(error.code().name, error.details())
calls = [method('unary_unary', 'Unary').future(b'%d' % number, timeout=20) for number in range(200)]
print(all(call.result() == (b'%d' % number)[::-1] for number, call in enumerate(calls)))
try: channel.unary_unary('/down/Unary')(b'', timeout=20)
except grpc.RpcError as error: print(error.code().name)
";

/// Debian's Python, which has the package.
fn python() -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

/// The server, ended with what stands for it.
struct Grpc(Child);

impl Grpc {
    fn start(place: &mut Place) -> Self {
        place.write("server.py", SERVER);
        let told = place.folder().join("grpc.port");
        let script = place.folder().join("server.py");
        let child = python().arg(script).arg(&told).stdout(Stdio::null()).spawn().expect("python3");
        wait_for("the server of the package python3-grpcio", || told.exists());
        let port = std::fs::read_to_string(&told).expect("a port");
        place.set("GRPC", &format!("127.0.0.1:{port}"));
        Self(child)
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        signal(self.0.id(), Signal::KILL);
        let _ = self.0.wait();
    }
}

#[test]
fn calls_of_every_kind_pass() {
    let mut place = Place::new();
    let _grpc = Grpc::start(&mut place);
    place.write("client.py", CLIENT);
    let script = place.folder().join("client.py");
    let http = "client_max_body_size 8m;
        server { listen 127.0.0.1:@PORT@; http2 on;
            location / { grpc_pass grpc://@GRPC@; }
            location /down/ { grpc_pass 127.0.0.1:1; error_page 502 = /unavailable; }
            location = /unavailable { internal; default_type application/grpc; add_header grpc-status 14; return 204; } }";
    let server = Server::start(place, http);
    let output = python().arg(script).arg(server.port.to_string()).output().expect("python3");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "b'cba' ['3']
True
2000 b'1999'
b'got 0'
b'got 1'
b'got 2'
[]
NOT_FOUND no such thing
UNIMPLEMENTED Method not found!
True
UNAVAILABLE
";
    assert_eq!(said, expected);
}
