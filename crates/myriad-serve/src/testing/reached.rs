//! What the phases come to, for a request that no client sent.

use myriad_http::Version;
use myriad_net::ResponseBody;

use super::{TestSite, block_on};
use crate::phases::{self, Decision};
use myriad_exchange::exchange::{Answer, Exchange};

/// What a request came to.
pub struct Reached {
    /// The status, as an `error_page` may have set it.
    pub status: u16,
    /// The fields that the answer has so far, as lines.
    pub lines: String,
    /// The body, where it is in memory.
    pub text: String,
    /// Whether the connection ends with the answer.
    pub close: bool,
    /// Whether it ends without an answer.
    pub dropped: bool,
    /// Whether something had to be waited for.
    pub waited: bool,
    /// The request.
    pub exchange: Box<Exchange>,
}

impl Reached {
    /// The URI to which the rules came.
    pub fn uri(&self) -> String {
        String::from_utf8_lossy(&self.exchange.request.route.uri).into_owned()
    }

    /// The value of `Location`, if there is one.
    pub fn location(&self) -> Option<&str> {
        self.lines.lines().find_map(|line| line.strip_prefix("Location: "))
    }
}

/// Takes a request line without version, `GET /path`, through the phases, and through what it has to wait for.
pub fn ask(site: &TestSite, line: &str, fields: &[(&str, &str)]) -> Reached {
    ask_in(Version::Http11, site, line, fields)
}

/// As [`ask`], in a version of HTTP.
pub fn ask_in(version: Version, site: &TestSite, line: &str, fields: &[(&str, &str)]) -> Reached {
    let line = line.split_once(' ').expect("a method and a target");
    let exchange = site.received(version, line, fields);
    go(exchange)
}

/// Takes a request through the phases, and through what it has to wait for.
pub fn go(exchange: Box<Exchange>) -> Reached {
    go_from(exchange, phases::begin)
}

/// As [`go`]; `meanwhile` happens when the request has begun, before what it has to wait for.
pub fn go_meanwhile(exchange: Box<Exchange>, meanwhile: impl FnOnce()) -> Reached {
    go_from(exchange, |exchange| {
        let decision = phases::begin(exchange);
        meanwhile();
        decision
    })
}

/// Takes a request through the phases from where `first` begins them.
pub(crate) fn go_from(mut exchange: Box<Exchange>, first: impl FnOnce(&mut Exchange) -> Decision) -> Reached {
    let decision = first(&mut exchange);
    let waited = matches!(decision, Decision::Wait(_));
    let answer = match decision {
        Decision::Ready(answer) => answer,
        Decision::Wait(pending) => block_on(phases::wait(&mut exchange, pending)),
    };
    let text = match &answer.body {
        ResponseBody::Full(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    Reached {
        status: exchange.request.errors.forced_status.unwrap_or(answer.status),
        lines: String::from_utf8_lossy(&answer.lines).into_owned(),
        text,
        close: answer.close,
        dropped: answer.dropped,
        waited,
        exchange,
    }
}

/// What the phases answer a request with; none where it has to wait.
pub fn answered_at_once(exchange: &mut Exchange) -> Option<Answer> {
    match phases::begin(exchange) {
        Decision::Ready(answer) => Some(answer),
        Decision::Wait(_) => None,
    }
}
