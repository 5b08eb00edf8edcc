use super::settings::{EncodingSettings, GzipDisable};
use super::{BROTLI, GZIP, ZSTD};
use crate::testing::server_of;

fn settings(inside: &str) -> EncodingSettings {
    let families = [GZIP, BROTLI, ZSTD].map(|feature| feature.family);
    server_of(families, inside).settings.feature::<EncodingSettings>().clone()
}

#[test]
fn gzip_types_always_hold_html_and_a_star_stands_for_all() {
    let types = |text: &str| settings(text).gzip.types;
    assert_eq!(types("gzip_types text/CSS text/html; gzip_types a/b;"), ["text/html", "text/css", "a/b"]);
    assert_eq!(types("gzip_types a/b *;"), ["*"]);
    assert_eq!(types(""), ["text/html"]);
}

#[test]
fn encodings_are_read_with_the_names_of_their_modules() {
    let encoding = settings(
        "gzip on; gzip_disable msie6 \"MSIE [1-5]\"; gzip_http_version 1.0; gzip_proxied expired no-cache auth;
         brotli on; brotli_types a/b; brotli_comp_level 11; zstd off;",
    );
    assert!(encoding.gzip.on && encoding.gzip.http_1_0);
    assert_eq!(encoding.gzip.disable[0], GzipDisable::Msie6);
    assert!(encoding.gzip.proxied.expired && encoding.gzip.proxied.auth && !encoding.gzip.proxied.any);
    assert_eq!(
        (encoding.brotli.on, encoding.brotli.comp_level, encoding.zstd.on),
        (Some(true), 11, Some(false))
    );
    assert_eq!(encoding.brotli.types.unwrap(), ["text/html", "a/b"]);
    assert_eq!(encoding.zstd.types, None);
}
