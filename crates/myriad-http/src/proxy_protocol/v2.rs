//! PROXY headers of version 2: binary, with TLVs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::header::{HeaderParseStatus, InvalidProxyHeader, LONGEST, ProxyHeader};

pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Length in bytes of the fixed part of a version 2 header: signature, version and command, family and transport, and
/// length.
const FIXED: usize = 16;
const VERSION: u8 = 2;
const PROXY: u8 = 1;
const STREAM: u8 = 1;
const INET: u8 = 1;
const INET6: u8 = 2;

pub(super) fn parse(bytes: &[u8]) -> Result<HeaderParseStatus, InvalidProxyHeader> {
    let Some((fixed, rest)) = bytes.split_at_checked(FIXED) else { return Ok(HeaderParseStatus::Partial) };
    let [.., version_command, family_transport, high, low] = *fixed else { return Err(InvalidProxyHeader) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if version_command >> 4 != VERSION || FIXED + length > LONGEST {
        return Err(InvalidProxyHeader);
    }
    let Some(client_info) = rest.get(..length) else { return Ok(HeaderParseStatus::Partial) };
    let payload = if version_command & 15 == PROXY && family_transport & 15 == STREAM {
        addresses(family_transport >> 4, client_info)?
    } else {
        // Health checks by the balancer have no data about a client, and datagrams are not supported.
        None
    };
    let header = payload
        .map(|(source, destination, tlvs)| Box::new(ProxyHeader { source, destination, tlvs: tlvs.into() }));
    Ok(HeaderParseStatus::Complete(FIXED + length, header))
}

type ProxyAddresses<'a> = (SocketAddr, SocketAddr, &'a [u8]);

fn addresses(family: u8, payload: &[u8]) -> Result<Option<ProxyAddresses<'_>>, InvalidProxyHeader> {
    let width = match family {
        INET => 4,
        INET6 => 16,
        // Unix sockets, and address families that are not defined yet, provide no IP addresses.
        _ => return Ok(None),
    };
    let split = |bytes: &'_ [u8], at: usize| -> Result<usize, InvalidProxyHeader> {
        if bytes.len() < at { Err(InvalidProxyHeader) } else { Ok(at) }
    };
    let (ips, rest) = payload.split_at(split(payload, 2 * width)?);
    let (ports, tlvs) = rest.split_at(split(rest, 4)?);
    let address = |index: usize| {
        let ip = ip(&ips[index * width..(index + 1) * width]).ok_or(InvalidProxyHeader)?;
        let port = u16::from_be_bytes([ports[2 * index], ports[2 * index + 1]]);
        Ok(SocketAddr::new(ip, port))
    };
    Ok(Some((address(0)?, address(1)?, tlvs)))
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::V4(Ipv4Addr::from(v4)));
    }
    <[u8; 16]>::try_from(bytes).ok().map(|v6| IpAddr::V6(Ipv6Addr::from(v6)))
}
