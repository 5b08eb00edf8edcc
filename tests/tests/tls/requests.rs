//! Requests over TLS, and requests without TLS to the same port.

use super::{curl, start, text};

#[test]
fn page_and_variables_come_over_both_versions() {
    let server = start("");
    assert_eq!(text(&curl(&server, "one.test", "/page.txt", &[])), "a page");
    let facts = |options: &[&str]| text(&curl(&server, "one.test", "/facts", options));
    let three = facts(&["--tlsv1.3"]);
    assert!(three.starts_with("https on TLSv1.3 TLS_AES_"), "{three}");
    assert!(three.ends_with(" one.test . http/1.1"), "{three}");
    let two = facts(&["--tls-max", "1.2", "--no-alpn", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"]);
    assert_eq!(two, "https on TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 one.test . ");
}

#[test]
fn several_requests_share_a_connection_and_large_bodies_pass_both_ways() {
    let large: Vec<u8> = (0..3_000_000u32).map(|index| ((index * 7) >> 3) as u8).collect();
    let server = start("location /echo { return 200 $content_length; }");
    server.write("html/large.bin", &large);
    server.write("sent.bin", &large[..200_000]);
    assert!(curl(&server, "one.test", "/large.bin", &[]) == large);
    let port = server.port;
    let again = format!("https://one.test:{port}/page.txt");
    let both = curl(&server, "one.test", "/page.txt", &[&again, "-w", "%{num_connects} "]);
    assert_eq!(text(&both), "a page1 a page0 ");
    let sent = format!("@{}", server.path("sent.bin").display());
    assert_eq!(text(&curl(&server, "one.test", "/echo", &["--data-binary", &sent])), "200000");
}

#[test]
fn plain_http_on_https_port_gets_400_and_may_be_redirected() {
    let server = start("");
    let answer = server.get("/");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("The plain HTTP request was sent to HTTPS port"));
    let server = start("error_page 497 301 =307 https://$host:$server_port$request_uri;");
    let answer = server.get("/a?b");
    assert_eq!(answer.status, 307);
    assert!(answer.field("Location").is_some_and(|location| location.starts_with("https://")));
}

#[test]
fn plain_request_to_a_port_of_tls_is_refused_though_another_visitor_had_the_page() {
    let server = start("location /short/ { }");
    server.write("html/short/page.txt", "for sessions only");
    let target = "/short/page.txt";
    for _ in 0..3 {
        assert_eq!(curl(&server, "one.test", target, &[]), b"for sessions only");
    }
    for _ in 0..3 {
        let mut client = server.connect();
        // The bytes of curl's requests that the rules read.
        let host = format!("one.test:{}", server.port);
        client.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        let answer = client.answer();
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}
