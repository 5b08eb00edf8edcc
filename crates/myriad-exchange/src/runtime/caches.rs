//! Cache settings of a location: fixed, or selected by a variable (`proxy_cache $variable`).

use std::sync::Arc;

use myriad_script::Template;

use super::CachePlace;

/// Cache settings of a location for an origin's responses.
pub enum Caches {
    /// No caching.
    None,
    /// Caching in a zone named by the configuration.
    One(Arc<CachePlace>),
    /// Caching in the zone named by a variable.
    Named(Box<NamedCaches>),
}

/// Cache settings of a location for each zone that a variable may name.
pub struct NamedCaches {
    /// Text that evaluates to the name of a zone. An empty text or `off` disables caching; any other text that is not
    /// the name of a zone results in status 500.
    pub name: Template,
    /// Names of all zones, with the settings of the location for each.
    pub places: Vec<(String, Arc<CachePlace>)>,
}

impl Caches {
    /// Returns the cache settings, if they are the same for every request; otherwise `None`.
    pub fn fixed(&self) -> Option<&Arc<CachePlace>> {
        match self {
            Caches::One(cache) => Some(cache),
            Caches::None | Caches::Named(_) => None,
        }
    }

    /// Returns the cache settings for a request; `None` without caching. `chosen` is the result of
    /// [`NamedCaches::find`] for it.
    pub fn of(&self, chosen: Option<u16>) -> Option<&Arc<CachePlace>> {
        match self {
            Caches::None => None,
            Caches::One(cache) => Some(cache),
            Caches::Named(named) => named.places.get(usize::from(chosen?)).map(|(_, cache)| cache),
        }
    }
}

impl NamedCaches {
    /// Returns the index of the zone with a name; `None` for other names.
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        let at = self.places.iter().position(|(zone, _)| zone.as_bytes() == name)?;
        u16::try_from(at).ok()
    }
}
