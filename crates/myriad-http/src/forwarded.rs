//! The client's address as proxies pass it on (`X-Forwarded-For` and its like), believed as far as they are trusted.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The address that `values` give for a client, with the port that it names or 0; none where the client keeps its own.
///
/// `values` are the field's values in order; each is a list, the nearest proxy's word last. The last word is believed where
/// `trusted` says so of the client itself (none: it came by a unix socket); with `recursive` the words are followed
/// backwards as long as what they name is trusted too (nginx's `real_ip_recursive`, `proxy_recursive` of `geo`).
pub fn forwarded<'a>(
    client: Option<IpAddr>,
    values: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted: impl Fn(Option<IpAddr>) -> bool,
    recursive: bool,
) -> Option<SocketAddr> {
    let mut nearest = client;
    let mut found = None;
    for value in values.rev() {
        let mut rest = Some(value);
        while let Some(text) = rest {
            if !trusted(nearest) {
                return found;
            }
            let word;
            (word, rest) = last_word(text);
            // What cannot be read ends the search: nobody knows who stands behind it.
            let Some(address) = parse_address(word) else { return found };
            found = Some(address);
            nearest = Some(address.ip());
            if !recursive {
                return found;
            }
        }
    }
    found
}

/// The last word of a list, and what stands before it; none where it is the first. Words are parted by commas and
/// spaces. As in nginx, a separator at the very start belongs to the word behind it, which then cannot be read.
fn last_word(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let separates = |byte: &u8| matches!(byte, b' ' | b',');
    let end = text.iter().rposition(|byte| !separates(byte)).map_or(text.len().min(1), |last| last + 1);
    let text = &text[..end];
    match text.iter().rposition(separates) {
        Some(at) if at > 0 => (&text[at + 1..], Some(&text[..at])),
        _ => (text, None),
    }
}

/// An address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`. As in nginx, the
/// broadcast address is none, port 0 is none, and brackets stand before a port only.
pub fn parse_address(text: &[u8]) -> Option<SocketAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let address = match text.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, 0),
        Err(_) => text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0)?,
    };
    (address.ip() != IpAddr::V4(Ipv4Addr::BROADCAST)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(values: &[&str], recursive: bool) -> Option<String> {
        let trusted = |ip: Option<IpAddr>| match ip {
            None => false,
            Some(ip) => ip.is_loopback() || ip.to_string().starts_with("10.0.1."),
        };
        let values: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
        let client = Some("127.0.0.1".parse().unwrap());
        forwarded(client, values.into_iter(), trusted, recursive).map(|address| address.to_string())
    }

    #[test]
    fn last_word_counts_unless_trust_goes_further() {
        let found = |text: &str| Some(text.to_owned());
        assert_eq!(address(&["192.0.2.1"], false), found("192.0.2.1:0"));
        assert_eq!(address(&["10.0.0.1, 192.0.2.1"], false), found("192.0.2.1:0"));
        assert_eq!(address(&["192.0.2.1, 10.0.1.1, 127.0.0.1"], false), found("127.0.0.1:0"));
        assert_eq!(address(&["10.0.1.1, 192.0.2.1, 127.0.0.1"], true), found("192.0.2.1:0"));
        assert_eq!(address(&["10.0.1.1", "192.0.2.1", "127.0.0.1"], true), found("192.0.2.1:0"));
        assert_eq!(address(&["192.0.2.1", "127.0.0.1, 10.0.1.1"], false), found("10.0.1.1:0"));
        assert_eq!(address(&["10.0.1.7,10.0.1.8 "], true), found("10.0.1.7:0"));
    }

    #[test]
    fn what_cannot_be_read_gives_nothing_beyond_it() {
        assert_eq!(address(&["unknown"], false), None);
        assert_eq!(address(&[""], true), None);
        assert_eq!(address(&[", ,"], true), None);
        assert_eq!(address(&["10.0.1.1", ""], true), None);
        assert_eq!(address(&["192.0.2.1", ", 10.0.1.1"], true).as_deref(), Some("10.0.1.1:0"));
        assert_eq!(address(&["192.0.2.1", ",10.0.1.1"], true), None);
        assert_eq!(address(&["192.0.2.1\t10.0.1.1"], true), None);
        assert_eq!(address(&["192.0.2.1, unknown, 10.0.1.1"], true).as_deref(), Some("10.0.1.1:0"));
    }

    #[test]
    fn client_that_is_not_trusted_is_not_asked() {
        let values = [&b"192.0.2.1"[..]];
        assert_eq!(forwarded(None, values.into_iter(), |ip| ip.is_some(), true), None);
        let unix = forwarded(None, values.into_iter(), |ip| ip.is_none(), true);
        assert_eq!(unix.unwrap().to_string(), "192.0.2.1:0");
    }

    #[test]
    fn ports_and_brackets_are_read() {
        let read = |text: &str| parse_address(text.as_bytes()).map(|address| address.to_string());
        assert_eq!(read("192.0.2.1:8080").as_deref(), Some("192.0.2.1:8080"));
        assert_eq!(read("[2001:db8::1]:80").as_deref(), Some("[2001:db8::1]:80"));
        assert_eq!(read("2001:db8::1").as_deref(), Some("[2001:db8::1]:0"));
        for broken in [
            "",
            "[",
            "]",
            "[2001:db8::1]",
            "255.255.255.255",
            "192.0.2.1:0",
            "1.2.3",
            "192.0.2.1:",
            "192.0.2.1:99999",
            "localhost",
            "[192.0.2.1]",
        ] {
            assert_eq!(read(broken), None, "{broken}");
        }
    }
}
