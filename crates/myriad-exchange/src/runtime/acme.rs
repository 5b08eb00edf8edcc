//! Certificate issuers (ACME) and OCSP responses of a configuration, for the tasks that renew them.

use std::sync::Arc;

use myriad_log::ErrorLog;
use myriad_tls::PlannedIssuer;
use myriad_tls::acme_client::challenges::ALPN;
use myriad_tls::acme_client::{OcspStaple, PendingChallenges};
use myriad_upstream::ResolverConfig;
use rustls::ServerConfig;
use rustls::server::ClientHello;

/// All certificate issuers (`acme_issuer`) of a configuration, with the data that the renewal tasks need.
pub struct AcmePlan {
    /// Pending challenges, which certificate authorities validate.
    pub challenges: Arc<PendingChallenges>,
    /// Certificate issuers (`acme_issuer`), with the certificates to obtain from each.
    pub issuers: Vec<PlannedIssuer>,
    /// `resolver` of `http`, with its timeout in milliseconds; `None` means the system's resolver.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
    /// `error_log` of `http`, for messages of the renewal tasks.
    pub log: ErrorLog,
}

impl AcmePlan {
    /// Returns the TLS configuration for an authority that validates a challenge in a handshake (`tls-alpn-01`, RFC
    /// 8737 section 3); `None` for a client that does not, or without a pending challenge for the requested name.
    pub fn handshake(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        if !self.challenges.are_pending() || !hello.alpn()?.eq([ALPN]) {
            return None;
        }
        self.challenges.handshake_config(hello.server_name()?)
    }
}

/// OCSP response that must be fetched and refreshed.
pub struct PlannedStaple {
    /// OCSP request to send, and the memory in which handshakes find the response.
    pub staple: Arc<OcspStaple>,
    /// `resolver` of the server, with its timeout in milliseconds; `None` means the system's resolver.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
}
