//! Creation of signed X.509 data: certificate signing requests (RFC 2986), challenge certificates for `tls-alpn-01`,
//! and self-signed certificates.

use std::net::IpAddr;

use crate::x509::der::tag;
use crate::x509::write as der;
use aws_lc_rs::digest;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use myriad_base::calendar::format_generalized_time;

use crate::acme_client::error::AcmeError;
use crate::acme_client::key::SigningKey;
use crate::acme_client::oid;
use myriad_conf::model::AcmeIdentifier;

/// Validity in days, from its creation on, of the self-signed certificate for the challenge `tls-alpn-01`.
const CHALLENGE_DAYS: u64 = 7;

/// Creates a certificate signing request for `identifiers` in DER. The subject is `common_name`; it is empty for
/// `None`, which most authorities accept.
pub fn request(
    key: &SigningKey,
    identifiers: &[AcmeIdentifier],
    common_name: Option<&str>,
) -> Result<Vec<u8>, AcmeError> {
    let extensions = der::sequence(&[&alternative_names(identifiers)]);
    let attribute = der::sequence(&[
        &der::value(tag::OID, oid::EXTENSION_REQUEST),
        &der::constructed(tag::SET, &[&extensions]),
    ]);
    let information = der::sequence(&[
        &der::integer(&[0]),
        &name(common_name),
        &key.public_key_info()?,
        &der::constructed(tag::context(0), &[&attribute]),
    ]);
    sign_content(key, &information)
}

/// Creates the self-signed certificate in DER for the challenge `tls-alpn-01` (RFC 8737 section 3). It contains the
/// digest of `key_authorization` and is valid from one day before `now_s` (seconds since the Unix epoch) until
/// `CHALLENGE_DAYS` days after it.
pub fn challenge_certificate(
    key: &SigningKey,
    identifier: &AcmeIdentifier,
    key_authorization: &str,
    now_s: u64,
) -> Result<Vec<u8>, AcmeError> {
    let digest = digest::digest(&digest::SHA256, key_authorization.as_bytes());
    let acme_identifier = der::sequence(&[
        &der::value(tag::OID, oid::ACME_IDENTIFIER),
        &der::value(tag::BOOLEAN, &[0xff]),
        &der::value(tag::OCTET_STRING, &der::value(tag::OCTET_STRING, digest.as_ref())),
    ]);
    let names = alternative_names(std::slice::from_ref(identifier));
    certificate(key, "ACME challenge", &[&names, &acme_identifier], now_s, CHALLENGE_DAYS)
}

/// Creates a self-signed certificate for `identifiers` in DER, valid from one day before `now_s` (seconds since the
/// Unix epoch) until `days` days after it.
pub fn self_signed(
    key: &SigningKey,
    identifiers: &[AcmeIdentifier],
    now_s: u64,
    days: u64,
) -> Result<Vec<u8>, AcmeError> {
    certificate(key, "Myriad (self-signed)", &[&alternative_names(identifiers)], now_s, days)
}

/// Creates a self-signed certificate with these extensions in DER, valid from one day before `now_s` until `days` days
/// after it.
fn certificate(
    key: &SigningKey,
    common_name: &str,
    extensions: &[&[u8]],
    now_s: u64,
    days: u64,
) -> Result<Vec<u8>, AcmeError> {
    let extensions = der::sequence(extensions);
    let mut serial = [0; 16];
    SystemRandom::new()
        .fill(&mut serial)
        .map_err(|_| AcmeError::Cryptography("generating a serial number"))?;
    // The serial number must be positive (RFC 5280 section 4.1.2.2).
    serial[0] = serial[0] & 0x7f | 0x40;
    let moment = |seconds| der::value(tag::GENERALIZED_TIME, &format_generalized_time(seconds));
    let version = der::constructed(tag::context(0), &[&der::integer(&[2])]);
    let issuer = name(Some(common_name));
    let certificate = der::sequence(&[
        &version,
        &der::integer(&serial),
        &key.signature_algorithm(),
        &issuer,
        &der::sequence(&[&moment(now_s.saturating_sub(86_400)), &moment(now_s + days * 86_400)]),
        &issuer,
        &key.public_key_info()?,
        &der::constructed(tag::context(3), &[&extensions]),
    ]);
    sign_content(key, &certificate)
}

fn sign_content(key: &SigningKey, content: &[u8]) -> Result<Vec<u8>, AcmeError> {
    let signature = key.sign_x509(content)?;
    Ok(der::sequence(&[content, &key.signature_algorithm(), &der::bit_string(&signature)]))
}

/// Encodes an X.509 `Name` that contains one common name or nothing.
fn name(common_name: Option<&str>) -> Vec<u8> {
    let Some(common_name) = common_name else { return der::sequence(&[]) };
    let attribute = der::sequence(&[
        &der::value(tag::OID, oid::COMMON_NAME),
        &der::value(tag::UTF8_STRING, common_name.as_bytes()),
    ]);
    der::sequence(&[&der::constructed(tag::SET, &[&attribute])])
}

fn alternative_names(identifiers: &[AcmeIdentifier]) -> Vec<u8> {
    let names: Vec<Vec<u8>> = identifiers
        .iter()
        .map(|identifier| match identifier {
            AcmeIdentifier::Dns(name) => der::value(tag::implicit(2), name.as_bytes()),
            AcmeIdentifier::Ip(IpAddr::V4(address)) => der::value(tag::implicit(7), &address.octets()),
            AcmeIdentifier::Ip(IpAddr::V6(address)) => der::value(tag::implicit(7), &address.octets()),
        })
        .collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    der::sequence(&[
        &der::value(tag::OID, oid::SUBJECT_ALT_NAME),
        &der::value(tag::OCTET_STRING, &der::sequence(&names)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acme_client::certificate_info::CertificateInfo;
    use myriad_conf::model::AcmeKeyKind;

    #[test]
    fn answer_to_a_challenge_is_a_certificate_for_the_name_alone() {
        let key = SigningKey::generate(AcmeKeyKind::P256).expect("key");
        let name = AcmeIdentifier::Dns("one.test".into());
        let certificate = challenge_certificate(&key, &name, "token.thumb", 1_795_246_560).expect("made");
        let read = CertificateInfo::from_der(&certificate).expect("read");
        assert_eq!(read.names, ["one.test"]);
        assert!(read.not_before_s < 1_795_246_560 && read.not_after_s > 1_795_246_560);
        let digest = digest::digest(&digest::SHA256, b"token.thumb");
        let at =
            certificate.windows(oid::ACME_IDENTIFIER.len()).position(|part| part == oid::ACME_IDENTIFIER);
        let extension = &certificate[at.expect("extension") + oid::ACME_IDENTIFIER.len()..];
        // Marked as critical; the value is an octet string within an octet string.
        assert_eq!(extension[..7], [1, 1, 0xff, 4, 34, 4, 32]);
        assert_eq!(&extension[7..39], digest.as_ref());
    }
}
