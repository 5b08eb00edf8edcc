//! The suites and groups that are offered, by OpenSSL's words for them.

pub(crate) mod ciphers;
pub(crate) mod groups;
pub(crate) mod provider;
pub(crate) mod spoken;
pub(crate) mod unspoken;
