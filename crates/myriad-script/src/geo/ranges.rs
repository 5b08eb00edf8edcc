//! Values of a `geo` variable by range of IPv4 addresses (`start-end`). A later range overrides earlier ones.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::error::ScriptError;

/// Disjoint ranges by first address, each with its last address and its value.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    ranges: BTreeMap<u32, (u32, u32)>,
}

/// Parses `192.0.2.1-192.0.2.9`; both addresses are included. Returns an error if the second is less than the first.
pub(super) fn parse(text: &str) -> Result<(u32, u32), ScriptError> {
    let invalid = || ScriptError::new(format!("invalid range \"{text}\""));
    let (start, end) = text.split_once('-').ok_or_else(invalid)?;
    let number = |text: &str| text.parse::<Ipv4Addr>().map(u32::from).map_err(|_| invalid());
    let (start, end) = (number(start)?, number(end)?);
    if start > end { Err(invalid()) } else { Ok((start, end)) }
}

impl Ranges {
    /// Adds a range; it replaces the values of its addresses in existing ranges.
    pub(super) fn insert(&mut self, start: u32, end: u32, value: u32) {
        self.cut(start, end);
        self.ranges.insert(start, (end, value));
    }

    /// Removes the range with exactly these bounds, if it exists.
    pub(super) fn remove(&mut self, start: u32, end: u32) {
        if self.ranges.get(&start).is_some_and(|(known, _)| *known == end) {
            self.ranges.remove(&start);
        }
    }

    pub(super) fn find(&self, address: u32) -> Option<u32> {
        let (_, &(end, value)) = self.ranges.range(..=address).next_back()?;
        (address <= end).then_some(value)
    }

    /// Removes the addresses from `start` to `end` from the existing ranges; the parts outside remain.
    fn cut(&mut self, start: u32, end: u32) {
        if let Some((&before, &(last, value))) = self.ranges.range(..start).next_back()
            && last >= start
        {
            self.ranges.insert(before, (start - 1, value));
            if last > end {
                self.ranges.insert(end + 1, (last, value));
            }
        }
        let inside: Vec<u32> = self.ranges.range(start..=end).map(|(&inner, _)| inner).collect();
        for inner in inside {
            if let Some((last, value)) = self.ranges.remove(&inner)
                && last > end
            {
                self.ranges.insert(end + 1, (last, value));
            }
        }
    }
}
