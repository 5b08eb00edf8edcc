//! Files of certificates, keys and passwords, and certificates whose names contain variables.

pub(crate) mod certified_key;
pub(crate) mod files;
mod key;
pub(crate) mod named_certificates;
