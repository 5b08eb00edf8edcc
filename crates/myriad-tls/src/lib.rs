//! How servers and origins are spoken to by TLS: from `ssl_*`, `proxy_ssl_*` and `acme_*` of a configuration, and the files
//! that they name, to the settings of rustls; and what rustls does not do by itself.
//!
//! ```text
//! model -> named_files: what the supervisor reads -> Files
//!   TlsSettings + Files + Kept -> server_config -> ServerConfig -> with_http2 | over_quic
//!                              -> ClientRules: what a client's certificate is worth
//!   OriginTlsSettings + Files  -> OriginConfig: rustls' own, what the origin must prove
//! ```
//!
//! | room | what |
//! |---|---|
//! | `certificates` | files of certificates, keys and passwords; pairs that variables name |
//! | `offer` | suites and groups, by OpenSSL's words for them |
//! | `server` | a server's settings, and which of its certificates a client gets |
//! | `resume` | sessions that clients resume: tickets, caches, early data, over reloads |
//! | `peers` | the certificates of the other side: clients, origins |
//! | `acme` | certificates that servers order, and from which authority |
//! | `stapling` | certificates that are shown with an OCSP answer, and its responder |
//! | `resolve` | how the names of authorities are looked up |
//! | `warnings` | settings that work and are probably a mistake |
//!
//! Errors are diagnostics at a place of the configuration. Nothing here knows listeners, requests or variables: `myriad-serve`
//! ties what is made here to them.

mod acme;
mod certificates;
mod named_files;
mod offer;
mod peers;
mod resolve;
mod resume;
mod server;
mod stapling;
mod warnings;

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
