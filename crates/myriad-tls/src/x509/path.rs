//! Path from a certificate to a trusted root (RFC 5280 section 6, as implemented by OpenSSL).
//!
//! ```text
//! leaf --issuer--> trusted? --yes--> self-issued? --yes--> check the whole path
//!                     |                   '--no--> its issuer, among the trusted
//!                     '--no--> one of the chain, once
//! ```
//!
//! As in OpenSSL a path leads to a trusted self-issued certificate. If several authorities have the same name, each is
//! tried; the number of signature verifications is limited, so that the cost of a chain is bounded.

use crate::x509::certificate::Certificate;
use crate::x509::constraints;
use crate::x509::error::VerifyError;
use crate::x509::extensions::KeyUsage;
use crate::x509::signature::{Algorithms, is_signed_by};
use crate::x509::trust::TrustStore;

/// Maximum number of certificates of a chain.
const LONGEST_CHAIN: usize = 16;
/// Maximum number of signatures verified per chain.
const MOST_SIGNATURES: u32 = 16;

/// Purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificatePurpose {
    /// Authentication of a client.
    Client,
    /// Authentication of a server.
    Server,
}

impl TrustStore {
    /// Verifies that a chain, starting with the certificate in question, leads to a trusted root, and checks the whole
    /// path. `now_s` is in seconds since the Unix epoch, as is the returned last second of validity.
    pub fn verify<C: AsRef<[u8]>>(
        &self,
        chain: &[C],
        purpose: CertificatePurpose,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<i64, VerifyError> {
        verify(self, chain, purpose, now_s, algorithms, |_| ()).map(|(until, ())| until)
    }

    /// Does the same and also returns the certificates of the path in DER, from the certificate in question to the
    /// root.
    pub fn verify_path<C: AsRef<[u8]>>(
        &self,
        chain: &[C],
        purpose: CertificatePurpose,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<(i64, Vec<Vec<u8>>), VerifyError> {
        verify(self, chain, purpose, now_s, algorithms, |way| {
            way.iter().map(|one| one.der.to_vec()).collect()
        })
    }
}

fn verify<C: AsRef<[u8]>, T>(
    trust: &TrustStore,
    chain: &[C],
    purpose: CertificatePurpose,
    now_s: i64,
    algorithms: Algorithms<'_>,
    found: impl FnOnce(&[Certificate<'_>]) -> T,
) -> Result<(i64, T), VerifyError> {
    if chain.len() > LONGEST_CHAIN {
        return Err(VerifyError::TooLong);
    }
    let parsed: Result<Vec<_>, _> = chain.iter().map(|der| Certificate::parse(der.as_ref())).collect();
    let certificates = parsed.map_err(|_| VerifyError::Malformed)?;
    let (leaf, others) = certificates.split_first().ok_or(VerifyError::Malformed)?;
    let mut search = PathSearch {
        trust,
        others,
        purpose,
        now_s,
        algorithms,
        signatures: MOST_SIGNATURES,
        way: vec![leaf.clone()],
    };
    let is_trusted = trust.anchors.iter().any(|anchor| *anchor.der == *leaf.der);
    let verdict = search.extend(is_trusted);
    match verdict {
        // Of several errors of an unknown certificate OpenSSL reports its dates last, so they take precedence.
        Err(error) if error.is_unknown_authority() => date_check(leaf, now_s).and(Err(error)),
        verdict => verdict.map(|until| (until, found(&search.way))),
    }
}

struct PathSearch<'a> {
    trust: &'a TrustStore,
    others: &'a [Certificate<'a>],
    purpose: CertificatePurpose,
    now_s: i64,
    algorithms: Algorithms<'a>,
    signatures: u32,
    way: Vec<Certificate<'a>>,
}

impl PathSearch<'_> {
    /// Extends the path from its last certificate.
    fn extend(&mut self, is_trusted: bool) -> Result<i64, VerifyError> {
        let last = self.way[self.way.len() - 1].clone();
        if is_trusted && last.is_self_issued() {
            return self.check();
        }
        let trust = self.trust;
        let anchors = trust.anchors.iter().filter(|anchor| *anchor.subject == *last.issuer.der());
        let trusted =
            anchors.filter_map(|anchor| Certificate::parse(&anchor.der).ok()).map(|one| (one, true));
        let others = self.others.iter().filter(|other| !is_trusted && other.subject == last.issuer);
        let candidates: Vec<_> = trusted.chain(others.cloned().map(|one| (one, false))).collect();
        let mut verdict = Err(self.missing_issuer_error(&last, is_trusted));
        for (candidate, is_trusted) in candidates {
            if self.way.iter().any(|known| known.der == candidate.der) {
                continue;
            }
            // A leaf, the intermediate authorities, a root: a longer path is rejected in all cases.
            if self.way.len() >= self.trust.depth.saturating_add(2) as usize {
                return Err(VerifyError::TooLong);
            }
            let Some(left) = self.signatures.checked_sub(1) else { return Err(VerifyError::TooLong) };
            self.signatures = left;
            if !is_signed_by(&last.signed, &candidate.public_key, self.algorithms) {
                verdict = Err(VerifyError::Signature);
                continue;
            }
            self.way.push(candidate);
            verdict = self.extend(is_trusted);
            if verdict.is_ok() {
                break;
            }
            self.way.pop();
        }
        verdict
    }

    /// Returns the error if the path has no issuer for its last certificate.
    fn missing_issuer_error(&self, last: &Certificate<'_>, is_trusted: bool) -> VerifyError {
        match (last.is_self_issued(), self.way.len()) {
            _ if is_trusted => VerifyError::NoIssuer,
            (true, 1) => VerifyError::SelfSigned,
            (true, _) => VerifyError::SelfSignedInChain,
            (false, 1) => VerifyError::FirstNotVerified,
            (false, _) => VerifyError::NoLocalIssuer,
        }
    }

    /// Checks a path to a root and returns the last second of its validity. If several checks fail, returns the error
    /// that OpenSSL reports last when it continues after errors.
    fn check(&self) -> Result<i64, VerifyError> {
        let for_good = |()| i64::MAX;
        let (extensions, constraints) = (self.extensions().map(for_good), self.constraints().map(for_good));
        let checks = [constraints, self.check_dates(), self.revocation(), extensions];
        checks.into_iter().try_fold(i64::MAX, |until, check| Ok(until.min(check?)))
    }

    fn extensions(&self) -> Result<(), VerifyError> {
        if self.way.len().saturating_sub(2) > self.trust.depth as usize {
            return Err(VerifyError::TooLong);
        }
        let mut below = 0u32;
        for (index, certificate) in self.way.iter().enumerate() {
            if certificate.extensions.has_unknown_critical {
                return Err(VerifyError::CriticalExtension);
            }
            if !is_allowed_for(certificate, self.purpose, index == 0) {
                return Err(VerifyError::Purpose);
            }
            if index == 0 {
                continue;
            }
            if !is_authority(certificate) {
                return Err(VerifyError::NoAuthority);
            }
            let longest = certificate.extensions.basic_constraints.and_then(|basic| basic.path_length);
            if longest.is_some_and(|longest| below > longest) {
                return Err(VerifyError::PathLength);
            }
            below += u32::from(!certificate.is_self_issued());
        }
        Ok(())
    }

    /// Checks the revocation of the certificates of the path; each issuer must have a list, the root for itself too.
    fn revocation(&self) -> Result<i64, VerifyError> {
        let mut verdict = Ok(i64::MAX);
        if self.trust.lists.is_empty() {
            return verdict;
        }
        for (index, certificate) in self.way.iter().enumerate() {
            let issuer = self.way.get(index + 1).unwrap_or(certificate);
            let lists = self.trust.lists.iter().filter(|list| list.is_of(issuer));
            let results = lists.map(|list| list.check(certificate, issuer, self.now_s, self.algorithms));
            // One valid list suffices, also if it revokes the certificate.
            let mut of_this = Err(VerifyError::NoRevocationList);
            for said in results {
                match (said, of_this) {
                    (Err(VerifyError::Revoked), _) => of_this = said,
                    (_, Err(VerifyError::Revoked)) | (Err(_), Ok(_)) => {}
                    (Ok(until), Ok(other)) => of_this = Ok(until.max(other)),
                    (said, Err(_)) => of_this = said,
                }
            }
            verdict = of_this.and_then(|until| verdict.map(|of_others: i64| of_others.min(until)));
        }
        verdict
    }

    fn check_dates(&self) -> Result<i64, VerifyError> {
        self.way.iter().try_fold(i64::MAX, |until, one| Ok(until.min(date_check(one, self.now_s)?)))
    }

    fn constraints(&self) -> Result<(), VerifyError> {
        for (index, authority) in self.way.iter().enumerate().skip(1) {
            for (at, below) in self.way[..index].iter().enumerate() {
                // RFC 5280 section 6.1.3: self-issued authorities are exempt, a leaf never.
                if at == 0 || !below.is_self_issued() {
                    constraints::check(authority, below)?;
                }
            }
        }
        Ok(())
    }
}

/// Checks the dates of a certificate and returns the last second of its validity.
fn date_check(certificate: &Certificate<'_>, now_s: i64) -> Result<i64, VerifyError> {
    if now_s < certificate.not_before {
        return Err(VerifyError::NotYetValid);
    }
    if now_s > certificate.not_after { Err(VerifyError::Expired) } else { Ok(certificate.not_after) }
}

/// Returns whether a certificate may sign others. A root of version 1 has no such field and is accepted.
fn is_authority(certificate: &Certificate<'_>) -> bool {
    let extensions = &certificate.extensions;
    if extensions.key_usage.is_some_and(|usage| !usage.has(KeyUsage::KEY_CERT_SIGN)) {
        return false;
    }
    match extensions.basic_constraints {
        Some(basic) => basic.is_authority,
        None => certificate.version == 1 && certificate.is_self_issued(),
    }
}

/// Returns whether a certificate, or a certificate that it signs, may be used for a purpose.
fn is_allowed_for(certificate: &Certificate<'_>, purpose: CertificatePurpose, is_leaf: bool) -> bool {
    let extensions = &certificate.extensions;
    let allowed = extensions.purposes.is_none_or(|purposes| match purpose {
        CertificatePurpose::Client => purposes.client,
        CertificatePurpose::Server => purposes.server,
    });
    let usages = match purpose {
        CertificatePurpose::Client => KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_AGREEMENT,
        CertificatePurpose::Server => {
            KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_ENCIPHERMENT | KeyUsage::KEY_AGREEMENT
        }
    };
    allowed && (!is_leaf || extensions.key_usage.is_none_or(|usage| usage.has(usages)))
}
