//! Python's gRPC client and server with Myriad between them.
//!
//! covers: grpc_pass health_check

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use myriad_tests::{Place, Server, Signal, binary, signal, wait_for};

/// Server with raw bytes as messages; it writes its port to a file.
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
def name(request, context): return sys.argv[1].encode()
def fails(request, context):
    context.abort(grpc.StatusCode.NOT_FOUND, 'no such thing')
H = {'Unary': grpc.unary_unary_rpc_method_handler(unary), 'Stream': grpc.unary_stream_rpc_method_handler(stream),
     'Both': grpc.stream_stream_rpc_method_handler(both), 'Fails': grpc.unary_unary_rpc_method_handler(fails),
     'Name': grpc.unary_unary_rpc_method_handler(name)}
def check(request, context):
    if request != b'\\x0a\\x04test': context.abort(grpc.StatusCode.INVALID_ARGUMENT, repr(request))
    return b'\\x08\\x02' if os.path.exists(sys.argv[1] + '.sick') else b'\\x08\\x01'
C = {'Check': grpc.unary_unary_rpc_method_handler(check)}
server = grpc.server(futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('test.Test', H),))
if len(sys.argv) > 2: server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('grpc.health.v1.Health', C),))
port = server.add_insecure_port('127.0.0.1:0')
server.start()
with open(sys.argv[1] + '.new', 'w') as file: file.write(str(port))
os.rename(sys.argv[1] + '.new', sys.argv[1])
server.wait_for_termination()
";

/// Client that receives the port of Myriad and prints the responses.
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

/// Returns the Python of Debian, which has the package.
fn python() -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

/// Running server; killed on drop.
struct Grpc {
    process: Child,
    address: String,
    /// File that makes its health check fail.
    sick: PathBuf,
}

impl Grpc {
    /// Starts a server with this name; with `says_health` it serves the service `test` of the health checking protocol.
    fn start(place: &mut Place, name: &str, says_health: bool) -> Self {
        place.write("server.py", SERVER);
        let told = place.folder().join(name);
        let mut command = python();
        command.arg(place.folder().join("server.py")).arg(&told).args(says_health.then_some("health"));
        let process = command.stdout(Stdio::null()).spawn().expect("python3");
        wait_for("the server of the package python3-grpcio", || told.exists());
        let address = format!("127.0.0.1:{}", std::fs::read_to_string(&told).expect("a port"));
        place.set(&name.to_uppercase(), &address);
        Self { process, address, sick: place.folder().join(format!("{name}.sick")) }
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        signal(self.process.id(), Signal::KILL);
        let _ = self.process.wait();
    }
}

#[test]
fn calls_of_every_kind_pass() {
    let mut place = Place::new();
    let _grpc = Grpc::start(&mut place, "grpc", false);
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

/// Client that requests the name of the server ten times.
const WHO: &str = "import grpc, os, sys
channel = grpc.insecure_channel('127.0.0.1:' + sys.argv[1])
who = channel.unary_unary('/test.Test/Name')
print(''.join(sorted(os.path.basename(who(b'', timeout=20)).decode() for number in range(10))))
";

fn who_answers(server: &Server) -> String {
    let output = python().args(["-c", WHO, &server.port.to_string()]).output().expect("python3");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the state of a server from `myriad upstream ls`.
fn state_of(server: &Server, address: &str) -> String {
    let mut command = Command::new(binary());
    command.args(["upstream", "ls", "pair", address, "--json", "-p"]).arg(server.folder());
    let output = command.args(["-c", "myriad.conf"]).output().expect("myriad starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, state) = told.split_once("\"state\":\"").unwrap_or_default();
    state.split('"').next().unwrap_or_default().to_owned()
}

/// Starts two servers, a and b, with these parameters of `health_check`.
fn checked(mut place: Place, words: &str, says_health: bool) -> (Server, [Grpc; 2]) {
    let servers = ["a", "b"].map(|name| Grpc::start(&mut place, name, says_health));
    let http = format!(
        "upstream pair {{ server @A@; server @B@; }}
         server {{ listen 127.0.0.1:@PORT@; http2 on; location / {{ grpc_pass grpc://pair; health_check interval=20ms {words}; }} }}"
    );
    (Server::start(place, &http), servers)
}

#[test]
fn grpc_servers_that_report_not_serving_get_no_calls() {
    for words in ["mandatory type=grpc grpc_service=test", "keepalive_time=1m type=grpc grpc_service=test"] {
        let (server, [a, b]) = checked(Place::new(), words, true);
        wait_for("both", || [&a, &b].iter().all(|one| state_of(&server, &one.address) == "up"));
        assert_eq!(who_answers(&server), "aaaaabbbbb");
        std::fs::write(&b.sick, "").expect("written");
        let log = format!(
            "server {} of upstream \"pair\" is unhealthy: it reports that it is not serving",
            b.address
        );
        server.log_has(&log);
        assert_eq!(who_answers(&server), "aaaaaaaaaa");
        std::fs::remove_file(&b.sick).expect("removed");
        server.log_has(&format!("server {} of upstream \"pair\" is healthy", b.address));
        assert_eq!(who_answers(&server), "aaaaabbbbb");
    }
}

#[test]
fn servers_that_do_not_know_the_protocol_are_well_where_that_status_is() {
    let (server, [a, _b]) = checked(Place::new(), "type=grpc", false);
    let why = "it responded with gRPC status 12, \"Method not found!\"";
    server.log_has(&format!("server {} of upstream \"pair\" is unhealthy: {why}", a.address));
    drop(server);
    let (server, [a, b]) = checked(Place::new(), "mandatory passes=3 type=grpc grpc_status=12", false);
    wait_for("both", || [&a, &b].iter().all(|one| state_of(&server, &one.address) == "up"));
    assert_eq!(who_answers(&server), "aaaaabbbbb");
}
