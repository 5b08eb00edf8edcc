//! X.509: fields of certificates (`$ssl_client_*`), and verification of certificate chains (`ssl_verify_client`,
//! `proxy_ssl_verify`).
//!
//! Private CAs issue certificates that the public web no longer allows: version 1, without a subject alternative name,
//! or a root used as a server certificate. nginx accepts them, because OpenSSL does. This module therefore builds and
//! checks paths by the rules of RFC 5280 section 6 as implemented by OpenSSL, with OpenSSL's error texts. Signatures
//! are verified by the algorithms of the rustls provider. Decisions 027 and 102 list what rustls-webpki lacks.
//!
//! [`pem`] is also used by other crates of the workspace.
//!
//! ```text
//! DER -> Certificate -> TrustStore::verify(chain, purpose, now_s, algorithms) -> Ok(valid until) | VerifyError
//! ```

mod certificate;
mod constraints;
mod crl;
pub mod der;
mod error;
mod extensions;
mod host;
mod name;
mod ocsp;
mod path;
pub mod pem;
mod signature;
mod time;
mod trust;
pub mod write;

#[cfg(test)]
mod tests;

pub use certificate::Certificate;
pub use crl::RevocationList;
pub use der::MalformedDer;
pub use error::VerifyError;
pub use host::CertificateHost;
pub use name::X509Name;
pub use ocsp::{OcspError, OcspId, OcspStatus, OcspValidity, check_form};
pub use path::CertificatePurpose;
pub use signature::{Algorithms, PublicKey};
pub use trust::TrustStore;
