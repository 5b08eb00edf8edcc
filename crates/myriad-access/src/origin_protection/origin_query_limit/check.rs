//! Check of a request with a query string before it is sent to its origin.

use std::net::IpAddr;
use std::sync::LazyLock;

use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_exchange::responses::redirect;
use myriad_http::Method;
use myriad_http::uri::normalize_path;
use myriad_log::{LogLevel, LogRateLimit};
use myriad_script::Template;

use super::settings::{LimitAction, QueryRules, QueryScope};
use crate::origin_protection::network::network;
use crate::origin_protection::origin_challenge::{self, PassSigner, PassStatus};
use crate::origin_protection::rate_table::{AdmissionRate, RateTable};
use crate::origin_protection::refuse::refuse;

/// Maximum length of the argument names in a log line, in bytes.
const SHOWN: usize = 200;
/// Factor by which the limit on the queries of all challenge passes of one network together exceeds the limit of one
/// pass.
const PASSES: u64 = 4;

/// Counts of new queries, shared by all workers; they survive reloads.
static QUERIES: LazyLock<RateTable> = LazyLock::new(RateTable::default);

/// Compiled `origin_query_limit` of a location.
pub(super) struct QueryLimit {
    rules: QueryRules,
    /// Verifier of challenge passes; `None` unless `action=challenge`.
    passes: Option<PassSigner>,
    /// `unless=`: requests for which this is neither empty nor `0` are not counted; `None` if it is not configured.
    unless: Option<Template>,
    logged: LogRateLimit,
}

impl QueryLimit {
    pub(super) fn new(rules: QueryRules, passes: Option<PassSigner>, unless: Option<Template>) -> Self {
        Self { rules, passes, unless, logged: LogRateLimit::default() }
    }
}

/// Kind of response that a request is about to fetch from the origin; it decides how the query is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFetch {
    /// Cacheable page that is not stored; the query is identified by the cache key.
    Page,
    /// Response that may not be stored; the query is identified by the request target.
    Target,
    /// Response to a request that bypasses the cache. It is counted only with `unless=`, and is never rejected.
    Bypassing,
}

/// Treatment of a request beyond the limit.
pub enum LimitedQuery {
    /// The client receives this response.
    Answer(PhaseStep),
    /// The request continues after a delay of this number of milliseconds.
    Wait(u64),
}

/// Checks a request that the cache cannot answer. Returns `None` if it may be sent to the origin now: the location has
/// no `origin_query_limit`; or the request has no query, is not GET or HEAD, is a subrequest, has no client address
/// (Unix socket), is excluded by `unless=`, is within the limit, or bypasses the cache (beyond the limit it then has
/// the lowest priority in the queue). Requests beyond the limit are logged, at most one per second.
pub fn judge(exchange: &mut Exchange, sought: OriginFetch) -> Option<LimitedQuery> {
    let Exchange { request, frame } = exchange;
    let QueryLimit { rules, passes, unless, logged } = request.place().features.get()?;
    let sent = request.sent_uri()?;
    let at = sent.iter().position(|byte| *byte == b'?')?;
    let (path, query) = (&sent[..at], &sent[at + 1..]);
    let reads = matches!(request.received.head.method(), Method::Get | Method::Head);
    // Subrequests are caused by pages of the site, not by clients.
    if query.is_empty() || !reads || request.is_subrequest() {
        return None;
    }
    match unless {
        None if sought == OriginFetch::Bypassing => return None,
        None => {}
        Some(unless) => {
            let mut text = Vec::new();
            // If the condition cannot be evaluated, the request is counted, so that an error does not expose the
            // origin.
            if unless.eval(request, frame, &mut text).is_ok() && !matches!(&*text, b"" | b"0") {
                return None;
            }
        }
    }
    // A client on a Unix socket has no address and is a proxy. If all clients of the proxy were counted together, one
    // of them could block the others.
    let client = network(request.client()?);
    let now = myriad_net::clock::now_ms();
    let pass =
        passes.as_ref().map_or(PassStatus::Missing, |passes| origin_challenge::pass_status(request, passes));
    let key = if sought == OriginFetch::Page { &*request.cache.key } else { sent };
    let counted_by = QueryCounter::of(request, rules.per, client, path, pass);
    let admitted = counted_by.admit((&*request.server().name, key), rate(rules, sought));
    if admitted == Some(0) {
        return None;
    }
    if logged.admits(now) {
        let (path, names) = (path.escape_ascii(), argument_names(query));
        let message = format_args!(
            "too many new query strings from the client's network (origin_query_limit), last one for \"{path}\": {names}"
        );
        request.log(LogLevel::Warn, message);
    }
    if let Some(wait_ms) = admitted {
        return Some(LimitedQuery::Wait(wait_ms));
    }
    if sought == OriginFetch::Bypassing {
        // The request may change state, or belong to a payment: it is neither altered nor rejected, but gets the lowest
        // priority in the queue.
        request.limit_results().beyond_query_limit.set(true);
        return None;
    }
    if let (Some(passes), PassStatus::Missing) = (passes, pass) {
        return Some(LimitedQuery::Answer(origin_challenge::challenge_page(request, passes)));
    }
    let strips = rules.action == LimitAction::Strip && sought == OriginFetch::Page;
    let stripped = if strips { strip_query(path, query, &rules.keep) } else { None };
    let interval_ms = rules.interval_ms;
    let status = if let LimitAction::Status(status) = rules.action { status } else { 429 };
    Some(LimitedQuery::Answer(match stripped {
        Some(url) => redirect::redirect_to_path(exchange, 302, &url),
        None => refuse(exchange, status, interval_ms),
    }))
}

fn rate(rules: &QueryRules, sought: OriginFetch) -> AdmissionRate {
    let wait_ms = if sought == OriginFetch::Bypassing { 0 } else { rules.wait_ms };
    AdmissionRate { interval_ms: rules.interval_ms, burst: rules.burst, wait_ms }
}

/// Key by which queries are counted together: name of the server and client network, and with `per=path` the path. A
/// client with a valid challenge pass is counted by its pass instead of the path, also with `per=network`.
#[derive(Hash)]
enum QueryCounter<'a> {
    Network(&'a [u8], IpAddr),
    Path(&'a [u8], IpAddr, Vec<u8>),
    /// Client with a valid challenge pass.
    Pass(&'a [u8], IpAddr, u128),
}

impl<'a> QueryCounter<'a> {
    fn of(request: &'a Request, per: QueryScope, client: IpAddr, path: &[u8], pass: PassStatus) -> Self {
        let server = &*request.server().name;
        match (pass, per) {
            (PassStatus::Valid(pass), _) => Self::Pass(server, client, pass),
            (_, QueryScope::Network) => Self::Network(server, client),
            (_, QueryScope::Path) => Self::Path(server, client, canonical(path)),
        }
    }

    /// Counts a query, and returns its delay in milliseconds, or `None` beyond the limit: see [`RateTable::admit`]. All
    /// passes of one network together have a limit as well, because a pass is cheap.
    fn admit(&self, query: (&[u8], &[u8]), rate: AdmissionRate) -> Option<u64> {
        let now = myriad_net::clock::monotonic_ms();
        let Self::Pass(server, client, _) = self else { return QUERIES.admit(query, self, rate, now) };
        let interval_ms = rate.interval_ms.div_ceil(PASSES);
        let all = AdmissionRate { interval_ms, burst: rate.burst.saturating_mul(PASSES), ..rate };
        let of_pass = QUERIES.admit(("pass", query), self, rate, now)?;
        let of_network = QUERIES.admit(query, ("passes", server, client), all, now)?;
        Some(of_pass.max(of_network))
    }
}

/// Returns the path in canonical spelling, so that escapes and repeated slashes do not create separate counts. An
/// invalid path is returned unchanged.
fn canonical(path: &[u8]) -> Vec<u8> {
    let mut canonical = Vec::with_capacity(path.len());
    if normalize_path(path, true, &mut canonical).is_err() {
        path.clone_into(&mut canonical);
    }
    canonical
}

/// Returns the path and the query with only the arguments named in `keep`; `None` if no argument would be removed.
/// Slashes and backslashes at the start of the path become one slash.
fn strip_query(path: &[u8], query: &[u8], keep: &[Box<[u8]>]) -> Option<Vec<u8>> {
    let is_kept = |argument: &&[u8]| keep.iter().any(|name| **name == *name_of(argument));
    let arguments = query.split(|byte| *byte == b'&').filter(|argument| !argument.is_empty());
    let (retained, removed): (Vec<_>, Vec<_>) = arguments.partition(is_kept);
    if removed.is_empty() {
        return None;
    }
    let retained_query = retained.join(&b'&');
    // A redirect to a path that begins with `//` would lead to another host.
    let start = path.iter().position(|byte| !matches!(byte, b'/' | b'\\')).unwrap_or(path.len());
    let mut url = vec![b'/'];
    url.extend_from_slice(&path[start..]);
    if !retained_query.is_empty() {
        url.push(b'?');
        url.extend_from_slice(&retained_query);
    }
    Some(url)
}

fn name_of(argument: &[u8]) -> &[u8] {
    argument.split(|byte| *byte == b'=').next().unwrap_or_default()
}

/// Returns the argument names of a query for the log, quoted and escaped, at most [`SHOWN`] bytes.
fn argument_names(query: &[u8]) -> String {
    let names =
        query.split(|byte| *byte == b'&').map(|argument| format!("\"{}\"", name_of(argument).escape_ascii()));
    let mut text = names.collect::<Vec<_>>().join(", ");
    // Escaped text is ASCII, so every index is a character boundary.
    text.truncate(SHOWN);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlisted_arguments_are_stripped_and_redirect_stays_on_host() {
        let keep: Vec<Box<[u8]>> = vec![b"p"[..].into(), b"page"[..].into()];
        let url = |path: &str, query: &str| {
            strip_query(path.as_bytes(), query.as_bytes(), &keep)
                .map(|url| String::from_utf8(url).expect("text"))
        };
        assert_eq!(url("/shop/", "color=red&page=2&&size=1").as_deref(), Some("/shop/?page=2"));
        assert_eq!(url("/shop/", "color=red").as_deref(), Some("/shop/"));
        assert_eq!(url("//evil.test/", "a").as_deref(), Some("/evil.test/"));
        assert_eq!(url("/\\evil.test/", "a").as_deref(), Some("/evil.test/"));
        assert_eq!(url("/", "a").as_deref(), Some("/"));
        assert_eq!(url("/", "page=2&p=1"), None);
        assert_eq!(url("/", "page=2&&p=1&"), None, "no argument is removed");
    }

    #[test]
    fn names_of_a_long_query_are_cut() {
        assert_eq!(argument_names(b"a=1&b"), "\"a\", \"b\"");
        assert!(argument_names(&b"x&".repeat(10_000)).len() <= SHOWN);
    }
}
