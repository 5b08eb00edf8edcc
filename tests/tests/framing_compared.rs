//! Generated HTTP/1 requests, sent to Myriad, nginx and Apache in front of one origin that reports how it parsed them.
//! If two of them forward a request, they must have parsed it alike, because a difference between two parsers permits
//! request smuggling.
//!
//! `MYRIAD_FRAMING_CASES=20000 cargo test -p myriad-tests --test framing_compared -- --nocapture` runs more cases than
//! `make test`, and lists the differences. A case is defined by its number, which determines its bytes.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use fastrand::Rng;
use myriad_tests::{Client, HttpOrigin, Place, Server};

/// Number of concurrent cases: a case mostly waits for a body that never arrives.
const THREADS: usize = 24;

/// Interpretation of the bytes of a connection by a front server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// Requests that reached the origin, as the origin parsed them.
    passed: Vec<String>,
    /// Status with which the connection was rejected; `None` if the server waited for more, or closed as requested.
    refused: Option<u16>,
}

fn pick<'a>(rng: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[rng.usize(..choices.len())]
}

/// Returns mostly the usual text and sometimes another, so that most cases have one anomaly.
fn mostly<'a>(rng: &mut Rng, usual: &'a str, odd: &[&'a str]) -> &'a str {
    if rng.u8(..12) == 0 { pick(rng, odd) } else { usual }
}

fn line_end(rng: &mut Rng) -> &'static str {
    mostly(rng, "\r\n", &["\n", "\r", "\r\r\n", " \r\n", "\n\r\n", "\0\r\n", "\x0b\r\n"])
}

fn framing(rng: &mut Rng, length: usize) -> Vec<String> {
    let name = mostly(
        rng,
        "Content-Length",
        &["content-length", "Content-Length ", "Content_Length", " Content-Length", "Content-Length\t"],
    );
    let blank = mostly(rng, " ", &["", "  ", "\t", "\x0b", "\r\n ", "\n "]);
    let odd_length = pick(rng, &["+", "-", "0x", "0", "00", " ", "1", ""]);
    let tail = mostly(rng, "", &[" ", ", 3", ",", " 3", ".0", "\t", "a"]);
    let prefix = if rng.u8(..12) == 0 { odd_length } else { "" };
    let by_length = format!("{name}:{blank}{prefix}{length}{tail}");
    let name = mostly(
        rng,
        "Transfer-Encoding",
        &["transfer-encoding", "Transfer-Encoding ", "Transfer_Encoding", "\tTransfer-Encoding"],
    );
    let coding = mostly(
        rng,
        "chunked",
        &[
            "Chunked",
            "xchunked",
            "chunked, identity",
            "identity, chunked",
            "chunked;a=b",
            "\"chunked\"",
            "chunked,",
            ", chunked",
            "gzip, chunked",
            "chunked, chunked",
            "identity",
            "",
            "chunked\x0b",
            "\x0bchunked",
            "chunked\0",
            "chunked\t",
        ],
    );
    let by_chunks = format!("{name}:{}{coding}", mostly(rng, " ", &["", "\t", "\r\n ", "\n "]));
    match rng.u8(..16) {
        0..=5 => vec![by_length],
        6..=11 => vec![by_chunks],
        12 => vec![by_length, by_chunks],
        13 => vec![by_chunks, by_length],
        14 => vec![by_length.clone(), by_length],
        _ => vec![by_length, format!("Content-Length: {}", length + 1)],
    }
}

fn chunked(rng: &mut Rng, data: &str) -> String {
    let mut body = String::new();
    let mut rest = data;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rng.usize(1..=rest.len()));
        rest = after;
        let sign = mostly(rng, "", &["+", "-", "0x", " ", "0", "000000000000000000", "\t"]);
        let size = if rng.bool() { format!("{:x}", piece.len()) } else { format!("{:X}", piece.len()) };
        let extension = mostly(
            rng,
            "",
            &[
                ";a",
                ";a=b",
                "; a = \"b\"",
                ";",
                ";;",
                " ",
                "\t",
                ";a=\"\r\n\"",
                ";a\rb",
                ";a\nb",
                " ;a",
                "a",
                ";\"",
                ";a=\0",
                ";a=b c",
                "_",
            ],
        );
        let end = mostly(rng, "\r\n", &["\n", "\r", "\r\r\n", "", "\n\n", "\r\n\r\n"]);
        let terminator = mostly(rng, "\r\n", &["\n", "\r", "", "\r\r", "\n\n", "XX", "X\r\n"]);
        let _ = write!(body, "{sign}{size}{extension}{end}{piece}{terminator}");
    }
    let last =
        mostly(rng, "0\r\n", &["0\n", "00\r\n", "0;a\r\n", "0 \r\n", "\r\n", "0\r", "-0\r\n", "0x0\r\n"]);
    let trailer = mostly(
        rng,
        "",
        &["X-T: a\r\n", "Content-Length: 5\r\n", "X-T: a\n", "bad\r\n", " X: a\r\n", "X-T: a\r\n b\r\n"],
    );
    let end = mostly(rng, "\r\n", &["\n", "\r", "\r\r\n", ""]);
    body + last + trailer + end
}

/// Returns the bytes of a connection: a request that may be unusual, and a second request.
fn connection(number: u64) -> Vec<u8> {
    let rng = &mut Rng::with_seed(number);
    let usual = pick(rng, &["POST", "GET", "PUT", "OPTIONS"]);
    let method = mostly(rng, usual, &["post", "P\tOST", "PO(ST", "\nPOST", "\r\nPOST", " POST"]);
    let target = mostly(
        rng,
        "/first",
        &["/first?a", "http://a/first", "first", "*", "/first#x", "/fi rst", "/first\t", "/\x7f", "/first%"],
    );
    let version = mostly(
        rng,
        "HTTP/1.1",
        &[
            "HTTP/1.0",
            "HTTP/1.2",
            "HTTP/2.0",
            "http/1.1",
            "HTTP/1.10",
            "HTTP/01.1",
            "HTTP/1.1 ",
            "",
            "HTTP /1.1",
        ],
    );
    let data = "GET /hidden HTTP/1.1\r\nHost: a\r\nX: ";
    let data = if rng.bool() { data } else { "12345" };
    let mut text = format!(
        "{method}{}{target}{}{version}{}",
        mostly(rng, " ", &["  ", "\t"]),
        mostly(rng, " ", &["  ", "\t", ""]),
        line_end(rng)
    );
    let mut fields = vec![
        mostly(
            rng,
            "Host: a",
            &["Host : a", "Host:a", "Host: a\r\nHost: a", "Host: a b", "Host:", "X: y", "Host: a, b"],
        )
        .to_owned(),
    ];
    let framed = framing(rng, data.len());
    let is_chunked = framed.iter().any(|line| line.contains("hunked")) && rng.u8(..20) > 0;
    fields.extend(framed);
    if rng.u8(..6) == 0 {
        let odd = [
            "X: a\rb",
            "X: a\0b",
            "X",
            "X y: z",
            ": x",
            "X: a\r\n b",
            "X: a\n b",
            "Connection: Content-Length",
            "Connection: keep-alive, Transfer-Encoding",
            "Expect: 100-continue",
            "X(: a",
            "X: \u{e9}",
            "\u{e9}: x",
            "Connection: close",
            "Upgrade: h2c",
            "TE: trailers",
        ];
        fields.insert(rng.usize(..=fields.len()), pick(rng, &odd).to_owned());
    }
    for field in fields {
        text += &field;
        text += line_end(rng);
    }
    text += mostly(rng, "\r\n", &["\n", "\r", "\r\r\n", " \r\n"]);
    text += &if is_chunked { chunked(rng, data) } else { data.to_owned() };
    text += "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    text.into_bytes()
}

fn read(port: u16, bytes: &[u8]) -> Reading {
    let mut client = Client::connect(port);
    let (mut passed, mut refused) = (Vec::new(), None);
    let sent = client.try_send(bytes);
    while sent.is_ok() || passed.is_empty() {
        let Ok(answer) = client.try_answer("POST") else { break };
        match answer.field("X-Read") {
            Some(_) => passed.push(String::from_utf8_lossy(&answer.body).into_owned()),
            // The server timed out waiting for the rest: it has parsed the request, so this is not a rejection.
            None if answer.status == 408 => break,
            None => {
                refused = Some(answer.status);
                break;
            }
        }
    }
    Reading { passed, refused }
}

/// Returns whether two interpretations differ in a way that could be exploited.
fn differ(one: &Reading, other: &Reading) -> bool {
    let both = one.passed.len().min(other.passed.len());
    if one.passed[..both] != other.passed[..both] {
        return true;
    }
    // The server that forwarded fewer requests must have rejected the rest.
    let less = if one.passed.len() == both { one } else { other };
    one.passed.len() != other.passed.len() && less.refused.is_none()
}

fn place_of(origin: &HttpOrigin) -> Place {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    place
}

const NGINX: &str = "client_header_timeout 1s; client_body_timeout 1s; keepalive_timeout 2s;
    server { listen 127.0.0.1:@PORT@ backlog=1024; location / { proxy_pass http://@ORIGIN@; proxy_http_version 1.1; proxy_set_header Connection ''; } }";

fn nginx(origin: &HttpOrigin) -> Server {
    let place = place_of(origin);
    let text = format!(
        "daemon off; pid @DIR@/myriad.pid; error_log @DIR@/error.log; events {{ }} http {{ access_log off; {NGINX} }}"
    );
    place.write("nginx.conf", place.fill(&text));
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-p").arg(place.folder()).args(["-c", "nginx.conf", "-e", "error.log"]);
    Server::run(place, command)
}

fn apache(origin: &HttpOrigin) -> Server {
    let place = place_of(origin);
    let modules = ["mpm_event", "authz_core", "unixd", "reqtimeout", "proxy", "proxy_http"];
    let load = |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    // If the unixd module has no file, it is built in.
    let there =
        |name: &&&str| std::path::Path::new(&format!("/usr/lib/apache2/modules/mod_{name}.so")).exists();
    let loads: String = modules.iter().filter(there).map(load).collect();
    let identity = if std::fs::metadata("/root").is_ok_and(|_| rustix::process::geteuid().is_root()) {
        "User www-data\nGroup www-data\n"
    } else {
        ""
    };
    let text = format!(
        "ServerRoot @DIR@\nDefaultRuntimeDir @DIR@\nPidFile @DIR@/myriad.pid\nErrorLog @DIR@/error.log\nServerName a\nListen 127.0.0.1:@PORT@\n{loads}{identity}\
         Timeout 1\nRequestReadTimeout header=1 body=1\nKeepAliveTimeout 2\nProxyPass / http://@ORIGIN@/ nocanon\n"
    );
    place.write("apache.conf", place.fill(&text));
    let mut command = Command::new("/usr/sbin/apache2");
    command.arg("-DFOREGROUND").arg("-f").arg(place.path("apache.conf"));
    Server::run(place, command)
}

#[test]
fn requests_that_two_servers_pass_on_are_read_alike() {
    let origin = HttpOrigin::start(|call| {
        let text = format!("{} {} {:?}", call.method, call.target, String::from_utf8_lossy(&call.body));
        call.answer("HTTP/1.1 200 OK\nX-Read: yes", text);
    });
    let myriad = Server::start(place_of(&origin), NGINX);
    let (nginx, apache) = (nginx(&origin), apache(&origin));
    let count =
        std::env::var("MYRIAD_FRAMING_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(2000);
    let (next, differences, tried) = (AtomicU64::new(0), Mutex::new(Vec::new()), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let bytes = connection(number);
                    let own = read(myriad.port, &bytes);
                    tried.fetch_add(own.passed.len() as u64, Ordering::Relaxed);
                    for (name, port) in [("nginx", nginx.port), ("Apache", apache.port)] {
                        let other = read(port, &bytes);
                        if differ(&own, &other) {
                            let text = String::from_utf8_lossy(&bytes).into_owned();
                            let told = format!(
                                "case {number}, {name}\n  {text:?}\n  Myriad {own:?}\n  {name} {other:?}"
                            );
                            differences.lock().expect("differences").push(told);
                        }
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("differences");
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n"));
    let tried = tried.into_inner();
    assert!(tried > count / 4, "only {tried} of {count} requests were forwarded, too few for a comparison");
}
