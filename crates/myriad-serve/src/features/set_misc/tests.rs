use crate::testing::{TestSite, send_request};

/// Requests `GET /at?ARGUMENTS` from a location with these steps. Returns the status and the value of `$a`.
fn shown(steps: &str, arguments: &str) -> (u16, String) {
    let rules = format!(
        "upstream_list universe moon sun earth;
         location = /at {{ {steps} return 200 $a; }}"
    );
    let answer = send_request(&TestSite::new("", &rules), &format!("GET /at?{arguments}"), &[]);
    (answer.status, answer.text)
}

fn value(steps: &str) -> String {
    let (status, text) = shown(steps, "");
    assert_eq!(status, 200, "{steps}");
    text
}

#[test]
fn one_argument_changes_the_variable_in_its_place() {
    for (directive, text) in [
        ("set_escape_uri", "a%20b"),
        ("set_unescape_uri", "a b"),
        ("set_quote_sql_str", "'a b'"),
        ("set_quote_pgsql_str", "E'a b'"),
        ("set_quote_json_str", "\"a b\""),
        ("set_encode_hex", "612062"),
        ("set_encode_base64", "YSBi"),
        ("set_encode_base64url", "YSBi"),
        ("set_encode_base32", "c4g64==="),
        ("set_md5", "0cc175b9c0f1b6a831c399e269772661"),
        ("set_sha1", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
    ] {
        let plain = if text.len() > 12 { "a" } else { "a b" };
        assert_eq!(value(&format!("set $a '{plain}'; {directive} $a;")), text, "{directive}");
        assert_eq!(value(&format!("set $b '{plain}'; {directive} $a $b;")), text, "{directive}");
    }
}

#[test]
fn steps_run_in_the_order_in_which_they_are_written() {
    let steps = "set $a 1; set_md5 $b $a; set $a 2; if ($b) { set_encode_hex $a '$a$arg_x'; } set $a <$a>;";
    assert_eq!(shown(steps, "x=3"), (200, "<3233>".to_owned()));
    assert_eq!(value("set $a ''; set_if_empty $a x; set_if_empty $a y;"), "x");
    assert_eq!(value("set_hmac_sha1 $b key text; set_encode_hex $a $b;").len(), 40);
}

#[test]
fn what_cannot_be_read_is_answered_with_an_error() {
    for wrong in
        ["set_decode_hex $a xyz;", "set_decode_base64 $a '*';", "set_random $a x 1;", "set_rotate $a 1 y;"]
    {
        assert_eq!(shown(wrong, "").0, 500, "{wrong}");
    }
    assert_eq!(value("set_decode_base32 $a '*';"), "");
}

#[test]
fn values_are_bounded() {
    let doubling = "set $a $arg_x;".to_owned() + &"set_quote_json_str $a;".repeat(30);
    assert_eq!(shown(&doubling, "x=\\\\\\\\\\\\\\\\").0, 500);
}

#[test]
fn base32_follows_alphabet_and_padding_of_its_level() {
    assert_eq!(
        value("set_encode_base32 $a abcde; set_base32_alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZ234567;"),
        "MFRGGZDF"
    );
    assert_eq!(value("set_base32_padding off; set_encode_base32 $a a;"), "c4");
    assert_eq!(value("set $b 1; if ($b) { set_misc_base32_padding off; set_encode_base32 $a a; }"), "c4");
}

#[test]
fn lists_are_known_where_they_are_written_and_within() {
    assert_eq!(value("set_hashed_upstream $a universe hello;"), "sun");
    assert_eq!(value("set $list universe; set_hashed_upstream $a $list larry;"), "earth");
    assert_eq!(shown("set_hashed_upstream $a $arg_list x;", "list=none").0, 500);
}

#[test]
fn what_varies_varies() {
    let site = TestSite::new(
        "",
        "location / { set_secure_random_alphanum $a 20; set_rotate $b 0 9; return 200 $a$b; }",
    );
    let texts: Vec<_> = (0..3).map(|_| send_request(&site, "GET /", &[]).text).collect();
    assert!(texts.iter().all(|text| text.len() == 21), "{texts:?}");
    assert_ne!(texts[0][..20], texts[1][..20]);
    assert_eq!(texts.iter().map(|text| &text[20..]).collect::<String>(), "012");
}
