//! Public certificate authorities: names and URIs of their issuers.

/// Let's Encrypt, and its staging environment, whose certificates no browser trusts.
pub(super) const LETS_ENCRYPT: (&str, &str) =
    ("letsencrypt", "https://acme-v02.api.letsencrypt.org/directory");
pub(super) const STAGING: (&str, &str) =
    ("letsencrypt_staging", "https://acme-staging-v02.api.letsencrypt.org/directory");
