//! `syslog:server=…` as a target of `access_log` and `error_log`.

/// Syslog server that receives the messages, and their attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogConf {
    /// `server=`.
    pub server: SyslogServer,
    /// `facility=`, as a number of RFC 3164 section 4.1.1; default `local7`.
    pub facility: u8,
    /// `severity=` of access log lines, as a number; default `info`. Error log lines have the severity of their level.
    pub severity: u8,
    /// `tag=`: letters, digits and `_`, at most 32; default `nginx`, so that existing filters continue to work.
    pub tag: String,
    /// True if the machine's name is sent; false with `nohostname`.
    pub hostname: bool,
}

/// Address of a syslog server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogServer {
    /// `unix:PATH`.
    Unix(String),
    /// Name or address, and UDP port (default 514).
    Udp(String, u16),
}
