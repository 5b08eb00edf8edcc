//! The certificates of the other side, of clients and of origins, trusted as nginx trusts them.

pub(crate) mod any_client;
pub(crate) mod client_rules;
pub(crate) mod judgement;
pub(crate) mod ocsp;
pub(crate) mod origin;
pub(crate) mod origins;
mod signatures;
