//! Tests of `$upstream_http_*` for stored pages.

use std::sync::Arc;

use bytes::Bytes;
use myriad_encode::Coding;
use myriad_exchange::exchange::Exchange;
use myriad_net::clock::now_ms;
use myriad_policy::EntityTag;
use myriad_store::page::testing::PageSpec;
use myriad_store::{Admission, KeyRef};

use super::support::{CacheTestSite, stale_page, write_page};
use myriad_serve::testing::variables::variable_value;

/// Fields that the configuration of [`site`] uses: one that is sent, one that is hidden, and cookies.
const USED: &str =
    "add_header X-Seen \"$upstream_http_x_a $upstream_http_x_gone $upstream_http_set_cookie\";";

/// Returns a site whose origin responds with used and unused fields.
fn site() -> CacheTestSite {
    let rules = "proxy_hide_header X-Gone; proxy_ignore_headers Set-Cookie;";
    let site = CacheTestSite::new(&format!("{rules} {USED}"));
    let fields = [("X-A", "1"), ("X-A", "2"), ("X-Gone", "3"), ("X-B", "4"), ("Set-Cookie", "a=b")];
    site.origin.respond(200, &fields, "a page");
    site
}

/// Returns the values of `$upstream_http_*` for the fields of the origin of [`site`].
fn values(exchange: &mut Exchange) -> [Option<String>; 4] {
    ["x_a", "x_gone", "x_b", "set_cookie"]
        .map(|name| variable_value(exchange, &format!("upstream_http_{name}")))
}

#[test]
fn page_in_flight_shows_used_fields_hidden_or_not_and_no_cookie() {
    let mut site = site();
    assert_eq!(site.get("GET /a", &[]).summary(), "200 MISS");
    let meta = site.page("/a").expect("a page").meta().to_owned();
    assert_eq!(meta.view().unsent(), b"x-gone: 3\r\n");
    site.zone().zone.remove(KeyRef::new(b"localhost/a"));
    let mut writer = site.lead("/a").admit(Admission { head: Arc::new(meta), selection: None, length: None });
    writer.push(Bytes::from_static(b"the first part"));
    let mut exchange = site.process(site.begin("GET /a", &[]));
    assert_eq!(values(&mut exchange).each_ref().map(Option::as_deref), [Some("1, 2"), Some("3"), None, None]);
    drop(writer);
}

#[test]
fn stored_page_shows_all_fields_but_no_cookie() {
    let mut site = site();
    assert_eq!(site.get("GET /a", &[]).summary(), "200 MISS");
    let mut response = site.get("GET /a", &[]);
    assert_eq!(response.summary(), "200 HIT");
    assert_eq!(response.field("X-Seen"), ["1, 2 3 "]);
    assert_eq!(
        values(&mut response.exchange).each_ref().map(Option::as_deref),
        [Some("1, 2"), Some("3"), Some("4"), None]
    );
}

#[test]
fn just_fetched_page_uses_its_own_head() {
    let mut response = site().get("GET /a", &[]);
    assert_eq!(response.summary(), "200 MISS");
    assert!(response.exchange.request.cache.origin_fields.is_none());
    assert_eq!(
        values(&mut response.exchange).each_ref().map(Option::as_deref),
        [Some("1, 2"), Some("3"), Some("4"), Some("a=b")]
    );
}

#[test]
fn field_that_a_confirmation_does_not_name_stays() {
    let rules = "proxy_cache_revalidate on; cache_rfc9111 on; proxy_hide_header X-Gone;";
    let unsent = |fields: &[(&str, &str)]| {
        let mut site = CacheTestSite::new(&format!("{rules} {USED}"));
        let tag = EntityTag::from_origin(b"\"tag\"", Coding::Identity);
        let meta = PageSpec { tag, ..stale_page() }.meta().with_unsent(b"x-gone: 3\r\n");
        write_page(site.lead("/a"), meta, now_ms());
        site.origin.respond(304, &[&[("ETag", "\"tag\"")], fields].concat(), "");
        assert_eq!(site.get("GET /a", &[]).summary(), "200 REVALIDATED");
        site.page("/a").expect("a page").meta().unsent().to_vec()
    };
    assert_eq!(unsent(&[]), b"x-gone: 3\r\n");
    assert_eq!(unsent(&[("X-Gone", "5")]), b"x-gone: 5\r\n");
}
