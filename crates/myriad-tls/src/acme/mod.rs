//! Certificates ordered by servers (`acme_certificate`), their files, and the authorities (`acme_issuer`).

pub(crate) mod issuers;
pub(crate) mod orders;
