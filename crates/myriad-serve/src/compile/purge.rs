//! `*_cache_purge`: rules of a place, and what they come to for its server.

use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::settings::{PurgeCondition, Settings};

use super::Compile;
use super::real_ip::compiled;
use crate::runtime::{
    CachePlace, Caches, Handler, PageZone, Place, PurgeBy, PurgePlace, PurgeRules, PurgeWhen, ServerPurge,
};

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
        let from = purge.from.as_ref().map(|list| list.iter().map(|network| compiled(*network)).collect());
        Some(Box::new(PurgeRules { when, everything: purge.everything, from }))
    }

    pub(super) fn purge_place(&mut self, zone: Arc<PageZone>, text: &Text, by_url: bool) -> PurgePlace {
        let template = self.template(text);
        PurgePlace { zone, by: if by_url { PurgeBy::Url(template) } else { PurgeBy::Key(template) } }
    }
}

/// What requests may purge in the places of a server, whichever of these they are sent to. Nothing where one of them also
/// asks who comes (`allow`, passwords, limits): such rules are its own, and only requests that it gets have passed them.
pub(super) fn of_server(places: &[Place]) -> Vec<ServerPurge> {
    let mut purges = Vec::new();
    for place in places {
        let Handler::Origin(origin) = &place.handler else { continue };
        let caches: Vec<&CachePlace> = match &origin.cache {
            Caches::None => continue,
            Caches::One(cache) => vec![cache],
            Caches::Named(named) => named.places.iter().map(|(_, cache)| cache).collect(),
        };
        for cache in caches {
            let Some(rules) = cache.purge.as_deref() else { continue };
            let PurgeWhen::Methods(methods) = &rules.when else { continue };
            if rules.everything || place.gate.is_some() || place.limit_except.is_some() {
                return Vec::new();
            }
            add(&mut purges, rules, methods, &cache.zone);
        }
    }
    purges
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
