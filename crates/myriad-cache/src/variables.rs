//! Variables of the cache.

use myriad_conf::registry::Status;
use myriad_store::page::{Condition, conditions};

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::Row;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Cache;
use myriad_exchange::runtime::Value::{Made, Ready};

/// Variables for the cache's result and the stored page.
pub(crate) const VARIABLES: &[Row] = &[
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
        "upstream_cache_reason",
        &[Cache],
        Made(|request, out| {
            request.cache.shown.whole_reason().is_some_and(|reason| {
                out.extend_from_slice(reason.as_bytes());
                true
            })
        }),
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

/// Writes the value of the conditional field by which the origin revalidates an expired page.
fn confirmable(request: &Request, wanted: Condition, out: &mut Vec<u8>) -> bool {
    let Some(stale) = &request.cache.stale else { return false };
    let asked = conditions(stale).into_iter().find(|(condition, _)| *condition == wanted);
    asked.is_some_and(|(_, value)| {
        out.extend_from_slice(&value);
        true
    })
}

#[cfg(test)]
mod tests {
    use myriad_policy::CacheStatus;
    use myriad_serve::testing::variables::{Case, lacks, shows};

    #[test]
    fn the_cache_shows_what_it_did() {
        let mut exchange = Case::default().begin();
        lacks(&mut exchange, &["upstream_cache_status", "upstream_cache_key", "upstream_cache_age"]);
        lacks(&mut exchange, &["upstream_cache_reason"]);
        lacks(&mut exchange, &["upstream_cache_etag", "upstream_cache_last_modified"]);
        let cache = &mut exchange.request.cache;
        (cache.shown.status, cache.shown.age_s) = (Some(CacheStatus::Hit), Some(7));
        cache.shown.reason = Some("set-cookie");
        cache.key.extend_from_slice(b"a/b");
        shows(
            &mut exchange,
            &[
                ("upstream_cache_status", "HIT"),
                ("upstream_cache_key", "a/b"),
                ("upstream_cache_age", "7"),
                ("upstream_cache_reason", "set-cookie"),
            ],
        );
        exchange.request.cache.shown.because = Some("a shop's".into());
        shows(&mut exchange, &[("upstream_cache_reason", "set-cookie: a shop's")]);
    }
}
