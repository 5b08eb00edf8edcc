//! X.509 certificates of clients and origins: their fields (`$ssl_client_*`), and the verification of certificate
//! chains (`ssl_verify_client`, `proxy_ssl_verify`).
//!
//! Private authorities issue certificates that the public web no longer allows: version 1, without a subject
//! alternative name, a root used as a leaf. nginx accepts them, because OpenSSL does, and so must a replacement of
//! nginx. So this crate builds and checks the path by the rules of RFC 5280 section 6 as implemented by OpenSSL, with
//! OpenSSL's error texts. It does not implement the arithmetic of signatures, but uses the algorithms of
//! `rustls-pki-types`.
//!
//! This crate and the crates that depend on it read DER and PEM only with [`der`] and [`pem`].
//!
//! ```text
//! DER -> Certificate -> Trust::verify(chain, now, algorithms) -> Ok | VerifyError ("certificate has expired")
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
