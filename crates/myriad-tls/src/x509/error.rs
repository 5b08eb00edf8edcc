//! Verification errors.

use std::fmt;

/// Verification error of a certificate chain, with OpenSSL's number and text: administrators compare
/// `$ssl_client_verify` and the error log with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// A trusted authority is not self-issued and its issuer is not among the trusted authorities.
    NoIssuer,
    /// One of the issuers has no revocation list.
    NoRevocationList,
    /// A certificate cannot be parsed.
    Malformed,
    /// A signature is wrong, or its algorithm is not accepted.
    Signature,
    /// The signature of a revocation list is wrong, or its algorithm is not accepted.
    RevocationListSignature,
    /// A certificate is not valid yet.
    NotYetValid,
    /// A certificate has expired.
    Expired,
    /// A revocation list is not valid yet.
    RevocationListNotYetValid,
    /// A revocation list has expired.
    RevocationListExpired,
    /// The certificate is self-signed and not trusted.
    SelfSigned,
    /// The last certificate of the chain is self-signed and not trusted.
    SelfSignedInChain,
    /// The chain does not lead to a trusted authority.
    NoLocalIssuer,
    /// The chain is one certificate, whose issuer is not trusted.
    FirstNotVerified,
    /// The chain has more intermediate authorities than `ssl_verify_depth` allows.
    TooLong,
    /// A certificate was revoked.
    Revoked,
    /// An authority of the chain allows fewer subordinate authorities.
    PathLength,
    /// A certificate is not allowed for this purpose.
    Purpose,
    /// A certificate has an unsupported critical extension.
    CriticalExtension,
    /// A revocation list has an unsupported critical extension.
    RevocationListCriticalExtension,
    /// A name is not permitted by an authority of the chain.
    NotPermitted,
    /// A name is excluded by an authority of the chain.
    Excluded,
    /// An authority of the chain has an unsupported kind of name constraint.
    ConstraintKind,
    /// A certificate of the chain was signed by a certificate that is not an authority.
    NoAuthority,
}

impl VerifyError {
    /// Returns OpenSSL's number.
    pub fn code(self) -> u32 {
        self.entry().0
    }

    /// Returns OpenSSL's text.
    pub fn as_str(self) -> &'static str {
        self.entry().1
    }

    /// Returns whether the error only means that the authority is unknown, which `ssl_verify_client optional_no_ca`
    /// accepts.
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
            Self::NoAuthority => (79, "invalid CA certificate"),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for VerifyError {}
