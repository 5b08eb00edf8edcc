use std::time::{Duration, Instant};

use super::*;
use crate::testing::compiler;

fn regex(pattern: &str, caseless: bool) -> Regex {
    compiler().regex(pattern, caseless).unwrap()
}

const LOGGED_IN: &str =
    "comment_author|wordpress_(?!test_cookie)[a-f0-9]+|wp-postpass|wordpress_no_cache|wordpress_logged_in";

#[test]
fn lookahead_distinguishes_test_cookie_from_login() {
    for pattern in [LOGGED_IN, "wordpress_(?!test_cookie)|wp-postpass_"] {
        let regex = regex(pattern, true);
        assert!(!regex.is_match(b"wordpress_test_cookie=WP%20Cookie%20check").unwrap());
        assert!(regex.is_match(b"a=b; wordpress_logged_in_ab12=admin").unwrap());
        assert!(regex.is_match(b"WP-POSTPASS_1=x").unwrap());
        assert!(!regex.is_match(b"").unwrap());
    }
}

#[test]
fn a_pattern_over_several_lines_matches_its_line_breaks_literally() {
    let regex = regex("/wp-admin/|\n/xmlrpc.php|/feed/", false);
    assert!(regex.is_match(b"/wp-admin/x").unwrap());
    assert!(regex.is_match(b"/a/feed/").unwrap());
    assert!(!regex.is_match(b"/xmlrpc.php").unwrap());
    assert!(regex.is_match(b"\n/xmlrpc.php").unwrap());
}

#[test]
fn patterns_that_match_nothing_at_all_still_match_the_empty_text() {
    assert!(regex("^$", false).is_match(b"").unwrap());
    assert!(!regex("^$", false).is_match(b"x").unwrap());
    assert!(regex("", false).is_match(b"").unwrap());
    assert!(regex("^(a?)$", false).matches(b"", &mut Frame::new()).unwrap());
}

#[test]
fn named_groups_become_variables_and_numbers_stay_for_the_latest_match() {
    let mut compiler = compiler();
    let regex = compiler.regex("^/(?<year>\\d{4})/(?P<Name>[^/]+)/", false).unwrap();
    let plain = compiler.regex("^/x", false).unwrap();
    let template = compiler.template("$year $name $1").unwrap();
    let request = crate::testing::Request::new(compiler.finish().unwrap());
    let (mut frame, mut out) = (Frame::new(), Vec::new());
    assert!(regex.matches(b"/2026/hello/", &mut frame).unwrap());
    assert!(!plain.matches(b"/y", &mut frame).unwrap());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"2026 hello 2026");
    out.clear();
    assert!(plain.matches(b"/x", &mut frame).unwrap());
    template.eval(&request, &mut frame, &mut out).unwrap();
    assert_eq!(out, b"2026 hello ");
}

#[test]
fn named_groups_may_not_take_a_fixed_name() {
    let error = compiler().regex("(?<host>x)", false).unwrap_err();
    assert_eq!(error.message, "the duplicate \"host\" variable");
}

#[test]
fn a_broken_pattern_is_reported_where_it_breaks() {
    let error = compiler().regex("/ab(c", false).unwrap_err();
    assert_eq!(error.offset, 5);
    assert!(error.message.contains("/ab(c") && error.message.contains("parenthesis"), "{}", error.message);
    assert!(!error.message.contains("LIMIT"), "{}", error.message);
}

#[test]
fn catastrophic_patterns_end_in_an_error_within_milliseconds() {
    let subject = [b"a".repeat(5000), b"!".to_vec()].concat();
    for pattern in ["^(a+)+$", "^(a|aa)+$", "(x+x+)+y|(a*)*b", "^(?:a?){40}(?:a+)+$"] {
        let regex = regex(pattern, false);
        let started = Instant::now();
        let result = regex.is_match(&subject);
        let captured = regex.matches(&subject, &mut Frame::new());
        // A match takes milliseconds; the limit is for two matches of a debug build on a busy machine.
        assert!(started.elapsed() < Duration::from_millis(500), "{pattern}: {:?}", started.elapsed());
        assert_eq!(result, captured);
        if let Err(error) = result {
            assert!(error.to_string().starts_with("matching against \""), "{error}");
        }
    }
    assert!(regex("^(a+)+$", false).is_match(&subject).is_err());
}

#[test]
fn the_limits_hold_without_the_jit_too() {
    let subject = [b"a".repeat(5000), b"!".to_vec()].concat();
    for pattern in ["^(a+)+$", "^(a|aa)+$"] {
        let interpreted = build(pattern, false, false).unwrap();
        let started = Instant::now();
        assert!(interpreted.is_match(&subject).is_err());
        assert!(started.elapsed() < Duration::from_millis(500), "{pattern}: {:?}", started.elapsed());
    }
    assert!(build("^/(.+\\.php)(.*)$", false, false).unwrap().is_match(b"/index.php/x").unwrap());
}

#[test]
fn compiled_scripts_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Regex>();
    shared::<crate::Program>();
    shared::<crate::Template>();
    shared::<crate::Predicates>();
    shared::<crate::CompiledCondition>();
    sent::<Frame>();
    let regex = regex("^/(\\d+)/(\\w+)$", false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let regex = &regex;
            scope.spawn(move || {
                let mut frame = Frame::new();
                for round in 0..500 {
                    let subject = format!("/{round}/t{thread}");
                    assert!(regex.matches(subject.as_bytes(), &mut frame).unwrap());
                    assert_eq!(frame.capture(2), Some(&subject.as_bytes()[subject.len() - 2..]));
                }
            });
        }
    });
}

#[test]
fn two_configurations_may_use_the_same_places() {
    let (old, new) = (regex("^(a)(b)$", false), regex("^(.)$", false));
    let mut frame = Frame::new();
    for _ in 0..3 {
        assert!(old.matches(b"ab", &mut frame).unwrap());
        assert_eq!(frame.capture(2), Some(&b"b"[..]));
        assert!(new.matches(b"x", &mut frame).unwrap());
        assert_eq!((frame.capture(1), frame.capture(2)), (Some(&b"x"[..]), None));
    }
}

#[test]
fn long_subjects_that_exhaust_the_stack_of_the_jit_are_still_answered() {
    let subject = b"ab".repeat(4000);
    let regex = regex("^(?:(a)|(b))*$", false);
    assert!(regex.is_match(&subject).unwrap());
    assert!(regex.matches(&subject, &mut Frame::new()).unwrap());
}

#[test]
fn utf_patterns_of_the_old_pcre_compile() {
    assert!(regex("(*UTF8)^/caf.$", false).is_match("/café".as_bytes()).unwrap());
    assert!(!regex("^/caf.$", false).is_match("/café".as_bytes()).unwrap());
    assert!(regex("(*UTF8)^/caf.$", false).is_match(b"/caf\xff").is_err());
}

#[test]
fn a_location_for_hidden_files_without_its_backslash_is_noticed() {
    for careless in ["/.", "^/.", "/.(?!well-known)", "/.", "(/.)"] {
        assert!(matches_everything_like_dot_slash(careless), "{careless}");
    }
    for fine in ["/\\.", "/\\.ht", "/.ht", "^/", "/.*", ".*", "", "/", "^/wp-content/.", "(", "/[.]"] {
        assert!(!matches_everything_like_dot_slash(fine), "{fine}");
    }
}

#[test]
fn the_filter_needs_literals_where_patterns_have_them() {
    let has = |pattern: &str| literals::required(pattern).is_some();
    for pattern in
        [LOGGED_IN, "\\.php$", "^/(.+\\.php)(.*)$", "(?i)feed", "/wp-.*\\.php|/feed/", "a{2}b", "x|(?:y|z)"]
    {
        assert!(has(pattern), "{pattern}");
    }
    for pattern in [
        "",
        "^/?",
        "a|",
        "(a)?",
        ".",
        "[abc]",
        "(?x) a b",
        "\\Qa\\E",
        "(?(1)a|b)",
        "a**",
        "(?R)",
        "a\\Kb|c\\1",
    ] {
        assert!(!has(pattern), "{pattern}");
    }
    assert_eq!(literals::required("foo(?=bar)baz+"), Some(vec![b"foobaz".to_vec()]));
    assert_eq!(literals::required("ab?cd"), Some(vec![b"cd".to_vec()]));
}

/// Checks with random patterns and subjects over a small alphabet that the filter never excludes a match.
#[test]
fn the_filter_never_contradicts_pcre() {
    const PIECES: [&str; 40] = [
        "a",
        "b",
        "c",
        "A",
        "ab",
        "abc",
        "cab",
        "|",
        "(",
        ")",
        "(?:",
        "(?=",
        "(?!",
        "(?<=a)",
        "(?i)",
        "(?i:",
        "?",
        "*",
        "+",
        "{2}",
        "{0,2}",
        "{1,}",
        "{,2}",
        "{2,3,}",
        ".",
        "[ab]",
        "[^a]",
        "[]a]",
        "[[:alpha:]]",
        "[[:a]",
        "\\b",
        "\\.",
        "\\d",
        "^",
        "$",
        "+?",
        "*+",
        "(?<n>",
        "[\\]b]",
        "{",
    ];
    const BYTES: &[u8] = b"abcABC.]:{}2, ";
    let (mut compiled, mut filtered) = (0, 0);
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let pattern: String = (0..random.usize(1..7)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        let caseless = random.bool();
        let Ok(plain) = RegexBuilder::new().caseless(caseless).build(&pattern) else { continue };
        compiled += 1;
        let Some(filter) = Prefilter::new(&pattern) else { continue };
        filtered += 1;
        for _ in 0..40 {
            let subject: Vec<u8> =
                (0..random.usize(..14)).map(|_| BYTES[random.usize(..BYTES.len())]).collect();
            if plain.is_match(&subject).unwrap_or(false) {
                assert!(
                    filter.may_match(&subject),
                    "seed {seed}: {pattern} on {:?}",
                    String::from_utf8_lossy(&subject)
                );
            }
        }
    }
    assert!(compiled > 4000 && filtered > 1500, "{compiled} compiled, {filtered} filtered");
}

/// Checks long literals, for which the filter has a large stride, at every position of subjects of every length.
#[test]
fn the_filter_finds_literals_wherever_they_stand() {
    for literals in ["abc", "abcd", "wordpress_|abcde", "comment_author|woocommerce|wp-postpass"] {
        let filter = Prefilter::new(literals).unwrap();
        for literal in literals.split('|') {
            for (before, after) in (0..12).flat_map(|before| (0..5).map(move |after| (before, after))) {
                let subject = "=".repeat(before) + &literal.to_ascii_uppercase() + &"=".repeat(after);
                assert!(filter.may_match(subject.as_bytes()), "{literal} in {subject}");
            }
        }
        assert!(!filter.may_match(&b"=".repeat(40)));
    }
}
