use super::*;
use crate::freshness;
use crate::{StatusMatch, ValidFor};

/// 2026-11-21 02:00:00 UTC, in ms since the epoch.
const NOW: u64 = 1_795_226_400_000;
const THIS_SECOND: &str = "Sat, 21 Nov 2026 02:00:00 GMT";
const HOUR_AHEAD: &str = "Sat, 21 Nov 2026 03:00:00 GMT";
const HOUR_AGO: &str = "Sat, 21 Nov 2026 01:00:00 GMT";
const HOUR_MS: i64 = 3_600_000;

fn rules() -> CachePolicy {
    CachePolicy { rfc9111: true, ..CachePolicy::default() }
}

fn judged(status: u16, fields: &[(&str, &str)]) -> Result<Freshness, StoreRefusal> {
    freshness::freshness(status, &fields.iter().copied().collect(), &rules(), NOW, 0)
}

/// Returns the ms until a 200 with these fields expires; negative if it is expired.
fn left(fields: &[(&str, &str)]) -> Result<i64, StoreRefusal> {
    judged(200, fields).map(|freshness| freshness.fresh_until as i64 - NOW as i64)
}

#[test]
fn age_counts_against_the_lifetime_and_only_its_first_value() {
    let with = |age: &str| left(&[("Cache-Control", "max-age=3600"), ("Age", age)]);
    assert_eq!(with("0"), Ok(HOUR_MS));
    assert_eq!(with("1800"), Ok(HOUR_MS / 2));
    assert_eq!(with("0, 7200"), Ok(HOUR_MS));
    assert_eq!(with("7200, 0"), Err(StoreRefusal::Expired));
    for nonsense in ["", "-7200", "7200.0", "abc", ", 7200"] {
        assert_eq!(with(nonsense), Ok(HOUR_MS), "{nonsense:?}");
    }
    assert_eq!(with("99999999999999999999999"), Err(StoreRefusal::Expired));
}

#[test]
fn an_old_date_and_the_way_of_the_head_are_age_too() {
    let control = ("Cache-Control", "max-age=7200");
    assert_eq!(left(&[control, ("Date", HOUR_AGO)]), Ok(HOUR_MS));
    assert_eq!(left(&[control, ("Date", HOUR_AGO), ("Age", "1800")]), Ok(HOUR_MS), "the larger counts");
    assert_eq!(left(&[control, ("Date", HOUR_AHEAD)]), Ok(2 * HOUR_MS), "nothing is younger than new");
    let fields: Fields = [control, ("Age", "10")].into_iter().collect();
    let slow = freshness::freshness(200, &fields, &rules(), NOW, 5_000).unwrap();
    assert_eq!(slow.valid_ms, 7_185_000);
    assert_eq!(slow.born, Some(NOW - 15_000));
}

#[test]
fn expires_counts_by_the_origins_own_clock() {
    assert_eq!(left(&[("Date", THIS_SECOND), ("Expires", HOUR_AHEAD)]), Ok(HOUR_MS));
    assert_eq!(left(&[("Date", HOUR_AHEAD), ("Expires", HOUR_AHEAD)]), Err(StoreRefusal::Expired));
    // The origin's clock is an hour slow: two hours by its own clock, of which one is over.
    assert_eq!(left(&[("Date", HOUR_AGO), ("Expires", HOUR_AHEAD)]), Ok(HOUR_MS));
    for over in ["0", "tomorrow", HOUR_AGO] {
        assert_eq!(left(&[("Date", THIS_SECOND), ("Expires", over)]), Err(StoreRefusal::Expired), "{over}");
    }
}

#[test]
fn expired_page_is_stored_if_origin_can_revalidate_it() {
    for validator in [("ETag", "\"1\""), ("Last-Modified", HOUR_AGO)] {
        for over in [("Cache-Control", "max-age=0"), ("Cache-Control", "no-cache"), ("Expires", "0")] {
            assert!(left(&[over, validator]).unwrap() <= 0, "{over:?} {validator:?}");
            assert!(left(&[over]).is_err(), "{over:?}");
        }
    }
    assert_eq!(left(&[("ETag", "\"1\"")]), Ok(0), "no time at all");
    assert_eq!(judged(404, &[("ETag", "\"1\"")]), Err(StoreRefusal::NoValidity), "only a 200 is confirmed");
    assert_eq!(left(&[("Cache-Control", "no-store"), ("ETag", "\"1\"")]), Err(StoreRefusal::CacheControl));
}

#[test]
fn no_cache_is_asked_about_each_time_and_never_served_stale() {
    for value in ["no-cache, max-age=60", "max-age=60, no-cache=\"x\""] {
        let stored = judged(200, &[("Cache-Control", value), ("ETag", "\"1\"")]).unwrap();
        assert!(stored.fresh_until <= NOW && stored.must_revalidate, "{value}");
    }
    let accelerated = [("X-Accel-Expires", "9"), ("Cache-Control", "no-cache"), ("ETag", "\"1\"")];
    assert_eq!(left(&accelerated), Ok(9_000), "the field for accelerators still ranks first");
}

#[test]
fn what_demands_validation_is_never_served_stale() {
    for (value, forbidden) in [
        ("max-age=60", false),
        ("max-age=60, must-revalidate", true),
        ("max-age=60, proxy-revalidate", true),
        ("s-maxage=60", true),
    ] {
        assert_eq!(judged(200, &[("Cache-Control", value)]).unwrap().must_revalidate, forbidden, "{value}");
    }
}

#[test]
fn a_heuristic_is_a_tenth_bounded_and_last_of_all() {
    assert_eq!(left(&[("Last-Modified", HOUR_AGO)]), Ok(HOUR_MS / 10));
    assert_eq!(left(&[("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]), Ok(HEURISTIC_MAX_MS as i64));
    let valid = vec![ValidFor { status: StatusMatch::Any, ms: 10_000 }];
    let configured = CachePolicy { valid, ..rules() };
    let fields = [("Last-Modified", HOUR_AGO)].into_iter().collect();
    let own = freshness::freshness(200, &fields, &configured, NOW, 0).unwrap();
    assert_eq!((own.valid_ms, own.source), (10_000, ValiditySource::CacheValid));
    for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
        assert!(judged(status, &[("Last-Modified", HOUR_AGO)]).is_ok(), "{status}");
    }
    for status in [201, 202, 302, 403, 500, 502, 503, 504, 599] {
        assert_eq!(judged(status, &[("Last-Modified", HOUR_AGO)]), Err(StoreRefusal::NoValidity), "{status}");
        let public = [("Last-Modified", HOUR_AGO), ("Cache-Control", "public")];
        assert!(judged(status, &public).is_ok(), "{status} and public");
    }
}

#[test]
fn must_understand_lifts_no_store_for_what_is_understood_and_forbids_the_rest() {
    let fields = [("Cache-Control", "max-age=60, no-store, must-understand")];
    assert!(judged(200, &fields).is_ok());
    assert_eq!(judged(599, &fields), Err(StoreRefusal::CacheControl));
    assert_eq!(
        judged(599, &[("Cache-Control", "max-age=60, must-understand")]),
        Err(StoreRefusal::CacheControl)
    );
    assert!(judged(599, &[("Cache-Control", "max-age=60")]).is_ok());
}

#[test]
fn the_targeted_field_takes_the_place_of_the_others_where_it_is_sound() {
    let with = |targeted: &str, control: &str| {
        left(&[("CDN-Cache-Control", targeted), ("Cache-Control", control), ("Expires", HOUR_AHEAD)])
    };
    assert_eq!(with("max-age=60", "no-store"), Ok(60_000));
    assert_eq!(with("max-age=60", "max-age=1"), Ok(60_000));
    assert_eq!(with("max-age=0", "max-age=60"), Err(StoreRefusal::Expired));
    assert_eq!(with("no-store", "max-age=60"), Err(StoreRefusal::CacheControl));
    assert_eq!(with("no-cache", "max-age=60"), Err(StoreRefusal::CacheControl));
    assert_eq!(with("foo", "max-age=60"), Err(StoreRefusal::NoValidity), "not even Expires counts");
    for unsound in ["", "max-age=60, &&&&&", "max-age=\"60\"", "max-age=60;", "Max-Age=60"] {
        assert_eq!(with(unsound, "no-store"), Err(StoreRefusal::CacheControl), "{unsound:?}");
        assert_eq!(with(unsound, "max-age=5"), Ok(5_000), "{unsound:?}");
    }
}

#[test]
fn field_for_this_cache_alone_comes_before_that_for_all() {
    let with = |own: &str, all: &str| left(&[("CDN-Cache-Control", all), ("Myriad-Cache-Control", own)]);
    assert_eq!(with("max-age=60", "max-age=5"), Ok(60_000));
    assert_eq!(with("max-age=60", "no-store"), Ok(60_000));
    assert_eq!(with("&&&", "max-age=5"), Ok(5_000));
}

#[test]
fn the_targeted_field_does_not_lift_private() {
    let fields = [("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "private")];
    assert!(is_private(&EffectiveControl::of(&fields.into_iter().collect()).control));
    let fields = [("CDN-Cache-Control", "private"), ("Cache-Control", "max-age=60")];
    assert!(is_private(&EffectiveControl::of(&fields.into_iter().collect()).control));
}

#[test]
fn a_change_that_went_well_invalidates_and_nothing_else_does() {
    let of = |invalidate| CachePolicy { invalidate, ..CachePolicy::default() };
    let [nothing, redirects, everything] =
        [Invalidate::Nothing, Invalidate::Redirects, Invalidate::Everything].map(of);
    for method in [Method::Post, Method::Put, Method::Delete, Method::Other] {
        for status in [200, 201, 204, 302, 303, 399] {
            assert_eq!(
                invalidates(method, status, &everything),
                Some(Invalidated::All),
                "{method:?} {status}"
            );
            let named = matches!(status, 302 | 303).then_some(Invalidated::Named);
            assert_eq!(invalidates(method, status, &redirects), named, "{method:?} {status}");
            assert_eq!(invalidates(method, status, &nothing), None);
        }
        for status in [100, 400, 404, 500, 599] {
            assert_eq!(invalidates(method, status, &everything), None, "{method:?} {status}");
            assert_eq!(invalidates(method, status, &redirects), None, "{method:?} {status}");
        }
    }
    for method in [Method::Get, Method::Head, Method::Options, Method::Trace, Method::Propfind] {
        assert_eq!(invalidates(method, 200, &everything), None, "{method:?}");
        assert_eq!(invalidates(method, 302, &redirects), None, "{method:?}");
    }
}

#[test]
fn only_one_word_of_a_visitors_is_heeded() {
    let wants = |value: &str| wants_stored_only(&[("Cache-Control", value)].into_iter().collect());
    assert!(wants("only-if-cached") && wants("max-age=0, Only-If-Cached"));
    assert!(!wants("no-cache") && !wants("x=\"only-if-cached\"") && !wants_stored_only(&Fields::new()));
}
