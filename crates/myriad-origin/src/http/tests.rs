//! Tests of `proxy_*`.

use std::path::Path;

use myriad_conf::registry::Registry;
use myriad_conf::{MemoryLoader, Settings, build};

use super::language::HTTP;
use super::settings::{HttpSettings, HttpVersion, Redirect};
use crate::protocols;

/// Returns the settings of a location with these directives.
#[track_caller]
fn settings(inside: &str) -> Settings {
    let text = format!("http {{ server {{ location / {{ {inside} }} }} }}");
    let path = Path::new("/conf/nginx.conf");
    let registry = Registry::new([], protocols::languages());
    let parsed = registry.parse(&MemoryLoader::with(path, text), path, b"");
    let model = build(&parsed, &registry).expect("a valid configuration");
    model.http.expect("a block").servers.remove(0).locations.remove(0).settings
}

fn own(inside: &str) -> HttpSettings {
    settings(inside).origin(HTTP).own::<HttpSettings>().clone()
}

#[test]
fn proxy_directives_of_its_own_are_read() {
    let proxy = own("proxy_http_version 1.0; proxy_method POST; proxy_set_body x;
         proxy_redirect default; proxy_redirect http://a/ /b/; proxy_redirect ~*^http://(.*)$ /$1;");
    assert_eq!(proxy.version, HttpVersion::Http10);
    assert_eq!(proxy.redirects[0], Redirect::Default);
    assert!(
        matches!(&proxy.redirects[1], Redirect::Prefix { from, to } if from.bytes() == b"http://a/" && to.bytes() == b"/b/")
    );
    assert!(
        matches!(&proxy.redirects[2], Redirect::Regex { caseless: true, pattern, .. } if pattern.bytes() == b"^http://(.*)$")
    );
    assert_eq!(own("proxy_redirect a b; proxy_redirect default;").redirects.len(), 2);
    assert_eq!(own("proxy_redirect off;").redirects, []);
    assert_eq!(own("").redirects, [Redirect::Default]);
}

#[test]
fn a_page_has_the_key_that_its_origin_is_asked_by() {
    assert_eq!(HTTP.default_key().text, "$proxy_internal_scheme://$proxy_internal_host$proxy_internal_uri");
}
