//! Compilation of `https_only`: port of redirects, and the `Strict-Transport-Security` line.

use myriad_conf::settings::Settings;

use super::settings::HttpsOnlySettings;

/// Returns `:` and the HTTPS port for redirects, or an empty text for port 443; `None` if clients are not redirected.
pub(crate) fn port(settings: &Settings) -> Option<Box<str>> {
    let rules = settings.feature::<HttpsOnlySettings>().rules?;
    Some(rules.port.filter(|port| *port != 443).map_or("".into(), |port| format!(":{port}").into()))
}

/// Returns the complete `Strict-Transport-Security` line (RFC 6797 section 6.1); `None` without `https_only` or with
/// `hsts=off`.
pub(crate) fn hsts_line(settings: &Settings) -> Option<Box<[u8]>> {
    let rules = settings.feature::<HttpsOnlySettings>().rules?;
    let age = rules.hsts_s?;
    let subdomains = if rules.subdomains { "; includeSubDomains" } else { "" };
    let preload = if rules.preload { "; preload" } else { "" };
    let line = format!("Strict-Transport-Security: max-age={age}{subdomains}{preload}\r\n");
    Some(line.into_bytes().into())
}
