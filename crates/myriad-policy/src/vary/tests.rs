use super::*;
use crate::CachePolicy;

fn rule(values: &[&str]) -> Result<VaryRule, VaryError> {
    VaryRule::parse(values.iter().map(|value| value.as_bytes()))
}

fn variant(rule: &VaryRule, fields: &[(&str, &str)]) -> Vec<u8> {
    let fields: Fields = fields.iter().copied().collect();
    let mut out = Vec::new();
    rule.write_variant(&fields, &mut out).unwrap();
    out
}

#[test]
fn names_are_sorted_once_each_and_accept_encoding_is_none_of_them() {
    let read = rule(&["User-Agent , Accept-Encoding,,X-Device", "x-device, ACCEPT-ENCODING"]).unwrap();
    assert_eq!(read.names().collect::<Vec<_>>(), [&b"user-agent"[..], b"x-device"]);
    assert_eq!(read, rule(&["x-device", "user-agent"]).unwrap());
    assert!(rule(&["Accept-Encoding"]).unwrap().is_empty());
    assert!(rule(&[]).unwrap().is_empty());
}

#[test]
fn a_star_anywhere_is_any_and_a_long_list_is_too_long() {
    assert_eq!(rule(&["*"]), Err(VaryError::Any));
    assert_eq!(rule(&["Cookie", "a, * "]), Err(VaryError::Any));
    assert_eq!(rule(&[&"x-name,".repeat(43)]), Err(VaryError::TooLong));
    assert!(rule(&["x-*"]).is_ok());
}

#[test]
fn one_variant_for_all_where_nothing_varies() {
    let rule = rule(&["accept-encoding"]).unwrap();
    assert_eq!(variant(&rule, &[("Accept-Encoding", "gzip"), ("Cookie", "a=b")]), b"");
}

#[test]
fn white_space_and_splitting_make_no_variant_and_everything_else_does() {
    let rule = rule(&["Accept-Language, X-Device"]).unwrap();
    let same: &[&[(&str, &str)]] = &[
        &[("Accept-Language", "de, en;q=0.5")],
        &[("accept-language", "  de ,\t en;q=0.5 ")],
        &[("Accept-Language", "de"), ("Other", "x"), ("Accept-Language", "en;q=0.5")],
    ];
    for fields in same {
        assert_eq!(variant(&rule, fields), variant(&rule, same[0]), "{fields:?}");
    }
    let distinct: &[&[(&str, &str)]] = &[
        same[0],
        &[],
        &[("Accept-Language", "")],
        &[("X-Device", "")],
        &[("Accept-Language", "de"), ("X-Device", "en;q=0.5")],
        &[("X-Device", "de"), ("Accept-Language", "en;q=0.5")],
        &[("Accept-Language", "de en;q=0.5")],
        &[("Accept-Language", "deen;q=0.5")],
        &[("Accept-Language", "\"a  b\"")],
        &[("Accept-Language", "\"a b\"")],
        &[("Accept-Language", "\"a\\\"  b\"")],
        &[("Accept-Language", "\"a\\\" b\"")],
    ];
    for (i, a) in distinct.iter().enumerate() {
        for b in &distinct[..i] {
            assert_ne!(variant(&rule, a), variant(&rule, b), "{a:?} {b:?}");
        }
    }
}

#[test]
fn no_value_poses_as_another_field() {
    let rule = rule(&["a, b"]).unwrap();
    let mut seen = std::collections::HashMap::new();
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut value = || {
            let text: String =
                (0..random.usize(0..4)).map(|_| ['b', '\0', '\u{1}', 'a'][random.usize(..4)]).collect();
            random.u8(0..4).gt(&0).then_some(text)
        };
        let pair = (value(), value());
        let fields: Fields = [("a", &pair.0), ("b", &pair.1)]
            .into_iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| (name, value)))
            .collect();
        let mut key = Vec::new();
        rule.write_variant(&fields, &mut key).unwrap();
        let first = seen.entry(key).or_insert_with(|| pair.clone());
        assert_eq!(*first, pair, "two requests, one key");
    }
}

#[test]
fn long_fields_are_refused_and_leave_no_trace() {
    let rule = rule(&["a, b"]).unwrap();
    let long = "x".repeat(VARIANT_MAX);
    for fields in [
        vec![("b", &long[..])],
        vec![("a", &long[..VARIANT_MAX - 50]), ("b", &long[..100])],
        vec![("a", "x"); VARIANT_MAX],
    ] {
        let fields: Fields = fields.into_iter().collect();
        let mut out = b"key".to_vec();
        assert_eq!(rule.write_variant(&fields, &mut out), Err(VariantTooLong));
        assert_eq!(out, b"key");
    }
}

#[test]
fn language_variants_follow_preference_and_not_spelling() {
    let rule = rule(&["Accept-Language"]).unwrap();
    let of = |value: &str| variant(&rule, &[("Accept-Language", value)]);
    for same in ["eN,De", " en ,,   de ", "en;q=1, de;q=1.000", "de, en", "de;q=0.1, en;Q=0.1"] {
        assert_eq!(of(same), of("en, de"), "{same}");
    }
    assert_eq!(of("de;q=0.1, en;Q=0.2"), of("en, de;q=0.9"));
    let distinct = ["en, de", "en, de;q=0.9", "de, en;q=0.9", "en", "de", "de, en;q=0", "en, de, fr", ""];
    for (at, one) in distinct.iter().enumerate() {
        for other in &distinct[..at] {
            assert_ne!(of(one), of(other), "{one:?} {other:?}");
        }
    }
}

#[test]
fn a_flood_of_languages_makes_no_variant() {
    let rule = rule(&["Accept-Language"]).unwrap();
    let fields: Fields = [("Accept-Language", vec!["x"; 17].join(","))].into_iter().collect();
    assert_eq!(rule.write_variant(&fields, &mut Vec::new()), Err(VariantTooLong));
    let sixteen: Fields = [("Accept-Language", vec!["x"; 16].join(","))].into_iter().collect();
    assert_eq!(rule.write_variant(&sixteen, &mut Vec::new()), Ok(()));
}

#[test]
fn a_cookie_that_shared_fetches_do_not_send_makes_no_variants() {
    let answer: Fields = [("Vary", "Cookie, Accept-Language")].into_iter().collect();
    let names = |rules: &CachePolicy| {
        let rule = VaryRule::of(&answer, rules).unwrap();
        rule.names().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&CachePolicy::default()), ["accept-language", "cookie"]);
    let shared_fetch = crate::SharedFetch { on: true, ..Default::default() };
    assert_eq!(names(&CachePolicy { shared_fetch, ..CachePolicy::default() }), ["accept-language"]);
}

#[test]
fn device_classes_stand_for_user_agent_where_it_is_asked() {
    let fields = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Fields>();
    let answer = fields(&[("Vary", "Accept-Language, User-Agent")]);
    let exact = VaryRule::of(&answer, &CachePolicy::default()).unwrap();
    let by_device =
        VaryRule::of(&answer, &CachePolicy { device_class: true, ..CachePolicy::default() }).unwrap();
    let same = |rule: &VaryRule, one: &[(&str, &str)], other: &[(&str, &str)]| {
        variant(rule, one) == variant(rule, other)
    };
    let (old, new, phone) =
        ([("User-Agent", "Firefox/1")], [("User-Agent", "Firefox/2")], [("User-Agent", "Mobile")]);
    assert!(!same(&exact, &old, &new) && same(&by_device, &old, &new));
    assert!(!same(&by_device, &old, &phone));
    assert!(!same(&by_device, &old, &[old[0], ("Accept-Language", "de")]));
    // The rule stored with a page is parsed again for the next request.
    let stored = by_device.names().collect::<Vec<_>>().join(&b","[..]);
    assert_eq!(VaryRule::parse([&stored[..]]).unwrap(), by_device);
}

#[test]
fn unsupported_codings_are_distinguished_if_requested() {
    let rule = rule(&["Cookie, Accept-Encoding"]).unwrap().by_codings();
    let of = |codings: &str| variant(&rule, &[("Accept-Encoding", codings)]);
    assert_eq!(of("deflate, x"), of("X,deflate;q=0.5"));
    for (one, other) in [("deflate", "x"), ("deflate", "gzip"), ("ab", "a,b")] {
        assert_ne!(of(one), of(other), "{one} {other}");
    }
    assert_eq!(of("gzip"), of("br, gzip"));
    assert_ne!(of("x"), variant(&rule, &[("Accept-Encoding", "x"), ("Cookie", "a=b")]));
    let stored = rule.names().collect::<Vec<_>>().join(&b","[..]);
    assert_eq!(VaryRule::parse([&stored[..]]).unwrap(), rule);
}
