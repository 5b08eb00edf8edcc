//! `$ssl_*` that have to be made: what a hello offered, what a client's certificate says.

use std::fmt::Write as _;

use myriad_net::TlsFacts;
use myriad_net::tls::names;
use myriad_x509::{Certificate, show_time};

use crate::exchange::Request;
use crate::exchange::client_certificate;

/// A value, by the name of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TlsMade {
    /// `$ssl_ciphers`.
    Ciphers,
    /// `$ssl_curves`.
    Curves,
    /// `$ssl_sigalg`.
    Sigalg,
    /// `$ssl_sigalgs`.
    Sigalgs,
    /// `$ssl_client_sigalg`.
    ClientSigalg,
    /// `$ssl_session_id`.
    SessionId,
    /// `$ssl_early_data`.
    EarlyData,
    /// `$ssl_client_verify`.
    ClientVerify,
    /// `$ssl_client_cert`: PEM, its lines but the first after a tab.
    ClientCert,
    /// `$ssl_client_raw_cert`: PEM.
    ClientRawCert,
    /// `$ssl_client_escaped_cert`: PEM as a part of a query.
    ClientEscapedCert,
    /// `$ssl_client_s_dn`.
    ClientSubject,
    /// `$ssl_client_i_dn`.
    ClientIssuer,
    /// `$ssl_client_s_dn_legacy`.
    ClientSubjectLegacy,
    /// `$ssl_client_i_dn_legacy`.
    ClientIssuerLegacy,
    /// `$ssl_client_serial`.
    ClientSerial,
    /// `$ssl_client_fingerprint`.
    ClientFingerprint,
    /// `$ssl_client_v_start`.
    ClientStart,
    /// `$ssl_client_v_end`.
    ClientEnd,
    /// `$ssl_client_v_remain`: days.
    ClientRemain,
    /// `$ssl_ech_status`, `$ssl_ech_outer_server_name`: empty, as in nginx without a library for encrypted hellos.
    EncryptedHello,
}

impl TlsMade {
    /// Whether it is made of what the hello offered, which is kept only for this.
    pub(crate) fn reads_the_offer(self) -> bool {
        matches!(
            self,
            Self::Ciphers
                | Self::Curves
                | Self::Sigalg
                | Self::Sigalgs
                | Self::ClientSigalg
                | Self::SessionId
        )
    }
}

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Appends a value. Returns whether there is one.
pub(super) fn append(request: &Request, made: TlsMade, out: &mut Vec<u8>) -> bool {
    let Some(facts) = request.connection.tls() else { return false };
    let value = match made {
        TlsMade::EncryptedHello => None,
        TlsMade::EarlyData => request.connection.is_early().then(|| "1".to_owned()),
        TlsMade::ClientVerify => Some(match client_certificate::judge(request) {
            None => "NONE".to_owned(),
            Some(Ok(())) => "SUCCESS".to_owned(),
            Some(Err((_, why))) => format!("FAILED:{why}"),
        }),
        made if made.reads_the_offer() => of_offer(facts, made),
        made => facts.certificates.first().map(|der| {
            let read =
                || Certificate::parse(der).map_or_else(|_| String::new(), |one| of_certificate(&one, made));
            facts.readings.with(made as u8, read, |read| shown(read, made))
        }),
    };
    let Some(value) = value.filter(|value| !value.is_empty()) else { return false };
    out.extend_from_slice(value.as_bytes());
    true
}

fn of_offer(facts: &TlsFacts, made: TlsMade) -> Option<String> {
    let offer = facts.offer.as_ref()?;
    let list = |names: Vec<Box<str>>| names.join(":");
    Some(match made {
        TlsMade::Ciphers => list(offer.ciphers.iter().map(|suite| names::cipher(*suite)).collect()),
        TlsMade::Curves => list(offer.groups.iter().map(|group| names::group(*group)).collect()),
        TlsMade::Sigalgs => list(offer.schemes.iter().map(|scheme| names::scheme(*scheme)).collect()),
        // Who resumes a session has not signed anything.
        TlsMade::Sigalg if facts.resumed => String::new(),
        TlsMade::Sigalg => names::scheme(offer.signed?).into(),
        TlsMade::ClientSigalg => names::scheme(offer.client_signed?).into(),
        _ => {
            let mut number = String::with_capacity(offer.session.len() * 2);
            for byte in &offer.session {
                let _ = write!(number, "{byte:02x}");
            }
            number
        }
    })
}

/// A value that was read in the client's certificate: what it is by now.
fn shown(read: &str, made: TlsMade) -> String {
    match (made, read.parse::<i64>()) {
        (TlsMade::ClientRemain, Ok(not_after)) => {
            let now_s = (myriad_net::clock::now_ms() / 1000) as i64;
            ((not_after - now_s).max(0) / DAY_S).to_string()
        }
        _ => read.to_owned(),
    }
}

/// What stays the same of a certificate as long as its connection lasts.
fn of_certificate(certificate: &Certificate<'_>, made: TlsMade) -> String {
    match made {
        TlsMade::ClientCert => certificate.pem().trim_end().replace('\n', "\n\t"),
        TlsMade::ClientRawCert => certificate.pem(),
        TlsMade::ClientEscapedCert => escaped(&certificate.pem()),
        TlsMade::ClientSubject => certificate.subject.rfc2253(),
        TlsMade::ClientIssuer => certificate.issuer.rfc2253(),
        TlsMade::ClientSubjectLegacy => certificate.subject.legacy(),
        TlsMade::ClientIssuerLegacy => certificate.issuer.legacy(),
        TlsMade::ClientSerial => certificate.shown_serial(),
        TlsMade::ClientFingerprint => certificate.fingerprint(),
        TlsMade::ClientStart => show_time(certificate.not_before),
        TlsMade::ClientEnd => show_time(certificate.not_after),
        TlsMade::ClientRemain => certificate.not_after.to_string(),
        _ => String::new(),
    }
}

/// Percent-encoded but for what RFC 3986 section 2.3 leaves alone.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_escaped_as_a_part_of_a_query() {
        assert_eq!(escaped("-----A b+/=\n~"), "-----A%20b%2B%2F%3D%0A~");
    }
}
