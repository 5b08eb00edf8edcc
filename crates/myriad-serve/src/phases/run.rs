//! Main loop of the phases of a request: runs steps until there is a response, or a step has to wait.

use std::rc::Rc;

use bytes::Bytes;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use super::errors;
use super::limits::MAX_REDIRECTS;
use super::report;
use super::{locate, rewrite};
use myriad_exchange::exchange::{ContentResponse, Exchange, PendingStep, PhaseStep, ResponseHold};
use myriad_exchange::responses::error_pages::has_page_now;
use myriad_output::allow::SERVER_METHODS;

/// Result of the processing phases of a request.
pub(crate) enum PhaseDecision {
    /// The response to send.
    Ready(ContentResponse),
    /// Operation to wait for; its result is the next step.
    Wait(Box<dyn PendingStep>),
}

/// Phase with which [`run`] starts or continues.
pub(crate) enum PhaseEntry {
    /// Rewrite directives of the server, for the current URI.
    Server,
    /// Selection of the named location (`@name`).
    Named(Box<[u8]>),
    /// Content handler of the current location.
    Content,
    /// Handling of a step that another phase returned.
    Step(PhaseStep),
}

/// Runs the phases from `entry` on, until there is a response or an operation to wait for.
pub(crate) fn run(exchange: &mut Exchange, entry: PhaseEntry) -> PhaseDecision {
    let mut entry = entry;
    loop {
        let step = match entry {
            PhaseEntry::Server => rewrite::server(exchange).unwrap_or_else(|| locate::run(exchange)),
            PhaseEntry::Named(name) => locate::run_named(exchange, &name),
            PhaseEntry::Content => locate::content(exchange),
            PhaseEntry::Step(PhaseStep::Enter) => locate::run_admitted(exchange),
            PhaseEntry::Step(step) => step,
        };
        if let Some(sink) = &exchange.request.received.sink {
            report::report_step(&**sink, &exchange.request, &step);
        }
        entry = match step {
            PhaseStep::Answer(mut answer) => match run_final_steps(exchange, &mut answer) {
                None => return PhaseDecision::Ready(answer),
                Some(step) => PhaseEntry::Step(step),
            },
            PhaseStep::Wait(pending) => return PhaseDecision::Wait(pending),
            PhaseStep::Enter => PhaseEntry::Step(PhaseStep::Enter),
            PhaseStep::Redirect => match count_redirect(exchange) {
                None => PhaseEntry::Server,
                Some(step) => PhaseEntry::Step(step),
            },
            PhaseStep::Named(name) => match count_redirect(exchange) {
                None => PhaseEntry::Named(name),
                Some(step) => PhaseEntry::Step(step),
            },
            PhaseStep::Error(status) => PhaseEntry::Step(errors::error_step(exchange, status)),
        };
    }
}

/// Runs the last steps before a response is sent: rejects a success status for `CONNECT` without a tunnel, applies a
/// feature that holds the response back, and `error_page` for a failed range or condition. Returns `None` if `answer`
/// can be sent, otherwise the next step. `answer` is modified in place because it is large.
fn run_final_steps(exchange: &mut Exchange, answer: &mut ContentResponse) -> Option<PhaseStep> {
    let is_success = (200..300).contains(&answer.status) && !matches!(answer.body, ResponseBody::Tunnel(_));
    if is_success && exchange.request.is_connect() {
        // After a 2xx response, the client would treat the following data as the tunnel (RFC 9110 section 9.3.6).
        exchange.request.errors.supported = SERVER_METHODS;
        return Some(errors::built_in_page(exchange, 405));
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(holder) =
        site.runtime.place(exchange.request.route.place).features.get::<Box<dyn ResponseHold>>()
    {
        let nothing = ContentResponse::new(0, ResponseBody::Full(Bytes::new()));
        match holder.hold(exchange, std::mem::replace(answer, nothing)) {
            Ok(held) => *answer = held,
            Err(step) => return Some(step),
        }
    }
    let refusal = myriad_output::conditional_rejection(&exchange.request, answer)?;
    if !has_page_now(exchange, refusal.status) {
        return None;
    }
    let carried = exchange.request.errors.carried.get_or_insert_default();
    carried.lines.extend_from_slice(&refusal.lines);
    Some(errors::error_step(exchange, refusal.status))
}

/// Counts an internal redirect and marks the request as internal. If there were more than [`MAX_REDIRECTS`], logs an
/// error and returns the step for status 500; otherwise `None`.
fn count_redirect(exchange: &mut Exchange) -> Option<PhaseStep> {
    let request = &mut exchange.request;
    request.route.redirects += 1;
    request.route.internal = true;
    // The conditions of the new location decide again.
    request.cache.shared_by_condition = false;
    if request.route.redirects <= MAX_REDIRECTS {
        return None;
    }
    let uri = String::from_utf8_lossy(&request.route.uri);
    request.log(
        LogLevel::Error,
        format_args!("rewrite or internal redirection cycle while internally redirecting to \"{uri}\""),
    );
    Some(errors::built_in_page(exchange, 500))
}
