//! Telling clients of TCP where HTTP/3 is (RFC 7838 section 3, RFC 9114 section 3.1.1).

use myriad_conf::model::{ListenAddress, ServerConf};
use myriad_conf::settings::Settings;
use myriad_output::headers;

use super::Compile;

/// How long clients may remember it, seconds: a day.
const MAX_AGE_S: u32 = 86_400;

impl Compile<'_> {
    /// The line that a place sends; none where an `add_header` of it says something itself.
    pub(super) fn alt_svc(&self, settings: &Settings) -> Box<[u8]> {
        if headers::names(settings, b"alt-svc") { Box::default() } else { self.alt_svc.clone() }
    }
}

/// The line of a server; empty where it speaks no HTTP/3.
pub(super) fn line(server: &ServerConf) -> Box<[u8]> {
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
