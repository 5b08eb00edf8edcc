//! Announcement of HTTP/3 to TCP clients (RFC 7838 section 3, RFC 9114 section 3.1.1).

use myriad_conf::model::{ListenAddress, ServerConf};
use myriad_conf::settings::Settings;
use myriad_output::headers;

use super::RuntimeCompiler;

/// Lifetime of the announcement, in seconds: one day.
const MAX_AGE_S: u32 = 86_400;

impl RuntimeCompiler<'_> {
    /// Returns the line of a place; empty if its `add_header` sets the field.
    pub(super) fn alt_svc(&self, settings: &Settings) -> Box<[u8]> {
        if headers::names(settings, b"alt-svc") { Box::default() } else { self.alt_svc.clone() }
    }
}

/// Returns the line of a server; empty without HTTP/3.
pub(super) fn server_alt_svc(server: &ServerConf) -> Box<[u8]> {
    let mut ports = Vec::new();
    for listen in server.listens.iter().filter(|listen| listen.quic && server.settings.http3.enabled) {
        if let ListenAddress::Ip(address) = &listen.address
            && !ports.contains(&address.port())
        {
            ports.push(address.port());
        }
    }
    let places: Vec<String> = ports.iter().map(|port| format!("h3=\":{port}\"; ma={MAX_AGE_S}")).collect();
    if places.is_empty() {
        return Box::default();
    }
    format!("Alt-Svc: {}\r\n", places.join(", ")).into_bytes().into()
}
