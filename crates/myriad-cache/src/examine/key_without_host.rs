//! Detection of cache keys without a host that are used for several hosts.

use std::collections::{BTreeMap, BTreeSet};

use myriad_conf::model::{HttpConf, ServerConf, ServerName};
use myriad_conf::settings::{Handler, OriginSettings, Settings};
use myriad_conf::{Diagnostic, Span};

use super::variables::variables;
use crate::settings::{CacheSettings, CacheZone};

/// Variables whose value does not depend on the requested host, in addition to `$cookie_*` and `$arg_*`. A cache key
/// with any other variable may distinguish hosts.
const HOSTLESS: [&str; 17] = [
    "args",
    "content_type",
    "document_uri",
    "https",
    "is_args",
    "proxy_host",
    "proxy_internal_host",
    "proxy_internal_scheme",
    "proxy_internal_uri",
    "proxy_port",
    "query_string",
    "remote_user",
    "request_method",
    "request_uri",
    "scheme",
    "slice_range",
    "uri",
];

/// Maximum number of servers named in a hint about a shared cache key.
const MAX_PLACES: usize = 3;

/// Zone, key and target of a location with a cache. The target is empty unless the key contains `$proxy_host` or
/// `$proxy_internal_host`.
type Pages<'h> = (&'h [u8], &'h [u8], &'h [u8]);

#[derive(Default)]
struct KeyHosts<'h> {
    key: Span,
    servers: Vec<Span>,
    hosts: BTreeSet<ServerHost<'h>>,
}

/// Host of a `server` block, for the comparison of cache keys.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum ServerHost<'h> {
    /// Host with exactly this name.
    Named(&'h str),
    /// One of the hosts that match a wildcard or a regex of the server with this index. Each such server counts as two
    /// hosts (0 and 1), because it serves several.
    OneOf(usize, u8),
    /// Unknown host of the server with this index: its name is empty, `_`, or that of the machine.
    AnyOf(usize),
}

/// Adds hints for cache keys that several hosts share: the first requested host would determine the page for all of
/// them.
pub(super) fn examine(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    let mut pages: BTreeMap<Pages<'_>, KeyHosts<'_>> = BTreeMap::new();
    for (number, server) in http.servers.iter().enumerate() {
        for settings in server.levels() {
            let Some((of, span)) = hostless(settings) else { continue };
            let reached = pages.entry(of).or_default();
            if reached.servers.last() != Some(&server.span) {
                reached.servers.push(server.span);
                reached.hosts.extend(hosts(server, number));
            }
            if reached.key == Span::default() {
                reached.key = span;
            }
        }
    }
    for ((zone, key, _), reached) in pages {
        if reached.hosts.len() < 2 {
            continue;
        }
        let (zone, key) = (String::from_utf8_lossy(zone), String::from_utf8_lossy(key));
        let message = format!(
            "the cache key \"{key}\" does not contain the host, but several hosts use it: they share pages in \"{zone}\""
        );
        let mut hint = Diagnostic::hint(reached.key, message)
            .help("add $host to the key, unless all these hosts have the same content");
        for span in reached.servers.iter().take(MAX_PLACES) {
            hint = hint.related(*span, "a server that uses this key");
        }
        findings.push(hint);
    }
}

/// Returns the cache of a location and the position of its cache key, if the key contains no host although the origin
/// gets the host. Otherwise `None`.
fn hostless(settings: &Settings) -> Option<(Pages<'_>, Span)> {
    let Some(Handler::Origin { protocol, target, .. }) = &settings.handler else { return None };
    let origin = settings.origin(*protocol);
    let cache = origin.own::<CacheSettings>();
    let CacheZone::Zone(zone) = &cache.zone else { return None };
    let (key, span) = match &cache.key {
        Some(key) => (key.as_str()?, key.span),
        None => (protocol.default_key().text, Span::default()),
    };
    let variables = variables(key)?;
    let is_hostless = |name: &str| {
        let is_header = name.starts_with("cookie_") || name.starts_with("arg_");
        is_header || HOSTLESS.contains(&name)
    };
    if !variables.iter().all(|name| is_hostless(name)) || !forwards_host(origin) {
        return None;
    }
    let names_target = ["proxy_host", "proxy_internal_host"].iter().any(|name| variables.contains(name));
    let target = if names_target { target.bytes() } else { b"" };
    Some(((zone.bytes(), key.as_bytes(), target), span))
}

/// Returns whether the origin gets the requested host. Over HTTP, a configured `Host` or `X-Forwarded-Host` field must
/// contain it. Over protocols with an environment (such as FastCGI), a configured `HTTP_HOST` must contain variables;
/// if none is configured, the client's fields must be forwarded (`*_pass_request_headers`).
fn forwards_host(origin: &OriginSettings) -> bool {
    let by_environment = origin.protocol.has_environment();
    let mut named = origin.request.parameters.iter().filter(|param| match param.name.bytes() {
        name if by_environment => name == b"HTTP_HOST",
        name => name.eq_ignore_ascii_case(b"host") || name.eq_ignore_ascii_case(b"x-forwarded-host"),
    });
    if by_environment {
        return named.next().map_or(origin.request.pass_fields, |param| param.value.has_variables());
    }
    named.any(|param| {
        let text = param.value.lossy();
        variables(&text).is_some_and(|names| {
            names.iter().any(|name| matches!(*name, "host" | "http_host" | "server_name"))
        })
    })
}

fn hosts(server: &ServerConf, number: usize) -> impl Iterator<Item = ServerHost<'_>> {
    server.names.iter().flat_map(move |name| match name {
        // `_` is commonly used as a name that matches no host.
        ServerName::Exact(name) if name.is_empty() || name == "_" => vec![ServerHost::AnyOf(number)],
        ServerName::Exact(name) => vec![ServerHost::Named(name)],
        ServerName::Hostname => vec![ServerHost::AnyOf(number)],
        ServerName::WildcardPrefix(_)
        | ServerName::Dot(_)
        | ServerName::WildcardSuffix(_)
        | ServerName::Regex(_) => vec![ServerHost::OneOf(number, 0), ServerHost::OneOf(number, 1)],
    })
}
