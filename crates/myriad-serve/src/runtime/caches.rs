//! The cache of a place, or those that a variable chooses among (`proxy_cache $variable`).

use myriad_script::Template;

use super::CachePlace;

/// How the answers of an origin are cached, if they are.
#[expect(clippy::large_enum_variant, reason = "a box would cost every hit a load, and places are few")]
pub(crate) enum Caches {
    /// Not at all.
    None,
    /// In a zone that the configuration names.
    One(CachePlace),
    /// In the zone whose name comes out of a variable.
    Named(Box<NamedCaches>),
}

/// The caches that a variable chooses among: one for every zone.
pub(crate) struct NamedCaches {
    /// What makes the zone's name; empty or `off` for none.
    pub name: Template,
    /// The zones' names, and how each caches.
    pub places: Vec<(String, CachePlace)>,
}

impl Caches {
    /// The cache that every request of the place has.
    pub(crate) fn fixed(&self) -> Option<&CachePlace> {
        match self {
            Caches::One(cache) => Some(cache),
            Caches::None | Caches::Named(_) => None,
        }
    }

    /// The cache of a request; `chosen` is what [`NamedCaches::find`] gave for it.
    pub(crate) fn of(&self, chosen: Option<u16>) -> Option<&CachePlace> {
        match self {
            Caches::None => None,
            Caches::One(cache) => Some(cache),
            Caches::Named(named) => named.places.get(usize::from(chosen?)).map(|(_, cache)| cache),
        }
    }
}

impl NamedCaches {
    /// The number of the zone with that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u16> {
        let at = self.places.iter().position(|(zone, _)| zone.as_bytes() == name)?;
        u16::try_from(at).ok()
    }
}
