//! Tests of the variables `$fastcgi_*`.

use myriad_http::HttpVersion;
use myriad_serve::testing::variables::{VariableCase, assert_variables, variable_value};

#[test]
fn fastcgi_splits_the_uri() {
    let server = "fastcgi_pass 127.0.0.1:9; fastcgi_index index.php;
                  fastcgi_split_path_info ^(.+\\.php)(/.+)$;";
    let place = format!("location / {{ {server} }}");
    let names_of = |target: &str| {
        let line = ("GET", target, HttpVersion::Http11);
        let mut exchange = VariableCase { line, server: &place, ..VariableCase::default() }.begin();
        let places = &exchange.request.site.runtime.places;
        let location = places.iter().position(|place| place.handler.origin().is_some()).unwrap();
        exchange.request.route.place = location as u32;
        ["fastcgi_script_name", "fastcgi_path_info"].map(|name| variable_value(&mut exchange, name).unwrap())
    };
    assert_eq!(names_of("/a.php/b"), ["/a.php", "/b"]);
    assert_eq!(names_of("/a/"), ["/a/index.php", ""]);
    assert_eq!(names_of("/a"), ["/a", ""]);
    assert_variables(
        &mut VariableCase::default().begin(),
        &[("fastcgi_script_name", "/"), ("fastcgi_path_info", "")],
    );
}
