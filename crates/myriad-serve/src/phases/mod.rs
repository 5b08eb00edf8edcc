//! The way of a request up to its content: rewrite, location, access, `try_files`. Only access waits.
//!
//! ```text
//! begin -> host -> server rewrite -> locate -> location rewrite -> access -> content
//!                                      ^            |                           |
//!                                      +-- changed -+        internal redirect -+
//! ```

mod begin;
mod challenge;
mod client;
pub(crate) mod gate;
mod https_only;
mod locate;
mod real_ip;
mod rewrite;
mod server_options;
mod shortcut;
mod try_files;

pub(crate) use begin::{begin, begin_in_place, begin_subrequest, reject};

use myriad_log::Level;

use crate::content::{self, Step, Work};
use crate::exchange::Exchange;
use crate::output::{self, Answer};

/// nginx allows ten internal redirects, rewrites included, before it gives up with 500.
const MAX_REDIRECTS: u8 = 10;

/// What the phases came to.
pub(crate) enum Decision {
    /// The answer.
    Ready(Answer),
    /// Something to wait for, which gives the next step.
    Wait(Work),
}

/// Where the phases go on.
pub(crate) enum Entry {
    /// At the server's rewrite directives, with the URI as it is.
    Server,
    /// In a named location.
    Named(Box<[u8]>),
    /// At what a step of the content came to.
    Step(Step),
}

/// Runs the phases until there is an answer or something to wait for.
pub(crate) fn run(exchange: &mut Exchange, entry: Entry) -> Decision {
    let mut entry = entry;
    loop {
        let step = match entry {
            Entry::Server => rewrite::server(exchange).unwrap_or_else(|| locate::run(exchange)),
            Entry::Named(name) => locate::named(exchange, &name),
            Entry::Step(step) => step,
        };
        if let Some(trace) = &exchange.request.trace {
            trace.step(&exchange.request, &step);
        }
        entry = match step {
            Step::Answer(answer) => match output::refusal(&exchange.request, &answer) {
                Some(refusal) if content::error::has_page_now(exchange, refusal.status) => {
                    let carried = exchange.request.carried.get_or_insert_default();
                    carried.lines.extend_from_slice(&refusal.lines);
                    Entry::Step(content::error::step(exchange, refusal.status))
                }
                _ => return Decision::Ready(answer),
            },
            Step::Wait(work) => return Decision::Wait(work),
            Step::Redirect => match count_redirect(exchange) {
                None => Entry::Server,
                Some(step) => Entry::Step(step),
            },
            Step::Named(name) => match count_redirect(exchange) {
                None => Entry::Named(name),
                Some(step) => Entry::Step(step),
            },
            Step::Error(status) => Entry::Step(content::error::step(exchange, status)),
        };
    }
}

/// Counts an internal redirect; too many of them are answered with an error.
fn count_redirect(exchange: &mut Exchange) -> Option<Step> {
    let request = &mut exchange.request;
    request.redirects += 1;
    request.internal = true;
    if request.redirects <= MAX_REDIRECTS {
        return None;
    }
    let uri = String::from_utf8_lossy(&request.uri);
    request.log(
        Level::Error,
        format_args!("rewrite or internal redirection cycle while internally redirecting to \"{uri}\""),
    );
    Some(content::error::unpaged(exchange, 500))
}

/// A script failed: the reason goes to the error log, the client gets 500.
fn failed(exchange: &Exchange, error: &myriad_script::EvalError) -> Step {
    exchange.request.log(Level::Error, format_args!("{error}"));
    Step::Error(500)
}
