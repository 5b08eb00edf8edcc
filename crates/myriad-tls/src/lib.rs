//! TLS settings of servers and upstream connections. Converts `ssl_*`, `proxy_ssl_*` and `acme_*` directives, and the
//! files that they name, to settings of rustls, and implements features that rustls lacks.
//!
//! ```text
//! model -> named_files: files to read, by the supervisor -> TlsFiles
//!   TlsSettings + TlsFiles + TlsReloadState -> server_config -> ServerConfig -> with_http2 | quic_config
//!                                           -> ClientRules: verification of client certificates
//!   OriginSettings + TlsFiles -> OriginTlsConfig: settings of rustls, verification of the upstream's certificate
//! ```
//!
//! | module | content |
//! |---|---|
//! | `named_files` | names of the files that a configuration uses |
//! | `certificates` | files of certificates, keys and passwords; pairs named by variables |
//! | `offer` | cipher suites and groups by their OpenSSL names |
//! | `server` | settings of a server, and selection of the certificate for a client |
//! | `resume` | session resumption: tickets, caches, early data; state kept over reloads |
//! | `peers` | verification of the certificates of clients and upstream servers |
//! | `acme` | automatic certificates in the configuration: orders and issuers |
//! | `acme_client` | ACME client, and OCSP queries |
//! | `stapling` | certificates with a stapled OCSP response, and their responders |
//! | `resolve` | name resolution of OCSP responders and certificate authorities |
//! | `x509` | parsing and verification of certificates |
//! | `warnings` | warnings about settings that are probably mistakes |
//!
//! Errors are diagnostics with a position in the configuration. This crate does not depend on listeners or requests:
//! `myriad-serve` connects them.

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
pub use resume::shared_ticket_keys::{ExchangedTicketKey, SharedTicketKeys};
pub use resume::ticket_key_store::TicketKeyStore;
pub use server::config::{server_config, with_client_protocols, with_http2, with_protocols};
pub use server::handshake_certificates::with_certificates;
pub use server::identities::{have_variable_names, is_clients, is_ordered};
pub use server::named_certificates::named_certificates;
pub use server::parts::ServerParts;
pub use server::quic::{host_key, quic_config};
pub use stapling::staples;
pub use warnings::tls_warnings;
