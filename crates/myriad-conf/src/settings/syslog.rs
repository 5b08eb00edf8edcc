//! `syslog:server=…` as a target of `access_log` and `error_log`.

/// The server that keeps the messages, and how they are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogConf {
    /// `server=`.
    pub server: SyslogServer,
    /// `facility=`, by its number in RFC 3164 section 4.1.1; `local7` unless written.
    pub facility: u8,
    /// `severity=` of access-log lines, by its number; `info` unless written. Error-log lines have that of their level.
    pub severity: u8,
    /// `tag=`: letters, digits and `_`, at most 32; `nginx` unless written, so that what sorts messages goes on working.
    pub tag: String,
    /// Whether the machine's name is sent; not with `nohostname`.
    pub hostname: bool,
}

/// The address where a syslog server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogServer {
    /// `unix:PATH`.
    Unix(String),
    /// A name or an address, and a UDP port: 514 unless written.
    Udp(String, u16),
}
