//! Building and checking of the path from a certificate to a trusted root (RFC 5280 section 6, as in OpenSSL).
//!
//! ```text
//! certificate --issuer--> trusted? --yes--> self-issued? --yes--> check the whole path
//!                            |                   '--no--> find its issuer among the trusted certificates
//!                            '--no--> find its issuer in the chain as well; each is used once
//! ```
//!
//! As in OpenSSL, a path ends with a trusted self-issued certificate, and the issuers of trusted certificates are not
//! taken from the peer's chain. If several CAs have the same name, each is tried. The number of signature verifications
//! is limited, to bound the cost of a chain.

use crate::x509::certificate::Certificate;
use crate::x509::constraints;
use crate::x509::error::VerifyError;
use crate::x509::extensions::KeyUsage;
use crate::x509::signature::{Algorithms, is_signed_by};
use crate::x509::trust::TrustStore;

/// Maximum number of certificates in a chain; a longer chain is rejected.
const LONGEST_CHAIN: usize = 16;
/// Maximum number of certificate signatures that are verified per chain.
const MOST_SIGNATURES: u32 = 16;

/// Purpose for which a certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificatePurpose {
    /// Authentication of a client to a server.
    Client,
    /// Authentication of a server to a client.
    Server,
}

impl TrustStore {
    /// Verifies that a chain, which starts with the certificate in question, leads to a trusted root, and checks the
    /// whole path. Returns the last second of its validity; like `now_s`, it is in seconds since the Unix epoch.
    pub fn verify<C: AsRef<[u8]>>(
        &self,
        chain: &[C],
        purpose: CertificatePurpose,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<i64, VerifyError> {
        verify(self, chain, purpose, now_s, algorithms, |_| ()).map(|(until, ())| until)
    }

    /// Verifies a chain as [`Self::verify`] does. Also returns the certificates of the path in DER, from the
    /// certificate in question to the root.
    pub fn verify_path<C: AsRef<[u8]>>(
        &self,
        chain: &[C],
        purpose: CertificatePurpose,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<(i64, Vec<Vec<u8>>), VerifyError> {
        verify(self, chain, purpose, now_s, algorithms, |path| {
            path.iter().map(|one| one.der.to_vec()).collect()
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
        path: vec![leaf.clone()],
    };
    let is_trusted = trust.contains(leaf.der);
    let verdict = search.extend(is_trusted);
    match verdict {
        // As OpenSSL does, a wrong date of the certificate is reported in preference to an unknown CA.
        Err(error) if error.is_unknown_authority() => date_check(leaf, now_s).and(Err(error)),
        verdict => verdict.map(|until| (until, found(&search.path))),
    }
}

struct PathSearch<'a> {
    trust: &'a TrustStore,
    /// Certificates that the peer has sent besides its own.
    others: &'a [Certificate<'a>],
    purpose: CertificatePurpose,
    /// Current time in seconds since the Unix epoch.
    now_s: i64,
    algorithms: Algorithms<'a>,
    /// Number of signatures that may still be verified.
    signatures: u32,
    /// Path from the certificate in question to the last one found.
    path: Vec<Certificate<'a>>,
}

impl PathSearch<'_> {
    /// Extends the path from its last certificate to a root and checks it. `is_trusted` is true if the last certificate
    /// is trusted. Returns the last second of the path's validity.
    fn extend(&mut self, is_trusted: bool) -> Result<i64, VerifyError> {
        let last = self.path[self.path.len() - 1].clone();
        if is_trusted && last.is_self_issued() {
            return self.check();
        }
        let trust = self.trust;
        let anchors = trust.anchors.iter().filter(|anchor| *anchor.subject == *last.issuer.der());
        let trusted =
            anchors.filter_map(|anchor| Certificate::parse(&anchor.der).ok()).map(|one| (one, true));
        // The issuers of a trusted certificate must be trusted too, even if the peer sends the certificate with them.
        let is_candidate =
            |other: &&Certificate<'_>| other.subject == last.issuer && !trust.contains(other.der);
        let others = self.others.iter().filter(|other| !is_trusted && is_candidate(other));
        let candidates: Vec<_> = trusted.chain(others.cloned().map(|one| (one, false))).collect();
        let mut verdict = Err(self.missing_issuer_error(&last, is_trusted));
        for (candidate, is_trusted) in candidates {
            if self.path.iter().any(|known| known.der == candidate.der) {
                continue;
            }
            // A path has at most one certificate, `depth` intermediate CAs and a root. OpenSSL ignores issuers beyond
            // the limit: its error 22 ("certificate chain too long") is followed by that of the missing issuer.
            if self.path.len() >= self.trust.depth.saturating_add(2) as usize {
                return verdict;
            }
            let Some(left) = self.signatures.checked_sub(1) else { return Err(VerifyError::TooLong) };
            self.signatures = left;
            if !is_signed_by(&last.signed, &candidate.public_key, self.algorithms) {
                verdict = Err(VerifyError::Signature);
                continue;
            }
            self.path.push(candidate);
            verdict = self.extend(is_trusted);
            if verdict.is_ok() {
                break;
            }
            self.path.pop();
        }
        verdict
    }

    /// Returns the error for a path whose certificate `last` has no known issuer; `is_trusted` is true if `last` is a
    /// trusted certificate.
    fn missing_issuer_error(&self, last: &Certificate<'_>, is_trusted: bool) -> VerifyError {
        match (last.is_self_issued(), self.path.len()) {
            _ if is_trusted => VerifyError::NoIssuer,
            (true, 1) => VerifyError::SelfSigned,
            (true, _) => VerifyError::SelfSignedInChain,
            (false, 1) => VerifyError::FirstNotVerified,
            (false, _) => VerifyError::NoLocalIssuer,
        }
    }

    /// Checks a complete path. Returns the last second of its validity, since the Unix epoch. If several checks fail,
    /// returns the error that OpenSSL would report.
    fn check(&self) -> Result<i64, VerifyError> {
        let for_good = |()| i64::MAX;
        let (extensions, constraints) = (self.extensions().map(for_good), self.constraints().map(for_good));
        let checks = [constraints, self.check_dates(), self.revocation(), extensions];
        checks.into_iter().try_fold(i64::MAX, |until, check| Ok(until.min(check?)))
    }

    /// Checks the extensions of the certificates. If several checks fail, returns the last error in the order of
    /// OpenSSL, which continues after errors.
    fn extensions(&self) -> Result<(), VerifyError> {
        let (mut verdict, mut below) = (Ok(()), 0u32);
        for (index, certificate) in self.path.iter().enumerate() {
            let is_leaf = index == 0;
            if certificate.extensions.has_unknown_critical {
                verdict = Err(VerifyError::CriticalExtension);
            }
            // For an issuer that is not a CA, OpenSSL first reports error 79, then this one.
            if !is_allowed_for(certificate, self.purpose, is_leaf) || !is_leaf && !is_authority(certificate) {
                verdict = Err(VerifyError::Purpose);
            }
            if is_leaf {
                continue;
            }
            let longest = certificate.extensions.basic_constraints.and_then(|basic| basic.path_length);
            if longest.is_some_and(|longest| below > longest) {
                verdict = Err(VerifyError::PathLength);
            }
            below += u32::from(!certificate.is_self_issued());
        }
        verdict
    }

    /// Checks that no certificate of the path is revoked, if there are revocation lists: each issuer in the path,
    /// including the root, must then have a valid one. Returns the last second at which this holds.
    fn revocation(&self) -> Result<i64, VerifyError> {
        let mut verdict = Ok(i64::MAX);
        if self.trust.lists.is_empty() {
            return verdict;
        }
        for (index, certificate) in self.path.iter().enumerate() {
            let issuer = self.path.get(index + 1).unwrap_or(certificate);
            let lists = self.trust.lists.iter().filter(|list| list.is_of(issuer));
            let results = lists.map(|list| list.check(certificate, issuer, self.now_s, self.algorithms));
            // One valid list per issuer suffices, but a revocation in any list counts.
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
        self.path.iter().try_fold(i64::MAX, |until, one| Ok(until.min(date_check(one, self.now_s)?)))
    }

    fn constraints(&self) -> Result<(), VerifyError> {
        for (index, authority) in self.path.iter().enumerate().skip(1) {
            for (at, below) in self.path[..index].iter().enumerate() {
                // Self-issued intermediate certificates are exempt (RFC 5280 section 6.1.3).
                if at == 0 || !below.is_self_issued() {
                    constraints::check(authority, below)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the last second of a certificate's validity; `Err` if it is not valid at `now_s`.
fn date_check(certificate: &Certificate<'_>, now_s: i64) -> Result<i64, VerifyError> {
    if now_s < certificate.not_before {
        return Err(VerifyError::NotYetValid);
    }
    if now_s > certificate.not_after { Err(VerifyError::Expired) } else { Ok(certificate.not_after) }
}

/// Returns true if a certificate may issue certificates. A self-issued version 1 certificate may.
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

/// Returns true if a certificate, or for a CA the certificates that it issues, may be used for a purpose. The key usage
/// is only checked if `is_leaf` is true: for the certificate of the peer itself.
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
