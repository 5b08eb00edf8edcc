//! `--trusted-proxy`: proxies in front of the sites, and the headers that are trusted if they send them.
//!
//! | sender | `X-Forwarded-Proto` | `X-Forwarded-For` | `X-Forwarded-Host` |
//! |---|---|---|---|
//! | this machine | trusted | if named | if named |
//! | a private network | trusted if named, or if no proxy is named | if named | if named |
//! | Cloudflare | if named | if named | never: Cloudflare does not set it and forwards it from clients |
//! | others | if named | if named | if named |
//!
//! A wrong scheme is harmless, because pages are cached separately for each scheme. A wrong address is not: a client
//! that chooses its address could try passwords without limit.

use std::net::IpAddr;

use myriad_conf::registry::parse_network;
use myriad_conf::settings::Network;

/// Addresses of senders on this machine.
const LOCAL: [&str; 3] = ["unix:", "127.0.0.0/8", "::1"];
/// Private networks (RFC 1918, RFC 4193).
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
/// Networks of Cloudflare, one per line.
const CLOUDFLARE: &str = include_str!("../../../../presets/cloudflare.list");

/// Adds the proxies in an argument of `--trusted-proxy`, separated by commas or spaces, to the list of networks, each
/// once.
///
/// # Errors
///
/// Returns an error text if a word is not an address, a network or a known name, or if it is the network of all
/// addresses (`/0`).
pub(super) fn add(trusted: &mut Vec<String>, value: &str) -> Result<(), String> {
    for word in value.split([',', ' ']).filter(|word| !word.is_empty()) {
        let networks: Vec<&str> = match word {
            "cloudflare" => cloudflare().collect(),
            "private" => LOCAL.into_iter().chain(PRIVATE).collect(),
            "unix:" => vec![word],
            _ => vec![network(word)?],
        };
        for network in networks {
            if !trusted.iter().any(|known| known == network) {
                trusted.push(network.to_owned());
            }
        }
    }
    Ok(())
}

/// Returns an address or a network without brackets around it. Returns an error text if it is invalid, or the network
/// of all addresses (`/0`).
fn network(word: &str) -> Result<&str, String> {
    let bare = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(word);
    match parse_network(bare.as_bytes()) {
        Some(Network::Cidr(_, 0)) => Err(format!(
            "wordpress: --trusted-proxy {word} trusts every address, so clients could choose the address that limits apply \
                 to; give the address of the proxy"
        )),
        Some(_) => Ok(bare),
        None => Err(format!(
            "wordpress: --trusted-proxy \"{word}\" is not a valid address; write 192.0.2.7, a network such as 10.0.0.0/8, \
                 private, or cloudflare"
        )),
    }
}

fn cloudflare() -> impl Iterator<Item = &'static str> {
    CLOUDFLARE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the directives of `http` by which these proxies are trusted.
pub(super) fn directives(trusted: &[String]) -> String {
    let is_named = |network: &&str| !trusted.iter().any(|named| named == network);
    let local = LOCAL.into_iter().filter(is_named);
    if trusted.is_empty() {
        let networks: Vec<_> = local.chain(PRIVATE).collect();
        return format!("forwarded_scheme_from {};", networks.join(" "));
    }
    let named = trusted.join(" ");
    let with_local: Vec<_> = local.chain([named.as_str()]).collect();
    let mut lines = vec![format!("forwarded_scheme_from {};", with_local.join(" "))];
    let sets_host = |network: &&str| !cloudflare().any(|known| known == *network);
    let host_from: Vec<_> = trusted.iter().map(String::as_str).filter(sets_host).collect();
    if !host_from.is_empty() {
        lines.push(format!("forwarded_host_from {};", host_from.join(" ")));
    }
    lines.extend(trusted.iter().map(|network| format!("set_real_ip_from {network};")));
    lines.extend(["real_ip_header X-Forwarded-For;".to_owned(), "real_ip_recursive on;".to_owned()]);
    lines.join("\n    ")
}

/// Returns the argument of `--trusted-proxy` that would trust a sender: `cloudflare`, or its address (or `unix:`).
pub fn option_for(sender: &str) -> String {
    let Ok(address) = sender.parse::<IpAddr>() else { return sender.to_owned() };
    let covers = |network: &str| {
        parse_network(network.as_bytes()).is_some_and(|network| network.contains(Some(address)))
    };
    if cloudflare().any(covers) { "cloudflare".to_owned() } else { sender.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directives_of(values: &[&str]) -> Result<String, String> {
        let mut trusted = Vec::new();
        values.iter().try_for_each(|value| add(&mut trusted, value))?;
        Ok(directives(&trusted))
    }

    #[test]
    fn scheme_of_private_networks_is_trusted_unless_a_proxy_is_named() {
        assert_eq!(
            directives_of(&[]).as_deref(),
            Ok(
                "forwarded_scheme_from unix: 127.0.0.0/8 ::1 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7;"
            )
        );
        let text = directives_of(&["192.0.2.7", "[2001:db8::7]"]).expect("sound");
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "forwarded_scheme_from unix: 127.0.0.0/8 ::1 192.0.2.7 2001:db8::7;",
                "forwarded_host_from 192.0.2.7 2001:db8::7;",
                "set_real_ip_from 192.0.2.7;",
                "set_real_ip_from 2001:db8::7;",
                "real_ip_header X-Forwarded-For;",
                "real_ip_recursive on;",
            ]
        );
    }

    #[test]
    fn names_stand_for_networks_and_each_network_is_written_once() {
        let text = directives_of(&["private", "10.0.0.0/8,private"]).expect("sound");
        assert_eq!(text.matches("set_real_ip_from 10.0.0.0/8;").count(), 1, "{text}");
        assert_eq!(text.matches("127.0.0.0/8").count(), 3, "{text}");
        let text = directives_of(&["cloudflare"]).expect("sound");
        assert!(
            text.contains("set_real_ip_from 104.16.0.0/13;") && text.contains("2606:4700::/32"),
            "{text}"
        );
        assert!(
            !text.contains("forwarded_host_from"),
            "Cloudflare forwards this header from clients: {text}"
        );
        let both = directives_of(&["cloudflare,192.0.2.7"]).expect("sound");
        assert!(both.contains("forwarded_host_from 192.0.2.7;"), "{both}");
        assert_eq!(
            ["104.17.2.3", "192.0.2.1", "unix:"].map(option_for),
            ["cloudflare", "192.0.2.1", "unix:"]
        );
        assert!(cloudflare().all(|line| parse_network(line.as_bytes()).is_some()));
    }

    #[test]
    fn proxies_without_an_address_are_refused() {
        for (value, part) in [
            ("0.0.0.0/0", "trusts every address"),
            ("::/0", "trusts every address"),
            ("all", "is not a valid address"),
            ("balancer.internal", "is not a valid address"),
            ("10.0.0.0/33", "is not a valid address"),
            ("1.2.3.4;", "is not a valid address"),
        ] {
            let error = directives_of(&[value]).expect_err(value);
            assert!(error.contains(part) && error.contains("--trusted-proxy"), "{error}");
        }
    }
}
