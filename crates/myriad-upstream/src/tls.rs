//! TLS with origins (`proxy_pass https://`, `proxy_ssl_*`).

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, HandshakeKind};
use tokio_rustls::TlsConnector;

use crate::error::{ErrorKind, OriginError, Phase};
use crate::peer::PeerState;
use crate::stream::PeerStream;
use crate::tls_counts::{TlsCounts, TrustFailure};

/// TLS parameters for the connection of a request to an origin.
#[derive(Clone)]
pub struct OriginTls {
    /// Versions, cipher suites, groups, client certificate and session cache.
    pub config: Arc<ClientConfig>,
    /// Name that the origin's certificate must contain if it is verified (`proxy_ssl_name`), without a port. Also sent
    /// by SNI if `proxy_ssl_server_name` is on and the name is not an address.
    pub name: Box<str>,
    /// Verifier of the origin's certificate (`proxy_ssl_verify`); `None` to skip the verification.
    pub check: Option<Arc<dyn PeerVerifier>>,
    /// Identity of these parameters, never 0. Only requests of the same identity share connections.
    pub identity: u64,
}

/// Verifier of the certificate chain of an origin.
pub trait PeerVerifier: Send + Sync {
    /// Verifies a certificate chain, the origin's own certificate first, and its validity for `name`. The error
    /// contains the reason for counters and the text for the error log.
    fn check(&self, chain: &[CertificateDer<'_>], name: &str) -> Result<(), (TrustFailure, String)>;
}

impl fmt::Debug for OriginTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginTls")
            .field("name", &self.name)
            .field("checks", &self.check.is_some())
            .finish_non_exhaustive()
    }
}

/// Performs the TLS handshake within `timeout_ms`. The origin is verified before any part of the request is sent. Fails
/// after the timeout, and if the handshake or the verification fails. The counters of `peer` include the result.
pub(crate) async fn secure(
    stream: PeerStream,
    tls: &OriginTls,
    timeout_ms: u64,
    peer: Option<&PeerState>,
) -> Result<PeerStream, OriginError> {
    let count = |count: &dyn Fn(&mut TlsCounts)| {
        if let Some(peer) = peer {
            peer.counts.tls(count);
        }
    };
    let connector = TlsConnector::from(Arc::clone(&tls.config));
    let handshake = connector.connect(server_name(&tls.name), stream);
    let secured = match tokio::time::timeout(Duration::from_millis(timeout_ms), handshake).await {
        Err(_) => {
            count(&TlsCounts::timed_out);
            return Err(OriginError::timeout(Phase::Handshaking));
        }
        Ok(Err(error)) => {
            count(&|counts| counts.failed(&error));
            return Err(failure(&error));
        }
        Ok(Ok(secured)) => secured,
    };
    let session = secured.get_ref().1;
    if let Some(check) = &tls.check {
        let chain = session.peer_certificates().unwrap_or_default();
        check.check(chain, &tls.name).map_err(|(distrust, why)| {
            count(&|counts| counts.distrusted(distrust));
            refusal(why)
        })?;
    }
    let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
    count(&|counts| counts.record_completed(resumed));
    Ok(PeerStream::Tls(Box::new(secured)))
}

/// Converts a name for rustls, which uses it for SNI (`proxy_ssl_server_name`) and as a key of cached sessions. An
/// address is never sent (RFC 6066 section 3); an invalid name is replaced by an address.
fn server_name(name: &str) -> ServerName<'static> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(bare.to_owned())
        .unwrap_or_else(|_| ServerName::IpAddress(IpAddr::V4(Ipv4Addr::UNSPECIFIED).into()))
}

fn failure(error: &io::Error) -> OriginError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        let what = "peer closed connection in SSL handshake";
        return OriginError::new(ErrorKind::Tls, Phase::Handshaking, what);
    }
    OriginError::new(ErrorKind::Tls, Phase::Handshaking, format!("SSL_do_handshake() failed ({error})"))
}

fn refusal(why: String) -> OriginError {
    OriginError::new(ErrorKind::Tls, Phase::Handshaking, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sent_and_addresses_are_not() {
        assert!(matches!(server_name("example.com"), ServerName::DnsName(_)));
        assert!(matches!(server_name("my_origin"), ServerName::DnsName(_)));
        assert!(matches!(server_name("127.0.0.1"), ServerName::IpAddress(_)));
        assert!(matches!(server_name("[::1]"), ServerName::IpAddress(_)));
        assert!(matches!(server_name("no name"), ServerName::IpAddress(_)));
        assert!(matches!(server_name(""), ServerName::IpAddress(_)));
    }
}
