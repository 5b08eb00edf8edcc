//! A request with a query that is about to go to its origin.

use std::net::IpAddr;

use myriad_exchange::answers::redirect;
use myriad_exchange::exchange::{Exchange, Request, Step};
use myriad_http::Method;
use myriad_http::uri::normalize_path;
use myriad_log::{Level, OnceASecond};
use myriad_script::Template;

use super::settings::{Action, Per, QueryRules};
use super::table::TABLE;
use crate::network::network;
use crate::origin_challenge::{self, Passes};

/// Most bytes of argument names that a line of the log shows.
const SHOWN: usize = 200;

/// `origin_query_limit` of a place.
pub(super) struct QueryLimit {
    rules: QueryRules,
    /// How visitors prove that a browser works for them; there with `action=challenge`.
    passes: Option<Passes>,
    /// `unless=`.
    unless: Option<Template>,
    told: OnceASecond,
}

impl QueryLimit {
    pub(super) fn new(rules: QueryRules, passes: Option<Passes>, unless: Option<Template>) -> Self {
        Self { rules, passes, unless, told: OnceASecond::default() }
    }
}

/// What a request would ask the origin for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// A page that is not stored: its key tells it from others.
    Page,
    /// Something that has no cache before it: its target does.
    Target,
    /// Something past the cache. It counts where the directive says what does not (`unless=`).
    Bypassing,
}

/// Judges a request that no stored page answers. A step is the answer of one that must not go to the origin.
pub fn judge(exchange: &mut Exchange, sought: Sought) -> Option<Step> {
    let Exchange { request, frame } = exchange;
    let QueryLimit { rules, passes, unless, told } = request.place().features.get()?;
    let sent = request.sent_uri()?;
    let at = sent.iter().position(|byte| *byte == b'?')?;
    let (path, query) = (&sent[..at], &sent[at + 1..]);
    // The parts of a page were asked for by the site itself.
    let reads = matches!(request.received.head.method(), Method::Get | Method::Head);
    if query.is_empty() || !reads || request.is_subrequest() {
        return None;
    }
    match unless {
        None if sought == Sought::Bypassing => return None,
        None => {}
        Some(unless) => {
            let mut text = Vec::new();
            // Where it cannot be said whom it means, nobody is: an error must open no door.
            if unless.eval(request, frame, &mut text).is_ok() && !matches!(&*text, b"" | b"0") {
                return None;
            }
        }
    }
    let now = myriad_net::clock::now_ms();
    let key = if sought == Sought::Page { &*request.cache.key } else { sent };
    // Who holds a pass counts alone: it does not open the origin to whatever else he asks for.
    let pass = passes.as_ref().and_then(|passes| origin_challenge::holder(request, passes, now));
    let counted_by = pass.map_or_else(|| CountedBy::of(request, rules.per, plain(path)), CountedBy::Pass);
    if TABLE.lets((&*request.server().name, key), counted_by, rate(rules), now) {
        return None;
    }
    if told.admits(now) {
        let (path, names) = (path.escape_ascii(), names(query));
        let message =
            format_args!("too many new queries of \"{path}\" (origin_query_limit), the last of {names}");
        request.log(Level::Warn, message);
    }
    if let (Some(passes), None) = (passes, pass) {
        return Some(origin_challenge::stand_before(request, passes, now));
    }
    let stripped = if rules.action == Action::Strip { stripped(path, query, &rules.keep) } else { None };
    let interval_ms = rules.interval_ms;
    let status = if let Action::Status(status) = rules.action { status } else { 429 };
    if let Some(url) = stripped {
        return Some(redirect::redirect_or_page(exchange, 302, &url));
    }
    let seconds = interval_ms.div_ceil(1000).clamp(1, 3600);
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(format!("Retry-After: {seconds}\r\n").as_bytes());
    Some(Step::Error(status))
}

fn rate(rules: &QueryRules) -> (u64, u64) {
    (rules.interval_ms, rules.burst)
}

/// What a query is counted by.
#[derive(Hash)]
enum CountedBy<'a> {
    Path(&'a [u8], Vec<u8>),
    Network(IpAddr),
    Server(&'a [u8]),
    Pass(u128),
}

impl<'a> CountedBy<'a> {
    fn of(request: &'a Request, per: Per, path: Vec<u8>) -> Self {
        let server: &[u8] = request.server().name.as_ref();
        match (per, request.client()) {
            (Per::Network, Some(client)) => Self::Network(network(client)),
            (Per::Path, _) => Self::Path(server, path),
            // Who comes over a unix socket has no network.
            _ => Self::Server(server),
        }
    }
}

/// A path as it is counted: escapes and slashes that say nothing make no other path of it.
fn plain(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    if normalize_path(path, true, &mut plain).is_err() {
        path.clone_into(&mut plain);
    }
    plain
}

/// The URL with the arguments that stay; none where that is the one that was asked for.
fn stripped(path: &[u8], query: &[u8], keep: &[Box<[u8]>]) -> Option<Vec<u8>> {
    let arguments = query.split(|byte| *byte == b'&').filter(|argument| !argument.is_empty());
    let kept: Vec<_> =
        arguments.filter(|argument| keep.iter().any(|name| **name == *name_of(argument))).collect();
    let kept = kept.join(&b'&');
    if kept == query {
        return None;
    }
    // A path that began with `//` would name another host.
    let start = path.iter().position(|byte| !matches!(byte, b'/' | b'\\')).unwrap_or(path.len());
    let mut url = vec![b'/'];
    url.extend_from_slice(&path[start..]);
    if !kept.is_empty() {
        url.push(b'?');
        url.extend_from_slice(&kept);
    }
    Some(url)
}

fn name_of(argument: &[u8]) -> &[u8] {
    argument.split(|byte| *byte == b'=').next().unwrap_or_default()
}

/// The names of a query's arguments, for the log.
fn names(query: &[u8]) -> String {
    let names =
        query.split(|byte| *byte == b'&').map(|argument| format!("\"{}\"", name_of(argument).escape_ascii()));
    let mut text = names.collect::<Vec<_>>().join(", ");
    // What is escaped is ASCII.
    text.truncate(SHOWN);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_kept_go_and_no_other_host_is_named() {
        let keep: Vec<Box<[u8]>> = vec![b"p"[..].into(), b"page"[..].into()];
        let url = |path: &str, query: &str| {
            stripped(path.as_bytes(), query.as_bytes(), &keep)
                .map(|url| String::from_utf8(url).expect("text"))
        };
        assert_eq!(url("/shop/", "color=red&page=2&&size=1").as_deref(), Some("/shop/?page=2"));
        assert_eq!(url("/shop/", "color=red").as_deref(), Some("/shop/"));
        assert_eq!(url("//evil.test/", "a").as_deref(), Some("/evil.test/"));
        assert_eq!(url("/\\evil.test/", "a").as_deref(), Some("/evil.test/"));
        assert_eq!(url("/", "a").as_deref(), Some("/"));
        assert_eq!(url("/", "page=2&p=1"), None);
    }

    #[test]
    fn names_of_a_long_query_are_cut() {
        assert_eq!(names(b"a=1&b"), "\"a\", \"b\"");
        assert!(names(&b"x&".repeat(10_000)).len() <= SHOWN);
    }
}
