//! Keys that hold no host, where several hosts come to them.

use std::collections::{BTreeMap, BTreeSet};

use myriad_conf::model::{HttpConf, ServerConf, ServerName};
use myriad_conf::settings::{Handler, OriginSettings, Settings};
use myriad_conf::{Diagnostic, Span};

use super::variables::variables;
use crate::settings::{CacheSettings, CacheZone};

/// Variables that are the same for every host that a request may name. A key that holds any other may tell hosts apart.
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

/// Places that are named with the first of a hint.
const MOST_PLACES: usize = 3;

/// A key in a zone, and who comes to it. A key that holds `$proxy_host` is another for another target.
type Pages<'h> = (&'h [u8], &'h [u8], &'h [u8]);

#[derive(Default)]
struct Reached<'h> {
    key: Span,
    servers: Vec<Span>,
    hosts: BTreeSet<Host<'h>>,
}

/// A host by which a server is reached; without a name any host of its address is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Host<'h> {
    Named(&'h str),
    /// One of those that a wildcard or regex stands for.
    OneOf(usize, u8),
    AnyOf(usize),
}

/// Pages of several hosts that have one key: the first host that is asked for decides what all of them show.
pub(super) fn examine(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    let mut pages: BTreeMap<Pages<'_>, Reached<'_>> = BTreeMap::new();
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
            "the cache key \"{key}\" has no host in it, and several hosts reach it: they share their pages in \"{zone}\""
        );
        let mut hint = Diagnostic::hint(reached.key, message)
            .help("put $host into the key, unless all of these hosts show the same");
        for span in reached.servers.iter().take(MOST_PLACES) {
            hint = hint.related(*span, "a server that uses it");
        }
        findings.push(hint);
    }
}

/// What is cached for all hosts alike, where the origin knows for which host it makes the page.
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
    if !variables.iter().all(|name| is_hostless(name)) || !tells_host(origin) {
        return None;
    }
    let names_target = ["proxy_host", "proxy_internal_host"].iter().any(|name| variables.contains(name));
    let target = if names_target { target.bytes() } else { b"" };
    Some(((zone.bytes(), key.as_bytes(), target), span))
}

/// Whether the origin is told the host that the visitor asked for: in an environment it is unless written otherwise, by HTTP it is not.
fn tells_host(origin: &OriginSettings) -> bool {
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

fn hosts(server: &ServerConf, number: usize) -> impl Iterator<Item = Host<'_>> {
    server.names.iter().flat_map(move |name| match name {
        // `_` is what people write for no name at all.
        ServerName::Exact(name) if name.is_empty() || name == "_" => vec![Host::AnyOf(number)],
        ServerName::Exact(name) => vec![Host::Named(name)],
        ServerName::Hostname => vec![Host::AnyOf(number)],
        ServerName::WildcardPrefix(_)
        | ServerName::Dot(_)
        | ServerName::WildcardSuffix(_)
        | ServerName::Regex(_) => vec![Host::OneOf(number, 0), Host::OneOf(number, 1)],
    })
}
