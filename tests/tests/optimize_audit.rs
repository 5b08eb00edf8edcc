//! `myriad optimize audit` with a real server: requests, grades, limits, and pages that try to reach other servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};

use myriad_tests::{Place, Server, binary};
use serde_json::Value;

const HTTP: &str = "types { text/html html; text/css css; text/javascript js; image/png png; }
    server { listen 127.0.0.1:@PORT@; root @DIR@/html; gzip on; gzip_types text/css text/javascript;
        location /good/ { expires 1y; }
        location = /moved.css { return 301 /good/a.css; }
        location = /outside.css { return 302 http://other.test/a.css; }
        location = /loop.css { return 302 /loop.css; }
        location = /away { return 302 http://other.test/; }
        location = /plain { default_type text/plain; return 200 x; } }";

fn audit(port: u16, path: &str, arguments: &[&str]) -> Output {
    let url = format!("http://127.0.0.1:{port}{path}");
    Command::new(binary()).args(["optimize", "audit", &url]).args(arguments).output().expect("myriad starts")
}

fn json(port: u16, path: &str) -> Value {
    let output = audit(port, path, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn named<'v>(audit: &'v Value, list: &str, key: &str, name: &str) -> &'v Value {
    audit[list].as_array().expect(list).iter().find(|entry| entry[key] == name).expect(name)
}

fn grade(audit: &Value, check: &str) -> String {
    named(audit, "checks", "name", check)["grade"].as_str().expect("a grade").to_owned()
}

#[test]
fn page_is_graded_and_savings_are_shown() {
    let place = Place::new();
    let sheet = "/* comment */\n.a {\n    color: red;\n}\n".repeat(60);
    place.write("html/good/a.css", &sheet);
    place.write("html/good/b.css", &sheet);
    place.write("html/c.js", "function f( a ) {\n    return a; // same\n}\n".repeat(60));
    place.write("html/index.html", "<!doctype html><head><link rel=stylesheet href=/good/a.css>\n<link rel=stylesheet href=/good/b.css>\
        <link rel=stylesheet href=/moved.css media=print></head><body><p>  a  </p><script src=/c.js></script><img src=/missing.png>");
    let server = Server::start(place, HTTP);
    let found = json(server.port, "/");
    assert_eq!(found["totals"]["requests"], 6, "{found}");
    assert_eq!(
        (&found["totals"]["blocking"], &found["requests_after"], &found["blocking_after"]),
        (&2.into(), &4.into(), &0.into())
    );
    assert_eq!(grade(&found, "compression"), "A");
    assert_eq!(grade(&found, "minification"), "D");
    assert_eq!(grade(&found, "errors"), "C");
    let expires = named(&found, "checks", "name", "expires")["resources"].to_string();
    assert!(expires.contains("/c.js") && !expires.contains("/good/a.css"), "{expires}");
    for filter in ["combine_css", "inline_css"] {
        assert_eq!(named(&found, "filters", "filter", filter)["requests_saved"], 1, "{filter}");
    }
    for filter in ["rewrite_css", "rewrite_javascript", "collapse_whitespace"] {
        assert!(
            named(&found, "filters", "filter", filter)["bytes_saved"].as_u64() > Some(0),
            "{filter}: {found}"
        );
    }
    let text = audit(server.port, "/", &[]);
    let text = String::from_utf8(text.stdout).expect("UTF-8");
    assert!(
        text.contains("combine_css               1 request in 1 place") && text.contains("/missing.png"),
        "{text}"
    );
}

#[test]
fn only_the_own_site_is_requested() {
    // A server that the page names, but that must receive no connection.
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a free port");
    elsewhere.set_nonblocking(true).expect("non-blocking");
    let other = elsewhere.local_addr().expect("bound").port();
    let place = Place::new();
    place.write(
        "html/index.html",
        format!(
            "<link rel=stylesheet href=http://127.0.0.1:{other}/a.css><script src=//169.254.169.254/b.js></script>\
             <img src=file:///etc/passwd><link rel=stylesheet href=/outside.css><link rel=stylesheet href=/loop.css>\
             <link rel=stylesheet href=/import.css><script src='/\u{1b}[31m.js'></script><link rel=stylesheet id='\u{1b}[2J' href=/import.css>"
        ),
    );
    place.write("html/import.css", format!("@import url(http://127.0.0.1:{other}/c.css);"));
    let server = Server::start(place, HTTP);
    let found = json(server.port, "/");
    let not_read = found["not_read"].to_string();
    for part in
        ["169.254.169.254", "redirects to another site", "redirects more than 5 times", &other.to_string()]
    {
        assert!(not_read.contains(part), "{part}: {not_read}");
    }
    assert!(elsewhere.accept().is_err(), "the other server received a connection");
    let text = audit(server.port, "/", &["--all"]);
    assert!(!text.stdout.contains(&0x1b), "control characters of a page reach the terminal");
}

#[test]
fn errors_name_the_reason() {
    let place = Place::new();
    place.write("html/frames.html", "<frameset></frameset>");
    let server = Server::start(place, HTTP);
    for (path, part) in [
        ("/none", "returned status 404"),
        ("/plain", "is no page"),
        ("/away", "redirects to another site: http://other.test/"),
        ("/frames.html", "ambiguous"),
    ] {
        let output = audit(server.port, path, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && error.contains(part), "{path}: {error}");
    }
}

#[test]
fn endless_and_huge_answers_are_limited() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let thread = std::thread::spawn(move || {
        let mut served = 0;
        while served < 2 {
            let (mut socket, _) = listener.accept().expect("a connection");
            let mut request = [0; 4096];
            let read = socket.read(&mut request).expect("a request");
            let is_page = request[..read].starts_with(b"GET / ");
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/";
            let _ = if is_page {
                socket.write_all(format!("{head}html\r\n\r\n<link rel=stylesheet href=/a.css>").as_bytes())
            } else {
                // The client closes the connection after its limit.
                let _ = socket.write_all(format!("{head}css\r\n\r\n").as_bytes());
                while socket.write_all(&[b' '; 8192]).is_ok() {}
                Ok(())
            };
            served += 1;
        }
    });
    let found = json(port, "/");
    assert!(found["not_read"].to_string().contains("longer than 8 MB"), "{found}");
    thread.join().expect("no panic");
}
