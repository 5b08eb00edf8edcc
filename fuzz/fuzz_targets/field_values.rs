//! Values of fields that decide about caching, ranges and encodings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::Fields;
use myriad_http::accept::{AcceptEncoding, Coding};
use myriad_http::cache_control::CacheControl;
use myriad_http::conditional::{entity_tags, if_match, if_none_match, if_range};
use myriad_http::date::{format_http_date, parse_http_date};
use myriad_http::h1::connection_options;
use myriad_http::ranges::{Ranges, parse_ranges};
use myriad_http::structured::dictionary;
use myriad_policy::other_codings;

fuzz_target!(|input: (u64, u8, &[u8])| {
    let (number, small, text) = input;
    if let Ranges::Satisfiable(ranges) = parse_ranges(text, number, usize::from(small)) {
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
});
