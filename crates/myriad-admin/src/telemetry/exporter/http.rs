//! Transmission of a batch by OTLP over HTTP, as Protocol Buffers.

use std::sync::Arc;

use crate::telemetry::trace::rejected;
use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::config::Config;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::target::{CollectorTarget, EXPORT_TIMEOUT, ExportFailure};

/// Maximum size of a collector's response body, in bytes.
const LARGEST: u64 = 64 << 10;

/// Client that sends batches to the URL of a collector.
pub(super) struct HttpExportClient {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
}

impl HttpExportClient {
    /// Creates a client for a collector.
    pub(super) fn new(target: &CollectorTarget) -> Self {
        let endpoint = &target.endpoint;
        let host =
            if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
        let (scheme, path) =
            (if endpoint.secure { "https" } else { "http" }, endpoint.path.as_deref().unwrap_or("/"));
        let mut config = Config::builder()
            .timeout_global(Some(EXPORT_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("Myriad/", env!("CARGO_PKG_VERSION")));
        if let Some(trust) = &target.trust {
            let roots: Vec<_> =
                trust.certificates().iter().map(|der| Certificate::from_der(der).to_owned()).collect();
            let provider = Arc::new(aws_lc_rs::default_provider());
            let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
            config = config.tls_config(tls.root_certs(RootCerts::new_with_certs(&roots)).build());
        }
        let url = format!("{scheme}://{host}:{}{path}", endpoint.port);
        Self { agent: Agent::new_with_config(config.build()), url, headers: target.headers.clone() }
    }

    /// Sends a batch within [`EXPORT_TIMEOUT`]. Returns the number of rejected spans and the collector's message, or
    /// `None` if the response contains neither. Fails if the collector is unavailable or rejects the whole batch.
    pub(super) fn send(&self, message: &[u8]) -> Result<Option<(u64, String)>, ExportFailure> {
        let mut request = self.agent.post(&self.url).content_type("application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response =
            request.send(message).map_err(|error| ExportFailure::Unavailable(error.to_string()))?;
        let body = response.body_mut().with_config().limit(LARGEST).read_to_vec();
        match response.status().as_u16() {
            200..300 => Ok(body.ok().as_deref().and_then(rejected)),
            status @ (429 | 502 | 503 | 504) => Err(ExportFailure::Unavailable(format!("status {status}"))),
            status => Err(ExportFailure::Rejected(format!("status {status}"))),
        }
    }
}
