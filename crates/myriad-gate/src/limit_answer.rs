//! How a request beyond a limit is answered: what `limit_req` and `limit_conn` have in common.

use myriad_conf::registry::{Arguments, Done};
use myriad_log::Level;

/// How a request beyond a limit is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitAnswer {
    /// `limit_*_status`: what a visitor beyond the limit gets.
    pub status: u16,
    /// `limit_*_log_level`.
    pub level: Level,
    /// `limit_*_dry_run`: only told, not done.
    pub dry_run: bool,
}

/// Reads `limit_*_status`: from 400 to 599.
pub(crate) fn status(status: &mut u16, args: &mut Arguments<'_>) -> Done {
    let number = args.number(0)?;
    *status = u16::try_from(number)
        .ok()
        .filter(|status| (400..=599).contains(status))
        .ok_or_else(|| args.invalid(0, "between 400 and 599"))?;
    Ok(())
}

/// Reads `limit_*_log_level`.
pub(crate) fn level(level: &mut Level, args: &mut Arguments<'_>) -> Done {
    *level = args.choice(
        0,
        &[("info", Level::Info), ("notice", Level::Notice), ("warn", Level::Warn), ("error", Level::Error)],
    )?;
    Ok(())
}
