//! The cache of a place, or those that a variable chooses among (`proxy_cache $variable`).

use std::sync::Arc;

use myriad_script::Template;

use super::CachePlace;

/// How the answers of an origin are cached, if they are.
pub enum Caches {
    /// Not at all.
    None,
    /// In a zone that the configuration names.
    One(Arc<CachePlace>),
    /// In the zone whose name comes out of a variable.
    Named(Box<NamedCaches>),
}

/// The caches that a variable chooses among: one for every zone.
pub struct NamedCaches {
    /// What makes the zone's name; empty or `off` for none.
    pub name: Template,
    /// The zones' names, and how each caches.
    pub places: Vec<(String, Arc<CachePlace>)>,
}

impl Caches {
    /// The cache that every request of the place has.
    pub fn fixed(&self) -> Option<&Arc<CachePlace>> {
        match self {
            Caches::One(cache) => Some(cache),
            Caches::None | Caches::Named(_) => None,
        }
    }

    /// The cache of a request; `chosen` is what [`NamedCaches::find`] gave for it.
    pub fn of(&self, chosen: Option<u16>) -> Option<&Arc<CachePlace>> {
        match self {
            Caches::None => None,
            Caches::One(cache) => Some(cache),
            Caches::Named(named) => named.places.get(usize::from(chosen?)).map(|(_, cache)| cache),
        }
    }
}

impl NamedCaches {
    /// The number of the zone with that name.
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        let at = self.places.iter().position(|(zone, _)| zone.as_bytes() == name)?;
        u16::try_from(at).ok()
    }
}
