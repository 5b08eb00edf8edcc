//! Parts of a client's request that are sent with a shared fetch, because the cache key contains them or the
//! configuration lists them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_http::Known;
use myriad_policy::{KeyedInput, SharedFetch};
use myriad_script::{Builtin, Template};

use super::RuntimeCompiler;
use myriad_cache::shared_fetch::{self, SharedFetchSettings};
use myriad_exchange::exchange::variables::VariableNames;
use myriad_exchange::runtime::{CachePlace, Caches, FieldRead, Place, Reads};

/// Sets for each place whether its cache key depends on `User-Agent`; the origin then receives the device class of the
/// client. Dependencies through maps are tracked exactly; values of `set` or of regex captures are assumed to depend on
/// `User-Agent` if the rules read it anywhere.
pub(super) fn set_device_dependence(
    places: &mut [Place],
    names: &VariableNames,
    read_by_rules: &BTreeSet<Builtin>,
) {
    let is_browser = |id: Builtin| {
        let variable = names.variable(id);
        variable.field() == Some(FieldRead::Known(Known::UserAgent))
            || variable.reads(Reads::FromField(Known::UserAgent))
    };
    if !read_by_rules.iter().any(|id| is_browser(*id)) {
        return;
    }
    let set_device = |cache: &mut Arc<CachePlace>| {
        let cache = Arc::get_mut(cache).expect("the place is not shared during compilation");
        cache.rules.shared_fetch.device = !cache.key.reads_only(|id| !is_browser(id));
    };
    for place in places {
        let Some(origin) = place.handler.origin_mut() else { continue };
        match &mut origin.cache {
            Caches::None => {}
            Caches::One(cache) => set_device(cache),
            Caches::Named(named) => named.places.iter_mut().for_each(|(_, cache)| set_device(cache)),
        }
    }
}

impl RuntimeCompiler<'_> {
    /// Returns the rules for the request headers and cookies of shared fetches of a place, without `device`, which
    /// [`set_device_dependence`] sets. They include each header and cookie that the cache key contains unchanged,
    /// because pages are distinguished by it.
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
        if crate::tracing::injects(settings) {
            // `traceparent` is set by this server, independently of the client. `tracestate`, a text of the client, is
            // not sent.
            fields.push(b"traceparent".as_slice().into());
        }
        let keyed = shared.keyed.iter().map(|input| self.keyed_input(input)).collect();
        SharedFetch { on: shared.on, fields, cookies, device: false, keyed }
    }

    fn keyed_input(&mut self, input: &shared_fetch::KeyedInput) -> KeyedInput {
        // A keyed input must be an input of the rules, so that the shortcut distinguishes requests by it.
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
