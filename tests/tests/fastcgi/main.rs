//! FastCGI: a real php-fpm, and a misbehaving origin.

mod origin;
mod php;

use myriad_tests::{Call, Origin, Php, Place, Server};

/// Starts PHP with the usual location and the files of `pages`.
fn serve_php(location: &str, pages: &[(&str, &str)]) -> (Server, Php) {
    let mut place = Place::new();
    for (name, text) in pages {
        place.write(&format!("html/{name}"), text);
    }
    let php = Php::start(&mut place);
    let http = format!(
        "client_max_body_size 100m; server {{ listen 127.0.0.1:@PORT@; root @DIR@/html; index index.php;
         location ~ \\.php(/|$) {{ {location} @PARAMS@ fastcgi_pass @PHP@; }} }}"
    );
    (Server::start(place, &http), php)
}

/// Starts a scripted origin for every URL except those of `locations`.
fn serve_origin(locations: &str, script: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
    serve(locations, Origin::start(script))
}

fn serve(locations: &str, origin: Origin) -> (Server, Origin) {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = format!(
        "fastcgi_read_timeout 20s; server {{ listen 127.0.0.1:@PORT@; root @DIR@/html; @PARAMS@
         {locations} location / {{ fastcgi_pass @ORIGIN@; }} }}"
    );
    (Server::start(place, &http), origin)
}
