//! Destination of spans, and reasons of failures.

use std::time::Duration;

use super::trust::Trust;
use crate::settings::Endpoint;

/// Destination of spans, and its settings.
pub(super) struct Target {
    pub endpoint: Endpoint,
    pub headers: Vec<(String, String)>,
    pub trust: Option<Trust>,
}

/// Total time limit for sending a batch.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Reason why a batch was not accepted.
#[derive(Debug)]
pub(super) enum Failure {
    /// The batch may be retried.
    Away(String),
    /// The batch must not be retried.
    Refused(String),
}
