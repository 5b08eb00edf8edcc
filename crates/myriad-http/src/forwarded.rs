//! Client address in a forwarding field such as `X-Forwarded-For`, accepted only from trusted proxies.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Returns the address in `values` that replaces `client`, with its port (0 if absent); `None` if `client` is not
/// replaced.
///
/// `values` are the values of the field in order; each is a list to which the nearest proxy appended the last address.
/// `trusted` returns whether an address (`None`: a client on a unix socket) is a trusted proxy. If `client` is trusted,
/// the last address is used. With `recursive`, the search continues backwards while the address found is trusted too
/// (nginx's `real_ip_recursive`, `proxy_recursive` of `geo`). The search stops at an invalid address.
pub fn forwarded_address<'a>(
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
            // The search stops at an invalid address, because no trusted proxy has sent the addresses before it.
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

/// Returns the last word of a list, and the text before it (`None` if there is none).
///
/// Words are separated by commas and spaces. As in nginx, a separator at the start belongs to the first word, which is
/// then not a valid address.
fn last_word(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let separates = |byte: &u8| matches!(byte, b' ' | b',');
    let end = text.iter().rposition(|byte| !separates(byte)).map_or(text.len().min(1), |last| last + 1);
    let text = &text[..end];
    match text.iter().rposition(separates) {
        Some(at) if at > 0 => (&text[at + 1..], Some(&text[..at])),
        _ => (text, None),
    }
}

/// Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`. Returns
/// port 0 for an address without a port. Returns `None` for any other text, for an explicit port 0, and for
/// 255.255.255.255.
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
        forwarded_address(client, values.into_iter(), trusted, recursive).map(|address| address.to_string())
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
        assert_eq!(forwarded_address(None, values.into_iter(), |ip| ip.is_some(), true), None);
        let unix = forwarded_address(None, values.into_iter(), |ip| ip.is_none(), true);
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
