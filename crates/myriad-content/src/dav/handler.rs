//! Dispatch of requests to the WebDAV methods, after checks that precede any change.

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::{Exchange, MethodHandler, PhaseStep, Request};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::{Method, MethodSet};

use super::destination::destination;
use super::ext::{self, ChangeScope, ExtSettings, LockZone, LockZones};
use super::failure::{DavFailure, DavResult};
use super::settings::DavSettings;
use super::target::DavTarget;
use super::{copy, delete, mkcol, put};

/// Handler of the WebDAV methods of a location.
struct DavHandler {
    rules: DavSettings,
    ext: ExtSettings,
    /// Zone of `dav_ext_lock`; `None` if not configured.
    zone: Option<LockZone>,
}

/// Stores the handler of a configuration level in `features` if it has methods (`dav_methods`, `dav_ext_methods`).
pub(super) fn compile(compile: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let (rules, ext) = (*settings.feature::<DavSettings>(), settings.feature::<ExtSettings>().clone());
    if rules.methods.union(ext.methods).is_empty() {
        return;
    }
    let zones = &compile.model().settings.feature::<LockZones>().0;
    let zone = ext.zone.as_ref().and_then(|name| zones.iter().find(|zone| zone.name.bytes() == name.bytes()));
    let zone = zone.cloned();
    features.insert::<Box<dyn MethodHandler>>(Box::new(DavHandler { rules, ext, zone }));
}

impl MethodHandler for DavHandler {
    fn takes(&self, request: &Request) -> bool {
        let method = request.received.head.method();
        self.methods().contains(method) && !request.is_subrequest()
    }

    fn methods(&self) -> MethodSet {
        self.rules.methods.union(self.ext.methods)
    }

    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        let method = exchange.request.received.head.method();
        match method {
            Method::Propfind => return ext::propfind(exchange, &self.ext),
            Method::Options => return ext::options(&self.rules, &self.ext),
            Method::Lock | Method::Unlock => {
                let Some(zone) = &self.zone else {
                    let text = format!("{} requires a lock zone (dav_ext_lock)", method.as_str());
                    return DavFailure::new(501, text).into_step(&mut exchange.request);
                };
                return if method == Method::Lock {
                    ext::lock(exchange, zone, self.rules.access)
                } else {
                    ext::unlock(exchange, zone)
                };
            }
            _ => {}
        }
        if method != Method::Put && has_body(&exchange.request) {
            let text = format!("{} with body is unsupported", method.as_str());
            return DavFailure::new(415, text).into_step(&mut exchange.request);
        }
        if let Err(failure) = self.is_unlocked(exchange, method) {
            return failure.into_step(&mut exchange.request);
        }
        match method {
            Method::Put => put::begin(exchange, &self.rules, self.zone.clone()),
            Method::Delete => delete::begin(exchange, &self.rules, self.zone.clone()),
            Method::Mkcol => mkcol::begin(exchange, &self.rules),
            _ => copy::begin(exchange, &self.rules, self.zone.clone()),
        }
    }
}

impl DavHandler {
    /// Returns an error if a changed resource is locked and the request does not contain the token of the lock. Does
    /// nothing without a zone of locks.
    fn is_unlocked(&self, exchange: &mut Exchange, method: Method) -> DavResult<()> {
        if self.zone.is_none() {
            return Ok(());
        }
        let uri = exchange.request.route.uri.clone();
        let own = DavTarget::of(exchange, &uri)?.path;
        let mut changes = Vec::new();
        match method {
            Method::Put | Method::Mkcol => changes.push((&own[..], ChangeScope::Alone)),
            Method::Delete | Method::Move => changes.push((&own[..], ChangeScope::Below)),
            _ => {}
        }
        let other;
        if matches!(method, Method::Copy | Method::Move) {
            let uri = destination(&exchange.request)?;
            other = DavTarget::of(exchange, &uri)?.path;
            changes.push((&other[..], ChangeScope::Below));
        }
        ext::check_locks(&exchange.request, self.zone.as_ref(), &changes)
    }
}

fn has_body(request: &Request) -> bool {
    let gathered = request.upload.buffered.as_ref();
    !request.upload.body.is_empty() || gathered.is_some_and(|gathered| gathered.length() > 0)
}
