//! What a fetch of a page for everybody tells its origin, and what of a request its key holds.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_http::Known;
use myriad_policy::{KeyedInput, SharedFetch};
use myriad_script::{Builtin, Template};

use super::Compile;
use myriad_cache::shared_fetch::{self, SharedFetchSettings};
use myriad_exchange::exchange::variables::VariableNames;
use myriad_exchange::runtime::{CachePlace, Caches, FieldRead, Place, Reads};

/// Finds out for each place whether its key follows from the visitor's browser: then the origin is told its class of devices.
/// Maps are looked through; what `set` or a regex made may come of the browser wherever the rules read that at all.
pub(super) fn tell_devices(places: &mut [Place], names: &VariableNames, read_by_rules: &BTreeSet<Builtin>) {
    let is_browser = |id: Builtin| {
        let variable = names.variable(id);
        variable.field() == Some(FieldRead::Known(Known::UserAgent))
            || variable.reads(Reads::FromField(Known::UserAgent))
    };
    if !read_by_rules.iter().any(|id| is_browser(*id)) {
        return;
    }
    let tell = |cache: &mut Arc<CachePlace>| {
        let cache = Arc::get_mut(cache).expect("nobody has a place while it is compiled");
        cache.rules.shared_fetch.device = !cache.key.reads_only(|id| !is_browser(id));
    };
    for place in places {
        let Some(origin) = place.handler.origin_mut() else { continue };
        match &mut origin.cache {
            Caches::None => {}
            Caches::One(cache) => tell(cache),
            Caches::Named(named) => named.places.iter_mut().for_each(|(_, cache)| tell(cache)),
        }
    }
}

impl Compile<'_> {
    /// The rules of a place, but for what only the whole configuration shows ([`tell_devices`]). A field or cookie that the
    /// key reads as it was sent is told apart by it, so that it goes to the origin.
    pub(super) fn shared_fetch(&mut self, settings: &Settings, key: &Template) -> SharedFetch {
        let shared = settings.feature::<SharedFetchSettings>();
        let names = self.scripts.catalogue();
        let read = RefCell::new(Vec::new());
        key.reads(|id| {
            read.borrow_mut().push(id);
            false
        });
        let mut fields: Vec<Box<[u8]>> =
            shared.fields.iter().map(|name| name.bytes().to_ascii_lowercase().into()).collect();
        let mut cookies = Vec::new();
        for variable in read.into_inner().into_iter().map(|id| names.variable(id)) {
            fields.extend(variable.field().map(|field| match field {
                FieldRead::Known(known) => known.as_str().to_ascii_lowercase().into_bytes().into(),
                FieldRead::Other(name) => name,
            }));
            cookies.extend(variable.cookie().map(|name| name.as_bytes().into()));
        }
        if myriad_otel::injects(settings) {
            // It is this server's own, whatever the visitor sent; `tracestate`, which is a visitor's text, stays here.
            fields.push(b"traceparent".as_slice().into());
        }
        let keyed = shared.keyed.iter().map(|input| self.keyed_input(input)).collect();
        SharedFetch { on: shared.on, fields, cookies, device: false, keyed }
    }

    fn keyed_input(&mut self, input: &shared_fetch::KeyedInput) -> KeyedInput {
        // What the rules of a place read is what requests are told apart by before their key is made.
        let name = input.name.lossy().to_ascii_lowercase().replace('-', "_");
        let variable = if input.cookie { "$http_cookie".to_owned() } else { format!("$http_{name}") };
        self.in_rules(|compile| compile.template(&Text::new(variable, input.name.span)));
        KeyedInput {
            cookie: input.cookie,
            name: input.name.bytes().into(),
            values: input.values.iter().map(|value| value.bytes().into()).collect(),
        }
    }
}
