//! Check of a request before it is sent to its origin.

use std::sync::LazyLock;

use myriad_exchange::exchange::{Exchange, Request, Step};
use myriad_http::Known;
use myriad_http::uri::cookie;
use myriad_log::{Level, OnceASecond};
use myriad_script::Template;

use super::page;
use super::pass::{Bearer, COOKIE, Passes, Rules};
use crate::shield::network::network;
use crate::shield::rate_table::RateTable;
use crate::shield::refuse::refuse;

/// Passes that have been used, in all workers.
static USED: LazyLock<RateTable> = LazyLock::new(RateTable::default);

/// `origin_challenge` of a place.
pub(super) struct Challenge {
    when: Template,
    passes: Passes,
    logged: OnceASecond,
}

impl Challenge {
    pub(super) fn new(when: Template, rules: Rules) -> Self {
        Self { when, passes: Passes::new(rules), logged: OnceASecond::default() }
    }

    pub(super) fn passes(&self) -> &Passes {
        &self.passes
    }
}

/// Checks a request that the cache cannot answer. Returns the challenge response if the client needs a pass and has
/// none.
pub fn judge(exchange: &mut Exchange) -> Option<Step> {
    let Exchange { request, frame } = exchange;
    let challenge: &Challenge = request.place().features.get()?;
    // Subrequests come from the pages of the site.
    if request.is_subrequest() {
        return None;
    }
    let now = myriad_net::clock::now_ms();
    let mut text = Vec::new();
    // An evaluation error must not expose the origin: the client needs a pass.
    let needs_pass = challenge.when.eval(request, frame, &mut text).is_err() || !matches!(&*text, b"" | b"0");
    if !needs_pass {
        return None;
    }
    let passes = &challenge.passes;
    let held = pass(request, passes);
    let message = match held {
        Pass::Valid(_) => return None,
        Pass::Missing => "the client needs a pass (origin_challenge)",
        Pass::TooMany => "the client's network uses too many passes (origin_challenge)",
    };
    if challenge.logged.admits(now) {
        request.log(Level::Warn, format_args!("{message}"));
    }
    if held == Pass::Missing {
        return Some(stand_before(request, passes));
    }
    let interval_ms = passes.interval_ms();
    Some(refuse(exchange, 429, interval_ms))
}

/// Pass of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// No pass, or no valid pass.
    Missing,
    /// Valid pass, identified by its signature.
    Valid(u128),
    /// Valid pass, but its network has used the permitted number of passes.
    TooMany,
}

/// Returns the pass of a request, and counts its first use for the network of the client.
pub(crate) fn pass(request: &Request, passes: &Passes) -> Pass {
    match holder(request, passes) {
        None => Pass::Missing,
        Some(pass) if admits(request, passes, pass) => Pass::Valid(pass),
        Some(_) => Pass::TooMany,
    }
}

/// Returns the pass of a request, if it is valid. Servers that share a secret must have synchronized clocks.
pub(super) fn holder(request: &Request, passes: &Passes) -> Option<u128> {
    let now_s = request.received.wall_s();
    let mut cookies = request.received.head.fields().get_all(b"Cookie");
    cookies.find_map(|line| passes.prove(cookie(line, COOKIE.as_bytes())?, &bearer(request), now_s))
}

/// Counts the first use of a pass by the network of its holder. A pass that was counted before is always admitted.
fn admits(request: &Request, passes: &Passes, pass: u128) -> bool {
    let bearer = bearer(request);
    let now = myriad_net::clock::monotonic_ms();
    USED.admit(pass, (bearer.server, bearer.network), passes.rate(), now).is_some()
}

/// Returns the challenge page.
pub(crate) fn stand_before(request: &Request, passes: &Passes) -> Step {
    page::answer(&passes.open(&bearer(request), request.received.wall_s()), passes.valid_s())
}

fn bearer(request: &Request) -> Bearer<'_> {
    Bearer {
        network: request.client().map(network),
        server: &request.server().name,
        agent: request.received.head.fields().known(Known::UserAgent).unwrap_or_default(),
    }
}
