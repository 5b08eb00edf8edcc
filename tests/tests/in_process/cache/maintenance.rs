//! Tests of the maintenance mode of an application.

use super::support::CacheTestSite;

#[test]
fn application_closes_the_site_by_a_field_and_status_503() {
    let is_closed = |status, fields: &[(&str, &str)]| {
        let mut site = CacheTestSite::new("");
        site.origin.respond(status, fields, "");
        let response = site.get("GET /a", &[]);
        assert_eq!(response.status, status);
        response.reason.as_deref() == Some("maintenance")
    };
    let field = &[("X-Myriad-State", "maintenance")];
    assert!(is_closed(503, field) && !is_closed(500, field) && !is_closed(200, field));
    assert!(
        !is_closed(503, &[("Retry-After", "600")]) && !is_closed(503, &[("X-Myriad-State", "incomplete")])
    );
}
