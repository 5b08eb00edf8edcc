//! Tests of the variables of `myriad-exchange`.

use bytes::Bytes;
use myriad_http::HttpVersion;
use myriad_http::proxy_protocol::{self, HeaderParseStatus};
use myriad_net::TlsFacts;
use myriad_script::{Builtin, Catalogue, VariableRole};

use myriad_exchange::exchange::BufferedBody;
use myriad_exchange::exchange::variables::{ROWS, VariableNames};
use myriad_exchange::runtime::{FieldRead, Reads};
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};
use myriad_serve::variables;

#[test]
fn every_row_of_the_core_is_read_by_a_test_of_this_file() {
    let source = include_str!("variables.rs");
    let is_read = |name: &str| {
        let ends = if name.ends_with('_') { "" } else { "\"" };
        source.contains(&format!("\"{name}{ends}"))
    };
    let unread: Vec<_> =
        ROWS.iter().copied().flatten().map(|row| row.name).filter(|name| !is_read(name)).collect();
    assert_eq!(unread, [""; 0]);
}

#[test]
fn unescaped_log_variables_contain_no_client_input() {
    let hostile = "a\"\\\u{1}\u{7f}\u{e9}";
    let mut exchange = VariableCase {
        line: ("GET", "/\"\\", HttpVersion::Http11),
        fields: &[
            ("Host", hostile),
            ("User-Agent", hostile),
            ("Cookie", hostile),
            ("X-Forwarded-For", hostile),
        ],
        ..VariableCase::default()
    }
    .begin();
    let plain: Vec<_> = ROWS.iter().copied().flatten().filter(|row| row.plain).collect();
    assert!(plain.iter().any(|row| row.name == "time_local"));
    for row in plain {
        let value = variable_value(&mut exchange, row.name).unwrap_or_default();
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        assert!(value.bytes().all(is_plain), "${}: {value:?}", row.name);
    }
}

#[test]
fn a_name_of_its_own_comes_before_a_prefix_and_aliases_have_rows_of_their_own() {
    let mut names = VariableNames::new(variables());
    let role = |names: &mut VariableNames, name: &str| names.builtin(name).map(|(_, role)| role);
    assert_eq!(role(&mut names, "http2"), Some(VariableRole::Fixed));
    assert_eq!(role(&mut names, "http_user_agent"), Some(VariableRole::Shadowable));
    assert_eq!(role(&mut names, "args"), Some(VariableRole::Assignable));
    assert_eq!(role(&mut names, "limit_rate"), Some(VariableRole::Assignable));
    assert_eq!(role(&mut names, "query_string"), Some(VariableRole::Fixed));
    assert_eq!(role(&mut names, "nothing"), None);
    assert_eq!(role(&mut names, "hosts"), None);
    assert!(names.names().contains(&"host") && !names.names().contains(&"http_"));
}

#[test]
fn a_variable_is_collected_once_for_each_rest_of_its_name() {
    let mut names = VariableNames::new(variables());
    let ids =
        ["arg_a", "uri", "arg_b", "arg_a", "uri", "http_x_y"].map(|name| names.builtin(name).unwrap().0);
    assert_eq!(ids, [0, 1, 2, 0, 1, 3].map(Builtin));
    assert_eq!(names.variable(Builtin(3)).field(), Some(FieldRead::Other(b"x-y"[..].into())));
    assert!(names.variable(Builtin(1)).reads_only(&[Reads::Uri]));
    assert_eq!(names.into_used().len(), 4);
}

#[test]
fn field_and_cookie_variables_are_recognized_by_name() {
    let mut names = VariableNames::new(variables());
    let mut of = |name: &str| {
        let (id, _) = names.builtin(name).unwrap();
        let variable = names.variable(id);
        let field = variable.field().map(|field| match field {
            FieldRead::Known(known) => known.as_str().to_owned(),
            FieldRead::Other(name) => String::from_utf8_lossy(&name).into_owned(),
        });
        (field, variable.cookie().map(str::to_owned))
    };
    assert_eq!(of("content_type"), (Some("Content-Type".to_owned()), None));
    assert_eq!(of("http_user_agent"), (Some("User-Agent".to_owned()), None));
    assert_eq!(of("http_x_a"), (Some("x-a".to_owned()), None));
    assert_eq!(of("cookie_a_b"), (None, Some("a_b".to_owned())));
    assert_eq!(of("sent_http_x_a"), (None, None));
}

#[test]
fn the_request_line_is_shown_whole_and_in_parts() {
    let line = ("POST", "/a/b?x=1&y=2", HttpVersion::Http11);
    let mut exchange =
        VariableCase { line, fields: &[("Host", "a.example:81")], ..VariableCase::default() }.begin();
    exchange.request.route.host.extend_from_slice(b"a.example");
    assert_variables(
        &mut exchange,
        &[
            ("request", "POST /a/b?x=1&y=2 HTTP/1.1"),
            ("request_method", "POST"),
            ("request_uri", "/a/b?x=1&y=2"),
            ("uri", "/a/b"),
            ("document_uri", "/a/b"),
            ("args", "x=1&y=2"),
            ("query_string", "x=1&y=2"),
            ("is_args", "?"),
            ("arg_y", "2"),
            ("host", "a.example"),
            ("request_port", "81"),
            ("is_request_port", ":"),
            ("server_protocol", "HTTP/1.1"),
            ("server_name", "a.example"),
            ("scheme", "http"),
            ("https", ""),
            ("http2", ""),
            ("http3", ""),
        ],
    );
    assert_unset(&mut exchange, &["arg_z"]);
    exchange.request.route.as_get = true;
    assert_variables(&mut exchange, &[("request_method", "GET")]);
}

#[test]
fn what_a_request_lacks_is_empty() {
    let mut exchange = VariableCase::default().begin();
    assert_variables(
        &mut exchange,
        &[("is_args", ""), ("args", ""), ("request_port", ""), ("is_request_port", "")],
    );
}

#[test]
fn versions_name_themselves() {
    let shown_of = |version, secure: bool| {
        let tls = secure.then(TlsFacts::typical);
        let mut exchange =
            VariableCase { line: ("GET", "/", version), tls, ..VariableCase::default() }.begin();
        ["http2", "http3", "scheme", "https"].map(|name| variable_value(&mut exchange, name).unwrap())
    };
    assert_eq!(shown_of(HttpVersion::Http2, false), ["h2c", "", "http", ""]);
    assert_eq!(shown_of(HttpVersion::Http2, true), ["h2", "", "https", "on"]);
    assert_eq!(shown_of(HttpVersion::Http3, true), ["", "h3", "https", "on"]);
}

#[test]
fn set_changes_arguments_and_rate() {
    let mut exchange =
        VariableCase { line: ("GET", "/?a=1", HttpVersion::Http11), ..VariableCase::default() }.begin();
    let assign = |name: &str| {
        ROWS.iter().copied().flatten().find(|row| row.name == name).and_then(|row| row.assign).unwrap()
    };
    assign("args")(&mut exchange.request, b"b=2");
    assign("limit_rate")(&mut exchange.request, b"4k");
    assert_variables(&mut exchange, &[("args", "b=2"), ("arg_b", "2"), ("limit_rate", "4096")]);
    assert!(exchange.request.route.form.changed);
    assign("limit_rate")(&mut exchange.request, b"no size");
    assert_variables(&mut exchange, &[("limit_rate", "0")]);
}

#[test]
fn fields_are_borrowed_and_joined_where_there_are_several() {
    let fields = [
        ("Content-Type", "text/plain"),
        ("X-One", "1"),
        ("X-Two", "2"),
        ("X-Two", "3"),
        ("Cookie", "a=1"),
        ("Cookie", "b=2; c=3"),
        ("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148"),
    ];
    let mut exchange = VariableCase { fields: &fields, ..VariableCase::default() }.begin();
    assert_variables(
        &mut exchange,
        &[
            ("content_type", "text/plain"),
            ("http_content_type", "text/plain"),
            ("http_x_one", "1"),
            ("http_x_two", "2, 3"),
            ("http_cookie", "a=1; b=2; c=3"),
            ("cookie_c", "3"),
        ],
    );
    assert_unset(&mut exchange, &["http_x_three", "http_accept", "cookie_z"]);
}

#[test]
fn a_body_shows_its_length_and_what_lies_in_memory() {
    let mut exchange = VariableCase { fields: &[("Content-Length", "5")], ..VariableCase::default() }.begin();
    assert_variables(&mut exchange, &[("content_length", "5")]);
    assert_unset(&mut exchange, &["request_body", "request_body_file"]);
    exchange.request.upload.length = Some(3);
    exchange.request.upload.buffered = Some(BufferedBody::Memory(Bytes::from_static(b"abc")));
    exchange.request.outcome.sent.request_bytes = 1_000;
    assert_variables(
        &mut exchange,
        &[("content_length", "3"), ("request_body", "abc"), ("request_length", "1000")],
    );
    assert_unset(&mut VariableCase::default().begin(), &["content_length"]);
}

#[test]
fn fields_of_a_form_are_shown_by_their_names() {
    let form = |media_type: &'static str, body: &'static str| {
        let mut exchange =
            VariableCase { fields: &[("Content-Type", media_type)], ..VariableCase::default() }.begin();
        assert_unset(&mut exchange, &["form_field_log"]);
        exchange.request.upload.buffered = Some(BufferedBody::Memory(Bytes::from_static(body.as_bytes())));
        exchange
    };
    let mut encoded = form("application/x-www-form-urlencoded", "x=1&l%6fg=a&user.name=b");
    assert_variables(&mut encoded, &[("form_field_log", "1"), ("form_field_user_name", "1")]);
    assert_unset(&mut encoded, &["form_field_pwd"]);
    let parts = "--b\r\nContent-Disposition: form-data; name=\"log\"\r\n\r\na\r\n--b--\r\n";
    assert_variables(&mut form("multipart/form-data; boundary=b", parts), &[("form_field_log", "1")]);
}

#[test]
fn files_are_under_the_root() {
    let line = ("GET", "/b/c.html", HttpVersion::Http11);
    let mut exchange =
        VariableCase { line, server: "root /nowhere/$host;", ..VariableCase::default() }.begin();
    exchange.request.route.host.extend_from_slice(b"a");
    assert_variables(
        &mut exchange,
        &[("document_root", "/nowhere/a"), ("request_filename", "/nowhere/a/b/c.html")],
    );
    assert_unset(&mut exchange, &["realpath_root"]);
    let mut exchange = VariableCase { server: "root /;", ..VariableCase::default() }.begin();
    assert_variables(&mut exchange, &[("realpath_root", "/")]);
}

#[test]
fn a_connection_shows_both_ends() {
    let mut exchange = VariableCase::default().begin();
    exchange.request.received.number = 7;
    assert_variables(
        &mut exchange,
        &[
            ("remote_addr", "127.0.0.1"),
            ("binary_remote_addr", "\u{7f}\0\0\u{1}"),
            ("remote_network", "127.0.0.1"),
            ("remote_port", "0"),
            ("server_addr", "127.0.0.1"),
            ("server_port", "8080"),
            ("connection", "0"),
            ("connection_requests", "7"),
        ],
    );
    exchange.request.received.real = Some("10.0.0.1:0".parse().unwrap());
    assert_variables(&mut exchange, &[("remote_addr", "10.0.0.1"), ("remote_port", "")]);
    exchange.request.received.real = Some("[::1]:9".parse().unwrap());
    assert_variables(
        &mut exchange,
        &[("remote_addr", "::1"), ("remote_network", "::/64"), ("remote_port", "9")],
    );
}

#[test]
fn tcpinfo_variables_are_empty_without_connection() {
    let names = ["tcpinfo_rtt", "tcpinfo_rttvar", "tcpinfo_snd_cwnd", "tcpinfo_rcv_space"];
    assert_unset(&mut VariableCase::default().begin(), &names);
}

#[test]
fn proxy_protocol_variables_show_received_header() {
    let mut exchange = VariableCase::default().begin();
    let names = ["proxy_protocol_addr", "proxy_protocol_port", "proxy_protocol_server_addr"];
    assert_unset(&mut exchange, &names);
    assert_unset(&mut exchange, &["proxy_protocol_server_port", "proxy_protocol_tlv_authority"]);
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x10".to_vec();
    header.extend([192, 0, 2, 1, 192, 0, 2, 2, 0, 123, 0x16, 0x2e, 0x02, 0, 1, b'x']);
    let Ok(HeaderParseStatus::Complete(_, Some(header))) = proxy_protocol::parse(&header) else {
        panic!("a header")
    };
    exchange.request.received.connection.proxied.set(header).unwrap();
    assert_variables(
        &mut exchange,
        &[
            ("proxy_protocol_addr", "192.0.2.1"),
            ("proxy_protocol_port", "123"),
            ("proxy_protocol_server_addr", "192.0.2.2"),
            ("proxy_protocol_server_port", "5678"),
            ("proxy_protocol_tlv_authority", "x"),
        ],
    );
    assert_unset(&mut exchange, &["proxy_protocol_tlv_alpn", "proxy_protocol_tlv_no_such_fact"]);
}

#[test]
fn times_are_those_of_the_request_s_end() {
    let mut exchange = VariableCase::default().begin();
    exchange.request.received.at_ms = 1_795_219_200_123;
    exchange.request.outcome.finished_ms = 1_795_219_201_000;
    assert_variables(&mut exchange, &[("msec", "1795219201.000"), ("request_time", "0.877")]);
    assert!(variable_value(&mut exchange, "time_iso8601").unwrap().starts_with("2026-11-2"));
    assert!(variable_value(&mut exchange, "time_local").unwrap().contains("/Nov/2026:"));
    exchange.request.outcome.finished_ms = 0;
    assert_variables(&mut exchange, &[("msec", "1795219200.123"), ("request_time", "0.000")]);
    assert!(variable_value(&mut exchange, "connection_time").unwrap().contains('.'));
}

#[test]
fn a_request_has_a_number_of_its_own() {
    let mut exchange = VariableCase::default().begin();
    let id = variable_value(&mut exchange, "request_id").unwrap();
    assert_eq!((id.len(), variable_value(&mut exchange, "request_id")), (32, Some(id.clone())));
    exchange.request.received.number += 1;
    assert_ne!(variable_value(&mut exchange, "request_id"), Some(id));
}

#[test]
fn what_was_sent_is_counted() {
    let mut exchange = VariableCase::default().begin();
    assert_variables(&mut exchange, &[("request_completion", ""), ("pipe", "."), ("status", "000")]);
    let sent = &mut exchange.request.outcome.sent;
    (sent.bytes, sent.body_bytes, sent.complete, sent.pipelined) = (300, 200, true, true);
    exchange.request.errors.status = Some(404);
    assert_variables(
        &mut exchange,
        &[
            ("bytes_sent", "300"),
            ("body_bytes_sent", "200"),
            ("request_completion", "OK"),
            ("pipe", "p"),
            ("status", "404"),
        ],
    );
    exchange.request.outcome.head.status = 206;
    assert_variables(&mut exchange, &[("status", "206")]);
}

#[test]
fn fields_that_were_sent_are_shown_and_those_of_the_connection_made_up() {
    let mut exchange = VariableCase { server: "keepalive_timeout 9 8;", ..VariableCase::default() }.begin();
    let outcome = &mut exchange.request.outcome;
    outcome.head.fields = b"X-A: 1\r\nx-a: 2\r\nContent-Type: text/html; charset=utf-8\r\n".to_vec();
    outcome.head.trailers = b"X-Sum: 7\r\n".to_vec();
    (outcome.sent.bytes, outcome.sent.keep_alive, outcome.sent.chunked) = (1, true, true);
    assert_variables(
        &mut exchange,
        &[
            ("sent_http_x_a", "1, 2"),
            ("sent_http_connection", "keep-alive"),
            ("sent_http_keep_alive", "timeout=8"),
            ("sent_http_transfer_encoding", "chunked"),
            ("sent_http_content_type", "text/html; charset=utf-8"),
            ("sent_trailer_x_sum", "7"),
        ],
    );
    assert_unset(&mut exchange, &["sent_http_x_b", "sent_trailer_x_a"]);
    exchange.request.outcome.head.unnamed_type = Some(b"text/html"[..].into());
    exchange.request.outcome.sent.keep_alive = false;
    assert_variables(
        &mut exchange,
        &[("sent_http_content_type", "text/html"), ("sent_http_connection", "close")],
    );
}

#[test]
fn server_variables_show_version_pid_and_hostname() {
    let mut exchange = VariableCase::default().begin();
    assert_variables(&mut exchange, &[("nginx_version", "1.31.4"), ("pid", &std::process::id().to_string())]);
    assert!(!variable_value(&mut exchange, "hostname").unwrap().is_empty());
}
