//! Compilation of `cache_debug` and `cache_status`.

use myriad_conf::settings::Settings;

use super::settings::{CacheDebug, CacheStatusField};
use crate::headers;
use myriad_exchange::runtime::DebugRules;

/// Returns the compiled `cache_status` and `cache_debug` of a location; `None` if both are off.
pub fn compiled(settings: &Settings) -> Option<Box<DebugRules>> {
    let CacheDebug { on, from } = settings.feature();
    let CacheStatusField { name, without_hits } = settings.feature();
    (*on || !name.is_empty()).then(|| {
        let (from, said_already) = (from.clone(), headers::names(settings, b"X-Cache"));
        Box::new(DebugRules {
            debug: *on,
            status: name.as_str().into(),
            without_hits: *without_hits,
            from,
            has_x_cache: said_already,
        })
    })
}
