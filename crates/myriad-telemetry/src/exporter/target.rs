//! Destination of spans, and reasons of failures.

use std::time::Duration;

use super::trusted_authorities::TrustedAuthorities;
use crate::settings::Endpoint;

/// Destination of spans, and its settings.
pub(super) struct CollectorTarget {
    pub endpoint: Endpoint,
    pub headers: Vec<(String, String)>,
    pub trust: Option<TrustedAuthorities>,
}

/// Total time limit for sending a batch.
pub(super) const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reason why a batch was not accepted.
#[derive(Debug)]
pub(super) enum ExportFailure {
    /// The batch may be retried.
    Unavailable(String),
    /// The batch must not be retried.
    Rejected(String),
}
