//! Table of `geo [$address] $variable { … }`: values by address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use myriad_http::forwarded::forwarded_address;

use crate::error::ScriptError;

mod networks;
mod ranges;
#[cfg(test)]
mod tests;

use networks::{GeoNetwork, Networks};
use ranges::Ranges;

/// Compiled table of a `geo` block, which assigns constant values to addresses.
#[derive(Debug)]
pub(crate) struct Geo {
    proxies: Networks<()>,
    proxy_recursive: bool,
    networks: Networks<u32>,
    ranges: Ranges,
    values: Vec<Box<[u8]>>,
    /// Index of each value in `values`; used only while lines are added.
    known: HashMap<Box<[u8]>, u32>,
    default: Box<[u8]>,
    uses_ranges: bool,
    volatile: bool,
}

impl Geo {
    /// Parses the lines of the block. Lines with errors are not added to the table.
    pub(crate) fn compile(lines: &[Vec<&str>]) -> (Geo, Vec<ScriptError>) {
        let mut geo = Geo {
            proxies: Networks::default(),
            proxy_recursive: false,
            networks: Networks::default(),
            ranges: Ranges::default(),
            values: Vec::new(),
            known: HashMap::new(),
            default: Box::default(),
            uses_ranges: false,
            volatile: false,
        };
        let mut errors = Vec::new();
        for (item, line) in lines.iter().enumerate() {
            if let Err(error) = geo.add(line) {
                errors.push(error.in_item(item));
            }
        }
        geo.known = HashMap::new();
        (geo, errors)
    }

    /// Returns whether trusted proxies are configured (`proxy`), so that `X-Forwarded-For` must be read.
    pub(crate) fn trusts_proxies(&self) -> bool {
        !self.proxies.is_empty()
    }

    fn add(&mut self, line: &[&str]) -> Result<(), ScriptError> {
        match *line {
            ["ranges"] if self.networks.is_empty() => self.uses_ranges = true,
            ["ranges"] => {
                return Err(ScriptError::new(
                    "the \"ranges\" directive must be the first directive inside \"geo\" block",
                ));
            }
            ["proxy_recursive"] => self.proxy_recursive = true,
            ["volatile"] => self.volatile = true,
            ["proxy", network] => self.proxies.insert(GeoNetwork::parse(network)?, ()),
            ["default", value] => self.default = value.as_bytes().into(),
            ["delete", network] if self.uses_ranges => {
                let (start, end) = ranges::parse(network)?;
                self.ranges.remove(start, end);
            }
            ["delete", network] => self.networks.remove(GeoNetwork::parse(network)?),
            [range, value] if self.uses_ranges => {
                let (start, end) = ranges::parse(range)?;
                let value = self.value(value);
                self.ranges.insert(start, end, value);
            }
            [network, value] => {
                let network = GeoNetwork::parse(network)?;
                let value = self.value(value);
                self.networks.insert(network, value);
            }
            _ => return Err(ScriptError::new("invalid number of the geo parameters")),
        }
        Ok(())
    }

    fn value(&mut self, text: &str) -> u32 {
        if let Some(index) = self.known.get(text.as_bytes()) {
            return *index;
        }
        let index = self.values.len() as u32;
        self.values.push(text.as_bytes().into());
        self.known.insert(text.as_bytes().into(), index);
        index
    }

    /// Returns the value of an address: that of the smallest matching network, or with `ranges` of the matching range;
    /// otherwise, and for an IPv6 address with `ranges`, the default.
    pub(crate) fn find(&self, address: IpAddr) -> &[u8] {
        let value = match address {
            IpAddr::V4(address) if self.uses_ranges => self.ranges.find(u32::from(address)),
            IpAddr::V6(_) if self.uses_ranges => None,
            address => self.networks.find(address).copied(),
        };
        value.map_or(&self.default, |index| &self.values[index as usize])
    }

    /// Returns the client address: `peer`, or if `peer` is a trusted proxy, the last address in `X-Forwarded-For`
    /// (`list`); with `proxy_recursive`, trailing addresses of trusted proxies are skipped.
    pub(crate) fn client_address(&self, peer: IpAddr, list: &[u8]) -> IpAddr {
        let trusted =
            |ip: Option<IpAddr>| ip.is_some_and(|ip| self.proxies.find(ip.to_canonical()).is_some());
        let forwarded_address =
            forwarded_address(Some(peer), [list].into_iter(), trusted, self.proxy_recursive);
        forwarded_address.map_or(peer, |address| address.ip().to_canonical())
    }

    /// Returns whether the value is computed at every read (`volatile`) instead of once per request.
    pub(crate) fn is_volatile(&self) -> bool {
        self.volatile
    }
}

/// Broadcast address, which is looked up in place of an invalid address, as documented by nginx.
pub(crate) const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::BROADCAST);

/// Parses an address; an IPv4-mapped IPv6 address (`::ffff:1.2.3.4`) is converted to IPv4. Returns `None` if it is
/// invalid.
pub(crate) fn parse(text: &[u8]) -> Option<IpAddr> {
    let address: IpAddr = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    })
}
