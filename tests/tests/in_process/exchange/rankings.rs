//! Tests of the page rankings.

use myriad_exchange::observation;
use myriad_exchange::ranking::{Ranking, merged};
use myriad_http::HttpVersion;
use myriad_serve::testing::TestSite;

#[test]
fn unparsable_request_does_not_stop_the_rankings() {
    let site = TestSite::new("", "");
    observation::note(&site.received_request(HttpVersion::Http11, ("GET", ""), &[]).request);
    let seen = site.exchange("/a", &[]);
    observation::note(&seen.request);
    let rankings = seen.request.site.worker.observation.shared.tops[0].lock();
    let (_, rows) = merged(std::iter::once(&*rankings), Ranking::Requests, 10);
    let rows: Vec<_> = rows.iter().map(|row| (&*row.url, row.requests)).collect();
    assert_eq!(rows, [(&b"http://localhost/a"[..], Some(1))]);
}
