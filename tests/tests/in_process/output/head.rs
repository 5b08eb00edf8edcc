//! Tests of the head of a response.

use myriad_net::ResponseBody;

use super::support::{OutputTestSite, text};
use myriad_exchange::exchange::ContentResponse;

const SERVER: &str = "location / { return 200 x; }";

#[test]
fn head_contains_server_date_type_and_length() {
    let answer = OutputTestSite::of(SERVER).get("GET /", &[]);
    let lines: Vec<_> = answer.head.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["Server", "Date", "Content-Type", "Content-Length"], "{}", answer.head);
    assert!(answer.head.contains("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), "{}", answer.head);
}

#[test]
fn origins_own_server_and_date_take_the_place_of_ours() {
    let mut answer = text("text/html", "x");
    answer.field(b"Server", b"theirs");
    answer.field(b"Date", b"then");
    answer.own_head = true;
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[], answer);
    assert_eq!(answer.head.matches("Server: ").count(), 1, "{}", answer.head);
    assert!(answer.head.contains("Server: theirs\r\nDate: then\r\n"), "{}", answer.head);
}

#[test]
fn content_length_of_origin_head_response_is_passed_on() {
    let mut answer = ContentResponse::new(200, ResponseBody::None);
    answer.length = Some(1234);
    let answer = OutputTestSite::of(SERVER).answered("HEAD /", &[], answer);
    assert!(answer.head.contains("Content-Length: 1234\r\n"), "{}", answer.head);
}

#[test]
fn vary_accept_encoding_is_sent_with_gzip_vary() {
    let varying = || {
        let mut answer = text("image/png", "x");
        answer.varies_by_encoding = true;
        answer
    };
    let trial = OutputTestSite::of(
        "location / { gzip_vary on; return 200 x; } location /n { gzip_vary off; return 200 x; }",
    );
    assert!(trial.answered("GET /", &[], varying()).head.contains("Vary: Accept-Encoding\r\n"));
    assert!(!trial.answered("GET /n", &[], varying()).head.contains("Vary"));
    assert!(!trial.answered("GET /", &[], text("image/png", "x")).head.contains("Vary"));
}

#[test]
fn age_is_sent_unless_location_sets_freshness() {
    let aged = || {
        let mut answer = text("text/html", "x");
        answer.age_s = Some(7);
        answer
    };
    let trial = OutputTestSite::of(
        "location / { return 200 x; } location /e { expires 1h; return 200 x; }
         location /h { add_header Cache-Control max-age=9; return 200 x; }",
    );
    assert!(trial.answered("GET /", &[], aged()).head.contains("Age: 7\r\n"));
    assert!(!trial.answered("GET /e", &[], aged()).head.contains("Age"));
    assert!(!trial.answered("GET /h", &[], aged()).head.contains("Age"));
}

#[test]
fn answer_that_is_dropped_has_no_head() {
    let answer = OutputTestSite::of("location / { return 444; }").get("GET /", &[]);
    assert!(answer.response.drop_connection && answer.response.close && answer.head.is_empty());
    assert_eq!(answer.response.ticket.request.outcome.head.status, 444);
}

#[test]
fn fields_carried_by_internal_redirect_are_added_to_response() {
    let trial = OutputTestSite::of(SERVER);
    let (mut exchange, _) = trial.asked("GET /", &[]);
    exchange.request.errors.carried = Some(Box::new(myriad_exchange::exchange::CarriedFields {
        media_type: Some(b"text/x".to_vec()),
        location: Some(b"/there".to_vec()),
        lines: b"Set-Cookie: a=b\r\n".to_vec(),
    }));
    let answer = super::support::sent(exchange, text("text/html", "x"));
    for line in ["Content-Type: text/x\r\n", "Location: /there\r\n", "Set-Cookie: a=b\r\n"] {
        assert!(answer.head.contains(line), "{}", answer.head);
    }
}

#[test]
fn a_405_of_the_server_lists_the_supported_methods_and_one_of_the_configuration_none() {
    let trial = OutputTestSite::of(
        "location / { return 405; } location /a { add_header Allow X always; return 405; }",
    );
    assert!(!trial.get("PUT /", &[]).head.contains("Allow"));
    let refused = |line: &str| {
        let (mut exchange, _) = trial.asked(line, &[]);
        exchange.request.errors.supported = myriad_exchange::exchange::GET_HEAD;
        super::support::sent(exchange, ContentResponse::new(405, ResponseBody::None)).head
    };
    assert!(refused("PUT /").contains("Allow: GET, HEAD\r\n"));
    assert!(refused("GET /").contains("Allow: HEAD\r\n"));
    let head = refused("PUT /a");
    assert!(head.contains("Allow: X\r\n") && !head.contains("GET"), "{head}");
}
