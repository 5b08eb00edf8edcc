//! `*_bind`: local address of connections to an origin.

use std::net::{IpAddr, SocketAddr};

use myriad_log::LogLevel;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::FetchRules;

/// Returns the local address for connections to the origin, with port 0 if the value has no port. `None` without
/// `*_bind`, if the value is empty or cannot be evaluated, and, as in nginx, if the value is not an address; the last
/// case is logged.
pub fn address(exchange: &mut Exchange, rules: &FetchRules) -> Option<SocketAddr> {
    let template = rules.bind.as_ref()?;
    let Exchange { request, frame } = exchange;
    let mut value = Vec::new();
    template.eval(request, frame, &mut value).ok()?;
    if value.is_empty() {
        return None;
    }
    let address = parse(&value);
    if address.is_none() {
        let value = String::from_utf8_lossy(&value);
        request.log(LogLevel::Error, format_args!("invalid local address \"{value}\""));
    }
    address
}

fn parse(value: &[u8]) -> Option<SocketAddr> {
    let text = std::str::from_utf8(value).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let alone = bare.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 0));
    alone.or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_port() {
        let shown = |text: &str| parse(text.as_bytes()).map(|address| address.to_string());
        assert_eq!(shown("127.0.0.2").as_deref(), Some("127.0.0.2:0"));
        assert_eq!(shown("127.0.0.2:8080").as_deref(), Some("127.0.0.2:8080"));
        assert_eq!(shown("::1").as_deref(), Some("[::1]:0"));
        assert_eq!(shown("[::1]:80").as_deref(), Some("[::1]:80"));
        assert_eq!(shown("localhost"), None);
    }
}
