//! Directives of the upstream family, obeyed by the real binary in front of a scripted application.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use support::answer::{Answer, ask, connect, read};
use support::origin::{Origin, Script};
use support::{Site, wait_for};

const LOOPBACK: &str = "127.0.0.1";
const OK: &str = "Content-Type: text/plain\r\n\r\nok";

/// A started site with these directives in a location that asks `origin`, and more in `http`.
fn site(origin: &Origin, location: &str, http: &str) -> Site {
    let site = Site::new();
    let (port, pass) = (site.port, origin.port);
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; {http} fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param URI $request_uri;
                 server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass 127.0.0.1:{pass}; {location} }} }} }}"
        ),
    );
    site.start()
}

fn get(site: &Site, path: &str, fields: &[&str]) -> Answer {
    let line = format!("GET {path} HTTP/1.1");
    let mut head = vec![line.as_str()];
    head.extend_from_slice(fields);
    ask((LOOPBACK, site.port), &head, b"")
}

/// Bytes that are wrong wherever they are shifted.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Sends a body in two halves; what is between them.
fn upload_slowly(site: &Site, body: &[u8], between: impl FnOnce()) -> Answer {
    let mut stream = connect((LOOPBACK, site.port));
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .expect("head");
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(first).expect("first half");
    between();
    stream.write_all(second).expect("second half");
    read(stream)
}

#[test]
fn slow_upload_does_not_hold_the_application() {
    for (length, memory) in [(1000, "16k"), (600_000, "16k"), (200_000, "1m"), (100_000, "1k")] {
        let origin = Origin::answering(OK);
        let site = site(&origin, &format!("client_body_buffer_size {memory};"), "");
        let body = pattern(length);
        let answer = upload_slowly(&site, &body, || {
            sleep(Duration::from_millis(300));
            assert!(!origin.was_connected(), "{length} bytes with {memory}");
        });
        assert_eq!(answer.text(), "ok");
        assert!(origin.asked().body == body, "{length} bytes with {memory}");
    }
}

#[test]
fn body_kept_out_of_memory_arrives_whole() {
    let origin = Origin::answering(OK);
    let site = site(&origin, "client_body_in_file_only clean;", "");
    assert_eq!(upload_slowly(&site, b"short", || sleep(Duration::from_millis(300))).text(), "ok");
    assert_eq!(origin.asked().body, b"short");
}

#[test]
fn upload_streams_where_buffering_is_off() {
    let origin = Origin::answering(OK);
    let site = site(&origin, "fastcgi_request_buffering off;", "");
    assert_eq!(upload_slowly(&site, &pattern(1000), || origin.connected()).text(), "ok");
    assert_eq!(origin.asked().body, pattern(1000));
}

#[test]
fn chunked_upload_gets_a_length() {
    let origin = Origin::answering(OK);
    let site = site(&origin, "", "");
    let head = ["POST / HTTP/1.1", "Transfer-Encoding: chunked"];
    let answer = ask((LOOPBACK, site.port), &head, b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(answer.text(), "ok");
    let asked = origin.asked();
    assert_eq!((asked.body.as_slice(), asked.param("CONTENT_LENGTH")), (&b"abcdefg"[..], Some("7")));
}

#[test]
fn body_that_is_too_large_or_too_slow_never_reaches_the_application() {
    let origin = Origin::answering(OK);
    let small = site(&origin, "client_max_body_size 10;", "");
    let chunked = ["POST / HTTP/1.1", "Transfer-Encoding: chunked"];
    let answer = ask((LOOPBACK, small.port), &chunked, b"14\r\n01234567890123456789\r\n0\r\n\r\n");
    assert_eq!(answer.status, 413);
    let impatient = site(&origin, "client_body_timeout 300ms;", "");
    let silent = ask((LOOPBACK, impatient.port), &["POST / HTTP/1.1", "Content-Length: 5"], b"");
    assert_eq!(silent.status, 408);
    let stuck = ask((LOOPBACK, impatient.port), &["POST / HTTP/1.1", "Content-Length: 5"], b"abc");
    assert_eq!(stuck.status, 408);
    assert!(!origin.was_connected());
}

/// An answer larger than every socket buffer on the way.
fn large() -> Vec<u8> {
    [b"Content-Type: application/octet-stream\r\n\r\n".as_slice(), &pattern(24 << 20)].concat()
}

/// Asks, and reads nothing until told to.
fn ask_and_wait(site: &Site) -> std::net::TcpStream {
    let mut stream = connect((LOOPBACK, site.port));
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("request");
    stream
}

#[test]
fn slow_client_does_not_hold_the_application() {
    let origin = Origin::answering(large());
    let site = site(&origin, "", "");
    let stream = ask_and_wait(&site);
    assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(true));
    assert!(read(stream).body == pattern(24 << 20));
}

#[test]
fn without_a_file_or_buffering_the_application_waits_for_the_client() {
    for location in ["fastcgi_max_temp_file_size 0;", "fastcgi_buffering off;"] {
        let origin = Origin::answering(large());
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
    let origin = Origin::answering(unbuffered.clone());
    let obeyed = site(&origin, "", "");
    let stream = ask_and_wait(&obeyed);
    assert_eq!(origin.taken_whole(Duration::from_millis(700)), None);
    assert!(read(stream).field("X-Accel-Buffering").is_none());
    let origin = Origin::answering(unbuffered);
    let ignored = site(&origin, "fastcgi_ignore_headers X-Accel-Buffering;", "");
    let _stream = ask_and_wait(&ignored);
    assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(true));
}

#[test]
fn application_is_read_to_its_end_without_a_client_where_that_is_asked_for() {
    for (location, whole) in [("fastcgi_ignore_client_abort on;", true), ("", false)] {
        let gate = Arc::new(Mutex::new(()));
        let origin = Origin::with(Script { stdout: large(), gate: Arc::clone(&gate), ..Script::default() });
        let site = site(&origin, &format!("access_log access.log; {location}"), "");
        let closed = gate.lock().expect("the gate");
        let stream = ask_and_wait(&site);
        origin.asked();
        drop(stream);
        wait_for("a client that has gone", || site.read("access.log").contains(" 499 "));
        drop(closed);
        assert_eq!(origin.taken_whole(Duration::from_secs(15)), Some(whole), "{location}");
    }
}

#[test]
fn limit_rate_slows_the_application_down() {
    let body = [b"Content-Type: text/plain\r\n\r\n".as_slice(), &pattern(100_000)].concat();
    let origin = Origin::answering(body);
    let site = site(&origin, "fastcgi_limit_rate 50k;", "");
    let began = std::time::Instant::now();
    assert!(get(&site, "/", &[]).body == pattern(100_000));
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn words_on_stderr_spoil_the_answer() {
    let script = Script { stderr: b"PHP Fatal error: x".to_vec(), stdout: OK.into(), ..Script::default() };
    let origin = Origin::with(script);
    let spoilt = site(&origin, "fastcgi_catch_stderr 'PHP Fatal error';", "");
    assert_eq!(get(&spoilt, "/", &[]).status, 502);
    spoilt.log_has("PHP Fatal error: x");
    let other = site(&origin, "fastcgi_catch_stderr 'PHP Parse error';", "");
    assert_eq!(get(&other, "/", &[]).text(), "ok");
}

#[test]
fn ranges_are_cut_from_what_the_application_sends_whole() {
    let origin = Origin::answering("Content-Type: text/plain\r\nContent-Length: 10\r\n\r\n0123456789");
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
    let origin = Origin::answering("Content-Type: text/plain\r\n\r\n0123456789");
    let site = site(
        &origin,
        "fastcgi_cache z; fastcgi_cache_key $uri; fastcgi_cache_valid 1h; fastcgi_cache_max_range_offset 5;
         fastcgi_param HTTP_X_RANGE $http_range;",
        "fastcgi_cache_path cache keys_zone=z:1m;",
    );
    assert_eq!(get(&site, "/a", &["Range: bytes=8-"]).text(), "0123456789");
    assert_eq!(origin.asked().param("HTTP_X_RANGE"), Some("bytes=8-"));
    let near = get(&site, "/a", &["Range: bytes=2-3"]);
    assert_eq!((near.status, near.text().as_str()), (206, "23"));
    origin.answer_from_now("Content-Type: text/plain\r\n\r\nother");
    assert_eq!(get(&site, "/a", &[]).text(), "0123456789");
    assert_eq!(get(&site, "/a", &["Range: bytes=8-"]).text(), "89");
}

#[test]
fn variable_may_hold_an_address_or_the_name_of_a_group() {
    let (first, second) =
        (Origin::answering("Status: 200\r\n\r\nfirst"), Origin::answering("Status: 200\r\n\r\nsecond"));
    let http = format!(
        "map $arg_to $target {{ default nowhere; address 127.0.0.1:{}; group php; }}
         upstream php {{ server 127.0.0.1:{}; }}",
        first.port, second.port
    );
    let site = Site::new();
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
    let origins = [Origin::answering("Status: 200\r\n\r\na"), Origin::answering("Status: 200\r\n\r\nb")];
    let site = Site::new();
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

#[test]
fn charset_is_named_on_stored_pages_too() {
    let origin = Origin::answering("Content-Type: text/html\r\nX-Kept: yes\r\n\r\n<p>");
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
fn part_of_a_stored_page_keeps_its_media_type() {
    let origin = Origin::answering("Content-Type: text/css\r\n\r\np {}");
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

/// A site whose application is at `/app`, and may redirect to files, to itself and to a cached place.
fn redirecting(origin: &Origin) -> Site {
    let site = Site::new();
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
                         fastcgi_cache_valid 1h; }} }} }}"
        ),
    );
    site.start()
}

#[test]
fn place_that_the_application_names_is_decoded_and_asked_by_get() {
    let origin = Origin::answering("X-Accel-Redirect: /files/a%20b.txt?x=/../%20\r\n\r\n");
    let site = redirecting(&origin);
    let post = || ask((LOOPBACK, site.port), &["POST /app HTTP/1.1", "Content-Length: 4"], b"form");
    let answer = post();
    assert_eq!((answer.status, answer.text().as_str()), (200, "file"));
    assert_eq!(answer.field("X-Args"), Some("x=/../%20"));
    assert_eq!(origin.asked().body, b"form");
    for target in ["/files/..%2fnginx.conf", "/files/%2e%2e/nginx.conf", "/files/%00", "files/a"] {
        origin.answer_from_now(format!("X-Accel-Redirect: {target}\r\n\r\n"));
        assert_eq!(post().status, 404, "{target}");
        origin.asked();
    }
    origin.answer_from_now("X-Accel-Redirect: /again\r\n\r\n");
    post();
    let (first, second) = (origin.asked(), origin.asked());
    assert_eq!((first.param("METHOD"), first.body.as_slice()), (Some("POST"), &b"form"[..]));
    assert_eq!((second.param("METHOD"), second.param("CONTENT_LENGTH")), (Some("GET"), Some("0")));
    assert!(second.body.is_empty());
}

#[test]
fn cookie_is_carried_once_to_a_cached_place() {
    let origin = Origin::answering("Content-Type: text/plain\r\n\r\nkept");
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
    // A member of gzip without compression: "whole", its sum and its length.
    let member = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x05\0\xfa\xffwhole\x4f\x29\x59\xc4\x05\0\0\0";
    let head = b"Content-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n".as_slice();
    let origin = Origin::answering([head, &member[..18]].concat());
    let site = redirecting(&origin);
    let mut stream = connect((LOOPBACK, site.port));
    stream.write_all(b"GET /kept HTTP/1.0\r\n\r\n").expect("request");
    let _ = stream.read_to_end(&mut Vec::new());
    origin.answer_from_now([head, member.as_slice()].concat());
    assert_eq!(get(&site, "/kept", &[]).text(), "whole");
    origin.answer_from_now("Status: 500\r\n\r\n");
    assert_eq!(get(&site, "/kept", &[]).text(), "whole");
}

#[test]
fn repeated_fields_of_any_name_become_one_parameter() {
    let origin = Origin::answering(OK);
    let site = site(&origin, "", "");
    get(&site, "/", &["X-Some: 1", "X-Other: a", "x-some: 2", "X-Some:", "Accept: b", "Accept: c"]);
    let asked = origin.asked();
    let all = |name: &str| -> Vec<&str> {
        asked.params.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(all("HTTP_X_SOME"), ["1, 2, "]);
    assert_eq!(all("HTTP_X_OTHER"), ["a"]);
    assert_eq!(all("HTTP_ACCEPT"), ["b, c"]);
}

/// An application that answers part of a page as soon as it is asked, and then waits for the rest of the request.
fn answering_early() -> u16 {
    let listener = std::net::TcpListener::bind((LOOPBACK, 0)).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let part = b"Content-Type: text/plain\r\n\r\npart";
                let _ = stream.write_all(&[1, 6, 0, 1, 0, part.len() as u8, 0, 0]);
                let _ = stream.write_all(part);
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
            });
        }
    });
    port
}

#[test]
fn client_that_stops_sending_is_given_up_though_its_answer_has_begun() {
    let site = Site::new();
    let (port, pass) = (site.port, answering_early());
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; client_body_timeout 2s; lingering_close off;
                 server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass 127.0.0.1:{pass};
                     fastcgi_request_buffering off; fastcgi_buffering off; }} }} }}"
        ),
    );
    let _site = site.start();
    let mut stream = connect((LOOPBACK, port));
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n").expect("request");
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    let mut answer = Vec::new();
    wait_for("the begin of the answer", || {
        stream.write_all(b"x").expect("a byte");
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).unwrap_or(0);
        answer.extend_from_slice(&piece[..length]);
        String::from_utf8_lossy(&answer).contains("part")
    });
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
    let end = stream.read_to_end(&mut answer);
    assert!(!end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "still waited for");
}

#[test]
fn unread_body_that_trickles_in_is_not_waited_for_longer_than_the_lingering_time() {
    let site = Site::new();
    let port = site.port;
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; lingering_time 1s;
                 server {{ listen 127.0.0.1:{port}; location / {{ return 200 x; }} }} }}"
        ),
    );
    let _site = site.start();
    let mut stream = connect((LOOPBACK, port));
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n").expect("request");
    let began = std::time::Instant::now();
    // One byte now and then keeps `client_body_timeout` at bay.
    while stream.write_all(b"x").is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "still waited for");
        sleep(Duration::from_millis(50));
    }
}
