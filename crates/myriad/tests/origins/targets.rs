//! Tests of `fastcgi_pass` with variables, and of hashed upstream groups.

use super::get;
use crate::support::ServerSite;
use crate::support::origin::FastcgiOrigin;

#[test]
fn variable_may_hold_an_address_or_the_name_of_a_group() {
    let (first, second) = (
        FastcgiOrigin::answering("Status: 200\r\n\r\nfirst"),
        FastcgiOrigin::answering("Status: 200\r\n\r\nsecond"),
    );
    let http = format!(
        "map $arg_to $target {{ default nowhere; address 127.0.0.1:{}; group php; }}
         upstream php {{ server 127.0.0.1:{}; }}",
        first.port, second.port
    );
    let site = ServerSite::new();
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; {http} server {{ listen 127.0.0.1:{}; location / {{ fastcgi_pass $target; }} }} }}",
            site.port
        ),
    );
    let site = site.start();
    assert_eq!(get(&site, "/?to=address", &[]).text(), "first");
    assert_eq!(get(&site, "/?to=address", &[]).text(), "first");
    assert_eq!(get(&site, "/?to=group", &[]).text(), "second");
    assert_eq!(get(&site, "/", &[]).status, 502);
    site.log_has("no upstream group or address \"nowhere\"");
}

#[test]
fn hash_sends_the_same_key_to_the_same_server() {
    let origins =
        [FastcgiOrigin::answering("Status: 200\r\n\r\na"), FastcgiOrigin::answering("Status: 200\r\n\r\nb")];
    let site = ServerSite::new();
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; upstream php {{ hash $arg_k; server 127.0.0.1:{}; server 127.0.0.1:{}; }}
                 server {{ listen 127.0.0.1:{}; location / {{ fastcgi_pass php; }} }} }}",
            origins[0].port, origins[1].port, site.port
        ),
    );
    let site = site.start();
    let mut seen = std::collections::HashSet::new();
    for key in 0..12 {
        let path = format!("/?k={key}");
        let first = get(&site, &path, &[]).text();
        for _ in 0..3 {
            assert_eq!(get(&site, &path, &[]).text(), first, "key {key}");
        }
        seen.insert(first);
    }
    assert_eq!(seen.len(), 2);
}
