//! Limit of internal redirects, and the response to a script that failed.

use myriad_log::LogLevel;
use myriad_script::EvalError;

use myriad_exchange::exchange::{Exchange, PhaseStep};

/// Maximum number of internal redirects of a request, and of repeated selections of the location after rewrites. One
/// more results in status 500.
pub(super) const MAX_REDIRECTS: u8 = 10;

/// Logs the error of a script and returns the step for status 500.
pub(super) fn script_failed(exchange: &Exchange, error: &EvalError) -> PhaseStep {
    exchange.request.log(LogLevel::Error, format_args!("{error}"));
    PhaseStep::Error(500)
}
