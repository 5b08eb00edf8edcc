//! The ways to the server: the same requests and the same answers, whatever lies between.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::place::free_port;
use crate::{Answer, Client, Place, Request, Server};

/// What the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1, by the harness' own client.
    Http1,
    /// HTTP/1.1 over TLS, by curl.
    Http1Tls,
    /// HTTP/2 over TCP with prior knowledge, by curl.
    Http2Plain,
    /// HTTP/2 over TLS, agreed on by ALPN, by curl.
    Http2,
}

impl Transport {
    /// Whether the client speaks TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Http1Tls | Self::Http2)
    }

    /// `$server_protocol`.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Http1 | Self::Http1Tls => "HTTP/1.1",
            Self::Http2Plain | Self::Http2 => "HTTP/2.0",
        }
    }

    /// `$scheme`.
    pub fn scheme(self) -> &'static str {
        if self.is_secure() { "https" } else { "http" }
    }

    fn option(self) -> &'static str {
        match self {
            Self::Http1 | Self::Http1Tls => "--http1.1",
            Self::Http2Plain => "--http2-prior-knowledge",
            Self::Http2 => "--http2",
        }
    }
}

/// A server that is reached by one transport.
#[derive(Debug)]
pub struct Reached {
    /// The server.
    pub server: Server,
    /// How it is reached.
    pub transport: Transport,
}

impl Reached {
    /// Starts a server on `http { TEXT }`; `@LISTEN@` in it stands for what makes a `server` listen for the transport.
    pub fn start(transport: Transport, mut place: Place, http: &str) -> Self {
        let port = place.port;
        let listen = if transport.is_secure() {
            certificate(&place.path("own.crt"), &place.path("own.key"));
            let certificate = "ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key;";
            place.fill(&format!("listen 127.0.0.1:{port} ssl; http2 on; {certificate}"))
        } else {
            format!("listen 127.0.0.1:{port}; http2 on;")
        };
        place.set("LISTEN", &listen);
        // Where origins that are servers of the same configuration listen.
        place.set("INNER", &free_port().to_string());
        Self { server: Server::start(place, http), transport }
    }

    /// `GET`.
    pub fn get(&self, target: &str) -> Answer {
        self.fetch(&Request::get(target))
    }

    /// A request on a connection of its own.
    pub fn fetch(&self, request: &Request) -> Answer {
        self.try_fetch(request).unwrap_or_else(|why| panic!("{:?}, {request:?}: {why}", self.transport))
    }

    /// The same where a request that breaks off is an answer too: what the client said of it.
    pub fn try_fetch(&self, request: &Request) -> Result<Answer, String> {
        if self.transport == Transport::Http1 {
            return self.server.connect().try_fetch(request).map_err(|error| error.to_string());
        }
        self.curl(std::slice::from_ref(request)).map(|mut answers| answers.remove(0))
    }

    /// Requests one after the other on one connection.
    pub fn fetch_all(&self, requests: &[Request]) -> Vec<Answer> {
        if self.transport == Transport::Http1 {
            let mut client = Client::connect(self.server.port);
            return requests.iter().map(|request| client.fetch(request)).collect();
        }
        self.curl(requests).unwrap_or_else(|why| panic!("{:?}, {requests:?}: {why}", self.transport))
    }

    fn curl(&self, requests: &[Request]) -> Result<Vec<Answer>, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = self.server.path(&format!("curl-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new("curl");
        for (number, request) in requests.iter().enumerate() {
            if number > 0 {
                command.arg("--next");
            }
            self.add(&mut command, request, &folder, number);
        }
        let output = command.output().expect("curl runs");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let read = |number: usize, what: &str| {
            std::fs::read(folder.join(format!("{number}.{what}"))).unwrap_or_default()
        };
        let answers = requests.iter().enumerate().map(|(number, request)| {
            // Of HEAD curl writes the head down as a body.
            let body = if request.method == "HEAD" { Vec::new() } else { read(number, "body") };
            answer(&read(number, "head"), body)
        });
        let answers = answers.collect();
        let _ = std::fs::remove_dir_all(&folder);
        Ok(answers)
    }

    /// Adds what curl is to be told for one request, and nothing that was not asked for.
    fn add(&self, command: &mut Command, request: &Request, folder: &Path, number: usize) {
        let path = |what: &str| folder.join(format!("{number}.{what}"));
        command.args(["-sSk", "--noproxy", "*", "--max-time", "20", "--path-as-is", "--raw"]);
        command.arg(self.transport.option());
        command.arg("-D").arg(path("head")).arg("-o").arg(path("body"));
        for silent in ["User-Agent", "Accept", "Expect", "Content-Type"] {
            if !request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(silent)) {
                command.args(["-H", &format!("{silent}:")]);
            }
        }
        if !request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            command.args(["-H", "Host: localhost"]);
        }
        for (name, value) in &request.fields {
            let field = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
            command.args(["-H", &field]);
        }
        if request.method == "HEAD" {
            command.arg("-I");
        } else {
            command.args(["-X", &request.method]);
        }
        if let Some(body) = &request.body {
            std::fs::write(path("sent"), body).expect("a body");
            command.arg("--data-binary").arg(format!("@{}", path("sent").display()));
        }
        command.arg(format!(
            "{}://127.0.0.1:{}{}",
            self.transport.scheme(),
            self.server.port,
            request.target
        ));
    }
}

/// An answer as curl has written it down: heads of interim answers first, trailers behind the last head's fields. In
/// HTTP/1.1 `--raw` leaves chunks as they came.
fn answer(head: &[u8], body: Vec<u8>) -> Answer {
    let text = String::from_utf8_lossy(head);
    let mut answer = Answer { status: 0, status_line: String::new(), fields: Vec::new(), body };
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with("HTTP/") {
            answer.status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
            line.clone_into(&mut answer.status_line);
            answer.fields.clear();
        } else if let Some((name, value)) = line.split_once(':') {
            answer.fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    if answer.field("Transfer-Encoding").is_some() {
        answer.body = joined(&answer.body, &mut answer.fields);
    }
    answer
}

/// The chunks of a body; the fields behind them join the others.
fn joined(mut raw: &[u8], fields: &mut Vec<(String, String)>) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let Some(end) = raw.iter().position(|byte| *byte == b'\n') else { return body };
        let size = String::from_utf8_lossy(&raw[..end]).trim().to_owned();
        raw = &raw[end + 1..];
        let size = usize::from_str_radix(&size, 16).expect("the size of a chunk");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&raw[..size]);
        raw = &raw[size + 2..];
    }
    for line in String::from_utf8_lossy(raw).lines() {
        if let Some((name, value)) = line.split_once(':') {
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    body
}

/// A certificate that nobody has signed, for `localhost`.
fn certificate(certificate: &Path, key: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
        .arg("-keyout")
        .arg(key)
        .arg("-out")
        .arg(certificate)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
