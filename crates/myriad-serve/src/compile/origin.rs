//! Compilation of origin settings: parameters, timeouts, upstream groups.

use std::sync::Arc;

use myriad_conf::model::{Balance, Sticky};
use myriad_conf::settings::{Buffers, OriginBufferingSettings, OriginSettings, Protocol, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_script::Template;
use myriad_upstream::{Group, GroupConfig, KeepAlive, PeerAddress, PeerConfig, Timeouts};

use super::RuntimeCompiler;
use super::fields::{hidden_fields, lowercase_names};
use myriad_cache::settings::{CacheRules, CacheSettings, CacheZone};
use myriad_exchange::runtime::{
    AheadRules, AnswerRules, FetchRules, OriginGroup, OriginPlace, RequestRules, StickyCookiePlace,
    StickyLearnPlace, StickyPlace,
};
use myriad_origin::group::HTTP_IDLE;
use myriad_origin::{protocols, store};

impl RuntimeCompiler<'_> {
    /// Compiles the origin settings of a location. `passed` is the argument of `*_pass` and the prefix of the location.
    /// Errors are recorded. Returns `None` for an unregistered protocol, which cannot occur.
    pub(super) fn origin(
        &mut self,
        settings: &Settings,
        protocol: Protocol,
        passed: (&Text, &Text),
    ) -> Option<OriginPlace> {
        let origin = settings.origin(protocol);
        let (target, protocol) = protocols::compiled(protocol, self, settings, passed)?;
        let store = store::rules(self, origin);
        if let Some(store) =
            store.as_ref().filter(|_| !matches!(origin.own::<CacheSettings>().zone, CacheZone::Off))
        {
            let prefix = origin.protocol.prefix();
            let message = format!("\"{prefix}store\" is incompatible with \"{prefix}cache\"");
            let help =
                format!("write `{prefix}store off;` where the cache is enabled, or `{prefix}cache off;`");
            self.errors.push(Diagnostic::error(store.written, message).help(help));
        }
        Some(OriginPlace {
            target,
            protocol,
            request: RequestRules {
                pass_fields: origin.request.pass_fields,
                pass_body: origin.request.pass_body,
                buffering: origin.request.buffering,
            },
            answer: answer_rules(settings, origin),
            fetch: self.fetch_rules(origin),
            ahead: self.ahead_rules(&origin.buffering),
            cache: self.cache(settings, origin),
            store,
        })
    }

    fn ahead_rules(&mut self, buffering: &OriginBufferingSettings) -> AheadRules {
        let Buffers { count, size } = buffering.buffers;
        let limit_rate = &buffering.limit_rate;
        AheadRules {
            on: buffering.on,
            memory: buffering.head_size + size * u64::from(count),
            file: buffering.max_file_size,
            limit_rate: (limit_rate.bytes() != b"0").then(|| self.template(limit_rate)),
        }
    }

    fn fetch_rules(&mut self, origin: &OriginSettings) -> FetchRules {
        let connection = &origin.connection;
        FetchRules {
            timeouts: Timeouts {
                connect_ms: connection.connect_timeout,
                send_ms: connection.send_timeout,
                read_ms: connection.read_timeout,
            },
            next: origin.next_upstream,
            bind: connection.bind.as_ref().map(|bind| self.template(bind)),
            head_bytes: (origin.buffering.head_size.max(16 << 10)) as usize,
            to_the_end: connection.to_the_end,
        }
    }

    /// Compiles every `upstream` block, also those that no `*_pass` names: a variable may name any of them.
    pub(super) fn upstreams(&mut self) {
        for upstream in &self.http.upstreams {
            let key =
                self.after_all_rules(|compile| upstream.hash_key.as_ref().map(|key| compile.template(key)));
            let resolver = self.resolver(&upstream.settings);
            let resolver = resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms));
            let config = GroupConfig::from_upstream(
                upstream,
                HTTP_IDLE,
                resolver,
                self.environment.prefix,
                &mut self.errors,
            );
            let sticky = self.after_all_rules(|compile| {
                let sticky = upstream.sticky.as_ref();
                sticky.map(|sticky| compile.sticky(&upstream.name, sticky))
            });
            self.add_group(config, key, sticky);
        }
    }

    pub(super) fn add_group(
        &mut self,
        config: GroupConfig,
        key: Option<Template>,
        sticky: Option<StickyPlace>,
    ) -> Arc<OriginGroup> {
        let name = config.name.clone();
        let group = Arc::new(OriginGroup {
            group: Group::new(config, &self.environment.retained.peers),
            key,
            sticky,
        });
        self.groups.insert(name, Arc::clone(&group));
        group
    }

    fn sticky(&mut self, group: &str, sticky: &Sticky) -> StickyPlace {
        let cookie = match sticky {
            Sticky::Route(names) => {
                return StickyPlace::Route(names.iter().map(|name| self.template(name)).collect());
            }
            Sticky::Learn(learn) => {
                let sessions = self.environment.retained.peers.sessions(group, &learn.zone, learn.zone_size);
                return StickyPlace::Learn(StickyLearnPlace {
                    create: learn.create.iter().map(|name| self.template(name)).collect(),
                    lookup: learn.lookup.iter().map(|name| self.template(name)).collect(),
                    sessions,
                    timeout_ms: learn.timeout,
                    at_head: learn.at_head,
                });
            }
            Sticky::Cookie(cookie) => cookie,
        };
        let flags = [(cookie.http_only, "; httponly"), (cookie.secure, "; secure")];
        StickyPlace::Cookie(Box::new(StickyCookiePlace {
            name: cookie.name.as_str().into(),
            expires: cookie.expires,
            domain: cookie.domain.as_ref().map(|domain| self.template(domain)),
            same_site: cookie.same_site.as_ref().map(|same_site| self.template(same_site)),
            flags: flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect::<String>().into(),
            path: cookie.path.as_ref().map(|path| format!("; path={path}")).unwrap_or_default().into(),
        }))
    }

    /// Returns a group for a `*_pass` target that is no `upstream` block: one peer per address of `name`. Reports a
    /// name that cannot be resolved.
    pub(super) fn single_group(&mut self, name: &str, target: &Text) -> GroupConfig {
        let peers = match PeerAddress::resolve(name, None) {
            Ok(addresses) => addresses.into_iter().map(PeerConfig::new).collect(),
            Err(error) => {
                let host = name.split(':').next().unwrap_or(name);
                let error = Diagnostic::error(target.span, format!("{error} in \"{name}\"")).undefined(host);
                self.errors.push(error.help(
                    "write unix:/path/to/the.sock, an address with a port, or the name of an upstream block",
                ));
                Vec::new()
            }
        };
        GroupConfig {
            name: name.to_owned(),
            peers,
            balance: Balance::default(),
            keepalive: KeepAlive {
                connections: 2,
                http: HTTP_IDLE,
                is_implicit: true,
                ..KeepAlive::default()
            },
            queue: None,
            sticky: false,
            names: None,
            zone: None,
        }
    }
}

/// Returns the rules by which responses of the origin are forwarded to clients.
fn answer_rules(settings: &Settings, origin: &OriginSettings) -> AnswerRules {
    let mut pass = lowercase_names(&origin.answer.pass);
    let rfc9111 = settings.feature::<CacheRules>().rfc9111;
    // RFC 9111 section 5.1: `Age` is relative to the origin's `Date`.
    if rfc9111 && !matches!(origin.own::<CacheSettings>().zone, CacheZone::Off) {
        pass.push(b"date"[..].into());
    }
    AnswerRules {
        hide: hidden_fields(settings, origin),
        passes_head: pass.iter().any(|name| [&b"server"[..], b"date"].contains(&&**name)),
        pass,
        passes_interim: rfc9111,
        intercept_errors: origin.answer.intercept_errors,
        force_ranges: origin.answer.force_ranges,
        ignore_accel: origin.answer.ignore_accel,
    }
}
