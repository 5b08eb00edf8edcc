//! `syslog:server=…` as the destination of `access_log` and `error_log`.

/// Syslog server and attributes of the messages sent to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogConf {
    /// `server=`: address of the server.
    pub server: SyslogServer,
    /// `facility=`, as a number of RFC 3164 section 4.1.1; default `local7`.
    pub facility: u8,
    /// `severity=` of access log lines, as a number; default `info`. Error log lines have the severity of their level.
    pub severity: u8,
    /// `tag=`: 1 to 32 letters, digits and `_`; default `nginx`, so that existing filters continue to work.
    pub tag: String,
    /// True if messages contain the host name of the machine; false with `nohostname`.
    pub hostname: bool,
}

/// Address of a syslog server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogServer {
    /// `unix:PATH`: path of a datagram socket.
    Unix(String),
    /// Host name or address of the server, and its UDP port (default 514).
    Udp(String, u16),
}
