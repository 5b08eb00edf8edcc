//! Where the phases give up: too many redirects, a script that failed.

use myriad_log::Level;
use myriad_script::EvalError;

use myriad_exchange::exchange::{Exchange, Step};

/// nginx allows ten internal redirects, rewrites included, before it gives up with 500.
pub(super) const MAX_REDIRECTS: u8 = 10;

/// A script failed: the reason goes to the error log, the client gets 500.
pub(super) fn failed(exchange: &Exchange, error: &EvalError) -> Step {
    exchange.request.log(Level::Error, format_args!("{error}"));
    Step::Error(500)
}
