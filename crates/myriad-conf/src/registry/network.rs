//! Parsers for IP addresses and networks in directives.

use std::net::IpAddr;

use myriad_base::digits::decimal;

use super::directive::Arguments;
use crate::{diagnostic::Diagnostic, settings::Network};

/// Parses `text` as `all`, `unix:`, an address, or an address with a prefix length or netmask. Bits beyond the prefix
/// cause a warning at the argument `index`, any other text an error.
pub fn network(args: &mut Arguments<'_>, index: usize, text: &[u8]) -> Result<Network, Diagnostic> {
    match text {
        b"all" => return Ok(Network::All),
        b"unix:" => return Ok(Network::Unix),
        _ => {}
    }
    let Some((ip, bits)) = parse_cidr(text) else {
        return Err(args.invalid(index, "an address, a network such as 10.0.0.0/8, \"unix:\" or \"all\""));
    };
    let masked = mask(ip, bits);
    if masked != ip {
        args.warn(index, format!("low address bits of {} are meaningless", String::from_utf8_lossy(text)));
    }
    Ok(Network::Cidr(masked, bits))
}

/// Parses an address, or an address with a prefix length or netmask; `None` for other texts. Bits beyond the prefix are
/// ignored.
pub fn parse_network(text: &[u8]) -> Option<Network> {
    parse_cidr(text).map(|(ip, bits)| Network::Cidr(mask(ip, bits), bits))
}

/// Parses an address with an optional prefix length or netmask. Returns the address unmasked, and the prefix length
/// (that of a single address if there is none); `None` if the text is invalid.
pub(super) fn parse_cidr(text: &[u8]) -> Option<(IpAddr, u8)> {
    let text = std::str::from_utf8(text).ok()?;
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let ip: IpAddr = address.parse().ok()?;
    let all = if ip.is_ipv4() { 32 } else { 128 };
    let bits = match prefix {
        None => all,
        Some(prefix) => match (decimal::<u8>(prefix), prefix.parse::<IpAddr>()) {
            (Some(bits), _) => bits,
            (_, Ok(IpAddr::V4(netmask))) if ip.is_ipv4() => netmask_bits(netmask)?,
            _ => return None,
        },
    };
    (bits <= all).then_some((ip, bits))
}

/// Returns the prefix length of a netmask: 16 for `255.255.0.0`; `None` if the set bits are not contiguous.
fn netmask_bits(netmask: std::net::Ipv4Addr) -> Option<u8> {
    let ones = u32::from(netmask).leading_ones();
    (u32::from(netmask).count_ones() == ones).then_some(ones as u8)
}

/// Clears all bits of the address after the first `bits`.
pub(super) fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let keep = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & keep).into())
        }
        IpAddr::V6(v6) => {
            let keep = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & keep).into())
        }
    }
}
