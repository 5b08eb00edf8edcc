//! Handler of locations with an origin, with or without a cache.

use std::any::Any;
use std::sync::Arc;

use crate::explain;
use crate::journey;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, Handler};
use myriad_exchange::runtime::{CachePlace, OriginPlace, PurgeWhen};

/// Handler that serves responses of an origin, from the cache if the location has one.
pub struct OriginHandler(pub Arc<OriginPlace>);

impl Handler for OriginHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        if let Some(step) = self.0.prepare(exchange) {
            return step;
        }
        explain::content(exchange, &self.0);
        journey::begin(exchange, &self.0)
    }

    fn shortcut(&self, exchange: &mut Exchange) -> Option<PhaseStep> {
        journey::shortcut(exchange, &self.0)
    }

    fn allows_shortcut(&self) -> bool {
        let origin = &self.0;
        // The shortcut skips purge requests, so it is not allowed if conditions decide about them or if GET or HEAD is
        // a purge method.
        let is_seen = |cache: &CachePlace| {
            cache.purge.as_ref().is_some_and(|rules| match &rules.when {
                PurgeWhen::Conditions(_) => true,
                PurgeWhen::Methods(methods) => {
                    methods.iter().any(|method| matches!(&**method, b"GET" | b"HEAD"))
                }
            })
        };
        origin.cache.fixed().is_some_and(|cache| !is_seen(cache))
            && !origin.answer.intercept_errors
            // The shortcut does not evaluate variables of the upstream URL.
            && origin.protocol.is_prepared()
    }

    fn compiled(&self) -> Option<&dyn Any> {
        Some(&self.0)
    }

    fn compiled_mut(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.0)
    }
}
