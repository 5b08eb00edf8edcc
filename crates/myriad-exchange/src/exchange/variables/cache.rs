//! Variables of the cache.

use myriad_conf::registry::Status;
use myriad_page::{Condition, conditions};

use super::write::{Row, show};
use crate::exchange::Request;
use crate::runtime::Reads::Cache;
use crate::runtime::Value::{Made, Ready};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        "upstream",
        "upstream_cache_status",
        &[Cache],
        Ready(|request| request.cache.shown.status.map(|status| status.as_str().as_bytes())),
    ),
    Row::new(
        "upstream",
        "upstream_cache_last_modified",
        &[Cache],
        Made(|request, out| confirmable(request, Condition::ModifiedSince, out)),
    ),
    Row::new(
        "upstream",
        "upstream_cache_etag",
        &[Cache],
        Made(|request, out| confirmable(request, Condition::NoneMatch, out)),
    ),
    Row::new(
        "upstream",
        "upstream_cache_key",
        &[Cache],
        Ready(|request| (!request.cache.key.is_empty()).then_some(&request.cache.key)),
    )
    .fares(Status::Own),
    Row::new(
        "upstream",
        "upstream_cache_age",
        &[Cache],
        Made(|request, out| request.cache.shown.age_s.is_some_and(|age| show(out, age))),
    )
    .fares(Status::Own),
];

/// What the origin is asked to confirm of an expired page.
fn confirmable(request: &Request, wanted: Condition, out: &mut Vec<u8>) -> bool {
    let Some(stale) = &request.cache.stale else { return false };
    let asked = conditions(stale).into_iter().find(|(condition, _)| *condition == wanted);
    asked.is_some_and(|(_, value)| {
        out.extend_from_slice(&value);
        true
    })
}
