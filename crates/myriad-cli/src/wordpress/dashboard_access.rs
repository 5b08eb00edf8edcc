//! Port and secret of the dashboard, and the purpose for which a configuration is generated.

/// Port of the dashboard, and the hash of its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DashboardAccess {
    /// Port on loopback.
    pub(super) port: u16,
    /// SHA-256 of the secret in hexadecimal digits; `None` before the first start, which creates the secret.
    pub(super) hash: Option<String>,
}

/// Purpose for which a configuration is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationPurpose {
    /// Printing (`--print`): no socket is opened and no file is written.
    Print,
    /// Test (`-t`): addresses are opened, but no file is written.
    Test,
    /// Start of the server.
    Start,
}
