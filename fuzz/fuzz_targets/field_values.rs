//! Header values that control caching, ranges and encodings, and field names of forms.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_base::calendar::{format_http_date, parse_http_date};
use myriad_http::accept::{AcceptEncoding, Coding};
use myriad_http::cache_control::CacheControl;
use myriad_http::conditional::{entity_tags, if_match, if_none_match, if_range};
use myriad_http::h1::connection_options;
use myriad_http::ranges::{RangeAction, parse_ranges};
use myriad_http::structured::dictionary;
use myriad_http::{Fields, Method, form};
use myriad_policy::{AnnouncedSupport, CachePolicy, ResponseFacts, VaryRule, admit, other_codings};

fuzz_target!(|input: (u64, u8, &[u8])| {
    let (number, small, text) = input;
    if let RangeAction::Satisfiable(ranges) = parse_ranges(text, number, usize::from(small)) {
        assert!(!ranges.is_empty() && ranges.len() <= usize::from(small));
        assert!(ranges.iter().all(|range| range.start < range.end && range.end <= number));
    }
    if let Some(seconds) = parse_http_date(text, number) {
        assert_eq!(parse_http_date(&format_http_date(seconds), number), Some(seconds));
    }
    assert!(entity_tags(text).count() <= text.len());
    for etag in [&b"\"a\""[..], b"W/\"a\""] {
        let _ = (
            if_match(text, Some(etag)),
            if_none_match(text, Some(etag)),
            if_range(text, Some(etag), Some(number)),
        );
    }
    let read = CacheControl::parse([text]);
    assert!(read.max_age.is_none_or(|seconds| seconds <= 1 << 31));
    let accept = AcceptEncoding::parse(text);
    let preference = [Coding::Brotli, Coding::Gzip, Coding::Zstd, Coding::Identity];
    if let Some(coding) = accept.best(small & 15, &preference) {
        assert!(coding.bit() & small != 0 && (1..=1000).contains(&accept.quality(coding)));
    }
    if let Some(members) = dictionary(text) {
        assert!(members.len() <= text.len());
    }
    let spelled = |text: &[u8]| other_codings(&[("Accept-Encoding", text)].into_iter().collect::<Fields>());
    if let Some(names) = spelled(text) {
        assert_eq!(spelled(&names).as_ref(), Some(&names));
    }
    let _ = connection_options(text);
    for media_type in [&b""[..], b"multipart/form-data"] {
        let _ = form::has_field(text, media_type, b"log");
    }
    languages(text);
    accelerators(text, number);
});

/// Checks `Accept-Language`: its variant is deterministic.
fn languages(text: &[u8]) {
    let fields: Fields = [("Accept-Language", text)].into_iter().collect();
    let rule = VaryRule::parse([&b"accept-language"[..]]).expect("a name");
    let [mut once, mut again] = [Vec::new(), Vec::new()];
    assert_eq!(
        rule.write_variant(&fields, &mut once).is_ok(),
        rule.write_variant(&fields, &mut again).is_ok()
    );
    assert_eq!(once, again);
}

/// Checks header fields of upstreams for accelerators, at any time.
fn accelerators(text: &[u8], now: u64) {
    let announced = AnnouncedSupport { surrogate: Some((*b"myriad").into()), litespeed: true };
    let rules = CachePolicy { announced, ..CachePolicy::default() };
    for name in ["Surrogate-Control", "X-LiteSpeed-Cache-Control"] {
        let fields: Fields = [(name, text)].into_iter().collect();
        let facts = ResponseFacts {
            status: 200,
            fields: &fields,
            method: Method::Get,
            authorization: false,
            personal: false,
            cookies: false,
            piece: false,
            no_cache: false,
            uses: 1,
            usable_page: false,
            large_request: false,
            delay_ms: 0,
        };
        let _ = admit(&facts, &rules, now);
    }
}
