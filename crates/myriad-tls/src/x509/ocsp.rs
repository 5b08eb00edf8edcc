//! OCSP responses: signed statements about the revocation of a certificate (RFC 6960).

use std::fmt;

use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::x509::certificate::Certificate;
use crate::x509::der::{DerReader, DerValue, MalformedDer, tag};
use crate::x509::signature::{Algorithms, SignedMessage, is_signed_by};
use crate::x509::time;
use crate::x509::write::constructed;

/// `AlgorithmIdentifier` of SHA-1, by which requests identify the certificate; security does not depend on it.
const SHA1: [u8; 11] = [0x30, 9, 6, 5, 0x2b, 0x0e, 3, 2, 0x1a, 5, 0];
/// OID of SHA-256 (2.16.840.1.101.3.4.2.1), by which responses may identify the certificate instead of SHA-1.
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
/// OID of `id-pkix-ocsp-basic`: 1.3.6.1.5.5.7.48.1.1.
const BASIC: [u8; 9] = [0x2b, 6, 1, 5, 5, 7, 48, 1, 1];
/// Maximum number of certificates in an OCSP response; a response with more is rejected. They are not covered by the
/// signature, so anyone could add some.
const MOST_SIGNERS: usize = 4;
/// Maximum number of single responses (one per certificate) in an OCSP response that are examined.
const MOST_ANSWERS: usize = 32;
/// Maximum time in seconds by which an OCSP responder's clock may be ahead, as in nginx.
const SKEW_S: i64 = 300;

/// Identifier of a certificate in OCSP requests and responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspId {
    sha1: IssuerHashes<20>,
    sha256: IssuerHashes<32>,
    serial: Box<[u8]>,
}

/// Hashes of the issuer's name and public key, by one hash algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IssuerHashes<const LENGTH: usize> {
    name: [u8; LENGTH],
    key: [u8; LENGTH],
}

/// Validity period of an OCSP response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OcspValidity {
    /// Time at which the status was correct, in seconds since the Unix epoch.
    pub this_update: i64,
    /// Time at which the response expires, in seconds since the Unix epoch; `None` if it does not.
    pub next_update: Option<i64>,
}

/// Revocation status of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspStatus {
    /// The certificate is not revoked.
    Good,
    /// The certificate was revoked by the authority.
    Revoked,
    /// The responder does not know the certificate.
    Unknown,
}

/// Reason why an OCSP response is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspError {
    /// The response is malformed.
    Malformed,
    /// The response is larger than [`OcspId::LARGEST`].
    TooLarge,
    /// The responder reports an error; the number is that of RFC 6960 section 4.2.1.
    Unsuccessful(u8),
    /// The response does not contain a status of the certificate.
    OtherCertificate,
    /// The signature is invalid, or the signer is not the responder that the response names.
    Signature,
    /// The signer is neither the issuer nor a responder that the issuer has authorized.
    Unauthorized,
    /// The certificate is revoked.
    Revoked,
    /// The certificate is unknown to the responder.
    Unknown,
    /// The response is not valid yet.
    NotYetValid,
    /// The response has expired.
    Expired,
}

impl fmt::Display for OcspError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Malformed => "the OCSP response cannot be parsed",
            Self::TooLarge => "the OCSP response is larger than clients accept",
            Self::Unsuccessful(status) => {
                let name = match status {
                    1 => "malformed request",
                    2 => "internal error",
                    3 => "try later",
                    5 => "signature required",
                    6 => "unauthorized",
                    _ => "unknown status",
                };
                return write!(f, "OCSP response not successful ({status}: {name})");
            }
            Self::OtherCertificate => "certificate status not found in the OCSP response",
            Self::Signature => "the signature of the OCSP response is invalid",
            Self::Unauthorized => "the signer of the OCSP response is not authorized by the issuer",
            Self::Revoked => "certificate status \"revoked\" in the OCSP response",
            Self::Unknown => "certificate status \"unknown\" in the OCSP response",
            Self::NotYetValid => "the OCSP response is not yet valid",
            Self::Expired => "the OCSP response has expired",
        };
        f.write_str(text)
    }
}

impl std::error::Error for OcspError {}

impl From<MalformedDer> for OcspError {
    fn from(_: MalformedDer) -> Self {
        Self::Malformed
    }
}

impl OcspId {
    /// Maximum size of an OCSP response in bytes. OpenSSL clients accept a `CertificateStatus` message (RFC 6066
    /// section 8) of up to 16 KB in TLS 1.2.
    pub const LARGEST: usize = 16_000;

    /// Creates the identifier of a certificate with its issuer.
    pub fn of(certificate: &Certificate<'_>, issuer: &Certificate<'_>) -> Self {
        let (name, key) = (certificate.issuer.der(), issuer.public_key.bytes);
        Self {
            sha1: IssuerHashes { name: Sha1::digest(name).into(), key: Sha1::digest(key).into() },
            sha256: IssuerHashes { name: Sha256::digest(name).into(), key: Sha256::digest(key).into() },
            serial: certificate.serial.into(),
        }
    }

    /// Returns an OCSP request for the certificate in DER (RFC 6960 section 4.1.1), without a nonce, because many
    /// responders sign in advance.
    pub fn request(&self) -> Vec<u8> {
        let serial = constructed(tag::INTEGER, &[&self.serial]);
        let octets = |hash: &[u8]| constructed(tag::OCTET_STRING, &[hash]);
        let (name, key) = (octets(&self.sha1.name), octets(&self.sha1.key));
        let id = constructed(tag::SEQUENCE, &[&SHA1, &name, &key, &serial]);
        // OCSPRequest, TBSRequest, the list of requests, Request.
        (0..4).fold(id, |inner, _| constructed(tag::SEQUENCE, &[&inner]))
    }

    fn is_meant(&self, mut id: DerReader<'_>) -> Result<bool, MalformedDer> {
        let algorithm = id.inside(tag::SEQUENCE)?.expect(tag::OID)?;
        let name = id.expect(tag::OCTET_STRING)?.content;
        let key = id.expect(tag::OCTET_STRING)?.content;
        let serial = id.expect(tag::INTEGER)?.content;
        id.end()?;
        let is_issuer = match algorithm.content {
            oid if *oid == SHA1[4..9] => *name == self.sha1.name && *key == self.sha1.key,
            SHA256 => *name == self.sha256.name && *key == self.sha256.key,
            _ => false,
        };
        Ok(is_issuer && *serial == *self.serial)
    }

    /// Verifies that a response in DER states that the certificate is good at `now_s` (seconds since the Unix epoch).
    /// If `authorized` is true, the signer must be the issuer or a responder that it has authorized (RFC 6960 section
    /// 4.2.2.2); otherwise any certificate in the response may have signed, as in nginx without `ssl_stapling_verify`.
    pub fn check(
        &self,
        der: &[u8],
        issuer: &Certificate<'_>,
        authorized: bool,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<OcspValidity, OcspError> {
        self.find_status(der, issuer, authorized, now_s, algorithms)?.result()
    }

    /// Returns the status of the certificate in a response in DER. The signer must be the issuer or a responder that it
    /// has authorized. Fails if the response is not valid at `now_s` (seconds since the Unix epoch), whatever the
    /// status.
    pub fn status(
        &self,
        der: &[u8],
        issuer: &Certificate<'_>,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<(OcspStatus, OcspValidity), OcspError> {
        let single = self.find_status(der, issuer, true, now_s, algorithms)?;
        single.time?;
        let status = match single.status {
            Ok(()) => OcspStatus::Good,
            Err(OcspError::Revoked) => OcspStatus::Revoked,
            Err(_) => OcspStatus::Unknown,
        };
        Ok((status, single.validity))
    }

    /// Returns a key for caches, equal for the same certificate: hashes of the issuer's name and key, and the serial
    /// number.
    pub fn key(&self) -> Box<[u8]> {
        [&self.sha256.name[..], &self.sha256.key, &self.serial].concat().into()
    }

    fn find_status(
        &self,
        der: &[u8],
        issuer: &Certificate<'_>,
        authorized: bool,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<SingleResponse, OcspError> {
        let (signed, signers) = parse_signed(der)?;
        let mut fields = DerReader::new(signed.message).inside(tag::SEQUENCE)?;
        fields.optional(tag::context(0))?;
        let responder = fields.value()?;
        // The time of creation is not used.
        time::read(&mut fields)?;
        let mut answers = fields.inside(tag::SEQUENCE)?;
        let by = ResponseSignature { signed, signers, responder, issuer, now_s, algorithms };
        let mut best: Option<SingleResponse> = None;
        for _ in 0..MOST_ANSWERS {
            if answers.is_empty() {
                break;
            }
            let mut answer = answers.inside(tag::SEQUENCE)?;
            if self.is_meant(answer.inside(tag::SEQUENCE)?)? {
                let single = SingleResponse::read(answer, now_s)?;
                best = Some(best.map_or(single, |best| best.or(single)));
            }
        }
        let best = best.ok_or(OcspError::OtherCertificate)?;
        by.verify(authorized)?;
        Ok(best)
    }
}

/// Checks that a response in DER can be stapled: well-formed, successful and not larger than [`OcspId::LARGEST`].
/// Status, certificate and signature are not checked.
pub fn check_form(der: &[u8]) -> Result<(), OcspError> {
    parse_signed(der).map(drop)
}

fn parse_signed(der: &[u8]) -> Result<(SignedMessage<'_>, Vec<Certificate<'_>>), OcspError> {
    if der.len() > OcspId::LARGEST {
        return Err(OcspError::TooLarge);
    }
    Ok(signed(basic(der)?)?)
}

/// Returns the encoded `BasicOCSPResponse` in an OCSP response. Fails if the responder reports an error.
fn basic(der: &[u8]) -> Result<&[u8], OcspError> {
    let mut outer = DerReader::new(der);
    let mut parts = outer.inside(tag::SEQUENCE)?;
    outer.end()?;
    match parts.expect(tag::ENUMERATED)?.content {
        [0] => {}
        [status] => return Err(OcspError::Unsuccessful(*status)),
        _ => return Err(OcspError::Malformed),
    }
    let mut explicit = parts.inside(tag::context(0))?;
    parts.end()?;
    let mut typed = explicit.inside(tag::SEQUENCE)?;
    explicit.end()?;
    if *typed.expect(tag::OID)?.content != BASIC {
        return Err(OcspError::Malformed);
    }
    let response = typed.expect(tag::OCTET_STRING)?.content;
    typed.end()?;
    Ok(response)
}

/// Returns the signed data of a `BasicOCSPResponse` and the attached certificates, which the signature does not cover.
/// Fails if one of them is malformed, because clients would reject the response, or if there are more than
/// [`MOST_SIGNERS`].
fn signed(basic: &[u8]) -> Result<(SignedMessage<'_>, Vec<Certificate<'_>>), MalformedDer> {
    let mut outer = DerReader::new(basic);
    let mut parts = outer.inside(tag::SEQUENCE)?;
    outer.end()?;
    let message = parts.expect(tag::SEQUENCE)?.whole;
    let algorithm = parts.expect(tag::SEQUENCE)?.content;
    let signature = parts.bits()?;
    let mut signers = Vec::new();
    if let Some(explicit) = parts.optional(tag::context(0))? {
        let mut explicit = explicit.values();
        let mut list = explicit.inside(tag::SEQUENCE)?;
        explicit.end()?;
        while !list.is_empty() {
            if signers.len() == MOST_SIGNERS {
                return Err(MalformedDer);
            }
            signers.push(Certificate::parse(list.expect(tag::SEQUENCE)?.whole)?);
        }
    }
    parts.end()?;
    Ok((SignedMessage { message, algorithm, signature }, signers))
}

/// Signature of an OCSP response, with everything needed to verify it.
struct ResponseSignature<'a> {
    signed: SignedMessage<'a>,
    signers: Vec<Certificate<'a>>,
    responder: DerValue<'a>,
    issuer: &'a Certificate<'a>,
    now_s: i64,
    algorithms: Algorithms<'a>,
}

impl ResponseSignature<'_> {
    fn verify(&self, authorized: bool) -> Result<(), OcspError> {
        if self.is_from_signer(self.issuer) {
            return Ok(());
        }
        let mut verdict = Err(OcspError::Signature);
        for signer in self.signers.iter().filter(|signer| self.names_responder(signer)) {
            if authorized && !self.is_delegate(signer) {
                verdict = Err(OcspError::Unauthorized);
            } else if is_signed_by(&self.signed, &signer.public_key, self.algorithms) {
                return Ok(());
            }
        }
        verdict
    }

    fn is_from_signer(&self, signer: &Certificate<'_>) -> bool {
        self.names_responder(signer) && is_signed_by(&self.signed, &signer.public_key, self.algorithms)
    }

    /// Returns true if the response names this certificate as its responder.
    fn names_responder(&self, signer: &Certificate<'_>) -> bool {
        const BY_NAME: u8 = tag::context(1);
        const BY_KEY: u8 = tag::context(2);
        let mut id = self.responder.values();
        match self.responder.tag {
            BY_NAME => *self.responder.content == *signer.subject.der(),
            BY_KEY => id
                .expect(tag::OCTET_STRING)
                .is_ok_and(|key| *key.content == Sha1::digest(signer.public_key.bytes)[..]),
            _ => false,
        }
    }

    /// Returns true if the certificate is that of an OCSP responder authorized by the issuer, and is valid now.
    fn is_delegate(&self, signer: &Certificate<'_>) -> bool {
        let extensions = &signer.extensions;
        let lives = (signer.not_before..=signer.not_after).contains(&self.now_s);
        lives
            && !extensions.has_unknown_critical
            && extensions.purposes.is_some_and(|purposes| purposes.ocsp)
            && signer.issuer == self.issuer.subject
            && is_signed_by(&signer.signed, &self.issuer.public_key, self.algorithms)
    }
}

/// Status and validity in a single response (for one certificate) of an OCSP response.
#[derive(Clone, Copy)]
struct SingleResponse {
    status: Result<(), OcspError>,
    /// `Err` if the response is not valid at the current time.
    time: Result<(), OcspError>,
    validity: OcspValidity,
}

impl SingleResponse {
    fn read(mut answer: DerReader<'_>, now_s: i64) -> Result<Self, MalformedDer> {
        const GOOD: u8 = tag::implicit(0);
        const REVOKED: u8 = tag::context(1);
        const UNKNOWN: u8 = tag::implicit(2);
        let status = match answer.value()?.tag {
            GOOD => Ok(()),
            REVOKED => Err(OcspError::Revoked),
            UNKNOWN => Err(OcspError::Unknown),
            _ => return Err(MalformedDer),
        };
        let this_update = time::read(&mut answer)?;
        let next_update = match answer.optional(tag::context(0))? {
            Some(explicit) => Some(time::read(&mut explicit.values())?),
            None => None,
        };
        let time = if this_update.saturating_sub(SKEW_S) > now_s {
            Err(OcspError::NotYetValid)
        } else if next_update.is_some_and(|next| next < now_s || next < this_update) {
            // No tolerance for clock differences, because clients reject an expired response.
            Err(OcspError::Expired)
        } else {
            Ok(())
        };
        Ok(Self { status, time, validity: OcspValidity { this_update, next_update } })
    }

    /// Returns the preferred one of two responses about a certificate: the one that is valid now; if that does not
    /// decide, the newer; if equally new, the one that is not good.
    fn or(self, other: Self) -> Self {
        let rank = |single: &Self| (single.time.is_ok(), single.validity.this_update, single.status.is_err());
        if rank(&other) > rank(&self) { other } else { self }
    }

    fn result(self) -> Result<OcspValidity, OcspError> {
        self.status.and(self.time).map(|()| self.validity)
    }
}

#[cfg(test)]
mod tests;
