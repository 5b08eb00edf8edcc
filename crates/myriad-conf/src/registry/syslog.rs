//! Parser for `syslog:server=ADDRESS,facility=…,severity=…,tag=…,nohostname`.

use myriad_base::digits::decimal;

use super::Arguments;
use crate::diagnostic::Diagnostic;
use crate::settings::{SyslogConf, SyslogServer};

const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock", "authpriv", "ftp",
    "ntp", "audit", "alert", "cron", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
    "local7",
];
const SEVERITIES: [&str; 8] = ["emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"];
const LONGEST_TAG: usize = 32;
const PORT: u16 = 514;

/// Parses the syslog server and its parameters in an argument; `None` if the argument does not start with `syslog:`.
/// Returns an error without a valid `server=`, for an invalid or unknown parameter, and for a second parameter of the
/// same name except `nohostname`, as in nginx.
pub(super) fn read(args: &Arguments<'_>, index: usize) -> Result<Option<SyslogConf>, Diagnostic> {
    let Some(rest) = args.bytes(index).strip_prefix(b"syslog:") else { return Ok(None) };
    let Ok(rest) = std::str::from_utf8(rest) else { return Err(args.invalid(index, "text in UTF-8")) };
    let mut server = None;
    let mut conf = SyslogConf {
        server: SyslogServer::Unix(String::new()),
        facility: 23,
        severity: 6,
        tag: "nginx".to_owned(),
        hostname: true,
    };
    let mut names = Vec::new();
    for word in rest.split(',') {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        if name != "nohostname" && names.contains(&name) {
            let message = format!("duplicate syslog \"{name}\"");
            return Err(args.error(index, message).help(format!("keep only one `{name}=`")));
        }
        names.push(name);
        let number = |names: &[&str], name: &str, what: &str| {
            let at = names.iter().position(|known| *known == name).and_then(|at| u8::try_from(at).ok());
            at.ok_or_else(|| {
                args.error(index, format!("unknown syslog {what} \"{name}\""))
                    .help(format!("one of {}", names.join(", ")))
            })
        };
        match word.split_once('=') {
            Some(("server", address)) => server = Some(server_of(args, index, address)?),
            Some(("facility", name)) => conf.facility = number(&FACILITIES, name, "facility")?,
            Some(("severity", name)) => conf.severity = number(&SEVERITIES, name, "severity")?,
            Some(("tag", tag)) => conf.tag = tag_of(args, index, tag)?,
            None if word == "nohostname" => conf.hostname = false,
            _ => {
                return Err(args
                    .error(index, format!("unknown syslog parameter \"{word}\""))
                    .help("allowed parameters are server=, facility=, severity=, tag= and nohostname"));
            }
        }
    }
    let Some(server) = server else {
        return Err(args.error(index, "no syslog server specified").help("write `syslog:server=ADDRESS`"));
    };
    conf.server = server;
    Ok(Some(conf))
}

fn server_of(args: &Arguments<'_>, index: usize, address: &str) -> Result<SyslogServer, Diagnostic> {
    let invalid = || args.error(index, format!("invalid syslog server \"{address}\""));
    if let Some(path) = address.strip_prefix("unix:") {
        return if path.is_empty() { Err(invalid()) } else { Ok(SyslogServer::Unix(path.to_owned())) };
    }
    let (host, port) = match address.rsplit_once(':') {
        // Colons within brackets are part of an IPv6 address.
        Some((host, port)) if !port.ends_with(']') => (host, decimal(port).ok_or_else(invalid)?),
        _ => (address, PORT),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() || port == 0 { Err(invalid()) } else { Ok(SyslogServer::Udp(host.to_owned(), port)) }
}

fn tag_of(args: &Arguments<'_>, index: usize, tag: &str) -> Result<String, Diagnostic> {
    if tag.is_empty() || tag.len() > LONGEST_TAG {
        return Err(args.error(index, "a syslog \"tag\" must have 1 to 32 characters"));
    }
    if !tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(args.error(index, "a syslog \"tag\" must contain only letters, digits and underscores"));
    }
    Ok(tag.to_owned())
}
