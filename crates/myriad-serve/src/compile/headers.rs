//! `add_header`, `add_trailer`, `expires`, `server_tokens`.

use myriad_conf::settings::{self, AddedFields, CacheDebug, ServerTokens, Settings};

use super::Compile;
use crate::features::https_only;
use myriad_exchange::runtime::{AddField, DebugRules, HeaderRules};

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Compile<'_> {
    pub(super) fn headers(&mut self, settings: &Settings) -> HeaderRules {
        let headers = &settings.headers;
        let server_name = match &settings.content.server_tokens {
            ServerTokens::Off => "Myriad".to_owned(),
            ServerTokens::On | ServerTokens::Build => format!("Myriad/{VERSION}"),
        };
        HeaderRules {
            server_line: format!("Server: {server_name}\r\n").into_bytes().into(),
            alt_svc: self.alt_svc(&headers.add),
            server_name: server_name.into(),
            hsts_line: https_only::hsts_line(settings),
            add: self.added(&headers.add, true),
            replaced: headers.add.iter().filter_map(replaced).collect(),
            debug: debug(settings),
            trailers: self.added(&headers.trailers, false),
            expires: headers.expires.map(|text| self.template(text)),
            says_freshness: headers.add.iter().any(says_freshness),
        }
    }

    fn added(&mut self, fields: &AddedFields, in_head: bool) -> Vec<AddField> {
        let fields: Vec<_> = fields.iter().collect();
        let single = |field: &settings::AddHeader| if in_head { replaced(field) } else { None };
        fields
            .iter()
            .enumerate()
            // One without a value only takes the place of what was there; as a trailer it has the answer chunked.
            .filter(|(_, field)| !in_head || !field.value.is_empty())
            .map(|(index, field)| {
                let twins = fields[index + 1..].iter().filter_map(|later| single(later));
                let of_this = single(field);
                let twins = twins.filter(|(name, _)| of_this.is_some_and(|(own, _)| own == *name));
                AddField {
                    name: field.name.bytes().into(),
                    value: self.template(&field.value),
                    always: field.always,
                    superseded: twins.map(|(_, always)| always).reduce(|any, always| any || always),
                }
            })
            .collect()
    }
}

/// `cache_debug`.
fn debug(settings: &Settings) -> Option<Box<DebugRules>> {
    let CacheDebug { on, from } = &settings.cache_rules.debug;
    on.then(|| {
        let said_already =
            settings.headers.add.iter().any(|field| field.name.bytes().eq_ignore_ascii_case(b"X-Cache"));
        let from = from.clone();
        Box::new(DebugRules { from, said_already })
    })
}

fn says_freshness(field: &settings::AddHeader) -> bool {
    [&b"cache-control"[..], b"expires", b"age"]
        .iter()
        .any(|name| field.name.bytes().eq_ignore_ascii_case(name))
}

/// As nginx: these two may stand once, so an `add_header` takes the place of what was there. The flag says `always`.
fn replaced(field: &settings::AddHeader) -> Option<(&'static [u8], bool)> {
    let names: [&'static [u8]; 2] = [b"etag", b"last-modified"];
    let name = names.into_iter().find(|name| field.name.bytes().eq_ignore_ascii_case(name))?;
    Some((name, field.always))
}
