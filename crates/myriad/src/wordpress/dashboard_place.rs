//! Place of the dashboard, and what it is looked for.

/// What a start has found for the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dashboard {
    /// Port of loopback on which it listens.
    pub(super) port: u16,
    /// Hash of the secret, in hexadecimal digits; none where there is no secret: then nothing is purged from here.
    pub(super) hash: Option<String>,
}

/// What a configuration is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is shown (`--print`): nothing listens, and nothing is written.
    Print,
    /// It is tried (`-t`), which opens its addresses; nothing is written.
    Test,
    /// It runs.
    Start,
}
