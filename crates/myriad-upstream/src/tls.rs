//! TLS with an origin (`proxy_pass https://`, `proxy_ssl_*`).

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
use crate::stream::Stream;
use crate::tls_counts::{Distrust, TlsCounts};

/// How connections for a request are secured.
#[derive(Clone)]
pub struct OriginTls {
    /// Versions, suites, groups, the client's own certificate, sessions to resume.
    pub config: Arc<ClientConfig>,
    /// The name that the origin is asked for and has to prove, without a port (`proxy_ssl_name`).
    pub name: Box<str>,
    /// Whether the origin must prove it (`proxy_ssl_verify`).
    pub check: Option<Arc<dyn CheckPeer>>,
    /// Never 0. Requests share connections only where it is the same: it follows from all of the above.
    pub identity: u64,
}

/// Judges the certificates that an origin has shown.
pub trait CheckPeer: Send + Sync {
    /// Whether they prove the name, the origin's own certificate first. The error says why not, and what the error log is told.
    fn check(&self, chain: &[CertificateDer<'_>], name: &str) -> Result<(), (Distrust, String)>;
}

impl fmt::Debug for OriginTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginTls")
            .field("name", &self.name)
            .field("checks", &self.check.is_some())
            .finish_non_exhaustive()
    }
}

/// Agrees on TLS within `timeout_ms`, as nginx allows for it what it allows for connecting. Nothing of the request is sent
/// before the origin has proved who it is. `peer` counts what becomes of it.
pub(crate) async fn secure(
    stream: Stream,
    tls: &OriginTls,
    timeout_ms: u64,
    peer: Option<&PeerState>,
) -> Result<Stream, OriginError> {
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
    count(&|counts| counts.agreed(resumed));
    Ok(Stream::Tls(Box::new(secured)))
}

/// The name as rustls takes it: it is sent where `proxy_ssl_server_name` says so, and sessions are remembered by it. An
/// address is never sent (RFC 6066 section 3), and what is no name is treated as one.
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
