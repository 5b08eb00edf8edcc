//! Which requests are taken, and what is wrong with them before anything is touched.

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::{Exchange, MethodHandler, Request, Step};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::Method;

use super::failure::Failure;
use super::settings::DavSettings;
use super::{copy, delete, mkcol, put};

/// Takes the methods that `dav_methods` names, where it names one.
pub(super) fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let rules = *settings.feature::<DavSettings>();
    if !rules.methods.is_empty() {
        features.keep::<Box<dyn MethodHandler>>(Box::new(rules));
    }
}

impl MethodHandler for DavSettings {
    fn takes(&self, request: &Request) -> bool {
        self.methods.has(request.received.head.method()) && !request.is_subrequest()
    }

    fn begin(&self, exchange: &mut Exchange) -> Step {
        let method = exchange.request.received.head.method();
        if method != Method::Put && has_body(&exchange.request) {
            let text = format!("{} with body is unsupported", method.as_str());
            return Failure::new(415, text).answer(&exchange.request);
        }
        match method {
            Method::Put => put::begin(exchange, self),
            Method::Delete => delete::begin(exchange, self),
            Method::Mkcol => mkcol::begin(exchange, self),
            _ => copy::begin(exchange, self),
        }
    }
}

fn has_body(request: &Request) -> bool {
    let gathered = request.upload.gathered.as_ref();
    !request.upload.body.is_empty() || gathered.is_some_and(|gathered| gathered.length() > 0)
}
