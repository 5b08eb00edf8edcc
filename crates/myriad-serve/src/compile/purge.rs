//! `*_cache_purge`: what the rules of places come to for their server.

use std::sync::Arc;

use myriad_exchange::runtime::{
    CachePlace, Caches, Place, PlaceId, PurgeRules, PurgeWhen, RealIp, ServerPurge,
};
use myriad_page::PageZone;

/// What requests may purge in the places of a server, whichever of these they are sent to; `places` are those of the site,
/// the server's from `own` on, which is the server itself. Nothing where one of them also asks who comes (`allow`, passwords,
/// limits, `if`, trusted proxies): such rules are its own, and only requests that it gets have passed them.
pub(super) fn of_server(places: &[Place], own: PlaceId) -> Vec<ServerPurge> {
    let mut purges = Vec::new();
    let server = &places[own as usize];
    for place in &places[own as usize..] {
        let in_ifs =
            || place.rewrite.ifs.iter().any(|id| *id != 0 && !rules_of(&places[*id as usize]).is_empty());
        if !place.rewrite.program.only_sets() && in_ifs() {
            return Vec::new();
        }
        for (rules, methods, zone) in rules_of(place) {
            let asks = place.entry.gate.is_some()
                || place.entry.limit_except.is_some()
                || !place.rewrite.program.only_sets()
                || (believes(place) && !believes(server));
            if rules.everything || asks {
                return Vec::new();
            }
            add(&mut purges, rules, methods, zone);
        }
    }
    purges
}

/// Rules, their methods, and the zone that they are of.
type ByMethod<'a> = (&'a PurgeRules, &'a Arc<[Box<[u8]>]>, &'a Arc<PageZone>);

/// The purges by method of what a place caches.
fn rules_of(place: &Place) -> Vec<ByMethod<'_>> {
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

/// Most places of a server inherit one rule.
fn add(purges: &mut Vec<ServerPurge>, rules: &PurgeRules, methods: &Arc<[Box<[u8]>]>, zone: &Arc<PageZone>) {
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

/// Whether somebody is believed there about the client's address.
fn believes(place: &Place) -> bool {
    place.features.get::<RealIp>().is_some()
}

#[cfg(test)]
mod tests;
