//! Asks the checks of a place, one after another, and says what they come to together.
//!
//! Any of them may have to wait (a delay, a slow password hash, a subrequest); the exchange then goes on behind the check that
//! waited, with what the checks before have said.
//!
//! ```text
//! check -> check -> ... -> end -> content
//!   |        |              '- kept out by one that had something to say and let in by none: auth_delay -> 401, 403
//!   |        '- let in, under satisfy any -> content
//!   '- failed; or kept out with 403, under satisfy all -> the error
//! ```

use std::sync::Arc;
use std::time::Duration;

use myriad_log::Level;

use myriad_exchange::exchange::{Check, Exchange, Gate, Request, Sink, Step, Verdict};

/// How far the checks have come, and what they have said.
#[derive(Default)]
struct Progress {
    /// The index of the next check.
    next: usize,
    /// Whether the rest need not be asked.
    decided: bool,
    /// The status of who has kept the visitor out. 401 stays: it tells how to come in.
    refused: Option<u16>,
    /// The values of `WWW-Authenticate`.
    challenges: Vec<Vec<u8>>,
}

/// Asks the checks of a place. [`Step::Enter`] where the visitor may come in to its content.
pub fn begin(exchange: &mut Exchange, gate: &Arc<Gate>) -> Step {
    // Who asks, and how often, is not among what the rules read: no short way for the next.
    exchange.request.shortcut.strayed.set(true);
    match exchange.request.received.sink.clone() {
        Some(sink) => explain(exchange, gate, &*sink),
        None => go_on(exchange, gate, Progress::default(), Verdict::Pass),
    }
}

/// Takes a verdict in, and asks the checks behind it.
fn go_on(exchange: &mut Exchange, gate: &Arc<Gate>, mut progress: Progress, mut verdict: Verdict) -> Step {
    loop {
        if let Verdict::Wait(pending) = verdict {
            let gate = Arc::clone(gate);
            return Step::wait(async move |exchange| {
                let verdict = pending.wait(exchange).await;
                go_on(exchange, &gate, progress, verdict)
            });
        }
        if let Some(over) = progress.hear(gate, verdict) {
            return over;
        }
        match progress.next(gate, &exchange.request) {
            Some(check) => verdict = check.judge(exchange),
            None => return progress.end(exchange, gate),
        }
    }
}

/// Tells what each check would do, and goes on as if whoever has to be asked had let the visitor in.
fn explain(exchange: &mut Exchange, gate: &Gate, sink: &dyn Sink) -> Step {
    let mut progress = Progress::default();
    let mut over = None;
    for check in &gate.checks {
        let (told, verdict) = check.explain(&exchange.request);
        if !told.is_empty() {
            sink.note("access", check.name(), told, None);
        }
        if over.is_none() && !progress.decided {
            over = progress.hear(gate, verdict);
        }
    }
    over.unwrap_or_else(|| progress.end(exchange, gate))
}

impl Progress {
    /// The check whose turn it is; none where all have spoken that need to.
    fn next<'a>(&mut self, gate: &'a Gate, request: &Request) -> Option<&'a dyn Check> {
        // The client was judged by the request that a subrequest belongs to, as in nginx.
        let is_asked = |check: &dyn Check| check.judges_subrequests() || !request.is_subrequest();
        loop {
            let check = &**gate.checks.get(self.next)?;
            self.next += 1;
            let is_its_turn =
                if check.is_told_of_the_admitted() { self.refused.is_none() } else { !self.decided };
            if is_its_turn && is_asked(check) {
                return Some(check);
            }
        }
    }

    /// Takes a verdict in. A step where the request is not to come in, whatever the others say.
    fn hear(&mut self, gate: &Gate, verdict: Verdict) -> Option<Step> {
        let status = match verdict {
            Verdict::Pass | Verdict::Wait(_) => return None,
            Verdict::Allow => {
                if gate.any {
                    *self = Self { decided: true, ..Self::default() };
                }
                return None;
            }
            Verdict::Fail(status) => return Some(Step::Error(status)),
            Verdict::Refuse(status) => status,
            Verdict::Challenge(values) => {
                self.challenges.extend(values);
                401
            }
        };
        if self.refused != Some(401) {
            self.refused = Some(status);
        }
        if gate.any {
            return None;
        }
        // The check itself has said why.
        self.decided = true;
        (status == 403).then_some(Step::Error(403))
    }

    /// What the checks came to, once all have spoken.
    fn end(self, exchange: &mut Exchange, gate: &Gate) -> Step {
        match self.refused {
            None => Step::Enter,
            Some(401) if gate.delay_ms > 0 => {
                let delay = Duration::from_millis(gate.delay_ms);
                Step::wait(async move |exchange| {
                    tokio::time::sleep(delay).await;
                    self.keep_out(exchange, 401)
                })
            }
            Some(403) => {
                exchange.request.log(Level::Error, format_args!("access forbidden by rule"));
                Step::Error(403)
            }
            Some(status) => self.keep_out(exchange, status),
        }
    }

    /// Keeps the visitor out. The challenge goes with whatever answers, an error page too. Whoever wants a tunnel is told so by a status
    /// and a field of their own (RFC 9110 section 11.7.1).
    fn keep_out(self, exchange: &mut Exchange, status: u16) -> Step {
        let is_connect = exchange.request.is_connect();
        let field = if is_connect { &b"Proxy-Authenticate: "[..] } else { b"WWW-Authenticate: " };
        if !self.challenges.is_empty() {
            let carried = exchange.request.errors.carried.get_or_insert_default();
            for value in &self.challenges {
                carried.lines.extend_from_slice(&[field, value, b"\r\n"].concat());
            }
        }
        Step::Error(if is_connect && status == 401 { 407 } else { status })
    }
}

#[cfg(test)]
mod tests;
