//! The address that is looked up.

use std::net::IpAddr;

use myriad_conf::registry::{Arguments, network};
use myriad_conf::settings::Network;
use myriad_conf::{Diagnostic, Span, Text};
use myriad_http::forwarded::forwarded;

/// Proxies that are believed about their clients: `geoip2_proxy`, `geoip_proxy`, and `_recursive`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proxies {
    /// Who is believed; where nobody is, the connection's address counts.
    pub(crate) trusted: Vec<Network>,
    /// Whether trusted addresses in the list are passed over.
    pub(crate) recursive: bool,
}

impl Proxies {
    /// Adds the network that the one argument of a directive says.
    pub(crate) fn add(&mut self, args: &mut Arguments<'_>) -> Result<(), Diagnostic> {
        let word = args.bytes(0);
        // Were everybody believed, every client could choose its address.
        if matches!(word, b"all" | b"unix:") {
            return Err(args.invalid(0, "an address or a network such as 10.0.0.0/8"));
        }
        self.trusted.push(network(args, 0, word)?);
        Ok(())
    }

    /// What a table is asked with that looks clients up.
    pub(crate) fn sources(&self, place: Span) -> Vec<Text> {
        let address = Text::new("$remote_addr", place);
        if self.trusted.is_empty() {
            return vec![address];
        }
        vec![address, Text::new("$http_x_forwarded_for", place)]
    }

    /// The address that such texts say; none for a client on a unix socket, and where a text is no address.
    pub(crate) fn client(&self, texts: &[&[u8]]) -> Option<IpAddr> {
        let [address, told @ ..] = texts else { return None };
        let client = read(address);
        self.behind(client, told.iter().copied())
    }

    /// The address behind trusted proxies, as the values of `X-Forwarded-For` tell it; none for a client on a unix socket.
    pub(crate) fn behind<'a>(
        &self,
        client: Option<IpAddr>,
        told: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Option<IpAddr> {
        let trusted =
            |ip: Option<IpAddr>| ip.is_some() && self.trusted.iter().any(|network| network.contains(ip));
        let told = forwarded(client, told, trusted, self.recursive);
        told.map(|told| told.ip().to_canonical()).or(client)
    }
}

/// An address; IPv4 written as IPv6 (`::ffff:1.2.3.4`) is IPv4.
fn read(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: &Proxies, texts: &[&str]) -> Option<String> {
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
            assert_eq!(client(&Proxies::default(), &[text]).as_deref(), address, "{text}");
        }
    }

    #[test]
    fn trusted_proxy_is_believed_and_nobody_else() {
        let trusted = vec![Network::Cidr("10.0.0.0".parse().unwrap(), 8)];
        let mut proxies = Proxies { trusted, recursive: false };
        let list = "9.9.9.9, 8.8.8.8, 10.0.0.2";
        assert_eq!(client(&proxies, &["10.0.0.1", list]).as_deref(), Some("10.0.0.2"));
        assert_eq!(client(&proxies, &["11.0.0.1", list]).as_deref(), Some("11.0.0.1"));
        assert_eq!(client(&proxies, &["10.0.0.1", ""]).as_deref(), Some("10.0.0.1"));
        assert_eq!(client(&proxies, &["unix:", list]), None);
        proxies.recursive = true;
        assert_eq!(client(&proxies, &["10.0.0.1", list]).as_deref(), Some("8.8.8.8"));
    }
}
