//! Variables `$upstream_cache_*`: the result of the cache for a request, and facts about the stored page.

use myriad_conf::registry::DirectiveStatus;
use myriad_store::page::{RevalidationCondition, conditions};

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Cache;
use myriad_exchange::runtime::RowValue::{Made, Ready};

/// Variables for the result of the cache and the stored page.
pub(crate) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new(
        "upstream",
        "upstream_cache_status",
        &[Cache],
        Ready(|request| request.cache.report.status.map(|status| status.as_str().as_bytes())),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_cache_last_modified",
        &[Cache],
        Made(|request, out| confirmable(request, RevalidationCondition::ModifiedSince, out)),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_cache_etag",
        &[Cache],
        Made(|request, out| confirmable(request, RevalidationCondition::NoneMatch, out)),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_cache_key",
        &[Cache],
        Ready(|request| (!request.cache.key.is_empty()).then_some(&request.cache.key)),
    )
    .with_status(DirectiveStatus::Own),
    RequestVariable::new(
        "upstream",
        "upstream_cache_reason",
        &[Cache],
        Made(|request, out| {
            request.cache.report.whole_reason().is_some_and(|reason| {
                out.extend_from_slice(reason.as_bytes());
                true
            })
        }),
    )
    .with_status(DirectiveStatus::Own),
    RequestVariable::new(
        "upstream",
        "upstream_cache_age",
        &[Cache],
        Made(|request, out| request.cache.report.age_s.is_some_and(|age| show(out, age))),
    )
    .with_status(DirectiveStatus::Own),
];

/// Writes the value of a conditional field by which the origin can confirm the expired page. Returns `false` if there
/// is none.
fn confirmable(request: &Request, wanted: RevalidationCondition, out: &mut Vec<u8>) -> bool {
    let Some(stale) = &request.cache.stale else { return false };
    let asked = conditions(stale).into_iter().find(|(condition, _)| *condition == wanted);
    asked.is_some_and(|(_, value)| {
        out.extend_from_slice(&value);
        true
    })
}
