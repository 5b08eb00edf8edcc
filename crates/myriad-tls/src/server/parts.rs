//! Inputs of the settings of a server.

use std::sync::Arc;

use crate::acme_client::{Slot, Staple};
use myriad_conf::settings::TlsSettings;

use crate::certificates::files::Files;

/// Inputs of the settings of a server.
#[derive(Clone, Copy)]
pub struct ServerParts<'a> {
    /// Settings of the server, with at least one certificate.
    pub settings: &'a TlsSettings,
    /// Files named by the settings.
    pub files: Files<'a>,
    /// Slot of the certificate ordered by the server (`acme_certificate`), if any.
    pub ordered: Option<&'a Arc<Slot>>,
    /// OCSP responses of its certificates, in their order ([`crate::staples`]).
    pub staples: &'a [Option<Arc<Staple>>],
}
