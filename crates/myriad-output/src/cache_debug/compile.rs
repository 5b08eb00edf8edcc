//! `cache_debug` of a place, compiled.

use myriad_conf::settings::Settings;

use super::settings::CacheDebug;
use crate::headers;
use myriad_exchange::runtime::DebugRules;

/// What is said of the cache; none where nothing is.
pub fn compiled(settings: &Settings) -> Option<Box<DebugRules>> {
    let CacheDebug { on, from } = settings.feature();
    on.then(|| {
        let (from, said_already) = (from.clone(), headers::names(settings, b"X-Cache"));
        Box::new(DebugRules { from, said_already })
    })
}
