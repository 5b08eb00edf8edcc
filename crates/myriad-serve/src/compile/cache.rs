//! Cache zones, and what a location says of caching.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::Text;
use myriad_conf::model::CacheZoneConf;
use myriad_conf::settings::{
    CacheInvalidate, CacheStatus, CacheZone, OriginSettings, Protocol, Settings, StaleWhen,
};
use myriad_policy::{
    Announced, Grace, IgnoreHeaders, Invalidate, LockRules, Methods, PersonalCookies, Rules, StatusMatch,
    UseStale, ValidFor,
};
use myriad_script::{Predicates, Template};
use myriad_store::{DiskLimits, Pace, Zone, ZoneLimits};

use super::Compile;
use super::origin::lower;
use crate::exchange::variables::Source;
use crate::runtime::{CachePlace, Caches, FetchBounds, NamedCaches, PageFolder, PageZone};

/// Bytes of `keys_zone` that count for one file: nginx documents 8000 keys in a megabyte.
const KEY_BYTES: u64 = 128;

impl Compile<'_> {
    pub(super) fn cache(&mut self, settings: &Settings, origin: &OriginSettings) -> Caches {
        let CacheZone::Zone(name) = &origin.cache.zone else { return Caches::None };
        if !name.has_variables() {
            return self.cache_in(&name.lossy(), settings, origin).map_or(Caches::None, Caches::One);
        }
        let name = self.in_rules(|compile| compile.template(name));
        let zones: Vec<String> = self.http.cache_zones.iter().map(|zone| zone.name.clone()).collect();
        let places = zones.into_iter().filter_map(|zone| {
            let cache = self.cache_in(&zone, settings, origin)?;
            Some((zone, cache))
        });
        Caches::Named(Box::new(NamedCaches { places: places.collect(), name }))
    }

    /// The cache of a place in the zone of that name.
    fn cache_in(&mut self, zone: &str, settings: &Settings, origin: &OriginSettings) -> Option<CachePlace> {
        let number = self.http.cache_zones.iter().position(|conf| conf.name == zone)?;
        let zone = self.zone(zone)?;
        let cache = &origin.cache;
        let key = match &cache.key {
            Some(key) => self.in_rules(|compile| compile.template(key)),
            None => Template::constant(b""),
        };
        let names = self.scripts.catalogue();
        let host_in_key = key.reads(|id| *names.source(id) == Source::Field(myriad_http::Known::Host))
            || origin.parameters.iter().any(|param| param.name.bytes() == b"HTTP_HOST");
        let uri_in_key = key.reads(|id| {
            matches!(
                names.source(id),
                Source::Uri | Source::ProxyUri | Source::FastCgiScriptName | Source::RequestFilename
            )
        });
        let rules = self.rules(settings, origin, &key);
        Some(CachePlace {
            zone,
            zone_number: u16::try_from(number).unwrap_or(u16::MAX),
            key,
            bypass: self.in_rules(|compile| compile.predicates(&cache.bypass)),
            no_cache: self.predicates(&cache.no_cache),
            rules,
            max_range_offset: cache.max_range_offset,
            host_in_key,
            uri_in_key,
            convert_head: cache.convert_head,
            purge: self.purge(settings),
            valid_texts: self.valid_texts(origin),
        })
    }

    fn valid_texts(&mut self, origin: &OriginSettings) -> Option<Box<[Option<Template>]>> {
        let valid = &origin.cache.valid;
        valid
            .iter()
            .any(|valid| valid.text.is_some())
            .then(|| valid.iter().map(|valid| valid.text.as_ref().map(|text| self.template(text))).collect())
    }

    pub(super) fn predicates(&mut self, texts: &[Text]) -> Predicates {
        Predicates::new(texts.iter().map(|text| self.template(text)).collect())
    }

    fn rules(&mut self, settings: &Settings, origin: &OriginSettings, key: &Template) -> Rules {
        let cache = &origin.cache;
        let cookies = &settings.cache_rules.personal_cookies;
        let names: Vec<String> = cookies.names.iter().map(|name| name.lossy().into_owned()).collect();
        let names_catalogue = self.scripts.catalogue();
        let reads = |wanted: fn(&Source) -> bool| key.reads(|id| wanted(names_catalogue.source(id)));
        // A key that holds all cookies makes no page shared between visitors who differ in one.
        let cookies_in_key = reads(|source| matches!(source, Source::Field(myriad_http::Known::Cookie)));
        let authorization_in_key = reads(|source| {
            matches!(source, Source::Field(myriad_http::Known::Authorization) | Source::RemoteUser)
        });
        let personal = if cookies_in_key {
            PersonalCookies::none()
        } else {
            PersonalCookies::new(cookies.builtin, names.iter().map(String::as_str))
        };
        let ignore = &origin.ignore_headers;
        Rules {
            valid: cache
                .valid
                .iter()
                .map(|valid| ValidFor {
                    status: match valid.status {
                        CacheStatus::Any => StatusMatch::Any,
                        CacheStatus::Code(code) => StatusMatch::Code(code),
                    },
                    ms: valid.valid,
                })
                .collect(),
            ignore: IgnoreHeaders {
                cache_control: ignore.cache_control,
                expires: ignore.expires,
                set_cookie: ignore.set_cookie,
                vary: ignore.vary,
                x_accel_expires: ignore.accel.expires,
            },
            methods: Methods { post: cache.methods.post },
            min_uses: cache.min_uses,
            use_stale: use_stale(cache.use_stale),
            lock: cache
                .lock
                .unwrap_or(true)
                .then_some(LockRules { timeout_ms: cache.lock_timeout, age_ms: cache.lock_age }),
            background_update: cache.background_update,
            revalidate: cache.revalidate || settings.cache_rules.rfc9111,
            personal,
            authorization_in_key,
            rfc9111: settings.cache_rules.rfc9111,
            device_class: settings.cache_rules.device_class,
            announced: announced(origin),
            shared_fetch: self.shared_fetch(settings, key),
            grace: cache.stale.map_or_else(Grace::default, |stale| Grace {
                refresh_ms: stale.refresh,
                failure_ms: stale.failure,
            }),
            invalidate: match cache.invalidate {
                _ if settings.cache_rules.rfc9111 => Invalidate::Everything,
                CacheInvalidate::Off => Invalidate::Nothing,
                CacheInvalidate::Redirect => Invalidate::Redirects,
                CacheInvalidate::On => Invalidate::Everything,
            },
            negative: cache.negative.clone(),
            hide: super::origin::hidden(origin),
            pass: lower(&origin.pass_headers),
        }
    }

    /// The zone of that name, kept from before a reload or made now.
    pub(super) fn zone(&mut self, name: &str) -> Option<Arc<PageZone>> {
        let conf = self.http.cache_zones.iter().find(|zone| zone.name == name)?;
        let limits = self.limits(conf);
        let bounds = FetchBounds { most: conf.max_fetches as usize, queue: conf.fetch_queue as usize };
        // As people would write it: without `.` on the way.
        let path = self.around.prefix.join(&*conf.path.lossy()).components().collect();
        let folder = PageFolder { path, levels: conf.levels.clone() };
        if let Some(zone) = self.around.kept.zones.get(name)
            // Elsewhere, or otherwise arranged, it is another zone.
            && zone.folder == folder
        {
            zone.zone.resize(limits);
            zone.fetches.bound(bounds);
            return Some(Arc::clone(zone));
        }
        let zone = Arc::new(PageZone::new(Zone::new(name, limits), folder));
        zone.fetches.bound(bounds);
        self.around.kept.zones.insert(name.to_owned(), Arc::clone(&zone));
        Some(zone)
    }

    /// What the files of each zone may take.
    pub(super) fn disk_limits(&self) -> HashMap<String, DiskLimits> {
        self.http.cache_zones.iter().map(|conf| (conf.name.clone(), disk_limits(conf))).collect()
    }

    /// All zones without `memory=` share an eighth of the machine's memory.
    fn limits(&self, conf: &CacheZoneConf) -> ZoneLimits {
        let unsized_zones = self.http.cache_zones.iter().filter(|zone| zone.memory.is_none()).count().max(1);
        let share = machine_memory() / 8 / unsized_zones as u64;
        let memory_bytes = conf.memory.unwrap_or(share) as usize;
        ZoneLimits { memory_bytes, inactive_ms: conf.inactive, ..ZoneLimits::default() }
    }
}

/// What the requests to an origin announce: the fields that it may then say to this accelerator.
pub(super) fn announced(origin: &OriginSettings) -> Announced {
    let value = |names: [&str; 2]| {
        let mut set = origin.parameters.iter().filter(|param| match origin.protocol {
            Protocol::FastCgi => names.iter().any(|name| param.name.bytes() == name.as_bytes()),
            Protocol::Http => param.name.bytes().eq_ignore_ascii_case(names[1].as_bytes()),
        });
        set.next_back().map(|param| param.value.bytes()).filter(|value| !value.is_empty())
    };
    let capability = value(["HTTP_SURROGATE_CAPABILITY", "Surrogate-Capability"]);
    let token =
        |value: &[u8]| value.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii().into();
    Announced { surrogate: capability.map(token), litespeed: value(["X-LSCACHE", "X-LSCACHE"]).is_some() }
}

fn disk_limits(conf: &CacheZoneConf) -> DiskLimits {
    DiskLimits {
        max_bytes: conf.max_size.unwrap_or(u64::MAX),
        min_free_bytes: conf.min_free,
        max_files: usize::try_from(conf.keys_zone_size / KEY_BYTES).unwrap_or(usize::MAX),
        loader: Pace {
            files: conf.loader_files,
            sleep_ms: conf.loader_sleep,
            threshold_ms: conf.loader_threshold,
        },
        manager: Pace {
            files: conf.manager_files,
            sleep_ms: conf.manager_sleep,
            threshold_ms: conf.manager_threshold,
        },
    }
}

fn use_stale(when: StaleWhen) -> UseStale {
    UseStale {
        error: when.error,
        timeout: when.timeout,
        invalid_header: when.invalid_header,
        updating: when.updating,
        http_500: when.http_500,
        http_502: when.http_502,
        http_503: when.http_503,
        http_504: when.http_504,
        http_403: when.http_403,
        http_404: when.http_404,
        http_429: when.http_429,
    }
}

/// Bytes of memory that this machine, or the control group around the process, allows.
fn machine_memory() -> u64 {
    let whole = rustix::system::sysinfo();
    let whole = whole.totalram as u64 * u64::from(whole.mem_unit.max(1));
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    limit.unwrap_or(u64::MAX).min(whole)
}
