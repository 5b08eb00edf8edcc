//! Object identifiers (OIDs) in DER, for written certificates and requests.

pub(crate) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
/// OID of `extensionRequest` (RFC 2985), in DER without tag and length.
pub(crate) const EXTENSION_REQUEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
/// OID of `id-pe-acmeIdentifier` (RFC 8737), in DER without tag and length.
pub(crate) const ACME_IDENTIFIER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 31];
pub(crate) const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
pub(crate) const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
pub(crate) const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
pub(crate) const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
