//! Public certificate authorities: name of the issuer in the configuration, and ACME directory URL.

/// Issuer name and ACME directory URL of Let's Encrypt.
pub(super) const LETS_ENCRYPT: (&str, &str) =
    ("letsencrypt", "https://acme-v02.api.letsencrypt.org/directory");
/// Issuer name and ACME directory URL of the staging environment of Let's Encrypt, which issues certificates for tests.
pub(super) const STAGING: (&str, &str) =
    ("letsencrypt_staging", "https://acme-staging-v02.api.letsencrypt.org/directory");
