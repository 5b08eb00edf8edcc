//! TLS settings of servers and origins: converts `ssl_*`, `proxy_ssl_*` and `acme_*` of a configuration, and the files
//! named there, to the settings of rustls, and implements features that rustls lacks.
//!
//! ```text
//! model -> named_files: files read by the supervisor -> Files
//!   TlsSettings + Files + Kept -> server_config -> ServerConfig -> with_http2 | over_quic
//!                              -> ClientRules: verification of client certificates
//!   OriginTlsSettings + Files  -> OriginConfig: settings of rustls, verification of the origin
//! ```
//!
//! | module | content |
//! |---|---|
//! | `certificates` | files of certificates, keys and passwords; pairs named by variables |
//! | `offer` | suites and groups, by OpenSSL's names |
//! | `server` | settings of a server, and the choice of the certificate for a client |
//! | `resume` | session resumption: tickets, caches, early data, over reloads |
//! | `peers` | certificates of peers: clients, origins |
//! | `acme` | certificates ordered by servers, and their authorities |
//! | `stapling` | certificates with a stapled OCSP response, and its responder |
//! | `resolve` | name resolution of authorities |
//! | `warnings` | settings that work and are probably a mistake |
//!
//! Errors are diagnostics at a place of the configuration. This crate does not depend on listeners, requests or
//! variables: `myriad-serve` connects them.

mod acme;
pub mod acme_client;
mod certificates;
mod named_files;
mod offer;
mod peers;
mod resolve;
mod resume;
mod server;
mod stapling;
mod warnings;
pub mod x509;

#[cfg(test)]
mod testing;

pub use acme::issuers::{PlannedIssuer, planned_issuers};
pub use acme::orders::{Orders, acme_orders, acme_state};
pub use certificates::files::{Files, TlsFiles, is_tls_file, tls_path};
pub use certificates::named::NamedCertificates;
pub use named_files::tls_files;
pub use peers::client_rules::ClientRules;
pub use peers::judgement::{judge, unasked};
pub use peers::ocsp::StatusCheck;
pub use peers::origin::OriginConfig;
pub use peers::origins::{OneCertificate, believing_any};
pub use resolve::resolve;
pub use resume::keeper::KeepTicketKeys;
pub use resume::kept::Kept;
pub use resume::sessions::session_bytes;
pub use server::chosen::with_certificates;
pub use server::config::{asking_for_protocols, server_config, with_http2, with_protocols};
pub use server::identities::{are_named, is_clients, is_ordered};
pub use server::named::named_certificates;
pub use server::parts::ServerParts;
pub use server::quic::{host_key, over_quic};
pub use stapling::staples;
pub use warnings::tls_warnings;
