//! Cipher suites and key exchange groups, configured by OpenSSL names.

pub(crate) mod ciphers;
pub(crate) mod groups;
pub(crate) mod provider;
pub(crate) mod supported_suites;
pub(crate) mod unsupported_suites;
