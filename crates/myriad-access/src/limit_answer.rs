//! Treatment of requests beyond a limit, shared by `limit_req` and `limit_conn`.

use myriad_conf::registry::{Arguments, Done};
use myriad_log::Level;

/// Treatment of requests beyond a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitAnswer {
    /// `limit_*_status`: status of the response beyond the limit.
    pub status: u16,
    /// `limit_*_log_level`.
    pub level: Level,
    /// `limit_*_dry_run`: the limit is logged but not applied.
    pub dry_run: bool,
}

/// Parses `limit_*_status`: from 400 to 599.
pub(crate) fn status(status: &mut u16, args: &mut Arguments<'_>) -> Done {
    let number = args.number(0)?;
    *status = u16::try_from(number)
        .ok()
        .filter(|status| (400..=599).contains(status))
        .ok_or_else(|| args.invalid(0, "between 400 and 599"))?;
    Ok(())
}

/// Parses `limit_*_log_level`.
pub(crate) fn level(level: &mut Level, args: &mut Arguments<'_>) -> Done {
    *level = args.choice(
        0,
        &[("info", Level::Info), ("notice", Level::Notice), ("warn", Level::Warn), ("error", Level::Error)],
    )?;
    Ok(())
}
