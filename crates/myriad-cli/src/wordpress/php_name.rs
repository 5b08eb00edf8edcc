//! Host name of php-fpm, which is resolved again while the server runs, because a recreated container has another
//! address.
//!
//! The name servers are those of the system, `/etc/resolv.conf` (resolv.conf(5)). Names that only the system can
//! resolve (`/etc/hosts`, other services of the C library) are resolved at each start and reload only.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs};

/// File with the name servers of the system.
const FILE: &str = "/etc/resolv.conf";
/// Maximum number of name servers used from that file, as in the C library.
const MOST_SERVERS: usize = 3;
/// Validity of an address: the name server of Docker returns ten minutes for containers that may be gone in a second.
const VALID: &str = "10s";

/// Configuration of a server whose name is resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhpServerName {
    /// Server with its complete domain name and its port.
    pub(super) server: String,
    resolver: String,
}

impl PhpServerName {
    /// Returns the name in an address of php-fpm, if name servers can resolve it.
    ///
    /// Returns `None` for a socket, a numeric address, and a name that only the system can resolve. A name that cannot
    /// be resolved yet is used unchanged.
    pub(super) fn from_address(php: &str) -> Option<Self> {
        let (host, port) = php.rsplit_once(':')?;
        if !is_name(host)
            || host.parse::<IpAddr>().is_ok()
            || host == "localhost"
            || port.parse::<u16>().is_err()
        {
            return None;
        }
        let system = SystemResolver::read(&fs::read_to_string(FILE).ok()?);
        // A name with a trailing dot is neither completed nor searched in /etc/hosts.
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

    /// Returns additional directives for the group of the server.
    pub(super) fn of_group(&self, group: &str) -> String {
        format!("zone {group} 64k; resolver {} valid={VALID};", self.resolver)
    }
}

/// Returns whether the text may be a name, complete or not.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

/// Name server settings of the system.
#[derive(Debug, Default)]
struct SystemResolver {
    servers: Vec<IpAddr>,
    /// Domains that complete a name.
    search: Vec<String>,
}

impl SystemResolver {
    /// Parses the relevant lines; other lines are ignored, as in the C library.
    fn read(text: &str) -> Self {
        let mut system = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") if system.servers.len() < MOST_SERVERS => {
                    system.servers.extend(words.next().and_then(|word| word.parse::<IpAddr>().ok()));
                }
                // The last of these lines applies.
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

    /// Returns the possible complete names of a host.
    fn names(&self, host: &str) -> Vec<String> {
        let host = host.trim_end_matches('.');
        let completed = self.search.iter().map(|domain| format!("{host}.{domain}"));
        std::iter::once(host.to_owned()).chain(completed).collect()
    }

    /// Returns the name servers in the form of `resolver`; `None` if the file has none.
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
    fn resolv_conf_yields_name_servers_and_search_domains() {
        let system = SystemResolver::read(
            "# a comment\nnameserver 127.0.0.11\n nameserver 2001:db8::1 \nnameserver fe80::1%eth0\nnameserver nonsense\n\
             domain one.test\nsearch two.test. three.test $x ;\noptions ndots:0\nnameserver 192.0.2.1\nnameserver 192.0.2.2\nx",
        );
        assert_eq!(system.resolver().as_deref(), Some("127.0.0.11 [2001:db8::1] 192.0.2.1"));
        assert_eq!(system.names("db"), ["db", "db.two.test", "db.three.test"]);
        assert_eq!(SystemResolver::read("search x").resolver(), None);
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
            assert_eq!(PhpServerName::from_address(php), None, "{php}");
        }
    }
}
