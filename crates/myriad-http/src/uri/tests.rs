use super::*;

type TargetParts<'a> = (Option<&'a str>, Option<&'a str>, &'a str, Option<&'a str>);

fn split(target: &str) -> Option<TargetParts<'_>> {
    let text = |bytes: &'static [u8]| str::from_utf8(bytes).unwrap();
    let target = split_target(target.as_bytes().to_vec().leak()).ok()?;
    Some((target.scheme.map(text), target.authority.map(text), text(target.path), target.query.map(text)))
}

#[test]
fn each_request_target_form_is_parsed() {
    for (target, parts) in [
        ("/", (None, None, "/", None)),
        ("/a/b?c=d?e", (None, None, "/a/b", Some("c=d?e"))),
        ("/a?", (None, None, "/a", Some(""))),
        ("/?", (None, None, "/", Some(""))),
        ("/a#f?x", (None, None, "/a", None)),
        ("/a?b#c", (None, None, "/a", Some("b"))),
        ("//a.example/b", (None, None, "//a.example/b", None)),
        ("*", (None, None, "*", None)),
        ("http://a.example", (Some("http"), Some("a.example"), "/", None)),
        ("HTTPS://a.example:443/b?c", (Some("HTTPS"), Some("a.example:443"), "/b", Some("c"))),
        ("http://a.example?c/d", (Some("http"), Some("a.example"), "/", Some("c/d"))),
        ("http://[::1]:80#f", (Some("http"), Some("[::1]:80"), "/", None)),
    ] {
        assert_eq!(split(target), Some(parts), "{target}");
    }
}

#[test]
fn what_is_no_target_is_refused() {
    for target in [
        "",
        "a",
        "a/b",
        "?a",
        "#a",
        "**",
        "http:",
        "http:/a",
        "http://",
        "http:///a",
        "http://?a",
        "1http://a/",
        "://a/",
        "http://u@a/",
        "a.example:443",
        "ht tp://a/",
    ] {
        assert_eq!(split(target), None, "{target}");
    }
}
