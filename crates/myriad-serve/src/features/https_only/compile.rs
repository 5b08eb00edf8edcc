//! The rules made into what requests need.

use myriad_conf::settings::Settings;

use super::settings::HttpsOnlySettings;

/// The port that visitors of a server are led to, with its colon, empty for the usual one; none where they are led nowhere.
pub(crate) fn port(settings: &Settings) -> Option<Box<str>> {
    let rules = settings.feature::<HttpsOnlySettings>().rules?;
    Some(rules.port.filter(|port| *port != 443).map_or("".into(), |port| format!(":{port}").into()))
}

/// The whole line by which browsers remember it (RFC 6797 section 6.1); none where they are not to.
pub(crate) fn hsts_line(settings: &Settings) -> Option<Box<[u8]>> {
    let rules = settings.feature::<HttpsOnlySettings>().rules?;
    let age = rules.hsts_s?;
    let subdomains = if rules.subdomains { "; includeSubDomains" } else { "" };
    let preload = if rules.preload { "; preload" } else { "" };
    let line = format!("Strict-Transport-Security: max-age={age}{subdomains}{preload}\r\n");
    Some(line.into_bytes().into())
}
