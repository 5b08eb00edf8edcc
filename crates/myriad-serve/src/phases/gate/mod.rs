//! The pre-access and access phases: who may come in, and how much.
//!
//! The checks of a place run in nginx's order. Any of them may have to wait (a delay, a slow password hash, a
//! subrequest); the exchange then goes on behind the check that waited, with what the checks before have said.
//!
//! ```text
//! Requests -> Connections -> Networks -> Password -> Subrequest -> End -> content
//!     |            |             |           |           |          |
//!     '- refused --'- 503        |           |           |          |
//!     '- refused (satisfy all), or by all that had something to say (satisfy any) -> Out -> 401, 403
//! ```

mod auth_request;
mod connections;
mod explained;
mod networks;
mod password;
mod requests;

use std::rc::Rc;
use std::time::Duration;

use myriad_log::Level;

use super::locate;
use crate::content::{Step, Work};
use crate::exchange::Exchange;
use crate::runtime::Gate;
use crate::subrequest::Asked;

/// A check of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// `limit_req`.
    Requests,
    /// `limit_conn`.
    Connections,
    /// `allow`, `deny`.
    Networks,
    /// `auth_basic`.
    Password,
    /// `auth_request`.
    Subrequest,
    /// Every check has spoken.
    End,
    /// The visitor is kept out; `auth_delay` has passed.
    Out,
}

impl Stage {
    fn next(self) -> Self {
        match self {
            Self::Requests => Self::Connections,
            Self::Connections => Self::Networks,
            Self::Networks => Self::Password,
            Self::Password => Self::Subrequest,
            Self::Subrequest => Self::End,
            Self::End | Self::Out => Self::Out,
        }
    }
}

/// What a check came to.
pub(crate) enum Verdict {
    /// Nothing to say.
    Pass,
    /// Let in.
    Allow,
    /// Kept out, with 401 or 403; under `satisfy any` a later check may still let the visitor in.
    Refuse(u16),
    /// Kept out with 401, and told how to come in: the value of `WWW-Authenticate`.
    Challenge(Vec<u8>),
    /// As [`Verdict::Challenge`], with a choice of several.
    Challenges(Vec<Vec<u8>>),
    /// The exchange ends with this status, whatever `satisfy` says.
    Fail(u16),
    /// To be told later.
    Wait(Waiting),
}

/// What a check waits for.
pub(crate) enum Waiting {
    /// Time to pass; the check has nothing more to say then.
    Pause(Duration),
    /// The answer of a subrequest (`auth_request`).
    Subrequest(Asked),
    /// A slow hash to be computed.
    Password(password::Attempt),
}

/// An exchange that waits at the gate.
pub(crate) struct Wait {
    progress: Progress,
    waiting: Waiting,
}

/// How far the checks have come.
struct Progress {
    /// The check whose turn it is.
    stage: Stage,
    /// Under `satisfy any`: the status of who has kept the visitor out. 401 stays: it tells how to come in.
    refused: Option<u16>,
    /// `WWW-Authenticate`, as field lines.
    challenges: Vec<u8>,
}

/// Asks the checks of the place, then goes on to its content.
pub(crate) fn begin(exchange: &mut Exchange) -> Step {
    // Who asks, and how often, is not among what the rules read: no short way for the next.
    exchange.request.strayed.set(true);
    if let Some(trace) = exchange.request.trace.clone() {
        let site = Rc::clone(&exchange.request.site);
        let gate = site.runtime.place(exchange.request.place).gate.as_ref();
        return gate.map_or(Step::Error(500), |gate| explained::run(exchange, gate, &trace));
    }
    run(exchange, Progress { stage: Stage::Requests, refused: None, challenges: Vec::new() })
}

/// Waits for what a check waits for, and goes on from there.
pub(crate) async fn wait(exchange: &mut Exchange, wait: Wait) -> Step {
    let Wait { mut progress, waiting } = wait;
    let verdict = match waiting {
        Waiting::Pause(pause) => {
            tokio::time::sleep(pause).await;
            Verdict::Pass
        }
        Waiting::Subrequest(asked) => auth_request::judge(exchange, asked.await),
        Waiting::Password(attempt) => password::wait(exchange, attempt).await,
    };
    let site = Rc::clone(&exchange.request.site);
    let Some(gate) = &site.runtime.place(exchange.request.place).gate else { return Step::Error(500) };
    match progress.hear(gate, verdict) {
        Some(step) => step,
        None => run(exchange, progress),
    }
}

fn run(exchange: &mut Exchange, mut progress: Progress) -> Step {
    let site = Rc::clone(&exchange.request.site);
    let Some(gate) = &site.runtime.place(exchange.request.place).gate else { return Step::Error(500) };
    loop {
        let verdict = match progress.stage {
            Stage::Requests => match &gate.requests {
                Some(rules) => requests::judge(exchange, rules),
                None => Verdict::Pass,
            },
            Stage::Connections => match &gate.connections {
                Some(rules) => connections::judge(exchange, rules),
                None => Verdict::Pass,
            },
            // The client was judged by the request that a subrequest belongs to, as in nginx.
            Stage::Networks if exchange.request.is_subrequest() => {
                progress.stage = Stage::End;
                continue;
            }
            Stage::Networks => networks::judge(&exchange.request, gate),
            Stage::Password => match &gate.basic {
                Some(rules) => password::judge(exchange, rules),
                None => Verdict::Pass,
            },
            Stage::Subrequest => auth_request::begin(exchange),
            Stage::End => match progress.refused {
                None => return locate::enter(exchange),
                Some(403) => {
                    exchange.request.log(Level::Error, format_args!("access forbidden by rule"));
                    return Step::Error(403);
                }
                Some(401) if gate.delay_ms > 0 => {
                    Verdict::Wait(Waiting::Pause(Duration::from_millis(gate.delay_ms)))
                }
                Some(_) => return out(exchange, &progress),
            },
            Stage::Out => return out(exchange, &progress),
        };
        if let Verdict::Wait(waiting) = verdict {
            return Step::Wait(Work::Gate(Box::new(Wait { progress, waiting })));
        }
        if let Some(step) = progress.hear(gate, verdict) {
            return step;
        }
    }
}

impl Progress {
    /// Takes a verdict in and turns to the next check, or to the end. A step where the exchange is over.
    fn hear(&mut self, gate: &Gate, verdict: Verdict) -> Option<Step> {
        self.stage = self.stage.next();
        let status = match verdict {
            Verdict::Pass | Verdict::Wait(_) => return None,
            Verdict::Allow => {
                if gate.any {
                    *self = Self { stage: Stage::End, refused: None, challenges: Vec::new() };
                }
                return None;
            }
            Verdict::Fail(status) => return Some(Step::Error(status)),
            Verdict::Refuse(status) => status,
            Verdict::Challenge(value) => self.challenge(&[value]),
            Verdict::Challenges(values) => self.challenge(&values),
        };
        if self.refused != Some(401) {
            self.refused = Some(status);
        }
        if gate.any {
            return None;
        }
        if status == 403 {
            // The check itself has said why.
            return Some(Step::Error(403));
        }
        self.stage = Stage::End;
        None
    }

    fn challenge(&mut self, values: &[Vec<u8>]) -> u16 {
        for value in values {
            self.challenges.extend_from_slice(b"WWW-Authenticate: ");
            self.challenges.extend_from_slice(value);
            self.challenges.extend_from_slice(b"\r\n");
        }
        401
    }
}

/// Keeps the visitor out. The challenge goes with whatever answers, an error page too.
fn out(exchange: &mut Exchange, progress: &Progress) -> Step {
    if !progress.challenges.is_empty() {
        let carried = exchange.request.carried.get_or_insert_default();
        carried.lines.extend_from_slice(&progress.challenges);
    }
    Step::Error(progress.refused.unwrap_or(403))
}

#[cfg(test)]
mod tests;
