//! Compact form of [`ProxiedFacts`], the facts for `gzip_proxied`, in one byte.

use crate::page::ProxiedFacts;

/// [`ProxiedFacts`] of a response in one byte: two bits for `expired`, then one for each further field in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredProxiedFacts(u8);

/// Bit that is set if `Expires` is present.
const EXPIRES: u8 = 1;
/// Bit that is set if `Expires` is in the past.
const EXPIRED: u8 = 2;

impl StoredProxiedFacts {
    /// Returns the facts in their full form.
    pub fn get(self) -> ProxiedFacts {
        let flag = |place: u8| self.0 >> place & 1 > 0;
        ProxiedFacts {
            expired: (self.0 & EXPIRES > 0).then_some(self.0 & EXPIRED > 0),
            has_cache_control: flag(2),
            no_cache: flag(3),
            no_store: flag(4),
            private: flag(5),
            has_last_modified: flag(6),
            has_etag: flag(7),
        }
    }
}

impl From<ProxiedFacts> for StoredProxiedFacts {
    fn from(facts: ProxiedFacts) -> Self {
        let ProxiedFacts {
            expired,
            has_cache_control,
            no_cache,
            no_store,
            private,
            has_last_modified,
            has_etag,
        } = facts;
        let expired = match expired {
            None => 0,
            Some(false) => EXPIRES,
            Some(true) => EXPIRES | EXPIRED,
        };
        let flags = [has_cache_control, no_cache, no_store, private, has_last_modified, has_etag];
        let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
        Self(expired | flags << 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_they_were() {
        for bits in 0..=u8::MAX {
            let flag = |place: u8| bits >> place & 1 > 0;
            let facts = ProxiedFacts {
                expired: flag(0).then_some(flag(1)),
                has_cache_control: flag(2),
                no_cache: flag(3),
                no_store: flag(4),
                private: flag(5),
                has_last_modified: flag(6),
                has_etag: flag(7),
            };
            assert_eq!(format!("{:?}", StoredProxiedFacts::from(facts).get()), format!("{facts:?}"));
        }
    }
}
