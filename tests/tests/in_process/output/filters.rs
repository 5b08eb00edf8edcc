//! Tests of several filters together.

use super::support::{OutputTestSite, text, whole};
use myriad_output::body_of_subrequest;

const MAP: &str = "charset_map koi8-r utf-8 { c1 d0b0; }";

#[test]
fn filters_stand_in_nginx_order_whatever_order_they_are_written_in() {
    let trial = OutputTestSite::with(
        MAP,
        "location / { ssi on; charset utf-8; source_charset koi8-r; sub_filter a b; gunzip on; slice 1k; return 200 x; }",
    );
    let (exchange, _) = trial.asked("GET /", &[]);
    let place = exchange.request.place();
    assert_eq!(place.filters.names(b"text/html"), ["gunzip", "sub_filter", "charset_map", "ssi"]);
    assert_eq!(place.filters.iter().map(myriad_exchange::exchange::Filter::name).next(), Some("slice"));
    assert_eq!(place.filters.piece_size(), 1024);
}

#[test]
fn only_filters_that_change_bodies_want_identity() {
    let trial = OutputTestSite::of(
        "location / { charset utf-8; slice 1k; return 200 x; } location /g { gunzip on; return 200 x; }
         location /s { sub_filter a b; sub_filter_types text/css; return 200 x; }",
    );
    let of = |request, media_type: &[u8]| {
        let (exchange, _) = trial.asked(request, &[]);
        let filters = &exchange.request.place().filters;
        (filters.change_bodies(), filters.change(media_type))
    };
    assert_eq!(of("GET /", b"text/html"), (false, false));
    assert_eq!(of("GET /g", b"text/html"), (true, false));
    assert_eq!(of("GET /s", b"text/html"), (true, true));
    assert_eq!(of("GET /s", b"text/css"), (true, true));
    assert_eq!(of("GET /s", b"image/png"), (true, false));
}

#[test]
fn text_passes_through_all_filters_in_turn() {
    let trial = OutputTestSite::with(
        MAP,
        r#"location / { charset koi8-r; source_charset utf-8; sub_filter x "а"; sub_filter y '<!--#echo var="uri" -->';
           ssi on; return 200 x; }"#,
    );
    let answer = trial.answered("GET /", &[], text("text/html", "-x-y-"));
    assert_eq!(answer.body, b"-\xc1-/-");
    assert!(answer.head.contains("Content-Type: text/html; charset=koi8-r\r\n"), "{}", answer.head);
    assert!(!answer.head.contains("Content-Length"), "{}", answer.head);
}

#[test]
fn body_of_a_subrequest_is_filtered_and_never_packed() {
    let trial = OutputTestSite::of("location / { sub_filter a b; return 200 x; }");
    let packed = |text: &[u8]| {
        myriad_encode::compress(myriad_encode::Coding::Gzip, myriad_encode::CompressionLevel::Fast, text)
            .unwrap()
    };
    let (mut exchange, _) = trial.asked("GET /", &[]);
    let mut answer = text("text/html", "");
    answer.body = myriad_net::ResponseBody::Full(packed(b"a cat").into());
    answer.field(b"Content-Encoding", b"gzip");
    let body = body_of_subrequest(&mut exchange, answer);
    assert_eq!(whole(myriad_net::ResponseBody::Stream(body, None)), b"b cat");
    let mut gone = text("text/html", "a");
    gone.status = 304;
    let body = body_of_subrequest(&mut exchange, gone);
    assert!(whole(myriad_net::ResponseBody::Stream(body, None)).is_empty());
}

#[test]
fn answers_without_a_body_are_left_alone() {
    let trial = OutputTestSite::of("location / { sub_filter a b; gunzip on; ssi on; return 200 x; }");
    let mut answer = text("text/html", "a");
    answer.status = 204;
    let answer = trial.answered("GET /", &[], answer);
    assert!(!answer.response.postponed && answer.body == b"a");
}
