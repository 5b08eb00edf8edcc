//! Destination of spans, and the result of a failed transmission.

use std::time::Duration;

use super::trusted_authorities::TrustedAuthorities;
use crate::telemetry::settings::Endpoint;

/// Address of a collector, header fields of requests to it, and trusted certificate authorities (`None` without TLS).
pub(super) struct CollectorTarget {
    pub endpoint: Endpoint,
    pub headers: Vec<(String, String)>,
    pub trust: Option<TrustedAuthorities>,
}

/// Total time limit for sending one batch and receiving the response.
pub(super) const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reason why a collector did not accept a batch, with a text for the log.
#[derive(Debug)]
pub(super) enum ExportFailure {
    /// The collector is temporarily unavailable: the batch is retried.
    Unavailable(String),
    /// The collector rejected the batch: it must not be retried.
    Rejected(String),
}
