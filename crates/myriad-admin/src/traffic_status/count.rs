//! Counting of finished requests.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use myriad_conf::model::HttpConf;
use myriad_conf::settings::{Handler, Settings};
use myriad_log::LogLevel;
use myriad_script::{Frame, Template};

use super::display_settings::DisplaySettings;
use super::report::BEGAN_MS;
use super::settings::{MaxNodes, TrafficFilterConf, TrafficStatusSettings};
use myriad_exchange::exchange::{Counting, Exchange, Request, exchange_buffers};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_exchange::traffic::{KeyClass, Sample, TrafficCounts, TrafficKey, TrafficKind, TrafficTable};

/// Maximum length of a name under which requests are counted, such as a host or the key or group of a filter, in bytes;
/// longer names are truncated.
const LONGEST: usize = 1024;

/// Traffic counting rules of a location (`vhost_traffic_status_*`).
struct TrafficCount {
    by_host: bool,
    filters: Box<[TrafficFilter]>,
    ignored: [bool; 5],
    by_upstream: bool,
    all: Arc<TrafficRules>,
}

/// Traffic counting rules common to all locations of a configuration.
#[derive(Default)]
struct TrafficRules {
    /// Maximum total size of the names that clients can choose (hosts, filter keys, origins outside of `upstream`
    /// blocks), in bytes per worker.
    size: u64,
    most_nodes: MaxNodes,
    buckets: Arc<[u64]>,
    /// Names of the `upstream` blocks.
    upstreams: HashSet<String>,
}

/// Compiled `vhost_traffic_status_filter_by_set_key`: requests are counted under the value of `key`.
struct TrafficFilter {
    key: Template,
    group: Option<Template>,
}

impl TrafficRules {
    fn of(http: &HttpConf) -> Self {
        let settings = http.settings.feature::<TrafficStatusSettings>();
        Self {
            size: settings.zone.as_ref().map_or(0, |zone| zone.size),
            most_nodes: settings.most_nodes.clone(),
            buckets: settings.buckets.as_slice().into(),
            upstreams: http.upstreams.iter().map(|upstream| upstream.name.clone()).collect(),
        }
    }

    /// Returns the limit on the keys of filters in `group`: their number if it is limited for this group, otherwise
    /// their total size.
    fn key_limit(&self, group: &[u8]) -> KeyClass {
        let MaxNodes { number, beginnings } = &self.most_nodes;
        let is_meant =
            beginnings.is_empty() || beginnings.iter().any(|beginning| group.starts_with(beginning));
        if *number > 0 && is_meant { KeyClass::Number(*number) } else { KeyClass::Bytes(self.size) }
    }
}

/// Compiles the traffic counting rules of a level, and the settings of its status pages. Does nothing without
/// `vhost_traffic_status_zone`. Stores no counting rules with `vhost_traffic_status off` or
/// `vhost_traffic_status_bypass_stats on`.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let conf = settings.feature::<TrafficStatusSettings>();
    let Some(zone) = &conf.zone else { return };
    LazyLock::force(&BEGAN_MS);
    if matches!(settings.handler, Some(Handler::Feature(_))) {
        let upstreams = compiler.model().upstreams.iter().map(|upstream| upstream.name.clone());
        features.insert(DisplaySettings::of(conf, zone, upstreams.collect()));
    }
    if !conf.on || conf.passes_by {
        return;
    }
    let filters = if conf.filter { filters(compiler, conf) } else { Box::default() };
    let all = compiler.share(TrafficRules::of);
    features.insert::<Box<dyn Counting>>(Box::new(TrafficCount {
        by_host: conf.filter && conf.by_host,
        filters,
        ignored: conf.ignored,
        by_upstream: conf.by_upstream,
        all,
    }));
}

/// Returns the filters of `http`, then those of the level unless it inherits them. Duplicates are removed with
/// `vhost_traffic_status_filter_check_duplicate on`.
fn filters(compiler: &mut dyn SettingsCompiler, conf: &TrafficStatusSettings) -> Box<[TrafficFilter]> {
    let outer = &compiler.model().settings.feature::<TrafficStatusSettings>().filters;
    let own: &[TrafficFilterConf] = if *outer == conf.filters { &[] } else { &conf.filters };
    let mut texts: Vec<TrafficFilterConf> = Vec::new();
    for filter in outer.iter().chain(own) {
        let group = filter.group.as_ref().map(myriad_conf::Text::bytes);
        let is_same = |other: &TrafficFilterConf| {
            other.key.bytes() == filter.key.bytes()
                && other.group.as_ref().map(myriad_conf::Text::bytes) == group
        };
        if !conf.drops_duplicates || !texts.iter().any(is_same) {
            texts.push(filter.clone());
        }
    }
    // Like log lines, the keys are evaluated after the response, also for requests that used the shortcut.
    let compiled = texts.iter().map(|filter| TrafficFilter {
        key: compiler.answer_template(&filter.key),
        group: filter.group.as_ref().map(|group| compiler.answer_template(group)),
    });
    compiled.collect()
}

impl Counting for TrafficCount {
    fn count(&self, exchange: &mut Exchange) {
        let Exchange { request, frame } = exchange;
        let sample = sample(request);
        let class = usize::from(sample.status / 100).wrapping_sub(1);
        if self.ignored.get(class).is_some_and(|ignored| *ignored) {
            return;
        }
        self.count_server(request, &sample);
        self.count_cache(request, &sample);
        if self.by_upstream {
            self.count_origins(request, &sample);
        }
        for filter in &self.filters {
            self.count_filter(request, frame, filter, &sample);
        }
    }
}

/// Returns the name under which requests of a server are counted; `_` for a server without name.
pub(super) fn server_name(request: &Request) -> &[u8] {
    let name = &*request.server().name;
    if name.is_empty() { b"_" } else { name }
}

/// Returns the figures of a finished request that are counted: bytes, status, duration.
fn sample(request: &Request) -> Sample {
    let (outcome, sent) = (&request.outcome, &request.outcome.sent);
    Sample {
        status: if sent.status > 0 { sent.status } else { outcome.head.status },
        cache: request.cache.report.status,
        in_bytes: sent.request_bytes,
        out_bytes: sent.bytes,
        at_ms: outcome.finished_ms,
        request_ms: Some(outcome.finished_ms.saturating_sub(request.received.at_ms)),
        response_ms: None,
    }
}

impl TrafficCount {
    fn count_server(&self, request: &Request, sample: &Sample) {
        let (site, board) = (&request.site, &request.site.worker.counters.traffic);
        if self.by_host && !request.route.host.is_empty() {
            let host = &request.route.host;
            if let Some(counts) =
                self.find(board, TrafficKind::Server, b"", host, KeyClass::Bytes(self.all.size))
            {
                counts.add(sample);
            }
            return;
        }
        let find = || self.find(board, TrafficKind::Server, b"", server_name(request), KeyClass::Fixed);
        site.traffic.with(board, request.route.server as usize, find, |counts| counts.add(sample));
    }

    fn count_cache(&self, request: &Request, sample: &Sample) {
        let (site, board) = (&request.site, &request.site.worker.counters.traffic);
        let number = usize::from(request.cache.report.zone);
        if sample.cache.is_none() {
            return;
        }
        let Some(Some(zone)) = site.runtime.zone_list.get(number) else { return };
        let find = || self.find(board, TrafficKind::Cache, b"", zone.zone.name().as_bytes(), KeyClass::Fixed);
        // Indices of cache zones follow those of servers.
        let number = site.runtime.servers.len() + number;
        site.traffic.with(board, number, find, |counts| counts.add(sample));
    }

    /// Counts each attempt to contact an origin, except those for which no peer of the `upstream` was available: the
    /// last attempt with the figures of the client's request, the others with their own status and duration.
    fn count_origins(&self, request: &Request, sample: &Sample) {
        let Some(origin) = &request.origin else { return };
        let board = &request.site.worker.counters.traffic;
        let attempts = origin.attempts.get();
        for (index, attempt) in attempts.iter().enumerate() {
            if *attempt.address == *attempt.group && self.all.upstreams.contains(&*attempt.group) {
                continue; // No peer could be asked.
            }
            let (kind, zone, shelf) = if self.all.upstreams.contains(&*attempt.group) {
                (TrafficKind::Peer, attempt.group.as_bytes(), KeyClass::Fixed)
            } else {
                (TrafficKind::Origin, &b""[..], KeyClass::Bytes(self.all.size))
            };
            let Some(counts) = self.find(board, kind, zone, attempt.address.as_bytes(), shelf) else {
                continue;
            };
            let response_ms = attempt.response_ms;
            if index + 1 == attempts.len() {
                counts.add(&Sample { response_ms, ..*sample });
            } else {
                let (status, at_ms) = (attempt.status, sample.at_ms);
                counts.add(&Sample { status, at_ms, response_ms, ..Sample::default() });
            }
        }
    }

    fn count_filter(&self, request: &Request, frame: &mut Frame, filter: &TrafficFilter, sample: &Sample) {
        let evaluated = exchange_buffers::with_buffer(|key| {
            exchange_buffers::with_buffer(|group| {
                filter.key.eval(request, frame, key)?;
                if let Some(template) = &filter.group {
                    template.eval(request, frame, group)?;
                }
                // As in the module, a request with an empty key is not counted by the filter.
                if !key.is_empty() {
                    let kind = if filter.group.is_some() { TrafficKind::Filter } else { TrafficKind::Server };
                    let board = &request.site.worker.counters.traffic;
                    if let Some(counts) = self.find(board, kind, group, key, self.all.key_limit(group)) {
                        counts.add(sample);
                    }
                }
                Ok::<(), myriad_script::EvalError>(())
            })
        });
        if let Err(error) = evaluated {
            request.log(LogLevel::Error, format_args!("vhost_traffic_status_filter_by_set_key: {error}"));
        }
    }

    fn find(
        &self,
        board: &TrafficTable,
        kind: TrafficKind,
        zone: &[u8],
        name: &[u8],
        shelf: KeyClass,
    ) -> Option<Arc<TrafficCounts>> {
        exchange_buffers::with_buffer(|key| {
            let cut = |text: &'_ [u8]| text.len().min(LONGEST);
            TrafficKey::write(key, kind, &zone[..cut(zone)], &name[..cut(name)]);
            board.find(key, shelf, &self.all.buckets)
        })
    }
}
