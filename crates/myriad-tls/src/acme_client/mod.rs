//! Automatic certificates: an ACME client (RFC 8555), with the parts of X.509 that it needs. Also OCSP queries: for
//! certificates of this server, in advance ([`staple`]), and for client certificates, during a request ([`status`]).
//!
//! ```text
//! AcmeAgent (a thread for each issuer)
//!   -> schedule: due times of certificates
//!   -> order: account, order, challenges, certificate        protocol: signed requests, nonces
//!        -> PendingChallenges: responses to validation         https: one request at a time
//!        -> CertificateSlot: the certificate used by handshakes
//!        -> OrderCoordinator: the other nodes of a cluster
//!        -> StoreCallback: files that outlive the process
//! ```
//!
//! The code blocks, because it runs on separate threads. Each request has a time limit, which does not interrupt the
//! resolution of its host name. Files are written through [`callbacks::StoreCallback`], so that the process with network
//! access does not need to own them.

pub mod agent;
pub mod callbacks;
pub mod certificate_info;
pub mod certificate_slot;
pub mod challenge_answer;
pub mod challenges;
pub mod coordination;
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
mod wait_times;

pub use agent::{AcmeAgent, AgentCallbacks};
pub use callbacks::LogCallback;
pub use certificate_info::CertificateInfo;
pub use certificate_slot::CertificateSlot;
pub use challenge_answer::answer_challenge;
pub use challenges::{ChallengeGuard, PendingChallenges};
pub use coordination::{
    LONGEST_ORDER, OrderCoordinator, OrderLease, OrderRequest, OrderTurn, PublishError, SharedCertificate,
    SharedChallenge,
};
pub use error::AcmeError;
pub use issuer::{CertificateOrder, ExternalAccount, Issuer};
pub use key::SigningKey;
pub use staple::{OcspStaple, StapleRequest, StapleUpdater, StapleWithResolver};
pub use wait_times::WaitReason;
