//! Response to requests beyond a limit, shared by `limit_req` and `limit_conn`.

use myriad_conf::registry::{Arguments, SetterResult};
use myriad_log::LogLevel;

/// Response to requests beyond a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitResponse {
    /// `limit_*_status`: status of the response to a request beyond the limit.
    pub status: u16,
    /// `limit_*_log_level`: log level of a rejection.
    pub level: LogLevel,
    /// `limit_*_dry_run`: excess requests are logged, but neither rejected nor delayed.
    pub dry_run: bool,
}

/// Parses `limit_*_status`: a number from 400 to 599.
pub(crate) fn parse_status(status: &mut u16, args: &mut Arguments<'_>) -> SetterResult {
    let number = args.number(0)?;
    *status = u16::try_from(number)
        .ok()
        .filter(|status| (400..=599).contains(status))
        .ok_or_else(|| args.invalid(0, "between 400 and 599"))?;
    Ok(())
}

/// Parses `limit_*_log_level`: `info`, `notice`, `warn` or `error`.
pub(crate) fn parse_level(level: &mut LogLevel, args: &mut Arguments<'_>) -> SetterResult {
    *level = args.choice(
        0,
        &[
            ("info", LogLevel::Info),
            ("notice", LogLevel::Notice),
            ("warn", LogLevel::Warn),
            ("error", LogLevel::Error),
        ],
    )?;
    Ok(())
}
