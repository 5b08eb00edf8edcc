//! Tests of the conditions of a request.

use super::support::{OutputTestSite, sent, text};
use myriad_exchange::exchange::ContentResponse;
use myriad_output::conditional_rejection;

/// Returns a response whose `Last-Modified` is 1 November at noon.
fn dated() -> ContentResponse {
    let mut answer = text("text/html", "text");
    answer.field(b"Last-Modified", b"Tue, 01 Nov 1994 12:00:00 GMT");
    answer
}

const SERVER: &str = "location / { return 200 x; }";

#[test]
fn what_the_client_has_is_confirmed_without_a_body() {
    let since = [("If-Modified-Since", "Tue, 01 Nov 1994 12:00:00 GMT")];
    let answer = OutputTestSite::of(SERVER).answered("GET /", &since, dated());
    assert_eq!((answer.status, answer.body.len()), (304, 0));
    assert!(answer.head.contains("Last-Modified: Tue, 01 Nov 1994 12:00:00 GMT\r\n"), "{}", answer.head);
    assert!(
        !answer.head.contains("Content-Type") && !answer.head.contains("Content-Length"),
        "{}",
        answer.head
    );
}

#[test]
fn condition_that_fails_is_answered_by_the_built_in_page() {
    let since = [("If-Unmodified-Since", "Mon, 31 Oct 1994 12:00:00 GMT")];
    let answer = OutputTestSite::of(SERVER).answered("GET /", &since, dated());
    assert_eq!(answer.status, 412);
    assert!(answer.body.starts_with(b"<html>\r\n<head><title>412 Precondition Failed"));
    assert!(!answer.head.contains("Last-Modified"), "{}", answer.head);
}

#[test]
fn conditions_apply_only_to_unevaluated_200_responses_to_get_and_head() {
    let trial = OutputTestSite::of(SERVER);
    let since = [("If-Modified-Since", "Tue, 01 Nov 1994 12:00:00 GMT")];
    let mut missing = dated();
    missing.status = 404;
    assert_eq!(trial.answered("GET /", &since, missing).status, 404);
    let mut judged = dated();
    judged.conditions_evaluated = true;
    assert_eq!(trial.answered("GET /", &since, judged).status, 200);
    assert_eq!(trial.answered("POST /", &since, dated()).status, 200);
    assert_eq!(trial.answered("HEAD /", &since, dated()).status, 304);
}

#[test]
fn status_of_an_error_page_takes_the_place_of_its_own() {
    let since = [("If-Modified-Since", "Tue, 01 Nov 1994 12:00:00 GMT")];
    let (mut exchange, _) = OutputTestSite::of(SERVER).asked("GET /", &since);
    exchange.request.errors.forced_status = Some(503);
    let mut page = dated();
    page.reason = Some("Fine".into());
    let answer = sent(exchange, page);
    assert_eq!((answer.status, &answer.body[..]), (503, &b"text"[..]));
}

#[test]
fn failed_precondition_is_detected_early_only_with_error_page() {
    let (fields, plain) =
        ([("If-Unmodified-Since", "Mon, 31 Oct 1994 12:00:00 GMT")], OutputTestSite::of(SERVER));
    let asked = plain.asked("GET /", &fields).0;
    assert!(conditional_rejection(&asked.request, &dated()).is_none());
    let paged = OutputTestSite::of("error_page 412 416 /e; location / { return 200 x; }");
    let asked = paged.asked("GET /", &fields).0;
    assert_eq!(conditional_rejection(&asked.request, &dated()).map(|refusal| refusal.status), Some(412));
    let asked = paged.asked("GET /", &[("If-Modified-Since", "Tue, 01 Nov 1994 12:00:00 GMT")]).0;
    assert!(conditional_rejection(&asked.request, &dated()).is_none(), "status 304 is not a rejection");
}

#[test]
fn unsatisfiable_range_is_detected_early_unless_body_is_filtered() {
    let range = [("Range", "bytes=9-")];
    let ranged = || {
        let mut answer = dated();
        answer.ranges = true;
        answer
    };
    let trial = OutputTestSite::of(
        "error_page 416 /e; location / { return 200 x; } location /f { sub_filter a b; return 200 x; }",
    );
    let refused =
        conditional_rejection(&trial.asked("GET /", &range).0.request, &ranged()).expect("a refusal");
    assert_eq!((refused.status, &refused.lines[..]), (416, &b"Content-Range: bytes */4\r\n"[..]));
    assert!(conditional_rejection(&trial.asked("GET /f", &range).0.request, &ranged()).is_none());
    assert!(
        conditional_rejection(&trial.asked("GET /", &[("Range", "bytes=1-2")]).0.request, &ranged())
            .is_none()
    );
}
