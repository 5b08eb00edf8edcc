use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

use myriad_conf::model::ListenAddress;
use myriad_conf::{MemoryLoader, survey};

use super::{ExplainedRequest, explain, listener_for};

fn address(text: &str) -> ListenAddress {
    ListenAddress::Ip(text.parse::<SocketAddr>().expect("an address"))
}

fn asked(port: Option<u16>, secure: bool) -> ExplainedRequest {
    ExplainedRequest { port, secure, ..ExplainedRequest::default() }
}

#[test]
fn listener_is_that_of_the_port_else_of_the_scheme_else_the_first() {
    let addresses = [
        (0, address("127.0.0.1:8080"), false),
        (1, address("127.0.0.1:8443"), true),
        (2, ListenAddress::Host("a.test".into(), 9000), false),
    ];
    let number = |port, secure| listener_for(&addresses, &asked(port, secure)).map(|(number, ..)| number);
    assert_eq!(number(Some(8443), false), Some(1));
    assert_eq!(number(Some(9000), true), Some(2));
    assert_eq!(number(Some(81), false), None);
    assert_eq!(number(None, false), Some(0));
    assert_eq!(number(None, true), Some(1));
    let plain = &addresses[..1];
    assert_eq!(
        listener_for(plain, &asked(None, true)).map(|(number, _, ssl)| (number, ssl)),
        Some((0, false))
    );
    assert!(listener_for(&[], &asked(None, false)).is_none());
}

/// Returns the text of all decisions about a request.
fn explained_lines(http: &str, question: &ExplainedRequest) -> String {
    let text = format!("events {{}} http {{ error_log off; {http} }}");
    let loader = MemoryLoader::with("/nowhere/nginx.conf", text);
    let model =
        survey(&crate::registry().parse(&loader, Path::new("/nowhere/nginx.conf"), b""), crate::registry())
            .model;
    let folder = Path::new("/nowhere");
    let lines = explain(&model, folder, folder, &HashMap::new(), question).expect("a valid configuration");
    format!("{lines:?}")
}

fn get(target: &str) -> ExplainedRequest {
    ExplainedRequest { method: "GET".to_owned(), target: target.to_owned(), ..ExplainedRequest::default() }
}

#[test]
fn path_alone_is_asked_of_the_first_server() {
    let http = "server { listen 127.0.0.1:8080; server_name own.test; location / { return 200 $host; } }
        server { listen 127.0.0.1:8080; server_name other.test; return 404; }";
    let lines = explained_lines(http, &get("/x"));
    assert!(lines.contains("own.test") && lines.contains("200 OK"), "{lines}");
    let other = ExplainedRequest { host: Some("other.test".to_owned()), ..get("/x") };
    let lines = explained_lines(http, &other);
    assert!(lines.contains("404 Not Found"), "{lines}");
}

#[test]
fn port_without_listener_is_reported() {
    let http = "server { listen 127.0.0.1:8080; }";
    let lines = explained_lines(http, &ExplainedRequest { port: Some(81), ..get("/") });
    assert!(lines.contains("no server listens on port 81"), "{lines}");
    assert!(explained_lines("", &get("/")).contains("no server has a TCP listener"));
}

#[test]
fn origin_is_named_but_not_asked() {
    let http = "server { listen 127.0.0.1:8080; location / { proxy_pass http://192.0.2.1:9; } }";
    let lines = explained_lines(http, &get("/x"));
    assert!(lines.contains("192.0.2.1:9"), "{lines}");
}

#[test]
fn redirect_address_and_closing_without_response_are_explained() {
    let http = "server { listen 127.0.0.1:8080; server_name a.test;
        location /a { return 301 /b; } location /c { return 444; } }";
    let lines = explained_lines(http, &get("/a"));
    assert!(lines.contains("301 Moved Permanently, Location: http://a.test:8080/b"), "{lines}");
    assert!(explained_lines(http, &get("/c")).contains("the connection is closed without a response"));
}
