//! How origins are asked: parameters, time-outs, groups.

use std::sync::Arc;

use myriad_conf::model::{Balance as BalanceConf, UpstreamAddress, UpstreamConf};
use myriad_conf::settings::{CacheZone, OriginSettings, Protocol, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_script::Template;
use myriad_upstream::{
    Address, Balance, Group, GroupConfig, KeepAlive, NextUpstream, PeerConfig, Queue, Timeouts,
};

use super::Compile;
use crate::content::HTTP_IDLE;
use crate::runtime::{OriginGroup, OriginPlace, Param, Target};

impl Compile<'_> {
    pub(super) fn origin(
        &mut self,
        settings: &Settings,
        protocol: Protocol,
        (target, prefix): (&Text, &Text),
    ) -> OriginPlace {
        let origin = settings.origin(protocol);
        let mut pass = lower(&origin.pass_headers);
        // RFC 9111 section 5.1: `Age` is counted from the origin's own `Date`.
        if settings.cache_rules.rfc9111 && !matches!(origin.cache.zone, CacheZone::Off) {
            pass.push(b"date"[..].into());
        }
        let http = (protocol == Protocol::Http).then(|| Box::new(self.proxy(settings, target, prefix)));
        OriginPlace {
            target: match &http {
                Some(http) => self.proxy_target(target, http),
                None => self.target(target),
            },
            params: if http.is_some() { Vec::new() } else { self.params(origin) },
            http,
            pass_trailers: origin.pass_trailers,
            bind: origin.bind.as_ref().map(|bind| self.template(bind)),
            pass_request_headers: origin.pass_request_headers,
            pass_request_body: origin.pass_request_body,
            index: origin.index.as_ref().map_or(&b""[..], Text::bytes).into(),
            split_path_info: origin
                .split_path_info
                .as_ref()
                .and_then(|pattern| self.split_path_info(pattern)),
            hide: hidden(origin),
            passes_head: pass.iter().any(|name| [&b"server"[..], b"date"].contains(&&**name)),
            pass,
            passes_interim: settings.cache_rules.rfc9111,
            intercept_errors: origin.intercept_errors,
            ignore_client_abort: origin.ignore_client_abort,
            buffering: origin.buffering,
            ahead_memory: origin.buffer_size + origin.buffers.size * u64::from(origin.buffers.count),
            ahead_file: origin.max_temp_file_size,
            limit_rate: (origin.limit_rate.bytes() != b"0").then(|| self.template(&origin.limit_rate)),
            force_ranges: origin.force_ranges,
            request_buffering: origin.request_buffering,
            keep_conn: origin.keep_conn,
            ignore_accel: origin.ignore_headers.accel,
            timeouts: Timeouts {
                connect_ms: origin.connect_timeout,
                send_ms: origin.send_timeout,
                read_ms: origin.read_timeout,
            },
            next: next_upstream(origin),
            head_bytes: (origin.buffer_size.max(16 << 10)) as usize,
            cache: self.cache(settings, origin),
            catch_stderr: origin.catch_stderr.iter().map(|text| text.bytes().into()).collect(),
        }
    }

    fn params(&mut self, origin: &OriginSettings) -> Vec<Param> {
        let params = origin.parameters.iter();
        params
            .map(|param| Param {
                name: param.name.bytes().into(),
                value: self.template(&param.value),
                if_not_empty: param.if_not_empty,
            })
            .collect()
    }

    fn split_path_info(&mut self, pattern: &Text) -> Option<myriad_script::Regex> {
        let source = self.utf8(pattern);
        match self.scripts.regex(source, false) {
            Ok(regex) => Some(regex),
            Err(error) => {
                self.fail(pattern.span, error);
                None
            }
        }
    }

    fn target(&mut self, target: &Text) -> Target {
        if target.has_variables() {
            return Target::Variable(self.template(target));
        }
        self.address(&target.lossy(), target)
    }

    /// The group of that name, else one made of an address.
    pub(super) fn address(&mut self, name: &str, target: &Text) -> Target {
        if let Some(group) = self.groups.get(name) {
            return Target::Group(Arc::clone(group));
        }
        let config = self.single(name, target);
        Target::Group(self.add_group(config, None))
    }

    /// The `upstream` block of that name, without regard to case.
    pub(super) fn named_upstream(&self, name: &str) -> Option<Arc<OriginGroup>> {
        let upstream =
            self.http.upstreams.iter().find(|upstream| upstream.name.eq_ignore_ascii_case(name))?;
        self.groups.get(&upstream.name).map(Arc::clone)
    }

    /// Compiles every `upstream` block, so that a variable may name any of them.
    pub(super) fn upstreams(&mut self) {
        for upstream in &self.http.upstreams {
            let key = match &upstream.balance {
                BalanceConf::Hash { key, .. } => Some(self.template(key)),
                _ => None,
            };
            let config = self.upstream(upstream);
            self.add_group(config, key);
        }
    }

    fn add_group(&mut self, config: GroupConfig, key: Option<Template>) -> Arc<OriginGroup> {
        let name = config.name.clone();
        let group = Arc::new(OriginGroup { group: Group::new(config, &self.around.kept.peers), key });
        self.groups.insert(name, Arc::clone(&group));
        group
    }

    /// An address, or a name that resolves to some.
    fn single(&mut self, name: &str, target: &Text) -> GroupConfig {
        let peers = match Address::resolve(name, None) {
            Ok(addresses) => addresses.into_iter().map(PeerConfig::new).collect(),
            Err(error) => {
                let host = name.split(':').next().unwrap_or(name);
                let error = Diagnostic::error(target.span, format!("{error} in \"{name}\"")).undefined(host);
                self.errors.push(error.help(
                    "give unix:/path/of/the.sock, an address and a port, or the name of an upstream block",
                ));
                Vec::new()
            }
        };
        GroupConfig {
            name: name.to_owned(),
            peers,
            balance: Balance::default(),
            keepalive: KeepAlive { connections: 2, http: HTTP_IDLE, ..KeepAlive::default() },
            queue: None,
        }
    }

    fn upstream(&mut self, upstream: &UpstreamConf) -> GroupConfig {
        let mut peers = Vec::new();
        for server in &upstream.servers {
            let addresses = match &server.address {
                UpstreamAddress::Ip(address) => vec![Address::Tcp(*address)],
                UpstreamAddress::Unix(path) => {
                    vec![Address::Unix(myriad_files::as_path(path).to_owned())]
                }
                UpstreamAddress::Host(host, port) => {
                    match Address::resolve(&format!("{host}:{port}"), None) {
                        Ok(addresses) => addresses,
                        Err(error) => {
                            self.errors.push(Diagnostic::error(server.name.span, error.to_string()));
                            Vec::new()
                        }
                    }
                }
            };
            peers.extend(addresses.into_iter().map(|address| PeerConfig {
                address,
                name: server.name.lossy().into_owned(),
                weight: server.weight,
                max_fails: server.max_fails,
                fail_timeout_ms: server.fail_timeout,
                backup: server.backup,
                down: server.down,
                max_conns: server.max_conns,
            }));
        }
        GroupConfig {
            name: upstream.name.clone(),
            peers,
            balance: match upstream.balance {
                BalanceConf::LeastConnections => Balance::LeastConn,
                BalanceConf::IpHash => Balance::IpHash,
                BalanceConf::Hash { consistent: false, .. } => Balance::Hash,
                BalanceConf::Hash { consistent: true, .. } => Balance::ConsistentHash,
                BalanceConf::LeastTime { whole } => Balance::LeastTime { whole },
                BalanceConf::Random { two: false } => Balance::Random,
                BalanceConf::Random { two: true } => Balance::RandomTwo,
                BalanceConf::RoundRobin => Balance::RoundRobin,
            },
            keepalive: KeepAlive {
                connections: upstream.keepalive.unwrap_or(0) as usize,
                http: upstream.keepalive.map_or(HTTP_IDLE, |most| most as usize),
                requests: u32::try_from(upstream.keepalive_requests).unwrap_or(u32::MAX),
                time_ms: upstream.keepalive_time,
                timeout_ms: upstream.keepalive_timeout,
                ..KeepAlive::default()
            },
            queue: upstream.queue.map(|queue| Queue { most: queue.most as usize, timeout_ms: queue.timeout }),
        }
    }
}

/// Fields that end here: `*_hide_header`, and what an origin says to an accelerator that has announced itself.
pub(super) fn hidden(origin: &OriginSettings) -> Vec<Box<[u8]>> {
    let mut hidden = lower(&origin.hide_headers);
    if super::cache::announced(origin).surrogate.is_some() {
        hidden.push(b"surrogate-control"[..].into());
    }
    hidden
}

pub(super) fn lower(names: &[Text]) -> Vec<Box<[u8]>> {
    names.iter().map(|name| name.bytes().to_ascii_lowercase().into()).collect()
}

fn next_upstream(origin: &OriginSettings) -> NextUpstream {
    let next = origin.next_upstream;
    if next.off {
        return NextUpstream::OFF;
    }
    NextUpstream {
        error: next.error,
        timeout: next.timeout,
        invalid_header: next.invalid_header,
        http_500: next.http_500,
        http_502: next.http_502,
        http_503: next.http_503,
        http_504: next.http_504,
        http_403: next.http_403,
        http_404: next.http_404,
        http_429: next.http_429,
        non_idempotent: next.non_idempotent,
        tries: u32::try_from(origin.next_upstream_tries).unwrap_or(u32::MAX),
        timeout_ms: origin.next_upstream_timeout,
    }
}
