//! What the task of a fetch holds.

use myriad_http::Method;
use myriad_policy::Told;
use myriad_store::FlightWriter;
use myriad_upstream::{Attempts, OriginRequest, OriginResponse};

use super::report::Reporter;
use crate::companion::Companion;
use crate::early::Spent;
use crate::next::Held;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::Who;
use myriad_page::{Entry, Fetching, PageMeta};

/// A fetch, as its task holds it.
pub(super) struct Job {
    /// A copy of the request that caused it.
    pub exchange: Box<Exchange>,
    /// The origin that is asked, and the cache.
    pub held: Held,
    /// Where the page goes.
    pub writer: FlightWriter<PageMeta>,
    /// What the origin is asked.
    pub request: OriginRequest,
    /// Its place among the fetches of the zone, or before it.
    pub entry: Entry,
    /// Who is asked.
    pub chosen: Who,
    /// Who caused it, where they wait.
    pub reporter: Reporter,
    /// The budget that an early refresh holds.
    pub spent: Option<Spent>,
    /// What it is for.
    pub sought: Sought,
}

/// What a fetch is for.
pub(super) struct Sought {
    /// The method that the origin is asked with.
    pub method: Method,
    /// Whether there is a page that is no failure, to stand in for one.
    pub usable_page: bool,
    /// Whether the origin was asked to confirm what is stored.
    pub conditional: bool,
    /// Whether its key is that for other codings.
    pub apart: bool,
    /// The other key that the answer may belong under.
    pub companion: Option<Companion>,
    /// Whether what the origin says may be for its visitor alone: the request has bypassed the cache, or has a name and a
    /// password.
    pub own_request: bool,
    /// What the origin is told in the place of the request's fields.
    pub told: Option<Told>,
}

/// An answer's head, and its body to come.
pub(super) struct Answered {
    /// The answer.
    pub response: Box<OriginResponse>,
    /// Its place among the fetches that fill the zone.
    pub fetching: Fetching,
    /// When it was asked for, ms since the epoch.
    pub asked: u64,
    /// The tries of the fetch: they show a fatal error, once the body has ended.
    pub attempts: Attempts,
}
