//! Directive `listen`: parsers of its address and parameters.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use myriad_base::digits::decimal;

use super::{Arguments, BuildFeature, SetterResult};
use crate::{
    diagnostic::Diagnostic,
    model::{KeepAliveProbe, ListenAddress, ListenConf, ServerConf},
};

pub(super) fn listen(server: &mut ServerConf, args: &mut Arguments<'_>) -> SetterResult {
    let addresses = addresses(args)?;
    let mut conf = ListenConf::new(addresses[0].clone(), args.node.span);
    for index in 1..args.len() {
        parameter(&mut conf, args, index)?;
    }
    if conf.quic {
        check_quic(&conf, args)?;
    }
    server.listens.extend(addresses.into_iter().map(|address| ListenConf { address, ..conf.clone() }));
    Ok(())
}

/// Setter of `listen` in `stream`, which requires a port and accepts no HTTP parameters.
pub(super) fn stream_listen(server: &mut ServerConf, args: &mut Arguments<'_>) -> SetterResult {
    let addresses = addresses(args)?;
    let word = String::from_utf8_lossy(args.bytes(0));
    if !word.starts_with("unix:") && split_port(&word).is_some_and(|(_, port)| port.is_none()) {
        let message = format!("no port in \"{word}\" of the \"listen\" directive");
        return Err(args.error(0, message).help("write a port, or ADDRESS:PORT"));
    }
    let mut conf = ListenConf::new(addresses[0].clone(), args.node.span);
    for index in 1..args.len() {
        match args.bytes(index) {
            b"udp" => conf.udp = true,
            word @ (b"http2" | b"quic") => {
                let word = String::from_utf8_lossy(word);
                let message = format!("\"{word}\" is not supported in \"stream\"");
                return Err(args.error(index, message).help("use a server in the \"http\" block for HTTP"));
            }
            _ => parameter(&mut conf, args, index)?,
        }
    }
    if conf.udp {
        check_udp(&conf, args)?;
    }
    server.listens.extend(addresses.into_iter().map(|address| ListenConf { address, ..conf.clone() }));
    Ok(())
}

/// Rejects Unix sockets, and parameters of `listen` that do not apply to UDP, as nginx does.
fn check_udp(conf: &ListenConf, args: &Arguments<'_>) -> SetterResult {
    let incompatible = [
        ("backlog", conf.backlog.is_some()),
        ("deferred", conf.deferred),
        ("fastopen", conf.fastopen.is_some()),
        ("ssl", conf.ssl),
        ("so_keepalive", conf.so_keepalive.is_some()),
        ("proxy_protocol", conf.proxy_protocol),
    ];
    if let Some((name, _)) = incompatible.iter().find(|(_, written)| *written) {
        let at = (1..args.len()).find(|index| args.bytes(*index).starts_with(name.as_bytes())).unwrap_or(0);
        return Err(args.error(at, format!("\"{name}\" parameter is incompatible with \"udp\"")));
    }
    if matches!(conf.address, ListenAddress::Unix(_)) {
        return Err(args.error(0, "\"udp\" requires an address and a port"));
    }
    Ok(())
}

/// Rejects Unix sockets, and parameters of `listen` that do not apply to QUIC, as nginx does.
fn check_quic(conf: &ListenConf, args: &Arguments<'_>) -> SetterResult {
    let incompatible = [
        ("fastopen", conf.fastopen.is_some()),
        ("backlog", conf.backlog.is_some()),
        ("deferred", conf.deferred),
        ("ssl", conf.ssl),
        ("http2", conf.http2),
        ("so_keepalive", conf.so_keepalive.is_some()),
        ("proxy_protocol", conf.proxy_protocol),
    ];
    if let Some((name, _)) = incompatible.iter().find(|(_, written)| *written) {
        let at = (1..args.len()).find(|index| args.bytes(*index).starts_with(name.as_bytes())).unwrap_or(0);
        let message = format!("\"{name}\" parameter is incompatible with \"quic\"");
        let help = "write a second \"listen\" for TCP: QUIC uses a separate socket and always includes TLS";
        return Err(args.error(at, message).help(help));
    }
    if matches!(conf.address, ListenAddress::Unix(_)) {
        return Err(args.error(0, "\"quic\" requires an address and a port, because it uses UDP"));
    }
    Ok(())
}

fn parameter(conf: &mut ListenConf, args: &mut Arguments<'_>, index: usize) -> SetterResult {
    let word = String::from_utf8_lossy(args.bytes(index)).into_owned();
    match word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value))) {
        ("default_server" | "default", None) => conf.default_server = true,
        ("ssl", None) => conf.ssl = true,
        ("http2", None) => {
            conf.http2 = true;
            args.warn(
                index,
                "the \"listen ... http2\" directive is deprecated, use the \"http2\" directive instead",
            );
        }
        ("quic", None) => match BuildFeature::missing("http3") {
            Some(feature) => return Err(args.error(index, format!("\"quic\": {}", feature.refusal))),
            None => conf.quic = true,
        },
        ("bind", None) => conf.bind = true,
        ("reuseport", None) => conf.reuseport = true,
        ("deferred", None) => conf.deferred = true,
        ("proxy_protocol", None) => conf.proxy_protocol = true,
        ("backlog", Some(_)) => match args.small(index, 8)? {
            0 => return Err(args.invalid(index, "at least 1")),
            backlog => conf.backlog = Some(backlog),
        },
        ("fastopen", Some(_)) => conf.fastopen = Some(args.small(index, 9)?),
        ("rcvbuf", Some(_)) => conf.rcvbuf = Some(args.size_after(index, 7)?),
        ("sndbuf", Some(_)) => conf.sndbuf = Some(args.size_after(index, 7)?),
        ("ipv6only", Some("on")) => conf.ipv6only = true,
        ("ipv6only", Some("off")) => conf.ipv6only = false,
        ("so_keepalive", Some(value)) => conf.so_keepalive = Some(keep_alive(args, index, value)?),
        ("setfib", Some(_)) | ("multipath", None) => {
            return Err(
                args.error(index, format!("\"{word}\" in \"listen\" is not supported on this platform"))
            );
        }
        // Not supported on Linux, where nginx ignores it as well.
        ("accept_filter", Some(_)) => {
            args.warn(index, format!("\"{word}\" in \"listen\" is not supported on this platform, ignored"));
        }
        _ => {
            let known = [
                "default_server",
                "bind",
                "reuseport",
                "deferred",
                "backlog=",
                "fastopen=",
                "rcvbuf=",
                "sndbuf=",
                "ipv6only=",
                "so_keepalive=",
                "proxy_protocol",
                "ssl",
                "http2",
                "quic",
            ];
            let mut diagnostic = args.error(index, format!("invalid parameter \"{word}\" in \"listen\""));
            if let Some(near) = super::nearest(&word, known) {
                diagnostic = diagnostic.help(format!("did you mean \"{near}\"?"));
            }
            return Err(diagnostic);
        }
    }
    Ok(())
}

fn keep_alive(args: &Arguments<'_>, index: usize, value: &str) -> Result<KeepAliveProbe, Diagnostic> {
    let mut probe = KeepAliveProbe { on: true, idle_s: None, interval_s: None, count: None };
    match value {
        "on" => return Ok(probe),
        "off" => return Ok(KeepAliveProbe { on: false, ..probe }),
        _ => {}
    }
    let must_be = "on, off or [idle]:[interval]:[count]";
    let parts: Vec<&str> = value.split(':').collect();
    if parts.len() > 3 {
        return Err(args.invalid(index, must_be));
    }
    let seconds = |part: &str| -> Result<Option<u32>, Diagnostic> {
        if part.is_empty() {
            return Ok(None);
        }
        let seconds = crate::number::parse_seconds(part.as_bytes()).ok().and_then(|s| u32::try_from(s).ok());
        seconds.map(Some).ok_or_else(|| args.invalid(index, must_be))
    };
    probe.idle_s = seconds(parts[0])?;
    probe.interval_s = parts.get(1).map_or(Ok(None), |part| seconds(part))?;
    if let Some(count) = parts.get(2).filter(|count| !count.is_empty()) {
        probe.count = Some(decimal(count).ok_or_else(|| args.invalid(index, must_be))?);
    }
    Ok(probe)
}

/// Reason why an argument is not a valid listen address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadListenAddress {
    /// `unix:` without a path.
    NoPath,
    /// A port is not a number from 1 to 65535, or the first port of a range exceeds the last.
    Port,
    /// The host is neither an address nor a name.
    Host,
    /// The argument has none of the supported forms.
    Shape,
}

impl fmt::Display for BadListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPath => "no path in the unix domain socket",
            Self::Port => "invalid port",
            Self::Host => "invalid host",
            Self::Shape => "no address",
        })
    }
}

fn addresses(args: &Arguments<'_>) -> Result<Vec<ListenAddress>, Diagnostic> {
    let word = args.bytes(0);
    listen_addresses(word).map_err(|bad| match bad {
        BadListenAddress::NoPath => args.error(0, bad.to_string()),
        BadListenAddress::Port | BadListenAddress::Host => {
            args.error(0, format!("{bad} in \"{}\"", String::from_utf8_lossy(word)))
        }
        BadListenAddress::Shape => args.invalid(0, "an address, a port, address:port or unix:PATH"),
    })
}

/// Parses the first argument of `listen` and returns its addresses, at least one: one for each port of a range. The
/// default port is 80.
///
/// # Errors
/// Returns an error if the word is not a valid address.
pub fn listen_addresses(word: &[u8]) -> Result<Vec<ListenAddress>, BadListenAddress> {
    if let Some(path) = word.strip_prefix(b"unix:") {
        let path = Some(path).filter(|path| !path.is_empty()).ok_or(BadListenAddress::NoPath)?;
        return Ok(vec![ListenAddress::Unix(path.to_vec())]);
    }
    let text = std::str::from_utf8(word).map_err(|_| BadListenAddress::Shape)?;
    let (host, ports) = split_port(text).ok_or(BadListenAddress::Shape)?;
    let ports = match ports {
        None => 80..=80,
        Some(ports) => port_range(ports).ok_or(BadListenAddress::Port)?,
    };
    let address = |port: u16| -> Option<ListenAddress> {
        Some(match host {
            None | Some("*") => ListenAddress::Ip(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)),
            Some(host) => match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
                Some(v6) => ListenAddress::Ip(SocketAddr::new(IpAddr::V6(v6.parse().ok()?), port)),
                None => host_address(host, port)?,
            },
        })
    };
    ports.map(|port| address(port).ok_or(BadListenAddress::Host)).collect()
}

fn host_address(host: &str, port: u16) -> Option<ListenAddress> {
    if let Ok(v4) = host.parse::<Ipv4Addr>() {
        return Some(ListenAddress::Ip(SocketAddr::new(IpAddr::V4(v4), port)));
    }
    is_host_name(host).then(|| ListenAddress::Host(host.to_ascii_lowercase(), port))
}

/// Returns whether a text is a host name that may be resolved: letters, digits, `-`, `_` and dots, with at least one
/// letter or `_`.
pub fn is_host_name(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !host.is_empty()
        && host.bytes().all(allowed)
        && host.bytes().any(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// Splits `host:port`, `[v6]:port`, a host or a port into host and port, without checking them; `None` if the form is
/// invalid.
pub(super) fn split_port(text: &str) -> Option<(Option<&str>, Option<&str>)> {
    if text.starts_with('[') {
        let end = text.find(']')? + 1;
        return match &text[end..] {
            "" => Some((Some(text), None)),
            rest => Some((Some(&text[..end]), Some(rest.strip_prefix(':')?))),
        };
    }
    if let Some((host, port)) = text.split_once(':') {
        return (!host.is_empty()).then_some((Some(host), Some(port)));
    }
    let is_port = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('.');
    if is_port { Some((None, Some(text))) } else { Some((Some(text), None)) }
}

fn port_range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let port = |text: &str| decimal::<u16>(text).filter(|port| *port > 0);
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (port(first)?, port(last)?),
        None => (port(text)?, port(text)?),
    };
    (first <= last).then_some(first..=last)
}
