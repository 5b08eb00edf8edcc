//! A lifetime as it is kept with each page: in half the room, since few origins say more than how long a page is fresh.

use myriad_policy::{Lifetime, Source};

/// See [`Lifetime`].
#[derive(Clone, Debug)]
pub(crate) struct KeptLifetime {
    fresh_until: u64,
    valid_ms: u64,
    rare: Option<Box<Rare>>,
    source: Source,
    must_revalidate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rare {
    stale_updating_until: u64,
    stale_error_until: u64,
    born: Option<u64>,
}

impl KeptLifetime {
    /// Bytes that it owns beyond its own size.
    pub(crate) fn weight(&self) -> usize {
        self.rare.as_ref().map_or(0, |_| size_of::<Rare>() + 16)
    }

    /// As it was.
    pub(crate) fn get(&self) -> Lifetime {
        let rare = self.rare.as_deref();
        Lifetime {
            fresh_until: self.fresh_until,
            stale_updating_until: rare.map_or(0, |rare| rare.stale_updating_until),
            stale_error_until: rare.map_or(0, |rare| rare.stale_error_until),
            must_revalidate: self.must_revalidate,
            valid_ms: self.valid_ms,
            source: self.source,
            born: rare.and_then(|rare| rare.born),
        }
    }
}

impl From<Lifetime> for KeptLifetime {
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
        let rare = Rare { stale_updating_until, stale_error_until, born };
        let usual = Rare { stale_updating_until: 0, stale_error_until: 0, born: None };
        let rare = (rare != usual).then(|| Box::new(rare));
        Self { fresh_until, valid_ms, rare, source, must_revalidate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_comes_back_as_it_was() {
        for bits in 0..16_u64 {
            let bit = |bit: u64| bits >> bit & 1;
            let lifetime = Lifetime {
                fresh_until: 10,
                stale_updating_until: 20 * bit(0),
                stale_error_until: 30 * bit(1),
                must_revalidate: bit(3) > 0,
                valid_ms: 40,
                source: Source::MaxAge,
                born: (bit(2) > 0).then_some(0),
            };
            let kept = KeptLifetime::from(lifetime);
            assert_eq!(format!("{:?}", kept.get()), format!("{lifetime:?}"));
            assert_eq!(kept.weight() > 0, bits & 7 > 0);
        }
    }
}
