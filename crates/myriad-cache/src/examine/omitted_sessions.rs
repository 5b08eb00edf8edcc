//! Detection of caches that share pages between visitors with session cookies.

use myriad_conf::model::HttpConf;
use myriad_conf::settings::{Handler, Settings};
use myriad_conf::{Diagnostic, Span};
use myriad_policy::PersonalCookies;

use crate::settings::{CacheRules, CacheSettings, CacheZone, cache_key};

/// Adds a warning for caches whose `personal_cookies` omits the built-in list, unless the key contains all cookies or a
/// session cookie. Adds at most one warning per file.
pub(super) fn examine(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    let mut reported: Vec<Span> = Vec::new();
    for span in http.levels().into_iter().filter_map(span_of_cache) {
        if reported.iter().all(|known| known.file != span.file) {
            reported.push(span);
            findings.push(warning(span));
        }
    }
}

/// Returns the position of the `*_cache` directive of a cache that shares pages between visitors with session cookies;
/// `None` for other caches.
fn span_of_cache(settings: &Settings) -> Option<Span> {
    let Some(Handler::Origin { protocol, .. }) = &settings.handler else { return None };
    let origin = settings.origin(*protocol);
    let CacheZone::Zone(zone) = &origin.own::<CacheSettings>().zone else { return None };
    let is_omitted = !settings.feature::<CacheRules>().personal_cookies.builtin;
    let key = cache_key(origin);
    let key = key.lossy();
    let names = key.split("$cookie_").skip(1);
    let sessions = PersonalCookies::builtin_sessions();
    let mut names = names
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default());
    let has_cookie = key.contains("$http_cookie")
        || names.any(|name| sessions.matches_set_cookie(name.as_bytes()).is_some());
    (is_omitted && !has_cookie).then_some(zone.span)
}

fn warning(span: Span) -> Diagnostic {
    let message = "the cache shares pages between visitors with session cookies such as PHPSESSID, JSESSIONID or laravel_session: \
         \"personal_cookies\" omits the built-in list";
    Diagnostic::warning(span, message).help(
        "write \"personal_cookies default NAME...;\", or add the cookies that change pages to the key; leak_guard only detects \
         values that a page contains",
    )
}
