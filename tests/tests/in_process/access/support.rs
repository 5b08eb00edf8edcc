//! Helpers: the result of a gate for a request.

use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_serve::testing::block_on;

/// Result of a gate.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GateResult {
    /// The request is admitted.
    Admitted,
    /// The request is rejected with this status and these header lines.
    Rejected(u16, String),
}

impl GateResult {
    /// Returns a rejection with this status and no header lines.
    pub(super) fn out(status: u16) -> Self {
        Self::Rejected(status, String::new())
    }
}

/// Result of a gate, and the number of times that it had to wait.
pub(super) struct GateRun {
    pub result: GateResult,
    pub waits: u32,
}

/// Runs the gate of the exchange's location.
pub(super) fn ask(exchange: &mut Exchange) -> GateRun {
    let gate = exchange.request.place().entry.gate.clone().expect("the location has a gate");
    finish(exchange, |exchange| myriad_access::begin(exchange, &gate))
}

/// Runs `begin` and all following steps to the result of the gate.
pub(super) fn finish(exchange: &mut Exchange, begin: impl FnOnce(&mut Exchange) -> PhaseStep) -> GateRun {
    let mut step = begin(exchange);
    let mut waits = 0;
    loop {
        let came = match step {
            PhaseStep::Wait(pending) => {
                waits += 1;
                step = block_on(pending.wait(exchange));
                continue;
            }
            PhaseStep::Enter => GateResult::Admitted,
            PhaseStep::Error(status) => {
                let lines = exchange.request.errors.carried.take().map(|carried| carried.lines);
                GateResult::Rejected(status, String::from_utf8(lines.unwrap_or_default()).expect("text"))
            }
            _ => panic!("a gate admits or rejects"),
        };
        return GateRun { result: came, waits };
    }
}
