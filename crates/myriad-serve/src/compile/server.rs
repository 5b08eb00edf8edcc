//! Compilation of `server` blocks: their names, locations and sockets.

use std::collections::HashMap;

use myriad_conf::Diagnostic;
use myriad_conf::model::{LocationConf, Matcher, ServerConf, ServerName};
use myriad_conf::settings::{ClientSettings, Handler, Settings};
use myriad_http::h1::HeadLimits;
use myriad_net::{Http2Limits, PreRoutingLimits};

use super::RuntimeCompiler;
use super::place::PlaceContext;
use super::timeouts::timeouts;
use super::traffic;
use crate::features::https_only;
use myriad_exchange::runtime::{HttpsOnly, ListenerHosts, Place, ServerId, VirtualServer};
use myriad_script::ServerNames;
use myriad_script::locations::Locations;

/// Upper bound of `http2_recv_buffer_size`, in bytes: each worker allocates one such buffer.
const MOST_AT_ONCE: usize = 16 << 20;

impl RuntimeCompiler<'_> {
    pub(super) fn server(&mut self, server: &ServerConf) -> VirtualServer {
        self.server_names.clone_from(&server.names);
        self.alt_svc = super::alt_svc::server_alt_svc(server);
        self.location_name.clear();
        let context = PlaceContext::default();
        let first = self.places.len();
        let place = self.place(&server.settings, &context, Default::default());
        let (rewrite, ifs) = self.program(&server.rewrite, &server.settings, &context);
        self.atlas.servers.push(server.span);
        let mut locations = Locations::default();
        for location in &server.locations {
            self.location(location, &mut locations);
        }
        locations.shrink_to_fit();
        let tls = self.tls(server);
        let tls_http3 = self.tls_http3(server, &tls);
        let clients = self.client_rules(server);
        if clients.is_some() {
            // The shortcut does not compare client certificates.
            self.verifying_places.push(first..self.places.len());
        }
        let https_only = self.https_only(server);
        VirtualServer {
            tls_http2: self.tls_http2(server, &tls),
            tls,
            https_only,
            http2: server.settings.http2.on,
            tls_http3,
            http3: (*server.settings.http3).clone(),
            clients,
            named: self.named_certificates(server),
            streams: stream_limits(&server.settings),
            traffic: traffic::server_zone(&self.environment.retained.traffic, server),
            name: server.primary_name.bytes().into(),
            place,
            rewrite,
            ifs: ifs.into(),
            routes_by_uri: locations.is_pure(),
            locations,
            limits: head_limits(&server.settings.client),
            tunnels: self.places[first..].iter().any(Place::tunnels),
            merge_slashes: server.settings.client.merge_slashes,
            purges: super::purge::server_purges(&self.places, place),
        }
    }

    fn https_only(&mut self, server: &ServerConf) -> Option<Box<HttpsOnly>> {
        let port = https_only::port(&server.settings)?;
        let ordered = server.settings.tls.certificates.iter().all(myriad_tls::is_ordered);
        Some(Box::new(HttpsOnly { port, awaits: self.acme_slot(server).filter(|_| ordered) }))
    }

    fn location(&mut self, location: &LocationConf, into: &mut Locations) {
        let context = PlaceContext { limit_except: location.limit_except.as_ref() };
        self.location_name = location.pattern.bytes().to_vec();
        let program = self.program(&location.rewrite, &location.settings, &context);
        let place = self.place(&location.settings, &context, program);
        self.name_location(place, location);
        let mut nested = Locations::default();
        for inner in &location.locations {
            self.location(inner, &mut nested);
        }
        let pattern = location.pattern.bytes();
        match location.matcher {
            Matcher::Exact => into.add_exact(pattern, place),
            Matcher::Named => into.add_named(pattern, place),
            Matcher::Prefix | Matcher::PrefixNoRegex => {
                let no_regex = location.matcher == Matcher::PrefixNoRegex;
                let redirects_bare = pattern.ends_with(b"/")
                    && matches!(location.settings.handler, Some(Handler::Origin { .. }));
                into.add_prefix(pattern, place, no_regex, redirects_bare, nested);
            }
            Matcher::Regex { caseless } => {
                let source = self.utf8(&location.pattern);
                match self.scripts.regex(source, caseless) {
                    Ok(regex) => into.add_regex(regex, place, nested),
                    Err(error) => self.report_script_error(location.pattern.span, error),
                }
            }
        }
    }

    /// Returns the servers of each listening socket, by listener number, and compiles their names.
    pub(super) fn listeners(&mut self) -> HashMap<u32, ListenerHosts> {
        let mut listeners: HashMap<u32, ListenerHosts> = HashMap::new();
        for (id, server) in self.http.servers.iter().enumerate() {
            if self.environment.listeners.is_empty() {
                // A configuration check opens no sockets, but the regexes among the server names must be valid.
                self.names(server, id as ServerId, &mut ServerNames::default());
            }
            for listen in &server.listens {
                let Some((number, ip)) = listen.socket_among(self.environment.listeners) else { continue };
                let id = id as ServerId;
                let listener = listeners.entry(number).or_default();
                listener.secure |= listen.ssl;
                listener.quic |= listen.quic;
                let hosts = listener.at(ip, id);
                if listen.default_server {
                    hosts.default = id;
                }
                hosts.proxy_protocol |= listen.proxy_protocol;
                hosts.http2 |= listen.http2;
                self.names(server, id, &mut hosts.names);
            }
        }
        for (name, number) in self.environment.listeners {
            if let Some(listener) = listeners.get_mut(number) {
                listener.name.clone_from(name);
            }
        }
        for listener in listeners.values_mut().filter(|listener| listener.quic) {
            let server = listener.first().and_then(|id| self.http.servers.get(id as usize));
            listener.quic_secret = server.and_then(|server| self.host_key(&server.settings.http3));
        }
        listeners
    }

    fn names(&mut self, server: &ServerConf, id: ServerId, names: &mut ServerNames) {
        for name in &server.names {
            match name {
                ServerName::Exact(name) => {
                    names.add_exact(name.as_bytes(), id);
                }
                ServerName::WildcardPrefix(suffix) => names.add_suffix(suffix.as_bytes(), id),
                ServerName::Dot(suffix) => {
                    names.add_exact(suffix.trim_start_matches('.').as_bytes(), id);
                    names.add_suffix(suffix.as_bytes(), id);
                }
                ServerName::WildcardSuffix(prefix) => names.add_prefix(prefix.as_bytes(), id),
                ServerName::Hostname => {
                    let name = rustix::system::uname().nodename().to_bytes().to_ascii_lowercase();
                    names.add_exact(&name, id);
                }
                ServerName::Regex(pattern) => {
                    let source = self.utf8(pattern);
                    match self.scripts.regex(source, true) {
                        Ok(regex) => names.add_regex(regex, id),
                        Err(error) => {
                            self.errors.push(Diagnostic::error(pattern.span, error.message));
                        }
                    }
                }
            }
        }
    }
}

/// Returns the HTTP/2 limits of a server; a larger `http2_recv_buffer_size` is reduced to [`MOST_AT_ONCE`].
fn stream_limits(settings: &Settings) -> Http2Limits {
    let http2 = &settings.http2;
    Http2Limits {
        streams: http2.max_streams,
        preread: http2.preread,
        receive_buffer: usize::try_from(http2.receive_buffer).unwrap_or(usize::MAX).min(MOST_AT_ONCE),
        keepalive_time_ms: settings.client.keepalive_time,
    }
}

/// Returns the size limits of request heads, reduced to [`HeadLimits::MAX_SIZE`], and the timeouts that apply until the
/// location of a request is known.
fn head_limits(client: &ClientSettings) -> PreRoutingLimits {
    let large = client.large_header_buffers;
    let bounded = |size: u64| usize::try_from(size).unwrap_or(usize::MAX).min(HeadLimits::MAX_SIZE);
    let block = HeadLimits {
        line: bounded(large.size),
        total: bounded(large.size.saturating_mul(large.count.into())),
        fields: client.max_headers as usize,
        ignore_invalid_headers: client.ignore_invalid_headers,
        underscores_in_headers: client.underscores_in_headers,
    };
    let line = block.line.max(bounded(client.header_buffer_size));
    PreRoutingLimits {
        head: HeadLimits { line, total: block.total.max(line), ..block },
        block,
        header_timeout_ms: client.header_timeout,
        timeouts: timeouts(client),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_limits_have_an_upper_bound() {
        let mut client = myriad_conf::defaults(crate::registry()).client.clone();
        client.large_header_buffers.size = 3 << 30;
        let limits = head_limits(&client);
        assert_eq!((limits.head.line, limits.head.total), (HeadLimits::MAX_SIZE, HeadLimits::MAX_SIZE));
        assert_eq!((limits.block.line, limits.block.total), (HeadLimits::MAX_SIZE, HeadLimits::MAX_SIZE));
    }

    #[test]
    fn driver_defaults_match_empty_configuration() {
        let defaults = || myriad_conf::defaults(crate::registry());
        let timeouts = format!("{:?}", timeouts(&defaults().client));
        assert_eq!(timeouts, format!("{:?}", myriad_net::Timeouts::default()));
        assert_eq!(head_limits(&defaults().client).head, HeadLimits::default());
        assert_eq!(format!("{:?}", stream_limits(defaults())), format!("{:?}", Http2Limits::default()));
    }
}
