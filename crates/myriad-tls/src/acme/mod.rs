//! Automatic certificates in the configuration: `acme_certificate` of servers, and `acme_issuer`.

pub(crate) mod issuers;
pub(crate) mod orders;
