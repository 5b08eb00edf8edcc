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
pub use acme::orders::{AcmeOrders, acme_orders, acme_state};
pub use certificates::files::{TlsFileReader, TlsFiles, is_tls_file, tls_path};
pub use certificates::named_certificates::NamedCertificates;
pub use named_files::tls_files;
pub use peers::client_rules::ClientRules;
pub use peers::ocsp::StatusCheck;
pub use peers::origin::OriginTlsConfig;
pub use peers::origins::{OneCertificate, accepting_any};
pub use peers::verification::{required_status_check, verify_client};
pub use resolve::resolve;
pub use resume::reload_state::TlsReloadState;
pub use resume::sessions::session_bytes;
pub use resume::ticket_key_store::TicketKeyStore;
pub use server::config::{server_config, with_client_protocols, with_http2, with_protocols};
pub use server::handshake_certificates::with_certificates;
pub use server::identities::{have_variable_names, is_clients, is_ordered};
pub use server::named_certificates::named_certificates;
pub use server::parts::ServerParts;
pub use server::quic::{host_key, quic_config};
pub use stapling::staples;
pub use warnings::tls_warnings;
