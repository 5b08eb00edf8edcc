//! Detection of `optimize` where it has no effect.

use myriad_conf::model::HttpConf;
use myriad_conf::settings::{Handler, Settings};
use myriad_conf::{Diagnostic, Span};

use super::directives::OptimizeSettings;
use crate::settings::{CacheRules, CacheSettings, CacheZone};

/// Adds a warning for each `optimize safe` that applies to no location with a cache, or only to locations with `leak_guard off`.
pub(super) fn examine(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    // Positions of the directives, each with the best reason why it has no effect; `None` if it has one.
    let mut found: Vec<(Span, Option<&'static str>)> = Vec::new();
    for settings in http.levels() {
        let Some(span) = settings.feature::<OptimizeSettings>().is_on else { continue };
        let obstacle = if !has_cache(settings) {
            Some("no location with a cache has it; write it where fastcgi_cache or proxy_cache applies")
        } else if !settings.feature::<CacheRules>().leak_guard {
            Some(
                "only pages that were searched for data of visitors are optimized; remove \"leak_guard off\"",
            )
        } else {
            None
        };
        match found.iter_mut().find(|(known, _)| *known == span) {
            Some((_, known)) if obstacle.is_none() || has_cache(settings) && known.is_some() => {
                *known = obstacle;
            }
            Some(_) => {}
            None => found.push((span, obstacle)),
        }
    }
    for (span, obstacle) in found {
        if let Some(help) = obstacle {
            findings.push(Diagnostic::warning(span, "\"optimize\" has no effect").help(help));
        }
    }
}

fn has_cache(settings: &Settings) -> bool {
    let Some(Handler::Origin { protocol, .. }) = &settings.handler else { return false };
    settings.origin(*protocol).own::<CacheSettings>().zone != CacheZone::Off
}
