//! uwsgi: a real Python server, and a server that records its input.
//!
//! covers: uwsgi_pass uwsgi_param uwsgi_modifier1 uwsgi_modifier2 uwsgi_cache uwsgi_cache_path uwsgi_cache_key uwsgi_cache_valid

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use myriad_tests::{Place, Request, Server, Signal, signal, wait_for};

/// Application that responds with its variables and the number of its requests.
const APPLICATION: &str = "count = 0
def application(environ, start_response):
    global count
    count += 1
    body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))
    start_response('201 Made', [('Content-Type', 'text/plain'), ('X-Count', str(count))])
    said = [environ['REQUEST_METHOD'], environ['PATH_INFO'], environ['QUERY_STRING'], environ.get('HTTP_X_OWN', '-')]
    return [(' '.join(said) + ' ').encode(), body]
";

/// Running server; killed on drop.
struct Uwsgi(Child);

impl Uwsgi {
    fn start(place: &mut Place) -> Self {
        place.write("app.py", APPLICATION);
        let socket = place.folder().join("uwsgi.sock");
        place.set("UWSGI", &format!("unix:{}", socket.display()));
        let mut command = Command::new("uwsgi");
        command.args([
            "--plugin",
            "python3",
            "--master",
            "--die-on-term",
            "--chmod-socket=666",
            "--wsgi-file",
        ]);
        command.arg(place.folder().join("app.py")).arg("--socket").arg(&socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = command.spawn().expect("the uwsgi server of the package uwsgi");
        wait_for("uwsgi", || UnixStream::connect(&socket).is_ok());
        Self(child)
    }
}

impl Drop for Uwsgi {
    fn drop(&mut self) {
        signal(self.0.id(), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn an_application_of_python_answers_and_is_cached() {
    let mut place = Place::new();
    let _uwsgi = Uwsgi::start(&mut place);
    let http = "uwsgi_cache_path @DIR@/zone keys_zone=z:1m; include uwsgi_params;
         server { listen 127.0.0.1:@PORT@;
         location / { uwsgi_pass @UWSGI@; }
         location /kept { uwsgi_pass uwsgi://@UWSGI@; uwsgi_cache z; uwsgi_cache_key $uri; uwsgi_cache_valid 201 1m; } }";
    let server = Server::start(place, http);
    let answer = server.fetch(&Request::get("/a%20b?c=d").field("X-Own", "e"));
    assert_eq!((answer.status, answer.text().as_str()), (201, "GET /a b c=d e "));
    let answer = server.fetch(&Request::post("/form", "x".repeat(100_000)));
    assert_eq!((answer.status, answer.text().len()), (201, "POST /form  - ".len() + 100_000));
    let kept = || server.fetch(&Request::get("/kept"));
    let (first, second) = (kept(), kept());
    assert_eq!(first.field("X-Count"), second.field("X-Count"));
}

#[test]
fn a_packet_has_its_modifiers() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut place = Place::new();
    place.set("ORIGIN", &listener.local_addr().expect("an address").to_string());
    let origin = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut head = [0; 4];
        stream.read_exact(&mut head).expect("a head");
        let mut pairs = vec![0; usize::from(u16::from_le_bytes([head[1], head[2]]))];
        stream.read_exact(&mut pairs).expect("pairs");
        stream
            .write_all(b"HTTP/1.1 404 Not There\r\nStatus: 200 OK\r\nX-A: b\r\n\r\nnone")
            .expect("an answer");
        let _ = stream.shutdown(Shutdown::Both);
        (head, pairs)
    });
    let http = "server { listen 127.0.0.1:@PORT@; location / {
         uwsgi_modifier1 5; uwsgi_modifier2 7; uwsgi_param A bc; uwsgi_pass_request_headers off; uwsgi_pass @ORIGIN@; } }";
    let server = Server::start(place, http);
    let answer = server.fetch(&Request::get("/"));
    assert_eq!((answer.status, answer.text().as_str(), answer.field("Status")), (404, "none", None));
    let (head, pairs) = origin.join().expect("the origin");
    assert_eq!((head[0], head[3], pairs.as_slice()), (5, 7, &b"\x01\0A\x02\0bc"[..]));
}
