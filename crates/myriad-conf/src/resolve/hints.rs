//! Hints: what works, is often meant otherwise, and costs a site's owner an evening to find.

use std::collections::{BTreeMap, BTreeSet};

use super::Builder;
use crate::{
    diagnostic::Diagnostic,
    model::{HttpConf, LocationConf, ServerConf, ServerName},
    settings::{CacheZone, Handler, OriginSettings, Settings},
    span::Span,
    text::Text,
};

/// Variables that are the same for every host that a request may name. A key that holds any other may tell hosts apart.
const HOSTLESS: [&str; 14] = [
    "args",
    "content_type",
    "document_uri",
    "https",
    "is_args",
    "proxy_host",
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

impl Builder<'_> {
    /// Pages of several hosts that have one key: the first host that is asked for decides what all of them show.
    pub(super) fn hint_at_keys(&mut self, http: &HttpConf) {
        let mut pages: BTreeMap<Pages<'_>, Reached<'_>> = BTreeMap::new();
        for (number, server) in http.servers.iter().enumerate() {
            for settings in server.levels() {
                let Some((of, key)) = hostless(settings) else { continue };
                let reached = pages.entry(of).or_default();
                if reached.servers.last() != Some(&server.span) {
                    reached.servers.push(server.span);
                    reached.hosts.extend(hosts(server, number));
                }
                if reached.key == Span::default() {
                    reached.key = key.span;
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
            self.findings.push(hint);
        }
    }

    /// What the protocol of a location's origin advises; each advice is given once.
    pub(super) fn hint_at_origin(&mut self, location: &LocationConf) {
        let Some(Handler::Origin { protocol, target, .. }) = &location.settings.handler else { return };
        let Some(language) = self.registry.language_of(*protocol) else { return };
        let origin = location.settings.origin(*protocol);
        let Some(hint) = (language.hint)(location, origin, target) else { return };
        if !self.findings.iter().any(|finding| finding.message == hint.message) {
            self.findings.push(hint);
        }
    }
}

/// What is cached for all hosts alike, where the origin knows for which host it makes the page.
fn hostless(settings: &Settings) -> Option<(Pages<'_>, &Text)> {
    let Some(Handler::Origin { protocol, target, .. }) = &settings.handler else { return None };
    let origin = settings.origin(*protocol);
    let (CacheZone::Zone(zone), Some(key)) = (&origin.cache.zone, &origin.cache.key) else { return None };
    let variables = variables(key.as_str()?)?;
    let is_hostless = |name: &str| {
        let is_header = name.starts_with("cookie_") || name.starts_with("arg_");
        is_header || HOSTLESS.contains(&name)
    };
    if !variables.iter().all(|name| is_hostless(name)) || !tells_host(origin) {
        return None;
    }
    let target = if variables.contains(&"proxy_host") { target.bytes() } else { b"" };
    Some(((zone.bytes(), key.bytes(), target), key))
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

/// The names of the variables of a text, in their order; `None` where a `$` names none.
pub(super) fn variables(text: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        let (name, after) = if let Some(braced) = rest.strip_prefix('{') {
            braced.split_once('}')?
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest.split_at(end)
        };
        if name.is_empty() {
            return None;
        }
        names.push(name);
        rest = after;
    }
    Some(names)
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
