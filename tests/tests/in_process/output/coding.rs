//! Tests of content codings.

use myriad_encode::{Coding, StreamDecoder};
use myriad_http::HttpVersion;

use super::support::{OutputTestSite, sent, text, whole};
use myriad_exchange::exchange::{ContentResponse, Exchange};
use myriad_output::{accepted, encodings};
use myriad_store::page::ProxiedFacts;

const ALL: &str = "gzip on; gzip_min_length 4; brotli on; brotli_min_length 4; zstd on; zstd_min_length 4;
    location / { return 200 x; }";

/// Returns the coding in which a page of five bytes is sent to a client with these fields.
fn wanted(trial: &OutputTestSite, fields: &[(&str, &str)]) -> Coding {
    let (exchange, _) = trial.asked("GET /", fields);
    encodings(&exchange.request, b"text/html", Some(5), ProxiedFacts::default(), false).wanted()
}

#[test]
fn smallest_coding_that_the_client_takes_is_wanted() {
    let trial = OutputTestSite::of(ALL);
    let of = |value| wanted(&trial, &[("Accept-Encoding", value)]);
    assert_eq!(of("gzip, br, zstd"), Coding::Brotli);
    assert_eq!(of("gzip, zstd"), Coding::Zstd);
    assert_eq!(of("br;q=0.1, gzip"), Coding::Gzip);
    assert_eq!(of("br;q=0, identity"), Coding::Identity);
    assert_eq!(wanted(&trial, &[]), Coding::Identity);
}

#[test]
fn type_and_length_decide_what_is_offered() {
    let trial = OutputTestSite::of(ALL);
    let (exchange, _) = trial.asked("GET /", &[("Accept-Encoding", "gzip")]);
    let of = |media_type: &[u8], length| {
        let encodings = encodings(&exchange.request, media_type, length, ProxiedFacts::default(), false);
        (encodings.wanted(), encodings.varies)
    };
    assert_eq!(of(b"text/html", Some(4)), (Coding::Gzip, true));
    assert_eq!(of(b"text/html", Some(3)), (Coding::Identity, false));
    assert_eq!(of(b"text/html", None), (Coding::Gzip, true));
    assert_eq!(of(b"image/png", Some(4)), (Coding::Identity, false));
}

#[test]
fn forced_encoding_ignores_gzip_off_of_location() {
    let trial = OutputTestSite::of("gzip off; location / { return 200 x; }");
    let (exchange, _) = trial.asked("GET /", &[("Accept-Encoding", "gzip")]);
    let of = |forced| encodings(&exchange.request, b"x/y", Some(1), ProxiedFacts::default(), forced).wanted();
    assert_eq!((of(true), of(false)), (Coding::Gzip, Coding::Identity));
}

#[test]
fn old_clients_and_named_browsers_get_identity_that_varies_all_the_same() {
    let server = "gzip on; gzip_min_length 1; gzip_disable Old msie6; location / { return 200 x; }";
    let trial = OutputTestSite::of(server);
    let gzip = ("Accept-Encoding", "gzip");
    assert_eq!(wanted(&trial, &[gzip, ("User-Agent", "New")]), Coding::Gzip);
    assert_eq!(wanted(&trial, &[gzip, ("User-Agent", "Very old")]), Coding::Identity, "letters of any case");
    assert_eq!(wanted(&trial, &[gzip, ("User-Agent", "a (MSIE 6.0; b)")]), Coding::Identity);
    let (old, _) = trial.asked_in(HttpVersion::Http10, "GET /", &[gzip]);
    let encodings = encodings(&old.request, b"text/html", Some(5), ProxiedFacts::default(), false);
    assert!(encodings.wanted() == Coding::Identity && encodings.varies);
    assert!(accepted(&old.request, ProxiedFacts::default()).is_empty());
}

#[test]
fn request_that_came_by_a_proxy_gets_what_gzip_proxied_allows() {
    let of = |rules: &str, facts| {
        let trial = OutputTestSite::of(&format!(
            "gzip on; gzip_min_length 1; gzip_proxied {rules}; location / {{ return 200 x; }}"
        ));
        let fields = [("Accept-Encoding", "gzip"), ("Via", "1.1 a")];
        let (exchange, _) = trial.asked("GET /", &fields);
        encodings(&exchange.request, b"text/html", Some(5), facts, false).wanted() == Coding::Gzip
    };
    let none = ProxiedFacts::default();
    assert!(!of("off", none) && of("any", none));
    assert!(of("expired", ProxiedFacts { expired: Some(true), ..none }));
    assert!(!of("expired", ProxiedFacts { expired: Some(false), ..none }));
    let private = ProxiedFacts { has_cache_control: true, private: true, ..none };
    assert!(of("private", private) && !of("no-store", private) && !of("no_etag", private));
    assert!(of("no_etag", none) && !of("no_etag", ProxiedFacts { has_etag: true, ..none }));
    let tagged = ProxiedFacts { has_etag: true, ..private };
    assert!(
        of("auth", none) && !of("auth", tagged),
        "a response with `Cache-Control` needs a parameter that it matches"
    );
}

/// Returns a page that may be compressed.
fn page() -> ContentResponse {
    let mut answer = text("text/html", "a page, a page, a page, a page, a page, a page");
    answer.compressible = true;
    answer.ranges = true;
    answer.field(b"ETag", b"\"a\"");
    answer.field(b"Accept-Ranges", b"bytes");
    answer
}

fn gzipped(
    trial: &OutputTestSite,
    request: &str,
    answer: ContentResponse,
) -> super::support::ReceivedResponse {
    trial.answered(request, &[("Accept-Encoding", "gzip")], answer)
}

fn gunzip(body: &[u8]) -> Vec<u8> {
    let mut decoder = StreamDecoder::new(Coding::Gzip, 1 << 10).expect("gzip");
    let mut text = Vec::new();
    decoder.push(body, &mut text).expect("compressed data");
    decoder.finish().expect("the end of the data");
    text
}

#[test]
fn page_is_compressed_for_one_visitor() {
    let trial = OutputTestSite::of("gzip on; gzip_min_length 1; gzip_vary on; location / { return 200 x; }");
    let answer = gzipped(&trial, "GET /", page());
    assert!(answer.head.contains("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"), "{}", answer.head);
    assert!(
        answer.head.contains("ETag: W/\"a\"\r\n") && !answer.head.contains("Accept-Ranges"),
        "{}",
        answer.head
    );
    assert_eq!(gunzip(&answer.body), whole(page().body));
    assert_eq!(answer.response.ticket.request.outcome.head.uncompressed, 46);
}

#[test]
fn nothing_is_compressed_that_must_stay_as_it_is() {
    let trial = OutputTestSite::of("gzip on; gzip_min_length 1; location / { return 200 x; }");
    let mut untransformed = page();
    untransformed.field(b"Cache-Control", b"public, No-Transform");
    assert!(!gzipped(&trial, "GET /", untransformed).head.contains("Content-Encoding"));
    let mut failed = page();
    failed.status = 500;
    assert!(!gzipped(&trial, "GET /", failed).head.contains("Content-Encoding"));
    let mut done = page();
    done.compressible = false;
    assert!(!gzipped(&trial, "GET /", done).head.contains("Content-Encoding"));
    assert!(!trial.answered("GET /", &[], page()).head.contains("Content-Encoding"));
}

#[test]
fn stream_is_compressed_as_it_passes_and_counted() {
    let trial = OutputTestSite::of("gzip on; gzip_min_length 1; location / { return 200 x; }");
    let streamed = || {
        let mut answer = page();
        let body = myriad_exchange::exchange::pull_body(std::mem::replace(
            &mut answer.body,
            myriad_net::ResponseBody::None,
        ));
        answer.body = myriad_net::ResponseBody::Stream(body, None);
        answer
    };
    let answer = gzipped(&trial, "GET /", streamed());
    assert_eq!(gunzip(&answer.body), whole(page().body));
    let tally = answer.response.ticket.request.outcome.head.encoding_sizes.clone().expect("counted sizes");
    assert_eq!((tally.taken.get(), tally.given.get()), (46, answer.body.len() as u64));
    let head = gzipped(&trial, "HEAD /", streamed());
    assert!(head.head.contains("Content-Encoding: gzip\r\n"), "{}", head.head);
}

#[test]
fn facts_are_gathered_only_for_what_came_by_a_proxy() {
    let trial =
        OutputTestSite::of("gzip on; gzip_min_length 1; gzip_proxied no-store; location / { return 200 x; }");
    let private = || {
        let mut answer = page();
        answer.field(b"Cache-Control", b"private");
        answer
    };
    let asked = |via: bool| -> Box<Exchange> {
        let fields = [("Accept-Encoding", "gzip"), ("Via", "1.1 a")];
        trial.asked("GET /", &fields[..=usize::from(via)]).0
    };
    for (via, answer, packed) in
        [(true, private(), false), (true, page(), true), (false, private(), true), (false, page(), true)]
    {
        assert_eq!(sent(asked(via), answer).head.contains("Content-Encoding"), packed, "{via}");
    }
}
