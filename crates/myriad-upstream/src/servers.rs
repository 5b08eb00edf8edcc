//! Servers of a group (`upstream`): parsing and formatting for administrators and `state` files.

use std::fmt::Write as _;

use myriad_base::digits::decimal;

use crate::address::{AddressError, PeerAddress};
use crate::peer_config::{NamedServer, PeerConfig};
use crate::resolver::message::is_name;

/// Maximum length in bytes of a server address set by an administrator or in a `state` file.
const MAX_BYTES: usize = 512;

/// Server of a group, configured or added by an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupServer {
    /// Server with an address: a single peer.
    Fixed(PeerConfig),
    /// Server with a name that is resolved at run time: a peer for each address.
    Named(NamedServer),
}

impl GroupServer {
    /// Returns the configuration of the peers; for a name, the address in it is a placeholder.
    pub(crate) fn peer(&self) -> &PeerConfig {
        match self {
            Self::Fixed(peer) => peer,
            Self::Named(named) => &named.peer,
        }
    }

    pub(crate) fn peer_mut(&mut self) -> &mut PeerConfig {
        match self {
            Self::Fixed(peer) => peer,
            Self::Named(named) => &mut named.peer,
        }
    }

    /// Returns whether both servers have the same address, or the same name to resolve; other parameters may differ.
    pub(crate) fn is_same_server(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(other)) => one.address == other.address,
            (Self::Named(one), Self::Named(other)) => one.host == other.host,
            _ => false,
        }
    }

    /// Returns the address of the server, or its name as configured.
    pub(crate) fn display_name(&self) -> String {
        match self {
            Self::Fixed(peer) => peer.address.to_string(),
            Self::Named(named) => named.peer.name.clone(),
        }
    }

    /// Returns the value of `service=` as the prefix of a service record: `_http._tcp` for `http`. `None` without it.
    pub(crate) fn service(&self) -> Option<String> {
        let Self::Named(named) = self else { return None };
        if !named.is_service {
            return None;
        }
        let name = named.peer.name.trim_end_matches('.').to_ascii_lowercase();
        let service = named.host.strip_suffix(&name).unwrap_or(&named.host);
        Some(service.trim_end_matches('.').to_owned())
    }

    /// Creates a server with the address or name `text` and nginx's defaults; `service` is the value of `service=`. A
    /// name is resolved at run time. Without `default_port`, an address must contain a port. Fails if the text is not a
    /// valid address or name, or if `service` is empty or used with an address or a port.
    pub(crate) fn of(
        text: &str,
        service: Option<&str>,
        default_port: Option<u16>,
    ) -> Result<Self, ServerError> {
        let nowhere = || PeerAddress::Unix(std::path::PathBuf::new());
        let named = |host: &str, port, is_service| {
            let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
            if !is_name(&host) {
                return Err(ServerError::Address(format!("invalid host in upstream \"{text}\"")));
            }
            let peer = PeerConfig { name: text.to_owned(), ..PeerConfig::new(nowhere()) };
            Ok(Self::Named(NamedServer { host, is_service, port, peer }))
        };
        // Rejects characters that would end a word of a `state` file.
        let is_plain =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b";#={}\"'\\".contains(&byte));
        if text.is_empty() || text.len() > MAX_BYTES || !is_plain(text) || !service.is_none_or(is_plain) {
            return Err(ServerError::Address("the server has an invalid address".to_owned()));
        }
        if let Some(service) = service {
            if service.is_empty() {
                return Err(ServerError::NoService);
            }
            return match PeerAddress::parse(text, Some(80)) {
                Ok(_) => {
                    Err(ServerError::Address(format!("service upstream \"{text}\" requires domain name")))
                }
                Err(AddressError::Host(host)) if host == text => {
                    let prefix =
                        if service.contains('.') { service.to_owned() } else { format!("_{service}._tcp") };
                    named(&format!("{prefix}.{text}"), 80, true)
                }
                Err(_) => Err(ServerError::Address(format!("service upstream \"{text}\" may not have port"))),
            };
        }
        match PeerAddress::parse(text, default_port) {
            Ok(address) => Ok(Self::Fixed(PeerConfig::new(address))),
            Err(AddressError::Host(host)) => {
                let port = text.rsplit_once(':').and_then(|(_, port)| decimal(port));
                named(&host, port.or(default_port).unwrap_or(80), false)
            }
            Err(AddressError::Port) if default_port.is_none() && !text.contains(':') => {
                Err(ServerError::Address(format!("no port in server \"{text}\"")))
            }
            Err(error) => Err(ServerError::Address(format!("{error} in upstream \"{text}\""))),
        }
    }

    /// Returns the line of this server for a `state` file.
    fn line(&self) -> String {
        let peer = self.peer();
        let mut line = format!("server {}", self.display_name());
        let mut add = |differs: bool, text: std::fmt::Arguments<'_>| {
            if differs {
                // Writing to a string cannot fail.
                let _ = write!(line, " {text}");
            }
        };
        add(peer.weight != 1, format_args!("weight={}", peer.weight));
        add(peer.max_conns != 0, format_args!("max_conns={}", peer.max_conns));
        add(peer.max_fails != 1, format_args!("max_fails={}", peer.max_fails));
        add(peer.fail_timeout_ms != 10_000, format_args!("fail_timeout={}ms", peer.fail_timeout_ms));
        add(peer.max_fail_timeout_ms != 0, format_args!("max_fail_timeout={}ms", peer.max_fail_timeout_ms));
        add(peer.slow_start_ms != 0, format_args!("slow_start={}ms", peer.slow_start_ms));
        if let Some(route) = &peer.route {
            add(true, format_args!("route={route}"));
        }
        if let Some(service) = self.service() {
            add(true, format_args!("service={service}"));
        }
        add(matches!(self, Self::Named(_)), format_args!("resolve"));
        add(peer.backup, format_args!("backup"));
        add(peer.down, format_args!("down"));
        add(peer.drain, format_args!("drain"));
        line.push_str(";\n");
        line
    }

    /// Parses the line of a server in a `state` file, without the semicolon. The error describes the problem.
    fn of_line(line: &str, default_port: Option<u16>) -> Result<Self, String> {
        let mut words = line.split_ascii_whitespace();
        let (Some("server"), Some(address)) = (words.next(), words.next()) else {
            return Err(format!("\"{line}\" is not a valid server"));
        };
        let words: Vec<&str> = words.collect();
        let service = words.iter().find_map(|word| word.strip_prefix("service="));
        let mut server = Self::of(address, service, default_port).map_err(|error| error.to_string())?;
        let peer = server.peer_mut();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || decimal::<u32>(value).ok_or_else(|| format!("invalid {name} in \"{line}\""));
            let millis = || {
                myriad_conf::number::parse_millis(value.as_bytes())
                    .map_err(|_| format!("invalid {name} in \"{line}\""))
            };
            match name {
                "weight" => peer.weight = number()?.max(1),
                "max_conns" => peer.max_conns = number()?,
                "max_fails" => peer.max_fails = number()?,
                "fail_timeout" => peer.fail_timeout_ms = millis()?,
                "max_fail_timeout" => peer.max_fail_timeout_ms = millis()?,
                "slow_start" => peer.slow_start_ms = millis()?,
                "route" => peer.route = Some(value.to_owned()),
                "backup" => peer.backup = true,
                "down" => peer.down = true,
                "drain" => peer.drain = true,
                "service" | "resolve" => {}
                _ => return Err(format!("invalid parameter \"{word}\" in \"{line}\"")),
            }
        }
        Ok(server)
    }
}

/// Reason why a text does not describe a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerError {
    /// Invalid address, with the reason.
    Address(String),
    /// The service name is empty.
    NoService,
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(why) => f.write_str(why),
            Self::NoService => f.write_str("\"service\" is empty"),
        }
    }
}

/// Returns the text of a `state` file: one `server` line for each server.
pub(crate) fn state_text<'a>(servers: impl IntoIterator<Item = &'a GroupServer>) -> String {
    servers.into_iter().map(GroupServer::line).collect()
}

/// Parses a `state` file; the error describes the problem.
pub(crate) fn of_state(text: &str, default_port: Option<u16>) -> Result<Vec<GroupServer>, String> {
    let uncommented = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let text = uncommented.collect::<Vec<_>>().join(" ");
    let lines = text.split(';').map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| GroupServer::of_line(line, default_port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_that_is_written_is_read_again() {
        let mut one = GroupServer::of("127.0.0.1:8080", None, Some(80)).expect("an address");
        let peer = one.peer_mut();
        (peer.weight, peer.max_conns, peer.max_fails) = (5, 7, 0);
        (peer.fail_timeout_ms, peer.slow_start_ms) = (1500, 30_000);
        (peer.backup, peer.down, peer.drain, peer.route) = (true, true, true, Some("r".into()));
        let servers = [
            one,
            GroupServer::of("app.example.com", None, Some(80)).expect("a name"),
            GroupServer::of("shop.example.com", Some("http"), Some(80)).expect("a service"),
            GroupServer::of("unix:/run/app.sock", None, None).expect("a socket"),
            GroupServer::of("[::1]", None, Some(80)).expect("an address"),
        ];
        let text = state_text(&servers);
        assert!(text.contains("server shop.example.com service=_http._tcp resolve;"), "{text}");
        assert_eq!(of_state(&text, Some(80)).as_deref(), Ok(&servers[..]));
        assert_eq!(of_state("# nothing\n", None).as_deref(), Ok(&[][..]));
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for (text, service, port) in [
            ("", None, Some(80)),
            ("a b", None, Some(80)),
            ("a:0", None, Some(80)),
            ("a:http", None, Some(80)),
            ("a;b", None, Some(80)),
            ("127.0.0.1", None, None),
            ("unix:", None, Some(80)),
            ("a", Some(""), Some(80)),
            ("a:80", Some("http"), Some(80)),
            ("127.0.0.1", Some("http"), Some(80)),
            ("a", Some("x y"), Some(80)),
        ] {
            assert!(GroupServer::of(text, service, port).is_err(), "{text} {service:?}");
        }
        for text in ["server;", "nothing a;", "server a weight=x;", "server 1.2.3.4 fly;", "server 1.2.3.4"] {
            assert_eq!(of_state(text, Some(80)).is_ok(), text == "server 1.2.3.4", "{text}");
        }
    }

    #[test]
    fn mutated_state_is_read_or_refused() {
        let seed = "server 127.0.0.1:80 weight=2 route=a;\nserver a.b service=http resolve backup; # c\n";
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let mut bytes = seed.as_bytes().to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bytes.len());
                match rng.u8(..3) {
                    0 => bytes[at] = rng.u8(..),
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, b"=;#: \n"[rng.usize(..6)]),
                }
            }
            // A parsed file can be written and parsed again.
            if let Ok(servers) = of_state(&String::from_utf8_lossy(&bytes), Some(80)) {
                let again = of_state(&state_text(&servers), Some(80));
                assert_eq!(again.as_deref(), Ok(&servers[..]), "{}", String::from_utf8_lossy(&bytes));
            }
        }
    }
}
