//! Files of certificates, keys and passwords, and pairs that variables name.

pub(crate) mod certified;
pub(crate) mod files;
mod key;
pub(crate) mod named;
