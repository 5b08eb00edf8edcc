//! Certificate revocation lists (RFC 5280 section 5).

use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use crate::x509::certificate::Certificate;
use crate::x509::der::{DerReader, MalformedDer, tag};
use crate::x509::error::VerifyError;
use crate::x509::extensions::{self, KeyUsage};
use crate::x509::name::X509Name;
use crate::x509::signature::{Algorithms, SignedMessage, is_signed_by};
use crate::x509::time;

/// Parsed revocation list of one issuer.
pub struct RevocationList {
    der: Box<[u8]>,
    /// Name of the issuer in DER.
    issuer: Box<[u8]>,
    /// Start of the validity, in seconds since the Unix epoch.
    this_update: i64,
    /// End of the validity, in seconds since the Unix epoch; `None` if the list has none.
    next_update: Option<i64>,
    /// Serial numbers of the revoked certificates.
    serials: HashSet<Box<[u8]>>,
    /// True if the list, or an entry of it, has a critical extension; none is supported.
    has_unknown_critical: bool,
    /// Public key that has verified the signature; stored because verifying a long list is expensive.
    proved_by: OnceLock<Box<[u8]>>,
}

impl fmt::Debug for RevocationList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevocationList").field("serials", &self.serials.len()).finish_non_exhaustive()
    }
}

impl RevocationList {
    /// Parses a revocation list in DER. The signature is not verified yet.
    pub fn parse(der: &[u8]) -> Result<Self, MalformedDer> {
        let (signed, mut fields) = SignedMessage::read(der)?;
        fields.optional(tag::INTEGER)?;
        if fields.expect(tag::SEQUENCE)?.content != signed.algorithm {
            return Err(MalformedDer);
        }
        let issuer = X509Name::read(&mut fields)?.der().into();
        let this_update = time::read(&mut fields)?;
        let mut ahead = fields;
        let next_update = match ahead.value() {
            Ok(value) if [tag::UTC_TIME, tag::GENERALIZED_TIME].contains(&value.tag) => {
                Some(time::read(&mut fields)?)
            }
            _ => None,
        };
        let mut serials = HashSet::new();
        let mut has_unknown_critical = false;
        if let Some(entries) = fields.optional(tag::SEQUENCE)? {
            let mut entries = entries.values();
            while !entries.is_empty() {
                let mut entry = entries.inside(tag::SEQUENCE)?;
                serials.insert(entry.expect(tag::INTEGER)?.content.into());
                time::read(&mut entry)?;
                if !entry.is_empty() {
                    // An entry of an indirect list names another issuer in a critical extension, which is not
                    // supported.
                    extensions::each(&mut entry, |_, critical, _| {
                        has_unknown_critical |= critical;
                        Ok(())
                    })?;
                    entry.end()?;
                }
            }
        }
        if let Some(list) = fields.optional(tag::context(0))? {
            extensions::each(&mut list.values(), |_, critical, _| {
                has_unknown_critical |= critical;
                Ok(())
            })?;
        }
        fields.end()?;
        Ok(Self {
            der: der.into(),
            issuer,
            this_update,
            next_update,
            serials,
            has_unknown_critical,
            proved_by: OnceLock::new(),
        })
    }

    /// Returns true if the list's issuer has the name of this certificate's subject.
    pub(crate) fn is_of(&self, issuer: &Certificate<'_>) -> bool {
        *self.issuer == *issuer.subject.der()
    }

    /// Checks that `issuer` has signed the list, that the list is valid at `now_s` (seconds since the Unix epoch) and
    /// has no critical extension, and that `certificate` is not in it. Returns the last second of the list's validity;
    /// `i64::MAX` if it has no next update.
    pub(crate) fn check(
        &self,
        certificate: &Certificate<'_>,
        issuer: &Certificate<'_>,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<i64, VerifyError> {
        if self.has_unknown_critical {
            return Err(VerifyError::RevocationListCriticalExtension);
        }
        let may_sign = issuer.extensions.key_usage.is_none_or(|usage| usage.has(KeyUsage::CRL_SIGN));
        if !may_sign || !self.is_signed_by(issuer, algorithms) {
            return Err(VerifyError::RevocationListSignature);
        }
        if self.serials.contains(certificate.serial) {
            return Err(VerifyError::Revoked);
        }
        if now_s < self.this_update {
            return Err(VerifyError::RevocationListNotYetValid);
        }
        let until = self.next_update.unwrap_or(i64::MAX);
        if now_s > until { Err(VerifyError::RevocationListExpired) } else { Ok(until) }
    }

    fn is_signed_by(&self, issuer: &Certificate<'_>, algorithms: Algorithms<'_>) -> bool {
        let key = &issuer.public_key;
        if self.proved_by.get().is_some_and(|proved| **proved == *key.bytes) {
            return true;
        }
        let signed =
            SignedMessage::read(&self.der).map(|(signed, _): (SignedMessage<'_>, DerReader<'_>)| signed);
        let proved = signed.is_ok_and(|signed| is_signed_by(&signed, key, algorithms));
        if proved {
            let _ = self.proved_by.set(key.bytes.into());
        }
        proved
    }
}
