//! Transports to the server: the same requests must have the same responses on each.

use std::path::Path;
use std::process::Command;

use crate::place::free_port;
use crate::{Answer, Client, Place, QuicVisitor, Request, Server, curl};

/// Protocol of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1, by the client of the harness.
    Http1,
    /// HTTP/1.1 over TLS, by curl.
    Http1Tls,
    /// HTTP/2 over TCP with prior knowledge, by curl.
    Http2Plain,
    /// HTTP/2 over TLS, negotiated by ALPN, by curl.
    Http2,
    /// HTTP/3, by quinn and h3.
    Http3,
}

impl Transport {
    /// Returns whether the transport uses TLS.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::Http1Tls | Self::Http2 | Self::Http3)
    }

    /// Returns the value of `$server_protocol`.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Http1 | Self::Http1Tls => "HTTP/1.1",
            Self::Http2Plain | Self::Http2 => "HTTP/2.0",
            Self::Http3 => "HTTP/3.0",
        }
    }

    /// Returns the value of `$scheme`.
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

/// Server under test, and the transport by which it is requested.
#[derive(Debug)]
pub struct Reached {
    /// Server under test.
    pub server: Server,
    /// Transport of the requests.
    pub transport: Transport,
}

impl Reached {
    /// Starts a server with `http { TEXT }`; `@LISTEN@` is replaced by the directives of the server for the transport:
    /// `listen`, `http2` and certificates. `@INNER@` is replaced by another free port.
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
        // Port of origins that are servers of the same configuration.
        place.set("INNER", &free_port().to_string());
        Self { server: Server::start(place, http), transport }
    }

    /// Sends a `GET` request.
    pub fn get(&self, target: &str) -> Answer {
        self.fetch(&Request::get(target))
    }

    /// Sends a request on a new connection.
    pub fn fetch(&self, request: &Request) -> Answer {
        self.try_fetch(request).unwrap_or_else(|why| panic!("{:?}, {request:?}: {why}", self.transport))
    }

    /// Sends a request like [`Reached::fetch`], and returns the error of the client if the request breaks off.
    pub fn try_fetch(&self, request: &Request) -> Result<Answer, String> {
        if self.transport == Transport::Http1 {
            return self.server.connect().try_fetch(request).map_err(|error| error.to_string());
        }
        if self.transport == Transport::Http3 {
            return QuicVisitor::new().connect(self.server.port)?.fetch(request);
        }
        self.curl(std::slice::from_ref(request)).map(|mut answers| answers.remove(0))
    }

    /// Sends requests in sequence on one connection.
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

/// Creates a self-signed certificate for `localhost`.
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
