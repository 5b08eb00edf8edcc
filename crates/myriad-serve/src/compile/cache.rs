//! Compilation of cache zones and of the cache settings of locations.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::model::CacheZoneConf;
use myriad_conf::settings::{OriginSettings, Settings};
use myriad_http::Known;
use myriad_policy::{CachePolicy, ImpersonalCookies, Invalidate, PersonalCookies};
use myriad_script::{Predicates, Template};
use myriad_store::{DiskLimits, WorkPace, Zone, ZoneLimits};

use super::RuntimeCompiler;
use super::fields::{announcement, hidden_fields, lowercase_names};
use crate::machine;
use myriad_admin::purge;
use myriad_cache::device_class::DeviceClass;
use myriad_cache::settings::{CacheRules, CacheSettings, CacheZone, cache_key};
use myriad_exchange::runtime::{CachePlace, Caches, FieldRead, NamedCaches, Reads};
use myriad_store::page::{FetchLimits, PageFolder, PageZone};

/// Bytes of `keys_zone` counted per cached file, to convert the size of the zone to a number of files: nginx documents
/// 8000 keys per megabyte.
const KEY_BYTES: u64 = 128;

impl RuntimeCompiler<'_> {
    pub(super) fn cache(&mut self, settings: &Settings, origin: &OriginSettings) -> Caches {
        let CacheZone::Zone(name) = &origin.own::<CacheSettings>().zone else { return Caches::None };
        if !name.has_variables() {
            return self
                .cache_in(&name.lossy(), settings, origin)
                .map_or(Caches::None, |cache| Caches::One(Arc::new(cache)));
        }
        let name = self.in_rules(|compile| compile.template(name));
        let zones: Vec<String> = self.http.cache_zones.iter().map(|zone| zone.name.clone()).collect();
        let places = zones.into_iter().filter_map(|zone| {
            let cache = self.cache_in(&zone, settings, origin)?;
            Some((zone, Arc::new(cache)))
        });
        Caches::Named(Box::new(NamedCaches { places: places.collect(), name }))
    }

    /// Returns the cache settings of a location that uses the zone named `zone`; `None` if no such zone is defined.
    fn cache_in(&mut self, zone: &str, settings: &Settings, origin: &OriginSettings) -> Option<CachePlace> {
        let number = self.http.cache_zones.iter().position(|conf| conf.name == zone)?;
        let zone = self.zone(zone)?;
        let cache = origin.own::<CacheSettings>();
        let key = self.in_rules(|compile| compile.template(&cache_key(origin)));
        let names = self.scripts.catalogue();
        let host_in_key = key.reads(|id| names.variable(id).field() == Some(FieldRead::Known(Known::Host)))
            || origin.request.parameters.iter().any(|param| param.name.bytes() == b"HTTP_HOST");
        let uri_in_key = key.reads(|id| names.variable(id).reads(Reads::Uri));
        let rules = self.rules(settings, origin, &key);
        Some(CachePlace {
            zone,
            zone_number: u16::try_from(number).unwrap_or(u16::MAX),
            key,
            bypass: self.in_rules(|compile| compile.predicates(&cache.bypass)),
            share: self.predicates(&cache.share),
            no_cache: self.predicates(&cache.no_cache),
            rules,
            max_range_offset: cache.max_range_offset,
            host_in_key,
            uri_in_key,
            #[cfg(feature = "optimizer")]
            optimize: myriad_cache::optimize::settings_id(settings),
            #[cfg(not(feature = "optimizer"))]
            optimize: 0,
            no_vary_search: settings.feature::<CacheRules>().no_vary_search,
            no_vary_search_line: settings.feature::<CacheRules>().no_vary_search_default.clone(),
            convert_head: cache.convert_head.unwrap_or(true),
            purge: purge::rules(self, settings),
            valid_texts: self.valid_texts(origin),
        })
    }

    fn valid_texts(&mut self, origin: &OriginSettings) -> Option<Box<[Option<Template>]>> {
        let valid = &origin.own::<CacheSettings>().valid;
        valid
            .iter()
            .any(|valid| valid.text.is_some())
            .then(|| valid.iter().map(|valid| valid.text.as_ref().map(|text| self.template(text))).collect())
    }

    pub(super) fn predicates(&mut self, texts: &[Text]) -> Predicates {
        Predicates::new(texts.iter().map(|text| self.template(text)).collect())
    }

    fn rules(&mut self, settings: &Settings, origin: &OriginSettings, key: &Template) -> CachePolicy {
        let cache = origin.own::<CacheSettings>();
        let CacheRules {
            personal_cookies: cookies,
            impersonal_cookies,
            rfc9111,
            leak_guard,
            leak_sampling,
            ..
        } = settings.feature::<CacheRules>();
        let (names, impersonal) = (lossy(&cookies.names), lossy(impersonal_cookies));
        let names_catalogue = self.scripts.catalogue();
        let holds = |what: Reads| key.reads(|id| names_catalogue.variable(id).reads(what));
        let holds_field = |known: Known| {
            key.reads(|id| names_catalogue.variable(id).field() == Some(FieldRead::Known(known)))
        };
        // With all cookies in the key, clients with different cookies share no page.
        let cookies_in_key = holds_field(Known::Cookie);
        let authorization_in_key = holds_field(Known::Authorization) || holds(Reads::User);
        let personal = if cookies_in_key {
            PersonalCookies::none()
        } else {
            PersonalCookies::new(cookies.builtin, names.iter().map(String::as_str))
        };
        CachePolicy {
            valid: cache.valid.iter().map(|valid| valid.valid).collect(),
            ignore: origin.answer.ignore,
            methods: cache.methods,
            min_uses: cache.min_uses,
            use_stale: cache.use_stale,
            lock: cache.lock.then_some(cache.lock_rules),
            background_update: cache.background_update,
            revalidate: cache.revalidate || *rfc9111,
            personal,
            impersonal: ImpersonalCookies::new(impersonal.iter().map(String::as_str)),
            authorization_in_key,
            rfc9111: *rfc9111,
            leak_guard: *leak_guard,
            leak_sampling: *leak_sampling,
            device_class: settings.feature::<DeviceClass>().on,
            announced: announcement(origin),
            shared_fetch: self.shared_fetch(settings, key),
            adaptive_min_ms: cache.adaptive,
            grace: cache.stale,
            invalidate: if *rfc9111 { Invalidate::Everything } else { cache.invalidate },
            negative: cache.negative.clone(),
            hide: hidden_fields(settings, origin),
            pass: lowercase_names(&origin.answer.pass),
        }
    }

    /// Returns the zone named `name`: an existing one (of the previous configuration, or of an earlier call) if its
    /// path and `levels` are unchanged, with the limits of this configuration; otherwise a new one. Returns `None` if
    /// the configuration does not define it.
    pub(super) fn zone(&mut self, name: &str) -> Option<Arc<PageZone>> {
        let conf = self.http.cache_zones.iter().find(|zone| zone.name == name)?;
        let limits = self.limits(conf);
        let bounds = FetchLimits { max_running: conf.max_fetches as usize, queue: conf.fetch_queue as usize };
        // Normalized, so that paths that differ only in `.` components compare equal.
        let path = self.environment.prefix.join(&*conf.path.lossy()).components().collect();
        let folder = PageFolder { path, levels: conf.levels.clone() };
        if let Some(zone) = self.environment.retained.zones.get(name)
            // With another path or folder structure it is a different zone.
            && zone.folder == folder
        {
            zone.zone.resize(limits);
            zone.fetches.set_limits(bounds);
            return Some(Arc::clone(zone));
        }
        let zone = Arc::new(PageZone::new(Zone::new(name, limits), folder));
        zone.fetches.set_limits(bounds);
        self.environment.retained.zones.insert(name.to_owned(), Arc::clone(&zone));
        Some(zone)
    }

    /// Returns the disk limits of each zone, by zone name.
    pub(super) fn disk_limits(&self) -> HashMap<String, DiskLimits> {
        self.http.cache_zones.iter().map(|conf| (conf.name.clone(), disk_limits(conf))).collect()
    }

    /// Returns the limits of a zone's memory tier: its `memory=`, or else an equal share of one eighth of the memory
    /// that is available to the process, among all zones without `memory=`; and its `inactive=`.
    fn limits(&self, conf: &CacheZoneConf) -> ZoneLimits {
        let unsized_zones = self.http.cache_zones.iter().filter(|zone| zone.memory.is_none()).count().max(1);
        let share = machine::available_memory() / 8 / unsized_zones as u64;
        let memory_bytes = conf.memory.unwrap_or(share) as usize;
        ZoneLimits { memory_bytes, inactive_ms: conf.inactive, ..ZoneLimits::default() }
    }
}

fn lossy(names: &[Text]) -> Vec<String> {
    names.iter().map(|name| name.lossy().into_owned()).collect()
}

fn disk_limits(conf: &CacheZoneConf) -> DiskLimits {
    DiskLimits {
        max_bytes: conf.max_size.unwrap_or(u64::MAX),
        min_free_bytes: conf.min_free,
        max_files: usize::try_from(conf.keys_zone_size / KEY_BYTES).unwrap_or(usize::MAX),
        loader: WorkPace {
            files: conf.loader_files,
            sleep_ms: conf.loader_sleep,
            threshold_ms: conf.loader_threshold,
        },
        manager: WorkPace {
            files: conf.manager_files,
            sleep_ms: conf.manager_sleep,
            threshold_ms: conf.manager_threshold,
        },
    }
}
