//! Stale windows: for how long an answer says that it may serve stale (RFC 5861).

use myriad_http::Fields;
use myriad_http::cache_control::CacheControl;

use crate::validity::Source;
use crate::{Rules, accelerator};

/// `stale-while-revalidate` and `stale-if-error` in ms: nginx lets a page that may serve stale while it is refreshed also
/// serve when the refresh fails. A word for accelerators alone takes the place of both.
pub(crate) fn stale_windows(
    control: &CacheControl,
    source: Source,
    fields: &Fields,
    rules: &Rules,
) -> (u64, u64) {
    if source == Source::Accelerator {
        let stale = accelerator::stale_ms(fields, rules);
        return (stale, stale);
    }
    let updating = in_ms(control.stale_while_revalidate);
    (updating, in_ms(control.stale_if_error).max(updating))
}

fn in_ms(seconds: Option<u64>) -> u64 {
    seconds.unwrap_or(0).saturating_mul(1000)
}
