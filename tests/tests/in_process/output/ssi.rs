//! Tests of server-side includes, and of the variables `$date_*`.

use super::support::{OutputTestSite, text};
use myriad_serve::testing::variables::{VariableCase, variable_value};

const SERVER: &str = "ssi on; location / { return 200 x; } location /part { return 200 included; }
    location /page { return 200 '<!--#echo var=\"uri\" -->'; default_type text/html; }";

#[test]
fn page_goes_out_with_what_its_commands_come_to() {
    let page = text(
        "text/html",
        r#"1<!--#set var="a" value="2" --><!--#echo var="a" --><!--#echo var="arg_b" -->4"#,
    );
    let answer = OutputTestSite::of(SERVER).answered("GET /?b=3", &[], page);
    assert_eq!(answer.body, b"1234");
    assert!(answer.response.postponed && !answer.head.contains("Content-Length"), "{}", answer.head);
}

#[test]
fn answers_of_the_server_are_put_into_the_page_in_its_order() {
    let page = text("text/html", r#"(<!--#include virtual="/part" -->,<!--#include virtual="/page" -->)"#);
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[], page);
    assert_eq!(String::from_utf8(answer.body).unwrap(), "(included,/page)");
}

#[test]
fn include_that_is_unsafe_leaves_the_error_message() {
    let page = text("text/html", r#"<!--#include virtual="/../part" -->"#);
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[], page);
    assert!(answer.body.starts_with(b"[an error occurred"), "{}", answer.body.escape_ascii());
}

#[test]
fn block_stands_for_an_include_that_shows_nothing() {
    let page = text(
        "text/html",
        r#"<!--# block name="b" -->no <!--#echo var="uri" --><!--# endblock --><!--#include virtual="/gone" stub="b" -->"#,
    );
    let trial = OutputTestSite::of("ssi on; location / { return 200 x; } location /gone { return 404; }");
    assert_eq!(String::from_utf8(trial.answered("GET /", &[], page).body).unwrap(), "no /gone");
}

#[test]
fn answer_to_a_set_becomes_the_value_of_a_variable() {
    let page = text("text/html", r#"<!--#include virtual="/part" set="a" -->[<!--#echo var="a" -->]"#);
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[], page);
    assert_eq!(answer.body, b"[included]");
}

#[test]
fn head_request_does_not_process_page() {
    let answer =
        OutputTestSite::of(SERVER).answered("HEAD /", &[], text("text/html", "<!--#echo var=\"uri\" -->"));
    assert!(answer.body.is_empty() && !answer.head.contains("Content-Length"), "{}", answer.head);
}

#[test]
fn other_types_stay_as_they_are() {
    let answer =
        OutputTestSite::of(SERVER).answered("GET /", &[], text("text/css", "<!--#echo var=\"uri\" -->"));
    assert!(answer.head.contains("Content-Length: 23\r\n") && !answer.response.postponed, "{}", answer.head);
}

#[test]
fn dates_are_written_as_pages_write_them() {
    let mut exchange = VariableCase::default().begin();
    assert!(variable_value(&mut exchange, "date_gmt").unwrap().ends_with(" GMT"));
    assert!(variable_value(&mut exchange, "date_local").unwrap().contains("day, "));
}
