//! The parts that the settings of a server are made from.

use std::sync::Arc;

use myriad_acme::{Slot, Staple};
use myriad_conf::settings::TlsSettings;

use crate::certificates::files::Files;

/// The parts that the settings of a server are made from.
#[derive(Clone, Copy)]
pub struct ServerParts<'a> {
    /// Its settings, which name at least one certificate.
    pub settings: &'a TlsSettings,
    /// The files that the settings name.
    pub files: Files<'a>,
    /// The place of the certificate that the server orders (`acme_certificate`), if it does.
    pub ordered: Option<&'a Arc<Slot>>,
    /// The OCSP answers of its certificates, in their order ([`crate::staples`]).
    pub staples: &'a [Option<Arc<Staple>>],
}
