use std::collections::HashMap;
use std::path::Path;

use myriad_conf::{Diagnostic, MemoryLoader, survey};
use myriad_http::ResponseHead;
use myriad_script::Regex;

use super::conditions::{FieldRule, HealthConditions, HealthRule};

const GROUP: &str = "upstream g { server 127.0.0.1:1; }";

/// Returns the error message of a configuration with these directives in `http` and in a location with an upstream
/// group.
fn refused(http: &str, location: &str) -> String {
    let file = Path::new("/nowhere/nginx.conf");
    let text = format!("events {{}} http {{ {GROUP} {http} server {{ location / {{ {location} }} }} }}");
    let loader = MemoryLoader::with(file, &*text);
    let registry = myriad_serve::registry();
    let survey = survey(&registry.parse(&loader, file, b""), registry);
    let mut findings = survey.findings;
    if let Err(errors) = myriad_serve::check(&survey.model, Path::new("/nowhere"), &HashMap::new()) {
        findings.extend(errors);
    }
    let describe = |finding: &Diagnostic| format!("{}: {}", finding.message, finding.help.join(" "));
    findings.iter().map(describe).collect::<Vec<_>>().join("; ")
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (http, location, part) in [
        ("", "health_check;", "has no servers to check"),
        ("", "proxy_pass http://$host; health_check;", "has no servers to check"),
        ("", "proxy_pass http://g; health_check match=m;", "no \"match\" block is named \"m\""),
        ("", "proxy_pass http://g; health_check fails=0;", "more than 0"),
        ("", "proxy_pass http://g; health_check port=70000;", "a port"),
        ("", "proxy_pass http://g; health_check uri=x;", "uri=/PATH"),
        ("", "proxy_pass http://g; health_check persistent;", "requires \"mandatory\""),
        ("", "proxy_pass http://g; health_check type=grpc;", "use it with grpc_pass"),
        ("", "grpc_pass g; health_check;", "add type=grpc"),
        ("", "grpc_pass g; health_check type=http;", "type=grpc, followed by"),
        ("", "grpc_pass g; health_check grpc_service=a type=grpc;", "type=grpc, followed by"),
        ("", "grpc_pass g; health_check type=grpc grpc_status=0;", "1 to 16"),
        ("", "grpc_pass g; health_check type=grpc grpc_status=17;", "1 to 16"),
        ("", "grpc_pass g; health_check type=grpc grpc_other=1;", "grpc_service=NAME"),
        (
            "",
            "grpc_pass g; health_check uri=/x type=grpc;",
            "\"uri=/x\" does not apply to a gRPC health check",
        ),
        ("match m {}", "grpc_pass g; health_check match=m type=grpc;", "remove it, or remove type=grpc"),
        ("", "memcached_pass g; health_check;", "has no servers to check"),
        ("match m {} match m {}", "", "duplicate match"),
        ("match m { stauts 200; }", "", "unknown \"stauts\""),
        ("match m { status 200-; }", "", "a status or a range"),
        ("match m { status 400-200; }", "", "a status or a range"),
        ("match m { body = x; }", "", "a pattern must have the form"),
        ("match m { require x; }", "", "must be variables"),
        ("match m { body ~ \"(\"; }", "proxy_pass http://g; health_check match=m;", "("),
    ] {
        let message = refused(http, location);
        assert!(message.contains(part), "{http} {location}: {message}");
    }
    assert_eq!(
        refused("", "grpc_pass g; health_check mandatory type=grpc grpc_service=a.B grpc_status=12;"),
        ""
    );
    assert_eq!(refused("match m { status 200-299 304; }", "proxy_pass http://g; health_check match=m;"), "");
}

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
