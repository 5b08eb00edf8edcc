//! X.509 certificates as clients and origins show them: what they say (`$ssl_client_*`), and whether a chain of them is to
//! be trusted (`ssl_verify_client`, `proxy_ssl_verify`).
//!
//! Private authorities make certificates that the public web has long forbidden: of version 1, without a subject alternative
//! name, a root that is shown as a leaf. nginx takes them, since OpenSSL does, and so must a server that stands in for it. So
//! the path is found and checked here, by the rules of RFC 5280 section 6 in the reading of OpenSSL and with its words for
//! what is wrong. The arithmetic of signatures is not: it comes in as `rustls-pki-types`' algorithms.
//!
//! Whatever reads DER or PEM here and in the crates above does so by [`der`] and [`pem`].
//!
//! ```text
//! DER -> Certificate -> Trust::verify(chain, now, algorithms) -> Ok | VerifyError ("certificate has expired")
//! ```

#![forbid(unsafe_code)]

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
pub use der::Malformed;
pub use error::VerifyError;
pub use host::Host;
pub use name::Name;
pub use ocsp::{OcspAnswer, OcspError, OcspId, OcspStatus, check_form};
pub use path::Purpose;
pub use signature::{Algorithms, PublicKey};
pub use trust::Trust;
