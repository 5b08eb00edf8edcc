use myriad_conf::{
    model::{ConditionConf, FileTest, RewriteFlag, RewriteStep, StringTest},
    settings::{ErrorPageCode, TryFilesEnd},
};

use crate::{location, refusal, server, settings, texts};

#[track_caller]
fn condition(text: &str) -> ConditionConf {
    match server(&format!("if {text} {{ return 403; }}")).rewrite.remove(0) {
        RewriteStep::If(block) => block.condition,
        other => panic!("{other:?}"),
    }
}

#[test]
fn if_has_every_operator_with_spaces_anywhere() {
    let show = |condition: ConditionConf| format!("{condition:?}");
    assert_eq!(show(condition("($a)")), "True(\"a\")");
    assert_eq!(show(condition("( $a )")), "True(\"a\")");
    for (text, test, value) in [
        ("($a = b)", StringTest::Equal, "b"),
        ("($a != b)", StringTest::NotEqual, "b"),
        ("($a = \"b c\")", StringTest::Equal, "b c"),
        ("($a = '')", StringTest::Equal, ""),
        ("($a = \"x)\")", StringTest::Equal, "x)"),
    ] {
        match condition(text) {
            ConditionConf::Compare { variable, test: found, value: operand } => {
                assert_eq!(
                    (variable.bytes(), found, &*operand.lossy()),
                    (b"a".as_slice(), test, value),
                    "{text}"
                );
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, expected) in
        [("~", (false, false)), ("~*", (true, false)), ("!~", (false, true)), ("!~*", (true, true))]
    {
        match condition(&format!("($a {text} ^(b|c)$)")) {
            ConditionConf::Match { pattern, caseless, negated, .. } => {
                assert_eq!((caseless, negated), expected);
                assert_eq!(pattern.bytes(), b"^(b|c)$");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, expected, not) in [
        ("-f", FileTest::File, false),
        ("!-f", FileTest::File, true),
        ("-d", FileTest::Directory, false),
        ("!-e", FileTest::Exists, true),
        ("-x", FileTest::Executable, false),
    ] {
        match condition(&format!("({text} $document_root/x)")) {
            ConditionConf::Test { test, negated, path } => {
                assert_eq!((test, negated, path.bytes()), (expected, not, b"$document_root/x".as_slice()));
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn wrong_conditions_are_refused() {
    for wrong in [
        "$a",
        "($a",
        "()",
        "(a)",
        "($a b)",
        "($a = b c)",
        "(-f)",
        "(-f a b)",
        "(-q a)",
        "($)",
        "($a ~)",
        "($a =)",
        "($a = )",
    ] {
        refusal(&format!("http {{ server {{ if {wrong} {{ return 403; }} }} }}"));
    }
}

#[test]
fn steps_keep_their_order() {
    let location =
        location("set $a 1; if ($a) { set $b 2; break; } rewrite ^/x /y last; return 204; set $c 3;");
    let kinds: Vec<_> = location
        .rewrite
        .iter()
        .map(|step| match step {
            RewriteStep::Set { variable, .. } => format!("set {}", variable.lossy()),
            RewriteStep::Call { name, .. } => name.clone(),
            RewriteStep::Rewrite { flag, .. } => format!("rewrite {flag:?}"),
            RewriteStep::Return { code, .. } => format!("return {code}"),
            RewriteStep::Break { .. } => "break".to_owned(),
            RewriteStep::If(block) => format!("if {}", block.rewrite.len()),
        })
        .collect();
    assert_eq!(kinds, ["set a", "if 2", "rewrite Last", "return 204", "set c"]);
}

#[test]
fn a_replacement_that_is_an_url_redirects_whatever_the_flag() {
    for (args, expected) in [
        ("/y", RewriteFlag::None),
        ("/y break", RewriteFlag::Break),
        ("/y redirect", RewriteFlag::Redirect),
        ("/y permanent", RewriteFlag::Permanent),
        ("http://h/", RewriteFlag::Redirect),
        ("https://h/ last", RewriteFlag::Redirect),
        ("$scheme://h/ permanent", RewriteFlag::Permanent),
    ] {
        match &server(&format!("rewrite ^ {args};")).rewrite[0] {
            RewriteStep::Rewrite { flag, .. } => assert_eq!(*flag, expected, "{args}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn return_takes_a_code_a_text_or_an_url() {
    for (args, code, text) in [
        ("404", 404, None),
        ("200 ok", 200, Some("ok")),
        ("200 \"\"", 200, Some("")),
        ("301 /x", 301, Some("/x")),
        ("https://h/", 302, Some("https://h/")),
        ("$scheme://h/", 302, Some("$scheme://h/")),
    ] {
        match &server(&format!("return {args};")).rewrite[0] {
            RewriteStep::Return { code: found, text: body, .. } => {
                assert_eq!(
                    (*found, body.as_ref().map(|t| t.lossy().into_owned()).as_deref()),
                    (code, text),
                    "{args}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    for wrong in ["1000", "x", "/x", "-1", "https://h/ x"] {
        assert!(
            refusal(&format!("http {{ server {{ return {wrong}; }} }}")).contains("invalid return code"),
            "{wrong}"
        );
    }
}

#[test]
fn try_files_ends_with_a_code_a_name_or_an_uri() {
    let tried = |args: &str| settings(&format!("try_files {args};")).content.try_files.clone().unwrap();
    let code = tried("$uri $uri/ =404");
    assert_eq!(
        (texts(&code.candidates), code.end),
        (vec!["$uri".into(), "$uri/".into()], TryFilesEnd::Code(404))
    );
    assert!(matches!(tried("@a $uri @b").end, TryFilesEnd::Named(name) if name.bytes() == b"@b"));
    assert!(
        matches!(tried("$uri /i.php?$args").end, TryFilesEnd::Uri(uri) if uri.bytes() == b"/i.php?$args")
    );
    // As in nginx: a file named `=`, then the URI `404`.
    let spaced = tried("$uri = 404");
    assert_eq!(texts(&spaced.candidates), ["$uri", "="]);
    assert!(matches!(spaced.end, TryFilesEnd::Uri(uri) if uri.bytes() == b"404"));
}

#[test]
fn error_pages_keep_change_or_take_the_status() {
    let pages = settings("error_page 404 /n; error_page 500 502 =200 /e; error_page 403 = @f;")
        .content
        .error_pages
        .clone();
    assert_eq!((pages[0].codes.as_slice(), pages[0].answer), ([404].as_slice(), ErrorPageCode::Keep));
    assert_eq!(
        (pages[1].codes.as_slice(), pages[1].answer),
        ([500, 502].as_slice(), ErrorPageCode::Fixed(200))
    );
    assert_eq!((pages[2].target.bytes(), pages[2].answer), (b"@f".as_slice(), ErrorPageCode::FromPage));
}
