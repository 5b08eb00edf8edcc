//! `*_cache_purge`: rules of a place, and what they come to for its server.

use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::settings::{PurgeCondition, Settings};

use super::Compile;
use myriad_control::purge::{PurgeBy, PurgePlace};
use myriad_exchange::runtime::{
    CachePlace, Caches, Place, PlaceId, PurgeRules, PurgeWhen, RealIp, ServerPurge,
};
use myriad_page::PageZone;

impl Compile<'_> {
    pub(super) fn purge(&mut self, settings: &Settings) -> Option<Box<PurgeRules>> {
        let purge = &settings.cache_rules.purge;
        let when = match &purge.when {
            PurgeCondition::Off => return None,
            PurgeCondition::Methods(methods) => {
                PurgeWhen::Methods(methods.iter().map(|method| method.as_bytes().into()).collect())
            }
            PurgeCondition::Texts(texts) => PurgeWhen::Conditions(self.predicates(texts)),
        };
        let from = purge.from.as_ref().map(|list| list.as_slice().into());
        Some(Box::new(PurgeRules { when, everything: purge.everything, from }))
    }

    pub(super) fn purge_place(&mut self, zone: Arc<PageZone>, text: &Text, by_url: bool) -> PurgePlace {
        let template = self.template(text);
        PurgePlace { zone, by: if by_url { PurgeBy::Url(template) } else { PurgeBy::Key(template) } }
    }
}

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
