//! Client address that is looked up in a database: that of the connection, or one reported by a trusted proxy.

use std::net::IpAddr;

use myriad_conf::registry::{Arguments, network};
use myriad_conf::settings::Network;
use myriad_conf::{Diagnostic, Span, Text};
use myriad_http::forwarded::forwarded_address;

/// Trusted proxies of a database module: `geoip_proxy` or `geoip2_proxy`, and `*_recursive`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrustedProxies {
    /// Networks of trusted proxies. If empty, `X-Forwarded-For` is ignored.
    pub(crate) trusted: Vec<Network>,
    /// `*_recursive`: trusted addresses at the end of `X-Forwarded-For` are skipped.
    pub(crate) recursive: bool,
}

impl TrustedProxies {
    /// Adds the network in the first argument of a directive. Returns an error for `all`, `unix:` and invalid
    /// networks.
    pub(crate) fn add(&mut self, args: &mut Arguments<'_>) -> Result<(), Diagnostic> {
        let word = args.bytes(0);
        // If all proxies were trusted, every client could choose the address that is looked up.
        if matches!(word, b"all" | b"unix:") {
            return Err(args.invalid(0, "an address or a network such as 10.0.0.0/8"));
        }
        self.trusted.push(network(args, 0, word)?);
        Ok(())
    }

    /// Returns the variables whose values [`Self::client`] requires: `$remote_addr`, and `$http_x_forwarded_for` if a
    /// proxy is trusted. `place` is the position that errors show.
    pub(crate) fn sources(&self, place: Span) -> Vec<Text> {
        let address = Text::new("$remote_addr", place);
        if self.trusted.is_empty() {
            return vec![address];
        }
        vec![address, Text::new("$http_x_forwarded_for", place)]
    }

    /// Returns the client address from the values of the variables of [`Self::sources`]; `None` for a client on a Unix
    /// socket, and for an invalid address.
    pub(crate) fn client(&self, texts: &[&[u8]]) -> Option<IpAddr> {
        let [address, forwarded @ ..] = texts else { return None };
        let client = read(address);
        self.forwarded_client(client, forwarded.iter().copied())
    }

    /// Returns the client address: the one that `X-Forwarded-For` reports if `client` is a trusted proxy and the
    /// header contains a valid address, otherwise `client`. `None` for a client on a Unix socket.
    pub(crate) fn forwarded_client<'a>(
        &self,
        client: Option<IpAddr>,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Option<IpAddr> {
        let trusted =
            |ip: Option<IpAddr>| ip.is_some() && self.trusted.iter().any(|network| network.contains(ip));
        let reported = forwarded_address(client, forwarded_for, trusted, self.recursive);
        reported.map(|forwarded| forwarded.ip().to_canonical()).or(client)
    }
}

/// Parses an address, with or without brackets; an IPv4-mapped IPv6 address (`::ffff:1.2.3.4`) is converted to IPv4.
/// Returns `None` if it is invalid.
fn read(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: &TrustedProxies, texts: &[&str]) -> Option<String> {
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        proxies.client(&texts).map(|address| address.to_string())
    }

    #[test]
    fn address_is_read_in_every_form_of_a_client() {
        for (text, address) in [
            ("1.2.3.4", Some("1.2.3.4")),
            ("::ffff:1.2.3.4", Some("1.2.3.4")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("unix:", None),
            ("", None),
            ("1.2.3.4 or so", None),
        ] {
            assert_eq!(client(&TrustedProxies::default(), &[text]).as_deref(), address, "{text}");
        }
    }

    #[test]
    fn only_trusted_proxy_may_set_client_address() {
        let trusted = vec![Network::Cidr("10.0.0.0".parse().unwrap(), 8)];
        let mut proxies = TrustedProxies { trusted, recursive: false };
        let list = "9.9.9.9, 8.8.8.8, 10.0.0.2";
        assert_eq!(client(&proxies, &["10.0.0.1", list]).as_deref(), Some("10.0.0.2"));
        assert_eq!(client(&proxies, &["11.0.0.1", list]).as_deref(), Some("11.0.0.1"));
        assert_eq!(client(&proxies, &["10.0.0.1", ""]).as_deref(), Some("10.0.0.1"));
        assert_eq!(client(&proxies, &["unix:", list]), None);
        proxies.recursive = true;
        assert_eq!(client(&proxies, &["10.0.0.1", list]).as_deref(), Some("8.8.8.8"));
    }
}
