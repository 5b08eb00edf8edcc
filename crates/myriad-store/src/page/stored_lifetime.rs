//! Compact form of a [`Lifetime`], which needs half the memory, because few origins specify more than the freshness
//! lifetime.

use myriad_policy::{Lifetime, ValiditySource};

/// [`Lifetime`] (freshness of a page, its source and grace) in the compact form that is stored with each page.
#[derive(Clone, Debug)]
pub struct StoredLifetime {
    fresh_until: u64,
    /// Freshness lifetime in milliseconds, in [`VALID_BITS`] bits. The bits above are twice the index of its source in
    /// [`SOURCES`], plus 1 if the page must be revalidated when it is stale.
    valid: u64,
    /// Parts of the lifetime that few pages have; `None` if all have their usual values.
    rare: Option<Box<LifetimeExtras>>,
}

/// Number of bits for the freshness lifetime in milliseconds, enough for two million years.
const VALID_BITS: u32 = 56;
/// Maximum freshness lifetime that is stored, in milliseconds; longer ones are cut to it.
const LONGEST: u64 = (1 << VALID_BITS) - 1;
const SOURCES: [ValiditySource; 8] = [
    ValiditySource::XAccelExpires,
    ValiditySource::SMaxage,
    ValiditySource::MaxAge,
    ValiditySource::Expires,
    ValiditySource::CacheValid,
    ValiditySource::Heuristic,
    ValiditySource::Accelerator,
    ValiditySource::Adaptive,
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct LifetimeExtras {
    // Usually, `stale_updating_until` and `stale_error_until` equal `fresh_until`.
    stale_updating_until: u64,
    stale_error_until: u64,
    born: Option<u64>,
}

impl StoredLifetime {
    /// Returns the number of heap bytes that the value owns.
    pub fn weight(&self) -> usize {
        self.rare.as_ref().map_or(0, |_| size_of::<LifetimeExtras>() + 16)
    }

    /// Returns the lifetime in its full form.
    pub fn get(&self) -> Lifetime {
        let rare = self.rare.as_deref();
        Lifetime {
            fresh_until: self.fresh_until,
            stale_updating_until: rare.map_or(self.fresh_until, |rare| rare.stale_updating_until),
            stale_error_until: rare.map_or(self.fresh_until, |rare| rare.stale_error_until),
            must_revalidate: self.valid >> VALID_BITS & 1 > 0,
            valid_ms: self.valid & LONGEST,
            source: SOURCES[(self.valid >> (VALID_BITS + 1)) as usize],
            born: rare.and_then(|rare| rare.born),
        }
    }
}

impl From<Lifetime> for StoredLifetime {
    fn from(lifetime: Lifetime) -> Self {
        let Lifetime {
            fresh_until,
            stale_updating_until,
            stale_error_until,
            must_revalidate,
            valid_ms,
            source,
            born,
        } = lifetime;
        let rare = LifetimeExtras { stale_updating_until, stale_error_until, born };
        let usual =
            LifetimeExtras { stale_updating_until: fresh_until, stale_error_until: fresh_until, born: None };
        let rare = (rare != usual).then(|| Box::new(rare));
        let source = SOURCES.iter().position(|known| *known == source).unwrap_or_default() as u64;
        let judged = source << 1 | u64::from(must_revalidate);
        Self { fresh_until, valid: valid_ms.min(LONGEST) | judged << VALID_BITS, rare }
    }
}

#[cfg(test)]
mod tests {
    use myriad_http::{Fields, Method};
    use myriad_policy::{Admission, CachePolicy, ResponseFacts, StatusMatch, ValidFor, admit};

    use super::*;

    #[test]
    fn page_without_stale_directives_from_origin_allocates_nothing() {
        let valid = vec![ValidFor { status: StatusMatch::Any, ms: 10_000 }];
        let rules = CachePolicy { valid, ..CachePolicy::default() };
        let weight = |control: &str| {
            let fields: Fields = [("Cache-Control", control)].into_iter().collect();
            let facts = ResponseFacts {
                status: 200,
                fields: &fields,
                method: Method::Get,
                authorization: false,
                personal: false,
                cookies: false,
                piece: false,
                no_cache: false,
                uses: 1,
                usable_page: false,
                large_request: false,
                delay_ms: 0,
            };
            let Admission::Store(lifetime) = admit(&facts, &rules, 1_795_226_400_000) else {
                panic!("{control}")
            };
            let purged = lifetime.expired_by(lifetime.fresh_until - 5);
            assert_eq!(StoredLifetime::from(lifetime).get(), lifetime);
            assert_eq!(StoredLifetime::from(purged).get(), purged);
            (StoredLifetime::from(lifetime).weight(), StoredLifetime::from(purged).weight())
        };
        assert_eq!(weight("public"), (0, 0));
        assert_eq!(weight("max-age=60"), (0, 0));
        let (rare, purged) = weight("max-age=60, stale-while-revalidate=60");
        assert!(rare > 0 && purged > 0);
    }

    #[test]
    fn a_lifetime_comes_back_as_it_was() {
        for (bits, source) in (0..16_u64).flat_map(|bits| SOURCES.map(|source| (bits, source))) {
            let bit = |bit: u64| bits >> bit & 1;
            let lifetime = Lifetime {
                fresh_until: 10,
                stale_updating_until: 10 + 20 * bit(0),
                stale_error_until: 10 + 30 * bit(1),
                must_revalidate: bit(3) > 0,
                valid_ms: 40,
                source,
                born: (bit(2) > 0).then_some(0),
            };
            let stored = StoredLifetime::from(lifetime);
            assert_eq!(format!("{:?}", stored.get()), format!("{lifetime:?}"));
            assert_eq!(stored.weight() > 0, bits & 7 > 0);
        }
    }
}
