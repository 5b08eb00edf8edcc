//! Verification of the certificates of clients and upstream servers, as in nginx.

pub(crate) mod any_client;
pub(crate) mod client_rules;
pub(crate) mod ocsp;
pub(crate) mod origin;
pub(crate) mod origins;
mod signatures;
pub(crate) mod verification;
