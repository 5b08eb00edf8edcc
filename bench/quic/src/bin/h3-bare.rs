//! A minimal server with quinn and h3: `h3-bare PORT CERTIFICATE KEY HEAD BODY` (files; certificate and key in PEM).
//!
//! Every response has the body BODY and the header lines of HEAD. This is the minimum cost of an HTTP/3 server with these
//! crates. One thread.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
struct Page {
    fields: Arc<Vec<(String, String)>>,
    body: Bytes,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, certificate, key, head, body] = &arguments[..] else {
        return Err("usage: h3-bare PORT CERTIFICATE KEY HEAD BODY".into());
    };
    let fields = std::fs::read_to_string(head)?;
    let fields = fields.lines().filter_map(|line| line.split_once(':'));
    let page = Page {
        fields: Arc::new(fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect()),
        body: std::fs::read(body)?.into(),
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(tls)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_bidi_streams(128u32.into());
    config.transport_config(Arc::new(transport));
    let address = SocketAddr::from(([127, 0, 0, 1], port.parse()?));
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let endpoint = quinn::Endpoint::server(config, address)?;
        // The benchmark connects here to check that the server has started.
        let _ready = std::net::TcpListener::bind(address)?;
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(serve(incoming, page.clone()));
        }
        Ok(())
    })
}

async fn serve(incoming: quinn::Incoming, page: Page) -> Result<(), Failure> {
    let connection = incoming.await?;
    let mut connection = h3::server::Connection::new(h3_quinn::Connection::new(connection)).await?;
    while let Some(resolver) = connection.accept().await? {
        tokio::spawn(answer(resolver, page.clone()));
    }
    Ok(())
}

async fn answer(
    resolver: h3::server::RequestResolver<h3_quinn::Connection, Bytes>,
    page: Page,
) -> Result<(), Failure> {
    let (_, mut stream) = resolver.resolve_request().await?;
    let mut response = Response::builder().status(200);
    for (name, value) in page.fields.iter() {
        response = response.header(name, value);
    }
    stream.send_response(response.body(())?).await?;
    stream.send_data(page.body).await?;
    stream.finish().await?;
    Ok(())
}
