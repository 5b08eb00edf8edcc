//! HTTP/3 client with independent libraries (quinn, h3), and a relay between it and the server.

mod bare;
mod flight;
mod link;
mod network;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

pub use bare::BareQuic;
use bytes::{Buf, Bytes};
use link::Link;
pub use network::Network;
use rustls::pki_types::CertificateDer;

use crate::tls::trusting;
use crate::{Answer, Request};

/// Timeout of a response.
const PATIENCE: Duration = Duration::from_secs(20);

type Failure = Box<dyn Error>;
type Sender = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// State of a client across connections: TLS sessions and tokens.
#[derive(Clone, Debug)]
pub struct QuicVisitor {
    config: quinn::ClientConfig,
}

impl Default for QuicVisitor {
    fn default() -> Self {
        Self::new()
    }
}

impl QuicVisitor {
    /// Creates a client without sessions.
    pub fn new() -> Self {
        let mut tls = trusting(&[&rustls::version::TLS13]);
        tls.alpn_protocols = vec![b"h3".to_vec()];
        tls.enable_early_data = true;
        let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).expect("a cipher suite for QUIC");
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        let mut transport = quinn::TransportConfig::default();
        transport.max_idle_timeout(Some(PATIENCE.try_into().expect("a time")));
        config.transport_config(Arc::new(transport));
        Self { config }
    }

    /// Connects to a port of the loopback address, as `localhost`.
    pub fn connect(&self, port: u16) -> Result<QuicClient, String> {
        self.connect_as(port, "localhost")
    }

    /// Connects to a port of the loopback address, with a server name.
    pub fn connect_as(&self, port: u16, name: &str) -> Result<QuicClient, String> {
        QuicClient::new(self, port, name, false).map_err(|error| error.to_string())
    }

    /// Connects without waiting for the handshake: the first requests are 0-RTT data. Returns an error if the server
    /// has issued no session.
    pub fn connect_early(&self, port: u16) -> Result<QuicClient, String> {
        QuicClient::new(self, port, "localhost", true).map_err(|error| error.to_string())
    }
}

/// HTTP/3 connection.
pub struct QuicClient {
    link: Link,
    early: Option<quinn::ZeroRttAccepted>,
    sender: Sender,
}

impl std::fmt::Debug for QuicClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("QuicClient").field(&self.link.connection.remote_address()).finish()
    }
}

impl QuicClient {
    fn new(visitor: &QuicVisitor, port: u16, name: &str, early: bool) -> Result<Self, Failure> {
        let (link, early) = Link::new(visitor, port, name, early)?;
        let sender = link.within(async {
            let connection = h3_quinn::Connection::new(link.connection.clone());
            let (mut driver, sender) = h3::client::new(connection).await?;
            tokio::spawn(async move {
                let _ = std::future::poll_fn(|cx| driver.poll_close(cx)).await;
            });
            Ok(sender)
        })?;
        Ok(Self { link, early, sender })
    }

    /// Sends a `GET` request and returns the response; panics on an error.
    pub fn get(&mut self, target: &str) -> Answer {
        self.fetch(&Request::get(target)).unwrap_or_else(|why| panic!("{target}: {why}"))
    }

    /// Sends a request and reads the complete response; trailers are added to the fields.
    pub fn fetch(&mut self, request: &Request) -> Result<Answer, String> {
        let sender = self.sender.clone();
        let asked = async {
            tokio::time::timeout(PATIENCE, ask(sender, request)).await.map_err(|_| "no answer in time")?
        };
        self.link.runtime.block_on(asked).map_err(|error: Failure| error.to_string())
    }

    /// Sends all requests concurrently; returns the results in the order of the requests.
    pub fn fetch_together(&mut self, requests: &[Request]) -> Vec<Result<Answer, String>> {
        let tasks: Vec<_> = requests
            .iter()
            .map(|request| {
                let (sender, request) = (self.sender.clone(), request.clone());
                self.link
                    .runtime
                    .spawn(async move { ask(sender, &request).await.map_err(|error| error.to_string()) })
            })
            .collect();
        tasks
            .into_iter()
            .map(|task| {
                match self.link.runtime.block_on(async { tokio::time::timeout(PATIENCE, task).await }) {
                    Ok(Ok(answer)) => answer,
                    other => Err(format!("{other:?}")),
                }
            })
            .collect()
    }

    /// Returns the certificate of the server, in DER.
    pub fn certificate(&self) -> Vec<u8> {
        let shown = self.link.connection.peer_identity().expect("certificates");
        let shown = shown.downcast::<Vec<CertificateDer<'static>>>().expect("certificates of rustls");
        shown.first().expect("a certificate").to_vec()
    }

    /// Returns whether the server accepted the 0-RTT data of this connection; only the first call can return true.
    pub fn early_data_taken(&mut self) -> bool {
        self.early.take().is_some_and(|accepted| self.link.runtime.block_on(accepted))
    }

    /// Waits, so that unsolicited data of the server is processed.
    pub fn wait(&self, time: Duration) {
        self.link.wait(time);
    }

    /// Waits until the connection has closed, and returns the reason.
    pub fn ended(&self) -> quinn::ConnectionError {
        self.link.ended()
    }

    /// Opens raw streams and sends these bytes on each. The first flag selects a unidirectional stream, the second
    /// finishes the stream. Returns the bytes received on the last bidirectional stream, up to its end. Without a
    /// bidirectional stream, waits until the connection closes, and returns the reason as an error.
    pub fn send_raw(&self, streams: &[(bool, bool, &[u8])]) -> Result<Vec<u8>, String> {
        let sent = async {
            let mut answer = None;
            let mut kept = Vec::new();
            for (one_way, ends, bytes) in streams {
                let mut sender = if *one_way {
                    self.link.connection.open_uni().await?
                } else {
                    let (sender, receiver) = self.link.connection.open_bi().await?;
                    answer = Some(receiver);
                    sender
                };
                sender.write_all(bytes).await?;
                if *ends {
                    sender.finish()?;
                }
                kept.push(sender);
            }
            let answer = async {
                match answer {
                    Some(mut receiver) => receiver.read_to_end(1 << 20).await.map_err(Failure::from),
                    None => Err(self.link.connection.closed().await.into()),
                }
            };
            tokio::time::timeout(PATIENCE, answer).await?
        };
        self.link.runtime.block_on(sent).map_err(|error: Failure| format!("{error:?}"))
    }
}

async fn ask(mut sender: Sender, request: &Request) -> Result<Answer, Failure> {
    let host = request.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.map_or("localhost", |(_, value)| value.as_str());
    let uri =
        http::Uri::builder().scheme("https").authority(host).path_and_query(&*request.target).build()?;
    let mut head = http::Request::builder().method(request.method.as_str()).uri(uri);
    for (name, value) in request.fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
        head = head.header(name, value);
    }
    if let Some(body) = &request.body
        && !request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"))
    {
        head = head.header("content-length", body.len());
    }
    let mut stream = sender.send_request(head.body(())?).await?;
    if let Some(body) = &request.body {
        // The response may arrive before the whole body is sent; then the server does not read the rest.
        let _ = stream.send_data(Bytes::from(body.clone())).await;
    }
    let _ = stream.finish().await;
    let response = stream.recv_response().await?;
    let mut answer = Answer {
        status: response.status().as_u16(),
        status_line: format!("HTTP/3 {}", response.status().as_u16()),
        fields: fields(response.headers()),
        body: Vec::new(),
    };
    while let Some(mut piece) = stream.recv_data().await? {
        answer.body.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
    }
    if let Some(trailers) = stream.recv_trailers().await? {
        answer.fields.extend(fields(&trailers));
    }
    Ok(answer)
}

fn fields(headers: &http::HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}
