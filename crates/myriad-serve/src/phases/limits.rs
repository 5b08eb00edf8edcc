//! Limits of the phases: number of redirects, failed scripts.

use myriad_log::LogLevel;
use myriad_script::EvalError;

use myriad_exchange::exchange::{Exchange, PhaseStep};

/// Maximum number of internal redirects, including rewrites, before the request fails with 500, as in nginx.
pub(super) const MAX_REDIRECTS: u8 = 10;

/// Handles a failed script: the reason is written to the error log, the client gets 500.
pub(super) fn script_failed(exchange: &Exchange, error: &EvalError) -> PhaseStep {
    exchange.request.log(LogLevel::Error, format_args!("{error}"));
    PhaseStep::Error(500)
}
