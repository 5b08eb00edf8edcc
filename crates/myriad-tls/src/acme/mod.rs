//! Certificates that servers order (`acme_certificate`), the files that keep them, and the authorities (`acme_issuer`).

pub(crate) mod issuers;
pub(crate) mod orders;
