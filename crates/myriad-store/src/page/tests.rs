use std::sync::Arc;

use crate::KeyRef;
use crate::{ALTERNATIVES, Admission, AlternativeEncoding, Completed, Completion, Zone, ZoneLimits};
use myriad_http::Fields;
use myriad_policy::{EntityTag, PurgeTarget, Tags};

use crate::page::testing::PageSpec;
use crate::page::{
    Counter, FetchAdmission, FetchLimiter, FetchLimits, NO_VARIANT, Page, PageMeta, RevalidationCondition,
    STRONG_GZIP, alternative, conditions, encoding_index, purge_predicate, write_variant,
};
use myriad_encode::Coding;

/// Stores a page in a new zone, with encodings at these indices, and returns it.
fn stored(made: &PageSpec<'_>, encodings: &[u8]) -> Page {
    let zone = Zone::<PageMeta>::new("z", ZoneLimits::default());
    let meta = made.meta();
    let writer = zone.fetch_unshared(KeyRef::new(b"key"), 1000);
    let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection: None, length: None });
    writer.push(b"the page, which is longer than its encodings".to_vec().into());
    let mut alternatives = [const { None }; ALTERNATIVES];
    for place in encodings {
        alternatives[usize::from(*place)] = Some(AlternativeEncoding { bytes: vec![*place].into(), meta: 1 });
    }
    match writer.complete(Completion { meta, now: 1000, fresh_until: 2000, alternatives }) {
        Completed::Stored(page) => page,
        _ => panic!("the page fits"),
    }
}

fn covers(what: &PurgeTarget, made: &PageSpec<'_>) -> bool {
    purge_predicate(what).expect("a sound pattern")(b"key/1", made.meta().view())
}

#[test]
fn purge_covers_pages_by_host_key_and_everything() {
    let page = PageSpec::default();
    assert!(covers(&PurgeTarget::All, &page));
    assert!(covers(&PurgeTarget::Host((*b"a.test").into()), &page));
    assert!(!covers(&PurgeTarget::Host((*b"test").into()), &page));
    assert!(covers(&PurgeTarget::KeyPrefix((*b"key/").into()), &page));
    assert!(!covers(&PurgeTarget::KeyPrefix((*b"ey/").into()), &page));
    assert!(covers(&PurgeTarget::Keys(vec![(*b"other").into(), (*b"key/1").into()]), &page));
    assert!(!covers(&PurgeTarget::Keys(vec![(*b"key").into()]), &page));
}

#[test]
fn purge_of_a_url_covers_that_page_and_no_other() {
    let covers = |url: &str| covers(&PurgeTarget::url(url.as_bytes()).expect("a URL"), &PageSpec::default());
    assert!(covers("http://a.test/a?b") && covers("a.test:8080/a?b"));
    assert!(!covers("http://a.test/a?c") && !covers("http://b.test/a?b"));
}

#[test]
fn pattern_covers_pages_of_its_host() {
    let regex = |host: Option<&[u8]>, pattern: &[u8]| PurgeTarget::regex(host, pattern).expect("short");
    let page = PageSpec::default();
    assert!(covers(&regex(None, b"^/a"), &page) && covers(&regex(Some(b"a.test"), b"b$"), &page));
    assert!(!covers(&regex(Some(b"b.test"), b"^/a"), &page) && !covers(&regex(None, b"^a"), &page));
    let wildcard = |pattern: &[u8]| PurgeTarget::wildcard(pattern, b"a.test").expect("short");
    assert!(covers(&wildcard(b"/a*"), &page) && !covers(&wildcard(b"/b*"), &page));
}

#[test]
fn tag_purge_covers_tagged_pages_and_pages_with_overflowing_tags() {
    let tag_regex = |pattern: &[u8]| PurgeTarget::tag_regex(pattern).expect("short");
    let page = PageSpec::default();
    assert!(covers(&PurgeTarget::Tags(Tags::parse(b"other news")), &page));
    assert!(!covers(&PurgeTarget::Tags(Tags::parse(b"new")), &page));
    assert!(covers(&tag_regex(b"^post-[0-9]$"), &page) && !covers(&tag_regex(b"^page-"), &page));
    let many: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    let many = PageSpec { tags: Tags::parse(many.join(" ").as_bytes()), ..PageSpec::default() };
    assert!(many.tags.is_truncated());
    assert!(covers(&tag_regex(b"^page-"), &many));
}

#[test]
fn invalid_tag_pattern_covers_nothing_and_returns_reason() {
    let error = purge_predicate(&PurgeTarget::tag_regex(b"[").expect("short")).err();
    assert!(error.is_some_and(|error| !error.is_empty()));
}

#[test]
fn origin_is_asked_to_confirm_what_it_gave_validators_for() {
    let origin = |weak| Some(EntityTag::Origin { opaque: (*b"x").into(), weak, undone: false });
    let date = "Sat, 21 Nov 2026 00:00:00 GMT";
    let asked = |made: PageSpec| {
        conditions(&stored(&made, &[]))
            .into_iter()
            .map(|(condition, value)| {
                let value = String::from_utf8(value).expect("text");
                (condition, value)
            })
            .collect::<Vec<_>>()
    };
    let both = asked(PageSpec { last_modified: date, tag: origin(false), ..PageSpec::default() });
    assert_eq!(
        both,
        [
            (RevalidationCondition::ModifiedSince, date.to_owned()),
            (RevalidationCondition::NoneMatch, "\"x\"".to_owned())
        ]
    );
    let weak = asked(PageSpec { tag: origin(true), ..PageSpec::default() });
    assert_eq!(weak, [(RevalidationCondition::NoneMatch, "W/\"x\"".to_owned())]);
    assert!(
        asked(PageSpec { tag: Some(EntityTag::generated(7)), ..PageSpec::default() }).is_empty(),
        "the origin knows none"
    );
    assert!(asked(PageSpec { status: 404, last_modified: date, ..PageSpec::default() }).is_empty());
}

#[test]
fn condition_is_the_same_field_in_every_protocol() {
    for condition in [RevalidationCondition::NoneMatch, RevalidationCondition::ModifiedSince] {
        let param = String::from_utf8(condition.param().to_vec()).expect("text");
        let field = String::from_utf8(condition.field().to_vec()).expect("text");
        assert_eq!(param, format!("HTTP_{}", field.to_uppercase().replace('-', "_")));
        assert_eq!(condition.known_header().as_str(), field);
    }
}

#[test]
fn strong_gzip_goes_before_the_fast_one() {
    let bytes = |encodings: &[u8], coding| {
        alternative(&stored(&PageSpec::default(), encodings), coding).map(|found| found.bytes.to_vec())
    };
    assert_eq!(bytes(&[0], Coding::Gzip), Some(vec![0]));
    assert_eq!(bytes(&[0, STRONG_GZIP], Coding::Gzip), Some(vec![STRONG_GZIP]));
    assert_eq!(bytes(&[0, encoding_index(Coding::Brotli)], Coding::Zstd), None);
    assert_eq!(
        bytes(&[0, encoding_index(Coding::Zstd)], Coding::Zstd),
        Some(vec![encoding_index(Coding::Zstd)])
    );
    assert_eq!(bytes(&[0], Coding::Identity), None);
}

#[test]
fn variant_follows_from_the_fields_that_a_page_varies_by() {
    let variant = |value: &[u8]| {
        let mut fields = Fields::default();
        fields.push(b"X-Lang", value);
        fields.push(b"X-Other", value);
        let mut variant = Vec::new();
        write_variant(b"x-lang", &fields, &mut variant);
        variant
    };
    assert_eq!(variant(b"de"), variant(b"de"));
    assert_ne!(variant(b"de"), variant(b"en"));
    assert_eq!(variant(&[b'x'; 10_000]), NO_VARIANT, "too long to be told apart");
}

#[test]
fn count_does_not_go_below_nothing() {
    let count = Counter::default();
    count.add(2);
    count.subtract(3);
    count.add(1);
    assert_eq!(count.get(), 1);
}

#[test]
fn queued_fetch_is_abandoned_after_wait_timeout() {
    let fetches = Arc::<FetchLimiter>::default();
    fetches.set_limits(FetchLimits { max_running: 1, queue: 1 });
    let first = fetches.try_begin().expect("room");
    let Some(waiting @ FetchAdmission::Wait(..)) = fetches.begin_or_queue() else {
        panic!("the first is under way")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    assert!(runtime.block_on(waiting.wait_for_turn(1)).is_none());
    drop(first);
    assert!(matches!(fetches.begin_or_queue(), Some(FetchAdmission::Now(_))), "nobody waits any more");
}
