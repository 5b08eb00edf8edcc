//! Host name of php-fpm that is resolved again while the server runs, because a recreated container has another
//! address.
//!
//! The name servers are those of the system (`/etc/resolv.conf`, resolv.conf(5)). Names that only the C library can
//! resolve (`/etc/hosts`, other services) are resolved only at a start or reload.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs};

use myriad_base::digits::decimal;

/// File with the name servers of the system.
const FILE: &str = "/etc/resolv.conf";
/// Maximum number of name servers that are used from the file, as in the C library.
const MOST_SERVERS: usize = 3;
/// Time for which a resolved address is used. It is shorter than the ten minutes that Docker's name server returns,
/// because a container may be recreated within a second.
const VALID: &str = "10s";

/// Name of a php-fpm server that is resolved at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhpServerName {
    /// Arguments of the directive `server`: the complete domain name with its port, and `resolve`.
    pub(super) server: String,
    /// Arguments of the directive `resolver`: the name servers of the system.
    resolver: String,
}

impl PhpServerName {
    /// Returns the host name in an address of php-fpm, completed by a search domain if necessary.
    ///
    /// Returns `None` for a socket, a numeric address, `localhost`, and a name that only the C library can resolve, and
    /// if the system has no name servers. A name that does not resolve yet is used as it is.
    pub(super) fn from_address(php: &str) -> Option<Self> {
        let (host, port) = php.rsplit_once(':')?;
        if !is_name(host)
            || host.parse::<IpAddr>().is_ok()
            || host == "localhost"
            || decimal::<u16>(port).is_none()
        {
            return None;
        }
        let system = SystemResolver::read(&fs::read_to_string(FILE).ok()?);
        // With a trailing dot, a name is neither completed nor searched in `/etc/hosts`.
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

    /// Returns the directives `zone` and `resolver` for the `upstream` block named `group`.
    pub(super) fn of_group(&self, group: &str) -> String {
        format!("zone {group} 64k; resolver {} valid={VALID};", self.resolver)
    }
}

/// Returns whether a text has the form of a host name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

/// Name servers and search domains of the system.
#[derive(Debug, Default)]
struct SystemResolver {
    servers: Vec<IpAddr>,
    /// Domains by which an incomplete name may be completed.
    search: Vec<String>,
}

impl SystemResolver {
    /// Parses the text of `resolv.conf`; unknown lines are ignored, as in the C library.
    fn read(text: &str) -> Self {
        let mut system = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") if system.servers.len() < MOST_SERVERS => {
                    system.servers.extend(words.next().and_then(|word| word.parse::<IpAddr>().ok()));
                }
                // Of several such lines, the last one applies.
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

    /// Returns the names that a host may have: the host itself, then the host followed by each search domain.
    fn names(&self, host: &str) -> Vec<String> {
        let host = host.trim_end_matches('.');
        let completed = self.search.iter().map(|domain| format!("{host}.{domain}"));
        std::iter::once(host.to_owned()).chain(completed).collect()
    }

    /// Returns the arguments of the directive `resolver`; `None` if there are no name servers.
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
