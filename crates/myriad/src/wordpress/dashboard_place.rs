//! Place of the dashboard.

/// What a start has found for the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dashboard {
    /// Port of loopback on which it listens.
    pub(super) port: u16,
    /// Hash of the secret, in hexadecimal digits; none where there is no secret: then nothing is purged from here.
    pub(super) hash: Option<String>,
}
