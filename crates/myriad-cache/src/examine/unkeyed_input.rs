//! Detection of client input that the origin of a shared page gets, although it is not part of the key.

use myriad_conf::model::HttpConf;
use myriad_conf::settings::{Handler, OriginSettings, Settings};
use myriad_conf::{Diagnostic, Span, Text};

use super::variables::variables;
use crate::settings::{CacheSettings, CacheZone, cache_key};
use crate::shared_fetch::SharedFetchSettings;

/// Adds hints for shared fetches (for all clients) that send all header fields of one client, and for parameters with
/// client input that are sent in addition to the list of `shared_fetch_headers`. Each kind is reported once per file.
pub(super) fn examine(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    let mut reported: Vec<(Span, bool)> = Vec::new();
    for settings in http.levels() {
        let Some((zone, origin)) = cached(settings) else { continue };
        let on = settings.feature::<SharedFetchSettings>().on;
        let hint = if on {
            let Some(param) = unkeyed(settings, origin) else { continue };
            hint_at_param(param)
        } else if origin.request.pass_fields {
            hint_at_all(zone)
        } else {
            continue;
        };
        if !reported.iter().any(|(span, of_param)| span.file == hint.span.file && *of_param == on) {
            reported.push((hint.span, on));
            findings.push(hint);
        }
    }
}

fn hint_at_all(zone: &Text) -> Diagnostic {
    let message = format!(
        "a shared fetch for the cache in \"{}\" forwards all headers and cookies of the client that triggers it, so a \
             page stored for all clients may contain values chosen by one client",
        zone.lossy()
    );
    Diagnostic::hint(zone.span, message).help(
        "write shared_fetch_headers on; and add the headers that change the page to the key, for example: \
             cache_key_field Accept-Language en de;",
    )
}

fn hint_at_param(param: &Text) -> Diagnostic {
    let message = format!(
        "\"{}\" sends a value from the client to the origin on a shared fetch, but the key does not contain it",
        param.lossy()
    );
    let help = "add it to the key, or use shared_fetch_headers, which removes headers that are not in the key from shared fetches";
    Diagnostic::hint(param.span, message).help(help)
}

fn cached(settings: &Settings) -> Option<(&Text, &OriginSettings)> {
    let Some(Handler::Origin { protocol, .. }) = &settings.handler else { return None };
    let origin = settings.origin(*protocol);
    match &origin.own::<CacheSettings>().zone {
        CacheZone::Zone(zone) => Some((zone, origin)),
        CacheZone::Off => None,
    }
}

/// Returns the value of the first parameter or field of the origin request that contains client input which is not in
/// the cache key; `None` if there is none.
fn unkeyed<'s>(settings: &Settings, origin: &'s OriginSettings) -> Option<&'s Text> {
    let key = cache_key(origin).lossy().into_owned();
    let key = variables(&key).unwrap_or_default();
    let keyed = &settings.feature::<SharedFetchSettings>().keyed;
    let is_keyed = |name: &str| {
        key.contains(&name)
            || keyed.iter().any(|input| {
                let prefix = if input.cookie { "cookie_" } else { "http_" };
                name == format!("{prefix}{}", input.name.lossy().to_ascii_lowercase().replace('-', "_"))
            })
    };
    let is_unkeyed_input = |name: &str| {
        let is_field = name.starts_with("http_") && name != "http_host" || name.starts_with("cookie_");
        let of_client = name == "proxy_add_x_forwarded_for" || name.starts_with("geoip_");
        (is_field || of_client) && !is_keyed(name)
    };
    let values = origin.request.parameters.iter().map(|param| &param.value);
    values.into_iter().find(|value| {
        let text = value.lossy();
        variables(&text).is_some_and(|names| names.iter().any(|name| is_unkeyed_input(name)))
    })
}
