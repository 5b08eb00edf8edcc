use myriad_net::{TlsFacts, TlsOffer};
use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, NamedGroup, SignatureScheme};

use crate::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

#[test]
fn a_handshake_shows_what_it_came_to() {
    let facts =
        || TlsFacts { alpn: (*b"h2").into(), server_name: Some("b.example".into()), ..TlsFacts::typical() };
    let mut exchange = VariableCase { tls: Some(facts()), ..VariableCase::default() }.begin();
    assert_variables(
        &mut exchange,
        &[
            ("ssl_protocol", "TLSv1.3"),
            ("ssl_cipher", "TLS_AES_256_GCM_SHA384"),
            ("ssl_curve", "X25519"),
            ("ssl_session_reused", "."),
            ("ssl_server_name", "b.example"),
            ("ssl_alpn_protocol", "h2"),
            ("ssl_client_verify", "NONE"),
        ],
    );
    assert_unset(
        &mut exchange,
        &["ssl_early_data", "ssl_ech_status", "ssl_ech_outer_server_name", "ssl_client_cert"],
    );
    let mut exchange =
        VariableCase { tls: Some(TlsFacts { resumed: true, ..facts() }), ..VariableCase::default() }.begin();
    assert_variables(&mut exchange, &[("ssl_session_reused", "r")]);
    let names = ["ssl_protocol", "ssl_session_reused", "ssl_client_verify", "ssl_ciphers"];
    assert_unset(&mut VariableCase::default().begin(), &names);
}

#[test]
fn a_hello_shows_what_it_offered() {
    let offer = || TlsOffer {
        ciphers: vec![CipherSuite::TLS13_AES_128_GCM_SHA256, CipherSuite::TLS13_AES_256_GCM_SHA384],
        groups: vec![NamedGroup::X25519, NamedGroup::secp256r1],
        schemes: vec![SignatureScheme::ECDSA_NISTP256_SHA256],
        signed: Some(SignatureScheme::ED25519),
        client_signed: Some(SignatureScheme::ED25519),
        session: vec![0x0a, 0xff],
    };
    let facts = |resumed| TlsFacts { resumed, offer: Some(Box::new(offer())), ..TlsFacts::typical() };
    let mut exchange = VariableCase { tls: Some(facts(false)), ..VariableCase::default() }.begin();
    assert_variables(
        &mut exchange,
        &[
            ("ssl_ciphers", "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"),
            ("ssl_curves", "X25519:prime256v1"),
            ("ssl_sigalgs", "ecdsa_secp256r1_sha256"),
            ("ssl_sigalg", "ed25519"),
            ("ssl_client_sigalg", "ed25519"),
            ("ssl_session_id", "0aff"),
        ],
    );
    let mut exchange = VariableCase { tls: Some(facts(true)), ..VariableCase::default() }.begin();
    assert_unset(&mut exchange, &["ssl_sigalg"]);
}

#[test]
fn a_client_s_certificate_is_shown() {
    let pem = include_str!("../../../../myriad-tls/src/x509/tests/leaf.pem");
    let der = myriad_tls::x509::pem::certificates(pem.as_bytes()).next().unwrap().unwrap();
    let facts = TlsFacts { certificates: vec![CertificateDer::from(der)], ..TlsFacts::typical() };
    let mut exchange = VariableCase { tls: Some(facts), ..VariableCase::default() }.begin();
    assert_variables(
        &mut exchange,
        &[
            ("ssl_client_s_dn", "CN=leaf,O=Example\\, Inc.,C=DE"),
            ("ssl_client_i_dn", "CN=middle"),
            ("ssl_client_s_dn_legacy", "/C=DE/O=Example, Inc./CN=leaf"),
            ("ssl_client_i_dn_legacy", "/CN=middle"),
            ("ssl_client_serial", "6C656166"),
            ("ssl_client_fingerprint", "be36c3e57d479d93e02fcbb0fceace2c363ba078"),
            ("ssl_client_v_start", "Nov 21 07:59:17 2026 GMT"),
            ("ssl_client_v_end", "Nov 20 07:59:17 2096 GMT"),
            ("ssl_client_raw_cert", pem),
            ("ssl_client_cert", &pem.trim_end().replace('\n', "\n\t")),
        ],
    );
    let escaped = variable_value(&mut exchange, "ssl_client_escaped_cert").unwrap();
    assert!(escaped.starts_with("-----BEGIN%20CERTIFICATE-----%0A"), "{escaped}");
    let remain: u32 = variable_value(&mut exchange, "ssl_client_v_remain").unwrap().parse().unwrap();
    assert!(remain > 0);
    assert!(variable_value(&mut exchange, "ssl_client_verify").unwrap().starts_with("FAILED:"));
}
