//! The ways to the server: the same requests and the same answers, whatever lies between.

use std::path::Path;
use std::process::Command;

use crate::place::free_port;
use crate::{Answer, Client, Place, QuicVisitor, Request, Server, curl};

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
    /// HTTP/3, by quinn and h3.
    Http3,
}

impl Transport {
    /// Whether the client speaks TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Http1Tls | Self::Http2 | Self::Http3)
    }

    /// `$server_protocol`.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Http1 | Self::Http1Tls => "HTTP/1.1",
            Self::Http2Plain | Self::Http2 => "HTTP/2.0",
            Self::Http3 => "HTTP/3.0",
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
            Self::Http3 => "--http3-only",
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
            let quic = if transport == Transport::Http3 {
                format!("listen 127.0.0.1:{port} quic;")
            } else {
                String::new()
            };
            place.fill(&format!("listen 127.0.0.1:{port} ssl; {quic} http2 on; {certificate}"))
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
        if self.transport == Transport::Http3 {
            return QuicVisitor::new().connect(self.server.port)?.fetch(request);
        }
        self.curl(std::slice::from_ref(request)).map(|mut answers| answers.remove(0))
    }

    /// Requests one after the other on one connection.
    pub fn fetch_all(&self, requests: &[Request]) -> Vec<Answer> {
        if self.transport == Transport::Http1 {
            let mut client = Client::connect(self.server.port);
            return requests.iter().map(|request| client.fetch(request)).collect();
        }
        if self.transport == Transport::Http3 {
            let mut client = QuicVisitor::new().connect(self.server.port).expect("a connection");
            let answers = requests.iter().map(|request| client.fetch(request));
            return answers.map(|answer| answer.expect("an answer")).collect();
        }
        self.curl(requests).unwrap_or_else(|why| panic!("{:?}, {requests:?}: {why}", self.transport))
    }

    fn curl(&self, requests: &[Request]) -> Result<Vec<Answer>, String> {
        let origin = format!("{}://127.0.0.1:{}", self.transport.scheme(), self.server.port);
        curl::fetch(&self.server, self.transport.option(), &origin, requests)
    }
}

/// A certificate that nobody has signed, for `localhost`.
pub fn certificate(certificate: &Path, key: &Path) {
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
