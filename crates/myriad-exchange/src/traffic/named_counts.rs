//! Counts of one worker by name (such as classes of clients), for a small number of names.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use myriad_store::page::Counter;

/// Maximum number of names with separate counts. Configurations have far fewer.
const MAX_NAMES: usize = 64;
/// Name under which all further names are counted.
const OTHERS: &str = "others";

type NamedCount = (Box<[u8]>, Counter);

/// Counts of one worker by name, in the order in which names first occurred. Names beyond [`MAX_NAMES`] share one
/// count.
#[derive(Debug)]
pub(super) struct NamedCounts {
    named: Box<[OnceLock<NamedCount>]>,
    others: Counter,
}

impl Default for NamedCounts {
    fn default() -> Self {
        Self { named: (0..MAX_NAMES).map(|_| OnceLock::new()).collect(), others: Counter::default() }
    }
}

impl NamedCounts {
    /// Increments the count of a name, or the common count of all further names if [`MAX_NAMES`] other names have
    /// counts already. Must be called only on the worker's thread.
    pub(super) fn add(&self, name: &[u8]) {
        for slot in &self.named {
            let (known, count) = slot.get_or_init(|| (name.into(), Counter::default()));
            if **known == *name {
                return count.add(1);
            }
        }
        self.others.add(1);
    }

    /// Adds the count of each name to `sums`; further names are counted under [`OTHERS`].
    pub(super) fn read(&self, sums: &mut BTreeMap<String, u64>) {
        for (name, count) in self.named.iter().map_while(OnceLock::get) {
            *sums.entry(String::from_utf8_lossy(name).into_owned()).or_default() += count.get();
        }
        if self.others.get() > 0 {
            *sums.entry(OTHERS.to_owned()).or_default() += self.others.get();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_bound_count_together() {
        let counts = NamedCounts::default();
        for number in 0..MAX_NAMES + 10 {
            counts.add(format!("n{number}").as_bytes());
        }
        counts.add(b"n3");
        let mut sums = BTreeMap::new();
        counts.read(&mut sums);
        assert_eq!((sums.len(), sums["n3"], sums["n4"], sums[OTHERS]), (MAX_NAMES + 1, 2, 1, 10));
    }
}
