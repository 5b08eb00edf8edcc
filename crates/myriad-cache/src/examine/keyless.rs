//! A cache without a key.

use myriad_conf::settings::{Handler, Settings};
use myriad_conf::{Diagnostic, Span};

use crate::settings::{CacheSettings, CacheZone, cache_key};

/// Refuses a cache without a key: every URI would be one page. nginx only warns.
pub(crate) fn examine(settings: &Settings, at: Span, findings: &mut Vec<Diagnostic>) {
    let Some(Handler::Origin { protocol, .. }) = &settings.handler else { return };
    let origin = settings.origin(*protocol);
    if let CacheZone::Zone(zone) = &origin.own::<CacheSettings>().zone
        && cache_key(origin).is_none()
    {
        let prefix = protocol.prefix();
        let message = format!("no \"{prefix}cache_key\" for \"{prefix}cache\"");
        let help = format!("write {prefix}cache_key \"$scheme$request_method$host$request_uri\";");
        findings.push(Diagnostic::error(at, message).related(zone.span, "the cache is on here").help(help));
    }
}
