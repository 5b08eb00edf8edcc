//! Values of a `geo` variable by network. The smallest network that contains an address applies.

use std::net::IpAddr;

use myriad_base::digits::decimal;

use crate::error::ScriptError;

/// IP network: the first `length` bits of its address are significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeoNetwork {
    six: bool,
    bits: u128,
    length: u8,
}

impl GeoNetwork {
    /// Parses `192.0.2.0/24`, `2001:db8::/32` or a single address. Bits after the prefix are set to zero.
    pub(super) fn parse(text: &str) -> Result<GeoNetwork, ScriptError> {
        let invalid = || ScriptError::new(format!("invalid network \"{text}\""));
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(decimal::<u8>(length).ok_or_else(invalid)?)),
            None => (text, None),
        };
        let (six, bits) = number(address.parse().map_err(|_| invalid())?);
        let most = if six { 128 } else { 32 };
        let length = length.unwrap_or(most);
        if length > most {
            return Err(invalid());
        }
        Ok(GeoNetwork { six, bits: masked(bits, six, length), length })
    }

    #[cfg(test)]
    pub(super) fn length(&self) -> u8 {
        self.length
    }
}

/// Values by network, grouped by prefix length. A lookup performs one binary search per length in use.
#[derive(Debug)]
pub(super) struct Networks<V> {
    /// IPv4 networks, the longest prefixes first.
    four: Vec<LengthLevel<V>>,
    /// IPv6 networks, the longest prefixes first.
    six: Vec<LengthLevel<V>>,
}

#[derive(Debug)]
struct LengthLevel<V> {
    length: u8,
    /// Addresses of the networks of one prefix length with their values, sorted by address.
    entries: Vec<(u128, V)>,
}

impl<V> Default for Networks<V> {
    fn default() -> Networks<V> {
        Networks { four: Vec::new(), six: Vec::new() }
    }
}

impl<V> Networks<V> {
    pub(super) fn is_empty(&self) -> bool {
        self.four.is_empty() && self.six.is_empty()
    }

    /// Adds a network; replaces the value of an equal network.
    pub(super) fn insert(&mut self, network: GeoNetwork, value: V) {
        let levels = if network.six { &mut self.six } else { &mut self.four };
        let at = match levels.binary_search_by(|level| network.length.cmp(&level.length)) {
            Ok(at) => at,
            Err(at) => {
                levels.insert(at, LengthLevel { length: network.length, entries: Vec::new() });
                at
            }
        };
        let entries = &mut levels[at].entries;
        match entries.binary_search_by(|(bits, _)| bits.cmp(&network.bits)) {
            Ok(at) => entries[at].1 = value,
            Err(at) => entries.insert(at, (network.bits, value)),
        }
    }

    pub(super) fn remove(&mut self, network: GeoNetwork) {
        let levels = if network.six { &mut self.six } else { &mut self.four };
        for level in levels.iter_mut().filter(|level| level.length == network.length) {
            level.entries.retain(|(bits, _)| *bits != network.bits);
        }
    }

    /// Returns the value of the smallest network that contains the address; `None` if there is none.
    pub(super) fn find(&self, address: IpAddr) -> Option<&V> {
        let (six, bits) = number(address);
        let levels = if six { &self.six } else { &self.four };
        levels.iter().find_map(|level| {
            let network = masked(bits, six, level.length);
            let at = level.entries.binary_search_by(|(bits, _)| bits.cmp(&network)).ok()?;
            Some(&level.entries[at].1)
        })
    }
}

fn number(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(four) => (false, u128::from(u32::from(four))),
        IpAddr::V6(six) => (true, u128::from(six)),
    }
}

fn masked(bits: u128, six: bool, length: u8) -> u128 {
    let width: u32 = if six { 128 } else { 32 };
    let host_bits = width - u32::from(length);
    bits.checked_shr(host_bits).and_then(|network| network.checked_shl(host_bits)).unwrap_or(0)
}
