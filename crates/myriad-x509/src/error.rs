//! Why a chain is not trusted.

use std::fmt;

/// What is wrong with a chain of certificates, by OpenSSL's numbers and in its words: administrators match
/// `$ssl_client_verify` and the error log against them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// An authority among the trusted ones has no authority of its own there.
    NoIssuer,
    /// There is no revocation list of one of the issuers.
    NoRevocationList,
    /// A certificate that cannot be read.
    Malformed,
    /// A signature is wrong, or its algorithm is not accepted.
    Signature,
    /// The same for a revocation list.
    RevocationListSignature,
    /// It is not valid yet.
    NotYetValid,
    /// It is not valid any more.
    Expired,
    /// A revocation list is not valid yet.
    RevocationListNotYetValid,
    /// A revocation list is not valid any more.
    RevocationListExpired,
    /// It has signed itself, and is not among the trusted ones.
    SelfSigned,
    /// The last of the chain has signed itself, and is not among the trusted ones.
    SelfSignedInChain,
    /// The chain does not end with a trusted authority.
    NoLocalIssuer,
    /// The chain is one certificate, whose issuer is not among the trusted ones.
    FirstNotVerified,
    /// More authorities stand in between than `ssl_verify_depth` allows.
    TooLong,
    /// It was revoked.
    Revoked,
    /// An authority of the chain allows fewer authorities below it.
    PathLength,
    /// It was not made for this.
    Purpose,
    /// It says something that must be understood and is not.
    CriticalExtension,
    /// The same for a revocation list.
    RevocationListCriticalExtension,
    /// Its names are outside of what an authority of the chain may sign for.
    NotPermitted,
    /// Its names are among those that an authority of the chain may not sign for.
    Excluded,
    /// An authority of the chain restricts names in a way that is not understood.
    ConstraintKind,
    /// A certificate of the chain was signed by one that is no authority.
    NoAuthority,
}

impl VerifyError {
    /// OpenSSL's number.
    pub fn code(self) -> u32 {
        self.entry().0
    }

    /// OpenSSL's words.
    pub fn as_str(self) -> &'static str {
        self.entry().1
    }

    /// Whether it only means that the authority is unknown: what `ssl_verify_client optional_no_ca` lets pass.
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
