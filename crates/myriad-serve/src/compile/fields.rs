//! Lists of header names in the settings for responses of origins.

use myriad_cache::esi;
use myriad_conf::Text;
use myriad_conf::settings::{OriginSettings, Settings};
use myriad_policy::{AnnouncedSupport, STATE_FIELD};

/// Returns the response headers that are not forwarded to clients: `*_hide_header`, and headers that are meant for this
/// server, such as `Surrogate-Control` if ESI is on or this server announced its support.
pub(super) fn hidden_fields(settings: &Settings, origin: &OriginSettings) -> Vec<Box<[u8]>> {
    let mut hidden = lowercase_names(&origin.answer.hide);
    hidden.push(STATE_FIELD.into());
    let has_esi = esi::is_on(settings);
    if has_esi || announcement(origin).surrogate.is_some() {
        hidden.push(b"surrogate-control"[..].into());
    }
    if has_esi {
        hidden.extend(esi::OWN_FIELDS.map(Into::into));
    }
    hidden
}

pub(super) fn lowercase_names(names: &[Text]) -> Vec<Box<[u8]>> {
    names.iter().map(|name| name.bytes().to_ascii_lowercase().into()).collect()
}

/// Returns the announcement of supported features in requests to an origin, as set by the configuration: an origin may
/// send certain headers only to a server that announced itself.
pub(super) fn announcement(origin: &OriginSettings) -> AnnouncedSupport {
    let by_environment = origin.protocol.has_environment();
    let value = |names: [&str; 2]| {
        let mut set = origin.request.parameters.iter().filter(|param| match param.name.bytes() {
            name if by_environment => names.iter().any(|other| name == other.as_bytes()),
            name => name.eq_ignore_ascii_case(names[1].as_bytes()),
        });
        set.next_back().map(|param| param.value.bytes()).filter(|value| !value.is_empty())
    };
    let capability = value(["HTTP_SURROGATE_CAPABILITY", "Surrogate-Capability"]);
    let token =
        |value: &[u8]| value.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii().into();
    AnnouncedSupport {
        surrogate: capability.map(token),
        litespeed: value(["X-LSCACHE", "X-LSCACHE"]).is_some(),
    }
}
