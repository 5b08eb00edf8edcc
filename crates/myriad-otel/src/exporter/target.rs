//! Where spans go; why some are not taken.

use std::time::Duration;

use super::trust::Trust;
use crate::settings::Endpoint;

/// Where spans go, and what goes with them.
pub(super) struct Target {
    pub endpoint: Endpoint,
    pub headers: Vec<(String, String)>,
    pub trust: Option<Trust>,
}

/// How long sending a batch may take in all.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Why a batch was not taken.
#[derive(Debug)]
pub(super) enum Failure {
    /// It may be sent again.
    Away(String),
    /// It may not.
    Refused(String),
}
