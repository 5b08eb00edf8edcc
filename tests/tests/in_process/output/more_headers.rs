//! Tests of `more_set_headers` and `more_clear_headers`.

use super::support::{OutputTestSite, ReceivedResponse, text};

/// Returns the response to a request for a page of this media type, on a server with these directives.
fn sent(directives: &str, media_type: &'static str) -> ReceivedResponse {
    let trial = OutputTestSite::of(&format!("{directives} location / {{ return 200 x; }}"));
    trial.answered("GET /", &[], text(media_type, "x"))
}

fn values<'a>(sent: &'a ReceivedResponse, name: &str) -> Vec<&'a str> {
    let lines = sent.head.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

#[test]
fn field_takes_the_place_of_the_one_that_was_there() {
    let sent = sent("more_set_headers 'Server: me' 'X-A: 1' 'x-a: 2' \"X-Host: $host\";", "text/html");
    assert_eq!(values(&sent, "Server"), ["me"]);
    assert_eq!(values(&sent, "X-A"), ["2"]);
    assert_eq!(values(&sent, "X-Host"), ["localhost"]);
}

#[test]
fn field_without_a_value_is_taken_out() {
    for directive in
        ["more_set_headers Server:", "more_set_headers 'Server'", "more_clear_headers Serv* X-None"]
    {
        assert_eq!(values(&sent(&format!("{directive};"), "text/html"), "Server"), [""; 0], "{directive}");
    }
    let sent = sent("more_set_headers \"Server: $arg_none\";", "text/html");
    assert_eq!(values(&sent, "Server"), [""; 0], "an empty value removes the field");
}

#[test]
fn status_and_type_options_select_responses() {
    let directives =
        "more_set_headers -s '404 500' 'X-S: 1'; more_set_headers -t 'text/html,text/css' 'X-T: 1';";
    assert_eq!(values(&sent(directives, "text/css; charset=x"), "X-T"), ["1"]);
    let plain = sent(directives, "text/plain");
    assert!(values(&plain, "X-T").is_empty() && values(&plain, "X-S").is_empty());
    let trial = OutputTestSite::of(&format!("{directives} location / {{ return 404; }}"));
    assert_eq!(values(&trial.get("GET /", &[]), "X-S"), ["1"]);
}

#[test]
fn inner_level_adds_to_those_around_it() {
    let trial = OutputTestSite::with(
        "more_set_headers 'X-A: http' 'X-B: http';",
        "more_set_headers 'X-B: server'; location / { more_set_headers -a 'X-B: place'; return 200 x; }",
    );
    let sent = trial.get("GET /", &[]);
    assert_eq!(values(&sent, "X-A"), ["http"]);
    assert_eq!(values(&sent, "X-B"), ["server", "place"]);
}

#[test]
fn media_type_is_changed_ahead_of_the_filters() {
    let sent =
        sent("charset utf-8; charset_types text/css; more_set_headers 'Content-Type: text/css';", "text/x");
    assert_eq!(values(&sent, "Content-Type"), ["text/css; charset=utf-8"]);
    assert_eq!(values(&self::sent("more_clear_headers content-type;", "text/x"), "Content-Type"), [""; 0]);
}

#[test]
fn value_may_read_the_field_that_it_takes_the_place_of() {
    let sent = sent("more_set_headers \"X-A: $sent_http_server!\" 'Server: me';", "text/html");
    assert_eq!(values(&sent, "X-A"), [concat!("Myriad/", env!("CARGO_PKG_VERSION"), "!")]);
}

#[test]
fn added_fields_come_after() {
    let sent = sent("add_header X-A added; more_clear_headers X-A;", "text/html");
    assert_eq!(values(&sent, "X-A"), ["added"], "`add_header` is applied later, as in nginx");
}

#[test]
fn line_breaks_of_a_variable_do_not_make_a_second_field() {
    let trial = OutputTestSite::of(
        "location / { set $v \"a\r\nX-Evil: 1\"; more_set_headers \"X-A: $v\"; return 200 x; }",
    );
    let sent = trial.get("GET /", &[]);
    assert!(values(&sent, "X-Evil").is_empty(), "{}", sent.head);
}

#[test]
fn long_name_is_taken_out_like_a_short_one() {
    let (long, longer) = (format!("X-{}", "a".repeat(61)), format!("X-{}", "a".repeat(98)));
    let set = |name: &str, value: u8| format!("more_set_headers '{name}: {value}';");
    let directives = [set(&long, 1), set(&longer, 1), "more_set_headers -s 200 'X-A: 1';".to_owned()];
    let again = format!("more_set_headers '{long}: 2' '{longer}: 2';");
    let sent = sent(&format!("{}{again}", directives.concat()), "text/html");
    assert_eq!((values(&sent, &long), values(&sent, &longer)), (vec!["2"], vec!["2"]));
}
