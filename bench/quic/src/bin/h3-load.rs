//! Loads an HTTP/3 server: `h3-load PORT HOST PATH CONNECTIONS STREAMS SECONDS [NAME:VALUE ...]`.
//!
//! Each connection has STREAMS requests in flight. Certificates are not verified. It prints one line, `requests bytes failures
//! again`: complete responses with status 200, bytes of their bodies, all other responses, and requests that were repeated on
//! another connection because the server was closing theirs and had rejected them (RFC 9114 section 5.2). Every body must have
//! the length of the first one.

use std::cell::Cell;
use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Buf;
use http::Request;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Failure = Box<dyn Error + Send + Sync>;

/// Accepts any certificate.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC supports only TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The requests and their results.
struct Load {
    host: String,
    path: String,
    fields: Vec<(String, String)>,
    until: Instant,
    requests: Cell<u64>,
    bytes: Cell<u64>,
    failures: Cell<u64>,
    again: Cell<u64>,
    length: Cell<Option<u64>>,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, host, path, connections, streams, seconds, fields @ ..] = &arguments[..] else {
        return Err("usage: h3-load PORT HOST PATH CONNECTIONS STREAMS SECONDS [NAME:VALUE ...]".into());
    };
    let server = SocketAddr::from(([127, 0, 0, 1], port.parse()?));
    let fields = fields.iter().filter_map(|field| field.split_once(':'));
    let load = Rc::new(Load {
        host: host.clone(),
        path: path.clone(),
        fields: fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect(),
        until: Instant::now() + Duration::from_secs_f64(seconds.parse()?),
        requests: Cell::default(),
        bytes: Cell::default(),
        failures: Cell::default(),
        again: Cell::default(),
        length: Cell::default(),
    });
    let (connections, streams): (usize, usize) = (connections.parse()?, streams.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let tasks: Vec<_> = (0..connections)
            .map(|_| tokio::task::spawn_local(keep_asking(Rc::clone(&load), server, streams)))
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok::<_, Failure>(())
    })?;
    println!("{} {} {} {}", load.requests.get(), load.bytes.get(), load.failures.get(), load.again.get());
    Ok(())
}

/// Opens one connection after another and sends requests on it.
async fn keep_asking(load: Rc<Load>, server: SocketAddr, streams: usize) -> Result<(), Failure> {
    while Instant::now() < load.until {
        connect(Rc::clone(&load), server, streams).await?;
    }
    Ok(())
}

/// Sends requests on one connection until the server closes it.
async fn connect(load: Rc<Load>, server: SocketAddr, streams: usize) -> Result<(), Failure> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let mut endpoint = quinn::Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let config = quinn::crypto::rustls::QuicClientConfig::try_from(tls)?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(config)));
    let connection = endpoint.connect(server, &load.host)?.await?;
    let (mut driver, sender) = h3::client::new(h3_quinn::Connection::new(connection)).await?;
    let drive = tokio::task::spawn_local(async move {
        let _ = std::future::poll_fn(|cx| driver.poll_close(cx)).await;
    });
    let asking: Vec<_> =
        (0..streams).map(|_| tokio::task::spawn_local(ask(Rc::clone(&load), sender.clone()))).collect();
    for task in asking {
        task.await?;
    }
    drop(sender);
    drive.abort();
    endpoint.close(0u32.into(), b"");
    Ok(())
}

type Sender = h3::client::SendRequest<h3_quinn::OpenStreams, bytes::Bytes>;

/// Sends one request after another.
async fn ask(load: Rc<Load>, mut sender: Sender) {
    while Instant::now() < load.until {
        match once(&load, &mut sender).await {
            Ok(length) if load.length.get().is_none_or(|known| known == length) => {
                load.length.set(Some(length));
                load.requests.set(load.requests.get() + 1);
                load.bytes.set(load.bytes.get() + length);
            }
            Ok(_) => load.failures.set(load.failures.get() + 1),
            Err(error) if is_rejected(&error.to_string()) => {
                load.again.set(load.again.get() + 1);
                return;
            }
            Err(error) => {
                eprintln!("{error}");
                load.failures.set(load.failures.get() + 1);
                return;
            }
        }
    }
}

/// Returns whether a request was rejected because the connection was closing.
fn is_rejected(error: &str) -> bool {
    ["H3_REQUEST_REJECTED", "H3_NO_ERROR", "is closing"].iter().any(|why| error.contains(why))
}

/// Returns the length of a response body.
async fn once(load: &Load, sender: &mut Sender) -> Result<u64, Failure> {
    let mut request = Request::get(format!("https://{}{}", load.host, load.path));
    for (name, value) in &load.fields {
        request = request.header(name, value);
    }
    let mut stream = sender.send_request(request.body(())?).await?;
    stream.finish().await?;
    let head = stream.recv_response().await?;
    if std::env::var_os("H3_LOAD_SHOW").is_some() {
        eprintln!("{head:?}");
    }
    let mut length = 0;
    while let Some(piece) = stream.recv_data().await? {
        length += piece.remaining() as u64;
    }
    if head.status() == 200 { Ok(length) } else { Err(format!("status {}", head.status()).into()) }
}
