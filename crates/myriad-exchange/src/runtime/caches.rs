//! Cache of a place, or the caches from which a variable selects (`proxy_cache $variable`).

use std::sync::Arc;

use myriad_script::Template;

use super::CachePlace;

/// Caching of an origin's responses.
pub enum Caches {
    /// No caching.
    None,
    /// Caching in a zone named by the configuration.
    One(Arc<CachePlace>),
    /// Caching in the zone named by a variable.
    Named(Box<NamedCaches>),
}

/// Caches from which a variable selects: one for every zone.
pub struct NamedCaches {
    /// Text that evaluates to the zone's name; empty or `off` disables caching.
    pub name: Template,
    /// Names of the zones, with the cache settings for each.
    pub places: Vec<(String, Arc<CachePlace>)>,
}

impl Caches {
    /// Returns the cache of the place if it is the same for every request.
    pub fn fixed(&self) -> Option<&Arc<CachePlace>> {
        match self {
            Caches::One(cache) => Some(cache),
            Caches::None | Caches::Named(_) => None,
        }
    }

    /// Returns the cache of a request; `chosen` is the result of [`NamedCaches::find`] for it.
    pub fn of(&self, chosen: Option<u16>) -> Option<&Arc<CachePlace>> {
        match self {
            Caches::None => None,
            Caches::One(cache) => Some(cache),
            Caches::Named(named) => named.places.get(usize::from(chosen?)).map(|(_, cache)| cache),
        }
    }
}

impl NamedCaches {
    /// Returns the number of the zone with that name.
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        let at = self.places.iter().position(|(zone, _)| zone.as_bytes() == name)?;
        u16::try_from(at).ok()
    }
}
