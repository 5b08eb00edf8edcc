//! TLS beyond what rustls does by itself: keys under passwords, certificates that variables name, clients and origins that
//! must prove who they are in the ways that nginx accepts.

mod certified;
mod key;
mod named;
mod origins;
mod signatures;

pub(crate) use certified::{Part, certificates, certified, revocation_lists};
pub(crate) use key::passwords;
pub(crate) use named::NamedCertificates;
pub(crate) use origins::{AnyOrigin, OneCertificate, ProvenOrigin};
