//! PROXY headers of version 1: a line of text.

use std::net::{IpAddr, SocketAddr};

use myriad_base::digits::decimal;

use super::header::{HeaderParseStatus, InvalidProxyHeader, ProxyHeader};

pub(super) const SIGNATURE: &[u8] = b"PROXY ";
/// Maximum length of a version 1 header line in bytes, including its terminator (section 2.1).
const LONGEST: usize = 107;

pub(super) fn parse(bytes: &[u8]) -> Result<HeaderParseStatus, InvalidProxyHeader> {
    let Some(end) = bytes.iter().take(LONGEST).position(|byte| *byte == b'\n') else {
        let goes_on = bytes.len() < LONGEST && may_become_a_header(bytes);
        return if goes_on { Ok(HeaderParseStatus::Partial) } else { Err(InvalidProxyHeader) };
    };
    let line = bytes[SIGNATURE.len().min(end)..end].strip_suffix(b"\r").ok_or(InvalidProxyHeader)?;
    let length = end + 1;
    // Text after `UNKNOWN` must be ignored.
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return Ok(HeaderParseStatus::Complete(length, None));
    }
    let line = std::str::from_utf8(line).map_err(|_| InvalidProxyHeader)?;
    let mut words = line.split(' ');
    if !matches!(words.next(), Some("TCP4" | "TCP6")) {
        return Err(InvalidProxyHeader);
    }
    let mut ip = || words.next().and_then(|word| word.parse::<IpAddr>().ok()).ok_or(InvalidProxyHeader);
    let (source, destination) = (ip()?, ip()?);
    let mut port = || words.next().and_then(decimal).ok_or(InvalidProxyHeader);
    let (source_port, destination_port) = (port()?, port()?);
    if words.next().is_some() {
        return Err(InvalidProxyHeader);
    }
    let header = ProxyHeader {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
        tlvs: Box::default(),
    };
    Ok(HeaderParseStatus::Complete(length, Some(Box::new(header))))
}

/// Returns whether an incomplete line can become a valid header: it begins with `TCP4`, `TCP6` or `UNKNOWN` after the
/// signature, as far as these have arrived. The text after them is not checked.
fn may_become_a_header(bytes: &[u8]) -> bool {
    let after_signature = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    [&b"TCP4 "[..], b"TCP6 ", b"UNKNOWN"].iter().any(|family| {
        let length = after_signature.len().min(family.len());
        after_signature[..length] == family[..length]
    })
}

/// Returns the version 1 header for a connection, given the address of the client and the address to which it
/// connected. IPv4 addresses are mapped to IPv6 if the other address is IPv6. `None` results in an `UNKNOWN` line.
pub fn version_1_line(ends: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let Some((source, destination)) = ends else { return b"PROXY UNKNOWN\r\n".to_vec() };
    let (from, to) = (source.ip().to_canonical(), destination.ip().to_canonical());
    // Both addresses must use the address family of the line.
    let (family, from, to) = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ("TCP4", from.to_string(), to.to_string()),
        (from, to) => ("TCP6", to_ipv6(from).to_string(), to_ipv6(to).to_string()),
    };
    format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port()).into_bytes()
}

fn to_ipv6(ip: IpAddr) -> std::net::Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}
