//! Tasks of certificate issuers.

use std::sync::Arc;

use myriad_log::ErrorLog;
use myriad_tls::PlannedIssuer;
use myriad_tls::acme_client::challenges::ALPN;
use myriad_tls::acme_client::{OcspStaple, PendingChallenges};
use myriad_upstream::ResolverConfig;
use rustls::ServerConfig;
use rustls::server::ClientHello;

/// All certificate issuers of a configuration.
pub struct AcmePlan {
    /// Pending challenges, which are shown to certificate authorities.
    pub challenges: Arc<PendingChallenges>,
    /// Issuers.
    pub issuers: Vec<PlannedIssuer>,
    /// `resolver` of `http` with its timeout in milliseconds; the system's resolver if `None`.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
    /// `error_log` of `http`.
    pub log: ErrorLog,
}

impl AcmePlan {
    /// Returns the TLS configuration for an authority that validates a challenge of a name in a handshake (RFC 8737
    /// section 3); `None` for all other clients.
    pub fn handshake(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        if !self.challenges.are_pending() || !hello.alpn()?.eq([ALPN]) {
            return None;
        }
        self.challenges.handshake_config(hello.server_name()?)
    }
}

/// OCSP response to be fetched.
pub struct PlannedStaple {
    /// OCSP request, and slot for the response.
    pub staple: Arc<OcspStaple>,
    /// `resolver` of its server with its timeout in milliseconds; the system's resolver if `None`.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
}
