//! Verification of the certificates that a client has sent.

use std::sync::Arc;

use crate::x509::{Certificate, VerifyError};
use myriad_net::TlsFacts;
use myriad_net::tls::{CachedVerifyResult, VerifyResult};
use rustls::pki_types::CertificateDer;

use super::client_rules::ClientRules;
use super::ocsp::{FAILED, StatusCheck};

/// Returns the verification result of the client's certificate under the rules of the requested server, at `now_s`
/// (seconds since the Unix epoch); `None` if the client has sent no certificate. `rules` is `None` if that server
/// requests no certificates. The connection caches the last result. If OCSP is required and was not queried yet, the
/// result is a failure.
pub fn verify_client(facts: &TlsFacts, rules: Option<&ClientRules>, now_s: i64) -> Option<VerifyResult> {
    if facts.certificates.is_empty() {
        return None;
    }
    let before = facts.judged.get();
    let Some(rules) = rules else { return Some(result_without_rules(before, now_s)) };
    if let Some(known) = stored_result(before, rules.id, now_s) {
        return Some(known);
    }
    let verdict = rules.judge(&facts.certificates, now_s);
    if verdict.is_ok() && rules.uses_ocsp() {
        // OCSP must be queried first ([`required_status_check`]); the certificate is rejected until then.
        return Some(FAILED);
    }
    let until_s = match verdict {
        Ok(until_s) => until_s,
        // `optional_no_ca` accepts unknown CAs; the result is valid until the certificate expires.
        Err(error) if error.is_unknown_authority() => valid_until_s(facts.certificates.first()),
        // The failure is cached, so the client stays rejected until it reconnects.
        Err(_) => i64::MAX,
    };
    let judgement = verdict.map(drop).map_err(error_parts);
    facts.judged.set(Some(CachedVerifyResult { rules: rules.id, until_s, judgement }));
    Some(judgement)
}

/// Returns the OCSP check that is required before [`verify_client`] at `now_s` (seconds since the Unix epoch); `None`
/// if OCSP is off, the client has sent no certificate, the result is cached, or the chain is not trusted.
pub fn required_status_check(facts: &TlsFacts, rules: &ClientRules, now_s: i64) -> Option<StatusCheck> {
    let ocsp = rules.ocsp.as_ref()?;
    if facts.certificates.is_empty() || stored_result(facts.judged.get(), rules.id, now_s).is_some() {
        return None;
    }
    let (until_s, path) = rules.trusted_path(&facts.certificates, now_s)?;
    Some(StatusCheck { rules: Arc::clone(ocsp), id: rules.id, until_s, path })
}

fn error_parts(error: VerifyError) -> (u32, &'static str) {
    (error.code(), error.as_str())
}

/// Returns the last second of a certificate's validity, since the Unix epoch; `i64::MAX` if there is no certificate or
/// it cannot be parsed.
fn valid_until_s(certificate: Option<&CertificateDer<'_>>) -> i64 {
    let certificate = certificate.and_then(|der| Certificate::parse(der).ok());
    certificate.map_or(i64::MAX, |certificate| certificate.not_after)
}

/// Returns the cached verification result if it was made under the rules with this identifier and is still valid;
/// otherwise `None`.
fn stored_result(judged: Option<CachedVerifyResult>, rules: u64, now_s: i64) -> Option<VerifyResult> {
    judged.filter(|known| known.rules == rules && now_s <= known.until_s).map(|known| known.judgement)
}

/// Returns the result for a server that requests no certificate: the cached result of another server, "certificate has
/// expired" if that is no longer valid, or "unable to get local issuer certificate" if there is none.
fn result_without_rules(judged: Option<CachedVerifyResult>, now_s: i64) -> VerifyResult {
    match judged {
        Some(known) if now_s <= known.until_s => known.judgement,
        Some(_) => Err(error_parts(VerifyError::Expired)),
        None => Err(error_parts(VerifyError::NoLocalIssuer)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use myriad_net::tls::CertificateValues;

    use super::*;
    use crate::testing::{TestCertificate, TestSite, der, now_s};

    #[test]
    fn certificate_that_expires_during_connection_is_verified_again() {
        let judged = Some(CachedVerifyResult { rules: 3, until_s: 100, judgement: Ok(()) });
        assert_eq!(
            [stored_result(judged, 3, 100), stored_result(judged, 3, 101), stored_result(judged, 4, 100)],
            [Some(Ok(())), None, None]
        );
        assert_eq!(result_without_rules(judged, 100), Ok(()));
        assert_eq!(result_without_rules(judged, 101), Err((10, "certificate has expired")));
        assert_eq!(result_without_rules(None, 0), Err((20, "unable to get local issuer certificate")));
    }

    fn facts(certificates: &[&TestCertificate]) -> TlsFacts {
        TlsFacts {
            server_name: None,
            protocol: "TLSv1.3",
            cipher: "".into(),
            curve: "".into(),
            alpn: Box::default(),
            resumed: false,
            certificates: certificates.iter().map(|made| der(&made.certificate).into()).collect(),
            judged: Cell::new(None),
            readings: CertificateValues::default(),
            offer: None,
        }
    }

    fn rules(says: &str, made: &TestCertificate) -> ClientRules {
        let site =
            TestSite::server(&format!("ssl_client_certificate ca; {says}"), &[("ca", &made.certificate)]);
        ClientRules::of(site.tls(), site.files()).unwrap().unwrap()
    }

    #[test]
    fn verdict_is_cached_per_connection_until_other_rules_apply() {
        let (made, now_s) = (TestCertificate::usual(), now_s().cast_signed());
        let [trusting, strict] = [(), ()].map(|()| rules("ssl_verify_client on;", &made));
        let facts = facts(&[&made]);
        assert_eq!(verify_client(&facts, Some(&trusting), now_s), Some(Ok(())));
        let stored = facts.judged.get().unwrap();
        assert_eq!(stored.rules, trusting.id);
        assert!((now_s..=now_s + 86_400).contains(&stored.until_s), "a certificate of one day");
        assert_eq!(verify_client(&facts, None, now_s), Some(Ok(())), "convinced elsewhere");
        assert_eq!(
            verify_client(&facts, None, stored.until_s + 1),
            Some(Err((10, "certificate has expired")))
        );
        verify_client(&facts, Some(&strict), now_s);
        assert_eq!(facts.judged.get().unwrap().rules, strict.id);
        let expired = verify_client(&facts, Some(&strict), stored.until_s + 1);
        assert_eq!(expired, Some(Err((10, "certificate has expired"))));
    }

    #[test]
    fn untrusted_certificate_verdict_is_cached_until_expiry_and_none_gives_no_verdict() {
        let now_s = now_s().cast_signed();
        let rules = rules("ssl_verify_client optional_no_ca;", &TestCertificate::usual());
        assert_eq!(verify_client(&facts(&[]), Some(&rules), now_s), None);
        let lone = include_bytes!("../x509/tests/lone.pem");
        let mut facts = facts(&[]);
        facts.certificates = vec![der(lone).into()];
        assert_eq!(verify_client(&facts, Some(&rules), now_s), Some(Err((18, "self-signed certificate"))));
        let stored = facts.judged.get().unwrap();
        assert_eq!(stored.until_s, Certificate::parse(&der(lone)).unwrap().not_after);
    }
}
