//! Runs the phases for requests of unit tests.

use myriad_http::HttpVersion;
use myriad_net::ResponseBody;

use super::{TestSite, block_on};
use crate::phases::{self, PhaseDecision};
use myriad_exchange::exchange::{ContentResponse, Exchange};

/// Result of the processing phases for a test request.
pub struct PhaseResult {
    /// Status of the response, including the effect of `error_page`.
    pub status: u16,
    /// Headers that the phases set, as lines; the output stage would add more.
    pub lines: String,
    /// Body of the response, if it is in memory; otherwise empty.
    pub text: String,
    /// True if the connection is to be closed after the response.
    pub close: bool,
    /// True if the connection is to be closed without a response.
    pub dropped: bool,
    /// True if the phases had to wait, for example for an origin or a file.
    pub waited: bool,
    /// The request and its state after the phases.
    pub exchange: Box<Exchange>,
}

impl PhaseResult {
    /// Returns the URI after the rules.
    pub fn uri(&self) -> String {
        String::from_utf8_lossy(&self.exchange.request.route.uri).into_owned()
    }

    /// Returns the value of `Location`; `None` without this header.
    pub fn location(&self) -> Option<&str> {
        self.lines.lines().find_map(|line| line.strip_prefix("Location: "))
    }
}

/// Runs the phases, including all waits, for a request line without version, such as `GET /path`, with these headers.
pub fn send_request(site: &TestSite, line: &str, fields: &[(&str, &str)]) -> PhaseResult {
    send_request_in(HttpVersion::Http11, site, line, fields)
}

/// Runs a request like [`send_request`], with the given version of HTTP.
pub fn send_request_in(
    version: HttpVersion,
    site: &TestSite,
    line: &str,
    fields: &[(&str, &str)],
) -> PhaseResult {
    let line = line.split_once(' ').expect("a method and a target");
    let exchange = site.received_request(version, line, fields);
    run_exchange(exchange)
}

/// Runs the phases, including all waits, for a request.
pub fn run_exchange(exchange: Box<Exchange>) -> PhaseResult {
    run_exchange_from(exchange, phases::begin)
}

/// Runs a request like [`run_exchange`], and calls `meanwhile` after its first phases, before it waits.
pub fn run_exchange_meanwhile(exchange: Box<Exchange>, meanwhile: impl FnOnce()) -> PhaseResult {
    run_exchange_from(exchange, |exchange| {
        let decision = phases::begin(exchange);
        meanwhile();
        decision
    })
}

/// Runs `first`, then all waits of the phases.
pub(crate) fn run_exchange_from(
    mut exchange: Box<Exchange>,
    first: impl FnOnce(&mut Exchange) -> PhaseDecision,
) -> PhaseResult {
    let decision = first(&mut exchange);
    let waited = matches!(decision, PhaseDecision::Wait(_));
    let answer = match decision {
        PhaseDecision::Ready(answer) => answer,
        PhaseDecision::Wait(pending) => block_on(phases::wait(&mut exchange, pending)),
    };
    let text = match &answer.body {
        ResponseBody::Full(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    PhaseResult {
        status: exchange.request.errors.forced_status.unwrap_or(answer.status),
        lines: String::from_utf8_lossy(&answer.lines).into_owned(),
        text,
        close: answer.close,
        dropped: answer.dropped,
        waited,
        exchange,
    }
}

/// Runs the phases, including all waits, for a request, and returns their response. Must be polled in a
/// `tokio::task::LocalSet`: the cache fetches pages in tasks.
pub async fn answer_exchange(exchange: &mut Exchange) -> ContentResponse {
    match phases::begin(exchange) {
        PhaseDecision::Ready(answer) => answer,
        PhaseDecision::Wait(pending) => phases::wait(exchange, pending).await,
    }
}

/// Runs the phases and returns their response; `None` if the request would have to wait.
pub fn immediate_answer(exchange: &mut Exchange) -> Option<ContentResponse> {
    match phases::begin(exchange) {
        PhaseDecision::Ready(answer) => Some(answer),
        PhaseDecision::Wait(_) => None,
    }
}
