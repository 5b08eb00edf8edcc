//! Check for a pass, before a request is sent to its origin.

use std::sync::LazyLock;

use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_http::Known;
use myriad_http::uri::cookie;
use myriad_log::{LogLevel, LogRateLimit};
use myriad_script::Template;

use super::page;
use super::pass::{COOKIE, PassBearer, PassRules, PassSigner};
use crate::origin_protection::network::network;
use crate::origin_protection::rate_table::RateTable;
use crate::origin_protection::refuse::refuse;

/// Passes (cookies of clients that have solved a challenge) that have been used, and counts of new passes per client
/// network. All workers share them.
static USED: LazyLock<RateTable> = LazyLock::new(RateTable::default);

/// Compiled `origin_challenge` of a location.
pub(super) struct OriginChallenge {
    when: Template,
    passes: PassSigner,
    logged: LogRateLimit,
}

impl OriginChallenge {
    pub(super) fn new(when: Template, rules: PassRules) -> Self {
        Self { when, passes: PassSigner::new(rules), logged: LogRateLimit::default() }
    }

    pub(super) fn passes(&self) -> &PassSigner {
        &self.passes
    }
}

/// Checks a request that the cache cannot answer. Returns `None` if it may be sent to the origin: it needs no pass (no
/// `origin_challenge`, a condition that is empty or `0`, or a subrequest), or has a valid pass. Otherwise returns the
/// challenge page for a client without a valid pass, or 429 for a client network that uses too many passes, and logs
/// the reason, at most once per second.
pub fn judge(exchange: &mut Exchange) -> Option<PhaseStep> {
    let Exchange { request, frame } = exchange;
    let challenge: &OriginChallenge = request.place().features.get()?;
    // Subrequests are caused by pages of the site, not by clients.
    if request.is_subrequest() {
        return None;
    }
    let now = myriad_net::clock::now_ms();
    let mut text = Vec::new();
    // If the condition cannot be evaluated, the client needs a pass, so that an error does not expose the origin.
    let needs_pass = challenge.when.eval(request, frame, &mut text).is_err() || !matches!(&*text, b"" | b"0");
    if !needs_pass {
        return None;
    }
    let passes = &challenge.passes;
    let held = pass_status(request, passes);
    let message = match held {
        PassStatus::Valid(_) => return None,
        PassStatus::Missing => "the client needs a pass (origin_challenge)",
        PassStatus::TooMany => "the client's network uses too many passes (origin_challenge)",
    };
    if challenge.logged.admits(now) {
        request.log(LogLevel::Warn, format_args!("{message}"));
    }
    if held == PassStatus::Missing {
        return Some(challenge_page(request, passes));
    }
    let interval_ms = passes.interval_ms();
    Some(refuse(exchange, 429, interval_ms))
}

/// Validity of the pass that a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassStatus {
    /// No pass, or only an invalid pass.
    Missing,
    /// Valid pass; the number identifies it (its signature).
    Valid(u128),
    /// Valid pass, but the client network has already used the permitted number of new passes.
    TooMany,
}

/// Returns the validity of the pass that a request carries. The first use of a pass counts for the client network.
pub(crate) fn pass_status(request: &Request, passes: &PassSigner) -> PassStatus {
    match valid_pass(request, passes) {
        None => PassStatus::Missing,
        Some(pass) if count_pass(request, passes, pass) => PassStatus::Valid(pass),
        Some(_) => PassStatus::TooMany,
    }
}

/// Returns the number of the pass that a request carries in its cookie; `None` if it has none or it is invalid. Servers
/// that share a secret must have synchronized clocks.
pub(super) fn valid_pass(request: &Request, passes: &PassSigner) -> Option<u128> {
    let now_s = request.received.wall_s();
    let mut cookies = request.received.head.fields().get_all(b"Cookie");
    cookies.find_map(|line| passes.verify(cookie(line, COOKIE.as_bytes())?, &bearer(request), now_s))
}

/// Counts the first use of a pass for the client network, and returns whether the pass is admitted. A pass that was
/// counted before and is still remembered is always admitted.
fn count_pass(request: &Request, passes: &PassSigner, pass: u128) -> bool {
    let bearer = bearer(request);
    let now = myriad_net::clock::monotonic_ms();
    USED.admit(pass, (bearer.server, bearer.network), passes.rate(), now).is_some()
}

/// Returns the challenge page with a new challenge for the client.
pub(crate) fn challenge_page(request: &Request, passes: &PassSigner) -> PhaseStep {
    page::challenge_response(
        &passes.new_challenge(&bearer(request), request.received.wall_s()),
        passes.valid_s(),
    )
}

fn bearer(request: &Request) -> PassBearer<'_> {
    PassBearer {
        network: request.client().map(network),
        server: &request.server().name,
        agent: request.received.head.fields().known(Known::UserAgent).unwrap_or_default(),
    }
}
