//! `Alt-Svc` response field, which announces HTTP/3 to TCP clients (RFC 7838 section 3, RFC 9114 section 3.1.1).

use myriad_conf::model::{ListenAddress, ServerConf};
use myriad_conf::settings::Settings;
use myriad_output::headers;

use super::RuntimeCompiler;

/// `ma` parameter of `Alt-Svc`: lifetime of the announcement, in seconds (one day).
const MAX_AGE_S: u32 = 86_400;

impl RuntimeCompiler<'_> {
    /// Returns the `Alt-Svc` line for a level with `settings`: that of its server, or an empty line if `add_header` of
    /// the level sets the field itself.
    pub(super) fn alt_svc(&self, settings: &Settings) -> Box<[u8]> {
        if headers::names(settings, b"alt-svc") { Box::default() } else { self.alt_svc.clone() }
    }
}

/// Returns the `Alt-Svc` line of a server, with all its QUIC ports; empty without HTTP/3.
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
