//! Address of the dashboard, and the purposes of a configuration.

/// Port and secret of the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DashboardAccess {
    /// Port on loopback.
    pub(super) port: u16,
    /// SHA-256 of the secret in hexadecimal digits; `None` before the first start, when no dashboard exists.
    pub(super) hash: Option<String>,
}

/// Purpose of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationPurpose {
    /// Printing (`--print`): no socket is opened and no file is written.
    Print,
    /// Test (`-t`): its addresses are opened, no file is written.
    Test,
    /// Start of the server.
    Start,
}
