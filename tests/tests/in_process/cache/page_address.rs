//! Tests of the URL by which purges find a page.

use myriad_admin::purge::{PurgeResult, begin_in};
use myriad_policy::{PurgeCommand, PurgeTarget};
use myriad_store::page::PurgeSource;

use super::support::CacheTestSite;

#[test]
fn page_is_purged_by_url_that_client_sent() {
    let mut site = CacheTestSite::new("rewrite ^ /index.php break;");
    assert_eq!(site.get("GET /a", &[]).summary(), "200 MISS");
    assert!(site.origin.requests()[0].starts_with("GET /index.php "));
    let zone = site.zone();
    let mut purged = |url: &str| {
        let command = PurgeCommand::hard(PurgeTarget::url(url.as_bytes()).expect("a URL"));
        let begun = begin_in(&zone, &command, &[], PurgeSource::Request).expect("a purge");
        site.run(begun.finish()).expect("a purge").outcome
    };
    assert_eq!(purged("localhost/index.php"), PurgeResult::Done(0));
    assert_eq!(purged("localhost/b"), PurgeResult::Done(0));
    assert_eq!(purged("localhost/a"), PurgeResult::Done(1));
}
