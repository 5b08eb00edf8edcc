//! Responses of ACME servers: certificates, renewal windows, error documents. No input makes the client panic, and
//! their description fits on one log line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_tls::acme_client::protocol::read_problem;
use myriad_tls::acme_client::{CertificateInfo, SigningKey, schedule};
use myriad_tls::x509::pem;

fuzz_target!(|input: (u16, &[u8])| {
    let (status, bytes) = input;
    for facts in [CertificateInfo::from_der(bytes), CertificateInfo::from_pem(bytes)].into_iter().flatten() {
        let window = schedule::renewal_window(facts.not_before_s, facts.not_after_s);
        assert!(window.start_s <= window.end_s);
        assert!(facts.names.iter().chain([&facts.issuer]).all(|text| !text.contains(char::is_control)));
        facts.is_valid_for("www.example.com");
    }
    let _ = SigningKey::from_pem(bytes);
    for der in pem::certificates(bytes).flatten() {
        let again = pem::block("CERTIFICATE", &der);
        assert!(pem::certificates(again.as_bytes()).eq([Ok(der)]));
    }
    for block in pem::blocks(bytes).flatten() {
        let _ = (block.bytes(), block.header("DEK-Info"));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = myriad_base::calendar::parse_rfc3339(text);
    }
    let told = read_problem(bytes, status).to_string();
    assert!(!told.contains(char::is_control) && told.chars().count() < 1500);
});
