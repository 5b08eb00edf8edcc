//! TLS beyond what rustls does by itself: keys under passwords, certificates that variables name, clients and origins that
//! must prove who they are in the ways that nginx accepts.

mod certified;
mod chosen;
mod clients;
mod key;
mod named;
mod origins;
mod preference;
mod session_context;
mod sessions;
mod signatures;
mod ticket_key;
mod tickets;

pub(crate) use certified::{Part, certificates, certified, revocation_lists};
pub(crate) use chosen::with_certificates;
pub(crate) use clients::{AnyClient, ClientRules};
pub(crate) use key::passwords;
pub(crate) use named::NamedCertificates;
pub(crate) use origins::{AnyOrigin, OneCertificate, ProvenOrigin};
pub(crate) use preference::Preference;
pub(crate) use session_context::{InContext, SessionContext};
pub(crate) use sessions::{SessionStore, Sessions};
pub(crate) use tickets::Tickets;
