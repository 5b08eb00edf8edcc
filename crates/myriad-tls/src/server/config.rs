//! Conversion of `ssl_*` directives of a server to settings of rustls.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use rustls::{ClientConfig, ServerConfig, version};

use super::identities::ServerCertificates;
use super::parts::ServerParts;
use crate::peers::client_rules::client_verifier;
use crate::resume::reload_state::TlsReloadState;
use crate::resume::setup::set_up_resumption;

/// Number of bytes by which rustls's limit of the record size (`max_fragment_size`) exceeds the payload of a record.
const RECORD_OVERHEAD: u64 = 5;
/// Range of values in bytes that rustls allows for its limit of the record size (`max_fragment_size`).
const RECORDS: std::ops::RangeInclusive<u64> = 32..=16_389;

/// Creates the rustls settings of a server for HTTP/1 over TCP. Ticket keys and session caches of earlier
/// configurations are taken from `kept`; new ones are added to it.
///
/// # Errors
///
/// The first unusable setting or file, at its position in the configuration.
pub fn server_config(
    parts: &ServerParts<'_>,
    kept: &mut TlsReloadState,
) -> Result<ServerConfig, Box<Diagnostic>> {
    let settings = parts.settings;
    let supported = kept.suites(settings)?;
    let verifier = client_verifier(settings, parts.files, &supported.provider)?;
    let identities = ServerCertificates::read(parts, &supported)?;
    let mut versions = Vec::new();
    if settings.tls13 {
        versions.push(&version::TLS13);
    }
    if settings.tls12 {
        versions.push(&version::TLS12);
    }
    let at = settings.certificates.first().map(|name| name.span).unwrap_or_default();
    let mut config = ServerConfig::builder_with_provider(supported.provider)
        .with_protocol_versions(&versions)
        .map_err(|error| Box::new(Diagnostic::error(at, error.to_string())))?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(identities));
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"http/1.0".to_vec()];
    config.ignore_client_order = settings.prefer_server_ciphers.unwrap_or(true);
    // Without `ssl_buffer_size` the connection chooses the size of each record.
    config.max_fragment_size = settings
        .buffer_size
        .map(|size| (size.saturating_add(RECORD_OVERHEAD)).clamp(*RECORDS.start(), *RECORDS.end()) as usize);
    if !settings.certificate_compression {
        config.cert_compressors.clear();
    }
    set_up_resumption(parts, kept, &mut config)?;
    Ok(config)
}

/// Returns a copy of a server's TLS settings that also offers HTTP/2, preferred over HTTP/1.
pub fn with_http2(config: &ServerConfig) -> ServerConfig {
    let mut own = config.clone();
    own.alpn_protocols.insert(0, b"h2".to_vec());
    own
}

/// Returns a copy of a server's TLS settings with these ALPN protocols instead of the current ones. With an empty list,
/// no protocol is negotiated by ALPN.
pub fn with_protocols(config: &ServerConfig, protocols: &[Vec<u8>]) -> ServerConfig {
    let mut own = config.clone();
    own.alpn_protocols = protocols.to_vec();
    own
}

/// Returns a copy of a client's TLS settings with these ALPN protocols instead of the current ones. With an empty list,
/// none is offered.
pub fn with_client_protocols(config: &ClientConfig, protocols: &[Vec<u8>]) -> ClientConfig {
    let mut own = config.clone();
    own.alpn_protocols = protocols.to_vec();
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestClient, TestSite};
    use rustls::{CipherSuite, ProtocolVersion};

    #[test]
    fn versions_are_those_of_the_configuration() {
        for (says, negotiated) in [
            ("", Some(ProtocolVersion::TLSv1_3)),
            ("ssl_protocols TLSv1.2;", Some(ProtocolVersion::TLSv1_2)),
            ("ssl_protocols TLSv1.3;", Some(ProtocolVersion::TLSv1_3)),
            ("ssl_protocols TLSv1.2 TLSv1.3;", Some(ProtocolVersion::TLSv1_3)),
        ] {
            let config = TestSite::server(says, &[]).config().unwrap();
            let (client, server) = TestClient::new().handshake(&config).unwrap();
            assert_eq!([client.protocol_version(), server.protocol_version()], [negotiated; 2], "{says}");
        }
        let new = TestSite::server("ssl_protocols TLSv1.3;", &[]).config().unwrap();
        assert!(TestClient::with_versions(&[&version::TLS12]).handshake(&new).is_err());
    }

    #[test]
    fn http1_is_spoken_and_http2_is_offered_first_where_it_may_be() {
        let http1 = TestSite::server("", &[]).config().unwrap();
        let http2 = Arc::new(with_http2(&http1));
        let mut client = TestClient::new();
        client.config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
        let negotiated = |config| client.handshake(config).unwrap().0.alpn_protocol().map(<[u8]>::to_vec);
        assert_eq!(negotiated(&http1).as_deref(), Some(&b"http/1.1"[..]));
        assert_eq!(negotiated(&http2).as_deref(), Some(&b"h2"[..]));
    }

    #[test]
    fn records_stay_within_the_bounds_of_rustls() {
        for (says, size) in [
            ("", None),
            ("ssl_buffer_size 4k;", Some(4096 + 5)),
            ("ssl_buffer_size 1;", Some(32)),
            ("ssl_buffer_size 1m;", Some(16_389)),
        ] {
            let config = TestSite::server(says, &[]).config().unwrap();
            assert_eq!(config.max_fragment_size, size, "{says}");
            assert!(TestClient::new().handshake(&config).is_ok());
        }
    }

    #[test]
    fn cheapest_suite_is_chosen_where_nothing_is_written_and_the_first_one_else() {
        let negotiated = |says: &str| {
            let config = TestSite::server(says, &[]).config().unwrap();
            let (client, _) = TestClient::new().handshake(&config).unwrap();
            client.negotiated_cipher_suite().map(|suite| suite.suite())
        };
        assert_eq!(negotiated(""), Some(CipherSuite::TLS13_AES_128_GCM_SHA256));
        assert_eq!(
            negotiated("ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256;"),
            Some(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256)
        );
        assert_eq!(
            negotiated("ssl_protocols TLSv1.2; ssl_ciphers ECDHE+AES256:ECDHE;"),
            Some(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384)
        );
    }

    #[test]
    fn certificates_are_compressed_where_that_is_asked_for_alone() {
        let compressors = |says: &str| TestSite::server(says, &[]).config().unwrap().cert_compressors.len();
        assert_eq!(compressors(""), 0);
        assert!(compressors("ssl_certificate_compression on;") > 0);
    }

    #[test]
    fn configuration_error_is_reported_with_its_position() {
        let site = TestSite::server("ssl_ciphers AES128-SHA;", &[]);
        let error = site.config().unwrap_err();
        assert_eq!(error.span, site.tls().ciphers.as_ref().unwrap().span);
        let error = TestSite::server("ssl_ecdh_curve sect571r1;", &[]).error();
        assert!(error.contains("no group of \"sect571r1\""), "{error}");
    }
}
