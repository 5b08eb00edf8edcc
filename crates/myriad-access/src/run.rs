//! Runs the checks of a location in sequence and combines their results.
//!
//! A check may have to wait (a delay, a slow password hash, a subrequest). The remaining checks then run after the
//! wait, with the results of the previous checks.
//!
//! ```text
//! check -> check -> ... -> finished -> content
//!   |        |              '- rejected by a check, and admitted by none: auth_delay -> 401, 403
//!   |        '- admitted, with satisfy any -> content
//!   '- failed; or rejected with 403, with satisfy all -> error
//! ```

use std::sync::Arc;
use std::time::Duration;

use myriad_log::LogLevel;

use myriad_exchange::exchange::{
    AccessGate, Check, CheckVerdict, DecisionSink, Exchange, PhaseStep, Request,
};

/// Progress of the checks of a request, and their results.
#[derive(Default)]
struct GateProgress {
    /// Index of the next check to run.
    next: usize,
    /// Set if the result is known. Then only checks that observe admitted requests still run, and only if the request
    /// is admitted.
    decided: bool,
    /// Status of the rejection: of the last check that rejected the request, except that 401 takes precedence,
    /// because its response contains a challenge. `None` if no check has rejected the request.
    refused: Option<u16>,
    /// Challenges of all checks that sent one: values of `WWW-Authenticate`, or of `Proxy-Authenticate` for a CONNECT
    /// request.
    challenges: Vec<Vec<u8>>,
}

/// Runs the checks of a location. Returns [`PhaseStep::Enter`] if the request is admitted, an error if it is rejected,
/// and a wait if a check has to wait. For an explained request, reports the checks without running them.
pub fn begin(exchange: &mut Exchange, gate: &Arc<AccessGate>) -> PhaseStep {
    // The result depends on the client and on rates, which the shortcut does not record: the next equal request must
    // not reuse it.
    exchange.request.shortcut.depends_on_more.set(true);
    match exchange.request.received.sink.clone() {
        Some(sink) => explain(exchange, gate, &*sink),
        None => continue_checks(exchange, gate, GateProgress::default(), CheckVerdict::Pass),
    }
}

/// Processes a verdict and runs the following checks.
fn continue_checks(
    exchange: &mut Exchange,
    gate: &Arc<AccessGate>,
    mut progress: GateProgress,
    mut verdict: CheckVerdict,
) -> PhaseStep {
    loop {
        if let CheckVerdict::Wait(pending) = verdict {
            let gate = Arc::clone(gate);
            return PhaseStep::wait(async move |exchange| {
                let verdict = pending.wait(exchange).await;
                continue_checks(exchange, &gate, progress, verdict)
            });
        }
        if let Some(over) = progress.apply_verdict(gate, verdict) {
            return over;
        }
        match progress.next(gate, &exchange.request) {
            Some(check) => verdict = check.judge(exchange),
            None => return progress.combined_result(exchange, gate),
        }
    }
}

/// Reports the effect of each check, and continues as if those checks that need a wait had admitted the request.
fn explain(exchange: &mut Exchange, gate: &AccessGate, sink: &dyn DecisionSink) -> PhaseStep {
    let mut progress = GateProgress::default();
    let mut over = None;
    for check in &gate.checks {
        let (description, verdict) = check.explain(&exchange.request);
        if !description.is_empty() {
            sink.note("access", check.name(), description, None);
        }
        if over.is_none() && !progress.decided {
            over = progress.apply_verdict(gate, verdict);
        }
    }
    over.unwrap_or_else(|| progress.combined_result(exchange, gate))
}

impl GateProgress {
    /// Returns the next check that must run; `None` if no further check must run.
    fn next<'a>(&mut self, gate: &'a AccessGate, request: &Request) -> Option<&'a dyn Check> {
        // Most checks do not run for a subrequest: its client was checked for the parent request, as in nginx.
        let is_asked = |check: &dyn Check| check.judges_subrequests() || !request.is_subrequest();
        loop {
            let check = &**gate.checks.get(self.next)?;
            self.next += 1;
            let is_its_turn = if check.observes_admitted() { self.refused.is_none() } else { !self.decided };
            if is_its_turn && is_asked(check) {
                return Some(check);
            }
        }
    }

    /// Applies a verdict to the progress. Returns a step if the request ends here regardless of the other checks: the
    /// verdict is `Fail`, or a rejection with 403 and `satisfy all`. Otherwise returns `None`.
    fn apply_verdict(&mut self, gate: &AccessGate, verdict: CheckVerdict) -> Option<PhaseStep> {
        let status = match verdict {
            CheckVerdict::Pass | CheckVerdict::Wait(_) => return None,
            CheckVerdict::Allow => {
                if gate.any {
                    *self = Self { decided: true, ..Self::default() };
                }
                return None;
            }
            CheckVerdict::Fail(status) => return Some(PhaseStep::Error(status)),
            CheckVerdict::Refuse(status) => status,
            CheckVerdict::Challenge(values) => {
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
        // `deny` has already logged the rejection.
        self.decided = true;
        (status == 403).then_some(PhaseStep::Error(403))
    }

    /// Returns the step after the last check: entry, or the rejection. A 401 is sent after `auth_delay`.
    fn combined_result(self, exchange: &mut Exchange, gate: &AccessGate) -> PhaseStep {
        match self.refused {
            None => PhaseStep::Enter,
            Some(401) if gate.delay_ms > 0 => {
                let delay = Duration::from_millis(gate.delay_ms);
                PhaseStep::wait(async move |exchange| {
                    tokio::time::sleep(delay).await;
                    self.reject(exchange, 401)
                })
            }
            Some(403) => {
                exchange.request.log(LogLevel::Error, format_args!("access forbidden by rule"));
                PhaseStep::Error(403)
            }
            Some(status) => self.reject(exchange, status),
        }
    }

    /// Returns the error response of a rejection. The challenges are added to the response whatever its status is, and
    /// also if an error page replaces it. A CONNECT request receives 407 instead of 401, and `Proxy-Authenticate`
    /// instead of `WWW-Authenticate` (RFC 9110 section 11.7.1).
    fn reject(self, exchange: &mut Exchange, status: u16) -> PhaseStep {
        let is_connect = exchange.request.is_connect();
        let field = if is_connect { &b"Proxy-Authenticate: "[..] } else { b"WWW-Authenticate: " };
        if !self.challenges.is_empty() {
            let carried = exchange.request.errors.carried.get_or_insert_default();
            for value in &self.challenges {
                carried.lines.extend_from_slice(&[field, value, b"\r\n"].concat());
            }
        }
        PhaseStep::Error(if is_connect && status == 401 { 407 } else { status })
    }
}

#[cfg(test)]
mod tests;
