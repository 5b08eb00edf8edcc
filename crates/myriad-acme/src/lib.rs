//! Certificates that renew themselves: a client of ACME (RFC 8555) and the little of X.509 that it needs; and what authorities
//! say of certificates by OCSP: of this server's own, kept fresh ([`staple`]); of clients', asked while they wait ([`status`]).
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
pub mod error;
pub mod facts;
pub mod https;
pub mod issuer;
mod jws;
pub mod key;
mod oid;
pub mod order;
pub mod protocol;
#[cfg(any(test, feature = "testing"))]
pub mod remains;
mod responder;
pub mod roots;
pub mod schedule;
pub mod slot;
pub mod staple;
pub mod status;

pub use agent::{Agent, Log, Outside};
pub use challenges::Challenges;
pub use error::Error;
pub use facts::Facts;
pub use issuer::{CertificateOrder, ExternalAccount, Issuer};
pub use key::SigningKey;
pub use slot::Slot;
pub use staple::{Question, Staple, Stapled, Stapler};
