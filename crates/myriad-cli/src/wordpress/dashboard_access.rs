//! Port and secret of the dashboard, and the purpose for which a configuration is generated.

/// Port of the dashboard, and the hash of its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DashboardAccess {
    /// Port of the dashboard on the loopback address.
    pub(super) port: u16,
    /// SHA-256 of the secret in hexadecimal digits; `None` if there is no secret (the first start creates it), or this
    /// process cannot read it.
    pub(super) hash: Option<String>,
}

/// Purpose for which a configuration is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationPurpose {
    /// Printing (`--print`): no server is started and no file is written.
    Print,
    /// Test (`-t`): port and secret of the dashboard are not stored, because the server is not started; folders of the
    /// prefix and a self-signed certificate are created as at a start.
    Test,
    /// Start of the server: port and secret of the dashboard are stored.
    Start,
}
