//! Purge rules of a server, derived from `*_cache_purge` of its locations.

use std::sync::Arc;

use myriad_exchange::runtime::{
    CachePlace, Caches, Place, PlaceId, PurgeRules, PurgeWhen, RealIp, ServerPurge,
};
use myriad_store::page::PageZone;

/// Returns the purges that requests to a server may make, whatever location they match. `places` are those of the whole
/// site; the server's begin at `own`, with the server itself. Returns an empty list if a purge removes whole zones
/// (`purge_all`), or if a place with purges also restricts clients (access checks, `limit_except`, rewrite directives
/// other than `set`, proxies that only the place trusts): these restrictions apply only to requests for that location.
pub(super) fn server_purges(places: &[Place], own: PlaceId) -> Vec<ServerPurge> {
    let mut purges = Vec::new();
    let server = &places[own as usize];
    for place in &places[own as usize..] {
        let in_ifs = || {
            place.rewrite.ifs.iter().any(|id| *id != 0 && !method_purges(&places[*id as usize]).is_empty())
        };
        if !place.rewrite.program.only_sets() && in_ifs() {
            return Vec::new();
        }
        for (rules, methods, zone) in method_purges(place) {
            let is_restricted = place.entry.gate.is_some()
                || place.entry.limit_except.is_some()
                || !place.rewrite.program.only_sets()
                || (trusts_proxy(place) && !trusts_proxy(server));
            if rules.everything || is_restricted {
                return Vec::new();
            }
            add_purge(&mut purges, rules, methods, zone);
        }
    }
    purges
}

/// Rules of a purge, the request methods that trigger it, and the cache zone in which it removes pages.
type MethodPurge<'a> = (&'a PurgeRules, &'a Arc<[Box<[u8]>]>, &'a Arc<PageZone>);

/// Returns the purges that a request method triggers (not a header or URL), in all caches that a place may use.
fn method_purges(place: &Place) -> Vec<MethodPurge<'_>> {
    let Some(origin) = place.handler.origin() else { return Vec::new() };
    let caches: Vec<&CachePlace> = match &origin.cache {
        Caches::None => Vec::new(),
        Caches::One(cache) => vec![cache],
        Caches::Named(named) => named.places.iter().map(|(_, cache)| &**cache).collect(),
    };
    caches
        .into_iter()
        .filter_map(|cache| {
            let rules = cache.purge.as_deref()?;
            let PurgeWhen::Methods(methods) = &rules.when else { return None };
            Some((rules, methods, &cache.zone))
        })
        .collect()
}

/// Adds a purge to the list, unless the list contains one of the same methods and zone, and both accept every client.
/// Such duplicates are frequent: most locations inherit the rule of their server.
fn add_purge(
    purges: &mut Vec<ServerPurge>,
    rules: &PurgeRules,
    methods: &Arc<[Box<[u8]>]>,
    zone: &Arc<PageZone>,
) {
    let same = |purge: &ServerPurge| {
        rules.from.is_none()
            && purge.from.is_none()
            && purge.methods == *methods
            && Arc::ptr_eq(&purge.zone, zone)
    };
    if !purges.iter().any(same) {
        let (methods, from, zone) = (Arc::clone(methods), rules.from.clone(), Arc::clone(zone));
        purges.push(ServerPurge { methods, from, zone });
    }
}

/// Returns whether the place trusts a proxy to report the client's address (`set_real_ip_from`).
fn trusts_proxy(place: &Place) -> bool {
    place.features.get::<RealIp>().is_some()
}

#[cfg(test)]
mod tests;
