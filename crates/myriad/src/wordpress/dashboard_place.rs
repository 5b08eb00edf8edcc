//! Place of the dashboard, and the purposes of a configuration.

/// Place and secret of the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dashboard {
    /// Port of loopback on which it listens.
    pub(super) port: u16,
    /// SHA-256 of the secret, in hexadecimal digits; none before the first start: then there is no dashboard.
    pub(super) hash: Option<String>,
}

/// Purpose of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is shown (`--print`): nothing listens, and nothing is written.
    Print,
    /// It is tried (`-t`), which opens its addresses; nothing is written.
    Test,
    /// It runs.
    Start,
}
