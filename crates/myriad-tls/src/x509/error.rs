//! Errors of certificate verification.

use std::fmt;

/// Reason why a certificate chain is rejected. Each has OpenSSL's number and text, which administrators know from
/// `$ssl_client_verify` and the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// A trusted CA certificate is not self-issued, and its issuer is not trusted.
    NoIssuer,
    /// An issuer in the path has no revocation list, although lists are configured.
    NoRevocationList,
    /// A certificate or its name constraints are malformed, or there is no certificate.
    Malformed,
    /// The signature of a certificate is invalid, or its algorithm is not accepted.
    Signature,
    /// The signature of a revocation list is wrong, its algorithm is not accepted, or its issuer may not sign lists.
    RevocationListSignature,
    /// A certificate is not valid yet.
    NotYetValid,
    /// A certificate has expired.
    Expired,
    /// A revocation list is not valid yet.
    RevocationListNotYetValid,
    /// A revocation list has expired.
    RevocationListExpired,
    /// The first certificate of the chain is self-signed and not trusted.
    SelfSigned,
    /// The chain ends with a self-signed certificate that is not trusted.
    SelfSignedInChain,
    /// The issuer of a later certificate of the chain is neither trusted nor in the chain, or the path has more
    /// intermediate CAs than `ssl_verify_depth` allows.
    NoLocalIssuer,
    /// The issuer of the first certificate is neither trusted nor in the chain.
    FirstNotVerified,
    /// The chain has more certificates, or needs more verified signatures, than supported.
    TooLong,
    /// A certificate was revoked.
    Revoked,
    /// A CA certificate in the path allows fewer subordinate CAs (path length constraint).
    PathLength,
    /// A certificate in the path is not allowed for this purpose, or was issued by a certificate that is not a CA.
    Purpose,
    /// A certificate has an unsupported critical extension.
    CriticalExtension,
    /// A revocation list has an unsupported critical extension.
    RevocationListCriticalExtension,
    /// A name is not permitted by the name constraints of a CA.
    NotPermitted,
    /// A name is excluded by the name constraints of a CA.
    Excluded,
    /// A CA certificate has a name constraint that cannot be evaluated, for example because of its type.
    ConstraintKind,
}

impl VerifyError {
    /// Returns OpenSSL's error number.
    pub fn code(self) -> u32 {
        self.entry().0
    }

    /// Returns OpenSSL's error text.
    pub fn as_str(self) -> &'static str {
        self.entry().1
    }

    /// Returns true if the error means only that the CA is unknown, which `ssl_verify_client optional_no_ca` accepts.
    pub fn is_unknown_authority(self) -> bool {
        matches!(
            self,
            Self::SelfSigned | Self::SelfSignedInChain | Self::NoLocalIssuer | Self::FirstNotVerified
        )
    }

    fn entry(self) -> (u32, &'static str) {
        match self {
            Self::NoIssuer => (2, "unable to get issuer certificate"),
            Self::NoRevocationList => (3, "unable to get certificate CRL"),
            Self::Malformed => (1, "unspecified certificate verification error"),
            Self::Signature => (7, "certificate signature failure"),
            Self::RevocationListSignature => (8, "CRL signature failure"),
            Self::NotYetValid => (9, "certificate is not yet valid"),
            Self::Expired => (10, "certificate has expired"),
            Self::RevocationListNotYetValid => (11, "CRL is not yet valid"),
            Self::RevocationListExpired => (12, "CRL has expired"),
            Self::SelfSigned => (18, "self-signed certificate"),
            Self::SelfSignedInChain => (19, "self-signed certificate in certificate chain"),
            Self::NoLocalIssuer => (20, "unable to get local issuer certificate"),
            Self::FirstNotVerified => (21, "unable to verify the first certificate"),
            Self::TooLong => (22, "certificate chain too long"),
            Self::Revoked => (23, "certificate revoked"),
            Self::PathLength => (25, "path length constraint exceeded"),
            Self::Purpose => (26, "unsuitable certificate purpose"),
            Self::CriticalExtension => (34, "unhandled critical extension"),
            Self::RevocationListCriticalExtension => (36, "unhandled critical CRL extension"),
            Self::NotPermitted => (47, "permitted subtree violation"),
            Self::Excluded => (48, "excluded subtree violation"),
            Self::ConstraintKind => (51, "unsupported name constraint type"),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for VerifyError {}
