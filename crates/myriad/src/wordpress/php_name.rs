//! Name of the machine that php-fpm runs on: it is looked up again while the server runs, for a container that is made anew has
//! another address.
//!
//! The name servers are those of the system, `/etc/resolv.conf` (resolv.conf(5)). What it calls by a name of its own (`/etc/hosts`,
//! other services of the C library) no name server knows: such a name is looked up at each start and reload, and not between.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs};

/// Where the system says whom it asks.
const FILE: &str = "/etc/resolv.conf";
/// Most name servers of that file that count, as for the C library.
const MOST_SERVERS: usize = 3;
/// How long an address is believed: Docker's name server says ten minutes, of containers that may be gone in a second.
const VALID: &str = "10s";

/// What a configuration says of a server that is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhpName {
    /// The server, whole as its domain is, with its port.
    pub(super) server: String,
    resolver: String,
}

impl PhpName {
    /// The name in an address of php-fpm, where name servers know it. None for a socket, an address in figures, and a name that the
    /// system finds elsewhere; a name that nobody knows yet is taken as it is.
    pub(super) fn of(php: &str) -> Option<Self> {
        let (host, port) = php.rsplit_once(':')?;
        if !is_name(host)
            || host.parse::<IpAddr>().is_ok()
            || host == "localhost"
            || port.parse::<u16>().is_err()
        {
            return None;
        }
        let system = System::read(&fs::read_to_string(FILE).ok()?);
        // With a dot at its end a name is neither completed nor sought in /etc/hosts.
        let is_known = |name: &str| format!("{name}.:{port}").to_socket_addrs().is_ok();
        let whole = system.names(host).into_iter().find(|name| is_known(name));
        let whole = match whole {
            None if php.to_socket_addrs().is_ok() => return None,
            None => host.to_owned(),
            Some(whole) => whole,
        };
        let resolver = system.resolver()?;
        Some(Self { server: format!("{whole}:{port} resolve"), resolver })
    }

    /// What the group of the server has besides.
    pub(super) fn of_group(&self, group: &str) -> String {
        format!("zone {group} 64k; resolver {} valid={VALID};", self.resolver)
    }
}

/// Whether this may be a name, whole or not.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

/// What the system says of name servers.
#[derive(Debug, Default)]
struct System {
    servers: Vec<IpAddr>,
    /// Domains that a name may be in.
    search: Vec<String>,
}

impl System {
    /// Reads the lines that count; what it does not know it passes over, as the C library does.
    fn read(text: &str) -> Self {
        let mut system = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") if system.servers.len() < MOST_SERVERS => {
                    system.servers.extend(words.next().and_then(|word| word.parse::<IpAddr>().ok()));
                }
                // The last of them counts.
                Some("search" | "domain") => {
                    let domains =
                        words.filter(|word| is_name(word)).map(|word| word.trim_matches('.').to_owned());
                    system.search = domains.filter(|domain| !domain.is_empty()).collect();
                }
                _ => {}
            }
        }
        system
    }

    /// What a name may be in whole.
    fn names(&self, host: &str) -> Vec<String> {
        let host = host.trim_end_matches('.');
        let completed = self.search.iter().map(|domain| format!("{host}.{domain}"));
        std::iter::once(host.to_owned()).chain(completed).collect()
    }

    /// The name servers as `resolver` takes them; none where the file has none.
    fn resolver(&self) -> Option<String> {
        let words = self.servers.iter().map(|server| match server {
            IpAddr::V4(server) => server.to_string(),
            IpAddr::V6(server) => format!("[{server}]"),
        });
        Some(words.collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_file_says_whom_to_ask_and_what_completes_a_name() {
        let system = System::read(
            "# a comment\nnameserver 127.0.0.11\n nameserver 2001:db8::1 \nnameserver fe80::1%eth0\nnameserver nonsense\n\
             domain one.test\nsearch two.test. three.test $x ;\noptions ndots:0\nnameserver 192.0.2.1\nnameserver 192.0.2.2\nx",
        );
        assert_eq!(system.resolver().as_deref(), Some("127.0.0.11 [2001:db8::1] 192.0.2.1"));
        assert_eq!(system.names("db"), ["db", "db.two.test", "db.three.test"]);
        assert_eq!(System::read("search x").resolver(), None);
    }

    #[test]
    fn what_is_no_name_is_not_looked_up() {
        for php in [
            "unix:/run/php.sock",
            "/run/php.sock",
            "127.0.0.1:9000",
            "[::1]:9000",
            "localhost:9000",
            "x",
            "x:y",
            "$x:1",
        ] {
            assert_eq!(PhpName::of(php), None, "{php}");
        }
    }
}
