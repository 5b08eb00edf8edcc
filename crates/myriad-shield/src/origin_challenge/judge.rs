//! A request that is about to go to its origin.

use myriad_exchange::exchange::{Exchange, Request, Step};
use myriad_http::Known;
use myriad_http::uri::cookie;
use myriad_log::{Level, OnceASecond};
use myriad_script::Template;

use super::page;
use super::pass::{Bearer, COOKIE, Passes, Rules};
use crate::network::network;

/// `origin_challenge` of a place.
pub(super) struct Challenge {
    when: Template,
    passes: Passes,
    told: OnceASecond,
}

impl Challenge {
    pub(super) fn new(when: Template, rules: Rules) -> Self {
        Self { when, passes: Passes::new(rules), told: OnceASecond::default() }
    }

    pub(super) fn passes(&self) -> &Passes {
        &self.passes
    }
}

/// Judges a request that no stored page answers. A step is what a visitor gets who has to prove first that a browser works for him.
pub fn judge(exchange: &mut Exchange) -> Option<Step> {
    let Exchange { request, frame } = exchange;
    let challenge: &Challenge = request.place().features.get()?;
    // The parts of a page were asked for by the site itself.
    if request.is_subrequest() {
        return None;
    }
    let now = myriad_net::clock::now_ms();
    let mut text = Vec::new();
    // Where it cannot be said whom it means, everybody is: an error must open no door.
    let is_meant = challenge.when.eval(request, frame, &mut text).is_err() || !matches!(&*text, b"" | b"0");
    if !is_meant || holder(request, &challenge.passes, now).is_some() {
        return None;
    }
    if challenge.told.admits(now) {
        request
            .log(Level::Warn, format_args!("the visitor has to answer a challenge first (origin_challenge)"));
    }
    Some(stand_before(request, &challenge.passes, now))
}

/// What tells the pass of a request from others; none where it has none that holds.
pub(crate) fn holder(request: &Request, passes: &Passes, now: u64) -> Option<u128> {
    let mut cookies = request.received.head.fields().get_all(b"Cookie");
    cookies.find_map(|line| passes.prove(cookie(line, COOKIE.as_bytes())?, &bearer(request), now / 1000))
}

/// The page with a challenge.
pub(crate) fn stand_before(request: &Request, passes: &Passes, now: u64) -> Step {
    page::answer(&passes.open(&bearer(request), now / 1000), passes.valid_s())
}

fn bearer(request: &Request) -> Bearer<'_> {
    Bearer {
        network: request.client().map(network),
        server: &request.server().name,
        agent: request.received.head.fields().known(Known::UserAgent).unwrap_or_default(),
    }
}
