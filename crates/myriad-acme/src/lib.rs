//! Certificates that renew themselves: a client of ACME (RFC 8555) and the little of X.509 that it needs; and what authorities
//! say of certificates by OCSP, kept fresh ([`staple`]).
//!
//! ```text
//! Agent (a thread for each issuer)
//!   -> schedule: which certificate is due, and when the next is
//!   -> order: account, order, challenges, certificate       protocol: signed requests, nonces
//!        -> Challenges: what visitors are answered meanwhile  https: one exchange at a time
//!        -> Slot: the certificate that handshakes use
//!        -> Keep: files that outlive the process
//! ```
//!
//! A thread of its own may wait: the client is plain, blocking code with a deadline on everything. What is written
//! down goes through [`Keep`], since the process that talks to a network should not own the files.

pub mod agent;
pub mod challenges;
pub mod csr;
mod der;
pub mod error;
pub mod https;
pub mod issuer;
mod jws;
pub mod key;
pub mod order;
pub mod pem;
pub mod protocol;
pub mod roots;
pub mod schedule;
pub mod slot;
pub mod staple;
pub mod time;
pub mod x509;

pub use agent::{Agent, Log, Outside, Severity};
pub use challenges::Challenges;
pub use error::Error;
pub use issuer::{CertificateOrder, ChallengeKind, ExternalAccount, Identifier, Issuer};
pub use key::{KeyKind, SigningKey};
pub use slot::Slot;
pub use staple::{Question, Staple, Stapled, Stapler};
pub use x509::Certificate;
