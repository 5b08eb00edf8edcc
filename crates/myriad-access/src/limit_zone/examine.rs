//! Validation: limit zones and cache zones share one namespace.

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;

use super::settings::limit_zones;

/// Reports a name that is used for both a limit zone and a cache zone. nginx rejects it too, because both are shared
/// memory zones.
pub(crate) fn examine(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    for limit in limit_zones(http) {
        let Some(cache) = http.cache_zones.iter().find(|cache| cache.name == limit.name) else {
            continue;
        };
        let (first, second) =
            if cache.span < limit.span { (cache.span, limit.span) } else { (limit.span, cache.span) };
        let message =
            format!("the shared memory zone \"{}\" is already declared for a different use", limit.name);
        findings.push(Diagnostic::error(second, message).related(first, "first declared here"));
    }
}
