//! Automatic certificates: an ACME client (RFC 8555) with the required parts of X.509; and OCSP queries: for this
//! server's own certificates, refreshed in advance ([`staple`]); for client certificates, during a request
//! ([`status`]).
//!
//! ```text
//! Agent (a thread for each issuer)
//!   -> schedule: due times of certificates
//!   -> order: account, order, challenges, certificate       protocol: signed requests, nonces
//!        -> Challenges: responses to validation requests      https: one exchange at a time
//!        -> Slot: the certificate used by handshakes
//!        -> Keep: files that outlive the process
//! ```
//!
//! A separate thread may block: the client is simple, blocking code with a deadline for every operation. Files are
//! written through [`StoreCallback`], because the process with network access should not own the files.

pub mod agent;
pub mod certificate_info;
pub mod certificate_slot;
pub mod challenges;
pub mod csr;
pub mod error;
pub mod https;
pub mod issuer;
mod jws;
pub mod key;
#[cfg(any(test, feature = "testing"))]
pub mod memory_scan;
mod oid;
pub mod order;
pub mod protocol;
mod responder;
pub mod roots;
pub mod schedule;
pub mod staple;
pub mod status;

pub use agent::{AcmeAgent, AgentCallbacks, LogCallback};
pub use certificate_info::CertificateInfo;
pub use certificate_slot::CertificateSlot;
pub use challenges::PendingChallenges;
pub use error::AcmeError;
pub use issuer::{CertificateOrder, ExternalAccount, Issuer};
pub use key::SigningKey;
pub use staple::{OcspStaple, StapleRequest, StapleUpdater, StapleWithResolver};
