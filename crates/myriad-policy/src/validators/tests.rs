use myriad_http::accept::Coding;

use super::*;

const NOW_S: u64 = 1_795_226_400;
/// [`MODIFIED_S`] as a date.
const MODIFIED_DATE: &str = "Sat, 21 Nov 2026 01:00:00 GMT";
const MODIFIED_S: u64 = NOW_S - 3600;
const EARLIER: &str = "Sat, 21 Nov 2026 00:59:59 GMT";
const LATER: &str = "Sat, 21 Nov 2026 01:00:01 GMT";

const ENCODINGS: [PageEncoding; 5] = [
    PageEncoding::IDENTITY,
    PageEncoding { coding: Coding::Gzip, level: 5 },
    PageEncoding { coding: Coding::Gzip, level: 12 },
    PageEncoding { coding: Coding::Brotli, level: 5 },
    PageEncoding { coding: Coding::Zstd, level: 3 },
];

fn written(tag: &EntityTag, encoding: PageEncoding) -> String {
    let mut out = Vec::new();
    tag.write(encoding, &mut out);
    String::from_utf8(out).unwrap()
}

fn judged(
    fields: &[(&str, &str)],
    tag: Option<&EntityTag>,
    modified: Option<u64>,
    mode: IfModifiedSince,
) -> PreconditionOutcome {
    let fields: Fields = fields.iter().copied().collect();
    let stored = StoredValidators { tag, encoding: ENCODINGS[1], last_modified_s: modified };
    judge_conditions(&fields, &stored, mode, NOW_S)
}

fn exact(fields: &[(&str, &str)], tag: Option<&EntityTag>) -> PreconditionOutcome {
    judged(fields, tag, Some(MODIFIED_S), IfModifiedSince::Exact)
}

#[test]
fn a_made_tag_names_hash_coding_and_level() {
    let tag = EntityTag::generated(0x0123_4567_89ab_cdef);
    let all = ENCODINGS.map(|encoding| written(&tag, encoding));
    let expected =
        ["", "-gz5", "-gz12", "-br5", "-zs3"].map(|suffix| format!("\"0123456789abcdef{suffix}\""));
    assert_eq!(all, expected);
    assert_eq!(written(&EntityTag::generated(1), PageEncoding::IDENTITY), "\"0000000000000001\"");
}

#[test]
fn a_visitor_with_any_encoding_of_the_same_bytes_gets_a_304_and_with_other_bytes_does_not() {
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (hash, other) = (random.u64(..), random.u64(..));
        let tag = EntityTag::generated(hash);
        let sent = ENCODINGS[random.usize(..5)];
        let weak = if random.bool() { "W/" } else { "" };
        let theirs = format!("{weak}{}", written(&tag, sent));
        let list = format!("\"x\", {theirs} ,W/\"y\"");
        for value in [&theirs, &list] {
            assert_eq!(
                exact(&[("If-None-Match", value)], Some(&tag)),
                PreconditionOutcome::NotModified,
                "{value}"
            );
            let changed = EntityTag::generated(other);
            assert_eq!(
                exact(&[("If-None-Match", value)], Some(&changed)),
                PreconditionOutcome::Pass,
                "{value}"
            );
        }
    }
}

#[test]
fn what_only_looks_like_a_made_tag_is_none() {
    let tag = EntityTag::generated(0x0123_4567_89ab_cdef);
    for opaque in [
        "0123456789abcdef-",
        "0123456789abcdef-gz",
        "0123456789abcdef-gz123",
        "0123456789abcdef-xx5",
        "0123456789abcdef-gz5x",
        "0123456789abcdefgz5",
        "0123456789ABCDEF",
        "0123456789abcde",
        "123456789abcdef",
        "",
    ] {
        let value = format!("\"{opaque}\"");
        assert_eq!(exact(&[("If-None-Match", &value)], Some(&tag)), PreconditionOutcome::Pass, "{value}");
    }
    assert_eq!(
        exact(&[("If-None-Match", "0123456789abcdef")], Some(&tag)),
        PreconditionOutcome::Pass,
        "no quotes, no tag"
    );
}

#[test]
fn the_origins_tag_is_itself_for_its_own_bytes_and_weak_for_ours() {
    let strong = EntityTag::from_origin(b"\"abc-gz5\"", Coding::Identity).unwrap();
    assert_eq!(written(&strong, PageEncoding::IDENTITY), "\"abc-gz5\"");
    assert_eq!(written(&strong, ENCODINGS[1]), "W/\"abc-gz5\"");
    let weak = EntityTag::from_origin(b" W/\"abc\" ", Coding::Identity).unwrap();
    assert_eq!(written(&weak, PageEncoding::IDENTITY), "W/\"abc\"");
    let encoded_there = EntityTag::from_origin(b"\"abc\"", Coding::Gzip).unwrap();
    assert_eq!(written(&encoded_there, PageEncoding::IDENTITY), "W/\"abc\"");
    let asked = [&strong, &weak, &encoded_there].map(|tag| tag.for_origin().unwrap());
    assert_eq!(asked, [&b"\"abc-gz5\""[..], b"W/\"abc\"", b"\"abc\""], "the origin is asked for its own");
    assert_eq!(EntityTag::generated(1).for_origin(), None);
    for value in ["abc", "\"abc", "W/abc", ""] {
        assert_eq!(EntityTag::from_origin(value.as_bytes(), Coding::Identity), None, "{value}");
    }
    for value in ["\"abc-gz5\"", "W/\"abc-gz5\""] {
        assert_eq!(exact(&[("If-None-Match", value)], Some(&strong)), PreconditionOutcome::NotModified);
    }
    assert_eq!(
        exact(&[("If-None-Match", "\"abc\"")], Some(&strong)),
        PreconditionOutcome::Pass,
        "no suffix is cut from it"
    );
}

#[test]
fn if_modified_since_follows_the_directive_and_yields_to_if_none_match() {
    use IfModifiedSince::{Before, Exact, Off};
    let rows = [
        (MODIFIED_DATE, Off, false),
        (MODIFIED_DATE, Exact, true),
        (MODIFIED_DATE, Before, true),
        (LATER, Exact, false),
        (LATER, Before, true),
        (EARLIER, Exact, false),
        (EARLIER, Before, false),
        ("yesterday", Before, false),
    ];
    for (date, mode, unmodified) in rows {
        let expected = if unmodified { PreconditionOutcome::NotModified } else { PreconditionOutcome::Pass };
        let fields = [("If-Modified-Since", date)];
        assert_eq!(judged(&fields, None, Some(MODIFIED_S), mode), expected, "{date} {mode:?}");
        assert_eq!(judged(&fields, None, None, mode), PreconditionOutcome::Pass, "no Last-Modified");
    }
    let tag = EntityTag::generated(1);
    let both = [("If-Modified-Since", MODIFIED_DATE), ("If-None-Match", "\"other\"")];
    assert_eq!(exact(&both, Some(&tag)), PreconditionOutcome::Pass);
    let own = written(&tag, PageEncoding::IDENTITY);
    let both = [("If-Modified-Since", EARLIER), ("If-None-Match", &own)];
    assert_eq!(judged(&both, Some(&tag), Some(MODIFIED_S), Off), PreconditionOutcome::NotModified);
}

#[test]
fn a_star_matches_whatever_is_stored() {
    assert_eq!(exact(&[("If-None-Match", " * ")], None), PreconditionOutcome::NotModified);
    assert_eq!(exact(&[("If-Match", "*")], None), PreconditionOutcome::Pass);
    assert_eq!(exact(&[], None), PreconditionOutcome::Pass);
}

#[test]
fn failed_preconditions_are_412_and_come_first() {
    let tag = EntityTag::generated(5);
    let own = written(&tag, ENCODINGS[1]);
    assert_eq!(
        exact(&[("If-Match", "\"other\""), ("If-None-Match", &own)], Some(&tag)),
        PreconditionOutcome::Failed
    );
    assert_eq!(
        exact(&[("If-Match", &format!("W/{own}"))], Some(&tag)),
        PreconditionOutcome::Failed,
        "strong comparison"
    );
    assert_eq!(exact(&[("If-Match", &own)], Some(&tag)), PreconditionOutcome::Pass);
    assert_eq!(
        exact(&[("If-Match", &own), ("If-None-Match", &own)], Some(&tag)),
        PreconditionOutcome::NotModified
    );
    assert_eq!(exact(&[("If-Unmodified-Since", EARLIER)], Some(&tag)), PreconditionOutcome::Failed);
    assert_eq!(exact(&[("If-Unmodified-Since", MODIFIED_DATE)], Some(&tag)), PreconditionOutcome::Pass);
    assert_eq!(
        exact(&[("If-Unmodified-Since", EARLIER), ("If-Match", &own)], Some(&tag)),
        PreconditionOutcome::Pass
    );
    let weak = EntityTag::from_origin(b"W/\"a\"", Coding::Identity).unwrap();
    assert_eq!(exact(&[("If-Match", "\"a\"")], Some(&weak)), PreconditionOutcome::Failed);
}

#[test]
fn a_range_continues_only_the_very_same_bytes() {
    let tag = EntityTag::generated(9);
    for served in ENCODINGS {
        let stored =
            StoredValidators { tag: Some(&tag), encoding: served, last_modified_s: Some(MODIFIED_S) };
        let holds = |value: &str| if_range_holds(value.as_bytes(), &stored, NOW_S);
        for theirs in ENCODINGS {
            let value = written(&tag, theirs);
            assert_eq!(holds(&value), theirs == served, "{value} for {served:?}");
            assert!(!holds(&format!("W/{value}")));
        }
        assert!(holds(MODIFIED_DATE) && !holds(LATER) && !holds(EARLIER) && !holds("") && !holds("\"x\""));
    }
    let origin = EntityTag::from_origin(b"\"a\"", Coding::Identity).unwrap();
    let with = |encoding| StoredValidators { tag: Some(&origin), encoding, last_modified_s: None };
    assert!(if_range_holds(b"\"a\"", &with(ENCODINGS[0]), NOW_S));
    assert!(!if_range_holds(b"\"a\"", &with(ENCODINGS[1]), NOW_S));
    assert!(!if_range_holds(b"no date", &with(ENCODINGS[0]), NOW_S), "two unknown times are not the same");
}
