//! Tests of inspection and administration of a site.

use std::sync::Arc;

use myriad_admin::protocol::{
    AdminReply, AdminRequest, PageReport, PageRequest, PagesRequest, PurgeRequest, ReplyEnd, StatsRequest,
};
use myriad_store::page::PageZone;

use super::support::{ZONE, is_stale, is_stored, store, zone_of};
use myriad_admin::admin::Administrator;
use myriad_serve::testing::TestSite;

/// Returns a site with two zones, `y` and `z`; `z` contains three pages of two hosts.
fn site() -> (Administrator, Arc<PageZone>) {
    let cached =
        |name: &str| format!("location /{name} {{ proxy_pass http://127.0.0.1:1; proxy_cache {name}; }}");
    let zones = format!("{ZONE} proxy_cache_path /nowhere/other keys_zone=y:1m;");
    let site = TestSite::new(&zones, &[cached("y"), cached("z")].concat());
    let zone = zone_of(&site);
    for (target, host, tags) in [("/a", "a.test", "news"), ("/a?b", "a.test", ""), ("/c", "c.test", "news")] {
        store(&zone, target, (host, target), tags);
    }
    let administrator = Administrator::new(&site.exchange("/", &[]).request.site.runtime);
    (administrator, zone)
}

fn asked(administrator: &Administrator, request: &AdminRequest) -> Vec<AdminReply> {
    let mut replies = Vec::new();
    administrator.answer(request, &mut |reply| {
        replies.push(reply);
        true
    });
    replies
}

fn pages(replies: &[AdminReply]) -> Vec<&PageReport> {
    replies
        .iter()
        .filter_map(|reply| if let AdminReply::Page(page) = reply { Some(&**page) } else { None })
        .collect()
}

fn keys(replies: &[AdminReply]) -> Vec<&str> {
    let mut keys: Vec<_> = pages(replies).iter().map(|page| page.key.as_str()).collect();
    keys.sort_unstable();
    keys
}

fn error(replies: &[AdminReply]) -> &str {
    match replies {
        [AdminReply::Error(error)] => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn list_contains_each_page_once() {
    let (administrator, _zone) = site();
    let replies = asked(&administrator, &AdminRequest::Pages(PagesRequest::default()));
    assert_eq!(keys(&replies), ["/a", "/a?b", "/c"]);
    assert_eq!(replies.last(), Some(&AdminReply::End(ReplyEnd::default())));
}

#[test]
fn limited_list_resumes_where_it_stopped() {
    let (administrator, _zone) = site();
    let mut all = Vec::new();
    let mut after = None;
    for turn in 0.. {
        assert!(turn < 10, "the list does not end");
        let request = PagesRequest { limit: Some(1), after: after.take(), ..PagesRequest::default() };
        let replies = asked(&administrator, &AdminRequest::Pages(request));
        assert!(pages(&replies).len() <= 1);
        all.extend(pages(&replies).iter().map(|page| page.key.clone()));
        let Some(AdminReply::End(ReplyEnd { next })) = replies.last() else { panic!("{replies:?}") };
        after.clone_from(next);
        if after.is_none() {
            break;
        }
    }
    all.sort_unstable();
    assert_eq!(all, ["/a", "/a?b", "/c"]);
}

#[test]
fn list_is_of_a_host_or_of_what_fits() {
    let (administrator, _zone) = site();
    let listed = |request| {
        let replies = asked(&administrator, &AdminRequest::Pages(request));
        keys(&replies).join(" ")
    };
    let host = |host: &str| PagesRequest { host: Some(host.to_owned()), ..PagesRequest::default() };
    assert_eq!(listed(host("C.test")), "/c");
    assert_eq!(listed(host("d.test")), "");
    let fits = |text: &str| PagesRequest { matching: Some(text.to_owned()), ..PagesRequest::default() };
    assert_eq!(listed(fits("http://a.test/*")), "/a /a?b");
    assert_eq!(listed(fits("//c.test/")), "/c");
    assert_eq!(listed(fits("none")), "");
}

#[test]
fn list_stops_when_reader_needs_no_more() {
    let (administrator, _zone) = site();
    let mut received = 0;
    administrator.answer(&AdminRequest::Pages(PagesRequest::default()), &mut |_| {
        received += 1;
        received > 1
    });
    assert_eq!(received, 2, "the list stops after the first page and the end");
}

#[test]
fn position_that_is_none_is_refused() {
    let (administrator, _zone) = site();
    for text in ["", "z", "z:m:0:0", "z:m:0:0:x", "z:x:0:0", "none:d:0:0", "z:d:-1:0"] {
        let request = PagesRequest { after: Some(text.to_owned()), ..PagesRequest::default() };
        let replies = asked(&administrator, &AdminRequest::Pages(request));
        assert_eq!(error(&replies), "\"after\" must be the \"next\" value of an earlier response", "{text}");
    }
}

#[test]
fn unknown_zone_error_lists_known_zones() {
    let (administrator, _zone) = site();
    let request = StatsRequest { zone: Some("x\n".to_owned()) };
    let replies = asked(&administrator, &AdminRequest::Stats(request));
    let message = error(&replies);
    assert!(
        message.starts_with("unknown zone \"x") && message.ends_with("available zones: \"y\", \"z\""),
        "{message}"
    );
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn page_is_shown_by_its_url_and_by_its_key() {
    let (administrator, _zone) = site();
    let shown = |page: &str| {
        let request = PageRequest { page: page.to_owned(), ..PageRequest::default() };
        let replies = asked(&administrator, &AdminRequest::Page(request));
        keys(&replies).join(" ")
    };
    assert_eq!(shown("http://a.test/a"), "/a", "pages with a query are not included");
    assert_eq!(shown("http://a.test/a?b"), "/a?b");
    assert_eq!(shown("/c"), "/c");
    assert_eq!(shown("http://d.test/a"), "");
}

#[test]
fn page_report_contains_all_known_fields() {
    let (administrator, zone) = site();
    let request = AdminRequest::Page(PageRequest {
        page: "/a".to_owned(),
        zone: Some("z".to_owned()),
        ..PageRequest::default()
    });
    let replies = asked(&administrator, &request);
    let page = pages(&replies)[0];
    assert_eq!((page.zone.as_str(), page.url.as_deref()), ("z", Some("http://a.test/a")));
    assert_eq!((page.status, page.bytes, page.media_type.as_str()), (200, 8, "text/html"));
    assert_eq!((page.tags.join(" ").as_str(), page.file.as_deref()), ("news", None));
    assert!(page.fresh_until_ms > page.now_ms);
    let purge = PurgeRequest { urls: vec!["a.test/a".to_owned()], soft: true, ..PurgeRequest::default() };
    asked(&administrator, &AdminRequest::Purge(purge));
    assert!(is_stale(&zone, "/a"));
    let replies = asked(&administrator, &request);
    assert!(pages(&replies)[0].fresh_until_ms <= page.now_ms, "softly purged");
}

#[test]
fn purges_are_counted_each_by_itself() {
    let (administrator, zone) = site();
    let purge = PurgeRequest {
        urls: vec!["http://a.test/a?b".to_owned(), "http://a.test/none".to_owned()],
        tags: vec!["news".to_owned()],
        ..PurgeRequest::default()
    };
    let replies = asked(&administrator, &AdminRequest::Purge(purge));
    let purged: Vec<_> = replies
        .iter()
        .filter_map(|reply| match reply {
            AdminReply::Purge(report) => Some((report.kind.as_str(), report.what.as_str(), report.purged)),
            _ => None,
        })
        .collect();
    assert_eq!(
        purged,
        [
            ("url", "http://a.test/a?b", Some(1)),
            ("url", "http://a.test/none", Some(0)),
            ("tag", "news", Some(2)),
        ]
    );
    assert!(!is_stored(&zone, "/a") && !is_stored(&zone, "/c"));
}

#[test]
fn purge_that_waits_knows_how_much_a_pattern_covered() {
    let (administrator, _zone) = site();
    for (request, count) in [
        (PurgeRequest { wildcards: vec!["/a*".to_owned()], ..PurgeRequest::default() }, 2),
        (PurgeRequest { regexes: vec!["^/none".to_owned()], ..PurgeRequest::default() }, 0),
        (PurgeRequest { hosts: vec!["c.test".to_owned()], ..PurgeRequest::default() }, 1),
        (PurgeRequest { all: true, ..PurgeRequest::default() }, 0),
    ] {
        let request = PurgeRequest { wait: true, zone: Some("z".to_owned()), ..request };
        let replies = asked(&administrator, &AdminRequest::Purge(request));
        let AdminReply::Purge(report) = &replies[0] else { panic!("{replies:?}") };
        assert_eq!(report.purged, Some(count), "{report:?}");
    }
}

#[test]
fn nothing_is_purged_where_one_purge_makes_no_sense() {
    let (administrator, zone) = site();
    let with = |change: fn(&mut PurgeRequest)| {
        let mut request =
            PurgeRequest { urls: vec!["http://a.test/a".to_owned()], ..PurgeRequest::default() };
        change(&mut request);
        error(&asked(&administrator, &AdminRequest::Purge(request))).to_owned()
    };
    assert!(with(|request| request.urls.push("/a".to_owned())).contains("is not a URL"));
    assert!(with(|request| request.tags.push(" ".to_owned())).contains("is not a valid tag"));
    assert!(with(|request| request.regexes.push("(".to_owned())).starts_with("regex (: "));
    assert!(with(|request| request.hosts.push("a.test/b".to_owned())).contains("is not a valid host"));
    assert!(with(|request| request.wildcards.push("x".repeat(5000))).starts_with("wildcard: "));
    assert!(is_stored(&zone, "/a"));
}

#[test]
fn zone_statistics_are_sorted_by_name() {
    let (administrator, zone) = site();
    zone.counts.add(0, myriad_policy::CacheStatus::Hit, 0);
    let replies = asked(&administrator, &AdminRequest::Stats(StatsRequest::default()));
    let counted: Vec<_> = replies
        .iter()
        .filter_map(|reply| match reply {
            AdminReply::Zone(zone) => Some((zone.zone.as_str(), zone.memory.pages, zone.requests.hit)),
            _ => None,
        })
        .collect();
    assert_eq!(counted, [("y", 0, 0), ("z", 3, 1)]);
}
