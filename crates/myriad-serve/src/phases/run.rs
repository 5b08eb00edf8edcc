//! Main loop of the phases: runs steps until there is a response or a wait.

use std::rc::Rc;

use bytes::Bytes;
use myriad_log::Level;
use myriad_net::ResponseBody;

use super::errors;
use super::limits::MAX_REDIRECTS;
use super::watch;
use super::{locate, rewrite};
use myriad_exchange::answers::error_pages::has_page_now;
use myriad_exchange::exchange::{Answer, Exchange, Hold, Pending, Step};
use myriad_output::allow::SERVER_METHODS;

/// Result of the phases.
pub(crate) enum Decision {
    /// Response.
    Ready(Answer),
    /// Operation to wait for, which returns the next step.
    Wait(Box<dyn Pending>),
}

/// Phase to continue with.
pub(crate) enum Entry {
    /// Rewrite directives of the server, with the current URI.
    Server,
    /// Named location.
    Named(Box<[u8]>),
    /// Content of the place.
    Content,
    /// Result of a content step.
    Step(Step),
}

/// Runs the phases until there is a response or an operation to wait for.
pub(crate) fn run(exchange: &mut Exchange, entry: Entry) -> Decision {
    let mut entry = entry;
    loop {
        let step = match entry {
            Entry::Server => rewrite::server(exchange).unwrap_or_else(|| locate::run(exchange)),
            Entry::Named(name) => locate::named(exchange, &name),
            Entry::Content => locate::content(exchange),
            Entry::Step(Step::Enter) => locate::enter(exchange),
            Entry::Step(step) => step,
        };
        if let Some(sink) = &exchange.request.received.sink {
            watch::step(&**sink, &exchange.request, &step);
        }
        entry = match step {
            Step::Answer(mut answer) => match last(exchange, &mut answer) {
                None => return Decision::Ready(answer),
                Some(step) => Entry::Step(step),
            },
            Step::Wait(pending) => return Decision::Wait(pending),
            Step::Enter => Entry::Step(Step::Enter),
            Step::Redirect => match count_redirect(exchange) {
                None => Entry::Server,
                Some(step) => Entry::Step(step),
            },
            Step::Named(name) => match count_redirect(exchange) {
                None => Entry::Named(name),
                Some(step) => Entry::Step(step),
            },
            Step::Error(status) => Entry::Step(errors::step(exchange, status)),
        };
    }
}

/// Runs the last steps before a response is sent: features that delay it, and the error page for a failed range or
/// condition. Returns `None` if the response can be sent. It is modified in place, because it is large.
fn last(exchange: &mut Exchange, answer: &mut Answer) -> Option<Step> {
    let is_success = (200..300).contains(&answer.status) && !matches!(answer.body, ResponseBody::Tunnel(_));
    if is_success && exchange.request.is_connect() {
        // The client would interpret the following data as the tunnel (RFC 9110 section 9.3.6).
        exchange.request.errors.supported = SERVER_METHODS;
        return Some(errors::unpaged(exchange, 405));
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(holder) = site.runtime.place(exchange.request.route.place).features.get::<Box<dyn Hold>>() {
        let nothing = Answer::new(0, ResponseBody::Full(Bytes::new()));
        match holder.hold(exchange, std::mem::replace(answer, nothing)) {
            Ok(held) => *answer = held,
            Err(step) => return Some(step),
        }
    }
    let refusal = myriad_output::refusal(&exchange.request, answer)?;
    if !has_page_now(exchange, refusal.status) {
        return None;
    }
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(&refusal.lines);
    Some(errors::step(exchange, refusal.status))
}

/// Counts an internal redirect. Returns an error if the limit is exceeded.
fn count_redirect(exchange: &mut Exchange) -> Option<Step> {
    let request = &mut exchange.request;
    request.route.redirects += 1;
    request.route.internal = true;
    if request.route.redirects <= MAX_REDIRECTS {
        return None;
    }
    let uri = String::from_utf8_lossy(&request.route.uri);
    request.log(
        Level::Error,
        format_args!("rewrite or internal redirection cycle while internally redirecting to \"{uri}\""),
    );
    Some(errors::unpaged(exchange, 500))
}
