//! Stale windows: periods after its validity during which a response may be served stale (RFC 5861).

use myriad_http::Fields;
use myriad_http::cache_control::CacheControl;

use crate::validity::ValiditySource;
use crate::{CachePolicy, accelerator};

/// Returns `stale-while-revalidate` and `stale-if-error` in ms; 0 if not set. As in nginx, a page that may be served
/// stale during a refresh may also be served after a failed refresh. If `Surrogate-Control` or LiteSpeed's field
/// defines the validity, the window of `Surrogate-Control` is returned for both.
pub(crate) fn stale_windows(
    control: &CacheControl,
    source: ValiditySource,
    fields: &Fields,
    rules: &CachePolicy,
) -> (u64, u64) {
    if source == ValiditySource::Accelerator {
        let stale = accelerator::stale_ms(fields, rules);
        return (stale, stale);
    }
    let updating = in_ms(control.stale_while_revalidate);
    (updating, in_ms(control.stale_if_error).max(updating))
}

fn in_ms(seconds: Option<u64>) -> u64 {
    seconds.unwrap_or(0).saturating_mul(1000)
}
