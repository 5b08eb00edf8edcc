//! Inputs of the settings of a server.

use std::sync::Arc;

use crate::acme_client::{CertificateSlot, OcspStaple};
use myriad_conf::settings::TlsSettings;

use crate::certificates::files::TlsFileReader;

/// Inputs of the settings of a server.
#[derive(Clone, Copy)]
pub struct ServerParts<'a> {
    /// Settings of the server, with at least one certificate.
    pub settings: &'a TlsSettings,
    /// Files named by the settings.
    pub files: TlsFileReader<'a>,
    /// Slot of the certificate ordered by the server (`acme_certificate`), if any.
    pub ordered: Option<&'a Arc<CertificateSlot>>,
    /// OCSP responses of its certificates, in their order ([`crate::staples`]).
    pub staples: &'a [Option<Arc<OcspStaple>>],
}
