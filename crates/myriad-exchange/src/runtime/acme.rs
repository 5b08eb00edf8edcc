//! What issuers of certificates are to do.

use std::sync::Arc;

use myriad_acme::challenges::ALPN;
use myriad_acme::{Challenges, Staple};
use myriad_log::ErrorLog;
use myriad_tls::PlannedIssuer;
use myriad_upstream::ResolverConfig;
use rustls::ServerConfig;
use rustls::server::ClientHello;

/// All issuers of a configuration.
pub struct AcmePlan {
    /// What authorities are answered, now or later.
    pub challenges: Arc<Challenges>,
    /// The issuers.
    pub issuers: Vec<PlannedIssuer>,
    /// `resolver` of `http` with its time-out in milliseconds; the system's own where there is none.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
    /// `error_log` of `http`.
    pub log: ErrorLog,
}

impl AcmePlan {
    /// How an authority is answered that wants to see a name's challenge in a handshake (RFC 8737 section 3); none for all
    /// other clients.
    pub fn handshake(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        if !self.challenges.are_pending() || !hello.alpn()?.eq([ALPN]) {
            return None;
        }
        self.challenges.handshake(hello.server_name()?)
    }
}

/// An OCSP answer that is to be had.
pub struct PlannedStaple {
    /// What is asked, and where the answer goes.
    pub staple: Arc<Staple>,
    /// `resolver` of its server with its time-out in milliseconds; the system's own where there is none.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
}
