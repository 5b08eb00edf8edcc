//! Address of a peer: a server to which requests are sent.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Address of a peer, displayed as in nginx's `$upstream_addr`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PeerAddress {
    /// Unix socket, `unix:/run/php-fpm.sock`.
    Unix(PathBuf),
    /// IP address and port, `127.0.0.1:9000` or `[::1]:9000`.
    Tcp(SocketAddr),
}

/// Parse or lookup error of a peer address; displayed with nginx's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// `unix:` without a path.
    NoPath,
    /// The port is missing without a default port, or is not a number from 1 to 65535, or the closing bracket of an
    /// IPv6 address is followed by a character other than `:`.
    Port,
    /// The host is empty, lacks the closing bracket of an IPv6 address, is not an IP address ([`PeerAddress::parse`]),
    /// or is a name without addresses ([`PeerAddress::resolve`]).
    Host(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPath => f.write_str("no path in the unix domain socket"),
            Self::Port => f.write_str("invalid port"),
            Self::Host(host) => write!(f, "host not found in upstream \"{host}\""),
        }
    }
}

impl std::error::Error for AddressError {}

impl PeerAddress {
    /// Parses `unix:/path`, `ADDRESS:PORT`, `[ADDRESS6]:PORT` or, with a `default_port`, an address without port.
    ///
    /// Names are not resolved: for a name, the result is [`AddressError::Host`].
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(AddressError::NoPath) } else { Ok(Self::Unix(path.into())) };
        }
        let (host, port) = split(text, default_port)?;
        let ip = host.parse().map_err(|_| AddressError::Host(host.to_owned()))?;
        Ok(Self::Tcp(SocketAddr::new(ip, port)))
    }

    /// Parses like [`PeerAddress::parse`], but resolves a name with the resolver of the system. Returns all its
    /// addresses; [`AddressError::Host`] if it has none.
    ///
    /// The call blocks, so it must only be used while loading the configuration.
    pub fn resolve(text: &str, default_port: Option<u16>) -> Result<Vec<Self>, AddressError> {
        match Self::parse(text, default_port) {
            Err(AddressError::Host(host)) => {
                let (_, port) = split(text, default_port)?;
                let found = (host.as_str(), port).to_socket_addrs();
                let addresses: Vec<_> = found.into_iter().flatten().map(Self::Tcp).collect();
                if addresses.is_empty() { Err(AddressError::Host(host)) } else { Ok(addresses) }
            }
            parsed => parsed.map(|address| vec![address]),
        }
    }
}

/// Splits host (without the brackets of IPv6) and port; a missing port is replaced by `default_port`. Fails if the host
/// is empty or its bracket is not closed, or if the port is invalid or missing without a default.
fn split(text: &str, default_port: Option<u16>) -> Result<(&str, u16), AddressError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(|| AddressError::Host(text.to_owned()))?;
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(AddressError::Port),
            }
        }
        None => text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err(AddressError::Host(text.to_owned()));
    }
    let port = match port {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().ok(),
        Some(_) => None,
        None => default_port,
    };
    port.filter(|port| *port != 0).map(|port| (host, port)).ok_or(AddressError::Port)
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_as_they_are_written() {
        for text in ["unix:/run/php/php-fpm.sock", "127.0.0.1:9000", "[::1]:9000"] {
            assert_eq!(PeerAddress::parse(text, None).unwrap().to_string(), text);
        }
        assert_eq!(PeerAddress::parse("10.0.0.1", Some(80)).unwrap().to_string(), "10.0.0.1:80");
        assert_eq!(PeerAddress::parse("[::1]", Some(80)).unwrap().to_string(), "[::1]:80");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, error) in [
            ("unix:", AddressError::NoPath),
            ("127.0.0.1", AddressError::Port),
            ("127.0.0.1:0", AddressError::Port),
            ("127.0.0.1:65536", AddressError::Port),
            ("127.0.0.1:+80", AddressError::Port),
            ("[::1]80", AddressError::Port),
            ("php:9000", AddressError::Host("php".to_owned())),
            (":9000", AddressError::Host(":9000".to_owned())),
            ("[::1:9000", AddressError::Host("[::1:9000".to_owned())),
        ] {
            assert_eq!(PeerAddress::parse(text, None).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn localhost_resolves() {
        let addresses = PeerAddress::resolve("localhost:9000", None).unwrap();
        assert!(addresses.iter().all(|address| matches!(address, PeerAddress::Tcp(at) if at.port() == 9000)));
        assert!(
            addresses.iter().any(|address| matches!(address, PeerAddress::Tcp(at) if at.ip().is_loopback()))
        );
    }
}
