//! Tests of responses of origins: buffered, limited, truncated, encoded, redirected.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{LOOPBACK, OK, get, pattern, site};
use crate::support::answer::{ask, connect, read};
use crate::support::origin::{FastcgiOrigin, OriginScript};
use crate::support::{ServerSite, wait_for};

/// Returns a response larger than the sum of all socket buffers in its path.
fn large() -> Vec<u8> {
    [b"Content-Type: application/octet-stream\r\n\r\n".as_slice(), &pattern(24 << 20)].concat()
}

/// Sends a request and reads nothing.
fn ask_and_wait(site: &ServerSite) -> std::net::TcpStream {
    let mut stream = connect((LOOPBACK, site.port));
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("request");
    stream
}

#[test]
fn slow_client_does_not_hold_the_application() {
    let origin = FastcgiOrigin::answering(large());
    let site = site(&origin, "", "");
    let stream = ask_and_wait(&site);
    assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(true));
    assert!(read(stream).body == pattern(24 << 20));
}

#[test]
fn without_a_file_or_buffering_the_application_waits_for_the_client() {
    for location in ["fastcgi_max_temp_file_size 0;", "fastcgi_buffering off;"] {
        let origin = FastcgiOrigin::answering(large());
        let site = site(&origin, location, "");
        let stream = ask_and_wait(&site);
        assert_eq!(origin.taken_whole(Duration::from_millis(700)), None, "{location}");
        assert!(read(stream).body == pattern(24 << 20), "{location}");
        assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(true), "{location}");
    }
}

#[test]
fn application_may_switch_buffering_off_unless_that_is_ignored() {
    let unbuffered = [b"X-Accel-Buffering: no\r\n".as_slice(), &large()].concat();
    let origin = FastcgiOrigin::answering(unbuffered.clone());
    let obeyed = site(&origin, "", "");
    let stream = ask_and_wait(&obeyed);
    assert_eq!(origin.taken_whole(Duration::from_millis(700)), None);
    assert!(read(stream).field("X-Accel-Buffering").is_none());
    let origin = FastcgiOrigin::answering(unbuffered);
    let ignored = site(&origin, "fastcgi_ignore_headers X-Accel-Buffering;", "");
    let _stream = ask_and_wait(&ignored);
    assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(true));
}

#[test]
fn application_is_read_to_its_end_without_a_client_where_that_is_asked_for() {
    for (location, whole) in [("fastcgi_ignore_client_abort on;", true), ("", false)] {
        let gate = Arc::new(Mutex::new(()));
        let origin = FastcgiOrigin::with(OriginScript {
            stdout: large(),
            gate: Arc::clone(&gate),
            ..OriginScript::default()
        });
        let site = site(&origin, &format!("access_log access.log; {location}"), "");
        let closed = gate.lock().expect("the gate");
        let stream = ask_and_wait(&site);
        origin.requests();
        drop(stream);
        wait_for("a client that has gone", || site.read("access.log").contains(" 499 "));
        drop(closed);
        assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(whole), "{location}");
    }
}

#[test]
fn limit_rate_slows_the_application_down() {
    let body = [b"Content-Type: text/plain\r\n\r\n".as_slice(), &pattern(100_000)].concat();
    let origin = FastcgiOrigin::answering(body);
    let site = site(&origin, "fastcgi_limit_rate 50k;", "");
    let began = std::time::Instant::now();
    assert!(get(&site, "/", &[]).body == pattern(100_000));
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn words_on_stderr_spoil_the_answer() {
    let script =
        OriginScript { stderr: b"PHP Fatal error: x".to_vec(), stdout: OK.into(), ..OriginScript::default() };
    let origin = FastcgiOrigin::with(script);
    let spoilt = site(&origin, "fastcgi_catch_stderr 'PHP Fatal error';", "");
    assert_eq!(get(&spoilt, "/", &[]).status, 502);
    spoilt.log_has("PHP Fatal error: x");
    let other = site(&origin, "fastcgi_catch_stderr 'PHP Parse error';", "");
    assert_eq!(get(&other, "/", &[]).text(), "ok");
}

#[test]
fn ranges_are_cut_from_what_the_application_sends_whole() {
    let origin = FastcgiOrigin::answering("Content-Type: text/plain\r\nContent-Length: 10\r\n\r\n0123456789");
    let forced = site(&origin, "fastcgi_force_ranges on;", "");
    let part = get(&forced, "/", &["Range: bytes=2-4"]);
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(part.field("Content-Range"), Some("bytes 2-4/10"));
    assert_eq!(get(&forced, "/", &["Range: bytes=20-"]).status, 416);
    assert_eq!(get(&forced, "/", &[]).field("Accept-Ranges"), Some("bytes"));
    let plain = site(&origin, "", "");
    assert_eq!(get(&plain, "/", &["Range: bytes=2-4"]).text(), "0123456789");
}

#[test]
fn range_far_into_a_page_passes_the_cache_by() {
    let origin = FastcgiOrigin::answering("Content-Type: text/plain\r\n\r\n0123456789");
    let site = site(
        &origin,
        "fastcgi_cache z; fastcgi_cache_key $uri; fastcgi_cache_valid 1h; fastcgi_cache_max_range_offset 5;
         fastcgi_param HTTP_X_RANGE $http_range;",
        "fastcgi_cache_path cache keys_zone=z:1m;",
    );
    assert_eq!(get(&site, "/a", &["Range: bytes=8-"]).text(), "0123456789");
    assert_eq!(origin.requests().param("HTTP_X_RANGE"), Some("bytes=8-"));
    let near = get(&site, "/a", &["Range: bytes=2-3"]);
    assert_eq!((near.status, near.text().as_str()), (206, "23"));
    origin.answer_from_now("Content-Type: text/plain\r\n\r\nother");
    assert_eq!(get(&site, "/a", &[]).text(), "0123456789");
    assert_eq!(get(&site, "/a", &["Range: bytes=8-"]).text(), "89");
}

#[test]
fn charset_is_named_on_stored_pages_too() {
    let origin = FastcgiOrigin::answering("Content-Type: text/html\r\nX-Kept: yes\r\n\r\n<p>");
    let site = site(
        &origin,
        "charset utf-8; fastcgi_cache z; fastcgi_cache_key $uri; fastcgi_cache_valid 1h;
         add_header X-Cache $upstream_cache_status;",
        "fastcgi_cache_path cache keys_zone=z:1m;",
    );
    for state in ["MISS", "HIT"] {
        let answer = get(&site, "/", &[]);
        assert_eq!(answer.field("X-Cache"), Some(state));
        assert_eq!(answer.field("Content-Type"), Some("text/html; charset=utf-8"));
        assert_eq!(answer.head.matches("Content-Type").count(), 1, "{}", answer.head);
        assert_eq!(answer.field("X-Kept"), Some("yes"));
    }
    let part = get(&site, "/", &["Range: bytes=1-1"]);
    assert_eq!((part.status, part.field("Content-Type")), (206, Some("text/html; charset=utf-8")));
}

#[test]
fn range_of_stored_page_has_its_media_type() {
    let origin = FastcgiOrigin::answering("Content-Type: text/css\r\n\r\np {}");
    let site = site(
        &origin,
        "fastcgi_cache z; fastcgi_cache_key $uri; fastcgi_cache_valid 1h;",
        "fastcgi_cache_path cache keys_zone=z:1m;",
    );
    get(&site, "/", &[]);
    let mut stream = connect((LOOPBACK, site.port));
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-0\r\nConnection: close\r\n\r\n")
        .expect("request");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("answer");
    let answer = String::from_utf8_lossy(&bytes);
    assert!(answer.starts_with("HTTP/1.1 206") && answer.contains("Content-Type: text/css\r\n"), "{answer}");
}

/// Creates a site that sends `/app` to the origin, which may redirect (`X-Accel-Redirect`) to files, to `/app` and to a
/// cached location.
fn redirecting(origin: &FastcgiOrigin) -> ServerSite {
    let site = ServerSite::new();
    let (port, pass) = (site.port, origin.port);
    for folder in ["html", "html/files"] {
        std::fs::create_dir_all(site.path(folder)).expect("folder");
    }
    site.write("html/files/a b.txt", "file");
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; fastcgi_cache_path cache keys_zone=z:1m; root html;
                 fastcgi_param METHOD $request_method; fastcgi_param CONTENT_LENGTH $content_length;
                 server {{ listen 127.0.0.1:{port};
                     location /app {{ fastcgi_pass 127.0.0.1:{pass}; }}
                     location /files/ {{ internal; add_header X-Args $args; }}
                     location /again {{ fastcgi_pass 127.0.0.1:{pass}; }}
                     location /kept {{ fastcgi_pass 127.0.0.1:{pass}; fastcgi_cache z; fastcgi_cache_key $uri;
                         fastcgi_cache_valid 1h; gzip on; gzip_types text/plain; }} }} }}"
        ),
    );
    site.start()
}

#[test]
fn place_that_the_application_names_is_decoded_and_asked_by_get() {
    let origin = FastcgiOrigin::answering("X-Accel-Redirect: /files/a%20b.txt?x=/../%20\r\n\r\n");
    let site = redirecting(&origin);
    let post = || ask((LOOPBACK, site.port), &["POST /app HTTP/1.1", "Content-Length: 4"], b"form");
    let answer = post();
    assert_eq!((answer.status, answer.text().as_str()), (200, "file"));
    assert_eq!(answer.field("X-Args"), Some("x=/../%20"));
    assert_eq!(origin.requests().body, b"form");
    for target in ["/files/..%2fnginx.conf", "/files/%2e%2e/nginx.conf", "/files/%00", "files/a"] {
        origin.answer_from_now(format!("X-Accel-Redirect: {target}\r\n\r\n"));
        assert_eq!(post().status, 404, "{target}");
        origin.requests();
    }
    origin.answer_from_now("X-Accel-Redirect: /again\r\n\r\n");
    post();
    let (first, second) = (origin.requests(), origin.requests());
    assert_eq!((first.param("METHOD"), first.body.as_slice()), (Some("POST"), &b"form"[..]));
    assert_eq!((second.param("METHOD"), second.param("CONTENT_LENGTH")), (Some("GET"), Some("0")));
    assert!(second.body.is_empty());
}

#[test]
fn cookie_is_carried_once_to_a_cached_place() {
    let origin = FastcgiOrigin::answering("Content-Type: text/plain\r\n\r\nkept");
    let site = redirecting(&origin);
    assert_eq!(get(&site, "/kept", &[]).text(), "kept");
    origin.answer_from_now("X-Accel-Redirect: /kept\r\nSet-Cookie: a=b\r\n\r\n");
    let answer = get(&site, "/app", &[]);
    assert_eq!(
        (answer.text().as_str(), answer.head.matches("Set-Cookie").count()),
        ("kept", 1),
        "{}",
        answer.head
    );
    assert_eq!(get(&site, "/kept", &[]).field("Set-Cookie"), None);
}

#[test]
fn coded_page_that_is_cut_short_is_not_stored() {
    // A gzip member without compression: "whole", its checksum and its length.
    let member = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x05\0\xfa\xffwhole\x4f\x29\x59\xc4\x05\0\0\0";
    let head = b"Content-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n".as_slice();
    let origin = FastcgiOrigin::answering([head, &member[..18]].concat());
    let site = redirecting(&origin);
    let mut stream = connect((LOOPBACK, site.port));
    stream.write_all(b"GET /kept HTTP/1.0\r\n\r\n").expect("request");
    let _ = stream.read_to_end(&mut Vec::new());
    origin.answer_from_now([head, member.as_slice()].concat());
    assert_eq!(get(&site, "/kept", &[]).text(), "whole");
    origin.answer_from_now("Status: 500\r\n\r\n");
    assert_eq!(get(&site, "/kept", &[]).text(), "whole");
}
