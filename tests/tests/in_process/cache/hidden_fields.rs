//! Tests of request header fields that `Connection` lists.

use super::support::CacheTestSite;
use super::test_origin::TestOrigin;

const NAMED: &[(&str, &str)] = &[("X-Language", "de"), ("Connection", "X-Language")];

/// Returns whether a request is sent to the origin without the cache because fields are not forwarded.
fn hides(site: &mut CacheTestSite, fields: &[(&str, &str)]) -> bool {
    let response = site.get("GET /a", fields);
    let is_hidden = response.reason.as_deref() == Some("connection names fields");
    site.zone().zone.remove(myriad_store::KeyRef::new(b"localhost/a"));
    is_hidden
}

#[test]
fn field_that_connection_names_is_hidden_from_an_http_origin() {
    let mut site = CacheTestSite::new("");
    assert!(hides(&mut site, NAMED));
    assert!(!site.origin.requests()[0].contains("X-Language: de"));
    assert!(!hides(&mut site, &[("X-Language", "de"), ("Connection", "close")]));
    assert!(!hides(&mut site, &[("X-Language", "de"), ("Connection", "X-Other")]));
}

#[test]
fn overridden_field_is_not_hidden() {
    let mut site = CacheTestSite::new("proxy_set_header X-Language en;");
    assert!(!hides(&mut site, NAMED));
}

#[test]
fn fastcgi_receives_all_fields() {
    let pass = "fastcgi_pass unix:/nowhere/php.sock; fastcgi_cache ONE;";
    assert!(!hides(&mut CacheTestSite::of(TestOrigin::start(), pass, ""), NAMED));
}
