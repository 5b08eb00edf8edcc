use myriad_http::ResponseHead;
use myriad_script::Regex;

use super::conditions::{FieldRule, HealthConditions, HealthRule};

/// Returns whether a response is healthy by these conditions.
fn passes(rules: Vec<HealthRule>, status: u16, fields: &[(&str, &str)], body: &str) -> bool {
    let mut head = ResponseHead::new(status);
    for (name, value) in fields {
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    let judge = HealthConditions::of(rules);
    judge.check_head(&head).and_then(|()| judge.check_body(body.as_bytes())).is_ok()
}

#[test]
fn statuses_are_ranges_and_what_is_not_to_be() {
    let status = |is_wanted: bool, ranges: &[(u16, u16)], status| {
        passes(vec![HealthRule::Status(is_wanted, ranges.to_vec())], status, &[], "")
    };
    let some = [(200, 299), (304, 304)];
    assert_eq!(
        [200, 299, 304, 300, 500].map(|code| status(true, &some, code)),
        [true, true, true, false, false]
    );
    assert_eq!([499, 500, 599].map(|code| status(false, &[(500, 599)], code)), [true, false, false]);
    let without_match = |code| HealthConditions::default().check_head(&ResponseHead::new(code)).is_ok();
    assert_eq!([200, 302, 404, 500].map(without_match), [true, true, false, false]);
}

#[test]
fn field_rules_match_presence_and_value() {
    let regex = |source: &str| Regex::without_captures(source).expect("a pattern");
    let html = || b"text/html"[..].into();
    for (name, rule, is_well) in [
        ("content-type", FieldRule::Equals(true, html()), true),
        ("Content-Type", FieldRule::Equals(false, html()), false),
        ("Content-Type", FieldRule::Matches(true, regex("^text/")), true),
        ("Content-Type", FieldRule::Matches(false, regex("html$")), false),
        ("Content-Type", FieldRule::Present(true), true),
        ("Content-Type", FieldRule::Present(false), false),
        ("X-Other", FieldRule::Present(true), false),
        ("X-Other", FieldRule::Present(false), true),
        ("X-Other", FieldRule::Equals(false, html()), true),
    ] {
        let rule = vec![HealthRule::Field(name.as_bytes().into(), rule)];
        assert_eq!(passes(rule, 200, &[("Content-Type", "text/html")], ""), is_well, "{name}");
    }
}

#[test]
fn bodies_fit_a_pattern_or_do_not() {
    let body = |fits, pattern: &str, body: &str| {
        passes(
            vec![HealthRule::Body(fits, Regex::without_captures(pattern).expect("a pattern"))],
            500,
            &[],
            body,
        )
    };
    assert!(body(true, "Welcome", "<h1>Welcome to it") && !body(true, "Welcome", "welcome"));
    assert!(body(false, "maintenance", "fine") && !body(false, "maintenance", "under maintenance"));
}
