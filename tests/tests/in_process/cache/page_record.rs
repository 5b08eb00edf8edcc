//! Tests of the stored form of a response.

use std::io::Write;

use super::support::CacheTestSite;

/// Returns the header lines of the page for a response with these fields.
fn lines(fields: &[(&str, &str)]) -> String {
    let mut site = CacheTestSite::new("proxy_ignore_headers Set-Cookie;");
    site.origin.respond(200, fields, "a page");
    assert_eq!(site.get("GET /a", &[]).summary(), "200 MISS");
    let page = site.page("/a").expect("a page");
    String::from_utf8_lossy(page.meta().lines()).into_owned()
}

#[test]
fn page_stores_shared_fields_without_cookies() {
    let stored_lines = lines(&[("content-type", "text/html"), ("X-Powered", "PHP"), ("Set-Cookie", "a=1")]);
    assert_eq!(stored_lines, "Content-Type: text/html\r\nX-Powered: PHP\r\n");
}

#[test]
fn fields_named_by_connection_are_not_stored() {
    assert_eq!(lines(&[("X-Hop", "1"), ("X-End", "2"), ("Connection", "X-Hop")]), "X-End: 2\r\n");
}

#[test]
fn age_and_validators_are_not_stored_as_field_lines() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(lines(&[("Age", "5"), ("ETag", "\"a\""), ("Last-Modified", date)]), "");
}

/// Text of a page, of which no encoding begins with the same bytes.
const TEXT: &[u8] = b"a page that is encoded by its origin";

fn encoded(coding: &str) -> Vec<u8> {
    match coding {
        "gzip" | "x-gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(TEXT).expect("memory");
            encoder.finish().expect("memory")
        }
        "br" => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
            encoder.write_all(TEXT).expect("memory");
            encoder.into_inner()
        }
        _ => b"unknown coding".to_vec(),
    }
}

/// Returns whether the coding of a response is removed before it is stored.
fn is_removed(directives: &str, media_type: &str, coding: &str, control: &str) -> bool {
    let mut site = CacheTestSite::new(directives);
    let fields = [("Content-Type", media_type), ("Content-Encoding", coding), ("Cache-Control", control)];
    let body = encoded(coding);
    site.origin.respond(200, &fields, &body);
    assert_eq!(site.get("GET /a", &[("Accept-Encoding", "gzip, br, dcb")]).summary(), "200 MISS");
    let page = site.page("/a").expect("a page");
    let stored = page.body().segments().concat();
    let is_removed = page.meta().origin_encoded;
    assert_eq!(stored, if is_removed { TEXT.to_vec() } else { body });
    is_removed
}

#[test]
fn coding_is_removed_only_where_the_configuration_may_compress_or_reads_the_text() {
    let fresh = "max-age=9";
    assert!(is_removed("gzip on;", "Text/HTML; charset=utf-8", "gzip", fresh));
    assert!(!is_removed("gzip on;", "application/gzip", "x-gzip", fresh));
    assert!(is_removed("gzip on; gzip_types application/x-tar;", "application/x-tar", "gzip", fresh));
    assert!(!is_removed("", "text/html", "gzip", fresh));
    assert!(is_removed("brotli on;", "text/html", "br", fresh));
    assert!(is_removed("sub_filter a b;", "text/html", "gzip", fresh));
    assert!(!is_removed("sub_filter a b;", "application/gzip", "gzip", fresh));
    assert!(!is_removed("gunzip on;", "application/gzip", "gzip", fresh));
    assert!(!is_removed("gzip on;", "text/html", "gzip", "no-transform, max-age=9"));
    assert!(!is_removed("gzip on;", "text/html", "dcb", fresh));
}
