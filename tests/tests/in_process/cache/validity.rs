//! Tests of `*_cache_valid` with variables.

use super::support::CacheTestSite;

const VARIABLE: &str = "proxy_cache_valid 200 $upstream_http_x_valid;";

/// Returns the validity in ms of the page for a response with this value of `X-Valid`; `None` if it is not stored.
fn valid_ms(directives: &str, value: &str) -> Option<u64> {
    let mut site = CacheTestSite::new(directives);
    site.origin.respond(200, &[("X-Valid", value)], "a page");
    assert_eq!(site.get("GET /a", &[]).summary(), "200 MISS");
    site.page("/a").map(|page| page.meta().lifetime().valid_ms)
}

#[test]
fn validity_is_evaluated_from_variable_or_fixed_time() {
    assert_eq!(valid_ms(VARIABLE, "5m"), Some(300_000));
    assert_eq!(valid_ms("proxy_cache_valid 200 1h;", "5m"), Some(3_600_000));
}

#[test]
fn response_with_empty_or_invalid_validity_is_not_stored() {
    assert_eq!(valid_ms(VARIABLE, ""), None);
    assert_eq!(valid_ms(VARIABLE, "soon"), None);
}
