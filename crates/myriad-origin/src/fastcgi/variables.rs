//! `$fastcgi_script_name` and `$fastcgi_path_info`.

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::Row;
use myriad_exchange::runtime::Reads::{Uri, UriPart};
use myriad_exchange::runtime::Value::Run;

use super::place::FastCgiPlace;

/// Parts of the URI according to `fastcgi_split_path_info` and `fastcgi_index`. At places without FastCGI the script
/// name is the URI, as in nginx.
pub(super) const VARIABLES: &[Row] = &[
    Row::new(
        "fastcgi",
        "fastcgi_script_name",
        &[Uri],
        Run(|request, _, out| {
            match place(request) {
                Some(place) => place.script_name(request, out)?,
                None => out.extend_from_slice(&request.route.uri),
            }
            Ok(true)
        }),
    ),
    Row::new(
        "fastcgi",
        "fastcgi_path_info",
        &[UriPart],
        Run(|request, _, out| {
            if let Some(place) = place(request) {
                place.path_info(request, out)?;
            }
            Ok(true)
        }),
    ),
];

fn place(request: &Request) -> Option<&FastCgiPlace> {
    request.place().handler.origin()?.spoken()
}

#[cfg(test)]
mod tests {
    use myriad_http::Version;
    use myriad_serve::testing::variables::{Case, shown, shows};

    #[test]
    fn fastcgi_splits_the_uri() {
        let server = "fastcgi_pass 127.0.0.1:9; fastcgi_index index.php;
                      fastcgi_split_path_info ^(.+\\.php)(/.+)$;";
        let place = format!("location / {{ {server} }}");
        let names_of = |target: &str| {
            let line = ("GET", target, Version::Http11);
            let mut exchange = Case { line, server: &place, ..Case::default() }.begin();
            let places = &exchange.request.site.runtime.places;
            let location = places.iter().position(|place| place.handler.origin().is_some()).unwrap();
            exchange.request.route.place = location as u32;
            ["fastcgi_script_name", "fastcgi_path_info"].map(|name| shown(&mut exchange, name).unwrap())
        };
        assert_eq!(names_of("/a.php/b"), ["/a.php", "/b"]);
        assert_eq!(names_of("/a/"), ["/a/index.php", ""]);
        assert_eq!(names_of("/a"), ["/a", ""]);
        shows(&mut Case::default().begin(), &[("fastcgi_script_name", "/"), ("fastcgi_path_info", "")]);
    }
}
