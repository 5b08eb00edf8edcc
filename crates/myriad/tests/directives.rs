//! Tests of directives that need no origin, with the real binary.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;

use support::answer::{RawAnswer, ask, connect};
use support::{ServerSite, wait_for};

const LOOPBACK: &str = "127.0.0.1";

/// Starts a site with these directives in `http`; `PORT` is replaced by its port.
fn site(http: &str) -> ServerSite {
    let site = ServerSite::new();
    let http = http.replace("PORT", &site.port.to_string());
    let main = "daemon off; pid nginx.pid; error_log error.log info; events { }";
    site.write("nginx.conf", &format!("{main} http {{ access_log off; {http} }}"));
    site
}

fn get(site: &ServerSite, path: &str, fields: &[&str]) -> RawAnswer {
    let line = format!("GET {path} HTTP/1.1");
    let mut head = vec![line.as_str()];
    head.extend_from_slice(fields);
    ask((LOOPBACK, site.port), &head, b"")
}

#[test]
fn specific_listen_address_selects_server_over_wildcard() {
    let site = site(
        "server { listen PORT; server_name a; return 200 any; }
         server { listen PORT; server_name b; return 200 any-b; }
         server { listen 127.0.0.1:PORT; return 200 loopback; }",
    )
    .start();
    let of = |ip: &str, host: &str| {
        let host = format!("Host: {host}");
        let mut stream = connect((ip, site.port));
        write!(stream, "GET / HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n").expect("request");
        support::answer::read(stream).text()
    };
    assert_eq!(of("127.0.0.1", "a"), "loopback");
    assert_eq!(of("127.0.0.1", "b"), "loopback");
    assert_eq!(of("127.0.0.2", "b"), "any-b");
    assert_eq!(of("127.0.0.2", "else"), "any");
}

#[test]
fn charset_is_appended_to_text_media_types_without_one() {
    let site = site(
        "charset utf-8; types { text/html html; image/gif gif; } default_type text/plain;
         server { listen 127.0.0.1:PORT; root html;
             location /text { return 200 x; }
             location /off { charset off; return 200 x; }
             location /named { default_type 'text/plain; charset=koi8-r'; return 200 x; }
             location /by { set $name latin1; charset $name; return 200 x; } }",
    );
    std::fs::create_dir_all(site.path("html")).expect("folder");
    site.write("html/a.html", "<p>");
    site.write("html/a.gif", "GIF");
    let site = site.start();
    let media_type = |path: &str| get(&site, path, &[]).field("Content-Type").map(str::to_owned);
    assert_eq!(media_type("/a.html").as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(media_type("/a.gif").as_deref(), Some("image/gif"));
    assert_eq!(media_type("/text").as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(media_type("/off").as_deref(), Some("text/plain"));
    assert_eq!(media_type("/named").as_deref(), Some("text/plain; charset=koi8-r"));
    assert_eq!(media_type("/by").as_deref(), Some("text/plain; charset=latin1"));
    assert_eq!(media_type("/missing").as_deref(), Some("text/html; charset=utf-8"));
}

#[test]
fn precompressed_file_is_sent_to_clients_that_accept_it() {
    let site = site(
        "types { text/css css; } server { listen 127.0.0.1:PORT; root html; gzip_vary on;
             location / { gzip_static on; brotli_static on; }
             location /always/ { gzip_static always; }
             location /never/ { } }",
    );
    for folder in ["html", "html/always", "html/never"] {
        std::fs::create_dir_all(site.path(folder)).expect("folder");
        site.write(&format!("{folder}/a.css"), "plain");
        site.write(&format!("{folder}/a.css.gz"), "zipped");
    }
    site.write("html/a.css.br", "brotli");
    let site = site.start();
    let sent = |path: &str, accept: &str| {
        let accept = format!("Accept-Encoding: {accept}");
        let answer = get(&site, path, &[&accept]);
        assert_eq!(answer.field("Content-Type"), Some("text/css"), "{path}");
        (answer.text(), answer.field("Content-Encoding").map(str::to_owned))
    };
    assert_eq!(sent("/a.css", "gzip"), ("zipped".into(), Some("gzip".into())));
    assert_eq!(sent("/a.css", "gzip, br"), ("brotli".into(), Some("br".into())));
    assert_eq!(sent("/a.css", "identity"), ("plain".into(), None));
    assert_eq!(sent("/a.css", "gzip;q=0"), ("plain".into(), None));
    assert_eq!(sent("/always/a.css", "identity"), ("zipped".into(), Some("gzip".into())));
    assert_eq!(sent("/never/a.css", "gzip"), ("plain".into(), None));
    let answer = get(&site, "/a.css", &["Accept-Encoding: gzip"]);
    assert_eq!(answer.field("Vary"), Some("Accept-Encoding"));
    let tag = answer.field("ETag").expect("a tag").to_owned();
    assert_ne!(get(&site, "/a.css", &[]).field("ETag"), Some(tag.as_str()));
    let again = get(&site, "/a.css", &["Accept-Encoding: gzip", &format!("If-None-Match: {tag}")]);
    assert_eq!(again.status, 304);
}

#[test]
fn alias_of_an_outer_location_replaces_the_outer_prefix() {
    let site = site(
        "server { listen 127.0.0.1:PORT; location /a { alias data; location /a/b { add_header X inner; } } }",
    );
    std::fs::create_dir_all(site.path("data/b")).expect("folder");
    site.write("data/b/c.txt", "found");
    site.write("secret.txt", "secret");
    let site = site.start();
    let answer = get(&site, "/a/b/c.txt", &[]);
    assert_eq!((answer.text().as_str(), answer.field("X")), ("found", Some("inner")));
    assert_eq!(get(&site, "/a../secret.txt", &[]).status, 404);
}

#[test]
fn add_header_takes_the_place_of_tag_and_date_of_a_file() {
    let site = site(
        "server { listen 127.0.0.1:PORT; root html;
             location / { add_header ETag ''; add_header Last-Modified ''; }
             location /own/ { add_header ETag '\"mine\"'; } }",
    );
    std::fs::create_dir_all(site.path("html/own")).expect("folder");
    site.write("html/a", "a");
    site.write("html/own/a", "a");
    let site = site.start();
    let answer = get(&site, "/a", &[]);
    assert_eq!((answer.field("ETag"), answer.field("Last-Modified")), (None, None), "{}", answer.head);
    let answer = get(&site, "/own/a", &[]);
    assert_eq!(answer.head.matches("ETag").count(), 1, "{}", answer.head);
    assert_eq!(answer.field("ETag"), Some("\"mine\""));
    assert!(answer.field("Last-Modified").is_some());
}

#[test]
fn expires_variable_with_value_off_leaves_response_unchanged() {
    let site = site(
        "map $uri $until { default off; /a 1h; }
         server { listen 127.0.0.1:PORT; root html; expires $until; }",
    );
    std::fs::create_dir_all(site.path("html")).expect("folder");
    site.write("html/a", "a");
    site.write("html/b", "b");
    let site = site.start();
    assert_eq!(get(&site, "/a", &[]).field("Cache-Control"), Some("max-age=3600"));
    assert_eq!(get(&site, "/b", &[]).field("Cache-Control"), None);
}

#[test]
fn error_page_is_fetched_by_get() {
    let site = site(
        "server { listen 127.0.0.1:PORT; root html; error_page 500 /sorry.html;
             location /fail { return 500; } location = /sorry.html { internal; add_header X $request_method always; } }",
    );
    std::fs::create_dir_all(site.path("html")).expect("folder");
    site.write("html/sorry.html", "sorry");
    let site = site.start();
    let answer = ask((LOOPBACK, site.port), &["POST /fail HTTP/1.1", "Content-Length: 0"], b"");
    assert_eq!((answer.status, answer.text().as_str(), answer.field("X")), (500, "sorry", Some("GET")));
}

/// Returns the value of `Connection` in the response to a request with keep-alive.
fn connection_after(stream: &mut TcpStream, request: &str) -> String {
    write!(stream, "{request}\r\nHost: a\r\nContent-Length: 0\r\n\r\n").expect("request");
    let mut answer = [0; 4096];
    let length = stream.read(&mut answer).expect("answer");
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    let line = answer.lines().find(|line| line.starts_with("Connection:")).expect("a Connection field");
    line["Connection:".len()..].trim().to_owned()
}

#[test]
fn connection_ends_by_age() {
    let site = site(
        "keepalive_time 1ms; keepalive_requests 1000000;
         server { listen 127.0.0.1:PORT; location / { return 200 x; } }",
    )
    .start();
    let mut stream = connect((LOOPBACK, site.port));
    wait_for("an end by age", || connection_after(&mut stream, "GET / HTTP/1.1") == "close");
}

#[test]
fn connection_ends_for_the_browsers_that_are_named() {
    let site = site(
        "keepalive_disable safari;
         server { listen 127.0.0.1:PORT; location / { return 200 x; }
             location /msie { keepalive_disable msie6; return 200 x; } }",
    )
    .start();
    let safari = "User-Agent: Mozilla/5.0 (Macintosh; Mac OS X) Version/17 Safari/605";
    let msie = "User-Agent: Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)";
    let connection = |request: &str| connection_after(&mut connect((LOOPBACK, site.port)), request);
    assert_eq!(connection("GET / HTTP/1.1"), "keep-alive");
    assert_eq!(connection(&format!("GET / HTTP/1.1\r\n{safari}")), "close");
    assert_eq!(connection(&format!("GET /msie HTTP/1.1\r\n{safari}")), "keep-alive");
    assert_eq!(connection(&format!("GET /msie HTTP/1.1\r\n{msie}")), "keep-alive");
    assert_eq!(connection(&format!("POST /msie HTTP/1.1\r\n{msie}")), "close");
}

#[test]
fn dropped_connection_is_reset_where_that_is_asked_for() {
    let site = site(
        "server { listen 127.0.0.1:PORT; location /reset { reset_timedout_connection on; return 444; }
             location /close { return 444; } }",
    )
    .start();
    let end = |path: &str| {
        let mut stream = connect((LOOPBACK, site.port));
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").expect("request");
        stream.read(&mut [0; 16])
    };
    assert_eq!(end("/close").expect("an end"), 0);
    assert_eq!(end("/reset").expect_err("a reset").kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn lingering_close_always_waits_for_the_client_to_go() {
    let site = site(
        "lingering_timeout 10s; server { listen 127.0.0.1:PORT; location / { return 200 x; }
             location /always { lingering_close always; return 200 x; } }",
    )
    .start();
    // After `lingering_close`, the connection still reads data of the client; a closed connection would answer with a
    // reset.
    let is_reset = |path: &str| {
        let mut stream = connect((LOOPBACK, site.port));
        write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("request");
        std::io::copy(&mut stream, &mut std::io::sink()).expect("the answer");
        stream.write_all(b"more").expect("first write");
        std::thread::sleep(std::time::Duration::from_millis(100));
        stream.write_all(b"more").is_err()
    };
    assert!(is_reset("/"));
    assert!(!is_reset("/always"));
}

#[test]
fn what_this_version_cannot_do_is_refused() {
    let site = site("client_body_early_read on; server { location / { return 200 x; } }");
    let output = site.output(&["-t"]);
    let errors = support::stderr(&output);
    assert!(
        !output.status.success()
            && errors.contains("client_body_early_read")
            && errors.contains("not supported yet"),
        "{errors}"
    );
}

#[test]
fn script_in_a_nested_folder_reaches_the_regex_around_it() {
    let site = site(
        r"server { listen 127.0.0.1:PORT; root html;
             location /n/ { location /n/uploads/ { add_header X uploads; } }
             location ~ \.php$ { return 403; } }",
    );
    std::fs::create_dir_all(site.path("html/n/uploads")).expect("folder");
    site.write("html/n/uploads/x.php", "<?php source");
    site.write("html/n/uploads/x.txt", "text");
    let site = site.start();
    assert_eq!(get(&site, "/n/uploads/x.php", &[]).status, 403);
    let answer = get(&site, "/n/uploads/x.txt", &[]);
    assert_eq!((answer.text().as_str(), answer.field("X")), ("text", Some("uploads")));
}

#[test]
fn a_folder_without_index_is_logged_with_one_slash_and_a_long_request_line_is_cut() {
    let site = ServerSite::new();
    std::fs::create_dir_all(site.path("html/empty")).expect("folders");
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}\nhttp {{ access_log off;\n    \
             large_client_header_buffers 4 16k;\n    server {{ listen 127.0.0.1:{}; root {}; \
             location / {{ try_files $uri $uri/ =404; }} }}\n}}\n",
            site.port,
            site.path("html").display()
        ),
    );
    let site = site.start();
    let long = "x".repeat(5000);
    assert_eq!(support::get_path(site.port, &format!("/empty/?{long}")), Some(403));
    let folder = site.path("html/empty");
    site.log_has(&format!("directory index of \"{}/\" is forbidden", folder.display()));
    let log = site.read("error.log");
    let line = log.lines().find(|line| line.contains("is forbidden")).expect("the line");
    let shown = line.split("request: \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a request");
    assert_eq!(shown.len(), 2048, "{line}");
    assert!(line.contains("host: \"localhost\""), "{line}");
}
