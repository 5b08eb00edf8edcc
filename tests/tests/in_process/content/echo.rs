//! Tests of `echo` and similar directives.

use myriad_serve::testing::{TestSite, send_request};

fn answer(rules: &str, target: &str) -> (u16, String) {
    let answer = send_request(&TestSite::new("", rules), &format!("GET {target}"), &[]);
    (answer.status, answer.text)
}

#[test]
fn lines_are_words_with_blanks_between_them() {
    let rules =
        "location / { echo hello  $arg_x 'a  b'; echo; echo -n no end; echo -- -n; echo $arg_y; echo - x; }";
    assert_eq!(answer(rules, "/?x=1&y=-n"), (200, "hello 1 a  b\n\nno end-n\n-n\n- x\n".to_owned()));
}

#[test]
fn status_is_that_of_the_level_wherever_it_stands() {
    assert_eq!(answer("location / { echo gone; echo_status 410; }", "/"), (410, "gone\n".to_owned()));
    assert_eq!(answer("location / { echo_status 404; location /a { echo x; } }", "/a").0, 404);
}

#[test]
fn block_of_an_if_has_lines_of_its_own() {
    let rules = "location / { set $v miss; if ($arg_a) { set $v hit; echo $v; } echo $v; echo end; }";
    assert_eq!(answer(rules, "/?a=1").1, "hit\n");
    assert_eq!(answer(rules, "/").1, "miss\nend\n");
}

#[test]
fn exec_leads_to_another_place() {
    let rules = "location = /a { echo_exec /b x=1; } location = /b { echo b $args; }
        location = /c { echo_sleep 0.001; echo_exec /b?x=2; } location = /d { echo_exec @e; }
        location @e { echo e $uri; } location = /up { echo_exec /../b; } location = /me { echo_exec /me; }";
    assert_eq!(answer(rules, "/a").1, "b x=1\n");
    assert_eq!(answer(rules, "/c").1, "b x=2\n");
    assert_eq!(answer(rules, "/d").1, "e /d\n");
    assert_eq!(answer(rules, "/up").0, 500);
    assert_eq!(answer(rules, "/me").0, 500, "redirects are counted");
}
