//! Detection of caches without a key.

use myriad_conf::settings::{Handler, Settings};
use myriad_conf::{Diagnostic, Span};

use crate::settings::{CacheSettings, CacheZone};

/// Adds a warning for a cache without `*_cache_key` whose protocol has no default key in nginx, where all URIs would
/// share one page.
pub(crate) fn examine(settings: &Settings, at: Span, findings: &mut Vec<Diagnostic>) {
    let Some(Handler::Origin { protocol, .. }) = &settings.handler else { return };
    let origin = settings.origin(*protocol);
    if let CacheZone::Zone(zone) = &origin.own::<CacheSettings>().zone
        && origin.own::<CacheSettings>().key.is_none()
        && protocol.default_key().warned
    {
        let (prefix, text) = (protocol.prefix(), protocol.default_key().text);
        let message = format!("no \"{prefix}cache_key\" for \"{prefix}cache\"");
        let help = format!(
            "pages are stored under \"{text}\": write this key explicitly, or another {prefix}cache_key"
        );
        findings.push(
            Diagnostic::warning(at, message).related(zone.span, "the cache is enabled here").help(help),
        );
    }
}
