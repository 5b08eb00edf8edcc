//! What the server of a request thinks of its client's certificate.

use myriad_net::tls::{Judged, Judgement};
use myriad_x509::{Certificate, VerifyError};

use rustls::pki_types::CertificateDer;

use super::Request;

/// The certificate by the rules of the request's own server, none where none was shown. A connection remembers what was
/// thought of it last: requests of one connection mostly ask one server.
pub(crate) fn judge(request: &Request) -> Option<Judgement> {
    let facts = request.connection.tls()?;
    if facts.certificates.is_empty() {
        return None;
    }
    let now_s = (myriad_net::clock::now_ms() / 1000) as i64;
    let before = facts.judged.get();
    let Some(rules) = &request.server().clients else {
        return Some(elsewhere(before, now_s));
    };
    if let Some(known) = known(before, rules.id, now_s) {
        return Some(known);
    }
    let verdict = rules.judge(&facts.certificates, now_s);
    let until_s = match verdict {
        Ok(until_s) => until_s,
        // Strangers may be let pass (`optional_no_ca`), as long as they are not too old.
        Err(error) if error.is_unknown_authority() => end(facts.certificates.first()),
        // Who is refused is so until it connects anew.
        Err(_) => i64::MAX,
    };
    let judgement = verdict.map(drop).map_err(told);
    facts.judged.set(Some(Judged { rules: rules.id, until_s, judgement }));
    Some(judgement)
}

fn told(error: VerifyError) -> (u32, &'static str) {
    (error.code(), error.as_str())
}

/// The last second of a certificate's time.
fn end(certificate: Option<&CertificateDer<'_>>) -> i64 {
    let certificate = certificate.and_then(|der| Certificate::parse(der).ok());
    certificate.map_or(i64::MAX, |certificate| certificate.not_after)
}

/// What these rules have said, as long as it holds.
fn known(judged: Option<Judged>, rules: u64, now_s: i64) -> Option<Judgement> {
    judged.filter(|known| known.rules == rules && now_s <= known.until_s).map(|known| known.judgement)
}

/// At a server without rules: the certificate was shown to another, which it had to convince before.
fn elsewhere(judged: Option<Judged>, now_s: i64) -> Judgement {
    match judged {
        Some(known) if now_s <= known.until_s => known.judgement,
        Some(_) => Err(told(VerifyError::Expired)),
        None => Err(told(VerifyError::NoLocalIssuer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_that_runs_out_while_the_connection_lasts_is_judged_anew() {
        let judged = Some(Judged { rules: 3, until_s: 100, judgement: Ok(()) });
        assert_eq!(
            [known(judged, 3, 100), known(judged, 3, 101), known(judged, 4, 100)],
            [Some(Ok(())), None, None]
        );
        assert_eq!(elsewhere(judged, 100), Ok(()));
        assert_eq!(elsewhere(judged, 101), Err((10, "certificate has expired")));
        assert_eq!(elsewhere(None, 0), Err((20, "unable to get local issuer certificate")));
    }
}
