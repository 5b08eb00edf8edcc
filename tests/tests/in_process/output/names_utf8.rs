//! Tests of the charset of directory listings.

use myriad_output::names_utf8;
use myriad_serve::testing::TestSite;

#[test]
fn folder_listing_is_detected_as_utf8_by_charset_and_type() {
    let site = TestSite::new(
        "",
        "location / { charset UTF-8; return 200 x; } location /k { charset koi8-r; return 200 x; }
         location /n { return 200 x; }",
    );
    let names = |path, media_type: &[u8]| names_utf8(&mut site.exchange(path, &[]), media_type);
    assert!(names("/", b"text/html") && !names("/", b"application/json"));
    assert!(!names("/k", b"text/html") && !names("/n", b"text/html"));
}
