//! Tests of the variables of the cache.

use myriad_policy::CacheStatus;
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};

#[test]
fn variables_show_result_of_cache() {
    let mut exchange = VariableCase::default().begin();
    assert_unset(&mut exchange, &["upstream_cache_status", "upstream_cache_key", "upstream_cache_age"]);
    assert_unset(&mut exchange, &["upstream_cache_reason"]);
    assert_unset(&mut exchange, &["upstream_cache_etag", "upstream_cache_last_modified"]);
    let cache = &mut exchange.request.cache;
    (cache.report.status, cache.report.age_s) = (Some(CacheStatus::Hit), Some(7));
    cache.report.reason = Some("set-cookie");
    cache.key.extend_from_slice(b"a/b");
    assert_variables(
        &mut exchange,
        &[
            ("upstream_cache_status", "HIT"),
            ("upstream_cache_key", "a/b"),
            ("upstream_cache_age", "7"),
            ("upstream_cache_reason", "set-cookie"),
        ],
    );
    exchange.request.cache.report.explanation = Some("a shop's".into());
    assert_variables(&mut exchange, &[("upstream_cache_reason", "set-cookie: a shop's")]);
}

#[test]
fn variable_shows_that_the_optimized_form_is_sent() {
    let mut exchange = VariableCase::default().begin();
    assert_unset(&mut exchange, &["optimized"]);
    exchange.request.cache.report.optimized = true;
    assert_variables(&mut exchange, &[("optimized", "safe")]);
}
