//! Check for undefined variables in settings that no request uses: nginx rejects those too.

use myriad_conf::settings::{Handler, OriginSettings, Settings};
use myriad_conf::{Diagnostic, PossibleCause, Span, Text};

use super::RuntimeCompiler;
use super::place::PlaceContext;
use myriad_access::{auth_basic, auth_request};
use myriad_cache::settings::{CacheSettings, CacheZone, cache_key};
use myriad_origin::protocols;

/// `*_pass` target for compiling the origin settings of levels without an origin. It is never contacted.
const PLACEHOLDER_ORIGIN: &str = "http://127.0.0.1:80";

/// Compiles settings that are not part of the running configuration, only to report undefined variables in them: those
/// of `http`, which servers replace, and settings that have no effect at their level, such as the parameters and the
/// cache key of a `*_pass` protocol that a location does not use. Does nothing for a configuration without servers.
pub(super) fn check_unused(compile: &mut RuntimeCompiler<'_>) {
    let http = compile.http;
    if http.servers.is_empty() {
        // As in nginx, which compiles origin settings only for locations: a configuration of a control panel may have
        // no sites yet.
        return;
    }
    let known = compile.errors.len();
    compile.place(&http.settings, &PlaceContext::default(), Default::default());
    let mut before: Option<&Settings> = None;
    for settings in http.levels() {
        for protocol in protocols::languages().map(|language| language.protocol) {
            let origin = settings.origin(protocol);
            // Most levels have the same origin settings as the previous level.
            if before.is_none_or(|before| before.origin(protocol) != origin) {
                compile.check_unused_origin(settings, origin);
            }
        }
        compile.check_unused_access(settings);
        before = Some(settings);
    }
    let found = compile.errors.split_off(known);
    let is_unknown = |doubt: Option<&PossibleCause>| matches!(doubt, Some(PossibleCause::Name(_)));
    // An error without a position concerns a variable that a protocol requires internally.
    let is_written = |error: &Diagnostic| error.span != Span::default();
    let found = found.into_iter().filter(|error| is_written(error) && is_unknown(error.doubt.as_deref()));
    compile.errors.extend(found);
}

impl RuntimeCompiler<'_> {
    fn check_unused_origin(&mut self, settings: &Settings, origin: &OriginSettings) {
        let asked = match &settings.handler {
            Some(Handler::Origin { protocol, .. }) => Some(*protocol),
            _ => None,
        };
        if asked != Some(origin.protocol) {
            let placeholder = if origin.protocol.is_url() {
                PLACEHOLDER_ORIGIN
            } else {
                PLACEHOLDER_ORIGIN.trim_start_matches("http://")
            };
            self.origin(settings, origin.protocol, (&Text::builtin(placeholder), &Text::default()));
        }
        let cache = origin.own::<CacheSettings>();
        let key = cache_key(origin);
        let texts = std::iter::once(&*key).chain(&cache.bypass).chain(&cache.share).chain(&cache.no_cache);
        let texts = texts.chain(cache.valid.iter().filter_map(|valid| valid.text.as_ref()));
        let zone = match &cache.zone {
            CacheZone::Zone(zone) => Some(zone),
            CacheZone::Off => None,
        };
        let tls = [&origin.tls.name, &origin.tls.certificate, &origin.tls.key];
        for text in texts.chain(zone).chain(tls.into_iter().flatten()).filter(|text| text.has_variables()) {
            self.template(text);
        }
    }

    fn check_unused_access(&mut self, settings: &Settings) {
        for text in auth_basic::variable_texts(settings) {
            self.template(text);
        }
        for value in auth_request::unused_values(settings) {
            self.template(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::testing::compiled;

    #[test]
    fn configuration_without_sites_may_use_undefined_variables() {
        let http = "proxy_set_header Early-Data $rfc_early_data; fastcgi_param A $nowhere;
            map $uri $brotli_ratio { default none; }";
        let runtime = compiled(Path::new("/nowhere"), &format!("http {{ {http} }}"));
        assert!(runtime.servers.is_empty());
    }
}
