//! Handshakes: certificate selection, versions, groups, compressed certificates.

use std::sync::atomic::{AtomicUsize, Ordering};

use myriad_tests::{Server, tls_handshake};
use rustls::compress::{BROTLI_DECOMPRESSOR, CertDecompressor, DecompressionFailed, ZLIB_DECOMPRESSOR};
use rustls::crypto::SupportedKxGroup;
use rustls::{CertificateCompressionAlgorithm, NamedGroup, ProtocolVersion};

use super::{CERTIFICATES, curl, handshake, place, start, text};

#[test]
fn client_gets_the_certificate_of_the_server_it_names_and_one_it_understands() {
    let server = start("");
    assert!(handshake(&server, &["-servername", "two.test"]).contains("CN = two.test"));
    assert!(handshake(&server, &["-servername", "unknown.test"]).contains("CN = one.test"));
    assert!(handshake(&server, &["-noservername"]).contains("CN = one.test"));
    assert_eq!(text(&curl(&server, "two.test", "/", &[])), "two over two.test");
    let kind = |scheme: &str| handshake(&server, &["-servername", "one.test", "-sigalgs", scheme]);
    assert!(kind("ecdsa_secp256r1_sha256").contains("ECDSA"));
    assert!(kind("rsa_pss_rsae_sha256").contains("RSA-PSS"));
}

#[test]
fn client_preference_selects_certificate_unless_server_ciphers_are_preferred() {
    let named = "ssl_certificate $ssl_server_name-rsa.crt; ssl_certificate_key $ssl_server_name-rsa.key; \
                 ssl_certificate $ssl_server_name.crt; ssl_certificate_key $ssl_server_name.key;";
    let rsa_first: [&[&str]; 2] = [
        &["-tls1_3", "-sigalgs", "RSA+SHA256:PSS+SHA256:ECDSA+SHA256"],
        &["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"],
    ];
    let ecdsa_first: [&[&str]; 2] = [
        &["-tls1_3", "-sigalgs", "ECDSA+SHA256:PSS+SHA256"],
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"],
    ];
    for (extra, follows) in
        [("", true), ("ssl_prefer_server_ciphers off;", true), ("ssl_prefer_server_ciphers on;", false)]
    {
        let place = place();
        for kind in ["crt", "key"] {
            place.write(&format!("one.test.{kind}"), place.read(&format!("one.{kind}")));
            place.write(&format!("one.test-rsa.{kind}"), place.read(&format!("one-rsa.{kind}")));
        }
        let server = Server::start(
            place,
            &format!(
                "server {{ listen 127.0.0.1:@PORT@ ssl; server_name fixed.test; {CERTIFICATES} {extra} return 200; }} \
                 server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; {named} {extra} return 200; }}"
            ),
        );
        for name in ["fixed.test", "one.test"] {
            let is_rsa = |options: &[&str]| {
                let said = handshake(&server, &[&["-servername", name], options].concat());
                assert!(said.contains("Peer signature type"), "{said}");
                !said.contains("Peer signature type: ECDSA")
            };
            for (rsa, ecdsa) in rsa_first.iter().zip(&ecdsa_first) {
                assert_eq!(is_rsa(rsa), follows, "{name} {extra} {rsa:?}");
                assert!(!is_rsa(ecdsa), "{name} {extra} {ecdsa:?}");
            }
        }
    }
}

#[test]
fn a_server_that_rejects_handshakes_shows_no_certificate() {
    let http = format!(
        "server {{ listen 127.0.0.1:@PORT@ ssl default_server; ssl_reject_handshake on; }} \
         server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; {CERTIFICATES} return 200 one; }}"
    );
    let server = Server::start(place(), &http);
    let refused = handshake(&server, &["-servername", "two.test"]);
    assert!(refused.contains("unrecognized name") && !refused.contains("CN ="), "{refused}");
    assert_eq!(text(&curl(&server, "one.test", "/", &[])), "one");
}

#[test]
fn versions_ciphers_and_groups_are_those_of_the_configuration() {
    let server =
        start("ssl_protocols TLSv1.2; ssl_ciphers ECDHE-RSA-CHACHA20-POLY1305; ssl_ecdh_curve secp384r1;");
    let spoken = handshake(&server, &["-servername", "one.test"]);
    assert!(spoken.contains("New, TLSv1.2, Cipher is ECDHE-RSA-CHACHA20-POLY1305"), "{spoken}");
    assert!(spoken.contains("384"), "{spoken}");
    assert!(!handshake(&server, &["-servername", "one.test", "-tls1_3"]).contains("New, TLSv1.3"));
}

/// Returns the key exchange group with a client that supports all groups and TLS 1.3.
fn group(server: &Server) -> Option<NamedGroup> {
    let session = tls_handshake(server.port, "one.test", |_| {});
    assert_eq!(session.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    session.negotiated_key_exchange_group().map(SupportedKxGroup::name)
}

#[test]
fn key_exchange_is_post_quantum_by_default() {
    assert_eq!(group(&start("")), Some(NamedGroup::X25519MLKEM768));
    assert_eq!(group(&start("ssl_ecdh_curve X25519:prime256v1;")), Some(NamedGroup::X25519));
}

/// Decompressor of brotli or zlib that counts its calls.
#[derive(Debug)]
struct Counting {
    inner: &'static dyn CertDecompressor,
    opened: AtomicUsize,
}

impl CertDecompressor for Counting {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        assert!(input.len() < output.len(), "{} of {}", input.len(), output.len());
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.inner.decompress(input, output)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.inner.algorithm()
    }
}

#[test]
fn certificates_are_compressed_where_that_is_asked_for() {
    static BROTLI: Counting = Counting { inner: BROTLI_DECOMPRESSOR, opened: AtomicUsize::new(0) };
    static ZLIB: Counting = Counting { inner: ZLIB_DECOMPRESSOR, opened: AtomicUsize::new(0) };
    let connect = |server: &Server, with: &'static Counting| {
        let session = tls_handshake(server.port, "one.test", |config| config.cert_decompressors = vec![with]);
        let shown = session.peer_certificates().expect("certificates")[0].len();
        assert!(shown > 200, "{shown}");
        with.opened.load(Ordering::Relaxed)
    };
    let plain = start("");
    assert_eq!((connect(&plain, &BROTLI), connect(&plain, &ZLIB)), (0, 0));
    let compressed = start("ssl_certificate_compression on;");
    assert_eq!((connect(&compressed, &BROTLI), connect(&compressed, &ZLIB)), (1, 1));
    // The second certificate is served from the cache of compressed certificates.
    assert_eq!(connect(&compressed, &BROTLI), 2);
}
