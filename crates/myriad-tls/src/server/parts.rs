//! Input for the TLS settings of a server.

use std::sync::Arc;

use crate::acme_client::{CertificateSlot, OcspStaple};
use myriad_conf::settings::TlsSettings;

use crate::certificates::files::TlsFileReader;

/// Everything that [`crate::server_config`] needs besides the state of earlier configurations.
#[derive(Clone, Copy)]
pub struct ServerParts<'a> {
    /// TLS directives of the server, with at least one certificate.
    pub settings: &'a TlsSettings,
    /// Contents of the files that the directives name.
    pub files: TlsFileReader<'a>,
    /// Automatic certificate of the server (`acme_certificate`), if any.
    pub ordered: Option<&'a Arc<CertificateSlot>>,
    /// OCSP responses in the order of the server's certificates ([`crate::staples`]); `None` for a certificate without
    /// one. The list may be empty.
    pub staples: &'a [Option<Arc<OcspStaple>>],
}
