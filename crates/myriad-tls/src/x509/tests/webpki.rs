//! Comparison with rustls-webpki as a second implementation: both reach the same verdict about a server's chain, except
//! where webpki deviates from OpenSSL, and so from nginx (decision 102).

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::{NOW, der, judge_at, trusting};
use crate::x509::{CertificatePurpose, VerifyError};

/// Verifies a chain for a host name with webpki. `Err` contains the debug format of the error.
fn webpki(trusted: &[&str], chain: &[&str], host: &str) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for name in trusted {
        roots.add(CertificateDer::from(der(name))).unwrap();
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let chain: Vec<_> = chain.iter().map(|name| CertificateDer::from(der(name))).collect();
    let host = ServerName::try_from(host).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW.cast_unsigned()));
    let verdict = verifier.verify_server_cert(&chain[0], &chain[1..], &host, &[], now);
    verdict.map(drop).map_err(|error| format!("{error:?}"))
}

fn own(trusted: &[&str], chain: &[&str]) -> Result<(), VerifyError> {
    judge_at(&trusting(trusted, 9), chain, CertificatePurpose::Server, NOW)
}

#[test]
fn both_accept_and_reject_the_same_chains() {
    for (trusted, chain, host, is_accepted) in [
        ("root", &["server"][..], "server.test", true),
        ("root", &["inside", "narrow"], "a.in.test", true),
        ("root", &["inside", "lone", "root", "narrow"], "a.in.test", true),
        ("root", &["leaf", "middle"], "leaf.test", false),
        ("root", &["strange"], "strange", false),
        ("root", &["usurper", "leaf", "middle"], "usurper", false),
        ("root", &["underdeep", "deep", "shallow"], "underdeep", false),
        ("root", &["outside", "narrow"], "a.out.test", false),
        ("root", &["excluded", "narrow"], "not.in.test", false),
        ("root", &["inside"], "a.in.test", false),
        ("middle", &["server"], "server.test", false),
    ] {
        assert_eq!(own(&[trusted], chain).is_ok(), is_accepted, "{trusted} {chain:?}");
        assert_eq!(webpki(&[trusted], chain, host).is_ok(), is_accepted, "{trusted} {chain:?}");
    }
}

#[test]
fn webpki_rejects_chains_that_openssl_accepts() {
    for (trusted, chain, host, reason) in [
        // Version 1, as `openssl x509 -req` and `openssl ca` create without extensions.
        ("root", "old", "old", "UnsupportedCertVersion"),
        // A self-signed certificate of a server, as `openssl req -x509` creates.
        ("pinned", "pinned", "pinned.test", "CaUsedAsEndEntity"),
    ] {
        assert_eq!(own(&[trusted], &[chain]), Ok(()), "{chain}");
        let error = webpki(&[trusted], &[chain], host).unwrap_err();
        assert!(error.contains(reason), "{chain}: {error}");
    }
}

#[test]
fn webpki_accepts_an_intermediate_as_root_and_openssl_does_not() {
    assert_eq!(webpki(&["narrow"], &["inside"], "a.in.test"), Ok(()));
    assert_eq!(own(&["narrow"], &["inside"]), Err(VerifyError::NoIssuer));
    assert_eq!(own(&["narrow", "root"], &["inside"]), Ok(()));
}
