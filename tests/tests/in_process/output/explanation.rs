//! Tests of the explanation of filters and codings.

use std::cell::RefCell;
use std::rc::Rc;

use super::support::OutputTestSite;
use myriad_exchange::exchange::{DecisionSink, ExplainedDecision};
use myriad_output::explain;

#[derive(Default)]
struct ExplainLines(RefCell<Vec<String>>);

impl DecisionSink for ExplainLines {
    fn take(&self, line: ExplainedDecision) {
        self.0.borrow_mut().push(format!("{}: {} ({})", line.topic, line.text, line.outcome));
    }
}

fn explained(server: &str, path: &str, media_type: Option<&[u8]>) -> Vec<String> {
    let lines = Rc::new(ExplainLines::default());
    let (mut exchange, _) =
        OutputTestSite::of(server).asked(&format!("GET {path}"), &[("Accept-Encoding", "gzip")]);
    exchange.request.received.sink = Some(Rc::clone(&lines) as Rc<dyn DecisionSink>);
    explain(&exchange, media_type);
    lines.0.take()
}

#[test]
fn encodings_are_explained_for_media_type_of_response() {
    let server = "gzip on; gzip_min_length 20; brotli off; zstd off; location / { return 200 x; }";
    let found = explained(server, "/", Some(b"Text/HTML; charset=utf-8"));
    assert_eq!(found, ["encoding: gzip from 20 bytes (for text/html; the client accepts \"gzip\")"]);
    let found = explained(server, "/", Some(b"image/png"));
    assert_eq!(found, ["encoding: none (for image/png; the client accepts \"gzip\")"]);
}

#[test]
fn body_filters_are_explained_if_location_has_any() {
    let server = "location / { gzip off; sub_filter a b; ssi on; charset utf-8; slice 1k; return 200 x; }";
    let found = explained(server, "/", Some(b"text/html"));
    assert!(found[0].starts_with("filters: sub_filter, ssi (for text/html; "), "{found:?}");
    let found = explained(server, "/", Some(b"image/png"));
    assert!(found[0].starts_with("filters: none (for image/png; "), "{found:?}");
    let found = explained("location / { charset utf-8; slice 1k; return 200 x; }", "/", Some(b"text/html"));
    assert!(found[0].starts_with("encoding: "), "{found:?}");
}
