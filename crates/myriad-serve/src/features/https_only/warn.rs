//! Warning about redirects to HTTPS without an HTTPS listener.

use myriad_conf::Diagnostic;
use myriad_conf::model::{HttpConf, ServerConf};

use super::settings::HttpsOnlySettings;
use crate::features::real_ip::RealIpSettings;

/// Warns of servers that redirect to HTTPS although no listener supports it. Each directive is reported once, even if
/// many servers inherit it.
pub(super) fn warn(http: &HttpConf, warnings: &mut Vec<Diagnostic>) {
    for warning in http.servers.iter().filter_map(|server| missing_https_warning(http, server)) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// Returns the warning for a server with `https_only` if no listener of any server uses TLS or QUIC, `port=` is not
/// set, and no proxy is trusted (`set_real_ip_from`) that could provide HTTPS; otherwise `None`.
fn missing_https_warning(http: &HttpConf, server: &ServerConf) -> Option<Diagnostic> {
    let rules = server.settings.feature::<HttpsOnlySettings>().rules?;
    let speaks =
        http.servers.iter().flat_map(|server| &server.listens).any(|listen| listen.ssl || listen.quic);
    if speaks || rules.port.is_some() || !server.settings.feature::<RealIpSettings>().from.is_empty() {
        return None;
    }
    let message = "\"https_only\" redirects to HTTPS, but no \"listen\" has \"ssl\"";
    Some(
        Diagnostic::warning(rules.span, message)
            .help("write listen 443 ssl; or, if a proxy terminates TLS, set_real_ip_from with its address"),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use myriad_conf::{MemoryLoader, build};

    fn warnings_for(http: &str) -> Vec<String> {
        let path = Path::new("/conf/nginx.conf");
        let registry = crate::registry();
        let parsed = registry.parse(&MemoryLoader::with(path, format!("http {{ {http} }}")), path, b"");
        let model = build(&parsed, registry).expect("a valid configuration");
        crate::warnings(&model).into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn https_only_without_tls_listener_is_warned_about() {
        let lost = warnings_for("server { listen 80; https_only on; }");
        assert!(lost.len() == 1 && lost[0].contains("no \"listen\" has \"ssl\""), "{lost:?}");
        assert!(warnings_for("server { listen 80; https_only on; set_real_ip_from 10.0.0.1; }").is_empty());
        assert!(warnings_for("server { listen 80; https_only on port=8443; }").is_empty());
    }

    #[test]
    fn https_that_somebody_speaks_is_not_mentioned() {
        let server = "listen 443 ssl; ssl_certificate a.crt; ssl_certificate_key a.key; https_only on;";
        assert!(warnings_for(&format!("server {{ {server} }}")).is_empty());
        assert!(warnings_for("server { listen 80; }").is_empty());
    }

    #[test]
    fn inherited_directive_is_warned_about_once() {
        assert_eq!(warnings_for("https_only on; server { listen 80; } server { listen 81; }").len(), 1);
    }
}
