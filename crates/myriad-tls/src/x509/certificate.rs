//! Parsing of X.509 certificates (RFC 5280 section 4.1).

use std::fmt::Write;

use rustls_pki_types::SignatureVerificationAlgorithm;
use sha1::{Digest, Sha1};

use crate::x509::der::{MalformedDer, tag};
use crate::x509::extensions::Extensions;
use crate::x509::name::X509Name;
use crate::x509::signature::{Algorithms, PublicKey, SignedMessage, is_signed_by};
use crate::x509::time;

/// Parsed certificate. Nothing is verified; see [`crate::x509::TrustStore::verify`].
#[derive(Clone, Debug)]
pub struct Certificate<'a> {
    /// The whole certificate in DER.
    pub der: &'a [u8],
    /// Version: 1, 2 or 3.
    pub version: u8,
    /// Serial number in big-endian two's complement, so that it may be negative.
    pub serial: &'a [u8],
    /// Name of the issuer.
    pub issuer: X509Name<'a>,
    /// Name of the subject.
    pub subject: X509Name<'a>,
    /// Start of the validity, in seconds since the Unix epoch.
    pub not_before: i64,
    /// Last second of the validity, in seconds since the Unix epoch.
    pub not_after: i64,
    /// Public key of the subject.
    pub public_key: PublicKey<'a>,
    pub(crate) extensions: Extensions<'a>,
    pub(crate) signed: SignedMessage<'a>,
}

impl<'a> Certificate<'a> {
    /// Parses a certificate in DER. Its signature is not verified.
    pub fn parse(der: &'a [u8]) -> Result<Self, MalformedDer> {
        let (signed, mut fields) = SignedMessage::read(der)?;
        let version = match fields.optional(tag::context(0))? {
            Some(version) => match version.values().expect(tag::INTEGER)?.small()? {
                number @ 0..=2 => number as u8 + 1,
                _ => return Err(MalformedDer),
            },
            None => 1,
        };
        let serial = fields.expect(tag::INTEGER)?.content;
        // The signature algorithm must be the same inside and outside of the signed part (RFC 5280 section 4.1.1.2).
        if fields.expect(tag::SEQUENCE)?.content != signed.algorithm || serial.is_empty() {
            return Err(MalformedDer);
        }
        let issuer = X509Name::read(&mut fields)?;
        let mut validity = fields.inside(tag::SEQUENCE)?;
        let (not_before, not_after) = (time::read(&mut validity)?, time::read(&mut validity)?);
        validity.end()?;
        let subject = X509Name::read(&mut fields)?;
        let mut key = fields.inside(tag::SEQUENCE)?;
        let public_key = PublicKey { algorithm: key.expect(tag::SEQUENCE)?.content, bytes: key.bits()? };
        key.end()?;
        for unique_id in [1, 2] {
            fields.optional(tag::implicit(unique_id))?;
        }
        let extensions = match fields.optional(tag::context(3))? {
            Some(list) if version == 3 => Extensions::read(list.values())?,
            Some(_) => return Err(MalformedDer),
            None => Extensions::default(),
        };
        fields.end()?;
        Ok(Self {
            der,
            version,
            serial,
            issuer,
            subject,
            not_before,
            not_after,
            public_key,
            extensions,
            signed,
        })
    }

    /// Returns the serial number in upper-case hexadecimal, with a minus sign if it is negative (`$ssl_client_serial`).
    pub fn serial_hex(&self) -> String {
        let is_negative = self.serial.first().is_some_and(|first| *first >= 0x80);
        let mut digits = self.serial.to_vec();
        if is_negative {
            // Computes the absolute value of a negative number in two's complement.
            let mut carry = true;
            for digit in digits.iter_mut().rev() {
                let (flipped, overflow) = (!*digit).overflowing_add(u8::from(carry));
                (*digit, carry) = (flipped, overflow);
            }
        }
        let zeros = digits.iter().take_while(|digit| **digit == 0).count().min(digits.len() - 1);
        let mut shown = String::from(if is_negative { "-" } else { "" });
        for digit in &digits[zeros..] {
            let _ = write!(shown, "{digit:02X}");
        }
        shown
    }

    /// Returns the SHA-1 hash of the certificate in lower-case hexadecimal (`$ssl_client_fingerprint`).
    pub fn fingerprint(&self) -> String {
        let mut shown = String::with_capacity(40);
        for byte in Sha1::digest(self.der) {
            let _ = write!(shown, "{byte:02x}");
        }
        shown
    }

    /// Returns the first OCSP responder URL in the certificate (RFC 5280 section 4.2.2.1); `None` if there is none, it
    /// contains bytes other than printable ASCII, or the extension is malformed.
    pub fn ocsp_responder(&self) -> Option<&'a str> {
        /// OID of `id-ad-ocsp`: 1.3.6.1.5.5.7.48.1.
        const OCSP: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 48, 1];
        const URI: u8 = tag::implicit(6);
        let mut list = self.extensions.authority_information?.inside(tag::SEQUENCE).ok()?;
        while !list.is_empty() {
            let mut access = list.inside(tag::SEQUENCE).ok()?;
            let method = access.expect(tag::OID).ok()?.content;
            let place = access.value().ok()?;
            if *method == OCSP && place.tag == URI {
                let url = std::str::from_utf8(place.content).ok()?;
                return url.bytes().all(|byte| byte.is_ascii_graphic()).then_some(url);
            }
        }
        None
    }

    /// Returns the authority key identifier (RFC 5280 section 4.2.1.1); `None` if there is none or it is malformed.
    pub fn authority_key_id(&self) -> Option<&'a [u8]> {
        let mut fields = self.extensions.authority_key?.inside(tag::SEQUENCE).ok()?;
        fields.optional(tag::implicit(0)).ok()?.map(|id| id.content)
    }

    /// Returns true if the certificate's key verifies the signature of `message` by one of the given algorithms.
    pub fn has_signed(&self, message: &[u8], signature: &[u8], algorithms: Algorithms<'_>) -> bool {
        let key = &self.public_key;
        let of_key = |algorithm: &&&dyn SignatureVerificationAlgorithm| {
            algorithm.public_key_alg_id().as_ref() == key.algorithm
        };
        let mut ways = algorithms.iter().filter(of_key);
        ways.any(|algorithm| algorithm.verify_signature(key.bytes, message, signature).is_ok())
    }

    /// Returns true if this certificate issued `other`: its subject is the issuer of `other`, and its key verifies the
    /// signature of `other`.
    pub fn has_issued(&self, other: &Certificate<'_>, algorithms: Algorithms<'_>) -> bool {
        self.subject == other.issuer && is_signed_by(&other.signed, &self.public_key, algorithms)
    }

    /// Returns the certificate in PEM (RFC 7468), with a final line break.
    pub fn pem(&self) -> String {
        crate::x509::pem::block("CERTIFICATE", self.der)
    }

    /// Returns true if issuer and subject are equal.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.issuer == self.subject
    }
}
