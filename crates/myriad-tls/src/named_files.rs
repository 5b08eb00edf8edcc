//! List of the files that the supervisor must read for TLS.

use myriad_conf::model::HttpConf;
use myriad_conf::settings::{Handler, Settings};
use myriad_conf::{Model, Text};

use crate::acme::issuers;
use crate::certificates::files::is_tls_file;
use crate::peers::{client_rules, origin};

/// Returns the names of the TLS files that a configuration uses (certificates, keys, passwords, CA certificates and so
/// on), as written in it and possibly repeated. Certificates and keys whose names have variables, or whose text is in
/// the configuration (`data:`), are omitted.
pub fn tls_files(model: &Model) -> impl Iterator<Item = &Text> {
    let servers = model.servers().map(|server| &server.settings);
    let own = servers.flat_map(|settings| {
        let tls = &settings.tls;
        let pairs = tls.certificates.iter().chain(&tls.keys).filter(|name| is_tls_file(name));
        let passwords = tls.password_file.iter().filter(|_| !tls.certificates.is_empty());
        let stapled = tls.stapling_file.iter().filter(|_| tls.stapling);
        // nginx reads ticket keys only if a certificate is configured.
        let tickets = tls.ticket_keys.iter().filter(|_| !tls.certificates.is_empty());
        let sealing = tickets.chain(&settings.http3.host_key);
        // Read as nginx does, although DHE cipher suites are not supported.
        let parameters = tls.dhparam.iter().filter(|name| !tls.certificates.is_empty() && !name.is_empty());
        pairs.chain(passwords).chain(stapled).chain(sealing).chain(parameters).chain(client_rules::files(tls))
    });
    let levels = model.http.iter().flat_map(|http| http.levels());
    let places = levels.filter_map(|settings| match settings.handler {
        Some(Handler::Origin { protocol, .. }) if protocol.may_be_secure() => Some(settings.origin(protocol)),
        _ => None,
    });
    let of_streams = model.stream.iter().flat_map(HttpConf::levels).filter_map(Settings::stream_origin);
    let places = places.chain(of_streams);
    let of_origins = places.flat_map(|origin| origin::files(&origin.tls));
    own.chain(of_origins).chain(issuers::files(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSite;

    fn listed(http: &str) -> Vec<String> {
        tls_files(&TestSite::of(http, &[]).model).map(|name| name.lossy().into_owned()).collect()
    }

    #[test]
    fn pairs_passwords_answers_keys_and_parameters_of_servers_are_read() {
        let directives = "ssl_certificate c; ssl_certificate_key k; ssl_password_file p; ssl_stapling_file o; \
                    ssl_session_ticket_key t; quic_host_key q; ssl_dhparam d;";
        let server = |more: &str| listed(&format!("server {{ listen 443 ssl; {directives} {more} }}"));
        assert_eq!(server(""), ["c", "k", "p", "t", "q", "d"]);
        assert_eq!(server("ssl_stapling on;"), ["c", "k", "p", "o", "t", "q", "d"]);
        assert!(
            listed("server { listen 80; ssl_password_file p; ssl_dhparam d; ssl_session_ticket_key /$a/t; }")
                .is_empty()
        );
    }

    #[test]
    fn what_variables_name_is_read_when_it_is_known() {
        let pair = "ssl_certificate $host.crt; ssl_certificate_key data:$http_key;";
        assert!(listed(&format!("server {{ listen 443 ssl; {pair} }}")).is_empty());
    }

    #[test]
    fn files_of_origins_and_issuers_are_read_too() {
        let http = "acme_issuer ca { uri https://ca.test/; account_key account.key; ssl_trusted_certificate ca.crt; }
            server { listen 80; location / { proxy_pass https://127.0.0.1; proxy_ssl_verify on;
            proxy_ssl_trusted_certificate roots; } location /plain { proxy_ssl_certificate c; proxy_ssl_certificate_key k; } }";
        assert_eq!(listed(http), ["roots", "account.key", "ca.crt"]);
    }
}
